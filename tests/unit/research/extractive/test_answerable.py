"""The number by which a report decides whether its best passages answer or only touch on the question."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.research.extractive.answerable import LEAST_SCORE, answer_score
from pincite.research.extractive.passages import cut
from pincite.research.extractive.questions import read_question
from pincite.research.extractive.ranking import PassageIndex
from pincite.research.extractive.scoring import Scored
from pincite.testing.small_web import document_of

PAGES = {
    "https://owls.test/nests": "# Nests\n\nThe barn owl lays four eggs in a nest.\n\nnest_size (integer) :: Sets the "
    "size of a nest. The default is 30.\n\nA barn owl leaves the nest of its parents when it can fly.",
    "https://bees.test/hives": "# Hives\n\nA bee hive has one queen. A nest of wasps has many.",
}


@pytest.fixture(scope="module")
def index() -> PassageIndex:
    made = PassageIndex()
    for url, text in PAGES.items():
        made.add(url, cut(url, document_of(text)))
    return made


def seen(index: PassageIndex, question: str) -> float:
    ask = read_question(question)
    return answer_score(ask, index.statements(ask))


def test_what_a_page_says_scores_more_than_what_it_only_mentions(index: PassageIndex) -> None:
    told = seen(index, "How many eggs does a barn owl lay?")
    mentioned = seen(index, "How many eggs did the emperor of Japan buy in Lisbon?")
    assert told > LEAST_SCORE > mentioned


def test_a_question_for_a_number_is_not_answered_without_one(index: PassageIndex) -> None:
    assert seen(index, "How many days after hatching does a barn owl leave the nest of its parents?") < LEAST_SCORE
    assert seen(index, "Does a barn owl leave the nest of its parents?") > LEAST_SCORE


def test_no_statement_no_score(index: PassageIndex) -> None:
    assert seen(index, "Xylophone?") == 0.0


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=60))
def test_the_score_is_that_of_a_statement_with_the_wanted_form(found: list[tuple[float, float]]) -> None:
    passage = cut("https://x.test/", document_of("# X\n\nOne word."))[0]
    scored = [Scored(passage, 0, score, 0.5, fit) for score, fit in sorted(found, reverse=True)]
    score = answer_score(read_question("How many owls?"), scored)
    assert score == max((item.score for item in scored[:40] if item.fit >= 0.5), default=0.0)
    assert answer_score(read_question("What do owls eat, and where do they live?"), scored) >= score
