"""`pincite search` against the fake engines on loopback, as a user runs it."""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests import warm
from tests.fakes.engines import EngineServer, FakeEngines


@pytest.fixture
def engines() -> FakeEngines:
    return FakeEngines()


@pytest.fixture
def environment(engines: FakeEngines, tmp_path: Path) -> Iterator[dict[str, str]]:
    with EngineServer(engines) as server:
        yield {
            "PATH": os.environ["PATH"],
            "PINCITE_HOME": str(tmp_path / "home"),
            "XDG_CONFIG_HOME": str(tmp_path / "config"),
            **{f"{name.upper()}_API_KEY": "k" for name in ("tavily", "exa", "serper")},
            **{
                f"PINCITE_{name.upper()}_BASE_URL": engines.base_url(name, server.origin)
                for name in ("tavily", "exa", "serper", "duckduckgo")
            },
        }


def pincite(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    cwd = Path(environment["PINCITE_HOME"])
    cwd.mkdir(exist_ok=True)
    done: subprocess.CompletedProcess[str] = warm.run("search", *arguments, env=environment, cwd=cwd)
    return done


def test_the_best_engine_answers_and_the_cache_remembers(engines: FakeEngines, environment: dict[str, str]) -> None:
    first = pincite(environment, "how to configure a connection pool", "--explain")
    assert first.returncode == 0, first.stderr
    assert "https://docs.example.org/pool" in first.stdout
    assert "1. tavily" in first.stderr
    assert "cost: $0.016" in first.stderr
    again = pincite(environment, "How to configure a connection pool?", "--json")
    body = json.loads(again.stdout)
    assert body["info"]["cache"] == "hit"
    assert float(body["info"]["cost_usd"]) == 0
    assert len(engines.calls) == 1


def test_named_engines_are_fused(engines: FakeEngines, environment: dict[str, str]) -> None:
    done = pincite(environment, "connection pool", "--source", "tavily,exa", "--json")
    body = json.loads(done.stdout)
    assert {tried["provider"] for tried in body["info"]["providers_tried"]} == {"tavily", "exa"}
    assert len({hit["url"] for hit in body["results"]}) == len(body["results"])


def test_without_a_key_duckduckgo_is_asked(engines: FakeEngines, environment: dict[str, str]) -> None:
    bare = {name: value for name, value in environment.items() if not name.endswith("_API_KEY")}
    done = pincite(bare, "connection pool", "--json")
    assert done.returncode == 0, done.stdout
    assert {call.provider for call in engines.calls} == {"duckduckgo"}


def test_errors_are_told_apart(engines: FakeEngines, environment: dict[str, str]) -> None:
    engines.modes.update({"tavily": "out_of_credit", "exa": "bad_key", "serper": "bad_request"})
    done = pincite(environment, "connection pool", "--json")
    assert done.returncode == 5
    message = json.loads(done.stdout)["error"]["message"]
    assert "tavily is out of credit" in message
    assert "exa refused the key" in message
    assert pincite(environment, "connection pool", "--source", "bing").returncode == 2
    missing = pincite(environment, "connection pool", "--source", "brave")
    assert missing.returncode == 5
    assert "BRAVE_API_KEY" in missing.stderr
    assert pincite(environment, "connection pool", "--topic", "sports").returncode == 2


def test_duckduckgo_is_asked_every_two_and_a_half_seconds_at_most(
    engines: FakeEngines, environment: dict[str, str]
) -> None:
    alone = {name: value for name, value in environment.items() if not name.endswith("_API_KEY")}
    started = time.monotonic()
    for query in ("connection pool", "statement timeout", "deadlock"):
        assert pincite(alone, query).returncode == 0
    assert len(engines.calls) == 3
    # The first call goes at once; the others wait for their turn although each is a process of its own.
    assert time.monotonic() - started >= 5.0


def test_keys_take_turns_over_the_calls_of_a_day(engines: FakeEngines, environment: dict[str, str]) -> None:
    two_keys = {name: value for name, value in environment.items() if not name.endswith("_API_KEY")}
    two_keys["EXA_API_KEY"] = "first,second"
    two_keys["PINCITE_EXA_BASE_URL"] = environment["PINCITE_TAVILY_BASE_URL"].replace("tavily", "exa")
    for n in range(4):
        assert pincite(two_keys, f"connection pool {n}").returncode == 0
    keys = [call.headers["x-api-key"] for call in engines.calls]
    assert sorted(keys) == ["first", "first", "second", "second"]


def test_a_file_type_is_asked_for_where_the_engine_can_and_said_where_it_can_not(
    engines: FakeEngines, environment: dict[str, str]
) -> None:
    deaf = pincite(environment, "connection pool", "--source", "exa", "--file-type", "pdf")
    assert (deaf.returncode, deaf.stdout.strip()) == (0, "No results."), deaf.stderr
    assert "exa: no filter by file type" in deaf.stderr
    assert "here. Nothing was found." in deaf.stderr
    assert "(file_type)" in deaf.stderr
    assert "pdf" in engines.seen("exa")[0].body["query"]
    told = pincite(environment, "connection pool intitle:pool", "--source", "serper", "--file-type", "pdf", "--json")
    assert engines.seen("serper")[0].body["q"] == "connection pool filetype:pdf intitle:pool"
    assert all("pool" in hit["title"].lower() for hit in json.loads(told.stdout)["results"])
    assert json.loads(told.stdout)["results"]
