"""Stored captures: what a quote was cut from. Never served as a page of this server's own."""

from typing import Any, Literal

from fastapi import APIRouter, Request, Response

from pincite.domain.codec import to_json
from pincite.domain.errors import NotFound
from pincite.domain.page import Document, Snapshot
from pincite.domain.page_markdown import document_markdown
from pincite.surfaces.http import shapes
from pincite.surfaces.http.json_response import PlainJson
from pincite.surfaces.http.service import service_of
from pincite.surfaces.http.shapes import shaped
from pincite.surfaces.http.tools import Scope

router = APIRouter(prefix="/v1/snapshots", tags=["evidence"])

STORED = shaped(shapes.StoredSnapshot, others=("text/plain", "text/markdown", "application/octet-stream"))
HARMLESS = {"Content-Security-Policy": "sandbox", "X-Content-Type-Options": "nosniff"}
"""Whatever a browser makes of it, it runs nothing and belongs to no origin."""


@router.get("/{snapshot_id}", response_class=Response, responses=STORED)
async def snapshot(
    snapshot_id: str,
    request: Request,
    scope: Scope,
    format: Literal["json", "text", "md", "raw"] = "json",  # noqa: A002  # the name everybody expects
) -> Response:
    """A capture with its text, whose offsets are those of quotes; `raw` downloads the bytes as they came."""
    engine = await service_of(request).engine(scope)
    stored, document = await engine.snapshot(snapshot_id)
    if format == "json":
        return PlainJson(snapshot_json(stored, document))
    if format == "raw":
        attached = {**HARMLESS, "Content-Disposition": f'attachment; filename="{stored.snapshot_id}"'}
        return Response(stored.body, media_type="application/octet-stream", headers=attached)
    if document is None:
        raise NotFound("nothing was read out of this snapshot", reason="no_document")
    text = document.text if format == "text" else document_markdown(document)
    kind = "plain" if format == "text" else "markdown"
    return Response(text, media_type=f"text/{kind}; charset=utf-8", headers=HARMLESS)


def snapshot_json(stored: Snapshot, document: Document | None) -> dict[str, Any]:
    """A capture as it is sent: where, when and how it was taken, and what was read out of it."""
    names = ("snapshot_id", "url", "final_url", "canonical_url", "status", "content_type", "body_sha256", "fetched_at")
    more = ("via", "robots", "usage_signals", "redirects", "note")
    told = {name: to_json(getattr(stored, name), outside=True) for name in (*names, *more)}
    return {**told, "size_bytes": len(stored.body), "document": None if document is None else _document_json(document)}


def _document_json(document: Document) -> dict[str, Any]:
    names = ("document_id", "extractor", "version", "title", "byline", "site_name", "language", "published_at")
    told = {name: to_json(getattr(document, name), outside=True) for name in names}
    return {**told, "outline": to_json(document.outline, outside=True), "text": document.text}
