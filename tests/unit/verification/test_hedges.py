"""Modal verbs that a statement drops are pointed out to the judge; nothing is decided by them."""

from datetime import UTC, datetime

import pytest

from pincite.domain.evidence import ContextRole, EvidenceLine, EvidencePassage, JudgementLabel, VerdictStatus
from pincite.testing.judges import LabelJudge
from pincite.verification.proof import Statement, dropped_hedges, prove

LEAK = "Pumps of the second series may leak above 6 bar."


@pytest.mark.parametrize(
    ("statement", "line", "found"),
    [
        ("The pumps leak above 6 bar.", LEAK, ("may",)),
        ("The pumps could leak above 6 bar.", LEAK, ()),
        ("The pumps may leak above 6 bar.", "The pumps should be drained, or they may leak.", ("should",)),
        ("Connections are closed.", "Connections should be closed; open ones can fail.", ("should", "can")),
        ("Die Pumpe leckt über 6 bar.", "Die Pumpe kann über 6 bar lecken.", ("kann",)),
        ("La pompe fuit.", "La pompe peut fuir.", ("peut",)),
        ("Das Ventil schließt.", "The valve may close.", ()),  # no word in common: nobody knows which line it tells
        ("It was opened in spring.", "It was opened in May 2019, in spring.", ()),  # a month
    ],
)
def test_what_may_be_told_as_what_is(statement: str, line: str, found: tuple[str, ...]) -> None:
    assert dropped_hedges(statement, [EvidenceLine("1", line)]) == found


def test_the_may_of_another_sentence_hedges_something_else() -> None:
    around = EvidenceLine("1", "Pumps leak, and valves may leak.", ContextRole.AROUND)
    own = [EvidenceLine("2", "The tank may overflow."), EvidenceLine("3", "Pumps leak above 6 bar.")]
    assert dropped_hedges("The pumps leak above 6 bar.", [around, *own]) == ()


async def test_the_judge_is_told_and_decides() -> None:
    passage = EvidencePassage("p", 0, len(LEAK), LEAK, (), True)
    statements = [Statement("Second series pumps leak from 6 bar.", (passage,)), Statement(LEAK, (passage,))]
    judge = LabelJudge({statements[0].text: JudgementLabel.STATES})
    told, quoted = await prove(statements, judge, at=datetime(2026, 1, 1, tzinfo=UTC))
    assert [case.hints for case in judge.asked] == [("its line has may, it does not",)]
    assert (told.verdict, quoted.verdict) == (VerdictStatus.SUPPORTED, VerdictStatus.SUPPORTED)
