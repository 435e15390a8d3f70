"""`GET /metrics`: the counts of this process and the length of the queue, as Prometheus reads them."""

from collections.abc import Iterator
from typing import Any

from fastapi import APIRouter, Request, Response

from pincite.domain.records import QueueCounts
from pincite.runtime.telemetry.meter import METER, METRICS, SECONDS, Series
from pincite.surfaces.http.service import Service, service_of
from pincite.surfaces.http.tools import Scope

router = APIRouter(tags=["health"])


@router.get("/metrics", response_model=None, responses={200: {"content": {"text/plain": {}}}})
async def metrics(request: Request, scope: Scope) -> Response:
    """Calls, latency, tokens, cost, cache, limits, breakers, queue and runs. A server with keys asks for one."""
    service: Service = service_of(request)
    from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
    from prometheus_client.registry import CollectorRegistry

    queue = await (await service.engine(scope)).queue_counts()
    registry = CollectorRegistry()
    registry.register(_Counts(queue))
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)


class _Counts:
    """A collector of prometheus_client over the meter of this process."""

    def __init__(self, queue: QueueCounts) -> None:
        self._queue = queue

    def collect(self) -> Iterator[Any]:  # families of prometheus_client
        """Every metric with its series."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        for metric in METRICS:
            if metric.kind == "counter":
                family: Any = CounterMetricFamily(metric.name, metric.help, labels=metric.labels)
                for labels, series in METER.read(metric):
                    family.add_metric(labels, series.total)
            else:
                family = HistogramMetricFamily(metric.name, metric.help, labels=metric.labels)
                for labels, series in METER.read(metric):
                    family.add_metric(labels, buckets=_buckets(series), sum_value=series.total)
            yield family
        what = "Runs of all users that wait or are in work."
        waiting = GaugeMetricFamily("pincite_queue_runs", what, labels=("state",))
        waiting.add_metric(("queued",), self._queue.queued)
        waiting.add_metric(("running",), self._queue.running)
        yield waiting


def _buckets(series: Series) -> list[tuple[str, float]]:
    edges = [(str(edge), float(n)) for edge, n in zip(SECONDS, series.buckets, strict=True)]
    return [*edges, ("+Inf", float(series.count))]
