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
EXIT_CODES: dict[str, int] = {
    "INVALID_INPUT": 2,
    "INVALID_TOPIC": 2,
    "INVALID_URL": 2,
    "INVALID_SETTING": 2,
    "EXTRA_NOT_INSTALLED": 2,
    "LIBRARY_NOT_FOUND": 2,
    "ARCHIVE_CORRUPT": 4,
    "BLOCKED_ADDRESS": 3,
    "DOMAIN_DENIED": 3,
    "ROBOTS_DISALLOWED": 3,
    "SHARE_REFUSED": 3,
    "NETWORK_ERROR": 4,
    "DNS_ERROR": 4,
    "TLS_ERROR": 4,
    "TIMEOUT": 4,
    "TOO_LARGE": 4,
    "TOO_MANY_REDIRECTS": 4,
    "DEAD_LINK": 4,
    "PAGE_BLOCKED": 4,
    "LOGIN_REQUIRED": 4,
    "UNSUPPORTED_CONTENT_TYPE": 4,
    "PARSE_ERROR": 4,
    "EMPTY_CONTENT": 4,
    "RATE_LIMITED": 5,
    "SEARCH_PROVIDER_UNAVAILABLE": 5,
    "PROVIDER_AUTH": 5,
    "PROVIDER_QUOTA": 5,
    "PROVIDER_BAD_REPLY": 5,
    "MODEL_UNAVAILABLE": 5,
    "MODEL_BAD_OUTPUT": 5,
    "BUDGET_EXHAUSTED": 6,
    "COVERAGE_NOT_MET": 7,
    "INSUFFICIENT_EVIDENCE": 7,
    "QUOTE_MISMATCH": 1,
    "RUN_NOT_FOUND": 2,
    "RUN_CANCELLED": 130,
    "RUN_FENCED": 4,
    "STORAGE_UNAVAILABLE": 4,
    "STORAGE_FULL": 4,
    "SCHEMA_MISMATCH": 4,
    "LOCKED": 4,
    "TOO_MANY_OPEN_FILES": 4,
    "UNAUTHORIZED": 3,
    "NOT_FOUND": 2,
    "CONFLICT": 2,
    "INTERNAL": 70,
}


def exit_code(error: PinciteError) -> int:
    """The process exit code for `error` (architecture §6)."""
    return EXIT_CODES.get(error.code, EXIT_INTERNAL)


# A page that can't be read is a bad gateway: the request was fine, what stands behind this server was not.
HTTP_STATUS: dict[str, int] = {
    "INVALID_INPUT": 422,
    "INVALID_TOPIC": 422,
    "INVALID_URL": 422,
    "INVALID_SETTING": 422,
    "EXTRA_NOT_INSTALLED": 501,
    "LIBRARY_NOT_FOUND": 404,
    "ARCHIVE_CORRUPT": 422,
    "BLOCKED_ADDRESS": 403,
    "DOMAIN_DENIED": 403,
    "ROBOTS_DISALLOWED": 403,
    "SHARE_REFUSED": 403,
    "NETWORK_ERROR": 502,
    "DNS_ERROR": 502,
    "TLS_ERROR": 502,
    "TIMEOUT": 504,
    "TOO_LARGE": 413,
    "TOO_MANY_REDIRECTS": 502,
    "DEAD_LINK": 502,
    "PAGE_BLOCKED": 502,
    "LOGIN_REQUIRED": 502,
    "UNSUPPORTED_CONTENT_TYPE": 502,
    "PARSE_ERROR": 502,
    "EMPTY_CONTENT": 502,
    "RATE_LIMITED": 429,
    "SEARCH_PROVIDER_UNAVAILABLE": 503,
    "PROVIDER_AUTH": 502,
    "PROVIDER_QUOTA": 503,
    "PROVIDER_BAD_REPLY": 502,
    "MODEL_UNAVAILABLE": 503,
    "MODEL_BAD_OUTPUT": 502,
    "BUDGET_EXHAUSTED": 402,
    "COVERAGE_NOT_MET": 422,
    "INSUFFICIENT_EVIDENCE": 409,
    "QUOTE_MISMATCH": 422,
    "RUN_NOT_FOUND": 404,
    "RUN_CANCELLED": 409,
    "RUN_FENCED": 409,
    "STORAGE_UNAVAILABLE": 503,
    "STORAGE_FULL": 507,
    "SCHEMA_MISMATCH": 500,
    "LOCKED": 409,
    "TOO_MANY_OPEN_FILES": 503,
    "UNAUTHORIZED": 401,
    "NOT_FOUND": 404,
    "CONFLICT": 409,
    "INTERNAL": 500,
}


def http_status(error: PinciteError) -> int:
    """The HTTP status for `error`."""
    return HTTP_STATUS.get(error.code, 500)


@cache
def _mask() -> Callable[[str], str]:
    from pincite.wiring.observing import mask_of_environment

    return mask_of_environment()


def masked(value: Any) -> Any:  # plain JSON
    """The value with every secret of the settings in it, and what looks like one in its URLs, replaced."""
    from pincite.runtime.telemetry.logs import masked as masked_by

    return masked_by(value, _mask())


def masked_error(error: PinciteError) -> PinciteError:
    """The error with its texts masked."""
    told = copy.copy(error)
    told.message, told.hint = masked(error.message), masked(error.hint)
    told.context = masked(error.context)
    return told
