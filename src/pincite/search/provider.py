"""What the adapters of provider APIs have in common: their client, clock, URL policy, and the record of raw answers."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from pincite.apis.client import Answer, ApiClient, ApiSettings
from pincite.domain.errors import PinciteError, SearchProviderUnavailable
from pincite.domain.search import Query, SearchResponse
from pincite.ports import Clock
from pincite.search.answers import bad_request, clean
from pincite.search.quota import Quota, heed
from pincite.urls import DEFAULT, UrlPolicy

if TYPE_CHECKING:
    import httpx2

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
