"""The loop: a whole run over a small web, replay, caps, cancellation."""

import re
from dataclasses import replace
from typing import Any

import anyio
import pytest

from pincite.domain.budget import Budget, Metrics
from pincite.domain.errors import InvalidTopic, SearchProviderUnavailable
from pincite.domain.events import EventType
from pincite.domain.fetch import FetchRequest, FetchResult
from pincite.domain.layout import ExcerptKind
from pincite.domain.plan import Progress, Task
from pincite.domain.report import ReportStatus, broken_rules
from pincite.domain.search import LeftOut, Query, SearchResponse
from pincite.research.extractive.verifier import ExtractiveVerifier
from pincite.research.service import vet_question
from pincite.research.state import Limits

QUESTION = "How long does the database wait on a lock before it checks for a deadlock?"


async def test_a_run_answers_with_cited_sentences(bench: Any) -> None:
    made = bench()
    report = await made.service().run(Task(QUESTION))
    assert report.status is not ReportStatus.INSUFFICIENT_EVIDENCE
    assert report.summary.sentences
    assert "one second" in " ".join(sentence.text for sentence in report.sections[0].sentences)
    assert not list(broken_rules(report))
    assert report.references[0].url == "https://db.test/locks.html"
    assert all(sentence.references for sentence in report.sentences())
    assert report.markdown.startswith("# How long")


async def test_checking_gets_the_time_that_reading_left(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made = bench(limits=Limits(budget=Budget(deadline_s=60.0)))
    fetch, verify, left = made.web.fetch, ExtractiveVerifier.verify, []

    async def slow(request: FetchRequest) -> FetchResult:
        made.clock.advance(7.0)
        result: FetchResult = await fetch(request)
        return result

    async def noted(self: ExtractiveVerifier, task: Task, analyses: Any, progress: Progress) -> Any:
        left.append((progress.seconds_left, 60.0 - made.clock.monotonic_s()))
        return await verify(self, task, analyses, progress)

    monkeypatch.setattr(made.web, "fetch", slow)
    monkeypatch.setattr(ExtractiveVerifier, "verify", noted)
    await made.service().run(Task(QUESTION))
    assert left
    assert all(told == really < 60.0 for told, really in left)


async def test_every_quote_is_a_slice_of_the_stored_document(bench: Any) -> None:
    made = bench()
    report = await made.service().run(Task("What does VACUUM do, and which rows does a transaction see?"))
    assert report.claims
    for claim in report.claims:
        assert claim.evidence
        for evidence in claim.evidence:
            document = await made.stores.documents.get(evidence.document_id)
            assert document is not None
            assert document.text[evidence.start : evidence.end] == evidence.quote


async def test_a_definition_carries_its_term(bench: Any) -> None:
    report = await bench().service().run(Task(QUESTION))
    excerpts = [block.excerpt for section in report.sections for block in section.blocks]
    assert any(e and e.kind is ExcerptKind.DEFINITION and e.term == "deadlock_timeout (integer)" for e in excerpts)
    assert "**Lock Management › deadlock_timeout (integer)**" in report.markdown


async def test_the_same_inputs_give_the_same_report(bench: Any) -> None:
    reports = [await bench().service().run(Task(QUESTION)) for _ in range(2)]
    assert reports[0] == reports[1]


async def test_a_second_execution_replays_the_same_calls_without_asking_again(bench: Any) -> None:
    made = bench()
    first = await made.service().run(Task(QUESTION))
    searched, fetched, calls = list(made.web.searched), list(made.web.fetched), list(made.ledger.calls)
    made.ledger.calls.clear()
    again = await made.service().run(Task(QUESTION))
    assert (made.web.searched, made.web.fetched) == (searched, fetched)
    assert sorted(made.ledger.calls) == sorted(calls)
    assert replace(again, metrics=Metrics()) == replace(first, metrics=Metrics())


async def test_a_question_is_searched_as_it_was_asked(bench: Any) -> None:
    made = bench()
    await made.service().run(Task(QUESTION))
    assert made.web.searched[0] == QUESTION


async def test_nothing_found_is_said_with_what_was_searched(bench: Any) -> None:
    report = await bench().service().run(Task("What does the zstd_level option of the frobnicator accept?"))
    assert report.status is ReportStatus.INSUFFICIENT_EVIDENCE
    assert not report.claims
    assert not report.references
    assert report.gaps[0].queries
    assert "zstd_level" in report.gaps[0].reason


async def test_a_part_without_evidence_makes_the_report_partial(bench: Any) -> None:
    made = bench()
    question = "Which defaults hold: the deadlock lock timeout, the io_method setting, and the shared lock table room?"
    report = await made.service().run(Task(question))
    assert report.status is ReportStatus.PARTIAL
    assert any("io_method" in gap.reason for gap in report.gaps)


async def test_dead_pages_are_leads_and_never_references(bench: Any) -> None:
    report = await bench(dead=("https://db.test/gone.html",)).service().run(Task(QUESTION))
    assert [lead.url for lead in report.leads] == ["https://db.test/gone.html"]
    assert report.leads[0].reason == "dead_link"
    assert all(reference.url != "https://db.test/gone.html" for reference in report.references)
    assert report.metrics.dead_links == 1


async def test_results_at_refused_addresses_are_told_and_never_asked_for(bench: Any) -> None:
    odd = LeftOut("Locks, by another server", "http://db.test:9999/locks.html", "port_denied")
    made = bench(left_out=(odd,))
    report = await made.service().run(Task(QUESTION))
    assert [(lead.url, lead.reason) for lead in report.leads] == [(odd.url, "port_denied")]
    assert "its port is not one of the web's" in report.markdown
    assert made.events.of(EventType.SEARCH_COMPLETED)[0]["left_out"] == {"port_denied": 1}
    refused = [data["url"] for data in made.events.of(EventType.PAGE_REFUSED)]
    assert refused == [odd.url], "once, though each query finds it"
    assert odd.url not in made.web.fetched
    assert (await made.service().run(Task(QUESTION))).leads == report.leads, "a resumed run knows it from the record"


async def test_a_cap_on_pages_gives_a_smaller_report_that_says_so(bench: Any) -> None:
    limits = Limits(budget=Budget(searches=30, pages=1, rounds=3))
    made = bench(limits=limits)
    report = await made.service().run(
        Task("Which defaults hold: the deadlock lock timeout, the days until mail is returned to the sender?")
    )
    assert len(made.web.fetched) == 1
    assert report.status is ReportStatus.PARTIAL
    assert any("cap on pages" in gap.reason for gap in report.gaps)


async def test_a_ledger_that_refuses_ends_the_reading_and_not_the_run(bench: Any) -> None:
    limits = Limits(budget=Budget(searches=30, web_requests=6, rounds=1))
    made = bench(limits=limits)
    report = await made.service().run(Task(QUESTION))
    assert made.ledger.usage.web_requests <= 6
    assert report.status in set(ReportStatus)


@pytest.mark.parametrize("cap", [0, 1, 2, 3, 5, 8])
async def test_no_request_goes_out_above_the_cap(bench: Any, cap: int) -> None:
    made = bench(limits=Limits(budget=Budget(searches=30, web_requests=cap, rounds=2)))
    report = await made.service().run(Task(QUESTION))
    sent = len(made.web.searched) + len(made.web.fetched)
    assert sent <= cap
    assert made.ledger.usage.web_requests == sent
    if any(lead.reason == "web_requests" for lead in report.leads):
        assert report.status is not ReportStatus.COMPLETE
        assert any("cap on web requests" in gap.reason for gap in report.gaps)


async def test_an_outage_of_search_is_not_an_empty_answer(bench: Any) -> None:
    made = bench(failing=SearchProviderUnavailable("down"))
    with pytest.raises(SearchProviderUnavailable):
        await made.service().run(Task(QUESTION))
    assert made.events.of(EventType.RUN_FAILED)


async def test_urls_of_the_user_are_read_without_any_search_result(bench: Any) -> None:
    made = bench(failing=SearchProviderUnavailable("down"))
    report = await made.service().run(Task(QUESTION, urls=("https://db.test/locks.html",)))
    assert [reference.url for reference in report.references] == ["https://db.test/locks.html"]


async def test_a_run_over_given_pages_alone_says_of_nothing_that_it_was_searched_for(bench: Any) -> None:
    made = bench()
    made.searches = False
    asked = "How long does the database wait on a lock, and who painted the harbour bridge?"
    report = await made.service().run(Task(asked, urls=("https://db.test/locks.html",)))
    assert report.gaps
    assert [gap.queries for gap in report.gaps] == [()] * len(report.gaps)
    assert "searched for" not in report.markdown
    assert len(made.events.of(EventType.PLAN_CREATED)) == 1, "a round that can ask nobody has nothing to find"


async def test_a_query_that_a_cap_kept_back_was_not_searched_for(bench: Any) -> None:
    limits = Limits(budget=Budget(searches=1, pages=20, rounds=3))
    made = bench(limits=limits)
    report = await made.service().run(Task("How long is the harbour bridge, and who painted the harbour tower?"))
    told = {query for gap in report.gaps for query in gap.queries}
    assert told == set(made.web.searched)
    assert len(told) == 1


async def test_cancelling_tells_and_a_second_execution_finishes(bench: Any) -> None:
    made = bench()
    service = made.service()
    with anyio.CancelScope() as scope:
        search = made.web.search

        async def stop(query: Query) -> SearchResponse:
            answer: SearchResponse = await search(query)
            scope.cancel()
            return answer

        made.web.search = stop
        await service.run(Task(QUESTION))
    assert made.events.of(EventType.RUN_CANCELLED)
    made.web.search = search
    report = await made.service().run(Task(QUESTION))
    assert report.status is not ReportStatus.INSUFFICIENT_EVIDENCE


@pytest.mark.parametrize("question", ["", "   ", "?!", "x" * 20_001, "How deep\udcff?", "\ud800 owls", "How\0deep?"])
def test_a_question_without_words_too_long_or_not_text_is_refused(question: str) -> None:
    with pytest.raises(InvalidTopic):
        vet_question(question)


@pytest.mark.parametrize(
    "question",
    [
        "VACUUM",
        "deadlock " * 1_000 + "timeout?",
        "¿Cuánto tiempo espera la base de datos antes de comprobar un bloqueo mutuo?",
        "データベースはどのくらい待ちますか",
        "How lnog does the databse wait on a lcok?",
        "How long is the deadlock wait? And what removes dead rows?",
        "See https://db.test/locks.html: how long is the wait?",
        "Write a poem about locks.",
    ],
)
async def test_odd_questions_give_a_sound_report(bench: Any, question: str) -> None:
    report = await bench().service().run(Task(question))
    assert not list(broken_rules(report))
    assert re.search(r"^# ", report.markdown)


async def test_passages_that_only_touch_on_a_question_are_shown_but_are_no_answer(bench: Any) -> None:
    report = await bench().service().run(Task("In which year did the city council of Lisbon repeal the lock tax?"))
    assert report.status is ReportStatus.INSUFFICIENT_EVIDENCE
    assert not report.summary.sentences
    assert report.gaps[0].reason.startswith("no sure answer found")
    assert not list(broken_rules(report))
    if report.sections:
        assert "No passage was found that surely answers this" in report.markdown
    assert "## Answer" not in report.markdown
