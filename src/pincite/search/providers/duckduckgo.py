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
    from lxml.html import HtmlElement

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
    from lxml.etree import ParserError
    from lxml.html import HTMLParser, document_fromstring

    rows: list[Row] = []
    nothing_found = False
    try:
        page = document_fromstring(text.encode(), parser=HTMLParser(encoding="utf-8"))
    except ParserError:  # an empty page
        page = None
    if page is not None:
        rows = [Row(title, url, snippet) for title, url, snippet in _hits(page)]
        nothing_found = _says_nothing_found(page)
    if not rows and not nothing_found:
        raise ProviderBadReply("duckduckgo answered with a page that has no results in it", reason="unknown_page")
    return rows


def _of_class(*names: str) -> str:
    """An XPath condition: the element carries one of these classes."""
    return " or ".join(f"contains(concat(' ', normalize-space(@class), ' '), ' {name} ')" for name in names)


def _first(node: "HtmlElement", *paths: str) -> "HtmlElement | None":
    return next((found[0] for path in paths if (found := node.xpath(path))), None)


def _hits(page: "HtmlElement") -> Iterator[tuple[str, str, str]]:
    for node in page.xpath(f"//div[{_of_class('result', 'body')}]"):
        link = _first(node, f".//a[{_of_class('result__a')}]", ".//h2//a[@href]", ".//a[@href]")
        url = _target(link)
        if link is None or not url:
            continue
        snippet = _first(node, f".//*[{_of_class('result__snippet')}]")
        heading = _first(node, ".//h2")
        if heading is None:
            heading = link
        links = (a for a in node.xpath(".//a[@href]") if a.getparent() is not heading)
        body = snippet.text_content() if snippet is not None else " ".join(a.text_content() for a in links)
        yield heading.text_content(), url, body


def _target(link: "HtmlElement | None") -> str:
    """The address behind a link; advertisements have none."""
    href = str(link.get("href") or "") if link is not None else ""
    if href.startswith("//"):
        href = "https:" + href
    parts = urlsplit(href)
    if (parts.hostname or "").endswith("duckduckgo.com") or parts.path == "/l/":
        return parse_qs(parts.query).get("uddg", [""])[0] if parts.path == "/l/" else ""
    return href


def _says_nothing_found(page: "HtmlElement") -> bool:
    if page.xpath(f"//*[{_of_class('no-results', 'no-results-message')} or @id='no-results']"):
        return True
    return "No results found" in page.text_content()[:20_000]


def _error(answer: Answer, wait_s: float | None) -> PinciteError:
    if answer.status in {403, 418, 451}:
        return PageBlocked(
            "duckduckgo refuses this address", reason="provider_blocked", hint="Set a key of a provider."
        )
    if answer.status in {200, 202, 429}:
        return rate_limited("duckduckgo", _COOL_OFF_S if wait_s is None else wait_s)
    return other_status(answer, "")
