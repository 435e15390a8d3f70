"""Spans on their way to a collector: one that is down holds nothing up, and what it did not take is told."""

import threading
from collections.abc import Sequence

import pytest

pytest.importorskip("opentelemetry.sdk")

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from pincite.wiring.traces import Delivery


class Collector(SpanExporter):
    """Takes spans, refuses them, or doesn't answer before it is let go."""

    def __init__(self, result: SpanExportResult = SpanExportResult.SUCCESS, *, answers: bool = True) -> None:
        self._result = result
        self.go = threading.Event()
        if answers:
            self.go.set()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.go.wait()
        return self._result

    def shutdown(self) -> None:
        pass


def two_spans(delivery: Delivery) -> None:
    tracer = delivery.provider.get_tracer("pincite")
    with tracer.start_as_current_span("research"), tracer.start_as_current_span("search"):
        pass


def test_spans_that_arrive_are_not_worth_a_line(caplog: pytest.LogCaptureFixture) -> None:
    delivery = Delivery(Collector(), "http://collector.example")
    two_spans(delivery)
    delivery.close(within_s=60)
    assert not caplog.messages


def test_what_a_collector_refused_is_told_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    delivery = Delivery(Collector(SpanExportResult.FAILURE), "http://collector.example")
    two_spans(delivery)
    delivery.close(within_s=60)
    assert caplog.messages == ["Traces: 2 of 2 spans were lost; http://collector.example did not take them."]


def test_a_collector_that_does_not_answer_holds_nothing_up(caplog: pytest.LogCaptureFixture) -> None:
    collector = Collector(answers=False)
    delivery = Delivery(collector, "http://collector.example")
    two_spans(delivery)
    delivery.close(within_s=0.01)
    assert caplog.messages == ["Traces: 2 of 2 spans were lost; http://collector.example did not take them."]
    collector.go.set()
