"""A fake model behind the OpenAI protocol on loopback: chat completions and responses, with their usual troubles."""

import json
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from enum import StrEnum
from http.server import BaseHTTPRequestHandler
from typing import Any, cast

from tests.fakes.loopback import LoopbackServer

from pincite.testing.models import ModelFake
from pincite.text.tokens import token_estimate

NAME = "fake-1"


class Trouble(StrEnum):
    """What can go wrong with one request."""

    NONE = "none"
    AUTH = "auth"
    QUOTA = "quota"
    RATE_LIMIT = "rate_limit"
    SERVER_ERROR = "server_error"
    OVERLOADED = "overloaded"
    UNKNOWN_MODEL = "unknown_model"
    CONTEXT = "context"
    NO_SCHEMA = "no_schema"
    REFUSAL = "refusal"
    CONTENT_FILTER = "content_filter"
    PROSE = "prose"
    BROKEN_JSON = "broken_json"
    TRUNCATED = "truncated"
    EMPTY = "empty"
    HUGE = "huge"
    OTHER_SHAPE = "other_shape"
    NO_USAGE = "no_usage"
    NOT_JSON_AT_ALL = "not_json_at_all"
    SLOW = "slow"
    GONE = "gone"
    GONE_MID_ANSWER = "gone_mid_answer"
    ERROR_IN_STREAM = "error_in_stream"


_ERRORS: dict[Trouble, tuple[int, str, str, str]] = {
    Trouble.AUTH: (401, "authentication_error", "invalid_api_key", "Incorrect API key provided"),
    Trouble.QUOTA: (429, "insufficient_quota", "insufficient_quota", "You exceeded your current quota"),
    Trouble.RATE_LIMIT: (429, "rate_limit_error", "rate_limit_exceeded", "Rate limit reached"),
    Trouble.SERVER_ERROR: (500, "server_error", "", "The server had an error"),
    Trouble.OVERLOADED: (503, "server_error", "", "The engine is overloaded"),
    Trouble.UNKNOWN_MODEL: (404, "invalid_request_error", "model_not_found", "The model does not exist"),
    Trouble.CONTEXT: (
        400,
        "invalid_request_error",
        "context_length_exceeded",
        "This model's maximum context length is 8192 tokens",
    ),
}


class ModelServer(LoopbackServer):
    """Serves a fake; `base_url` is where.

    Args:
        model: what answers.
        troubles: what goes wrong with the first, second, ... request; after them all is well.
        always: what goes wrong with every request after those.
        latency_s: seconds before each answer.
        slow_s: how long `Trouble.SLOW` takes.
        api_key: the key that is accepted; None accepts any.
        retry_after_s: what `Trouble.RATE_LIMIT` says.
    """

    path = "/v1"

    def __init__(
        self,
        model: ModelFake,
        *,
        troubles: Sequence[Trouble] = (),
        always: Trouble = Trouble.NONE,
        latency_s: float = 0.0,
        slow_s: float = 5.0,
        api_key: str | None = None,
        retry_after_s: float = 0.0,
    ) -> None:
        self.model = model
        self.requests: list[dict[str, Any]] = []
        self.thinking = 0
        """Tokens thought before the last answer."""
        self._troubles = list(troubles)
        self._always = always
        self._latency_s = latency_s
        self._slow_s = slow_s
        self._api_key = api_key
        self._retry_after_s = retry_after_s
        self._lock = threading.Lock()

    def next_trouble(self) -> Trouble:
        """What goes wrong now."""
        with self._lock:
            return self._troubles.pop(0) if self._troubles else self._always

    @property
    def base_url(self) -> str:
        """What a client is given as its base."""
        return f"{self.origin}{self.path}"

    def handler(self) -> "type[Handler]":
        """What speaks the protocol for this fake."""
        owner = self

        class Owned(self.protocol):  # type: ignore[misc, name-defined]  # each protocol has its own
            server_of = owner

        return Owned

    def refuses(self, headers: Mapping[str, str]) -> bool:
        """Whether the key in the headers is not the right one."""
        sent = {name.lower(): value for name, value in headers.items()}
        return self._api_key is not None and sent.get("authorization", "") != f"Bearer {self._api_key}"

    def wait(self, trouble: Trouble) -> None:
        """Take the time an answer takes."""
        time.sleep(self._slow_s if trouble is Trouble.SLOW else self._latency_s)

    def headers_of(self, trouble: Trouble) -> dict[str, str]:
        """What an error carries beside its body."""
        return {"Retry-After": f"{self._retry_after_s:g}"} if trouble is Trouble.RATE_LIMIT else {}

    def text_for(self, request: dict[str, Any], trouble: Trouble) -> tuple[str, str]:
        """The answer and why it ended."""
        bad = {
            Trouble.PROSE: "Certainly! I would be happy to help you with that question.",
            Trouble.BROKEN_JSON: '{"claims": [{"text": "half", ]}',
            Trouble.EMPTY: "",
            Trouble.OTHER_SHAPE: '{"answer": 42}',
        }
        if trouble in bad:
            return bad[trouble], "stop"
        if trouble is Trouble.HUGE:
            return "x" * 10_000_000, "stop"
        text, finish, usage = self.model.written(*self.said(request), cap_of(request))
        self.thinking = usage.thinking or 0
        if trouble is Trouble.TRUNCATED:
            return text[: len(text) // 2], "length"
        return text, finish

    def said(self, request: dict[str, Any]) -> tuple[str, str]:
        """What the request says to the model: the instructions, and the rest."""
        messages = cast("list[dict[str, Any]]", request.get("messages") or request.get("input") or [])
        system = [_texts(m.get("content")) for m in messages if m.get("role") in ("system", "developer")]
        user = "\n".join(_texts(m.get("content")) for m in messages if m.get("role") == "user")
        return "\n".join([*filter(None, [request.get("instructions")]), *system]), user

    @property
    def protocol(self) -> "type[Handler]":
        """What speaks the protocol."""
        return OpenAiHandler


class Handler(BaseHTTPRequestHandler, ABC):
    """One connection: what all protocols have in common. Subclasses write whole answers, streams and errors."""

    protocol_version = "HTTP/1.1"
    server_of: ModelServer

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_POST(self) -> None:  # the name that the standard library looks for
        """One answer."""
        owner = self.server_of
        request = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        owner.requests.append(request)
        trouble = Trouble.AUTH if owner.refuses(dict(self.headers.items())) else owner.next_trouble()
        owner.wait(trouble)
        if self.failed(request, trouble):
            return
        if trouble is Trouble.NOT_JSON_AT_ALL:
            self._send(200, b"<html>It works!</html>", "text/html")
            return
        if trouble is Trouble.GONE:
            self.close_connection = True
            return
        text, finish = owner.text_for(request, trouble)
        try:
            if self.wants_stream(request):
                self.stream(request, text, finish, trouble)
            else:
                self.whole(request, text, finish, trouble)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    @abstractmethod
    def failed(self, request: dict[str, Any], trouble: Trouble) -> bool:
        """Send the error of this trouble, where it has one; whether it has."""

    def wants_stream(self, request: dict[str, Any]) -> bool:
        """Whether the answer is to come piece by piece."""
        return bool(request.get("stream"))

    @abstractmethod
    def whole(self, request: dict[str, Any], text: str, finish: str, trouble: Trouble) -> None:
        """Send the answer at once."""

    @abstractmethod
    def stream(self, request: dict[str, Any], text: str, finish: str, trouble: Trouble) -> None:
        """Send the answer piece by piece."""

    def send_part(self, body: dict[str, Any]) -> None:
        """Send the first half of an answer and go away."""
        data = json.dumps(body).encode()
        self.head(200, "application/json", len(data))
        self.wfile.write(data[: len(data) // 2])
        self.close_connection = True

    def begin_stream(self) -> None:
        """Send the head of a stream."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True

    def json(self, status: int, body: dict[str, Any], headers: dict[str, str] | None = None) -> None:
        """Send a JSON body."""
        self._send(status, json.dumps(body).encode(), "application/json", headers)

    def _send(self, status: int, data: bytes, kind: str, headers: dict[str, str] | None = None) -> None:
        self.head(status, kind, len(data), headers)
        self.wfile.write(data)

    def head(self, status: int, kind: str, length: int, headers: dict[str, str] | None = None) -> None:
        """Send status and headers."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(length))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()


class OpenAiHandler(Handler):
    """Chat completions."""

    def do_GET(self) -> None:  # the name that the standard library looks for
        """The list of models."""
        self.json(200, {"object": "list", "data": [{"id": NAME, "object": "model", "created": 1, "owned_by": "us"}]})

    def failed(self, request: dict[str, Any], trouble: Trouble) -> bool:
        """Send the error of this trouble, where it has one; whether it has."""
        if trouble in _ERRORS:
            self._error(*_ERRORS[trouble], headers=self.server_of.headers_of(trouble))
            return True
        if trouble is Trouble.NO_SCHEMA and (request.get("response_format") or request.get("tools")):
            self._error(400, "invalid_request_error", "", "response_format is not supported")
            return True
        return False

    def whole(self, request: dict[str, Any], text: str, finish: str, trouble: Trouble) -> None:
        """Send the completion, or the response, at once."""
        if self.path.endswith("/responses"):
            self.json(200, response_of(request, text, finish, trouble, self.server_of.thinking))
            return
        message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None, "annotations": []}
        tools = request.get("tools")
        if trouble is Trouble.REFUSAL:
            message.update(content=None, refusal="I can't help with that.")
        elif trouble is Trouble.CONTENT_FILTER:
            message["content"], finish = "", "content_filter"
        elif tools:
            call = {"name": tools[0]["function"]["name"], "arguments": text}
            message["content"] = None
            message["tool_calls"] = [{"id": "call_1", "type": "function", "function": call}]
            finish = "tool_calls" if finish == "stop" else finish
        body: dict[str, Any] = {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1_790_000_000,
            "model": str(request.get("model")),
            "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}],
        }
        if trouble is not Trouble.NO_USAGE:
            body["usage"] = _usage(request, text, self.server_of.thinking)
        if trouble is Trouble.GONE_MID_ANSWER:
            self.send_part(body)
            return
        self.json(200, body)

    def stream(self, request: dict[str, Any], text: str, finish: str, trouble: Trouble) -> None:
        """Send the completion piece by piece."""
        self.begin_stream()
        base = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": str(request.get("model"))}

        def send(choices: list[Any], **more: Any) -> None:
            self.wfile.write(f"data: {json.dumps({**base, 'choices': choices, **more})}\n\n".encode())
            self.wfile.flush()

        def delta(content: dict[str, Any], finish_reason: str | None = None) -> list[Any]:
            return [{"index": 0, "delta": content, "finish_reason": finish_reason, "logprobs": None}]

        self.wfile.write(b": keep-alive\n\n")
        send(delta({"role": "assistant", "content": ""}))
        pieces = [text[start : start + 24] for start in range(0, len(text), 24)]
        for number, piece in enumerate(pieces):
            if number == len(pieces) // 2 and trouble is Trouble.GONE_MID_ANSWER:
                return
            if number == len(pieces) // 2 and trouble is Trouble.ERROR_IN_STREAM:
                told = {"message": "The server had an error", "type": "server_error", "param": None, "code": None}
                self.wfile.write(f"data: {json.dumps({'error': told})}\n\n".encode())
                return
            send(delta({"content": piece}))
        send(delta({}, finish))
        if (request.get("stream_options") or {}).get("include_usage") and trouble is not Trouble.NO_USAGE:
            send([], usage=_usage(request, text, self.server_of.thinking))
        self.wfile.write(b"data: [DONE]\n\n")

    def _error(self, status: int, type_: str, code: str, message: str, headers: dict[str, str] | None = None) -> None:
        told = {"message": message, "type": type_, "param": None, "code": code or None}
        self.json(status, {"error": told}, headers)


def _texts(content: object) -> str:
    """The text of a message whose content is a string or a list of parts."""
    if isinstance(content, list):
        return "\n\n".join(str(part.get("text", "")) for part in content)
    return str(content or "")


def response_of(request: dict[str, Any], text: str, finish: str, trouble: Trouble, thinking: int) -> dict[str, Any]:
    """The object that the Responses API answers with."""
    part: dict[str, Any] = {"type": "output_text", "text": text, "annotations": []}
    if trouble is Trouble.REFUSAL:
        part = {"type": "refusal", "refusal": "I can't help with that."}
    sent = token_estimate(json.dumps(request.get("input") or []))
    written = thinking + token_estimate(text)
    cut = {"reason": "max_output_tokens"} if finish == "length" else None
    message = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1_790_000_000,
        "status": "incomplete" if cut else "completed",
        "incomplete_details": cut,
        "error": None,
        "instructions": None,
        "metadata": {},
        "model": str(request.get("model")),
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "output": [message],
        "usage": {
            "input_tokens": sent,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": written,
            "output_tokens_details": {"reasoning_tokens": thinking},
            "total_tokens": sent + written,
        },
    }


def cap_of(request: dict[str, Any]) -> int:
    """The most the request lets the model think and write."""
    given = (request.get(name) for name in ("max_tokens", "max_completion_tokens", "max_output_tokens"))
    inner = (request.get("generationConfig") or {}).get("maxOutputTokens")
    return int(next((cap for cap in (*given, inner) if cap), 100_000))


def _usage(request: dict[str, Any], text: str, thinking: int) -> dict[str, Any]:
    sent = token_estimate(json.dumps(request.get("messages") or []))
    written = thinking + token_estimate(text)
    return {
        "prompt_tokens": sent,
        "completion_tokens": written,
        "total_tokens": sent + written,
        "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": thinking},
    }
