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
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from pincite.testing.reports import SampleReport, empty_report, report_stating, sample_report
from pincite.testing.stored import keep_report, large_report

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
if CHROMIUM is None:
    pytest.skip("NOT TESTED: no Chromium on this machine", allow_module_level=True)

sync_api = pytest.importorskip("playwright.sync_api")

AXE = (Path(__file__).parent / "data" / "axe.min.js").read_text(encoding="utf-8")
QUESTION = "How tall is the Halden lighthouse, when was it lit and who built it?"
PAGES = {
    "halden.md": "# Halden lighthouse\n\nThe Halden lighthouse is 41 metres tall. The Halden lighthouse was first lit "
    "on 3 May 1897.\n\nThe Halden lighthouse was built by the harbour board of Halden.\n",
    "coast.md": "# The coast\n\nThe Halden lighthouse was first lit in May 1897, says the register of the coast.\n",
    "emoji.md": "# Postcards 🌊\n\n🌊🌊 Halden lighthouse: 🗼 the harbour board of Halden built the lighthouse in "
    "1896. 🌊\n",
}
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
        with urlopen(self.url + path, timeout=20) as answer:
            return json.load(answer)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("pages")
    library = folder / "library"
    library.mkdir()
    for name, text in PAGES.items():
        (library / name).write_text(text, encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    env = {**os.environ, "PINCITE_SOURCE": f"local:{library}", "PINCITE_HOME": str(folder / "home")}
    server = subprocess.Popen(
        [sys.executable, "-m", "pincite", "serve", "--port", str(port)], env=env, stderr=subprocess.DEVNULL
    )
    found = Served(f"http://127.0.0.1:{port}", folder / "home")
    try:
        for _ in range(300):
            try:
                urlopen(f"{found.url}/readyz", timeout=5).close()
                break
            except OSError:
                time.sleep(0.1)
        yield found
    finally:
        server.terminate()
        server.wait(20)


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
    context.set_default_timeout(20_000)
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
        page.wait_for_selector("#text", timeout=30_000)
        run = page.url
        marks = page.locator("#text a.cite")
        assert marks.count() >= 3
        for n in range(3):
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


def test_by_keys_alone(chromium: Any, served: Served) -> None:
    with tab(chromium, served) as page:
        page.goto(served.url)
        page.keyboard.type(QUESTION)
        for _ in range(6):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.textContent.trim()") == "Research":
                break
        page.keyboard.press("Enter")
        page.wait_for_selector("#text", timeout=30_000)
        page.keyboard.press("j")
        page.keyboard.press("j")
        key = page.evaluate("document.activeElement.dataset.key")
        page.keyboard.press("Enter")
        page.wait_for_selector(".panel mark")
        assert flat(marked(page, ".panel")) == flat(quote_of(served, page.url, key))
        assert page.evaluate("document.querySelector('.panel').contains(document.activeElement)")
        page.keyboard.press("Escape")
        assert page.evaluate("document.activeElement.dataset.key") == key
        page.keyboard.press("k")
        assert page.evaluate("document.activeElement.dataset.key") != key


def test_without_scripts(chromium: Any, served: Served) -> None:
    with tab(chromium, served, java_script_enabled=False) as page:
        run = ask(page, served)
        mark = page.locator("#text a.cite").first
        key = mark.get_attribute("data-key")
        mark.click()
        page.wait_for_selector(".evidence mark")
        text = "".join(page.locator(".evidence mark").all_text_contents())
        assert flat(text) == flat(quote_of(served, run, key))
        page.click("nav.tabs >> text=Sources")
        page.wait_for_selector("ol.sources")
        page.goto(f"{served.url}/audit")
        page.fill("#report", "The tower is 41 metres tall. [1]\n\n[1] https://nowhere.invalid/")
        page.click("button:has-text('Audit')")
        page.wait_for_selector("#f1")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_serious_for_assistive_technology(chromium: Any, served: Served, scheme: str) -> None:
    run = served.keep(SAMPLE, f"run_20261121093000_00000000{'aaaa' if scheme == 'light' else 'bbbb'}")
    tabs = ("", "/sources", "/claims", "/conflicts", "/gaps", "/trace", "/export")
    found: list[str] = []
    with tab(chromium, served, color_scheme=scheme) as page:
        for url in (served.url, f"{served.url}/runs", f"{served.url}/audit", *(run + name for name in tabs), run):
            page.goto(url)
            if url == run:
                page.click("#text a.cite >> nth=0")
                page.wait_for_selector(".panel mark")
                page.wait_for_timeout(250)  # the panel has come to rest
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
        urlopen(Request(f"{served.url}/v1/research/{run.rsplit('/', 1)[1]}", method="DELETE"), timeout=20).close()
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
        one.wait_for_selector("#text", timeout=30_000)
        other.wait_for_selector("#text", timeout=30_000)
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
        page.wait_for_selector("#text", timeout=30_000)
