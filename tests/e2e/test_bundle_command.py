"""A run's bundle: written from one home, checked from another that holds nothing."""

from pathlib import Path

from tests.e2e.commands import EXAMPLES, Pincite, with_library


def test_a_bundle_checks_itself_where_nothing_is_stored(demo: Pincite, pincite: Pincite, tmp_path: Path) -> None:
    file = tmp_path / "x.wacz"
    written = demo("bundle", "last", "-o", str(file), "--json")
    assert written.code == 0, written.err
    assert written.json["size_bytes"] == file.stat().st_size
    checked = pincite("check", str(file), "--json")
    assert checked.code == 0, checked.out
    assert checked.json["status"] == "passed"
    assert checked.json["counts"]["quotes"] > 0

    data = bytearray(file.read_bytes())
    data[200] ^= 1
    file.write_bytes(data)
    changed = pincite("check", str(file), "--json")
    assert changed.code == 1
    assert any(problem["where"] == "archive/data.warc.gz" for problem in changed.json["problems"])


def test_a_published_bundle_carries_passages_unless_told_otherwise(
    demo: Pincite, pincite: Pincite, tmp_path: Path
) -> None:
    sizes = {}
    for evidence, kept in ((None, "excerpts"), ("passages", "excerpts"), ("full", "full")):
        file = tmp_path / f"{evidence}.wacz"
        told = ("--evidence", evidence) if evidence else ()
        written = demo("runs", "export", "last", "-o", str(file), *told)
        assert written.code == 0, written.err
        checked = pincite("check", str(file), "--json")
        assert (checked.code, checked.json["status"]) == (0, "passed"), checked.out
        assert set(checked.json["kept"]) == {kept}
        sizes[evidence] = file.stat().st_size
    assert sizes[None] == sizes["passages"] < sizes["full"]
    assert "kept as `excerpts`" in pincite("check", str(tmp_path / "passages.wacz")).out
    refused = demo("bundle", "last", "-o", str(tmp_path / "x.wacz"), "--evidence", "some", "--json")
    assert (refused.code, refused.json["error"]["reason"]) == (2, "invalid_input")


def test_a_run_that_is_not_here_has_no_bundle(pincite: Pincite, tmp_path: Path) -> None:
    ended = pincite("bundle", "last", "-o", str(tmp_path / "x.wacz"), "--json")
    assert ended.code == 2
    assert ended.json["error"]["code"] == "RUN_NOT_FOUND"
    assert not (tmp_path / "x.wacz").exists()


def test_a_zip_that_is_no_bundle_is_corrupt(pincite: Pincite, tmp_path: Path) -> None:
    (tmp_path / "x.wacz").write_bytes(b"PK\x03\x04 and nothing more")
    ended = pincite("check", str(tmp_path / "x.wacz"), "--json")
    assert ended.code == 4
    assert ended.json["error"]["code"] == "ARCHIVE_CORRUPT"


def test_research_writes_the_bundle_and_prints_the_format_asked_for(
    pincite: Pincite, demo_home: Path, tmp_path: Path
) -> None:
    with_library(tmp_path / "home", demo_home)
    question = "What is the default of max_connections?"
    bundles = ("-o", str(tmp_path / "a.wacz"), "--bundle", str(tmp_path / "b.wacz"))
    ended = pincite("research", question, "--source", f"local:{EXAMPLES}", "--format", "csv", *bundles)
    assert ended.code == 0, ended.err
    assert ended.out.splitlines()[0].startswith("claim,verdict,")
    for name in ("a.wacz", "b.wacz"):
        checked = pincite("check", str(tmp_path / name), "--json")
        assert checked.json["status"] == "passed", checked.out


def test_an_unknown_format_is_refused_before_anything_is_read(pincite: Pincite) -> None:
    ended = pincite("research", "What is a tuple?", "--source", f"local:{EXAMPLES}", "--format", "xls")
    assert ended.code == 2
    assert "INVALID_INPUT" in ended.err
    assert "run.started" not in ended.err
