"""Spans of OpenTelemetry, when somebody listens; otherwise nothing is imported and nothing costs."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

Value = str | int | float | bool
_SDK: Final = "opentelemetry.sdk.trace"
"""Only a program that has loaded the SDK can listen to spans."""


class Span:
    """A span that may be nobody's."""

    def __init__(self, real: Any = None) -> None:  # an opentelemetry Span
        self._real = real

    def set(self, attributes: Mapping[str, Value]) -> None:
        """Add attributes."""
        if self._real is not None:
            self._real.set_attributes(dict(attributes))

    def failed(self, code: str) -> None:
        """Note that what the span covers failed with this error code."""
        if self._real is not None:
            from opentelemetry.trace import Status, StatusCode

            self._real.set_status(Status(StatusCode.ERROR, code))


_NOBODYS: Final = Span()


@contextmanager
def span(name: str, attributes: Mapping[str, Value]) -> Iterator[Span]:
    """A span around the block, below the one that is current."""
    if _SDK not in sys.modules:
        yield _NOBODYS
        return
    from opentelemetry import trace

    tracer = trace.get_tracer("pincite")
    with tracer.start_as_current_span(
        name, attributes=dict(attributes), record_exception=False, set_status_on_exception=False
    ) as real:
        yield Span(real)
