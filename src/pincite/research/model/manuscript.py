"""What a model composed from the pages of a run: sentences with the lines they rest on, and these lines as claims."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from itertools import chain
from typing import Final, TypeAlias

from pincite.domain.evidence import Claim, Evidence, NoteForm, named
from pincite.domain.frozen import dataclass
from pincite.domain.ids import claim_id
from pincite.domain.page import BlockKind
from pincite.domain.plan import ReadPage, SubQuestion
from pincite.research.model.blocks import CODE
from pincite.research.model.lines import Line, SourceBook
from pincite.research.model.outputs import Composed, ComposedSection, ComposedSentence, MissingPart
from pincite.research.model.wording import unproven_line
from pincite.text.context import context_of, points_back
from pincite.text.tokens import terms
from pincite.verification.claims import claim_type

# A page's own words are as sure as their page; nobody is surer of one than that.
SURE: Final = 0.85
# Of fewer words two pages may mean two things. Chosen, not measured.
_SAME_WORDS: Final = 6
# As many as a reader goes through; more of them are a copy of the pages.
_MOST_SECTIONS: Final = 12
# A later look gives the whole report. One of fewer of its words gave only what is new, whatever it was asked for: what
# stands is kept then. Chosen, not measured.
_WHOLE: Final = 0.5
# What stands, as a later look names it. Lines have letters of their page.
_NAME: Final = re.compile(r"@(\d{1,4})")

Said: TypeAlias = tuple[str, tuple[str, ...]]
"""A sentence by its text and the ids of its lines."""


@dataclass
class Manuscript:
    """The report of a run as it was composed so far, and all that it may rest on. Made once per run.

    `claims` are the lines that sentences name, each in its page's own words, by the id of the line; `missing` says by
    part what these pages do not answer, `unplanned` what nobody asked for and the question needs. `authors` are the
    models that composed. `refused` says of what was not proven why not.
    """

    book: SourceBook = field(default_factory=SourceBook)
    answer: tuple[ComposedSentence, ...] = ()
    sections: tuple[ComposedSection, ...] = ()
    missing: dict[str, MissingPart] = field(default_factory=dict)
    unplanned: tuple[MissingPart, ...] = ()
    claims: dict[str, Claim] = field(default_factory=dict)
    authors: dict[str, None] = field(default_factory=dict)
    refused: Mapping[Said, str] = field(default_factory=dict)

    @property
    def is_begun(self) -> bool:
        """Whether a model composed anything."""
        return bool(self.authors)

    def take_in(self, made: Composed, author: str, parts: Sequence[SubQuestion], pages: Mapping[str, ReadPage]) -> None:
        """Take what was composed for the report: with what it names of the one before ("@12"), as that has it.

        A later look that gives fewer than half of its words adds to it: below the same heading, or as a section before
        the one that closes the report.

        Args:
            made: the model's answer.
            author: the model.
            parts: those of the question.
            pages: the pages of the run by address.
        """
        self.authors[author] = None
        standing = self.standing()
        self.answer = _kept(made.answer, standing) or self.answer
        sections = [self._with_examples(_each(one, partial(_kept, standing=standing))) for one in made.sections]
        if sum(map(words_of, sections)) < _WHOLE * sum(map(words_of, self.sections)):
            fresh = {section.heading.strip().lower(): section for section in sections}
            kept = [_with(section, fresh.pop(section.heading.strip().lower(), None)) for section in self.sections]
            sections = [*kept[:-1], *fresh.values(), *kept[-1:]]
        self.sections = tuple(sections[:_MOST_SECTIONS])
        known = " ".join([*(part.text for part in parts), *(line.text for line in self.book.lines.values())])
        ids = {part.sub_question_id for part in parts}
        told = [
            replace(one, what=unproven_line(one.what, known), question=unproven_line(one.question, known))
            for one in made.missing
        ]
        self.missing = {one.part: one for one in told if one.part in ids}
        self.unplanned = tuple(one for one in told if one.part not in ids and one.question)
        used: dict[str, Claim] = {}
        for sentence, part in self._with_parts(parts):
            for name in sentence.lines:
                line = self.book.lines.get(name)
                if line is not None and name not in used:
                    used[name] = self.claims.get(name) or claim_of(line, part, pages[line.url])
        self.claims = _together(used)

    def _with_examples(self, section: ComposedSection) -> ComposedSection:
        """The section; code in it that stands already keeps the examples that were named with it."""
        stand = chain.from_iterable(one.blocks for one in self.sections)
        examples = {said: block.header for block in stand if block.form == CODE for said in block.items}
        blocks = (
            replace(block, header=next((examples[said] for said in block.items if said in examples), ()))
            if block.form == CODE and not block.header
            else block
            for block in section.blocks
        )
        return replace(section, blocks=tuple(blocks))

    def standing(self) -> dict[str, ComposedSentence]:
        """All sentences, items and cells by the names that a later look has for them."""
        return {f"@{number}": said for number, said in enumerate(self.sentences(), start=1)}

    def take_proof(self, mended: Mapping[Said, Said], refused: Mapping[Said, str]) -> None:
        """Have what was mended stand as it is printed, and keep why the rest is refused, for a later look."""

        def told(written: Sequence[ComposedSentence]) -> tuple[ComposedSentence, ...]:
            now = ((said, *mended.get((said.text, said.lines), (said.text, said.lines))) for said in written)
            return tuple(replace(said, text=text, lines=lines) for said, text, lines in now)

        self.answer = told(self.answer)
        self.sections = tuple(_each(section, told) for section in self.sections)
        self.refused = refused

    def reword(self, part: str, text: str) -> None:
        """Have what was found for a part stand for it as it reads now."""
        self.claims = _together(
            {
                name: replace(claim, claim_id=claim_id(claim.text, text), sub_question=text)
                if claim.sub_question == part
                else claim
                for name, claim in self.claims.items()
            }
        )

    def sentences(self) -> Iterator[ComposedSentence]:
        """All sentences, items and cells."""
        yield from self.answer
        for section in self.sections:
            yield from sentences_of(section)

    def words(self) -> int:
        """How long it is, headings and tables included."""
        headings = (section.heading for section in self.sections)
        return sum(len(text.split()) for text in (*self.texts(), *headings))

    def texts(self) -> Iterator[str]:
        """All that was written: sentences, items, cells, the names of rows and columns."""
        yield from (sentence.text for sentence in self.answer)
        for section in self.sections:
            yield from texts_of(section)

    def _with_parts(self, parts: Sequence[SubQuestion]) -> Iterator[tuple[ComposedSentence, str]]:
        """Each sentence with the part of the question that its section is about."""
        texts = {part.sub_question_id: part.text for part in parts}
        for section in self.sections:
            inside = list(sentences_of(section))
            named = next((texts[s.part] for s in inside if s.part in texts), "")
            about = named or _nearest(" ".join([section.heading, *(s.text for s in inside)]), parts)
            yield from ((sentence, texts.get(sentence.part, about)) for sentence in inside)
        for sentence in self.answer:
            yield sentence, texts.get(sentence.part, "") or _nearest(sentence.text, parts)


def _kept(
    written: Sequence[ComposedSentence], standing: Mapping[str, ComposedSentence]
) -> tuple[ComposedSentence, ...]:
    """What was written, with what stands in the place of its name; a name that nothing has is left out."""
    named = ((said.text.strip(), said) for said in written)
    return tuple(
        replace(standing[text], goes_on=said.goes_on or standing[text].goes_on) if text in standing else said
        for text, said in named
        if text in standing or not _NAME.fullmatch(text)
    )


def _each(
    section: ComposedSection, change: Callable[[Sequence[ComposedSentence]], Sequence[ComposedSentence]]
) -> ComposedSection:
    """The section with its sentences and cells changed; a cell that goes is empty and keeps its column."""

    def cell(said: ComposedSentence) -> ComposedSentence:
        return next(iter(change((said,))), replace(said, text=""))

    blocks = [
        replace(
            block,
            items=tuple(change(block.items)),
            rows=tuple(replace(row, cells=tuple(map(cell, row.cells))) for row in block.rows),
        )
        for block in section.blocks
    ]
    return replace(section, blocks=tuple(blocks))


def _with(section: ComposedSection, later: ComposedSection | None) -> ComposedSection:
    """The section as it stands after what came later under its heading."""
    return section if later is None else replace(section, blocks=(*section.blocks, *later.blocks))


def claim_of(line: Line, part: str, page: ReadPage) -> Claim:
    """The line as a claim in its page's own words."""
    document = page.document
    raw = document.text[line.span.start : line.span.end]
    kind = document.blocks[document.block_at(line.span.start)].kind
    context = context_of(document, line.span.start, line.span.end)
    # "The default is 10" is another claim under each term.
    text = raw if kind is BlockKind.CODE else named(" ".join(raw.split()), context)
    evidence = Evidence(
        document.quote(line.span.start, line.span.end),
        page.snapshot.snapshot_id,
        page.snapshot.body_sha256,
        page.url,
        context=context,
    )
    form = NoteForm.ROW if kind is BlockKind.TABLE else NoteForm.STATEMENT
    return Claim(claim_id(text, part), text, part, claim_type(text), SURE, (evidence,), form)


def _together(claims: Mapping[str, Claim]) -> dict[str, Claim]:
    """The claims; what several places say in the same words for the same part is one claim with all of them.

    A few words, or such as point back ("--abort", "This is the default."), say another thing on each page.
    """
    evidence: defaultdict[str, dict[tuple[str, int], Evidence]] = defaultdict(dict)
    apart: dict[str, Claim] = {}
    for name, claim in claims.items():
        told = claim
        if len(claim.text.split()) < _SAME_WORDS or points_back(claim.text):
            told = replace(claim, claim_id=claim_id(claim.text, f"{claim.sub_question} {claim.evidence[0].url}"))
        apart[name] = told
        for one in claim.evidence:
            evidence[told.claim_id].setdefault((one.quote.document_id, one.quote.start), one)
    return {name: replace(claim, evidence=tuple(evidence[claim.claim_id].values())) for name, claim in apart.items()}


def sentences_of(section: ComposedSection) -> Iterator[ComposedSentence]:
    """Its sentences, items and cells."""
    for block in section.blocks:
        yield from block.items
        for row in block.rows:
            yield from row.cells


def texts_of(section: ComposedSection) -> Iterator[str]:
    """Its sentences, items and cells, and the names of its rows and columns."""
    yield from (sentence.text for sentence in sentences_of(section))
    for block in section.blocks:
        yield from (*block.header, *(row.name for row in block.rows))


def words_of(section: ComposedSection) -> int:
    """How long it is, tables included."""
    return sum(len(text.split()) for text in texts_of(section))


def _nearest(text: str, parts: Sequence[SubQuestion]) -> str:
    """The part that has most words of the text."""
    said = set(terms(text))
    return max(parts, key=lambda part: len(said & set(terms(part.text)))).text if parts else ""
