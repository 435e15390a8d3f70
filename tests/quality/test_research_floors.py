"""Floors of research without a model over the bundled library. Lower one only with a decision that says why."""

import re
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest

from pincite import Engine
from pincite.domain.report import Report, ReportStatus, broken_rules

LIBRARY = Path(__file__).parents[2] / "examples" / "postgresql-python-docs.warc.gz"
FACTS = {
    "How many columns can a PostgreSQL table have at most?": r"1,600",
    "How long does PostgreSQL wait on a lock before it checks for a deadlock, unless configured?": r"one second",
    "Which transaction isolation level does PostgreSQL use by default?": r"Read Committed is the default",
    "How long does autovacuum pause between runs on a database by default?": r"one minute",
    "How large are WAL segment files normally?": r"16 ?MB|16 megabytes",
    "Why do PostgreSQL tables need a regular VACUUM?": r"recover or reuse disk space",
    "How large is a pointer to an out-of-line TOAST value on disk?": r"18 bytes",
    "In which Python version was tomllib added?": r"version 3\.11",
}
ABSENT = "What default value does PostgreSQL give the io_method setting?"
DENIED = "Since PostgreSQL waits five seconds on a lock before it checks for a deadlock, how do I shorten this?"
IN_REPORT, EARLY = 7, 5
EARLY_WORDS = 250
"""The answer and the first excerpts (ADR 0020 says why it is no longer the first three sentences)."""
MAX_WORDS = 1_250


async def ask(home: Path, questions: Sequence[str]) -> dict[str, Report]:
    async with Engine.from_settings(home=home, source=(f"local:{LIBRARY}",)) as engine:
        return {question: await engine.research(question) for question in questions}


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Report]:
    """By words and meaning: a fixture of the module stands above the one that has single tests go by words."""
    return anyio.run(ask, tmp_path_factory.mktemp("home"), (*FACTS, ABSENT, DENIED))


def test_the_floors_hold(reports: dict[str, Report]) -> None:
    """One test: each process that took a part of it would index the library and ask all over again."""
    facts_are_found_and_told_first(reports)
    every_report_is_sound(reports)
    what_is_not_there_is_said(reports)
    a_false_premise_is_answered_with_the_setting_that_it_is_about(reports)


def facts_are_found_and_told_first(reports: dict[str, Report]) -> None:
    found, first = [], []
    for question, pattern in FACTS.items():
        words = " ".join(sentence.text for sentence in reports[question].sentences()).split()
        found.append(bool(re.search(pattern, " ".join(words))))
        first.append(bool(re.search(pattern, " ".join(words[:EARLY_WORDS]))))
    missed = [question for question, hit in zip(FACTS, first, strict=True) if not hit]
    assert sum(found) >= IN_REPORT, missed
    assert sum(first) >= EARLY, missed


def every_report_is_sound(reports: dict[str, Report]) -> None:
    for report in reports.values():
        assert not list(broken_rules(report))
        # The answer repeats a sentence of its excerpt; no two excerpts are the same.
        excerpts = [
            tuple(section.sentences[index].text for item in block.items for index in item)
            for section in report.sections
            for block in section.blocks
        ]
        assert len(excerpts) == len(set(excerpts))
        texts = [sentence.text for sentence in report.sentences()]
        assert sum(len(text.split()) for text in texts) <= MAX_WORDS


def what_is_not_there_is_said(reports: dict[str, Report]) -> None:
    assert reports[ABSENT].status is ReportStatus.INSUFFICIENT_EVIDENCE
    assert "io_method" in reports[ABSENT].gaps[0].reason


def a_false_premise_is_answered_with_the_setting_that_it_is_about(reports: dict[str, Report]) -> None:
    paths = [block.excerpt.path for s in reports[DENIED].sections for block in s.blocks if block.excerpt is not None]
    shown = " ".join(sentence.text for sentence in reports[DENIED].sentences())
    assert "deadlock_timeout" in shown + " ".join(part for path in paths for part in path)
