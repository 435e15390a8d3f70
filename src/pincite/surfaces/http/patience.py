"""Connections that say nothing: uvicorn itself waits for ever for the rest of a request's headers."""

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEADERS_WITHIN_S = 15.0
"""Longer than a bad phone line takes for its headers, short enough that half-sent requests hold no places."""


class PatientProtocol(H11Protocol):
    """As uvicorn's own, but a connection whose headers are not all there in time is closed."""

    headers_within_s = HEADERS_WITHIN_S
    _due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:  # as uvicorn has it
        """Begin to wait."""
        super().connection_made(transport)
        self._look()

    def data_received(self, data: bytes) -> None:
        """Go on waiting while the headers are not all there."""
        super().data_received(data)
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _look(self) -> None:
        if self.conn.their_state is not h11.IDLE:  # the headers came
            self._stop_waiting()
        elif self._due is None:
            self._due = self.loop.call_later(self.headers_within_s, self._close)

    def _stop_waiting(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None

    def _close(self) -> None:
        self._due = None
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self.transport.close()
