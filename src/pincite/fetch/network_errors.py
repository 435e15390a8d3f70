"""The one table from aiohttp's errors to ours. No message ever holds an address."""

import ssl

import aiohttp

from pincite.domain.errors import DnsError, NetworkError, PinciteError, Timeout, TlsError, TooLarge
from pincite.runtime.files import too_many_open_files

_HEADERS_TOO_LARGE = ("too many", "more than", "too long", "too large", "line is too long")


def mapped(error: Exception, host: str) -> PinciteError:
    """The error of ours that `error` stands for."""
    if (full := too_many_open_files(error)) is not None:
        return full
    match error:
        case PinciteError():
            return error
        case aiohttp.ConnectionTimeoutError():
            return Timeout(f"{host} did not accept the connection in time", reason="connect_timeout")
        case aiohttp.ServerTimeoutError() | TimeoutError():
            return Timeout(f"{host} stopped sending", reason="read_timeout")
        case aiohttp.ClientSSLError() | ssl.SSLError():
            return TlsError(f"{host} has no valid certificate for its name", reason="tls_error")
        case aiohttp.ClientConnectorDNSError():
            return DnsError(f"the name {host} can't be looked up", reason="dns_failed")
        case aiohttp.ClientConnectorError():
            return NetworkError(f"{host} can't be connected to", reason="connect_failed")
        case aiohttp.ServerDisconnectedError() | aiohttp.EofStream():
            return NetworkError(f"{host} closed the connection without an answer", reason="disconnected")
        case aiohttp.ClientPayloadError():
            return _payload(error, host)
        case aiohttp.ClientResponseError():
            return _response(error.message, host)
        case aiohttp.ClientOSError() | OSError():
            return NetworkError(f"the connection to {host} broke", reason="connection_reset")
        case _:
            return NetworkError(f"{host} can't be read", reason="protocol_error", retryable=False)


def _payload(error: Exception, host: str) -> PinciteError:
    cause = str(error.__cause__ or error).lower()
    if isinstance(error.__cause__, PinciteError):
        return error.__cause__
    if any(mark in cause for mark in _HEADERS_TOO_LARGE):
        return TooLarge("the trailers are too large", reason="headers_too_large")
    return NetworkError(f"the body from {host} ended before it was complete", reason="body_incomplete")


def _response(message: str, host: str) -> PinciteError:
    if any(mark in message.lower() for mark in _HEADERS_TOO_LARGE):
        return TooLarge("the response headers are too large", reason="headers_too_large")
    return NetworkError(f"{host} does not speak HTTP correctly", reason="protocol_error", retryable=False)
