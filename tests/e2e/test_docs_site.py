"""The documentation as a site: it builds without a warning, loads nothing from elsewhere, and its tutorial works."""

import logging
import re
import shlex
import shutil
from pathlib import Path

import pytest
from tests.e2e.commands import ROOT, command, with_library

TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")


def test_the_site_builds_and_every_page_is_in_its_menu(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    build = pytest.importorskip("mkdocs.commands.build")
    config = pytest.importorskip("mkdocs.config")
    with caplog.at_level(logging.WARNING, "mkdocs"):
        build.build(config.load_config(str(ROOT / "mkdocs.yml"), site_dir=str(tmp_path), strict=True))
    assert [record.getMessage() for record in caplog.records] == []
    start = (tmp_path / "index.html").read_text(encoding="utf-8")
    for title in ("Tutorial", "How to", "Reference", "Explanation"):
        assert title in start
    loaded = re.findall(r"<(?:script|link|img)[^>]+(?:src|href)=\"(https?://[^\"]+)", start)
    assert loaded == [], "pages of the site load nothing from other hosts"


def test_the_tutorial_works_as_it_is_typed(tmp_path: Path, demo_home: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    shutil.copytree(ROOT / "examples", work / "examples")
    (work / "docs").mkdir()
    for name in ("check.md", "audit.md", "exports.md"):
        shutil.copy(ROOT / "docs" / name, work / "docs" / name)
    pincite = command(with_library(tmp_path / "home", demo_home), work)
    typed = [shlex.split(line)[1:] for line in re.findall(r"^\$ (pincite .*)$", TUTORIAL, re.MULTILINE)]
    used = ["demo", "runs", "runs", "check", "audit", "index", "research", "keys", "doctor"]
    assert [words[0] for words in typed] == used
    for words in typed:
        ended = pincite(*words)
        # 7: what the report says of its own gaps is nobody's fact and judged by nobody; no quotation is called uncited.
        assert ended.code in ({0, 7} if words[0] == "audit" else {0}), (words, ended.out, ended.err)
        assert words[0] != "audit" or "citation precision 100%" in ended.out
    assert {"report.html", "report.json", "own.html"} <= {path.name for path in work.iterdir()}
