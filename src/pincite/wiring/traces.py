"""Spans on their way to a collector. Imported only where there is one to send to: it loads the SDK.

A collector that is down must not hold up what it watches: the SDK tries again for ten seconds before a process may end.
"""

import atexit
import logging
import threading
from collections.abc import Sequence
from typing import Final

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from pincite.domain.version import VERSION

# A collector that is there takes the last spans within milliseconds, a hosted one within half a second.
END_WITHIN_S: Final = 1.5

log = logging.getLogger("pincite.traces")


class Delivery(SpanProcessor):
    """Sends spans to an exporter in batches, and counts those that it did not take.

    Args:
        to: what is said of the collector when spans are lost; without secrets.
    """

    def __init__(self, exporter: SpanExporter, to: str) -> None:
        self._to = to
        self._ended = 0
        self._taken = _Taken(exporter)
        self.provider = TracerProvider(
            resource=Resource.create({"service.name": "pincite", "service.version": VERSION}), shutdown_on_exit=False
        )
        self.provider.add_span_processor(BatchSpanProcessor(self._taken))
        self.provider.add_span_processor(self)
        self._close = threading.Event()
        self._closed = threading.Event()
        # Started now: at the end of a process no thread can be started any more.
        threading.Thread(target=self._wait_and_close, name="pincite-traces", daemon=True).start()

    def on_end(self, span: ReadableSpan) -> None:
        """Count a span."""
        self._ended += 1

    def close(self, within_s: float = END_WITHIN_S) -> None:
        """Send what is waiting, for so long at most. Says in one line what was lost."""
        self._close.set()
        self._closed.wait(within_s)
        if lost := self._ended - self._taken.count:
            log.warning("Traces: %d of %d spans were lost; %s did not take them.", lost, self._ended, self._to)

    def _wait_and_close(self) -> None:
        self._close.wait()
        self.provider.shutdown()
        self._closed.set()


class _Taken(SpanExporter):
    """An exporter, and the number of spans that it got rid of."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter
        self.count = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = self._exporter.export(spans)
        if result is SpanExportResult.SUCCESS:
            self.count += len(spans)
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()


def send_spans(endpoint: str, shown: str) -> TracerProvider:
    """Send spans by OTLP over HTTP until the process ends.

    Args:
        endpoint: the collector's, without the path of traces.
        shown: the same without secrets.
    """
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    # Each try and wait of the exporter would be a line on stderr where nobody has configured logs.
    logging.getLogger("opentelemetry").addHandler(logging.NullHandler())
    delivery = Delivery(OTLPSpanExporter(endpoint=endpoint.rstrip("/") + "/v1/traces"), shown)
    atexit.register(delivery.close)
    return delivery.provider
