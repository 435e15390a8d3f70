"""E-mail (one message, or a mailbox of them) to a Document: subject as heading, who and when, the text by its layout.

Quoted lines are quotations, for they are somebody else's words; attachments are named and not read.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from email import message_from_bytes, policy
from email.message import EmailMessage, Message
from itertools import islice

from pincite.domain.errors import EmptyContent, PinciteError
from pincite.domain.items import Item, ItemKind
from pincite.domain.page import QUOTED_NOTE, Block, BlockKind, Document
from pincite.fetch.extractors import VERSIONS
from pincite.fetch.extractors.characters import clean, clean_line, decode
from pincite.fetch.extractors.html import read_html
from pincite.fetch.extractors.preformatted import blocks_of_lines, file_name

EXTRACTOR = "mail"
VERSION = VERSIONS["mail"]

# Source: RFC 4155, the line before each message of an mbox.
_MAILBOX = re.compile(rb"^From [^\n]*\d{4}[^\n]*\r?\n(?=[\w-]+:)", re.MULTILINE)
# Of a mailbox; a larger one is for a library, message by message.
_MAX_MESSAGES = 2_000
# Attachments and alternatives of one message, and the message itself.
_MAX_PARTS = 201
_QUOTED = re.compile(r"^(?:> ?)+", re.MULTILINE)
_SIGNATURE = re.compile(r"\n-- \n")
_SHOWN = ("From", "To", "Cc", "Date")


def read_mail(content: bytes, url: str) -> Document:
    """The messages of a mail file, in order.

    Errors:
        EmptyContent: no message has a subject or a text.
    """
    begins = list(_MAILBOX.finditer(content))
    raws = [content]
    if begins and content[: begins[0].end()].count(b"\n") <= 1:
        after = [*(begin.start() for begin in begins[1:]), len(content)]
        raws = [content[begin.end() : end] for begin, end in zip(begins, after, strict=True)]
    blocks: list[Block] = []
    warnings: list[str] = []
    messages: list[EmailMessage] = []
    ends: list[int] = []
    for raw in raws[:_MAX_MESSAGES]:
        message = message_from_bytes(raw, policy=policy.default)
        blocks += _blocks(message, len(blocks), 1 if len(raws) == 1 else 2, warnings)
        messages.append(message)
        ends.append(len(blocks))
    if len(raws) > _MAX_MESSAGES:
        warnings.append(f"{len(raws) - _MAX_MESSAGES:,} messages after the first {_MAX_MESSAGES:,} were not read")
    if not blocks:
        raise EmptyContent("the mail has no text", reason="empty_page")
    alone = len(raws) == 1
    dates = sorted(filter(None, map(_moment, messages)))
    document = Document(
        EXTRACTOR,
        VERSION,
        tuple(blocks),
        title=_header(messages[0], "Subject") if alone else file_name(url),
        byline=_header(messages[0], "From") if alone else "",
        # A mailbox goes on growing, as a thread does.
        published_at=dates[0] if dates else None,
        modified_at=dates[-1] if len(dates) > 1 else None,
        canonical_url=url,
        warnings=tuple(warnings),
    )
    return document if alone else replace(document, structure=tuple(_posts(document, messages, ends)))


def _posts(document: Document, messages: list[EmailMessage], ends: list[int]) -> Iterator[Item]:
    """Each message of a mailbox as what its sender says, and when."""
    for message, first, end in zip(messages, [0, *ends], ends, strict=False):
        if first < end:
            stop = document.starts[end - 1] + len(document.blocks[end - 1].text)
            yield Item(
                ItemKind.POST,
                "layout",
                _header(message, "Subject"),
                _header(message, "From"),
                _moment(message),
                start=document.starts[first],
                end=stop,
            )


def _blocks(message: EmailMessage, first: int, level: int, warnings: list[str]) -> list[Block]:
    blocks: list[Block] = []
    if subject := _header(message, "Subject"):
        blocks.append(Block(BlockKind.HEADING, subject, level))
    # A list: in a paragraph they would run on into the first sentence.
    told = [f"{name}: {value}" for name in _SHOWN if (value := _header(message, name))]
    blocks += [Block(BlockKind.LIST_ITEM, line) for line in told]
    plain, html = "", ""
    for part in islice(message.walk(), _MAX_PARTS):
        if part.is_multipart():
            continue
        kind, name = part.get_content_type(), part.get_filename()
        if name or kind not in {"text/plain", "text/html"}:
            warnings.append(f"not read: attachment {clean(str(name or kind))[:200]}")
        elif kind == "text/plain":
            plain += f"\n\n{_text(part)}"
        else:
            html = html or _text(part)
    if plain.strip():
        blocks += _plain(plain, first + len(blocks))
    elif html:
        place = first + len(blocks)
        with suppress(PinciteError):  # made to break parsers, or without text: the rest of the message is read
            inside = read_html(html, "https://mail.invalid/").blocks
            blocks += [one if one.parent is None else replace(one, parent=one.parent + place) for one in inside]
    return blocks


def _text(part: Message) -> str:
    payload = part.get_payload(decode=True)
    return decode(payload, f"text/plain; charset={part.get_content_charset()}") if isinstance(payload, bytes) else ""


def _plain(text: str, first: int) -> list[Block]:
    """The text of a message; what it quotes as quotations, without its signature."""
    body = clean(_SIGNATURE.split(text.replace("\r\n", "\n"), maxsplit=1)[0])
    blocks: list[Block] = []
    for number, piece in enumerate(re.split(r"((?:^>.*\n?)+)", body, flags=re.MULTILINE)):
        if number % 2 == 0:
            blocks += blocks_of_lines(piece, first=first + len(blocks))
        elif said := _QUOTED.sub("", piece).strip():
            blocks += [
                Block(BlockKind.QUOTATION, part.strip(), note=QUOTED_NOTE)
                for part in re.split(r"\n[ \t]*\n", said)
                if part.strip()
            ]
    return blocks


def _header(message: EmailMessage, name: str) -> str:
    try:
        return clean_line(str(message.get(name) or ""))[:500]
    except (ValueError, LookupError, AttributeError, TypeError):  # the parser trips over headers made wrongly
        return ""


def _moment(message: EmailMessage) -> datetime | None:
    try:
        moment = getattr(message.get("Date"), "datetime", None)
    except (ValueError, LookupError, AttributeError, TypeError):
        return None
    return moment if isinstance(moment, datetime) and moment.tzinfo is not None else None
