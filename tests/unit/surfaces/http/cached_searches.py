"""Prints by how much each container of a process grew that answered cached searches: `cached_searches.py HOME`.

A process of its own, because in that of other tests grows what they left running.
"""

import gc
import json
import sys
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import anyio

from pincite.engine import Engine
from pincite.surfaces.http.app import create_app
from pincite.surfaces.http.gate import KeyRing

SEARCHES = 300
KINDS = (dict, list, set, deque)


class Searxng(BaseHTTPRequestHandler):
    """Answers every query."""

    def do_GET(self) -> None:
        rows = [{"title": "T", "url": f"https://site{n}.example/p", "content": "Words about it."} for n in range(5)]
        body = json.dumps({"results": rows, "answers": [], "suggestions": []}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        return


@contextmanager
def searxng() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Searxng) as engine:
        thread = threading.Thread(target=engine.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{engine.server_address[1]}"
        engine.shutdown()
        thread.join()


async def asked(app: Any, method: str, path: str, body: bytes = b"", query: bytes = b"") -> Any:
    """The JSON of an answer, asked for without a client that would keep something itself."""
    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "path": path,
        "raw_path": path.encode(), "query_string": query, "root_path": "", "scheme": "http", "state": {},
        "headers": [*headers, (b"content-length", str(len(body)).encode())],
        "client": ("127.0.0.1", 1), "server": ("localhost", 80),
    }  # fmt: skip
    sent: list[Any] = []
    given = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Any:
        if not given:
            await anyio.sleep_forever()
        return given.pop()

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    assert sent[0]["status"] == 200, sent
    return json.loads(b"".join(message.get("body", b"") for message in sent[1:]))


def sizes() -> dict[int, int]:
    """How much is in each container of the process, by its identity."""
    gc.collect()
    found: dict[int, int] = {}
    for thing in gc.get_objects():
        if isinstance(thing, KINDS):
            found[id(thing)] = len(thing)
        # The collector does not list a dictionary of plain values, but whoever holds it. Not asked of modules: that of
        # asyncio hands out freed objects up to CPython 3.12.5, after which the next collection may never end.
        holds = [vars(thing)] if isinstance(thing, ModuleType) else gc.get_referents(thing)
        found.update((id(held), len(held)) for held in holds if isinstance(held, KINDS))
    return found


async def growth(home: Path, engine_url: str) -> list[int]:
    """By how many items each container grew, both times that `SEARCHES` cached searches were answered."""

    def open_engine(scope: str, _: str | None) -> Engine:
        return Engine.from_settings(home=home, scope=scope, source="searxng", searxng_base_url=engine_url)

    app = create_app(open_engine, KeyRing(home))

    async def search(n: int) -> str:
        body = json.dumps({"query": f"warm words {n}"}).encode()
        found = await asked(app, "POST", "/v1/search", body)
        cache: str = found["info"]["cache"]
        return cache

    async def logged(n: int) -> bool:
        return f"words {n}" in str(await asked(app, "GET", "/v1/log", query=b"limit=1"))

    async def settle(n: int) -> None:
        """Wait until the log, which writes behind, has written all."""
        await search(n)
        for _ in range(1200):
            if await logged(n):
                return
            await anyio.sleep(0.05)
        raise AssertionError("the log was not written within a minute")

    async with app.router.lifespan_context(app):
        for n in range(SEARCHES):
            await search(n % 4)
        await settle(1000)
        seen = [sizes()]
        for n in range(2):
            assert {await search(n % 4) for n in range(SEARCHES)} == {"hit"}
            await settle(1001 + n)
            seen.append(sizes())
    # Twice: a list may be large for once, for instance the batch that the log is writing.
    first, second, third = seen
    places = first.keys() & second.keys() & third.keys()
    return [min(second[place] - first[place], third[place] - second[place]) for place in places]


if __name__ == "__main__":
    with searxng() as url:
        grown = anyio.run(growth, Path(sys.argv[1]), url)
    sys.stdout.write(json.dumps({"searches": SEARCHES, "most": sorted(grown)[-5:]}))
