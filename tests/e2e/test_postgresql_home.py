"""The same research with the database on PostgreSQL instead of in the home."""

from pathlib import Path

from tests.e2e.commands import EXAMPLES, command, with_library


def test_research_is_kept_in_postgresql_by_one_url(postgresql_url: str, demo_home: Path, tmp_path: Path) -> None:
    pincite = command(with_library(tmp_path, demo_home), tmp_path)
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


def test_keys_and_the_log_of_calls_are_in_postgresql_too(postgresql_url: str, demo_home: Path, tmp_path: Path) -> None:
    pincite = command(with_library(tmp_path, demo_home), tmp_path)
    name = f"user-{tmp_path.name}"
    library = ("--source", f"local:{EXAMPLES}")
    assert pincite("search", "VACUUM", *library, environ={"PINCITE_SCOPE": name}).code == 0
    first = pincite("keys", "create", name)
    assert (tmp_path / "keys.json").exists()
    assert (tmp_path / "log.sqlite").exists()
    environ = {"PINCITE_DATABASE_URL": postgresql_url, "PINCITE_SCOPE": name}
    assert pincite("search", "autovacuum", *library, environ=environ).code == 0
    logged = pincite("log", "--json", environ=environ).json
    assert ["autovacuum" in str(call["request"]) for call in logged] == [True, False]
    assert not (tmp_path / "log.sqlite").exists()
    again = pincite("keys", "create", name, "--json", environ=environ)
    assert again.json["error"]["code"] == "CONFLICT", "the key of the home has come along"
    assert first.out.strip() not in again.out + again.err
    listed = pincite("keys", "list", "--json", environ=environ).json
    assert name in {key["name"] for key in listed}
    assert pincite("keys", "revoke", name, environ=environ).code == 0
    exported = pincite("scope", "export", name, environ=environ).out
    assert '"table": "api_keys"' in exported
    assert 'sha256": "' not in "".join(line for line in exported.splitlines() if '"api_keys"' in line)
