"""Sentences of a model against a judge: kept, mended, found elsewhere, replaced, or listed."""

from typing import Any

import pytest
from tests.unit.research.model.small_run import PAGES, QUESTION, Small, at, writes

from pincite.domain.errors import ProviderError
from pincite.domain.evidence import JudgementLabel, Proof
from pincite.domain.layout import SentenceKind
from pincite.domain.report import Report, broken_rules
from pincite.domain.report_words import balance_text
from pincite.research.model.sentences import MAX_CLAIMS
from pincite.testing.judges import LabelJudge
from pincite.testing.models import ScriptedModel, Seen, composed, paragraph, said, section

REWORDED = "At Varden the lighthouse rises 41 metres."
BY_HOLM = "The Varden lighthouse was built by Anna Holm in 1897 on the northern cape of the island."
BUILDER = "Anna Holm is the one who built the Varden light."
RED = "The Varden lighthouse on the northern cape is painted red and white."
WRONG = "The Varden lighthouse was pulled down by Anna Holm."
STRETCHED = "The Varden lighthouse is 41 metres tall, more than any other."
P, S, N = JudgementLabel.PARTLY, JudgementLabel.STATES, JudgementLabel.NOTHING_TO_CHECK


async def report_of(script: dict[str, Any], judge: LabelJudge | None) -> Report:
    report = await Small(judge=judge, judged=False).run(ScriptedModel(script), QUESTION)
    assert not list(broken_rules(report))
    return report


def told(report: Report) -> list[str]:
    return [sentence.text for sentence in report.sentences()]


HEIGHT = "The Varden lighthouse is 41 metres tall."
TALL, BUILT = "41 metres", "built by Anna"
NONE: Any = {"repairs": []}


async def test_other_words_are_printed_when_a_judge_finds_them_stated() -> None:
    judge = LabelJudge({REWORDED: S})
    report = await report_of({"compose": writes((REWORDED, TALL), more={"part": "1"})}, judge)
    assert told(report) == [REWORDED]
    sentence = report.sentences()[0]
    assert sentence.proof is Proof.ENTAILED
    assert report.judgements[0].judge == "label-judge"
    assert [claim.text for claim in report.claims] == [HEIGHT], "it rests on the page's own words"
    assert "1 paraphrase, judged by label-judge" in balance_text(report)
    case = judge.asked[0]
    assert case.question == QUESTION
    assert {line.role for line in case.lines} > {None}, "never bare"


async def test_a_page_s_own_words_need_no_judge() -> None:
    judge = LabelJudge({})
    report = await report_of({"compose": writes((HEIGHT, TALL))}, judge)
    assert told(report) == [HEIGHT]
    assert report.sentences()[0].proof is Proof.QUOTED
    assert judge.asked == []


async def test_what_goes_beyond_is_mended_and_told_once() -> None:
    judge = LabelJudge({STRETCHED: P, REWORDED: S}, beyond={STRETCHED: "more than any other"})
    mend: Any = {"repairs": [{"id": "r1", "text": REWORDED, "lines": []}]}
    report = await report_of({"compose": writes((STRETCHED, TALL)), "rewrite": mend}, judge)
    assert told(report) == [REWORDED]
    assert report.rejected_claims == ()


async def test_a_mended_sentence_still_begins_with_what_it_is_about() -> None:
    stretched, right = "Height: it is 41 metres tall, more than any other.", "Height: it is 41 metres tall."
    judge = LabelJudge({stretched: P, right: S, REWORDED: S}, beyond={stretched: "more than any other"})
    mend: Any = {"repairs": [{"id": "r1", "text": right, "lines": []}]}
    written = stretched.replace("Height:", "**Height:**")
    report = await report_of({"compose": writes((written, TALL), (REWORDED, TALL)), "rewrite": mend}, judge)
    [sentence] = [one for one in report.sentences() if one.text == right]
    assert sentence.text[: sentence.lead] == "Height:"


async def test_what_can_not_be_mended_is_listed_with_the_words_beyond() -> None:
    judge = LabelJudge({STRETCHED: P, BUILDER: S}, beyond={STRETCHED: "more than any other"})
    script = {"compose": writes((STRETCHED, TALL), (BUILDER, BUILT)), "rewrite": NONE}
    report = await report_of(script, judge)
    assert told(report) == [HEIGHT, BUILDER], "the line it rests on stands in its own words"
    [left] = report.rejected_claims
    assert (left.text, left.beyond) == (STRETCHED, "more than any other")
    assert "do not carry: more than any other" in left.why


async def test_a_sentence_that_named_the_wrong_line_is_told_by_the_right_one() -> None:
    """A writer mistakes an id: the repair sees the line whose words these are."""
    text = "The Varden light is owned by the council of Skarvik."

    class Reader(LabelJudge):
        def _judged(self, case: Any) -> Any:
            owned = any("Skarvik" in line.text for line in case.lines)
            self._labels[text.rstrip(".").lower()] = S if owned else JudgementLabel.ABSENT
            return super()._judged(case)

    def repair(seen: Seen) -> Any:
        right = [name for name, line in seen.blocks["Passages"].items() if "Skarvik" in line]
        return {"repairs": [{"id": "r1", "text": text, "lines": right}]}

    def compose(seen: Seen) -> Any:
        return composed([said(HEIGHT, at(seen, TALL)), said(text, at(seen, BUILT)), said(RED, at(seen, RED))])

    report = await report_of({"compose": compose, "rewrite": repair}, Reader({}))
    assert told(report) == [HEIGHT, text, RED]
    assert not [left for left in report.rejected_claims if left.text == text]
    assert "https://coast.test/lights" in [reference.url for reference in report.references]


async def test_a_repair_is_offered_the_next_line_and_those_of_the_words_beyond() -> None:
    stretched = "The Varden lighthouse was built by Anna Holm, as a council owns it."
    judge = LabelJudge({stretched: P, REWORDED: S}, beyond={stretched: "as a council owns it"})
    seen_by: list[Seen] = []

    def repair(seen: Seen) -> Any:
        seen_by.append(seen)
        return NONE

    def compose(seen: Seen) -> Any:
        return composed([said(REWORDED, at(seen, TALL)), said(stretched, at(seen, BUILT)), said(RED, at(seen, RED))])

    await report_of({"compose": compose, "rewrite": repair}, judge)
    offered = list(seen_by[0].blocks["Passages"].values())
    assert any("council of Skarvik" in line for line in offered), "its words are those that nothing named carries"
    named = offered.index(next(line for line in offered if BUILT in line))
    assert named == 0
    assert len(offered) > 2


OTHERWISE = ("Many holidays are included in", "The Varden lighthouse keeps boats in its harbour of")


async def test_a_repair_is_offered_what_stands_close_by_and_says_the_words_beyond() -> None:
    boats = "The Varden lighthouse keeps at most 61 boats in its harbour."
    close = "On holidays anybody may come and moor there, as long as they leave by noon of the day after that."
    others = [f"{said} {place}." for place in ("Skarvik", "Quarrion", "Holm", "Torsund") for said in OTHERWISE]
    harbour = f"# Harbour\n\n{boats} They are red and white. They are kept dry. {close}"
    pages = {"https://varden.test/harbour": f"{harbour}\n\n## Elsewhere\n\n{' '.join(others)}"}
    stretched = f"{boats[:-1]}, holidays included."
    seen_by: list[Seen] = []

    def repair(seen: Seen) -> Any:
        seen_by.append(seen)
        return NONE

    judge = LabelJudge({stretched: P}, beyond={stretched: "holidays included"})
    model = ScriptedModel({"compose": writes((stretched, "61 boats")), "rewrite": repair})
    await Small(pages=pages, judge=judge, judged=False).run(model, "How many boats does the Varden lighthouse keep?")
    assert close in [line.rpartition(" > ")[2] for line in seen_by[0].blocks["Passages"].values()]


@pytest.mark.parametrize("label", [P, JudgementLabel.ABSENT, JudgementLabel.CONTRADICTS])
async def test_what_no_judge_finds_stated_is_not_printed(label: JudgementLabel) -> None:
    report = await report_of(
        {"compose": writes((WRONG, BUILT), (REWORDED, TALL)), "rewrite": NONE}, LabelJudge({WRONG: label, REWORDED: S})
    )
    assert WRONG not in told(report)
    assert REWORDED in told(report)
    assert [left.text for left in report.rejected_claims] == [WRONG]


async def test_a_judge_that_agrees_to_all_can_not_pass_a_figure() -> None:
    lie = "The Varden lighthouse is 57 metres tall."
    script = {"compose": writes((lie, TALL), (REWORDED, TALL)), "rewrite": NONE}
    report = await report_of(script, LabelJudge({}, default=S))
    assert REWORDED in told(report)
    assert "57" not in " ".join(told(report))
    assert "57" in report.rejected_claims[0].why


async def test_without_a_judge_the_page_speaks_in_its_own_words() -> None:
    report = await report_of({"compose": writes((REWORDED, TALL))}, None)
    assert told(report) == [HEIGHT]
    assert {sentence.proof for sentence in report.sentences()} == {Proof.QUOTED}
    assert REWORDED in [left.text for left in report.rejected_claims], "what was proposed is told"


@pytest.mark.parametrize("text", ["", "x" * 900])
async def test_a_sentence_that_states_nothing_is_listed(text: str) -> None:
    report = await report_of(
        {"compose": writes((text, BUILT), (REWORDED, TALL)), "rewrite": NONE}, LabelJudge({REWORDED: S})
    )
    assert REWORDED in told(report)
    assert text not in told(report)
    assert len(report.rejected_claims) == 1


async def test_a_conclusion_names_its_premises() -> None:
    text = "The tower that Anna Holm built is 41 metres tall."
    judge = LabelJudge({text: S})

    def compose(seen: Seen) -> Any:
        return composed([said(text, at(seen, TALL), at(seen, BUILT), derived=True)])

    report = await report_of({"compose": compose}, judge)
    [sentence] = report.sentences()
    assert sentence.proof is Proof.DERIVED
    assert len(sentence.claim_ids) == 2
    assert "1 derived, judged by label-judge" in balance_text(report)
    premises = [line.text for case in judge.asked for line in case.lines if line.role == "premise"]
    assert premises == [
        HEIGHT,
        "The Varden lighthouse was built by Anna Holm in 1897 on the northern cape of the island.",
    ]


async def test_a_connective_is_printed_when_the_judge_says_that_it_states_nothing() -> None:
    opener, lie = "Two things stand out here.", "The mayor was bribed."

    def compose(seen: Seen) -> Any:
        own = [said(opener), said(BUILDER, at(seen, BUILT)), said(lie)]
        return composed([said(opener), said(REWORDED, at(seen, TALL))], [section("Builder", paragraph(*own))])

    report = await report_of({"compose": compose, "rewrite": NONE}, LabelJudge({REWORDED: S, BUILDER: S, opener: N}))
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
        return {"repairs": [{"id": name, "text": REWORDED, "lines": []} for name in failed]}

    report = await report_of({"compose": writes((STRETCHED, TALL)), "rewrite": mend}, judge)
    assert told(report) == [REWORDED]
    assert seen == ["more than any other"]
    assert report.rejected_claims == ()


async def test_all_that_fails_in_sections_is_mended_in_one_call_for_all() -> None:
    wrong = [f"The lamp of Varden burns oil of kind {name}." for name in "ABCDEF"]

    def compose(seen: Seen) -> Any:
        each = [
            section(f"On {name}", paragraph(said(text, at(seen, "33"))))
            for name, text in zip("xyzuvw", wrong, strict=True)
        ]
        return composed([said(HEIGHT, at(seen, TALL))], each)

    model = ScriptedModel({"compose": compose, "rewrite": NONE})
    report = await Small(judge=LabelJudge({}), judged=False).run(model, QUESTION)
    assert sum(seen.task == "rewrite" for seen in model.seen) <= 2
    assert {left.text for left in report.rejected_claims} == set(wrong)
    lamp = "The lamp of the Varden lighthouse can be seen from 33 kilometres away in clear weather."
    assert told(report) == [HEIGHT, lamp], "six failures over one line tell it once"


class Failing(LabelJudge):
    """A judge whose answers to these calls never come, the first being 1."""

    def __init__(self, labels: dict[str, JudgementLabel], *calls: int, beyond: dict[str, str] | None = None) -> None:
        super().__init__(labels, beyond=beyond or {})
        self._failing, self.times = calls, 0

    async def judge(self, cases: Any) -> Any:
        self.times += 1
        if self.times in self._failing:
            raise ProviderError("the model did not answer in time", reason="timeout", retryable=True)
        return await super().judge(cases)


MEND: Any = {"repairs": [{"id": "r1", "text": REWORDED, "lines": []}]}


async def test_a_mend_that_the_judge_did_not_answer_about_is_put_before_it_again() -> None:
    judge = Failing({STRETCHED: P, REWORDED: S}, 2, beyond={STRETCHED: "more than any other"})
    report = await report_of({"compose": writes((STRETCHED, TALL)), "rewrite": MEND}, judge)
    assert told(report) == [REWORDED]
    assert report.rejected_claims == ()


async def test_a_mend_that_the_judge_never_answers_about_leaves_the_sentence_as_it_was_refused() -> None:
    judge = Failing({STRETCHED: P, REWORDED: S}, 2, 3, beyond={STRETCHED: "more than any other"})
    report = await report_of({"compose": writes((STRETCHED, TALL), (RED, RED)), "rewrite": MEND}, judge)
    assert told(report) == [HEIGHT, RED], "the line it rests on stands in its own words"
    [left] = report.rejected_claims
    assert (left.text, left.beyond) == (STRETCHED, "more than any other")
    assert judge.times == 3


async def test_a_sentence_that_the_judge_did_not_answer_about_is_put_before_it_once_more() -> None:
    judge = Failing({REWORDED: S}, 1)
    report = await report_of({"compose": writes((REWORDED, TALL)), "rewrite": NONE}, judge)
    assert told(report) == [REWORDED]
    down = Failing({REWORDED: S}, 1, 2, 3, 4)
    report = await report_of({"compose": writes((REWORDED, TALL), (RED, RED)), "rewrite": NONE}, down)
    assert told(report) == [HEIGHT, RED]
    assert down.times == 2, "no longer than that"


async def test_a_sentence_that_names_many_lines_keeps_all_of_them_and_too_many_are_refused() -> None:
    lines = "\n\n".join(f"The lamp number {n} of the harbour shines in colour number {n}." for n in range(1, 21))
    summed = "The lamps of the harbour shine in colours of their own."

    async def report_with(count: int) -> Report:
        def compose(seen: Seen) -> Any:
            names = [at(seen, f"The lamp number {n} ") for n in range(1, count + 1)]
            return composed([said(summed, *names, derived=True), said(RED, at(seen, RED))])

        pages = {**PAGES, "https://lamp.test/all": f"# Lamps of the harbour\n\n{lines}"}
        small = Small(pages, judge=LabelJudge({summed: S}), judged=False)
        return await small.run(ScriptedModel({"compose": compose, "rewrite": NONE}), "Which colours have the lamps?")

    report = await report_with(9)
    [sentence] = [one for one in report.sentences() if one.text == summed]
    assert len(sentence.claim_ids) == 9, "the ninth carries it, too"
    report = await report_with(20)
    assert [f"names 20 lines; at most {MAX_CLAIMS}" in left.why for left in report.rejected_claims] == [True]


LIE = "The tower is 57 metres tall."
THEN = "It is painted red and white."
ALONE = "The Varden lighthouse is painted red and white."


def leans(seen: Seen) -> Any:
    told = [said(BY_HOLM, at(seen, BUILT)), said(LIE, "zz9"), said(THEN, at(seen, RED))]
    return composed([said(HEIGHT, at(seen, TALL))], [section("The tower", paragraph(*told))])


async def test_a_sentence_whose_sentence_before_is_left_out_says_by_itself_what_it_is_about() -> None:
    asked: list[Seen] = []

    def repair(seen: Seen) -> Any:
        asked.append(seen)
        failed = {text: name.split()[0] for name, text in seen.lines.items() if name.endswith(" sentence")}
        return {"repairs": [{"id": failed[THEN], "text": ALONE, "lines": []}] if THEN in failed else []}

    report = await report_of({"compose": leans, "rewrite": repair}, LabelJudge({THEN: S, ALONE: S}))
    assert told(report) == [HEIGHT, BY_HOLM, ALONE]
    shown = asked[-1].lines
    assert shown["r1 wrong"].startswith("it leans on the sentence before it, which is left out")
    assert shown["r1 stands after"] == BY_HOLM


async def test_a_sentence_that_leans_on_nothing_printed_gives_way_to_its_source() -> None:
    report = await report_of({"compose": leans, "rewrite": NONE}, LabelJudge({THEN: S}))
    assert told(report) == [HEIGHT, BY_HOLM, RED]
    assert THEN in [left.text for left in report.rejected_claims]


async def test_a_paragraph_that_points_back_is_judged_with_the_end_of_the_one_before() -> None:
    def compose(seen: Seen) -> Any:
        first, then = paragraph(said(BY_HOLM, at(seen, BUILT))), paragraph(said(THEN, at(seen, RED)))
        return composed([said(HEIGHT, at(seen, TALL))], [section("The tower", first, then)])

    judge = LabelJudge({THEN: S})
    report = await report_of({"compose": compose, "rewrite": NONE}, judge)
    assert THEN in told(report)
    assert f"it stands after: {BY_HOLM}" in judge.asked[0].hints
