"""The real research run, killed at seeded instants over the bundled library: the same report, no call made twice."""

import json
import os
import random
import re
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import anyio
import pytest
from tests.e2e.commands import EXAMPLES

from pincite.domain.codec import to_json
from pincite.domain.events import Event
from pincite.domain.report import Report
from pincite.engine import Engine

QUESTION = "What does VACUUM do with dead rows in PostgreSQL?"


def lasting(report: Report) -> Any:
    """The report without run id, times, metrics and the ids made from them."""
    data: Any = to_json(report)
    for name in ("run_id", "report_id", "created_at", "metrics"):
        data.pop(name)
    text = re.sub(r"snap_[0-9a-f]{32}", "snap", json.dumps(data))
    return json.loads(re.sub(r"\d{4}-\d\d-\d\d(T[0-9:.]+(Z|\+00:00))?", "day", text))


def shape_of(event: Event) -> tuple[str, int]:
    return event.type, len(event.data)


def differences(found: Any, expected: Any, place: str = "") -> Iterator[str]:
    """Where two reports differ, and how."""
    if isinstance(found, dict) and isinstance(expected, dict) and found.keys() == expected.keys():
        for name in found:
            yield from differences(found[name], expected[name], f"{place}/{name}")
    elif isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        for n, pair in enumerate(zip(found, expected, strict=True)):
            yield from differences(*pair, f"{place}/{n}")
    elif found != expected:
        yield f"{place}: {str(found)[:300]!r} instead of {str(expected)[:300]!r}"


async def kill_research(home: Any, kills: list[int], seed: int) -> list[str]:
    """What is wrong after runs that were killed so many times each."""
    folder = home.folder / "home"
    source = f"local:{EXAMPLES}"
    chance, wrong = random.Random(seed), []
    async with Engine.from_settings(home=folder, source=source) as engine:
        pages = (await engine.research(QUESTION)).metrics.pages_fetched
    settings: dict[str, Any] = {"home": folder, "source": source, "max_pages": pages}  # none to spare
    async with Engine.from_settings(**settings) as engine:
        reference = await engine.research(QUESTION)
        expected = lasting(reference)
        events = [shape_of(event) for event in (await engine.view("last")).events]
    home.store = str(folder / "pincite.sqlite")
    worker = home.worker("research_worker.py", HOME_FOLDER=str(folder), SOURCE=source)
    calls = len(home.finished(reference.run_id))
    assert calls >= 8
    for times in kills:
        async with Engine.from_settings(**settings) as engine:
            run_id = await engine.start(QUESTION)
        settled: dict[str, int] = {}
        for _ in range(times):
            epoch = home.epoch(run_id)
            child = worker.start(run_id)
            target = chance.randrange(home.made(run_id), calls + 2)
            home.wait(lambda run=run_id, before=epoch: home.epoch(run) > before)
            home.wait(lambda run=run_id, at=target, pid=child: home.is_past(run, at) or not home.is_alive(pid))
            await anyio.sleep(chance.uniform(0.0, 0.03))
            for key in home.finished(run_id):
                settled.setdefault(key, len(home.paid(run_id)))
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            home.wait(lambda pid=child: not home.is_alive(pid))
        async with Engine.from_settings(**settings) as engine:
            if home.status(run_id) == "running":
                await engine.resume(run_id)
            view = await engine.view(run_id)
        paid = [key for _, key in home.paid(run_id)]
        assert view.report is not None
        wrong += [f"{run_id}: paid again {key}" for key, since in settled.items() if key in paid[since:]]
        wrong += [f"{run_id}: another report, {place}" for place in differences(lasting(view.report), expected)]
        said = Counter(shape_of(event) for event in view.events if event.type != "run.resumed")
        wrong += [f"{run_id}: event {shape} missing" for shape in (Counter(events) - said).elements()]
        told = [event for event in view.events if shape_of(event) in said - Counter(events)]
        wrong += [f"{run_id}: another event {event.type} {dict(event.data)}" for event in told]
        wrong += [f"{run_id}: gaps"] if [e.seq for e in view.events] != list(range(1, len(view.events) + 1)) else []
    return wrong


@pytest.mark.parametrize("home", ["sqlite"], indirect=True)
async def test_research_killed_in_the_middle_ends_in_the_same_report(home: Any) -> None:
    assert await kill_research(home, [1, 2], seed=3) == []


@pytest.mark.long
@pytest.mark.parametrize("home", ["sqlite"], indirect=True)
@pytest.mark.parametrize("seed", range(4))
async def test_research_killed_many_times(home: Any, seed: int) -> None:
    assert await kill_research(home, [1] * 8 + [4] * 2, seed=seed) == []
