"""A server for one person on this machine: a key made at its start, and an address that signs its holder in."""

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime

from fastapi import APIRouter, Request
from fastapi.responses import Response

from pincite.domain.access import ApiKey
from pincite.domain.errors import Unauthorized
from pincite.surfaces.http.identity import LOCAL_SCOPE, key_digest
from pincite.surfaces.http.service import service_of
from pincite.surfaces.http.sessions import COOKIE, LIFETIME_S
from pincite.surfaces.http.ui.rendering import page, seeing

router = APIRouter()


class OneKey:
    """A store of keys with one key in it, which is nowhere but in this process."""

    def __init__(self) -> None:
        self.secret = secrets.token_urlsafe(32)
        made = datetime.now(UTC).isoformat(timespec="seconds")
        self._key = ApiKey("ui", LOCAL_SCOPE, key_digest(self.secret), made)

    @property
    def is_near(self) -> bool:
        """Always."""
        return True

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


@router.get("/enter", include_in_schema=False)
async def enter(request: Request, key: str = "") -> Response:
    """A session for whoever has the key that was printed at the start; the address is left behind at once."""
    try:
        cookie = service_of(request).sessions.open(key)
    except Unauthorized:
        trouble = "This address is of an earlier start: take the one that was printed last."
        return page(request, "login.html", status_code=401, next="/", trouble=trouble)
    answer = seeing("/")
    answer.set_cookie(COOKIE, cookie, max_age=LIFETIME_S, httponly=True, samesite="lax")
    return answer
