"""What is known of the call under way: who called, and how many requests its run has sent (ADR 0012).

Set by surfaces and runs; read by the log of calls, and by whoever sends a request.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from pincite.domain.errors import BudgetExhausted
from pincite.domain.frozen import dataclass


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
