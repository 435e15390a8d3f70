"""Running the MCP server over stdio (a host starts it) or HTTP on a loopback interface."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from secrets import token_hex

from pincite.engine import Engine
from pincite.settings import load_settings
from pincite.surfaces.desk import Desk, DeskLimits, open_desk
from pincite.surfaces.mcp.server import Office, OpenOffice, Profile, make_server


def serve(transport: str, profile: Profile, port: int, home: Path | None, source: str | None) -> None:
    """Serve until the host closes the pipe or the process is interrupted. Errors: InvalidSetting."""
    server = make_server(own_office(home=home, source=source), profile)
    if transport == "stdio":
        server.run("stdio")
    else:
        server.run("streamable-http", host="127.0.0.1", port=port)


def own_office(**overrides: object) -> OpenOffice:
    """An office of this process alone: one user, the settings in force but for `overrides`.

    Errors:
        InvalidSetting.
    """
    settings = load_settings(overrides)

    def open_engine(scope: str, profile: str | None) -> Engine:
        if profile is None:
            return Engine.from_settings(settings)
        return Engine.from_settings(**{**overrides, "profile": profile})

    @asynccontextmanager
    async def open_office() -> AsyncIterator[Office]:
        async with open_desk(lambda rooms: Desk(open_engine, rooms, limits=DeskLimits.of(settings))) as desk:
            yield Office(desk, lambda _: settings.scope, f"mcp_{token_hex(8)}")

    return open_office
