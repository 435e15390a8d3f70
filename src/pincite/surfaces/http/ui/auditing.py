"""The audit of anyone's report: paste it, see every sentence with its verdict."""

from collections.abc import Iterator
from dataclasses import dataclass

from fastapi import APIRouter, Request
from fastapi.responses import Response

from pincite.audit.findings import WRONG, Audit, AuditedSentence, AuditVerdict, reference_name
from pincite.audit.render import WORDS
from pincite.domain.errors import PinciteError
from pincite.surfaces.http.service import service_of
from pincite.surfaces.http.starting import purse_of
from pincite.surfaces.http.ui.forms import Form, Reader
from pincite.surfaces.http.ui.rendering import page
from pincite.surfaces.outcomes import http_status

router = APIRouter(prefix="/audit")

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


@router.get("")
async def audit_page(request: Request, scope: Reader) -> Response:
    """The page to paste a report on."""
    return page(request, "audit.html", text="", audit=None, error=None)


@router.post("")
async def audit(request: Request, scope: Reader, form: Form) -> Response:
    """The pasted report with its verdicts."""
    text = form.get("report", "")[:MAX_REPORT_CHARS]
    engine = await service_of(request).engine(scope)
    try:
        found = await engine.audit(text, spending=await purse_of(request, engine))
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
        never_cited=[reference_name(reference) for reference in found.never_cited],
    )


def stretches_of(audit: Audit) -> Iterator[Stretch]:
    """The whole text in order, cut where sentences with a verdict start and end."""
    at = number = 0
    for sentence in sorted(audit.claims, key=lambda s: (s.start, s.end)):
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
