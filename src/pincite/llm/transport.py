"""The HTTP client under the providers' SDKs: no redirects, no proxies of the environment, a cap on what comes back."""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Final

from pincite.domain.errors import ModelBadOutput

if TYPE_CHECKING:
    import httpx2

MAX_BODY_BYTES: Final = 4_000_000
"""An answer of 400,000 characters, escaped, and the rest of the protocol around it."""
CONNECT_S: Final = 10.0


def model_http_client(timeout_s: float) -> "httpx2.AsyncClient":
    """A client for the origins of the settings. Whoever opens it closes it."""
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
