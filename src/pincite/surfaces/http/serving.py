"""Running the server: the binding is vetted, engines are made from the settings of the home."""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from pincite.domain.errors import Conflict
from pincite.engine import Engine
from pincite.settings import Settings, load_settings
from pincite.surfaces.desk import settings_of
from pincite.surfaces.http.identity import KeyRing
from pincite.wiring.observing import observe

LOOPBACK = ("127.0.0.1", "::1", "localhost")
_DRAIN_S = 5


def serve(host: str, port: int, home: Path | None, *, work: bool = True) -> None:
    """Serve until interrupted; running research is stopped, saved and resumable. `work`: execute what waits, too.

    Errors:
        Conflict: a public interface without an API key. InvalidSetting, StorageUnavailable.
    """
    import uvicorn

    from pincite.surfaces.http.app import create_app

    observe(load_settings({"home": home}))
    keys = key_ring(home)
    vet_binding(host, keys)

    app = create_app(
        engine_opener(home),
        keys,
        hosts=() if keys.active else LOOPBACK,
        work=_worker_settings(home) if work else None,
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
    url = settings.database_url.get_secret_value() if settings.database_url else ""
    return None if url.startswith("postgres") and find_spec("procrastinate") is None else settings


def key_ring(home: Path | None) -> KeyRing:
    """The API keys of the home. Errors: InvalidSetting, StorageUnavailable."""
    return KeyRing(load_settings({"home": home}).home)


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
