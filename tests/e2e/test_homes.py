"""A home is a folder: any name will do, and a place that can't be one is said to be that."""

from pathlib import Path

import pytest
from tests.e2e.commands import command

REPORT = "The Halden lighthouse is 31 metres tall. [1]\n\n[1] http://127.0.0.1:8000/halden\n"


@pytest.mark.parametrize("name", ["acme.com", "tmp.Xy3bQ9", "pincite-1.0", ".pincite"])
def test_a_home_may_have_a_dot_in_its_name(tmp_path: Path, name: str) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "halden.md").write_text("# Halden\n\nThe Halden lighthouse is 31 metres tall and was first lit in 1888.\n")
    home = tmp_path / name
    pincite = command(home, tmp_path)
    made = pincite("research", "How tall is the Halden lighthouse?", "--source", "local:pages", "--json")
    assert made.code == 0, made.err
    assert (home / "pincite.sqlite").is_file()
    assert [run["run_id"] for run in pincite("runs", "list", "--json").json] == [made.json["run_id"]]
    assert pincite("doctor", "--json").json["Home"]["writable"] == "yes"
    (tmp_path / "report.md").write_text(REPORT)
    assert "error" not in pincite("audit", "report.md", "--json").json


def test_a_file_is_no_home(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("I was here first.")
    pincite = command(tmp_path / "home", tmp_path)
    said = pincite("doctor", "--json", environ={"XDG_CONFIG_HOME": str(tmp_path)}).json["Home"]["writable"]
    assert said.startswith("NO: ")
    assert "is a file" in said
    (tmp_path / "report.md").write_text(REPORT)
    for arguments in (
        ("audit", "report.md", "--allow-network", "127.0.0.0/8"),
        ("runs", "list"),
        ("fetch", "http://127.0.0.1:8000/halden", "--allow-network", "127.0.0.0/8"),
    ):
        ended = pincite(*arguments, "--json")
        assert (ended.code, ended.json["error"]["code"]) == (4, "STORAGE_UNAVAILABLE"), (arguments, ended.out)
