"""A server of the operator's that embeds (OpenAI's `POST /embeddings`) or reranks (Cohere's `POST /rerank`).

Hosted, or vLLM, Ollama, llama.cpp, Infinity. Sources: OpenAI API reference, "Create embeddings"; Cohere API reference,
"Rerank" (v2), whose shape Jina, vLLM and llama.cpp share. The address is trusted exactly: no redirect is followed,
nothing is taken from proxies of the environment, and neither address nor texts are logged.
"""

import json
import logging
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeGuard
from urllib.parse import urlsplit

from pincite.apis import without_requests
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


class OwnServer:
    """POSTs JSON to one address and gives back the JSON of each answer. Blocks; any thread may call it.

    Args:
        place: `http(s)://HOST/v1#MODEL`; without `#MODEL` the server chooses.
        api_key: sent as a bearer token.
        deadline_s: of one call.
        transport: takes the place of the network in tests.

    Errors: InvalidSetting: no such address.
    """

    setting: ClassVar[str]
    """That names it, for errors; its key is the setting `SETTING_api_key`."""
    path: ClassVar[str]
    """What is asked below the address."""

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
                f"this is no address of a server for `{self.setting}`",
                hint="Write http(s)://HOST[:PORT]/v1#MODEL.",
                context={"setting": self.setting},
            )
        self._url = f"{address.rstrip('/')}/{self.path}"
        self._headers = {"User-Agent": f"Pincite/{VERSION}", "Content-Type": "application/json"}
        if api_key:
            self._headers["Authorization"] = f"Bearer {api_key}"
        self._deadline_s = deadline_s
        self._transport = transport
        self.hint = f"Is the server of `{self.setting}` up? --words-only goes on without it."

    def answers(self, bodies: Iterable[Mapping[str, object]]) -> Iterator[Any]:  # parsed JSON of any shape
        """What it answers to each body in turn, over one connection.

        Errors: Timeout, NetworkError, RateLimited, ProviderAuth, ProviderBadReply (`bad_status`, `not_json`, ...).
        """
        import httpx2

        logging.getLogger("httpx2").addFilter(without_requests)
        with httpx2.Client(
            headers=self._headers,
            follow_redirects=False,
            trust_env=False,
            timeout=self._deadline_s,
            transport=self._transport,
        ) as client:
            for body in bodies:
                yield self._answer(client, {"model": self._model, **body} if self._model else body)

    def _answer(self, client: "httpx2.Client", body: Mapping[str, object]) -> Any:  # parsed JSON of any shape
        import httpx2

        received = bytearray()
        try:
            with client.stream("POST", self._url, content=json.dumps(body).encode()) as reply:
                for piece in reply.iter_bytes():
                    received += piece
                    if len(received) > _MAX_ANSWER_BYTES:
                        raise self.bad_reply("sent too much", "answer_too_large")
        except httpx2.TimeoutException:
            what = f"the server of `{self.setting}` did not answer in time"
            raise Timeout(what, reason=self.setting, hint=self.hint) from None
        except httpx2.HTTPError:  # its text may hold the address
            what = f"the server of `{self.setting}` can't be reached"
            raise NetworkError(what, reason=self.setting, hint=self.hint) from None
        if reply.status_code != 200:
            raise self._refusal(reply.status_code)
        try:
            return json.loads(received)
        except (ValueError, RecursionError):
            raise self.bad_reply("did not answer with JSON", "not_json") from None

    def bad_reply(self, what: str, reason: str) -> ProviderBadReply:
        """The error for an answer that can't be used."""
        return ProviderBadReply(f"the server of `{self.setting}` {what}", reason=reason, hint=self.hint)

    def _refusal(self, status: int) -> PinciteError:
        if status in {401, 403}:
            hint = f"Check PINCITE_{self.setting.upper()}_API_KEY."
            return ProviderAuth(f"the server of `{self.setting}` refused the key", reason="bad_key", hint=hint)
        if status == 429:
            return RateLimited(f"the server of `{self.setting}` is limiting the rate", hint=self.hint)
        what = f"the server of `{self.setting}` answered {status}"
        return ProviderBadReply(what, reason="bad_status", hint=self.hint, retryable=status >= 500)


class EndpointEmbedder(OwnServer):
    """Implements `ports.Embedder`. Args and errors: as `OwnServer`."""

    setting = path = "embeddings"

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector of length 1 for each text, in order.

        Errors: those of `OwnServer.answers`, ProviderBadReply (`wrong_shape`: not one vector for each text).
        """
        batches = [[*map(_sendable, texts[at : at + _BATCH])] for at in range(0, len(texts), _BATCH)]
        answers = self.answers({"input": batch, "encoding_format": "float"} for batch in batches)
        found: list[list[float]] = []
        for answer, batch in zip(answers, batches, strict=True):
            vectors = _vectors_in(answer)
            if sorted(vectors) != list(range(len(batch))):
                what = f"gave {len(vectors)} usable vectors for {len(batch)} texts"
                raise self.bad_reply(what, "wrong_shape")
            found += (vectors[place] for place in range(len(batch)))
        if len(set(map(len, found))) > 1:
            raise self.bad_reply("gave vectors of different lengths", "wrong_shape")
        return found


class EndpointReranker(OwnServer):
    """Implements `ports.Reranker`. Args and errors: as `OwnServer`."""

    setting = "reranker"
    path = "rerank"

    def scores(self, question: str, passages: Sequence[str]) -> list[float]:
        """How relevant each passage is, in order.

        Errors: those of `OwnServer.answers`, ProviderBadReply (`wrong_shape`: not one score for each passage).
        """
        if not passages:
            return []
        texts = [*map(_sendable, passages)]
        [answer] = self.answers([{"query": _sendable(question), "documents": texts, "top_n": len(texts)}])
        rows = answer.get("results") if isinstance(answer, dict) else None
        found: dict[int, float] = {}
        for row in rows if isinstance(rows, list) else ():
            place, score = (row.get("index"), row.get("relevance_score")) if isinstance(row, dict) else (None, None)
            if isinstance(place, int) and _is_number(score):
                found[place] = score
        if sorted(found) != list(range(len(texts))):
            raise self.bad_reply(f"gave {len(found)} scores for {len(texts)} passages", "wrong_shape")
        return [found[place] for place in range(len(texts))]


def _vectors_in(answer: Any) -> dict[int, list[float]]:  # parsed JSON of any shape
    """The vectors of an answer by their `index`, scaled to length 1."""
    rows = answer.get("data") if isinstance(answer, dict) else None
    found: dict[int, list[float]] = {}
    for place, row in enumerate(rows if isinstance(rows, list) else ()):
        index, vector = (row.get("index", place), row.get("embedding")) if isinstance(row, dict) else (None, None)
        if isinstance(index, int) and isinstance(vector, list) and all(map(_is_number, vector)):
            length = math.hypot(*vector)
            if length:
                found[index] = [value / length for value in vector]
    return found


def _is_number(value: object) -> TypeGuard[float]:
    # A million is far above any vector's; what is not below it is no number, infinite, or no float.
    return isinstance(value, int | float) and abs(value) < 1_000_000


def _sendable(text: str) -> str:
    # Servers refuse empty texts, and JSON has no lone surrogates.
    return text[:_MAX_CHARS].encode("utf-8", "replace").decode() if text.strip() else " ."
