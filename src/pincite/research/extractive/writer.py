"""Verified claims to a report: up to three quoted sentences, excerpts by part of the question, what is missing."""

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import Final

from pincite.domain.citation import cut_on_word
from pincite.domain.evidence import ContextRole, NoteForm, VerifiedClaim
from pincite.domain.layout import BlockForm, Excerpt, ExcerptKind, ReportBlock, SectionKind
from pincite.domain.page import BlockKind, Document
from pincite.domain.page_markdown import CELL_SEPARATOR
from pincite.domain.plan import Progress, ReadPage, ReportLength, ReportMetadata, SubQuestion, Task
from pincite.domain.report import Mode, PartStatus, Report, ReportPart
from pincite.domain.report_words import NOTHING_BESIDE
from pincite.domain.signs import title_pieces
from pincite.ports import EventSink
from pincite.research.assembly import Content, DraftedSection, Line, assemble, reference_numbers
from pincite.research.extractive.closing import LEAST_SECTIONS, label_of, tells_figure
from pincite.research.extractive.excerpts import marked_words, stands_alone, table_header
from pincite.research.extractive.versions import version_labels
from pincite.research.records import emit_section
from pincite.text.sentences import Span
from pincite.text.tokens import query_terms

SECTION_BY_SECTION: Final = "Section by section"
FROM_SOURCES: Final = "From the sources"
NEAREST: Final = "Nearest passages"
# The direct answer is read at a glance; the excerpts follow.
_ANSWER_SENTENCES: Final = 3
# Of a part, told while others are still being searched: a first look.
_EARLY_SENTENCES: Final = 6
# As of passages (`ranking.passages`).
_TERM_CHARS: Final = 120
_KINDS: Final = {
    NoteForm.STEP: ExcerptKind.STEPS,
    NoteForm.ROW: ExcerptKind.TABLE,
    NoteForm.DEFINITION: ExcerptKind.DEFINITION,
}
# What is printed around the excerpts, in this order, and what it is of a report.
_AROUND: Final = {
    NoteForm.POINT: SectionKind.FINDINGS,
    NoteForm.FIGURE: SectionKind.KEY_NUMBERS,
    NoteForm.LIMIT: SectionKind.RISKS,
    NoteForm.CONCLUSION: SectionKind.CONCLUSION,
}
# As many as are taken in at a glance, of an overview as many as a page has sections; none of it in a short report but
# what warns.
_ITEMS: Final = {
    ReportLength.SHORT: {NoteForm.POINT: 0, NoteForm.FIGURE: 0, NoteForm.LIMIT: 2, NoteForm.CONCLUSION: 0},
    ReportLength.STANDARD: {NoteForm.POINT: 12, NoteForm.FIGURE: 6, NoteForm.LIMIT: 5, NoteForm.CONCLUSION: 4},
    ReportLength.LONG: {NoteForm.POINT: 24, NoteForm.FIGURE: 12, NoteForm.LIMIT: 10, NoteForm.CONCLUSION: 8},
}
# One figure is no list, two sections are no overview; one warning is one, and so is a conclusion.
_LEAST_ITEMS: Final = {NoteForm.POINT: LEAST_SECTIONS, NoteForm.FIGURE: 2, NoteForm.LIMIT: 1, NoteForm.CONCLUSION: 1}
_OF_BLOCK: Final = {BlockKind.CODE: ExcerptKind.CODE, BlockKind.LIST_ITEM: ExcerptKind.LIST}


class ExtractiveWriter:
    """Implements `roles.Writer`: prints verified claims in their own words, laid out as they stand on their pages."""

    async def write(self, task: Task, progress: Progress, metadata: ReportMetadata) -> Report:
        """The report; without a part that is answered it is `insufficient_evidence` and says what was searched."""
        return assemble(task, progress, metadata, content(task, progress), mode=Mode.EXTRACTIVE)


class ExtractiveDrafter:
    """Implements `roles.Drafter`: tells the claims of closed parts, each part once; the report orders them in the end.

    Args:
        events: where it is told.
    """

    def __init__(self, events: EventSink) -> None:
        self._events = events
        self._told: set[str] = set()

    async def draft(self, task: Task, progress: Progress) -> None:
        """Tell each part of `progress` that was not told yet: its surest claims, in their own words."""
        for part in progress.plan.sub_questions:
            mine = [item for item in progress.claims if item.printable and item.claim.sub_question == part.text]
            lines = list(dict.fromkeys(item.claim.text for item in mine if not item.unresolved))[:_EARLY_SENTENCES]
            if lines and part.sub_question_id not in self._told:
                self._told.add(part.sub_question_id)
                await emit_section(self._events, part.heading or part.text, lines, early=True)


class _Labels:
    """What stands in front of a sentence that is printed without its passage; the pages are looked through once."""

    def __init__(self, pages: Sequence[ReadPage]) -> None:
        documents = [page.document for page in pages]
        # A copy of a page has all of its headings, which name what they did.
        once = (page.document for page in pages if page.duplicate_of is None)
        headings = Counter(entry.title for document in once for entry in document.outline)
        self._versions = version_labels(pages)
        self._documents = {page.url: page.document for page in pages}
        self._names = page_names(documents)
        self._shared = frozenset(title for title, count in headings.items() if count > 1)

    def version(self, item: VerifiedClaim) -> str:
        """The version that a claim holds for, of a page that was read in several; none when all of them say it."""
        found = {self._versions.get(evidence.url, "") for evidence in item.claim.evidence}
        return found.pop() if len(found) == 1 else ""

    def under(self, item: VerifiedClaim) -> str:
        """The version that it holds for, where there are several, else the term or heading that it stands under.

        A heading that stands twice on the pages names nothing; where there is no other, the page does.
        """
        evidence = item.claim.evidence[0]
        document, start, end = self._documents[evidence.url], evidence.quote.start, evidence.quote.end
        named = self.version(item) or label_of(document, start, end, self._shared)
        return named or (self._names[document.document_id] if label_of(document, start, end) else "")


def content(task: Task, progress: Progress) -> Content:
    """What the report says: the direct answer, a section of excerpts for each part, what became of each part."""
    parts = progress.plan.sub_questions
    labels = _Labels(progress.pages)
    proven = [item for item in progress.claims if item.printable]
    printable = [item for item in proven if item.claim.form not in _AROUND]
    status = {part.text: _status(part, printable, progress) for part in parts}
    first: dict[tuple[str, int], VerifiedClaim] = {}  # what two parts have in common is one claim
    for item in printable:
        first.setdefault(_place(item), item)
    opening = dict.fromkeys(_place(item) for item in _answer(printable, status))
    documents = {page.url: page.document for page in progress.pages}
    answer = tuple(_answer_lines([first[at] for at in opening], labels))
    sections = []
    printed: set[tuple[str, int]] = set()
    for part in parts:
        items = [i for i in printable if i.claim.sub_question == part.text and not i.unresolved]
        fresh = list(_fresh(items, printed))
        if len(fresh) == 1 < len(items) and fresh[0].claim.form is not NoteForm.DEFINITION:
            fresh = []  # one sentence beside all that stands above is no section
        if items and not fresh and status[part.text].status is PartStatus.PARTLY:  # else what stands above answers it
            why = f"{NOTHING_BESIDE} “{part.heading or part.text}”"
            status[part.text] = replace(status[part.text], missing=why)
        printed.update(map(_place, items))
        items = [first[_place(item)] for item in fresh]
        if items:
            heading = part.heading or part.text if len(parts) > 1 else FROM_SOURCES
            if status[part.text].status is PartStatus.NOT_HERE:
                heading = f"{NEAREST}: {heading}" if len(parts) > 1 else NEAREST
            sections.append(_section(heading, items, query_terms(part.standalone), labels))
    here = [item for item in proven if _is_here(item, status)]  # what only touches on the question has no key numbers
    sections += _around(Content(answer, tuple(sections)), here, task.style.length, labels, documents)
    unresolved = tuple(Line(item.claim.text, (item,), opens=True) for item in printable if item.unresolved)
    if unresolved:
        sections.append(DraftedSection("", unresolved, SectionKind.UNCERTAIN))
    drafted = Content(answer, tuple(sections), parts=tuple(status[part.text] for part in parts))
    numbers = reference_numbers(drafted)
    names = page_names([documents[url] for url in numbers if url in documents])
    laid_out = tuple(
        section
        if section.kind is SectionKind.UNCERTAIN or section.blocks
        else DraftedSection(
            section.heading, section.lines, section.kind, _blocks(section.lines, numbers, documents, names)
        )
        for section in drafted.sections
    )
    return Content(drafted.answer, laid_out, parts=drafted.parts)


def _around(
    said: Content,
    proven: Sequence[VerifiedClaim],
    length: ReportLength,
    labels: _Labels,
    documents: Mapping[str, Document],
) -> Iterator[DraftedSection]:
    """How the pages go on, key numbers, limits, conclusions, each sentence under its term or heading.

    A figure that only an excerpt has is a key number, too. What else is printed already is not said again.
    """
    printed = list(said.printed())
    taken = {" ".join(item.claim.text.split()) for item in printed}
    opening = {item.claim.claim_id for line in said.answer for item in line.items}
    told = {item.claim.claim_id for item in proven} - opening
    numbers = [i for i in printed if i.claim.claim_id in told and _tells_figure(i, documents)]
    for form, kind in _AROUND.items():
        items = [item for item in proven if item.claim.form is form and not item.unresolved]
        fresh = {" ".join(item.claim.text.split()): item for item in reversed(items)}
        items = [item for text, item in fresh.items() if text not in taken][::-1]
        if form is NoteForm.POINT:  # of one page, in its order
            pages = Counter(item.claim.evidence[0].url for item in items)
            items = sorted(
                (i for i in items if i.claim.evidence[0].url == max(pages, key=pages.__getitem__)), key=_place
            )
        shown = ([*numbers, *items] if form is NoteForm.FIGURE else items)[: _ITEMS[length][form]]
        if len(shown) < _LEAST_ITEMS[form]:
            continue
        taken.update(" ".join(item.claim.text.split()) for item in shown)
        lines = tuple(Line(item.claim.text, (item,), labels.under(item), opens=True) for item in shown)
        block = ReportBlock(BlockForm.LIST, tuple((index,) for index in range(len(lines))))
        title = documents[shown[0].claim.evidence[0].url].title.rstrip(" .")
        heading = (
            " ".join(filter(None, (SECTION_BY_SECTION, title and f"of {title}"))) if form is NoteForm.POINT else ""
        )
        yield DraftedSection(heading, lines, kind, (block,))


def _answer_lines(items: Sequence[VerifiedClaim], labels: _Labels) -> Iterator[Line]:
    """The lines of the short answer; "Seconds to wait for it" says nothing without the term that it is said of."""
    for item in items:
        is_entry = any(piece.role is ContextRole.TERM for piece in item.claim.evidence[0].context)
        label = labels.under(item) if is_entry else labels.version(item)
        yield Line(item.claim.text, (item,), label.rstrip(" :"))


def _tells_figure(item: VerifiedClaim, documents: Mapping[str, Document]) -> bool:
    quote = item.claim.evidence[0].quote
    document = documents[item.claim.evidence[0].url]
    unit = Span(quote.start, quote.end)
    return stands_alone(document, unit) and tells_figure(document, quote.start, quote.end)


def _status(part: SubQuestion, printable: Sequence[VerifiedClaim], progress: Progress) -> ReportPart:
    """What became of a part: its gap says what is missing; without one it is answered."""
    own = [item.claim.confidence for item in printable if item.claim.sub_question == part.text]
    gaps = [gap for gap in progress.gaps if gap.sub_question == part.text]
    likelihood = max(own, default=0.0)
    if not own or any(not gap.touched for gap in gaps):
        reason = gaps[0].reason if gaps else "what was found did not pass its checks"
        return ReportPart(part.text, PartStatus.NOT_HERE, reason, round(likelihood, 2))
    if gaps:
        return ReportPart(part.text, PartStatus.PARTLY, gaps[0].reason, round(likelihood, 2))
    return ReportPart(part.text, PartStatus.ANSWERED, "", round(likelihood, 2))


def _answer(printable: Sequence[VerifiedClaim], status: dict[str, ReportPart]) -> list[VerifiedClaim]:
    """The sentences that answer, nearest first, each part in turn; of claims that no excerpt groups, the best."""
    here = [item for item in printable if _is_here(item, status)]
    direct = [item for item in here if not item.unresolved and (item.claim.direct or not item.claim.group)]
    direct.sort(key=lambda item: item.claim.direct)
    by_part = [[item for item in direct if item.claim.sub_question == part] for part in status]
    turns = [own[turn] for turn in range(_ANSWER_SENTENCES) for own in by_part if turn < len(own)]
    # Pages that copy each other say the same of two parts: said once, it answers both.
    once = {" ".join(item.claim.text.split()): item for item in reversed(turns)}
    return [item for item in turns if once[" ".join(item.claim.text.split())] is item][:_ANSWER_SENTENCES]


def _is_here(item: VerifiedClaim, status: Mapping[str, ReportPart]) -> bool:
    """Whether it belongs to a part that is answered, at least partly."""
    part = status.get(item.claim.sub_question)
    return part is not None and part.status is not PartStatus.NOT_HERE


def _place(item: VerifiedClaim) -> tuple[str, int]:
    return item.claim.evidence[0].url, item.claim.evidence[0].quote.start


def _fresh(items: Sequence[VerifiedClaim], printed: Container[tuple[str, int]]) -> Iterator[VerifiedClaim]:
    """The claims of passages that no part before has printed; of one whose beginning is printed the rest would hang."""
    for _, run in groupby(items, key=lambda item: item.claim.group.rpartition(".")[0]):
        passage = list(run)
        if not passage[0].claim.group or _place(passage[0]) not in printed:
            yield from passage


def _section(heading: str, items: Sequence[VerifiedClaim], terms: Sequence[str], labels: _Labels) -> DraftedSection:
    """The excerpts of a part one after the other; a claim that no excerpt groups is a paragraph of its own."""
    lines = tuple(
        Line(
            item.claim.text,
            (item,),
            labels.version(item),
            opens=True,
            marked=marked_words(item.claim.text, terms) if item.claim.group else (),
        )
        for item in items
    )
    return DraftedSection(heading, lines)


def page_names(documents: Sequence[Document]) -> dict[str, str]:
    """What each page is called above its excerpts, by the page's id.

    Where all pages are of one site, that is the part of the title which is a heading of the page: the name of the site
    says nothing there, and the reference has it. Else it is the whole title.
    """
    names: dict[str, str] = {}
    sites: set[tuple[str, ...]] = set()
    for document in documents:
        headings = {entry.title for entry in document.outline}
        pieces = title_pieces(document.title)
        name = next((piece for piece in pieces if piece in headings), "")
        names[document.document_id] = name or document.title
        sites.add(tuple(piece for piece in pieces if piece != name))
    return names if len(sites) == 1 else {document.document_id: document.title for document in documents}


def _is_title(heading: str, title: str) -> bool:
    """Whether a heading is the title, or all of it before the name of the site: "16 Options" of "16 Options (zsh)"."""
    return title.startswith(heading) and not title.removeprefix(heading).lstrip()[:1].isalnum()


def lines_of(document: Document, start: int, end: int) -> str:
    """Which lines of a block of code are printed, where not all are: "lines 1 to 40 of 97"."""
    index = document.block_at(start)
    base, code = document.starts[index], document.blocks[index].text.rstrip()
    opens = len(code) - len(code.lstrip("\n"))
    first, last, total = (code.count("\n", opens, at) + 1 for at in (start - base, end - base, len(code)))
    return "" if (first, last) == (1, total) else f"lines {first} to {last} of {total}"


def _blocks(
    lines: Sequence[Line], numbers: Mapping[str, int], documents: Mapping[str, Document], names: Mapping[str, str]
) -> tuple[ReportBlock, ...]:
    blocks: list[ReportBlock] = []
    for group, run in groupby(enumerate(lines), key=lambda pair: pair[1].items[0].claim.group):
        members = list(run)
        if not group:
            blocks += [ReportBlock(BlockForm.PARAGRAPH, ((index,),)) for index, _ in members]
            continue
        first = members[0][1].items[0].claim
        evidence = first.evidence[0]
        document = documents[evidence.url]
        blocks.append(_excerpt_block(members, numbers[evidence.url], document, names[document.document_id]))
    return tuple(blocks)


def _excerpt_block(members: Sequence[tuple[int, Line]], number: int, document: Document, name: str) -> ReportBlock:
    claims = [line.items[0].claim for _, line in members]
    start = claims[0].evidence[0].quote.start
    block = document.blocks[document.block_at(start)]
    # "16 Options (zsh) › 16 Options" says it twice; "Node.js documentation" is the site's name, which opens each page.
    title, pieces = document.title, {piece.casefold() for piece in title_pieces(document.title)}
    headings = (h for h in document.section_path(start) if not _is_title(h, title) and h.casefold() not in pieces)
    path = tuple(dict.fromkeys(filter(None, (name, *headings))))
    terms = [piece.text for piece in claims[0].evidence[0].context if piece.role is ContextRole.TERM]
    term = cut_on_word(" › ".join(terms), _TERM_CHARS)
    kind = _KINDS.get(claims[0].form) or _OF_BLOCK.get(block.kind, ExcerptKind.PROSE)
    if kind is ExcerptKind.STEPS and (block.number or 1) != 1:
        kind = ExcerptKind.LIST  # steps are counted from one where they are printed, and this is none of that number
    if kind is ExcerptKind.CODE:
        term = " › ".join(filter(None, (term, lines_of(document, start, claims[0].evidence[0].quote.end))))
    excerpt = Excerpt(kind, number, path, term, block.language if kind is ExcerptKind.CODE else "")
    indexes = [index for index, _ in members]
    if kind is ExcerptKind.TABLE:
        columns = table_header(document, start)
        width = max(claim.text.count(CELL_SEPARATOR) + 1 for claim in claims)
        header = (*columns, *[""] * width)[: max(width, len(columns))]
        return ReportBlock(BlockForm.EXCERPT, tuple((index,) for index in indexes), header=header, excerpt=excerpt)
    places = [document.block_at(claim.evidence[0].quote.start) for claim in claims]
    runs = groupby(zip(places, indexes, strict=True), key=itemgetter(0))
    return ReportBlock(BlockForm.EXCERPT, tuple(tuple(index for _, index in run) for _, run in runs), excerpt=excerpt)
