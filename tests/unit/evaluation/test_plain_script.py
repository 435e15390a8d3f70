"""The script that reports are compared with: what it says when it can't begin."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "benchmarks" / "plain_script.py"


@pytest.mark.parametrize(
    ("given", "environment", "said"),
    [
        ((), {}, "OPENAI_API_KEY"),
        (("--base-url", "http://127.0.0.1:1/v1"), {"OPENAI_API_KEY": "x"}, "did not answer"),
        (("--base-url", "http://[::"), {"OPENAI_API_KEY": "x"}, "can't be asked"),
        (("--base-url", "127.0.0.1:9"), {"OPENAI_API_KEY": "x"}, "no http address"),
    ],
)
def test_a_wrong_setting_is_one_line_and_no_traceback(
    tmp_path: Path, given: tuple[str, ...], environment: dict[str, str], said: str
) -> None:
    own = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    command = [
        sys.executable,
        str(SCRIPT),
        "Why?",
        "--source",
        f"local:{tmp_path}",
        "--out",
        str(tmp_path / "out.md"),
        *given,
    ]
    ended = subprocess.run(command, env={**own, **environment}, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not (tmp_path / "out.md").exists()
