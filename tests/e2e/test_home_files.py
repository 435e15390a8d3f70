"""Who may read the files of a home, and a home on a mount that takes no changes."""

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest
from tests.e2e.commands import ROOT, Ended, clean_environment, command

QUESTION = "When was the bridge of Ostrow opened?"
_PR_CAPBSET_DROP, _DAC_OVERRIDE, _DAC_READ_SEARCH = 24, 1, 2


def asked(folder: Path) -> str:
    """A question answered in the home `folder/home`; its run's id."""
    pages = folder / "pages"
    pages.mkdir()
    (pages / "ostrow.md").write_text("# Ostrow\n\nThe bridge of Ostrow was opened in 1931. It carries two tracks.\n")
    made = command(folder / "home", folder)("research", QUESTION, "--source", "local:pages", "--json")
    assert made.code == 0, made.err
    return str(made.json["run_id"])


def test_database_files_are_their_owners_alone_also_where_the_home_was_there(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    (home / "log.sqlite").touch(mode=0o644)  # as an older version left it
    asked(tmp_path)
    files = [path for path in home.rglob("*") if path.is_file()]
    assert {"pincite.sqlite", "cache.sqlite", "log.sqlite"} <= {path.name for path in files}
    assert {path.name: oct(path.stat().st_mode & 0o777) for path in files if path.stat().st_mode & 0o077} == {}


def as_a_stranger() -> None:
    """Let permissions count for root as well: on a read-only mount nobody may write."""
    for capability in (_DAC_OVERRIDE, _DAC_READ_SEARCH):
        ctypes.CDLL(None).prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="drops the rights of root, as Linux has them")
def test_a_home_that_takes_no_changes_can_be_listed_and_shown(tmp_path: Path) -> None:
    run_id = asked(tmp_path)
    home = tmp_path / "home"
    places = [*home.rglob("*"), home]

    def pincite(*arguments: str) -> Ended:
        done = subprocess.run(
            [sys.executable, "-m", "pincite", *arguments],
            env=clean_environment(home, {"XDG_CONFIG_HOME": str(tmp_path)}),
            cwd=ROOT,
            capture_output=True,
            text=True,
            preexec_fn=as_a_stranger,  # one thread, and nothing else would do
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    for path in places:
        path.chmod(path.stat().st_mode & ~0o222)
    try:
        assert pincite("runs", "show", "last", "--json").json["record"]["run_id"] == run_id
        assert "research" in pincite("log").out
        refused = pincite("runs", "delete", run_id, "--json")
        assert (refused.code, refused.json["error"]["reason"]) == (4, "read_only")
    finally:
        for path in reversed(places):
            path.chmod(path.stat().st_mode | 0o200)
