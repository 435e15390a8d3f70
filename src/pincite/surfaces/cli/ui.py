"""`pincite ui`: the web pages for one person on this machine, opened in the browser; Ctrl-C stops it."""

import importlib
import os
import sys
import webbrowser
from typing import Annotated

import typer

from pincite.surfaces.cli import options
from pincite.surfaces.cli.demo import writable_home
from pincite.surfaces.cli.run import guarded, note
from pincite.surfaces.cli.serve import vet_server


def ui(
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Port; by default 8787, or a free one where it is taken.")
    ] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open it in your browser.")] = True,
    home: options.Home = None,
) -> None:
    """Ask in your browser: the web, the bundled pages or your own; only this machine gets in."""

    def job() -> None:
        vet_server()
        serving = importlib.import_module("pincite.surfaces.http.serving")
        with serving.bound(port) as listening:
            pages = serving.own_pages(writable_home(home), listening)
            note(f"Open {pages.address}")
            note("Only this machine, and only who has this address, gets in. Ctrl-C stops.")
            if browser and not opened(pages.address):
                note("No browser was found to open it in: open the address yourself.")
            pages.serve()

    guarded(job, as_json=False)


def opened(address: str) -> bool:
    """Whether a browser took the address. Where there is no screen, none is tried: a text browser would take ours."""
    headless = sys.platform.startswith("linux") and not {"DISPLAY", "WAYLAND_DISPLAY", "BROWSER"} & set(os.environ)
    if headless:
        return False
    try:
        return webbrowser.open(address)
    except webbrowser.Error:
        return False
