"""Queries to pages worth reading: asks the search service, merges, removes, ranks, caps."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import zip_longest
from urllib.parse import urlsplit

import anyio

from pincite.domain.budget import Usage
from pincite.domain.errors import (
    BlockedAddress,
    BudgetExhausted,
    PinciteError,
    ProviderError,
    SearchProviderUnavailable,
)
from pincite.domain.events import EventType, Json
from pincite.domain.frozen import dataclass
from pincite.domain.plan import Found, Lead, Progress, Task
from pincite.domain.records import Outcome
from pincite.domain.search import Constraints, LeftOut, Query, SearchResult
from pincite.ports import EventSink, Ledger, Search
from pincite.research.records import (
    emit_calls,
    emit_settled,
    from_cache,
    left_out_from_record,
    query_record,
    results_from_record,
    results_record,
)
from pincite.research.state import GIVEN, QUEUE_WAIT_S, Limits, in_period, query_key, sendable, source_key
from pincite.runtime.telemetry import RequestMeter, current_meter, metered
from pincite.urls import registrable_domain

_UNCAPPED = frozenset({GIVEN, "local"})
# Pages of the first answer that are read while other queries wait: the best one is read in any case, and with two the
# first part of a question would be read before the others had their turn.
_READ_FIRST = 1
# Source: Cormack, Clarke and Büttcher 2009, reciprocal rank fusion.
_RANK_CONSTANT = 60


@dataclass(frozen=True, slots=True)
class _Answer:
    """What one query found, and what of it may not be asked for."""

    results: tuple[SearchResult, ...]
    left_out: tuple[LeftOut, ...]


class QuerySearcher:
    """Asks all queries of a plan side by side; the order of answers never changes the outcome."""

    def __init__(self, search: Search | None, ledger: Ledger, events: EventSink, *, limits: Limits) -> None:
        self._search = search
        self._ledger = ledger
        self._events = events
        self._limits = limits
        self._meter: RequestMeter | None = None

    async def search(
        self, task: Task, progress: Progress, begin: Callable[[SearchResult], None] | None = None
    ) -> Found:
        """New results in the order to read them, and leads for those that may not be asked for.

        The first result of the first query is read first, whatever the others find: reading them can `begin` while
        these wait for a slow engine.

        Errors: SearchProviderUnavailable and other provider errors: no query was answered and nothing has been read.
        """
        wanted = sendable(progress, self._limits) if self._search is not None else ()
        answers: list[_Answer | PinciteError | None] = [None] * len(wanted)
        await emit_calls(self._events, EventType.SEARCH_STARTED, [{"query": query_key(query)} for query in wanted])
        with anyio.move_on_after(progress.seconds_left):
            async with anyio.create_task_group() as group:
                limiter = anyio.CapacityLimiter(self._limits.concurrency)
                known = anyio.Event()
                for index, query in enumerate(wanted):
                    group.start_soon(self._ask, query, answers, index, limiter, None if index else known)
                if begin is not None and wanted:
                    await known.wait()
                    for result in self._first(answers, task, progress):
                        begin(result)
        found = await self._report(wanted, answers)
        await emit_settled(self._events, EventType.SEARCH_STARTED, len(wanted), len(found))
        given = _given(task) if progress.round_number <= 1 else ()
        if not found and not given and not progress.pages:
            # An outage is not the same as "nothing found".
            for answer in answers:
                if isinstance(answer, ProviderError):
                    raise answer
        per_sub_question = [
            _fuse([found[query_key(query)] for query in sub_question.queries if query_key(query) in found])
            for sub_question in progress.plan.sub_questions
        ]
        # The best of each sub-question, then the second of each: a cap hurts all of them alike.
        in_turns = (result for turn in zip_longest(*per_sub_question) for result in turn if result is not None)
        # Preferred domains first, otherwise the order given.
        ranked = sorted(
            [*given, *in_turns],
            key=lambda result: not _within(result.url, task.constraints.prefer_domains),
        )
        ranked = [*self._first(answers, task, progress), *ranked]
        leads = await self._left_out(answers, progress)
        asked = tuple(query_key(query) for query in wanted)
        return Found(_admit(ranked, task.constraints, progress, self._limits), leads, asked)

    def _first(
        self, answers: Sequence[_Answer | PinciteError | None], task: Task, progress: Progress
    ) -> tuple[SearchResult, ...]:
        """What is read first whatever the other queries find: known as soon as the first one is answered.

        Nothing where the asker named pages or preferred sites, which come first, where requests are capped, and of
        libraries, which keep nobody waiting.
        """
        named = (task.urls and progress.round_number <= 1) or task.constraints.prefer_domains
        capped = self._limits.budget.web_requests is not None
        if len(answers) < 2 or named or capped or not isinstance(answers[0], _Answer):
            return ()
        found = [result for result in answers[0].results if result.provider not in _UNCAPPED]
        return _admit(found, task.constraints, progress, self._limits)[:_READ_FIRST]

    async def _ask(
        self,
        query: Query,
        answers: list[_Answer | PinciteError | None],
        index: int,
        limiter: anyio.CapacityLimiter,
        known: anyio.Event | None = None,
    ) -> None:
        try:
            await self._asked(query, answers, index, limiter)
        finally:
            if known is not None:
                known.set()

    async def _asked(
        self,
        query: Query,
        answers: list[_Answer | PinciteError | None],
        index: int,
        limiter: anyio.CapacityLimiter,
    ) -> None:
        async with limiter:
            try:
                record = await self._ledger.call(
                    "search", query_record(query), Usage(searches=1, web_requests=1), lambda: self._call(query)
                )
                results = tuple(result for result in results_from_record(record) if _is_page(result.url))
                answers[index] = _Answer(results, left_out_from_record(record))
            except PinciteError as error:
                if not isinstance(error, ProviderError | BudgetExhausted):
                    raise
                answers[index] = error

    async def _call(self, query: Query) -> Outcome:
        assert self._search is not None
        with metered(RequestMeter(outer=self._share())) as sent:
            try:
                # Waiting for its turn at an engine comes on top of what a search may take itself.
                queue_wait_s = self._limits.budget.deadline_s or QUEUE_WAIT_S
                with anyio.fail_after(self._limits.search_deadline_s + queue_wait_s):
                    response = await self._search.search(query)
            except TimeoutError as error:
                raise _spent(SearchProviderUnavailable("the search took too long", reason="timeout"), sent) from error
            except PinciteError as error:
                raise _spent(error, sent) from None
        usage = Usage(searches=1, web_requests=sent.used, cost_usd=response.info.cost_usd)
        cached = from_cache(response.info.cache)
        tried = () if cached else response.info.providers_tried  # a cached answer tells who was asked back then
        return Outcome(results_record(response), usage, tried, cached)

    def _share(self) -> RequestMeter | None:
        """The meter of all searches: their tries together take no more of the run's requests than their share."""
        if self._limits.search_requests is None:
            return current_meter()
        if self._meter is None:
            self._meter = RequestMeter(self._limits.search_requests, outer=current_meter())
        return self._meter

    async def _report(
        self, wanted: Sequence[Query], answers: Sequence[_Answer | PinciteError | None]
    ) -> Mapping[str, tuple[SearchResult, ...]]:
        """What each query found; tells the events in the order of the queries, whatever order they ended in."""
        found: dict[str, tuple[SearchResult, ...]] = {}
        for query, answer in zip(wanted, answers, strict=True):
            data: dict[str, Json] = {"query": query_key(query)}
            if isinstance(answer, _Answer):
                found[query_key(query)] = answer.results
                data["results"] = len(answer.results)
                if answer.left_out:
                    data["left_out"] = dict(sorted(Counter(item.reason for item in answer.left_out).items()))
                await self._events.emit(EventType.SEARCH_COMPLETED, data)
            else:
                code, reason = ("TIMEOUT", "deadline") if answer is None else (answer.code, answer.reason)
                await self._events.emit(EventType.SEARCH_FAILED, {**data, "code": code, "reason": reason})
        return found

    async def _left_out(self, answers: Sequence[_Answer | PinciteError | None], progress: Progress) -> tuple[Lead, ...]:
        """Leads for results that may not be asked for, each told once."""
        told = {lead.url for lead in progress.leads}
        items = {item.url: item for answer in answers if isinstance(answer, _Answer) for item in answer.left_out}
        leads = [
            Lead(item.title, item.url, "", item.reason, BlockedAddress.code)
            for url, item in items.items()
            if url not in told
        ]
        for lead in leads:
            await self._events.emit(EventType.PAGE_REFUSED, {"url": lead.url, "code": lead.code, "reason": lead.reason})
        return tuple(leads)


def _spent(error: PinciteError, sent: RequestMeter) -> PinciteError:
    """The error with what went out before it; it may be billed though no answer came."""
    error.spent = Usage(searches=int(sent.used > 0), web_requests=sent.used)
    return error


def _is_page(url: str) -> bool:
    """Whether the URL names a page at all; what else an engine returns is dropped."""
    try:
        source_key(url)
    except PinciteError:
        return False
    return True


def _given(task: Task) -> tuple[SearchResult, ...]:
    """The user's own URLs, first in the order to read."""
    return tuple(
        SearchResult(title="", url=url, snippet="", provider=GIVEN, rank=rank)
        for rank, url in enumerate(task.urls, start=1)
    )


def _fuse(answers: Sequence[Sequence[SearchResult]]) -> list[SearchResult]:
    """One ranking out of the rankings of several queries, by URL key.

    The first of each query comes before what is first of none: queries ask for different things, and a page that is
    somewhere in all of them must not crowd out the one page that a query was worded for.
    """
    scores: defaultdict[str, float] = defaultdict(float)
    first: dict[str, SearchResult] = {}
    for answer in answers:
        for result in answer:
            key = source_key(result.url)
            scores[key] += 1 / (_RANK_CONSTANT + result.rank)
            first.setdefault(key, result)
    leading = {source_key(answer[0].url) for answer in answers if answer}
    # Python's sort is stable: pages of equal score stay in the order in which they were first met.
    return [first[key] for key in sorted(first, key=lambda key: (key not in leading, -scores[key]))]


def _within(url: str, domains: Iterable[str]) -> bool:
    """Whether the URL's host is one of the domains or below one."""
    host = (urlsplit(url).hostname or "").rstrip(".")
    names = [domain.strip().strip(".").lower() for domain in domains]
    return any(host == name or host.endswith("." + name) for name in names if name)


def _admit(
    results: Iterable[SearchResult], constraints: Constraints, progress: Progress, limits: Limits
) -> tuple[SearchResult, ...]:
    """Results that may be read now: new, allowed by the lists and dates, within the caps of domain, round and run."""
    seen = set(progress.requested)
    explicit = constraints.per_domain_cap
    cap = explicit or limits.per_domain_cap
    per_domain = Counter(registrable_domain(r.url) for r in progress.results if explicit or r.provider not in _UNCAPPED)
    room = limits.pages_per_round
    if limits.budget.pages is not None:
        room = min(room, limits.budget.pages - len(progress.requested))
    admitted: list[SearchResult] = []
    for result in results:
        if len(admitted) >= room:
            break
        key = source_key(result.url)
        if key in seen or not _allowed(result, constraints, keep_undated=limits.keep_undated):
            continue
        seen.add(key)
        if explicit or result.provider not in _UNCAPPED:
            domain = registrable_domain(result.url)
            if per_domain[domain] >= cap:
                continue
            per_domain[domain] += 1
        admitted.append(result)
    return tuple(admitted)


def _allowed(result: SearchResult, constraints: Constraints, *, keep_undated: bool) -> bool:
    """Whether domain lists and dates let the result through. An excluded domain is out even when also included."""
    if _within(result.url, constraints.exclude_domains):
        return False
    if constraints.include_domains and not _within(result.url, constraints.include_domains):
        return False
    return in_period(result.published_at, constraints, keep_undated=keep_undated or result.provider == GIVEN)
