"""What is printed into a full disk, a pipe that nobody reads any more, or nothing at all: a line at most, no trace."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pincite.surfaces.cli.run import result_stream

PRINTING = (("runs", "list"), ("doctor",), ("scope", "export", "local"), ("--version",), ("demo", "--help"))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home whose export is longer than a pipe holds."""
    home, library = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("library")
    (library / "anchor.txt").write_text("The anchor of the ferry weighs 480 kg.\n" + "It is painted red. " * 20_000)
    asked = ("research", "How much does the anchor weigh?", "--source", f"local:{library}")
    subprocess.run(_command(asked), env=_env(home), capture_output=True, check=True)
    return home


def _command(arguments: tuple[str, ...]) -> list[str]:
    return [sys.executable, "-m", "pincite", *arguments]


def _env(home: Path) -> dict[str, str]:
    return {**os.environ, "PINCITE_HOME": str(home)}


@pytest.mark.parametrize("arguments", PRINTING, ids=" ".join)
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_full_disk_is_told_in_a_line(home: Path, arguments: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(_command(arguments), env=_env(home), stdout=full, stderr=subprocess.PIPE, check=False)
    said = ended.stderr.decode()
    assert ended.returncode == 2
    assert said.startswith("Error: stdout can't be written: No space left on device [INVALID_INPUT]\nHint: ")
    assert len(said.splitlines()) == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_report_is_printed_where_nothing_can_be_said_of_its_run(home: Path, tmp_path: Path) -> None:
    (tmp_path / "anchor.txt").write_text("The anchor of the ferry weighs 480 kg.")
    asked = ("research", "How much does the anchor weigh?", "--source", f"local:{tmp_path}", "-v")
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(_command(asked), env=_env(home), stdout=subprocess.PIPE, stderr=full, check=False)
    assert ended.returncode == 0
    assert b"480 kg" in ended.stdout


@pytest.mark.parametrize("arguments", [("search",), ("nonsense",), ("runs", "show", "run_none")], ids=" ".join)
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_bad_input_ends_with_its_code_where_nobody_can_be_told(home: Path, arguments: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(_command(arguments), env=_env(home), stdout=subprocess.PIPE, stderr=full, check=False)
    assert (ended.returncode, ended.stdout) == (2, b"")


def test_what_fails_while_results_are_printed_is_told_as_what_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    def printed() -> None:
        with result_stream() as out:
            out.write("the first line\n")
            raise TimeoutError("the site was silent")

    with pytest.raises(TimeoutError):
        printed()
    assert capsys.readouterr() == ("the first line\n", "")


def test_a_reader_who_has_read_enough_ends_an_export(home: Path) -> None:
    command = _command(("scope", "export", "local"))
    with subprocess.Popen(command, env=_env(home), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as ended:
        assert ended.stdout is not None
        assert ended.stderr is not None
        first = ended.stdout.read(20)
        ended.stdout.close()
        said = ended.stderr.read().decode()
    assert (ended.returncode, said) == (0, "")
    assert first.startswith(b'{"table": ')


def test_closed_output_is_nothing_that_is_wanted(home: Path) -> None:
    """A database that was given the number of a closed stdout would be written into."""
    command = f'"{sys.executable}" -m pincite runs list --home "{home}"'
    listed = subprocess.run(command, shell=True, capture_output=True, check=True).stdout
    assert b"How much does the anchor weigh?" in listed
    closed = subprocess.run(f"{command} >&-", shell=True, capture_output=True, check=True)
    assert (closed.stdout, closed.stderr) == (b"", b"")
    mute = subprocess.run(f"{command} 2>&-", shell=True, capture_output=True, check=True)
    assert mute.stdout == listed
