"""`pincite ui`: from the command to a clicked proof, by the printed address and by nothing else."""

import re
import shutil
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from tests import warm
from tests.e2e.commands import QUESTION, Pincite, clean_environment, with_library

from pincite.settings import load_settings
from pincite.surfaces.cli.serve import opened
from pincite.surfaces.http.serving import local_defaults

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@contextmanager
def started(home: Path, *arguments: str, **environ: str) -> Iterator[tuple[str, Any]]:
    """The address that the command prints, and its process."""
    env = {**clean_environment(home), "PINCITE_SOURCE": "bundled", **environ}
    env = {name: value for name, value in env.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")}
    process = warm.start("ui", *arguments, env=env, cwd=home)
    assert process.stderr is not None
    line = process.stderr.readline()
    found = re.fullmatch(r"Open (http://127\.0\.0\.1:\d+/enter\?key=\S+)\n", line)
    assert found, line
    try:
        yield found[1], process
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


def test_it_opens_to_its_address_alone_and_stops_by_ctrl_c(tmp_path: Path) -> None:
    with started(tmp_path) as (address, process):
        with pytest.raises(HTTPError, match="401"):
            urlopen(Request(address.split("/enter")[0] + "/v1/research", headers={"Accept": "application/json"}))
        with pytest.raises(HTTPError, match="401"):
            urlopen(f"{address[:-4]}none")
        assert "Ctrl-C stops" in process.stderr.readline()
        assert "No browser was found" in process.stderr.readline()
    assert process.returncode in (0, 130)
    key = address.partition("key=")[2].encode()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files, "the home was used"
    assert not [path for path in files if key in path.read_bytes()], "the key is kept nowhere"


@pytest.mark.parametrize("command", ["ui", "serve", "mcp --transport http"])
def test_a_taken_port_is_told(pincite: Pincite, command: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ended = pincite(*command.split(), "--port", str(taken.getsockname()[1]))
    assert ended.code == 2
    assert "is taken" in ended.err
    assert "--port" in ended.err
    assert "Serving" not in ended.err


def test_a_server_that_says_it_serves_can_be_connected_to(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = warm.start("serve", "--port", str(port), env=clean_environment(tmp_path), cwd=tmp_path)
    try:
        assert process.stderr is not None
        assert any(line.startswith(f"Serving on http://127.0.0.1:{port}") for line in process.stderr)
        with urlopen(f"http://127.0.0.1:{port}/healthz", timeout=60) as answer:
            assert answer.status == 200
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


def test_an_interface_of_another_machine_is_told(pincite: Pincite) -> None:
    pincite("keys", "create", "me")
    ended = pincite("serve", "--host", "192.0.2.1", "--port", "8787")  # an address of documents only: RFC 5737
    assert ended.code == 2
    assert "can't listen on 192.0.2.1: " in ended.err
    assert "--host" in ended.err


def test_without_a_screen_no_browser_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr("webbrowser.open", lambda address: pytest.fail(address))
    assert not opened("http://127.0.0.1/")


def test_it_can_search_the_web_and_the_bundled_pages_out_of_the_box(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PINCITE_SOURCE", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert local_defaults(load_settings({"home": tmp_path})) == {"duckduckgo": True, "source": ("bundled", "auto")}
    own = load_settings({"home": tmp_path, "source": "tavily", "duckduckgo": False})
    assert local_defaults(own) == {}


@pytest.mark.skipif(CHROMIUM is None, reason="NOT TESTED: no Chromium on this machine")
def test_from_the_command_to_a_clicked_proof(tmp_path: Path, demo_home: Path) -> None:
    sync_api = pytest.importorskip("playwright.sync_api")
    home = with_library(tmp_path, demo_home)
    with started(home, "--no-browser") as (address, _), sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        page.set_default_timeout(90_000)
        page.goto(address)
        assert "key=" not in page.url
        page.fill("#question", QUESTION)
        page.click("button:has-text('Research')")
        page.wait_for_selector("#text a.cite")
        page.locator("#text a.cite").first.click()
        page.wait_for_selector(".panel .evidence mark")
        assert page.locator(".panel mark").first.inner_text()
        browser.close()
