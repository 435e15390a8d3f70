"""The shapes of Firecrawl: `POST /v2/scrape` and `/v2/search`, for its clients with another base URL.

Formats other than markdown and links are refused: this server runs no browser for its callers.
"""

import secrets
from typing import Any

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from pincite.domain.codec import to_json
from pincite.domain.errors import InvalidInput
from pincite.domain.page import FetchRequest, FetchResult
from pincite.domain.page_markdown import document_markdown
from pincite.domain.search import Constraints, Query
from pincite.surfaces.http.service import admitted, service_of
from pincite.surfaces.http.starting import purse_of

router = APIRouter(prefix="/v2", tags=["drop-in: Firecrawl"])

MAX_PAGE_S = 40.0
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


@router.post("/scrape")
async def scrape(body: FirecrawlScrape, request: Request, scope: str = Depends(admitted)) -> dict[str, Any]:
    """One page as Markdown, with its links if asked."""
    wanted = {str(item.get("type")) if isinstance(item, dict) else item for item in body.formats}
    if unknown := sorted(wanted - _FORMATS):
        raise InvalidInput(f"formats not served here: {', '.join(unknown)}", reason="format_unsupported")
    engine = await service_of(request).engine(scope)
    page = await engine.fetch(
        FetchRequest(
            body.url,
            force_refresh=body.max_age == 0,
            deadline_s=min(body.timeout / 1000, MAX_PAGE_S),
        ),
        spending=await purse_of(request, engine),
    )
    data: dict[str, Any] = {"metadata": _metadata(page, body.url)}
    if "markdown" in wanted:
        data["markdown"] = document_markdown(page.document)
    if "links" in wanted:
        data["links"] = [link.url for link in page.document.links]
    return {"success": True, "data": data}


@router.post("/search")
async def search(body: FirecrawlSearch, request: Request, scope: str = Depends(admitted)) -> dict[str, Any]:
    """Web results."""
    engine = await service_of(request).engine(scope)
    limits = Constraints(include_domains=body.include_domains or (), exclude_domains=body.exclude_domains or ())
    most = min(body.limit, engine.settings.most_results)  # "at most": fewer is within the word of it
    found = await engine.search(Query(body.query, most, limits), spending=await purse_of(request, engine))
    web = [
        {"url": result.url, "title": result.title, "description": result.snippet, "position": result.rank}
        for result in found.results
    ]
    return {"success": True, "id": secrets.token_hex(16), "creditsUsed": 0, "warning": None, "data": {"web": web}}


@router.api_route("/batch/{_:path}", methods=["POST", "GET", "DELETE"], include_in_schema=False)
@router.api_route("/crawl", methods=["POST"], include_in_schema=False)
@router.api_route("/crawl/{_:path}", methods=["POST", "GET", "DELETE"], include_in_schema=False)
@router.api_route("/map", methods=["POST"], include_in_schema=False)
@router.api_route("/extract", methods=["POST"], include_in_schema=False)
@router.api_route("/agent", methods=["POST"], include_in_schema=False)
async def not_served(request: Request) -> None:
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
