"""The web pages in a browser: from a question to the marked passage and the files, by mouse, keys, no scripts."""

import csv
import io
import json
import re
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.web_pages.browser import AXE, QUESTION, SAMPLE, Served, ask, flat, marked, quote_of, tab
from tests.fakes.reports import proven_report, report_stating
from tests.fakes.stored import large_report

from pincite.exports.html import HtmlExporter
from pincite.testing.reports import SampleReport


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
        assert "answered in part: the hour" in page.inner_text(".parts")
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


@pytest.mark.parametrize("size", [{"width": 1280, "height": 900}, {"width": 390, "height": 800}], ids=["desk", "phone"])
def test_a_long_report_has_a_list_of_its_sections(chromium: Any, served: Served, size: dict[str, int]) -> None:
    sections = SAMPLE.report.sections * 4
    long = replace(SAMPLE, report=replace(SAMPLE.report, sections=sections, outline=SAMPLE.report.outline * 4))
    run = served.keep(long, f"run_20261121093000_000000000{size['width']:03x}")
    with tab(chromium, served) as page:
        page.set_viewport_size(size)
        page.goto(run)
        if size["width"] < 1000:
            page.click("summary:has-text('Sections')")
        listed = page.locator(".contents a:visible")
        assert listed.all_inner_texts() == [section.heading for section in sections]
        listed.last.click()
        place = page.locator("#text section h2").nth(len(sections)).bounding_box()
        assert 0 <= place["y"] < size["height"], "the answer is a section before them"
        page.evaluate(AXE)
        answer = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        assert [i["id"] for i in answer["violations"] if i["impact"] in ("serious", "critical")] == []
        page.goto(served.keep(SAMPLE, f"run_20261121093000_000000001{size['width']:03x}"))
        assert page.locator(".contents").count() == 0, "two sections are seen at a glance"


LINES_OF_A_WIDE_TABLE = """table => {
  const cells = [...table.rows].flatMap((row) => Array.from({ length: 20 }, (_, n) => {
    const cell = row.insertCell();
    cell.textContent = `Setting${n}`;
    return cell;
  }));
  const lines = cells.map((cell) => {
    const text = document.createRange();
    text.selectNodeContents(cell);
    return text.getClientRects().length;
  });
  return Math.max(...lines);
}"""


def test_on_a_phone_the_answer_comes_first_and_nothing_moves_the_page_sideways(
    chromium: Any, served: Served, tmp_path: Path
) -> None:
    proven = replace(SAMPLE, report=proven_report())
    run = served.keep(proven, "run_20261121093000_0000000fffb2")
    file = tmp_path / "report.html"
    file.write_bytes(HtmlExporter().render(proven.report, proven.documents))
    with tab(chromium, served) as page:
        page.set_viewport_size({"width": 375, "height": 700})
        page.goto(run)
        top = {name: page.locator(name).first.bounding_box()["y"] for name in (".answer", ".glance", ".guide")}
        assert top[".answer"] < top[".glance"] < top[".guide"]
        for above, below in ((".to-glance", "#text"), (".column", ".glance")):
            first, second = (page.locator(name).bounding_box() for name in (above, below))
            assert second["y"] - first["y"] - first["height"] >= 8, f"{below} is stuck to {above}"
        page.click("text=How far to trust it >> nth=0")
        page.wait_for_function("document.querySelector('.glance').getBoundingClientRect().top < innerHeight")
        page.goto(run)
        assert page.eval_on_selector(".laid", LINES_OF_A_WIDE_TABLE) == 1, "a word of a wide table is torn into letters"
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        for address in (run, file.as_uri()):
            page.goto(address)
            # What only tools read stands behind a line of code, out of sight.
            page.locator("main pre .hidden").first.evaluate("mark => mark.parentElement.before('wide '.repeat(60))")
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), address


def test_by_keys_alone(chromium: Any, served: Served) -> None:
    with tab(chromium, served) as page:
        page.goto(served.url)
        page.wait_for_function("document.activeElement.id === 'question'")
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


def test_the_question_is_sent_from_its_box(chromium: Any, served: Served) -> None:
    with tab(chromium, served) as page:
        page.goto(served.url)
        page.wait_for_function("document.activeElement.id === 'question'")
        page.keyboard.type(QUESTION)
        page.keyboard.press("Enter")
        assert page.locator("#question").input_value() == f"{QUESTION}\n", "a line of its own"
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("#text")
        assert "/runs/" in page.url


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
                close, title = (page.locator(f".panel {name}").bounding_box() for name in (".close", "h2"))
                assert close["y"] + close["height"] <= title["y"], "the button lies over the sentence"
                assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
                page.keyboard.press("Escape")
