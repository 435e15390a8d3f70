"""The export format of an installed package, asked for at the doors of a server that was started as people start it."""

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from tests.e2e.commands import clean_environment
from tests.fakes.plugins import installed_in

FACT = "The Halden lighthouse is 41 metres tall."


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    library = tmp_path / "library"
    library.mkdir()
    (library / "lighthouse.md").write_text(
        f"# Halden lighthouse\n\n{FACT} It was first lit in 1897.\n", encoding="utf-8"
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environ = clean_environment(
        tmp_path / "home",
        {"PYTHONPATH": os.pathsep.join(installed_in(tmp_path)), "PINCITE_SOURCE": f"local:{library}"},
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "pincite", "serve", "--port", str(port)], env=environ, stderr=subprocess.DEVNULL
    )
    address = f"http://127.0.0.1:{port}"
    try:
        until = time.monotonic() + 90
        while True:
            assert process.poll() is None
            assert time.monotonic() < until
            try:
                if httpx2.get(f"{address}/healthz", timeout=2).status_code == 200:
                    break
            except httpx2.HTTPError:
                time.sleep(0.1)
        yield address
    finally:
        process.terminate()
        process.wait(30)


def test_a_report_in_the_format_of_a_package(server: str) -> None:
    with httpx2.Client(base_url=server, timeout=60) as client:
        run_id = client.post("/v1/research", json={"question": "How tall is the Halden lighthouse?"}).json()["id"]
        ended = client.get(f"/v1/research/{run_id}", params={"wait": 50}).json()
        assert ended["status"] in ("completed", "partial"), ended
        report = client.get(f"/v1/research/{run_id}/report").json()
        got = client.get(f"/v1/research/{run_id}/report", params={"format": "txt"})
        assert got.status_code == 200
        assert got.headers["content-type"] == "text/plain; charset=utf-8"
        assert f'filename="{run_id}.txt"' in got.headers["content-disposition"]
        lines = got.text.splitlines()
        assert lines[0] == report["question"]
        assert any(re.fullmatch(re.escape(FACT) + r"( \[\d+\])+", line) for line in lines), got.text
        assert all(f"[{source['n']}] " in got.text and source["url"] in got.text for source in report["references"])
        # Listed wherever formats are: the published description, the refusal of another.
        answers = client.get("/openapi.json").json()["paths"]["/v1/research/{run_id}/report"]["get"]["responses"]
        assert "text/plain" in answers["200"]["content"]
        refused = client.get(f"/v1/research/{run_id}/report", params={"format": "epub"})
        assert (refused.status_code, "txt" in refused.text) == (422, True)
