"""Templates to responses: one policy for all pages, text escaped, errors as pages; their style, scripts and icon."""

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined

from pincite.domain import reasons
from pincite.domain.budget import usd_text
from pincite.domain.errors import NotFound, PinciteError
from pincite.domain.reasons import plural, reason_text
from pincite.domain.report_words import (
    QUESTION_CHARS,
    balance_text,
    conflict_text,
    coverage_text,
    day,
    linkable,
    no_answer_text,
    one_line,
    open_points,
    partial_text,
    unsure_points,
    without_controls,
)
from pincite.domain.signs import MARKS, VERDICTS, beyond_text, claim_proof, proofs_used, refusal
from pincite.domain.version import VERSION
from pincite.surfaces.http.service import COOKIE, service_of
from pincite.surfaces.http.ui.charts import figure

router = APIRouter()
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_HEADERS = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
}


@router.get("/static/{digest}/{name:path}")
async def static(digest: str, name: str) -> Response:
    """One file."""
    content = _files().get(name)
    # An address of an earlier version is gone: served under it, another content would be kept for a year.
    if content is None or digest != _digest():
        raise NotFound("there is no such file")
    return Response(content, media_type=TYPES[Path(name).suffix], headers=_HEADERS)


@router.get("/favicon.ico")
async def favicon() -> Response:
    """The icon, for browsers that don't ask where it is."""
    return Response(_files()["icon.svg"], media_type=TYPES[".svg"], headers=_HEADERS)


@cache
def _files() -> dict[str, bytes]:
    folder = Path(__file__).with_name("static")
    found = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.suffix in TYPES}
    return dict(sorted({"reasons.js": _reasons(), **{name: path.read_bytes() for name, path in found.items()}}.items()))


def _reasons() -> bytes:
    """The words of `domain.reasons` as a module, so that the live page says what the others say."""
    tables = {name: getattr(reasons, name) for name in ("REASONS", "STATUSES", "FAMILIES")}
    return "".join(f"export const {name} = {json.dumps(table)};\n" for name, table in tables.items()).encode()


@cache
def _digest() -> str:
    whole = hashlib.sha256()
    for name, content in _files().items():
        whole.update(name.encode() + b"\0" + content)
    return whole.hexdigest()[:12]


POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    # Not `no-referrer`: browsers then send forms with `Origin: null`, which no server can tell from a foreign page.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "private, no-store",
}
API_PATHS = ("/v1/", "/v2/", "/tavily/", "/healthz", "/readyz", "/openapi.json", "/docs", "/redoc", "/mcp")
# Shape and word of where a run stands.
STATUSES: Mapping[str, tuple[str, str]] = {
    "queued": ("…", "waiting"),
    "running": ("▸", "running"),
    "completed": ("✓", "complete"),
    "partial": ("◐", "partial"),
    "insufficient_evidence": ("○", "not enough evidence"),
    "failed": ("✕", "failed"),
    "dead_letter": ("✕", "given up"),
    "cancelled": ("■", "stopped"),
}


def page(request: Request, template: str, *, status_code: int = 200, **values: Any) -> HTMLResponse:
    """The page made of a template and these values."""
    service = service_of(request)
    cookie = request.cookies.get(COOKIE)
    scope = service.sessions.scope_of(cookie)
    common = {
        "version": VERSION,
        "path": request.url.path,
        "form_token": service.sessions.form_token(cookie),
        "signed_in": scope if service.keys.needed else None,
        "may_enter": scope is not None,
    }
    return HTMLResponse(_templates().get_template(template).render(**common, **values), status_code, HEADERS)


def seeing(location: str) -> RedirectResponse:
    """The answer to a form that was taken: go and look there."""
    return RedirectResponse(location, 303, HEADERS)


def error_page(request: Request, error: PinciteError, status: int) -> Response | None:
    """The error as a page for somebody at a browser; None for programs."""
    path = request.url.path
    if path.startswith(API_PATHS) or "text/html" not in request.headers.get("accept", ""):
        return None
    # A form is not sent again after signing in: its page is, by hand.
    if status == 401 and request.method == "GET" and path != "/login":
        target = path + (f"?{request.url.query}" if request.url.query else "")
        return seeing(f"/login?next={quote(target, safe='')}")
    return page(request, "error.html", status_code=status, error=error, code=status)


def site(url: str) -> str:
    """Where a page is from, as people say it: its host, or the library that holds it."""
    if url.startswith("local:"):
        return url.removeprefix("local:").split("/", 1)[0]
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:  # an address that no parser takes is still shown
        host = ""
    return host.removeprefix("www.") or url


def moment(at: datetime) -> str:
    """A time as `2026-11-21 09:30 UTC`."""
    return f"{day(at)} {at:%H:%M} UTC"


def seconds(amount: float) -> str:
    """A duration in the unit people would use, never parted from its number."""
    if amount < 1:
        return f"{amount * 1000:.0f}\N{NO-BREAK SPACE}ms"
    if amount < 60:
        return f"{amount:.0f}\N{NO-BREAK SPACE}s" if amount >= 10 else f"{amount:.1f}\N{NO-BREAK SPACE}s"
    is_whole = amount >= 600 or not amount % 60
    return f"{amount / 60:.0f}\N{NO-BREAK SPACE}min" if is_whole else f"{amount / 60:.1f}\N{NO-BREAK SPACE}min"


def _shown(value: Any) -> Any:  # whatever a template prints
    """Text without control characters and direction overrides; anything else as it is."""
    return without_controls(value) if type(value) is str else value


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("pincite.surfaces.http.ui"),
        autoescape=True,
        # A name that is misspelt in a template is an error in a test, not an empty place on a page.
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        # It changes with the content of any file: modules import each other by name.
        static=lambda name: f"/static/{_digest()}/{name}",
        badges=VERDICTS,
        claim_marks=MARKS,
        statuses=STATUSES,
        plural=plural,
        figure=figure,
        linkable=linkable,
        balance_text=balance_text,
        beyond_text=beyond_text,
        claim_proof=claim_proof,
        open_points=open_points,
        unsure_points=unsure_points,
        long_question=QUESTION_CHARS,
        proofs_used=proofs_used,
        refusal=refusal,
        conflict_text=conflict_text,
        coverage_text=coverage_text,
        # The sentence that matters, and the rest.
        no_answer=lambda report: no_answer_text(report).removeprefix("**").partition("**")[::2],
        partial=lambda report: partial_text(report).strip("*"),
        reason_text=reason_text,
    )
    environment.filters.update(
        line=one_line,
        day=day,
        site=site,
        moment=moment,
        seconds=seconds,
        money=usd_text,
        segment=lambda s: quote(s, ""),
        sentence=lambda text: text[:1].upper() + text[1:],
    )
    return environment
