"""The first page: a question with its limits, what will be used and what it may cost; and the forms that start runs."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from pincite.domain.codec import from_json
from pincite.domain.errors import PinciteError
from pincite.domain.plan import Task
from pincite.settings import PROFILES
from pincite.surfaces.http import starting
from pincite.surfaces.http.service import service_of
from pincite.surfaces.http.starting import Wish
from pincite.surfaces.http.ui.forms import Form, Reader, caps_of, constraints_of, names
from pincite.surfaces.http.ui.rendering import page, seeing
from pincite.surfaces.outcomes import http_status
from pincite.wiring import CAPS, Outlook

router = APIRouter()

ABOUT = {
    "quick": "A first look: one round, few pages.",
    "standard": "A follow-up round where something is missing.",
    "thorough": "Many pages, independent sources.",
    "offline": "Local libraries only; nothing leaves this machine.",
}
RECENT_RUNS = 5


@router.get("/")
async def ask_page(request: Request, scope: Reader) -> Response:
    """The page to ask on."""
    return await _ask(request, scope, {})


@router.post("/runs")
async def start(request: Request, scope: Reader, form: Form) -> Response:
    """A new run; its page follows it."""
    service = service_of(request)
    profile = form.get("profile") if form.get("profile") in PROFILES else None
    try:
        engine = await service.engine(scope, profile)
        wish = Wish(form.get("question", ""), names(form.get("urls", "")), constraints_of(form), caps_of(form))
        run_id = await starting.start(request, engine, wish)
        starting.work_on(request, engine, run_id)
    except PinciteError as error:
        return await _ask(request, scope, form, error)
    return seeing(f"/runs/{run_id}")


@router.post("/runs/{run_id}/follow-up")
async def follow_up(run_id: str, request: Request, scope: Reader, form: Form) -> Response:
    """A new run on another question that goes on from this one: its limits, its pages, its claims as candidates."""
    service = service_of(request)
    record = await (await service.engine(scope)).run(run_id)
    task = from_json(Task, record.inputs["task"])
    engine = await service.engine(scope, task.profile if task.profile in PROFILES else None)
    kept = record.inputs.get("settings")
    caps = {name: kept.get(name) for name in CAPS} if isinstance(kept, dict) else {}
    wish = Wish(form.get("question", ""), task.urls, task.constraints, caps, run_id)
    new = await starting.start(request, engine, wish)
    starting.work_on(request, engine, new)
    return seeing(f"/runs/{new}")


async def _ask(request: Request, scope: str, form: Mapping[str, str], error: PinciteError | None = None) -> Response:
    service = service_of(request)
    engine = await service.engine(scope)
    outlooks = {name: (await service.engine(scope, name)).outlook() for name in PROFILES}
    chosen = form.get("profile") or engine.settings.profile
    return page(
        request,
        "ask.html",
        status_code=200 if error is None else http_status(error),
        form=form,
        error=error,
        chosen=chosen,
        profiles=[_profile(name, outlook) for name, outlook in outlooks.items() if _offered(name, outlook)],
        outlook=outlooks.get(chosen) or engine.outlook(),
        recent=await engine.runs(RECENT_RUNS),
        limited=any(form.get(name) for name in form if name not in ("question", "profile")),
    )


def _offered(name: str, outlook: Outlook) -> bool:
    return name != "offline" or not outlook.trouble


def _profile(name: str, outlook: Outlook) -> dict[str, Any]:
    return {"name": name, "about": ABOUT[name], "outlook": outlook, "price": _price(outlook)}


def _price(outlook: Outlook) -> str:
    """What a run may cost at most, in words."""
    cap = outlook.budget.cost_usd
    if outlook.searches_usd is None or outlook.model_usd is None:
        unknown = "search engine" if outlook.searches_usd is None else "model"
        return f"the price of the {unknown} is not known here" if cap is None else f"at most {_dollars(cap)}"
    whole = outlook.searches_usd + outlook.model_usd
    if cap is not None:
        whole = min(cap, whole)
    return f"at most {_dollars(whole)}" if whole else "free"


def _dollars(amount: Decimal) -> str:
    return f"${amount:.2f}".removesuffix(".00")
