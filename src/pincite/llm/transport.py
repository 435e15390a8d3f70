"""What is under the providers' SDKs: the HTTP client they use, and their errors as ours."""

from collections.abc import AsyncIterator
from socket import gaierror
from typing import TYPE_CHECKING, Final

from pincite.domain.budget import Usage
from pincite.domain.errors import (
    ModelBadOutput,
    ModelUnavailable,
    PinciteError,
    ProviderAuth,
    ProviderQuota,
    RateLimited,
)
from pincite.runtime.system import too_many_open_files

if TYPE_CHECKING:
    import httpx2

# An answer of 400,000 characters, escaped, and the rest of the protocol around it.
MAX_BODY_BYTES: Final = 4_000_000
# A provider that does not take a connection within it is away; the next model is asked.
CONNECT_S: Final = 10.0


def model_http_client(timeout_s: float) -> "httpx2.AsyncClient":
    """A client for the origins of the settings, without redirects and proxies of the environment, its answers capped.

    Whoever opens it closes it.
    """
    import httpx2

    class Capped(httpx2.AsyncByteStream):
        def __init__(self, inner: httpx2.AsyncByteStream) -> None:
            self._inner = inner

        async def __aiter__(self) -> AsyncIterator[bytes]:
            left = MAX_BODY_BYTES
            async for chunk in self._inner:
                left -= len(chunk)
                if left < 0:
                    raise ModelBadOutput(
                        f"the model's answer is above {MAX_BODY_BYTES} bytes", reason="answer_too_large", retryable=True
                    )
                yield chunk

        async def aclose(self) -> None:
            await self._inner.aclose()

    class CappedTransport(httpx2.AsyncHTTPTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            response = await super().handle_async_request(request)
            if isinstance(response.stream, httpx2.AsyncByteStream):
                response.stream = Capped(response.stream)
            return response

    return httpx2.AsyncClient(
        transport=CappedTransport(),
        timeout=httpx2.Timeout(timeout_s, connect=min(CONNECT_S, timeout_s)),
        trust_env=False,
        follow_redirects=False,
    )


# Errors of pydantic-ai as ours: one table from their classes to our codes and reasons, tested for completeness.

_AUTH_HINT = "Check the key of the provider (pincite doctor shows which are set)."

TABLE: Final[dict[str, tuple[type[PinciteError], str, bool, bool]]] = {
    # their class: (our class, reason, retryable, whether it may have been billed)
    "ModelQuotaExceededError": (ProviderQuota, "model_quota", False, False),
    "ModelRateLimitError": (RateLimited, "model_rate_limited", True, False),
    "ModelContextWindowExceededError": (ModelUnavailable, "model_context_too_long", False, False),
    "ModelAuthenticationError": (ProviderAuth, "model_auth", False, False),
    "ModelNotFoundError": (ModelUnavailable, "model_unknown", False, False),
    "ModelRequestRejectedError": (ModelUnavailable, "model_rejected", False, False),
    "ModelOverloadedError": (ModelUnavailable, "model_overloaded", True, False),
    "ModelUnavailableError": (ModelUnavailable, "model_overloaded", True, False),
    "ModelServerError": (ModelUnavailable, "model_server_error", True, True),
    "ModelRequestTimeout": (ModelUnavailable, "model_timeout", True, True),
    "ModelTimeoutError": (ModelUnavailable, "model_timeout", True, True),
    "ModelConnectionError": (ModelUnavailable, "model_connection", True, True),
    "ContentFilterError": (ModelBadOutput, "refusal", False, True),
    "IncompleteToolCall": (ModelBadOutput, "truncated", True, True),
    "OutputTokenLimitExceeded": (ModelBadOutput, "truncated", True, True),
    "UnexpectedModelBehavior": (ModelUnavailable, "model_bad_reply", True, True),
    "ModelHTTPError": (ModelUnavailable, "model_rejected", False, True),
    "ModelAPIError": (ModelUnavailable, "model_connection", True, True),
}

_NOT_CONNECTED: Final = frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout", "UnsupportedProtocol"})
# Names of the HTTP client's errors; the first of either kind, from the outside in, says how far the call came.
_CONNECTED: Final = frozenset({"ReadError", "ReadTimeout", "WriteError", "WriteTimeout", "RemoteProtocolError"})


def translated(error: Exception, label: str) -> PinciteError:
    """Our error for theirs. Neither the key nor the body of the answer is in the message."""
    if (full := too_many_open_files(error)) is not None:
        return unbilled(full)
    row = next((TABLE[kind.__name__] for kind in type(error).__mro__ if kind.__name__ in TABLE), None)
    if row is None:
        return ModelUnavailable(
            f"{label}: {type(error).__name__}", reason="model_error", retryable=False, context={"model": label}
        )
    ours, reason, retryable, billed = row
    billed = billed and not never_connected(error)
    wait_s = getattr(error, "retry_after", None)
    told = ours(
        f"{label}: {reason.removeprefix('model_').replace('_', ' ')}",
        reason=reason,
        hint=_AUTH_HINT if ours is ProviderAuth else None,
        retryable=retryable,
        retry_after_s=float(wait_s) if isinstance(wait_s, int | float) else None,
        context={"model": label},
    )
    return told if billed else unbilled(told)


def never_connected(error: BaseException) -> bool:
    """Whether no connection was made, so that nothing can have been sent: no answer is owed for."""
    inner: BaseException | None = error
    while inner is not None:
        name = type(inner).__name__
        if name in _NOT_CONNECTED or isinstance(inner, ConnectionRefusedError | gaierror):
            return True
        if name in _CONNECTED:
            return False
        inner = inner.__cause__ or inner.__context__
    return False


def unbilled(error: PinciteError) -> PinciteError:
    """The error of a call that was turned away: nothing is owed for it."""
    error.spent = Usage()
    return error
