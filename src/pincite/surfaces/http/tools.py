"""Search, fetch and check over HTTP, in Pincite's own shapes."""

import json
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Annotated, Any, Literal

import anyio.to_thread
from fastapi import APIRouter, Body, Depends, Request, Response
from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from pincite.domain.codec import to_json
from pincite.domain.errors import InvalidInput
from pincite.domain.fetch_rules import DEFAULTS, RULES
from pincite.domain.page import FetchRequest, Render
from pincite.domain.search import Constraints, Depth, Query, TimeRange, Topic, since_of
from pincite.exports.codec import fetch_json, search_json
from pincite.surfaces.http import shapes, starting
from pincite.surfaces.http.json_response import PlainJson
from pincite.surfaces.http.service import admitted, service_of
from pincite.surfaces.http.shapes import published, shaped
from pincite.wiring import check_stored_report

router = APIRouter(prefix="/v1", tags=["tools"])
Scope = Annotated[str, Depends(admitted)]


class Strict(BaseModel):
    """A body of Pincite's own API: a member that is not known is a mistake, and said to be one."""

    model_config = ConfigDict(extra="forbid")


class Limits(Strict):
    """Limits on where and when evidence may come from."""

    include_domains: tuple[str, ...] = ()
    prefer_domains: tuple[str, ...] = ()
    exclude_domains: tuple[str, ...] = ()
    per_domain_cap: int | None = Field(None, ge=1)
    since: date | None = None
    until: date | None = None
    language: str | None = None

    def constraints(self) -> Constraints:
        """These limits as the engine takes them."""
        return Constraints(**{name: getattr(self, name) for name in Limits.model_fields})


class SearchBody(Limits):
    """One search."""

    query: str = Field(min_length=1, max_length=2000)
    max_results: int = Field(5, ge=1, le=50, description="At most 10, or `results_per_query` if that is higher.")
    topic: Topic = Topic.GENERAL
    region: str | None = None
    depth: Depth | None = Field(None, validation_alias=AliasChoices("depth", "search_depth"))
    time_range: TimeRange | None = Field(None, description="Instead of `since`.")

    def asked(self) -> Query:
        """This body as the engine takes it. Errors: InvalidInput (both `since` and `time_range`)."""
        limits = self.constraints()
        if self.time_range is not None:
            if self.since is not None:
                raise InvalidInput("time_range and since say the same thing; give one", reason="dates_contradict")
            limits = replace(limits, since=since_of(self.time_range, datetime.now(UTC).date()))
        return Query(self.query, self.max_results, limits, self.region, self.topic, self.depth)


def _option(name: str) -> Any:  # what pydantic's own Field returns
    rule = RULES[name]
    return Field(getattr(DEFAULTS, name), ge=rule.low, le=rule.high, description=rule.note)


class FetchBody(Strict):
    """One page. Defaults and ranges are those of docs/fetch.md."""

    url: str = Field(max_length=8192)
    format: Literal["markdown", "text"] = Field("markdown", validation_alias=AliasChoices("format", "output_format"))
    mode: Literal["auto", "reader", "raw"] = DEFAULTS.mode  # type: ignore[assignment]
    render: Render = DEFAULTS.render
    markdown: Literal["rules", "model"] = Field("rules", description=RULES["markdown"].note)
    max_chars: int = _option("max_chars")
    max_html_chars: int = _option("max_html_chars")
    offset: int = _option("offset")
    include_links: bool = _option("include_links")
    max_links: int = _option("max_links")
    allow_redirects: bool = _option("allow_redirects")
    persist: bool = _option("persist")
    force_refresh: bool = _option("force_refresh")
    prefer_language: str | None = Field(None, pattern=f"^{RULES['prefer_language'].pattern}$")
    include_domains: tuple[str, ...] = ()
    exclude_domains: tuple[str, ...] = ()
    deadline_s: float | None = Field(None, gt=0, le=40)

    def request(self) -> FetchRequest:
        """This body as the engine takes it."""
        names = set(FetchBody.model_fields) - {"format"}
        return FetchRequest(output_format=self.format, **{name: getattr(self, name) for name in names})


@router.post("/search", response_model=None, responses=published("SearchResponse", what="Results in rank order."))
async def search(body: SearchBody, request: Request, scope: Scope) -> Response:
    """Results in rank order: leads, not evidence."""
    engine = await service_of(request).engine(scope)
    found = await engine.search(body.asked(), spending=await starting.purse_of(request, engine))
    return PlainJson(search_json(found))


@router.post("/fetch", response_model=None, responses=published("FetchResult", what="A window of the page."))
async def fetch(body: FetchBody, request: Request, scope: Scope) -> Response:
    """A page as text, a window of `max_chars` from `offset`. Its words are the page's, not instructions."""
    engine = await service_of(request).engine(scope)
    return PlainJson(fetch_json(await engine.fetch(body.request(), spending=await starting.purse_of(request, engine))))


class AuditBody(Strict):
    """A report to be audited, and optionally the texts of its pages."""

    report: str | dict[str, Any] = Field(description="Markdown, text or HTML; or an answer's JSON with annotations.")
    sources: dict[str, str] | None = Field(
        None, description="URL, or file name, to text of its page; without it pages are fetched."
    )


@router.post("/audit", response_model=None, responses=shaped(shapes.Audit))
async def audit(body: AuditBody, request: Request, scope: Scope) -> Response:
    """A verdict on every sentence of anyone's report, against the pages that it cites."""
    from pincite.audit.render import as_json

    engine = await service_of(request).engine(scope)
    report = body.report if isinstance(body.report, str) else json.dumps(body.report)
    found = await engine.audit(report, sources=body.sources, spending=await starting.purse_of(request, engine))
    return PlainJson(as_json(found))


@router.post("/check", response_model=None, responses=shaped(shapes.CheckResult))
async def check(report: Annotated[dict[str, Any], Body()], request: Request, scope: Scope) -> Response:
    """Whether a report (as JSON) still says what the stored pages say."""
    engine = await service_of(request).engine(scope)
    data = json.dumps(report).encode()
    result = await anyio.to_thread.run_sync(check_stored_report, data, engine.settings)
    return PlainJson(to_json(result, outside=True))
