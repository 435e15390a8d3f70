"""The site, the server and the browser of these tests, once for each file."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.request import urlopen

import pytest


@pytest.fixture(scope="module")
def site() -> Iterator[Any]:
    from tests.e2e.web_pages.browser import Site

    with Site() as found, ThreadPoolExecutor(1) as pool:
        pool.submit(found.serve_forever)
        yield found
        found.open.set()
        found.shutdown()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, site: Any) -> Iterator[Any]:
    from tests.e2e.web_pages.browser import PAGES, PATIENCE_MS, Served

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
    from tests.e2e.web_pages.browser import CHROMIUM, sync_api

    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"],
        )
        yield browser
        browser.close()
