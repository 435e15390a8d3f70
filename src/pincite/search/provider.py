"""What the adapters of provider APIs have in common, from their client to results made of an engine's rows.

Results have clean text, canonical URLs and dates, and counts of what was dropped.
"""

import html
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, ClassVar

import anyio

from pincite.apis.client import Answer, ApiClient, ApiSettings, number, wrong_shape
from pincite.domain.errors import InvalidInput, InvalidUrl, PinciteError, PolicyRefusal, SearchProviderUnavailable
from pincite.domain.frozen import dataclass
from pincite.domain.search import LeftOut, Query, SearchInfo, SearchResponse, SearchResult
from pincite.ports import BatchSearchProvider, Clock
from pincite.search.health import Quota, heed
from pincite.urls import DEFAULT, UrlPolicy, mask_url, vet_url

if TYPE_CHECKING:
    import httpx2


# From an engine's rows to our results: clean text, canonical URLs, dates, and counts of what was dropped.
#
# What engines say instead of an answer is in `apis.client`.

# Engines give 150 to 400; longer extracts are cut to what a reader or a model skims.
SNIPPET_CHARS = 400
# No call costs as much: a larger figure is a mistake in the answer, and the list price counts.
_MOST_CREDITS = 10_000
# Titles are shown in lists; longer ones are keywords for engines.
_TITLE_CHARS = 300
# Only of results that are left out, to name them; those that are kept keep their whole URL.
_URL_CHARS = 300
# To say what kind of results was left out; the rest is counted.
_LEFT_OUT_MAX = 10
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,300}>|<!--.{0,500}?-->", re.DOTALL)
_INVISIBLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufffd]")
_AGO = re.compile(r"(\d+)\s*(minute|min|hour|hr|day|week|month|year)s?\s+ago", re.IGNORECASE)
_UNIT_DAYS = {
    "minute": 1 / 1440,
    "min": 1 / 1440,
    "hour": 1 / 24,
    "hr": 1 / 24,
    "day": 1.0,
    "week": 7.0,
    "month": 30.0,
    "year": 365.0,
}
# "999999 years ago" would be before the first year that Python knows.
_ERA_DAYS = 100 * 365.0
_DATE_FORMATS = ("%b %d, %Y", "%B %d, %Y", "%d %b %Y", "%d %B %Y", "%Y/%m/%d", "%m/%d/%Y")


@dataclass(frozen=True, slots=True)
class Row:
    """What an adapter read for one hit; of any type, since engines break their own contracts."""

    title: Any
    url: Any
    snippet: Any
    score: Any = None
    published: Any = None


@dataclass(frozen=True, slots=True)
class Extras:
    """What came besides the hits."""

    answer: Any = None
    follow_up_questions: Any = ()
    cost_usd: Decimal = Decimal(0)
    reason: str = ""


NOTHING_MORE = Extras()


def build_response(
    provider: str,
    query: Query,
    rows: Iterable[Row],
    now: datetime,
    extras: Extras = NOTHING_MORE,
    *,
    policy: UrlPolicy = DEFAULT,
) -> SearchResponse:
    """The response of one engine in its own order; unusable rows are dropped and counted by reason."""
    dropped: Counter[str] = Counter()
    results: list[SearchResult] = []
    left_out: list[LeftOut] = []
    for row in rows:
        url, why = _usable_url(row.url, policy)
        if url is None:
            dropped[why] += 1
            if why != "no_url" and len(left_out) < _LEFT_OUT_MAX:
                left_out.append(_left_out(row, why))
            continue
        results.append(
            SearchResult(
                title=clean(row.title, _TITLE_CHARS) or url,
                url=url,
                snippet=clean(row.snippet, SNIPPET_CHARS),
                provider=provider,
                rank=len(results) + 1,
                score=_number(row.score),
                published_at=parse_date(row.published, now),
            )
        )
    follow_ups = extras.follow_up_questions if isinstance(extras.follow_up_questions, list | tuple) else ()
    info = SearchInfo(
        cost_usd=extras.cost_usd, fetched_at=now, dropped=dict(dropped), reason=extras.reason, left_out=tuple(left_out)
    )
    return SearchResponse(
        query=query.text,
        results=tuple(results[: query.max_results]),
        answer=clean(extras.answer, 4_000) or None,
        follow_up_questions=tuple(filter(None, (clean(text, 300) for text in follow_ups[:20]))),
        info=info,
    )


def _left_out(row: Row, why: str) -> LeftOut:
    url = clean(mask_url(str(row.url).strip()[:_URL_CHARS]), _URL_CHARS)
    return LeftOut(clean(row.title, _TITLE_CHARS) or url, url, why)


def clean(value: Any, max_chars: int) -> str:
    """`value` as one line of text without markup and invisible characters, cut at a word; not-text gives nothing."""
    if not isinstance(value, str):
        return ""
    text = value[: max_chars * 20]
    text = _TAG.sub(" ", html.unescape(_TAG.sub(" ", text)))
    text = " ".join(_INVISIBLE.sub("", text).encode("utf-8", "ignore").decode().split())
    if len(text) <= max_chars:
        return text
    cut = text[: max_chars - 1]
    head = cut.rsplit(" ", 1)[0]
    return (head if len(head) > max_chars * 0.6 else cut).rstrip(" ,;:-") + "…"


def parse_date(value: Any, now: datetime) -> datetime | None:
    """The moment an engine means by an ISO, RFC 2822, written-out or relative date; None when it can't be read."""
    if not isinstance(value, str) or not (text := value.strip()[:80]):
        return None
    ago = _AGO.search(text)
    if ago:
        moment: datetime | None = now - timedelta(days=min(int(ago[1][:6]) * _UNIT_DAYS[ago[2].lower()], _ERA_DAYS))
    elif text.lower() in {"yesterday", "today"}:
        moment = now - timedelta(days=text.lower() == "yesterday")
    else:
        moment = _absolute_date(text)
    if moment is None or not 1990 <= moment.year <= now.year + 1:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)


def _absolute_date(text: str) -> datetime | None:
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            return read(text)
        except (ValueError, IndexError, TypeError, OverflowError):
            continue
    for form in _DATE_FORMATS:
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    return None


def _usable_url(value: Any, policy: UrlPolicy) -> tuple[str | None, str]:
    if not isinstance(value, str) or not value.strip():
        return None, "no_url"
    try:
        return vet_url(value.strip(), policy=policy), ""
    except (InvalidUrl, PolicyRefusal) as error:
        return None, error.reason


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < 1e15 else None  # neither `NaN` nor `Infinity`, which JSON has no words for


def rows_in(provider: str, value: Any, what: str) -> list[Mapping[str, Any]]:
    """The objects of a list; a missing list is empty, another type breaks the contract. Errors: ProviderBadReply."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise wrong_shape(provider, f"{what} is not a list")
    return [item for item in value if isinstance(item, Mapping)]


def billed(value: Any, unit_usd: Decimal) -> Decimal | None:
    """What a reported number of credits costs, or None when it isn't a believable number."""
    used = number(value)
    return None if used is None or used >= _MOST_CREDITS else Decimal(str(used)) * unit_usd


def money(value: Any) -> Decimal | None:
    """A reported amount in US dollars, or None when it isn't a plain non-negative number."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        return None
    return amount if amount.is_finite() and 0 <= amount < 1000 else None


def bad_request(provider: str, detail: Any) -> InvalidInput:
    """The engine refuses the request itself; asking again won't help."""
    return InvalidInput(
        f"{provider} refused the request: {clean(detail, 200) or 'no reason given'}",
        reason="provider_bad_request",
        context={"provider": provider},
    )


# What the adapters of provider APIs have in common: their client, clock, URL policy, and the record of raw answers.

_NOTICES = ("detail", "error", "errors", "message")
KeepAnswer = Callable[[str, Query, bytes], Awaitable[None]]
SlowDown = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What every adapter is given besides its settings.

    `keep` stores the raw answer for audit, `slow_down` tells the limiter what a rate header said, `quota` takes down
    what is left of the account.
    """

    clock: Clock
    policy: UrlPolicy = DEFAULT
    keep: KeepAnswer | None = None
    slow_down: SlowDown | None = None
    quota: Quota | None = None
    transport: "httpx2.AsyncBaseTransport | None" = None


class ApiProvider(ABC):
    """Base of the adapters over HTTP APIs; each implements `ports.SearchProvider`."""

    name: ClassVar[str]

    def __init__(self, settings: ApiSettings, around: Surroundings, headers: Mapping[str, str]) -> None:
        self.settings = settings
        self.around = around
        self.api = ApiClient(self.name, settings, headers, transport=around.transport)

    @abstractmethod
    async def search(self, query: Query) -> SearchResponse:
        """Results in the engine's order. Errors: those of the adapter's table."""

    async def aclose(self) -> None:
        """Close the connections."""
        await self.api.aclose()

    async def kept(self, answer: Answer, query: Query) -> Answer:
        """The answer, after its raw form was kept for audit where terms allow, and its rate headers were read."""
        if self.around.quota is not None:
            heed(self.around.quota, answer.headers, self.around.clock.now())
        if self.around.keep is not None:
            await self.around.keep(self.name, query, answer.body)
        return answer


def outage(answer: Answer, wait_s: float | None = None) -> SearchProviderUnavailable:
    """The engine itself is down."""
    return SearchProviderUnavailable(
        f"{answer.provider} answered {answer.status}",
        reason="provider_outage",
        retry_after_s=wait_s,
        context={"provider": answer.provider, "status": answer.status},
    )


def checked(answer: Answer, body: dict[str, Any], results: str) -> dict[str, Any]:
    """The body of a 200, unless it is a notice of trouble instead of an answer: that is never "no results".

    Errors:
        SearchProviderUnavailable: `provider_outage`.
    """
    if body.get(results) is None and (said := error_text({name: body.get(name) for name in _NOTICES})):
        raise SearchProviderUnavailable(
            f"{answer.provider} answered with a notice: {clean(said, 160)}",
            reason="provider_outage",
            context={"provider": answer.provider, "status": answer.status},
        )
    return body


def other_status(answer: Answer, detail: Any, wait_s: float | None = None) -> PinciteError:
    """What a status outside an adapter's own table means: 5xx an outage, the rest a refused request."""
    if answer.status >= 500:
        return outage(answer, wait_s)
    return bad_request(answer.provider, f"{answer.status} {clean(detail, 160)}".strip())


def error_text(body: Mapping[str, Any]) -> str:
    """The human text of an error body in the shapes in use: detail.error, detail, error.message, error, message."""
    value: Any = body
    for _ in range(3):
        if isinstance(value, list):
            value = value[0] if value else None
        if isinstance(value, Mapping):
            value = next(
                (value[key] for key in ("detail", "error", "errors", "message", "msg", "code") if value.get(key)), None
            )
    return clean(value, 300)


# Queries that come at the same moment go to an engine that takes several as one call.

# So long the first query waits for others of the same moment, as those of one task group are.
GATHER_S = 0.01


@dataclass(slots=True)
class _Waiting:
    query: Query
    done: anyio.Event = field(default_factory=anyio.Event)
    response: SearchResponse | None = None
    error: PinciteError | None = None


class Batched:
    """Implements `ports.SearchProvider` over a `BatchSearchProvider`.

    The first caller waits a moment for others and then asks for all of them. If it is cancelled meanwhile, one of
    the others does it.
    """

    def __init__(self, provider: BatchSearchProvider, clock: Clock, *, gather_s: float = GATHER_S) -> None:
        self._provider = provider
        self._clock = clock
        self._gather_s = gather_s
        self._waiting: list[_Waiting] = []
        self._leading = anyio.Lock()

    @property
    def name(self) -> str:
        """The engine's name."""
        return self._provider.name

    async def aclose(self) -> None:
        """Close the engine."""
        close = getattr(self._provider, "aclose", None)
        if close is not None:
            await close()

    async def search(self, query: Query) -> SearchResponse:
        """The answer to this query. Errors: as the engine's."""
        mine = _Waiting(query)
        self._waiting.append(mine)
        try:
            await self._clock.sleep(self._gather_s)
            async with self._leading:
                if not mine.done.is_set():
                    await self._ask_for_all(mine)
        finally:
            if mine in self._waiting:
                self._waiting.remove(mine)
        if mine.error is not None:
            raise mine.error
        assert mine.response is not None
        return mine.response

    async def _ask_for_all(self, mine: _Waiting) -> None:
        others = [one for one in self._waiting if one is not mine and one.query.topic is mine.query.topic]
        batch = [mine, *others[: self._provider.batch_size - 1]]
        if len(batch) == 1:
            mine.response = await self._provider.search(mine.query)
            return
        try:
            responses: Sequence[SearchResponse] = await self._provider.search_many([one.query for one in batch])
        except PinciteError as error:
            for one in batch:
                one.error = error
                one.done.set()
            return
        for one, response in zip(batch, responses, strict=True):
            one.response = response
            one.done.set()
        self._waiting = [one for one in self._waiting if not one.done.is_set()]
