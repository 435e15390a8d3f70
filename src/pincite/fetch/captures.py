"""Answers as captures, and what of one is handed out: its source as text, what was read as the result of a request."""

import codecs
import mimetypes
import re
from collections.abc import Iterable
from dataclasses import field, replace
from datetime import datetime
from typing import Final
from urllib.parse import quote

from anyio import to_thread

from pincite.domain.citation import EXCERPT_CHARS, cut_on_word
from pincite.domain.errors import InvalidInput, PinciteError, TooLarge
from pincite.domain.fetch import FetchInfo, FetchRequest, FetchResult
from pincite.domain.frozen import dataclass
from pincite.domain.ids import sha256_hex, snapshot_id
from pincite.domain.page import Document, Link, Snapshot
from pincite.domain.page_markdown import document_markdown
from pincite.domain.version import PRODUCT_TOKEN
from pincite.fetch.limits import BodyKind, FetchLimits
from pincite.fetch.robots import page_signals
from pincite.urls.keys import page_key
from pincite.urls.parse import parse_url, registrable_domain
from pincite.urls.policy import DEFAULT, UrlPolicy, vet_url

# What kind of body this is, for its size limit. The header is a hint; the first bytes decide where they are clear.

_ZIP, _OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"


def body_kind(content_type: str, head: bytes) -> BodyKind:
    """The kind of a body by its first bytes, else by its header, else HTML (the smallest limit)."""
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:16].lower()
    if start.startswith(b"%pdf-"):
        return BodyKind.PDF
    if head.startswith((_ZIP, _OLE)):
        return BodyKind.DOCUMENT
    if start.startswith((b"<!doctype html", b"<html")):
        return BodyKind.HTML
    media = content_type.split(";", 1)[0].strip().lower()
    if media == "application/pdf":
        return BodyKind.PDF
    if media.startswith("application/") and "xhtml" not in media:
        return BodyKind.DOCUMENT
    return BodyKind.DOCUMENT if media in {"text/csv", "text/rtf"} else BodyKind.HTML


# `Snapshot.via` of a file that the caller handed over.
GIVEN: Final = "given"
_GIVEN_URL: Final = re.compile(r"local:given-(?P<body>[0-9a-f]{16})/[^/?#\s]{1,600}")
# File systems allow 255 bytes; a name is part of an address here. Chosen, not measured.
_NAME_CHARS: Final = 200
# Types that say nothing: what programs send when nobody told them one.
_NAMELESS: Final = frozenset(
    {"", "application/octet-stream", "application/x-www-form-urlencoded", "binary/octet-stream"}
)

# Not about the page, and possibly personal.
_DROPPED = frozenset({"set-cookie", "set-cookie2", "www-authenticate", "proxy-authenticate", "authorization"})


def capture(  # noqa: PLR0913  # one argument per field that a capture has
    *,
    url: str,
    final_url: str,
    status: int,
    headers: Iterable[tuple[str, str]],
    body: bytes,
    fetched_at: datetime,
    via: str,
    content_type: str = "",
    robots: str = "allowed",
    signals: Iterable[str] = (),
    redirects: tuple[str, ...] = (),
    note: str = "",
) -> Snapshot:
    """The snapshot of an answer, with its content-made id. `signals` of its site come before those of its headers."""
    kept = tuple((name.lower(), value) for name, value in headers if name.lower() not in _DROPPED)
    digest = sha256_hex(body)
    declared = content_type or next((value for name, value in kept if name == "content-type"), "")
    return Snapshot(
        snapshot_id=snapshot_id(final_url, fetched_at, digest),
        url=url,
        final_url=final_url,
        canonical_url=final_url,
        status=status,
        content_type=declared,
        headers=kept,
        body=body,
        body_sha256=digest,
        fetched_at=fetched_at,
        via=via,
        robots=robots,
        usage_signals=tuple(dict.fromkeys((*signals, *page_signals(kept, PRODUCT_TOKEN, now=fetched_at)))),
        redirects=redirects,
        note=note,
    )


def is_given_file(url: str) -> bool:
    """Whether the address is that of a file that was handed over."""
    return bool(given_body(url))


def given_body(url: str) -> str:
    """What the hash of such a file begins with; empty for any other address."""
    match = _GIVEN_URL.fullmatch(url)
    return match["body"] if match else ""


def given_file(data: bytes, name: str, content_type: str, now: datetime, limits: FetchLimits) -> Snapshot:
    """The capture of a file that was handed over. Its address is its hash and its name, and no site's.

    Errors: InvalidInput (`file_empty`), TooLarge (`body_too_large`, by what pages of its kind may have).
    """
    if not data:
        raise InvalidInput("the file is empty", reason="file_empty")
    plain = "".join(sign for sign in name.replace("\\", "/").rsplit("/", 1)[-1] if sign.isprintable())[-_NAME_CHARS:]
    said = content_type.split(";", 1)[0].strip().lower()
    kind = content_type if said not in _NAMELESS else mimetypes.guess_type(plain)[0] or ""
    most = limits.max_bytes(body_kind(kind, data[:1024]))
    if len(data) > most:
        raise TooLarge(f"the file has {len(data)} bytes, {most} are the most", reason="body_too_large")
    url = f"local:given-{sha256_hex(data)[:16]}/{quote(plain or 'file', safe='')}"
    return capture(
        url=url,
        final_url=url,
        status=200,
        headers=(),
        body=data,
        fetched_at=now,
        via=GIVEN,
        content_type=kind,
        robots="not_asked",
        note=f"given as {plain or 'a file'}, not fetched",
    )


def merged_canonical(final_url: str, claimed: str, policy: UrlPolicy = DEFAULT) -> str:
    """The page's own canonical URL where it may be believed, else `final_url`.

    Believed: same registrable domain, allowed by the policy, and not the site's root for a page that isn't the root.

    Source: security rules on canonical links; a foreign canonical could give a page another site's name.
    """
    if not claimed:
        return final_url
    try:
        here = parse_url(final_url)
        there = parse_url(vet_url(claimed, policy=policy))
        same_site = registrable_domain(here.href) == registrable_domain(there.href)
    except PinciteError:
        return final_url
    to_root = there.path == "/" and not there.query and (here.path != "/" or bool(here.query))
    return there.sent if same_site and not to_root else final_url


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its answer. `headers` are lower-case names in wire order; `body` is decoded."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes = field(repr=False)
    truncated: bool = False

    def header(self, name: str) -> str:
        """The first value of a header, or an empty text."""
        return next((value for key, value in self.headers if key == name), "")

    def all_headers(self, name: str) -> tuple[str, ...]:
        """Every value of a header in wire order."""
        return tuple(value for key, value in self.headers if key == name)


# What is handed out of a page: bounded and cut at a border, never silently.

# How far before the bound a border is looked for; without one the window ends in the middle of a line.
_SLACK = 0.2
_BORDERS = ("\n\n", "\n", ". ", " ")


def window(content: str, offset: int, max_chars: int) -> tuple[str, int | None]:
    """The part of `content` from `offset`, at most `max_chars` long, and the offset of the rest (None at the end).

    Windows that follow each other's `next_offset` give the whole content back.

    Errors: InvalidInput (`offset` out of range).
    """
    if max_chars < 1:
        raise InvalidInput("max_chars must be at least 1", reason="max_chars")
    if offset < 0 or (offset > len(content)):
        raise InvalidInput(f"offset must be between 0 and {len(content)}", reason="offset")
    end = offset + max_chars
    if end >= len(content):
        return content[offset:], None
    earliest = end - max(int(max_chars * _SLACK), 1)
    for border in _BORDERS:
        at = content.rfind(border, earliest, end)
        if at > offset:
            return content[offset : at + len(border)], at + len(border)
    return content[offset:end], end


_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w.:-]{1,40})", re.IGNORECASE)
_TEXTUAL = re.compile(
    r"^(?:text/|application/(?:[\w.+-]*\+)?(?:json|xml|xhtml\+xml|javascript)\b)|html|^$", re.IGNORECASE
)
# WHATWG HTML §4.2.5.4: a declaration of the encoding stands within the first 1024 bytes.
_META_BYTES = 1_024


def source_text(snapshot: Snapshot) -> str | None:
    """The body as text, or None when it is no text (a PDF, an archive): then what was read has to do."""
    if not _TEXTUAL.search(snapshot.content_type) or b"\x00" in snapshot.body[:_META_BYTES]:
        return None
    body = snapshot.body.removeprefix(codecs.BOM_UTF8)
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return body.decode(_charset(snapshot), "replace")


def _charset(snapshot: Snapshot) -> str:
    head = snapshot.body[:_META_BYTES].decode("latin-1")
    for text in (snapshot.content_type, head):
        if named := _CHARSET.search(text):
            try:
                return codecs.lookup(named[1]).name
            except LookupError:
                continue
    return "utf-8"


# Pages from here on are looked through in a thread: the loop is for everybody.
LARGE_BYTES = 300_000


@dataclass(frozen=True, slots=True)
class ReadPage:
    """A read page before a window is cut: what single flight shares."""

    snapshot: Snapshot
    document: Document
    cache: str
    is_stale: bool = False
    timings_ms: tuple[tuple[str, float], ...] = ()


async def result_of(request: FetchRequest, page: ReadPage) -> FetchResult:
    """The page as what this request wants to see of it."""
    if len(page.snapshot.body) < LARGE_BYTES:
        return _result(request, page)
    return await to_thread.run_sync(_result, request, page)


def _result(request: FetchRequest, page: ReadPage) -> FetchResult:
    snapshot, document = page.snapshot, page.document
    content = source_text(snapshot) if request.mode == "raw" else None
    if content is None:  # no source was asked for, or there is none as text: what was read has to do
        content = document.text if request.output_format == "text" else document_markdown(document)
    room = request.max_html_chars if request.mode == "raw" else request.max_chars
    shown, next_offset = window(content, request.offset, room)
    quotable = EXCERPT_CHARS if snapshot.quotable_chars is None else snapshot.quotable_chars
    return FetchResult(
        content=shown,
        content_format=request.output_format,
        status=snapshot.status,
        content_type=snapshot.content_type,
        excerpt=cut_on_word(document.description or document.text, min(EXCERPT_CHARS, quotable)),
        truncated=next_offset is not None,
        next_offset=next_offset,
        title=document.title,
        final_url=snapshot.final_url,
        canonical_url=snapshot.canonical_url,
        snapshot_id=snapshot.snapshot_id,
        info=FetchInfo(
            via=snapshot.via,
            fetched_at=snapshot.fetched_at,
            size_bytes=len(snapshot.body),
            parser=f"{document.extractor}/{document.version}",
            html_chars=len(snapshot.body) if "html" in snapshot.content_type else 0,
            markdown_chars=len(content) if request.output_format == "markdown" else 0,
            timings_ms=page.timings_ms,
            cache=page.cache,
            stale=page.is_stale,
            cost_usd=snapshot.cost_usd,
            shared_by=snapshot.shared_by,
        ),
        snapshot=snapshot,
        document=document,
        byline=document.byline,
        site_name=document.site_name,
        language=document.language,
        published_at=document.published_at,
        modified_at=document.modified_at,
        links=_links(document, request.max_links) if request.include_links else (),
        location=_location(snapshot),
        structure=document.structure,
        meta=_meta(snapshot, document),
    )


def _links(document: Document, most: int) -> tuple[Link, ...]:
    """Each page linked to once, whatever tracking its addresses carry, in page order."""
    seen: dict[str, Link] = {}
    for link in document.links:
        if len(seen) >= most:
            break
        try:
            seen.setdefault(page_key(link.url), link)
        except PinciteError:  # not an address that may be fetched: nobody can follow it
            continue
    return tuple(replace(link, rank=rank) for rank, link in enumerate(seen.values(), start=1))


def _location(snapshot: Snapshot) -> str:
    """Where a redirect that was not followed leads."""
    given = dict(snapshot.headers).get("location", "") if 300 <= snapshot.status < 400 else ""
    try:
        return parse_url(given, snapshot.final_url).href if given else ""
    except PinciteError:
        return ""


def _meta(snapshot: Snapshot, document: Document) -> dict[str, str]:
    found = {
        "description": document.description,
        "robots": snapshot.robots,
        "usage_signals": ", ".join(snapshot.usage_signals),
        "redirects": ", ".join(snapshot.redirects),
        "reading": "; ".join(document.warnings),
    }
    return {name: value for name, value in found.items() if value}
