"""What the record of a run holds of research: its calls as plain JSON, read back to equal values, and what it tells.

A survey of the libraries is such a call too: asked once, and answered from the record when the run is taken up again.
What a run tells while it goes on are events: its plan, what each round changed, its report.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Final

import anyio.to_thread

from pincite.domain.budget import Usage
from pincite.domain.codec import from_json, to_json
from pincite.domain.errors import Conflict, SchemaMismatch
from pincite.domain.events import EventType, Json
from pincite.domain.fetch import FetchResult
from pincite.domain.plan import Progress
from pincite.domain.records import Outcome
from pincite.domain.report import Report
from pincite.domain.search import LeftOut, Query, SearchResponse, SearchResult, Survey
from pincite.ports import EventSink, Ledger, Vocabulary
from pincite.research.state import query_key


def query_record(query: Query) -> dict[str, Json]:
    """The identity of a search: what is asked, no provider, no time."""
    constraints: dict[str, Json] = {}
    for name, value in asdict(query.constraints).items():
        if isinstance(value, tuple):
            constraints[name] = list(value)
        else:
            # JSON knows no dates; the record is compared as text when a run is taken up again.
            constraints[name] = value.isoformat() if hasattr(value, "isoformat") else value
    return {
        "text": query.text,
        "max_results": query.max_results,
        "constraints": constraints,
        "region": query.region,
        "topic": str(query.topic),
        "depth": None if query.depth is None else str(query.depth),
    }


def results_record(response: SearchResponse) -> Json:
    """The results of a search as JSON, then those that policy left out. A provider's own answer is never evidence."""
    results: list[Json] = [
        {
            "title": result.title,
            "url": result.url,
            "snippet": result.snippet,
            "provider": result.provider,
            "rank": result.rank,
            "score": result.score,
            "published_at": None if result.published_at is None else result.published_at.isoformat(),
            "relevance": result.relevance,
            "quality": result.quality,
        }
        for result in response.results
    ]
    left_out = response.info.left_out
    others: list[Json] = [{"title": item.title, "url": item.url, "left_out": item.reason} for item in left_out]
    return results + others


def results_from_record(record: Json) -> tuple[SearchResult, ...]:
    """The results that `results_record` wrote. Errors: SchemaMismatch (the record is not of this shape)."""
    if not isinstance(record, list):
        raise SchemaMismatch("a recorded search is not a list of results")
    # One list holds both; this member says which one it is.
    return tuple(_result(entry) for entry in record if not (isinstance(entry, dict) and "left_out" in entry))


def left_out_from_record(record: Json) -> tuple[LeftOut, ...]:
    """The results that policy left out, as `results_record` wrote them."""
    entries = record if isinstance(record, list) else []
    return tuple(
        LeftOut(str(entry.get("title") or ""), str(entry.get("url") or ""), str(entry["left_out"]))
        for entry in entries
        if isinstance(entry, dict) and "left_out" in entry
    )


def _result(entry: Json) -> SearchResult:
    if not isinstance(entry, dict):
        raise SchemaMismatch("a recorded search result is not an object")
    rank, published = entry.get("rank"), entry.get("published_at")
    return SearchResult(
        title=str(entry.get("title") or ""),
        url=str(entry["url"]),
        snippet=str(entry.get("snippet") or ""),
        provider=str(entry.get("provider") or ""),
        rank=rank if isinstance(rank, int) else 1,
        score=_number(entry.get("score")),
        published_at=datetime.fromisoformat(published) if isinstance(published, str) else None,
        relevance=_number(entry.get("relevance")),
        quality=_number(entry.get("quality")),
    )


def _number(value: Json) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def from_cache(state: str) -> bool | None:
    """Whether the cache answered, by the `cache` of a service's `info`; None where it was not asked."""
    return None if state == "off" else state != "miss"


def page_record(page: FetchResult) -> dict[str, Json]:
    """Where the stored page is: ids only, the bytes are in the stores."""
    record: dict[str, Json] = {"snapshot_id": page.snapshot.snapshot_id, "document_id": page.document.document_id}
    # Only where it is so: of most pages the record stays two ids.
    return {**record, "stale": True} if page.info.stale else record


def was_stale(record: Json) -> bool:
    """Whether the page of `page_record` was an older copy, shown because its host failed."""
    return isinstance(record, Mapping) and record.get("stale") is True


def ids_from_record(record: Json) -> tuple[str, str]:
    """Snapshot id and document id that `page_record` wrote.

    Errors: SchemaMismatch (the record is not of this shape).
    """
    if not isinstance(record, Mapping):
        raise SchemaMismatch("a recorded page is not an object")
    return str(record["snapshot_id"]), str(record["document_id"])


class LibrarySurvey:
    """Asks every library of a run; for a run that also searches elsewhere there is none to ask.

    None instead of libraries stands for a run made again from its record: what is not on it is not known.
    """

    def __init__(self, vocabularies: Sequence[Vocabulary] | None, ledger: Ledger) -> None:
        self._vocabularies = None if vocabularies is None else tuple(vocabularies)
        self._ledger = ledger

    async def __call__(self, question: str) -> Survey:
        """What is known of the question's words; nothing when there is no library.

        Errors: StorageUnavailable (an index is damaged).
        """
        # Without a call: a run without libraries has no survey on its record either.
        if self._vocabularies == ():
            return Survey()
        try:
            record = await self._ledger.call("survey", {"question": question}, Usage(), lambda: self._ask(question))
        # A run that is made again from its record, and its record has no survey: it was made without one.
        except Conflict:
            return Survey()
        return from_json(Survey, record)

    async def _ask(self, question: str) -> Outcome:
        found = [await anyio.to_thread.run_sync(each.survey, question) for each in self._vocabularies or ()]
        return Outcome(to_json(merged(found)))


def merged(surveys: Sequence[Survey]) -> Survey:
    """Several libraries as one: a word is misspelt only when all of them miss it."""
    frequencies: dict[str, int] = {}
    for survey in surveys:
        for word, passages in survey.frequencies:
            frequencies[word] = frequencies.get(word, 0) + passages
    spellings: dict[str, str] = {}
    for survey in surveys:
        for written, read_as in survey.spellings:
            # What one library finds no page for may be a common word of another.
            if not frequencies.get(written):
                spellings.setdefault(written, read_as)
    return Survey(
        passages=sum(survey.passages for survey in surveys),
        frequencies=tuple(frequencies.items()),
        spellings=tuple(spellings.items()),
    )


_KINDS: Final = {EventType.SEARCH_STARTED: "search", EventType.PAGE_REQUESTED: "fetch"}


async def emit_plan(events: EventSink, progress: Progress) -> None:
    """Tell the plan of a round, and that the round begins."""
    parts: list[Json] = [
        {"id": part.sub_question_id, "text": part.text, "queries": [query_key(query) for query in part.queries]}
        for part in progress.plan.sub_questions
    ]
    await events.emit(EventType.PLAN_CREATED, {"round": progress.round_number, "sub_questions": parts})
    for change in progress.plan.changes:
        details: dict[str, Json] = {"change": change.change, "part": change.part, "reason": change.reason}
        await events.emit(EventType.PLAN_CHANGED, {"round": progress.round_number, **details})
    await events.emit(EventType.ROUND_STARTED, {"round": progress.round_number})


async def emit_calls(events: EventSink, started: EventType, subjects: Sequence[Mapping[str, Json]]) -> None:
    """Tell the calls that are about to be made: what is set aside for them, then each."""
    if subjects:
        await events.emit(EventType.BUDGET_RESERVED, {"kind": _KINDS[started], "calls": len(subjects)})
    for subject in subjects:
        await events.emit(started, subject)


async def emit_settled(events: EventSink, started: EventType, calls: int, answered: int) -> None:
    """Tell that the calls are over, if there were any."""
    if calls:
        await events.emit(EventType.BUDGET_SETTLED, {"kind": _KINDS[started], "calls": calls, "answered": answered})


async def emit_claims(events: EventSink, before: Progress, after: Progress) -> None:
    """Tell the claims that are new or have another verdict than before."""
    known = {item.claim.claim_id: item.verdict.status for item in before.claims}
    for item in after.claims:
        claim, status = item.claim, item.verdict.status
        if known.get(claim.claim_id) == status:
            continue
        if claim.claim_id not in known:
            proposed: dict[str, Json] = {
                "claim_id": claim.claim_id,
                "text": claim.text,
                "sub_question": claim.sub_question,
            }
            await events.emit(EventType.CLAIM_PROPOSED, proposed)
        kind = EventType.CLAIM_VERIFIED if item.printable else EventType.CLAIM_REJECTED
        judged: dict[str, Json] = {
            "claim_id": claim.claim_id,
            "text": claim.text,
            "verdict": str(status),
            "reasons": list(item.verdict.reasons),
        }
        await events.emit(kind, judged)


async def emit_round(events: EventSink, before: Progress, after: Progress) -> None:
    """Tell what a round found and what it left open."""
    await emit_claims(events, before, after)
    for gap in after.gaps:
        await events.emit(EventType.GAP_FOUND, {"sub_question": gap.sub_question, "reason": gap.reason})
    for conflict in after.conflicts:
        await events.emit(EventType.CONFLICT_FOUND, {"sides": [side.statement for side in conflict.sides]})


async def emit_section(
    events: EventSink, heading: str, lines: list[str], *, early: bool = False, revised: bool = False
) -> None:
    """Emit a section that is written: `early` while the rounds still go on, `revised` where an earlier one changes."""
    data: dict[str, Json] = {"heading": heading, "sentences": len(lines), "text": " ".join(lines)}
    await events.emit(
        EventType.SECTION_READY,
        {**data, **({"early": True} if early else {}), **({"revised": True} if revised else {})},
    )


async def emit_report(events: EventSink, report: Report, *, sections: bool) -> None:
    """Tell that the report is there, with its `sections` where the writer did not tell them itself."""
    for section in report.sections if sections else ():
        await emit_section(events, section.heading, [sentence.text for sentence in section.sentences])
    completed: dict[str, Json] = {
        "report_id": report.report_id,
        "status": str(report.status),
        "claims": len(report.claims),
        "references": len(report.references),
        "gaps": len(report.gaps),
    }
    await events.emit(EventType.REPORT_COMPLETED, completed)
    await events.emit(EventType.RUN_COMPLETED, {"status": str(report.status)})
