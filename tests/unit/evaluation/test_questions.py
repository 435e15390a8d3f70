"""Questions with known answers: reading the file, scoring by text, two settings side by side."""

import json
from pathlib import Path

import pytest
from tests.fakes.reports import laid_out_report

from pincite.domain.errors import InvalidInput, SearchProviderUnavailable
from pincite.domain.report import Report
from pincite.evaluation.questions import (
    KnownQuestion,
    ask_all,
    figures_of,
    figures_text,
    folded,
    read_questions,
    scored,
)


def file_of(tmp_path: Path, *lines: object) -> Path:
    path = tmp_path / "questions.jsonl"
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines), "utf-8")
    return path


def test_the_shipped_questions_hold_answerable_and_other_ones() -> None:
    found = read_questions(None)
    assert len(found) >= 15
    assert 3 <= sum(not question.facts for question in found) < len(found) / 2


def test_a_fact_is_a_text_or_several_forms(tmp_path: Path) -> None:
    given = {"id": "a", "question": "How many?", "facts": ["12", ["twelve", "/a dozen|12/"]]}
    [question] = read_questions(file_of(tmp_path, given, ""))
    assert question == KnownQuestion("a", "How many?", (("12",), ("twelve", "/a dozen|12/")))


@pytest.mark.parametrize(
    "line",
    [
        *("{", "[]", {"facts": []}, {"question": "", "facts": []}, {"question": "a", "facts": [1]}),
        *({"question": "a", "facts": ["/(/"]}, {"question": "a", "answer": "b"}),
    ],
)
def test_a_line_that_is_no_question_is_named(tmp_path: Path, line: object) -> None:
    with pytest.raises(InvalidInput, match="line 2 is no question") as caught:
        read_questions(file_of(tmp_path, {"question": "fine?", "facts": []}, line))
    assert "question" in caught.value.hint


def test_no_file_and_no_questions_are_errors(tmp_path: Path) -> None:
    for path in (tmp_path / "none.jsonl", file_of(tmp_path, "")):
        with pytest.raises(InvalidInput):
            read_questions(path)


def test_facts_are_told_by_what_is_printed_and_by_no_longer_figure() -> None:
    report = laid_out_report()
    first = folded(report.sentences()[0].text).split()[:3]
    words = " ".join(first)
    known = KnownQuestion("q", "?", ((words,), ("never printed", words.upper()), ("nowhere at all",)))
    answered = scored(known, report, 1.5)
    assert (answered.told, answered.told_first, answered.refused) == (2, 2, False)
    assert sum(answered.proofs.values()) > 0
    assert scored(KnownQuestion("q", "?", (("60",),)), _saying(report, "It holds 1,600 of 2.60."), 1).told == 0
    assert scored(KnownQuestion("q", "?", (("1,600",),)), _saying(report, "It holds 1,600."), 1).told == 1


def _saying(report: Report, text: str) -> Report:
    class Saying:
        def __getattr__(self, name: str) -> object:
            return getattr(report, name)

        def sentences(self) -> object:
            from dataclasses import replace

            return (replace(report.sentences()[0], text=text),)

    return Saying()  # type: ignore[return-value]  # a report in all that is asked of it


async def test_an_error_of_one_question_ends_only_that_one() -> None:
    report = laid_out_report()
    seen: list[str] = []

    async def ask(text: str) -> Report:
        if text == "breaks?":
            raise SearchProviderUnavailable("down")
        return report

    questions = [
        KnownQuestion("1", "breaks?", (("x",),)),
        KnownQuestion("2", "works?", (("nowhere",),)),
        KnownQuestion("3", "?"),
    ]
    found = figures_of(await ask_all(questions, ask, lambda answered: seen.append(answered.question.name)))
    assert seen == ["1", "2", "3"]
    assert found.errors == {"SEARCH_PROVIDER_UNAVAILABLE": 1}
    assert (found.facts_told, found.wrongly_refused, found.unanswerable_seen) == (0.0, 0.5, 0.0)
    table = figures_text({"these settings": found, "judge=none": found})
    assert table.splitlines()[0].split() == ["these", "settings", "judge=none"]
    assert "1 SEARCH_PROVIDER_UNAVAILABLE" in table
