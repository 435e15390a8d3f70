"""What every server of the tests on 127.0.0.1 shares: a thread for as long as it is needed, and whole answers."""

import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from typing import Self, TypeVar

Server = TypeVar("Server", bound=HTTPServer)


class QuietHandler(BaseHTTPRequestHandler):
    """Prints nothing; `answer` sends a body with its length, or an object as JSON."""

    def answer(self, body: object, status: int = 200, kind: str = "application/json") -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Nothing: a test prints what it says."""


@contextmanager
def serving(server: Server) -> Iterator[Server]:
    """The server while it answers in a thread of its own; closed at the end, its thread gone."""
    with server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class _PatientServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A client that goes away in the middle is expected here."""


class LoopbackServer:
    """A fake that answers on 127.0.0.1 while entered; `origin` is where.

    What is given to it, and what it was asked, is kept in the fake: `handler` makes the class that answers for it.
    """

    origin = ""

    def handler(self) -> type[BaseHTTPRequestHandler]:
        """What answers a request."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        self._until_left = ExitStack()
        server = self._until_left.enter_context(serving(_PatientServer(("127.0.0.1", 0), self.handler())))
        self.origin = f"http://127.0.0.1:{server.server_port}"
        return self

    def __exit__(self, *_: object) -> None:
        self._until_left.close()


@contextmanager
def serving_at(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """The address of a server with these answers."""
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), handler)) as server:
        yield f"http://127.0.0.1:{server.server_port}"
