"""The application: routes, identity, limits on what comes in, errors, health."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from fastapi import FastAPI, Request

from pincite.domain.version import VERSION
from pincite.jobs.worker import WorkerLimits, working_beside
from pincite.settings import Settings
from pincite.surfaces.desk import DeskLimits, open_desk
from pincite.surfaces.engines import OpenEngine
from pincite.surfaces.http import (
    firecrawl,
    log,
    metrics,
    openai,
    openai_responses,
    openapi_document,
    problems,
    research,
    snapshots,
    tavily,
    tools,
    ui,
    webhooks,
)
from pincite.surfaces.http.assistants import Assistants
from pincite.surfaces.http.gate import Gate
from pincite.surfaces.http.identity import KeyRing
from pincite.surfaces.http.json_response import PlainJson
from pincite.surfaces.http.service import Service


def create_app(
    open_engine: OpenEngine,
    keys: KeyRing,
    *,
    hosts: Sequence[str] = (),
    work: Settings | None = None,
    limits: DeskLimits | None = None,
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
            opening = open_desk(
                lambda rooms: Service(open_engine, keys, rooms, limits=limits, hands_on=work is not None)
            )
            app.state.service = await stack.enter_async_context(opening)
            if work is not None:
                await stack.enter_async_context(working_beside(work, WorkerLimits(work.server_jobs, drain_s=1.0)))
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
        responses=openapi_document.PROBLEMS,
        docs_url=None,  # FastAPI's own load scripts from other hosts; `ui` has one that loads nothing
        redoc_url=None,
        generate_unique_id_function=openapi_document.operation_id,
    )
    problems.install(app)
    for module in (tools, research, snapshots, log, webhooks, tavily, firecrawl, openai, openai_responses, metrics):
        app.include_router(module.router)
    ui.install(app)

    @app.get("/healthz", tags=["health"])
    async def healthz() -> dict[str, str]:
        """The process is up."""
        return {"status": "ok"}

    @app.get("/readyz", tags=["health"])
    async def readyz(request: Request) -> dict[str, str]:
        """The storage answers."""
        engine = await request.app.state.service.engine("local")
        await engine.runs(1)
        return {"status": "ready"}

    assistants = Assistants(app)
    openapi_document.install(app)
    app.add_middleware(Gate, hosts=hosts)
    return app
