"""Reports to JSON and back: byte-stable, strict or tolerant, errors that say where."""

import copy
import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.reports import HOSTILE, empty_report, report_stating

from pincite.domain.budget import Metrics
from pincite.domain.errors import InvalidInput, SchemaMismatch
from pincite.domain.report import SCHEMA_VERSION
from pincite.exports.codec import difference, dump, dump_report, load_report, parse, report_json
from pincite.testing.reports import sample_report

REPORT = sample_report().report
RAW = json.loads(dump_report(REPORT))


def changed(path: str, value: object) -> dict[str, Any]:
    raw: dict[str, Any] = copy.deepcopy(RAW)
    *way, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    part: Any = raw
    for step in way:
        part = part[step]
    if value is KeyError:
        del part[last]
    else:
        part[last] = value
    return raw


@pytest.mark.parametrize("report", [REPORT, empty_report()], ids=["complete", "insufficient"])
def test_reading_and_writing_again_gives_the_same_bytes(report: Any) -> None:
    data = dump_report(report)
    loaded = load_report(data, strict=True)
    assert loaded == report
    assert dump_report(loaded) == data
    assert load_report(data.decode()) == report
    assert load_report(json.loads(data)) == report


@given(st.lists(st.sampled_from(HOSTILE) | st.text(max_size=5), max_size=6).map("".join))
def test_any_text_comes_back(text: str) -> None:
    report = report_stating(text)
    assert load_report(dump_report(report), strict=True) == report


@given(st.decimals(min_value=0, max_value=10_000, places=6), st.floats(0, 1e6))
def test_any_amount_comes_back(cost_usd: Decimal, duration_s: float) -> None:
    report = replace(REPORT, metrics=Metrics(cost_usd=cost_usd, duration_s=duration_s))
    data = dump_report(report)
    assert load_report(data, strict=True) == report
    assert dump_report(load_report(data)) == data


def test_members_come_in_the_published_order() -> None:
    assert list(RAW)[:4] == ["schema_version", "run_id", "report_id", "version"]
    assert list(RAW)[-2:] == ["metrics", "markdown"]
    assert RAW["created_at"] == "2026-11-21T09:31:00Z"
    assert RAW["metrics"]["cost_usd"] == 0.012


@pytest.mark.parametrize(
    ("path", "value", "place"),
    [
        ("claims.1.evidence.0.start", "seventy", "claims[1].evidence[0].start"),
        ("claims.1.evidence.0.quote", KeyError, "claims[1].evidence[0]"),
        ("created_at", "yesterday", "created_at"),
        ("status", "fine", "status"),
        ("sections", {}, "sections"),
        ("summary", None, "summary"),
        ("schema_version", "1", "schema_version"),
        ("schema_version", True, "schema_version"),
        ("schema_version", KeyError, "schema_version"),
    ],
)
def test_an_error_says_where(path: str, value: object, place: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        load_report(changed(path, value))
    assert caught.value.reason == "report_field"
    assert caught.value.context["path"] == place


@pytest.mark.parametrize(
    ("path", "value", "place"),
    [
        ("moons", 2, "moons"),
        ("claims.0.moons", 2, "claims[0].moons"),
        ("gaps", KeyError, "gaps"),
        ("created_at", "2026-11-21T10:31:00+01:00", "created_at"),
        ("references.0.note", KeyError, "references[0].note"),
    ],
)
def test_strict_takes_only_the_canonical_form(path: str, value: object, place: str) -> None:
    raw = changed(path, value)
    load_report(raw)
    with pytest.raises(InvalidInput) as caught:
        load_report(raw, strict=True)
    assert caught.value.context["path"] == place


def test_a_broken_rule_is_the_input_s_fault() -> None:
    with pytest.raises(InvalidInput, match="the report breaks a rule") as caught:
        load_report(changed("references.0.n", 7))
    assert caught.value.reason == "report_rule"


def test_a_newer_schema_is_named() -> None:
    with pytest.raises(SchemaMismatch, match=f"schema version {SCHEMA_VERSION + 1}"):
        load_report(changed("schema_version", SCHEMA_VERSION + 1))


@pytest.mark.parametrize("data", [b"", b"{", b"[1]", b"\xff\xfe{", b'{"a": NaN}', "[" * 100_000, "9" * 9_999])
def test_what_is_no_report_is_refused(data: bytes | str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse(data)
    assert caught.value.reason == "report_json"


def test_difference_names_the_first_place() -> None:
    assert difference({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}) == "a[1].b"
    assert difference({"a": [1]}, {"a": [1, 2]}) == "a[1]"
    assert difference({"a": 1}, {"a": 1.0}) is None
    assert difference({"a": 1}, {"a": True}) == "a"
    assert difference([], {}) == ""
    assert difference(report_json(REPORT), RAW) is None


def test_numbers_that_are_no_json_are_never_written() -> None:
    with pytest.raises(ValueError, match="Out of range"):
        dump({"a": float("nan")})
