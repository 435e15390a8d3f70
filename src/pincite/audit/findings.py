"""What an audit says: a verdict for each sentence, a state for each listed reference, and the figures over all."""

from dataclasses import dataclass
from enum import StrEnum

from pincite.domain.evidence import Verdict


class AuditVerdict(StrEnum):
    """The verdict on one sentence. `could_not_check` is neither clean nor an accusation."""

    SUPPORTED = "supported"
    WRONG_SOURCE = "wrong_source"
    PARTIAL = "partial"
    CONTRADICTED = "contradicted"
    NOT_FOUND = "not_found"
    MISQUOTED = "misquoted"
    NO_ENTRY = "no_entry"
    INVENTED_URL = "invented_url"
    COULD_NOT_CHECK = "could_not_check"
    UNCITED = "uncited"
    NOT_A_CLAIM = "not_a_claim"


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
"""Verdicts that say something is wrong with the report."""

_NONE_READ = (
    "the page that its one claim needs could not be read",
    "none of the pages that its claims need could be read",
)


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


@dataclass(frozen=True, slots=True)
class AuditedSentence:
    """One sentence of the report at `[start, end)`, what it cites, and what was found.

    `references` are indexes into `Audit.references`; `found_in` those of other pages that carry the sentence;
    `missing` are markers without an entry. `verdict` is that of the claim check, where one ran.
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
    verdict: Verdict | None = None


@dataclass(frozen=True, slots=True)
class Audit:
    """The result. `citations_checked` and `citations_supporting` count pairs of a sentence and a page it cites."""

    text: str
    sentences: tuple[AuditedSentence, ...]
    references: tuple[ListedReference, ...]
    citations_checked: int = 0
    citations_supporting: int = 0

    @property
    def claims(self) -> tuple[AuditedSentence, ...]:
        """The sentences that state a checkable fact."""
        return tuple(s for s in self.sentences if s.outcome is not AuditVerdict.NOT_A_CLAIM)

    @property
    def checked(self) -> int:
        """Claims that could be checked against some page, or shown to have none."""
        return sum(s.outcome is not AuditVerdict.COULD_NOT_CHECK for s in self.claims)

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
        return tuple(sentence for sentence in self.sentences if sentence.outcome in WRONG)

    @property
    def clean(self) -> bool:
        """Whether there was something to check, all of it could be checked, and nothing is wrong."""
        return bool(self.claims) and not self.wrong and not self.never_cited and self.checked == len(self.claims)

    @property
    def shortfall(self) -> str:
        """Why this audit says nothing about the report; empty when at least one claim was checked."""
        if not self.claims:
            return "nothing to check: no sentence of the text states a fact that could be checked"
        return "" if self.checked else f"nothing was checked: {_NONE_READ[len(self.claims) > 1]}"

    def counts(self) -> dict[AuditVerdict, int]:
        """How many sentences have each verdict, the ones that occur."""
        found = {outcome: sum(s.outcome is outcome for s in self.sentences) for outcome in AuditVerdict}
        return {outcome: count for outcome, count in found.items() if count}
