"""What the planner makes of slips, acronyms, addresses and very long questions, and what it says about that."""

import anyio
import pytest

from pincite.domain.library import Name, Survey
from pincite.domain.plan import Plan, Progress, Task
from pincite.research.extractive.planner import ExtractivePlanner
from pincite.research.extractive.shelf import Shelf


def plan(question: str, survey: Survey) -> Plan:
    async def known(_: str) -> Survey:
        return survey

    async def run() -> Plan:
        return await ExtractivePlanner(Shelf(), survey=known).plan(Task(question), Progress(round_number=1))

    return anyio.run(run)


def test_a_slip_is_searched_as_the_word_it_is_taken_for_and_said() -> None:
    made = plan("what is max_conections?", Survey(spellings=(("max_conections", "max_connections"),)))
    assert all("max_conections" not in query.text for part in made.sub_questions for query in part.queries)
    assert made.sub_questions[0].text == "what is max_connections?"
    assert made.notes == ("Searched for “max_connections”: no page has “max_conections”.",)


@pytest.mark.parametrize(
    ("question", "other"),
    [("How does MVCC keep readers apart?", "multiversion"), ("What does multiversion concurrency control do?", "MVCC")],
)
def test_acronyms_go_out_in_both_forms(question: str, other: str) -> None:
    survey = Survey(names=(Name("MVCC", 3, "multiversion concurrency control"),))
    texts = [query.text for query in plan(question, survey).sub_questions[0].queries]
    assert any(other in text for text in texts)


@pytest.mark.parametrize(
    ("question", "survey", "said"),
    [
        ("What does https://example.org/locks say?", Survey(), "named by --url"),
        (" ".join(f"word{number}" for number in range(2_000)), Survey(), "only its first words"),
        (
            "Wie viele Verbindungen erlaubt der Server?",
            Survey(100, (("Wie", 0), ("viele", 0), ("Verbindungen", 0), ("Server", 4))),
            "another language",
        ),
    ],
)
def test_odd_questions_are_planned_and_talked_about(question: str, survey: Survey, said: str) -> None:
    made = plan(question, survey)
    queries = {query.text for part in made.sub_questions for query in part.queries}
    assert len(queries) >= 3
    assert any(said in note for note in made.notes)


@pytest.mark.parametrize("question", ["locks", "Explain locks.", "Delete all locks!", "?? locks ??", "锁 如何 工作"])
def test_nothing_is_said_about_a_question_that_was_read_as_written(question: str) -> None:
    made = plan(question, Survey())
    assert made.notes == ()
    assert made.sub_questions


def test_a_site_that_a_question_names_is_asked_at_once() -> None:
    made = plan("How does Owls count its pages?", Survey(sites=("owls.test", "count.test")))
    limited = [query for part in made.sub_questions for query in part.queries if query.constraints.include_domains]
    assert [query.constraints.include_domains for query in limited] == [("owls.test",)]
    assert "Owls" not in limited[0].text


def test_a_question_that_is_only_an_address_is_searched_by_its_words() -> None:
    made = plan("https://www.example.org/docs/lock-limits.html", Survey())
    assert made.sub_questions[0].text == "example org docs lock limits"
    assert "only an address" in made.notes[0]
