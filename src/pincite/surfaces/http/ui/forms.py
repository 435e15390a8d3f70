"""Forms that people send: read within bounds, vetted by their token, and who sent them."""

from collections.abc import Mapping
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import Depends, Request

from pincite.domain.errors import InvalidInput
from pincite.domain.search import Constraints
from pincite.surfaces.http.service import secret_of, service_of
from pincite.surfaces.http.sessions import COOKIE

MAX_FIELDS = 50
LABELS: Mapping[str, str] = {
    "since": "Published since",
    "until": "Published until",
    "max_cost_usd": "At most, US dollars",
    "max_pages": "At most, pages",
    "minutes": "At most, minutes",
}
"""The fields as the page for asking names them."""


async def sent_form(request: Request) -> Mapping[str, str]:
    """The fields of a form of our own pages.

    Errors:
        InvalidInput: not a form. Unauthorized: not from a page of this session.
    """
    if request.headers.get("content-type", "").split(";", 1)[0] != "application/x-www-form-urlencoded":
        raise InvalidInput("a form was expected", reason="not_a_form")
    try:
        text = (await request.body()).decode("ascii")
        fields = dict(parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_FIELDS, errors="replace"))
    except ValueError as error:
        raise InvalidInput("this form can't be read", reason="not_a_form") from error
    token = fields.pop("form_token", "")
    service_of(request).sessions.vet_form(request.cookies.get(COOKIE), token)
    return {name: value.replace("\r\n", "\n") for name, value in fields.items()}


async def reader_of(request: Request) -> str:
    """The scope of whoever looks at a page or sends a form of ours. Errors: Unauthorized, RateLimited."""
    return await service_of(request).admit(request, secret_of(request), by_session=True)


Reader = Annotated[str, Depends(reader_of)]
Form = Annotated[Mapping[str, str], Depends(sent_form)]


def constraints_of(form: Mapping[str, str]) -> Constraints:
    """The limits on where and when evidence may come from. Errors: InvalidInput."""
    return Constraints(
        include_domains=names(form.get("include_domains", "")),
        prefer_domains=names(form.get("prefer_domains", "")),
        exclude_domains=names(form.get("exclude_domains", "")),
        since=_day(form, "since"),
        until=_day(form, "until"),
        language=form.get("language", "").strip() or None,
    )


def caps_of(form: Mapping[str, str]) -> dict[str, object]:
    """The caps that were lowered for this run. Errors: InvalidInput."""
    minutes = _number(form, "minutes")
    return {
        "max_cost_usd": _number(form, "max_cost_usd"),
        "max_pages": None if (pages := _number(form, "max_pages")) is None else int(pages),
        "deadline_s": None if minutes is None else float(minutes) * 60,
    }


def names(text: str) -> tuple[str, ...]:
    """What is listed, separated by commas, spaces or lines, once each."""
    return tuple(dict.fromkeys(text.replace(",", " ").split()))


def local_path(target: str) -> str:
    """`target` when it is a path of this server, otherwise the first page."""
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
    if value is not None and not (value.is_finite() and 0 < value < 1_000_000):
        raise InvalidInput(f"{LABELS[name]}: {text!r} is not an amount above zero", reason="amount_invalid")
    return value
