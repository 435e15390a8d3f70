"""The tables of docs/fetch.md and the ceilings of the limits table are those of the code."""

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from pincite.domain.errors import InvalidInput, InvalidSetting
from pincite.domain.fetch import FetchRequest
from pincite.domain.given import check_request, rules_of
from pincite.fetch import limits
from pincite.fetch.limits import CEILINGS, NOTES, BodyKind, FetchLimits
from pincite.urls.policy import HOST_MAX_CHARS, PORTS, URL_MAX_CHARS

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "fetch.md").read_text(encoding="utf-8")
TABLE = json.loads((ROOT / "tests" / "conformance" / "data" / "limits.json").read_text())


def test_every_member_of_a_request_has_a_rule() -> None:
    assert set(rules_of(FetchRequest)) == {field.name for field in fields(FetchRequest)} - {"validators", "confirms"}
    assert "<!-- generated: fetch_request -->" in PAGE
    assert "| `max_chars` | 6000 | 1 to 12000 |" in PAGE


def test_every_limit_says_of_what() -> None:
    assert set(NOTES) == {field.name for field in fields(FetchLimits)}
    assert "<!-- generated: fetch_limits -->" in PAGE


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mode", "screenshot"),
        ("output_format", "pdf"),
        ("max_chars", 0),
        ("max_chars", 12_001),
        ("max_html_chars", 120_001),
        ("offset", -1),
        ("max_links", 501),
        ("deadline_s", 0.0),
    ],
)
def test_what_is_out_of_its_rule_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        check_request(replace(FetchRequest("https://a.example/"), **{name: value}))
    assert caught.value.reason == name


def test_the_code_keeps_the_hard_ceilings() -> None:
    times, decoded = TABLE["timeouts_s"], TABLE["decoded_bytes_max"]
    assert CEILINGS["html_max_bytes"] == decoded["html"]
    assert CEILINGS["pdf_max_bytes"] == decoded["pdf"]
    assert CEILINGS["total_s"] == times["total_pdf"]
    assert CEILINGS["render_total_s"] == times["render_total"]
    assert CEILINGS["dns_s"] == times["dns"]
    assert CEILINGS["connect_s"] == times["connect_incl_tls"]
    assert CEILINGS["idle_s"] == times["read_idle"]
    assert CEILINGS["redirects_max"] == TABLE["redirects_max"] == TABLE["redirects_robots_max"]
    assert decoded["robots"] == limits.ROBOTS_BYTES_MAX
    assert TABLE["header_bytes_max"] == limits.HEADER_BYTES_MAX
    assert TABLE["header_fields_max"] == limits.HEADER_FIELDS_MAX
    assert TABLE["interim_responses_max"] == limits.INTERIM_RESPONSES_MAX
    assert TABLE["zstd_window_max"] == limits.ZSTD_WINDOW_BYTES_MAX
    assert TABLE["dns_answers_tried_max"] == limits.DNS_ANSWERS_MAX
    assert TABLE["dns_cache_ttl_max_s"] == limits.DNS_CACHE_S
    assert TABLE["happy_eyeballs_delay_ms"] == limits.HAPPY_EYEBALLS_DELAY_S * 1000
    assert TABLE["politeness"] == {
        "per_host_concurrency": FetchLimits().per_host_concurrency,
        "per_host_min_interval_s": 1 / FetchLimits().requests_per_s_per_host,
        "max_crawl_delay_s": limits.CRAWL_DELAY_MAX_S,
        "retry_after_max_s": limits.RETRY_AFTER_MAX_S,
    }
    assert TABLE["min_speed"] == {
        "bytes_per_s": FetchLimits().min_bytes_per_s,
        "over_s": FetchLimits().min_speed_over_s,
    }
    assert set(TABLE["ports_default_allow"]) == PORTS
    assert TABLE["url_max_chars"] == URL_MAX_CHARS
    assert TABLE["host_max"] == HOST_MAX_CHARS


@pytest.mark.parametrize("name", sorted(CEILINGS))
def test_no_setting_passes_its_ceiling(name: str) -> None:
    kind = type(getattr(FetchLimits(), name))
    FetchLimits(**{name: kind(CEILINGS[name])})
    with pytest.raises(InvalidSetting):
        FetchLimits(**{name: kind(CEILINGS[name]) + 1})
    with pytest.raises(InvalidSetting):
        FetchLimits(**{name: -1})


def test_kinds_have_their_sizes() -> None:
    plain = FetchLimits()
    assert plain.max_bytes(BodyKind.HTML) == 2_000_000
    assert plain.max_bytes(BodyKind.PDF) == 33_554_432
    assert plain.max_bytes(BodyKind.DOCUMENT) == 50_000_000
    assert (plain.deadline(None), plain.deadline(3.0), plain.deadline(1000)) == (12.0, 3.0, 40.0)
