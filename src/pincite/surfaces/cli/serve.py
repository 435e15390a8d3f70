"""`pincite serve`, `keys`, `ui`, `mcp`, `worker`, `share`: what goes on until it is stopped, and who may come in."""

import importlib
import os
import sys
import webbrowser
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pincite.runtime.system import needing
from pincite.surfaces.cli import options
from pincite.surfaces.cli.options import vet_output
from pincite.surfaces.cli.research import writable_home
from pincite.surfaces.cli.run import print_json, print_note, print_result, print_text, run_async, with_engine
from pincite.surfaces.errors import EXIT_INTERRUPTED
from pincite.surfaces.listening import bound

if TYPE_CHECKING:
    import anyio

    from pincite.domain.events import RunStatus

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
    said = f"Serving on {origin(host, port)} (the API: /docs). Ctrl-C stops; runs can be resumed."
    server().serve(host, port, home, ready=lambda: print_note(said), work=work)


def origin(host: str, port: int) -> str:
    """The address of what listens there."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


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
    # By its text: the float 0.1 as a Decimal has 55 digits.
    cap = None if daily_usd is None else Decimal(str(daily_usd))
    with server().key_ring(home) as keys:
        secret = keys.create(name, scope, rate_per_min=rate, daily_usd=cap)
    if as_json:
        limits = {"rate_per_min": rate, "daily_usd": daily_usd}
        print_json({"name": name, "scope": scope or name, **limits, "key": secret})
        return
    print_text(secret)
    print_note("This is the only time the key is shown.")


@keys_app.command("list")
def list_keys(home: options.Home = None, as_json: options.Json = False) -> None:
    """List the keys by name; never the keys themselves."""
    with server().key_ring(home) as ring:
        keys = ring.all()
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
    with server().key_ring(home) as keys:
        keys.revoke(name)
    if as_json:
        print_json({"revoked": name})


def server() -> Any:
    """The server's own surface, by name: surfaces don't import each other, and it is heavy.

    Errors: ExtraNotInstalled.
    """
    with needing("server", "the server needs FastAPI, Jinja2 and uvicorn"):
        for needed in ("uvicorn", "fastapi", "jinja2"):
            importlib.import_module(needed)
    return importlib.import_module("pincite.surfaces.http.serving")


def ui(
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Port; by default 8787, or a free one where it is taken.")
    ] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open it in your browser.")] = True,
    home: options.Home = None,
) -> None:
    """Ask in your browser: the web, the bundled pages or your own; only this machine gets in."""
    serving = server()
    with bound(port) as listening:
        pages = serving.own_pages(writable_home(home), listening)
        print_note(f"Open {pages.address}")
        print_note("Only this machine, and only who has this address, gets in. Ctrl-C stops.")
        if browser and not opened(pages.address):
            print_note("No browser was found to open it in: open the address yourself.")
        pages.serve()


def opened(address: str) -> bool:
    """Whether a browser took the address. Where there is no screen, none is tried: a text browser would take ours."""
    headless = sys.platform.startswith("linux") and not {"DISPLAY", "WAYLAND_DISPLAY", "BROWSER"} & set(os.environ)
    if headless:
        return False
    try:
        return webbrowser.open(address)
    except webbrowser.Error:
        return False


def mcp(
    transport: Annotated[Literal["stdio", "http"], typer.Option(help="stdio or http (on 127.0.0.1).")] = "stdio",
    profile: Annotated[
        Literal["default", "chatgpt"], typer.Option(help="default, or chatgpt: exactly search and fetch.")
    ] = "default",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port for http.")] = 8788,
    source: Annotated[str | None, typer.Option(help="Where to search: auto, provider names, or local:PATH.")] = None,
    home: options.Home = None,
    as_json: options.Json = False,
) -> None:
    """Serve search, fetch and research as MCP tools."""
    with needing("mcp", "the MCP server needs the mcp package"):
        importlib.import_module("mcp")
    # By name, as the server: surfaces don't import each other.
    server = importlib.import_module("pincite.surfaces.mcp.server")
    if transport == "stdio":
        server.serve(profile, home, source)
    else:
        said = f"Serving on {origin('127.0.0.1', port)}/mcp. Ctrl-C stops."
        server.serve_http(profile, port, home, source, ready=lambda: print_note(said))


def worker(
    slots: Annotated[int, typer.Option(min=1, max=64, help="Runs at a time.")] = 4,
    drain: Annotated[float, typer.Option(min=0, help="Seconds for runs to end after SIGTERM; then they go on.")] = 20.0,
    until_idle: Annotated[bool, typer.Option("--until-idle", help="Leave when nothing waits any more.")] = False,
    home: options.Home = None,
    as_json: options.Json = False,
) -> None:
    """Execute queued runs, and go on with those whose process died, until SIGTERM or Ctrl-C."""
    ended: dict[str, str] = {}

    def on_end(run_id: str, status: "RunStatus | None") -> None:
        ended[run_id] = str(status or "handed on")
        print_note(f"{run_id}  {ended[run_id]}")

    async def job() -> None:
        import anyio

        from pincite.jobs import WorkerLimits, open_worker
        from pincite.settings import load_settings
        from pincite.wiring.observing import observe

        settings = load_settings({"home": home})
        # Before the worker is made, so that its first calls are traced too.
        observe(settings)
        stopping = anyio.Event()
        limits = WorkerLimits(slots, drain)
        async with open_worker(settings, limits, on_run=on_end) as found, anyio.create_task_group() as tasks:
            tasks.start_soon(stop_on_signal, stopping)
            if until_idle:
                tasks.start_soon(found.stop_when_idle, stopping)
            print_note(f"Working, {slots} runs at a time. SIGTERM or Ctrl-C stops; nothing is lost.")
            await found.run(stopping)
            tasks.cancel_scope.cancel()

    run_async(job)
    if as_json:
        print_json({"runs": ended})


async def stop_on_signal(stopping: "anyio.Event") -> None:
    """Set `stopping` at the first SIGTERM or Ctrl-C; leave the process at the second (runs survive that)."""
    import signal

    import anyio

    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            if stopping.is_set():
                # Not `sys.exit`: threads that wait for a page would keep the process.
                os._exit(EXIT_INTERRUPTED)
            print_note("Stopping: runs end or are handed on. Once more to leave at once.")
            stopping.set()


# Signed bundles of pages and answers, and a read-only peer that other installations ask.

share_app = typer.Typer(
    help="Share pages and search answers with other installations.", no_args_is_help=True, rich_markup_mode=None
)


@share_app.command("key")
def share_key(home: options.Home = None, as_json: options.Json = False) -> None:
    """Print the public key by which others know this installation; made at first use."""
    found = with_engine(lambda engine: engine.share_key(), {"home": home})
    print_result({"key": found}, found, as_json=as_json)


@share_app.command("export")
def share_export(
    file: Annotated[Path, typer.Argument(help="The bundle to write.")],
    home: options.Home = None,
    as_json: options.Json = False,
) -> None:
    """Write a signed bundle of the captures and search answers that may be shared."""
    vet_output(file)
    made = with_engine(lambda engine: engine.share_export(file), {"home": home})
    said = f"{file}: {made.captures} captures and {made.answers} search answers, {made.size_bytes} bytes"
    print_result(made, f"{said}\nsigned with {made.key}", as_json=as_json)
    if not as_json:
        print_note(_counted("Not shared", made.kept_back))


@share_app.command("import")
def share_import(
    file: Annotated[Path, typer.Argument(help="The bundle to read.")],
    signed_by: Annotated[
        str | None, typer.Option("--key", help="Public key to trust for this file, if its owner is not in share_peers.")
    ] = None,
    home: options.Home = None,
    as_json: options.Json = False,
) -> None:
    """Take in a bundle of another installation; every item is checked again here."""
    taken = with_engine(lambda engine: engine.share_import(file, key=signed_by), {"home": home})
    said = f"{taken.captures} captures and {taken.answers} search answers of {taken.shared_by}"
    print_result(taken, said, as_json=as_json)
    if not as_json:
        print_note(_counted("Refused", taken.refused))


@share_app.command("serve")
def share_serve(
    host: Annotated[str, typer.Option(help="Interface. Others than loopback need an API key.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port.")] = 8789,
    home: options.Home = None,
    as_json: options.Json = False,
) -> None:
    """Be a read-only peer: hand out, signed, what the scope may share. Nothing is fetched for anybody."""
    from pincite.settings import load_settings
    from pincite.wiring.sharing import vet_scope

    serving = server()
    vet_scope(load_settings({"home": home}))
    serving.serve_peer(host, port, home, ready=lambda: print_note(f"Sharing on {origin(host, port)}. Ctrl-C stops."))


def _counted(what: str, reasons: Mapping[str, int]) -> str:
    counts = ", ".join(f"{count} {reason.replace('_', ' ')}" for reason, count in sorted(reasons.items()))
    return f"{what}: {counts or 'none'}"
