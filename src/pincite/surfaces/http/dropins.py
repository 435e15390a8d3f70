"""The shapes of Tavily and Firecrawl, for their clients with another base URL. Unknown fields are ignored."""

import secrets
import time
from datetime import UTC, date, datetime
from email.utils import format_datetime
from typing import Any, Literal

import anyio
from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from pincite.domain.codec import to_json
from pincite.domain.errors import InvalidInput, PinciteError
from pincite.domain.fetch import FetchRequest, FetchResult
from pincite.domain.page_markdown import document_markdown
from pincite.domain.search import Constraints, Depth, Query, SearchResult, Topic, since_of
from pincite.engine import Engine
from pincite.surfaces.http.service import Scope, budget_of, engine_of, secret_of, service_of
from pincite.wiring.server import DailyBudget

router = APIRouter()
TAVILY: Any = {"tags": ["drop-in: Tavily"]}
FIRECRAWL: Any = {"tags": ["drop-in: Firecrawl"]}
# Tavily's own limit for `extract`.
MAX_URLS = 20
# Below the minute after which their clients and most proxies hang up.
MAX_PAGE_S = 40.0
# Pages of one call: a caller does not take all connections of the server.
_PARALLEL = 5


class TavilySearch(BaseModel):
    """What Tavily's clients send."""

    query: str = Field(min_length=1)
    api_key: str | None = None
    search_depth: str = "basic"
    topic: Literal["general", "news", "finance"] = "general"
    max_results: int = Field(5, ge=0, le=20)
    time_range: Literal["day", "week", "month", "year", "d", "w", "m", "y"] | None = None
    start_date: date | None = None
    end_date: date | None = None
    include_domains: tuple[str, ...] | None = None
    exclude_domains: tuple[str, ...] | None = None
    include_answer: bool | str = False
    include_raw_content: bool | str = False


class TavilyExtract(BaseModel):
    """What Tavily's clients send."""

    urls: str | tuple[str, ...]
    api_key: str | None = None
    format: Literal["markdown", "text"] = "markdown"
    timeout: float | None = Field(None, gt=0, le=60)


@router.post("/tavily/search", name="search", **TAVILY)
async def tavily_search(body: TavilySearch, request: Request) -> dict[str, Any]:
    """Results as Tavily words them. There is no answer: a provider's answer is not evidence."""
    started = time.monotonic()
    engine = await _engine(request, body.api_key)
    since = body.start_date
    if since is None and body.time_range:
        since = since_of(body.time_range, datetime.now(UTC).date())
    query = Query(
        body.query,
        min(max(body.max_results, 1), engine.settings.most_results),  # "at most": fewer is within the word of it
        Constraints(
            include_domains=body.include_domains or (),
            exclude_domains=body.exclude_domains or (),
            since=since,
            until=body.end_date,
        ),
        topic=Topic.NEWS if body.topic == "news" else Topic.GENERAL,
        depth=Depth.ADVANCED if body.search_depth == "advanced" else Depth.BASIC,
        include_answer=bool(body.include_answer),
    )
    found = await engine.search(query, spending=await budget_of(request, engine))
    # 0 is allowed there: then the answer alone is wanted.
    results = [_result(result) for result in found.results[: body.max_results]]
    if body.include_raw_content:
        budget = await budget_of(request, engine)
        pages = await _pages(engine, [str(result["url"]) for result in results], "markdown", None, budget)
        for result in results:
            page = pages[str(result["url"])]
            result["raw_content"] = None if isinstance(page, PinciteError) else page
    return {
        "query": body.query,
        "answer": found.answer if body.include_answer else None,
        "images": [],
        "results": results,
        "follow_up_questions": None,
        "response_time": round(time.monotonic() - started, 2),
        "request_id": secrets.token_hex(16),
    }


@router.post("/tavily/extract", **TAVILY)
async def extract(body: TavilyExtract, request: Request) -> dict[str, Any]:
    """The text of pages; one that can't be read is listed, not raised."""
    started = time.monotonic()
    engine = await _engine(request, body.api_key)
    urls = [body.urls] if isinstance(body.urls, str) else list(dict.fromkeys(body.urls))
    if not 1 <= len(urls) <= MAX_URLS:
        raise InvalidInput(f"urls: 1 to {MAX_URLS} at a time", reason="too_many_urls")
    pages = await _pages(engine, urls, body.format, body.timeout, await budget_of(request, engine))
    read = {url: page for url, page in pages.items() if not isinstance(page, PinciteError)}
    failed = {url: page for url, page in pages.items() if isinstance(page, PinciteError)}
    return {
        "results": [
            {"url": url, "raw_content": read[url], "images": [], "favicon": None} for url in urls if url in read
        ],
        "failed_results": [{"url": url, "error": failed[url].message} for url in urls if url in failed],
        "response_time": round(time.monotonic() - started, 2),
        "request_id": secrets.token_hex(16),
    }


@router.api_route("/tavily/crawl", methods=["POST"], include_in_schema=False)
@router.api_route("/tavily/map", methods=["POST"], include_in_schema=False)
@router.api_route("/tavily/research", methods=["POST"], include_in_schema=False)
@router.api_route("/tavily/research/{_}", methods=["GET"], include_in_schema=False)
@router.api_route("/tavily/feedback", methods=["POST"], include_in_schema=False)
@router.api_route("/tavily/usage", methods=["GET"], include_in_schema=False)
async def not_served_as_tavily(request: Request) -> None:
    """A refusal in words. Errors: InvalidInput (`not_served`)."""
    name = request.url.path.removeprefix("/tavily")
    raise InvalidInput(f"{name} is not served here; there are /search and /extract", reason="not_served")


async def _engine(request: Request, key_in_body: str | None) -> Engine:
    service = service_of(request)
    header = request.headers.get("authorization")
    # Older clients of Tavily send the key in the body; a header wins, since it is what proxies set.
    secret = key_in_body if key_in_body and not header else secret_of(request)
    return await service.engine(await service.admit(request, secret))


async def _pages(
    engine: Engine, urls: list[str], form: str, timeout_s: float | None, spending: DailyBudget | None
) -> dict[str, str | PinciteError]:
    slots = anyio.CapacityLimiter(_PARALLEL)
    found: dict[str, str | PinciteError] = {}

    async def read(url: str) -> None:
        async with slots:
            try:
                wanted = FetchRequest(url, deadline_s=min(timeout_s or 30.0, MAX_PAGE_S))
                document = (await engine.fetch(wanted, spending=spending)).document
                found[url] = document.text if form == "text" else document_markdown(document)
            except PinciteError as error:
                found[url] = error

    async with anyio.create_task_group() as tasks:
        for url in urls:
            tasks.start_soon(read, url)
    return found


def _result(result: SearchResult) -> dict[str, Any]:
    dated = {"published_date": format_datetime(result.published_at)} if result.published_at else {}
    return {
        "title": result.title,
        "url": result.url,
        "content": result.snippet,
        # Falling with the rank, 1 for the first: engines' own scores can't be compared, and clients sort by it.
        "score": round(1 / (1 + 0.1 * (result.rank - 1)), 4),
        "raw_content": None,
        **dated,
    }


_FORMATS = frozenset({"markdown", "links"})


class _Body(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class FirecrawlScrape(_Body):
    """What Firecrawl's clients send."""

    url: str
    formats: tuple[str | dict[str, Any], ...] = ("markdown",)
    max_age: int | None = None
    timeout: int = Field(30_000, ge=1_000, le=300_000)


class FirecrawlSearch(_Body):
    """What Firecrawl's clients send."""

    query: str = Field(min_length=1, max_length=500)
    limit: int = Field(10, ge=1, le=50)
    include_domains: tuple[str, ...] | None = None
    exclude_domains: tuple[str, ...] | None = None


# Firecrawl answers 500 for a page that can't be read, with codes of its own; no other error has them.
_UNSCRAPED: dict[int | str, dict[str, Any]] = {
    500: {
        "description": "The page can't be read.",
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "properties": {
                        "success": {"const": False},
                        "error": {"type": "string"},
                        "code": {"type": "string", "pattern": "^SCRAPE_"},
                    },
                    "required": ["success", "error", "code"],
                }
            }
        },
    }
}


@router.post("/v2/scrape", responses=_UNSCRAPED, **FIRECRAWL)
async def scrape(body: FirecrawlScrape, request: Request, scope: Scope) -> dict[str, Any]:
    """One page as Markdown, with its links if asked."""
    wanted = {str(item.get("type")) if isinstance(item, dict) else item for item in body.formats}
    if unknown := sorted(wanted - _FORMATS):
        raise InvalidInput(f"formats not served here: {', '.join(unknown)}", reason="format_unsupported")
    engine = await engine_of(request, scope)
    page = await engine.fetch(
        FetchRequest(
            body.url,
            force_refresh=body.max_age == 0,
            deadline_s=min(body.timeout / 1000, MAX_PAGE_S),
        ),
        spending=await budget_of(request, engine),
    )
    data: dict[str, Any] = {"metadata": _metadata(page, body.url)}
    if "markdown" in wanted:
        data["markdown"] = document_markdown(page.document)
    if "links" in wanted:
        data["links"] = [link.url for link in page.document.links]
    return {"success": True, "data": data}


@router.post("/v2/search", name="search", **FIRECRAWL)
async def firecrawl_search(body: FirecrawlSearch, request: Request, scope: Scope) -> dict[str, Any]:
    """Web results."""
    limits = Constraints(include_domains=body.include_domains or (), exclude_domains=body.exclude_domains or ())
    engine = await engine_of(request, scope)
    most = min(body.limit, engine.settings.most_results)  # "at most": fewer is within the word of it
    found = await engine.search(Query(body.query, most, limits), spending=await budget_of(request, engine))
    web = [
        {"url": result.url, "title": result.title, "description": result.snippet, "position": result.rank}
        for result in found.results
    ]
    return {"success": True, "id": secrets.token_hex(16), "creditsUsed": 0, "warning": None, "data": {"web": web}}


@router.api_route("/v2/batch/{_:path}", methods=["POST", "GET", "DELETE"], include_in_schema=False)
@router.api_route("/v2/crawl", methods=["POST"], include_in_schema=False)
@router.api_route("/v2/crawl/{_:path}", methods=["POST", "GET", "DELETE"], include_in_schema=False)
@router.api_route("/v2/map", methods=["POST"], include_in_schema=False)
@router.api_route("/v2/extract", methods=["POST"], include_in_schema=False)
@router.api_route("/v2/agent", methods=["POST"], include_in_schema=False)
async def not_served_as_firecrawl(request: Request) -> None:
    """A refusal in words. Errors: InvalidInput (`not_served`)."""
    path = request.url.path
    raise InvalidInput(f"{path} is not served here; there are /v2/scrape and /v2/search", reason="not_served")


def _metadata(page: FetchResult, url: str) -> dict[str, Any]:
    metadata = {
        "title": page.title,
        "description": page.excerpt,
        "language": page.language or None,
        "sourceURL": url,
        "url": page.final_url,
        "statusCode": page.status,
        "contentType": page.content_type,
        "publishedTime": None if page.published_at is None else to_json(page.published_at, outside=True),
        "cacheState": "miss" if page.info.cache in ("off", "miss") else "hit",
        "creditsUsed": 0,
        "scrapeId": page.snapshot_id,
    }
    return {name: value for name, value in metadata.items() if value is not None}
