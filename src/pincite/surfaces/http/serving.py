"""Running the server, or a read-only peer that hands out what a scope may share: the binding is vetted first."""

import hashlib
import logging
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import anyio
from fastapi import Depends, FastAPI, Request, Response

from pincite.domain.errors import Conflict, NotFound, Unauthorized
from pincite.domain.frozen import dataclass
from pincite.engine import Engine
from pincite.settings import Settings, load_settings
from pincite.surfaces.accounts import ServerLimits
from pincite.surfaces.http.gate import Gate, KeyRing
from pincite.surfaces.http.responses import PlainJson
from pincite.surfaces.http.responses import install as install_errors
from pincite.surfaces.http.service import Turns, WrongKeys, address_of, secret_of
from pincite.surfaces.listening import bound
from pincite.surfaces.runs import settings_of
from pincite.wiring.fetching import site_sessions
from pincite.wiring.observing import observe
from pincite.wiring.server import opened_keys
from pincite.wiring.sharing import vet_scope
from pincite.wiring.sources import AUTO, BUNDLED, LOCAL, indexed_libraries

log = logging.getLogger(__name__)
LOOPBACK = ("127.0.0.1", "::1", "localhost")
# Answers under way may end; runs are handed on or stopped by then (docs/deploy.md).
_DRAIN_S = 5


def serve(host: str, port: int, home: Path | None, *, ready: Callable[[], None], work: bool = True) -> None:
    """Serve until interrupted; running research is stopped, saved and resumable. `work`: execute what waits, too.

    `ready` is called as soon as requests can arrive: until the application is made they wait.

    Errors: Conflict (a public interface without an API key, or the port is taken), InvalidSetting, StorageUnavailable.
    """
    settings = load_settings({"home": home})
    observe(settings)
    if not (settings.user_agent or settings.user_agent_contact):
        log.warning("sites that are read can't tell whom to write to: set user_agent_contact to an address or a URL")
    with key_ring(home) as keys:
        # Before anything listens: without a key a stranger on the network would be served.
        vet_binding(host, keys)
        with bound(port, host) as listening:
            ready()
            from pincite.surfaces.http.app import create_app

            app = create_app(
                engine_opener(home),
                keys,
                # Without keys anybody at this machine may use the server, and by DNS rebinding so could any page that
                # its browser shows.
                hosts=() if keys.active else LOOPBACK,
                work=_worker_settings(home) if work else None,
                limits=ServerLimits.of(settings),
            )
            run_app(app, listening)


def run_app(app: Any, listening: Sequence[socket.socket]) -> None:  # an ASGI application
    """Serve the application until interrupted, on sockets that listen."""
    import uvicorn

    from pincite.surfaces.http.gate import PatientProtocol

    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=_DRAIN_S, http=PatientProtocol)
    uvicorn.Server(config).run(sockets=list(listening))


@dataclass(frozen=True, slots=True)
class OwnPages:
    """The pages for one person: the address that lets them in, and what serves until interrupted."""

    address: str
    serve: Callable[[], None]


def own_pages(home: Path | None, listening: Sequence[socket.socket]) -> OwnPages:
    """The pages of the local user, behind a key that is made now and kept nowhere.

    They can research at once: where no source is set, the libraries at hand and the web are asked, DuckDuckGo too,
    which one person may do and a server for many may not.

    Errors: InvalidSetting, StorageUnavailable.
    """
    from pincite.surfaces.http.app import create_app
    from pincite.surfaces.http.ui.signing import OneKey, own_router

    settings = load_settings({"home": home})
    key, more = OneKey(), local_defaults(settings)
    app = create_app(
        engine_opener(home, **more),
        KeyRing(key),
        hosts=LOOPBACK,
        work=load_settings({"home": home, "serving": True, **more}),
        limits=ServerLimits.of(settings),
    )
    app.include_router(own_router)
    address = f"http://127.0.0.1:{listening[0].getsockname()[1]}/enter?key={key.secret}"
    return OwnPages(address, lambda: run_app(app, listening))


def local_defaults(settings: Settings) -> dict[str, Any]:
    """What one person's pages need beyond the settings in force to find something at once."""
    more: dict[str, Any] = {} if settings.duckduckgo is not None else {"duckduckgo": True}
    if "source" not in settings.model_fields_set:
        more["source"] = (LOCAL if indexed_libraries(settings) else BUNDLED, AUTO)
    return more


def engine_opener(home: Path | None, **more: Any) -> Callable[[str, str | None], Engine]:
    """What makes the engine of a scope and a profile, with the settings of a server and `more`."""

    def open_engine(scope: str, profile: str | None) -> Engine:
        return Engine.from_settings(home=home, scope=scope, serving=True, **{**more, **settings_of(profile)})

    return open_engine


def _worker_settings(home: Path | None) -> Settings | None:
    """The settings of the worker inside the server; None on a PostgreSQL without what wakes workers."""
    settings = load_settings({"home": home, "serving": True})
    site_sessions(settings)  # a server refuses them before its first request does
    return None if settings.shared_database and find_spec("procrastinate") is None else settings


@contextmanager
def key_ring(home: Path | None) -> Iterator[KeyRing]:
    """The API keys of the home, or of its database. Errors: InvalidSetting, and those of `opened_keys`."""
    with opened_keys(load_settings({"home": home})) as store:
        yield KeyRing(store)


def vet_binding(host: str, keys: KeyRing) -> None:
    """Refuse to open a server to other machines that asks for no key.

    Errors: Conflict (a public interface without an API key).
    """
    if host not in LOOPBACK and not keys.active:
        raise Conflict(
            f"binding {host} would let anybody use this server",
            reason="public_without_keys",
            hint="Make a key first: pincite keys create NAME",
        )


# Items made at a time: each is a page in memory, 16 MB at most.
_AT_ONCE: Final = 16
MEDIA_TYPE: Final = "application/vnd.pincite.shared"


def serve_peer(host: str, port: int, home: Path | None, *, ready: Callable[[], None]) -> None:
    """Serve until interrupted; `ready` is called as soon as requests can arrive.

    Errors:
        ShareRefused (`scope_private`), Conflict: a public interface without an API key of the scope. InvalidSetting.
    """
    settings = load_settings({"home": home})
    vet_scope(settings)
    observe(settings)
    with key_ring(home) as keys:
        vet_binding(host, keys)
        with bound(port, host) as listening:
            ready()
            run_app(create_peer(settings, keys, hosts=() if keys.active else LOOPBACK), listening)


def create_peer(settings: Settings, keys: KeyRing, *, hosts: Sequence[str] = ()) -> FastAPI:
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
            # A key that is revoked by another process opens nothing soon after.
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
            # Also for a key of another scope: whoever tries keys should not learn faster which of them exist.
            await wrong_keys.slow_down(address_of(request))
            raise
        await turns.take(found)

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
