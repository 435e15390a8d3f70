"""The fakes on a loopback port, for official clients and for tests with real sockets."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType

from tests.fakes.engines.fakes import FakeEngines


class _QuietServer(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """A client that goes away in the middle is expected here."""


class EngineServer:
    """Serves the fakes on 127.0.0.1 while entered; `origin` is where."""

    def __init__(self, engines: FakeEngines) -> None:
        self._engines = engines
        self._server: ThreadingHTTPServer | None = None
        self.origin = ""

    def __enter__(self) -> "EngineServer":
        engines = self._engines

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                """Say nothing."""

            def _serve(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                reply = engines.handle(self.command, self.path, dict(self.headers.items()), self.rfile.read(length))
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(reply.body)))
                self.end_headers()
                try:
                    self.wfile.write(reply.body)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            do_GET = do_POST = _serve  # the names that the standard library looks for

        self._server = _QuietServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.origin = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
