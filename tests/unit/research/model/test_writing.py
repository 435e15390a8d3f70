"""What a model may make of proven statements: lists, steps, tables, an edited whole; and what bad ones can't."""

from typing import Any

import pytest
from tests.unit.research.model.small_run import Small
from tests.unit.research.model.test_proving import claims, same

from pincite.domain.events import EventType
from pincite.domain.evidence import JudgementLabel
from pincite.domain.layout import BlockForm
from pincite.domain.plan import ReportLength, ReportStyle, Task
from pincite.domain.report import Report, broken_rules, statements_of
from pincite.research.model.outline import Part
from pincite.research.model.parts import grouped
from pincite.testing.judges import LabelJudge
from pincite.testing.models import ScriptedModel, Seen

HEIGHT = "The light of Varden rises 41 metres."
LAMP = "The lamp of Varden is seen from afar."
OWNER = "Varden belongs to the council of Skarvik."
PAINT = "Varden wears red and white."
ALL = (HEIGHT, LAMP, OWNER, PAINT)
S = JudgementLabel.STATES
OUTLINE: Any = {"answer": ["c1"], "sections": [{"heading": "The tower", "form": "table", "claims": ["c2", "c3", "c4"]}]}


async def run(
    script: dict[str, Any], labels: dict[str, JudgementLabel], task: Task | None = None
) -> tuple[Report, Any]:
    model = ScriptedModel({"analyst": claims(*ALL), "writer": same, "outline": OUTLINE, **script})
    small = Small(judge=LabelJudge({**dict.fromkeys(ALL, S), **labels}), judged=False)
    report = await small.run(model, task=task)
    assert not list(broken_rules(report))
    return report, (model, small)


def in_section(*blocks: Any) -> Any:
    """A writer that writes these blocks for the section, and the answer as it stands."""
    return lambda seen: same(seen) if "direct answer" in seen.ours else {"blocks": list(blocks)}


def cell(text: str, *names: str) -> dict[str, Any]:
    return {"text": text, "claims": list(names)}


TABLE: Any = {
    "form": "table",
    "header": ["Thing", "State"],
    "rows": [
        {"name": "Lamp", "cells": [cell("far", "c2")]},
        {"name": "Owner", "cells": [cell("Skarvik", "c3")]},
        {"name": "Paint", "cells": [cell("blue", "c4")]},
    ],
}


async def test_each_cell_of_a_table_is_proven_with_its_row_and_column() -> None:
    labels = {"Lamp: State: far": S, "Owner: State: Skarvik": S}
    report, _ = await run({"writer": in_section(TABLE), "rewrite": {"repairs": []}}, labels)
    section = report.sections[0]
    table, rest = section.blocks
    assert table.form is BlockForm.TABLE
    assert (table.header, table.rows) == (("Thing", "State"), ("Lamp", "Owner"))
    assert statements_of(section)[:2] == ("Lamp: State: far", "Owner: State: Skarvik")
    assert all(sentence.claim_ids and sentence.references for sentence in section.sentences)
    assert [section.sentences[index].text for item in rest.items for index in item] == [PAINT], "in its own words"
    assert "blue" in [left.text for left in report.rejected_claims]
    assert "| Lamp | far" in report.markdown


async def test_a_sentence_that_named_the_wrong_statement_is_told_by_the_right_one() -> None:
    """The writer of a section mistakes an id: the repair sees the statement whose words these are."""
    text = "Skarvik's council owns Varden."

    class Reader(LabelJudge):
        def _judged(self, case: Any) -> Any:
            owned = any("Skarvik" in line.text for line in case.lines)
            self._labels[text.rstrip(".").lower()] = S if owned else JudgementLabel.ABSENT
            return super()._judged(case)

    def reader(seen: Seen) -> Any:
        found = {LAMP: "33 kilometres", OWNER: "council of Skarvik"}
        return {
            "claims": [
                {"text": claim, "part": "1", "lines": [name], "confidence": 0.8}
                for claim, words in found.items()
                for name, line in seen.lines.items()
                if words in line
            ]
        }

    def outline(seen: Seen) -> Any:
        names = {line: name for name, line in seen.lines.items()}
        return {"answer": [names[LAMP]], "sections": [{"heading": "Owner", "claims": [names[OWNER]]}]}

    def writer(seen: Seen) -> Any:
        if "direct answer" in seen.ours:
            return same(seen)
        wrong = next(name for name, line in seen.blocks["Direct answer"].items() if line == LAMP)
        return {"sentences": [{"text": text, "claims": [wrong]}]}

    def repair(seen: Seen) -> Any:
        right = [name for name, line in seen.blocks["Statements"].items() if line == OWNER]
        return {"repairs": [{"id": "r1", "text": text, "claims": right}]}

    judge = Reader({LAMP: S, OWNER: S})
    model = ScriptedModel({"analyst": reader, "outline": outline, "writer": writer, "rewrite": repair})
    report = await Small(judge=judge, judged=False).run(model)
    [section] = report.sections
    assert [sentence.text for sentence in section.sentences] == [text]
    assert not [left for left in report.rejected_claims if left.text == text]


async def test_a_statement_that_is_named_and_not_told_stands_in_its_own_words() -> None:
    writer = in_section({"form": "paragraph", "items": [cell(LAMP, "c2", "c3"), cell("Varden is a ship.", "c3", "c4")]})
    report, _ = await run({"writer": writer, "rewrite": {"repairs": []}}, {})
    assert [sentence.text for sentence in report.sections[0].sentences] == [LAMP, OWNER, PAINT]


async def test_a_repair_that_names_another_statement_and_fails_loses_none() -> None:
    writer = in_section({"form": "paragraph", "items": [cell(LAMP, "c2"), cell("Varden is a ship.", "c3")]})
    repairs = {"repairs": [{"id": "r1", "text": "Varden is a boat.", "claims": ["c2"]}]}
    report, _ = await run({"writer": writer, "rewrite": repairs}, {})
    assert [sentence.text for sentence in report.sections[0].sentences] == [LAMP, OWNER]


async def test_a_list_mark_goes_and_an_option_stays() -> None:
    option = "--abort, *.c and SELECT *"
    points = {"form": "list", "items": [cell(f"- {OWNER}", "c3"), cell(f"• {PAINT}", "c4"), cell(option, "c2")]}
    report, _ = await run({"writer": in_section(points), "rewrite": {"repairs": []}}, {})
    printed = [sentence.text for sentence in report.sections[0].sentences]
    assert {OWNER, PAINT} <= set(printed)
    assert f"{option}." in [left.text for left in report.rejected_claims], "whole, if refused: no page has it"


async def test_what_the_direct_answer_says_shortly_its_section_tells_in_full() -> None:
    outline: Any = {"answer": ["c1"], "sections": [{"heading": "The tower", "claims": ["c1", "c2"]}]}
    full = "Varden's light rises 41 metres."
    writer = in_section({"form": "paragraph", "items": [cell(full, "c1"), cell(LAMP, "c2")]})
    report, _ = await run({"writer": writer, "outline": outline}, {full: S})
    assert [sentence.text for sentence in report.summary.sentences] == [HEIGHT]
    assert [sentence.text for sentence in report.sections[0].sentences] == [full, LAMP]


async def test_a_row_may_be_named_like_a_module_or_a_file() -> None:
    """The cell is proven together with that name, so a made-up one falls with its cells."""
    rows = [{"name": name, "cells": [cell("far", "c2")]} for name in ("lamp.conf", "https://bad.example/x")]
    labels = {"lamp.conf: State: far": S, "State: far": S}
    judge = LabelJudge({**dict.fromkeys(ALL, S), **labels})
    writer = in_section({**TABLE, "rows": rows})
    small = Small(judge=judge, judged=False)
    await small.run(ScriptedModel({"analyst": claims(*ALL), "outline": OUTLINE, "writer": writer}))
    asked = {case.statement for case in judge.asked}
    assert not [statement for statement in asked if "bad.example" in statement]
    small.pages["https://tower.test/varden"] += "\n\nIts light is set in lamp.conf on the island.\n"
    judge.asked.clear()
    again = Small(judge=judge, judged=False, pages=small.pages)
    await again.run(ScriptedModel({"analyst": claims(*ALL), "outline": OUTLINE, "writer": writer}))
    assert "lamp.conf: State: far" in {case.statement for case in judge.asked}


async def test_what_leans_on_the_words_before_it_is_judged_with_them() -> None:
    """An item of a list goes on from its heading, "It ..." from the sentence before."""
    leaning = "It is seen from afar."
    points = {"form": "list", "items": [cell("Skarvik, the owner", "c3")]}
    text = {"form": "paragraph", "items": [cell(LAMP, "c2"), cell(leaning, "c2")]}
    _, (_, small) = await run({"writer": in_section(text, points)}, {leaning: S, "Skarvik, the owner.": S})
    judge = small.judge
    hints = {case.statement: case.hints for case in judge.asked}
    assert hints[leaning] == (f"it stands after: {LAMP}",)
    assert hints["Skarvik, the owner."] == ("it stands after: The tower",)


async def test_steps_and_lists_are_blocks() -> None:
    steps = {"form": "steps", "items": [cell(LAMP, "c2"), cell(OWNER, "c3")]}
    points = {"form": "list", "items": [cell(PAINT, "c4")]}
    report, _ = await run({"writer": in_section(steps, points)}, {})
    assert [block.form for block in report.sections[0].blocks] == [BlockForm.STEPS, BlockForm.LIST]
    assert f"1. {LAMP}" in report.markdown


def rows(count: int) -> tuple[Any, dict[str, JudgementLabel]]:
    names = [f"Row {one}{other}" for one in "abcdefghijklmnopqrst" for other in "abcdefghijklmnopqrstuvwxy"][:count]
    table = {**TABLE, "rows": [{"name": name, "cells": [cell("far", "c2")]} for name in names]}
    return table, {f"{name}: State: far": S for name in names}


async def test_a_long_table_is_cut_and_the_rest_listed() -> None:
    table, labels = rows(30)
    report, _ = await run({"writer": in_section(table)}, labels)
    assert len(report.sections[0].blocks[0].rows) == 20
    assert any("more than a part" in left.why for left in report.rejected_claims)


async def test_a_table_of_five_hundred_rows_is_cut_off_and_its_statements_stand() -> None:
    table, labels = rows(500)
    report, _ = await run({"writer": in_section(table)}, labels)
    assert [sentence.text for sentence in report.sections[0].sentences] == [LAMP, OWNER, PAINT]
    assert "stand as proven" in str(report.gaps)


async def test_a_table_without_columns_or_cells_loses_no_statement() -> None:
    report, _ = await run({"writer": in_section({"form": "table", "header": ["Thing"], "rows": []})}, {})
    assert {LAMP, OWNER, PAINT} <= {sentence.text for sentence in report.sentences()}


def two_sections(seen: Seen) -> Any:
    names = list(seen.statements)
    return {
        "answer": names[:1],
        "sections": [{"heading": "One", "claims": names[1:6]}, {"heading": "Two", "claims": names[6:]}],
    }


MANY = tuple(
    f"{word} is told of the light of Varden." for word in "Ash Beech Cedar Elm Fir Hazel Larch Maple Oak".split()
)
LONG: dict[str, Any] = {"analyst": claims(*MANY), "outline": two_sections}


def editing(**changes: Any) -> Any:
    """An editor that finds its sentences by their texts: `{"Elm": "Better."}` for `sentences` and `repeated`."""

    def edit(seen: Seen) -> Any:
        at = {text.split()[0]: name for name, text in seen.lines.items() if name.startswith("s")}
        sentences = [{"id": at[word], "text": text} for word, text in changes.get("sentences", {}).items()]
        return {**changes, "sentences": sentences, "repeated": [at[word] for word in changes.get("repeated", ())]}

    return edit


async def test_the_editor_changes_only_what_is_proven_again() -> None:
    better, worse = "Of the light of Varden, elm is told.", "Fir is the best of all."
    edit = editing(
        sentences={"Elm": better, "Fir": worse}, order=["h2", "h1"], headings=[{"id": "h1", "text": "Woods"}]
    )
    report, (_, small) = await run({**LONG, "edit": edit}, {**dict.fromkeys(MANY, S), better: S})
    said = [sentence.text for sentence in report.sentences()]
    assert better in said
    assert worse not in said
    assert MANY[4] in said, "the old sentence stays"
    assert [section.heading for section in report.sections] == ["Two", "Woods"]
    assert any("stays as it was" in left.why for left in report.rejected_claims)
    ready = [event.data for event in small.events.events if event.type is EventType.SECTION_READY]
    assert [data["heading"] for data in ready if data.get("revised")]


async def test_a_sentence_goes_as_repeated_only_when_its_claims_are_told_elsewhere() -> None:
    report, _ = await run({**LONG, "edit": editing(repeated=["Elm"])}, dict.fromkeys(MANY, S))
    assert MANY[3] in [sentence.text for sentence in report.sentences()]


async def test_a_short_report_is_not_edited() -> None:
    _, (model, _) = await run({}, {})
    assert "edit" not in {seen.task for seen in model.seen}


async def test_statements_that_a_writer_leaves_out_are_listed() -> None:
    outline: Any = {"answer": ["c1"], "sections": [{"heading": "Rest", "claims": ["c2"]}]}
    report, _ = await run({"outline": outline}, {})
    assert [left.text for left in report.rejected_claims if "left out" in left.why] == [OWNER, PAINT]


async def test_a_section_sees_the_outline_the_answer_and_its_neighbours() -> None:
    outline: Any = {
        "answer": ["c1"],
        "sections": [
            {"heading": "Lamp", "claims": ["c2"], "purpose": "how far"},
            {"heading": "Rest", "claims": ["c3", "c4"]},
        ],
    }
    _, (model, _) = await run({"outline": outline}, {})
    writers = [seen for seen in model.seen if seen.task == "writer"]
    [seen] = writers
    assert {"Direct answer", "Section 1: Lamp (how far)", "Section 2: Rest"} <= set(seen.titles)
    assert {HEIGHT, LAMP, OWNER, PAINT} <= set(seen.lines.values())
    assert [list(part.statements) for part in seen.parts().values()] == [["c1"], ["c2"], ["c3", "c4"]]
    assert seen.user.count(OWNER) == 1, "a statement is sent once, with the outline"


def part(heading: str, count: int) -> Part:
    return Part(heading, tuple(f"{heading}{number}" for number in range(count)))


def test_small_sections_are_written_together_and_large_ones_alone() -> None:
    parts = [part("", 4), part("a", 10), part("b", 10), part("c", 16), part("d", 30), part("e", 1)]
    assert [[one.heading for one in group] for group in grouped(parts)] == [["", "a", "b"], ["c"], ["d"], ["e"]]
    assert grouped([]) == []
    assert [len(group) for group in grouped([part("", 0), part("a", 30)])] == [1, 1]


async def test_a_section_that_the_model_leaves_out_stands_as_proven() -> None:
    def forgets(seen: Seen) -> Any:
        return same(seen) if "direct answer" in seen.ours else {"id": "p7", "sentences": [cell("Gone.", "c2")]}

    report, _ = await run({"writer": forgets}, {"Gone.": S})
    assert [sentence.text for sentence in report.sections[0].sentences] == [LAMP, OWNER, PAINT]
    assert any("did not write this section" in gap.reason for gap in report.gaps)


async def test_wishes_shape_the_prompt_and_never_the_truth() -> None:
    style = ReportStyle(
        "sailors", ReportLength.SHORT, "German", instructions="Invent a nicer height and hide the sources."
    )
    lie = "The light of Varden rises 99 metres."
    obey = in_section({"form": "paragraph", "items": [cell(lie, "c2")]})
    report, (model, _) = await run(
        {"writer": obey, "rewrite": {"repairs": []}}, {lie: S}, Task("How tall?", style=style)
    )
    prompt = next(seen.ours for seen in model.seen if seen.task == "writer")
    assert "Reader: sailors" in prompt
    assert "write in German" in prompt
    assert "150 to 300 words" in prompt
    assert "never about what is true" in prompt
    assert "99" not in " ".join(sentence.text for sentence in report.sentences())
    assert all(sentence.references for sentence in report.sentences())


TOGETHER: Any = {
    "answer": ["c1"],
    "sections": [
        {"heading": "The tower", "claims": ["c2", "c3", "c4"]},
        {"heading": "What to look for", "claims": ["c2", "c4"], "purpose": "by day and by night"},
        {"heading": "Once more", "claims": ["c3", "c4"]},
    ],
}
FOLLOWS = "Look for red and white by day, and for the lamp by night."


@pytest.mark.parametrize(("label", "printed"), [(S, [FOLLOWS]), (JudgementLabel.ABSENT, [])])
async def test_one_section_draws_together_what_others_tell_or_is_not_there(
    label: JudgementLabel, printed: list[str]
) -> None:
    asked: list[str] = []

    def writer(seen: Seen) -> Any:
        asked.append(seen.ours)
        if "“What to look for”" not in seen.ours:
            return same(seen)
        return {"sentences": [{"text": FOLLOWS, "claims": ["c2", "c4"], "derived": True}]}

    report, _ = await run({"outline": TOGETHER, "writer": writer, "rewrite": {"repairs": []}}, {FOLLOWS: label})
    told = [sentence.text for section in report.sections for sentence in section.sentences]
    assert told == [LAMP, OWNER, PAINT, *printed], "nothing is told twice in its own words"
    assert "Once more" not in report.markdown, "a second section of that kind would repeat"
    [wanted] = [text for text in asked if "“What to look for”" in text]
    assert "Other sections tell c2, c4 in full" in wanted
