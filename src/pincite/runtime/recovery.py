"""What to do after an error: the one table from code to retry delays and breaker, kept complete by a test."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from pincite.domain.errors import (
    BudgetExhausted,
    DeadLink,
    DnsError,
    InputError,
    NetworkError,
    PageBlocked,
    PinciteError,
    PolicyRefusal,
    Timeout,
    TlsError,
)
from pincite.domain.frozen import dataclass
from pincite.runtime.system import too_many_open_files

_SECONDS = re.compile(r"\d{1,9}(?:\.\d{1,6})?", re.ASCII)


def retry_after_s(value: str | None, now: datetime) -> float | None:
    """Seconds to wait by a Retry-After header, or None when it says nothing readable.

    Source: RFC 9110 §10.2.3; fractions of a second are no part of it, but some services send them.
    """
    text = (value or "").strip()
    if _SECONDS.fullmatch(text):
        return float(text)
    from email.utils import parsedate_to_datetime  # every command loads this module, and hardly any meets a date

    try:
        when = parsedate_to_datetime(text)
    except (ValueError, IndexError, TypeError, OverflowError):
        return None
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max((when - now).total_seconds(), 0.0)


# Doubling, as everywhere; in all 3.5 s, which a person still waits for.
BACKOFF_S = (0.5, 1.0, 2.0)


@dataclass(frozen=True, slots=True)
class Recovery:
    """How a failed call is treated.

    `delays_s` are the pauses before the second, third, ... attempt, without jitter; empty means never again in this
    call. `counts` says whether the failure counts against the host's or provider's circuit breaker.
    """

    delays_s: tuple[float, ...] = ()
    counts: bool = False


_NEVER = Recovery()
_AGAIN = Recovery(BACKOFF_S, counts=True)

RECOVERY: dict[str, Recovery] = {
    # what the caller asked for, or what policy refuses: the same call gives the same answer
    **dict.fromkeys(
        (
            "INVALID_INPUT INVALID_TOPIC INVALID_URL INVALID_SETTING EXTRA_NOT_INSTALLED LIBRARY_NOT_FOUND NOT_FOUND "
            "CONFLICT BLOCKED_ADDRESS DOMAIN_DENIED ROBOTS_DISALLOWED SHARE_REFUSED UNAUTHORIZED"
        ).split(),
        _NEVER,
    ),
    # the network and the other side
    "NETWORK_ERROR": _AGAIN,
    # Once: each further try may wait as long as the first again.
    "TIMEOUT": Recovery(BACKOFF_S[:1], counts=True),
    "DNS_ERROR": Recovery(BACKOFF_S[:2], counts=True),
    # A certificate is not better a second later.
    "TLS_ERROR": Recovery(counts=True),
    # the host answered; the page is the trouble
    **dict.fromkeys(
        (
            "TOO_LARGE TOO_MANY_REDIRECTS DEAD_LINK PAGE_BLOCKED LOGIN_REQUIRED UNSUPPORTED_CONTENT_TYPE PARSE_ERROR "
            "EMPTY_CONTENT ARCHIVE_CORRUPT"
        ).split(),
        _NEVER,
    ),
    # providers and models
    # A rate limit counts for nothing: who is too quick meets a host that works.
    "RATE_LIMITED": Recovery(BACKOFF_S),
    "SEARCH_PROVIDER_UNAVAILABLE": _AGAIN,
    "PROVIDER_AUTH": _NEVER,
    "PROVIDER_QUOTA": _NEVER,
    # A torn answer may be whole the next time; one of another shape stays so.
    "PROVIDER_BAD_REPLY": Recovery(BACKOFF_S[:1], counts=True),
    "MODEL_UNAVAILABLE": _AGAIN,
    "MODEL_BAD_OUTPUT": _NEVER,
    # budget, evidence, state
    **dict.fromkeys(
        (
            "BUDGET_EXHAUSTED COVERAGE_NOT_MET INSUFFICIENT_EVIDENCE QUOTE_MISMATCH RUN_NOT_FOUND RUN_CANCELLED "
            "RUN_FENCED STORAGE_UNAVAILABLE STORAGE_FULL SCHEMA_MISMATCH INTERNAL"
        ).split(),
        _NEVER,
    ),
    "LOCKED": Recovery(BACKOFF_S),
    "TOO_MANY_OPEN_FILES": Recovery(BACKOFF_S),
}


def recovery_of(error: PinciteError) -> Recovery:
    """The row of an error. An error that says itself that it won't work again is never retried.

    A site that asks to come back later, and when, is asked once more then, where its caller has the time.
    """
    row = RECOVERY[error.code]
    if isinstance(error, PageBlocked) and error.retryable and error.retry_after_s is not None:
        return Recovery((error.retry_after_s,))
    # A refusal by the breaker itself must not keep the breaker open.
    return row if error.retryable else Recovery(counts=row.counts and error.reason != "breaker_open")


_FINAL_REFUSALS = frozenset({"language_not_allowed", "deny_listed"})


def another_may_help(error: PinciteError) -> bool:
    """Whether another way to the page may get past this failure: policy and truth are the same for every way."""
    return (
        not isinstance(error, PolicyRefusal | InputError | DeadLink | BudgetExhausted)
        and error.reason not in _FINAL_REFUSALS
    )


def may_serve_stale(error: PinciteError) -> bool:
    """Whether an older copy may stand in: the host fails or is busy. Never for what is gone, refused or unreadable.

    Source: RFC 5861 §4 (`stale-if-error`), for 500, 502, 503, 504; here for network failures as well.
    """
    if isinstance(error, DnsError):
        return error.retryable  # a name without addresses has vanished
    host_fails = isinstance(error, NetworkError | Timeout | TlsError)
    return host_fails or error.reason in {"http_429", "challenge"}


# Why a run ended that met what no error of ours tells.
DEFECT = "defect"


@contextmanager
def first_failure() -> Iterator[None]:
    """Raise the first `PinciteError` of an exception group as it is; anything else passes unchanged.

    A task group wraps what its tasks raise, and callers want to catch `DeadLink`, not a group that holds one. What
    came of a process that may open no more files is that, wherever it happened.
    """
    try:
        yield
    except OSError as error:
        if (full := too_many_open_files(error)) is not None:
            raise full from error
        raise
    except BaseExceptionGroup as group:
        found = group.split(PinciteError)[0]
        if found is None:
            if (full := too_many_open_files(group)) is not None:
                raise full from group
            raise
        raise _leaf(found) from group


def _leaf(group: BaseExceptionGroup[PinciteError]) -> PinciteError:
    inner = group.exceptions[0]
    return _leaf(inner) if isinstance(inner, BaseExceptionGroup) else inner
