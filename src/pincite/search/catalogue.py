"""What each engine can do, costs, allows and limits: data, dated, and no class names. docs/search.md is made from it.

Prices and terms drift: an amount reported in an answer beats the table, and the operator's own contract beats the
terms. A price that nobody publishes is None, and a money cap then refuses the engine (fails closed).
"""

from collections.abc import Mapping
from dataclasses import field
from datetime import date
from decimal import Decimal

from pincite.domain.errors import InvalidSetting
from pincite.domain.frozen import dataclass
from pincite.domain.search import Depth
from pincite.runtime.limiter import Rate, within
from pincite.search.intent import Intent

_DAY_S = 86_400.0
UNKNOWN_TERMS_CACHE_S = _DAY_S
# The day on which prices and limits were read at the engines' own pages.
READ_ON = date(2026, 11, 21)
# The day on which terms of use were read.
TERMS_READ_ON = date(2026, 11, 22)


# How `native` calls these two filters where an engine has them.
FILE_TYPE = "file type"
IN_TITLE = "words of the title"


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars of one call of up to ten results; `free_usd_per_month` is what the engine gives away each month."""

    basic: Decimal
    advanced: Decimal
    dated: date = READ_ON
    free_usd_per_month: Decimal = Decimal(0)
    note: str = ""


@dataclass(frozen=True, slots=True)
class Terms:
    """What the engine's terms allow with its answers. None means that nobody here has read a clause about it.

    Unknown terms count as: private to one scope, never shared, kept for a day at most.
    """

    longest_cache_s: float | None = None
    storable: bool | None = None
    shareable: bool | None = None
    attribution: str = ""
    read_on: date | None = None

    def may_share(self) -> bool:
        """Whether another scope may see an answer."""
        return self.shareable is True

    def may_keep_raw(self) -> bool:
        """Whether the raw answer may be kept for audit beyond the cache."""
        return self.storable is True

    def cap_s(self) -> float:
        """The longest time an answer may stay in a cache."""
        return UNKNOWN_TERMS_CACHE_S if self.longest_cache_s is None else self.longest_cache_s

    def strictest(self, other: "Terms") -> "Terms":
        """What both allow: for answers made of several engines."""
        return Terms(
            longest_cache_s=min(self.cap_s(), other.cap_s()),
            storable=self.may_keep_raw() and other.may_keep_raw(),
            shareable=self.may_share() and other.may_share(),
            attribution=", ".join(filter(None, dict.fromkeys((self.attribution, other.attribution)))),
        )


# No terms of anybody bind the answers of an engine that is one's own; after a month they are asked for anew.
OWN_DATA = Terms(longest_cache_s=30 * _DAY_S, storable=True, shareable=False, read_on=READ_ON)


@dataclass(frozen=True, slots=True)
class ProviderCard:
    """One row of the catalogue. `native` names the filters the engine applies itself; all are re-checked here."""

    name: str
    title: str
    base_url: str
    key_variable: str
    native: tuple[str, ...]
    max_results: int
    rates: tuple[Rate, ...]
    price: Price | None
    terms: Terms = Terms()
    fit: Mapping[Intent, float] = field(default_factory=dict)
    other_fit: float = 0.6
    needs_key: bool = True
    limits_text: str = ""
    query_chars: int = 2_000

    def fit_for(self, intent: Intent) -> float:
        """How well the engine suits the intent, 0 (never asked by `auto`) to 1 (the table of default routes)."""
        return self.fit.get(intent, self.other_fit)

    def cost(self, depth: Depth | None) -> Decimal | None:
        """The list price of one call, or None when it isn't known."""
        if self.price is None:
            return None
        return self.price.advanced if depth is Depth.ADVANCED else self.price.basic


_FREE = Price(Decimal("0"), Decimal("0"))

CATALOGUE: Mapping[str, ProviderCard] = {
    card.name: card
    for card in (
        ProviderCard(
            name="tavily",
            title="Tavily",
            base_url="https://api.tavily.com",
            key_variable="TAVILY_API_KEY",
            native=("domains", "dates", "topic", "depth", "answer", "region", "quotes"),
            max_results=20,
            rates=(within(100, 60),),
            price=Price(
                Decimal("0.008"), Decimal("0.016"), free_usd_per_month=Decimal("8"), note="1,000 credits a month free"
            ),
            fit={Intent.RESEARCH: 0.8, Intent.LOCAL: 0.8},
            other_fit=0.9,
            limits_text="100 a minute (development key), 1,000 (production)",
            query_chars=400,
        ),
        ProviderCard(
            name="exa",
            title="Exa",
            base_url="https://api.exa.ai",
            key_variable="EXA_API_KEY",
            native=("domains", "dates", "topic", "region"),
            max_results=100,
            rates=(within(10, 1),),
            price=Price(Decimal("0.007"), Decimal("0.007"), free_usd_per_month=Decimal("10"), note="$10 a month free"),
            fit={Intent.RESEARCH: 0.92, Intent.CURRENT_EVENT: 0.7, Intent.LOCAL: 0.65},
            other_fit=0.8,
            limits_text="10 a second",
        ),
        ProviderCard(
            name="brave",
            title="Brave Search",
            base_url="https://api.search.brave.com/res/v1",
            key_variable="BRAVE_API_KEY",
            native=("domains by operator", "dates", "topic", "language", "region", "quotes", FILE_TYPE, IN_TITLE),
            max_results=20,
            rates=(within(50, 1),),
            price=Price(Decimal("0.005"), Decimal("0.005"), free_usd_per_month=Decimal("5"), note="$5 a month free"),
            limits_text="50 a second",
            query_chars=400,
        ),
        ProviderCard(
            name="serper",
            title="Serper",
            base_url="https://google.serper.dev",
            key_variable="SERPER_API_KEY",
            native=(
                "domains by operator",
                "dates",
                "topic",
                "language",
                "region",
                "answer",
                "batch",
                "quotes",
                FILE_TYPE,
                IN_TITLE,
            ),
            max_results=100,
            rates=(within(50, 1),),
            price=Price(Decimal("0.001"), Decimal("0.001"), note="Starter pack; above 10 results twice the price"),
            limits_text="50 a second (Starter)",
        ),
        ProviderCard(
            name="searxng",
            title="SearXNG (your own)",
            base_url="",
            key_variable="SEARXNG_URL",
            native=("domains by operator", "dates (last day, week, month, year)", "topic", "language", "answer"),
            max_results=40,
            rates=(Rate(1, 1, burst=3),),
            price=_FREE,
            limits_text="your own; 1 a second by default",
        ),
        ProviderCard(
            name="duckduckgo",
            title="DuckDuckGo",
            base_url="https://html.duckduckgo.com",
            key_variable="",
            native=("domains by operator", "dates (last day, week, month, year)", "region", FILE_TYPE, IN_TITLE),
            max_results=10,
            rates=(Rate(0.4, 1, burst=1),),
            price=_FREE,
            terms=Terms(attribution="DuckDuckGo"),
            other_fit=0.4,
            needs_key=False,
            limits_text="none published; 0.4 a second, one at a time",
            query_chars=480,
        ),
        ProviderCard(
            name="firecrawl",
            title="Firecrawl search",
            base_url="https://api.firecrawl.dev",
            key_variable="FIRECRAWL_API_KEY",
            native=("domains", "dates", "topic", "region"),
            max_results=100,
            rates=(within(100, 60),),
            price=Price(Decimal("0.00198"), Decimal("0.00198"), note="2 credits at the Standard plan"),
            limits_text="10 a minute (free) to 10,000 (Scale)",
            query_chars=500,
        ),
        ProviderCard(
            name="jina",
            title="Jina Search",
            base_url="https://s.jina.ai",
            key_variable="JINA_API_KEY",
            native=("domains", "topic", "language", "region", FILE_TYPE, IN_TITLE),
            max_results=20,
            rates=(within(100, 60),),
            price=None,
            limits_text="100 a minute, 1,000 (premium)",
        ),
        ProviderCard(
            name="wikipedia",
            title="Wikipedia",
            base_url="https://en.wikipedia.org",
            key_variable="",
            native=("language", IN_TITLE),
            max_results=50,
            rates=(Rate(1, 1, burst=3),),
            price=_FREE,
            terms=Terms(
                30 * _DAY_S, storable=True, shareable=True, attribution="Wikipedia, CC BY-SA 4.0", read_on=TERMS_READ_ON
            ),
            # An encyclopedia: nothing for error messages, code and manuals, where `auto` doesn't ask it at all.
            fit={Intent.GENERAL: 0.35, Intent.RESEARCH: 0.35, Intent.CURRENT_EVENT: 0.3},
            other_fit=0.0,
            needs_key=False,
            limits_text="one after the other; 1 a second by default",
            query_chars=300,
        ),
        ProviderCard(
            name="marginalia",
            title="Marginalia Search",
            base_url="https://api2.marginalia-search.com",
            key_variable="MARGINALIA_API_KEY",
            native=(),
            max_results=100,
            rates=(Rate(0.5, 1, burst=2),),
            price=_FREE,
            terms=Terms(attribution="Marginalia Search, CC BY-NC-SA 4.0", read_on=TERMS_READ_ON),
            other_fit=0.3,
            needs_key=False,
            limits_text="none published; the shared key `public` is often at its limit",
            query_chars=400,
        ),
        ProviderCard(
            name="local",
            title="Local library",
            base_url="",
            key_variable="",
            native=("domains", FILE_TYPE, IN_TITLE),
            max_results=50,
            rates=(),
            price=_FREE,
            terms=OWN_DATA,
            other_fit=0.95,
            needs_key=False,
            limits_text="none",
        ),
    )
}

# Named so that old settings end with the reason, not with "unknown engine".
RETIRED: Mapping[str, str] = {
    "bing": "the Bing Search APIs were retired on 2025-08-11",
}


def card_of(name: str) -> ProviderCard:
    """The row of a provider; one from a plug-in gets a row of unknown price and terms.

    Errors: InvalidSetting: a retired provider (`provider_retired`), named with what to use instead.
    """
    if name.lower() in RETIRED:
        raise InvalidSetting(
            f"{name}: {RETIRED[name.lower()]}",
            reason="provider_retired",
            hint="Use brave, serper or searxng instead; duckduckgo draws on the same index and needs no key.",
        )
    known = CATALOGUE.get(name)
    if known is not None:
        return known
    return ProviderCard(
        name=name,
        title=name,
        base_url="",
        key_variable="",
        native=(),
        max_results=10,
        rates=(Rate(1, 1, burst=2),),
        price=None,
    )
