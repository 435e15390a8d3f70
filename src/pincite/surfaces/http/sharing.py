"""A read-only peer: hands out, signed, what a scope may share, to whoever knows what to ask for. It fetches nothing."""

import hashlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Final, Literal

import anyio
from fastapi import Depends, FastAPI, Request, Response

from pincite.domain.errors import NotFound, Unauthorized
from pincite.engine import Engine
from pincite.settings import Settings, load_settings
from pincite.surfaces.http.gate import Gate
from pincite.surfaces.http.identity import KeyRing
from pincite.surfaces.http.responses import PlainJson
from pincite.surfaces.http.responses import install as install_errors
from pincite.surfaces.http.service import Turns, WrongKeys, address_of, secret_of
from pincite.surfaces.http.serving import LOOPBACK, key_ring, run_app, vet_binding
from pincite.wiring.observing import observe
from pincite.wiring.sharing import vet_scope

# Items made at a time: each is a page in memory, 16 MB at most.
_AT_ONCE: Final = 16
MEDIA_TYPE: Final = "application/vnd.pincite.shared"


def serve(host: str, port: int, home: Path | None) -> None:
    """Serve until interrupted.

    Errors:
        ShareRefused (`scope_private`), Conflict: a public interface without an API key of the scope. InvalidSetting.
    """
    settings = load_settings({"home": home})
    vet_scope(settings)
    observe(settings)
    with key_ring(home) as keys:
        vet_binding(host, keys)
        run_app(create_app(settings, keys, hosts=() if keys.active else LOOPBACK), host=host, port=port)


def create_app(settings: Settings, keys: KeyRing, *, hosts: Sequence[str] = ()) -> FastAPI:
    """The peer as an ASGI application.

    Args:
        settings: whose scope is handed out.
        keys: who may ask: keys of this scope; an empty ring lets everybody who reaches it.
        hosts: names the `Host` header may have; empty: any. Set where no key is needed, against DNS rebinding.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with Engine(settings) as engine, anyio.create_task_group() as tasks:
            app.state.engine, app.state.turns = engine, anyio.CapacityLimiter(_AT_ONCE)
            tasks.start_soon(keys.follow)
            yield
            tasks.cancel_scope.cancel()

    app = FastAPI(title="Pincite peer", lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    install_errors(app)
    wrong_keys, turns = WrongKeys(), Turns()

    async def admitted(request: Request) -> None:
        """Let keys of the scope in. Errors: Unauthorized, RateLimited."""
        if not keys.needed:
            return
        try:
            found = keys.key_of(secret_of(request))
            if found.scope != settings.scope:
                raise Unauthorized("this key opens another scope")
        except Unauthorized:
            await wrong_keys.slow_down(address_of(request))
            raise
        turns.take(found)

    @app.get("/v1/shared/{kind}/{key}", response_class=Response)
    async def item(
        kind: Literal["capture", "answer"], key: str, request: Request, _: Annotated[None, Depends(admitted)]
    ) -> Response:
        """A signed item, or 404 where there is none that may be shared."""
        async with app.state.turns:
            found = await app.state.engine.shared_item(kind, key)
        if found is None:
            raise NotFound("nothing is shared under this key", reason="not_shared")
        etag = f'"{hashlib.sha256(found).hexdigest()}"'
        return Response(found, media_type=MEDIA_TYPE, headers={"ETag": etag, "Cache-Control": "no-store"})

    @app.get("/healthz")
    async def healthz() -> Response:
        """The process is up."""
        return PlainJson({"status": "ok"})

    app.add_middleware(Gate, hosts=hosts)
    return app
