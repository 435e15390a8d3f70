import pytest

from pincite.domain.plan import Progress, Task
from pincite.domain.search import Constraints
from pincite.research.extractive.parts import asked_for, sides_of, split_question
from pincite.research.extractive.planner import ExtractivePlanner
from pincite.research.state import query_key


def texts(question: str) -> tuple[str, ...]:
    return tuple(part.text for part in split_question(question))


@pytest.mark.parametrize(
    ("question", "parts", "context"),
    [
        (
            "How does the scheduler choose the next job, and what does the weight have to do with it?",
            ("How does the scheduler choose the next job?", "What does the weight have to do with it?"),
            "How does the scheduler choose the next job",
        ),
        (
            "When does the sweeper sweep a table, and what does it protect against?",
            ("When does the sweeper sweep a table?", "What does it protect against?"),
            "When does the sweeper sweep a table",
        ),
        (
            "Who wrote the owl book of 1920, and when was it released?",
            ("Who wrote the owl book of 1920?", "When was it released?"),
            "Who wrote the owl book of 1920",
        ),
        (
            "how does Storkbase sort and what happens when a sort needs more",
            ("how does Storkbase sort", "what happens when a sort needs more"),
            "how does Storkbase sort",
        ),
        (
            "Who wrote the parser and when was the first release published?",
            ("Who wrote the parser?", "When was the first release published?"),
            "",
        ),
        (
            "How does a lock wait and how long does it take to stop?",
            ("How does a lock wait?", "How long does it take to stop?"),
            "",
        ),
        (
            "Which port does Storkbase use? How long does Finchmail keep mail?",
            ("Which port does Storkbase use?", "How long does Finchmail keep mail?"),
            "",
        ),
    ],
)
def test_joined_questions_stay_as_asked_and_know_the_first_where_they_need_it(
    question: str, parts: tuple[str, str], context: str
) -> None:
    found = split_question(question)
    assert tuple(part.text for part in found) == parts
    assert [part.context for part in found] == ["", context]
    assert found[1].standalone == (f"{context}: {parts[1]}" if context else parts[1])


async def test_a_joined_question_is_searched_with_its_context_and_headed_as_asked() -> None:
    planned = await queries_of("How long is the jetty, and who built it?")
    assert list(planned) == ["How long is the jetty", "Who built it"]
    assert planned["Who built it"][0] == "How long is the jetty: Who built it?"


@pytest.mark.parametrize(
    "question",
    [
        "If I write def nest(x: int) and someone passes a twig, will Finch complain, or not at once?",
        'Why does Finch print "nest: twigs, eggs and feathers are gone" in winter?',
        "Nests for a closed barn: larch, oak or pine?",
    ],
)
def test_neither_brackets_nor_quotations_nor_a_choice_are_cut(question: str) -> None:
    assert texts(question) == (question,)


@pytest.mark.parametrize(
    ("question", "sides"),
    [
        ("What is the difference between a list and a row in Finch?", ("a list in Finch", "a row in Finch")),
        ("What is the difference between Needs, Wants and Likes?", ("Needs", "Wants", "Likes")),
        ("Compare nest fetch and nest pull.", ("nest fetch", "nest pull")),
        ("How does an egg differ from a seed?", ("an egg", "a seed")),
        ("READ COMMITTED vs SERIALIZABLE", ("READ COMMITTED", "SERIALIZABLE")),
        ("How are eggs and seeds stored?", ()),
    ],
)
def test_the_sides_of_a_comparison(question: str, sides: tuple[str, ...]) -> None:
    assert sides_of(question) == sides
    assert texts(question) == (question, *sides)


async def queries_of(question: str) -> dict[str, list[str]]:
    plan = await ExtractivePlanner().plan(Task(question), Progress())
    return {part.heading: [query.text for query in part.queries] for part in plan.sub_questions}


async def test_a_side_is_searched_where_the_other_is_spoken_of() -> None:
    question = "what's the difference between a list and a tuple"
    planned = await queries_of(question)
    assert planned["A list"] == planned["A tuple"] == [question]
    planned = await queries_of("Compare the vacuum daemon of Storkbase with the sweeper of Finchmail")
    _, first, second = planned.values()
    assert first[:2] == [
        "Compare the vacuum daemon of Storkbase with the sweeper of Finchmail",
        "the vacuum daemon of Storkbase",
    ]
    assert second == first[:1], "two words alone say too little"


@pytest.mark.parametrize(
    "question",
    [
        "what's a tuple",
        "a",
        "who's who",
        "why is d[1] gone",
        "fetch vs pull",
        "x vs y in C",
        "what is it's use & what's a b c?",
    ],
)
async def test_no_query_is_a_scrap(question: str) -> None:
    """A query is the question itself, or has three words that carry content."""
    for queries in (await queries_of(question)).values():
        for query in queries:
            assert query == question or len([word for word in query.split() if len(word) > 1]) >= 3, queries


def test_an_error_message_is_no_list() -> None:
    message = "554 5.7.1 <bob@example.org>: Relay access denied. from my phone, at home it sends fine"
    assert texts(message) == (message,)


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("Write me a summary of the harbour of Halden.", "the harbour of Halden."),
        ("Tell us about autovacuum", "autovacuum"),
        ("Could you please give me a short overview of owl boxes?", "owl boxes?"),
        ("Show me how to undo a commit", "how to undo a commit"),
        ("please explain how a queue is flushed", "how a queue is flushed"),
        ("Schreib mir eine Zusammenfassung über den Hafen", "den Hafen"),
        ("Explique-moi le verrouillage", "le verrouillage"),
    ],
)
def test_a_request_is_not_part_of_what_is_asked(question: str, asked: str) -> None:
    assert asked_for(question) == asked


@pytest.mark.parametrize(
    "question",
    [
        "Create a table of numbers in SQL",
        "contact us page of Debian",
        "What tells me that a commit is signed?",
        "Can you drop a table that another user owns?",
        "What is the use of a summary?",
        "Tell me about it",
        "me",
    ],
)
def test_what_may_be_the_subject_stays(question: str) -> None:
    assert asked_for(question) == question


@pytest.mark.parametrize(
    ("question", "types"),
    [
        ("PDFs on the feeding of owls", {None, "pdf"}),
        ("Find me the PDF version of the owl handbook", {None, "pdf"}),
        ("How do I merge two PDF files of owls?", {None}),
        ("Which owls eat documents of paper?", {None}),
    ],
)
async def test_a_kind_of_file_that_heads_the_question_is_searched_for_once_more(
    question: str, types: set[str | None]
) -> None:
    plan = await ExtractivePlanner().plan(Task(question), Progress())
    queries = [query for part in plan.sub_questions for query in part.queries]
    assert {query.constraints.file_type for query in queries} == types
    assert len({query_key(query) for query in queries}) == len(queries)
    given = await ExtractivePlanner().plan(Task(question, Constraints(file_type="odt")), Progress())
    assert {q.constraints.file_type for part in given.sub_questions for q in part.queries} == {"odt"}


def test_names_of_code_head_a_section_as_they_are_written() -> None:
    headings = [part.heading for part in split_question("what's the difference between sorted() and list.sort()?")]
    assert headings == ["What's the difference between sorted() and list.sort()", "sorted()", "list.sort()"]
