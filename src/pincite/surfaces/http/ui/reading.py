"""The pages of runs: listed, followed while they work, read and checked when they are done."""

from collections import Counter, OrderedDict
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response

from pincite.archive import RunView
from pincite.domain.errors import NotFound, PinciteError
from pincite.domain.events import RunStatus
from pincite.domain.evidence import CheckOutcome
from pincite.domain.page import Snapshot
from pincite.domain.records import RunRecord
from pincite.domain.report import Report, ReportClaim, ReportEvidence
from pincite.domain.report_words import one_line
from pincite.engine import Engine
from pincite.exports.passages import parts_of, passage
from pincite.surfaces.http import research
from pincite.surfaces.http.research import plain_run
from pincite.surfaces.http.service import Service, service_of
from pincite.surfaces.http.ui import report_view
from pincite.surfaces.http.ui.asking import Form, Reader, ReadersEngine
from pincite.surfaces.http.ui.rendering import HEADERS, STATUSES, page, seeing
from pincite.surfaces.http.ui.report_view import ReportView
from pincite.surfaces.progress import STAGES, progress_of
from pincite.wiring.registry import export_formats

router = APIRouter()
# Searched by their question, newest first; older ones are found with `pincite runs list`.
MAX_LOOKED_AT = 2_000
# A list that a person reads through.
MAX_SHOWN = 100


@router.get("/runs")
async def runs_page(request: Request, engine: ReadersEngine, q: str = "", status: str = "") -> Response:
    """The runs whose question has all these words, newest first."""
    known = await engine.runs(MAX_LOOKED_AT)
    words = q.casefold().split()
    found = [
        record
        for record in known
        if status in ("", record.status)
        and all(word in f"{record.question} {record.run_id}".casefold() for word in words)
    ]
    return page(
        request,
        "runs.html",
        q=one_line(q)[:200],
        status=status if status in STATUSES else "",
        present=sorted({str(record.status) for record in known}, key=list(STATUSES).index),
        runs=found[:MAX_SHOWN],
        found=len(found),
        total=len(known),
    )


@router.post("/runs/{run_id}/stop")
async def stop(run_id: str, request: Request, scope: Reader, form: Form) -> Response:
    """The run stopped, with what it has."""
    await research.cancel(run_id, request, scope)
    return seeing(f"/runs/{run_id}")


@router.post("/runs/{run_id}/resume")
async def resume(run_id: str, request: Request, scope: Reader, form: Form) -> Response:
    """The run going on; finished calls are not made again."""
    if not service_of(request).busy_with(run_id):
        await research.resume(run_id, request, scope)
    return seeing(f"/runs/{run_id}")


@router.get("/runs/{run_id}/delete")
async def delete_page(run_id: str, request: Request, engine: ReadersEngine) -> Response:
    """Ask for a confirmation."""
    return page(request, "delete.html", record=await engine.run(run_id))


@router.post("/runs/{run_id}/delete")
async def delete(run_id: str, request: Request, scope: Reader, form: Form) -> Response:
    """Delete the run and what only it used."""
    await (await service_of(request).engine(scope)).delete(run_id)
    return seeing("/runs")


# How much of a page is shown before and after a passage; all of it is a click away.
AROUND_CHARS = 12_000
# A browser lays that many out at once; thorough reports have hundreds.
CLAIMS_PER_PAGE = 100
# A reader goes to and fro between the pages of few reports; each is some megabytes.
REPORTS_AT_HAND = 8
# A bound on what a browser has to lay out; the rest can be had as text. Chosen, not measured.
SNAPSHOT_CHARS = 400_000


@router.get("/runs/{run_id}")
async def run_page(run_id: str, request: Request, scope: Reader) -> Response:
    """The report, or while there is none the run as it goes."""
    busy = service_of(request).busy_with(run_id)  # before the reads: a run may end during them
    service, engine, view = await _opened(request, scope, run_id)
    if busy or _at_work(service, view.record) or view.report is None:
        events = tuple(await engine.events(run_id))
        waits = service.has_workers(engine) and view.record.status in (RunStatus.RUNNING, RunStatus.QUEUED)
        here = busy or waits
        return _live(request, RunView(view.record, events, view.report), here=here)
    return _tab(request, service, view, "report")


@router.get("/runs/{run_id}/sources")
async def sources_page(run_id: str, request: Request, scope: Reader) -> Response:
    """The sources: dates, sites, what rests on them; and the pages that carried nothing."""
    service, _, view = await _opened(request, scope, run_id, events=True)
    shown = ReportView(_report(view))
    progress = progress_of(view.events)
    cited = {url for r in shown.report.references for url in (r.url, r.fetched_url)}
    return _tab(
        request,
        service,
        view,
        "sources",
        sources=shown.sources(progress),
        others=[line for url, line in progress.pages.items() if url not in cited],
        copies=progress.copies,
        plot=report_view.source_timeline(shown.report.references),
    )


@router.get("/runs/{run_id}/claims")
async def claims_page(
    run_id: str, request: Request, scope: Reader, verdict: str = "", start: Annotated[int, Query(ge=0)] = 0
) -> Response:
    """The claims with verdicts, those that did not pass too."""
    service, _, view = await _opened(request, scope, run_id)
    report = _report(view)
    counts = Counter(str(claim.verdict) for claim in report.claims)
    chosen = verdict if verdict in counts or verdict == "rejected" else ""
    found = () if chosen == "rejected" else tuple(c for c in report.claims if chosen in ("", c.verdict))
    return _tab(
        request,
        service,
        view,
        "claims",
        verdict=chosen,
        counts=counts,
        found=found[start : start + CLAIMS_PER_PAGE],
        found_total=len(found),
        start=start,
        step=CLAIMS_PER_PAGE,
        rejected=report.rejected_claims if chosen in ("", "rejected") and not start else (),
        plot=report_view.independence(report.claims),
    )


@router.get("/runs/{run_id}/claims/{claim_id}")
async def evidence_page(
    run_id: str, claim_id: str, request: Request, scope: Reader, e: Annotated[int, Query(ge=0)] = 0
) -> Response:
    """One passage of a claim, marked in the stored text of its page."""
    service, engine, view = await _opened(request, scope, run_id)
    report = _report(view)
    claim = next((claim for claim in report.claims if claim.id == claim_id), None)
    if claim is None or e >= len(claim.evidence):
        raise NotFound("the report has no such claim or passage", reason="claim_unknown")
    return _tab(
        request, service, view, "evidence", claim=claim, chosen=e, **await _evidence(engine, claim, claim.evidence[e])
    )


@router.get("/runs/{run_id}/cards.json")
async def cards(run_id: str, request: Request, scope: Reader) -> Response:
    """What hovering over each mark of the report shows."""
    _, _, view = await _opened(request, scope, run_id)
    return JSONResponse(ReportView(_report(view)).cards(), headers=HEADERS)


@router.get("/runs/{run_id}/citations/{n}")
async def citation(run_id: str, n: int, request: Request, scope: Reader) -> Response:
    """The source that `citation:n` stands for."""
    _, _, view = await _opened(request, scope, run_id)
    return seeing(f"/runs/{run_id}/sources#r{_report(view).reference(n).n}")


@router.get("/runs/{run_id}/{tab}")
async def other_tab(run_id: str, tab: str, request: Request, scope: Reader) -> Response:
    """Conflicts, gaps, trace and export."""
    service, engine, view = await _opened(request, scope, run_id, events=tab == "trace")
    if tab == "trace":
        progress = progress_of(view.events)
        plots = (report_view.stage_times(progress), report_view.call_costs(await engine.calls(run_id)))
        return _tab(request, service, view, "trace", progress=progress, stages=STAGES, plots=list(filter(None, plots)))
    if tab not in ("conflicts", "gaps", "export"):
        raise NotFound("there is no such page")
    _report(view)
    return _tab(request, service, view, tab, exports=export_formats())


@router.get("/snapshots/{snapshot_id}")
async def snapshot_page(snapshot_id: str, request: Request, engine: ReadersEngine) -> Response:
    """A stored capture as text."""
    found, document = await engine.snapshot(snapshot_id)
    shown = () if document is None else parts_of(document, SNAPSHOT_CHARS)
    cut = document is not None and len(document.text) > SNAPSHOT_CHARS
    return page(request, "snapshot.html", snapshot=found, document=document, parts=shown, cut=cut)


async def _opened(
    request: Request, scope: str, run_id: str, *, events: bool = False
) -> tuple[Service, Engine, RunView]:
    """The run as far as a page needs it. Reports of finished runs are kept at hand: each passage opens one."""
    service = service_of(request)
    engine = await service.engine(scope)
    record = await engine.run(run_id)
    listed = tuple(await engine.events(run_id)) if events else ()
    kept: OrderedDict[tuple[str, str, datetime], Report] = request.app.state.reports
    # With the time: a run that was resumed has another report.
    key = (scope, record.run_id, record.updated_at)
    report = kept.get(key)
    if report is None:
        report = await engine.newest_report(run_id)
        # What is still worked on may have another report in a moment.
        if report is not None and not _at_work(service, record):
            kept[key] = report
            while len(kept) > REPORTS_AT_HAND:
                kept.popitem(last=False)
    return service, engine, RunView(record, listed, report)


def _report(view: RunView) -> Report:
    if view.report is None:
        raise NotFound(f"run {view.record.run_id} has no report yet", reason="no_report")
    return view.report


def _at_work(service: Service, record: RunRecord) -> bool:
    return service.busy_with(record.run_id) or record.status is RunStatus.RUNNING


def _live(request: Request, view: RunView, *, here: bool) -> Response:
    """The run as it goes; `here` says that somebody of this installation works on it, or will."""
    progress = progress_of(view.events)
    return page(
        request,
        "live.html",
        record=view.record,
        run=plain_run(view.record),
        progress=progress,
        stages=STAGES,
        here=here,
        active=here or view.record.status in (RunStatus.RUNNING, RunStatus.QUEUED),
        has_report=view.report is not None,
    )


def _tab(request: Request, service: Service, view: RunView, tab: str, **values: Any) -> Response:
    report = _report(view)
    return page(
        request,
        f"{tab}.html",
        record=view.record,
        report=report,
        view=ReportView(report),
        tab=tab,
        running=_at_work(service, view.record),
        **values,
    )


async def _evidence(engine: Engine, claim: ReportClaim, item: ReportEvidence) -> dict[str, Any]:
    """What the page of a passage shows: the stored text around it, and what is known of the capture."""
    snapshot: Snapshot | None
    try:
        snapshot, _ = await engine.snapshot(item.snapshot_id)
    except PinciteError:  # deleted, or damaged: the quote that the report carries is shown instead
        snapshot = None
    try:
        document = await engine.reading(item.document_id)
    except PinciteError:
        document = None
    also = [(e.start, e.end) for e in claim.evidence if e is not item and e.document_id == item.document_id]
    shown = passage(item, document, AROUND_CHARS, also)
    return {
        "item": item,
        "snapshot": snapshot,
        "passage": shown,
        "notes": [c for c in claim.checks if c.outcome not in (CheckOutcome.PASSED, CheckOutcome.SKIPPED) and c.detail],
    }
