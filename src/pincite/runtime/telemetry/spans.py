"""Spans of OpenTelemetry, when somebody listens; otherwise nothing is imported and nothing costs."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

# Names of OpenTelemetry's conventions for generative AI, in one place: they are all still marked as developing.
#
# Source: opentelemetry semantic-conventions-genai, attribute registry (2026); only what has settled is used, and no
# prompt or answer is ever an attribute.

OPERATION: Final = "gen_ai.operation.name"
PROVIDER: Final = "gen_ai.provider.name"
REQUEST_MODEL: Final = "gen_ai.request.model"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
CHAT: Final = "chat"
ERROR_TYPE: Final = "error.type"
RUN_ID: Final = "pincite.run_id"
REQUEST_ID: Final = "pincite.request_id"
TOPIC_HASH: Final = "pincite.topic_hash"
CALL_KIND: Final = "pincite.call.kind"
CALL_KEY: Final = "pincite.call.key"
COST_USD: Final = "pincite.cost_usd"
REPLAYED: Final = "pincite.call.replayed"
# The kind of a call that asks a language model.
OF_MODELS: Final = "model"


def of_model(label: str) -> dict[str, str]:
    """The attributes of a call to a model that is named `provider:model`."""
    provider, _, name = label.partition(":")
    return {OPERATION: CHAT, PROVIDER: provider, REQUEST_MODEL: name or provider}


Value = str | int | float | bool
# Only a program that has loaded the SDK can listen to spans.
_SDK: Final = "opentelemetry.sdk.trace"


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
