"""DuckDuckGo's page without scripts: no key, best effort, one call at a time.

Nothing but a page with its own "no results" mark is read as "no results": a challenge (202), a refusal and a page
that doesn't look as expected are errors.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import parse_qs, urlsplit

import anyio

from pincite.apis import Answer, ApiSettings
from pincite.domain.errors import ProviderBadReply
from pincite.domain.frozen import dataclass
from pincite.domain.search import Query, SearchResponse
from pincite.search.catalogue import CATALOGUE
from pincite.search.provider import ApiProvider, Surroundings
from pincite.search.request import time_range, with_operators
from pincite.search.results import Row

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_CARD = CATALOGUE["duckduckgo"]
_CHALLENGE = (
    "//*[contains(@id, 'challenge-form') or contains(@class, 'anomaly') or contains(@action, 'anomaly')"
    " or contains(@src, 'anomaly')]"
)
_CHALLENGE_WORDS = ("unusual traffic", "bots use duckduckgo too")
_HOST = "duckduckgo.com"


class DuckDuckGo(ApiProvider):
    """Implements `ports.SearchProvider`."""

    name = "duckduckgo"
    # A 200 comes here as a challenge.
    statuses: ClassVar = {200: "rate", 202: "rate", 403: "blocked", 418: "blocked", 429: "rate", 451: "blocked"}
    pause_s = 120.0  # it goes on refusing whoever asks sooner, and does not say for how long; chosen, not measured
    blocked_hint = "Set a key of a provider."

    def __init__(self, settings: ApiSettings, around: Surroundings) -> None:
        super().__init__(settings, around, {"Accept": "text/html", "Accept-Language": "en,*;q=0.5"})
        self._one_at_a_time = anyio.Lock()

    async def search(self, query: Query) -> SearchResponse:
        """The first page of results."""
        language = (query.constraints.language or "en")[:2].lower()
        region = f"{query.region[-2:].lower()}-{language}" if query.region else "wt-wt"  # its name for everywhere
        form = {"q": with_operators(query, _CARD), "b": "", "l": region}
        if span := time_range(query.constraints.since, query.constraints.until, self.around.clock.now().date()):
            form["df"] = span[0]
        async with self._one_at_a_time:
            answer = await self.kept(await self.api.post_form("/html/", form), query)
        text = answer.text()
        page = _read(text) if answer.status == 200 else _Page()
        if answer.status != 200 or page.is_challenge:
            raise self.trouble(answer)
        if not page.rows and not page.says_nothing_found:
            raise ProviderBadReply("duckduckgo answered with a page that has no results in it", reason="unknown_page")
        return self.response(query, page.rows)

    def said(self, answer: Answer) -> str:
        """Nothing: it answers with pages."""
        return ""


@dataclass(frozen=True, slots=True)
class _Page:
    """What a page of the engine has on it."""

    rows: tuple[Row, ...] = ()
    is_challenge: bool = False
    says_nothing_found: bool = False


def _read(text: str) -> _Page:
    from lxml.etree import ParserError
    from lxml.html import HTMLParser, document_fromstring

    try:
        page = document_fromstring(text.encode(), parser=HTMLParser(encoding="utf-8"))
    except ParserError:  # an empty page
        return _Page()
    rows = tuple(Row(title, url, snippet) for title, url, snippet in _hits(page))
    body = page.find("body")
    words = "" if rows or body is None else body.text_content()[:20_000]  # those of results are not the engine's own
    marked = bool(page.xpath(f"//*[{_of_class('no-results', 'no-results-message')} or @id='no-results']"))
    return _Page(
        rows,
        bool(page.xpath(_CHALLENGE)) or any(mark in words.lower() for mark in _CHALLENGE_WORDS),
        marked or "No results found" in words,
    )


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
    try:
        parts = urlsplit(href)
        host = parts.hostname or ""
    except ValueError:
        return href  # refused and counted where all URLs are vetted
    if not host or host == _HOST or host.endswith(f".{_HOST}"):
        if parts.path == "/l/":
            return parse_qs(parts.query).get("uddg", [""])[0]
        return "" if not host or parts.path == "/y.js" else href
    return href
