"""What the routes share: who may ask, one engine for each scope and profile, and the runs that are worked on."""

from typing import Final

from fastapi import Request

from pincite.domain.access import ApiKey
from pincite.domain.errors import StateError, Unauthorized
from pincite.surfaces.desk import Desk, DeskLimits, Rooms
from pincite.surfaces.engines import OpenEngine
from pincite.surfaces.http.admission import Turns, pace, too_often
from pincite.surfaces.http.identity import LOCAL_SCOPE, KeyRing
from pincite.surfaces.http.sessions import COOKIE, Sessions
from pincite.surfaces.http.wrong_keys import WrongKeys

SLACK_S: Final = 1.0
"""The common count is this much behind the own one, so that delays on the way to it refuse nobody."""


class Service(Desk):
    """A desk that asks for keys."""

    def __init__(
        self,
        open_engine: OpenEngine,
        keys: KeyRing,
        rooms: Rooms,
        *,
        limits: DeskLimits | None = None,
        hands_on: bool = False,
    ) -> None:
        super().__init__(open_engine, rooms, limits=limits, hands_on=hands_on)
        self.keys = keys
        self.turns = Turns()
        self.sessions = Sessions(keys)
        self.wrong_keys = WrongKeys()

    async def admit(self, request: Request, secret: str | None, *, by_session: bool = False) -> str:
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
        try:
            key = key or self.keys.key_of(secret)
        except Unauthorized:
            if secret is not None:
                await self.wrong_keys.slow_down(address_of(request))
            raise
        await self._count(key)
        request.state.key = key
        return key.scope

    async def _count(self, key: ApiKey) -> None:
        """Count a request here, and then with all servers of the home together. Errors: RateLimited."""
        self.turns.take(key)
        found = pace(key)
        if found is None:
            return
        step_s, room_s = found
        try:
            desk = await (await self.engine(LOCAL_SCOPE)).front_desk()
            wait_s = await desk.take_turn(key.name, step_s, room_s + min(step_s, SLACK_S))
        except StateError:
            return  # while the common count is out of reach, each server's own counts
        if wait_s > 0:
            raise too_often(key, wait_s)


def service_of(request: Request) -> Service:
    """The service behind a request."""
    found: Service = request.app.state.service
    return found


def address_of(request: Request) -> str:
    """Where a request comes from."""
    return request.client.host if request.client is not None else ""


def owner_of(request: Request) -> str:
    """Whose runs and streams a request's count as: the key's, or those of everybody on a server without keys."""
    key: ApiKey | None = getattr(request.state, "key", None)
    return LOCAL_SCOPE if key is None else key.name


def secret_of(request: Request) -> str | None:
    """The API key that came with a request."""
    header = request.headers.get("authorization", "")
    return header[7:].strip() if header[:7].lower() == "bearer " else request.headers.get("x-api-key")


def scope_of(request: Request) -> str:
    """The scope of the caller by the key sent. Errors: Unauthorized."""
    return service_of(request).keys.scope_of(secret_of(request))


async def admitted(request: Request) -> str:
    """The scope of the caller, whose request is counted. Errors: Unauthorized, RateLimited."""
    return await service_of(request).admit(request, secret_of(request))
