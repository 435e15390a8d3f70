"""All runs: found by their words, opened, stopped, gone on with, deleted."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from pincite.domain.markdown import one_line
from pincite.domain.records import RunRecord
from pincite.surfaces.http import research
from pincite.surfaces.http.service import service_of
from pincite.surfaces.http.ui.forms import Form, Reader
from pincite.surfaces.http.ui.rendering import STATUSES, page, seeing

router = APIRouter(prefix="/runs")

MAX_LOOKED_AT = 2_000
MAX_SHOWN = 100


@router.get("")
async def runs_page(request: Request, scope: Reader, q: str = "", status: str = "") -> Response:
    """The runs whose question has all these words, newest first."""
    engine = await service_of(request).engine(scope)
    known = await engine.runs(MAX_LOOKED_AT)
    found = [record for record in known if _matches(record, q, status)]
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


@router.post("/{run_id}/stop")
async def stop(run_id: str, request: Request, scope: Reader, form: Form) -> Response:
    """The run stopped, with what it has."""
    await research.cancel(run_id, request, scope)
    return seeing(f"/runs/{run_id}")


@router.post("/{run_id}/resume")
async def resume(run_id: str, request: Request, scope: Reader, form: Form) -> Response:
    """The run going on; finished calls are not made again."""
    if not service_of(request).busy_with(run_id):
        await research.resume(run_id, request, scope)
    return seeing(f"/runs/{run_id}")


@router.get("/{run_id}/delete")
async def delete_page(run_id: str, request: Request, scope: Reader) -> Response:
    """The page that asks whether it is meant."""
    engine = await service_of(request).engine(scope)
    return page(request, "delete.html", record=await engine.run(run_id))


@router.post("/{run_id}/delete")
async def delete(run_id: str, request: Request, scope: Reader, form: Form) -> Response:
    """The run forgotten, with what only it used."""
    await research.delete(run_id, request, scope)
    return seeing("/runs")


def _matches(record: RunRecord, q: str, status: str) -> bool:
    text = f"{record.question} {record.run_id}".casefold()
    return all(word in text for word in q.casefold().split()) and status in ("", record.status)
