"""Parts that are answered are told while other parts still need a round, and the report takes them up."""

from dataclasses import replace
from typing import Any

from tests.unit.research.model.small_run import Small

from pincite.domain.events import Event, EventType
from pincite.domain.evidence import JudgementLabel
from pincite.domain.report import Report, broken_rules
from pincite.testing.judges import LabelJudge
from pincite.testing.models import FaithfulModel, ScriptedModel, Seen, composed, paragraph, said, section

TOWER, FERRY = "How tall is the Varden lighthouse?", "Who paints the ferry to the island of Quarrion?"
QUESTION = f"{TOWER} {FERRY}"
PARTS: Any = {
    "parts": [
        {"question": TOWER, "heading": "Height of the tower", "queries": ["Varden lighthouse tall"]},
        {"question": FERRY, "heading": "Painters of the ferry", "queries": ["ferry wind metres"]},
    ]
}


def only_tower(seen: Seen) -> Any:
    """A report on the first part alone: the second is missing."""
    lines = [said(text, name, part="1") for name, text in seen.citable.items() if "Varden" in text]
    wanted = ["Quarrion ferry painters", "lighthouses of the coast in summer"]
    missing: Any = [{"part": "2", "what": "who paints it", "queries": wanted}]
    return composed(lines[:1], [section("Height of the tower", paragraph(*lines[1:]))] if lines[1:] else [], missing)


SCRIPT: Any = {"planner": PARTS, "compose": only_tower}


def position(events: list[Event], type_: EventType, **data: Any) -> int:
    found = (n for n, e in enumerate(events) if e.type is type_ and data.items() <= dict(e.data).items())
    return next(found, -1)


def sentences(report: Report) -> list[str]:
    return [sentence.text for sentence in report.sentences()]


async def run(small: Small, model: Any) -> tuple[Report, list[Event]]:
    report = await small.run(model, QUESTION, max_rounds=2)
    assert not list(broken_rules(report))
    return report, small.events.events


async def test_a_closed_part_is_written_during_the_next_round(small: Small) -> None:
    model = ScriptedModel(SCRIPT)
    report, events = await run(small, model)
    early = position(events, EventType.SECTION_READY, early=True)
    assert 0 < early < position(events, EventType.REPORT_COMPLETED)
    assert events[early].data["heading"] == "Height of the tower"
    assert "33 kilometres" in str(events[early].data["text"])
    assert position(events, EventType.ROUND_STARTED, round=2) < early
    told = [word for text in sentences(report) for word in text.split()]
    assert set(str(events[early].data["text"]).split()) <= set(told), "what was told early is in the report"
    texts = sentences(report)
    assert len(texts) == len(set(texts)), "nothing is said twice"


async def test_what_was_proven_early_is_not_judged_again(small: Small) -> None:
    reworded = "From as far as 33 kilometres one sees the lamp of Varden."

    def other_words(seen: Seen) -> Any:
        [(text, _)] = [(text, name) for name, text in seen.citable.items() if "33 kilometres" in text]
        return only_tower(seen).replace(text, reworded)

    small.judge, small.judged = LabelJudge({reworded: JudgementLabel.STATES}), False
    report, events = await run(small, ScriptedModel({**SCRIPT, "compose": [other_words, composed()]}))
    assert reworded in sentences(report)
    assert position(events, EventType.SECTION_READY, early=True) > 0
    assert [case.statement for case in small.judge.asked].count(reworded) == 1


async def test_a_drafted_run_is_made_again_from_its_record(small: Small) -> None:
    model = ScriptedModel(SCRIPT)
    report, _ = await run(small, model)
    asked = len(model.seen)
    fresh = replace(small, events=type(small.events)(), ledger=type(small.ledger)(record=small.ledger.record))
    again = await fresh.run(model, QUESTION, max_rounds=2)
    assert again.markdown == report.markdown
    assert len(model.seen) == asked


async def test_without_a_model_closed_parts_are_told_early_too(small: Small) -> None:
    report = await small.run(None, QUESTION, max_rounds=3)
    early = [
        event for event in small.events.events if event.type is EventType.SECTION_READY and event.data.get("early")
    ]
    assert report.gaps
    assert all("41 metres" in str(event.data["text"]) for event in early)
    assert len(early) <= 1


async def test_nothing_is_early_when_nothing_is_open(small: Small) -> None:
    await small.run(FaithfulModel(), TOWER, max_rounds=3)
    assert not [event for event in small.events.events if event.data.get("early")]
