"""`prove`: the verdict table over quoted text, exact facts and a judge; and what bad judges can't do."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import product

import anyio
import pytest

from pincite.domain.errors import BudgetExhausted, ModelUnavailable, RunFenced
from pincite.domain.evidence import (
    EvidencePassage,
    JudgeCase,
    Judgement,
    JudgementLabel,
    Proof,
    Thresholds,
    VerdictStatus,
    evidence_sha256,
)
from pincite.domain.ids import judgement_id, statement_sha256
from pincite.domain.page import Block, BlockKind, Document
from pincite.ports import Judge
from pincite.testing.judges import LabelJudge
from pincite.text.context import passage_in_context
from pincite.verification.proof import MAX_EVIDENCE_CHARS, MAX_STATEMENT_CHARS, Proven, Statement, prove
from pincite.verification.verdicts import VERDICTS, Facts, Stance

AT = datetime(2026, 11, 22, tzinfo=UTC)
PAGE = Document(
    "test",
    "1",
    (
        Block(BlockKind.HEADING, "Reservoirs", 1),
        Block(BlockKind.PARAGRAPH, "Each reservoir holds 40 litres. Pumps fill it at night."),
        Block(BlockKind.PARAGRAPH, "A full inspection takes 90 minutes."),
    ),
    title="Reservoirs",
)
S, P, C, A, NOTHING = (
    JudgementLabel.STATES,
    JudgementLabel.PARTLY,
    JudgementLabel.CONTRADICTS,
    JudgementLabel.ABSENT,
    JudgementLabel.NOTHING_TO_CHECK,
)


def of(words: str) -> EvidencePassage:
    start = PAGE.text.index(words)
    return passage_in_context(PAGE, start, start + len(words))


HOLDS = of("Each reservoir holds 40 litres.")
TAKES = of("A full inspection takes 90 minutes.")


@dataclass
class Saying:
    """A judge that answers with what it is given."""

    answers: tuple[Judgement, ...] | Exception
    thresholds: Thresholds | None = None
    name: str = "acme:judge"

    async def judge(self, cases: Sequence[JudgeCase]) -> Sequence[Judgement]:
        if isinstance(self.answers, Exception):
            raise self.answers
        return self.answers


async def one(text: str, judge: Judge | None, *evidence: EvidencePassage) -> Proven:
    (found,) = await prove([Statement(text, evidence or (HOLDS,), (PAGE.text,))], judge, at=AT)
    return found


PARAPHRASE = "There is room for 40 l of water in every reservoir."
OTHER_FIGURE = "There is room for 50 l of water in every reservoir."
ELSEWHERE = "There is room for 90 l of water in every reservoir; filling one takes 90 minutes."
UNKNOWN_NAME = "The option max_fill gives every reservoir room for 40 l."


def test_the_table_is_complete_and_only_found_facts_are_ever_supported() -> None:
    assert set(VERDICTS) == set(product(Facts, Stance))
    assert [key for key, verdict in VERDICTS.items() if verdict is VerdictStatus.SUPPORTED] == [
        (Facts.FOUND, Stance.STATES)
    ]


async def test_quoted_needs_no_judge() -> None:
    found = await one("Each reservoir holds 40 litres.", None)
    assert (found.verdict, found.proof, found.judgement) == (VerdictStatus.SUPPORTED, Proof.QUOTED, None)


async def test_a_quoted_sentence_is_only_asked_about_when_a_question_is_given() -> None:
    judge = LabelJudge({})
    statements = [
        Statement("Each reservoir holds 40 litres.", (HOLDS,)),
        Statement("A full inspection takes 90 minutes.", (TAKES,), question="How long does an inspection take?"),
    ]
    first, second = await prove(statements, judge, at=AT)
    assert [case.statement for case in judge.asked] == ["A full inspection takes 90 minutes."]
    assert first.stands_alone is None
    assert second.stands_alone is True
    assert second.verdict is VerdictStatus.SUPPORTED, "no judge can take back what is quoted"


@pytest.mark.parametrize(
    ("text", "label", "verdict"),
    [
        (PARAPHRASE, S, "supported"),
        (PARAPHRASE, C, "contradicted"),
        (PARAPHRASE, A, "unsupported"),
        (PARAPHRASE, None, "unchecked"),
        (OTHER_FIGURE, S, "unsupported"),
        (OTHER_FIGURE, A, "contradicted"),
        (OTHER_FIGURE, None, "contradicted"),
        (UNKNOWN_NAME, S, "unsupported"),
        (UNKNOWN_NAME, None, "unsupported"),
    ],
)
async def test_verdicts(text: str, label: JudgementLabel | None, verdict: str) -> None:
    found = await one(text, None if label is None else LabelJudge({text: label}))
    assert found.verdict.value == verdict
    assert (found.proof is Proof.ENTAILED) is (verdict == "supported")
    assert bool(found.reason) is (verdict != "supported")


@pytest.mark.parametrize(
    ("label", "verdict"), [(S, "partial"), (P, "contradicted"), (C, "contradicted"), (A, "contradicted")]
)
async def test_another_figure_contradicts_but_where_the_judge_insists_on_the_rest(
    label: JudgementLabel, verdict: str
) -> None:
    judge = LabelJudge({OTHER_FIGURE: label}, beyond={OTHER_FIGURE: "of water"})
    (found,) = await prove([Statement(OTHER_FIGURE, (HOLDS,))], judge, at=AT)
    assert (found.verdict.value, found.beyond) == (verdict, "50 l" if verdict == "partial" else "")


async def test_both_values_are_named() -> None:
    found = await one(OTHER_FIGURE, None)
    assert "50 l" in found.reason
    assert "40 litres" in found.reason


async def test_partly_names_the_words_that_go_beyond() -> None:
    text = "There is room for 40 l in every reservoir, more than anywhere else."
    found = await one(text, LabelJudge({text: P}, beyond={text: "more than anywhere else"}))
    assert (found.verdict, found.proof) == (VerdictStatus.PARTIAL, Proof.ENTAILED)
    assert found.beyond == "more than anywhere else"
    silent = await one(text, LabelJudge({text: P}))
    assert silent.verdict is VerdictStatus.UNCHECKED, "partial always says what is not carried"
    lecture = await one(text, LabelJudge({text: P}, beyond={text: "and another thing: " * 20}))
    assert (lecture.verdict, lecture.beyond) == (VerdictStatus.UNCHECKED, ""), "words that are not the statement's"


async def test_a_judge_that_overlooks_a_figure_is_asked_again_and_never_believed() -> None:
    text = "Every reservoir has room for 90 minutes of use."
    convinced = LabelJudge({text: S})
    found = await one(text, convinced)
    assert convinced.asked[0].hints == ()
    assert any("90 minutes" in hint for hint in convinced.asked[1].hints)
    assert found.verdict is VerdictStatus.PARTIAL
    assert "90 minutes" in found.beyond


async def test_evidence_is_narrowed_to_the_lines_that_the_judge_names() -> None:
    statement = Statement(PARAPHRASE, (TAKES, HOLDS), (PAGE.text,), repin=True)
    line = Judgement("1", S, line_ids=("3",))
    (found,) = await prove([statement], Saying((line,)), at=AT)
    assert found.evidence == (HOLDS,)
    (kept,) = await prove([Statement(PARAPHRASE, (TAKES, HOLDS), (PAGE.text,))], Saying((line,)), at=AT)
    assert kept.evidence == (TAKES, HOLDS)
    both = replace(statement, text="Every reservoir has room for 40 l, and looking at it takes 90 minutes.")
    (whole,) = await prove([both], Saying((line,)), at=AT)
    assert (whole.verdict, whole.evidence) == (VerdictStatus.SUPPORTED, (TAKES, HOLDS)), "its figures stand in both"


async def test_the_judgement_is_bound_to_statement_and_evidence() -> None:
    found = await one(PARAPHRASE, LabelJudge({PARAPHRASE: S}))
    record = found.judgement
    assert record is not None
    assert record.statement_sha256 == statement_sha256(PARAPHRASE)
    assert record.evidence_sha256 == evidence_sha256([HOLDS])
    assert record.id == judgement_id("label-judge", record.statement_sha256, record.evidence_sha256, S, "")
    assert record.lines == ("Each reservoir holds 40 litres.",)
    assert record.judged_at == AT


async def test_derived_statements_name_their_premises() -> None:
    premises = ("A reservoir holds 40 litres.", "An inspection takes 90 minutes.")
    text = "Inspecting a reservoir of 40 litres takes 90 minutes."
    judge = LabelJudge({text: S})
    (found,) = await prove([Statement(text, (HOLDS, TAKES), (PAGE.text,), premises)], judge, at=AT)
    assert found.proof is Proof.DERIVED
    assert [line.text for line in judge.asked[0].lines[:2]] == list(premises)
    assert found.judgement is not None
    assert found.judgement.evidence_sha256 == evidence_sha256((HOLDS, TAKES), premises)


async def test_all_statements_are_asked_about_in_one_batch() -> None:
    judge = LabelJudge({PARAPHRASE: S})
    texts = [PARAPHRASE, "Each reservoir holds 40 litres.", UNKNOWN_NAME, "Pumps work after dark."]
    found = await prove([Statement(text, (HOLDS,), (PAGE.text,)) for text in texts], judge, at=AT)
    assert judge.calls == 1
    assert [case.statement for case in judge.asked] == [texts[0], texts[3]]
    assert [item.verdict.value for item in found] == ["supported", "supported", "unsupported", "unsupported"]


# ---- likelihoods ----

MEASURED = Thresholds(0.9, 0.1)


@pytest.mark.parametrize(
    ("likelihood", "label", "thresholds", "verdict"),
    [
        (0.95, S, MEASURED, "supported"),
        (0.90, S, MEASURED, "supported"),  # from there on
        (0.10, A, MEASURED, "unsupported"),  # up to there
        (0.85, S, MEASURED, "unchecked"),
        (0.15, A, MEASURED, "unchecked"),
        (0.05, A, MEASURED, "unsupported"),
        (0.05, C, MEASURED, "contradicted"),
        (0.99, S, None, "unchecked"),
        (0.40, A, None, "unsupported"),
    ],
)
async def test_likelihoods_count_beyond_measured_thresholds(
    likelihood: float, label: JudgementLabel, thresholds: Thresholds | None, verdict: str
) -> None:
    found = await one(PARAPHRASE, Saying((Judgement("1", label, likelihood),), thresholds))
    assert found.verdict.value == verdict
    if verdict == "unchecked":
        assert "not sure enough" in found.reason


# ---- bad judges and odd input ----


@pytest.mark.parametrize(
    "answers",
    [
        (),
        (Judgement("7", S),),
        (Judgement("", S),),
        (Judgement("1", S, math.nan),),
        (Judgement("1", S, math.inf),),
        (Judgement("1", S, 1.5),),
        (Judgement("1", S, -0.1),),
        ModelUnavailable("gone"),
        BudgetExhausted("no tokens left"),
    ],
)
async def test_an_answer_that_can_not_be_used_leaves_the_statement_unchecked(
    answers: tuple[Judgement, ...] | Exception,
) -> None:
    found = await one(PARAPHRASE, Saying(answers, MEASURED))
    assert found.verdict is VerdictStatus.UNCHECKED
    assert found.judgement is None
    assert found.reason


async def test_a_lost_run_is_not_swallowed() -> None:
    with pytest.raises(RunFenced):
        await one(PARAPHRASE, Saying(RunFenced("another worker has it")))


async def test_a_second_answer_and_lines_that_were_not_shown_do_not_count() -> None:
    found = await one(PARAPHRASE, Saying((Judgement("1", A, line_ids=("99", "1")), Judgement("1", S))))
    assert found.verdict is VerdictStatus.UNSUPPORTED
    assert found.judgement is not None
    assert found.judgement.lines == ("Reservoirs",)


async def test_nothing_to_check_is_no_way_round_a_figure() -> None:
    empty = await one("Let us look at the details.", Saying((Judgement("1", NOTHING),)))
    assert empty.nothing_to_check
    assert empty.verdict is VerdictStatus.UNCHECKED
    sly = await one("It holds 40 litres, as said.", Saying((Judgement("1", NOTHING),)))
    assert not sly.nothing_to_check
    assert sly.verdict is VerdictStatus.UNCHECKED


async def test_statements_without_evidence_can_be_connectives() -> None:
    text = "Now to the other side."
    (found,) = await prove([Statement(text)], LabelJudge({text: NOTHING}), at=AT)
    assert found.nothing_to_check
    (claimed,) = await prove([Statement(text)], LabelJudge({text: S}), at=AT)
    assert claimed.verdict is VerdictStatus.UNCHECKED, "nothing can be stated by no passage"
    (nobody,) = await prove([Statement(text)], None, at=AT)
    assert nobody.reason == "no passage was given"


async def test_too_long_is_not_judged() -> None:
    judge = LabelJudge({}, default=S)
    long = "word " * (MAX_STATEMENT_CHARS // 5 + 1)
    page = Document("test", "1", (Block(BlockKind.PARAGRAPH, "Words. " * (MAX_EVIDENCE_CHARS // 5)),))
    huge = passage_in_context(page, 0, len(page.text))
    found = await prove(
        [Statement(long, (HOLDS,)), Statement(PARAPHRASE, (huge,)), Statement("", (HOLDS,))], judge, at=AT
    )
    assert [item.verdict for item in found] == [VerdictStatus.UNCHECKED] * 3
    assert judge.asked == []
    assert str(len(long)) in found[0].reason


async def test_a_judge_that_never_answers_leaves_statements_unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    class Silent(Saying):
        async def judge(self, cases: Sequence[JudgeCase]) -> Sequence[Judgement]:
            await anyio.sleep_forever()
            raise AssertionError

    monkeypatch.setattr("pincite.verification.proof.JUDGE_DEADLINE_S", 0.05)
    found = await one("A reservoir takes 40 litres.", Silent(()))
    assert (found.verdict, found.judgement) == (VerdictStatus.UNCHECKED, None)
    assert "did not answer within" in found.reason
