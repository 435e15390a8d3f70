"""The entry of an identifier that a question names comes before entries that only mention it."""

import pytest

from pincite.domain.library import Survey
from pincite.research.extractive.passages import cut, names_defined, things_named
from pincite.research.extractive.questions import read_question
from pincite.research.extractive.ranking import PassageIndex
from pincite.testing.small_web import document_of

PAGE = """# Memory

nest_mem (integer) :: Sets the memory of a nest. If it is too small, eggs go to disk. The default is four megabytes.

egg_mem_factor (float) :: The default is 2.0, which is twice nest_mem. Raise it, then the default of nest_mem.

-q, --quiet=<level> :: Says nothing. The default level of --quiet is 3.
"""


def index(*, survey: Survey | None = None) -> PassageIndex:
    made = PassageIndex()
    made.know(survey or Survey())
    made.add("https://a.test/", cut("https://a.test/", document_of(PAGE)))
    return made


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("What is nest_mem by default?", "The default is four megabytes."),
        ("What does nest_mem do?", "Sets the memory of a nest."),
        ("nest_mem", "Sets the memory of a nest."),
        ("What does --quiet do?", "Says nothing."),
    ],
)
def test_the_named_entry_wins(question: str, first: str) -> None:
    best = index().statements(read_question(question))[0]
    assert best.passage.text(best.statement.span) == first


def test_a_heading_or_term_defines_the_names_it_opens_with() -> None:
    found = [names_defined(passage) for passage in cut("https://a.test/", document_of(PAGE))]
    assert {"nest_mem"} <= found[0]
    assert {"-q", "--quiet"} <= found[2]
    assert not any("integer" in names for names in found)


def test_words_are_as_rare_as_in_the_whole_library() -> None:
    survey = Survey(1_000, (("eggs", 900), ("disk", 3)))
    assert index(survey=survey).idf("disk") > index(survey=survey).idf("egg")
    assert index().idf("disk") == index().idf("level")


BIRDS = """# nest-watch(1) Manual Page

## Name

nest-watch - Use a camera to find the egg that broke.

## Discussion

The nest watch is often left on, and this is a toy example because nest watch is easy to set up at home.

# Other

## Nest watch and the hunter

When the nest watch of a hunter is on, the result of a nest watch is a picture.
"""


def test_what_a_page_is_about_opens_the_answer() -> None:
    made = PassageIndex()
    made.add("https://b.test/", cut("https://b.test/", document_of(BIRDS)))
    best = made.statements(read_question("What does nest watch do?"))[0]
    assert "camera" in best.passage.text(best.statement.span)


def test_things_named_leave_brackets_and_numbers_out() -> None:
    page = document_of("# 8. Tools\n\n## 8.5. The with statement\n\nIt opens files.\n")
    assert frozenset({"with", "statement"}) in things_named(cut("https://c.test/", page)[0])


MOVING = {
    "https://a.test/mv": "# nest-mv(1)\n\n## NAME\n\nnest-mv - Move or rename a nest\n\n## OPTIONS\n\nMore.",
    "https://a.test/rename": "# Settings\n\nAll.\n\nmerge.eggs :: Set it so that a merge sees the rename of a nest.",
}


def index_of(pages: dict[str, str]) -> PassageIndex:
    made = PassageIndex()
    for url, text in pages.items():
        made.add(url, cut(url, document_of(text)))
    return made


def test_a_page_that_opens_with_what_is_asked_answers_first() -> None:
    best = index_of(MOVING).statements(read_question("How do I rename a nest?"))[0]
    assert best.passage.text(best.statement.span) == "nest-mv - Move or rename a nest"


def test_the_sentence_a_page_opens_with_counts_for_all_of_it() -> None:
    pages = {
        "https://a.test/owl": "# owl(1)\n\nAn owl watches the barn.\n\n## Options\n\n--port :: The port is 12.",
        "https://a.test/elk": "# elk(1)\n\nAn elk eats leaves.\n\n## Options\n\n--port :: The port is 34.",
    }
    best = index_of(pages).statements(read_question("Which port has the barn watch?"))[0]
    assert best.passage.text(best.statement.span) == "The port is 12."


def test_a_sentence_that_leans_on_the_one_before_has_its_words() -> None:
    page = "# Nests\n\nNames of nests must be small letters. They must be at least two characters long."
    best = index_of({"https://a.test/": page}).statements(read_question("What is the shortest name a nest may have?"))[
        0
    ]
    assert best.passage.text(best.statement.span) == "They must be at least two characters long."
