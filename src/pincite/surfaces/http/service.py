"""What the routes share: who may ask, one engine for each scope and profile, and the runs that are worked on."""

from anyio.abc import TaskGroup
from fastapi import Request

from pincite.surfaces.desk import Desk, OpenEngine
from pincite.surfaces.http.admission import Turns
from pincite.surfaces.http.identity import KeyRing


class Service(Desk):
    """A desk that asks for keys."""

    def __init__(self, open_engine: OpenEngine, keys: KeyRing, hosts: TaskGroup, jobs: TaskGroup) -> None:
        super().__init__(open_engine, hosts, jobs)
        self.keys = keys
        self.turns = Turns()

    def admit(self, request: Request, secret: str | None) -> str:
        """The scope that a key opens, its request counted. Errors: Unauthorized, RateLimited."""
        if not self.keys.needed or secret is None:
            return scope_of(request)
        key = self.keys.key_of(secret)
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
    """The scope of the caller. Errors: Unauthorized."""
    return service_of(request).keys.scope_of(secret_of(request))


async def admitted(request: Request) -> str:
    """The scope of the caller, whose request is counted. Errors: Unauthorized, RateLimited."""
    return service_of(request).admit(request, secret_of(request))
