"""What stands where in a report, how much of it, under which heading, and how gaps are worded."""

from typing import Any

import pytest

from pincite.domain.layout import Sentence, SentenceKind
from pincite.domain.markdown import QUERIES_SHOWN, labelled, searched_text
from pincite.domain.plan import Task
from pincite.domain.report import LOW_CONFIDENCE_LABEL, ReportGap, broken_rules
from pincite.research.extractive.headings import is_structural, page_heading
from pincite.testing.small_web import document_of


@pytest.mark.parametrize(
    "text", ["Introduction", "1. Overview", "NOTES", "Description¶", "Parameters:", "Table of Contents"]
)
def test_headings_of_any_document_say_nothing(text: str) -> None:
    assert is_structural(text)


@pytest.mark.parametrize("text", ["Introduction to locks", "deadlock_timeout (integer)", "VACUUM", "Notes on owls"])
def test_headings_that_say_what_it_is_about_stay(text: str) -> None:
    assert not is_structural(text)


@pytest.mark.parametrize(
    ("url", "text", "heading"),
    [
        ("https://x.test/owls.html", "# Barn owls\n\nWords.", "Barn owls"),
        ("https://x.test/owls.html", "# 3.1. Barn owls\n\nWords.", "Barn owls"),
        ("https://x.test/a/intro.html", "# Introduction\n\n## Barn owls\n\nWords.", "Barn owls: Introduction"),
        ("https://x.test/barn-owls/index.html", "# Introduction\n\nWords.", "barn owls: Introduction"),
        ("https://owls.test/", "# Overview\n\nWords.", "owls.test: Overview"),
        ("local:birds/owls/notes.md", "# Notes\n\nWords.", "owls: Notes"),
    ],
)
def test_a_section_is_called_by_what_its_page_is_about(url: str, text: str, heading: str) -> None:
    assert page_heading(document_of(text), url) == heading


async def test_a_structural_heading_is_no_referent(bench: Any) -> None:
    text = "# Owl boxes\n\n## Description\n\nIt keeps young barn owls dry in heavy rain."
    report = await bench({"https://x.test/owls": text}).service().run(Task("What keeps barn owls dry in rain?"))
    assert "Description:" not in report.markdown
    assert "Owl boxes: It keeps young barn owls dry in heavy rain." in report.markdown


async def test_a_letter_of_a_list_is_no_claim(bench: Any) -> None:
    text = "# Owls\n\n## Feeding barn owls\n\nQ.\n\n7.\n\nFeed barn owls mice."
    report = await bench({"https://x.test/owls": text}).service().run(Task("What is feeding barn owls?"))
    assert [claim.text for claim in report.claims] == ["Feed barn owls mice."]


FACT = "How many eggs does a barn owl lay in spring?"
OWLS = {
    "https://a.test/eggs": "# Eggs\n\nA barn owl lays five eggs in spring. A barn owl lays four eggs in a cold spring.",
    "https://b.test/hens": "# Hens\n\nA hen lays many eggs in 24 nests.",
    "https://c.test/owls": "# Owls\n\nAn owl sleeps for 14 hours in spring.",
}


async def test_a_short_question_gets_a_short_answer(bench: Any) -> None:
    report = await bench(OWLS).service().run(Task(FACT))
    answer = " ".join(sentence.text for sentence in report.summary.sentences)
    assert "five eggs" in answer
    assert "hen" not in answer
    assert "Key numbers" not in report.outline
    assert not list(broken_rules(report))


async def test_a_figure_said_in_two_ways_is_no_conflict(bench: Any) -> None:
    pages = {
        "https://a.test/big": "# Settings\n\nbigFileThreshold :: The default threshold of big files is 512 MiB.",
        "https://b.test/big": "# Import\n\nbigFileThreshold :: The default threshold of big files is 512m (512 MiB).",
    }
    report = await bench(pages).service().run(Task("What is the default threshold of big files?"))
    assert len(report.references) == 2
    assert not report.conflicts


def test_gaps_print_a_few_queries_and_say_how_many_more() -> None:
    queries = tuple(f"owl {n}" for n in range(QUERIES_SHOWN + 2))
    assert searched_text(ReportGap("q", "r", queries)) == (
        "searched for: “owl 0”; “owl 1”; “owl 2”; “owl 3”; and in 2 other wordings"
    )
    assert searched_text(ReportGap("q", "r", queries[:1])) == "searched for: “owl 0”"
    assert searched_text(ReportGap("q", "r", queries[: QUERIES_SHOWN + 1])).endswith("1 other wording")
    assert not searched_text(ReportGap("q", "r"))


def test_a_version_that_is_less_certain_is_said_in_one_breath() -> None:
    low = Sentence(f"{LOW_CONFIDENCE_LABEL}It is 7 m tall.", SentenceKind.CLAIM, ("c",), (1,), "Version 2")
    assert labelled(low) == "Version 2, less certain: It is 7 m tall."
    sure = Sentence("It is 7 m tall.", SentenceKind.CLAIM, ("c",), (1,), "Version 2")
    assert labelled(sure) == "Version 2: It is 7 m tall."


async def test_a_gap_says_how_many_pages_do_not_state_it(bench: Any) -> None:
    report = await bench(OWLS).service().run(Task("How many eggs does an owl lay in spring with owl_mode_x?"))
    assert report.gaps[0].reason == "not in these sources: none of the 3 pages read mentions owl_mode_x"
    one = (
        await bench({"https://a.test/eggs": OWLS["https://a.test/eggs"]})
        .service()
        .run(Task("How many eggs in spring with egg_mode_x?"))
    )
    assert one.gaps[0].reason == "not in these sources: the one page read does not mention egg_mode_x"


async def test_so_long_as_opens_a_sentence_and_links_none(bench: Any) -> None:
    said = "So long as the barn owl is fed, the barn owl lays eggs in spring."
    report = await bench({"https://a.test/eggs": f"# Eggs\n\n{said}"}).service().run(Task("Does a barn owl lay eggs?"))
    assert [claim.text for claim in report.claims] == [said]


async def test_queries_that_passages_add_are_made_of_words(bench: Any) -> None:
    made = bench(OWLS)
    report = await made.service().run(Task("How many eggs does a sleeping owl have in the nesting boxes of Lisbon?"))
    asked = {word for query in made.web.searched for word in query.split()}
    assert {"sleeping", "nesting"} <= asked
    assert not {"sleep", "nest"} & asked
    assert not list(broken_rules(report))
