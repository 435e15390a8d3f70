"""How a document crosses from a worker process: compact JSON, never pickle, since the sender read hostile input."""

import json
from datetime import datetime
from typing import Any

from pincite.domain import errors
from pincite.domain.page import Block, BlockKind, CellSpan, Document, Link, Mark, MarkKind

_FIELDS = ("extractor", "version", "title", "byline", "site_name", "description", "language", "canonical_url")


def pack_document(document: Document) -> bytes:
    """The document as bytes for `unpack_reply`."""
    blocks = [
        [
            block.kind, block.text, block.level, block.ordered, block.number, block.language, block.rows,
            block.has_header, [[mark.start, mark.end, mark.kind, mark.href, mark.title] for mark in block.marks],
            block.page, block.secondary, block.parent, block.note, block.header_rows, block.header_columns,
            [[span.row, span.column, span.rows, span.columns] for span in block.spans],
        ]
        for block in document.blocks
    ]  # fmt: skip  # in the order that `_block` reads
    value = {name: getattr(document, name) for name in _FIELDS} | {
        "blocks": blocks,
        "published_at": document.published_at and document.published_at.isoformat(),
        "modified_at": document.modified_at and document.modified_at.isoformat(),
        "links": [[link.url, link.text, link.rank] for link in document.links],
        "warnings": document.warnings,
        "signals": document.signals,
    }
    return _bytes({"document": value})


def pack_error(error: errors.PinciteError) -> bytes:
    """The error as bytes for `unpack_reply`."""
    return _bytes({"error": [error.code, error.message, error.reason, error.hint, error.context]})


def unpack_reply(reply: bytes) -> Document:
    """The document in a reply.

    Errors:
        ParseError: the reply makes no sense. And whatever error the worker sent.
    """
    try:
        value = json.loads(reply)
        if "error" in value:
            raise _error(*value["error"])
        return _document(value["document"])
    except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        raise errors.ParseError("the reader gave no sensible answer", reason="parser_failed") from error


def _bytes(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _error(code: str, message: str, reason: str, hint: str, context: dict[str, Any]) -> errors.PinciteError:
    kinds = (errors.EmptyContent, errors.UnsupportedContentType, errors.TooLarge, errors.ExtraNotInstalled)
    kind = next((kind for kind in kinds if kind.code == code), errors.ParseError)
    return kind(message, reason=reason, hint=hint, context=context)


def _document(value: dict[str, Any]) -> Document:
    return Document(
        blocks=tuple(_block(*row) for row in value["blocks"]),
        published_at=_moment(value["published_at"]),
        modified_at=_moment(value["modified_at"]),
        links=tuple(Link(url, text, rank) for url, text, rank in value["links"]),
        warnings=tuple(value["warnings"]),
        signals=tuple(value["signals"]),
        **{name: str(value[name]) for name in _FIELDS},
    )


def _block(*row: Any) -> Block:
    kind, text, level, ordered, number, language, rows, has_header, marks, page, secondary, *structure, spans = row
    parent, note, header_rows, header_columns = structure
    return Block(
        BlockKind(kind),
        text,
        level,
        ordered,
        number,
        language,
        tuple(tuple(cells) for cells in rows),
        has_header,
        tuple(Mark(start, end, MarkKind(mark), href, title) for start, end, mark, href, title in marks),
        page,
        secondary,
        parent,
        note,
        header_rows,
        header_columns,
        tuple(CellSpan(*span) for span in spans),
    )


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
