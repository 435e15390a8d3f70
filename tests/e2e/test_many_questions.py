"""Many questions by the real commands: `batch` killed and started again, left to workers, beside a server."""

import json
import signal
import socket
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests import warm
from tests.e2e.commands import clean_environment, command

TOWNS = ("Ostrow", "Lubin", "Zator", "Mielec", "Sanok", "Turek")
LONG_S = 240.0


@pytest.fixture
def source(tmp_path: Path) -> str:
    folder = tmp_path / "pages"
    folder.mkdir()
    for n, town in enumerate(TOWNS):
        text = (
            f"# Bridge of {town}\n\nThe bridge of {town} was opened in {1900 + n}. It carries {n + 1} railway tracks.\n"
        )
        (folder / f"{town}.md").write_text(text, encoding="utf-8")
    return f"local:{folder}"


def questions(path: Path, number: int) -> list[str]:
    ids = [f"q{n}" for n in range(number)]
    lines = (
        {"id": id_, "question": f"When was the bridge of {TOWNS[n % len(TOWNS)]} opened, asked for the {n + 1}. time?"}
        for n, id_ in enumerate(ids)
    )
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return ids


def answers(path: Path) -> list[dict[str, Any]]:
    """The whole lines of a file that may still be written."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return [json.loads(line) for line in text.split("\n")[:-1]]


@contextmanager
def running(home: Path, *arguments: str, environ: Mapping[str, str] | None = None) -> Iterator[warm.Process]:
    """A command that goes on beside the test."""
    process = warm.start(*arguments, env=clean_environment(home, environ), cwd=home.parent)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def until(found: Any, process: warm.Process) -> Any:
    ends = time.monotonic() + LONG_S
    while time.monotonic() < ends:
        value = found()
        if value:
            return value
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    raise TimeoutError


def killed_and_started_again(tmp_path: Path, source: str, number: int) -> None:
    home, asked, out = tmp_path / "home", tmp_path / "asked.jsonl", tmp_path / "answers.jsonl"
    ids = questions(asked, number)
    batch = ("batch", str(asked), "-o", str(out), "--source", source, "--profile", "quick", "--slots", "4")
    home.mkdir()
    with running(home, *batch) as process:
        until(lambda: len(answers(out)) >= number // 5, process)
        process.send_signal(signal.SIGKILL)
        process.wait()
    before = answers(out)
    assert len(before) < number
    done = command(home, tmp_path)(*batch, "--json")
    assert done.code == 0
    assert f"{number} of {number} done" in done.err
    after = answers(out)
    assert after[: len(before)] == before, "what is answered stays as it is"
    assert sorted(line["id"] for line in after) == sorted(ids), "each once"
    assert {line["status"] for line in after} <= {"complete", "partial", "insufficient_evidence"}
    assert all(str(1900 + int(line["id"][1:]) % len(TOWNS)) in line["report"]["markdown"] for line in after)
    listed = command(home, tmp_path)("runs", "list", "--limit", str(number * 2), "--json").json
    assert len(listed) == number, "no question has a second run"


def test_a_batch_that_was_killed_goes_on(tmp_path: Path, source: str) -> None:
    killed_and_started_again(tmp_path, source, 12)


@pytest.mark.long
def test_a_batch_of_two_thousand_questions_that_was_killed_goes_on(tmp_path: Path, source: str) -> None:
    killed_and_started_again(tmp_path, source, 2_000)


def test_a_question_that_is_left_to_workers_is_not_called_done(tmp_path: Path, source: str) -> None:
    left = command(tmp_path / "home", tmp_path)("research", "When was Ostrow opened?", "--source", source, "--queue")
    run_id = left.out.strip()
    assert left.err == f"Queued. `pincite worker` executes it; see: pincite runs show {run_id}\n"


def test_runs_that_were_given_up_are_listed_and_tried_again(tmp_path: Path, source: str) -> None:
    home = tmp_path / "home"
    pincite = command(home, tmp_path)
    for town in TOWNS[:3]:
        pincite("research", f"When was the bridge of {town} opened?", "--source", source, "--queue")
    dead = [run["run_id"] for run in pincite("runs", "list", "--json").json[:2]]
    with closing(sqlite3.connect(home / "pincite.sqlite")) as raw, raw:
        for run_id in dead:
            raw.execute("UPDATE runs SET status = 'dead_letter', deaths = 4 WHERE run_id = ?", (run_id,))
    listed = pincite("runs", "list", "--status", "dead_letter", "--json").json
    assert {run["run_id"] for run in listed} == set(dead)
    assert "dead_letter" in pincite("runs", "show", dead[0]).out
    assert pincite("runs", "retry", "--json").code == 2
    assert set(pincite("runs", "retry", "--dead", "--json").json["queued"]) == set(dead)
    assert pincite("runs", "list", "--status", "dead_letter").out == "No run is dead_letter.\n"
    assert pincite("worker", "--until-idle").code == 0
    assert {run["status"] for run in pincite("runs", "list", "--json").json} == {"completed"}
    assert pincite("runs", "retry", "--dead").out == "No run is to be tried again.\n"


def test_workers_answer_a_batch_and_what_a_server_is_asked(
    postgresql_database: str, tmp_path: Path, source: str
) -> None:
    home, asked, out = tmp_path / "home", tmp_path / "asked.jsonl", tmp_path / "answers.jsonl"
    home.mkdir()
    ids = questions(asked, 6)
    port = free_port()
    environ = {"PINCITE_DATABASE_URL": postgresql_database, "PINCITE_SOURCE": source}
    with (
        running(home, "serve", "--port", str(port), "--no-work", environ=environ) as server,
        running(home, "worker", "--slots", "2", environ=environ) as worker,
        httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client,
    ):
        until(lambda: ready(client), server)
        batch = ("batch", str(asked), "-o", str(out), "--queue", "--profile", "quick")
        with running(home, *batch, environ=environ) as waiting:
            run_id = client.post("/v1/research", json={"question": "How many tracks has the bridge of Zator?"}).json()[
                "id"
            ]
            ended = until(lambda: finished(client, run_id), worker)
            assert ended["status"] in ("completed", "partial"), ended
            _, told = waiting.communicate(timeout=LONG_S)
            assert waiting.returncode == 0, told
        assert "6 of 6 done" in told
        assert sorted(line["id"] for line in answers(out)) == ids
        with client.stream("GET", f"/v1/research/{run_id}/events", headers={"Accept": "text/event-stream"}) as stream:
            kinds = [line[7:] for line in stream.iter_lines() if line.startswith("event: ")]
        # A library that takes long to read says so before its run starts.
        assert next(kind for kind in kinds if kind != "library.read") == "run.started", kinds
        assert kinds[-1] == "run.completed", kinds
        worker.send_signal(signal.SIGTERM)
        _, said = worker.communicate(timeout=LONG_S)
        assert worker.returncode == 0, said


def ready(client: httpx2.Client) -> bool:
    try:
        return client.get("/readyz").status_code == 200
    except httpx2.TransportError:
        return False


def finished(client: httpx2.Client, run_id: str) -> Any:
    view = client.get(f"/v1/research/{run_id}").json()
    return None if view["status"] in ("queued", "running") else view


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port
