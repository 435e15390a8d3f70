"""The real command in a process of its own (`tests.warm`), over the bundled library, with a home of its own."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests import warm

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "postgresql-python-docs.warc.gz"
QUESTION = "What is the default isolation level in PostgreSQL, and what can a query see in it?"


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Pincite = Callable[..., Ended]


def clean_environment(home: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PINCITE_") and not k.endswith("_API_KEY")}
    own = {"PINCITE_HOME": str(home), "XDG_CONFIG_HOME": str(home / "config"), "PINCITE_EMBEDDINGS": "none"}
    return {**kept, **own, **(extra or {})}


def command(home: Path, cwd: Path) -> Pincite:
    def run(*arguments: str, environ: Mapping[str, str] | None = None, stdin: str = "") -> Ended:
        done = warm.run(*arguments, env=clean_environment(home, environ), cwd=cwd, stdin=stdin)
        return Ended(done.returncode, done.stdout, done.stderr)

    return run


def cold_command(home: Path, *arguments: str) -> Ended:
    """The command as a shell starts it."""
    done = subprocess.run(
        [sys.executable, "-m", "pincite", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=clean_environment(home, {"PINCITE_EMBEDDINGS": "auto"}),
        cwd=home,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def with_library(home: Path, demo_home: Path) -> Path:
    """The home, in which the bundled library is indexed already."""
    shutil.copytree(demo_home / "libraries", home / "libraries", dirs_exist_ok=True)
    return home
