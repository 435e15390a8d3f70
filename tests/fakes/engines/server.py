"""The fakes on a loopback port, for official clients and for tests with real sockets."""

from tests.fakes.engines.fakes import FakeEngines
from tests.fakes.loopback import LoopbackServer, QuietHandler


class EngineServer(LoopbackServer):
    """Serves the fakes."""

    def __init__(self, engines: FakeEngines) -> None:
        self._engines = engines

    def handler(self) -> type[QuietHandler]:
        """What hands each request to the fakes."""
        engines = self._engines

        class Handler(QuietHandler):
            protocol_version = "HTTP/1.1"

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

        return Handler
