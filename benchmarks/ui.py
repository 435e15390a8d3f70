"""Time and weight of the web pages in headless Chromium over loopback.

    python benchmarks/ui.py [--claims 100 1000]

Prints, as medians of five loads each with an empty cache: first contentful paint, the time from a click on a mark to
the passage in view (median of twenty marks), and the bytes of everything the report page loads.
"""

import argparse
import asyncio
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import beside_tests  # noqa: F401  # its import is its effect
from playwright.sync_api import sync_playwright
from tests.fakes.stored import keep_report, large_report

LOADS = 5
MARKS = 20
PAINT = """() => new Promise((done) => {
  const seen = () => performance.getEntriesByName('first-contentful-paint')[0];
  const look = () => seen() ? done(seen().startTime) : requestAnimationFrame(look);
  look();
})"""
OPEN = """async (n) => {
  const mark = document.querySelectorAll('#text a.cite')[n];
  performance.clearMarks('panel-open');
  const started = performance.now();
  mark.click();
  while (!performance.getEntriesByName('panel-open').length) await new Promise((next) => setTimeout(next, 1));
  return performance.getEntriesByName('panel-open')[0].startTime - started;
}"""


def served(home: Path) -> tuple[subprocess.Popen[bytes], str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    library = home.parent / "library"
    library.mkdir(exist_ok=True)
    env = {**os.environ, "PINCITE_HOME": str(home), "PINCITE_SOURCE": f"local:{library}"}
    server = subprocess.Popen(
        [sys.executable, "-m", "pincite", "serve", "--port", str(port)], env=env, stderr=subprocess.DEVNULL
    )
    url = f"http://127.0.0.1:{port}"
    for _ in range(300):
        try:
            urlopen(f"{url}/readyz", timeout=5).close()
            return server, url
        except OSError:
            time.sleep(0.1)
    raise SystemExit("the server did not start")


def measured(browser: Any, url: str, claims: int) -> str:
    paints, opened, weights = [], [], []
    for load in range(LOADS):
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        page = context.new_page()
        answers: list[Any] = []
        page.on("response", lambda answer, answers=answers: answers.append(answer))
        page.goto(url, wait_until="networkidle")
        paints.append(page.evaluate(PAINT))
        weights.append(sum(len(answer.body()) for answer in tuple(answers)))
        if load == LOADS - 1:
            step = max(claims // MARKS, 1)
            opened = [page.evaluate(OPEN, n) for n in range(0, claims, step)][:MARKS]
        context.close()
    return (
        f"{claims:>6} claims: first contentful paint {statistics.median(paints):.0f} ms, "
        f"panel {statistics.median(opened):.0f} ms (slowest {max(opened):.0f} ms), "
        f"page {statistics.median(weights) / 1000:.0f} kB"
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--claims", type=int, nargs="+", default=[100, 1000])
    sizes = arguments.parse_args().claims
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        runs = {n: asyncio.run(keep_report(home, large_report(n, f"run_20261121093000_{n:012x}"))) for n in sizes}
        server, url = served(home)
        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(
                    executable_path=chromium, args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
                )
                for n, run_id in runs.items():
                    print(measured(browser, f"{url}/runs/{run_id}", n))
        finally:
            server.terminate()
            server.wait(20)


if __name__ == "__main__":
    main()
