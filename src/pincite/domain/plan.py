"""What passes between the six roles of a run: plan, read pages, analysis, gaps."""

from dataclasses import dataclass, field

from pincite.domain.evidence import Claim, VerifiedClaim
from pincite.domain.page import Chunk, Document, Snapshot
from pincite.domain.search import Constraints, Query


@dataclass(frozen=True, slots=True)
class Task:
    """The question of a run with its limits, frozen at the start."""

    question: str
    constraints: Constraints = Constraints()
    urls: tuple[str, ...] = ()
    profile: str = "standard"


@dataclass(frozen=True, slots=True)
class SubQuestion:
    """One part of the question and the queries meant to answer it. `sub_question_id` is its number as text.

    `depends_on` names the sub-question whose answer this one needs (multi-hop).
    """

    sub_question_id: str
    text: str
    queries: tuple[Query, ...] = ()
    answer_type: str = ""
    depends_on: str | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """Sub-questions in the order a reader wants them answered."""

    sub_questions: tuple[SubQuestion, ...]


@dataclass(frozen=True, slots=True)
class Gap:
    """A sub-question without (enough) evidence: why, and which queries were tried."""

    sub_question: str
    reason: str
    queries: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Lead:
    """A result that could not be read: shown under "Found but not read", never evidence."""

    title: str
    url: str
    snippet: str
    reason: str


@dataclass(frozen=True, slots=True)
class ReadPage:
    """A page a run has read: the capture, the document, its chunks; `duplicate_of` is the representative's id."""

    snapshot: Snapshot = field(repr=False)
    document: Document = field(repr=False)
    chunks: tuple[Chunk, ...] = field(repr=False, default=())
    duplicate_of: str | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """What the reader made of a set of results."""

    pages: tuple[ReadPage, ...] = ()
    leads: tuple[Lead, ...] = ()


@dataclass(frozen=True, slots=True)
class Analysis:
    """Claims proposed for one sub-question, and what is missing."""

    claims: tuple[Claim, ...] = ()
    gaps: tuple[Gap, ...] = ()


@dataclass(frozen=True, slots=True)
class ConflictSide:
    """One of the statements that exclude each other, with the claim that carries it."""

    statement: str
    claim_id: str
    independent_sources: int


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two or more claims about the same thing that can't all be true."""

    sides: tuple[ConflictSide, ...]


@dataclass(frozen=True, slots=True)
class Verification:
    """Verdicts on a round's claims, conflicts between them, and queries that might close what is open."""

    claims: tuple[VerifiedClaim, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    gaps: tuple[Gap, ...] = ()
    follow_ups: tuple[Query, ...] = ()
