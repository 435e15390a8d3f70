"""Parts of runs and audits as windows of text that fit into a model's context."""

from pincite.audit.findings import Audit, AuditVerdict, ReferenceState, reference_name
from pincite.domain.codec import short_utc_text
from pincite.domain.errors import InvalidInput
from pincite.domain.events import RunStatus
from pincite.domain.markdown import one_line
from pincite.domain.page import FetchResult
from pincite.domain.report import RejectedClaim, Report, ReportClaim
from pincite.domain.signs import beyond_text, claim_proof, refusal
from pincite.engine import Engine
from pincite.surfaces.mcp.shapes import PASSAGES, Audited, Finding, Progress

WINDOW_CHARS = 20_000
MAX_FINDINGS = 40
_PASSAGE_CHARS = 300
_PLAIN = (AuditVerdict.SUPPORTED, AuditVerdict.NOT_A_CLAIM)


async def progress(engine: Engine, run_id: str, section: str, offset: int) -> Progress:
    """Where a run stands, with a window of a part of its report once there is one.

    Errors: RunNotFound, InvalidInput (an offset after the end).
    """
    view = await engine.view(run_id)
    status = str(view.record.status)
    if view.report is None:
        going = status in ("queued", "running")
        why = f" ({view.record.reason})" if view.record.reason else ""
        ended = "has failed" if status == RunStatus.FAILED else f"is {status}"
        after = f"Call research_result with run_id {run_id}." if going else f"The run {ended}{why}."
        return Progress(run_id=run_id, status=status, next=after)
    text = section_text(view.report, section)
    if offset > len(text):
        raise InvalidInput(f"offset must be between 0 and {len(text)}")
    end = min(offset + WINDOW_CHARS, len(text))
    more = end < len(text)
    return Progress(
        run_id=run_id,
        status=status,
        content=text[offset:end],
        truncated=more,
        next_offset=end if more else None,
        next=f"Call research_result with offset {end} for the rest." if more else "",
    )


def with_links(page: FetchResult) -> str:
    """The window of a page, with the page's links below where they were asked for."""
    links = "".join(f"\n- [{link.text}]({link.url})" for link in page.links)
    return f"{page.content}\n\nLinks of the page:\n{links}" if links else page.content


async def stopped(engine: Engine, run_id: str) -> Progress:
    """Where a run stands that was to be stopped, and how to read what it has. Errors: RunNotFound."""
    view = await engine.view(run_id)
    status = view.record.status
    if view.report is not None:
        after = f"It had ended already; its report is at hand: call research_result with run_id {run_id}."
    elif status in (RunStatus.QUEUED, RunStatus.RUNNING):
        after = f"It was told to stop and will in a moment: call research_result with run_id {run_id} to see."
    else:
        after = "It has stopped without a report."
    return Progress(run_id=run_id, status=str(status), next=after)


def section_text(report: Report, section: str) -> str:
    """The report, its claims with their proofs, quotes and refused neighbours, or its sources, as text."""
    if section == "claims":
        return "\n".join([*map(_claim, report.claims), *map(_refused, report.rejected_claims)])
    if section == "sources":
        return "\n".join(
            f"[{r.n}] {r.title} {r.url} (accessed {short_utc_text(r.accessed_at)})" for r in report.references
        )
    return report.markdown


def _claim(claim: ReportClaim) -> str:
    said = "; ".join(part for part in (str(claim.verdict), claim_proof(claim), beyond_text(claim)) if part)
    quotes = (f"  > {one_line(evidence.quote)}\n  {evidence.url}\n" for evidence in claim.evidence)
    return f"- {claim.text} ({said})\n{''.join(quotes)}"


def _refused(claim: RejectedClaim) -> str:
    return f"- refused: {claim.text} ({claim.verdict}; {refusal(claim)})\n"


def audited(audit: Audit, offset: int) -> Audited:
    """The counts of an audit, and a window of what is not plainly supported."""
    doubtful = [sentence for sentence in audit.sentences if sentence.outcome not in _PLAIN]
    end = offset + MAX_FINDINGS
    return Audited(
        clean=audit.clean,
        claims=len(audit.claims),
        checked=audit.checked,
        counts={outcome.value: count for outcome, count in audit.counts().items()},
        findings=[
            Finding(
                text=sentence.text,
                outcome=sentence.outcome.value,
                detail=sentence.detail,
                passage=sentence.passage[:_PASSAGE_CHARS],
            )
            for sentence in doubtful[offset:end]
        ],
        unread_pages=[
            f"{reference_name(reference)}: {reference.reason}"
            for reference in audit.references
            if reference.state is not ReferenceState.READ
        ],
        truncated=end < len(doubtful),
        next_offset=end if end < len(doubtful) else None,
        notice=f"{audit.shortfall[0].upper()}{audit.shortfall[1:]}. {PASSAGES}" if audit.shortfall else PASSAGES,
    )
