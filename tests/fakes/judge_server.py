"""A judge of meaning behind an address of this machine."""

import json
from collections.abc import Callable

from tests.fakes.loopback import LoopbackServer, QuietHandler


def same_words(claim: str, passage: str) -> float:
    """Share of the claim's words in the passage: a stand-in for a judgement."""
    wanted = set(claim.lower().split())
    return round(len(wanted & set(passage.lower().split())) / max(len(wanted), 1), 4)


class JudgeServer(LoopbackServer):
    """An entailment endpoint on loopback: answers with `reply(claim, passage)` as JSON, or with `raw` as it is."""

    def __init__(
        self, reply: Callable[[str, str], object] | None = None, *, status: int = 200, raw: bytes | None = None
    ) -> None:
        self.asked: list[dict[str, object]] = []
        self.keys: list[str] = []
        self._reply = reply or (lambda claim, passage: {"probability": same_words(claim, passage)})
        self._status = status
        self._raw = raw

    @property
    def url(self) -> str:
        """Where to POST to."""
        return f"{self.origin}/judge"

    def handler(self) -> type[QuietHandler]:
        """Answers as it was told to, and keeps what was asked."""
        owner = self

        class Handler(QuietHandler):
            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
                owner.asked.append(asked)
                owner.keys.append(self.headers.get("Authorization", ""))
                body = owner.body(str(asked["claim"]), str(asked["passage"]))
                self.send_response(owner._status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                if owner._status in {301, 302, 307}:
                    self.send_header("Location", "http://elsewhere.example/")
                self.end_headers()
                self.wfile.write(body)

        return Handler

    def body(self, claim: str, passage: str) -> bytes:
        """The bytes of an answer."""
        return self._raw if self._raw is not None else json.dumps(self._reply(claim, passage)).encode()
