from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.domain.budget import Budget, Usage
from pincite.domain.codec import from_json, to_json, utc_moment, utc_text
from pincite.domain.errors import ParseError
from pincite.domain.events import Event, EventType
from pincite.domain.page import Block, BlockKind, Document, Link, Mark, MarkKind, Snapshot
from pincite.domain.plan import Plan, SubQuestion
from pincite.domain.report import Report
from pincite.testing.reports import sample_report


def test_a_document_comes_back_equal_with_its_id_made_anew() -> None:
    document = Document(
        "html",
        "3",
        (
            Block(BlockKind.HEADING, "Locks", level=1, marks=(Mark(0, 5, MarkKind.LINK, "https://a.example/"),)),
            Block(BlockKind.TABLE, "a | b", rows=(("a", "b"),), has_header=True, page=4),
        ),
        title="T",
        published_at=datetime(2026, 5, 4, tzinfo=timezone(timedelta(hours=2))),
        links=(Link("https://a.example/", "a", 1),),
        warnings=("w",),
    )
    stored: Any = to_json(document)
    assert isinstance(stored, dict)
    assert "text" not in stored
    assert from_json(Document, stored) == document
    sparse: Any = to_json(document, sparse=True)
    assert isinstance(sparse, dict)
    assert sparse["blocks"][0].keys() == {"kind", "text", "level", "marks"}
    assert from_json(Document, sparse) == document
    stored["blocks"][0]["text"] = "Blocks"
    assert from_json(Document, stored).document_id != document.document_id


def test_bytes_money_and_times_come_back_equal() -> None:
    moment = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
    snapshot = Snapshot(
        "snap_1", "u", "f", "c", 200, "text/html", (("a", "b"), ("a", "c")), b"\x00\xff", "s", moment, "direct"
    )
    assert from_json(Snapshot, to_json(snapshot)) == snapshot
    usage = Usage(searches=3, cost_usd=Decimal("0.000000125"))
    assert from_json(Usage, to_json(usage)) == usage
    assert from_json(Budget, to_json(Budget(pages=3, deadline_s=2.5))) == Budget(pages=3, deadline_s=2.5)
    event = Event(1, EventType.PAGE_FETCHED, "run_1", moment, {"url": "u", "n": [1, None, {"deep": True}]})
    assert from_json(Event, to_json(event)) == event


@given(st.datetimes(timezones=st.timezones() | st.none()), st.datetimes(timezones=st.just(UTC)))
def test_text_order_of_times_is_their_order(one: datetime, other: datetime) -> None:
    try:
        first = utc_text(one)
    except OverflowError:  # the edges of the calendar in other zones
        return
    aware = one if one.tzinfo else one.replace(tzinfo=UTC)
    assert utc_moment(first) == aware.astimezone(UTC)  # hours that a clock change skips equal nothing
    assert (first < utc_text(other)) == (aware.astimezone(UTC) < other)


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {"searches": "3"},
        {"searches": 1.5},
        {"cost_usd": "much"},
        {"searches": True},
        {"cost_usd": True},
        {"cost_usd": "NaN"},
    ],
)
def test_other_shapes_are_refused(data: Any) -> None:
    with pytest.raises(ParseError):
        from_json(Usage, data)


def test_the_outside_form_reads_back_equal_with_short_times_and_plain_amounts() -> None:
    usage = Usage(cost_usd=Decimal("0.1"))
    outside = to_json(usage, outside=True)
    assert isinstance(outside, dict)
    assert outside["cost_usd"] == 0.1
    assert from_json(Usage, outside) == usage
    moment = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=1)))
    assert to_json(moment, outside=True) == "2026-01-02T02:04:05Z"
    assert to_json(moment.replace(tzinfo=None), outside=True) == "2026-01-02T03:04:05Z"


def test_an_error_says_where() -> None:
    report: Any = to_json(sample_report().report)
    assert isinstance(report, dict)
    report["claims"][1]["evidence"][0]["start"] = "x"
    with pytest.raises(
        ParseError, match=r"not the JSON of a Report at claims\[1\]\.evidence\[0\]\.start: int was"
    ) as caught:
        from_json(Report, report)
    assert caught.value.context["path"] == "claims[1].evidence[0].start"


def test_members_of_a_newer_version_are_ignored_and_missing_ones_default() -> None:
    assert from_json(Usage, {"pages": 2, "moons": 1}) == Usage(pages=2)
    with pytest.raises(TypeError):
        to_json(object())


def test_a_plan_stored_with_the_kind_of_answer_that_parts_once_had_is_read() -> None:
    part: Any = {
        "sub_question_id": "1",
        "text": "How tall is it?",
        "queries": [],
        "answer_type": "number",
        "depends_on": None,
    }
    assert from_json(Plan, {"sub_questions": [part]}) == Plan((SubQuestion("1", "How tall is it?"),))
