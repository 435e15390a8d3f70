"""The report as a Word file: references are endnotes, so that Word keeps their numbers and the way back.

Each reference is one endnote, set at its first `[n]`; later marks link to it. Text from outside is
written as text; the only links are the web addresses of references.
"""

import io
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape as xml_escape

from pincite.domain.evidence import Relation
from pincite.domain.layout import Code, Grid, Laid, Listing, Paragraphs, Quotation, Run, Sentence, Styled, laid_out
from pincite.domain.markdown import name_of
from pincite.domain.page import Document
from pincite.domain.reasons import reason_text
from pincite.domain.report import Reference, Report, ReportStatus
from pincite.domain.report_words import (
    ANSWER_HEADING,
    BALANCE_WORD,
    CONFLICTS_HEADING,
    LEAD_ABOUT,
    LEADS_HEADING,
    SUPPORT_WORD,
    backing,
    balance_text,
    conflict_text,
    constraints_text,
    counts_text,
    coverage_text,
    day,
    linkable,
    no_answer_text,
    one_line,
    open_heading,
    open_points,
    partial_text,
    question_text,
    shortened,
)
from pincite.domain.signs import (
    PROOFS,
    VERDICTS,
    beyond_text,
    claim_proof,
    place_of,
    proofs_used,
    refusal,
    styled_pieces,
)
from pincite.runtime.system import needing

if TYPE_CHECKING:
    from docx.document import Document as WordDocument
    from docx.text.paragraph import Paragraph

_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_NOTES_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.endnotes+xml"
_SAYS = {Relation.CONTRADICTS: "says otherwise", Relation.CORROBORATES: "says the same, a judge found"}
CODE_FONT = "DejaVu Sans Mono"
_NO_XML = re.compile("[\ufffe\uffff]")


class DocxExporter:
    """The report for Word and its kin."""

    media_type = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
    title = "Word"
    about = "Word, LibreOffice: references as endnotes, the evidence after the text"
    needs = "docx"

    def __init__(self) -> None:
        with needing("docx", "Word files need python-docx"):
            import docx
        self._new = docx.Document

    def render(self, report: Report, documents: Mapping[str, Document]) -> bytes:
        """The `.docx` file."""
        return _File(self._new(), report).bytes()


class _File:
    """One file in the making; remembers which references have their endnote already."""

    def __init__(self, word: "WordDocument", report: Report) -> None:
        self._word = word
        self._report = report
        self._noted: set[int] = set()
        self._anchors = {claim.id: f"_Claim{index:06}" for index, claim in enumerate(report.claims, 1)}

    def bytes(self) -> bytes:
        self._prepare()
        self._head()
        self._body()
        self._open_questions()
        self._evidence()
        self._notes()
        out = io.BytesIO()
        self._word.save(out)
        return out.getvalue()

    def _prepare(self) -> None:
        from docx.enum.style import WD_STYLE_TYPE
        from docx.shared import Pt

        properties = self._word.core_properties
        # python-docx refuses more.
        properties.title = _text(self._report.title or self._report.question)[:255]
        properties.author = "Pincite"
        # The report's time, and not that of its printing.
        properties.created = properties.modified = self._report.created_at.replace(tzinfo=None)
        styles: Any = self._word.styles
        mark = styles.add_style("endnote reference", WD_STYLE_TYPE.CHARACTER)
        mark.font.superscript = True
        note = styles.add_style("endnote text", WD_STYLE_TYPE.PARAGRAPH)
        note.font.size = Pt(9)
        source = styles.add_style("Source", WD_STYLE_TYPE.PARAGRAPH)
        source.base_style = styles["Normal"]
        source.font.size = Pt(8.5)
        source.paragraph_format.space_after = Pt(6)
        # The title and the number of the page under each page.
        foot = self._word.sections[0].footer.paragraphs[0]
        foot.add_run(_text(shortened(self._report.title or self._report.question))[:64] + "\t\t")
        _append(foot, '<w:fldSimple w:instr=" PAGE "><w:r><w:t>1</w:t></w:r></w:fldSimple>')

    def _head(self) -> None:
        report = self._report
        self._word.add_heading(_text(report.title or report.question), 0)
        if question := question_text(report):
            self._word.add_paragraph(_text(question), style="Subtitle")
        about = (day(report.created_at), counts_text(report), constraints_text(report.constraints))
        self._word.add_paragraph(_text(" · ".join(filter(None, about))))
        if report.notes:
            self._word.add_paragraph(_text(" ".join(report.notes)), style="Source")
        if report.status is ReportStatus.INSUFFICIENT_EVIDENCE:
            self._word.add_paragraph(no_answer_text(report).replace("**", ""))
        elif report.status is ReportStatus.PARTIAL:
            self._word.add_paragraph(partial_text(self._report).strip("*"))
        balance = balance_text(report)
        if balance:
            self._word.add_paragraph(f"{BALANCE_WORD}: {_text(balance)}", style="Source")
            legend = " · ".join(f"{sign.shape} {sign.word}: {sign.means}" for sign in proofs_used(report))
            self._word.add_paragraph(legend, style="Source")

    def _body(self) -> None:
        report = self._report
        if report.summary.sentences:
            self._word.add_heading(ANSWER_HEADING, 1)
            answer = self._word.add_paragraph()
            for sentence in report.summary.sentences:
                self._sentence(answer, sentence)
        for section in report.sections:
            self._word.add_heading(_text(section.heading), 1)
            for laid in laid_out(section):
                self._laid(laid)
        if report.listed_conflicts():
            self._word.add_heading(CONFLICTS_HEADING, 1)
        for conflict in report.listed_conflicts():
            self._word.add_paragraph(_text(conflict_text(conflict)))
            for side in conflict.sides:
                sources, numbers = backing(side, report)
                paragraph = self._word.add_paragraph(_text(f"{side.statement} {sources}"), style="List Bullet")
                self._marks(paragraph, numbers)

    def _open_questions(self) -> None:
        report = self._report
        points = open_points(report)
        if points:
            self._word.add_heading(open_heading(report), 1)
        for point in points:
            text = f"{point.line} ({point.searched})" if point.searched else point.line
            self._word.add_paragraph(_text(text), style="List Bullet")
        if report.leads:
            self._word.add_heading(LEADS_HEADING, 1)
        for lead in report.leads:
            why = f" ({reason_text(lead.reason)})" if lead.reason else ""
            about = f" – {LEAD_ABOUT}: {lead.about} (not read)" if lead.about else ""
            address = f": {lead.url}" if lead.title and lead.title != lead.url else ""
            self._word.add_paragraph(_text(f"{lead.title or lead.url}{why}{address}{about}"), style="List Bullet")

    def _evidence(self) -> None:
        if self._report.claims:
            self._passages()
        if self._report.rejected_claims:
            self._word.add_heading("Considered and rejected", 1)
        for refused in self._report.rejected_claims:
            said = f"{refused.text} – {VERDICTS[refused.verdict][1]}: {refusal(refused)}"
            self._word.add_paragraph(_text(said), style="List Bullet")

    def _passages(self) -> None:
        support = coverage_text(self._report.coverage, self._report.notes)
        if support:
            self._word.add_paragraph(f"{SUPPORT_WORD}: {_text(support)}")
        self._word.add_heading("Evidence", 1)
        for index, claim in enumerate(self._report.claims, 1):
            stated = self._word.add_paragraph()
            name = self._anchors[claim.id]
            _append(stated, f'<w:bookmarkStart w:id="{_CLAIMS + index}" w:name="{name}"/>')
            stated.add_run(_text(claim.text)).bold = True
            _append(stated, f'<w:bookmarkEnd w:id="{_CLAIMS + index}"/>')
            # A claim at the foot of a page with its passages on the next would be read as one without.
            stated.paragraph_format.keep_with_next = True
            proof = "; ".join(part for part in (claim_proof(claim), beyond_text(claim)) if part)
            if proof:
                self._word.add_paragraph(_text(proof), style="Source").paragraph_format.keep_with_next = True
            for item in claim.evidence:
                says = _SAYS.get(item.relation) or VERDICTS[claim.verdict][1]
                number = f"[{item.reference_n}] " if item.reference_n else ""
                where = f"{number}{item.url}, characters {item.start}–{item.end}, {says}; {item.snapshot_id}"
                quote = self._word.add_paragraph(_text(item.quote), style="Quote")
                quote.paragraph_format.keep_with_next = True
                self._word.add_paragraph(_text(where), style="Source")

    def _laid(self, laid: Laid, *, bare: bool = False) -> None:
        """A part of a section: a list, numbered steps, a table, code, excerpts under the place they come from."""
        match laid:
            case Quotation():
                head = self._word.add_paragraph(style="Source")
                head.paragraph_format.keep_with_next = True
                title = self._report.reference(laid.excerpt.reference_n).title
                head.add_run(_text(place_of(title, laid.path)) + " ")
                self._marks(head, laid.references)
                for content in laid.contents:
                    self._laid(content, bare=True)
            case Code():
                for entry in laid.entries:
                    paragraph = self._word.add_paragraph()
                    self._pieces(paragraph, entry, bare=bare or laid.made)
                    for run in [*paragraph.runs, *(run for link in paragraph.hyperlinks for run in link.runs)]:
                        run.font.name = CODE_FONT
                if laid.made:
                    below = self._word.add_paragraph()
                    self._numbers(below, [piece.sentence for entry in laid.entries for piece in entry])
                    below.add_run(f" {laid.note}")
            case Grid():
                self._table(laid, bare=bare)
            case Listing(numbered=True):
                self._steps(laid, bare=bare)
            case Listing() | Paragraphs():
                style = "List Bullet" if isinstance(laid, Listing) else "Quote" if bare else None
                for entry in laid.entries:
                    self._pieces(self._word.add_paragraph(style=style), entry, bare=bare)

    def _pieces(self, paragraph: "Paragraph", pieces: Run, *, bare: bool) -> None:
        for piece in pieces:
            self._sentence(paragraph, piece.sentence, piece.span, bare=bare)

    def _steps(self, steps: Listing, *, bare: bool) -> None:
        """Numbers as text: those that Word makes itself go on from one list to the next."""
        from docx.shared import Cm

        for n, entry in enumerate(steps.entries, start=steps.start):
            paragraph = self._word.add_paragraph(f"{n}.\t")
            paragraph.paragraph_format.left_indent = Cm(0.8)
            paragraph.paragraph_format.first_line_indent = Cm(-0.8)
            paragraph.paragraph_format.tab_stops.add_tab_stop(Cm(0.8))
            self._pieces(paragraph, entry, bare=bare)

    def _table(self, grid: Grid, *, bare: bool) -> None:
        """A table under its header, which Word repeats on each page."""
        table: Any = self._word.add_table(len(grid.rows) + bool(grid.header), grid.width, style="Table Grid")
        for cell, name in zip(table.rows[0].cells, grid.header, strict=False):
            _name(cell.paragraphs[0], name, grid.code)
        if grid.header:
            mark = table.rows[0]._tr.get_or_add_trPr()  # noqa: SLF001  # the library has no call for it
            mark.append(mark.makeelement(f"{{{mark.nsmap['w']}}}tblHeader"))
        for at, row in enumerate(grid.rows, start=bool(grid.header)):
            if grid.names:
                place, first = at - bool(grid.header), table.cell(at, 0).paragraphs[0]
                _name(first, grid.names[place], grid.code)
                self._numbers(first, grid.cited(place))
            cells = table.rows[at].cells[bool(grid.names) :]
            for cell, pieces in zip(cells, row, strict=False):
                self._pieces(cell.paragraphs[0], pieces, bare=bare or grid.marks_by_row)

    def _sentence(
        self, paragraph: "Paragraph", sentence: Sentence, span: tuple[int, int] | None = None, *, bare: bool = False
    ) -> None:
        """A sentence or a part of it, a link to its passages, with its proof mark and, unless `bare`, its numbers."""
        runs = "".join(_styled(run) for run in styled_pieces(sentence, span))
        anchor = next((self._anchors[name] for name in sentence.claim_ids if name in self._anchors), None)
        _append(paragraph, f'<w:hyperlink w:anchor="{anchor}">{runs}</w:hyperlink>' if anchor else runs)
        if sentence.proof is not None and (span is None or span[1] == len(sentence.text)):
            paragraph.add_run(f" {PROOFS[sentence.proof].shape}").font.superscript = True
        if not bare:
            self._marks(paragraph, sentence.references)
        paragraph.add_run(" ")

    def _numbers(self, paragraph: "Paragraph", sentences: Iterable[Sentence]) -> None:
        self._marks(paragraph, sorted({n for sentence in sentences for n in sentence.references}))

    def _marks(self, paragraph: "Paragraph", numbers: Iterable[int]) -> None:
        for index, n in enumerate(numbers):
            comma = f"<w:r>{_STYLE}<w:t>,</w:t></w:r>" if index else ""  # or 1 and 2 would read as 12
            if n in self._noted:
                # A link to the note's first mark. A NOTEREF field renumbers itself, but not every reader shows it.
                mark = f'<w:hyperlink w:anchor="_Ref{n:09}"><w:r>{_STYLE}<w:t>{n}</w:t></w:r></w:hyperlink>'
            else:
                note = f'<w:r>{_STYLE}<w:endnoteReference w:id="{n}"/></w:r>'
                mark = f'<w:bookmarkStart w:id="{n}" w:name="_Ref{n:09}"/>{note}<w:bookmarkEnd w:id="{n}"/>'
            _append(paragraph, comma + mark)
            self._noted.add(n)

    def _notes(self) -> None:
        """The endnotes part, and the setting that numbers them 1, 2, 3 as the report does."""
        if not self._report.references:
            return
        from docx.opc.constants import RELATIONSHIP_TYPE
        from docx.opc.packuri import PackURI
        from docx.opc.part import Part

        part = Part(PackURI("/word/endnotes.xml"), _NOTES_TYPE, b"", self._word.part.package)
        notes = "".join(
            _note(reference, part.relate_to(reference.url, RELATIONSHIP_TYPE.HYPERLINK, is_external=True))
            if linkable(reference.url)
            else _note(reference, None)
            for reference in self._report.references
        )
        xml = f'<w:endnotes xmlns:w="{_WORD}" xmlns:r="{_LINKS}">{_SEPARATORS}{notes}</w:endnotes>'
        part._blob = xml.encode()  # noqa: SLF001  # the part is ours; the library has no class for endnotes
        self._word.part.relate_to(part, RELATIONSHIP_TYPE.ENDNOTES)
        for section in self._word.sections:
            for element in _parsed('<w:endnotePr><w:numFmt w:val="decimal"/></w:endnotePr>'):
                properties = section._sectPr  # noqa: SLF001  # the library has no call for endnotes
                # ISO/IEC 29500-1 §17.6.17: after the references to headers and footers, before all else.
                properties.insert(len(properties.xpath("w:headerReference | w:footerReference")), element)


_SEPARATORS = (
    '<w:endnote w:type="separator" w:id="-1"><w:p><w:r><w:separator/></w:r></w:p></w:endnote>'
    '<w:endnote w:type="continuationSeparator" w:id="0"><w:p><w:r><w:continuationSeparator/></w:r></w:p></w:endnote>'
)
# Ids of bookmarks at claims start above those at references.
_CLAIMS = 1_000_000
_STYLE = '<w:rPr><w:rStyle w:val="endnotereference"/></w:rPr>'


def _note(reference: Reference, link: str | None) -> str:
    dated = f"published {day(reference.published_at)}" if reference.published_at else ""
    head = ", ".join(filter(None, (reference.title, reference.author, dated)))
    tail = "; ".join(filter(None, (f"accessed {day(reference.accessed_at)}", reference.note, reference.snapshot_id)))
    address = _run(reference.url)
    if link is not None:
        address = f'<w:hyperlink r:id="{link}">{address}</w:hyperlink>'
    return (
        f'<w:endnote w:id="{reference.n}"><w:p><w:pPr><w:pStyle w:val="endnotetext"/></w:pPr>'
        f"<w:r>{_STYLE}<w:endnoteRef/></w:r>{_run(f' {head}. ')}{address}{_run(f' ({tail})')}</w:p></w:endnote>"
    )


def _styled(run: Styled) -> str:
    """A run of a sentence; code of a page keeps its lines and the space it begins them with."""
    look = f'<w:rFonts w:ascii="{CODE_FONT}" w:hAnsi="{CODE_FONT}"/>' if run.is_code else ""
    look += "<w:b/>" if run.tells or run.leads else ""
    look += "<w:strike/>" if run.is_struck else ""
    lines = (f'<w:t xml:space="preserve">{xml_escape(_NO_XML.sub("", line))}</w:t>' for line in run.text.split("\n"))
    return f"<w:r>{f'<w:rPr>{look}</w:rPr>' * bool(look)}{'<w:br/>'.join(lines)}</w:r>"


def _name(paragraph: "Paragraph", text: str, code: Sequence[str]) -> None:
    """The name of a row or a column."""
    for piece in styled_pieces(name_of(text, code)):
        run = paragraph.add_run(piece.text)
        run.bold = True
        if piece.is_code:
            run.font.name = CODE_FONT


def _run(text: str) -> str:
    # `_text` drops the space that a run begins or ends with; here it parts the run from its neighbours.
    padded = f"{' ' if text[:1] == ' ' else ''}{_text(text)}{' ' if text[-1:] == ' ' else ''}"
    return f'<w:r><w:t xml:space="preserve">{xml_escape(padded)}</w:t></w:r>'


def _text(text: str) -> str:
    return _NO_XML.sub("", one_line(text))


def _append(paragraph: "Paragraph", xml: str) -> None:
    for element in _parsed(xml):
        paragraph._p.append(element)  # noqa: SLF001  # the library has no call for endnotes


def _parsed(xml: str) -> list[Any]:
    from docx.oxml.parser import parse_xml

    return list(parse_xml(f'<w:root xmlns:w="{_WORD}">{xml}</w:root>'))
