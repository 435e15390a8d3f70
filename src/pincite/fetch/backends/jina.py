"""Jina Reader: POST / with the URL in the body; the answer is Markdown in JSON."""

import re
from decimal import Decimal
from typing import Any

from pincite.apis import Answer, ApiSettings, number
from pincite.domain.errors import DeadLink, EmptyContent, PageBlocked, PinciteError, ProviderBadReply
from pincite.domain.fetch import FetchRequest
from pincite.domain.version import PRODUCT_TOKEN
from pincite.fetch.hosted import HostedScraper, HostedSurroundings, Scraped
from pincite.urls.parse import ParsedUrl

# Its default as documented; a copy of the last hour is fresh for any page.
_TOLERANCE_S = 3_600
_STATUS_IN_WARNING = re.compile(r"\b(?:error|status|code|returned|answered)\b\D{0,12}\b([45]\d\d)\b", re.IGNORECASE)


class JinaScraper(HostedScraper):
    """Implements `ports.FetchBackend`. The key is optional."""

    name = "jina"
    base_url = "https://r.jina.ai"
    unit_usd = Decimal("0.00000005")  # a token; the dearest price ever published, the current one is not public
    page_usd = Decimal("0.0005")

    def __init__(self, settings: ApiSettings, around: HostedSurroundings) -> None:
        headers = {"Accept": "application/json", "DNT": "1", "X-Robots-Txt": PRODUCT_TOKEN}
        if settings.api_key:
            headers["Authorization"] = f"Bearer {settings.api_key}"
        super().__init__(settings, around, headers)

    async def _scrape(self, request: FetchRequest, url: ParsedUrl) -> Scraped:
        fresh = {"X-No-Cache": "true"} if request.force_refresh else {"X-Cache-Tolerance": str(_TOLERANCE_S)}
        if request.prefer_language:
            fresh["X-Locale"] = request.prefer_language
        answer = await self._api.post_json("", {"url": url.sent}, fresh)
        if answer.status != 200:
            raise self._trouble(answer)
        reply = answer.object()
        data = reply.get("data")
        if not isinstance(data, dict) or not isinstance(data.get("content"), str):
            raise ProviderBadReply("jina: no content in the answer", reason="wrong_shape")
        warning = str(data.get("warning") or "")
        if warning and (told := _STATUS_IN_WARNING.search(warning)):
            if int(told[1]) in {404, 410}:
                raise DeadLink(f"jina says the page is gone ({told[1]})", reason=f"http_{told[1]}")
            raise PageBlocked(f"jina says the page answered {told[1]}", reason=f"http_{told[1]}")
        if "captcha" in warning.lower():
            raise PageBlocked("jina met a bot challenge", reason="challenge")
        tokens = _tokens(data, reply.get("meta"), answer.headers.get("x-usage-tokens", ""))
        final = data.get("url")
        title, content = str(data.get("title") or ""), data["content"]
        if title and not content.lstrip().startswith("#"):  # its title stands beside the text, not in it
            content = f"# {title}\n\n{content}"
        return Scraped(
            body=content.encode(),
            content_type="text/markdown",
            final_url=final if isinstance(final, str) and final else url.sent,
            cost="" if tokens is None else f"{tokens:g} tokens",
            units=None if tokens is None else Decimal(str(tokens)),
        )

    def _trouble(self, answer: Answer) -> PinciteError:
        """As everywhere; 422 is a page without text, 451 one that it may not fetch."""
        if answer.status == 422:
            return EmptyContent("jina found no content on the page", reason="hosted_empty")
        if answer.status == 451:
            return PageBlocked("jina does not fetch this site", reason="hosted_refused")
        return super()._trouble(answer)


def _tokens(data: dict[str, Any], meta: Any, header: str) -> float | None:
    """What was used, where any of the three places says so."""
    for place in (data, meta if isinstance(meta, dict) else {}):
        usage = place.get("usage")
        if isinstance(usage, dict) and (used := number(usage.get("tokens"))) is not None:
            return used
    return float(header) if header.isascii() and header.isdecimal() else None
