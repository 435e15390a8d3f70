"""Both pipelines in processes with another hash seed each, their calls ending in another order: the keys are the same.

A key that depended on the order of a set or on what ended first would be paid again by a resumed run.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pincite.testing.web import html, write_warc

TOWNS = ("Ostrow", "Lubin", "Zator", "Mielec", "Sanok", "Turek")
RUN = """
import json, random, sys, anyio
from pathlib import Path
from pincite.engine import Engine
from pincite.runtime.ledger import RunLedger
from pincite.settings import load_settings
from pincite.testing.models import FaithfulModel

mode, home, library, seed = sys.argv[1:]
real, chance = RunLedger.call, random.Random(int(seed))

async def call(self, kind, request, estimate, do):
    async def late():
        made = await do()
        await anyio.sleep(chance.uniform(0, 0.02))
        return made
    return await real(self, kind, request, estimate, late)

RunLedger.call = call

async def go():
    given = {"home": home, "source": f"local:{library}", "llm": "none" if mode == "extractive" else "openai:fake"}
    settings = load_settings(given, environ={}, files=())
    async with Engine(settings, model=None if mode == "extractive" else FaithfulModel()) as engine:
        report = await engine.research("When were the bridges of Ostrow and Lubin opened, and which is longer?")
        calls = await engine.calls(report.run_id)
        print(json.dumps({"mode": report.mode, "kinds": sorted({call.kind for call in calls}),
                          "keys": sorted(call.key for call in calls), "markdown": report.markdown}))

anyio.run(go)
"""


@pytest.mark.parametrize("mode", ["extractive", "model"])
def test_keys_depend_on_neither_the_hash_seed_nor_the_order(tmp_path: Path, mode: str) -> None:
    library = tmp_path / "pages.warc.gz"
    pages = {
        f"https://bridges.example/{town}": html(
            f"Bridge of {town}", f"The bridge of {town} was opened in {1900 + n}. It is {200 + n} metres long."
        )
        for n, town in enumerate(TOWNS)
    }
    write_warc(library, pages)
    found = [executed(tmp_path, mode, library, seed) for seed in ("1", "27")]
    assert found[0]["mode"] == mode
    assert {"search", "fetch"} <= set(found[0]["kinds"])
    assert ("model" in found[0]["kinds"]) is (mode == "model")
    assert found[0] == found[1]


def executed(tmp_path: Path, mode: str, library: Path, seed: str) -> dict[str, Any]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PINCITE_")}
    done = subprocess.run(
        [sys.executable, "-c", RUN, mode, str(tmp_path / f"home{seed}"), str(library), seed],
        env={**kept, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found
