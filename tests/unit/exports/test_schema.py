"""Published schemas: fresh, valid, and true of what is sent."""

import importlib.util
import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError
from tests.fakes.reports import empty_report

from pincite.domain.errors import NotFound, leaves
from pincite.domain.events import Event, EventType
from pincite.domain.fetch import FetchInfo, FetchResult
from pincite.domain.page import Link
from pincite.domain.search import ProviderAttempt, SearchInfo, SearchResponse, SearchResult
from pincite.exports import codec
from pincite.exports.codec import dump, event_json, fetch_json, report_json, search_json
from pincite.testing.reports import sample_report

_SPEC = importlib.util.spec_from_file_location("schemas", Path(__file__).parents[3] / "scripts" / "schemas.py")
assert _SPEC is not None
assert _SPEC.loader is not None
SCRIPT: Any = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(SCRIPT)
AT = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)


def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(json.loads(codec.published(name)))


def sent(value: Any) -> Any:
    return json.loads(dump(value))


@pytest.mark.parametrize("name", codec.SCHEMAS)
def test_published_schema_is_fresh_and_valid(name: str) -> None:
    assert codec.published(name) == SCRIPT.text(name), "run: python scripts/schemas.py"
    Draft202012Validator.check_schema(json.loads(codec.published(name)))


def test_unknown_schema() -> None:
    with pytest.raises(NotFound, match="there are: report"):
        codec.published("moons")


def test_reports_follow_their_schema() -> None:
    check = validator("report")
    check.validate(sent(report_json(sample_report().report)))
    check.validate(sent(report_json(empty_report())))
    wrong = sent(report_json(sample_report().report))
    assert wrong["topic"] == wrong["question"]
    addresses = {reference["n"]: reference["url"] for reference in wrong["references"]}
    for claim, cited in zip(wrong["claims"], wrong["citations"], strict=True):
        supporting = [e for e in claim["evidence"] if e["relation"] != "contradicts"]
        assert cited == {
            "claim_id": claim["id"],
            "urls": list(dict.fromkeys(addresses[e["reference_n"]] for e in supporting)),
        }
        assert cited["urls"]
    wrong["claims"][0]["verdict"] = "true"
    with pytest.raises(ValidationError):
        check.validate(wrong)
    del wrong["claims"]
    with pytest.raises(ValidationError):
        check.validate(wrong)


def test_events_follow_their_schema() -> None:
    event = Event(1, EventType.PAGE_FETCHED, "run_1", AT, {"url": "https://a.example/", "chars": [1, None, {"a": 1.5}]})
    validator("event").validate(sent(event_json(event)))


def test_search_responses_follow_their_schema() -> None:
    response = SearchResponse(
        "q",
        (SearchResult("A", "https://a.example/", "…", "local", 1, 2.5, AT),),
        answer=None,
        follow_up_questions=("r",),
        info=SearchInfo((ProviderAttempt("local", "ok", 1.5, Decimal("0.001")),), fetched_at=AT, dropped={"domain": 2}),
    )
    validator("search").validate(sent(search_json(response)))
    assert sent(search_json(response))["info"]["providers_tried"][0]["cost_usd"] == 0.001


def test_fetch_results_follow_their_schema_and_leave_the_body_out() -> None:
    sample = sample_report()
    snapshot, document = next(iter(sample.snapshots.values())), next(iter(sample.documents.values()))
    result = FetchResult(
        content="text",
        content_format="markdown",
        status=200,
        content_type="text/html",
        excerpt="text",
        truncated=False,
        next_offset=None,
        title="T",
        final_url=snapshot.final_url,
        canonical_url=snapshot.canonical_url,
        snapshot_id=snapshot.snapshot_id,
        info=FetchInfo("archive", AT, 10, "html", timings_ms=(("read", 1.5),)),
        snapshot=snapshot,
        document=document,
        links=(Link("https://a.example/", "a", 1),),
    )
    data = sent(fetch_json(result))
    validator("fetch").validate(data)
    assert "snapshot" not in data
    assert "document" not in data
    assert data["info"]["fetched_at"] == "2026-11-21T09:30:00Z"


@pytest.mark.parametrize("leaf", list(leaves()), ids=lambda leaf: leaf.code)
def test_errors_follow_their_schema(leaf: Any) -> None:
    validator("error").validate(sent({"error": leaf("what happened").as_dict()}))


def test_shapes_without_a_schema_are_refused() -> None:
    with pytest.raises(TypeError, match="no JSON Schema"):
        SCRIPT._schema(complex, {})
