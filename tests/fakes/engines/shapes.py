"""The good answers of each engine, in the shape of its contract, and the checks it makes on a request."""

import html
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.fakes.engines.pages import FakePage
from tests.fakes.engines.troubles import TROUBLES, Reply, html_reply, json_reply

Find = Callable[[str, int], Sequence[FakePage]]
_SPAN_DAYS = {"day": 1, "week": 7, "month": 31, "year": 366}
_TAVILY_TOPICS = {None, "general", "news", "finance"}


def answer(provider: str, path: str, headers: Mapping[str, str], body: Any, find: Find) -> Reply:
    """The engine's answer to a request that met no trouble."""

    def find_in_time(text: str, count: int) -> Sequence[FakePage]:
        since = _since(body) if isinstance(body, dict) else ""
        return [page for page in find(text, 1000) if not since or page.published >= since][:count]

    return _ANSWERS[provider](path, headers, body, find_in_time)


def _since(body: Mapping[str, Any]) -> str:
    """The first day that the request's own date filter lets through, or nothing."""
    if tbs := re.search(r"cd_min:(\d\d)/(\d\d)/(\d{4})", str(body.get("tbs", ""))):
        return f"{tbs[3]}-{tbs[1]}-{tbs[2]}"
    span = body.get("time_range") or {"d": "day", "w": "week", "m": "month", "y": "year"}.get(str(body.get("df")))
    if span in _SPAN_DAYS:
        return (datetime.now(UTC).date() - timedelta(days=_SPAN_DAYS[span])).isoformat()
    return str(body.get("start_date") or body.get("startPublishedDate") or body.get("freshness") or "")[:10]


def _tavily(path: str, headers: Mapping[str, str], body: Any, find: Find) -> Reply:
    if not headers.get("authorization", "").startswith("Bearer ") and not (body or {}).get("api_key"):
        return TROUBLES["tavily"]["bad_key"]
    if path != "/search" or not isinstance(body, dict):
        return json_reply(404, {"detail": "Not Found"})
    query, count = body.get("query"), body.get("max_results", 5)
    if not isinstance(query, str):
        missing = {"type": "string_type", "loc": ["body", "query"], "msg": "Input should be a valid string"}
        return json_reply(422, {"detail": [missing]})
    if len(query) > 400:
        return TROUBLES["tavily"]["bad_request"]
    if body.get("topic") not in _TAVILY_TOPICS or not 0 <= count <= 20:
        return json_reply(400, {"detail": {"error": "Invalid topic. Must be 'general', 'news' or 'finance'."}})
    pages = find(_restricted(query, body.get("include_domains"), body.get("exclude_domains")), count)
    results: list[dict[str, Any]] = [
        {"title": page.title, "url": page.url, "content": page.text, "score": round(0.9 / n, 4), "raw_content": None,
         "published_date": page.published or None, "images": []}
        for n, page in enumerate(pages, start=1)
    ]  # fmt: skip
    reply: dict[str, Any] = {
        "query": query, "answer": "An answer of the engine." if body.get("include_answer") else None,
        "follow_up_questions": None, "images": [], "results": results, "response_time": 0.2, "request_id": "r",
    }  # fmt: skip
    if body.get("include_usage"):
        reply["usage"] = {"credits": 2 if body.get("search_depth") == "advanced" else 1}
    return json_reply(200, reply)


def _exa(path: str, headers: Mapping[str, str], body: Any, find: Find) -> Reply:
    if not headers.get("x-api-key") and not headers.get("authorization"):
        return TROUBLES["exa"]["bad_key"]
    if path != "/search" or not isinstance(body, dict) or not isinstance(body.get("query"), str):
        return TROUBLES["exa"]["bad_request"]
    pages = find(
        _restricted(body["query"], body.get("includeDomains"), body.get("excludeDomains")), body.get("numResults", 10)
    )
    contents = body.get("contents") or {}
    results = []
    for n, page in enumerate(pages, start=1):
        row: dict[str, Any] = {"id": page.url, "url": page.url, "title": page.title, "score": round(0.5 / n, 4),
                               "author": None, "image": None, "favicon": None}  # fmt: skip
        if page.published:
            row["publishedDate"] = f"{page.published}T00:00:00.000Z"
        if contents.get("highlights"):
            row |= {"highlights": [page.text], "highlightScores": [0.5]}
        if contents.get("text"):
            row["text"] = page.text
        results.append(row)
    cost = {"total": 0.007, "search": {"neural": 0.007}}
    return json_reply(200, {"requestId": "r", "resolvedSearchType": "neural", "results": results, "costDollars": cost})


def _brave(path: str, headers: Mapping[str, str], body: Any, find: Find) -> Reply:
    if not headers.get("x-subscription-token"):
        return TROUBLES["brave"]["bad_key"]
    query, count = str(body.get("q", "")), int(body.get("count", 20))
    news = path == "/news/search"
    if not 1 <= len(query) <= 400 or len(query.split()) > 50 or not 1 <= count <= (50 if news else 20):
        return TROUBLES["brave"]["bad_request"]
    rows = [
        {"title": html.escape(page.title), "url": page.url, "description": html.escape(page.text),
         **({"page_age": f"{page.published}T08:00:00"} if page.published else {})}
        for page in find(query, count)
    ]  # fmt: skip
    said = {"original": query, "altered": None, "more_results_available": True}
    found: dict[str, Any] = {"results": rows} if news else {"web": {"type": "search", "results": rows}} if rows else {}
    headers_out = {"X_RateLimit_Limit": "50, 0", "X_RateLimit_Remaining": "49, 0", "X_RateLimit_Reset": "1, 1419704"}
    return json_reply(200, {"type": "news" if news else "search", "query": said, **found}, **headers_out)


def _serper(path: str, headers: Mapping[str, str], body: Any, find: Find) -> Reply:
    if not headers.get("x-api-key"):
        return TROUBLES["serper"]["bad_key"]
    if isinstance(body, list):
        return json_reply(200, [_serper_body(path, one, find) for one in body[:100]])
    if not isinstance(body, dict) or not body.get("q"):
        return TROUBLES["serper"]["bad_request"]
    return json_reply(200, _serper_body(path, body, find))


def _serper_body(path: str, body: dict[str, Any], find: Find) -> dict[str, Any]:
    count = int(body.get("num", 10))
    rows = [
        {"title": page.title, "link": page.url, "snippet": page.text, "position": n,
         **({"date": page.published} if page.published else {})}
        for n, page in enumerate(find(str(body["q"]), count), start=1)
    ]  # fmt: skip
    asked = [{"question": "What is it for?", "snippet": "…", "title": "T", "link": "https://q.example.org/"}]
    return {"searchParameters": {**body, "type": path.strip("/")}, "news" if path == "/news" else "organic": rows,
            "peopleAlsoAsk": asked, "relatedSearches": [{"query": "related words"}],
            "credits": 2 if count > 10 else 1}  # fmt: skip


def _searxng(path: str, headers: Mapping[str, str], body: Any, find: Find) -> Reply:
    if "text/html" not in headers.get("accept", "") or not headers.get("accept-language"):
        return TROUBLES["searxng"]["rate_limited"]
    if path != "/search" or not body.get("q"):
        return json_reply(400, {"error": "No query"})
    if body.get("format") != "json":
        return html_reply(200, "<html><body>results</body></html>")
    rows = [
        {"url": page.url, "title": page.title, "content": page.text, "engine": "fake", "engines": ["fake"],
         "score": round(1 / n, 3), "category": "general",
         "publishedDate": f"{page.published}T00:00:00" if page.published else None}
        for n, page in enumerate(find(str(body["q"]), 20), start=1)
    ]  # fmt: skip
    return json_reply(200, {"query": body["q"], "results": rows, "answers": [{"answer": "42", "engine": "calculator"}],
                            "corrections": [], "infoboxes": [], "suggestions": ["more of it"],
                            "unresponsive_engines": []})  # fmt: skip


def _duckduckgo(path: str, headers: Mapping[str, str], body: Any, find: Find) -> Reply:
    if path != "/html/":
        return html_reply(404, "<html></html>")
    pages = find(str(body.get("q", "")), 10)
    if not pages:
        return TROUBLES["duckduckgo"]["empty"]
    rows = "".join(
        '<div class="result results_links results_links_deep web-result">'
        '<div class="links_main links_deep result__body">'
        f'<h2 class="result__title"><a rel="nofollow" class="result__a" href="{html.escape(page.url)}">'
        f'{html.escape(page.title)}</a></h2><a class="result__snippet" href="{html.escape(page.url)}">'
        f"{html.escape(page.text)}</a></div></div>"
        for page in pages
    )
    ad = '<div class="result result--ad"><h2><a class="result__a" href="https://duckduckgo.com/y.js?ad=1">Buy</a></h2></div>'
    return html_reply(200, f'<html><body><div id="links" class="results">{ad}{rows}</div></body></html>')


def _firecrawl(path: str, headers: Mapping[str, str], body: Any, find: Find) -> Reply:
    if not headers.get("authorization"):
        return json_reply(401, {"success": False, "error": "Unauthorized: Token missing"})
    if path != "/v2/search" or not isinstance(body, dict) or not isinstance(body.get("query"), str):
        return TROUBLES["firecrawl"]["bad_request"]
    if len(body["query"]) > 500:
        return TROUBLES["firecrawl"]["bad_request"]
    count = int(body.get("limit", 10))
    pages = find(_restricted(body["query"], body.get("includeDomains"), body.get("excludeDomains")), count)
    data: dict[str, Any] = {}
    for source in body.get("sources", ["web"]):
        kind = source["type"] if isinstance(source, dict) else source
        text = "snippet" if kind == "news" else "description"
        data[kind] = [
            {"url": page.url, "title": page.title, text: page.text, "position": n,
             **({"date": page.published} if kind == "news" else {})}
            for n, page in enumerate(pages, start=1)
        ]  # fmt: skip
    return json_reply(200, {"success": True, "id": "0192", "creditsUsed": 2, "warning": None, "data": data})


def _jina(path: str, headers: Mapping[str, str], body: Any, find: Find) -> Reply:
    if not headers.get("authorization"):
        return TROUBLES["jina"]["bad_key"]
    if not isinstance(body, dict) or not body.get("q"):
        return TROUBLES["jina"]["bad_request"]
    pages = find(_restricted(str(body["q"]), body.get("site"), None), int(body.get("num", 10)))
    if not pages:
        return TROUBLES["jina"]["empty"]
    rows = [
        {"title": page.title, "url": page.url, "description": page.text, "date": page.published, "usage": {"tokens": 0}}
        for page in pages
    ]
    return json_reply(200, {"code": 200, "status": 20000, "data": rows, "meta": {"usage": {"tokens": 10000}}})


def _wikipedia(path: str, headers: Mapping[str, str], body: Any, find: Find) -> Reply:
    if not headers.get("user-agent", "").startswith("Pincite/"):
        return html_reply(403, "Please set a user-agent and respect our robot policy.")
    if path != "/w/api.php" or body.get("action") != "query" or not body.get("srsearch"):
        return TROUBLES["wikipedia"]["bad_request"]
    pages = find(str(body["srsearch"]), int(body.get("srlimit", 10)))
    rows = [
        {
            "ns": 0,
            "title": page.title,
            "pageid": n,
            "snippet": f'<span class="searchmatch">{html.escape(page.text)}</span>',
        }
        for n, page in enumerate(pages, start=1)
    ]
    return json_reply(200, {"batchcomplete": True, "query": {"searchinfo": {"totalhits": len(rows)}, "search": rows}})


def _marginalia(path: str, headers: Mapping[str, str], body: Any, find: Find) -> Reply:
    if not headers.get("api-key"):
        return TROUBLES["marginalia"]["bad_key"]
    if path != "/search" or not body.get("query"):
        return TROUBLES["marginalia"]["bad_request"]
    rows = [
        {"url": page.url, "title": page.title, "description": page.text, "quality": 4.2, "format": "html5"}
        for page in find(str(body["query"]), int(body.get("count", 20)))
    ]
    return json_reply(200, {"license": "CC-BY-NC-SA 4.0", "query": body["query"], "page": 1, "results": rows})


def _restricted(query: str, include: Any, exclude: Any) -> str:
    sites = " ".join(f"site:{domain}" for domain in include or ())
    return " ".join([query, sites, *(f"-site:{domain}" for domain in exclude or ())])


_ANSWERS: dict[str, Callable[[str, Mapping[str, str], Any, Find], Reply]] = {
    "tavily": _tavily, "exa": _exa, "brave": _brave, "serper": _serper, "searxng": _searxng,
    "duckduckgo": _duckduckgo, "firecrawl": _firecrawl, "jina": _jina,
    "wikipedia": _wikipedia, "marginalia": _marginalia,
}  # fmt: skip
