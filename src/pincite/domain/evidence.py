"""Quotes, claims, judgements and verdicts: what ties a sentence to a passage."""

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import field
from datetime import datetime
from enum import StrEnum

from pincite.domain.frozen import dataclass
from pincite.domain.quotes import STRUCK_SIGN, Quote, without_struck


class ClaimType(StrEnum):
    """What kind of statement a claim is; the rules are in docs/research.md."""

    FACT = "fact"
    ESTIMATE = "estimate"
    OPINION = "opinion"


class Relation(StrEnum):
    """How a passage bears on a claim."""

    SUPPORTS = "supports"  # what the claim is proven by
    CORROBORATES = "corroborates"  # another publisher's passage that a judge found to state it, on record
    CONTRADICTS = "contradicts"


class VerdictStatus(StrEnum):
    """Outcome of checking a claim. `unchecked` means a check could not run: never clean, never fabricated."""

    SUPPORTED = "supported"
    PARTIAL = "partial"
    CONTRADICTED = "contradicted"
    UNSUPPORTED = "unsupported"
    UNCHECKED = "unchecked"


class Proof(StrEnum):
    """How a printed sentence earned its place (docs/verification.md)."""

    QUOTED = "quoted"  # its source's own words, proven by slicing
    ENTAILED = "entailed"  # other words; a named judge found that the passages state it, and no exact fact differs
    DERIVED = "derived"  # follows from several proven statements, which it names


class ContextRole(StrEnum):
    """What a piece of a page tells about a passage that stands below or after it."""

    TITLE = "title"
    SIGNED = "signed"  # who says it, and when, where it is not the page's author: an answer, a post, a comment
    HEADING = "heading"
    TERM = "term"
    LIST_ITEM = "list_item"  # the item it stands in, below its first words
    LIST_INTRO = "list_intro"
    NOTE = "note"  # the title of the box around it, or the kind of box where it has none
    CAPTION = "caption"
    TABLE_HEADER = "table_header"
    ROW_HEADER = "row_header"  # a cell above that reaches down into this row, a label across it
    ANTECEDENT = "antecedent"  # the sentence before one that points back
    AROUND = "around"  # the rest of its paragraph
    PREMISE = "premise"  # a proven statement that another one follows from
    STRUCK = "struck"  # words inside the passage that the page crosses out: no fact of it
    UNSURE = "unsure"  # inside the passage: a formula on one line, or digits of two elements without a space between


# What these name stands in the passage itself.
INSIDE = frozenset({ContextRole.STRUCK, ContextRole.UNSURE})


@dataclass(frozen=True, slots=True)
class ContextPiece:
    """Words of a page without which a passage can't be understood: `document.text[start:end] == text`.

    The title of a page and who signed a part need not stand in its text; then `start` and `end` are None.
    """

    role: ContextRole
    text: str
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class EvidencePassage:
    """A passage with what it takes to understand it: the one shape of evidence for judges, audits, checks and readers.

    `document.text[start:end] == text`; `whole` says that it begins and ends where sentences (or list items, rows) do,
    so that it drops no "not" before it. `document_id` names the page, also where there is no stored document.
    """

    document_id: str
    start: int
    end: int
    text: str
    context: tuple[ContextPiece, ...] = ()
    whole: bool = False

    @property
    def struck(self) -> tuple[tuple[int, int], ...]:
        """The spans of its text that the page crosses out."""
        spans = (
            (max((piece.start or 0) - self.start, 0), min((piece.end or 0) - self.start, len(self.text)))
            for piece in self.context
            if piece.role is ContextRole.STRUCK
        )
        return tuple((low, high) for low, high in spans if low < high)


def arranged(passages: Iterable[EvidencePassage]) -> tuple[EvidencePassage, ...]:
    """The passages page by page, in the order of each page, each once: the order of pages is that of their ids."""
    unique = {(p.document_id, p.start, p.end): p for p in passages}
    return tuple(unique[key] for key in sorted(unique))


def evidence_sha256(passages: Iterable[EvidencePassage], premises: Sequence[str] = ()) -> str:
    """The hash of what a judgement rests on: pages, texts and their roles in `arranged` order, and the premises."""
    shown = [[p.document_id, [[piece.role, piece.text] for piece in p.context], p.text] for p in arranged(passages)]
    return hashlib.sha256(json.dumps([shown, list(premises)], ensure_ascii=False).encode()).hexdigest()


def named(text: str, context: Iterable[ContextPiece]) -> str:
    """The claim after the term it stands under, without which nobody could say what it is about."""
    under = [piece.text for piece in context if piece.role is ContextRole.TERM]
    return f"{under[-1]}: {text}" if under else text


class JudgementLabel(StrEnum):
    """What a judge of meaning says of a statement and its passages. `nothing_to_check`: it states nothing checkable."""

    STATES = "states"
    PARTLY = "partly"
    CONTRADICTS = "contradicts"
    ABSENT = "absent"
    NOTHING_TO_CHECK = "nothing_to_check"


@dataclass(frozen=True, slots=True)
class EvidenceLine:
    """A numbered line of what a judge is shown; `role` is None for the passage itself, else what the line is for.

    `page` is the document it stands in, `[start, end)` where; the title, and a premise, stand nowhere.
    """

    line_id: str
    text: str
    role: ContextRole | None = None
    page: str = ""
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class JudgeCase:
    """One statement with its evidence in context, as every judge gets it.

    Without lines only one thing can be asked: whether the statement says anything checkable. `hints` are what code
    noticed ("the statement says 64-bit, the passage 32-bit"). `question` asks as well whether the statement stands
    alone and answers it; empty when that is not wanted.
    """

    case_id: str
    statement: str
    lines: tuple[EvidenceLine, ...]
    hints: tuple[str, ...] = ()
    question: str = ""

    @property
    def pages(self) -> tuple[str, ...]:
        """The pages that its lines are of. Cases of the same pages may be judged in one call, others never are."""
        return tuple(dict.fromkeys(line.page for line in self.lines if line.page))


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a judge found about one case.

    `likelihood` is 0-1, None when the judge gives its word instead of a figure. `line_ids` are the lines it rests on,
    `beyond` the words of the statement that they do not carry. `judge` names who, where that is not whom was asked.
    """

    case_id: str
    label: JudgementLabel
    likelihood: float | None = None
    line_ids: tuple[str, ...] = ()
    beyond: str = ""
    stands_alone: bool | None = None
    answers: bool | None = None
    judge: str = ""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """From which likelihood on a judge's "states" counts, and up to which its refusal; fitted on labelled data.

    `measured` says on what, and with which precision.
    """

    supported_from: float
    refused_to: float
    measured: str = ""


@dataclass(frozen=True, slots=True)
class RecordedJudgement:
    """A judgement on the record: it holds for exactly the statement and the evidence that are hashed into it.

    `id` is made of judge, statement, evidence, label and beyond (`judgement_id`). `lines` are the texts of the lines
    it rests on. `likelihood` is 0-1, None when the judge gives no figure. `judged_at` is when the run began that it was
    made in, so that a run that was resumed or is replayed gives the same report.
    """

    id: str
    judge: str
    label: JudgementLabel
    statement_sha256: str
    evidence_sha256: str
    judged_at: datetime
    likelihood: float | None = None
    beyond: str = ""
    lines: tuple[str, ...] = ()


class CheckOutcome(StrEnum):
    """Outcome of one check."""

    PASSED = "passed"
    FAILED = "failed"
    PARTIAL = "partial"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Check:
    """One named check and what it found; `detail` is readable ("412 MW in the claim, 398 MW in the passage")."""

    name: str
    outcome: CheckOutcome
    detail: str = ""


@dataclass(frozen=True, slots=True)
class SourceQuote:
    """A passage of the `source_index`-th source given to `check_claim`: `sources[i][start:end] == text`."""

    source_index: int
    start: int
    end: int
    text: str
    relation: Relation = Relation.SUPPORTS


@dataclass(frozen=True, slots=True)
class Verdict:
    """What checking one claim against its sources found. `score` is 0-1: how well the best passage carries it.

    `proof` says how it is proven, `judge` who judged it, `beyond` which of its words the sources don't carry.
    """

    status: VerdictStatus
    quotes: tuple[SourceQuote, ...] = ()
    score: float = 0.0
    reasons: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    proof: Proof | None = None
    judge: str = ""
    beyond: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One quote of one claim, with the capture it was sliced from, and what it takes to understand it.

    `fragment_url` is a text-fragment link where the passage is unique.
    """

    quote: Quote
    snapshot_id: str
    body_sha256: str
    url: str
    relation: Relation = Relation.SUPPORTS
    fragment_url: str = ""
    context: tuple[ContextPiece, ...] = ()

    @property
    def passage(self) -> EvidencePassage:
        """The quote in context, as judges get it."""
        quote = self.quote
        return EvidencePassage(quote.document_id, quote.start, quote.end, quote.text, self.context)

    @property
    def standing(self) -> str:
        """The words of the quote that its page does not cross out."""
        return without_struck(self.quote.text, self.passage.struck)


class NoteForm(StrEnum):
    """What a note taken from a page is a piece of; a writer makes prose, steps or a table of it."""

    STATEMENT = "statement"
    FIGURE = "figure"
    STEP = "step"
    ROW = "row"
    DEFINITION = "definition"
    POINT = "point"  # what another section of a page about the question opens with
    LIMIT = "limit"  # what must not, cannot or should not be; a warning
    CONCLUSION = "conclusion"  # what a page concludes, sums up or recommends


@dataclass(frozen=True, slots=True)
class Claim:
    """One checkable statement with its quotes. `claim_id` is made of normalised text and sub-question.

    `form` says what it is a piece of, `group` which claims of a page belong together (the steps of one procedure, the
    rows of one table, in order). `direct` is its place, from 1, among the sentences that answer its part in short; 0:
    it is none of them.
    """

    claim_id: str
    text: str
    sub_question: str
    type: ClaimType = ClaimType.FACT
    confidence: float = 0.5
    evidence: tuple[Evidence, ...] = ()
    form: NoteForm = NoteForm.STATEMENT
    group: str = ""
    direct: int = 0

    @property
    def standing(self) -> str:
        """Its text without what the pages cross out."""
        return without_struck(self.text, self.struck_in(self.text))

    def struck_in(self, text: str) -> tuple[tuple[int, int], ...]:
        """Where its words are printed in this text as those that its pages cross out, with the signs around them."""
        gone = {piece.text for e in self.evidence for piece in e.context if piece.role is ContextRole.STRUCK}
        either = "|".join(r"\s+".join(map(re.escape, words.split())) for words in sorted(gone, key=len, reverse=True))
        sign = re.escape(STRUCK_SIGN)
        return tuple(found.span() for found in re.finditer(f"{sign}(?:{either}){sign}", text)) if gone else ()


# Name of the check that a claim carries none of whose pages could be confirmed before writing.
UNRESOLVED = "unresolved"


@dataclass(frozen=True, slots=True)
class VerifiedClaim:
    """A claim and the verdict on it; `independent_sources` counts mirrors and syndicated copies once.

    `proof` says how it earned its place, `judgement` who judged it, `beyond` what its passages don't carry. A judge
    says whether it `stands_alone` and `answers` its part of the question; None where none was asked. `seconded` are the
    judgements behind its evidence that corroborates.
    """

    claim: Claim
    verdict: Verdict
    independent_sources: int = 0
    checks: tuple[Check, ...] = field(default=())
    proof: Proof | None = None
    judgement: RecordedJudgement | None = None
    beyond: str = ""
    stands_alone: bool | None = None
    answers: bool | None = None
    seconded: tuple[RecordedJudgement, ...] = ()

    @property
    def printable(self) -> bool:
        """Whether a report may state it (invariant 2)."""
        return self.verdict.status in (VerdictStatus.SUPPORTED, VerdictStatus.PARTIAL)

    @property
    def unresolved(self) -> bool:
        """Whether its pages are old and their sites could not be asked whether they still say it."""
        return any(check.name == UNRESOLVED for check in self.checks)
