"""The same research with the database on PostgreSQL instead of in the home."""

from pathlib import Path

from tests.e2e.commands import EXAMPLES, command


def test_research_is_kept_in_postgresql_by_one_url(postgresql_url: str, tmp_path: Path) -> None:
    pincite = command(tmp_path, tmp_path)
    environ = {"PINCITE_DATABASE_URL": postgresql_url, "PINCITE_SCOPE": f"user-{tmp_path.name}"}
    source = ("--source", f"local:{EXAMPLES}")
    ended = pincite("research", "What does VACUUM do?", *source, "--json", environ=environ)
    assert ended.code == 0, ended.err
    run_id = ended.json["run_id"]
    assert not (tmp_path / "pincite.sqlite").exists()
    replayed = pincite("runs", "replay", run_id, "--json", environ=environ)
    assert replayed.json == {"run_id": run_id, "same": True}
    (tmp_path / "report.json").write_text(ended.out)
    assert pincite("check", "report.json", "--json", environ=environ).json["status"] == "passed"
    assert pincite("bundle", "last", "-o", "run.wacz", environ=environ).code == 0
    assert pincite("check", "run.wacz").code == 0
    nobody = {**environ, "PINCITE_SCOPE": "somebody else"}
    assert pincite("check", "report.json", environ=nobody).code == 1, "their evidence is not his"
    other = pincite("runs", "show", run_id, "--json", environ={**environ, "PINCITE_SCOPE": "somebody else"})
    assert other.json["error"]["code"] == "RUN_NOT_FOUND"
    assert pincite("runs", "delete", run_id, environ=environ).code == 0
