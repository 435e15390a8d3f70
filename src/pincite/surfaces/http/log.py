"""What was called, through whichever front door."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request

from pincite.domain.codec import to_json
from pincite.surfaces.http import cursors, shapes
from pincite.surfaces.http.service import service_of
from pincite.surfaces.http.shapes import shaped
from pincite.surfaces.http.tools import Scope

router = APIRouter(prefix="/v1/log", tags=["log"])


@router.get("", response_model=None, responses=shaped(shapes.LogPage))
async def show(
    request: Request,
    scope: Scope,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
    cursor: str | None = None,
    tool: Annotated[str | None, Query(description="`search`, `fetch`, `audit`, `research`, ...")] = None,
    run_id: str | None = None,
    session_id: str | None = None,
) -> dict[str, Any]:
    """The newest calls of the caller's scope first, at most a second behind; secrets in them are masked."""
    engine = await service_of(request).engine(scope)
    before = None if cursor is None else cursors.read(cursor)
    found = await engine.log(limit + 1, before=before, tool=tool, run_id=run_id, session_id=session_id)
    page = found[:limit]
    more = cursors.written(page[-1].at, page[-1].id) if len(found) > limit else None
    return {"calls": [to_json(call, outside=True) for call in page], "next_cursor": more}
