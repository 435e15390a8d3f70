"""The API as a page: every operation of the OpenAPI document, by what it is for."""

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from pincite.surfaces.http.ui.rendering import page

router = APIRouter()


@router.get("/docs")
async def docs(request: Request) -> Response:
    """The page. It says what the server can do, and nothing of anybody's."""
    document = request.app.openapi()
    groups: dict[str, list[dict[str, str]]] = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            tag = (operation.get("tags") or ["server"])[0]
            groups.setdefault(tag, []).append(_row(path, method, operation))
    return page(request, "docs.html", groups=groups)


def _row(path: str, method: str, operation: Mapping[str, Any]) -> dict[str, str]:
    about = operation.get("description") or operation.get("summary") or ""
    return {"path": path, "method": method.upper(), "about": about.split("\n\n")[0].replace("`", "")}
