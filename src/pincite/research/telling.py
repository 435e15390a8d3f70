"""What a run tells while it goes on, as events: its plan, what each round changed, its report."""

from collections.abc import Mapping, Sequence
from typing import Final

from pincite.domain.events import EventType, Json
from pincite.domain.plan import Progress
from pincite.domain.report import Report
from pincite.ports import EventSink
from pincite.research.state import query_key

_KINDS: Final = {EventType.SEARCH_STARTED: "search", EventType.PAGE_REQUESTED: "fetch"}


async def tell_plan(events: EventSink, progress: Progress) -> None:
    """Tell the plan of a round, and that the round begins."""
    parts: list[Json] = [
        {"id": part.sub_question_id, "text": part.text, "queries": [query_key(query) for query in part.queries]}
        for part in progress.plan.sub_questions
    ]
    await events.emit(EventType.PLAN_CREATED, {"round": progress.round_number, "sub_questions": parts})
    for change in progress.plan.changes:
        told: dict[str, Json] = {"change": change.change, "part": change.part, "reason": change.reason}
        await events.emit(EventType.PLAN_CHANGED, {"round": progress.round_number, **told})
    await events.emit(EventType.ROUND_STARTED, {"round": progress.round_number})


async def tell_calls(events: EventSink, started: EventType, subjects: Sequence[Mapping[str, Json]]) -> None:
    """Tell the calls that are about to be made: what is set aside for them, then each."""
    if subjects:
        await events.emit(EventType.BUDGET_RESERVED, {"kind": _KINDS[started], "calls": len(subjects)})
    for subject in subjects:
        await events.emit(started, subject)


async def tell_settled(events: EventSink, started: EventType, calls: int, answered: int) -> None:
    """Tell that the calls are over, if there were any."""
    if calls:
        await events.emit(EventType.BUDGET_SETTLED, {"kind": _KINDS[started], "calls": calls, "answered": answered})


async def tell_claims(events: EventSink, before: Progress, after: Progress) -> None:
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


async def tell_round(events: EventSink, before: Progress, after: Progress) -> None:
    """Tell what a round found and what it left open."""
    await tell_claims(events, before, after)
    for gap in after.gaps:
        await events.emit(EventType.GAP_FOUND, {"sub_question": gap.sub_question, "reason": gap.reason})
    for conflict in after.conflicts:
        await events.emit(EventType.CONFLICT_FOUND, {"sides": [side.statement for side in conflict.sides]})


async def tell_section(
    events: EventSink, heading: str, lines: list[str], *, early: bool = False, revised: bool = False
) -> None:
    """Tell a section that is written: `early` while the rounds still go on, `revised` when it was told otherwise."""
    data: dict[str, Json] = {"heading": heading, "sentences": len(lines), "text": " ".join(lines)}
    await events.emit(
        EventType.SECTION_READY,
        {**data, **({"early": True} if early else {}), **({"revised": True} if revised else {})},
    )


async def tell_report(events: EventSink, report: Report, *, sections: bool) -> None:
    """Tell that the report is there, with its `sections` where the writer did not tell them itself."""
    for section in report.sections if sections else ():
        await tell_section(events, section.heading, [sentence.text for sentence in section.sentences])
    completed: dict[str, Json] = {
        "report_id": report.report_id,
        "status": str(report.status),
        "claims": len(report.claims),
        "references": len(report.references),
    }
    await events.emit(EventType.REPORT_COMPLETED, completed)
    await events.emit(EventType.RUN_COMPLETED, {"status": str(report.status)})
