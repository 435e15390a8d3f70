"""What a page says about itself: title, author, dates, language, site, canonical address.

Order of trust: JSON-LD, OpenGraph and `article:` properties, Dublin Core and citation tags, microdata, visible text.
The canonical address is believed only on the page's own site (see `canonical_of`).
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from urllib.parse import urlsplit

from lxml import etree
from lxml.html import HtmlElement

from pincite.domain.frozen import dataclass
from pincite.domain.page import Block, BlockKind
from pincite.domain.version import PRODUCT_TOKEN
from pincite.fetch.extractors.characters import clean_line
from pincite.fetch.extractors.dom import Page
from pincite.fetch.extractors.inline import absolute
from pincite.fetch.robots import page_signals

_DATE_FORMATS = (
    "%B %d, %Y",
    "%b %d, %Y",
    "%b. %d, %Y",
    "%d %B %Y",
    "%d %b %Y",
    "%Y/%m/%d",
    "%Y%m%d",
    "%d.%m.%Y",
    "%Y-%m",
)
_URL_DATE = re.compile(r"/((?:19|20)\d{2})[/-](0[1-9]|1[0-2])[/-](0[1-9]|[12]\d|3[01])(?:[/-]|$)")
_ZONE_OFFSET = re.compile(r"\s*([+-]\d{2}):?(\d{2})$")
_MAIL_DATE = re.compile(r"(?:[A-Za-z]{3}, )?\d{1,2} [A-Za-z]{3} \d{4} \d")
_PROSE = frozenset({BlockKind.PARAGRAPH, BlockKind.DEFINITION, BlockKind.LIST_ITEM, BlockKind.QUOTATION})
# 82 of 84 pages that declare a language were guessed right on 500 characters; more than 3,000 cost time only.
_LEAST_CHARS, _MOST_CHARS = 500, 3_000
# The guesser's distance: prose of a language it knows stays below. Chosen on the same pages.
_WORST_SCORE = 600
_FIRST_YEAR, _LAST_YEAR = 1900, 2100
# The longest ways to write a date, with weekday and zone; longer texts hold a date among other words.
_MAX_DATE_CHARS = 60


def parse_date(text: str) -> datetime | None:
    """The moment `text` names, or None. A date alone is its midnight; a time without zone counts as UTC."""
    text = " ".join(text.split())
    if not text or len(text) > _MAX_DATE_CHARS:
        return None
    moment = _read_date(text)
    if moment is None or not _FIRST_YEAR <= moment.year <= _LAST_YEAR:
        return None
    try:
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError:
        return None


def date_in_url(url: str) -> datetime | None:
    """The day a news-like path `/2024/05/31/` names, or None."""
    match = _URL_DATE.search(url)
    if match is None:
        return None
    try:
        return datetime(int(match.group(1)), int(match.group(2)), int(match.group(3)), tzinfo=UTC)
    except ValueError:
        return None


def _read_date(text: str) -> datetime | None:
    """As ISO 8601 has dates, as mail does, or as people write them."""
    with suppress(ValueError):
        return datetime.fromisoformat(_ZONE_OFFSET.sub(r"\1:\2", text.removesuffix(" UTC").removesuffix(" GMT")))
    if _MAIL_DATE.match(text):
        from email.utils import parsedate_to_datetime

        with suppress(ValueError):
            return parsedate_to_datetime(text)
    for pattern in _DATE_FORMATS:
        with suppress(ValueError):
            return datetime.strptime(text, pattern).replace(tzinfo=UTC)
    return None


# Far above any title: a page that puts its text there is cut.
_MAX_TITLE = 500
# Engines show about 160; some pages write a paragraph.
_MAX_DESCRIPTION = 1_000
# Several authors with their offices.
_MAX_BYLINE = 200
# Structured data may be a graph of everything on the site.
_MAX_LD_NODES = 500
_SEPARATORS = (" | ", " — ", " – ", " · ", " » ", " « ", " :: ", " - ", ": ")
_PUBLISHED = (
    "article:published_time og:published_time og:article:published_time datepublished citation_publication_date "
    "citation_online_date citation_date dc.date.issued dcterms.issued dc.date dcterms.date dcterms.created "
    "parsely-pub-date sailthru.date pubdate publishdate publication_date date".split()
)
_MODIFIED = (
    "article:modified_time og:updated_time datemodified dcterms.modified dc.date.modified last-modified revised".split()
)
_AUTHORS = ("author", "article:author", "citation_author", "dc.creator", "dcterms.creator", "parsely-author", "byl")
_KIND_WORDS = (
    (
        "forum",
        re.compile(
            r"\b(?:forums?|threads?|topics?|showthread|viewtopic|discussions?|questions?|community|boards?|comments)\b"
            r"|phpbb|vbulletin|discourse|xenforo|mybb|invision|smf\b|vanilla|flarum"
        ),
    ),
    (
        "goods",
        re.compile(r"\b(?:products?|shop|store|items?|dp|p|buy|sku|goods)\b|woocommerce|shopify|magento|prestashop"),
    ),
    (
        "list",
        re.compile(
            r"\b(?:category|categories|collections?|tags?|search|archives?|catalog(?:ue)?|browse|listings?|page/\d+)\b"
        ),
    ),
)
_OF_PUBLISHING = etree.XPath("boolean(self::*[contains(@class, 'publish') or contains(@class, 'entry-date')])")
_LANGUAGE = re.compile(r"^[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*$")
_MOBILE = re.compile(r"^(?:www|m|mobile|amp)\.")


@dataclass(frozen=True, slots=True)
class Metadata:
    """The fields of a Document that don't come from its blocks, and the address links are relative to."""

    base_url: str
    title: str = ""
    byline: str = ""
    site_name: str = ""
    description: str = ""
    published_at: datetime | None = None
    modified_at: datetime | None = None
    language: str = ""
    canonical_url: str = ""
    types: frozenset[str] = frozenset()
    signals: tuple[str, ...] = ()
    linked: tuple[Mapping[str, object], ...] = ()
    """The objects of the page's JSON-LD."""


def read_metadata(page: Page, url: str) -> Metadata:
    """The metadata of a parsed page that still has its `<head>`."""
    root = page.root
    metas = _metas(root)
    linked = list(linked_data(root))
    types = frozenset(str(kind) for node in linked for kind in _as_list(node.get("@type"))) | _kinds(metas, url)
    base_url = _base_url(root, url)
    site_name = _line(metas.get("og:site_name") or _publisher(linked) or metas.get("application-name", ""), _MAX_TITLE)
    return Metadata(
        base_url=base_url,
        title=_title(root, metas, site_name),
        byline=_byline(page, metas, linked),
        site_name=site_name,
        description=_line(metas.get("description") or metas.get("og:description", ""), _MAX_DESCRIPTION),
        published_at=_moment(linked, "datePublished", metas, _PUBLISHED)
        or _marked_time(page, "datePublished")
        or date_in_url(url),
        modified_at=_moment(linked, "dateModified", metas, _MODIFIED) or _marked_time(page, "dateModified"),
        language=_language(root, metas),
        canonical_url=canonical_of(root, url),
        types=types,
        signals=_signals(root),
        linked=tuple(linked),
    )


def _kinds(metas: Mapping[str, str], url: str) -> frozenset[str]:
    """What kind of page its address, its platform and its social tags say it is: `says:forum`, `goods` or `list`."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return frozenset()
    text = " ".join((parts.path, parts.query, metas.get("generator", ""), metas.get("og:type", ""))).lower()
    return frozenset(f"says:{kind}" for kind, pattern in _KIND_WORDS if pattern.search(text))


def _signals(root: HtmlElement) -> tuple[str, ...]:
    """What the page says about its use, addressed to all or to Pincite.

    Source: the robots meta tag; TDM Reservation Protocol.
    """
    found: list[tuple[str, str]] = []
    for tag in root.iter("meta"):
        name, content = (tag.get("name") or "").strip().lower(), tag.get("content") or ""
        if name in {"robots", PRODUCT_TOKEN.lower()}:
            found.append(("x-robots-tag", content[:_MAX_BYLINE]))
        elif name == "tdm-reservation":
            found.append((name, content[:_MAX_BYLINE]))
    return page_signals(found, PRODUCT_TOKEN)


def canonical_of(root: HtmlElement, url: str) -> str:
    """The address the page gives itself, if it may be believed, else `url` without its fragment.

    Believed: exactly one `<link rel=canonical>` value, http(s), on the same site, and not the root unless the page
    is. Anything else could merge one site's page into another.
    """
    own = url.partition("#")[0]
    values = {
        absolute(own, (link.get("href") or "").strip())
        for link in root.iter("link")
        if "canonical" in (link.get("rel") or "").lower().split()
    }
    if len(values) != 1:
        return own
    value = values.pop().partition("#")[0]
    try:
        there, here = urlsplit(value), urlsplit(own)
    except ValueError:
        return own
    site, own_site = (_MOBILE.sub("", parts.hostname or "") for parts in (there, here))
    if not value or there.username is not None or not site or site != own_site:
        return own
    if there.path in {"", "/"} and not there.query and here.path not in {"", "/"}:
        return own
    return value


def _metas(root: HtmlElement) -> dict[str, str]:
    """`<meta>` contents by lower-case name or property; the first of each counts."""
    metas: dict[str, str] = {}
    for meta in root.iter("meta"):
        name = meta.get("property") or meta.get("name") or meta.get("itemprop") or meta.get("http-equiv")
        content = meta.get("content")
        if name and content and content.strip():
            metas.setdefault(name.strip().lower(), content.strip())
    return metas


def linked_data(root: HtmlElement) -> Iterator[Mapping[str, object]]:
    """The JSON-LD objects of the page, nested ones too, up to a bound."""
    queue: list[object] = []
    for script in root.iter("script"):
        if "ld+json" in (script.get("type") or "").lower() and script.text:
            try:
                queue.append(json.loads(script.text.strip().rstrip(";"), strict=False))
            except (ValueError, RecursionError):
                continue
    for _ in range(_MAX_LD_NODES):
        if not queue:
            return
        node = queue.pop(0)
        if isinstance(node, list):
            queue.extend(node[:50])
        elif isinstance(node, dict):
            yield node
            queue.extend(node[name] for name in ("@graph", "mainEntity", "mainEntityOfPage", "hasPart") if name in node)


def _as_list(value: object) -> list[object]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _names(value: object) -> list[str]:
    """Names out of a JSON-LD person, organisation, string or a list of them."""
    names: list[str] = []
    for item in _as_list(value)[:10]:
        name = item.get("name") if isinstance(item, dict) else item
        if isinstance(name, list):
            name = name[0] if name else None
        if isinstance(name, str) and name.strip() and "://" not in name:
            names.append(" ".join(name.split()))
    return names


def _publisher(linked: list[Mapping[str, object]]) -> str:
    sites = (node.get("name") for node in linked if "WebSite" in _as_list(node.get("@type")))
    owners = (node.get("publisher") for node in linked)
    return next((name for value in (*sites, *owners) for name in _names(value)), "")


def _moment(
    linked: list[Mapping[str, object]], key: str, metas: Mapping[str, str], names: list[str]
) -> datetime | None:
    told = [value for node in linked if isinstance(value := node.get(key), str)]
    told += [metas[name] for name in names if name in metas]
    return next(filter(None, map(parse_date, told)), None)


def _marked_time(page: Page, name: str) -> datetime | None:
    marked = [element for element in page.noted if element.get("itemprop") == name][:3]
    told = [mark.get("datetime") or mark.get("content") or mark.text_content() for mark in marked]
    if name == "datePublished":
        times = [time for time in page.root.iter("time") if "pubdate" in time.attrib or _OF_PUBLISHING(time)]
        told += [time.get("datetime") or time.text_content() for time in times[:3]]
    return next(filter(None, map(parse_date, told)), None)


def _byline(page: Page, metas: Mapping[str, str], linked: list[Mapping[str, object]]) -> str:
    for node in linked:
        if names := _names(node.get("author")):
            return _line(", ".join(dict.fromkeys(names)), _MAX_BYLINE)
    for name in _AUTHORS:
        value = metas.get(name, "")
        if value and "://" not in value:
            return _line(value, _MAX_BYLINE)
    signed = [element for element in page.noted if "author" in (element.get("rel"), element.get("itemprop"))]
    for element in signed[:3]:
        value = _line(element.text_content(), _MAX_BYLINE)
        if 0 < len(value.split()) <= 8:
            return value
    return ""


def _title(root: HtmlElement, metas: Mapping[str, str], site_name: str) -> str:
    """The page's title without the name of its site."""
    element = next(root.iter("title"), None)
    whole = _line(element.text_content() if element is not None else "", _MAX_TITLE)
    headings = [_line(heading.text_content().replace("¶", ""), _MAX_TITLE) for heading in list(root.iter("h1"))[:5]]
    for heading in headings:
        if heading and any(whole.startswith(heading + separator) for separator in _SEPARATORS):
            return heading
    title = _line(metas.get("og:title", ""), _MAX_TITLE) or whole or next(iter(filter(None, headings)), "")
    for separator in _SEPARATORS[:-1]:
        head, found, tail = title.rpartition(separator)
        if found and site_name and tail.strip().casefold() == site_name.casefold():
            return head.strip()
    return title


def _language(root: HtmlElement, metas: Mapping[str, str]) -> str:
    """The declared language as a lower-case primary tag with region kept, or nothing."""
    xml_lang = root.get("{http://www.w3.org/XML/1998/namespace}lang") or root.get("xml:lang")
    for value in (root.get("lang"), xml_lang, metas.get("content-language"), metas.get("og:locale")):
        if value and _LANGUAGE.match(value.strip()):
            primary, _, rest = value.strip().replace("_", "-").partition("-")
            return f"{primary.lower()}-{rest}" if rest else primary.lower()
    return ""


def _base_url(root: HtmlElement, url: str) -> str:
    base = next((element.get("href") for element in root.iter("base") if element.get("href")), "")
    return absolute(url, base.strip()) or url if base else url


def _line(text: str, limit: int) -> str:
    """One clean line of at most `limit` characters, cut on a word."""
    line = clean_line(text)
    return line if len(line) <= limit else line[:limit].rsplit(" ", 1)[0] + "…"


def language_of(blocks: Iterable[Block]) -> str:
    """The two-letter code of the language, nothing when there is too little prose or it fits no language well.

    Source: extraction figures: .908 right at 500 characters in 9 microseconds; a model would cost half a second once.
    """
    from resiliparse.parse.lang import detect_fast

    text = "".join(f" {block.text}" for block in blocks if block.kind in _PROSE)[:_MOST_CHARS]
    if len(text) < _LEAST_CHARS:
        return ""
    code, score = detect_fast(text)
    return code if score <= _WORST_SCORE and code != "unknown" else ""
