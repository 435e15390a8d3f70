"""A fake model behind the Gemini protocol on loopback: contents, whole or streamed, functions, usage and troubles.

Source: the public reference of the Gemini API, version v1beta.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from tests.fakes.models.server import Handler, ModelServer, Trouble

from pincite.text.tokens import token_estimate

_ERRORS: Final[Mapping[Trouble, tuple[int, str, str]]] = {
    Trouble.AUTH: (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
    Trouble.QUOTA: (429, "RESOURCE_EXHAUSTED", "You exceeded your current quota, please check your plan and billing."),
    Trouble.RATE_LIMIT: (429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."),
    Trouble.SERVER_ERROR: (500, "INTERNAL", "An internal error has occurred."),
    Trouble.OVERLOADED: (503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
    Trouble.UNKNOWN_MODEL: (404, "NOT_FOUND", "models/nobody is not found for API version v1beta"),
    Trouble.CONTEXT: (400, "INVALID_ARGUMENT", "The input token count (2000000) exceeds the maximum number of tokens"),
}
_STOPS: Final = {"stop": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}


class GoogleServer(ModelServer):
    """Serves a fake at `/v1beta/models/NAME:generateContent`; give `base_url` as the setting `google_base_url`."""

    path = ""

    def refuses(self, headers: Mapping[str, str]) -> bool:
        """Whether the key is not the right one."""
        keys = {name.lower(): value for name, value in headers.items()}
        return self._api_key is not None and keys.get("x-goog-api-key") != self._api_key

    def said(self, request: dict[str, Any]) -> tuple[str, str]:
        """The instructions, and what the user says."""
        contents = [content for content in request.get("contents") or [] if content.get("role", "user") == "user"]
        return _texts(request.get("systemInstruction") or {}), "\n".join(map(_texts, contents))

    @property
    def protocol(self) -> type[Handler]:
        """What speaks the protocol."""
        return GoogleHandler


class GoogleHandler(Handler):
    """Generated content."""

    def failed(self, request: dict[str, Any], trouble: Trouble) -> bool:
        """Send the error of this trouble, where it has one; whether it has."""
        settings = request.get("generationConfig") or {}
        if trouble is Trouble.NO_SCHEMA and settings.get("responseMimeType"):
            self._error(400, "INVALID_ARGUMENT", "JSON mode is not enabled for this model", "")
            return True
        if trouble in _ERRORS:
            reason = "API_KEY_INVALID" if trouble is Trouble.AUTH else ""
            self._error(*_ERRORS[trouble], reason, headers=self.server_of.headers_of(trouble))
            return True
        return False

    def wants_stream(self, request: dict[str, Any]) -> bool:
        """Whether the answer is to come piece by piece."""
        return ":streamGenerateContent" in self.path

    def whole(self, request: dict[str, Any], text: str, finish: str, trouble: Trouble) -> None:
        """Send the content at once."""
        if trouble is Trouble.REFUSAL:
            self.json(200, {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": _usage(request, "")})
            return
        if trouble is Trouble.CONTENT_FILTER:
            body = self._body(request, [], "SAFETY", "")
        else:
            declared = [one for tool in request.get("tools") or [] for one in tool.get("functionDeclarations") or []]
            parts: list[dict[str, Any]] = [{"text": text}]
            if declared:
                try:
                    parts = [{"functionCall": {"name": declared[0]["name"], "args": json.loads(text)}}]
                except ValueError:
                    parts = [{"text": text}]
            body = self._body(request, parts, _STOPS[finish], text)
        if trouble is Trouble.GONE_MID_ANSWER:
            self.send_part(body)
            return
        self.json(200, body)

    def stream(self, request: dict[str, Any], text: str, finish: str, trouble: Trouble) -> None:
        """Send the content piece by piece."""
        self.begin_stream()
        pieces = [text[start : start + 24] for start in range(0, len(text), 24)] or [""]
        for number, piece in enumerate(pieces):
            if number == len(pieces) // 2 and trouble is Trouble.GONE_MID_ANSWER:
                return
            if number == len(pieces) // 2 and trouble is Trouble.ERROR_IN_STREAM:
                told = {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}
                self.wfile.write(f"data: {json.dumps(told)}\r\n\r\n".encode())
                return
            last = number == len(pieces) - 1
            body = self._body(request, [{"text": piece}], _STOPS[finish] if last else "", text)
            self.wfile.write(f"data: {json.dumps(body)}\r\n\r\n".encode())
            self.wfile.flush()

    def _body(self, request: dict[str, Any], parts: list[dict[str, Any]], finish: str, text: str) -> dict[str, Any]:
        candidate: dict[str, Any] = {"index": 0, "content": {"role": "model", "parts": parts}}
        if finish:
            candidate["finishReason"] = finish
        name = self.path.rpartition("/")[2].partition(":")[0]
        used = _usage(request, text)
        return {"candidates": [candidate], "usageMetadata": used, "modelVersion": name, "responseId": "resp_1"}

    def _error(  # one member of the protocol each
        self, status: int, kind: str, message: str, reason: str, headers: dict[str, str] | None = None
    ) -> None:
        told: dict[str, Any] = {"code": status, "message": message, "status": kind}
        if reason:
            info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason}
            told["details"] = [{**info, "domain": "googleapis.com"}]
        self.json(status, {"error": told}, headers)


def _texts(content: Mapping[str, Any]) -> str:
    return "\n".join(str(part.get("text", "")) for part in content.get("parts") or [])


def _usage(request: dict[str, Any], text: str) -> dict[str, int]:
    sent = token_estimate(json.dumps([request.get("systemInstruction"), request.get("contents")]))
    written = max(token_estimate(text), 1)
    return {"promptTokenCount": sent, "candidatesTokenCount": written, "totalTokenCount": sent + written}
