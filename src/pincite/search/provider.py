"""What the adapters of provider APIs have in common: client, clock, URL policy, the record of raw answers, errors.

What engines say instead of an answer is in `apis`; what their rows become in `results`.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import anyio

from pincite.apis import (
    Answer,
    ApiClient,
    ApiSettings,
    bad_key,
    missing_key,
    out_of_credit,
    rate_limited,
    wait_of,
    wrong_shape,
)
from pincite.domain.errors import InvalidInput, PageBlocked, PinciteError, ProviderAuth, SearchProviderUnavailable
from pincite.domain.frozen import dataclass
from pincite.domain.search import Query, SearchResponse
from pincite.ports import BatchSearchProvider, Clock
from pincite.search.catalogue import card_of
from pincite.search.health import Quota, heed
from pincite.search.results import NOTHING_MORE, Extras, Row, build_response, clean
from pincite.urls import DEFAULT, UrlPolicy

if TYPE_CHECKING:
    import httpx2


def rows_in(provider: str, value: Any, what: str) -> list[Mapping[str, Any]]:
    """The objects of a list; a missing list is empty, another type breaks the contract. Errors: ProviderBadReply."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise wrong_shape(provider, f"{what} is not a list")
    return [item for item in value if isinstance(item, Mapping)]


def bad_request(provider: str, detail: Any) -> InvalidInput:
    """The engine refuses the request itself; asking again won't help."""
    return InvalidInput(
        f"{provider} refused the request: {clean(detail, 200) or 'no reason given'}",
        reason="provider_bad_request",
        context={"provider": provider},
    )


def key_of(name: str, settings: ApiSettings) -> str:
    """The key. Errors: ProviderAuth (`missing_key`), which names the setting."""
    if not settings.api_key:
        raise missing_key(name, card_of(name).key_variable)
    return settings.api_key


Trouble = Literal["key", "credit", "plan", "rate", "blocked"]

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
    statuses: ClassVar[Mapping[int, Trouble]] = {}
    """What its statuses mean besides 200, outages (5xx) and requests that it refuses (the rest)."""
    pause_s: ClassVar[float | None] = None
    """How long it is let alone where it limits the rate and does not say for how long."""
    blocked_hint: ClassVar[str] = ""

    def __init__(self, settings: ApiSettings, around: Surroundings, headers: Mapping[str, str]) -> None:
        self.settings = settings
        self.around = around
        self.card = card_of(self.name)
        self.api = ApiClient(self.name, settings, headers, transport=around.transport)

    @abstractmethod
    async def search(self, query: Query) -> SearchResponse:
        """Results in the engine's order. Errors: those of the adapter's table."""

    async def aclose(self) -> None:
        """Close the connections."""
        await self.api.aclose()

    async def asked(self, calling: Awaitable[Answer], query: Query) -> Answer:
        """The answer to a call where it is a 200, as `kept`. Errors: those of `trouble`."""
        answer = await self.kept(await calling, query)
        if answer.status != 200:
            raise self.trouble(answer)
        return answer

    async def kept(self, answer: Answer, query: Query) -> Answer:
        """The answer, after its raw form was kept for audit where terms allow, and its rate headers were read."""
        if self.around.quota is not None:
            heed(self.around.quota, answer.headers, self.around.clock.now())
        if self.around.keep is not None:
            await self.around.keep(self.name, query, answer.body)
        return answer

    def trouble(self, answer: Answer) -> PinciteError:
        """What an answer means that is no 200: by `statuses`, else an outage or a request that was refused."""
        match self.statuses.get(answer.status):
            case "key":
                return bad_key(self.name, self.card.key_variable)
            case "credit":
                return out_of_credit(self.name)
            case "plan":
                what = f"{self.name} does not allow this with the key"
                return ProviderAuth(what, reason="not_in_plan", hint=f"Check the plan of {self.card.title}.")
            case "rate":
                return self.limited(answer)
            case "blocked":
                what = f"{self.name} refuses this client"
                return PageBlocked(what, reason="provider_blocked", hint=self.blocked_hint)
        if answer.status >= 500:
            return outage(answer, self.wait_s(answer))
        return bad_request(self.name, f"{answer.status} {self.said(answer)}".strip())

    def limited(self, answer: Answer) -> PinciteError:
        """Too many calls; the engine's own pause where it says nothing of a wait."""
        wait_s = self.wait_s(answer)
        return rate_limited(self.name, self.pause_s if wait_s is None else wait_s)

    def wait_s(self, answer: Answer) -> float | None:
        """Seconds that the engine asks to wait."""
        return wait_of(answer, self.around.clock.now())

    def said(self, answer: Answer) -> str:
        """The engine's own words on what is wrong."""
        return error_text(answer.quiet_object())

    def cost(self, query: Query, told: Decimal | None) -> Decimal:
        """What a call came to: what the answer told, else by the list; nothing where that has no price."""
        return told if told is not None else self.card.cost(query.depth) or Decimal(0)

    def response(self, query: Query, rows: Iterable[Row], extras: Extras = NOTHING_MORE) -> SearchResponse:
        """The rows as results."""
        return build_response(self.name, query, rows, self.around.clock.now(), extras, policy=self.around.policy)

    def listed(self, value: Any, *, url: str = "url", snippet: str, score: str = "", published: str = "") -> list[Row]:
        """A list of hits as rows, by the names of their members; of names with a bar the first with a value counts.

        Errors: ProviderBadReply.
        """

        def member(hit: Mapping[str, Any], named: str) -> Any:
            return next((found for name in named.split("|") if (found := hit.get(name))), None)

        return [
            Row(hit.get("title"), hit.get(url), member(hit, snippet), hit.get(score), member(hit, published))
            for hit in rows_in(self.name, value, "results")
        ]


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

    Errors: SearchProviderUnavailable (`provider_outage`).
    """
    if body.get(results) is None and (said := error_text({name: body.get(name) for name in _NOTICES})):
        raise SearchProviderUnavailable(
            f"{answer.provider} answered with a notice: {clean(said, 160)}",
            reason="provider_outage",
            context={"provider": answer.provider, "status": answer.status},
        )
    return body


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

    def __init__(self, provider: BatchSearchProvider, clock: Clock) -> None:
        self._provider = provider
        self._clock = clock
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
            await self._clock.sleep(GATHER_S)
            async with self._leading:
                if not mine.done.is_set():
                    await self._send_batch(mine)
        finally:
            if mine in self._waiting:
                self._waiting.remove(mine)
        if mine.error is not None:
            raise mine.error
        assert mine.response is not None
        return mine.response

    async def _send_batch(self, mine: _Waiting) -> None:
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
