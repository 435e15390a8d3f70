"""Models that fail in every way, behind a real socket: a typed outcome, a report at the end, nothing false in it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.models import ModelServer, Trouble

from pincite.domain.errors import PinciteError, ProviderError
from pincite.domain.events import Event, EventType, RunStatus
from pincite.domain.report import Mode, Report, broken_rules
from pincite.engine import Engine
from pincite.settings import load_settings
from pincite.testing.models import (
    FaithfulModel,
    ModelFake,
    ScriptedModel,
    Seen,
    composed,
    paragraph,
    said,
    section,
    table,
)

TOWER = (
    "# Varden lighthouse\n\nThe Varden lighthouse is 41 metres tall. The Varden lighthouse was built by Anna Holm.\n"
)
QUESTION = "How tall is the Varden lighthouse?"
KEY = "sk-right-1234567"


WRONG_IDS = composed([said("The Varden lighthouse is 41 metres tall.", "s999", part="77") for _ in range(3)])
ONE_WORD = composed([said(f"Tower{n}", "s999") for n in range(100)])
EMPTY_PLAN: Any = {"parts": [{"question": "", "heading": "", "queries": ["", " "]}]}
BAD_SECTIONS = composed([], [section("", paragraph(said("", "zz")), table((), {"": []}))])


def bad_sentences(seen: Seen) -> Any:
    told = [said(text, name) for name, text in seen.citable.items()]
    return composed([said(""), said("Tall.", "s999"), *told])


@dataclass(frozen=True)
class Row:
    """What goes wrong, and what is said of it: the code and reason of the failures told."""

    name: str
    code: str
    reason: str
    trouble: Trouble = Trouble.NONE
    script: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    key: str = KEY


ROWS = [
    Row("refuses", "MODEL_BAD_OUTPUT", "refusal", Trouble.REFUSAL),
    Row("filtered", "MODEL_BAD_OUTPUT", "refusal", Trouble.CONTENT_FILTER),
    Row("prose", "MODEL_BAD_OUTPUT", "not_json", Trouble.PROSE),
    Row("broken JSON", "MODEL_BAD_OUTPUT", "", Trouble.BROKEN_JSON),
    Row("truncated JSON", "MODEL_BAD_OUTPUT", "truncated", Trouble.TRUNCATED),
    Row("another shape", "MODEL_BAD_OUTPUT", "wrong_shape", Trouble.OTHER_SHAPE),
    Row("empty answers", "MODEL_BAD_OUTPUT", "empty", Trouble.EMPTY),
    Row("10 MB", "MODEL_BAD_OUTPUT", "answer_too_large", Trouble.HUGE),
    Row("context too long", "MODEL_UNAVAILABLE", "model_context_too_long", Trouble.CONTEXT),
    Row("wrong key", "PROVIDER_AUTH", "", key="sk-wrong-7654321"),
    Row("quota out", "PROVIDER_QUOTA", "", Trouble.QUOTA),
    Row("busy", "RATE_LIMITED", "", Trouble.RATE_LIMIT),
    Row("server error", "MODEL_UNAVAILABLE", "", Trouble.SERVER_ERROR),
    Row("overloaded", "MODEL_UNAVAILABLE", "", Trouble.OVERLOADED),
    Row("slow", "MODEL_UNAVAILABLE", "model_timeout", Trouble.SLOW, settings={"llm_timeout_s": 0.5, "llm_retries": 0}),
    Row("gone", "MODEL_UNAVAILABLE", "", Trouble.GONE),
    Row("gone in mid-answer", "MODEL_UNAVAILABLE", "", Trouble.GONE_MID_ANSWER),
    Row("no JSON at all", "", "", Trouble.NOT_JSON_AT_ALL),
    Row("unknown model", "MODEL_UNAVAILABLE", "model_unknown", Trouble.UNKNOWN_MODEL),
]
WORDS = [
    Row("wrong ids", "", "no usable claim", script={"compose": WRONG_IDS}),
    Row("100 sentences of one word", "", "no usable claim", script={"compose": ONE_WORD}),
    Row("nothing at all", "", "answer was empty", script={"compose": composed()}),
    Row("empty sections", "", "no usable claim", script={"compose": BAD_SECTIONS}),
    Row("an empty plan", "", "", script={"planner": EMPTY_PLAN}),
    Row(
        "empty sentences",
        "",
        "it names no statement that was offered",
        script={"compose": bad_sentences, "rewrite": {"repairs": []}},
    ),
]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[..., Engine]]:
    """An engine whose models are behind the given servers, the first one first."""
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "tower.md").write_text(TOWER, encoding="utf-8")
    running: list[ModelServer] = []

    def make(row: Row, model: ModelFake | None = None, *, fallback: bool = False, **more: Any) -> Engine:
        server = ModelServer(model or FaithfulModel(), always=row.trouble, api_key=KEY, slow_s=30.0)
        running.append(server)
        given: dict[str, Any] = {
            "home": tmp_path / "home",
            "source": (f"local:{pages}",),
            "llm": "bad-1",
            "llm_base_url": server.__enter__().base_url,
            "llm_api_key": row.key,
            "llm_retries": 1,
        }
        if fallback:
            second = ModelServer(FaithfulModel())
            running.append(second)
            url = second.__enter__().base_url
            given |= {"llm_fallbacks": ("openai:good-1",), "openai_base_url": url, "openai_api_key": KEY}
        return Engine(load_settings({**given, **row.settings, **more}, environ={}, files=()))

    yield make
    for server in running:
        server.__exit__(None, None, None)


async def asked(engine: Engine) -> tuple[Report, Sequence[Event]]:
    events: list[Event] = []
    report = await engine.research(QUESTION, on_event=events.append)
    assert not list(broken_rules(report))
    assert (await engine.run(report.run_id)).status in (RunStatus.COMPLETED, RunStatus.PARTIAL)
    assert "41 metres" in " ".join(sentence.text for sentence in report.sentences()), report.markdown
    assert KEY not in report.markdown
    return report, events


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
async def test_each_failure_is_typed_and_rules_write_the_report(row: Row, opened: Callable[..., Engine]) -> None:
    async with opened(row) as engine:
        report, events = await asked(engine)
    failures = [event.data for event in events if event.type is EventType.MODEL_FAILED]
    assert failures
    assert not row.code or {data["code"] for data in failures} == {row.code}
    assert not row.reason or row.reason in {data["reason"] for data in failures}
    assert report.mode is Mode.EXTRACTIVE
    told = " ".join(gap.reason for gap in report.gaps)
    for role in ("planner", "writer"):
        assert f"the {role} worked by rules, without the model" in told


@pytest.mark.parametrize("row", WORDS, ids=lambda row: row.name)
async def test_useless_answers_of_the_right_shape_cost_no_report(row: Row, opened: Callable[..., Engine]) -> None:
    async with opened(row, ScriptedModel(row.script)) as engine:
        report, _ = await asked(engine)
    told = [*(gap.reason for gap in report.gaps), *(rejected.why for rejected in report.rejected_claims)]
    assert row.reason in " ".join(told)
    assert row.reason == "no usable claim" or "Anna Holm" in report.markdown, "what holds is told all the same"
    assert "Tower1" not in report.markdown


@pytest.mark.parametrize(
    "row",
    [row for row in ROWS if row.name in ("refuses", "wrong key", "unknown model", "gone")],
    ids=lambda row: row.name,
)
async def test_the_next_model_takes_over(row: Row, opened: Callable[..., Engine]) -> None:
    async with opened(row, fallback=True) as engine:
        report, events = await asked(engine)
    assert report.mode is Mode.MODEL
    answered = {event.data["model"] for event in events if event.type is EventType.MODEL_ANSWERED}
    assert {str(name).split(":")[-1] for name in answered} == {"good-1"}


@pytest.mark.parametrize("row", [ROWS[0], ROWS[9], ROWS[-1]], ids=lambda row: row.name)
async def test_where_rules_may_not_stand_in_the_run_ends_with_the_error(
    row: Row, opened: Callable[..., Engine]
) -> None:
    async with opened(row, llm_extractive_fallback=False) as engine:
        with pytest.raises(PinciteError) as failure:
            await engine.research(QUESTION)
        run = (await engine.runs(1))[0]
    assert failure.value.code == row.code
    assert isinstance(failure.value, ProviderError)
    assert (run.status, run.reason) == (RunStatus.FAILED, failure.value.reason)


async def test_one_bad_answer_is_asked_for_again(opened: Callable[..., Engine]) -> None:
    row = Row("once", "", "")
    async with opened(row) as engine:
        server_troubles = [Trouble.PROSE, Trouble.NONE, Trouble.TRUNCATED, Trouble.NONE, Trouble.GONE]
        engine_report, events = await asked_with(engine, opened, server_troubles)
    assert engine_report.mode is Mode.MODEL
    assert not [event for event in events if event.type is EventType.ROLE_REPLACED]


async def asked_with(
    engine: Engine, opened: Callable[..., Engine], troubles: Sequence[Trouble]
) -> tuple[Report, Sequence[Event]]:
    with ModelServer(FaithfulModel(), troubles=troubles) as server:
        settings = engine.settings.model_copy(update={"llm_base_url": server.base_url, "llm_retries": 2})
        async with Engine(settings) as again:
            report, events = await asked(again)
            failed = [event.data["reason"] for event in events if event.type is EventType.MODEL_FAILED]
            assert len(failed) == sum(trouble is not Trouble.NONE for trouble in troubles)
            return report, events
