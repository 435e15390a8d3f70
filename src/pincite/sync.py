"""Blocking versions of the engine's methods, each in a thread and an engine of its own.

They work anywhere, also inside a running event loop (a notebook). A program that calls often should keep an
`Engine` open instead.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import anyio.from_thread

from pincite.domain.fetch import FetchRequest, FetchResult
from pincite.domain.report import Report
from pincite.domain.requests import ResearchRequest, SearchRequest
from pincite.domain.search import Constraints, Query, SearchResponse
from pincite.engine import Engine

if TYPE_CHECKING:
    from pincite.audit.findings import Audit
    from pincite.wiring.sharing import Exported, Imported

T = TypeVar("T")


def search(query: str | Query | SearchRequest, **settings: object) -> SearchResponse:
    """As `Engine.search`; `settings` are names of docs/settings.md."""
    return _call(lambda engine: engine.search(query), settings)


def fetch(request: str | FetchRequest, **settings: object) -> FetchResult:
    """As `Engine.fetch`; `settings` are names of docs/settings.md."""
    return _call(lambda engine: engine.fetch(request), settings)


def parse(data: bytes, *, name: str = "", content_type: str = "", **settings: object) -> FetchResult:
    """As `Engine.parse`; `settings` are names of docs/settings.md."""
    return _call(lambda engine: engine.parse(data, name=name, content_type=content_type), settings)


def research(
    question: str | ResearchRequest,
    *,
    urls: Sequence[str] = (),
    constraints: Constraints | None = None,
    **settings: object,
) -> Report:
    """As `Engine.research`; `settings` are names of docs/settings.md. A request says the rest of what is asked."""
    asked: dict[str, Any] = {"urls": tuple(urls)} if urls else {}
    asked |= {} if constraints is None else {"constraints": constraints}
    return _call(lambda engine: engine.research(question, **asked), settings)


def audit(report: str | bytes, *, sources: Mapping[str, str] | None = None, **settings: object) -> "Audit":
    """As `Engine.audit`; `settings` are names of docs/settings.md."""
    return _call(lambda engine: engine.audit(report, sources=sources), settings)


def share_export(path: str | Path, **settings: object) -> "Exported":
    """As `Engine.share_export`; `settings` are names of docs/settings.md."""
    return _call(lambda engine: engine.share_export(Path(path)), settings)


def share_import(path: str | Path, *, key: str | None = None, **settings: object) -> "Imported":
    """As `Engine.share_import`; `settings` are names of docs/settings.md."""
    return _call(lambda engine: engine.share_import(Path(path), key=key), settings)


def _call(job: Callable[[Engine], Awaitable[T]], settings: dict[str, object]) -> T:
    async def run() -> T:
        async with Engine.from_settings(**settings) as engine:
            return await job(engine)

    with anyio.from_thread.start_blocking_portal() as portal:
        return portal.call(run)
