"""`pincite serve` and `pincite keys`: the HTTP API and who may use it."""

import importlib
from decimal import Decimal
from typing import Annotated, Any

import typer

from pincite.domain.errors import ExtraNotInstalled
from pincite.runtime.installing import install_extra
from pincite.surfaces.cli import options
from pincite.surfaces.cli.run import guarded, note, print_json, print_text

keys_app = typer.Typer(help="Make, list and revoke API keys.", no_args_is_help=True, rich_markup_mode=None)


def serve(
    host: Annotated[str, typer.Option(help="Interface. Others than loopback need an API key.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port.")] = 8787,
    work: Annotated[
        bool, typer.Option("--work/--no-work", help="Also execute queued runs and go on with interrupted ones.")
    ] = True,
    home: options.Home = None,
    as_json: options.Json = False,
) -> None:
    """Serve the web pages and the HTTP API, also in the shapes of Tavily, Firecrawl and OpenAI."""

    def job() -> None:
        vet_server()
        serving = _serving()
        with serving.key_ring(home) as keys:
            serving.vet_binding(host, keys)
        note(f"Serving on http://{host}:{port} (the API: /docs). Ctrl-C stops; runs can be resumed.")
        serving.serve(host, port, home, work=work)

    guarded(job, as_json=as_json)


def vet_server() -> None:
    """Return when what the server is made of is installed. Errors: ExtraNotInstalled."""
    try:
        for needed in ("uvicorn", "fastapi", "jinja2"):
            importlib.import_module(needed)
    except ImportError as error:
        raise ExtraNotInstalled(
            "the server needs FastAPI, Jinja2 and uvicorn", hint=f"Run: {install_extra('server')}"
        ) from error


@keys_app.command("create")
def create(
    name: Annotated[str, typer.Argument(help="What to call it.")],
    scope: Annotated[str | None, typer.Option(help="Whose runs and pages it opens; by default its own name.")] = None,
    rate: Annotated[int | None, typer.Option(min=1, help="Requests a minute at most.")] = None,
    daily_usd: Annotated[float | None, typer.Option(min=0, help="US dollars a day (UTC) at most.")] = None,
    home: options.Home = None,
    as_json: options.Json = False,
) -> None:
    """Make an API key and print it, once."""

    def job() -> str:
        cap = None if daily_usd is None else Decimal(str(daily_usd))
        with _serving().key_ring(home) as keys:
            secret: str = keys.create(name, scope, rate_per_min=rate, daily_usd=cap)
        return secret

    secret = guarded(job, as_json=as_json)
    if as_json:
        limits = {"rate_per_min": rate, "daily_usd": daily_usd}
        print_json({"name": name, "scope": scope or name, **limits, "key": secret})
        return
    print_text(secret)
    note("This is the only time the key is shown.")


@keys_app.command("list")
def list_keys(home: options.Home = None, as_json: options.Json = False) -> None:
    """List the keys by name; never the keys themselves."""

    def job() -> Any:
        with _serving().key_ring(home) as ring:
            return ring.all()

    keys = guarded(job, as_json=as_json)
    if as_json:
        shown = ("name", "scope", "created_at", "revoked_at", "rate_per_min", "daily_usd")
        print_json([{name: getattr(key, name) for name in shown} for key in keys])
        return
    for key in keys:
        limits = f"  {key.rate_per_min} requests/min" if key.rate_per_min is not None else ""
        limits += f"  ${key.daily_cap_usd:.2f} a day" if key.daily_cap_usd is not None else ""
        state = "revoked" if key.revoked_at else "active"
        print_text(f"{key.name}  scope {key.scope}  made {key.created_at}  {state}{limits}")
    if not keys:
        print_text("No keys.")


@keys_app.command("revoke")
def revoke(
    name: Annotated[str, typer.Argument(help="Its name.")], home: options.Home = None, as_json: options.Json = False
) -> None:
    """Make a key open nothing any more."""

    def job() -> None:
        with _serving().key_ring(home) as keys:
            keys.revoke(name)

    guarded(job, as_json=as_json)
    if as_json:
        print_json({"revoked": name})


def _serving() -> Any:
    """The server's own surface, by name: surfaces don't import each other, and it is heavy."""
    return importlib.import_module("pincite.surfaces.http.serving")
