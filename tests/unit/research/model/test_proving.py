"""Claims and sentences of a model against a judge: kept, mended, found elsewhere, replaced, or listed."""

from collections.abc import Mapping
from typing import Any

import pytest
from tests.unit.research.model.small_run import QUESTION, Small

from pincite.domain.evidence import JudgementLabel, Proof
from pincite.domain.layout import SentenceKind
from pincite.domain.report import Report, balance_text, broken_rules
from pincite.testing.judges import LabelJudge
from pincite.testing.models import ScriptedModel, Seen

REWORDED = "At Varden the lighthouse rises 41 metres."
BUILDER = "Anna Holm is the one who built the Varden light."
WRONG = "The Varden lighthouse was pulled down by Anna Holm."
STRETCHED = "The Varden lighthouse is 41 metres tall, more than any other."
P, S, N = JudgementLabel.PARTLY, JudgementLabel.STATES, JudgementLabel.NOTHING_TO_CHECK


def claims(*texts: str, at: str = "41 metres") -> Any:
    """An analyst that reads the texts out of the line with these words, and nothing out of other pages."""

    def answer(seen: Seen) -> Any:
        lines = [name for name, text in seen.lines.items() if at in text]
        return {
            "claims": [{"text": text, "part": "1", "lines": lines[:1], "confidence": 0.8} for text in texts if lines]
        }

    return answer


def written(*sentences: Mapping[str, Any]) -> Any:
    """A writer that writes these where a direct answer is wanted; `claims` are all that it is offered by default."""

    def answer(seen: Seen) -> Any:
        names = list(seen.statements)
        return {"sentences": [{"claims": names, **sentence} for sentence in sentences]}

    return answer


def same(seen: Seen) -> Any:
    return {"sentences": [{"text": t, "claims": [n]} for n, t in seen.statements.items()]}


async def report_of(script: dict[str, Any], judge: LabelJudge | None) -> Report:
    report = await Small(judge=judge, judged=False).run(ScriptedModel({"writer": same, **script}), QUESTION)
    assert not list(broken_rules(report))
    return report


def said(report: Report) -> list[str]:
    return [sentence.text for sentence in report.sentences()]


async def test_other_words_are_printed_when_a_judge_finds_them_stated() -> None:
    judge = LabelJudge({REWORDED: S})
    report = await report_of({"analyst": claims(REWORDED)}, judge)
    assert said(report) == [REWORDED]
    sentence = report.sentences()[0]
    assert sentence.proof is Proof.ENTAILED
    assert report.claims[0].judge == "label-judge"
    assert "1 paraphrase, judged by label-judge" in balance_text(report)
    case = judge.asked[0]
    assert case.question == QUESTION
    assert {line.role for line in case.lines} > {None}, "never bare"


async def test_what_goes_beyond_is_left_out_once() -> None:
    judge = LabelJudge({STRETCHED: P, REWORDED: S}, beyond={STRETCHED: "more than any other"})
    mend: Any = {"repairs": [{"id": "r1", "text": REWORDED, "claims": []}]}
    report = await report_of({"analyst": claims(STRETCHED), "mend": mend}, judge)
    assert said(report) == [REWORDED]
    assert f"proposed as: {STRETCHED}" in str(report.claims[0].checks)
    assert report.rejected_claims == ()


async def test_what_can_not_be_mended_is_listed_with_the_words_beyond() -> None:
    judge = LabelJudge({STRETCHED: P, BUILDER: S}, beyond={STRETCHED: "more than any other"})
    report = await report_of({"analyst": claims(STRETCHED, BUILDER), "mend": {"repairs": []}}, judge)
    assert said(report) == [BUILDER]
    [left] = report.rejected_claims
    assert (left.text, left.beyond) == (STRETCHED, "more than any other")
    assert "do not carry: more than any other" in left.why


async def test_evidence_is_looked_for_on_the_other_lines_and_pages() -> None:
    """The claim names a line about something else; the page says it two paragraphs further down."""

    class Reader(LabelJudge):
        """States the claim only when it is shown the line that says it."""

        def _judged(self, case: Any) -> Any:
            self.labels = {}
            shown = any("33 kilometres" in line.text for line in case.lines)
            self._labels = {"one sees the varden lamp from 33 kilometres off": S if shown else JudgementLabel.ABSENT}
            return super()._judged(case)

    text = "One sees the Varden lamp from 33 kilometres off."
    report = await report_of({"analyst": claims(text, at="owned")}, Reader({}))
    assert said(report) == [text]
    assert any("33 kilometres" in evidence.quote for evidence in report.claims[0].evidence)
    assert "https://tower.test/varden" in [reference.url for reference in report.references]


async def test_what_stands_elsewhere_is_told_whole_and_not_cut_short() -> None:
    """Its own line carries half of the claim, another page the other half: nothing is left out of it."""
    text = "The Varden lighthouse is 41 metres tall and painted red and white."

    class Reader(LabelJudge):
        def _judged(self, case: Any) -> Any:
            whole = any("red and white" in line.text for line in case.lines)
            self._labels = {text.rstrip(".").lower(): S if whole else P}
            return super()._judged(case)

    cut: Any = {"repairs": [{"id": "r1", "text": REWORDED, "claims": []}]}
    judge = Reader({}, beyond={text: "painted red and white"})
    report = await report_of({"analyst": claims(text), "mend": cut}, judge)
    assert said(report) == [text]
    assert {evidence.url for evidence in report.claims[0].evidence} >= {
        "https://tower.test/varden",
        "https://coast.test/lights",
    }


async def test_a_refused_claim_is_listed_and_never_printed() -> None:
    report = await report_of({"analyst": claims(WRONG, REWORDED)}, LabelJudge({REWORDED: S}))
    assert said(report) == [REWORDED]
    assert [left.text for left in report.rejected_claims] == [WRONG]
    assert report.rejected_claims[0].why


async def test_a_judge_that_agrees_to_all_can_not_pass_a_figure() -> None:
    lie = "The Varden lighthouse is 57 metres tall."
    report = await report_of({"analyst": claims(lie, REWORDED)}, LabelJudge({}, default=S))
    assert said(report) == [REWORDED]
    assert "57" in report.rejected_claims[0].why


async def test_without_a_judge_the_page_speaks_in_its_own_words() -> None:
    report = await report_of({"analyst": claims(REWORDED)}, None)
    assert said(report) == ["The Varden lighthouse is 41 metres tall."]
    assert {sentence.proof for sentence in report.sentences()} == {Proof.QUOTED}
    assert REWORDED in str(report.claims[0].checks), "what was proposed is told"


@pytest.mark.parametrize("text", ["", "Tall.", "x" * 900])
async def test_a_claim_that_states_nothing_is_listed(text: str) -> None:
    report = await report_of({"analyst": claims(text, REWORDED)}, LabelJudge({REWORDED: S}))
    assert said(report) == [REWORDED]
    assert len(report.rejected_claims) == 1


async def test_a_conclusion_names_its_premises() -> None:
    text = "The tower that Anna Holm built is 41 metres tall."
    judge = LabelJudge({REWORDED: S, BUILDER: S, text: S})
    script = {"analyst": claims(REWORDED, BUILDER), "writer": written({"text": text, "derived": True})}
    outline: Any = {"answer": ["c1", "c2"], "sections": []}
    report = await report_of({**script, "outline": outline}, judge)
    [sentence] = report.sentences()
    assert sentence.proof is Proof.DERIVED
    assert len(sentence.claim_ids) == 2
    assert "1 derived, judged by label-judge" in balance_text(report)
    assert [line.text for case in judge.asked for line in case.lines if line.role == "premise"] == [REWORDED, BUILDER]


async def test_a_connective_is_printed_when_the_judge_says_that_it_states_nothing() -> None:
    opener, lie = "Two things stand out here.", "The mayor was bribed."
    sentences: list[dict[str, Any]] = [
        {"text": opener, "claims": []},
        {"text": REWORDED},
        {"text": BUILDER},
        {"text": lie, "claims": []},
    ]
    outline: Any = {"answer": ["c1"], "sections": [{"heading": "Builder", "claims": ["c2"]}]}

    def write(seen: Seen) -> Any:
        return same(seen) if "direct answer" in seen.ours else written(*sentences)(seen)

    script = {"analyst": claims(REWORDED, BUILDER), "writer": write, "outline": outline}
    report = await report_of(script, LabelJudge({REWORDED: S, BUILDER: S, opener: N}))
    kinds = {sentence.text: sentence.kind for sentence in report.sentences()}
    assert kinds[opener] is SentenceKind.CONNECTIVE
    assert opener not in [sentence.text for sentence in report.summary.sentences]
    assert JudgementLabel.NOTHING_TO_CHECK in {judgement.label for judgement in report.judgements}
    assert lie not in kinds
    assert lie in [left.text for left in report.rejected_claims]


async def test_a_sentence_is_mended_with_what_goes_beyond_in_sight() -> None:
    judge = LabelJudge({REWORDED: S, STRETCHED: P}, beyond={STRETCHED: "more than any other"})
    seen: list[str] = []

    def mend(task: Seen) -> Any:
        seen.extend([text for name, text in task.lines.items() if name.endswith(" beyond")])
        failed = [name.split()[0] for name in task.lines if name.endswith(" sentence")]
        return {"repairs": [{"id": name, "text": REWORDED, "claims": ["c1"]} for name in failed]}

    script = {"analyst": claims(REWORDED), "writer": written({"text": STRETCHED}), "rewrite": mend}
    report = await report_of(script, judge)
    assert said(report) == [REWORDED]
    assert seen == ["more than any other"] * 2, "of the direct answer and of its section, in one request"
    assert report.rejected_claims == ()
