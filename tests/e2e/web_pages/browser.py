"""A server over a small library, a site on loopback, and what tests of the pages do in a browser."""

import asyncio
import json
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event
from typing import Any
from urllib.request import urlopen

import pytest
from tests.fakes.stored import keep_report

from pincite.testing.reports import SampleReport, sample_report

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
if CHROMIUM is None:
    pytest.skip("NOT TESTED: no Chromium on this machine", allow_module_level=True)

sync_api = pytest.importorskip("playwright.sync_api")

AXE = (Path(__file__).parents[1] / "data" / "axe.min.js").read_text(encoding="utf-8")
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

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # as http.server calls it
        """Nothing: the tests look at `asked`."""


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
