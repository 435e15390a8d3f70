"""Reading begins while other queries still wait for a slow engine, and changes nothing of what is read."""

from dataclasses import replace
from typing import Any

import anyio
from tests.fakes.small_web import SmallWeb

from pincite.domain.budget import Budget, Metrics
from pincite.domain.fetch import FetchRequest, FetchResult
from pincite.domain.plan import Gap, Progress, Task
from pincite.domain.report import ReportStatus
from pincite.domain.search import Constraints, Query, SearchResponse
from pincite.research.extractive.planner import ExtractivePlanner
from pincite.research.state import Limits

QUESTION = "How long does the database wait on a lock before it checks for a deadlock?"


class SlowEngine(SmallWeb):
    """Answers the first query at once and every other one only when a page was read."""

    def __init__(self, pages: dict[str, Any], **options: Any) -> None:
        super().__init__(pages, **options)
        self.was_read = anyio.Event()
        self.waits = True

    async def search(self, query: Query) -> SearchResponse:
        if self.searched and self.waits:
            with anyio.fail_after(5):
                await self.was_read.wait()
        return await super().search(query)

    async def fetch(self, request: FetchRequest) -> FetchResult:
        page = await super().fetch(request)
        self.was_read.set()
        return page


def slow(made: Any, *, waits: bool = True, **options: Any) -> Any:
    """The bench over an engine that gives its second answer after the first page."""
    made.web = SlowEngine(dict(made.web.documents), **options)
    made.web.waits = waits
    return made


async def test_the_first_page_is_read_while_other_queries_wait(bench: Any) -> None:
    made = slow(bench())
    report = await made.service().run(Task(QUESTION))
    assert len(made.web.searched) > 1
    assert report.status is not ReportStatus.INSUFFICIENT_EVIDENCE
    assert len(made.web.fetched) == len(set(made.web.fetched)), "no page is asked for twice"
    assert made.web.fetched[0] == report.references[0].url


async def test_what_is_read_and_said_is_the_same_without_waiting(bench: Any) -> None:
    early, late = slow(bench()), slow(bench(), waits=False)
    first = await early.service().run(Task(QUESTION))
    second = await late.service().run(Task(QUESTION))
    assert replace(first, metrics=Metrics()) == replace(second, metrics=Metrics())
    assert sorted(early.web.fetched) == sorted(late.web.fetched)
    fetched = list(early.web.fetched)
    again = await early.service().run(Task(QUESTION))
    assert early.web.fetched == fetched, "a run made again asks for nothing"
    assert replace(again, metrics=Metrics()) == replace(first, metrics=Metrics())


async def test_a_dead_first_page_is_a_lead_as_ever(bench: Any) -> None:
    gone = "https://db.test/gone.html"
    made = slow(bench(), waits=False, dead=(gone,))
    report = await made.service().run(Task("zzz yyy locks?"))
    assert [lead.url for lead in report.leads].count(gone) == 1


async def test_nothing_is_read_early_where_requests_are_capped_or_sites_preferred(bench: Any) -> None:
    for limits, constraints in (
        (Limits(budget=Budget(searches=30, web_requests=8, rounds=1)), Constraints()),
        (Limits(), Constraints(prefer_domains=("mail.test",))),
    ):
        made = slow(bench(limits=limits), waits=False)
        seen: list[int] = []
        fetch = made.web.fetch

        async def counted(request: FetchRequest, made: Any = made, seen: Any = seen, fetch: Any = fetch) -> FetchResult:
            seen.append(len(made.web.searched))
            found: FetchResult = await fetch(request)
            return found

        made.web.fetch = counted
        await made.service().run(Task(QUESTION, constraints))
        assert seen
        assert seen[0] > 1, "all queries were sent before the first page"


async def test_with_keyless_engines_a_part_is_asked_once_and_its_bare_words_wait(bench: Any) -> None:
    keyed, keyless = ExtractivePlanner(), ExtractivePlanner(sparing=True)
    task = Task(QUESTION)
    [usual], [sparing] = [(await p.plan(task, Progress(1))).sub_questions for p in (keyed, keyless)]
    assert [query.text for query in sparing.queries] == [QUESTION]
    assert len(usual.queries) == 2
    asked = Progress(2, plan=await keyless.plan(task, Progress(1)), asked=(QUESTION,))
    again = await keyless.plan(task, asked)
    assert again.sub_questions[0].queries == (), "nothing is open: nothing is asked"
    open_ = replace(asked, gaps=(Gap(sparing.text, "not found"),))
    [part] = (await keyless.plan(task, open_)).sub_questions
    assert [query.text for query in part.queries] == [usual.queries[1].text]
