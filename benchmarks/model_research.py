"""Research with models that are none: how many lies get through, what is lost, what a run costs and how long it takes.

    python benchmarks/model_research.py lies QUESTIONS.jsonl --library PATH --work DIR [--questions 10] [--defects a,b]
    python benchmarks/model_research.py lies QUESTIONS.jsonl --sites DIR --config public.json --work DIR
    python benchmarks/model_research.py speed QUESTIONS.jsonl --library PATH --work DIR [--runs 5] [--firsts 100]

`lies` runs LyingModel with every kind of defect and FaithfulModel over the questions; searches and pages of a question
are asked once. Counts of each run are kept in DIR/lies.jsonl: the same command goes on after them, with `--seconds 120`
for so long, and the table is of all that is there. `--about A,B` takes the questions about each in turn.
`speed` runs an engine with a database; a model takes 1 s, a page 0.3 s, every twentieth page 8 s.
The injection cases are in benchmarks/model_injection.py.
"""

import argparse
import json
import resource
import statistics
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import anyio
import beside_tests  # noqa: F401  # its import is its effect
from questions import library_of
from tests.fakes.models import DEFECTS, LyingModel, leaks
from tests.fakes.small_web import ListEvents, ListLedger, MemoryStores

from pincite.domain.events import Event, EventType, Json
from pincite.domain.fetch import FetchRequest, FetchResult
from pincite.domain.plan import Task
from pincite.domain.report import Report
from pincite.engine import Engine
from pincite.ports import Fetch, LanguageModel
from pincite.research.model.markup import composed_of
from pincite.research.service import ResearchService
from pincite.research.state import Limits
from pincite.runtime.system import SystemClock
from pincite.settings import Settings, load_settings
from pincite.testing.models import FaithfulModel, Seen
from pincite.text.tokens import terms
from pincite.wiring.parts import Parts, open_parts
from pincite.wiring.roles import Run, build_roles
from pincite.wiring.sources import resolve_sources

HONEST = "honest"
MODEL_S, PAGE_S, SLOW_PAGE_S, SLOW_EVERY = 1.0, 0.3, 8.0, 20


class Notebook(FaithfulModel):
    """A faithful model that keeps what it wrote."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.sentences: list[str] = []

    def compose(self, seen: Seen) -> Any:
        made = super().compose(seen)
        read = composed_of(str(made))
        said = [*read.answer, *(one for section in read.sections for block in section.blocks for one in block.items)]
        self.sentences += [one.text for one in said]
        return made


class Keeping:
    """Pages are kept, so that they come from the record the next time."""

    def __init__(self, inner: Fetch, stores: MemoryStores) -> None:
        self._inner, self._stores = inner, stores

    async def fetch(self, request: FetchRequest) -> FetchResult:
        return await self._stores.keep(await self._inner.fetch(request))


@dataclass
class Question:
    """A question with what its searches and pages gave."""

    text: str
    settings: Settings
    parts: Parts
    record: dict[str, Json] = field(default_factory=dict)
    stores: MemoryStores = field(default_factory=MemoryStores)

    async def ask(self, model: LanguageModel) -> Report:
        events, clock = ListEvents(), SystemClock()
        ledger = ListLedger(self.settings.budget, record=dict(self.record))
        fetch = Keeping(await self.parts.fetch(), self.stores)
        limits, stores = Limits(budget=self.settings.budget), self.stores
        run = Run(await self.parts.search(), fetch, stores.snapshots, stores.documents, ledger, events, clock, limits)
        service = ResearchService(
            build_roles(self.settings, run, model),
            ledger=ledger,
            events=events,
            clock=clock,
            limits=limits,
            run_id="run_benchmark",
        )
        report = await service.run(Task(self.text))
        self.record.update({key: value for key, value in ledger.record.items() if not key.startswith("model")})
        return report


def bare(text: str) -> frozenset[str]:
    return frozenset(terms(text))


def told(text: str, report: Report) -> bool:
    """Whether the report has the sentence, or one of nearly the same words."""
    mine = bare(text)
    return any(
        mine <= (other := bare(sentence.text)) or len(mine & other) >= 0.9 * len(mine | other)
        for sentence in report.sentences()
    )


async def lies(arguments: argparse.Namespace, questions: list[str]) -> None:
    settings = settings_of(arguments)
    kinds = arguments.defects.split(",") if arguments.defects else list(DEFECTS)
    kept = arguments.work / "lies.jsonl"
    rows = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    done = {(row["question"], row["kind"]) for row in rows}
    ends_at = time.monotonic() + arguments.seconds
    beside = anyio.CapacityLimiter(4)
    async with open_parts(settings) as parts:
        for text in questions:
            question = Question(text, settings, parts)

            async def one(kind: str, question: Question = question) -> None:
                if (question.text, kind) in done or time.monotonic() > ends_at:
                    return
                rows.append(await (honestly(question) if kind == HONEST else lied_to(question, kind)))
                with kept.open("a") as file:
                    file.write(json.dumps(rows[-1], ensure_ascii=False) + "\n")

            async def limited(kind: str, one: Callable[[str], Awaitable[None]] = one) -> None:
                async with beside:
                    await one(kind)

            await one(HONEST)
            async with anyio.create_task_group() as group:
                for kind in kinds:
                    group.start_soon(limited, kind)
    tell_lies([row for row in rows if row["question"] in questions], kinds)


async def honestly(question: Question) -> dict[str, Any]:
    """Counts of a run with the faithful model."""
    honest = Notebook()
    report = await question.ask(honest)
    untold = [sentence for sentence in honest.sentences if not told(sentence, report)]
    counts = {
        "sentences": len(honest.sentences),
        "sentences told": len(honest.sentences) - len(untold),
        "verified": report.metrics.claims_total,
        "tokens": report.metrics.tokens_in + report.metrics.tokens_out,
        "calls": len(honest.seen),
        "twice": twice(honest.seen),
    }
    row = {"question": question.text, "kind": HONEST, "counts": counts}
    return {**row, "untold": untold}


async def lied_to(question: Question, kind: str) -> dict[str, Any]:
    """What was planted of one kind in a run, and what of it was printed."""
    liar = LyingModel(kind)
    report = await question.ask(liar)
    leaked = [item.text for item in leaks(report, liar.planted)]
    for text in leaked[:2]:
        print(f"  leak {kind}: {text[:200]}", file=sys.stderr)
    planted = len({item.text for item in liar.planted})
    return {"question": question.text, "kind": kind, "planted": planted, "leaked": leaked}


def tell_lies(rows: list[dict[str, Any]], kinds: list[str]) -> None:
    counts: Counter[str] = Counter()
    planted: Counter[str] = Counter()
    leaked: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    for row in rows:
        asked[row["kind"]] += 1
        counts.update(row.get("counts", {}))
        planted[row["kind"]] += row.get("planted", 0)
        leaked[row["kind"]] += len(row.get("leaked", ()))
    decidable = [kind for kind in kinds if DEFECTS[kind].decidable]
    print(f"questions {asked[HONEST]}, kinds of defects {len(kinds)}, of which code decides {len(decidable)}")
    for kind in kinds:
        hard = "" if DEFECTS[kind].decidable else "  (not decidable for sure)"
        print(f"  {kind:<26} {asked[kind]:>3} questions, planted {planted[kind]:>4}, printed {leaked[kind]:>3}{hard}")
    lies_told = sum(planted[kind] for kind in decidable)
    print(f"decidable kinds printed: {sum(leaked[kind] for kind in decidable)} of {lies_told} (aim 0)")
    rest = [kind for kind in kinds if kind not in decidable]
    hard_told = sum(planted[kind] for kind in rest)
    print(f"swaps, hedges, quantifiers printed: {sum(leaked[kind] for kind in rest)} of {hard_told}")
    print(f"true sentences told: {ratio(counts, 'sentences told', 'sentences')} (aim 0.95)")
    print(f"model tokens per verified claim: {ratio(counts, 'tokens', 'verified')}")
    print(f"calls per report {counts['calls'] / max(asked[HONEST], 1):.1f}")
    print(f"lines sent twice to the writer: {counts['twice']} (aim 0)")


def ratio(counts: Counter[str], some: str, whole: str) -> str:
    return f"{counts[some]} of {counts[whole]} = {counts[some] / max(counts[whole], 1):.3f}"


def twice(seen: list[Seen]) -> int:
    sent = Counter(name for item in seen if item.task == "compose" for name in item.citable)
    return sum(count - 1 for count in sent.values())


# ---- speed ----


class Waits:
    """Moments at which something outside was waited for."""

    def __init__(self) -> None:
        self.spans: list[tuple[float, float]] = []

    async def sleep(self, seconds: float) -> None:
        begin = time.perf_counter()
        await anyio.sleep(seconds)
        self.spans.append((begin, time.perf_counter()))

    def total_s(self) -> float:
        """Seconds in which at least one wait was going on."""
        total, end = 0.0, 0.0
        for begin, finish in sorted(self.spans):
            total += max(finish - max(begin, end), 0.0)
            end = max(end, finish)
        return total


class SlowModel(FaithfulModel):
    def __init__(self, waits: Waits) -> None:
        super().__init__(latency_s=MODEL_S)
        self._waits = waits

    async def _wait(self) -> None:
        await self._waits.sleep(MODEL_S)


class SlowFetch:
    """Pages take a while; every twentieth takes long."""

    def __init__(self, inner: Fetch, waits: Waits, *, slow: bool) -> None:
        self._inner, self._waits, self._slow, self._count = inner, waits, slow, 0

    async def fetch(self, request: FetchRequest) -> FetchResult:
        self._count += 1
        late = self._slow and self._count % SLOW_EVERY == 0
        await self._waits.sleep(SLOW_PAGE_S if late else PAGE_S)
        return await self._inner.fetch(request)


async def with_engine(
    settings: Settings, job: Callable[[Engine, Waits], Awaitable[None]], *, slow: bool = False
) -> None:
    waits = Waits()
    async with Engine(settings, model=SlowModel(waits)) as engine:
        parts = engine._parts
        libraries = resolve_sources(settings).libraries
        parts._fetches[libraries] = cast("Any", SlowFetch(await parts._fetch(libraries), waits, slow=slow))
        await job(engine, waits)


async def speed(arguments: argparse.Namespace, questions: list[str]) -> None:
    settings = settings_of(arguments)

    async def whole(engine: Engine, waits: Waits) -> None:
        await engine.research(questions[0])
        seconds, shares, busy, rounds = [], [], [], []
        for number in range(arguments.runs):
            waits.spans.clear()
            begin, cpu = time.perf_counter(), time.process_time()
            report = await engine.research(questions[number % len(questions)])
            seconds.append(time.perf_counter() - begin)
            cpu = time.process_time() - cpu
            shares.append(1 - waits.total_s() / seconds[-1])
            busy.append(cpu / (cpu + waits.total_s()))
            rounds.append(report.metrics.pages_fetched)
        times = f"median {statistics.median(seconds):.1f} s, p95 {p95(seconds):.1f} s, most {max(seconds):.1f} s"
        print(f"  {len(seconds)} runs of {statistics.median(rounds):.0f} pages: {times}")
        print(
            f"  not waiting: median {statistics.median(shares):.1%} of a run's time on this machine as busy as it was"
        )
        print(
            f"  own CPU time: median {statistics.median(busy):.1%}, most {max(busy):.1%} of CPU and waiting (aim 10%)"
        )

    async def firsts(engine: Engine, waits: Waits) -> None:
        turns = [questions[number % len(questions)] for number in range(arguments.firsts + 1)]
        found = [await first_output_s(engine, text) for text in turns][1:]
        times = f"median {statistics.median(found):.2f} s, p95 {p95(found):.2f} s (aim 1.5)"
        print(f"first visible output, {len(found)} warm runs: {times}")

    print(f"standard profile, model {MODEL_S:g} s, page {PAGE_S:g} s:")
    await with_engine(settings, whole)
    print(f"the same with every {SLOW_EVERY}th page taking {SLOW_PAGE_S:g} s:")
    await with_engine(settings, whole, slow=True)
    await with_engine(settings, firsts)
    print(f"memory at its peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB (aim 500)")


async def first_output_s(engine: Engine, question: str) -> float:
    """Seconds until the first event that says something; the run is cancelled then."""
    begin, found = time.perf_counter(), 0.0
    with anyio.CancelScope() as scope:

        def see(event: Event) -> None:
            nonlocal found
            if event.type not in (EventType.RUN_STARTED, EventType.MODEL_ANSWERED) and not found:
                found = time.perf_counter() - begin
                scope.cancel()

        await engine.research(question, on_event=see)
    return found


def p95(values: list[float]) -> float:
    return sorted(values)[min(round(0.95 * len(values)), len(values) - 1)]


def settings_of(arguments: argparse.Namespace) -> Settings:
    library = arguments.library or library_of(arguments.sites, arguments.config, arguments.work)
    given = {"home": arguments.work / "home", "source": (f"local:{library}",), "profile": arguments.profile}
    return load_settings(given, environ={}, files=())


def spread(groups: list[list[str]], wanted: int) -> list[str]:
    """So many questions, the same number of each group as far as it goes, spread over the group."""
    each = -(-wanted // len(groups))
    picked = [group[:: max(len(group) // each, 1)][:each] for group in groups]
    return [group[turn] for turn in range(each) for group in picked if turn < len(group)][:wanted]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["lies", "speed"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--library", type=Path)
    parser.add_argument("--sites", type=Path)
    parser.add_argument("--config", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=10)
    parser.add_argument(
        "--about", default="", help="only questions whose facts are on pages with one of these in the path"
    )
    parser.add_argument("--seconds", type=float, default=100_000.0, help="lies: begin no further run after so many")
    parser.add_argument("--defects", default="")
    parser.add_argument("--profile", default="standard")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--firsts", type=int, default=100)
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    rows = [json.loads(line) for line in arguments.file.read_text(encoding="utf-8").splitlines() if line.strip()]
    groups = [
        [row["question"] for row in rows if row["facts"] and all(about in fact["page"] for fact in row["facts"])]
        for about in arguments.about.split(",")
    ]
    chosen = spread(groups, arguments.questions)
    anyio.run({"lies": lies, "speed": speed}[arguments.what], arguments, chosen)


if __name__ == "__main__":
    main()
