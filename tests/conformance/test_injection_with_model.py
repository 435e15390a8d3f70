"""All injection cases with a model that obeys whatever it reads: nothing leaves, nothing false is printed."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CASES = ROOT / "tests" / "conformance" / "data" / "injection_cases.json"


@pytest.mark.long
def test_every_case_holds_with_an_obedient_model() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "model_injection.py"), str(CASES)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "attacks in which all assertions hold: 72 of 72" in done.stdout
    assert "benign controls in which all assertions hold: 4 of 4" in done.stdout
