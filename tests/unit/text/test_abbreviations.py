"""Short forms spelt out by pages themselves, and questions asked in the other form."""

from dataclasses import replace
from typing import Any

import pytest
from tests.fakes.small_web import document_of

from pincite.domain.page import Block, BlockKind, Document, Mark, MarkKind
from pincite.domain.plan import Gap, Progress, ReadPage, Task
from pincite.research.extractive.planner import ExtractivePlanner
from pincite.text.abbreviations import other_form, other_names, spelt_out


@pytest.mark.parametrize(
    ("text", "forms"),
    [
        ("The server uses Write-Ahead Logging (WAL) for safety.", {"WAL": "Write-Ahead Logging"}),
        ("By multiversion concurrency control (MVCC) none waits.", {"MVCC": "multiversion concurrency control"}),
        ("It is called the Generalized Search Tree (GiST).", {"GiST": "Generalized Search Tree"}),
        ("Several domain name servers (DNSs) answer.", {"DNS": "domain name servers"}),
        ("The manual (See below) explains this.", {}),
        ("This was the case in Berlin (BBC).", {}),
        ("an option (WAL) of the server", {}),
    ],
)  # fmt: skip
def test_a_form_needs_its_letters_in_order_from_the_start_of_a_word(text: str, forms: dict[str, str]) -> None:
    assert spelt_out([text]) == forms


def test_the_other_form_of_a_text_is_its_own_words_with_one_form_changed() -> None:
    forms = {"WAL": "Write-Ahead Logging", "IT": "information technology"}
    assert other_form("How large is the WAL by default?", forms) == "How large is the Write-Ahead Logging by default?"
    assert other_form("What is write-ahead logging for?", forms) == "What is WAL for?"
    assert other_form("How large is it, and what is a WALL?", forms) == ""


async def test_what_is_open_is_asked_in_the_form_that_a_page_spells_out(read_page: Any) -> None:
    planner, task = ExtractivePlanner(), Task("How large is the WAL by default?")
    plan = await planner.plan(task, Progress(1))
    page = read_page("# Reliability\n\nThe server uses Write-Ahead Logging (WAL) for safety.")
    part = plan.sub_questions[0]
    again = Progress(2, plan=plan, pages=(page,), gaps=(Gap(part.text, "not found"),))
    texts = [query.text for query in (await planner.plan(task, again)).sub_questions[0].queries]
    assert "large Write-Ahead Logging default" in texts or "large Write Ahead Logging default" in texts
    assert len(texts) == len(set(texts))
    closed = replace(again, gaps=())
    assert (await planner.plan(task, closed)).sub_questions[0].queries == ()


def named(*blocks: Block) -> dict[str, str]:
    return other_names([Document(extractor="t", version="1", blocks=blocks)])


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("The index entries are kept in leaf pages, also called bottom nodes.", {"bottom nodes": "leaf pages"}),
        ("This is the write lock (also known as an exclusive lock).", {"exclusive lock": "write lock"}),
        ("Das ist der Hauptserver, auch Primary genannt.", {"Primary": "Hauptserver"}),
        ("The server is fast, also when it is called twice.", {}),
        ("It is also called.", {}),
    ],
)
def test_another_name_is_the_one_that_a_page_gives(text: str, names: dict[str, str]) -> None:
    assert named(Block(BlockKind.PARAGRAPH, text)) == names


def test_entries_and_marks_give_other_names() -> None:
    assert named(Block(BlockKind.TERM, "Slave"), Block(BlockKind.DEFINITION, "See standby.", parent=0)) == {
        "Slave": "standby"
    }
    both = (Block(BlockKind.TERM, "--commit"), Block(BlockKind.TERM, "--no-commit"))
    assert named(*both, Block(BlockKind.DEFINITION, "Make the commit or not.", parent=1)) == {}
    assert named(Block(BlockKind.TERM, "Slave"), Block(BlockKind.DEFINITION, "See below.", parent=0)) == {}
    marks = (Mark(4, 8, MarkKind.ABBREVIATION, title="Mail Transfer Agent"),)
    assert named(Block(BlockKind.PARAGRAPH, "The MTAX runs.", marks=marks)) == {"MTAX": "Mail Transfer Agent"}
    assert named(Block(BlockKind.TERM, "Slave"), Block(BlockKind.DEFINITION, "A server.", parent=0)) == {}


async def test_what_is_open_is_asked_by_another_name_that_a_page_gives(read_page: Any) -> None:
    planner, task = ExtractivePlanner(), Task("How are bottom nodes split in an index?")
    plan = await planner.plan(task, Progress(1))
    page = read_page("# Pages\n\nThe entries are kept in leaf pages, also called bottom nodes.")
    part = plan.sub_questions[0]
    again = Progress(2, plan=plan, pages=(page,), gaps=(Gap(part.text, "not found"),))
    texts = [query.text for query in (await planner.plan(task, again)).sub_questions[0].queries]
    first = [query.text for query in part.queries]
    assert first == ["How are bottom nodes split in an index?", "bottom nodes split index"]
    assert "leaf pages split index" in texts, "a third wording, of the pages read"
    assert all(len(text.split()) > 1 for text in (*first, *texts))


@pytest.fixture
def read_page() -> Any:
    def make(text: str) -> ReadPage:
        return ReadPage("https://db.test/wal.html", None, document_of(text))  # type: ignore[arg-type]  # not looked at

    return make
