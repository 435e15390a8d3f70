"""What stays of pages after a run, checked in each mode; and no credential of an address leaves with anything."""

import gzip
import io
import json
import logging
import sqlite3
import zipfile
import zlib
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pincite import errors
from pincite.domain.codec import to_json
from pincite.domain.report import Report
from pincite.engine import Engine
from pincite.settings import Settings, load_settings
from pincite.testing.web import PUBLIC_NETWORK, PUBLIC_STAND_IN, StubWeb
from pincite.wiring.checking import check_stored_report

QUESTION = "How tall is the Halden lighthouse?"
FACT = "The Halden lighthouse is 31 metres tall and was first lit in 1888."
FILLER = "Nothing else on this coast was built of granite, as the keeper liked to say to visitors. " * 20
MARKER = "The secret garden behind the tower has forty roses."
CANARY = "c4n4ryAKIA9876543210zyxwvu"


def page(head: str = "") -> str:
    body = f"<p>{FACT} {FILLER}</p><p>{FILLER}</p><p>{MARKER} {FILLER}</p>"
    return f"<html lang=en><head><title>Halden lighthouse</title>{head}</head><body><main>{body}</main></body></html>"


@pytest.fixture
async def web() -> AsyncIterator[StubWeb]:
    async with StubWeb() as running:
        running.page("/light", page())
        running.page("/asked", page("<meta name=robots content=noarchive>"))
        running.page("/told", page(), headers={"X-Robots-Tag": "noarchive"})
        yield running


def settings_for(web: StubWeb, home: Path, **more: Any) -> Settings:
    return load_settings(
        {
            "home": home,
            "allow_networks": (PUBLIC_NETWORK,),
            "allow_ports": (web.port,),
            "resolve": (f"site.example:{web.port}:{PUBLIC_STAND_IN}",),
            **more,
        },
        environ={},
        files=(),
    )


async def researched(settings: Settings, url: str, told: list[Any] | None = None) -> Report:
    async with Engine.from_settings(settings) as engine:
        on_event = None if told is None else told.append
        return await engine.research(QUESTION, urls=(url,), on_event=on_event)


async def bundled(run_id: str, settings: Settings) -> bytes:
    async with Engine.from_settings(settings) as engine:
        return await engine.bundle(run_id, "full")


def stored_bytes(home: Path) -> bytes:
    with closing(sqlite3.connect(home / "pincite.sqlite")) as database, database:
        rows = database.execute("SELECT encoding, content FROM blobs").fetchall()
    return b"\n".join(zlib.decompress(content) if encoding == "zlib" else content for encoding, content in rows)


def unpacked(bundle: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(bundle)) as files:
        read = {name: files.read(name) for name in files.namelist()}
    return b"\n".join(gzip.decompress(data) if name.endswith(".gz") else data for name, data in read.items())


@pytest.mark.parametrize(
    ("path", "setting", "kept"),
    [
        ("/light", {}, "full"),
        ("/light", {"snapshot_body": "run"}, "run"),
        ("/light", {"snapshot_body": "excerpts"}, "excerpts"),
        ("/light", {"snapshot_body_domains": {"site.example": "excerpts"}}, "excerpts"),
        ("/light", {"snapshot_body": "run", "snapshot_body_domains": {"site.example": "full"}}, "full"),
        ("/asked", {}, "excerpts"),
        ("/told", {"snapshot_body_domains": {"site.example": "full"}}, "excerpts"),
    ],
)
async def test_check_works_on_what_stays(
    web: StubWeb, tmp_path: Path, path: str, setting: dict[str, Any], kept: str
) -> None:
    settings = settings_for(web, tmp_path, **setting)
    report = await researched(settings, web.url("site.example", path))
    assert report.claims, report.gaps
    data = json.dumps(to_json(report, outside=True)).encode()
    bundle = await bundled(report.run_id, settings)
    for evidence in (data, bundle):
        result = check_stored_report(evidence, settings)
        assert (result.status, result.problems) == ("passed", ())
        assert result.kept == {kept: 1}
    remaining = stored_bytes(tmp_path)
    assert FACT.encode() in remaining
    assert (b"<main>" in remaining) == (kept == "full")
    assert (MARKER.encode() in remaining) == (kept != "excerpts")
    assert (MARKER.encode() in unpacked(bundle)) == (kept != "excerpts")
    assert (b"<main>" in unpacked(bundle)) == (kept == "full")
    changed = json.loads(data)
    changed["claims"][0]["evidence"][0]["start"] += 1
    assert check_stored_report(json.dumps(changed).encode(), settings).status == "failed"


async def test_a_run_of_which_excerpts_stayed_says_why_it_cannot_be_replayed(web: StubWeb, tmp_path: Path) -> None:
    settings = settings_for(web, tmp_path, snapshot_body="excerpts")
    report = await researched(settings, web.url("site.example", "/light"))
    async with Engine.from_settings(settings) as engine:
        with pytest.raises(errors.Conflict) as caught:
            await engine.replay(report.run_id)
        assert caught.value.reason == "excerpts_only"
        again = await engine.fetch(web.url("site.example", "/light"))  # not from a shared copy
        assert again.info.cache == "miss"
    assert web.count("/light") == 2
    assert MARKER.encode() not in stored_bytes(tmp_path)


@pytest.mark.parametrize("kept", ["run", "excerpts"])
@pytest.mark.parametrize("command", ["fetch", "audit", "recheck"])
async def test_pages_read_outside_of_a_run_are_cut_back_too(
    web: StubWeb, tmp_path: Path, command: str, kept: str
) -> None:
    # An audit takes names that nobody can have for invented, `.example` among them.
    settings = settings_for(
        web, tmp_path, snapshot_body=kept, resolve=(f"halden-light.com:{web.port}:{PUBLIC_STAND_IN}",)
    )
    url = web.url("halden-light.com", "/light")
    report = await researched(settings, url)
    async with Engine.from_settings(settings) as engine:
        if command == "fetch":
            assert MARKER in (await engine.fetch(url)).content
        elif command == "audit":
            audit = await engine.audit(f"{FACT} [1]\n\n[1]: {url}")
            assert [sentence.outcome.value for sentence in audit.sentences][:1] == ["supported"]
        else:
            assert (await engine.recheck(report)).stands
    assert web.count("/light") == 2
    assert b"<main>" not in stored_bytes(tmp_path)
    assert (MARKER.encode() in stored_bytes(tmp_path)) == (kept == "run")


async def test_no_credential_of_an_address_leaves(
    web: StubWeb, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    settings = settings_for(web, tmp_path)
    signed = f"?X-Amz-Signature={CANARY}&api_key={CANARY}&page=1"
    web.redirect("/from", f"/light{signed}")
    web.page("/gone", "x", status=404)
    told: list[Any] = []
    run_ids = []
    for path in (f"/light{signed}", f"/from?token={CANARY}"):
        report = await researched(settings, web.url("site.example", path), told)
        run_ids.append(report.run_id)
        assert report.claims
        assert CANARY not in json.dumps(to_json(report))
        data = json.dumps(to_json(report, outside=True)).encode()
        assert check_stored_report(data, settings).status == "passed"
    async with Engine.from_settings(settings) as engine:
        failed = await engine.research(
            QUESTION, urls=(web.url("site.example", f"/gone{signed}"),), on_event=told.append
        )
        assert CANARY not in json.dumps(to_json(failed))
        assert failed.metrics.dead_links == 1
        assert failed.leads[0].reason == "http_404"
        for url in (f"/gone{signed}", f"/light{signed}&\r\n"):
            with pytest.raises(errors.PinciteError) as caught:
                await engine.fetch(web.url("site.example", url))
            assert CANARY not in json.dumps([caught.value.as_dict(), str(caught.value), caught.value.context])
        for run_id in run_ids:
            view = await engine.view(run_id)
            assert CANARY not in json.dumps(to_json(view.events))
            for format_ in ("json", "html", "md", "csv", "csl.json", "bib", "ris"):
                assert CANARY.encode() not in await engine.export(await engine.report(run_id), format_)
    assert CANARY not in json.dumps([to_json(event) for event in told])
    assert CANARY not in caplog.text
    for run_id in run_ids:
        bundle = await bundled(run_id, settings)
        assert CANARY.encode() not in bundle + unpacked(bundle)
        assert check_stored_report(bundle, settings).status == "passed"
    assert any(CANARY in request.target for request in web.requests)  # what was sent is what was asked for
