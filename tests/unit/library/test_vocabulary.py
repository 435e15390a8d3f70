"""What a library knows of the words of a question: slips and frequencies."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pincite.library.local import LocalLibrary
from pincite.library.spelling import page_words

PAGES = {
    "locks.md": "# Locks\n\nmax_connections sets the number of connections. The isolation level is shared by queues.\n",
    "names.md": "# Names\n\nAn io_mode belongs to every method. A Write-Ahead Log (WAL) keeps transactions. A pem.\n",
    "queue.md": "# Queue\n\n" + "Every queue has a default length and a message.\n",
    "time.md": "# Limits\n\nThe downside of a time limit.\n",
    "queue2.md": "# Queues\n\n" + "Another queue with a default.\n",
}


@pytest.fixture
def library(tmp_path: Path, open_library: Callable[[Path], LocalLibrary]) -> LocalLibrary:
    folder = tmp_path / "pages"
    folder.mkdir()
    for name, text in PAGES.items():
        (folder / name).write_text(text)
    made = open_library(folder)
    made.refresh()
    return made


@pytest.mark.parametrize(
    ("written", "read_as"),
    [
        ("what is the defualt of max_conections", {"defualt": "default", "max_conections": "max_connections"}),
        ("which isolaton lvl do transactons have", {"isolaton": "isolation", "transactons": "transactions"}),
        ("Mesage", {"Mesage": "message"}),
        # What is right, small, an acronym, a figure or too far from everything is left alone.
        ("wich queue, thier connection, a poem", {}),
        ("MVCC and WAK", {}),
        ("the boiling point of nitrogen", {}),
        # A short word with a letter changed, missing or too many may be another word; swapped or doubled, a typo.
        ("a levee, an even, a metho", {}),
        ("which levle has the quueue, which lenght", {"levle": "level", "quueue": "queue", "lenght": "length"}),
        ("queue2 and quue7", {}),
        # An identifier whose parts are words of the pages is another identifier, not a typo.
        ("what does io_method do", {}),
        # A common word is meant as it is, however near a word of the pages is.
        ("who gave a massage at the queue", {}),
        # What two words make up is a word of its own, no typo of another.
        ("what is the downtime, and the downsidde", {"downsidde": "downside"}),
    ],
)
def test_slips_are_read_as_words_of_the_pages(library: LocalLibrary, written: str, read_as: dict[str, str]) -> None:
    assert dict(library.survey(written).spellings) == read_as


def test_a_survey_counts_words_and_knows_what_is_nowhere(library: LocalLibrary) -> None:
    survey = library.survey("How long is the queue of the write-ahead log, and what is WAL in Esperanto?")
    assert dict(survey.frequencies)["queue"] == 3
    assert dict(survey.frequencies)["Esperanto"] == 0
    assert survey.passages >= len(PAGES)


def test_removed_pages_take_their_words_along(tmp_path: Path, library: LocalLibrary) -> None:
    for name in ("queue.md", "queue2.md"):
        (tmp_path / "pages" / name).unlink()
    library.refresh()
    assert dict(library.survey("a mesage that is anothr").spellings) == {}


@settings(max_examples=30, deadline=None)
@given(st.text(max_size=300))
def test_any_text_can_be_surveyed(text: str) -> None:
    assert all(word == word.lower() for word in page_words(text))
