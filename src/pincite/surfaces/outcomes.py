"""One table: error code → exit code (and later HTTP status), for every front door."""

from pincite.domain.errors import PinciteError

EXIT_OK = 0
EXIT_CHECK_FAILED = 1
EXIT_INTERNAL = 70
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
    "RUN_FENCED": 70,
    "STORAGE_UNAVAILABLE": 4,
    "STORAGE_FULL": 4,
    "SCHEMA_MISMATCH": 4,
    "LOCKED": 4,
    "UNAUTHORIZED": 3,
    "NOT_FOUND": 2,
    "CONFLICT": 2,
    "INTERNAL": 70,
}


def exit_code(error: PinciteError) -> int:
    """The process exit code for `error` (architecture §6)."""
    return EXIT_CODES.get(error.code, EXIT_INTERNAL)
