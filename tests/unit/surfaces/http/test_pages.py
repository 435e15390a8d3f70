"""The web pages: complete without scripts, safe with any text, each scope its own, forms only from our own pages."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx2
import pytest
from lxml import html as parser
from tests.fakes.reports import HOSTILE, empty_report, report_stating
from tests.fakes.stored import keep_report, large_report

from pincite.domain.events import EventType, Json, RunStatus
from pincite.domain.report import PartStatus, ReportGap, ReportPart, ReportStatus
from pincite.domain.report_words import NOT_SURELY_ALL
from pincite.engine import Engine
from pincite.surfaces.http.app import create_app
from pincite.surfaces.http.gate import KeyRing
from pincite.surfaces.http.service import COOKIE, LIFETIME_S, Sessions
from pincite.surfaces.http.ui.asking import LABELS
from pincite.testing.reports import SampleReport, sample_report

AS_BROWSER = {"Accept": "text/html,application/xhtml+xml"}
TABS = ("", "/sources", "/claims", "/conflicts", "/gaps", "/trace", "/export")
SAMPLE = sample_report()
RUN = f"/runs/{SAMPLE.report.run_id}"


class Browser:
    """A browser without scripts: follows forms with their hidden fields."""

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self._client = client

    async def get(self, path: str) -> httpx2.Response:
        return await self._client.get(path, headers=AS_BROWSER, follow_redirects=True)

    async def send(self, path: str, action: str, **fields: str) -> httpx2.Response:
        """The form of a page that goes to `action`, filled in."""
        page = parser.document_fromstring((await self.get(path)).text)
        form = next(form for form in page.forms if form.action == action)
        data = {name: value or "" for name, value in form.form_values()} | fields
        return await self._client.post(action, data=data, headers=AS_BROWSER)


@asynccontextmanager
async def opened(app: Any) -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(app=app)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client,
    ):
        yield client


@pytest.fixture
def library(tmp_path: Path) -> Path:
    folder = tmp_path / "library"
    folder.mkdir()
    (folder / "halden.md").write_text("# Halden\n\nThe Halden lighthouse is 41 metres tall.\n", encoding="utf-8")
    return folder


def served(home: Path, library: Path) -> Any:
    def open_engine(scope: str, profile: str | None) -> Engine:
        return Engine.from_settings(home=home, scope=scope, profile=profile, source=f"local:{library}")

    return create_app(open_engine, KeyRing(home), hosts=())


@pytest.fixture
async def browser(tmp_path: Path, library: Path) -> AsyncIterator[Browser]:
    ready, stop = asyncio.Event(), asyncio.Event()
    clients: list[httpx2.AsyncClient] = []

    async def host() -> None:
        async with opened(served(tmp_path / "home", library)) as client:
            clients.append(client)
            ready.set()
            await stop.wait()

    task = asyncio.create_task(host())
    await ready.wait()
    yield Browser(clients[0])
    stop.set()
    await task


def tree(answer: httpx2.Response, status: int = 200) -> Any:
    assert answer.status_code == status, answer.text[:2000]
    assert answer.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    page = parser.document_fromstring(answer.text)
    assert not [e for e in page.iter() if isinstance(e.tag, str) for name in e.attrib if name.startswith("on")]
    assert not page.xpath("//*[@style] | //img | //iframe | //script[not(@src)] | //style")
    assets = [*page.xpath("//script/@src"), *page.xpath("//link/@href"), *page.xpath("//form/@action")]
    assert all(asset.startswith("/") for asset in assets)
    return page


async def report_of(browser: Browser, run: str) -> Any:
    """The page of the report, which says until then that it will be loaded again."""
    async with asyncio.timeout(90):
        while not (page := tree(await browser.get(run))).xpath("//article[@id='text']"):
            assert page.xpath("//noscript/meta[@http-equiv='refresh']")
            await asyncio.sleep(0.05)
    return page


def words(element: Any) -> str:
    return " ".join(element.text_content().split())


async def test_a_question_is_asked_followed_and_read_without_scripts(browser: Browser) -> None:
    first = tree(await browser.get("/"))
    assert "library (local)" in words(first)
    assert "no language model" in words(first)
    started = await browser.send("/", "/runs", question="How tall is the Halden lighthouse?", profile="quick")
    assert started.status_code == 303
    run = started.headers["location"]
    page = await report_of(browser, run)
    mark = page.xpath("//a[@class='cite']")[0]
    evidence = tree(await browser.get(mark.get("href").split("#")[0]))
    assert "41 metres" in words(evidence.xpath("//mark")[0])
    for tab in TABS:
        tree(await browser.get(run + tab))
    assert "lighthouse" in words(tree(await browser.get("/runs?q=halden+TALL")))
    assert "No run matches" in words(tree(await browser.get("/runs?q=porridge")))
    follow = await browser.send(run, f"{run}/follow-up", question="Where is the Halden lighthouse?")
    assert follow.headers["location"] != run
    await report_of(browser, follow.headers["location"])
    client, follow_id = browser._client, follow.headers["location"].removeprefix("/runs/")
    calls = (await client.get(f"/v1/research/{follow_id}/trace")).json()["calls"]
    assert [call["request"] for call in calls if call["kind"] == "continue"] == [{"run": run.removeprefix("/runs/")}]
    gone = await browser.send(f"{run}/delete", f"{run}/delete")
    assert gone.headers["location"] == "/runs"
    assert "no run" in words(tree(await browser.get(run), 404))


async def test_bad_questions_come_back_with_what_was_written(browser: Browser) -> None:
    page = tree(await browser.send("/", "/runs", question="  ", include_domains="a.example"), 422)
    assert page.xpath("//*[@role='alert']")
    assert page.xpath("//input[@name='include_domains']/@value") == ["a.example"]
    for name, value in (("since", "yesterday"), ("max_cost_usd", "-1"), ("max_pages", "NaN"), ("minutes", "1e9")):
        answer = await browser.send("/", "/runs", question="How tall is it?", **{name: value})
        assert f"{LABELS[name]}: " in words(tree(answer, answer.status_code).xpath("//*[@role='alert']")[0])


async def test_every_mark_leads_to_its_quote(tmp_path: Path, browser: Browser) -> None:
    await keep_report(tmp_path / "home", SAMPLE)
    page = tree(await browser.get(RUN))
    for href in page.xpath("//a[@class='cite']/@href"):
        shown = tree(await browser.get(href.split("#")[0]))
        marked = "".join(shown.xpath("//mark//text()"))
        assert marked in {e.quote for claim in SAMPLE.report.claims for e in claim.evidence}
    contradicting = tree(await browser.get(f"{RUN}/claims/{SAMPLE.report.claims[0].id}?e=2"))
    assert "says otherwise" in words(contradicting)
    assert tree(await browser.get(f"{RUN}/claims/{SAMPLE.report.claims[0].id}?e=9"), 404) is not None
    cards = (await browser.get(f"{RUN}/cards.json")).json()
    assert cards[f"{SAMPLE.report.claims[0].id}/1"]["site"] == "society.example"


async def test_all_parts_of_a_report_are_shown(tmp_path: Path, browser: Browser) -> None:
    await keep_report(tmp_path / "home", SAMPLE)
    sources = words(tree(await browser.get(f"{RUN}/sources")))
    assert "published 2019-03-14" in sources
    assert "dead.example · the page does not exist any more" in sources
    assert "no.example · the site's robots.txt does not allow it" in sources
    claims = words(tree(await browser.get(f"{RUN}/claims")))
    assert "◐ partly supported" in claims
    assert "The tower is 14 metres tall." in claims
    partial = tree(await browser.get(f"{RUN}/claims?verdict=partial"))
    assert len(partial.xpath("//ol[@class='claim-list']/li")) == 1
    assert len(tree(await browser.get(f"{RUN}/conflicts")).xpath("//div[@class='side']")) == 2
    gaps = words(tree(await browser.get(f"{RUN}/gaps")))
    assert "Who built it?" in gaps
    assert "Halden in pictures" in gaps
    trace = tree(await browser.get(f"{RUN}/trace"))
    assert trace.xpath("//figure//*[local-name()='svg']/@aria-label")
    exports = tree(await browser.get(f"{RUN}/export")).xpath("//a[@download]/@href")
    assert len(exports) >= 9
    assert (await browser.get(f"{RUN}/citations/2")).url.fragment == "r2"
    assert "no reference [9]" in words(tree(await browser.get(f"{RUN}/citations/9"), 404))


async def test_a_question_with_its_material_does_not_push_the_answer_away(tmp_path: Path, browser: Browser) -> None:
    whole = "How tall is it? " + "The register says that it is a tower. " * 40
    for question, folded in ((whole, 1), ("How tall is it, and who built it?", 0)):
        report = replace(SAMPLE.report, question=question, title="How tall is it?")
        home = tmp_path / f"home-{folded}"
        await keep_report(home, replace(SAMPLE, report=report))
        async with opened(served(home, tmp_path)) as client:
            head = tree(await Browser(client).get(RUN)).xpath("//header[@class='run-head']")[0]
        assert words(head).count(" ".join(question.split())) == 1
        assert len(head.xpath("./details[@class='question' and not(@open)]")) == folded


async def test_the_tab_counts_what_its_page_lists(tmp_path: Path, browser: Browser) -> None:
    unsure = ReportPart("How tall is it?", PartStatus.PARTLY)
    missing = ReportPart("Who built it?", PartStatus.NOT_HERE)
    gap = ReportGap(unsure.text, NOT_SURELY_ALL, ("halden tower height",))
    for parts, gaps, glance in (
        ((unsure,), (gap,), "It may not be the whole answer"),
        ((unsure, missing), (gap, ReportGap(missing.text, "no page")), "1 thing we could not find"),
    ):
        report = replace(SAMPLE.report, parts=parts, gaps=gaps, status=ReportStatus.PARTIAL)
        await keep_report(tmp_path / f"home-{len(parts)}", replace(SAMPLE, report=report))
        async with opened(served(tmp_path / f"home-{len(parts)}", tmp_path)) as client:
            page = tree(await Browser(client).get(f"{RUN}/gaps"))
            first = tree(await Browser(client).get(RUN))
        listed = page.xpath("//ul[@class='gaps']/li")
        assert page.xpath("//nav[@class='tabs']//a[contains(@href, '/gaps')]/span/text()") == [str(len(listed))]
        assert len(listed) == len(parts)
        assert "halden tower height" in words(listed[-1])
        assert glance in words(first.xpath("//section[contains(@class, 'glance')]")[0])


async def test_text_from_outside_is_only_text(tmp_path: Path, browser: Browser) -> None:
    plain = SampleReport(report_stating("word"), SAMPLE.documents, SAMPLE.snapshots)
    await keep_report(tmp_path / "home", plain)
    harmless = {tab: skeleton(tree(await browser.get(f"/runs/{plain.report.run_id}{tab}"))) for tab in TABS}
    for number, piece in enumerate(piece for piece in HOSTILE if piece != "\ud800"):  # which no home stores
        run_id = f"run_20261121093000_{number:012x}"
        report = replace(report_stating(f"x {piece} y"), run_id=run_id)
        await keep_report(tmp_path / "home", SampleReport(report, SAMPLE.documents, SAMPLE.snapshots))
        for tab in TABS:
            page = tree(await browser.get(f"/runs/{run_id}{tab}"))
            assert skeleton(page) == harmless[tab], (piece, tab)
            assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\u202a-\u202e\u2066-\u2069]", page.text_content()), piece
            assert not page.xpath("//a[starts-with(translate(@href, 'JAVSCRIPT', 'javscript'), 'javascript')]"), piece


def skeleton(page: Any) -> list[str]:
    return [e.tag for e in page.iter() if isinstance(e.tag, str)]


@pytest.mark.parametrize("sample", [SampleReport(empty_report(), {}, {}), large_report(2_000)], ids=["none", "2,000"])
async def test_no_claims_and_two_thousand(tmp_path: Path, browser: Browser, sample: SampleReport) -> None:
    run = f"/runs/{await keep_report(tmp_path / 'home', sample)}"
    for tab in TABS:
        tree(await browser.get(run + tab))
    marks = tree(await browser.get(run)).xpath("//a[@class='cite']")
    assert len(marks) == len(sample.report.claims) + len(sample.report.summary.sentences)
    rows = tree(await browser.get(f"{run}/claims?start=1900")).xpath("//ol[@class='claim-list']/li")
    assert len(rows) == (100 if sample.report.claims else 0)


async def test_a_missing_page_is_said_to_be_missing(tmp_path: Path, browser: Browser) -> None:
    await keep_report(tmp_path / "home", SampleReport(SAMPLE.report, {}, {}))
    claim = SAMPLE.report.claims[1]
    page = tree(await browser.get(f"{RUN}/claims/{claim.id}"))
    assert "The stored page is not here any more." in words(page)
    assert words(page.xpath("//mark")[0]) == claim.evidence[0].quote
    assert "no snapshot" in words(tree(await browser.get(f"/snapshots/{claim.evidence[0].snapshot_id}"), 404))


async def test_a_stopped_run_can_go_on(tmp_path: Path, browser: Browser, library: Path) -> None:
    async with Engine.from_settings(home=tmp_path / "home", source=f"local:{library}") as engine:
        run_id = await engine.start("How tall is the Halden lighthouse?")
    page = tree(await browser.get(f"/runs/{run_id}"))
    assert "Nobody here is working on it" in words(page)
    await browser.send(f"/runs/{run_id}", f"/runs/{run_id}/resume")
    await report_of(browser, f"/runs/{run_id}")


async def test_what_is_written_so_far_is_shown_as_text(tmp_path: Path, browser: Browser, library: Path) -> None:
    async with Engine.from_settings(home=tmp_path / "home", source=f"local:{library}") as engine:
        run_id = await engine.start("How tall is the Halden lighthouse?")
        parts = engine._parts
        runs = await parts.runs()
        taken = await runs.take(run_id, "test", 30)
        sink = await parts.events(taken, "topic")
        told: dict[str, Json] = {"heading": "<b>Height</b>", "text": f"41 metres. {HOSTILE}", "early": True}
        await sink.emit(EventType.SECTION_READY, told)
    page = tree(await browser.get(f"/runs/{run_id}"))
    assert [words(h) for h in page.xpath("//*[@class='sofar']/h3")] == ["<b>Height</b>"]
    assert words(page.xpath("//*[@class='sofar']/p")[0]).startswith("41 metres. ")
    assert not page.xpath("//*[@class='sofar']//*[not(self::h2 or self::h3 or self::p)]")


async def test_a_library_is_being_read_only_while_somebody_works(
    tmp_path: Path, browser: Browser, library: Path
) -> None:
    async with Engine.from_settings(home=tmp_path / "home", source=f"local:{library}") as engine:
        run_id = await engine.start("How tall is the Halden lighthouse?")
        runs = await engine._parts.runs()
        taken = await runs.take(run_id, "test", 30)
        sink = await engine._parts.events(taken, "topic")
        await sink.emit(EventType.LIBRARY_READ, {"library": "library", "pages": 13})
        assert "Reading library: 13 pages so far" in words(tree(await browser.get(f"/runs/{run_id}")))
        await runs.finish(run_id, taken.epoch, RunStatus.CANCELLED)
    stopped = words(tree(await browser.get(f"/runs/{run_id}")))
    assert "Stopped." in stopped
    assert "Reading library" not in stopped


async def test_a_pasted_report_is_annotated(browser: Browser) -> None:
    text = "The Halden lighthouse is 41 metres tall. [1]\n\n## References\n\n[1] https://unreachable.invalid/x\n"
    page = tree(await browser.send("/audit", "/audit", report=text))
    assert "could not check" in words(page) or "invented" in words(page)
    unjudged = tree(await browser.send("/audit", "/audit", report="The board of Halden likes the tower."))
    assert "1 is not in its sources' words and nobody judged it (the setting judge names who may)." in words(unjudged)
    assert page.xpath("//a[@href='#f1']")
    assert page.xpath("//li[@id='f1']")
    hostile = tree(await browser.send("/audit", "/audit", report="<script>x</script> It is 41 metres tall. [1]"))
    assert "<script>x" in hostile.text_content()
    nothing = tree(await browser.send("/audit", "/audit", report="hello"))
    assert "Nothing to check" in nothing.xpath("string(//p[contains(@class, 'notice')])")
    assert not nothing.xpath("//ol[@class='claim-list']")
    assert tree(await browser.send("/audit", "/audit", report=" "), 422).xpath("//*[@role='alert']")


async def test_foreign_forms_are_refused(browser: Browser, tmp_path: Path) -> None:
    await keep_report(tmp_path / "home", SAMPLE)
    client = browser._client
    fields = {"question": "How tall is the Halden lighthouse?"}
    without_token = await client.post("/runs", data=fields, headers=AS_BROWSER)
    assert without_token.status_code == 401
    page = parser.document_fromstring((await browser.get("/")).text)
    token = page.xpath("//input[@name='form_token']/@value")[0]
    foreign = await client.post(
        "/runs", data={**fields, "form_token": token}, headers={**AS_BROWSER, "Origin": "https://evil.example"}
    )
    assert foreign.status_code == 403
    as_json = await client.post("/runs", json={**fields, "form_token": token}, headers=AS_BROWSER)
    assert as_json.status_code == 422
    assert (await client.get("/runs", headers=AS_BROWSER)).text.count("<li>") == 1


@pytest.fixture
def keys(tmp_path: Path) -> dict[str, str]:
    ring = KeyRing(tmp_path / "home")
    return {name: ring.create(name) for name in ("alice", "bob")}


async def test_scopes_hold_in_the_pages_as_in_the_api(keys: dict[str, str], tmp_path: Path, library: Path) -> None:
    await keep_report(tmp_path / "home", SAMPLE, scope="alice")
    snapshot = next(iter(SAMPLE.snapshots))
    async with opened(served(tmp_path / "home", library)) as client:
        asked = await client.get(RUN, headers=AS_BROWSER)
        assert asked.status_code == 303
        assert asked.headers["location"] == f"/login?next=%2Fruns%2F{SAMPLE.report.run_id}"
        browser = Browser(client)
        wrong = await browser.send("/login", "/login", key="pc_wrong")
        assert wrong.status_code == 401
        assert COOKIE not in client.cookies
        entered = await browser.send(asked.headers["location"], "/login", key=keys["alice"])
        assert entered.headers["location"] == RUN
        cookie = entered.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=lax" in cookie
        assert tree(await browser.get(RUN)).xpath("//article[@id='text']")
        assert (await client.get(f"/v1/snapshots/{snapshot}")).status_code == 200
        assert (await client.get(f"/v1/research/{SAMPLE.report.run_id}/report?format=md")).status_code == 200
        # The cookie reads; what changes something needs the form's token, or a key.
        assert (await client.delete(f"/v1/research/{SAMPLE.report.run_id}")).status_code == 401
        assert (await client.post("/v1/research", json={"question": "Why is it so?"})).status_code == 401
        left = await browser.send("/runs", "/logout")
        assert left.headers["location"] == "/login"
        assert (await client.get(f"/v1/snapshots/{snapshot}")).status_code == 401
        await browser.send("/login", "/login", key=keys["bob"])
        tree(await browser.get(RUN), 404)
        tree(await browser.get(f"/snapshots/{snapshot}"), 404)
        for tab in TABS[1:]:
            tree(await browser.get(RUN + tab), 404)
        assert "Nothing has been asked yet" in words(tree(await browser.get("/runs")))
        assert (await client.get(f"/v1/snapshots/{snapshot}")).status_code == 404


async def test_a_days_money_holds_in_the_pages_too(tmp_path: Path, library: Path) -> None:
    secret = KeyRing(tmp_path / "home").create("poor", daily_usd=Decimal(0))
    async with opened(served(tmp_path / "home", library)) as client:
        browser = Browser(client)
        await browser.send("/login", "/login", key=secret)
        asked = await browser.send("/", "/runs", question="How tall is the Halden lighthouse?")
        run_id = asked.headers["location"].removeprefix("/runs/")
        trace = (await client.get(f"/v1/research/{run_id}/trace")).json()
        assert trace["budget"]["cost_usd"] == 0, "the run may spend what the key has left today"


@pytest.mark.parametrize("target", ["https://evil.example/", "//evil.example", "/\\evil.example", "x", "/a\n"])
async def test_signing_in_leads_nowhere_else(keys: dict[str, str], tmp_path: Path, library: Path, target: str) -> None:
    async with opened(served(tmp_path / "home", library)) as client:
        entered = await Browser(client).send("/login", "/login", key=keys["alice"], next=target)
        assert entered.headers["location"] == "/"


def test_a_session_ends_with_its_time_and_its_key(keys: dict[str, str], tmp_path: Path) -> None:
    now = [0.0]
    ring = KeyRing(tmp_path / "home")
    sessions = Sessions(ring, lambda: now[0])
    cookie, other = sessions.open(keys["alice"]), sessions.open(keys["bob"])
    assert (sessions.scope_of(cookie), sessions.scope_of(None), sessions.scope_of("x")) == ("alice", None, None)
    ring.revoke("alice")
    assert sessions.scope_of(cookie) is None
    now[0] = LIFETIME_S + 1.0
    assert sessions.scope_of(other) is None


async def test_citations_are_resolved_by_number(tmp_path: Path, browser: Browser) -> None:
    run_id = await keep_report(tmp_path / "home", SAMPLE, status=RunStatus.PARTIAL)
    client = browser._client
    cited = (await client.get(f"/v1/research/{run_id}/citations/2")).json()
    assert cited["reference"]["n"] == 2
    assert all(part["passage"]["reference_n"] == 2 for part in cited["passages"])
    assert {part["claim_id"] for part in cited["passages"]} <= {claim.id for claim in SAMPLE.report.claims}
    unknown = await client.get(f"/v1/research/{run_id}/citations/7")
    assert (unknown.status_code, unknown.json()["reason"]) == (404, "citation_unknown")


async def test_files_are_kept_and_named_by_content(browser: Browser) -> None:
    page = tree(await browser.get("/"))
    style = page.xpath("//link[@rel='stylesheet']/@href")[0]
    answer = await browser.get(style)
    assert "immutable" in answer.headers["cache-control"]
    assert (await browser.get(style.replace("app.css", "nothing.css"))).status_code == 404
    assert (await browser.get("/static/0/../../pages.py")).status_code == 404


async def test_the_api_is_described_without_another_host(browser: Browser) -> None:
    page = tree(await browser.get("/docs"))
    described = {code.text_content() for code in page.xpath("//dt/code")}
    assert {"/v1/research", "/v1/snapshots/{snapshot_id}", "/v1/research/{run_id}/citations/{n}"} <= described
    assert not any(path.startswith("/runs") for path in described)


async def test_a_waiting_run_is_stopped(tmp_path: Path, browser: Browser, library: Path) -> None:
    async with Engine.from_settings(home=tmp_path / "home", source=f"local:{library}") as engine:
        run_id = await engine.start("How tall is the Halden lighthouse?")
    token = parser.document_fromstring((await browser.get("/")).text).xpath("//input[@name='form_token']/@value")[0]
    stopped = await browser._client.post(f"/runs/{run_id}/stop", data={"form_token": token}, headers=AS_BROWSER)
    assert stopped.status_code == 303
    page = tree(await browser.get(f"/runs/{run_id}"))
    assert "stopped" in words(page)
    assert page.xpath("//button[normalize-space()='Resume']")
