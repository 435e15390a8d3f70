"""Runs on the pages: followed, stopped, resumed, deleted; and reports and texts of every size and direction."""

import json
import re
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from tests.e2e.web_pages.browser import SAMPLE, WEB, Served, Site, marked, tab
from tests.fakes.reports import empty_report, report_stating
from tests.fakes.stored import large_report

from pincite.testing.reports import SampleReport


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


def the_page_says_that_the_server_is_away_until_it_is_back(page: Any) -> None:
    """A page that goes on counting seconds looks as if the run went on."""
    for refuse in (lambda route: route.abort(), lambda route: route.fulfill(status=502, body="<h1>Bad gateway</h1>")):
        page.route("**/v1/research/*", refuse)
        page.wait_for_selector("[role=alert] >> text=does not answer")
        page.unroute("**/v1/research/*")
        page.wait_for_selector("[role=alert]", state="detached")
    assert page.locator(".page-read").count() == 1, "what was read before is shown"


def test_a_run_is_stopped_and_resumed_and_followed_up(chromium: Any, served: Served, site: Site) -> None:
    with tab(chromium, served, expected="ERR_FAILED|502") as page:
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
        the_page_says_that_the_server_is_away_until_it_is_back(page)
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


def test_a_question_is_answered_from_a_file_that_the_page_sends(chromium: Any, served: Served, tmp_path: Path) -> None:
    notes, noise = tmp_path / "tower notes.html", tmp_path / "noise.png"
    notes.write_text(WEB["/tower"], encoding="utf-8")
    noise.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(200))
    with tab(chromium, served, expected="status of 422") as page:
        page.goto(served.url)
        page.fill("#question", "How tall is the Vardo tower, and who built it?")
        page.focus("summary:has-text('Limits and budget')")
        page.keyboard.press("Enter")
        field = page.get_by_label("Read these files of yours")
        field.focus()
        assert page.evaluate("document.activeElement.name") == "files", "the keyboard gets there"
        field.set_input_files([noise])
        page.click("button:has-text('Research')")
        told = page.wait_for_selector("[role=alert]").text_content()
        assert "The file noise.png can't be read: the body is not text" in told
        assert page.input_value("#question").startswith("How tall"), "what was typed stays"
        page.get_by_label("Read these files of yours").set_input_files([notes])
        page.click("button:has-text('Research')")
        page.wait_for_selector("#text >> text=37 metres")
        sources = page.text_content("main")
        assert "tower%20notes.html" in sources or "The tower" in sources
        assert "lighthouse" not in page.text_content("#text"), "nothing else is searched"


PLACES_IN_CODE = """paragraph => {
  const code = document.createElement("code");
  code.textContent = "--port";
  paragraph.querySelector("sup").before(" ", code, ".");
  return [...code.textContent].map((_, at) => {
    const letter = document.createRange();
    letter.setStart(code.firstChild, at);
    letter.setEnd(code.firstChild, at + 1);
    return letter.getBoundingClientRect().left;
  });
}"""


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
            # An option keeps its dashes in front, and the number behind a sentence is not torn from its end.
            starts = page.eval_on_selector("#text p[dir]", PLACES_IN_CODE)
            assert starts == sorted(starts), starts
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
