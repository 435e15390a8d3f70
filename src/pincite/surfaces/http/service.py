"""What the routes share: who may ask, one engine for each scope and profile, and the runs that are worked on."""

from fastapi import Request

from pincite.surfaces.desk import Desk, Rooms
from pincite.surfaces.engines import OpenEngine
from pincite.surfaces.http.admission import Turns
from pincite.surfaces.http.identity import LOCAL_SCOPE, KeyRing
from pincite.surfaces.http.sessions import COOKIE, Sessions


class Service(Desk):
    """A desk that asks for keys."""

    def __init__(self, open_engine: OpenEngine, keys: KeyRing, rooms: Rooms, *, hands_on: bool = False) -> None:
        super().__init__(open_engine, rooms, hands_on=hands_on)
        self.keys = keys
        self.turns = Turns()
        self.sessions = Sessions(keys)

    def admit(self, request: Request, secret: str | None, *, by_session: bool = False) -> str:
        """The scope that a key, or a browser's session, opens; the request is counted for the key.

        A session reads. Whatever changes something needs a key, or a form of our own pages (`by_session`): a cookie is
        sent without being asked.

        Errors: Unauthorized, RateLimited.
        """
        if not self.keys.needed:
            return LOCAL_SCOPE
        key = None
        if secret is None and (by_session or request.method in ("GET", "HEAD")):
            key = self.sessions.key_of(request.cookies.get(COOKIE))
        key = key or self.keys.key_of(secret)
        self.turns.take(key)
        request.state.key = key
        return key.scope


def service_of(request: Request) -> Service:
    """The service behind a request."""
    found: Service = request.app.state.service
    return found


def secret_of(request: Request) -> str | None:
    """The API key that came with a request."""
    header = request.headers.get("authorization", "")
    return header[7:].strip() if header[:7].lower() == "bearer " else request.headers.get("x-api-key")


def scope_of(request: Request) -> str:
    """The scope of the caller by the key sent. Errors: Unauthorized."""
    return service_of(request).keys.scope_of(secret_of(request))


async def admitted(request: Request) -> str:
    """The scope of the caller, whose request is counted. Errors: Unauthorized, RateLimited."""
    return service_of(request).admit(request, secret_of(request))
