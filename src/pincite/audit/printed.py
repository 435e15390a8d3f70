"""What a report prints besides its sentences, against its parts and its pages: marks, excerpts, references, words."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from pincite.audit.stored import Problem, failed, unchecked
from pincite.domain.budget import Coverage
from pincite.domain.citation import normalize_citation, told_apart
from pincite.domain.evidence import Proof, Relation
from pincite.domain.excerpts import Excerpts
from pincite.domain.layout import BlockForm, Excerpt, ExcerptKind, ReportBlock, Section, SectionKind, Sentence
from pincite.domain.markdown import escape, lead_head, render_markdown, restyle
from pincite.domain.page import BlockKind, Document, Snapshot
from pincite.domain.page_markdown import CELL_SEPARATOR
from pincite.domain.report import (
    ClaimMark,
    ConflictKind,
    PartStatus,
    Reference,
    Report,
    ReportClaim,
    ReportConflict,
    ReportLead,
    ReportStatus,
)
from pincite.domain.report_words import (
    NO_ANSWER,
    PARTIAL_ANSWER,
    PARTLY_ANSWERED,
    REFERENCE_NOTES,
    TOUCHED_ON,
    open_points,
)
from pincite.domain.statements import LOW_CONFIDENCE_LABEL, ONE_SOURCE_MARK, ONE_SOURCE_NOTE, UNRESOLVED_MARK
from pincite.text.normalise import fold
from pincite.urls.masking import mask_secrets
from pincite.verification.facts import check_facts

# Whether the Markdown of a stored report is the rendering of its parts, in our words of today or in earlier ones.
#
# What a report says of a page that was not read is a code in its parts and words in its Markdown. The words belong to
# the version of Pincite that made the report, so other words there are no proof of a change by hand.

# What stands in reports of earlier versions in place of words of today: sure, since they said nothing else.
_BEFORE = (
    (TOUCHED_ON, "**No answer found.** Nothing that was read states one; what follows only touches on the question."),
    (NO_ANSWER, "**Not enough evidence.** Nothing that was read supports an answer, so none is given."),
    (PARTLY_ANSWERED, PARTIAL_ANSWER),
)
# Enough to find the place in the report, short enough for one line of a terminal with its reason.
_SHOWN_CHARS = 60


def differences(report: Report) -> Iterator[tuple[str, str, bool]]:
    """(where, what, whether it is surely wrong) of the first thing that is not the rendering of the parts.

    Other words for why a page was not read are not surely wrong, and each of them is given.
    """
    wanted, got = (list(_saying(text)) for text in (render_markdown(report), restyle(report.markdown, "[n]")))
    heads = {lead_head(lead): lead for lead in report.leads}
    reworded: list[tuple[str, str, bool]] = []
    in_full = {f"- {escape(point.line)}": f"- {escape(point.in_full)}" for point in open_points(report)}
    for (_, one), (number, other) in zip(wanted, got, strict=False):
        if one == other or any(now in one and one.replace(now, then) == other for now, then in _BEFORE):
            continue
        if in_full.get(one) == other:
            continue
        said = _reason_printed(heads.get(one), other)
        if said is None:
            yield f"markdown line {number}", _first_difference(one, other), True
            return
        if said:
            what = f"“{said[:_SHOWN_CHARS]}” are not this version's words for {heads[one].reason!r}: they are another "
            reworded.append((f"markdown line {number}", what + "version's, or were changed", False))
    if len(wanted) != len(got):
        at = min(len(wanted), len(got))
        (_, one), (number, other) = (lines[at] if at < len(lines) else (0, "(end)") for lines in (wanted, got))
        yield f"markdown line {number or report.markdown.count(chr(10)) + 1}", _first_difference(one, other), True
        return
    yield from reworded


def _saying(markdown: str) -> Iterator[tuple[int, str]]:
    """The lines that say something, with their numbers: which are apart, and how often a place is named, is layout."""
    place = ""
    for number, line in enumerate(markdown.split("\n"), 1):
        if line.strip("> ") and not (line == place and _PLACE.fullmatch(line)):
            place = line if _PLACE.fullmatch(line) else place
            yield number, line


# The place above quotations of a page; versions before named it above each one.
_PLACE = re.compile(r"> \*\*.+\*\* \[\d+\]")


def _reason_printed(lead: ReportLead | None, line: str) -> str | None:
    """Why the line says this page was not read; empty for its code, as once printed; None if it is no such line."""
    if lead is None or not lead.reason:
        return None
    before = lead_head(lead, why="")
    if not (line.startswith(f"{before} (") and line.endswith(")")):
        return None
    said = line[len(before) + 2 : -1]
    if not said or any(mark in said for mark in "()[]<>"):
        return None
    return "" if said == escape(lead.reason) else said


def _first_difference(one: str, other: str) -> str:
    column = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    at = max(0, column - 20)
    found, wanted = other[at : at + _SHOWN_CHARS], one[at : at + _SHOWN_CHARS]
    return f"is not the rendering of the parts: “{found}” instead of “{wanted}”"


# What a report prints besides its sentences, against its parts and its pages: marks, excerpts, conflicts, references.
#
# Headings, titles, notes, gaps and leads are labels: only their exact facts are looked at (docs/check.md).

Page = Document | Excerpts

# The most for the label of a version: "Version 14".
_LABEL_CHARS = 60

_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")
_WORD = re.compile(r"\w+")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+")


def mark_problems(
    where: str,
    sentence: Sentence,
    claims: Sequence[ReportClaim],
    kind: SectionKind,
    *,
    is_code: bool = False,
    notes: Sequence[str] = (),
) -> Iterator[Problem]:
    """Whether a sentence carries the marks that its claims must be printed with; code stands as it is on its page.

    That claims have one source may be said once, in the `notes` of the report.
    """
    marks = [claim.marks for claim in claims]
    wanted = {
        ONE_SOURCE_MARK: ONE_SOURCE_NOTE not in notes and any(ClaimMark.ONE_SOURCE in found for found in marks),
        UNRESOLVED_MARK: any(ClaimMark.UNRESOLVED in found for found in marks),
        LOW_CONFIDENCE_LABEL: kind is not SectionKind.UNCERTAIN
        and sentence.proof is not Proof.QUOTED  # a source's own words are printed as they stand
        and bool(marks)
        and all(ClaimMark.LOW_CONFIDENCE in found for found in marks),
    }
    for mark, needed in wanted.items():
        if needed and not is_code and mark not in sentence.text:
            yield failed(f"{where}.text", f"is printed without “{mark.strip()}”, which its claims ask for")
    for claim in claims:
        numbers = {item.reference_n for item in claim.evidence if item.relation is Relation.SUPPORTS}
        if numbers and numbers.isdisjoint(sentence.references):
            yield failed(f"{where}.references", f"names no page of {claim.id}, which it rests on")
    spans = {"marked": sentence.marked, "code": sentence.code, "struck": sentence.struck}
    spans["lead"] = ((0, sentence.lead),) if sentence.lead else ()
    for name, start, end in ((name, *span) for name, found in spans.items() for span in found):
        if not 0 <= start < end <= len(sentence.text):
            yield failed(f"{where}.{name}", f"{start}-{end} is no part of the sentence")


def coverage_problems(
    coverage: Coverage, claims: Sequence[ReportClaim], notes: Sequence[str] = ()
) -> Iterator[Problem]:
    """Whether the counts of sources follow from the evidence, and what the notes say of them from the counts."""
    if ONE_SOURCE_NOTE in notes and len(coverage.below) != len(claims):
        yield failed("notes", "say that no claim has a second source, and claims have")
    for index, claim in enumerate(claims):
        pages = {item.url for item in claim.evidence if item.relation is not Relation.CONTRADICTS}
        if claim.independent_sources > max(len(pages), 1):
            what = f"is {claim.independent_sources}; its evidence is of {len(pages)} pages"
            yield failed(f"claims[{index}].independent_sources", what)
        if (ClaimMark.ONE_SOURCE in claim.marks) is not (claim.id in coverage.below):
            yield failed(f"claims[{index}].marks", "the mark for one source and the coverage differ")
    several = sum(claim.independent_sources >= coverage.wanted_sources for claim in claims)
    if coverage.claims and (coverage.claims, coverage.independent) != (len(claims), several):
        what = f"says {coverage.independent} of {coverage.claims}; the claims give {several} of {len(claims)}"
        yield failed("coverage", what)


def conflict_problems(
    where: str,
    conflict: ReportConflict,
    claims: Mapping[str, ReportClaim],
    references: Mapping[int, Reference],
    question: str,
) -> Iterator[Problem]:
    """Whether the sides of a conflict are claims of the report, with the evidence of these."""
    named = [claims[name] for name in conflict.claim_ids if name in claims]
    for number, side in enumerate(conflict.sides):
        at = f"{where}.sides[{number}]"
        if conflict.kind is ConflictKind.PREMISE and not side.evidence and not side.independent_sources:
            yield from _absent(f"{at}.statement", side.statement, [question])
            continue
        said = [claim for claim in named if _is_statement_of(side.statement, claim, conflict.kind, references)]
        if not said:
            yield failed(f"{at}.statement", "is none of the claims that exclude each other")
        elif not any(set(side.evidence) <= set(claim.evidence) for claim in said):
            yield failed(at, "has other evidence than its claim")
        pages = {item.url for claim in said for item in claim.evidence if item.relation is not Relation.CONTRADICTS}
        if said and side.independent_sources > max(len(pages), 1):
            yield failed(at, f"counts {side.independent_sources} sources, its claim has evidence of {len(pages)} pages")


def _is_statement_of(
    statement: str, claim: ReportClaim, kind: ConflictKind, references: Mapping[int, Reference]
) -> bool:
    """Whether the statement is that of the claim, alone or behind the title of its page, or behind a version."""
    if statement == claim.text:
        return True
    titles = {r.title for item in claim.evidence if (r := references.get(item.reference_n or 0)) is not None}
    label = statement.removesuffix(f": {claim.text}")
    # The figures of a version are compared by `wording_problems`.
    return label != statement and (label in titles or (kind is ConflictKind.VERSIONS and len(label) < _LABEL_CHARS))


def excerpt_problems(
    where: str, section: Section, block: ReportBlock, claims: Mapping[str, ReportClaim], pages: Mapping[str, Page]
) -> Iterator[Problem]:
    """Whether what is printed word for word, and the headings above it, stand on the page it is said to be from."""
    excerpt = block.excerpt
    if block.form is not BlockForm.EXCERPT or excerpt is None:
        return
    sentences = [section.sentences[index] for item in block.items for index in item if index < len(section.sentences)]
    names = [name for sentence in sentences for name in sentence.claim_ids if name in claims]
    cited = [item for name in names for item in claims[name].evidence if item.reference_n == excerpt.reference_n]
    if not cited:
        yield failed(where, f"its sentences do not rest on [{excerpt.reference_n}]")
        return
    page = next((pages[item.document_id] for item in cited if item.document_id in pages), None)
    if page is None:
        return  # told already
    yield from _place(where, excerpt, block, page)
    if excerpt.kind is ExcerptKind.CODE:
        lines = _flat("\n".join(item.quote for item in cited)).split("\n")
        for sentence in sentences:
            if not set(filter(None, _flat(sentence.text).split("\n"))) <= set(lines):
                yield failed(where, "is not the code of the page, line by line")


def _place(where: str, excerpt: Excerpt, block: ReportBlock, page: Page) -> Iterator[Problem]:
    """Whether headings, term and column names of an excerpt are those of the page."""
    if isinstance(page, Excerpts):
        text = _flat("\n".join([page.title, *(window for _, window in page.windows)]))
        missing = [name for name in (*excerpt.path, excerpt.term) if name and _flat(name) not in text]
        if missing:
            yield unchecked(where, f"“{missing[0]}” is in nothing that is kept of the page")
        return
    of_kind = {kind: {_flat(block.text) for block in page.blocks if block.kind is kind} for kind in BlockKind}
    for name in excerpt.path:
        if _flat(name) not in of_kind[BlockKind.HEADING] | {_flat(page.title)}:
            yield failed(where, f"“{name}” is no heading of the page")
    # Terms inside of each other are printed in a row, and cut where they are long.
    terms = {" ".join(text.split()) for text in of_kind[BlockKind.TERM] | of_kind[BlockKind.LIST_ITEM]}
    named = [" ".join(_flat(part).split()) for part in f"{excerpt.term} ".split("› ")]
    if not all(any(term.startswith(part) for term in terms) for part in named if part):
        yield failed(where, f"“{excerpt.term}” is no term of the page")
    columns = _flat(CELL_SEPARATOR.join(block.header))
    if columns and not any(columns in table for table in of_kind[BlockKind.TABLE]):
        yield failed(where, "its column names are those of no table of the page")


def note_problems(where: str, reference: Reference, snapshot: Snapshot) -> Iterator[Problem]:
    """Whether what is noted with a reference is what its capture says, or one of our own words."""
    said = reference.note
    for note in (snapshot.note, mask_secrets(snapshot.note)):
        said = said.removeprefix(note)
    strange = [part for part in said.split("; ") if part and part not in REFERENCE_NOTES]
    if strange:
        yield unchecked(f"{where}.note", f"“{strange[0]}” is not what the capture says")


def reference_problems(where: str, reference: Reference, page: Page) -> Iterator[Problem]:
    """Whether title, author and day of a reference are those that were read from its page."""
    wanted = normalize_citation(reference.url, page.title, reference.accessed_at, "", page.published_at)
    known = {wanted.title, reference.url}
    if isinstance(page, Document):
        known.add(told_apart(page.title, (entry.title for entry in page.outline)))
    elif reference.title.startswith(f"{wanted.title}: "):
        yield unchecked(f"{where}.title", "what its page begins with is in nothing that is kept of the page")
        known.add(reference.title)
    if reference.title not in known:
        yield failed(f"{where}.title", f"is not the title of the page, “{wanted.title}”")
    if (reference.author or "") != page.byline:
        yield failed(f"{where}.author", f"is not who the page says it is by, “{page.byline}”")
    if reference.published_at != page.published_at:
        yield failed(f"{where}.published_at", "is not the day that the page gives")


def label_problems(report: Report) -> Iterator[Problem]:
    """Whether the exact facts of title and headings stand in the question, its parts or the evidence."""
    known = [report.question, *(item.quote for item in report.quotes())]
    known += [*(part.text for part in report.parts), *(gap.sub_question for gap in report.gaps)]
    known += [f"{r.title} {r.url} {r.published_at or ''}" for r in report.references]
    yield from _absent("title", report.title, known)
    for number, section in enumerate(report.sections):
        yield from _absent(f"sections[{number}].heading", section.heading, known)
    if report.status is ReportStatus.COMPLETE and not report.sentences():
        yield failed("status", "is complete, and nothing is answered")
    if report.status is ReportStatus.COMPLETE and any(part.status is not PartStatus.ANSWERED for part in report.parts):
        yield failed("status", "is complete, and a part of the question is not answered")


def wording_problems(
    where: str, conflict: ReportConflict, references: Mapping[int, Reference], said: Collection[str]
) -> Iterator[Problem]:
    """Whether the figures said to stand against each other stand in the passages, besides counts of sources.

    The versions that are said to differ stand in the titles or addresses of the pages. A conflict that is told is one
    of the sentences of the report (`said`), which is proven as they are.
    """
    if conflict.told:
        if conflict.wording not in {sentence.rstrip(".") for sentence in said}:
            yield failed(where, "is no sentence of the report")
        return
    items = [item for side in conflict.sides for item in side.evidence]
    known = {str(side.independent_sources) for side in conflict.sides} | _figures("\n".join(i.quote for i in items))
    if conflict.kind is ConflictKind.VERSIONS:
        titles = [r.title for item in items if (r := references.get(item.reference_n or 0)) is not None]
        known |= _figures("\n".join([*titles, *(item.url for item in items)]))
    labels = [side.statement.partition(": ")[0] for side in conflict.sides if conflict.kind is ConflictKind.VERSIONS]
    missing = _figures("\n".join([conflict.wording, *labels])) - known
    if missing:
        yield failed(where, f"{', '.join(sorted(missing))} in no passage of its sides")


def sentence_label_problems(
    where: str, sentence: Sentence, claims: Sequence[ReportClaim], references: Mapping[int, Reference]
) -> Iterator[Problem]:
    """Whether what stands before a sentence is a term or heading above its passage, else the version of its pages."""
    above = (piece.text for claim in claims for item in claim.evidence for piece in item.context)
    if any(" ".join(text.split()).startswith(sentence.label) for text in above):
        return
    pages = "\n".join(f"{r.title} {r.url}" for n in sentence.references if (r := references.get(n)) is not None)
    words = {word for word in _WORD.findall(sentence.label.lower()) if word != "version"}
    missing = (_figures(sentence.label) - _figures(pages)) or words - set(_WORD.findall(pages.lower()))
    if missing:
        yield failed(
            where, f"{', '.join(sorted(missing))} in no title or address that it cites, and no heading or term"
        )


def _figures(text: str) -> set[str]:
    """The figures of a text; `1,200` and `1200` are the same."""
    found = _FIGURE.findall(unicodedata.normalize("NFKC", text))
    return {figure.replace(",", "") if _THOUSANDS.fullmatch(figure) else figure for figure in found}


def _absent(where: str, text: str, known: Iterable[str]) -> Iterator[Problem]:
    for finding in check_facts(text, list(known)):
        if finding.problem:
            yield failed(where, f"{finding.text} is in no passage, no reference and not in the question")


def _flat(text: str) -> str:
    """Folded, one space between the words of a line."""
    return "\n".join(" ".join(line.split()) for line in fold(text).text.split("\n"))
