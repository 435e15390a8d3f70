"""Content codings, decoded piece by piece so that a small body can't become a large one unnoticed."""

import zlib
from collections.abc import Iterator
from typing import Protocol

from pincite.domain.errors import NetworkError, TooLarge, UnsupportedContentType
from pincite.fetch.limits import ZSTD_WINDOW_BYTES_MAX

ACCEPT_ENCODING = "gzip, deflate, br, zstd"
# Of decoded bytes, so that a bomb is noticed after a quarter of a megabyte.
_STEP = 262_144
# RFC 1952 §2.3.1, and the only compression method that exists.
_GZIP = b"\x1f\x8b\x08"


class Decoder(Protocol):
    """Turns wire bytes into content bytes in bounded steps."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The content that `data` completes, in pieces of bounded size. Errors: NetworkError `body_corrupt`."""

    def check_complete(self) -> None:
        """Return when the stream came to its own end. Errors: NetworkError `body_incomplete`."""


def decoder_for(content_encoding: str) -> Decoder:
    """The decoder for a Content-Encoding value.

    Errors: UnsupportedContentType (`encoding_unsupported`, or `encoding_stacked` for more than one coding).

    Source: RFC 9110 §8.4; one coding only, since stacked ones serve bombs.
    """
    codings = [name.strip().lower() for name in content_encoding.split(",")]
    codings = [name for name in codings if name and name != "identity"]
    if len(codings) > 1:
        raise UnsupportedContentType("the body is encoded more than once", reason="encoding_stacked")
    match codings:
        case []:
            return _Identity()
        case ["gzip" | "x-gzip"]:
            return _Zlib(zlib.MAX_WBITS | 16)
        case ["deflate"]:
            return _Zlib(zlib.MAX_WBITS)
        case ["br"]:
            return _Brotli()
        case ["zstd"]:
            return _Zstd()
        case _:
            raise UnsupportedContentType("the body has an unknown content coding", reason="encoding_unsupported")


def _corrupt() -> NetworkError:
    return NetworkError("the body is not in the coding it claims", reason="body_corrupt", retryable=False)


def _incomplete() -> NetworkError:
    return NetworkError("the body ended before it was complete", reason="body_incomplete")


class _Identity:
    def feed(self, data: bytes) -> Iterator[bytes]:
        yield data

    def check_complete(self) -> None:
        return


class _Zlib:
    def __init__(self, bits: int) -> None:
        self._bits = bits
        self._stream = zlib.decompressobj(bits)
        self._started = False
        self._kept = b""

    def feed(self, data: bytes) -> Iterator[bytes]:
        pending = self._kept + data
        self._kept = b""
        while pending:
            if self._stream.eof:
                if len(pending) < len(_GZIP) and _GZIP.startswith(pending) and self._bits != zlib.MAX_WBITS:
                    self._kept = pending  # too short to tell
                    return
                # A gzip body may have several members; what else follows one is not looked at. Source: RFC 1952 §2.2.
                if self._bits == zlib.MAX_WBITS or not pending.startswith(_GZIP):
                    return
                self._stream = zlib.decompressobj(self._bits)
            piece = self._decompress(pending)
            self._started = True
            pending = self._stream.unused_data if self._stream.eof else self._stream.unconsumed_tail
            if piece:
                yield piece

    def _decompress(self, pending: bytes) -> bytes:
        try:
            return self._stream.decompress(pending, _STEP)
        except zlib.error:
            if self._started or self._bits != zlib.MAX_WBITS:
                raise _corrupt() from None
        # Some servers send "deflate" without its zlib wrapper (RFC 9110 §8.4.1.2 notes them).
        self._stream = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            return self._stream.decompress(pending, _STEP)
        except zlib.error:
            raise _corrupt() from None

    def check_complete(self) -> None:
        if self._started and not self._stream.eof:
            raise _incomplete()


class _Brotli:
    def __init__(self) -> None:
        import brotli

        self._error: type[Exception] = brotli.error
        self._stream = brotli.Decompressor()
        self._started = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        self._started = self._started or bool(data)
        try:
            piece: bytes = self._stream.process(data, output_buffer_limit=_STEP)
            while piece:  # output may be waiting although all input is taken
                yield piece
                piece = self._stream.process(b"", output_buffer_limit=_STEP)
        except self._error:
            raise _corrupt() from None

    def check_complete(self) -> None:
        if self._started and not self._stream.is_finished():
            raise _incomplete()


class _Zstd:
    """Source: RFC 9659, a window of at most 8 MiB."""

    def __init__(self) -> None:
        try:
            from compression import zstd  # type: ignore[import-not-found, unused-ignore]  # Python 3.14
        except ImportError:
            from backports import zstd
        self._error: type[Exception] = zstd.ZstdError
        window_log = ZSTD_WINDOW_BYTES_MAX.bit_length() - 1
        self._options = {zstd.DecompressionParameter.window_log_max: window_log}
        self._make = zstd.ZstdDecompressor
        self._stream = self._make(options=self._options)
        self._started = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        pending = data
        while True:
            if self._stream.eof:  # a body may be several frames
                pending = self._stream.unused_data
                if not pending:
                    return
                self._stream = self._make(options=self._options)
            self._started = self._started or bool(pending)
            try:
                piece = self._stream.decompress(pending, _STEP)
            except self._error as error:
                if "memory" in str(error).lower() or "window" in str(error).lower():
                    raise TooLarge("the zstd window is larger than 8 MiB", reason="encoding_window_too_large") from None
                raise _corrupt() from None
            pending = b""
            if piece:
                yield piece
            if not self._stream.eof and (self._stream.needs_input or not piece):
                return

    def check_complete(self) -> None:
        if self._started and not self._stream.eof:
            raise _incomplete()
