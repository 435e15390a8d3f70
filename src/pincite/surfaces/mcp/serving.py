"""Running the MCP server over stdio (a host starts it) or HTTP on a loopback interface."""

from pathlib import Path
from typing import Literal

from pincite.engine import Engine


def serve(
    transport: str, profile: Literal["default", "chatgpt"], port: int, home: Path | None, source: str | None
) -> None:
    """Serve until the host closes the pipe or the process is interrupted. Errors: InvalidSetting."""
    from pincite.surfaces.mcp.server import make_server

    server = make_server(Engine.from_settings(home=home, source=source), profile)
    if transport == "stdio":
        server.run("stdio")
    else:
        server.run("streamable-http", host="127.0.0.1", port=port)
