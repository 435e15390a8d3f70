"""What is printed beside the best statement: what is about the same thing, no more than the question wants."""

from collections.abc import Sequence

import pytest

from pincite.domain.page import FetchRequest
from pincite.domain.plan import Plan, Progress, ReadPage, SubQuestion
from pincite.research.extractive.choosing import LONG, MEDIUM, PART, SHORT, Choice, room_for
from pincite.research.extractive.passages import cut
from pincite.research.extractive.questions import read_question
from pincite.research.extractive.ranking import PassageIndex
from pincite.testing.small_web import SmallWeb

SETTINGS = """# Settings

max_nests (integer) :: Sets the most nests at a time. The default is 100 nests. Each nest takes memory of its own.

max_waiting_nests (integer) :: Sets the most nests that may wait. The default is zero.

egg_timeout (integer) :: The default is 30 seconds for any egg.
"""


async def chosen(question: str, pages: dict[str, str]) -> Sequence[str]:
    web = SmallWeb(pages)
    read: list[ReadPage] = []
    for url in pages:
        fetched = await web.fetch(FetchRequest(url))
        read.append(ReadPage(url, fetched.snapshot, fetched.document))
    index = PassageIndex()
    for page in read:
        index.add(page.url, cut(page.url, page.document))
    ask = read_question(question)
    progress = Progress(pages=tuple(read), plan=Plan((SubQuestion("1", question, ()),)))
    room = room_for(ask, alone=True)
    claims = Choice(question, ask, index, progress).take(index.statements(ask), room)
    return [claim.text for claim in claims]


@pytest.mark.parametrize(
    ("question", "alone", "room"),
    [
        ("How many nests may there be?", True, SHORT),
        ("Is the nest on by default?", True, SHORT),
        ("What is a nest?", True, MEDIUM),
        ("Why do nests wait?", True, LONG),
        ("How many nests may there be?", False, PART),
    ],
)
def test_facts_get_short_reports(question: str, alone: bool, room: object) -> None:
    assert room_for(read_question(question), alone=alone) is room


async def test_entries_of_other_things_are_left_out() -> None:
    found = await chosen("What is the default of max_nests?", {"https://a.test/": SETTINGS})
    assert "max_nests (integer): The default is 100 nests." in found
    assert not any("egg_timeout" in text for text in found)


async def test_a_further_page_is_cited_for_what_it_adds() -> None:
    pages = {
        "https://a.test/": "# Nests\n\nThe stork nest of Ada Finch was built in 1911 near the harbour.\n",
        "https://b.test/": "# Storks\n\nStork nests are built in spring.\n",
        "https://c.test/": "# Ada Finch\n\nAda Finch studied geology in Bergen before she moved.\n",
    }
    found = await chosen("Where did the builder of the 1911 stork nest study geology?", pages)
    assert any("geology in Bergen" in text for text in found)


async def test_a_page_about_what_a_chosen_sentence_names_is_cited() -> None:
    pages = {
        "https://a.test/": "# Nests\n\nThe stork nest at the harbour was built by Ada Finch.\n",
        "https://b.test/": "# Mud\n\nA nest was mended with mud once.\n",
        "https://c.test/": "# Ada Finch\n\nAda Finch built boats.\n",
    }
    found = await chosen("Who built the stork nest at the harbour?", pages)
    assert any("built boats" in text for text in found)
    assert not any("mud" in text for text in found)


async def test_a_sentence_that_needs_one_already_printed_is_said_with_it() -> None:
    text = "# Names\n\nNest names have only letters and digits. They must be at least two characters long.\n"
    found = await chosen("What is the shortest length a nest name may have?", {"https://a.test/": text})
    assert any("at least two characters" in each for each in found)
