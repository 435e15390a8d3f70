"""Upstash's REST API in process, for tests: the pipeline endpoint with its token, executed by a real server."""

import json
from collections.abc import Sequence
from typing import Any, Protocol

import httpx2

from pincite.domain.errors import StorageUnavailable


class Behind(Protocol):
    """What executes commands."""

    async def run(self, *commands: Sequence[str | int | float]) -> list[Any]:
        """The results in order."""
        ...


class UpstashFake:
    """Answers `POST /pipeline` as Upstash does: a list of `{"result"}` or `{"error"}`, 401 without the token.

    Args:
        behind: the server that executes the commands.
        token: the one that is accepted.
    """

    def __init__(self, behind: Behind, token: str) -> None:
        self._behind = behind
        self._token = token
        self.requests = 0

    @property
    def transport(self) -> httpx2.MockTransport:
        """What a client of httpx2 is given."""
        return httpx2.MockTransport(self._answer)

    async def _answer(self, request: httpx2.Request) -> httpx2.Response:
        self.requests += 1
        if request.headers.get("authorization") != f"Bearer {self._token}":
            return httpx2.Response(401, json={"error": "Unauthorized"})
        if (request.method, request.url.path) != ("POST", "/pipeline"):
            return httpx2.Response(404, json={"error": "Not Found"})
        commands = json.loads(request.content)
        return httpx2.Response(200, json=[await self._run([str(part) for part in command]) for command in commands])

    async def _run(self, command: list[str]) -> dict[str, Any]:
        try:
            (result,) = await self._behind.run(command)
        except StorageUnavailable as error:
            return {"error": error.message}
        return {"result": result}
