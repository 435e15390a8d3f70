"""robots.txt: every row of the table that parsing alone decides. Rows about fetching are in test_robots_fetch_cases."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.cpu_time import cpu_at_most

from pincite.fetch.robots import page_signals, parse_robots, robots_verdict

CASES = json.loads((Path(__file__).parent / "data" / "robots_cases.json").read_text())["cases"]


def rows(kind: str) -> list[Any]:
    return [pytest.param(case, id=case["id"]) for case in CASES if case["kind"] == kind]


@pytest.mark.parametrize("case", rows("match"))
def test_match(case: dict[str, Any]) -> None:
    assert robots_verdict(case["robots"].encode(), case["url"], case["agent"]) is case["allowed"]


@pytest.mark.parametrize("case", rows("delay"))
def test_delay(case: dict[str, Any]) -> None:
    assert parse_robots(case["robots"].encode()).delay_s(case["agent"]) == case["delay"]


@pytest.mark.parametrize("case", rows("usage"))
def test_usage_signals(case: dict[str, Any]) -> None:
    robots = case["robots"].encode()
    assert parse_robots(robots).signals(case["agent"]) == case["signals"]
    assert robots_verdict(robots, "https://site.example/a", case["agent"])


@pytest.mark.parametrize("case", [row for row in rows("page_signal") if ":" in row.values[0]["input"]])
def test_page_signals(case: dict[str, Any]) -> None:
    name, _, value = case["input"].partition(":")
    found = page_signals([(name.lower(), value.strip())], case["agent"], now=datetime(2026, 11, 21, tzinfo=UTC))
    assert [signal for signal in found if signal != "noindex" or "noindex" in case["signals"]] == case["signals"]
    assert ("noindex" in found) == ("noindex" in case["signals"] or "past date" in case["note"])


def test_a_large_file_is_parsed_in_time() -> None:
    data = b"user-agent: *\n" + b"".join(b"disallow: /a%d/*x*y*z$\n" % i for i in range(20_000))
    with cpu_at_most(1):
        assert robots_verdict(data, "https://site.example/" + "a" * 2_000, "Pincite")


def test_no_pattern_takes_exponential_time() -> None:
    data = b"user-agent: *\ndisallow: /" + b"*a" * 5_000 + b"b$\n"
    with cpu_at_most(0.5):
        assert robots_verdict(data, "https://site.example/" + "a" * 8_000, "Pincite")
