"""What passes between the six roles of a run: plan, read pages, analysis, gaps, progress."""

from dataclasses import field, fields
from datetime import datetime
from enum import StrEnum
from typing import Final

from pincite.domain.budget import Metrics
from pincite.domain.evidence import Claim, VerifiedClaim
from pincite.domain.frozen import dataclass
from pincite.domain.page import Document, Snapshot
from pincite.domain.report import ConflictKind
from pincite.domain.search import Constraints, Query, SearchResult, Survey


class AnswerForm(StrEnum):
    """The form of answer that a part of a question wants."""

    PROSE = "prose"
    FIGURE = "figure"
    DATE = "date"
    NAME = "name"
    YES_NO = "yes_no"
    DEFINITION = "definition"
    REASON = "reason"
    LIST = "list"
    STEPS = "steps"
    TABLE = "table"


class ReportLength(StrEnum):
    """How long a report may be when its evidence carries it."""

    SHORT = "short"
    STANDARD = "standard"
    LONG = "long"


# The most words of a report; 800-1,200 is what readers take in at one sitting.
MOST_WORDS: Final = {ReportLength.SHORT: 350, ReportLength.STANDARD: 1_200, ReportLength.LONG: 2_500}


class ReportDepth(StrEnum):
    """How deep a report goes into its subject."""

    OVERVIEW = "overview"
    STANDARD = "standard"
    EXPERT = "expert"


@dataclass(frozen=True, slots=True)
class ReportStyle:
    """How the asker wants the report: obeyed for its form, never for what counts as true.

    `language` is a BCP 47 tag or a name; empty: that of the question. `instructions` are in the asker's own words.
    """

    audience: str = ""
    length: ReportLength = ReportLength.STANDARD
    language: str = ""
    depth: ReportDepth = ReportDepth.STANDARD
    instructions: str = ""

    @property
    def unusual(self) -> tuple[str, ...]:
        """The names of what was asked for and is not what everybody gets."""
        usual = ReportStyle()
        names = {"language": "report language"}
        return tuple(
            names.get(member.name, member.name)
            for member in fields(self)
            if getattr(self, member.name) != getattr(usual, member.name)
        )


@dataclass(frozen=True, slots=True)
class Task:
    """The question of a run with its limits, frozen at the start.

    `continues` is the run whose pages and claims are at hand, `background` the question it answered. `parts` are those
    of a plan that the asker has seen and perhaps changed: the first round asks these.
    """

    question: str
    constraints: Constraints = Constraints()
    urls: tuple[str, ...] = ()
    profile: str = "standard"
    continues: str = ""
    background: str = ""
    style: ReportStyle = ReportStyle()
    parts: tuple["SubQuestion", ...] = ()


@dataclass(frozen=True, slots=True)
class SubQuestion:
    """One part of the question and the queries meant to answer it. `sub_question_id` is its number as text.

    `form` is that in which the answer is to be told. `depends_on` names the sub-question whose answer this one needs
    (multi-hop): it is asked when that is known. `heading` is a short title for it. `context` is the question before it,
    where it can't be understood without that ("and who built it?"). `added`: nobody asked for it, and whoever wrote
    found that the question needs it.
    """

    sub_question_id: str
    text: str
    queries: tuple[Query, ...] = ()
    depends_on: str | None = None
    heading: str = ""
    form: AnswerForm = AnswerForm.PROSE
    context: str = ""
    added: bool = False

    @property
    def standalone(self) -> str:
        """As it is searched and ranked: understood by itself."""
        return f"{self.context}: {self.text}" if self.context else self.text


@dataclass(frozen=True, slots=True)
class PlanChange:
    """What a later round changed in the plan, and why."""

    change: str
    part: str
    reason: str


@dataclass(frozen=True, slots=True)
class Plan:
    """Sub-questions in the order a reader wants them answered.

    `survey` is what the libraries know of the question's words; `notes` say to a reader how the question was read
    where that is not as it was written. `changes` are those of this round.
    """

    sub_questions: tuple[SubQuestion, ...]
    survey: Survey = Survey()
    notes: tuple[str, ...] = ()
    changes: tuple[PlanChange, ...] = ()


@dataclass(frozen=True, slots=True)
class Gap:
    """A sub-question without (enough) evidence: why, and which queries were tried.

    `touched` says that there are claims which only touch on it: they are printed, but not as an answer.
    """

    sub_question: str
    reason: str
    queries: tuple[str, ...] = ()
    touched: bool = False


@dataclass(frozen=True, slots=True)
class Lead:
    """A result that could not be read: shown under "Found but not read", never evidence.

    `code` is that of the error, empty when the page was read and then set aside. `about` is what a model takes it to be
    about, by its title and snippet.
    """

    title: str
    url: str
    snippet: str
    reason: str
    code: str = ""
    about: str = ""


@dataclass(frozen=True, slots=True)
class ReadPage:
    """A page a run has read: the capture and the document.

    `url` is the page's canonical URL. `duplicate_of` is the URL of its representative when it is a near-copy of a
    page that is kept. `undated` says that the run asked for a period and the page does not tell its date,
    `stale` that this is an older copy because the host failed.
    """

    url: str
    snapshot: Snapshot = field(repr=False)
    document: Document = field(repr=False)
    duplicate_of: str | None = None
    undated: bool = False
    stale: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """What the searcher found: results in the order to read them, leads for those that may not be asked for.

    `asked` has the keys of the queries that were sent.
    """

    results: tuple[SearchResult, ...] = ()
    leads: tuple[Lead, ...] = ()
    asked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """What the reader made of a set of results: all pages of the run so far, and what could not be read now."""

    pages: tuple[ReadPage, ...] = ()
    leads: tuple[Lead, ...] = ()


@dataclass(frozen=True, slots=True)
class Analysis:
    """Claims proposed for one sub-question, best first, and what is missing."""

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
    """Two or more claims about the same thing that can't all be true.

    `premise` is set when one side is what the question takes for granted: that side has no claim, only words.
    `wording` says in a few words what stands against what; `told`: a sentence of the report says it already.
    """

    sides: tuple[ConflictSide, ...]
    premise: str = ""
    kind: ConflictKind = ConflictKind.FIGURES
    wording: str = ""
    told: bool = False


@dataclass(frozen=True, slots=True)
class Verification:
    """Verdicts on a round's claims, conflicts between them, and queries that might close what is open."""

    claims: tuple[VerifiedClaim, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    gaps: tuple[Gap, ...] = ()
    follow_ups: tuple[Query, ...] = ()


@dataclass(frozen=True, slots=True)
class Progress:
    """What a run knows at the start of a step. Each round makes a new one; roles only read it.

    `asked` are the texts of the queries sent so far, `requested` the URL keys of pages asked for (read or not),
    `capped_by` the name of the cap that ended the search for more, `seconds_left` the time until the deadline.
    """

    round_number: int = 0
    plan: Plan = Plan(())
    pages: tuple[ReadPage, ...] = field(repr=False, default=())
    leads: tuple[Lead, ...] = ()
    results: tuple[SearchResult, ...] = field(repr=False, default=())
    claims: tuple[VerifiedClaim, ...] = field(repr=False, default=())
    conflicts: tuple[Conflict, ...] = ()
    gaps: tuple[Gap, ...] = ()
    follow_ups: tuple[Query, ...] = ()
    asked: tuple[str, ...] = ()
    requested: tuple[str, ...] = ()
    capped_by: str = ""
    seconds_left: float | None = None


@dataclass(frozen=True, slots=True)
class ReportMetadata:
    """What a report carries besides its content: which run made it, when, its counts.

    `wanted_share` of its claims should rest on two independent sources; None sets no target.
    """

    run_id: str
    created_at: datetime
    metrics: Metrics
    wanted_share: float | None = None
