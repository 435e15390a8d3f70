"""search_load.py QUERIES.jsonl [--limit N] [--askers K] [--json FILE]: a day of searches, on simulated time.

QUERIES.jsonl has one search a line: t_s, user, query, intent, lane, freshness_s. The engines are the shipped fakes as
an HTTP transport, with latencies, 5 % errors (2.5 % outages, 1 % garbage, 1 % resets, 0.5 % hangs), 1 % 429 with
Retry-After, the real rate limits of the engines as sliding windows, and Tavily fully down for 30 minutes.

Runs: the routed default in a team scope that the operator's contracts allow; the same under unknown terms (each user
a scope); Tavily alone, basic and advanced; the team in two installations, which know nothing of each other or are each
other's peer (docs/sharing.md: signed items, the same checks on arrival, 50 ms away). Baseline: one paid call a query.
The file draws the asker of each query at random, as if nobody had subjects of their own; with `--askers K` the same K
people ask about a subject, to see how much of the private hit rate that is.
Money: the queries stand for ten days of 1,000 searches, so the monthly pace is scaled to the length of the run, and
halved for each of two installations. Simulated time counts network and waiting; CPU time and the failover switch are
measured apart, for real.
"""

import argparse
import json
import random
import re
import statistics
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import astuple, dataclass, field
from datetime import timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import beside_tests  # noqa: F401  # its import is its effect
import httpx2
from simulated_time import START, SimulatedClock, run
from tests.fakes.engines import EngineServer, EngineTransport, FakeEngines, FakePage
from tests.fakes.storage import MemoryCache

from pincite.apis import ApiSettings
from pincite.domain.errors import PinciteError
from pincite.domain.search import Depth, Query, SearchResponse
from pincite.runtime.limiter import BATCH, INTERACTIVE, MemoryLimiter
from pincite.runtime.system import SystemClock
from pincite.search.catalogue import CATALOGUE, Terms
from pincite.search.provider import ApiProvider, Batched, Surroundings
from pincite.search.providers.brave import Brave
from pincite.search.providers.exa import Exa
from pincite.search.providers.serper import Serper
from pincite.search.providers.tavily import Tavily
from pincite.search.results import Row, build_response
from pincite.search.service import SearchOptions, SearchService
from pincite.search.shared_answers import AnswerIntake, item_of_stored
from pincite.search.store import AnswerStore, CacheCounts, Scopes
from pincite.sharing.items import Kind, Signer
from pincite.sharing.peers import Peers, peer_of
from pincite.urls import UrlPolicy
from pincite.urls.parse import ParsedUrl

ADAPTERS: dict[str, Callable[..., ApiProvider]] = {"tavily": Tavily, "exa": Exa, "serper": Serper, "brave": Brave}
MEDIAN_S = {"tavily": 0.55, "exa": 0.5, "serper": 0.35, "brave": 0.35}
LIMITS = {"tavily": (100, 60.0), "exa": (10, 1.0), "serper": (50, 1.0), "brave": (50, 1.0)}
FORMS = frozenset(
    "how to in documentation what is the way a with error while fails on why does raise when i paper comparing "
    "strategies for survey of methods research performance best practice tutorial should".split()
)
"""What the workload's forms of asking add to a topic: without these words two wordings of one topic are the same."""
DAYS = 10
PACE = SearchOptions().pace_usd_per_month or Decimal(0)
CONTRACT = Terms(longest_cache_s=30 * 86_400, storable=True, shareable=True, attribution="operator's contract")


PEER_S = 0.05
TEAM = Scopes("nobody", shared="team")


@dataclass
class Outcome:
    """What became of one query."""

    asked: dict[str, Any]
    response: SearchResponse | None
    error: str
    latency_s: float
    at_s: float


@dataclass
class Weather:
    """Latency and faults, drawn from one seed."""

    rnd: random.Random
    engines: FakeEngines
    outage: tuple[str, float, float]
    answers: Counter[str] = field(default_factory=Counter)

    async def delay(self, request: httpx2.Request) -> None:
        name = next(name for name in ADAPTERS if request.url.raw_path.decode().startswith("/" + name))
        deep = b'"advanced"' in request.content
        latency = MEDIAN_S[name] * (1.6 if deep else 1.0) * self.rnd.lognormvariate(0, 0.45)
        draw, now = self.rnd.random(), SimulatedClock().monotonic_s()
        down, start, end = self.outage
        if name == down and start <= now < end:
            await anyio.sleep(0.05)
            raise httpx2.ConnectError("refused")
        await anyio.sleep(30.0 if draw < 0.005 else latency)
        if 0.005 <= draw < 0.015:
            raise httpx2.ReadError("reset")
        for share, trouble in ((0.040, "outage"), (0.050, "truncated"), (0.060, "rate_limited")):
            if 0.015 <= draw < share:
                self.engines.script[name].append(trouble)
                return


def pages_for(text: str, count: int) -> Sequence[FakePage]:
    """Pages of the day about the words of the query, so that rules of relevance and time have something to judge."""
    words, day = text.split(), START.date().isoformat()
    return [
        FakePage(f"https://site{n}.example/{'-'.join(words)[:80]}", " ".join(words), f"{text}: page {n} says how.", day)
        for n in range(count)
    ]


@dataclass
class PeerAnswer:
    """What a peer sends back."""

    status: int
    body: bytes


class Sharer:
    """What `pincite share serve` does for answers: whoever has the key of one gets it signed, where terms allow it."""

    def __init__(self, cache: MemoryCache, clock: SimulatedClock, seed: int) -> None:
        self._answers = AnswerStore(cache, clock)
        self._clock = clock
        self.signer = Signer(bytes([seed]) * 32)
        self.asked = 0

    async def get(self, url: ParsedUrl, *, headers: Mapping[str, str], max_bytes: int) -> PeerAnswer:
        self.asked += 1
        await self._clock.sleep(PEER_S)
        kind, key = url.target.split("/")[-2:]
        assert kind == Kind.ANSWER
        stored = await self._answers.stored(key, TEAM)
        item = item_of_stored(key, stored, dict.fromkeys(ADAPTERS, CONTRACT), self._clock.now()) if stored else None
        return PeerAnswer(404, b"") if item is None else PeerAnswer(200, self.signer.sealed(item)[:max_bytes])


def intake(other: Sharer, clock: SimulatedClock, names: Sequence[str]) -> AnswerIntake:
    """What an installation takes from the other one."""
    peer = peer_of("other", f"https://other.example {other.signer.public}")
    return AnswerIntake(
        Peers([(peer, other.get)], clock, timeout_s=2.0),
        clock,
        policy=UrlPolicy(),
        engines=frozenset(names),
        contracts=dict.fromkeys(names, CONTRACT),
    )


async def serve(
    queries: list[dict[str, Any]], kind: str, names: Sequence[str], depth: Depth | None, places: int = 1
) -> dict[str, Any]:
    """The figures of one run. `places`: how many installations the users are of, by their number."""
    clock = SimulatedClock()
    engines = FakeEngines(find=pages_for, now_s=clock.monotonic_s, limits=dict(LIMITS))
    length_s = queries[-1]["t_s"]
    weather = Weather(random.Random(7), engines, ("tavily", length_s * 0.4, length_s * 0.4 + 1800))
    around = Surroundings(clock, transport=EngineTransport(engines, weather.delay))
    day_s = length_s / (DAYS * len(queries) / 10_000)
    options = SearchOptions(
        hedge_after_s=1.5,
        pace_usd_per_month=(PACE / places * 86_400 / Decimal(day_s)) if depth is None else None,
        pace_burst_days=day_s / 86_400,
        terms={} if kind == "private" else dict.fromkeys(names, CONTRACT),
    )
    caches = [MemoryCache(clock) for _ in range(places)]
    sharers = [Sharer(cache, clock, n + 1) for n, cache in enumerate(caches)]
    services = [
        SearchService(
            [
                ADAPTERS[name](ApiSettings(engines.base_url(name, "http://engines.test"), api_key="k"), around)
                for name in names
            ],
            clock=clock,
            cache=cache,
            answers=intake(sharers[1 - n], clock, names) if kind == "peers" else None,
            options=options,
        )
        for n, cache in enumerate(caches)
    ]
    outcomes: list[Outcome] = []

    async def one(asked: dict[str, Any]) -> None:
        start = clock.monotonic_s()
        scopes = Scopes(asked["user"], shared=None if kind == "private" else "team")
        priority = BATCH if asked["lane"] == "batch" else INTERACTIVE
        response, error = None, ""
        service = services[int(asked["user"][1:]) % places]
        try:
            response = await service.search(Query(asked["query"], depth=depth), priority=priority, scopes=scopes)
        except PinciteError as failure:
            error = failure.code
        outcomes.append(Outcome(asked, response, error, clock.monotonic_s() - start, start))

    cpu = time.process_time()
    async with AsyncExitStack() as stack:
        for service in services:
            await stack.enter_async_context(service)
        async with anyio.create_task_group() as tasks:
            for asked in queries:
                await clock.sleep(asked["t_s"] - clock.monotonic_s())
                tasks.start_soon(one, asked)
    cpu_s = time.process_time() - cpu
    label = f"{kind}, {places} installations" if places > 1 else kind
    counts = CacheCounts(
        *(sum(parts) for parts in zip(*(astuple(service.counts) for service in services), strict=True))
    )
    asked_peers = sum(sharer.asked for sharer in sharers)
    return {**figures(label, names, outcomes, counts, engines, cpu_s), "questions_to_peers": asked_peers}


def figures(
    kind: str,
    names: Sequence[str],
    outcomes: list[Outcome],
    counts: CacheCounts,
    engines: FakeEngines,
    cpu_s: float,
) -> dict[str, Any]:
    count = len(outcomes)
    answered = [(o, o.response) for o in outcomes if o.response is not None]
    usable = [o for o, response in answered if response.results and age_s(o) <= o.asked["freshness_s"]]
    latencies = sorted(o.latency_s for o, _ in answered)
    uncached = sorted(o.latency_s for o, response in answered if response.info.cache == "miss")
    attempts = [a for _, response in answered if response.info.cache == "miss" for a in response.info.providers_tried]
    paid = [a for a in attempts if a.cost_usd > 0]
    to_month = Decimal(30_000) / count
    month = {name: sum((a.cost_usd for a in paid if a.provider == name), Decimal(0)) * to_month for name in names}
    free = {name: price.free_usd_per_month for name in names if (price := CATALOGUE[name].price)}
    return {
        "run": f"{'+'.join(names)}, {kind}",
        "queries": count,
        "usable_answers": round(len(usable) / count, 5),
        "errors": dict(Counter(o.error for o in outcomes if o.error)),
        "lost_to_rate_limits": sum(o.error == "RATE_LIMITED" for o in outcomes),
        "older_than_asked": sum(age_s(o) > o.asked["freshness_s"] for o, _ in answered),
        "p50_s": round(quantile(latencies, 0.5), 3),
        "p95_s": round(quantile(latencies, 0.95), 3),
        "p99_s": round(quantile(latencies, 0.99), 3),
        "p95_of_uncached_s": round(quantile(uncached, 0.95), 3),
        "hit_rate": round((counts.hit + counts.coalesced) / count, 4),
        "most_any_cache_could_hit": round(ceiling([o.asked for o in outcomes], kind) / count, 4),
        "from_a_peer": round(counts.shared / count, 4),
        "without_an_engine": round((counts.hit + counts.coalesced + counts.shared) / count, 4),
        "near_hits": counts.near,
        "coalesced": counts.coalesced,
        "stale": counts.stale,
        "calls": len(attempts),
        "paid_calls": len(paid),
        "paid_calls_saved": round(1 - len(paid) / count, 4),
        "paid_by_engine": dict(Counter(a.provider for a in paid)),
        "usd_a_month_at_1000_a_day": round(float(sum(month.values())), 2),
        "usd_a_month_after_free_credit": round(
            float(sum(max(month[n] - free.get(n, 0), Decimal(0)) for n in names)), 2
        ),
        "limit_violations_at_engines": sum(engines.violations.values()),
        "requests_seen_by_engines": len(engines.calls),
        "cpu_ms_a_query_with_fakes": round(cpu_s * 1000 / count, 2),
    }


def ceiling(asked: Sequence[dict[str, Any]], kind: str) -> int:
    """How many queries ask what somebody of the same scope asked before, in any wording, and not too long ago."""
    first: dict[tuple[str, frozenset[str]], float] = {}
    found = 0
    for one in sorted(asked, key=lambda one: one["t_s"]):
        key = (one["user"] if kind == "private" else "team", subject_of(one))
        if key in first and one["t_s"] - first[key] <= one["freshness_s"]:
            found += 1
        else:
            first[key] = one["t_s"]
    return found


def subject_of(asked: Mapping[str, Any]) -> frozenset[str]:
    """What a query is about, in any wording."""
    return frozenset(re.findall(r"[a-z0-9.]+", asked["query"].lower())) - FORMS


def with_askers(queries: Sequence[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """The queries, each subject asked by so many of the people."""
    people, drawn = sorted({asked["user"] for asked in queries}), random.Random(3)

    def one(asked: dict[str, Any]) -> dict[str, Any]:
        of_subject = random.Random(" ".join(sorted(subject_of(asked))))
        return {**asked, "user": drawn.choice(of_subject.sample(people, count))}

    return [one(asked) for asked in queries]


def age_s(outcome: Outcome) -> float:
    """How old the answer was when it was given."""
    if outcome.response is None or outcome.response.info.fetched_at is None:
        return 0.0
    given = START + timedelta(seconds=outcome.at_s + outcome.latency_s)
    return max((given - outcome.response.info.fetched_at).total_seconds(), 0.0)


def quantile(ordered: Sequence[float], share: float) -> float:
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)] if ordered else 0.0


async def failover_for_real(times: int = 200) -> dict[str, Any]:
    """Milliseconds that the switch to the next engine costs beyond the failing call, over loopback sockets."""
    engines = FakeEngines(find=pages_for)
    switches = []
    with EngineServer(engines) as server:
        around = Surroundings(SystemClock())
        first = Tavily(ApiSettings(engines.base_url("tavily", server.origin), api_key="k"), around)
        second = Serper(ApiSettings(engines.base_url("serper", server.origin), api_key="k"), around)
        for n in range(times):
            engines.modes["tavily"] = "outage"
            service = SearchService([first, second], options=SearchOptions(hedge_after_s=None))
            start = time.perf_counter()
            response = await service.search(Query(f"connection pool number {n}", depth=Depth.BASIC))
            total_ms = (time.perf_counter() - start) * 1000
            tried = response.info.providers_tried
            assert [attempt.outcome for attempt in tried] == ["search_provider_unavailable", "ok"]
            switches.append(total_ms - sum(attempt.latency_ms for attempt in tried))
        await first.aclose()
        await second.aclose()
    return {
        "p50_ms": round(statistics.median(switches), 2),
        "p99_ms": round(quantile(sorted(switches), 0.99), 2),
        "max_ms": round(max(switches), 2),
        "switches": times,
    }


class Instant:
    """An engine that answers at once, to see what the rest costs."""

    def __init__(self, name: str, texts: Sequence[str]) -> None:
        self.name = name
        self._made = {text: self._response(Query(text, max_results=10)) for text in texts}

    def _response(self, query: Query) -> SearchResponse:
        rows = [Row(page.title, page.url, page.text * 6) for page in pages_for(query.text, 10)]
        return build_response(self.name, query, rows, START)

    async def search(self, query: Query) -> SearchResponse:
        return self._made[query.text]


async def overhead(queries: list[dict[str, Any]]) -> dict[str, Any]:
    """CPU milliseconds a query of router, cache, filters and fusion, with engines that answer at once."""
    clock = SystemClock()
    texts = list(dict.fromkeys(" ".join(q["query"].split()) for q in queries))[:1000]
    engines = [Instant(name, texts) for name in ("tavily", "exa", "brave")]
    out = {}
    for label, sources in (("routed", ("auto",)), ("three_fused", ("tavily", "exa", "brave"))):
        service = SearchService(
            engines,
            clock=clock,
            limiter=MemoryLimiter(clock),  # the limits are not what is measured
            cache=MemoryCache(clock),
            options=SearchOptions(hedge_after_s=None),
        )
        await service.search(Query(texts[0]), sources=sources)
        for kind in ("miss", "hit"):
            start = time.process_time()
            for text in texts[1:]:
                await service.search(Query(text, max_results=10), sources=sources)
            out[f"{label}_{kind}_ms"] = round((time.process_time() - start) * 1000 / (len(texts) - 1), 3)
    return out


async def batched_for_real() -> dict[str, Any]:
    """HTTP requests for twelve planner queries to an engine that takes several at once, alone and batched."""
    engines = FakeEngines(find=pages_for)
    out = {}
    with EngineServer(engines) as server:
        settings = ApiSettings(engines.base_url("serper", server.origin), api_key="k")
        for label in ("one_by_one", "batched"):
            clock = SystemClock()
            serper = Serper(settings, Surroundings(clock))
            provider = Batched(serper, clock) if label == "batched" else serper
            async with SearchService([provider], options=SearchOptions(hedge_after_s=None)) as service:
                before = len(engines.calls)
                async with anyio.create_task_group() as tasks:
                    for n in range(12):
                        tasks.start_soon(service.search, Query(f"planner question {n} of twelve"))
                out[f"{label}_requests"] = len(engines.calls) - before
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("queries", type=Path)
    parser.add_argument("--limit", type=int)
    parser.add_argument(
        "--askers", type=int, metavar="K", help="people who ask about each subject; else all, at random"
    )
    parser.add_argument("--only", metavar="WORDS", help="only the runs whose title has these words")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    queries = [json.loads(line) for line in arguments.queries.read_text().splitlines()][: arguments.limit]
    if arguments.askers:
        queries = with_askers(queries, arguments.askers)
    every = tuple(ADAPTERS)
    report: dict[str, Any] = {}
    plans: tuple[tuple[str, str, Sequence[str], Depth | None, int], ...] = (
        ("routed default, team scope", "team", every, None, 1),
        ("routed default, unknown terms", "private", every, None, 1),
        ("the team in two installations", "team", every, None, 2),
        ("the same two as peers", "peers", every, None, 2),
        ("Tavily only, basic", "team", ("tavily",), Depth.BASIC, 1),
        ("Tavily only, advanced", "team", ("tavily",), Depth.ADVANCED, 1),
    )
    for title, kind, names, depth, places in plans:
        if arguments.only and arguments.only not in title:
            continue
        report[title] = run(partial(serve, queries, kind, names, depth, places))
        print(f"\n== {title}", *(f"{name:32} {value}" for name, value in report[title].items()), sep="\n")
    if arguments.only:
        return
    report["failover over sockets"] = anyio.run(failover_for_real)
    report["cpu overhead"] = anyio.run(overhead, queries)
    report["twelve planner queries"] = anyio.run(batched_for_real)
    for title in ("failover over sockets", "cpu overhead", "twelve planner queries"):
        print(f"\n== {title}", *(f"{name:32} {value}" for name, value in report[title].items()), sep="\n")
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
