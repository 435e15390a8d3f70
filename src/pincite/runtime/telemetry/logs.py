"""Log lines for operators: one JSON object or one readable line each, secrets taken out last.

Of a run they say that it began, had trouble on the way, ended; never its question, URLs or text.
"""

import logging
import sys
from collections.abc import Callable, Iterable, MutableMapping
from typing import Any, Final
from urllib.parse import urlsplit

from pincite.domain.events import Event, EventType

MASK: Final = "***"
# A shorter value would take ordinary words out of every line.
_MIN_SECRET: Final = 6

Mask = Callable[[str], str]


def masker(secrets: Iterable[str], also: Mask) -> Mask:
    """What replaces each of these values, and what `also` finds, by `***`."""
    known = sorted({value for value in secrets if len(value) >= _MIN_SECRET}, key=len, reverse=True)

    def mask(text: str) -> str:
        for value in known:
            text = text.replace(value, MASK)
        return also(text)

    return mask


def masked(value: Any, mask: Mask) -> Any:  # what a log line may hold
    """The value with every text in it masked."""
    match value:
        case str():
            return mask(value)
        case dict():
            return {masked(name, mask): masked(item, mask) for name, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [masked(item, mask) for item in value]
        case None | bool() | int() | float():
            return value
        case _:
            return mask(str(value))


def configure_logs(mask: Mask, *, level: str, as_json: bool) -> None:
    """Have every log line of this process rendered to stderr. Called once, by a surface."""
    import structlog

    def redact(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        return {name: masked(value, mask) for name, value in event.items()}

    before: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.stdlib.ExtraAdder(),
    ]
    render = structlog.processors.JSONRenderer() if as_json else structlog.dev.ConsoleRenderer(colors=False)
    # Libraries that find structlog use it, and it prints on stdout by itself: what they say goes the same way out.
    structlog.configure(
        processors=[*before, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=before,
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            redact,
            render,
        ],
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for chatty in ("httpx2", "httpcore2", "procrastinate", "uvicorn.access", "alembic", "mcp"):
        logging.getLogger(chatty).setLevel(max(logging.WARNING, root.level))


def bind(**values: str) -> None:
    """Add these to every log line of this task from now on (when structlog is in use)."""
    if "structlog" in sys.modules:
        import structlog

        structlog.contextvars.bind_contextvars(**values)


log = logging.getLogger("pincite.runs")

_LINES: Final = {
    EventType.SEARCH_FAILED: "search failed",
    EventType.PAGE_FAILED: "page failed",
    EventType.PAGE_REFUSED: "page refused",
    EventType.MODEL_FAILED: "model failed",
    EventType.ROLE_REPLACED: "model replaced by rules",
    EventType.BUDGET_EXHAUSTED: "cap reached",
}
_MEMBERS: Final = ("role", "model", "code", "reason")


def run_line(said: str, run_id: str, request_id: str, **more: object) -> None:
    """One line with its ids."""
    log.info(said, extra={"run_id": run_id, "request_id": request_id, **more})


def event_line(event: Event, run_id: str, request_id: str) -> None:
    """The line of an event that says what went wrong; of other events none. Of a page only its site is named."""
    if (said := _LINES.get(event.type)) is None:
        return
    members = {name: event.data[name] for name in _MEMBERS if event.data.get(name)}
    url = event.data.get("url")
    site = urlsplit(url).hostname if isinstance(url, str) else None
    run_line(said, run_id, request_id, **members, **({"site": site} if site else {}))
