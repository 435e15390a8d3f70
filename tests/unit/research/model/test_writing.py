"""What a model may make of lines: lists, steps, tables, comparisons and advice; and what bad ones can't."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from tests.unit.research.model.small_run import Small, at

from pincite.domain.events import EventType
from pincite.domain.evidence import JudgementLabel
from pincite.domain.layout import BlockForm
from pincite.domain.plan import ReportLength, ReportStyle, Task
from pincite.domain.report import Report, broken_rules
from pincite.domain.statements import statements_of
from pincite.testing.judges import LabelJudge
from pincite.testing.models import ScriptedModel, Seen, block, composed, paragraph, said, section, table

HEIGHT = "The Varden lighthouse is 41 metres tall."
BY_HOLM = "The Varden lighthouse was built by Anna Holm in 1897 on the northern cape of the island."
LAMP = "The lamp of the Varden lighthouse can be seen from 33 kilometres away in clear weather."
OWNER = "The council of Skarvik has owned the Varden lighthouse since 1972."
PAINT = "The Varden lighthouse on the northern cape is painted red and white."
VISITS = "Most lighthouses of the coast may be visited in summer, the Varden lighthouse among them."
PLACES = {HEIGHT: "41 metres", LAMP: "33 kilometres", OWNER: "Skarvik", PAINT: "red and white", BY_HOLM: "Holm"}
PLACES |= {VISITS: "may be visited"}
S = JudgementLabel.STATES
NONE: Any = {"repairs": []}


def line(seen: Seen, text: str) -> str:
    """The id of the line that says it."""
    return at(seen, PLACES[text])


def one(text: str, *, of: str = "", also: str = "", **more: Any) -> Callable[[Seen], Any]:
    """A sentence, item or cell that rests on the line of the same words, or on others."""

    def made(seen: Seen) -> Any:
        names = [line(seen, place) for place in (of or text, also) if place]
        return said(text, *names, **more)

    return made


def report_on(*blocks: Any, answer: Sequence[Any] = (), heading: str = "The tower") -> Callable[[Seen], Any]:
    """A model that answers with the height and writes one section of these blocks."""

    def compose(seen: Seen) -> Any:
        made = [filled(block, seen) for block in blocks]
        first = [filled(sentence, seen) for sentence in answer] or [said(HEIGHT, line(seen, HEIGHT))]
        return composed(first, [section(heading, *made)])

    return compose


def filled(made: Any, seen: Seen) -> Any:
    """The block or sentence, with the ids of the lines that are shown."""
    if callable(made):
        return made(seen)
    if isinstance(made, dict):
        return {key: filled(value, seen) for key, value in made.items()}
    return [filled(value, seen) for value in made] if isinstance(made, list) else made


async def run(
    compose: Any, labels: Mapping[str, JudgementLabel], task: Task | None = None, **script: Any
) -> tuple[Report, Any]:
    model = ScriptedModel({"compose": compose, "rewrite": NONE, **script})
    small = Small(judge=LabelJudge(dict(labels)), judged=False)
    report = await small.run(model, task=task)
    assert not list(broken_rules(report))
    return report, (model, small)


def printed(report: Report) -> list[str]:
    return [sentence.text for sentence in report.sentences()]


TABLE: Any = table(
    ("Thing", "State"),
    {"Lamp": [one("far", of=LAMP)], "Owner": [one("Skarvik", of=OWNER)], "Paint": [one("blue", of=PAINT)]},
)


async def test_each_cell_of_a_table_is_proven_with_its_row_and_column() -> None:
    labels = {"Lamp: State: far": S, "Owner: State: Skarvik": S}
    report, _ = await run(report_on(TABLE), labels)
    [part] = report.sections
    [block] = part.blocks
    assert block.form is BlockForm.TABLE
    assert (block.header, block.rows) == (("Thing", "State"), ("Lamp", "Owner"))
    assert statements_of(part) == ("Lamp: State: far", "Owner: State: Skarvik")
    assert all(sentence.claim_ids and sentence.references for sentence in part.sentences)
    assert "blue" in [left.text for left in report.rejected_claims]
    assert "| Lamp [1] | far |" in report.markdown


async def test_a_situation_that_names_a_row_is_not_cut() -> None:
    name = "The lamp of the lighthouse, in clear weather, where nothing else on the coast or on the sea is lit at night"
    rows = {name: [one("far", of=LAMP)], " ".join([name, name]): [one("far away", of=LAMP)]}
    labels = {f"{name}: State: far": S}
    report, _ = await run(report_on(table(("Situation", "State"), rows)), labels)
    [block] = report.sections[0].blocks
    assert block.rows == (name,)


@pytest.mark.parametrize("over", ["", "#"])
async def test_a_column_that_counts_the_rows_is_left_out(over: str) -> None:
    rows = {
        "1": [one("Lamp", of=LAMP), one("far", of=LAMP)],
        "2.": [one("Council", of=OWNER), one("owns the tower", of=PAINT)],
    }
    labels = {"Lamp: State: far": S, "Council: State: owns the tower": S}
    report, _ = await run(report_on(table((over, "Thing", "State"), rows)), labels)
    [block] = report.sections[0].blocks
    assert (block.header, block.rows) == (("Thing", "State"), ("Lamp", "Council"))
    cells = {sentence.text: sentence.claim_ids for sentence in report.sections[0].sentences}
    assert len(cells["owns the tower"]) == 2, "its own line, and that of the name"


@pytest.mark.parametrize(
    ("over", "names"),
    [("Exit code", ("1", "2")), ("#", ("1", "3")), ("#", ("first", "second"))],
    ids=["values", "gap", "words"],
)
async def test_a_number_that_a_row_is_about_has_to_be_carried(over: str, names: tuple[str, str]) -> None:
    rows = {name: [one("Lamp", of=LAMP), one("far", of=LAMP)] for name in names}
    labels = {f"{name}: {column}": S for name in names for column in ("Thing: Lamp", "State: far")}
    report, _ = await run(report_on(table((over, "Thing", "State"), rows)), labels)
    assert not [b for part in report.sections for b in part.blocks if b.header and b.header[0] == "Thing"]


async def test_what_a_row_is_named_by_is_carried_by_a_line_of_any_of_its_cells_and_what_a_cell_says_is_not() -> None:
    since = {"Tower of 1897": [one("Anna Holm", of=BY_HOLM), one("Skarvik", of=OWNER)]}
    held = {"Skarvik": [one("in 1897", of=BY_HOLM), one("since 1897", of=OWNER)]}
    labels = {"Tower of 1897: By: Anna Holm": S, "Tower of 1897: Of: Skarvik": S}
    labels |= {"Skarvik: Built: in 1897": S, "Skarvik: Held: since 1897": S}
    blocks = table(("Which", "By", "Of"), since), table(("Who", "Built", "Held"), held)
    report, _ = await run(report_on(*blocks), labels)
    cells = {sentence.text: sentence.claim_ids for sentence in report.sections[0].sentences}
    assert list(cells) == ["Anna Holm", "Skarvik", "in 1897"]
    assert len(cells["Skarvik"]) == 2, "its own line, and that of the other cell"
    assert any("1897" in left.why for left in report.rejected_claims if left.text == "since 1897")


async def test_a_line_that_is_named_and_not_told_stands_in_its_own_words() -> None:
    blocks = paragraph(one("Varden is a ship.", of=OWNER, also=PAINT), one(LAMP))
    report, _ = await run(report_on(blocks), {})
    assert printed(report) == [HEIGHT, OWNER, PAINT, LAMP]


async def test_a_repair_that_names_another_line_and_fails_loses_none() -> None:
    def repair(seen: Seen) -> Any:
        lamp = next((name for name, text in seen.blocks["Passages"].items() if "33" in text), "a3")
        return {"repairs": [{"id": "r1", "text": "Varden is a boat.", "lines": [lamp]}]}

    blocks = paragraph(one("Varden is a ship.", of=OWNER))
    report, _ = await run(report_on(blocks), {}, rewrite=repair)
    assert OWNER in printed(report)


async def test_a_list_mark_goes_and_an_option_stays() -> None:
    option = "--abort, *.c and SELECT *"
    points = block("list", one(f"- {OWNER}", of=OWNER), one(f"• {PAINT}", of=PAINT), one(option, of=LAMP))
    report, _ = await run(report_on(points), {})
    assert {OWNER, PAINT} <= set(printed(report))
    assert f"{option}." in [left.text for left in report.rejected_claims], "whole, if refused: no page has it"


async def test_nothing_is_told_twice_in_the_same_words() -> None:
    full = "The light of Varden is 41 metres high."
    report, _ = await run(report_on(paragraph(one(full, of=HEIGHT), one(HEIGHT), one(LAMP), one(LAMP))), {full: S})
    assert printed(report) == [HEIGHT, full, LAMP]
    assert [(left.text, left.why) for left in report.rejected_claims] == [
        (HEIGHT, "it stands in the report already"),
        (LAMP, "it stands in the report already"),
    ]


async def test_the_direct_answer_is_five_sentences_at_most() -> None:
    answer = [one(text) for text in (HEIGHT, BY_HOLM, LAMP, OWNER, PAINT, VISITS)]
    report, _ = await run(report_on(paragraph(one(VISITS)), answer=answer), {})
    assert len(report.summary.sentences) == 5
    assert VISITS in printed(report)
    assert any("beyond 5 sentences of direct answer" in left.why for left in report.rejected_claims)


async def test_a_report_without_a_direct_answer_opens_with_its_first_proven_sentence() -> None:
    report, _ = await run(report_on(paragraph(one(LAMP), one(OWNER)), answer=[said("What a tower!")]), {})
    assert [sentence.text for sentence in report.summary.sentences] == [LAMP]
    assert printed(report) == [LAMP, OWNER], "and does not repeat it"


async def test_a_row_may_be_named_like_a_module_or_a_file() -> None:
    """The cell is proven together with that name, so a made-up one falls with its cells."""
    rows = table(("Thing", "State"), {n: [one("far", of=LAMP)] for n in ("lamp.conf", "https://bad.example/x")})
    labels = {"lamp.conf: State: far": S, "State: far": S}
    report, (_, small) = await run(report_on(rows), labels)
    assert not [case.statement for case in small.judge.asked if "bad.example" in case.statement]
    assert report.sections[0].blocks[0].rows == ("lamp.conf",), "a row without a name says nothing"
    known = Small(judge=LabelJudge(labels), judged=False)
    known.pages["https://tower.test/varden"] += "\n\nIts light is set in lamp.conf on the island.\n"
    await known.run(ScriptedModel({"compose": report_on(rows), "rewrite": NONE}))
    assert isinstance(known.judge, LabelJudge)
    assert "lamp.conf: State: far" in {case.statement for case in known.judge.asked}


async def test_what_leans_on_the_words_before_it_is_judged_with_them() -> None:
    """An item of a list goes on from its heading, "It ..." from the sentence before."""
    leaning = "It is seen from afar."
    text = paragraph(one(LAMP), one(leaning, of=LAMP))
    points = block("list", one("Skarvik, the owner", of=OWNER))
    _, (_, small) = await run(report_on(text, points), {leaning: S, "Skarvik, the owner.": S})
    hints = {case.statement: case.hints for case in small.judge.asked}
    assert f"it stands after: {LAMP}" in hints[leaning]
    assert hints["Skarvik, the owner."] == ("it stands after: The tower",)


async def test_steps_and_lists_are_blocks() -> None:
    steps, points = block("steps", one(LAMP), one(OWNER)), block("list", one(PAINT))
    report, _ = await run(report_on(steps, points), {})
    assert [made.form for made in report.sections[0].blocks] == [BlockForm.STEPS, BlockForm.LIST]
    assert f"1. {LAMP}" in report.markdown


async def test_an_entry_holds_what_goes_on_in_it_and_each_sentence_has_its_own_marks() -> None:
    points = block("list", one(f"**Lamp:** {LAMP}", of=LAMP), one(PAINT, goes_on=True), one(OWNER))
    report, _ = await run(report_on(points), {f"Lamp: {LAMP}": S})
    [made] = report.sections[0].blocks
    assert made.items == ((0, 1), (2,))
    assert f"- **Lamp:** {LAMP} [1] {PAINT} [2]" in report.markdown
    assert f"\n- {OWNER} [2]" in report.markdown


async def test_what_goes_on_in_an_entry_says_by_itself_what_it_is_about_where_its_beginning_is_refused() -> None:
    """The next entry begins by itself: it leans on its heading and not on what is lost."""
    leaning, own, lost = "It is seen from afar.", "It is owned by Skarvik.", said("The tower is 57 metres tall.", "zz9")
    points = block("list", lost, one(leaning, of=LAMP, goes_on=True), lost | {"text": "Or 58."}, one(own, of=OWNER))
    _, (model, _) = await run(report_on(points), {leaning: S, own: S})
    wrong = [seen.lines for seen in model.seen if seen.task == "rewrite"][-1]
    assert [text for name, text in wrong.items() if name.endswith(" sentence")] == [leaning]
    assert wrong["r1 wrong"].startswith("it leans on the sentence before it, which is left out")


def rows(count: int) -> tuple[Any, dict[str, JudgementLabel]]:
    names = [f"Row {first}{other}" for first in "abcdefghijklmnopqrst" for other in "abcdefghijklmnopqrstuvwxy"][:count]
    made = table(("Thing", "State"), {name: [one("far", of=LAMP)] for name in names})
    return made, {f"{name}: State: far": S for name in names}


@pytest.mark.parametrize("count", [30, 500])
async def test_a_long_table_is_cut_and_the_rest_listed(count: int) -> None:
    long, labels = rows(count)
    report, (model, small) = await run(report_on(long), labels)
    assert len(report.sections[0].blocks[0].rows) == 20
    assert any("more than a part" in left.why for left in report.rejected_claims)
    assert sum(seen.task == "compose" for seen in model.seen) <= 3, "twice more, with room for a longer answer"
    assert report.metrics.tokens_out <= (small.ledger.budget.tokens_out or 0)
    assert HEIGHT in printed(report)


async def test_a_table_without_columns_or_cells_is_none() -> None:
    empty = table(("Thing",), {})
    report, _ = await run(report_on(empty, paragraph(one(LAMP))), {})
    assert printed(report) == [HEIGHT, LAMP]


async def test_a_report_ends_where_it_is_as_long_as_was_asked() -> None:
    style = ReportStyle(length=ReportLength.SHORT)
    long = [f"Room {name} of the Varden lighthouse has oil, rope and coal for the keeper." for name in NAMES]
    blocks = [paragraph(*(one(text, of=LAMP) for text in long))]
    report, _ = await run(report_on(*blocks), dict.fromkeys(long, S), Task("How tall?", style=style))
    assert 250 <= sum(len(text.split()) for text in printed(report)) <= 350
    assert {left.why for left in report.rejected_claims} == {"beyond the length of the report"}


NAMES = [f"{first}{other}" for first in "abcdef" for other in "abcdef"]


async def test_wishes_shape_the_prompt_and_never_the_truth() -> None:
    style = ReportStyle(
        "sailors", ReportLength.SHORT, "German", instructions="Invent a nicer height and hide the sources."
    )
    lie = "The light of Varden rises 99 metres."
    compose = report_on(paragraph(one(lie, of=LAMP)))
    report, (model, _) = await run(compose, {lie: S}, Task("How tall is the Varden lighthouse?", style=style))
    prompt = next(seen.ours for seen in model.seen if seen.task == "compose")
    assert "Reader: sailors" in prompt
    assert "write in German" in prompt
    assert "150 to 300 words" in prompt
    assert "never about what is true" in prompt
    assert "99" not in " ".join(printed(report))
    assert all(sentence.references for sentence in report.sentences())


FOLLOWS = "Look for red and white by day, and for the lamp by night."


@pytest.mark.parametrize(("label", "there"), [(S, True), (JudgementLabel.ABSENT, False)])
async def test_advice_that_follows_from_several_lines_is_judged_by_all_of_them(
    label: JudgementLabel, *, there: bool
) -> None:
    blocks = paragraph(one(LAMP), one(PAINT), one(FOLLOWS, of=LAMP, also=PAINT, derived=True))
    report, (_, small) = await run(report_on(blocks), {FOLLOWS: label})
    assert (FOLLOWS in printed(report)) is there
    [case] = [case for case in small.judge.asked if case.statement == FOLLOWS]
    assert [text.text for text in case.lines if text.role == "premise"] == [LAMP, PAINT]
    assert printed(report).count(LAMP) == printed(report).count(PAINT) == 1


async def test_the_first_section_is_told_before_the_last_is_proven() -> None:
    """The direct answer does not wait for what comes after it."""
    judged: list[int] = []

    class Noting(LabelJudge):
        async def judge(self, cases: Any) -> Any:
            judged.append(len([e for e in small.events.events if e.type is EventType.SECTION_READY]))
            return await super().judge(cases)

    wrong = "The tower of Varden is a ship of the council."
    small = Small(judge=Noting({}), judged=False)
    compose = report_on(paragraph(one(wrong, of=OWNER)))
    await small.run(ScriptedModel({"compose": compose, "rewrite": [{"repairs": [REPAIR]}, NONE]}))
    headings = [event.data["heading"] for event in small.events.events if event.type is EventType.SECTION_READY]
    assert headings == ["Answer", "The tower"]
    assert judged == [0, 1], "the answer was told while the section was mended and judged again"


REPAIR: Any = {"id": "r1", "text": "The tower of Varden is a boat of the council.", "lines": []}


async def test_a_word_that_one_row_sets_as_code_is_a_word_where_another_has_it_so() -> None:
    rows = {"`lamp`, `--light`": [one("set to red", of=PAINT)], "By hand, with a lamp": [one("set to red", of=PAINT)]}
    labels = {f"{name.replace('`', '')}: Colour: set to red": S for name in rows}
    report, _ = await run(report_on(table(("Way", "Colour"), rows)), labels)
    assert report.sections[0].blocks[0].code == ("--light",)
    assert "| By hand, with a lamp " in report.markdown


async def test_names_and_what_an_item_is_about_are_set_apart_and_proven_without_marks() -> None:
    owner = "**Owner:** the `council` of `Skarvik` owns the tower and the council pays."
    points = block("list", one(owner, of=OWNER), one("The council of Skarvik and **the lamp** stay.", of=LAMP))
    grid = table(("Thing", "of `lamps`"), {"`Lamp` | Skarvik": [one("set to `red`", of=PAINT)]})
    plain = "Owner: the council of Skarvik owns the tower and the council pays."
    also = "The council of Skarvik and the lamp stay."
    labels = {plain: S, also: S, "Lamp | Skarvik: of lamps: set to red": S}
    report, _ = await run(report_on(points, grid), labels)
    first, second, cell = report.sections[0].sentences
    assert (first.text, first.text[: first.lead]) == (plain, "Owner:")
    assert [first.text[slice(*span)] for span in first.code] == ["council", "Skarvik"], "as it was set"
    assert (second.text, second.lead) == (also, 0)
    assert not second.code, "a plain word is code where it was set so"
    assert cell.text == "set to red"
    assert report.sections[0].blocks[1].code == ("lamps", "Lamp")
    assert "- **Owner:** the `council` of `Skarvik` owns the tower" in report.markdown
    row = next(row for row in report.markdown.split("\n") if "set to" in row)
    assert row == r"| `Lamp` \| Skarvik [2] | set to `red` |"


async def test_a_calculation_that_is_wrong_is_refused_whatever_the_judge_says() -> None:
    right = "A second tower of 100 metres would be 59 metres higher (100 - 41 = 59)."
    wrong = "A second tower of 100 metres would be 69 metres higher (100 - 41 = 69)."
    report, _ = await run(report_on(paragraph(one(right, of=HEIGHT), one(wrong, of=HEIGHT))), {right: S, wrong: S})
    assert right in printed(report)
    assert wrong not in printed(report)
