"""Whatever a command says of a failure holds no canary of any key setting: errors, defects, lines of libraries."""

import json
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
from pydantic import SecretStr
from tests.e2e.commands import clean_environment, command
from tests.e2e.test_canaries import CANARY, canaries

from pincite.domain.errors import PinciteError
from pincite.runtime.system import SystemClock
from pincite.settings import Settings, environment_names, load_settings
from pincite.storage.database import opened_now
from pincite.surfaces import errors
from pincite.surfaces.cli.run import masked_traceback

SECRETS = tuple(
    name for name, of in Settings.model_fields.items() if SecretStr in (of.annotation, *get_args(of.annotation))
)
FAILS = """
import logging, os, sys, warnings
from pincite.surfaces.cli import run
from pincite.domain.errors import StorageUnavailable

everything = " ".join(os.environ[name] for name in sorted(os.environ) if "canary" in os.environ[name])

def job():
    logging.getLogger("some.library").warning("GET with %s", everything)
    try:
        raise ValueError(everything)
    except ValueError:
        logging.getLogger("another.library").exception("it broke")
    if sys.argv[1] == "defect":
        raise RuntimeError(f"a defect that repeats {everything}")
    raise StorageUnavailable(f"an error that repeats {everything}", hint=everything, context={"of": everything})

try:
    with run.report_errors(as_json=sys.argv[2] == "json"):
        job()
except run.typer.Exit as ended:
    sys.exit(ended.exit_code)
"""


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("kind", ["defect", "error"])
def test_errors_defects_and_foreign_logs_of_every_command(tmp_path: Path, kind: str, form: str) -> None:
    environ = {**canaries(), "PINCITE_DATABASE_URL": f"postgresql://user:{CANARY}-database_url@127.0.0.1:1/db"}
    assert len(environ) == len(SECRETS), "every secret setting has its canary"
    done = subprocess.run(
        [sys.executable, "-c", FAILS, kind, form],
        env=clean_environment(tmp_path, environ),
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    said = done.stdout + done.stderr
    assert done.returncode == (70 if kind == "defect" else 4), said
    assert CANARY not in said
    assert said.count("***") >= 2 * len(SECRETS), "the lines were said, without the secrets"
    assert "it broke" in done.stderr
    if form == "json":
        assert json.loads(done.stdout)["error"]["code"] in ("INTERNAL", "STORAGE_UNAVAILABLE")


@pytest.mark.parametrize("value", ["%s", "postgresql://u:%s@[bad/db", "mysql://u:%s@h/db", "http://%s:x@["])
@pytest.mark.parametrize("name", SECRETS)
def test_settings_that_can_not_be_used_are_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.chdir(tmp_path)  # a plain word is the path of a SQLite file
    monkeypatch.setenv("PINCITE_HOME", str(tmp_path))
    monkeypatch.setenv(environment_names(name)[0], value % CANARY)
    monkeypatch.setattr(errors, "_mask", errors._mask.__wrapped__)
    said = []
    try:
        settings = load_settings(files=())
        if name == "database_url":
            with opened_now(settings.database_url.get_secret_value(), SystemClock(), wait_s=0):  # type: ignore[union-attr]  # set three lines above
                pass
    except PinciteError as error:
        said = [errors.masked(error.as_dict()), masked_traceback(error)]
    assert CANARY not in repr(said)
    assert CANARY not in errors.masked(f"it said {value % CANARY}")


def test_a_database_url_that_can_not_be_used_is_not_repeated(tmp_path: Path) -> None:
    pincite = command(tmp_path / "home", tmp_path)
    ended = pincite("runs", "list", environ={"PINCITE_DATABASE_URL": f"mysql://u:{CANARY}@h/db"})
    assert ended.code == 2, ended.err
    assert CANARY not in ended.out + ended.err
    assert "Traceback" not in ended.err
