"""search_quality.py MINIWEB QUESTIONS.jsonl SITES [--json FILE]: what the results are worth, on a closed web.

MINIWEB is the folder of the loopback web (serve.py, public.json), SITES the folder with the unpacked sites, QUESTIONS
lines hold `question`, `kind` and `facts` with the `url` of the page that answers. The pages of the other sites are
the distractors: a result is relevant when it is on a site that the question is about. Queries are the questions
as they stand; five results are asked for.

relevant          share of the results shown that are on the question's site
irrelevant_top5   share of the first five that are not
usable            questions with a relevant result
answer_page_top5  questions with the very page that holds the answer among the first five
misses_resolved   questions that the caller's own retrieval could not answer (a store without the answering pages,
                  confidence 0.3, so the gate opens) for which the answer page then is among the results
Then the same routed while engines fail (20 % 5xx, 10 % 429, 10 % empty, 5 % garbage), and dated queries over the
shipped fakes: 60 subjects with a page of last week among pages of earlier years.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import beside_tests  # noqa: F401  # its import is its effect
from tests.fakes.engines import EngineServer, FakeEngines, FakePage
from tests.fakes.engines.pages import best_pages

from pincite.apis import ApiSettings
from pincite.domain.errors import PinciteError
from pincite.domain.search import Constraints, Query
from pincite.runtime.limiter import MemoryLimiter
from pincite.runtime.system import SystemClock
from pincite.search.intent import RetrievalContext, gate
from pincite.search.provider import ApiProvider, Surroundings
from pincite.search.providers.brave import Brave
from pincite.search.providers.duckduckgo import DuckDuckGo
from pincite.search.providers.exa import Exa
from pincite.search.providers.firecrawl import Firecrawl
from pincite.search.providers.jina import Jina
from pincite.search.providers.searxng import SearXng
from pincite.search.providers.serper import Serper
from pincite.search.providers.tavily import Tavily
from pincite.search.service import SearchOptions, SearchService
from pincite.urls import UrlPolicy

PORT = 8080
ENGINES: dict[str, tuple[Callable[..., ApiProvider], str]] = {
    "tavily": (Tavily, "/tavily"),
    "exa": (Exa, "/exa"),
    "brave": (Brave, "/brave/res/v1"),
    "serper": (Serper, "/serper"),
    "searxng": (SearXng, ""),
}
OTHERS: dict[str, Callable[..., ApiProvider]] = {"duckduckgo": DuckDuckGo, "firecrawl": Firecrawl, "jina": Jina}
FAULTS = {name: {"rate_5xx": 0.2, "rate_429": 0.1, "rate_empty": 0.1, "rate_garbage": 0.05} for name in ENGINES}
TODAY = datetime.now(UTC).date()


@dataclass
class Tally:
    shown: int = 0
    relevant: int = 0
    questions: int = 0
    usable: int = 0
    answered: int = 0
    failed: int = 0

    def figures(self) -> dict[str, Any]:
        return {
            "questions": self.questions,
            "relevant": round(self.relevant / max(self.shown, 1), 3),
            "irrelevant_top5": round(1 - self.relevant / max(self.shown, 1), 3),
            "usable": round(self.usable / self.questions, 3),
            "answer_page_top5": round(self.answered / self.questions, 3),
            "results_a_query": round(self.shown / self.questions, 2),
            "failed": self.failed,
        }


def service(origin: str) -> SearchService:
    clock = SystemClock()
    around = Surroundings(clock, policy=UrlPolicy(ports=frozenset({PORT})))
    providers: list[ApiProvider] = [
        adapter(ApiSettings(origin + path, api_key="k"), around) for adapter, path in ENGINES.values()
    ]
    return SearchService(providers, clock=clock, limiter=MemoryLimiter(clock), options=SearchOptions(hedge_after_s=1.0))


async def ask(origin: str, rows: Sequence[dict[str, Any]], sources: tuple[str, ...], *, gated: bool = False) -> Tally:
    """The tally of all questions; with `gated` only after the gate said that the web is needed."""
    tally = Tally()
    async with service(origin) as search:
        for row in rows:
            query = Query(row["question"])
            tally.questions += 1
            if gated and not gate(query, RetrievalContext(0.3)).needs_web:
                continue
            try:
                response = await search.search(query, sources=sources)
            except PinciteError:
                tally.failed += 1
                continue
            pages = [urlsplit(fact["url"]) for fact in row["facts"]]
            hits = [urlsplit(hit.url) for hit in response.results[:5]]
            on_site = sum(any(hit.hostname == page.hostname for page in pages) for hit in hits)
            tally.shown += len(hits)
            tally.relevant += on_site
            tally.usable += on_site > 0
            tally.answered += any((h.hostname, h.path) == (p.hostname, p.path) for h in hits for p in pages)
    return tally


def dated_pages() -> list[FakePage]:
    """For each subject a page of last week behind pages of earlier years with the same words."""
    fresh = (TODAY - timedelta(days=5)).isoformat()
    pages = []
    for n in range(60):
        text = f"The project{n} release announcement, still popular."
        pages += [
            FakePage(f"https://old{year}.example/p{n}", f"Project{n} release {year}", text, f"{year}-05-02")
            for year in range(2018, 2025)
        ]
        pages.append(FakePage(f"https://new.example/p{n}", f"Project{n} release", text, fresh))
    return pages


TIMELY = ("latest {}", "{} today", "current {}", f"{{}} {TODAY.year}", "newest {}", "{} this week")


async def dated(*, since_set: bool) -> dict[str, Any]:
    """Share of queries that show a page of last week among the first five, by engine and fused.

    With `since_set` the caller gives the date; else only the query's own words ask for what is new.
    """
    pages = dated_pages()
    engines = FakeEngines(find=lambda text, count: best_pages(pages, text, count))
    since = date.fromordinal(TODAY.toordinal() - 30)
    out = {}
    with EngineServer(engines) as server:
        clock = SystemClock()
        made = [
            adapter(ApiSettings(engines.base_url(name, server.origin), api_key="k"), Surroundings(clock))
            for name, adapter in {**{name: adapter for name, (adapter, _) in ENGINES.items()}, **OTHERS}.items()
        ]
        options = SearchOptions(hedge_after_s=None, max_results=10)
        async with SearchService(made, clock=clock, limiter=MemoryLimiter(clock), options=options) as search:
            for sources in [(provider.name,) for provider in made] + [("tavily", "exa", "brave")]:
                fresh = 0
                for n in range(60):
                    text = f"project{n} release announcement"
                    wanted = Query(text, max_results=10, constraints=Constraints(since=since))
                    if not since_set:
                        wanted = Query(TIMELY[n % len(TIMELY)].format(text))
                    response = await search.search(wanted, sources=sources)
                    fresh += any("new.example" in hit.url for hit in response.results[:5])
                out["+".join(sources)] = round(fresh / 60, 3)
    return out


def started(miniweb: Path, sites: Path, folder: Path) -> subprocess.Popen[bytes]:
    config = json.loads((miniweb / "public.json").read_text())
    config |= {"port": PORT, "cache_db": str(folder / "web.db"), "log": str(folder / "log.jsonl")}
    (folder / "config.json").write_text(json.dumps(config))
    process = subprocess.Popen(
        [sys.executable, str(miniweb / "serve.py"), "run", str(folder / "config.json")],
        env={**os.environ, "SITES": str(sites)}, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    for _ in range(300):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{PORT}/_ctl/health", timeout=1).close()
            return process
        except OSError:
            time.sleep(0.5)
    raise SystemExit("the mini web did not start")


def set_faults(faults: dict[str, Any]) -> None:
    body = json.dumps(faults).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{PORT}/_ctl/faults", data=body, method="PUT")
    urllib.request.urlopen(request, timeout=5).close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("miniweb", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("sites", type=Path)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = [row for line in arguments.questions.read_text().splitlines() if (row := json.loads(line))["facts"]]
    origin = f"http://127.0.0.1:{PORT}"
    report: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        process = started(arguments.miniweb, arguments.sites, Path(folder))
        try:
            for sources in [(name,) for name in ENGINES] + [("auto",), tuple(ENGINES)]:
                report["+".join(sources)] = anyio.run(ask, origin, rows, sources).figures()
            gated = anyio.run(lambda: ask(origin, rows, ("auto",), gated=True))
            report["misses_resolved"] = round(gated.answered / gated.questions, 3)
            set_faults(FAULTS)
            report["auto, engines failing"] = anyio.run(ask, origin, rows, ("auto",)).figures()
        finally:
            process.terminate()
            process.wait(timeout=10)
    report["fresh_for_dated_queries"] = anyio.run(partial(dated, since_set=True))
    report["fresh_for_words_of_time"] = anyio.run(partial(dated, since_set=False))
    for name, value in report.items():
        print(f"{name:42} {value}")
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
