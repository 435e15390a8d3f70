"""One server for all the tests of this folder, over a small library; one run that has ended."""

import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn

from pincite.engine import Engine
from pincite.surfaces.http.app import create_app
from pincite.surfaces.http.gate import KeyRing
from pincite.surfaces.runs import settings_of

PAGES = {
    "lighthouse.md": (
        "# Halden lighthouse\n\nThe Halden lighthouse is 41 metres tall. It was first lit on 3 May 1897, after two "
        "years of building.\n\nThe Halden lighthouse was built by the harbour board of Halden.\n"
    ),
    "harbour.md": "# Halden harbour\n\nThe harbour of Halden has two piers. Ships wait there for the tide.\n",
}
QUESTION = "How tall is the Halden lighthouse?"


@pytest.fixture(scope="session")
def pages() -> dict[str, str]:
    return PAGES


@pytest.fixture(scope="session")
def question() -> str:
    return QUESTION


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library")
    for name, text in PAGES.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def made_app(library: Path) -> Callable[..., Any]:
    """Makes the application over a home."""

    def make(home: Path, *, profile: str | None = None, settings: dict[str, Any] | None = None, **options: Any) -> Any:
        def open_engine(scope: str, wanted: str | None) -> Engine:
            more: dict[str, Any] = {"source": f"local:{library}", **settings_of(wanted or profile), **(settings or {})}
            return Engine.from_settings(home=home, scope=scope, **more)

        return create_app(open_engine, KeyRing(home), **options)

    return make


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@contextmanager
def served(app: Any, **config: Any) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    running = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error", **config))
    thread = threading.Thread(target=running.run)
    thread.start()
    for _ in range(1000):
        if running.started:
            break
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        running.should_exit = True
        thread.join(timeout=20)


@pytest.fixture(scope="session")
def serving() -> Callable[..., AbstractContextManager[str]]:
    """Serves an application; gives its URL."""
    return served


@pytest.fixture(scope="session")
def server(made_app: Callable[..., Any], home: Path) -> Iterator[str]:
    """The URL of a server that asks for no key."""
    with served(made_app(home, hosts=("127.0.0.1", "localhost"))) as url:
        yield url


@pytest.fixture
async def client(server: str) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(base_url=server, timeout=120) as opened:
        yield opened


@pytest.fixture
def opened(made_app: Callable[..., Any]) -> Callable[..., Any]:
    """A client of an application of its own, without a socket; to be used within one task."""

    @asynccontextmanager
    async def open_(home: Path, **options: Any) -> AsyncIterator[httpx2.AsyncClient]:
        app = made_app(home, **options)
        transport = httpx2.ASGITransport(app=app)
        async with (
            app.router.lifespan_context(app),
            httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client,
        ):
            yield client

    return open_


@pytest.fixture(scope="session")
def ended_run(server: str) -> str:
    """The id of a run that has a report."""
    with httpx2.Client(base_url=server, timeout=120) as client:
        run_id: str = client.post("/v1/research", json={"question": QUESTION}).json()["id"]
        ended = client.get(f"/v1/research/{run_id}", params={"wait": 50}).json()
    assert ended["status"] in ("completed", "partial"), ended
    return run_id
