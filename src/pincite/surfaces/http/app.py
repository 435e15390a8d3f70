"""The application: routes, identity, limits on what comes in, health and counts; and its OpenAPI document."""

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cache, partial
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from pincite.domain.records import QueueCounts
from pincite.domain.version import VERSION
from pincite.exports import codec
from pincite.jobs import OpenEngine, WorkerLimits, background_worker
from pincite.runtime.telemetry import METER, METRICS, SECONDS
from pincite.settings import Settings
from pincite.surfaces.accounts import ServerLimits
from pincite.surfaces.http import dropins, openai, openai_responses, research, tools, ui, webhooks
from pincite.surfaces.http.assistants import Assistants
from pincite.surfaces.http.gate import Gate, KeyRing
from pincite.surfaces.http.responses import PlainJson, shape_of
from pincite.surfaces.http.responses import install as install_errors
from pincite.surfaces.http.service import Scope, Service, service_of
from pincite.surfaces.runs import open_manager


def create_app(
    open_engine: OpenEngine,
    keys: KeyRing,
    *,
    hosts: Sequence[str] = (),
    work: Settings | None = None,
    limits: ServerLimits | None = None,
) -> FastAPI:
    """The server as an ASGI application.

    Args:
        open_engine: makes the engine of a scope and profile.
        keys: who may ask; an empty ring lets everybody be the local user.
        work: with these settings the server executes runs that wait, and goes on with those that were interrupted.
        limits: how many runs are worked on at a time, and what one key may have.
        hosts: names the `Host` header may have; empty: any. Set where no key is needed, against DNS rebinding.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            opening = open_manager(
                lambda groups: Service(open_engine, keys, groups, limits=limits, hand_over=work is not None)
            )
            app.state.service = await stack.enter_async_context(opening)
            if work is not None:
                await stack.enter_async_context(background_worker(work, WorkerLimits(work.server_jobs, drain_s=1.0)))
            app.state.service.tend(keys.follow)
            app.state.service.tend(webhooks.deliver, app.state.service)
            await stack.enter_async_context(assistants.open(app.state.service))
            yield

    app = FastAPI(
        title="Pincite",
        version=VERSION,
        summary="Deep web research you can check.",
        lifespan=lifespan,
        default_response_class=PlainJson,
        responses=PROBLEMS,
        docs_url=None,  # FastAPI's own load scripts from other hosts; `ui` has one that loads nothing
        redoc_url=None,
        generate_unique_id_function=operation_id,
    )
    install_errors(app)
    routers = (tools, research, webhooks, dropins, openai, openai_responses)
    for each in (*(module.router for module in routers), router):
        app.include_router(each)
    # Last of the routes: its pages stand at the root.
    ui.install(app)

    @app.get("/healthz", tags=["health"])
    async def healthz() -> dict[str, str]:
        """The process is up."""
        # Without the storage: a database that is away for a minute is no reason to have this process restarted.
        return {"status": "ok"}

    @app.get("/readyz", tags=["health"])
    async def readyz(request: Request) -> dict[str, str]:
        """The storage answers."""
        engine = await request.app.state.service.engine("local")
        # The smallest question that needs the database.
        await engine.runs(1)
        return {"status": "ready"}

    assistants = Assistants(app)
    app.openapi = cache(partial(_document, app))  # type: ignore[method-assign]  # FastAPI's documented way
    # Added last, so that it is the outermost: nothing runs before it.
    app.add_middleware(Gate, hosts=hosts)
    return app


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
                    edges = [(str(edge), float(n)) for edge, n in zip(SECONDS, series.buckets, strict=True)]
                    buckets = [*edges, ("+Inf", float(series.count))]
                    family.add_metric(labels, buckets=buckets, sum_value=series.total)
            yield family
        what = "Runs of all users that wait or are in work."
        waiting = GaugeMetricFamily("pincite_queue_runs", what, labels=("state",))
        waiting.add_metric(("queued",), self._queue.queued)
        waiting.add_metric(("running",), self._queue.running)
        yield waiting


PUBLISHED = ("report", "search", "fetch", "event")
PROBLEM = {
    "description": "A problem document (RFC 9457)",
    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
}
# As `responses` shapes it: each service has its own members, which its clients know.
_FOREIGN = {
    "description": "An error as the service tells it that this path stands for",
    "content": {"application/json": {"schema": {"type": "object"}}},
}
# What every route may answer; in the document drop-in paths have the one above instead.
PROBLEMS: dict[int | str, dict[str, Any]] = {"4XX": PROBLEM, "5XX": PROBLEM}
_SIGN_IN = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "apiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
}


def operation_id(route: APIRoute) -> str:
    """A name for generated clients: the route's tag and function."""
    tag = str(route.tags[0]).split(": ")[-1].lower() if route.tags else "server"
    return f"{tag}_{route.name}"


def _document(app: FastAPI) -> dict[str, Any]:
    document: dict[str, Any] = get_openapi(
        title=app.title,
        version=app.version,
        openapi_version="3.1.0",
        summary=app.summary,
        routes=app.routes,
    )
    for path, operations in document["paths"].items():
        for operation in operations.values():
            if shape_of(path) is not None:
                operation["responses"].update(dict.fromkeys(PROBLEMS, _FOREIGN))
    parts = document.setdefault("components", {})
    schemas = parts.setdefault("schemas", {})
    for name in PUBLISHED:
        # The schema and its parts as components, which refer to each other as components do.
        top: dict[str, Any] = json.loads(codec.published(name).replace("#/$defs/", "#/components/schemas/"))
        schemas.update(top.pop("$defs", {}))
        schemas[top["title"]] = {name: value for name, value in top.items() if name not in ("$schema", "$id")}
    schemas["Problem"] = _problem()
    # What FastAPI would answer; here problem documents stand in its place.
    schemas.pop("HTTPValidationError", None)
    schemas.pop("ValidationError", None)
    parts["securitySchemes"] = _SIGN_IN
    # A server on a loopback interface without keys asks for none.
    document["security"] = [{"bearer": []}, {"apiKey": []}, {}]
    return document


def _problem() -> dict[str, Any]:
    error: Any = json.loads(codec.published("error"))
    members = error["properties"]["error"]["properties"]
    more: dict[str, Any] = {
        "type": {"type": "string", "description": "A URN that ends in the code."},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "request_id": {"type": "string", "description": "Also in the header X-Request-Id."},
    }
    place = {"type": "object", "properties": {"pointer": {"type": "string"}, "detail": {"type": "string"}}}
    errors = {"type": "array", "items": place, "description": "What is wrong with which member of the body."}
    return {
        "title": "Problem",
        "description": "What went wrong, and what to do.",
        "type": "object",
        "properties": {**more, **members, "errors": errors},
        "required": [*more, *members],
    }
