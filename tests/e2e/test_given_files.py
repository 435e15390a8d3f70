"""A file of one's own is read as a page is, at every door; a path is only ever read where a person typed it."""

import json
from base64 import b64encode
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import anyio
import httpx2
import pytest
from mcp import Client
from tests.e2e.commands import Pincite

from pincite import sync
from pincite.domain.errors import EmptyContent, InvalidInput, PinciteError, TooLarge, UnsupportedContentType
from pincite.domain.fetch import FetchRequest
from pincite.domain.ids import sha256_hex
from pincite.engine import Engine
from pincite.surfaces.http.app import create_app
from pincite.surfaces.http.gate import KeyRing
from pincite.surfaces.mcp.server import make_server, own_tools
from pincite.testing.web import html

TEXT = "The lock manager keeps one row for each lock that a transaction holds or waits for."
PAGE = html("Locks", TEXT, "A lock table has room for 64 locks of each transaction.")


def pdf(text: str) -> bytes:
    """A PDF with one line, written by hand."""
    stream = f"BT /F1 12 Tf 50 700 Td ({text}) Tj ET".encode()
    objects = (
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    )
    out, places = b"%PDF-1.4\n", []
    for n, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj%s\nendobj\n" % (n, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return (
        out
        + b"xref\n0 6\n0000000000 65535 f \n"
        + table
        + b"trailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % len(out)
    )


def test_a_file_is_printed_as_a_page_is(pincite: Pincite, tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "notes.html").write_bytes(PAGE)
    (work / "paper.pdf").write_bytes(pdf("A lock table has room for 64 locks."))
    (work / "404.html").write_bytes(html("404 not found", TEXT))
    ended = pincite("fetch", "notes.html")
    assert ended.code == 0, ended.err
    assert "title: Locks\n" in ended.out
    assert TEXT in ended.out
    assert f"url: local:given-{sha256_hex(PAGE)[:16]}/notes.html" in ended.out
    read = pincite("fetch", str(work / "paper.pdf"), "--json")
    assert "A lock table has room for 64 locks." in read.json["content"]
    assert read.json["info"]["via"] == "given"
    assert TEXT in pincite("fetch", "404.html").out, "what was given is what was meant"
    summary = pincite("summarize", "notes.html", "--json").json
    assert summary["points"][0]["url"].endswith("/notes.html"), "a summary is of a file, too"
    window = pincite("fetch", "notes.html", "--max-chars", "20", "--format", "text", "--json").json
    assert (window["truncated"], window["content_format"]) == (True, "text")
    logged = pincite("log", "--json").json
    assert [call["tool"] for call in (logged if isinstance(logged, list) else logged["calls"])].count("parse") == 5


@pytest.mark.parametrize(
    ("name", "data", "code"),
    [
        ("empty.html", b"", "INVALID_INPUT"),
        ("noise.png", bytes(range(256)) * 9, "UNSUPPORTED_CONTENT_TYPE"),
        ("broken.pdf", b"%PDF-1.7 broken", "PARSE_ERROR"),
        ("none.html", None, "INVALID_URL"),
    ],
)
def test_what_can_not_be_read_is_told(
    pincite: Pincite, tmp_path: Path, name: str, data: bytes | None, code: str
) -> None:
    if data is not None:
        (tmp_path / "work" / name).write_bytes(data)
    ended = pincite("fetch", name, "--json")
    assert ended.json["error"]["code"] == code
    assert ended.code in {2, 4}


async def test_the_library_takes_bytes(tmp_path: Path) -> None:
    async with Engine.from_settings(home=tmp_path) as engine:
        page = await engine.parse(PAGE, name="../../etc/a b\n.html", request=FetchRequest("", include_links=True))
        assert (page.title, page.info.via, page.snapshot.robots) == ("Locks", "given", "not_asked")
        assert page.final_url.endswith("/a%20b.html")
        stored, document = await engine.snapshot(page.snapshot_id)
        assert stored.body == PAGE
        assert document is not None
        assert TEXT in document.text
        with pytest.raises(UnsupportedContentType):
            await engine.parse(b"\x89PNG\r\n\x1a\n" + bytes(200), name="a.png")
        with pytest.raises(EmptyContent):
            await engine.parse(b"<html></html>", name="a.html")
        with pytest.raises(TooLarge):
            await engine.parse(b"<html>" + b"x" * 2_000_000, name="a.html")
        with pytest.raises(InvalidInput):
            await engine.parse(b"", name="a.html")
        with pytest.raises(InvalidInput):
            await engine.parse(PAGE, request=FetchRequest("", max_chars=0))
        with pytest.raises(PinciteError):
            await engine.fetch(str(tmp_path))


def test_the_blocking_twin_takes_them_too(tmp_path: Path) -> None:
    assert TEXT in sync.parse(PAGE, name="a.html", home=tmp_path).content


async def test_a_server_reads_what_is_sent_and_no_file_of_its_own(tmp_path: Path) -> None:
    secret = tmp_path / "secret.html"
    secret.write_bytes(html("Secret", "The secret of the server stands here, in plain words."))
    app = create_app(lambda scope, profile: Engine.from_settings(home=tmp_path, scope=scope), KeyRing(tmp_path))
    transport = httpx2.ASGITransport(app=app, client=("127.0.0.1", 1))
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=60) as client,
    ):
        sent = {"Content-Type": "text/html"}
        page = await client.post("/v1/parse?max_chars=30&format=text", content=PAGE, headers=sent)
        assert page.status_code == 200, page.text
        assert (page.json()["title"], page.json()["truncated"]) == ("Locks", True)
        by_name = await client.post("/v1/parse", params={"name": "a.pdf"}, content=pdf("Sixty-four locks fit."))
        assert "Sixty-four locks fit." in by_name.json()["content"]
        kept = await client.get(f"/v1/snapshots/{page.json()['snapshot_id']}?format=raw")
        assert kept.content == PAGE
        for path in (str(secret), secret.as_uri(), "secret.html"):
            refused = await client.post("/v1/fetch", json={"url": path})
            assert refused.status_code == 422
            named = await client.post("/v1/parse", params={"name": path}, content=b"")
            assert (named.status_code, named.json()["reason"]) == (422, "file_empty")
        noise = await client.post("/v1/parse", content=b"\x89PNG\r\n\x1a\n" + bytes(99))
        assert (noise.status_code, noise.json()["code"]) == (422, "UNSUPPORTED_CONTENT_TYPE")
        large = await client.post("/v1/parse", content=bytes(5_000_001))
        assert large.status_code == 413


async def test_a_form_sends_a_file_and_a_question_is_answered_from_it(tmp_path: Path) -> None:
    def open_engine(scope: str, profile: str | None) -> Engine:
        return Engine.from_settings(home=tmp_path, scope=scope)

    keys = KeyRing(tmp_path)
    theirs = {"Authorization": f"Bearer {keys.create('other', scope='other')}"}
    ours = {"Authorization": f"Bearer {keys.create('ours', scope='ours')}"}
    app = create_app(open_engine, keys)
    transport = httpx2.ASGITransport(app=app, client=("127.0.0.1", 1))
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=60) as client,
    ):
        sent = await client.post("/v1/parse", files={"file": ("locks.html", PAGE, "text/html")}, headers=ours)
        assert sent.status_code == 200, sent.text
        assert sent.json()["title"] == "Locks"
        url = sent.json()["final_url"]
        both = [("file", ("a.html", PAGE, "text/html")), ("file", ("b.html", PAGE, "text/html"))]
        for files, reason in ((both, "one_file"), ([("file", ("c.html", PAGE, "text/html"))] * 6, "not_a_form")):
            refused = await client.post("/v1/parse", files=files, headers=ours)
            assert (refused.status_code, refused.json()["reason"]) == (422, reason)
        broken = await client.post(
            "/v1/parse", content=b"--x\r\nnothing", headers={**ours, "Content-Type": "multipart/form-data; boundary=x"}
        )
        assert (broken.status_code, broken.json()["code"]) == (422, "INVALID_INPUT")
        asked = {"question": "How many locks of each transaction has a lock table room for?", "urls": [url]}
        answered = await client.post("/v1/research", json=asked, headers={**ours, "Prefer": "wait=60"})
        assert answered.status_code in {200, 202}, answered.text
        run = answered.json()["id"]
        report = await finished(client, run, ours)
        assert [reference["url"] for reference in report["references"]] == [url]
        assert "64 locks" in json.dumps(report["summary"])
        nobody = await client.post("/v1/research", json=asked, headers=theirs)
        report = await finished(client, nobody.json()["id"], theirs)
        assert report["references"] == [], "what one hands over is no source of another"
        made_up = {**asked, "urls": ["local:given-0000000000000000/../../etc/passwd"]}
        refused = await client.post("/v1/research", json=made_up, headers=ours)
        assert refused.status_code == 422


async def finished(client: httpx2.AsyncClient, run_id: str, headers: dict[str, str]) -> dict[str, Any]:
    for _ in range(600):
        told = await client.get(f"/v1/research/{run_id}", headers=headers)
        if told.json()["status"] not in {"queued", "running"}:
            break
        await anyio.sleep(0.1)
    report = await client.get(f"/v1/research/{run_id}/report", headers=headers)
    found: dict[str, Any] = report.json()
    return found


async def test_an_assistant_sends_a_file_in_base64(tmp_path: Path) -> None:
    secret = tmp_path / "secret.html"
    secret.write_bytes(PAGE)
    async with Client(make_server(own_tools(home=tmp_path, profile="quick"), "default")) as client:
        told = await client.call_tool("parse", {"content": b64encode(PAGE).decode(), "name": "a.html"})
        assert not told.is_error, told.content
        assert TEXT in json.dumps(told.structured_content)
        for arguments, reason in (
            ({"content": "no base64!"}, "INVALID_INPUT"),
            ({"content": b64encode(b"\x00" * 99).decode()}, "UNSUPPORTED_CONTENT_TYPE"),
        ):
            refused = await client.call_tool("parse", arguments)
            assert refused.is_error
            assert reason in "".join(getattr(item, "text", "") for item in refused.content)
        refused = await client.call_tool("web_fetch", {"url": str(secret)})
        assert refused.is_error


CLUB = (
    b"<html><head><title>Harbour Rowing Club</title></head><body><main><h1>Harbour Rowing Club</h1><h2>Fees</h2><p>"
    b"Members pay once a year. The annual fee for adults is <s>180 euros</s> 210 euros. The annual fee for students is"
    b" 90 euros. Payment is due in March.</p><table><tr><th>Boat</th><th>Fee</th></tr>"
    b"<tr><td>Skiff</td><td><del>20 euros</del> 25 euros</td></tr></table></main></body></html>"
)


def test_a_struck_price_is_shown_as_struck_and_is_no_fact(pincite: Pincite, tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "club").mkdir()
    (work / "club" / "fees.html").write_bytes(CLUB)
    assert pincite("index", "club").code == 0
    found = pincite("search", "annual fee for adults", "--json").json
    assert "is 210 euros." in json.dumps(found)
    assert "180" not in json.dumps(found), "a list of pages shows what holds"
    written = [f"r.{name}" for name in ("json", "html", "docx")]
    ended = pincite("research", "What is the annual fee for adults?", *(f"--output={name}" for name in written))
    assert "The annual fee for adults is ~~180 euros~~ 210 euros. [1]" in ended.out.replace("\n", " ")
    report = json.loads((work / "r.json").read_text(encoding="utf-8"))
    said = next(s for s in report["summary"]["sentences"] if "adults" in s["text"])
    assert (said["proof"], [said["text"][slice(*span)] for span in said["struck"]]) == ("quoted", ["~~180 euros~~"])
    page = (work / "r.html").read_text(encoding="utf-8")
    assert "<s>180 euros</s> 210 euros" in page
    assert "<mark><s>180 euros</s></mark><mark> 210 euros.</mark>" in page, "the passage behind it shows it, too"
    with ZipFile(work / "r.docx") as word:
        assert '<w:strike/></w:rPr><w:t xml:space="preserve">180 euros</w:t>' in word.read("word/document.xml").decode()
    assert pincite("check", "r.json").code == 0
    rows = pincite("research", "What is the fee of each boat?").out
    assert "| Skiff | ~~20 euros~~ 25 euros |" in rows


def test_what_a_mail_repeats_is_no_statement_of_it(pincite: Pincite, tmp_path: Path) -> None:
    folder = tmp_path / "work" / "mails"
    folder.mkdir()
    (folder / "reply.eml").write_text(
        "From: Bo Quay <bo@light.example>\nSubject: The boat house key\nDate: Tue, 4 Mar 2025 10:00:00 +0000\n\n"
        "> The boat house key hangs behind the red door.\n\nNo, the boat house key moved to the office in February.\n",
        encoding="utf-8",
    )
    assert pincite("index", "mails").code == 0
    said = pincite("research", "Where is the boat house key?").out
    assert "the boat house key moved to the office in February." in said
    assert "red door" not in said
