"""A misspelt word of a question over the web is read as a word of the pages that were found."""

from typing import Any

import pytest

from pincite.domain.plan import Task

PAGES = {
    "https://a.test/": "# Storks\n\nThe stork has a conservatory of its own. It keeps eggs at 38 degrees.\n",
    "https://b.test/": "# Eggs\n\nEggs of the stork stay in the conservatory for 33 days.\n",
}


async def test_a_slip_is_read_as_a_word_of_the_pages(bench: Any) -> None:
    report = await bench(PAGES).service().run(Task("How many days do stork eggs stay in the consevratory?"))
    assert any("conservatory for 33 days" in sentence.text for sentence in report.sentences())
    assert report.notes == ("Searched for “conservatory”: no page read has “consevratory”.",)


@pytest.mark.parametrize(
    "question", ["Do stork eggs like Conservatori?", "How do stork eggs stay warm in the conservatory?"]
)
async def test_names_and_known_words_stay(bench: Any, question: str) -> None:
    report = await bench(PAGES).service().run(Task(question))
    assert not any("Searched for" in note for note in report.notes)
