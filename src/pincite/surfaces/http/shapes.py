"""What the API answers, for its OpenAPI document (tests hold the answers to it), and where a page of a list ended."""

import base64
import binascii
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from pincite.domain.codec import to_json, utc_moment, utc_text
from pincite.domain.errors import InvalidInput

Ref = dict[int | str, dict[str, Any]]


class Usage(BaseModel):
    """What was spent."""

    searches: int
    pages: int
    web_requests: int
    size_bytes: int
    tokens_in: int
    tokens_out: int
    cost_usd: float


class WebhookState(BaseModel):
    """What became of telling an address."""

    url: str
    status: Literal["waiting", "sent", "given_up"]
    tries: int
    detail: str


class RunProgress(BaseModel):
    """How far a run is."""

    stage: Literal["planning", "searching", "reading", "checking", "writing"]
    round: int
    searches: int
    pages: int
    claims_verified: int
    claims_rejected: int
    gaps: int
    sections: list[str] = Field(description="Headings of the sections that are written so far.")
    summary: str = Field(description="The same in a line.")


class Run(BaseModel):
    """Where a run stands."""

    id: str
    status: Literal[
        "queued", "running", "completed", "partial", "insufficient_evidence", "failed", "cancelled", "dead_letter"
    ]
    question: str
    created_at: str
    updated_at: str
    reason: str = Field(description="Why it ended as it did, where there is something to say.")
    usage: Usage
    webhooks: list[WebhookState] | None = Field(None, description="In the answer of a single run that has any.")
    progress: RunProgress | None = Field(None, description="In the answer of a single run that is worked on.")
    metadata: dict[str, str] | None = Field(None, description="What was given with the question, if anything.")


class RunPage(BaseModel):
    """Runs, newest first."""

    runs: list[Run]
    next_cursor: str | None = Field(description="Give it as `cursor` for the page after this one.")


class Claims(BaseModel):
    """The claims of a report, as in the report itself."""

    claims: list[dict[str, Any]]


class Sources(BaseModel):
    """What a report cites, and what was found but not read."""

    references: list[dict[str, Any]]
    leads: list[dict[str, Any]]


class Findings(BaseModel):
    """What a report states, each once."""

    findings: list[dict[str, Any]]


class Citations(BaseModel):
    """The sources that a report cites."""

    citations: list[dict[str, Any]]


class Answer(BaseModel):
    """A report as values for a JSON Schema: `answer`, and for each value its passages in `evidence`."""

    model_config = ConfigDict(extra="allow")

    run_id: str
    answer: dict[str, Any]


class Cited(BaseModel):
    """What a number of a report stands for."""

    reference: dict[str, Any]
    passages: list[dict[str, Any]] = Field(description="What is quoted from it, each with the id of its claim.")


class Attempt(BaseModel):
    """One provider asked on the way of a call."""

    provider: str
    outcome: str
    latency_ms: float
    cost_usd: float
    detail: str
    sent: bool


class Call(BaseModel):
    """One outside call of a run: reserved before, settled after."""

    key: str
    kind: str
    request: Any
    status: Literal["reserved", "ok", "error", "retry", "interrupted", "refused"]
    tries: int
    started_at: str
    settled_at: str | None
    latency_ms: float | None
    estimate: Usage
    used: Usage
    attempts: list[Attempt]


class Trace(BaseModel):
    """What a run did: its caps, its calls with their bills, its events."""

    run: Run
    budget: dict[str, Any]
    calls: list[Call]
    events: list[dict[str, Any]]


class Heading(BaseModel):
    """A heading and where it starts."""

    level: int
    title: str
    start: int


class StoredDocument(BaseModel):
    """What was read out of a capture. Quotes are offsets of code points into `text`."""

    document_id: str
    extractor: str
    version: str
    title: str
    byline: str
    site_name: str
    language: str
    published_at: str | None
    outline: list[Heading]
    structure: list[dict[str, Any]] = Field(description="Products, posts, answers, comments and entries, with offsets.")
    text: str


class StoredSnapshot(BaseModel):
    """One capture of one URL."""

    snapshot_id: str
    url: str
    final_url: str
    canonical_url: str
    status: int
    content_type: str
    body_sha256: str
    fetched_at: str
    via: str
    robots: str
    usage_signals: list[str]
    redirects: list[str]
    note: str
    size_bytes: int
    document: StoredDocument | None


class CheckProblem(BaseModel):
    """Something that does not hold, or could not be checked."""

    kind: str
    where: str
    what: str


class CheckResult(BaseModel):
    """Whether a report still says what the stored pages say."""

    status: Literal["passed", "failed", "unchecked"]
    counts: dict[str, int]
    problems: list[CheckProblem]
    kept: dict[str, int] = Field(description="How many captures are kept as what.")
    proofs: dict[str, int] = Field(description="How many sentences are proven how.")
    judged: list[dict[str, Any]] = Field(description="Who judged how many sentences, and when.")
    notes: list[str]
    judged_again: str
    again: int


class Audit(BaseModel):
    """A verdict on every sentence of a report."""

    schema_version: int
    claims_total: int
    claims_checked: int
    coverage: float | None = Field(description="Checked claims ÷ claims; null without a claim.")
    citation_precision: float | None
    citation_recall: float | None
    clean: bool = Field(description="There was something to check, all of it was checked, and nothing is wrong.")
    strict: bool = Field(description="Whether partly supported sentences count as wrong.")
    judge: str = Field(description="Who judged meaning; empty where nobody did.")
    shortfall: str = Field(description="What the audit leaves open and why; empty with a verdict on every claim.")
    counts: dict[str, int]
    entries_never_cited: list[str]
    sentences: list[dict[str, Any]]
    references: list[dict[str, Any]]


class LogEntry(BaseModel):
    """A call that came through a surface, or that a run made (`surface` is `run`)."""

    id: str
    at: str
    surface: str
    tool: str
    request: Any
    outcome: str = Field(description="`ok`, `cached`, the status of a run, or an error code in lower case.")
    latency_ms: float
    cost_usd: float
    tokens_in: int
    tokens_out: int
    run_id: str
    session_id: str
    request_id: str


class LogPage(BaseModel):
    """Calls, newest first."""

    calls: list[LogEntry]
    next_cursor: str | None


class WebhookSecret(BaseModel):
    """What webhooks are signed with."""

    secret: str = Field(description="`whsec_` and base64, as Standard Webhooks write it.")


def published(name: str, *, what: str, others: tuple[str, ...] = ()) -> Ref:
    """The `responses` of a route that answers one of the published schemas, or a file of one of the `others` kinds."""
    json_kind = {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}
    return {200: {"description": what, "content": {**json_kind, **_files(others)}}}


_PROBLEM = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
# What a route answers beside that when the page that its caller named can't be read: nothing here is broken then.
PAGE_UNREADABLE: Ref = {
    502: {"description": "The page can't be read: `code` says why.", "content": _PROBLEM},
    504: {"description": "The page did not come in time.", "content": _PROBLEM},
}


def shaped(model: type[BaseModel], *, status: int = 200, others: tuple[str, ...] = ()) -> Ref:
    """The `responses` of a route that answers one of the shapes here, or a file of one of the `others` kinds."""
    described = {"model": model, "description": (model.__doc__ or "").split("\n")[0]}
    return {status: {**described, "content": _files(others)} if others else described}


def streamed(what: str) -> Ref:
    """The `responses` of a route that answers server-sent events."""
    return {200: {"description": what, "content": _files(("text/event-stream",))}}


def _files(kinds: tuple[str, ...]) -> dict[str, Any]:
    return {kind: {"schema": {"type": "string"}} for kind in kinds}


def shape_json(shape: type[BaseModel], value: object, **otherwise: object) -> dict[str, Any]:
    """The members that a shape always has as they are sent: the value's of those names, or what is said otherwise."""
    names = (name for name, field in shape.model_fields.items() if field.is_required())
    return {
        name: otherwise[name] if name in otherwise else to_json(getattr(value, name), outside=True) for name in names
    }


# A cursor of ours has under 100 characters.
_LONGEST = 300


def cursor_after(at: datetime, id_: str) -> str:
    """The cursor after the entry of that time and id."""
    # Time and id, and no number of a page: what is added meanwhile moves no border. The padding would have to be
    # escaped in a query.
    return base64.urlsafe_b64encode(f"{utc_text(at)} {id_}".encode()).decode().rstrip("=")


def read_cursor(cursor: str) -> tuple[datetime, str]:
    """The time and id of the entry before. Errors: InvalidInput (`bad_cursor`)."""
    try:
        if len(cursor) > _LONGEST:
            raise ValueError
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        # Without `validate` strange characters are dropped, and another cursor would come out.
        at, id_ = base64.b64decode(padded, altchars=b"-_", validate=True).decode("ascii").split(" ", 1)
        return utc_moment(at), id_
    except (ValueError, binascii.Error):
        raise InvalidInput("this cursor is not valid", reason="bad_cursor", hint="Begin without one.") from None
