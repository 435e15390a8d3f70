"""The keys of a run's calls depend on what is asked alone: not on the order in which calls end."""

import random
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import anyio
import pytest

from pincite.domain.budget import Usage
from pincite.domain.events import Json
from pincite.domain.records import Outcome
from pincite.engine import Engine
from pincite.runtime.ledger import RunLedger
from pincite.testing.web import html, write_warc

QUESTION = "When were the bridges of Ostrow and Lubin opened, and how many tracks do they carry?"


async def keys(home: Path, library: Path) -> set[str]:
    async with Engine.from_settings(home=home, source=f"local:{library}") as engine:
        report = await engine.research(QUESTION)
        return {call.key for call in await engine.calls(report.run_id)}


async def test_keys_are_the_same_whatever_ends_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = tmp_path / "pages.warc.gz"
    towns = ("Ostrow", "Lubin", "Zator", "Mielec", "Sanok", "Turek")
    pages = {
        f"https://bridges.example/{town}": html(
            f"Bridge of {town}", f"The bridge of {town} was opened in {1900 + n}. It carries {n + 1} tracks."
        )
        for n, town in enumerate(towns)
    }
    write_warc(library, pages)
    expected = await keys(tmp_path / "first", library)
    assert len(expected) >= 4
    real = RunLedger.call
    chance = random.Random(5)

    async def call(
        self: RunLedger, kind: str, request: Mapping[str, Json], estimate: Usage, do: Callable[[], Awaitable[Outcome]]
    ) -> Json:
        async def late() -> Outcome:
            made = await do()
            await anyio.sleep(chance.uniform(0, 0.05))
            return made

        return await real(self, kind, request, estimate, late)

    monkeypatch.setattr(RunLedger, "call", call)
    for n in range(2):
        assert await keys(tmp_path / f"again{n}", library) == expected
