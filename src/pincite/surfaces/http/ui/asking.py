"""The first page: a question with its limits and what it may cost; the audit of a report; forms, vetted."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from pincite.audit.findings import WRONG, Audit, AuditedSentence, AuditVerdict
from pincite.audit.render import WORDS
from pincite.domain.codec import from_json
from pincite.domain.errors import InvalidInput, PinciteError
from pincite.domain.frozen import dataclass
from pincite.domain.plan import Task
from pincite.domain.requests import CAPS, ResearchRequest
from pincite.engine import Engine
from pincite.settings import PROFILES
from pincite.surfaces.errors import http_status
from pincite.surfaces.http.service import (
    COOKIE,
    MAX_FIELDS,
    SentFile,
    begun,
    budget_of,
    form_of,
    is_multipart,
    secret_of,
    service_of,
)
from pincite.surfaces.http.ui.rendering import page, seeing
from pincite.wiring.run_settings import RunEstimate

# The fields as the page for asking names them.
LABELS: Mapping[str, str] = {
    "since": "Published since",
    "until": "Published until",
    "max_cost_usd": "At most, US dollars",
    "max_pages": "At most, pages",
    "minutes": "At most, minutes",
}


async def sent_form(request: Request) -> Mapping[str, str]:
    """The fields of a form of our own pages; its files are `request.state.files`.

    Errors: InvalidInput (not a form), Unauthorized (not from a page of this session).
    """
    request.state.files = ()
    if is_multipart(request):
        sent, request.state.files = await form_of(request)
        fields = dict(sent)
    elif request.headers.get("content-type", "").split(";", 1)[0] == "application/x-www-form-urlencoded":
        try:
            text = (await request.body()).decode("ascii")
            fields = dict(parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_FIELDS, errors="replace"))
        except ValueError as error:
            raise InvalidInput("this form can't be read", reason="not_a_form") from error
    else:
        raise InvalidInput("a form was expected", reason="not_a_form")
    token = fields.pop("form_token", "")
    # After the form is read and before anything is done with it.
    service_of(request).sessions.vet_form(request.cookies.get(COOKIE), token)
    # Browsers send line ends as CRLF (HTML, form submission); offsets in a pasted report count characters.
    return {name: value.replace("\r\n", "\n") for name, value in fields.items()}


async def reader_of(request: Request) -> str:
    """The scope of whoever looks at a page or sends a form of ours. Errors: Unauthorized, RateLimited."""
    return await service_of(request).admit(request, secret_of(request), by_session=True)


Reader = Annotated[str, Depends(reader_of)]


async def engine_of_reader(request: Request, scope: Reader) -> Engine:
    """The open engine of whoever looks at a page. Errors: RateLimited (too many users at once)."""
    return await service_of(request).engine(scope)


# For pages. Routes that take a form open the engine themselves, after the form was vetted.
ReadersEngine = Annotated[Engine, Depends(engine_of_reader)]
Form = Annotated[Mapping[str, str], Depends(sent_form)]


def request_of_form(form: Mapping[str, str]) -> ResearchRequest:
    """What the form asks for. Errors: InvalidInput."""
    minutes, pages, dollars = _number(form, "minutes"), _number(form, "max_pages"), _number(form, "max_cost_usd")
    return ResearchRequest(
        form.get("question", ""),
        urls=names(form.get("urls", "")),
        include_domains=names(form.get("include_domains", "")),
        prefer_domains=names(form.get("prefer_domains", "")),
        exclude_domains=names(form.get("exclude_domains", "")),
        since=_day(form, "since"),
        until=_day(form, "until"),
        language=form.get("language", "").strip() or None,
        max_cost_usd=None if dollars is None else float(dollars),
        max_pages=None if pages is None else int(pages),
        deadline_s=None if minutes is None else float(minutes) * 60,
    )


def names(text: str) -> tuple[str, ...]:
    """What is listed, separated by commas, spaces or lines, once each."""
    return tuple(dict.fromkeys(text.replace(",", " ").split()))


def local_path(target: str) -> str:
    """`target` when it is a path of this server, otherwise the first page."""
    # `//host` and `/\host` are other hosts to a browser.
    inside = target.startswith("/") and not target.startswith(("//", "/\\")) and target.isprintable()
    return target if inside else "/"


def _day(form: Mapping[str, str], name: str) -> date | None:
    text = form.get(name, "").strip()
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise InvalidInput(f"{LABELS[name]}: {text!r} is not a day like 2026-11-21", reason="day_invalid") from None


def _number(form: Mapping[str, str], name: str) -> Decimal | None:
    text = form.get(name, "").strip()
    try:
        value = Decimal(text) if text else None
    except InvalidOperation:
        value = Decimal("NaN")
    # Nobody means a cap of a million dollars: a slip of the keyboard is asked about.
    if value is not None and not (value.is_finite() and 0 < value < 1_000_000):
        raise InvalidInput(f"{LABELS[name]}: {text!r} is not an amount above zero", reason="amount_invalid")
    return value


router = APIRouter()
ABOUT = {
    "quick": "A first look: one round, few pages.",
    "standard": "A follow-up round where something is missing.",
    "thorough": "Many pages, independent sources.",
    "offline": "Local libraries only; nothing leaves this machine.",
}
# Below the form, without scrolling.
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
        asked = request_of_form(form)
        given = [await _read(engine, file) for file in request.state.files]
        run_id = await begun(request, engine, replace(asked, urls=(*asked.urls, *given)))
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
    caps = {name: kept[name] for name in CAPS if kept.get(name) is not None} if isinstance(kept, dict) else {}
    before = {"urls": task.urls, "constraints": task.constraints, "caps": caps, "continues": run_id}
    new = await begun(request, engine, ResearchRequest.of(form.get("question", ""), before))
    return seeing(f"/runs/{new}")


async def _read(engine: Engine, file: SentFile) -> str:
    """The address of a file that was sent along, which is read and stored. Errors: as `Engine.parse`, with its name."""
    try:
        return (await engine.parse(file.data, name=file.name, content_type=file.content_type)).final_url
    except PinciteError as error:
        raise InvalidInput(
            f"the file {file.name} can't be read: {error.message}", reason=error.reason, hint=error.hint
        ) from error


async def _ask(request: Request, scope: str, form: Mapping[str, str], error: PinciteError | None = None) -> Response:
    service = service_of(request)
    engine = await service.engine(scope)
    estimates = {name: (await service.engine(scope, name)).run_estimate() for name in PROFILES}
    chosen = form.get("profile") or engine.settings.profile
    return page(
        request,
        "ask.html",
        status_code=200 if error is None else http_status(error),
        form=form,
        error=error,
        chosen=chosen,
        profiles=[
            {"name": name, "about": ABOUT[name], "run_estimate": estimate, "price": _price(estimate)}
            for name, estimate in estimates.items()
            if name != "offline" or not estimate.trouble
        ],
        run_estimate=estimates.get(chosen) or engine.run_estimate(),
        recent=await engine.runs(RECENT_RUNS),
        limited=any(form.get(name) for name in form if name not in ("question", "profile"))
        or bool(getattr(request.state, "files", ())),  # no browser keeps them: they are picked again
    )


def _price(run_estimate: RunEstimate) -> str:
    """What a run may cost at most, in words."""
    cap = run_estimate.budget.cost_usd
    if run_estimate.searches_usd is None or run_estimate.model_usd is None:
        unknown = "search engine" if run_estimate.searches_usd is None else "model"
        return f"the price of the {unknown} is not known here" if cap is None else f"at most {_dollars(cap)}"
    whole = run_estimate.searches_usd + run_estimate.model_usd
    if cap is not None:
        whole = min(cap, whole)
    return f"at most {_dollars(whole)}" if whole else "free"


def _dollars(amount: Decimal) -> str:
    return f"${amount:.2f}".removesuffix(".00")


# Fits into `gate.MAX_BODY_BYTES`; longer reports are for the command line.
MAX_REPORT_CHARS = 1_000_000
SIGNS = {
    AuditVerdict.SUPPORTED: "✓",
    AuditVerdict.PARTIAL: "◐",
    AuditVerdict.COULD_NOT_CHECK: "?",
    AuditVerdict.UNCHECKED: "?",
}


@dataclass(frozen=True, slots=True)
class Stretch:
    """A run of the report's text; `number` is that of the finding on it, 0 where there is none."""

    text: str
    number: int = 0
    finding: AuditedSentence | None = None

    @property
    def why(self) -> str:
        """What was found, without the verdict's own words, which stand beside it."""
        if self.finding is None:
            return ""
        return self.finding.detail.removeprefix(f"{WORDS[self.finding.outcome]}: ")


@router.get("/audit")
async def audit_page(request: Request, scope: Reader) -> Response:
    """The page to paste a report on."""
    return page(request, "audit.html", text="", audit=None, error=None)


@router.post("/audit")
async def audit(request: Request, scope: Reader, form: Form) -> Response:
    """The pasted report with its verdicts."""
    text = form.get("report", "")[:MAX_REPORT_CHARS]
    engine = await service_of(request).engine(scope)
    try:
        found = await engine.audit(text, spending=await budget_of(request, engine))
    except PinciteError as error:
        return page(request, "audit.html", status_code=http_status(error), text=text, audit=None, error=error)
    stretches = tuple(stretches_of(found))
    return page(
        request,
        "audit.html",
        text=text,
        error=None,
        audit=found,
        stretches=stretches,
        findings=[stretch for stretch in stretches if stretch.number],
        counts=[(outcome, WORDS[outcome], tone(outcome), count) for outcome, count in found.counts().items()],
        words=WORDS,
        tone=tone,
        sign=sign,
        never_cited=[reference.name for reference in found.never_cited],
    )


def stretches_of(audit: Audit) -> Iterator[Stretch]:
    """The whole text in order, cut where sentences with a verdict start and end."""
    at = number = 0
    for sentence in sorted(audit.claims, key=lambda s: (s.start, s.end)):
        # Verdicts may overlap where a list item holds a sentence: the first one keeps the text.
        start, end = max(sentence.start, at), min(sentence.end, len(audit.text))
        if start >= end:
            continue
        if start > at:
            yield Stretch(audit.text[at:start])
        number += 1
        yield Stretch(audit.text[start:end], number, sentence)
        at = end
    if at < len(audit.text):
        yield Stretch(audit.text[at:])


def tone(outcome: AuditVerdict) -> str:
    """`good`, `fair` or `bad`: which of three looks a verdict has."""
    if outcome in WRONG:
        return "bad"
    return "good" if outcome is AuditVerdict.SUPPORTED else "fair"


def sign(outcome: AuditVerdict) -> str:
    """The shape of a verdict."""
    return SIGNS.get(outcome, "✕")
