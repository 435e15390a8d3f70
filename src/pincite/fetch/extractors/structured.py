"""CSV, JSON, XML and feeds (RSS, Atom) to a Document."""

import csv
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import islice

from lxml import etree

from pincite.domain.errors import ParseError, PinciteError
from pincite.domain.page import Block, BlockKind, Document, Mark, MarkKind
from pincite.fetch.extractors import VERSIONS
from pincite.fetch.extractors.characters import clean, clean_line
from pincite.fetch.extractors.dom import parse
from pincite.fetch.extractors.ebooks import xml_root
from pincite.fetch.extractors.html import file_document, fragment_blocks
from pincite.fetch.extractors.inline import absolute
from pincite.fetch.extractors.office import sheet_blocks

VERSION = VERSIONS["structured"]
# As for sheets (`office`).
MAX_ROWS = 100_000
# Feeds have tens; archives of them some hundreds.
MAX_ENTRIES = 2_000
# A wider table is a matrix, which nobody reads as text.
MAX_COLUMNS = 200
# Records that share so few members are no table: most of its cells would be empty.
_SPARSEST = 4
# The default of `csv`, 131,072, would refuse a table with one long cell.
_MAX_FIELD_CHARS = 20_000_000
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_ENCODING = re.compile(r"^\s*<\?xml[^>]*\?>")
_DELIMITERS = (",", ";", "\t", "|")
# Enough to see which sign parts the columns.
_SAMPLE_LINES = 20
_FEED_ITEMS = frozenset({"item", "entry"})
_FEED_ROOTS = frozenset({"rss", "RDF", "feed"})


def read_csv(text: str, url: str) -> Document:
    """The rows of a CSV text, delimiter found by consistency.

    Errors:
        EmptyContent, ParseError.
    """
    lines = clean(text).split("\n")
    sample = [line for line in lines[:_SAMPLE_LINES] if line.strip()]
    counts = {mark: [line.count(mark) for line in sample] for mark in _DELIMITERS}
    delimiter = max(_DELIMITERS, key=lambda mark: (min(counts[mark], default=0) > 0, sum(counts[mark])))
    rows: list[tuple[str, ...]] = []
    csv.field_size_limit(_MAX_FIELD_CHARS)  # the size of the whole body is bounded already
    try:
        for row in csv.reader(lines, delimiter=delimiter):
            if any(cell.strip() for cell in row):
                rows.append(tuple(" ".join(cell.split()) for cell in row))
            if len(rows) >= MAX_ROWS:
                break
    except csv.Error as error:
        raise ParseError("the CSV text is broken", reason="csv_malformed") from error
    return file_document("csv", VERSION, sheet_blocks("", rows), url, title="")


def read_json(text: str, url: str) -> Document:
    """JSON as tables where it is a list of flat objects, else as indented text.

    Errors:
        ParseError: not JSON, or nested too deep. EmptyContent.
    """
    try:
        value = _parsed(text)
        blocks = _json_blocks(value)
    except (ValueError, RecursionError) as error:
        raise ParseError("the body is not valid JSON", reason="json_malformed") from error
    title = value.get("title") or value.get("name") if isinstance(value, dict) else ""
    return file_document("json", VERSION, blocks, url, title=title if isinstance(title, str) else "")


def _parsed(text: str) -> object:
    """The value of a JSON text, or the values of its lines where each line is one (JSON Lines)."""

    def read(piece: str) -> object:
        # Python refuses to make numbers of very many digits; here they are only shown.
        return json.loads(
            piece, parse_constant=str, parse_int=lambda digits: int(digits) if len(digits) < 40 else digits
        )

    try:
        return read(text)
    except ValueError:
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) < 2 or not all(line.lstrip().startswith(("{", "[")) for line in lines):
            raise
        return [read(line) for line in lines]


def _json_blocks(value: object) -> list[Block]:
    if isinstance(value, list) and value and all(map(_is_flat, value)):
        records = value[:MAX_ROWS]
        names = tuple(dict.fromkeys(name for item in records for name in item))
        if _is_table(len(names), records):
            return sheet_blocks("", [names, *(tuple(_scalar(item.get(name)) for name in names) for item in records)])
    text = clean(json.dumps(value, ensure_ascii=False, indent=2)).strip()
    return [Block(BlockKind.CODE, text, language="json")] if value not in ({}, [], "", None) else []


def _is_table(width: int, records: Sequence[Mapping[str, object]]) -> bool:
    """Whether records share enough of their names: a table of them would not be mostly empty."""
    return width <= MAX_COLUMNS and width * len(records) <= _SPARSEST * sum(map(len, records))


def _is_flat(item: object) -> bool:
    return isinstance(item, dict) and bool(item) and not any(isinstance(part, dict | list) for part in item.values())


def _scalar(value: object) -> str:
    return "" if value is None else clean_line(value if isinstance(value, str) else json.dumps(value))


def read_xml(content: bytes, url: str) -> Document:
    """A feed as headings and summaries, other XML as its texts in order.

    Errors:
        ParseError: not well-formed, or it declares entities. EmptyContent.
    """
    if content.startswith(_UTF16_MARKS):
        content = _ENCODING.sub("", content.decode("utf-16", "replace"), count=1).encode("utf-8", "replace")
    if b"<!ENTITY" in content[:65_536].upper():
        raise ParseError("the XML declares entities", reason="xml_entities")
    root = xml_root(content)
    if _name(root) in _FEED_ROOTS:
        channel = next((child for child in root.iter() if _name(child) == "channel"), root)
        blocks: list[Block] = []
        items = (element for element in root.iter() if _name(element) in _FEED_ITEMS)
        for entry in islice(items, MAX_ENTRIES):
            blocks += _entry_blocks(entry, url, len(blocks))
        return file_document("feed", VERSION, blocks, url, title=_child_text(channel, "title"))
    if (records := _records(root)) and _is_table(len(set().union(*records)), records):
        return file_document("xml", VERSION, _json_blocks(records), url, title="")
    blocks = []
    for element in root.iter():
        if isinstance(element.tag, str):
            for piece in (element.text, *(child.tail for child in element)):
                if text := clean_line(piece or ""):
                    blocks.append(Block(BlockKind.PARAGRAPH, text))
    return file_document("xml", VERSION, blocks, url, title="")


def _records(root: etree._Element) -> list[dict[str, str]]:
    """The children of the root as records, where all are of one name and hold only named values; else nothing."""
    children = [child for child in root if isinstance(child.tag, str)]
    if len(children) < 2 or len({child.tag for child in children}) > 1 or (root.text or "").strip():
        return []
    records: list[dict[str, str]] = []
    for child in children[:MAX_ROWS]:
        values = [value for value in child if isinstance(value.tag, str)]
        if not values or (child.text or "").strip():
            return []
        if any(len(value) or (value.tail or "").strip() for value in values):
            return []
        record: dict[str, str] = {}
        for value in values:
            said = clean_line(value.text or "")
            name = _name(value)
            record[name] = f"{record[name]}; {said}" if name in record else said
        records.append(record)
    return records


def _entry_blocks(entry: etree._Element, url: str, first: int) -> list[Block]:
    blocks: list[Block] = []
    target = ""
    for child in entry:
        if _name(child) == "link" and (child.get("rel") or "alternate") == "alternate":
            target = target or absolute(url, (child.get("href") or child.text or "").strip())
    if title := _child_text(entry, "title"):
        marks = (Mark(0, len(title), MarkKind.LINK, target),) if target else ()
        blocks.append(Block(BlockKind.HEADING, title, level=2, marks=marks))
    date = next(filter(None, (_child_text(entry, name) for name in ("pubDate", "published", "updated", "date"))), "")
    if date:
        blocks.append(Block(BlockKind.PARAGRAPH, date))
    longest = max((_markup(entry, name) for name in ("encoded", "content", "description", "summary")), key=len)
    if longest.strip():
        with suppress(PinciteError):  # an entry without readable text keeps its title
            blocks += fragment_blocks(longest, url, first + len(blocks))
    return blocks


def _markup(entry: etree._Element, name: str) -> str:
    child = _child(entry, name)
    if child is None:
        return ""
    return (child.text or "") + "".join(etree.tostring(part, encoding="unicode") for part in child)


def _child_text(element: etree._Element, name: str) -> str:
    child = _child(element, name)
    text = "" if child is None else clean_line("".join(child.itertext()))
    if "<" in text or "&" in text:
        try:
            text = " ".join(parse(text).root.text_content().split())
        except PinciteError:
            return ""
    return clean(text)


def _child(element: etree._Element, name: str) -> etree._Element | None:
    return next((child for child in element if _name(child) == name), None)


def _name(element: etree._Element) -> str:
    return etree.QName(element).localname if isinstance(element.tag, str) else ""
