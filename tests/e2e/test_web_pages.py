"""The web pages in a browser: from a question to the marked passage and the files, by mouse, keys, no scripts."""

import asyncio
import csv
import io
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event
from typing import Any
from urllib.request import Request, urlopen

import pytest
from tests.fakes.stored import keep_report, large_report

from pincite.exports.html import HtmlExporter
from pincite.testing.reports import SampleReport, empty_report, proven_report, report_stating, sample_report

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
if CHROMIUM is None:
    pytest.skip("NOT TESTED: no Chromium on this machine", allow_module_level=True)

sync_api = pytest.importorskip("playwright.sync_api")

AXE = (Path(__file__).parent / "data" / "axe.min.js").read_text(encoding="utf-8")
PATIENCE_MS = 90_000
"""What a step may take on a machine that is busy with other tests. Nothing waits this long unless it is broken."""
QUESTION = "How tall is the Halden lighthouse, when was it lit and who built it?"
PAGES = {
    "halden.md": "# Halden lighthouse\n\nThe Halden lighthouse is 41 metres tall. The Halden lighthouse was first lit "
    "on 3 May 1897.\n\nThe Halden lighthouse was built by the harbour board of Halden.\n",
    "coast.md": "# The coast\n\nThe Halden lighthouse was first lit in May 1897, says the register of the coast.\n",
    "emoji.md": "# Postcards 🌊\n\n🌊🌊 Halden lighthouse: 🗼 the harbour board of Halden built the lighthouse in "
    "1896. 🌊\n",
}
WEB = {
    "/robots.txt": "User-agent: *\nDisallow: /private\n",
    "/tower": "<title>The tower</title><h1>The Vardo tower</h1><p>The Vardo tower is 37 metres tall. The Vardo tower "
    "was built by the fishers of Vardo in 1868, after two storms had taken the first one.</p>",
    "/slow": "<title>The lamp</title><h1>The lamp of the Vardo tower</h1><p>The lamp of the Vardo tower was lit on 5 "
    "June 1871. It burned rape oil until the year 1903, when paraffin came.</p>",
}
"""A site on loopback. `/gone` is not there, `/private` is not for robots."""
SAMPLE = sample_report()


@dataclass
class Served:
    """A server on loopback with its home."""

    url: str
    home: Path

    def keep(self, sample: SampleReport, run_id: str) -> str:
        report = replace(sample.report, run_id=run_id)
        kept = SampleReport(report, sample.documents, sample.snapshots)
        with ThreadPoolExecutor(1) as pool:  # Playwright's own loop runs in this thread
            pool.submit(lambda: asyncio.run(keep_report(self.home, kept))).result()
        return f"{self.url}/runs/{run_id}"

    def json(self, path: str) -> Any:
        with urlopen(self.url + path, timeout=60) as answer:
            return json.load(answer)


class Site(ThreadingHTTPServer):
    """A web site that counts what is asked for, and holds back `/slow` until told otherwise."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.asked: Counter[str] = Counter()
        self.open = Event()

    def page(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_port}{path}"


class _Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Site)
        self.server.asked[self.path] += 1
        if self.path == "/slow":
            self.server.open.wait(PATIENCE_MS / 1000)
        body = WEB.get(self.path, "").encode()
        kind = "text/plain" if self.path == "/robots.txt" else "text/html; charset=utf-8"
        with suppress(OSError):  # whoever asked has gone
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Nothing: the tests look at `asked`."""


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with Site() as found, ThreadPoolExecutor(1) as pool:
        pool.submit(found.serve_forever)
        yield found
        found.open.set()
        found.shutdown()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, site: Site) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("pages")
    library = folder / "library"
    library.mkdir()
    for name, text in PAGES.items():
        (library / name).write_text(text, encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    env = {
        **os.environ,
        "PINCITE_SOURCE": f"local:{library}",
        "PINCITE_HOME": str(folder / "home"),
        "PINCITE_ALLOW_NETWORKS": "127.0.0.1/32",
        "PINCITE_ALLOW_PORTS": str(site.server_port),
    }
    server = subprocess.Popen(
        [sys.executable, "-m", "pincite", "serve", "--port", str(port)], env=env, stderr=subprocess.DEVNULL
    )
    found = Served(f"http://127.0.0.1:{port}", folder / "home")
    try:
        give_up = time.monotonic() + PATIENCE_MS / 1000
        while True:
            try:
                urlopen(f"{found.url}/readyz", timeout=60).close()
                break
            except OSError:
                assert time.monotonic() < give_up, "the server did not start"
                time.sleep(0.1)
        yield found
    finally:
        server.terminate()
        server.wait(60)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"],
        )
        yield browser
        browser.close()


@contextmanager
def tab(chromium: Any, served: Served, *, expected: str = "^$", **options: Any) -> Iterator[Any]:
    """A page that may not complain, ask another host, or open a dialog; `expected` is what its console may say."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900}, **options)
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    trouble: list[str] = []

    def heard(message: Any) -> None:
        if message.type in ("error", "warning") and not re.search(expected, message.text):
            trouble.append(message.text)

    def refused(dialog: Any) -> None:
        trouble.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def asked(request: Any) -> None:
        if not request.url.startswith((served.url, "file:", "about:", "data:")):
            trouble.append(request.url)

    page.on("console", heard)
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("dialog", refused)
    context.on("request", asked)
    yield page
    context.close()
    assert trouble == []


def quote_of(served: Served, run: str, key: str) -> str:
    claim_id, index = key.rsplit("/", 1)
    claims = served.json(f"/v1/research/{run.rsplit('/', 1)[1]}/claims")["claims"]
    quote: str = next(c for c in claims if c["id"] == claim_id)["evidence"][int(index)]["quote"]
    return quote


def marked(page: Any, selector: str) -> str:
    found: str = page.eval_on_selector_all(
        f"{selector} mark", "marks => marks.map((mark) => mark.textContent).join('')"
    )
    return found


def flat(text: str) -> str:
    return "".join(text.split())


def ask(page: Any, served: Served) -> str:
    page.goto(served.url)
    page.fill("#question", QUESTION)
    page.click("text=Quick")
    page.click("button:has-text('Research')")
    page.wait_for_selector("#text")
    url: str = page.url
    return url


def test_from_the_question_to_the_marked_passage_and_the_files(chromium: Any, served: Served, tmp_path: Path) -> None:
    with tab(chromium, served) as page:
        page.goto(served.url)
        page.fill("#question", QUESTION)
        page.click("button:has-text('Research')")
        page.wait_for_url(re.compile(r"/runs/run_"))
        page.wait_for_selector("#text")
        run = page.url
        marks = page.locator("#text a.cite")
        assert marks.count() >= 2, "how much a report says is another test's affair"
        for n in range(min(marks.count(), 3)):
            mark = marks.nth(n)
            mark.hover()
            page.wait_for_selector(".card:not([hidden]) q")
            mark.click()
            page.wait_for_selector(".panel .evidence mark")
            key = mark.get_attribute("data-key")
            page.wait_for_function("title => document.querySelector('.panel .page-text')", arg="")
            assert flat(marked(page, ".panel")) == flat(quote_of(served, run, key))
            place = page.locator(".panel mark").first.bounding_box()
            frame = page.locator(".panel .page-text").bounding_box()
            assert frame["y"] - 1 <= place["y"] <= frame["y"] + frame["height"]
            page.keyboard.press("Escape")
            assert page.locator(".panel").is_hidden()
        page.click("nav.tabs >> text=Export")
        links = page.eval_on_selector_all("a[download]", "links => links.map((link) => link.href)")
        files = {link.rsplit("=", 1)[1]: page.request.get(link).body() for link in links}
        opened(files)
        (tmp_path / "report.html").write_bytes(files["html"])
        page.goto((tmp_path / "report.html").as_uri())
        page.click("a.sentence >> nth=0")
        assert page.locator(".panel.open mark").first.is_visible()


def opened(files: dict[str, bytes]) -> None:
    """Every exported file is what its name says."""
    report = json.loads(files["json"])
    assert report["question"] == QUESTION
    assert files["md"].decode().startswith("# ")
    assert len(list(csv.DictReader(io.StringIO(files["csv"].decode("utf-8-sig"))))) >= len(report["claims"])
    assert len(json.loads(files["csl.json"])) == len(report["references"]) == files["bib"].count(b"@online{")
    assert files["ris"].count(b"ER  -") == len(report["references"])
    assert files["pdf"].startswith(b"%PDF-")
    assert "word/document.xml" in zipfile.ZipFile(io.BytesIO(files["docx"])).namelist()
    assert b"<!doctype html>" in files["html"]


def test_every_form_of_block_leads_to_its_passage(chromium: Any, served: Served, tmp_path: Path) -> None:
    proven = replace(SAMPLE, report=proven_report())
    run = served.keep(proven, "run_20261121093000_0000000fffb1")
    with tab(chromium, served) as page:
        page.goto(run)
        for form in ("p", ".points li", ".steps li", ".laid td", ".excerpt p", ".excerpt li", ".excerpt td", "pre"):
            page.locator(f"#text {form} >> css=.s >> nth=0").click()
            page.wait_for_selector(".panel .evidence mark")
            assert marked(page, ".panel"), form
            page.keyboard.press("Escape")
        words = page.eval_on_selector_all("#text .proof", "marks => marks.map((mark) => mark.innerText.trim())")
        assert {word.split()[-1] for word in words} == {"quoted", "entailed", "derived"}
        assert "missing: the hour" in page.inner_text(".parts")
        assert "judged by nli:sample" in page.inner_text(".glance")
        page.goto(f"{run}/claims?verdict=rejected")
        assert "no passage carries: “14 metres”" in page.inner_text(".claim-list")
        page.goto(run)
        page.evaluate(AXE)
        answer = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        assert [i["id"] for i in answer["violations"] if i["impact"] in ("serious", "critical")] == []
        file = tmp_path / "report.html"
        file.write_bytes(HtmlExporter().render(proven.report, proven.documents))
        page.goto(file.as_uri())
        for form in ("ul.points > li", "ol.steps > li", "table.laid td", "figure pre"):
            page.locator(f"main {form} >> css=a.sentence >> nth=0").click()
            assert page.locator(".panel.open mark").first.is_visible(), form
            page.keyboard.press("Escape")


def test_by_keys_alone(chromium: Any, served: Served) -> None:
    with tab(chromium, served) as page:
        page.goto(served.url)
        page.keyboard.type(QUESTION)
        for _ in range(6):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.textContent.trim()") == "Research":
                break
        page.keyboard.press("Enter")
        page.wait_for_selector("#text")
        page.keyboard.press("j")
        page.keyboard.press("j")
        key = page.evaluate("document.activeElement.dataset.key")
        page.keyboard.press("Enter")
        page.wait_for_selector(".panel mark")
        assert flat(marked(page, ".panel")) == flat(quote_of(served, page.url, key))
        assert page.evaluate("document.querySelector('.panel').contains(document.activeElement)")
        page.keyboard.press("Escape")
        assert page.evaluate("document.activeElement.dataset.key") == key
        place = "[...document.querySelectorAll('#text [data-key]')].indexOf(document.activeElement)"
        before = page.evaluate(place)
        page.keyboard.press("k")
        assert 0 <= page.evaluate(place) < before  # an answer and its excerpt may lead to the same claim


def test_without_scripts(chromium: Any, served: Served) -> None:
    with tab(chromium, served, java_script_enabled=False) as page:
        run = ask(page, served)
        mark = page.locator("#text a.cite").first
        key = mark.get_attribute("data-key")
        mark.click()
        page.wait_for_selector(".evidence mark")
        text = "".join(page.locator(".evidence mark").all_text_contents())
        assert flat(text) == flat(quote_of(served, run, key))
        many = served.keep(large_report(60), "run_20261121093000_0000000ffff4")
        page.goto(many)
        page.locator("#text a.cite").nth(45).click()
        place = page.locator(".evidence mark").first.bounding_box()
        frame = page.locator(".evidence .page-text").bounding_box()
        assert frame["y"] <= place["y"] <= frame["y"] + frame["height"], "the address leads to the mark itself"
        assert 0 <= place["y"] <= 900
        page.goto(run)
        page.click("nav.tabs >> text=Sources")
        page.wait_for_selector("ol.sources")
        page.goto(f"{served.url}/audit")
        page.fill("#report", "The tower is 41 metres tall. [1]\n\n[1] https://nowhere.invalid/")
        page.click("button:has-text('Audit')")
        page.wait_for_selector("#f1")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_serious_for_assistive_technology(chromium: Any, served: Served, scheme: str) -> None:
    run = served.keep(SAMPLE, f"run_20261121093000_00000000{'aaaa' if scheme == 'light' else 'bbbb'}")
    tabs: tuple[str, ...] = ("", "/sources", "/claims", "/conflicts", "/gaps", "/trace", "/export")
    found: list[str] = []
    with tab(chromium, served, expected="404", color_scheme=scheme, reduced_motion="reduce") as page:
        evidence = served.json(f"/v1/research/{run.rsplit('/', 1)[1]}/claims")["claims"][0]
        others: tuple[str, ...] = ("/runs", "/runs?q=porridge", "/runs/run_gone", "/audit", "/docs")
        others += (f"/snapshots/{evidence['evidence'][0]['snapshot_id']}",)
        tabs += (f"/claims/{evidence['id']}", "/delete")
        addresses = (served.url, *(served.url + path for path in others), *(run + name for name in tabs), run)
        for url in addresses:
            page.goto(url)
            if url == run:
                page.click("#text a.cite >> nth=0")
                page.wait_for_selector(".panel mark")
            page.evaluate(AXE)
            answer = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
            found += [
                f"{url}: {issue['id']} {issue['nodes'][0]['html'][:120]}"
                for issue in answer["violations"]
                if issue["impact"] in ("serious", "critical")
            ]
    assert found == []


def test_hostile_text_does_nothing(chromium: Any, served: Served) -> None:
    text = "<img src=x onerror=alert(1)><script>alert(2)</script> ]( javascript:alert(3) ) ![x](https://evil.example/p.png)"
    text += " مرحبا \u202e " + "w" * 300
    sample = SampleReport(report_stating(text), SAMPLE.documents, SAMPLE.snapshots)
    run = served.keep(sample, "run_20261121093000_00000000cccc")
    with tab(chromium, served) as page:
        for name in ("", "/sources", "/claims", "/conflicts", "/gaps", "/trace", "/export"):
            page.goto(run + name)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
        page.goto(run)
        page.hover("#text a.cite >> nth=0")
        page.wait_for_selector(".card:not([hidden])")
        page.click("#text a.cite >> nth=0")
        page.wait_for_selector(".panel mark")
        for width in (390, 820):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width


def test_a_run_deleted_while_it_is_open(chromium: Any, served: Served) -> None:
    run = served.keep(SAMPLE, "run_20261121093000_00000000dddd")
    with tab(chromium, served, expected="404") as page:
        page.goto(run)
        urlopen(Request(f"{served.url}/v1/research/{run.rsplit('/', 1)[1]}", method="DELETE"), timeout=60).close()
        page.click("#text a.cite >> nth=0")
        page.wait_for_selector(".panel [role=alert]")
        assert "no run" in page.text_content(".panel [role=alert]")
        page.click("nav.tabs >> text=Sources")
        assert "no run" in page.text_content("h1")


def test_a_stored_page_that_is_gone(chromium: Any, served: Served) -> None:
    run = served.keep(SampleReport(large_report(3).report, {}, {}), "run_20261121093000_00000000eeee")
    with tab(chromium, served) as page:
        page.goto(run)
        page.click("#text a.cite >> nth=1")
        page.wait_for_selector(".panel .notice")
        assert "is not here" in page.text_content(".panel .notice")
        assert page.locator(".panel mark").count()


def test_two_tabs_on_one_run(chromium: Any, served: Served) -> None:
    with tab(chromium, served) as one:
        one.goto(served.url)
        one.fill("#question", "Who built the Halden lighthouse, and when was it lit?")
        one.click("button:has-text('Research')")
        one.wait_for_url(re.compile(r"/runs/run_"))
        other = one.context.new_page()
        other.goto(one.url)
        one.wait_for_selector("#text")
        other.wait_for_selector("#text")
        other.click("#text a.cite >> nth=0")
        other.wait_for_selector(".panel mark")


def test_no_claims_and_two_thousand(chromium: Any, served: Served) -> None:
    empty = served.keep(SampleReport(empty_report(), {}, {}), "run_20261121093000_00000000ffff")
    many = served.keep(large_report(2_000), "run_20261121093000_0000000fffff")
    with tab(chromium, served) as page:
        page.goto(empty)
        assert "Not enough evidence" in page.text_content(".notice")
        page.goto(many)
        marks = page.locator("#text a.cite")
        assert marks.count() == 2_002
        marks.nth(2_001).click()
        page.wait_for_selector(".panel mark")
        assert "Beacon 1999" in marked(page, ".panel")
        page.goto(f"{many}/claims?start=1900")
        assert page.locator(".claim-list > li").count() >= 100


def test_a_report_of_a_hundred_claims_is_light(chromium: Any, served: Served) -> None:
    run = served.keep(large_report(100), "run_20261121093000_0000000ffff0")
    with tab(chromium, served) as page:
        answers: list[Any] = []
        page.on("response", lambda answer: answers.append(answer))
        page.goto(run, wait_until="networkidle")
        assert sum(len(answer.body()) for answer in tuple(answers)) <= 300_000
        page.click("#text a.cite >> nth=50")
        page.wait_for_selector(".panel mark")
        assert page.locator(".panel .page-text").bounding_box()["height"] > 100


def test_a_run_is_followed_without_its_stream(chromium: Any, served: Served) -> None:
    with tab(chromium, served, expected="ERR_FAILED|net::") as page:
        page.goto(served.url)
        page.fill("#question", "Which harbour board built the Halden lighthouse, and in which year?")
        page.route("**/events", lambda route: route.abort())  # the page must not depend on the stream alone
        page.click("button:has-text('Research')")
        page.wait_for_selector("#text")


def sections_are_shown_while_it_goes(page: Any) -> None:
    """The sentences of a section stand on the page as text as soon as they are told, whatever they look like."""
    hostile = "<img src=x onerror=alert(1)> [x](javascript:alert(1)) \u202eIt is 37 metres tall."
    told = [{"heading": "<b>Height</b>", "text": text, "early": True} for text in ("It is 36 metres tall.", hostile)]
    events = [
        {"type": "report.section_ready", "at": "2026-11-21T09:00:00Z", "seq": n, "data": data}
        for n, data in enumerate(told, 900)
    ]
    body = "".join(f"id: {e['seq']}\nevent: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events)
    page.route("**/events", lambda route: route.fulfill(content_type="text/event-stream", body=body))
    page.reload()
    page.wait_for_selector(".sofar p >> text=37 metres")
    assert page.text_content(".sofar h3") == "<b>Height</b>"
    assert page.text_content(".sofar p") == hostile.replace("\u202e", " ")
    assert page.locator(".sofar p").count() == 1, "a section told again takes the place of the first"
    assert page.locator(".sofar :is(img, a, b)").count() == 0
    page.unroute("**/events")
    page.reload()
    page.wait_for_selector(".page-read >> text=The tower")


def test_a_run_is_stopped_and_resumed_and_followed_up(chromium: Any, served: Served, site: Site) -> None:
    with tab(chromium, served) as page:
        page.goto(served.url)
        page.fill("#question", "How tall is the Vardo tower, who built it, and when was its lamp lit?")
        page.click("text=Limits and budget")
        page.fill("[name=urls]", "\n".join(map(site.page, ("/tower", "/gone", "/private", "/slow"))))
        page.click("button:has-text('Research')")
        page.wait_for_selector(".page-read >> text=The tower")
        page.wait_for_selector(".page-dead >> text=the page does not exist any more")
        page.wait_for_selector(".page-refused >> text=robots.txt does not allow it")
        stages = page.locator("#live [role=status]")
        assert stages.count() == 1
        assert "read" in stages.text_content()
        sections_are_shown_while_it_goes(page)
        page.click("button:has-text('Stop')")
        page.wait_for_selector(".run-head >> text=stopped")
        assert page.locator(".page-read").count() == 1, "what was read before is shown"
        assert page.locator(".stages .halt").count() == 1
        run = page.url
        page.goto(f"{served.url}/runs?status=cancelled")
        assert page.locator(".runs li").count() == 1
        page.goto(run)
        site.open.set()
        page.click("button:has-text('Resume')")
        page.wait_for_selector("#text >> text=37 metres")
        assert page.url == run
        assert site.asked["/tower"] == 1, "a finished call is not made again"
        assert "1871" in page.text_content("#text")
        page.click("nav.tabs >> text=What we could not find")
        assert "the page does not exist any more" in page.text_content("main")
        page.goto(run)
        page.fill("#follow", "In which year was the Vardo tower built?")
        page.click(".follow button")
        page.wait_for_function("old => location.pathname !== old", arg=run.removeprefix(served.url))
        page.wait_for_selector("#text >> text=1868")
        assert site.asked["/tower"] == 1, "the page that the first run cites is at hand"


def test_the_way_of_the_focus(chromium: Any, served: Served) -> None:
    run = served.keep(SAMPLE, "run_20261121093000_0000000ffff1")
    with tab(chromium, served, reduced_motion="reduce") as page:
        page.goto(run)
        assert page.eval_on_selector_all("header, nav, main, footer", "found => found.length") >= 4
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
        page.keyboard.press("Enter")
        for _ in range(40):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.matches('a.cite')"):
                break
        page.wait_for_selector(".card:not([hidden]) q")
        assert page.evaluate("document.getElementById(document.activeElement.getAttribute('aria-describedby')).id")
        key = page.evaluate("document.activeElement.dataset.key")
        page.keyboard.press("Enter")
        page.wait_for_selector(".panel mark")
        assert page.locator(".card").is_hidden()
        assert page.evaluate("getComputedStyle(document.querySelector('.panel')).animationName") == "none"
        page.keyboard.press("Tab")
        assert page.evaluate("document.querySelector('.panel').contains(document.activeElement)")
        page.keyboard.press("Shift+Tab")
        assert page.evaluate("document.activeElement.textContent") == "Close"
        page.keyboard.press("Enter")
        assert page.locator(".panel").is_hidden()
        assert page.evaluate("document.activeElement.dataset.key") == key, "where the reader was"


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_the_passage_is_in_view_at_every_width(chromium: Any, served: Served, width: int) -> None:
    run = served.keep(large_report(30), f"run_20261121093000_00000000{width:04}")
    with tab(chromium, served) as page:
        for height in (360, 800):
            page.set_viewport_size({"width": width, "height": height})
            page.goto(run)
            for n in (0, 15, 29):
                page.locator("#text .s").nth(n).click()
                page.wait_for_selector(".panel mark")
                place = page.locator(".panel mark").first.bounding_box()
                frame = page.locator(".panel .page-text").bounding_box()
                assert frame["y"] - 1 <= place["y"] <= frame["y"] + frame["height"]
                assert 0 <= place["y"] < height
                assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
                page.keyboard.press("Escape")


def test_questions_and_reports_that_run_from_right_to_left(chromium: Any, served: Served) -> None:
    arabic = "تقع المنارة في الميناء القديم ويبلغ ارتفاعها 41 مترا"
    sample = SampleReport(report_stating(arabic), SAMPLE.documents, SAMPLE.snapshots)
    run = served.keep(sample, "run_20261121093000_0000000ffff2")
    with tab(chromium, served) as page:
        for width in (360, 1280):
            page.set_viewport_size({"width": width, "height": 800})
            page.goto(run)
            assert page.eval_on_selector("h1", "element => getComputedStyle(element).direction") == "rtl"
            assert page.eval_on_selector("#text p[dir]", "element => getComputedStyle(element).direction") == "rtl"
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.goto(served.url)
        page.fill(
            "#question", "<img src=x onerror=alert(1)> **How tall** is the [Halden](javascript:alert(2)) lighthouse?"
        )
        page.click("button:has-text('Research')")
        page.wait_for_selector("#text")
        assert page.text_content("h1").startswith("<img src=x onerror=alert(1)> **How tall** is the [Halden]")
        assert page.locator("main img, main a[href^=javascript]").count() == 0


def test_a_number_that_is_no_source(chromium: Any, served: Served) -> None:
    run = served.keep(SAMPLE, "run_20261121093000_0000000ffff3")
    with tab(chromium, served, expected="404") as page:
        page.goto(f"{run}/citations/2")
        assert page.url == f"{run}/sources#r2"
        page.goto(f"{run}/citations/9")
        assert "no reference [9]" in page.text_content("h1")
