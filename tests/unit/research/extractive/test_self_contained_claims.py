"""A claim can be read alone: no dangling "However", "It" or colon, rows read as words, nothing said twice."""

import time
from typing import Any

import pytest

from pincite.domain.page import Block, BlockKind, Document
from pincite.domain.plan import Task
from pincite.research.extractive.standing import stands_alone


async def texts(bench: Any, question: str, *pages: str) -> list[str]:
    report = await bench({f"https://{n}.test/": page for n, page in enumerate(pages)}).service().run(Task(question))
    return [claim.text for claim in report.claims]


@pytest.mark.parametrize(
    "text",
    [
        "However, the pump stops at night.",
        "It stops at night when it is cold.",
        "To use this option, open the valve first.",
        "Be careful with these valves when they turn.",
        "By default, the pump stops at night.",
    ],
)
def test_what_points_back_does_not_stand_alone(text: str) -> None:
    assert not stands_alone(text)


@pytest.mark.parametrize("text", ["-" * 3_000, "- " * 3_000, "+-" * 3_000 + "|", "x'" * 3_000])
def test_no_row_of_marks_takes_long(text: str) -> None:
    started_s = time.process_time()
    stands_alone(text)
    assert time.process_time() - started_s < 5.0


@pytest.mark.parametrize(
    "text",
    [
        "The pump stops at night because this saves power.",
        "It's possible to stop the pump at night.",
        "It is usually not necessary to stop the pump.",
        "It is likely that the pump stops.",
    ],
)
def test_what_says_all_stands_alone(text: str) -> None:
    assert stands_alone(text)


@pytest.mark.parametrize(
    "text", ["It is used to stop the pump.", "It is likely to stop.", "It's able to stop the pump."]
)
def test_an_it_that_is_something_does_not(text: str) -> None:
    assert not stands_alone(text)


async def test_a_remark_in_brackets_is_no_referent(bench: Any) -> None:
    page = "# Red pump\n\nThe red pump hums. (The hum is low.) It stops at night when the valve of Halden is shut."
    found = await texts(bench, "When does the red pump of Halden stop at night?", page)
    assert found
    assert not [text for text in found if "hum is low" in text]
    assert not [text for text in found if "): " in text or ".: " in text]


async def test_a_linking_word_is_left_out_and_the_quote_stays_exact(bench: Any) -> None:
    page = "# Pump\n\nOne more thing?\n\nHowever, the red pump stops at night."
    found = await texts(bench, "When does the red pump stop?", page)
    assert found == ["The red pump stops at night."]


async def test_a_colon_without_what_follows_is_not_used(bench: Any) -> None:
    page = "# Pump\n\nThe red pump stops at night.\n\nThe red pump can be started again at night with:"
    assert await texts(bench, "When does the red pump stop and start at night?", page) == [
        "The red pump stops at night."
    ]


async def test_a_sentence_said_with_its_referent_is_not_said_alone_as_well(bench: Any) -> None:
    page = "# Pump\n\nThe red pump of Halden was built in 1780. It stops at night and starts in the morning."
    found = await texts(bench, "When was the red pump of Halden built, and when does it stop at night?", page)
    assert len([text for text in found if "1780" in text]) == len({text for text in found if "1780" in text})
    report = await bench({"https://0.test/": page}).service().run(Task("What about the red pump of Halden at night?"))
    said = " ".join(sentence.text for sentence in report.sentences())
    assert said.count("1780") == 1


async def test_a_table_row_reads_as_words(bench: Any) -> None:
    rows = (("Item", "Most", "Note"), ("columns per table", "1,600", "less with wide rows"), ("field size", "1 GB", ""))
    text = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    document = Document(
        "small",
        "1",
        (Block(BlockKind.HEADING, "Limits", level=1), Block(BlockKind.TABLE, text, rows=rows, has_header=True)),
        title="Limits",
    )
    report = (
        await bench({"https://a.test/": document}).service().run(Task("How many columns can a table have at most?"))
    )
    assert report.claims[0].text == "Limits: columns per table: 1,600; less with wide rows."


async def test_an_entry_of_a_table_of_contents_is_no_claim(bench: Any) -> None:
    page = "# Pump\n\n- 3.1. Red pump at night\n\n- The red pump stops at night."
    assert await texts(bench, "What about the red pump at night?", page) == ["The red pump stops at night."]


async def test_a_line_of_code_has_its_term_in_front(bench: Any) -> None:
    meaning = "How many litres the red pump moves a minute. Example:"
    page = f"# Pump\n\npump_rate (default: 0) :: {meaning}\n\n    pump_rate = 1000"
    found = await texts(bench, "What is the pump_rate of the red pump?", page)
    assert not any(text.startswith("pump_rate = 1000") for text in found)


async def test_a_list_under_a_term_keeps_its_marks(bench: Any) -> None:
    page = (
        "# Pump\n\npump_guests (default: nobody, staff) :: The red pump may be started by:\n\n"
        "- guests of the red pump house, or\n\n- staff of the red pump house, or\n\n- the owner of the pump"
    )
    found = await texts(bench, "Who may start the red pump?", page)
    said = next(text for text in found if "may be started by" in text)
    assert said.startswith("pump_guests (default: nobody, staff): The red pump may be started by: guests")
    assert not any(text.endswith(" or.") for text in found)


async def test_a_heading_does_not_say_what_a_bare_this_is(bench: Any) -> None:
    page = "# Pump\n\n## Night\n\nSee above.\n\nThat happens when the red pump is cold at night."
    assert await texts(bench, "When does the red pump get cold at night?", page) == []


async def test_what_cannot_be_said_leaves_a_gap_and_nothing_far_fetched(bench: Any) -> None:
    page = "# Mill\n\nOn the mill of Halden Ada Lind wrote:\n\n## Guests\n\nGuests wrote to see [Mill Days]."
    report = await bench({"https://0.test/": page}).service().run(Task("Who wrote on the mill of Halden?"))
    assert not report.claims
    assert report.gaps
    assert report.gaps[0].queries
