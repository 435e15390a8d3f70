"""A fake model behind the Anthropic protocol on loopback: messages, whole or streamed, tools, usage and troubles.

Source: the public reference of the Messages API; the official client is tested against it.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from tests.fakes.models.server import Handler, ModelServer, Trouble

from pincite.text.tokens import token_estimate

_ERRORS: Final[Mapping[Trouble, tuple[int, str, str]]] = {
    Trouble.AUTH: (401, "authentication_error", "invalid x-api-key"),
    Trouble.QUOTA: (402, "billing_error", "Your credit balance is too low to access the Anthropic API"),
    Trouble.RATE_LIMIT: (429, "rate_limit_error", "This request would exceed your rate limit"),
    Trouble.SERVER_ERROR: (500, "api_error", "Internal server error"),
    Trouble.OVERLOADED: (529, "overloaded_error", "Overloaded"),
    Trouble.UNKNOWN_MODEL: (404, "not_found_error", "model: nobody"),
    Trouble.CONTEXT: (400, "invalid_request_error", "prompt is too long: 250000 tokens > 200000 maximum"),
}
_STOPS: Final = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}


class AnthropicServer(ModelServer):
    """Serves a fake at `/v1/messages`; give `base_url` as the setting `anthropic_base_url`."""

    path = ""

    def refuses(self, headers: Mapping[str, str]) -> bool:
        """Whether the key is not the right one; both headers in use carry it."""
        sent = {name.lower(): value for name, value in headers.items()}
        key = sent.get("x-api-key") or sent.get("authorization", "").removeprefix("Bearer ")
        return self._api_key is not None and key != self._api_key

    def said(self, request: dict[str, Any]) -> tuple[str, str]:
        """The instructions, and what the user says."""
        messages = [m for m in request.get("messages") or [] if m.get("role") == "user"]
        return _texts(request.get("system")), "\n".join(_texts(message.get("content")) for message in messages)

    @property
    def protocol(self) -> type[Handler]:
        """What speaks the protocol."""
        return AnthropicHandler


class AnthropicHandler(Handler):
    """Messages."""

    def failed(self, request: dict[str, Any], trouble: Trouble) -> bool:
        """Send the error of this trouble, where it has one; whether it has."""
        if self.path.partition("?")[0] != "/v1/messages":
            self._error(404, "not_found_error", f"no such path: {self.path}")
            return True
        if trouble is Trouble.NO_SCHEMA and (request.get("output_config") or request.get("output_format")):
            self._error(400, "invalid_request_error", "output_format: not supported by this model")
            return True
        if trouble in _ERRORS:
            self._error(*_ERRORS[trouble], headers=self.server_of.headers_of(trouble))
            return True
        return False

    def whole(self, request: dict[str, Any], text: str, finish: str, trouble: Trouble) -> None:
        """Send the message at once."""
        tools = request.get("tools")
        content: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
        stop = _STOPS[finish]
        if trouble in (Trouble.REFUSAL, Trouble.CONTENT_FILTER):
            content, stop = [], "refusal"
        elif tools and (made := _object(text)) is not None:
            content = [{"type": "tool_use", "id": "toolu_1", "name": tools[0]["name"], "input": made}]
            stop = "tool_use" if stop == "end_turn" else stop
        body = {**_message(request), "content": content, "stop_reason": stop, "usage": _usage(request, text)}
        if trouble is Trouble.GONE_MID_ANSWER:
            self.send_part(body)
            return
        self.json(200, body)

    def stream(self, request: dict[str, Any], text: str, finish: str, trouble: Trouble) -> None:
        """Send the message piece by piece."""
        self.begin_stream()
        used = _usage(request, text)

        def send(kind: str, **data: Any) -> None:
            self.wfile.write(f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode())
            self.wfile.flush()

        opening = {**_message(request), "content": [], "usage": {**used, "output_tokens": 1}}
        send("message_start", message=opening)
        send("content_block_start", index=0, content_block={"type": "text", "text": ""})
        send("ping")
        pieces = [text[start : start + 24] for start in range(0, len(text), 24)]
        for number, piece in enumerate(pieces):
            if number == len(pieces) // 2 and trouble is Trouble.GONE_MID_ANSWER:
                return
            if number == len(pieces) // 2 and trouble is Trouble.ERROR_IN_STREAM:
                send("error", error={"type": "overloaded_error", "message": "Overloaded"})
                return
            send("content_block_delta", index=0, delta={"type": "text_delta", "text": piece})
        send("content_block_stop", index=0)
        delta = {"stop_reason": _STOPS[finish], "stop_sequence": None}
        send("message_delta", delta=delta, usage={"output_tokens": used["output_tokens"]})
        send("message_stop")

    def _error(self, status: int, kind: str, message: str, headers: dict[str, str] | None = None) -> None:
        told = {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}
        self.json(status, told, headers)


def _texts(content: object) -> str:
    """The text of a content that is a string or a list of blocks."""
    if isinstance(content, list):
        return "\n".join(str(block.get("text", "")) for block in content if block.get("type") == "text")
    return str(content or "")


def _object(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _message(request: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": str(request.get("model")),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }


def _usage(request: dict[str, Any], text: str) -> dict[str, int]:
    sent = token_estimate(json.dumps([request.get("system"), request.get("messages")]))
    return {
        "input_tokens": sent,
        "output_tokens": max(token_estimate(text), 1),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
    }
