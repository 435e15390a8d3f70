"""Error code to exit code and HTTP status; and errors without secrets, whatever a library put into their messages."""

import copy
from collections.abc import Callable
from functools import cache
from typing import Any

from pincite.domain.errors import PinciteError

EXIT_OK = 0
EXIT_CHECK_FAILED = 1
# EX_SOFTWARE of sysexits.h: a defect here.
EXIT_INTERNAL = 70
# 128 + SIGINT, as shells have it.
EXIT_INTERRUPTED = 130
# Code → how a process ends with it, and how HTTP answers. A page that can't be read is a bad gateway: the request was
# fine, what stands behind this server was not.
_OUTCOMES: dict[str, tuple[int, int]] = {
    "INVALID_INPUT": (2, 422),
    "INVALID_TOPIC": (2, 422),
    "INVALID_URL": (2, 422),
    "INVALID_SETTING": (2, 422),
    "EXTRA_NOT_INSTALLED": (2, 501),
    "LIBRARY_NOT_FOUND": (2, 404),
    "ARCHIVE_CORRUPT": (4, 422),
    "BLOCKED_ADDRESS": (3, 403),
    "DOMAIN_DENIED": (3, 403),
    "ROBOTS_DISALLOWED": (3, 403),
    "SHARE_REFUSED": (3, 403),
    "NETWORK_ERROR": (4, 502),
    "DNS_ERROR": (4, 502),
    "TLS_ERROR": (4, 502),
    "TIMEOUT": (4, 504),
    "TOO_LARGE": (4, 413),
    "TOO_MANY_REDIRECTS": (4, 502),
    "DEAD_LINK": (4, 502),
    "PAGE_BLOCKED": (4, 502),
    "LOGIN_REQUIRED": (4, 502),
    "UNSUPPORTED_CONTENT_TYPE": (4, 502),
    "PARSE_ERROR": (4, 502),
    "EMPTY_CONTENT": (4, 502),
    "RATE_LIMITED": (5, 429),
    "SEARCH_PROVIDER_UNAVAILABLE": (5, 503),
    "PROVIDER_AUTH": (5, 502),
    "PROVIDER_QUOTA": (5, 503),
    "PROVIDER_BAD_REPLY": (5, 502),
    "MODEL_UNAVAILABLE": (5, 503),
    "MODEL_BAD_OUTPUT": (5, 502),
    "BUDGET_EXHAUSTED": (6, 402),
    "COVERAGE_NOT_MET": (7, 422),
    "INSUFFICIENT_EVIDENCE": (7, 409),
    "QUOTE_MISMATCH": (1, 422),
    "RUN_NOT_FOUND": (2, 404),
    "RUN_CANCELLED": (130, 409),
    "RUN_FENCED": (4, 409),
    "STORAGE_UNAVAILABLE": (4, 503),
    "STORAGE_FULL": (4, 507),
    "SCHEMA_MISMATCH": (4, 500),
    "LOCKED": (4, 409),
    "TOO_MANY_OPEN_FILES": (4, 503),
    "UNAUTHORIZED": (3, 401),
    "NOT_FOUND": (2, 404),
    "CONFLICT": (2, 409),
    "INTERNAL": (70, 500),
}
EXIT_CODES: dict[str, int] = {code: ended for code, (ended, _) in _OUTCOMES.items()}
HTTP_STATUS: dict[str, int] = {code: status for code, (_, status) in _OUTCOMES.items()}


def exit_code(error: PinciteError) -> int:
    """The process exit code for `error` (architecture §6)."""
    return EXIT_CODES.get(error.code, EXIT_INTERNAL)


def http_status(error: PinciteError) -> int:
    """The HTTP status for `error`."""
    return HTTP_STATUS.get(error.code, 500)


@cache
def _mask() -> Callable[[str], str]:
    from pincite.wiring.observing import mask_of_environment

    return mask_of_environment()


def masked(value: Any) -> Any:  # plain JSON
    """The value with every secret of the settings in it, and what looks like one in its URLs, replaced."""
    from pincite.runtime.telemetry import masked as masked_by

    return masked_by(value, _mask())


def masked_error(error: PinciteError) -> PinciteError:
    """The error with its texts masked."""
    told = copy.copy(error)
    told.message, told.hint = masked(error.message), masked(error.hint)
    told.context = masked(error.context)
    return told
