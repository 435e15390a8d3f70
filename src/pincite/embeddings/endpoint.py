"""Vectors from a server of the operator's that speaks OpenAI's `POST /embeddings`: hosted, or vLLM, Ollama, llama.cpp.

Source: OpenAI API reference, "Create embeddings". The address is trusted exactly: no redirect is followed, nothing is
taken from proxies of the environment, and neither address nor texts are logged.
"""

import json
import logging
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from pincite.domain.errors import (
    InvalidSetting,
    NetworkError,
    PinciteError,
    ProviderAuth,
    ProviderBadReply,
    RateLimited,
    Timeout,
)
from pincite.domain.version import VERSION

if TYPE_CHECKING:
    import httpx2

# A batch on a server without a graphics card takes a few seconds; one that is silent for longer is not coming back.
CALL_S: Final = 30.0
# About 15,000 tokens of passages: below what hosted servers take in one call. Chosen, not measured.
_BATCH: Final = 64
# 64 vectors of 4,096 numbers of 20 characters.
_MAX_ANSWER_BYTES: Final = 6 * 1024 * 1024
# About 500 tokens, the window of most such models: some servers refuse longer texts instead of cutting them.
_MAX_CHARS: Final = 2_000
_HINT: Final = "Is the server of `embeddings` up? --words-only goes on without it."


class EndpointEmbedder:
    """Implements `ports.Embedder`. Blocks; any thread may call it.

    Args:
        place: `http(s)://HOST/v1#MODEL`; without `#MODEL` the server chooses.
        api_key: sent as a bearer token.
        deadline_s: of one call.
        transport: takes the place of the network in tests.

    Errors: InvalidSetting: no such address.
    """

    def __init__(
        self,
        place: str,
        *,
        api_key: str | None = None,
        deadline_s: float = CALL_S,
        transport: "httpx2.BaseTransport | None" = None,
    ) -> None:
        address, _, self._model = place.partition("#")
        parts = urlsplit(address)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username:
            raise InvalidSetting(
                "this is no address of a server of embeddings",
                hint="Write http(s)://HOST[:PORT]/v1#MODEL.",
                context={"setting": "embeddings"},
            )
        self._url = f"{address.rstrip('/')}/embeddings"
        self._headers = {"User-Agent": f"Pincite/{VERSION}", "Content-Type": "application/json"}
        if api_key:
            self._headers["Authorization"] = f"Bearer {api_key}"
        self._deadline_s = deadline_s
        self._transport = transport

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector of length 1 for each text, in order.

        Errors: Timeout, NetworkError, RateLimited, ProviderAuth, ProviderBadReply (not one vector for each text).
        """
        if not texts:
            return []
        import httpx2

        logging.getLogger("httpx2").addFilter(_is_warning)
        found: list[list[float]] = []
        with httpx2.Client(
            headers=self._headers,
            follow_redirects=False,
            trust_env=False,
            timeout=self._deadline_s,
            transport=self._transport,
        ) as client:
            for start in range(0, len(texts), _BATCH):
                batch = [_sendable(text) for text in texts[start : start + _BATCH]]
                found += vectors_in(self._answer(client, batch), len(batch))
        if len({len(vector) for vector in found}) != 1:
            raise ProviderBadReply("the server's vectors have different lengths", reason="wrong_shape", hint=_HINT)
        return found

    def _answer(self, client: "httpx2.Client", texts: Sequence[str]) -> Any:  # parsed JSON of any shape
        import httpx2

        body = {"input": texts, "encoding_format": "float"} | ({"model": self._model} if self._model else {})
        received = bytearray()
        try:
            with client.stream("POST", self._url, content=json.dumps(body).encode()) as reply:
                for piece in reply.iter_bytes():
                    received += piece
                    if len(received) > _MAX_ANSWER_BYTES:
                        raise ProviderBadReply("the server of embeddings sent too much", reason="answer_too_large")
        except httpx2.TimeoutException:
            raise Timeout("the server of embeddings did not answer in time", reason="embeddings", hint=_HINT) from None
        except httpx2.HTTPError:  # its text may hold the address
            raise NetworkError("the server of embeddings can't be reached", reason="embeddings", hint=_HINT) from None
        if reply.status_code != 200:
            raise _refusal(reply.status_code)
        try:
            return json.loads(received)
        except (ValueError, RecursionError):
            raise ProviderBadReply("the server of embeddings did not answer with JSON", reason="not_json") from None


def vectors_in(answer: Any, wanted: int) -> list[list[float]]:  # parsed JSON of any shape
    """The vectors of an answer by their `index`, scaled to length 1. Errors: ProviderBadReply (`wrong_shape`)."""
    rows = answer.get("data") if isinstance(answer, dict) else None
    found: dict[int, list[float]] = {}
    for place, row in enumerate(rows if isinstance(rows, list) else ()):
        index, vector = (row.get("index", place), row.get("embedding")) if isinstance(row, dict) else (None, None)
        if isinstance(index, int) and isinstance(vector, list) and all(map(_is_number, vector)):
            length = math.hypot(*vector)
            if length:
                found[index] = [value / length for value in vector]
    if sorted(found) != list(range(wanted)):
        raise ProviderBadReply(
            f"the server of embeddings gave {len(found)} usable vectors for {wanted} texts",
            reason="wrong_shape",
            hint=_HINT,
        )
    return [found[place] for place in range(wanted)]


def _is_number(value: object) -> bool:
    # A million is far above any vector's; what is not below it is no number, infinite, or no float.
    return isinstance(value, int | float) and abs(value) < 1_000_000


def _sendable(text: str) -> str:
    # Servers refuse empty texts, and JSON has no lone surrogates.
    return text[:_MAX_CHARS].encode("utf-8", "replace").decode() if text.strip() else " ."


def _refusal(status: int) -> PinciteError:
    if status in {401, 403}:
        hint = "Check PINCITE_EMBEDDINGS_API_KEY."
        return ProviderAuth("the server of embeddings refused the key", reason="bad_key", hint=hint)
    if status == 429:
        return RateLimited("the server of embeddings is limiting the rate", hint=_HINT)
    return ProviderBadReply(
        f"the server of embeddings answered {status}", reason="bad_status", hint=_HINT, retryable=status >= 500
    )


def _is_warning(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.WARNING
