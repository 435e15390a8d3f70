"""Starting runs for a caller: caps, what its key may spend, its webhook; and waiting for the end of one."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import anyio
from fastapi import Request

from pincite.domain.errors import Conflict, InsufficientEvidence, PinciteError, RunCancelled, leaves
from pincite.domain.events import EventType, RunStatus
from pincite.domain.plan import ReportStyle, SubQuestion
from pincite.domain.records import RunRecord
from pincite.domain.report import Report
from pincite.domain.search import Constraints
from pincite.engine import ANYWHERE, PLAIN, Engine, Filing
from pincite.surfaces.http.service import owner_of, service_of
from pincite.wiring import DailyPurse


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be found out, and under which caps (settings that only lower what is in force).

    `continues` is the run whose pages and claims are at hand, `llm` the model that the caller wants, `style` how the
    report shall be, `parts` a plan that the caller has seen.
    """

    question: str
    urls: tuple[str, ...] = ()
    constraints: Constraints = ANYWHERE
    caps: Mapping[str, Any] = field(default_factory=dict)
    continues: str = ""
    llm: str | None = None
    style: ReportStyle = PLAIN
    parts: tuple[SubQuestion, ...] = ()


async def purse_of(request: Request, engine: Engine) -> DailyPurse | None:
    """What the caller's key may spend today; None without such a cap."""
    key = getattr(request.state, "key", None)
    if key is None or key.daily_cap_usd is None:
        return None
    return (await engine.front_desk()).purse(key.name, key.daily_cap_usd)


async def start(request: Request, engine: Engine, wish: Wish, webhook_url: str | None = None) -> str:
    """The id of a new run, with its caps and its webhook on record.

    Errors: those of `Engine.start`, BudgetExhausted (`daily_usd`), InvalidUrl and BlockedAddress (the webhook's),
        RateLimited (too many runs are waiting).
    """
    service_of(request).vet_room(owner_of(request))
    desk = await engine.front_desk()
    if webhook_url is not None:
        desk.hooks.vetted(webhook_url)
    caps = dict(wish.caps)
    purse = await purse_of(request, engine)
    if purse is not None:
        wanted = [cap for cap in (caps.get("max_cost_usd"), engine.settings.max_cost_usd) if cap is not None]
        caps["max_cost_usd"] = request.state.set_aside = await purse.set_aside_for_run(min(wanted, default=None))
    try:
        filing = Filing(request_id=request.state.request_id)
        run_id = await engine.start(
            wish.question,
            urls=wish.urls,
            constraints=wish.constraints,
            filing=filing,
            caps=caps,
            continues=wish.continues,
            llm=wish.llm,
            style=wish.style,
            parts=wish.parts,
        )
    except PinciteError:
        await _give_back(request, engine)
        raise
    if webhook_url is not None:
        await desk.add_webhook(run_id, webhook_url)
    return run_id


async def undo(request: Request, engine: Engine, run_id: str) -> None:
    """Forget a run that this request stored and nobody works on; the caller's key gets back what was set aside."""
    await engine.delete(run_id)
    await _give_back(request, engine)


def work_on(request: Request, engine: Engine, run_id: str) -> bool:
    """Execute a run in the background; in the end the caller's key gets back what was not spent.

    False, and nothing happens, where the run is worked on already.
    """

    async def settle() -> None:
        purse = await purse_of(request, engine)
        if purse is not None:
            before = getattr(request.state, "spent_before", Decimal(0))
            spent = (await engine.run(run_id)).usage.cost_usd - before
            await purse.give_back(getattr(request.state, "set_aside", Decimal(0)) - spent)

    return service_of(request).work_on(engine, run_id, owner_of(request), after=settle)


async def resume(request: Request, engine: Engine, record: RunRecord) -> None:
    """Go on with a run; a caller whose key has a daily budget sets aside what the run may still spend.

    Errors: BudgetExhausted (`daily_usd`), RateLimited, Conflict (it is running).
    """
    service_of(request).vet_room(owner_of(request))
    purse = await purse_of(request, engine)
    if purse is not None:
        cap = record.budget.cost_usd
        left = None if cap is None else max(cap - record.usage.cost_usd, Decimal(0))
        request.state.set_aside = await purse.set_aside_for_run(left)
        request.state.spent_before = record.usage.cost_usd
    if not work_on(request, engine, record.run_id):  # another request was faster
        await _give_back(request, engine)
        raise Conflict(f"{record.run_id} is running", reason="run_owned")


async def _give_back(request: Request, engine: Engine) -> None:
    purse = await purse_of(request, engine)
    if purse is not None:
        await purse.give_back(request.state.set_aside)


async def to_the_end(request: Request, engine: Engine, run_id: str) -> Report:
    """The report of a run that this call waits for; a caller who goes away stops it, what was paid for is kept.

    Errors: what the run failed with, RunCancelled, InsufficientEvidence.
    """
    service = service_of(request)
    async with anyio.create_task_group() as tasks:

        async def stop_when_gone() -> None:
            while (await request.receive())["type"] != "http.disconnect":
                continue
            await service.abandon(engine, run_id)

        tasks.start_soon(stop_when_gone)
        await service.ended(engine, run_id)
        tasks.cancel_scope.cancel()
    return await report_of(engine, run_id)


async def report_of(engine: Engine, run_id: str) -> Report:
    """The report of a run that has ended. Errors: as `to_the_end`."""
    view = await engine.view(run_id)
    if view.report is not None:
        return view.report
    if view.record.status is RunStatus.CANCELLED:
        raise RunCancelled(f"run {run_id} was stopped", reason=view.record.reason or None)
    failed = next((event for event in reversed(view.events) if event.type is EventType.RUN_FAILED), None)
    code = "" if failed is None else str(failed.data.get("code"))
    kind = next((leaf for leaf in leaves() if leaf.code == code), InsufficientEvidence)
    raise kind(f"run {run_id} has no report: {view.record.reason or view.record.status}", reason=view.record.reason)
