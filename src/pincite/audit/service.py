"""The audit of anyone's report: parse, read the cited pages, judge every sentence, count."""

import io
import json
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime

from anyio import to_thread

from pincite.audit.findings import Audit
from pincite.audit.judging import Auditor
from pincite.audit.markers import Marker
from pincite.audit.pages import PageReading, fetched_pages, given_pages
from pincite.audit.parse import ParsedReport, parse_report
from pincite.domain.errors import InvalidInput, RemoteError
from pincite.domain.events import Json
from pincite.domain.frozen import dataclass
from pincite.ports import Judge

# A report with its pictures; what is larger is no report. Chosen, not measured.
_LARGEST_BYTES = 50_000_000
_HTML = re.compile(r"^\s*(?:<!doctype html|<html|<head|<body|<article|<div|<h1|<p[ >])", re.IGNORECASE)
# What the exports of our own reports call themselves, as a page and in a Word file.
_OWN_PAGE = re.compile(r'<meta name="generator" content="Pincite">')
_OWN_FILE, _FILE_ABOUT = b"<dc:creator>Pincite</dc:creator>", "docProps/core.xml"
_HEAD_CHARS = 4_000
# The text of a DOCX file or of HTML as Markdown.
ToMarkdown = Callable[[bytes | str], str]


@dataclass(frozen=True, slots=True)
class ReportInput:
    """The report as Markdown or plain text, and the citations that came beside it."""

    text: str
    annotations: tuple[Marker, ...] = ()


def read_report(content: bytes | str, to_markdown: ToMarkdown | None = None) -> ReportInput:
    """The report's text whatever its form, told by its content.

    Errors: InvalidInput (`too_large`, `not_text`, `docx`, `html`, `json`, `own_report`), ExtraNotInstalled.
    """
    if isinstance(content, bytes):
        if len(content) > _LARGEST_BYTES:
            raise InvalidInput("the report is larger than 50 MB", reason="too_large")
        # By what it is and not by a name: reports come without one, from a pipe or in a body.
        if content[:4] == b"PK\x03\x04":
            _refuse_own(_OWN_FILE in _about(content))
            return _converted(content, to_markdown)
        if b"\0" in content[:2000]:
            raise InvalidInput(
                "the report is neither text nor DOCX",
                hint="Give it as Markdown, text, HTML, DOCX or the JSON of an answer with annotations.",
                reason="not_text",
            )
        content = _decoded(content)
    if content.lstrip()[:1] in ("{", "["):
        found = _from_json(content)
        if found is not None:
            return found
    if not _HTML.match(content):
        return ReportInput(content)
    _refuse_own(_OWN_PAGE.search(content[:_HEAD_CHARS]) is not None)
    return _converted(content, to_markdown)


def _refuse_own(is_own: bool) -> None:
    """Our pages and Word files show beside each sentence what it rests on: taken as text of a report, all is wrong."""
    if is_own:
        raise InvalidInput(
            "this is a report of Pincite, laid out with its passages",
            hint="Prove it as JSON, or audit it as Markdown: pincite runs export RUN -o report.json (or report.md), "
            "then pincite check report.json (or pincite audit report.md).",
            reason="own_report",
        )


def _about(content: bytes) -> bytes:
    """What a Word file says of itself; nothing where it can't be read, which its reader tells better."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive, archive.open(_FILE_ABOUT) as stream:
            return stream.read(_HEAD_CHARS)
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, ValueError, OSError, RuntimeError, NotImplementedError):
        return b""


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        # What is no UTF-8 is mostly from Windows; every byte of it means something there.
        return content.decode("cp1252", errors="replace")


def _converted(report: bytes | str, to_markdown: ToMarkdown | None) -> ReportInput:
    if to_markdown is None:
        raise InvalidInput("nobody is here to read HTML or DOCX", reason="not_text")
    try:
        text = to_markdown(report)
    except RemoteError as error:
        reason = "docx" if isinstance(report, bytes) else "html"
        raise InvalidInput(f"the report can't be read: {error.message}", reason=reason) from error
    # What is escaped would hide markers of citations and the numbers of entries.
    return ReportInput(re.sub(r"\\([\[\]()*_`#.!>-])", r"\1", text))


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
        to_markdown: reads reports in HTML and DOCX; without it they are refused.
        now: the time, for the record of judgements.
    """

    def __init__(
        self,
        judge: Judge | None = None,
        reading: PageReading | None = None,
        *,
        to_markdown: ToMarkdown | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._judge = judge
        self._reading = reading
        self._to_markdown = to_markdown
        self._now = now

    async def audit(
        self, report: str | bytes, *, sources: Mapping[str, str] | None = None, strict: bool = False
    ) -> Audit:
        """A verdict on every sentence of the report (Markdown, text, HTML, DOCX, or an answer's JSON).

        `sources` maps URLs (or file names) to the text of their pages; without it the pages are fetched. `strict`:
        partly supported sentences count as wrong.

        Errors: InvalidInput. A page that can't be read is not an error: its sentences are `could_not_check`.
        """
        parsed = await to_thread.run_sync(self._parsed, report)
        if sources is not None or self._reading is None:
            pages = await to_thread.run_sync(given_pages, parsed.references, sources or {})
        else:
            pages = await fetched_pages(parsed.references, self._reading)
        auditor = await to_thread.run_sync(
            lambda: Auditor(pages.references, pages.documents, self._judge, report=parsed.text, at=self._now())
        )
        judged = await auditor.audit(parsed.sentences)
        sentences = tuple(item.sentence for item in judged)
        cited = Counter(index for sentence in sentences for index in sentence.references)
        references = tuple(replace(one, cited=cited[index]) for index, one in enumerate(pages.references))
        return Audit(
            parsed.text,
            sentences,
            references,
            sum(item.checked for item in judged),
            sum(item.supporting for item in judged),
            judge=self._judge.name if self._judge is not None else "",
            strict=strict,
        )

    def _parsed(self, report: str | bytes) -> ParsedReport:
        read = read_report(report, self._to_markdown)
        return parse_report(read.text, read.annotations)
