"""What an audit says: a verdict for each sentence, a state for each listed reference, and the figures over all."""

from enum import StrEnum

from pincite.domain.evidence import Check, Proof
from pincite.domain.frozen import dataclass


class AuditVerdict(StrEnum):
    """The verdict on one sentence. `could_not_check` and `unchecked` are neither clean nor an accusation.

    `could_not_check`: its page could not be read. `unchecked`: it was, and nobody judged whether it says this.
    """

    SUPPORTED = "supported"
    WRONG_SOURCE = "wrong_source"
    PARTIAL = "partial"
    CONTRADICTED = "contradicted"
    NOT_FOUND = "not_found"
    MISQUOTED = "misquoted"
    NO_ENTRY = "no_entry"
    INVENTED_URL = "invented_url"
    COULD_NOT_CHECK = "could_not_check"
    UNCHECKED = "unchecked"
    UNCITED = "uncited"
    NOT_A_CLAIM = "not_a_claim"


# Verdicts that say something is wrong with the report.
WRONG = frozenset(
    {
        AuditVerdict.WRONG_SOURCE,
        AuditVerdict.CONTRADICTED,
        AuditVerdict.NOT_FOUND,
        AuditVerdict.MISQUOTED,
        AuditVerdict.NO_ENTRY,
        AuditVerdict.INVENTED_URL,
        AuditVerdict.UNCITED,
    }
)

_NONE_READ = (
    "the page that its one claim needs could not be read",
    "none of the pages that its claims need could be read",
)


# Verdicts that leave a sentence open.
OPEN = frozenset({AuditVerdict.COULD_NOT_CHECK, AuditVerdict.UNCHECKED})
_NO_JUDGE = (
    "is not in its sources' words and nobody judged it (the setting `judge` names who may)",
    "are not in their sources' words and nobody judged them (the setting `judge` names who may)",
)
_NOT_SURE = "the judge left open"


class ReferenceState(StrEnum):
    """What became of a listed page.

    `archived`: gone from its site, read from a public archive. `never_seen`: it answers that there is no such page, and
    no archive ever had it. `invented`: no such host or not a URL. `not_given`: not among the given pages.
    """

    READ = "read"
    ARCHIVED = "archived"
    NEVER_SEEN = "never_seen"
    DEAD = "dead"
    BLOCKED = "blocked"
    INVENTED = "invented"
    NOT_GIVEN = "not_given"
    NO_URL = "no_url"
    OVER_LIMIT = "over_limit"


@dataclass(frozen=True, slots=True)
class ListedReference:
    """An entry of a reference list, or a page linked from the text itself.

    `key` is what markers name it by (`1`, `smith 2024`), empty when the text links it. `start` and `end` are the
    entry's place in the report. `cited` counts the sentences that name it.
    """

    key: str
    url: str
    text: str
    start: int
    end: int
    state: ReferenceState = ReferenceState.NOT_GIVEN
    reason: str = ""
    cited: int = 0
    listed: bool = True

    @property
    def name(self) -> str:
        """What a reader calls it: `[2]`, or its URL."""
        return f"[{self.key}]" if self.key else self.url


@dataclass(frozen=True, slots=True)
class AuditedSentence:
    """One sentence of the report at `[start, end)`, what it cites, and what was found.

    `references` are indexes into `Audit.references`; `found_in` those of other pages that carry the sentence;
    `missing` are markers without an entry. `proof` says how a carried sentence is proven, `judge` and `likelihood` who
    judged it, `beyond` which of its words are not carried; `checks` are its exact facts.
    """

    start: int
    end: int
    text: str
    outcome: AuditVerdict
    detail: str = ""
    references: tuple[int, ...] = ()
    missing: tuple[str, ...] = ()
    found_in: tuple[int, ...] = ()
    passage: str = ""
    checks: tuple[Check, ...] = ()
    proof: Proof | None = None
    judge: str = ""
    likelihood: float | None = None
    beyond: str = ""


@dataclass(frozen=True, slots=True)
class Audit:
    """The result. `citations_checked` and `citations_supporting` count pairs of a sentence and a page it cites.

    `judge` is who judged meaning, empty where nobody did. `strict`: partly supported sentences count as wrong.
    """

    text: str
    sentences: tuple[AuditedSentence, ...]
    references: tuple[ListedReference, ...]
    citations_checked: int = 0
    citations_supporting: int = 0
    judge: str = ""
    strict: bool = False

    @property
    def claims(self) -> tuple[AuditedSentence, ...]:
        """The sentences that state a checkable fact."""
        return tuple(s for s in self.sentences if s.outcome is not AuditVerdict.NOT_A_CLAIM)

    @property
    def checked(self) -> int:
        """Claims on which there is a verdict: judged against some page, or shown to have none."""
        return sum(s.outcome not in OPEN for s in self.claims)

    @property
    def coverage(self) -> float | None:
        """Checked claims as a share of all claims; None when there is no claim."""
        return self.checked / len(self.claims) if self.claims else None

    @property
    def precision(self) -> float | None:
        """Share of the checked citations whose page carries the sentence; None when none could be checked."""
        return self.citations_supporting / self.citations_checked if self.citations_checked else None

    @property
    def recall(self) -> float | None:
        """Share of the claims that a page they cite carries; None when there is no claim."""
        carried = sum(s.outcome is AuditVerdict.SUPPORTED for s in self.claims)
        return carried / len(self.claims) if self.claims else None

    @property
    def never_cited(self) -> tuple[ListedReference, ...]:
        """Listed entries that no sentence names."""
        return tuple(reference for reference in self.references if reference.listed and not reference.cited)

    @property
    def wrong(self) -> tuple[AuditedSentence, ...]:
        """The sentences with something wrong."""
        wrong = WRONG | {AuditVerdict.PARTIAL} if self.strict else WRONG
        return tuple(sentence for sentence in self.sentences if sentence.outcome in wrong)

    @property
    def clean(self) -> bool:
        """Whether there was something to check, all of it could be checked, and nothing is wrong."""
        # An empty report is not clean: nothing was shown to be right.
        return bool(self.claims) and not self.wrong and not self.never_cited and self.checked == len(self.claims)

    @property
    def shortfall(self) -> str:
        """What this audit leaves open and why; empty when there is a verdict on every claim."""
        if not self.claims:
            return "nothing to check: no sentence of the text states a fact that could be checked"
        counts = self.counts()
        unread, unjudged = counts.get(AuditVerdict.COULD_NOT_CHECK, 0), counts.get(AuditVerdict.UNCHECKED, 0)
        if unread == len(self.claims):
            return f"nothing was checked: {_NONE_READ[unread > 1]}"
        whys = (
            unread and f"of {unread} no page could be read",
            unjudged and f"{unjudged} {_NOT_SURE if self.judge else _NO_JUDGE[unjudged > 1]}",
        )
        told = ", ".join(why for why in whys if why)
        return f"{self.checked} of {len(self.claims)} statements judged: {told}" if told else ""

    def counts(self) -> dict[AuditVerdict, int]:
        """How many sentences have each verdict, the ones that occur."""
        found = {outcome: sum(s.outcome is outcome for s in self.sentences) for outcome in AuditVerdict}
        return {outcome: count for outcome, count in found.items() if count}
