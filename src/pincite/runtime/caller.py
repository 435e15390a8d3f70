"""Who called: the front door, its request and session. Set by surfaces, read by the log of calls alone."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Caller:
    """The front door through which a call came, and the names its request and session have there."""

    surface: str = "python"
    request_id: str = ""
    session_id: str = ""


_CALLER: ContextVar[Caller | None] = ContextVar("pincite_caller", default=None)
_PYTHON = Caller()


def caller() -> Caller:
    """Who called; the Python library when no front door said otherwise."""
    return _CALLER.get() or _PYTHON


@contextmanager
def called_by(who: Caller) -> Iterator[None]:
    """Have everything within the block, and the tasks it starts, be called by `who`."""
    before = _CALLER.set(who)
    try:
        yield
    finally:
        _CALLER.reset(before)
