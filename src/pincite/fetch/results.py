"""A read page as the result of a request: the window of its content, its links, where its redirect leads."""

from dataclasses import replace

from anyio import to_thread

from pincite.domain.citation import EXCERPT_CHARS, cut_on_word
from pincite.domain.errors import PinciteError
from pincite.domain.fetch import FetchInfo, FetchRequest, FetchResult
from pincite.domain.frozen import dataclass
from pincite.domain.page import Document, Link, Snapshot
from pincite.domain.page_markdown import document_markdown
from pincite.fetch.captures import source_text, window
from pincite.urls.keys import page_key
from pincite.urls.parse import parse_url

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
