"""DuckDuckGo's page without scripts: no key, best effort, one call at a time.

Nothing but a page with its own "no results" mark is read as "no results": a challenge (202), a refusal and a page
that doesn't look as expected are errors.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import anyio

from pincite.domain.errors import PageBlocked, PinciteError, ProviderBadReply
from pincite.domain.search import Query, SearchResponse
from pincite.search.answers import Row, build_response, rate_limited, retry_after_s
from pincite.search.api import Answer, ProviderSettings
from pincite.search.catalogue import CATALOGUE
from pincite.search.provider import ApiProvider, Surroundings, other_status
from pincite.search.request import time_range, with_site_operators

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_CARD = CATALOGUE["duckduckgo"]
_COOL_OFF_S = 120.0
_CHALLENGE = ("anomaly-modal", "challenge-form", "anomaly.js", "unusual traffic")


class DuckDuckGo(ApiProvider):
    """Implements `ports.SearchProvider`."""

    name = "duckduckgo"

    def __init__(self, settings: ProviderSettings, around: Surroundings) -> None:
        super().__init__(settings, around, {"Accept": "text/html", "Accept-Language": "en,*;q=0.5"})
        self._one_at_a_time = anyio.Lock()

    async def search(self, query: Query) -> SearchResponse:
        """The first page of results."""
        now = self.around.clock.now()
        form = {"q": with_site_operators(query, _CARD.query_chars), "b": "", "l": _region(query)}
        if span := time_range(query.constraints.since, query.constraints.until, now.date()):
            form["df"] = span[0]
        async with self._one_at_a_time:
            answer = await self.kept(await self.api.post_form("/html/", form), query)
        text = answer.text()
        if answer.status != 200 or any(mark in text for mark in _CHALLENGE):
            raise _error(answer, retry_after_s(answer.headers.get("retry-after"), now))
        return build_response(self.name, query, _rows(text), now, policy=self.around.policy)


def _region(query: Query) -> str:
    if not query.region:
        return "wt-wt"
    language = (query.constraints.language or "en")[:2].lower()
    return f"{query.region[-2:].lower()}-{language}"


def _rows(text: str) -> list[Row]:
    from selectolax.lexbor import LexborHTMLParser

    page = LexborHTMLParser(text)
    rows = [Row(title, url, snippet) for title, url, snippet in _hits(page)]
    if not rows and not _says_nothing_found(page):
        raise ProviderBadReply("duckduckgo answered with a page that has no results in it", reason="unknown_page")
    return rows


def _hits(page: "LexborHTMLParser") -> Iterator[tuple[str, str, str]]:
    for node in page.css("div.result, div.body"):
        link = node.css_first("a.result__a") or node.css_first("h2 a[href]") or node.css_first("a[href]")
        url = _target(link)
        if link is None or not url:
            continue
        snippet = node.css_first(".result__snippet")
        heading = node.css_first("h2") or link
        body = snippet.text() if snippet else " ".join(a.text() for a in node.css("a[href]") if a.parent != heading)
        yield heading.text(), url, body


def _target(link: "LexborNode | None") -> str:
    """The address behind a link; advertisements have none."""
    href = (link.attributes.get("href") or "") if link is not None else ""
    if href.startswith("//"):
        href = "https:" + href
    parts = urlsplit(href)
    if (parts.hostname or "").endswith("duckduckgo.com") or parts.path == "/l/":
        return parse_qs(parts.query).get("uddg", [""])[0] if parts.path == "/l/" else ""
    return href


def _says_nothing_found(page: "LexborHTMLParser") -> bool:
    if page.css_first(".no-results, .no-results-message, #no-results") is not None:
        return True
    body = page.body
    return body is not None and "No results found" in body.text()[:20_000]


def _error(answer: Answer, wait_s: float | None) -> PinciteError:
    if answer.status in {403, 418, 451}:
        return PageBlocked(
            "duckduckgo refuses this address", reason="provider_blocked", hint="Set a key of a provider."
        )
    if answer.status in {200, 202, 429}:
        return rate_limited("duckduckgo", _COOL_OFF_S if wait_s is None else wait_s)
    return other_status(answer, "")
