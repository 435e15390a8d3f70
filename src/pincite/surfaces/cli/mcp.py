"""`pincite mcp`: the tools for assistants, over stdio or HTTP."""

import importlib
from typing import Annotated

import typer

from pincite.domain.errors import ExtraNotInstalled, InvalidInput
from pincite.runtime.installing import install_extra
from pincite.surfaces.cli import options
from pincite.surfaces.cli.run import guarded

TRANSPORTS = ("stdio", "http")
PROFILES = ("default", "chatgpt")


def mcp(
    transport: Annotated[str, typer.Option(help="stdio or http (on 127.0.0.1).")] = "stdio",
    profile: Annotated[str, typer.Option(help="default, or chatgpt: exactly search and fetch.")] = "default",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port for http.")] = 8788,
    source: Annotated[str | None, typer.Option(help="Where to search: auto, provider names, or local:PATH.")] = None,
    home: options.Home = None,
    as_json: options.Json = False,
) -> None:
    """Serve search, fetch and research as MCP tools."""

    def job() -> None:
        for value, known in ((transport, TRANSPORTS), (profile, PROFILES)):
            if value not in known:
                raise InvalidInput(f"{value!r} is none of: {', '.join(known)}")
        try:
            importlib.import_module("mcp")
        except ImportError as error:
            raise ExtraNotInstalled(
                "the MCP server needs the mcp package", hint=f"Run: {install_extra('mcp')}"
            ) from error
        importlib.import_module("pincite.surfaces.mcp.serving").serve(transport, profile, port, home, source)

    guarded(job, as_json=as_json)
