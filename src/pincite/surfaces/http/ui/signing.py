"""Signing in with an API key, where the server asks for one, and out again."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from pincite.domain.errors import Unauthorized
from pincite.surfaces.http.service import address_of, service_of
from pincite.surfaces.http.sessions import COOKIE, LIFETIME_S
from pincite.surfaces.http.ui.forms import Form, local_path
from pincite.surfaces.http.ui.rendering import page, seeing

router = APIRouter()


@router.get("/login")
async def login_page(request: Request, next: str = "/") -> Response:  # noqa: A002
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
