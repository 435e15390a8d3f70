"""The verdict table: what code found of the exact facts and what a judge said of the meaning, brought together.

The one place that decides, for research, audit and check alike (docs/verification.md).
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Final

from pincite.domain.evidence import (
    Check,
    CheckOutcome,
    Judgement,
    JudgementLabel,
    Relation,
    Thresholds,
    Verdict,
    VerdictStatus,
    VerifiedClaim,
)
from pincite.text.instructions import is_flagged
from pincite.text.normalise import fold
from pincite.verification.facts import FactFinding, FactOutcome


class Facts(StrEnum):
    """The exact facts of a statement together: as good as the worst of them."""

    FOUND = "found"  # all found or derived, or none to find
    ABSENT = "absent"  # one is not in the evidence
    OTHER = "other"  # the evidence gives another value for the same thing
    NOWHERE = "nowhere"  # one is nowhere on the page
    NOWHERE_OTHER = "nowhere_other"  # both


class Stance(StrEnum):
    """What the judge said. `open`: nobody was asked, no answer came, or its likelihood is between the thresholds."""

    STATES = "states"
    PARTLY = "partly"
    CONTRADICTS = "contradicts"
    ABSENT = "absent"
    OPEN = "open"


_S, _P, _C, _U, _N = (
    VerdictStatus.SUPPORTED,
    VerdictStatus.PARTIAL,
    VerdictStatus.CONTRADICTED,
    VerdictStatus.UNSUPPORTED,
    VerdictStatus.UNCHECKED,
)

#                          states partly contradicts absent open
_ROWS: Final = {
    Facts.FOUND: (_S, _P, _C, _U, _N),
    # The judge was asked again with the fact pointed out before "states" is read here.
    Facts.ABSENT: (_P, _P, _C, _U, _N),
    # Another value for the same thing contradicts, unless the judge, asked again, still finds the rest stated.
    Facts.OTHER: (_P, _C, _C, _C, _N),
    # A figure that is nowhere on the page is not a question of meaning: no judge overrules it.
    Facts.NOWHERE: (_U, _U, _U, _U, _U),
    Facts.NOWHERE_OTHER: (_U, _C, _C, _C, _C),
}
# The verdict on a statement that is not in its source's own words.
VERDICTS: Final[Mapping[tuple[Facts, Stance], VerdictStatus]] = {
    (facts, said): verdict for facts, row in _ROWS.items() for said, verdict in zip(Stance, row, strict=True)
}

# Where judge and code disagree: the judge is asked once more, the fact pointed out.
ASKED_AGAIN: Final = frozenset({(Facts.ABSENT, Stance.STATES), (Facts.OTHER, Stance.STATES)})


def facts_of(findings: Iterable[FactFinding]) -> Facts:
    """The findings on single facts as one."""
    missing = [f for f in findings if f.outcome not in (FactOutcome.FOUND, FactOutcome.DERIVED)]
    if not missing:
        return Facts.FOUND
    other = any(f.outcome is FactOutcome.OTHER for f in missing)
    if any(f.nowhere for f in missing):
        return Facts.NOWHERE_OTHER if other else Facts.NOWHERE
    return Facts.OTHER if other else Facts.ABSENT


def stance_of(judgement: Judgement | None, thresholds: Thresholds | None) -> Stance:
    """What a judgement counts as.

    A judge's word (no likelihood) counts as it is. A likelihood counts beyond the thresholds measured for the judge;
    without any it can only refuse.
    """
    if judgement is None or judgement.label is JudgementLabel.NOTHING_TO_CHECK:
        return Stance.OPEN
    said = Stance(judgement.label.value)
    if judgement.likelihood is None:
        return said
    if said in (Stance.STATES, Stance.PARTLY):
        sure = thresholds is not None and judgement.likelihood >= thresholds.supported_from
        return said if sure else Stance.OPEN
    return said if thresholds is None or judgement.likelihood <= thresholds.refused_to else Stance.OPEN


# Claims that are refused however they are proven: those that rest only on words spoken to machines.

SPEAKS_TO_MACHINES = "the only passage speaks to machines, not to readers"


def refused(item: VerifiedClaim, name: str, why: str) -> VerifiedClaim:
    """The claim as unsupported, with a failed check that says why."""
    check = Check(name, CheckOutcome.FAILED, why)
    verdict = Verdict(VerdictStatus.UNSUPPORTED, (), 0.0, (why,), (*item.verdict.checks, check))
    return replace(item, verdict=verdict, checks=(*item.checks, check))


def without_flagged(item: VerifiedClaim) -> VerifiedClaim:
    """The claim, refused when each page that supports it does so in words that speak to machines.

    The quotes of a page count as one: a harmless heading in front of an order to machines supports nothing.
    """
    by_page: dict[str, list[str]] = {}
    for evidence in item.claim.evidence:
        if evidence.relation is Relation.SUPPORTS:
            by_page.setdefault(evidence.url, []).append(evidence.quote.text)
    # Set apart by more than white space: "Search engines" above a sentence is a heading, not the one who is spoken to.
    if not item.printable or not all(is_flagged("\n|\n".join(texts)) for texts in by_page.values()):
        return item
    return refused(item, "address", SPEAKS_TO_MACHINES)


# Phrases that join sentences and state nothing: what may be printed without evidence and without a judge.

_END_MARKS: Final = " .:,;!…"
# English, German, French and Spanish, in lower case and without end marks.
CONNECTIVES: Final = frozenset(
    phrase.strip()
    for phrase in """
    in short | in brief | in detail | in more detail | in general | in practice | in other words | in particular |
    in addition | in summary | in contrast | by contrast | for example | for instance | to begin with | to sum up |
    first | second | third | finally | next | also | further | moreover | besides | meanwhile | however | still |
    more on this below | details follow | the details | an example | examples | step by step | the steps are |
    kurz | kurz gesagt | im einzelnen | im allgemeinen | zum beispiel | mit anderen worten | außerdem | zudem |
    dagegen | zunächst | zuerst | dann | schließlich | zusammengefasst | jedoch |
    en bref | en détail | en général | par exemple | en d'autres termes | en outre | par contre | d'abord | ensuite |
    enfin | en résumé | cependant |
    en breve | en detalle | en general | por ejemplo | en otras palabras | además | en cambio | primero | luego |
    finalmente | en resumen | sin embargo
    """.split("|")
)


def states_nothing(text: str) -> bool:
    """Whether the text is one of the phrases that hold no statement."""
    return fold(text).flat.lower().strip(_END_MARKS) in CONNECTIVES
