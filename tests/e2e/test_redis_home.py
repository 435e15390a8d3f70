"""Limits and cache in Redis by one setting; which one is used, and what happens when it is gone."""

from pathlib import Path

from tests.e2e.commands import EXAMPLES, command, with_library

UPSTASH = {"UPSTASH_REDIS_REST_URL": "https://eu1.upstash.example", "UPSTASH_REDIS_REST_TOKEN": "t0ken-of-upstash"}


def test_doctor_says_which_redis_is_used(tmp_path: Path) -> None:
    pincite = command(tmp_path, tmp_path)
    row = "limits and cache"
    assert pincite("doctor", "--json").json["Shared"][row] == "in the home"
    upstash = pincite("doctor", "--json", environ=UPSTASH)
    assert upstash.json["Shared"][row] == "Upstash at eu1.upstash.example"
    both = pincite(
        "doctor", "--json", environ={**UPSTASH, "PINCITE_REDIS_URL": "redis://:pa55word@cache.example:6380/2"}
    )
    assert both.json["Shared"][row].startswith("redis://cache.example:6380 (UPSTASH_REDIS_REST_URL is set, too")
    assert "t0ken" not in upstash.out + both.out
    assert "pa55word" not in both.out


def test_research_goes_on_without_a_redis_that_is_gone(demo_home: Path, tmp_path: Path) -> None:
    pincite = command(with_library(tmp_path, demo_home), tmp_path)
    gone = {"PINCITE_REDIS_URL": "redis://127.0.0.1:1/0"}
    source = ("--source", f"local:{EXAMPLES}")
    ended = pincite("research", "What does VACUUM do?", *source, "--json", environ=gone)
    assert ended.code == 0, ended.err
