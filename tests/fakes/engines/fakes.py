"""The fake engines themselves: a request in, a reply out, no sockets.

Every engine lives below its own path, as `base_url` says; Firecrawl lives at the root since its official client drops
the path of its base URL.
"""

import json
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.fakes.engines import shapes
from tests.fakes.engines.pages import PAGES, FakePage, best_pages
from tests.fakes.engines.troubles import TROUBLES, Reply

Find = Callable[[str, int], Sequence[FakePage]]
NAMES = ("tavily", "exa", "brave", "serper", "searxng", "duckduckgo", "firecrawl", "jina", "wikipedia", "marginalia")
_PATHS = {
    "tavily": "/tavily",
    "exa": "/exa",
    "brave": "/brave/res/v1",
    "serper": "/serper",
    "searxng": "/searxng",
    "duckduckgo": "/duckduckgo",
    "firecrawl": "",
    "jina": "/jina",
    "wikipedia": "/wikipedia",
    "marginalia": "/marginalia",
}


@dataclass(frozen=True, slots=True)
class Call:
    """One request that a fake received; header names are in lower case."""

    provider: str
    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


@dataclass(slots=True)
class FakeEngines:
    """All fakes over one set of pages.

    `modes` makes an engine answer every call with a trouble (see `troubles.TROUBLES`); `script` does so for the next
    calls only. `limits` are real sliding windows (calls, seconds): what is above is answered 429 and counted.
    """

    find: Find = field(default_factory=lambda: lambda text, count: best_pages(PAGES, text, count))
    modes: dict[str, str] = field(default_factory=dict)
    script: dict[str, deque[str]] = field(default_factory=lambda: defaultdict(deque))
    limits: dict[str, tuple[int, float]] = field(default_factory=dict)
    now_s: Callable[[], float] = lambda: 0.0
    calls: list[Call] = field(default_factory=list)
    violations: Counter[str] = field(default_factory=Counter)
    _recent: dict[str, deque[float]] = field(default_factory=lambda: defaultdict(deque))

    def handle(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """The reply to one HTTP request; `target` is path and query."""
        parts = urlsplit(target)
        provider, path = _provider_of(parts.path)
        if provider is None:
            return Reply(404, b'{"error":"not found"}')
        lowered = {name.lower(): value for name, value in headers.items()}
        parsed = _parsed_body(lowered, parts.query, body)
        self.calls.append(Call(provider, method, path, lowered, parsed))
        trouble = self._trouble(provider)
        if trouble is not None:
            return trouble
        return shapes.answer(provider, path, lowered, parsed, self.find)

    def base_url(self, provider: str, origin: str) -> str:
        """The base URL to set for `provider` when the fakes are at `origin`."""
        return origin + _PATHS[provider]

    def seen(self, provider: str) -> list[Call]:
        """The calls that this engine received."""
        return [call for call in self.calls if call.provider == provider]

    def _trouble(self, provider: str) -> Reply | None:
        scripted = self.script[provider].popleft() if self.script[provider] else None
        mode = scripted or self.modes.get(provider)
        if self._over_limit(provider):
            self.violations[provider] += 1
            mode = "rate_limited"
        if mode is None or mode == "ok":
            return None
        return TROUBLES[provider][mode]

    def _over_limit(self, provider: str) -> bool:
        if provider not in self.limits:
            return False
        calls, per_s = self.limits[provider]
        now, recent = self.now_s(), self._recent[provider]
        while recent and recent[0] <= now - per_s:
            recent.popleft()
        recent.append(now)
        return len(recent) > calls


def _provider_of(path: str) -> tuple[str | None, str]:
    for name, prefix in _PATHS.items():
        if prefix and path.startswith(prefix + "/"):
            return name, path.removeprefix(prefix)
    if path.startswith("/v2/"):
        return "firecrawl", path
    return None, path


def _parsed_body(headers: Mapping[str, str], query: str, body: bytes) -> Any:
    if "json" in headers.get("content-type", "") or body[:1] in {b"{", b"["}:
        try:
            return json.loads(body)
        except ValueError:
            return None
    form = parse_qs(query + ("&" if query and body else "") + body.decode("utf-8", "replace"), keep_blank_values=True)
    return {name: unquote(values[0]) if "%" in values[0] else values[0] for name, values in form.items()}
