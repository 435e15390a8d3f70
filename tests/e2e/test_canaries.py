"""A canary in every key setting is found in no log, event, table, report, bundle, error or metric."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import get_args

from pydantic import SecretStr
from tests.e2e.commands import command
from tests.fakes.engines import EngineServer, FakeEngines

from pincite.settings import Settings, environment_names
from pincite.testing.web import html, write_warc

CANARY = "canary7f3c9e"


def canaries() -> dict[str, str]:
    """A value for every secret setting, each with the canary in it."""
    made = {}
    for name, field in Settings.model_fields.items():
        if SecretStr in (field.annotation, *get_args(field.annotation)):
            value = f"{CANARY}-{name}"
            if field.annotation == dict[str, SecretStr]:
                value = f"intranet.example=Cookie: {value}" if name == "site_sessions" else f"server={value}"
            if name == "database_url":
                continue  # it has to lead somewhere; its password has a test of its own
            if name.endswith(("_url", "proxy")):
                scheme = "redis" if "redis" in name else "http"
                value = f"{scheme}://user:{value}@127.0.0.1:1"
            made[environment_names(name)[0]] = value
    return made


def test_no_secret_is_found_anywhere(tmp_path: Path) -> None:
    text = "The bridge of Ostrow was opened in 1931. It carries two railway tracks over the river Warta."
    write_warc(tmp_path / "pages.warc.gz", {"https://bridges.example/ostrow": html("Bridge of Ostrow", text)})
    pincite = command(tmp_path / "home", tmp_path)
    closed = {f"PINCITE_{name}_BASE_URL": "http://127.0.0.1:1" for name in ("TAVILY", "EXA")}
    environ = {**canaries(), **closed, "PINCITE_LOG_LEVEL": "debug", "PINCITE_LOG_FORMAT": "json"}
    source = ("--source", "local:pages.warc.gz")
    seen = []
    for arguments in (
        ("research", "When was the bridge of Ostrow opened?", *source, "-o", "report.html", "--bundle", "r.wacz"),
        ("research", "How many tracks does the bridge of Ostrow carry?", *source, "--queue"),
        ("worker", "--until-idle"),
        ("search", "bridge", "--source", "tavily,exa", "--json"),
        ("fetch", "http://127.0.0.1:1/", "--json"),
        ("runs", "show", "last", "--trace"),
        ("runs", "show", "last", "--json"),
        ("doctor",),
        ("scope", "export", "local", "-o", "export.jsonl"),
    ):
        ended = pincite(*arguments, environ=environ)
        assert "Traceback" not in ended.err, ended.err
        seen.append(ended.out + ended.err)
    assert CANARY not in "".join(seen)
    assert "run_" in "".join(seen)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"report.html", "r.wacz", "pincite.sqlite", "export.jsonl"} <= {path.name for path in files}
    assert [path.name for path in files if CANARY.encode() in path.read_bytes()] == []
    with closing(sqlite3.connect(tmp_path / "home" / "pincite.sqlite")) as raw, raw:
        assert CANARY not in "\n".join(raw.iterdump())


TYPED = (
    f"why does curl -H 'Authorization: Bearer {CANARY}0123456789' answer 401",
    f"OPENAI_API_KEY={CANARY}-typed is refused by the bridge of Ostrow",
)


def test_a_secret_typed_into_a_query_stays_in_no_log_and_no_cache(tmp_path: Path) -> None:
    """Runs keep their question until they are deleted; what people only searched for is kept nowhere else."""
    pincite = command(tmp_path / "home", tmp_path)
    environ = {"PINCITE_TAVILY_API_KEY": f"{CANARY}-of-the-settings", "PINCITE_LOG_LEVEL": "debug"}
    said = []
    with EngineServer(engines := FakeEngines()) as server:
        environ["PINCITE_TAVILY_BASE_URL"] = engines.base_url("tavily", server.origin)
        for query in (*TYPED, f"what is {CANARY}-of-the-settings for", "connection pool"):
            found = pincite("search", query, "--source", "tavily", "--json", environ=environ)
            assert found.code == 0, found.err
            said.append(found.err)
    log = pincite("log", "--json", environ=environ)
    assert log.out.count('"search"') >= len(said)
    assert "***" in log.out
    assert CANARY not in "".join((*said, log.out, log.err))
    files = [path for path in (tmp_path / "home").rglob("*") if path.is_file()]
    assert {"log.sqlite", "cache.sqlite"} <= {path.name for path in files}
    assert [path.name for path in files if CANARY.encode() in path.read_bytes()] == []
