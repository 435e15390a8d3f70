"""What operators see: counts, spans and logs. They add nothing to a run's events, and hold no text of users.

Counts are of this process; spans speak OpenTelemetry when somebody listens; log lines have secrets taken out. No
library is imported before it is used. What is known of the call under way (ADR 0012) is set by surfaces and runs, and
read by the log of calls and by whoever sends a request.
"""

import logging
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from pincite.domain.errors import BudgetExhausted
from pincite.domain.events import Event, EventType
from pincite.domain.frozen import dataclass

# Counts of this process, for whoever shows them (`/metrics`). Labels are names of kinds, never URLs, users or runs.

# Upper edges of the buckets of every duration.
SECONDS: Final = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
# Series of one metric at most; what is above is counted as `other`.
MAX_SERIES: Final = 2_000


@dataclass(frozen=True, slots=True)
class Metric:
    """What is counted, and by which labels."""

    name: str
    help: str
    labels: tuple[str, ...] = ()
    kind: Literal["counter", "histogram"] = "counter"


CALLS: Final = Metric("pincite_calls", "Outside calls of runs by kind and how they ended.", ("kind", "outcome"))
CALL_SECONDS: Final = Metric("pincite_call_seconds", "How long outside calls took.", ("kind",), "histogram")
REPLAYED: Final = Metric("pincite_calls_replayed", "Calls answered from the record of a run.", ("kind",))
ATTEMPTS: Final = Metric("pincite_provider_attempts", "Providers asked on the way of calls.", ("provider", "outcome"))
TOKENS: Final = Metric("pincite_tokens", "Tokens of models.", ("direction",))
COST: Final = Metric("pincite_cost_usd", "US dollars spent.", ("kind",))
CACHE: Final = Metric("pincite_cache_reads", "Reads of the cache by what is kept.", ("kind", "outcome"))
LIMIT_SECONDS: Final = Metric("pincite_limit_wait_seconds", "Waiting for a rate limit.", ("outcome",), "histogram")
BREAKERS: Final = Metric("pincite_breaker_openings", "Circuit breakers that opened.", ())
RUNS: Final = Metric("pincite_runs", "Runs that ended here, by status.", ("status",))
RUN_SECONDS: Final = Metric("pincite_run_seconds", "How long runs took.", (), "histogram")
FALLBACKS: Final = Metric("pincite_redis_fallbacks", "Times that Redis was gone and the process helped itself.", ())

METRICS: Final = tuple(value for value in tuple(globals().values()) if isinstance(value, Metric))


@dataclass(slots=True)
class Series:
    """One metric with one set of label values. `buckets` are counts at or below the edges of `SECONDS`."""

    total: float = 0.0
    count: int = 0
    buckets: list[int] = field(default_factory=lambda: [0] * len(SECONDS))


class Meter:
    """Counts by metric and label values. Safe to use from threads."""

    def __init__(self) -> None:
        self._series: dict[str, dict[tuple[str, ...], Series]] = {}
        self._lock = threading.Lock()

    def add(self, metric: Metric, amount: float = 1.0, *labels: str) -> None:
        """Count so much, or a duration in seconds for a histogram."""
        with self._lock:
            found = self._series.setdefault(metric.name, {})
            if labels not in found and len(found) >= MAX_SERIES:
                labels = tuple("other" for _ in labels)
            series = found.setdefault(labels, Series())
            series.total += amount
            series.count += 1
            if metric.kind == "histogram":
                for n, edge in enumerate(SECONDS):
                    series.buckets[n] += amount <= edge

    def read(self, metric: Metric) -> Iterator[tuple[tuple[str, ...], Series]]:
        """Label values and what was counted with them."""
        with self._lock:
            found = list(self._series.get(metric.name, {}).items())
        yield from found


# The counts of this process.
METER: Final = Meter()


def count_cache_read(namespace: str, *, hit: bool) -> None:
    """Count a read. What follows the first slash of a namespace may name a user's scope, so it is no label."""
    METER.add(CACHE, 1, namespace.partition("/")[0], "hit" if hit else "miss")


# Spans of OpenTelemetry, when somebody listens; otherwise nothing is imported and nothing costs.

# Names of OpenTelemetry's conventions for generative AI, in one place: they are all still marked as developing.
#
# Source: opentelemetry semantic-conventions-genai, attribute registry (2026); only what has settled is used, and no
# prompt or answer is ever an attribute.

OPERATION: Final = "gen_ai.operation.name"
PROVIDER: Final = "gen_ai.provider.name"
REQUEST_MODEL: Final = "gen_ai.request.model"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
CHAT: Final = "chat"
ERROR_TYPE: Final = "error.type"
RUN_ID: Final = "pincite.run_id"
REQUEST_ID: Final = "pincite.request_id"
TOPIC_HASH: Final = "pincite.topic_hash"
CALL_KIND: Final = "pincite.call.kind"
CALL_KEY: Final = "pincite.call.key"
COST_USD: Final = "pincite.cost_usd"
# The kind of a call that asks a language model.
OF_MODELS: Final = "model"


Value = str | int | float | bool
# Only a program that has loaded the SDK can listen to spans.
_SDK: Final = "opentelemetry.sdk.trace"


class Span:
    """A span that may be nobody's."""

    def __init__(self, real: Any = None) -> None:  # an opentelemetry Span
        self._real = real

    def set(self, attributes: Mapping[str, Value]) -> None:
        """Add attributes."""
        if self._real is not None:
            self._real.set_attributes(dict(attributes))

    def failed(self, code: str) -> None:
        """Note that what the span covers failed with this error code."""
        if self._real is not None:
            from opentelemetry.trace import Status, StatusCode

            self._real.set_status(Status(StatusCode.ERROR, code))


_NOBODYS: Final = Span()


@contextmanager
def span(name: str, attributes: Mapping[str, Value]) -> Iterator[Span]:
    """A span around the block, below the one that is current."""
    if _SDK not in sys.modules:
        yield _NOBODYS
        return
    from opentelemetry import trace

    tracer = trace.get_tracer("pincite")
    with tracer.start_as_current_span(
        name, attributes=dict(attributes), record_exception=False, set_status_on_exception=False
    ) as real:
        yield Span(real)


# Log lines: one JSON object or one readable line each, secrets taken out last. Of a run they say that it began, had
# trouble on the way, ended; never its question, URLs or text.

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
            lambda _, __, event: {name: masked(value, mask) for name, value in event.items()},
            render,
        ],
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for chatty in ("httpx2", "httpcore2", "procrastinate", "uvicorn.access", "mcp"):
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


@dataclass(frozen=True, slots=True)
class Caller:
    """The surface through which a call came, and the names its request and session have there."""

    surface: str = "python"
    request_id: str = ""
    session_id: str = ""


_CALLER: ContextVar[Caller | None] = ContextVar("pincite_caller", default=None)
_PYTHON = Caller()


def caller() -> Caller:
    """Who called; the Python library when no surface said otherwise."""
    return _CALLER.get() or _PYTHON


@contextmanager
def called_by(who: Caller) -> Iterator[None]:
    """Have everything within the block, and the tasks it starts, be called by `who`."""
    before = _CALLER.set(who)
    try:
        yield
    finally:
        _CALLER.reset(before)


# Counts every request that a run sends out, whoever sends it, and refuses those above its cap (ADR 0012).
#
# The meter is that of the running task and of the tasks it starts: searches, pages, robots.txt, redirects, retries,
# hosted calls and the requests of a browser all pass the same count, without each of them knowing of runs.


class RequestMeter:
    """A count of requests with a cap. What an inner meter counts, the outer one counts too.

    Args:
        cap: how many may go out; None counts only.
        used: how many went out already, as of a run that is resumed.
        outer: the meter of the whole.
    """

    def __init__(self, cap: int | None = None, *, used: int = 0, outer: "RequestMeter | None" = None) -> None:
        self._cap = cap
        self._outer = outer
        self.used = used

    def count(self) -> None:
        """Take one request that is about to go out. Errors: BudgetExhausted (`web_requests`): it must not."""
        if self._cap is not None and self.used >= self._cap:
            raise BudgetExhausted("the cap on web requests is reached", reason="web_requests")
        if self._outer is not None:
            self._outer.count()
        self.used += 1


_METER: ContextVar[RequestMeter | None] = ContextVar("pincite_request_meter", default=None)


@contextmanager
def metered(meter: RequestMeter) -> Iterator[RequestMeter]:
    """Count what this block and the tasks it starts send out."""
    token = _METER.set(meter)
    try:
        yield meter
    finally:
        _METER.reset(token)


def current_meter() -> RequestMeter | None:
    """The meter of the running task, if any."""
    return _METER.get()


def count_request() -> None:
    """Take one request out of the running task's meter. Errors: BudgetExhausted (`web_requests`)."""
    meter = _METER.get()
    if meter is not None:
        meter.count()
