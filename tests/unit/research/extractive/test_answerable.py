"""Signals of an answer: what raises and lowers them, and that the model uses them the right way round."""

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.research.extractive.answerable import LIKELY, Signals, likelihood, signals
from pincite.research.extractive.passages import cut
from pincite.research.extractive.questions import read_question
from pincite.research.extractive.ranking import PassageIndex
from pincite.testing.small_web import document_of

PAGES = {
    "https://owls.test/nests": "# Nests\n\nThe barn owl lays four eggs in a nest.\n\nnest_size (integer) :: Sets the "
    "size of a nest. The default is 30.",
    "https://bees.test/hives": "# Hives\n\nA bee hive has one queen. A nest of wasps has many.",
}
NAMES = [field.name for field in fields(Signals)]
ANY = st.builds(Signals, **{name: st.floats(0, 1) for name in NAMES})


@pytest.fixture
def index() -> PassageIndex:
    made = PassageIndex()
    for url, text in PAGES.items():
        made.add(url, cut(url, document_of(text)))
    return made


def seen(index: PassageIndex, question: str) -> Signals:
    ask = read_question(question)
    found = signals(ask, index, index.statements(ask))
    assert found is not None
    return found


def test_what_a_page_says_is_likelier_than_what_it_only_mentions(index: PassageIndex) -> None:
    told = seen(index, "How many eggs does a barn owl lay?")
    mentioned = seen(index, "How many eggs did the emperor of Japan buy in Lisbon?")
    assert likelihood(told) > likelihood(mentioned)
    assert mentioned.missing > told.missing
    assert likelihood(told) > LIKELY > likelihood(mentioned)


def test_the_entry_of_a_named_setting_and_the_site_count(index: PassageIndex) -> None:
    assert seen(index, "What is nest_size by default?").named == 1
    assert seen(index, "How many queens does a hive of Owls have?").elsewhere == 1
    assert seen(index, "How many queens does a hive of Bees have?").elsewhere == 0


@given(ANY, st.sampled_from(["score", "margin", "focus", "page", "named"]), st.floats(0, 1))
def test_more_of_a_good_sign_never_lowers_the_likelihood(found: Signals, name: str, more: float) -> None:
    raised = replace(found, **{name: max(getattr(found, name), more)})
    assert 0 <= likelihood(found) <= likelihood(raised) <= 1


def test_no_statement_no_signals(index: PassageIndex) -> None:
    ask = read_question("Xylophone?")
    assert signals(ask, index, index.statements(ask)) is None
