"""Running the server: the binding is vetted, engines are made from the settings of the home."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from pincite.domain.errors import Conflict
from pincite.engine import Engine
from pincite.settings import Settings, load_settings
from pincite.surfaces.desk import DeskLimits, settings_of
from pincite.surfaces.http.identity import KeyRing
from pincite.wiring.fetch_door import site_sessions
from pincite.wiring.keys import opened_keys
from pincite.wiring.observing import observe

log = logging.getLogger(__name__)
LOOPBACK = ("127.0.0.1", "::1", "localhost")
_DRAIN_S = 5


def serve(host: str, port: int, home: Path | None, *, work: bool = True) -> None:
    """Serve until interrupted; running research is stopped, saved and resumable. `work`: execute what waits, too.

    Errors:
        Conflict: a public interface without an API key. InvalidSetting, StorageUnavailable.
    """
    import uvicorn

    from pincite.surfaces.http.app import create_app

    settings = load_settings({"home": home})
    observe(settings)
    if not (settings.user_agent or settings.user_agent_contact):
        log.warning("sites that are read can't tell whom to write to: set user_agent_contact to an address or a URL")
    with key_ring(home) as keys:
        vet_binding(host, keys)
        app = create_app(
            engine_opener(home),
            keys,
            hosts=() if keys.active else LOOPBACK,
            work=_worker_settings(home) if work else None,
            limits=DeskLimits.of(settings),
        )
        uvicorn.run(app, host=host, port=port, log_level="warning", timeout_graceful_shutdown=_DRAIN_S)


def engine_opener(home: Path | None) -> Callable[[str, str | None], Engine]:
    """What makes the engine of a scope and a profile, with the settings of a server."""

    def open_engine(scope: str, profile: str | None) -> Engine:
        return Engine.from_settings(home=home, scope=scope, serving=True, **settings_of(profile))

    return open_engine


def _worker_settings(home: Path | None) -> Settings | None:
    """The settings of the worker inside the server; None on a PostgreSQL without what wakes workers."""
    settings = load_settings({"home": home, "serving": True})
    site_sessions(settings)  # a server refuses them before its first request does
    return None if settings.shared_database and find_spec("procrastinate") is None else settings


@contextmanager
def key_ring(home: Path | None) -> Iterator[KeyRing]:
    """The API keys of the home, or of its database. Errors: InvalidSetting, and those of `wiring.keys.opened_keys`."""
    with opened_keys(load_settings({"home": home})) as store:
        yield KeyRing(store)


def vet_binding(host: str, keys: KeyRing) -> None:
    """Refuse to open a server to other machines that asks for no key.

    Errors:
        Conflict: a public interface without an API key.
    """
    if host not in LOOPBACK and not keys.active:
        raise Conflict(
            f"binding {host} would let anybody use this server",
            reason="public_without_keys",
            hint="Make a key first: pincite keys create NAME",
        )
