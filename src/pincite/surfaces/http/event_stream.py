"""Server-sent events as a response: one write at a time, each within a deadline, the source always closed."""

import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

import anyio
from fastapi.responses import StreamingResponse
from starlette.types import Message, Send

SEND_S: Final = 60.0
"""A reader who takes nothing for so long is cut off; it comes back with the number of its last event."""

log = logging.getLogger(__name__)


class EventStream(StreamingResponse):
    """What `source` yields, as fast as the reader takes it. The source is closed when the reader has gone.

    Args:
        source: blocks of `text/event-stream`.
        send_s: seconds that one write may take.
    """

    media_type = "text/event-stream"

    def __init__(self, source: AsyncGenerator[str], *, send_s: float = SEND_S) -> None:
        super().__init__(source, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        self._source = source
        self._send_s = send_s

    async def stream_response(self, send: Send) -> None:
        """Send it all, or as much as the reader takes."""

        async def in_time(message: Message) -> None:
            with anyio.fail_after(self._send_s):
                await send(message)

        async with aclosing(self._source):
            try:
                await super().stream_response(in_time)
            except TimeoutError:
                log.warning("a reader of events took nothing for %g s and was cut off", self._send_s)
