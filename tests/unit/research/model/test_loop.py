"""The loop: several looks at a long page, parts that wait for another's answer, a plan that changes for a reason."""

from typing import Any

import pytest
from tests.fakes.small_web import SmallWeb
from tests.unit.research.model.small_run import Small

from pincite.domain.events import EventType
from pincite.domain.page import FetchRequest
from pincite.domain.plan import ReadPage, SubQuestion, Task
from pincite.domain.report import broken_rules
from pincite.research.model.lines import page_windows
from pincite.testing.models import FaithfulModel, ScriptedModel, Seen

FILLER = "\n\n".join(f"Paragraph {n} is about ferries and tides. " * 12 for n in range(60))
LONG = (
    "# Varden\n\nThe Varden lighthouse is 41 metres tall.\n\n"
    f"{FILLER}\n\n## Paint\n\nThe paint of the Varden lighthouse is renewed every nine years.\n\n{FILLER}"
)
URL = "https://long.test/varden"


def small(**pages: str) -> Small:
    return Small(pages={URL: LONG, **pages})


async def test_each_part_of_the_question_has_its_window_of_a_long_page() -> None:
    fetched = await SmallWeb({URL: LONG}).fetch(FetchRequest(URL))
    page = ReadPage(URL, fetched.snapshot, fetched.document)
    (windows,) = page_windows([page], ("How tall is the lighthouse?", "How often is the paint renewed?"), 1_000)
    shown = " ".join(line.text for line in windows.best())
    assert "41 metres" in shown
    assert "nine years" in shown
    left = windows.unshown()
    again = windows.more([left[0][0]])
    assert again
    assert left[0][0] not in dict(windows.unshown())
    assert not windows.more([left[0][0]]), "nothing is shown twice"


async def test_the_beginning_of_a_page_is_shown_whatever_is_asked() -> None:
    """It says what the page is about, in words that no part of the question may have."""
    pages = {URL: LONG.replace("The Varden lighthouse is 41 metres tall.", "A tower, in short.")}
    fetched = await SmallWeb(pages).fetch(FetchRequest(URL))
    page = ReadPage(URL, fetched.snapshot, fetched.document)
    (windows,) = page_windows([page], ("How often is the paint renewed?",), 700)
    assert "A tower, in short." in " ".join(line.text for line in windows.best())


def looking(seen: Seen) -> Any:
    """A reader that claims what it sees of the paint, and asks for the first window not shown, for ever."""
    lines = [(name, text) for name, text in seen.lines.items() if "nine years" in text and name.startswith("s")]
    claims = [{"text": text, "part": "1", "lines": [name], "confidence": 0.8} for name, text in lines]
    return {"claims": claims, "more": list(seen.blocks.get("Not shown of this page", {}))[:9]}


async def test_a_reader_may_ask_for_other_windows_three_times() -> None:
    model = ScriptedModel({"analyst": looking})
    run = small()
    report = await run.run(model, "How tall is the Varden lighthouse?", llm_page_tokens=600)
    looks = [seen for seen in model.seen if seen.task == "analyst"]
    assert len(looks) == 4, "one look and three more"
    ids = [name for seen in looks for name in seen.lines if name.startswith("s")]
    assert len(ids) == len(set(ids)), "lines keep their ids"
    assert not list(broken_rules(report))


async def test_what_a_later_look_finds_is_not_cut_off_by_an_earlier_one() -> None:
    """The first look gives as many claims as a look may have; the answer stands in the second."""

    def reader(seen: Seen) -> Any:
        lines = {text: name for name, text in seen.lines.items() if name.startswith("s")}
        paint = [name for text, name in lines.items() if "nine years" in text]
        if paint:
            return {"claims": [{"text": PAINT, "part": "1", "lines": paint}]}
        tower = [name for text, name in lines.items() if "41 metres" in text][:1]
        many = [{"text": f"Varden is a tower of the coast, {n}.", "part": "1", "lines": tower} for n in range(30)]
        wanted = [name for name, text in seen.blocks.get("Not shown of this page", {}).items() if "Paint" in text]
        return {"claims": many if tower else [], "more": wanted}

    report = await small().run(
        ScriptedModel({"analyst": reader}), "How tall is Varden lighthouse?", llm_page_tokens=600
    )
    assert PAINT in [sentence.text for sentence in report.sentences()]
    assert ("6 more statements about Varden", "more than 24 of one look at a page") in [
        (left.text, left.why) for left in report.rejected_claims
    ]


PAINT = "The paint of the Varden lighthouse is renewed every nine years."
FIRST, SECOND = "Who built the Varden lighthouse?", "Where was its builder born?"
BORN = "https://people.test/holm"
PEOPLE = {BORN: "# Anna Holm\n\nAnna Holm came from Quarrion.\n"}
PLAN: Any = {
    "parts": [
        {"question": FIRST, "heading": "Builder", "kind": "person", "queries": ["Varden lighthouse built"]},
        {"question": SECOND, "heading": "Birth", "kind": "place", "queries": ["birthplace"], "depends_on": 1},
    ]
}


def by_part(seen: Seen) -> Any:
    """What the pages say of the builder for part 1, and of her birth for part 2."""
    claims = [
        {"text": text, "part": "2" if "came from" in text else "1", "lines": [name], "confidence": 0.8}
        for name, text in seen.lines.items()
        if "built by" in text or "came from" in text
    ]
    return {"claims": claims}


async def test_a_part_waits_for_the_answer_of_another() -> None:
    more: Any = {"parts": [{"part": "2", "question": "Where was Anna Holm born?", "queries": ["Anna Holm born"]}]}
    model = ScriptedModel({"planner": PLAN, "follow_up": more, "analyst": by_part})
    run = Small()
    run.pages.update(PEOPLE)
    report = await run.run(model, "Where was the builder of the Varden lighthouse born?", max_rounds=2)
    assert "(waits for 1)" in next(seen.ours for seen in model.seen if seen.task == "follow_up")
    assert "Quarrion" in " ".join(sentence.text for sentence in report.sentences())
    assert "Where was Anna Holm born?" in [part.text for part in report.parts]
    changes = [event.data for event in run.events.events if event.type is EventType.PLAN_CHANGED]
    assert [change["change"] for change in changes] == ["reworded"]


async def test_a_changed_plan_is_told_and_nothing_is_dropped_silently() -> None:
    change: Any = {
        "parts": [],
        "dropped": [{"part": "2", "reason": "no page speaks of it"}],
        "added": [
            {"question": "What is the Varden lighthouse painted?", "heading": "Paint", "reason": "it is asked for"}
        ],
    }
    model = ScriptedModel({"planner": PLAN, "follow_up": change, "analyst": by_part})
    run = Small()
    report = await run.run(model, "Who built the Varden lighthouse, and where was she born?", max_rounds=2)
    changes = [event.data for event in run.events.events if event.type is EventType.PLAN_CHANGED]
    assert [(c["change"], c["reason"]) for c in changes] == [
        ("dropped", "no page speaks of it"),
        ("added", "it is asked for"),
    ]
    assert any(gap.sub_question == SECOND and "no page speaks" in gap.reason for gap in report.gaps)


@pytest.mark.parametrize("count", [12, 40])
async def test_a_plan_of_forty_parts_is_eight(count: int) -> None:
    parts: Any = [
        {"question": f"How tall is Varden tower {chr(65 + n % 26)}{n}?", "heading": "x", "kind": "", "queries": []}
        for n in range(count)
    ]
    everything: Any = {
        "parts": [],
        "added": [{"question": f"Varden {n}?", "heading": "", "reason": "r"} for n in range(9)],
    }
    run = Small()
    await run.run(ScriptedModel({"planner": {"parts": parts}, "follow_up": everything}), max_rounds=3)
    plans: list[Any] = [
        event.data["sub_questions"] for event in run.events.events if event.type is EventType.PLAN_CREATED
    ]
    assert all(len(plan) <= 8 for plan in plans)


async def test_a_plan_that_the_asker_changed_is_taken_as_it_is() -> None:
    model = FaithfulModel()
    part = SubQuestion("1", "How tall is the Varden lighthouse?", heading="Height")
    report = await Small().run(model, task=Task("Tell me about Varden.", parts=(part,)))
    assert "planner" not in {seen.task for seen in model.seen}
    assert [found.text for found in report.parts] == [part.text]
