"""A run's events as what a reader follows, here and in the browser; and the plots made of it."""

from datetime import UTC, datetime, timedelta
from importlib import resources
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from pincite.domain.events import Event, EventType, Json
from pincite.engine import Engine
from pincite.settings import load_settings
from pincite.surfaces.http.ui import charts
from pincite.surfaces.progress import STAGES, progress_of

START = datetime(2026, 11, 21, 9, tzinfo=UTC)
LIVE = (resources.files("pincite.surfaces.http.ui") / "static" / "live.js").read_text(encoding="utf-8")
UNTOLD = {
    EventType.PAGE_REVALIDATED,  # what came of it is in the report
    # what comes of these is told a moment later
    EventType.SEARCH_STARTED,
    EventType.PAGE_REQUESTED,
    EventType.BUDGET_RESERVED,
    EventType.BUDGET_SETTLED,
}


def events(*told: tuple[float, EventType, dict[str, Json]]) -> list[Event]:
    return [Event(n, kind, "run_1", START + timedelta(seconds=at), data) for n, (at, kind, data) in enumerate(told, 1)]


def test_events_become_rounds_pages_and_claims() -> None:
    page: dict[str, Json] = {"url": "https://a.example/", "title": "A", "snapshot_id": "snap_1"}
    found = progress_of(
        events(
            (0, EventType.RUN_STARTED, {"question": "Why?"}),
            (1, EventType.PLAN_CREATED, {"round": 1, "sub_questions": [{"text": "Why?"}, "odd", {"text": 7}]}),
            (1, EventType.ROUND_STARTED, {"round": 1}),
            (3, EventType.SEARCH_COMPLETED, {"query": "why", "results": 2}),
            (3, EventType.SEARCH_FAILED, {"query": "what", "reason": "rate_limited"}),
            (4, EventType.PAGE_FETCHED, page),
            (4, EventType.PAGE_FAILED, {"url": "https://b.example/", "code": "DEAD_LINK", "reason": "not_found"}),
            (4, EventType.PAGE_REFUSED, {"url": "https://c.example/", "reason": "robots"}),
            (4, EventType.PAGE_DUPLICATE, {"url": "https://a.example/", "of": "https://d.example/"}),
            (9, EventType.CLAIM_VERIFIED, {"claim_id": "c1", "text": "So.", "verdict": "supported"}),
            (
                9,
                EventType.CLAIM_REJECTED,
                {"claim_id": "c2", "text": "No.", "verdict": "unsupported"},
            ),
            (60, EventType.RUN_RESUMED, {"epoch": 2}),
            (61, EventType.BUDGET_EXHAUSTED, {"reason": "cost_usd"}),
            (61, EventType.MODEL_ANSWERED, {"role": "writer", "tokens_in": 40, "tokens_out": 2}),
            (61, EventType.ROLE_REPLACED, {"role": "writer", "reason": "model_unavailable"}),
            (62, EventType.SECTION_READY, {"heading": "Why", "text": "So it was.", "early": True}),
            (62, EventType.SECTION_READY, {"heading": "Bare"}),
            (62, EventType.SECTION_READY, {"heading": "Why", "text": "So it is."}),
            (63, EventType.RUN_COMPLETED, {"status": "partial"}),
        )
    )
    assert found.parts[0] == "Why?"
    assert (found.searches, found.count("read"), found.count("dead"), found.count("refused")) == (1, 1, 1, 1)
    assert (found.verified, found.rejected, found.ended) == (1, 1, True)
    assert found.rounds[0].queries[1].failure == "the service asked to come back later"
    assert found.copies == {"https://a.example/": "https://d.example/"}
    assert found.trouble[0] == "The cap on money was reached; what follows is made of what was found."
    assert found.trouble[1:] == ["The writer went on without a model: the model did not answer."]
    assert found.tokens == 42
    assert found.sections == {"Why": "So it is."}, "the same section is there once, as it was told last"
    assert sum(found.stage_s) == 63 - 51, "the pause is nobody's time"


def test_events_out_of_order_count_no_moment_twice() -> None:
    found = progress_of(
        events(
            (0, EventType.RUN_STARTED, {"question": "Why?"}),
            (5, EventType.PAGE_REQUESTED, {"url": "https://a.example/"}),
            (3, EventType.SEARCH_COMPLETED, {"query": "why", "results": 1}),
            (8, EventType.RUN_COMPLETED, {"status": "completed"}),
        )
    )
    assert sum(found.stage_s) == 8


def test_a_library_that_is_read_first_is_told_until_the_run_begins() -> None:
    told: list[tuple[float, EventType, dict[str, Json]]] = [
        (0, EventType.LIBRARY_READ, {"library": "notes", "pages": 1}),
        (1, EventType.LIBRARY_READ, {"library": "notes", "pages": 70}),
        (2, EventType.RUN_STARTED, {"question": "Why?"}),
    ]
    said = [progress_of(events(*told[:count])).summary() for count in (1, 2, 3)]
    assert said == ["reading notes: 1 page so far", "reading notes: 70 pages so far", "planning"]


def test_gaps_are_those_that_are_left() -> None:
    told: list[tuple[float, EventType, dict[str, Json]]] = [
        (1, EventType.ROUND_STARTED, {"round": 1}),
        (2, EventType.GAP_FOUND, {"sub_question": "Who?", "reason": "no page says it"}),
        (2, EventType.GAP_FOUND, {"sub_question": "When?", "reason": "no page says it"}),
    ]
    assert progress_of(events(*told)).summary() == "2 gaps"
    told += [(3, EventType.ROUND_STARTED, {"round": 2}), (4, EventType.GAP_FOUND, {"sub_question": "When?"})]
    assert progress_of(events(*told)).summary() == "1 gap", "the other was filled"
    found = progress_of(events(*told, (5, EventType.REPORT_COMPLETED, {"gaps": 3})))
    assert (found.summary(), found.as_dict()["gaps"]) == ("3 gaps", 3), "as many as the report says"
    assert progress_of(events(*told, (5, EventType.REPORT_COMPLETED, {"claims": 1}))).gaps == 1


async def test_the_count_of_gaps_is_the_report_s(tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "tower.md").write_text("# Varden\n\nThe Varden lighthouse (VL) is 41 metres tall.\n")
    asked: dict[str, object] = {"home": tmp_path / "home", "source": (f"local:{tmp_path / 'pages'}",)}
    told: list[Event] = []
    async with Engine(load_settings(asked, environ={}, files=())) as engine:
        report = await engine.research(
            "How tall is the Varden lighthouse, and who painted the VL?", on_event=told.append, max_rounds=3
        )
    assert report.gaps
    assert sum(event.type is EventType.ROUND_STARTED for event in told) > 1
    assert progress_of(told).gaps == len(report.gaps)


@given(st.lists(st.tuples(st.sampled_from(EventType), st.dictionaries(st.text(max_size=8), st.text(max_size=8)))))
def test_any_events_make_some_progress(told: list[tuple[EventType, dict[str, Json]]]) -> None:
    found = progress_of(events(*((n, kind, data) for n, (kind, data) in enumerate(told))))
    assert 0 <= found.stage < len(STAGES)
    assert found.verified + found.rejected == len(found.claims)


def test_the_browser_knows_the_same_events_and_stages() -> None:
    for kind in EventType:
        assert (f'"{kind.value}"' in LIVE) == (kind not in UNTOLD), kind
    assert str(list(STAGES)).replace("'", '"') in LIVE


@given(
    st.lists(
        st.tuples(st.integers(-60_000, 30_000), st.text(max_size=20)),
        min_size=1,
        max_size=30,
    )
)
def test_a_timeline_is_sound_and_within_its_frame(dates: list[tuple[int, str]]) -> None:
    clean = [(START + timedelta(days=at), "".join(c for c in name if c.isprintable())) for at, name in dates]
    drawn = etree.fromstring(charts.timeline("When.", "Says.", clean, ("Day", "Source")).svg)
    dots = [node for node in drawn.iter() if node.tag == "circle"]
    assert len(dots) == len(dates)
    height = float(drawn.get("viewBox", "").split()[3])
    assert all(0 <= float(dot.get("cx", "-1")) <= charts.WIDTH for dot in dots)
    assert all(0 <= float(dot.get("cy", "-1")) <= height for dot in dots)


def test_bars_are_labelled_and_told_as_a_table() -> None:
    rows = [charts.Bar("<b>", 2, "2 s"), charts.Bar("none", 0, "0 s")]
    chart = charts.bars("A & B.", "<says>", rows, ("What", "Time"))
    drawn = etree.fromstring(chart.svg)
    assert drawn.get("aria-label") == "A & B. <says>"
    widths = [float(node.get("width", "0")) for node in drawn.iter() if node.get("class") == "bar"]
    assert widths[0] > widths[1] == 0
    shown = charts.figure(chart)
    assert "<b>" not in shown
    assert "&lt;b&gt;" in shown
