"""Signing in and out, for one person or many; and the API as a page."""

import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from pincite.domain.errors import Unauthorized
from pincite.domain.records import ApiKey
from pincite.surfaces.http.gate import LOCAL_SCOPE, key_digest
from pincite.surfaces.http.service import COOKIE, LIFETIME_S, address_of, service_of
from pincite.surfaces.http.ui.asking import Form, local_path
from pincite.surfaces.http.ui.rendering import page, seeing

router = APIRouter()
# For the pages of one person only.
own_router = APIRouter()


@router.get("/login")
async def login_page(request: Request, next: str = "/") -> Response:  # noqa: A002  # the parameter's name in the URL
    """The page that asks for a key."""
    if not service_of(request).keys.needed:
        return seeing(local_path(next))
    return page(request, "login.html", next=local_path(next), trouble="")


@router.post("/login")
async def login(request: Request, form: Form) -> Response:
    """A session for the owner of the key."""
    target = local_path(form.get("next", "/"))
    service = service_of(request)
    try:
        cookie = service.sessions.open(form.get("key", "").strip())
    except Unauthorized:
        await service.wrong_keys.slow_down(address_of(request))
        return page(request, "login.html", status_code=401, next=target, trouble="This key opens nothing here.")
    answer = seeing(target)
    answer.set_cookie(
        COOKIE, cookie, max_age=LIFETIME_S, httponly=True, samesite="lax", secure=request.url.scheme == "https"
    )
    return answer


@router.post("/logout")
async def logout(request: Request, form: Form) -> Response:
    """The session's end."""
    service_of(request).sessions.close(request.cookies.get(COOKIE))
    answer = seeing("/login")
    answer.delete_cookie(COOKIE, httponly=True, samesite="lax")
    return answer


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


class OneKey:
    """A store of keys with one key in it, which is nowhere but in this process."""

    is_local = True

    def __init__(self) -> None:
        self.secret = secrets.token_urlsafe(32)
        made = datetime.now(UTC).isoformat(timespec="seconds")
        self._key = ApiKey("ui", LOCAL_SCOPE, key_digest(self.secret), made)

    def state(self) -> str:
        """The one state there is."""
        return "one"

    def read(self) -> Sequence[ApiKey]:
        """The key."""
        return (self._key,)

    def add(self, key: ApiKey) -> bool:
        """Nothing can be added."""
        return False

    def revoke(self, name: str, at: str) -> bool:
        """It ends with the process."""
        return False


@own_router.get("/enter", include_in_schema=False)
async def enter(request: Request, key: str = "") -> Response:
    """A session for whoever has the key that was printed at the start; the address is left behind at once."""
    try:
        cookie = service_of(request).sessions.open(key)
    except Unauthorized:
        trouble = "This address is of an earlier start: take the one that was printed last."
        return page(request, "login.html", status_code=401, next="/", trouble=trouble)
    answer = seeing("/")
    # Not `secure`: this server is on loopback, where there is no TLS.
    answer.set_cookie(COOKIE, cookie, max_age=LIFETIME_S, httponly=True, samesite="lax")
    return answer
