"""How each engine says that something is wrong: status, headers and body as its contract has them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_JSON = {"Content-Type": "application/json"}
_HTML = {"Content-Type": "text/html; charset=utf-8"}


@dataclass(frozen=True, slots=True)
class Reply:
    """Status, body and headers of a fake's answer."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=lambda: dict(_JSON))


def json_reply(status: int, body: Any, **headers: str) -> Reply:
    """A reply with a JSON body; header names are given with underscores."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status, json.dumps(body).encode(), {**_JSON, **named})


def html_reply(status: int, text: str) -> Reply:
    """A reply with an HTML body."""
    return Reply(status, text.encode(), dict(_HTML))


def _common(ok_shape: Any) -> dict[str, Reply]:
    """Troubles that look the same from every engine."""
    return {
        "html": html_reply(200, "<!doctype html><html><body><h1>Welcome</h1></body></html>"),
        "truncated": Reply(200, b'{"results": [{"title": "A", "url": "https://exa'),
        "huge": Reply(200, b'{"pad": "' + b"x" * (10 * 2**20) + b'"}'),
        "redirect": Reply(302, b"", {"Location": "http://elsewhere.example/search"}),
        "wrong_types": json_reply(200, ok_shape),
        "not_an_object": json_reply(200, ["unexpected"]),
        "deep": Reply(200, b"[" * 100_000),
        "empty_body": Reply(200, b""),
    }


def _tavily(message: str) -> dict[str, Any]:
    return {"detail": {"error": message}}


def _brave(status: int, code: str, detail: str, component: str) -> dict[str, Any]:
    meta = {"plan": "Search", "component": component}
    error = {"id": "4c1b7e6e", "status": status, "code": code, "detail": detail, "meta": meta}
    return {"type": "ErrorResponse", "error": error, "time": 1770578244}


def _jina(status: int, code: int, name: str, message: str, **more: Any) -> dict[str, Any]:
    return {
        "data": None,
        "code": status,
        "status": code,
        "name": name,
        "message": message,
        "readableMessage": f"{name}: {message}",
        **more,
    }


_SLOW = "Your request has been blocked due to excessive requests. Please reduce the rate of requests."
_WINDOWS = {"X-RateLimit-Limit": "50, 15000", "X-RateLimit-Remaining": "0, 900", "X-RateLimit-Reset": "2, 1419704"}
_MONTH_OVER = {"X-RateLimit-Limit": "1, 2000", "X-RateLimit-Remaining": "1, 0", "X-RateLimit-Reset": "1, 1419704"}
_CHALLENGE = '<html><body><form id="challenge-form"><p class="anomaly-modal__title">Bots?</p></form></body></html>'
_NOTHING = '<html><body><div class="no-results"><p>No results found for q.</p></div></body></html>'
_DEAD_ENGINES = [["google", "Suspended: too many requests"], ["brave", "timeout"]]

TROUBLES: Mapping[str, Mapping[str, Reply]] = {
    "tavily": {
        "bad_key": json_reply(401, _tavily("Unauthorized: missing or invalid API key.")),
        "rate_limited": json_reply(429, _tavily(_SLOW), retry_after="7"),
        "out_of_credit": json_reply(432, _tavily("This request exceeds your plan's set usage limit.")),
        "over_pay_limit": json_reply(433, _tavily("This request exceeds the pay-as-you-go limit.")),
        "bad_request": json_reply(400, _tavily("Query is too long. Max query length is 400 characters.")),
        "outage": json_reply(500, _tavily("Internal Server Error")),
        "empty": json_reply(200, {"query": "q", "answer": None, "images": [], "results": [], "response_time": 0.1}),
        **_common({"results": {"url": 1}, "answer": 3, "usage": "x"}),
    },
    "exa": {
        "bad_key": json_reply(
            401, {"requestId": "r", "error": "x-api-key header is invalid", "tag": "INVALID_API_KEY"}
        ),
        "rate_limited": json_reply(429, {"error": "You've exceeded your rate limit"}, retry_after="7"),
        "out_of_credit": json_reply(402, {"requestId": "r", "error": "no credits left", "tag": "NO_MORE_CREDITS"}),
        "bad_request": json_reply(400, {"requestId": "r", "error": "bad", "tag": "INVALID_REQUEST_BODY"}),
        "outage": json_reply(503, {"requestId": "r", "error": "overloaded", "tag": "SERVICE_OVERLOADED"}),
        "empty": json_reply(200, {"requestId": "r", "results": [], "costDollars": {"total": 0.007}}),
        **_common({"results": "none", "costDollars": []}),
    },
    "brave": {
        "bad_key": json_reply(422, _brave(422, "SUBSCRIPTION_TOKEN_INVALID", "token invalid", "authentication")),
        "rate_limited": json_reply(
            429,
            _brave(429, "RATE_LIMITED", "Request rate limit exceeded.", "rate_limiter"),
            **{name.replace("-", "_"): value for name, value in _WINDOWS.items()},
        ),
        "out_of_credit": json_reply(429, _brave(429, "QUOTA_LIMITED", "Request quota limit exceeded.", "rate_limiter")),
        "month_over": json_reply(
            429,
            _brave(429, "RATE_LIMITED", "Request rate limit exceeded.", "rate_limiter"),
            **{name.replace("-", "_"): value for name, value in _MONTH_OVER.items()},
        ),
        "bad_request": json_reply(422, _brave(422, "VALIDATION", "Unable to validate", "parameters")),
        "outage": json_reply(500, _brave(500, "INTERNAL", "Internal", "")),
        "empty": json_reply(200, {"type": "search", "query": {"original": "q", "more_results_available": False}}),
        **_common({"web": {"results": "none"}, "results": 5}),
    },
    "serper": {
        "bad_key": json_reply(403, {"message": "Unauthorized.", "statusCode": 403}),
        "rate_limited": json_reply(429, {"message": "Rate limit exceeded", "statusCode": 429}, retry_after="7"),
        "out_of_credit": json_reply(400, {"message": "Not enough credits", "statusCode": 400}),
        "bad_request": json_reply(400, {"message": "Missing query parameter", "statusCode": 400}),
        "outage": Reply(502, b"Bad gateway", {"Content-Type": "text/plain"}),
        "empty": json_reply(200, {"searchParameters": {"q": "q"}, "credits": 1}),
        **_common({"organic": {"link": 1}, "news": 3, "credits": "many"}),
    },
    "searxng": {
        "json_disabled": html_reply(403, "<html><title>403 Forbidden</title></html>"),
        "rate_limited": Reply(429, b"Too Many Requests", {"Content-Type": "text/plain", "Retry-After": "7"}),
        "bad_request": json_reply(400, {"error": "Invalid value for parameter pageno"}),
        "outage": json_reply(500, {"error": "search error"}),
        "unresponsive": json_reply(
            200, {"query": "q", "results": [], "number_of_results": 0, "unresponsive_engines": _DEAD_ENGINES}
        ),
        "empty": json_reply(
            200, {"query": "q", "results": [], "answers": [], "suggestions": [], "unresponsive_engines": []}
        ),
        **_common({"results": 7, "answers": "x"}),
    },
    "duckduckgo": {
        "blocked": html_reply(403, "<html><body>Forbidden</body></html>"),
        "rate_limited": html_reply(202, _CHALLENGE),
        "challenge_with_200": html_reply(200, _CHALLENGE),
        "outage": html_reply(503, "<html><body>Service unavailable</body></html>"),
        "empty": html_reply(200, _NOTHING),
        **{name: reply for name, reply in _common({}).items() if name in {"html", "huge", "redirect", "empty_body"}},
    },
    "firecrawl": {
        "bad_key": json_reply(401, {"success": False, "error": "Unauthorized: Invalid token"}),
        "rate_limited": json_reply(
            429, {"success": False, "error": "Rate limit exceeded, please retry after 42s, resets at x"}
        ),
        "out_of_credit": json_reply(402, {"success": False, "error": "Payment Required: Insufficient credits"}),
        "bad_request": json_reply(400, {"success": False, "error": "Invalid", "code": "BAD_REQUEST"}),
        "outage": Reply(502, b"", {"Content-Type": "text/plain"}),
        "empty": json_reply(200, {"success": True, "data": {"web": []}, "creditsUsed": 2}),
        **_common({"success": True, "data": [], "creditsUsed": "x"}),
    },
    "jina": {
        "bad_key": json_reply(401, _jina(401, 40103, "AuthenticationFailedError", "Invalid API key")),
        "rate_limited": json_reply(429, _jina(429, 42903, "RateLimitTriggeredError", "Rate limit", retryAfter=7)),
        "out_of_credit": json_reply(402, _jina(402, 40203, "InsufficientBalanceError", "Account balance not enough")),
        "bad_request": json_reply(400, _jina(400, 40001, "ParamValidationError", "q is required")),
        "outage": json_reply(503, _jina(503, 50303, "ServiceNodeResourceDrainError", "drained")),
        "empty": json_reply(422, _jina(422, 42206, "AssertionFailureError", "No search results available for query q")),
        **_common({"data": "none"}),
    },
    "wikipedia": {
        "rate_limited": json_reply(
            200, {"error": {"code": "ratelimited", "info": "You've exceeded your rate limit."}}, retry_after="7"
        ),
        "lagging": json_reply(
            200, {"error": {"code": "maxlag", "info": "Waiting for db1: 8 seconds lagged", "lag": 8}}, retry_after="5"
        ),
        "blocked": html_reply(403, "Please set a user-agent and respect our robot policy."),
        "bad_request": json_reply(
            200, {"error": {"code": "missingparam", "info": 'The "srsearch" parameter must be set.'}}
        ),
        "outage": json_reply(
            200, {"error": {"code": "internal_api_error_DBQueryError", "info": "[x] Caught exception"}}
        ),
        "empty": json_reply(200, {"batchcomplete": True, "query": {"searchinfo": {"totalhits": 0}, "search": []}}),
        **_common({"query": {"search": 7}}),
    },
    "marginalia": {
        "bad_key": json_reply(401, {"error": "Unauthorized"}),
        "rate_limited": Reply(503, b"Slow down", {"Content-Type": "text/plain", "Retry-After": "7"}),
        "bad_request": json_reply(400, {"error": "Missing parameter query"}),
        "outage": Reply(502, b"Bad gateway", {"Content-Type": "text/plain"}),
        "empty": json_reply(200, {"license": "CC-BY-NC-SA 4.0", "query": "q", "results": []}),
        **_common({"results": "none"}),
    },
}
