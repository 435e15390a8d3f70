"""A judge behind an HTTP endpoint of the operator's: POST of claim and passage, one probability back.

The endpoint is trusted exactly: no redirect is followed, nothing is taken from proxies of the environment, and neither
URL nor texts are logged. It is asked in the words of natural language inference (premise, hypothesis) and in ours at
once; what is read of the answer is in `probability_in`.
"""

import json
import logging
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import anyio

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
from pincite.runtime.metering import count_request

if TYPE_CHECKING:
    import httpx2

CALL_S: Final = 10.0
_MAX_ANSWER_BYTES: Final = 256 * 1024
_MAX_PASSAGE_CHARS: Final = 8_000
_MAX_CLAIM_CHARS: Final = 2_000
_ENTAILS: Final = frozenset({"entailment", "entails", "supported", "support", "yes", "true", "label_entailment"})
_NAMES: Final = ("probability", "entailment", "score", "supported")
_DEEPEST: Final = 4


class HttpJudge:
    """Implements `ports.EntailmentBackend`.

    Args:
        url: where to POST to.
        api_key: sent as a bearer token.
        deadline_s: of one call.
        transport: takes the place of the network in tests.
    """

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        deadline_s: float = CALL_S,
        transport: "httpx2.AsyncBaseTransport | None" = None,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username:
            raise InvalidSetting("entailment must be http(s)://host[:port][/path]", context={"setting": "entailment"})
        self._url = url
        self._headers = {"User-Agent": f"Pincite/{VERSION}", "Accept": "application/json"}
        if api_key:
            self._headers["Authorization"] = f"Bearer {api_key}"
        self._deadline_s = deadline_s
        self._transport = transport
        self._client: httpx2.AsyncClient | None = None

    async def aclose(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def judge(self, claim: str, passage: str) -> float | None:
        """Probability 0-1 that the passage entails the claim, or None when the endpoint says that it can't tell.

        Errors: Timeout, NetworkError, RateLimited, ProviderAuth, ProviderBadReply.
        """
        claim, passage = claim[:_MAX_CLAIM_CHARS], passage[:_MAX_PASSAGE_CHARS]
        body = {"claim": claim, "passage": passage, "premise": passage, "hypothesis": claim}
        count_request()
        status, answer = await self._call(json.dumps(body, ensure_ascii=False).encode())
        if status != 200:
            raise _refusal(status)
        try:
            value = json.loads(answer)
        except (ValueError, RecursionError):
            raise ProviderBadReply("the entailment endpoint did not answer with JSON", reason="not_json") from None
        return probability_in(value)

    async def _call(self, body: bytes) -> tuple[int, bytes]:
        import httpx2

        try:
            with anyio.fail_after(self._deadline_s):
                async with self._opened().stream("POST", self._url, content=body) as reply:
                    received = bytearray()
                    async for piece in reply.aiter_bytes():
                        received += piece
                        if len(received) > _MAX_ANSWER_BYTES:
                            raise ProviderBadReply("the entailment endpoint sent too much", reason="answer_too_large")
                    return reply.status_code, bytes(received)
        except (TimeoutError, httpx2.TimeoutException):
            raise Timeout("the entailment endpoint did not answer in time", reason="entailment") from None
        except httpx2.HTTPError:  # its text may hold the URL
            raise NetworkError("the entailment endpoint can't be reached", reason="connect") from None

    def _opened(self) -> "httpx2.AsyncClient":
        if self._client is None:
            import httpx2

            logging.getLogger("httpx2").addFilter(_quiet)
            self._client = httpx2.AsyncClient(
                headers={**self._headers, "Content-Type": "application/json"},
                follow_redirects=False,
                trust_env=False,
                timeout=self._deadline_s,
                limits=httpx2.Limits(max_connections=8),
                transport=self._transport,
            )
        return self._client


def probability_in(value: Any, depth: int = 0) -> float | None:  # parsed JSON of any shape
    """The probability in an answer; null says "can't tell".

    Read are `{"probability": 0.93}` (or `entailment`, `score`, `supported`), and the `{"label", "score"}` of
    classifiers, alone or in a list, of which the label for entailment counts.

    Errors: ProviderBadReply (`wrong_shape`).
    """
    if isinstance(value, dict) and "label" not in value:
        named = [value[name] for name in _NAMES if name in value]
        if named:
            return _probability(named[0])
        inner = [value[name] for name in ("labels", "predictions", "result", "data") if name in value]
        if inner and depth < _DEEPEST:
            return probability_in(inner[0], depth + 1)
    rows = [value] if isinstance(value, dict) else value
    if isinstance(rows, list) and rows and depth < _DEEPEST:
        if isinstance(rows[0], list):
            return probability_in(rows[0], depth + 1)
        labelled = [row for row in rows if isinstance(row, dict) and isinstance(row.get("label"), str)]
        for row in labelled:
            if row["label"].lower() in _ENTAILS:
                return _probability(row.get("score"))
    raise ProviderBadReply("the entailment endpoint answered in an unknown shape", reason="wrong_shape")


def _probability(value: Any) -> float | None:  # a member of parsed JSON
    if value is None:
        return None
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, int | float) and 0 <= value <= 1:
        return float(value)
    raise ProviderBadReply("the entailment endpoint gave no probability of 0 to 1", reason="wrong_shape")


def _refusal(status: int) -> PinciteError:
    if status in {401, 403}:
        return ProviderAuth(
            "the entailment endpoint refused the key", reason="bad_key", hint="Check PINCITE_ENTAILMENT_API_KEY."
        )
    if status == 429:
        return RateLimited("the entailment endpoint is limiting the rate")
    return ProviderBadReply(f"the entailment endpoint answered {status}", reason="bad_status", retryable=status >= 500)


def _quiet(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.WARNING
