"""The audit of anyone's report: parse, read the cited pages, judge every sentence, count."""

import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime

from anyio import to_thread

from pincite.audit.findings import Audit, AuditVerdict
from pincite.audit.judging import Auditor
from pincite.audit.markers import Marker
from pincite.audit.pages import PageReading, fetched_pages, given_pages
from pincite.audit.parse import ParsedReport, parse_report
from pincite.domain.errors import ExtraNotInstalled, InvalidInput
from pincite.domain.events import Json
from pincite.domain.frozen import dataclass
from pincite.ports import Judge
from pincite.runtime.system import install_extra

# A report with its pictures; what is larger is no report. Chosen, not measured.
_LARGEST_BYTES = 50_000_000
# Parts of a zip are looked at before they are unpacked: a small file may unpack to anything (a zip bomb).
_DOCX_PART_BYTES = 20_000_000
_HTML = re.compile(r"^\s*(?:<!doctype html|<html|<head|<body|<article|<div|<h1|<p[ >])", re.IGNORECASE)
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
# Kinds of notes in a DOCX, with what tells their numbers apart.
_NOTES = {"footnote": "", "endnote": "e"}
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"


@dataclass(frozen=True, slots=True)
class ReportInput:
    """The report as Markdown or plain text, and the citations that came beside it."""

    text: str
    annotations: tuple[Marker, ...] = ()


def read_report(content: bytes | str) -> ReportInput:
    """The report's text whatever its form, told by its content.

    Errors: InvalidInput (`too_large`, `not_text`, `docx`, `json`).
    """
    if isinstance(content, bytes):
        if len(content) > _LARGEST_BYTES:
            raise InvalidInput("the report is larger than 50 MB", reason="too_large")
        # By what it is and not by a name: reports come without one, from a pipe or in a body.
        if content[:4] == b"PK\x03\x04":
            return ReportInput(docx_text(content))
        if b"\0" in content[:2000]:
            raise InvalidInput(
                "the report is neither text nor DOCX",
                hint="Give it as Markdown, text, HTML, DOCX or the JSON of an answer with annotations.",
                reason="not_text",
            )
        return _from_text(_decoded(content))
    return _from_text(content)


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        # What is no UTF-8 is mostly from Windows; every byte of it means something there.
        return content.decode("cp1252", errors="replace")


def _from_text(content: str) -> ReportInput:
    if content.lstrip()[:1] in ("{", "["):
        found = _from_json(content)
        if found is not None:
            return found
    if _HTML.match(content):
        return ReportInput(html_text(content))
    return ReportInput(content)


def html_text(html: str) -> str:
    """The page as Markdown: links, lists, tables and code keep their marks. Errors: ExtraNotInstalled."""
    try:
        from html_to_markdown import convert
    except ImportError:
        raise ExtraNotInstalled(
            "reports in HTML need an extra", reason="audit", hint=f"Run: {install_extra('audit')}"
        ) from None

    cleaned = re.sub(r"<(script|style|noscript|template)\b.*?</\1\s*>", " ", html, flags=re.DOTALL | re.IGNORECASE)
    # Raised figures stay plain: the converter's marks around them would hide markers of citations.
    cleaned = re.sub(r"<sup\b[^>]*>(.*?)</sup>", r"\1", cleaned, flags=re.DOTALL | re.IGNORECASE)
    converted = convert(cleaned)
    text = converted if isinstance(converted, str) else str(converted.content or "")
    # What the converter writes of the head of the page is no sentence of the report.
    text = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL)
    return re.sub(r"\\([\[\]()*_`#.!>-])", r"\1", text)


def docx_text(content: bytes) -> str:
    """The text of a DOCX as Markdown: headings, list items, table rows, links, footnotes.

    Errors: InvalidInput (`docx`).
    """
    from lxml import etree

    # The file is a stranger's: entities may name files here, or grow without end.
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            body = etree.fromstring(_part(archive, "word/document.xml"), parser)
            names = set(archive.namelist())
            parts = [(kind, f"word/{kind}s.xml") for kind in _NOTES]
            found = [(kind, _part(archive, name)) for kind, name in parts if name in names]
            links_name = "word/_rels/document.xml.rels"
            links_part = _part(archive, links_name) if links_name in names else b""
        targets: dict[str, str] = {}
        if links_part:
            targets = {str(r.get("Id")): str(r.get("Target")) for r in etree.fromstring(links_part, parser)}
        notes = [(kind, note) for kind, part in found for note in etree.fromstring(part, parser)]
    except (zipfile.BadZipFile, KeyError, etree.XMLSyntaxError, NotImplementedError) as error:
        raise InvalidInput("the report is not a readable DOCX file", reason="docx") from error
    lines: list[str] = []
    for block in _blocks(body):
        lines += (_block(block, targets), "")
    for kind, note in notes:
        number = note.get(f"{_WORD}id")
        text = " ".join("".join(_runs(p, targets)).strip() for p in note.iter(f"{_WORD}p")).strip()
        if text and note.get(f"{_WORD}type") is None:
            lines += (f"[^{_NOTES[kind]}{number}]: {text}", "")
    return "\n".join(lines)


def _part(archive: zipfile.ZipFile, name: str) -> bytes:
    if archive.getinfo(name).file_size > _DOCX_PART_BYTES:
        raise InvalidInput("the DOCX file unpacks to more than 20 MB", reason="too_large")
    return archive.read(name)


def _blocks(body: "object") -> Iterator["object"]:
    """The paragraphs and the table rows in order."""
    for node in body.iter(f"{_WORD}p", f"{_WORD}tr"):  # type: ignore[attr-defined]  # an lxml element has no types
        if node.tag == f"{_WORD}tr" or next(node.iterancestors(f"{_WORD}tr"), None) is None:
            yield node


def _block(node: "object", targets: dict[str, str]) -> str:
    """A paragraph in Markdown, or a table row with bars between its cells."""
    if node.tag == f"{_WORD}p":  # type: ignore[attr-defined]  # as above
        return "".join(_runs(node, targets))
    cells = (
        " ".join("".join(_runs(paragraph, targets)).strip() for paragraph in cell.iter(f"{_WORD}p"))
        for cell in node.iter(f"{_WORD}tc")  # type: ignore[attr-defined]  # as above
    )
    return f"| {' | '.join(cells)} |"


def _runs(paragraph: "object", targets: dict[str, str]) -> Iterator[str]:
    """The pieces of a paragraph in Markdown."""
    style = paragraph.find(f"{_WORD}pPr/{_WORD}pStyle")  # type: ignore[attr-defined]  # as above
    name = str(style.get(f"{_WORD}val", "")) if style is not None else ""
    if name.lower().startswith(("heading", "title")):
        yield "# "
    elif paragraph.find(f"{_WORD}pPr/{_WORD}numPr") is not None:  # type: ignore[attr-defined]  # as above
        yield "- "
    links: dict[int, str] = {}
    for node in paragraph.iter():  # type: ignore[attr-defined]  # as above
        if node.tag == f"{_WORD}hyperlink":
            target = targets.get(str(node.get(f"{_RELATION}id")), "")
            texts = list(node.iter(f"{_WORD}t"))
            if target.startswith("http") and texts:
                texts[0].text = "[" + (texts[0].text or "")
                links[id(texts[-1])] = f"]({target})"
        elif node.tag == f"{_WORD}t":
            yield (node.text or "") + links.get(id(node), "")
        elif node.tag in (f"{_WORD}footnoteReference", f"{_WORD}endnoteReference"):
            kind = node.tag.removeprefix(_WORD).removesuffix("Reference")
            yield f"[^{_NOTES[kind]}{node.get(f'{_WORD}id')}]"
        elif node.tag in (f"{_WORD}tab", f"{_WORD}br"):
            yield " "


def _from_json(content: str) -> ReportInput | None:
    """Text and annotations out of an answer in the shapes of OpenAI; None when the JSON is something else."""
    try:
        data: Json = json.loads(content)
    except (ValueError, RecursionError):
        return None
    texts: list[str] = []
    found: list[Marker] = []
    offset = 0
    for text, annotations in _texts(data, 0):
        texts.append(text)
        found += (marker for marker in _annotations(annotations, offset, len(text)))
        # The two line feeds that the texts are joined by.
        offset += len(text) + 2
    if texts:
        return ReportInput("\n\n".join(texts), tuple(found))
    if isinstance(data, dict) and isinstance(data.get("markdown"), str):
        return ReportInput(str(data["markdown"]))
    raise InvalidInput("the JSON has no answer text in a known shape", reason="json")


def _texts(data: Json, depth: int) -> Iterator[tuple[str, list[Json]]]:
    """Every (text, annotations) of a Responses answer, a message or a chat completion."""
    # Those answers nest five deep; what is deeper is something else, and could exhaust the stack.
    if depth > 8:
        return
    if isinstance(data, list):
        for item in data:
            yield from _texts(item, depth + 1)
    elif isinstance(data, dict):
        text = data.get("text") if isinstance(data.get("text"), str) else data.get("content")
        annotations = data.get("annotations")
        if isinstance(text, str) and (isinstance(annotations, list) or data.get("type") == "output_text"):
            yield text, annotations if isinstance(annotations, list) else []
            return
        if isinstance(text, str) and data.get("role") == "assistant":
            yield text, []
            return
        for key in ("output", "choices", "message", "content", "messages"):
            value = data.get(key)
            if isinstance(value, list | dict):
                yield from _texts(value, depth + 1)


def _annotations(annotations: list[Json], offset: int, length: int) -> Iterator[Marker]:
    for item in annotations:
        if not isinstance(item, dict):
            continue
        inner = item.get("url_citation")
        citation = inner if isinstance(inner, dict) else item
        url, start, end = citation.get("url"), citation.get("start_index"), citation.get("end_index")
        if not isinstance(url, str) or not isinstance(start, int) or not isinstance(end, int):
            continue
        # Models count badly: an annotation behind the end still belongs to this text.
        start = max(0, min(start, length - 1))
        # Nothing of the text is taken away: the annotation may cover the cited words themselves.
        yield Marker(offset + start, offset + start, url=url)


class AuditService:
    """Audits reports.

    Args:
        judge: who judges meaning; without one, what is in other words than its source is `unchecked`.
        reading: how pages are come by; without it only given pages are looked at.
        now: the time, for the record of judgements.
    """

    def __init__(
        self,
        judge: Judge | None = None,
        reading: PageReading | None = None,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._judge = judge
        self._reading = reading
        self._now = now

    async def audit(
        self, report: str | bytes, *, sources: Mapping[str, str] | None = None, strict: bool = False
    ) -> Audit:
        """A verdict on every sentence of the report (Markdown, text, HTML, DOCX, or an answer's JSON).

        `sources` maps URLs (or file names) to the text of their pages; without it the pages are fetched. `strict`:
        partly supported sentences count as wrong.

        Errors: InvalidInput. A page that can't be read is not an error: its sentences are `could_not_check`.
        """
        parsed = await to_thread.run_sync(_parsed, report)
        if sources is not None or self._reading is None:
            pages = await to_thread.run_sync(given_pages, parsed.references, sources or {})
        else:
            pages = await fetched_pages(parsed.references, self._reading)
        auditor = await to_thread.run_sync(
            lambda: Auditor(pages.references, pages.documents, self._judge, report=parsed.text, at=self._now())
        )
        judged = await auditor.audit(parsed.sentences)
        sentences = tuple(item.sentence for item in judged)
        cited = [0] * len(pages.references)
        for sentence in sentences:
            if sentence.outcome is not AuditVerdict.NOT_A_CLAIM or sentence.references:
                for index in sentence.references:
                    cited[index] += 1
        references = tuple(
            replace(reference, cited=count) for reference, count in zip(pages.references, cited, strict=True)
        )
        return Audit(
            parsed.text,
            sentences,
            references,
            sum(item.checked for item in judged),
            sum(item.supporting for item in judged),
            judge=self._judge.name if self._judge is not None else "",
            strict=strict,
        )


def _parsed(report: str | bytes) -> ParsedReport:
    read = read_report(report)
    return parse_report(read.text, read.annotations)
