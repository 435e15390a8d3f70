"""What every hosted scraper has in common: who may be sent to one, and how its answer becomes a capture."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from decimal import Decimal

from pincite.apis import HOSTED, Answer, ApiClient, ApiSettings, bad_key, out_of_credit, rate_limited, wait_of
from pincite.domain.errors import InvalidUrl, NetworkError, PageBlocked, PinciteError, ProviderBadReply, TooLarge
from pincite.domain.fetch import FetchRequest
from pincite.domain.frozen import dataclass
from pincite.domain.page import Snapshot
from pincite.fetch.captures import capture
from pincite.fetch.page_failures import failure_of
from pincite.fetch.politeness import retried
from pincite.fetch.resolver import VettedResolver
from pincite.fetch.robots_gate import Admission, Gate
from pincite.ports import Clock
from pincite.urls.masking import mask_secrets
from pincite.urls.parse import ParsedUrl
from pincite.urls.policy import UrlPolicy, check_addresses, vet_url

# They start a browser for the page, and may queue; their own limits are about a minute.
_TOTAL_S = 60.0


@dataclass(frozen=True, slots=True)
class HostedSurroundings:
    """What a hosted backend works with.

    `public` is a policy without any opened network: what is private never leaves for a third party.
    """

    gate: Gate
    resolver: VettedResolver
    clock: Clock
    public: UrlPolicy = UrlPolicy()


@dataclass(frozen=True, slots=True)
class Scraped:
    """What a scraper said about a page. `cost` is in its own unit, as it reported it; `units` how many, if it said."""

    body: bytes
    content_type: str
    final_url: str
    status: int = 200
    fetched_at: datetime | None = None
    cost: str = ""
    units: Decimal | None = None
    headers: Iterable[tuple[str, str]] = ()


class HostedScraper(ABC):
    """Base of the hosted backends: implements `ports.FetchBackend` around one call.

    `base_url` is where it is, `unit_usd` the list price of what it bills by, `page_usd` what a page costs when it
    doesn't say.
    """

    name = ""
    base_url = ""
    unit_usd = Decimal(0)
    page_usd = Decimal(0)

    def __init__(
        self, settings: ApiSettings, around: HostedSurroundings, headers: Mapping[str, str] | None = None
    ) -> None:
        self._settings = settings
        self._api = ApiClient(self.name, settings, headers, bounds=HOSTED)
        self._around = around

    async def aclose(self) -> None:
        """Close the connections to the scraper."""
        await self._api.aclose()

    async def fetch(self, request: FetchRequest) -> Snapshot:
        """The capture the scraper made, marked with its name.

        Errors:
            InvalidUrl: `secret_in_url`; such a URL never leaves.
            InvalidUrl, BlockedAddress, DomainDenied, RobotsDisallowed, DnsError, DeadLink: policy, also for the final
                URL the scraper reports.
            ProviderAuth, ProviderQuota, RateLimited, ProviderBadReply, Timeout, NetworkError: the scraper.
            DeadLink, PageBlocked, TooLarge, UnsupportedContentType: the page, as the scraper says.
        """
        admission = await self._admit(request, request.url)
        clock = self._around.clock
        # One deadline over all tries: a retry gets what is left of it.
        until = clock.monotonic_s() + (request.deadline_s or _TOTAL_S)
        scraped = await retried(
            lambda: self._scrape(request, admission.url), clock, lambda: until - clock.monotonic_s()
        )
        final = admission.url
        # The scraper follows redirects where no policy of ours looks: where it ended is vetted before anything of it is
        # kept.
        if scraped.final_url and scraped.final_url != final.sent:
            final = (await self._admit(request, scraped.final_url)).url
        paid = f"; cost {scraped.cost}" if scraped.cost else ""
        snapshot = capture(
            url=request.url,
            final_url=final.sent,
            status=scraped.status,
            headers=(("content-type", scraped.content_type), *scraped.headers),
            body=scraped.body,
            fetched_at=scraped.fetched_at or self._around.clock.now(),
            via=self.name,
            robots=admission.robots,
            signals=admission.signals,
            redirects=() if final == admission.url else (final.sent,),
            note=f"fetched by {self.name}{paid}",
        )
        cost_usd = self.page_usd if scraped.units is None else scraped.units * self.unit_usd
        snapshot = replace(snapshot, cost_usd=cost_usd)
        if (failure := failure_of(snapshot)) is not None:
            raise failure
        return snapshot

    async def _admit(self, request: FetchRequest, url: str) -> Admission:
        if mask_secrets(url) != url:
            raise InvalidUrl("a URL that holds a credential is not sent to another service", reason="secret_in_url")
        # Whatever networks the operator opened for this machine: no other service hears of an address in them.
        vet_url(url, policy=self._around.public)
        admission = await self._around.gate.admit(url, request)
        parsed = admission.url
        if not parsed.is_literal:
            # A public name may lead into a private network, and the name alone would tell of it: looked up here, though
            # the scraper fetches.
            answers = await self._around.resolver.addresses(parsed.host, parsed.port)
            check_addresses(parsed.host, answers, self._around.public)
        return admission

    def _trouble(self, answer: Answer) -> PinciteError:
        """What an answer means that is no 200, as far as it means the same at all of them."""
        match answer.status:
            case 401:
                return bad_key(self.name, f"{self.name.upper()}_API_KEY")
            case 402:
                return out_of_credit(self.name)
            case 403:
                return PageBlocked(f"{self.name} does not fetch this site", reason="hosted_refused")
            case 413:
                return TooLarge(f"the page is too large for {self.name}", reason="hosted_too_large")
            case 429:
                return rate_limited(self.name, wait_of(answer, self._around.clock.now()))
            case status if status >= 500:
                return NetworkError(f"{self.name} failed ({status})", reason="hosted_failed")
            case status:
                return ProviderBadReply(
                    f"{self.name} refused the call ({status})", reason="bad_request", retryable=False
                )

    @abstractmethod
    async def _scrape(self, request: FetchRequest, url: ParsedUrl) -> Scraped:
        """One call to the scraper."""
