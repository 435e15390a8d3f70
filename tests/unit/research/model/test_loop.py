"""The loop: parts that wait for another's answer, further rounds for what is missing, what a plan may hold."""

import re
from dataclasses import replace
from typing import Any

import pytest
from tests.unit.research.model.small_run import Small, at

from pincite.domain.events import EventType
from pincite.domain.plan import SubQuestion, Task
from pincite.research.model.lines import SourceBook
from pincite.research.model.manuscript import Manuscript
from pincite.research.model.outputs import Composed, ComposedBlock, ComposedRow, ComposedSection, ComposedSentence
from pincite.testing.models import FaithfulModel, ScriptedModel, Seen, composed, paragraph, said, section

FIRST, SECOND = "Who built the Varden lighthouse?", "Where was its builder born?"
BORN = "https://people.test/holm"
PEOPLE = {BORN: "# Anna Holm\n\nAnna Holm came from Quarrion.\n"}
PLAN: Any = {
    "parts": [
        {"question": FIRST, "heading": "Builder", "queries": ["Varden lighthouse built"]},
        {"question": SECOND, "heading": "Birth", "queries": ["birthplace"], "depends_on": 1},
    ]
}


def builder(seen: Seen) -> Any:
    """What the pages say of the builder for part 1, and that her birth is missing, now that her name is known."""
    born: Any = {"part": "2", "what": "", "queries": ["Anna Holm born"], "question": "Where was Anna Holm born?"}
    told = [said(text, name, part="1") for name, text in seen.citable.items() if "built by" in text]
    return composed(told[:1], missing=[born])


def birth(seen: Seen) -> Any:
    told = [said(text, name, part="2") for name, text in seen.citable.items() if "came from" in text]
    return composed(sections=[section("Birth", paragraph(*told))] if told else [])


async def test_a_part_waits_for_the_answer_of_another() -> None:
    model = ScriptedModel({"planner": PLAN, "compose": [builder, birth]})
    run = Small()
    run.pages.update(PEOPLE)
    report = await run.run(model, "Where was the builder of the Varden lighthouse born?", max_rounds=2)
    first, second = (seen for seen in model.seen if seen.task == "compose")
    assert "(needs the answer of 1)" in first.ours
    assert "Where was Anna Holm born?" in second.parts.values()
    assert list(second.parts) == ["2"], "what is answered is not asked for again"
    assert "@1: The Varden lighthouse was built by Anna Holm" in second.user, "what stands is in sight"
    assert not re.search(r"\n\w+\d+: The Varden lighthouse was built by", second.user), "its line says nothing more"
    assert [sentence.text for sentence in report.sentences()] == [
        "The Varden lighthouse was built by Anna Holm in 1897 on the northern cape of the island.",
        "Anna Holm came from Quarrion.",
    ]
    assert [(part.text, part.status) for part in report.parts] == [
        (FIRST, "answered"),
        ("Where was Anna Holm born?", "answered"),
    ]
    changes = [event.data for event in run.events.events if event.type is EventType.PLAN_CHANGED]
    assert [change["change"] for change in changes] == ["reworded"]


async def test_a_part_that_nobody_planned_is_added_with_its_reason() -> None:
    def more(seen: Seen) -> Any:
        found: Any = {
            "part": "new",
            "what": "where Anna Holm was born",
            "queries": ["Anna Holm born"],
            "question": "Where was Anna Holm born?",
        }
        return composed([said(text, name, part="1") for name, text in seen.citable.items()][:1], missing=[found])

    def told(seen: Seen) -> Any:
        born = [said(text, name, part="2") for name, text in seen.citable.items() if "came from" in text]
        return composed(sections=[section("Birth", paragraph(*born))] if born else [])

    plan: Any = {"parts": PLAN["parts"][:1]}
    run = Small()
    run.pages.update(PEOPLE)
    report = await run.run(ScriptedModel({"planner": plan, "compose": [more, told]}), max_rounds=2)
    changes = [event.data for event in run.events.events if event.type is EventType.PLAN_CHANGED]
    assert [(c["change"], c["part"], c["reason"]) for c in changes] == [
        ("added", "Where was Anna Holm born?", "where Anna Holm was born")
    ]
    assert "Anna Holm came from Quarrion." in [sentence.text for sentence in report.sentences()]
    assert [part.status for part in report.parts] == ["answered", "answered"]


async def test_what_nobody_asked_for_is_a_gap_where_it_is_missing_and_the_answer_is_whole() -> None:
    def more(seen: Seen) -> Any:
        found: Any = {"part": "new", "what": "her birth", "queries": ["Anna Holm born"], "question": "Born where?"}
        return composed([said(text, name, part="1") for name, text in seen.citable.items()][:1], missing=[found])

    still: Any = {"part": "2", "what": "her birth", "queries": []}
    model = ScriptedModel({"planner": {"parts": PLAN["parts"][:1]}, "compose": [more, composed(missing=[still])]})
    run = Small()
    run.pages.update({BORN: "# Anna Holm\n\nAnna Holm wrote letters about where she was born.\n"})
    report = await run.run(model, FIRST, max_rounds=2)
    assert [part.text for part in report.parts] == [FIRST]
    assert ("Born where?", "her birth") in [(gap.sub_question, gap.reason) for gap in report.gaps]
    assert report.status == "complete"
    again = ScriptedModel({"planner": {"parts": PLAN["parts"][:1]}, "compose": [more]})
    capped = await Small().run(again, FIRST, max_rounds=2, max_pages=1)
    assert any("cap on pages" in gap.reason for gap in capped.gaps), "said, and nothing is taken from the answer for it"
    assert capped.status == "complete"


async def test_a_later_look_builds_on_what_was_mended_and_is_told_what_was_refused() -> None:
    """Both are sections of a closed part, which are proven while the next round searches."""
    wrong, lie, right = "The lamp is 57 metres.", "It was built in 1066.", "41 metres tall is the Varden `lighthouse`."

    def first(seen: Seen) -> Any:
        found: Any = [{"part": "2", "queries": ["Anna Holm born"]}]
        told = [said(wrong, at(seen, "41 metres"), part="1"), said(lie, at(seen, "built by"), part="1")]
        return composed([said(FIRST, at(seen, "built by"))], [section("Tower", paragraph(*told))], found)

    def mend(seen: Seen) -> Any:
        failed = {text: name.split()[0] for name, text in seen.lines.items() if name.endswith(" sentence")}
        return {"repairs": [{"id": failed[wrong], "text": right, "lines": []}] if wrong in failed else []}

    def anew(seen: Seen) -> Any:
        told = [said(text, name, part="2") for name, text in seen.citable.items() if "Quarrion" in text]
        return composed(sections=[section("Tower", paragraph(said("@2"), *told))])

    run = Small()
    run.pages.update(PEOPLE)
    model = ScriptedModel({"planner": PLAN, "compose": [first, anew], "rewrite": mend})
    report = await run.run(model, "Where was the builder of the Varden lighthouse born?", max_rounds=2)
    second = [seen for seen in model.seen if seen.task == "compose"][-1].blocks["The report so far"]
    assert second["@2"].startswith(f"{right} (")
    assert "refused: " in second["@3"]
    assert "refused: " not in second["@2"]
    lines = [text for name, text in second.items() if re.fullmatch(r"[a-z]+\d+", name)]
    assert [("built by" in text) for text in lines] == [True], "what is to be changed has its lines in sight"
    assert [sentence.text for sentence in report.sections[0].sentences] == [
        right.replace("`", ""),
        "Anna Holm came from Quarrion.",
    ]
    judged = [text for seen in model.seen if seen.task == "judge_statements" for text in seen.statements.values()]
    assert judged.count(right.replace("`", "")) == 1, "what stands keeps its proof"


async def test_a_later_look_has_its_whole_room_for_what_is_chosen() -> None:
    """The list of what is on offer takes nothing from it."""
    many = "\n\n".join(f"Anna Holm came from Quarrion, says letter {n} of her brother. " * 9 for n in range(200))
    run = Small()
    run.pages.update(PEOPLE)
    run.pages["https://letters.test/all"] = f"# Letters about Anna Holm born\n\n{many}"
    choose: Any = {"passages": ["p1-p99"]}
    model = ScriptedModel({"planner": PLAN, "compose": [builder, birth], "choose": choose})
    await run.run(model, "Where was the builder of the Varden lighthouse born?", max_rounds=2, llm_source_tokens=4_000)
    last = [seen for seen in model.seen if seen.task == "choose"][-1]
    assert "Room: 1,320 tokens." in last.ours


async def test_a_later_look_at_pages_of_which_nothing_is_chosen_leaves_the_report_as_it_stands() -> None:
    many = "\n\n".join(f"Anna Holm came from Quarrion, says letter {n} of her brother. " * 9 for n in range(200))
    run = Small()
    run.pages.update(PEOPLE)
    run.pages["https://letters.test/all"] = f"# Letters about Anna Holm born\n\n{many}"
    model = ScriptedModel({"planner": PLAN, "compose": [builder, birth], "choose": {"passages": []}})
    await run.run(model, "Where was the builder of the Varden lighthouse born?", max_rounds=2, llm_source_tokens=4_000)
    tasks = [seen.task for seen in model.seen if seen.task in ("choose", "compose")]
    assert tasks[-1] == "choose"
    assert tasks.count("compose") == 1


async def test_parts_beyond_what_a_round_adds_are_said_to_be_left_out() -> None:
    def more(seen: Seen) -> Any:
        found: Any = [
            {"part": "new", "what": f"her {of}", "queries": [f"Anna Holm {of}"], "question": f"Who was her {of}?"}
            for of in ("mother", "father", "sister", "brother", "teacher", "friend")
        ]
        return composed([said(text, name, part="1") for name, text in seen.citable.items()][:1], missing=found)

    run = Small()
    await run.run(ScriptedModel({"planner": PLAN, "compose": [more, composed()]}), max_rounds=2)
    changes = [event.data for event in run.events.events if event.type is EventType.PLAN_CHANGED]
    assert [change["change"] for change in changes] == ["added"] * 4 + ["left_out"] * 2
    assert (changes[-1]["part"], changes[-1]["reason"]) == ("Who was her friend?", "her friend")


async def test_a_part_that_waits_for_nothing_keeps_its_words() -> None:
    def other(seen: Seen) -> Any:
        found: Any = [{"part": "1", "what": "", "queries": ["Varden paint"], "question": "Who painted Anna Holm?"}]
        return composed([said(text, name) for name, text in seen.citable.items()][:1], missing=found)

    run = Small()
    report = await run.run(ScriptedModel({"planner": PLAN, "compose": other}), max_rounds=2)
    assert FIRST in [part.text for part in report.parts]
    assert "Who painted" not in report.markdown


async def test_what_is_missing_is_searched_for_and_told_with_its_queries() -> None:
    def no_birth(seen: Seen) -> Any:
        found: Any = {"part": "2", "what": "where she was born", "queries": ["Anna Holm birthplace"]}
        return composed([said(text, name, part="1") for name, text in seen.citable.items()][:2], missing=[found])

    run = Small()
    model = ScriptedModel({"planner": PLAN, "compose": no_birth})
    report = await run.run(model, "Who built the Varden lighthouse, and where was she born?", max_rounds=2)
    [gap] = [gap for gap in report.gaps if gap.sub_question == SECOND]
    assert gap.reason == "where she was born"
    assert "Anna Holm birthplace" in gap.queries
    sent = [str(event.data["query"]) for event in run.events.events if event.type is EventType.SEARCH_COMPLETED]
    assert "Anna Holm birthplace" in sent
    assert {part.text: part.status for part in report.parts} == {FIRST: "answered", SECOND: "not_in_these_sources"}


async def test_a_later_round_adds_to_the_report_and_takes_nothing_away() -> None:
    run = Small()
    run.pages.update(PEOPLE)
    model = ScriptedModel({"planner": PLAN, "compose": [builder, "no report at all"]})
    report = await run.run(model, "Where was the builder of the Varden lighthouse born?", max_rounds=2, llm_retries=1)
    assert "Anna Holm" in " ".join(sentence.text for sentence in report.sentences())
    assert report.mode == "model", "what was composed before stands"


def tower(seen: Seen) -> Any:
    """An answer and two sections of what is shown; where she was born is missing."""
    told = [said(text, name) for name, text in seen.citable.items()]
    found: Any = [{"part": "2", "queries": ["Anna Holm born"]}]
    return composed(told[:1], [section("Tower", paragraph(told[1])), section("Limits", paragraph(told[2]))], found)


async def test_a_later_look_gives_the_whole_report_and_names_what_stands() -> None:
    shown: list[str] = []

    def anew(seen: Seen) -> Any:
        shown.extend(name for name in seen.blocks["The report so far"] if name.startswith("@"))
        told = [said(text, name) for name, text in seen.citable.items() if "Quarrion" in text]
        return composed(
            [said("@2")],
            [
                section("Lamp and builder", paragraph(said("@3"), *told, said("@99"))),
                section("Tower", paragraph(said("@1"))),
            ],
        )

    run = Small()
    run.pages.update(PEOPLE)
    report = await run.run(ScriptedModel({"planner": PLAN, "compose": tower}), max_rounds=1)
    one, two, three = [sentence.text for sentence in report.sentences()]
    model = ScriptedModel({"planner": PLAN, "compose": [tower, anew]})
    report = await run.run(model, "Where was the builder of the Varden lighthouse born?", max_rounds=2)
    assert shown == ["@1", "@2", "@3"]
    assert [sentence.text for sentence in report.summary.sentences] == [two]
    assert [(part.heading, [line.text for line in part.sentences]) for part in report.sections] == [
        ("Lamp and builder", [three, "Anna Holm came from Quarrion."]),
        ("Tower", [one]),
    ]
    gone = [e.data for e in run.events.events if e.type is EventType.SECTION_READY and not e.data["text"]]
    assert all(event["revised"] and event["heading"] == "Limits" for event in gone)


async def test_code_that_stands_by_its_name_keeps_what_are_examples_in_it() -> None:
    manuscript = Manuscript(SourceBook())
    code = ComposedBlock("code", (ComposedSentence("git switch wip", ("a1",), derived=True),), header=("wip",))
    manuscript.take_in(Composed(sections=(ComposedSection("Branches", (code,)),)), "m", (), {})
    by_name = replace(code, items=(ComposedSentence("@1", ()),))
    manuscript.take_in(Composed(sections=(ComposedSection("Once more", (replace(by_name, header=()),)),)), "m", (), {})
    assert manuscript.sections == (ComposedSection("Once more", (code,)),)
    manuscript.take_in(
        Composed(sections=(ComposedSection("Again", (replace(by_name, header=("git",)),)),)), "m", (), {}
    )
    assert manuscript.sections[0].blocks[0].header == ("git",), "unless other ones are named"


async def test_an_entry_that_stands_stays_one_and_a_later_look_may_join_others() -> None:
    manuscript = Manuscript(SourceBook())
    lamp, also, paint = (ComposedSentence(text, ("a1",)) for text in ("The lamp.", "It is lit.", "The paint."))
    points = ComposedBlock("list", (lamp, replace(also, goes_on=True), paint))
    manuscript.take_in(Composed(sections=(ComposedSection("Tower", (points,)),)), "m", (), {})
    assert manuscript.sections[0].blocks == (points,)
    names = (ComposedSentence("@1", ()), ComposedSentence("@2", ()), ComposedSentence("@3", (), goes_on=True))
    later = ComposedBlock("list", names)
    manuscript.take_in(Composed(sections=(ComposedSection("Tower", (later,)),)), "m", (), {})
    assert [(said.text, said.goes_on) for said in manuscript.sentences()] == [
        ("The lamp.", False),
        ("It is lit.", True),
        ("The paint.", True),
    ]


async def test_cells_stand_by_their_names_and_an_unknown_name_is_an_empty_cell() -> None:
    book = SourceBook()
    manuscript = Manuscript(book)
    first = ComposedRow("Tower", (ComposedSentence("41 metres", ("a1",)), ComposedSentence("Anna Holm", ("a2",))))
    rows = ComposedBlock("table", header=("Name", "Height", "Builder"), rows=(first,))
    manuscript.take_in(Composed(sections=(ComposedSection("Towers", (rows,)),)), "m", (), {})
    again = ComposedRow("Tower", tuple(ComposedSentence(name, ()) for name in ("@2", "@7")))
    turned = replace(rows, header=("Name", "Builder", "Height"), rows=(again,))
    manuscript.take_in(Composed(sections=(ComposedSection("Towers", (turned,)),)), "m", (), {})
    [cells] = [row.cells for row in manuscript.sections[0].blocks[0].rows]
    assert [(cell.text, cell.lines) for cell in cells] == [("Anna Holm", ("a2",)), ("", ())]


async def test_a_later_look_that_gives_only_what_is_new_takes_nothing_away() -> None:
    def wide(seen: Seen) -> Any:
        filler = " ".join(f"word{n}" for n in range(40))
        # Rests on no line: never printed.
        return tower(seen).replace("\n\n## Limits", f" {filler}. {{}}\n\n## Limits")

    def more(seen: Seen) -> Any:
        told = [said(text, name) for name, text in seen.citable.items() if "Quarrion" in text]
        return composed(sections=[section("tower", paragraph(*told)), section("Birth", paragraph(*told))])

    run = Small()
    run.pages.update(PEOPLE)
    model = ScriptedModel({"planner": PLAN, "compose": [wide, more]})
    report = await run.run(model, "Where was the builder of the Varden lighthouse born?", max_rounds=2)
    assert [part.heading for part in report.sections] == ["Tower", "Limits"], "said once"
    assert report.sections[0].sentences[-1].text == "Anna Holm came from Quarrion."
    assert report.sections[1].sentences, "what closes the report stands at its end"


@pytest.mark.parametrize("count", [12, 40])
async def test_a_plan_of_forty_parts_is_eight(count: int) -> None:
    parts: Any = [
        {"question": f"How tall is Varden tower {chr(65 + n % 26)}{n}?", "heading": "x", "queries": []}
        for n in range(count)
    ]
    missing: Any = [{"part": str(n), "queries": [f"Varden {n}"], "question": f"Varden {n}?"} for n in range(60)]
    run = Small()
    await run.run(ScriptedModel({"planner": {"parts": parts}, "compose": composed(missing=missing)}), max_rounds=3)
    plans: list[Any] = [
        event.data["sub_questions"] for event in run.events.events if event.type is EventType.PLAN_CREATED
    ]
    assert all(len(plan) <= 8 for plan in plans)
    left = [e.data for e in run.events.events if e.type is EventType.PLAN_CHANGED and e.data["change"] == "left_out"]
    assert "a plan has 8 parts at most" in {event["reason"] for event in left}


async def test_a_part_that_leads_on_from_another_is_kept_and_one_left_out_is_told() -> None:
    texts = ("How is the Varden lighthouse lit?", "Which oil do lamps burn that are lit by hand?", "Who owns Paris?")
    parts: Any = [{"question": text, "heading": "", "queries": []} for text in texts]
    run = Small()
    await run.run(ScriptedModel({"planner": {"parts": parts}}))
    plan: Any = next(e.data["sub_questions"] for e in run.events.events if e.type is EventType.PLAN_CREATED)
    assert [part["text"] for part in plan] == list(texts[:2])
    left = [e.data for e in run.events.events if e.type is EventType.PLAN_CHANGED]
    assert [(e["change"], e["part"], e["reason"]) for e in left] == [
        ("left_out", texts[2], "it shares no word with the question")
    ]


async def test_a_plan_that_the_asker_changed_is_taken_as_it_is() -> None:
    model = FaithfulModel()
    part = SubQuestion("1", "How tall is the Varden lighthouse?", heading="Height")
    report = await Small().run(model, task=Task("Tell me about Varden.", parts=(part,)))
    assert "planner" not in {seen.task for seen in model.seen}
    assert [found.text for found in report.parts] == [part.text]
