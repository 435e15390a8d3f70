"""Ctrl-C in the middle of a run: what was read is kept, the way on is named, and resuming finishes the report."""

import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

from tests.e2e.commands import EXAMPLES, QUESTION, Pincite, clean_environment, command


def test_ctrl_c_leaves_a_run_that_can_be_resumed(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "pincite", "research", QUESTION, "--source", f"local:{EXAMPLES}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment(tmp_path),
        cwd=tmp_path,
    )
    assert process.stderr is not None
    seen = []
    for line in process.stderr:
        seen.append(line)
        if line.startswith("page.fetched"):
            process.send_signal(signal.SIGINT)
            break
    _, rest = process.communicate(timeout=60)
    assert process.returncode == 130, rest
    named = re.search(r"pincite runs resume (run_\S+)", rest)
    assert named, rest

    pincite = command(tmp_path, tmp_path)
    assert pincite("runs", "list", "--json").json[0]["status"] == "cancelled"
    resumed = pincite("runs", "resume", named.group(1), "--json")
    assert resumed.code == 0, resumed.err
    assert resumed.json["status"] in {"complete", "partial"}
    (tmp_path / "report.json").write_text(resumed.out, encoding="utf-8")
    assert pincite("check", "report.json").code == 0


def test_a_run_that_has_ended_stays_as_it_is_when_cancelled(demo: Pincite) -> None:
    status = demo("runs", "list", "--json").json[0]["status"]
    ended = demo("runs", "cancel", "last", "--json")
    assert ended.code == 0, ended.err
    assert ended.json["status"] == status


def test_a_run_is_stopped_from_another_process(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # connects, and never answers
        port = silent.getsockname()[1]
        opened = {"PINCITE_ALLOW_NETWORKS": "127.0.0.0/8", "PINCITE_ALLOW_PORTS": str(port)}
        process = subprocess.Popen(
            [sys.executable, "-m", "pincite", "research", QUESTION, "--url", f"http://127.0.0.1:{port}/"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=clean_environment(tmp_path, {**opened, "PINCITE_FETCH_DEADLINE_S": "40"}),
            cwd=tmp_path,
        )
        assert process.stderr is not None
        pincite = command(tmp_path, tmp_path)
        for line in process.stderr:
            if line.startswith("plan.created"):
                ended = pincite("runs", "cancel", "last")
                break
        _, rest = process.communicate(timeout=60)
    assert "was asked to stop" in ended.out, ended.err
    assert process.returncode == 130, rest
    assert pincite("runs", "list", "--json").json[0]["status"] == "cancelled"
