"""What each rule of research without a model is worth: the same questions with one rule after the other left out.

    python benchmarks/ablation.py QUESTIONS.jsonl... --sites DIR --config public.json --work DIR [--embeddings minilm]
        [--rules NAME,NAME] [--only SITE,SITE] [--fitted SITE,SITE]

Takes what `benchmarks/natural.py` takes, and counts facts printed, those in the first 120 words, answerable questions
refused and unanswerable ones seen, for the sites that anything was chosen on and for the others. Rankings and pages are
kept between the variants of a question, so that a rule costs little more than laying out the report again.
"""

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, cast
from unittest.mock import patch

import anyio
from natural import FIRST_WORDS, options, printed, rows_of
from questions import ask, library_of, settings_of

from pincite.domain.fetch import FetchRequest
from pincite.domain.plan import SubQuestion
from pincite.domain.report import Report, ReportStatus
from pincite.domain.search import Query
from pincite.ports import Fetch, Search
from pincite.ranking.ranker import PassageRanker, Ranking, Source
from pincite.research import reader
from pincite.research.extractive import analyst, excerpts, parts, planner, writer
from pincite.text.similarity import cluster
from pincite.wiring.parts import Parts, open_parts

NEVER = re.compile(r"(?!)")
Patches = tuple[tuple[object, str, object], ...]


def nothing(*_: object, **__: object) -> tuple[()]:
    return ()


def own_ranking(_: str, own: Ranking, __: Ranking) -> tuple[Ranking, bool]:
    return own, False


def likelihood_alone(passage: Any, _: object) -> float:
    return float(passage.likelihood)


def only_question(text: str) -> tuple[SubQuestion, ...]:
    return (SubQuestion("1", " ".join(text.split())),)


RULES: dict[str, Patches] = {
    "parts: a question is cut into parts": ((planner, "split_question", only_question),),
    "parts: items after a colon": ((parts, "_enumeration", nothing),),
    "parts: two questions joined by and": ((parts, "_joined", nothing),),
    "parts: sides of a comparison": ((parts, "_pair", nothing),),
    "parts: a request is no part of what is asked": ((planner, "asked_for", str),),
    "parts: what points back keeps the first question": ((parts, "_context", lambda *_: ""),),
    "planner: bare words in a second round": ((planner, "_bare", lambda _: ""),),
    "planner: words in quotes": ((planner, "_exact", nothing),),
    "planner: other names in a second round": ((planner, "other_form", lambda *_: ""),),
    "comparisons: entries of sides": ((analyst, "of_side", own_ranking),),
    "analyst: names of code that are missing": ((analyst, "_missing", nothing),),
    "analyst: marginal relevance": ((analyst, "_worth", likelihood_alone),),
    "analyst: four passages of a page": ((analyst, "_PER_PAGE", 99),),
    "analyst: weak passages left out": ((analyst, "_WEAK", 0.0),),
    "analyst: short answer near its best": ((analyst, "_NEAR_THE_NEAREST", 0.0),),
    "excerpts: pointing elsewhere": ((excerpts, "_ELSEWHERE", NEVER),),
    "excerpts: answering another question": ((excerpts, "_ANSWERING", NEVER),),
    "excerpts: one place after the other": ((analyst, "_by_place", list),),
    "excerpts: scraps are no sentences": ((excerpts, "_says_something", lambda text: bool(text.strip())),),
    "closing: conclusions": ((analyst, "conclusions_near", nothing),),
    "closing: section by section": ((analyst, "overview_of", nothing),),
    "closing: key numbers": ((analyst, "figures_near", nothing), (writer, "tells_figure", lambda *_: False)),
    "closing: limits": ((analyst, "limits_near", nothing),),
}


class Kept:
    """The parts of the program, with what searching and fetching gave for one question kept."""

    def __init__(self, parts: Parts, search: Search, fetch: Fetch) -> None:
        self.ranker = parts.ranker
        self.vocabularies = parts.vocabularies
        self._search = search
        self._fetch = fetch
        self._kept: dict[object, Any] = {}

    async def search(self, query: Query | None = None) -> Any:
        """The door of both services, or what is found."""
        if query is None:
            return self
        if query not in self._kept:
            self._kept[query] = await self._search.search(query)
        return self._kept[query]

    async def fetch(self, request: FetchRequest | None = None) -> Any:
        """That door again, or the page."""
        if request is None:
            return self
        if request not in self._kept:
            self._kept[request] = await self._fetch.fetch(request)
        return self._kept[request]


@contextmanager
def kept_rankings() -> Iterator[None]:
    """Rankings of one question, kept by what was asked of which pages, and which pages are alike."""
    kept: dict[object, Ranking] = {}
    rank = PassageRanker.rank

    def again(self: PassageRanker, question: str, sources: list[Source], **given: Any) -> Ranking:
        key = (question, tuple(source.url for source in sources), tuple(given["queries"]), given["survey"])
        if key not in kept:
            kept[key] = rank(self, question, sources, **given)
        return kept[key]

    alike = lru_cache(maxsize=64)(cluster)
    with patch.object(PassageRanker, "rank", again), patch.object(reader, "cluster", lambda texts: alike(tuple(texts))):
        yield


@contextmanager
def without(patches: Patches) -> Iterator[None]:
    """The program with these names replaced."""
    running = [patch.object(owner, name, new) for owner, name, new in patches]
    for each in running:
        each.start()
    try:
        yield
    finally:
        for each in running:
            each.stop()


@contextmanager
def watched(rules: list[str]) -> Iterator[set[str]]:
    """The rules that changed anything while this was open; of thresholds nobody can tell, so they always count."""
    fired: set[str] = set()

    def spy(rule: str, original: Callable[..., Any], new: Callable[..., Any]) -> Callable[..., Any]:
        def called(*given: Any, **named: Any) -> Any:
            result = original(*given, **named)
            result = tuple(result) if isinstance(result, Iterator) else result
            if new(*given, **named) != result:
                fired.add(rule)
            return result

        return called

    spies: list[tuple[object, str, object]] = []
    for rule in rules:
        for owner, name, new in RULES[rule]:
            if callable(new):
                spies.append((owner, name, spy(rule, getattr(owner, name), new)))
            else:
                fired.add(rule)
    with without(tuple(spies)):
        yield fired


def count(row: dict[str, Any], report: Report, counts: Counter[str]) -> dict[str, int]:
    """What one report adds, but for its words, which differ too often to be told."""
    refused = int(report.status is ReportStatus.INSUFFICIENT_EVIDENCE)
    added = {"seen": refused, "absent": 1}
    if row["answerable"]:
        added = {
            "questions": 1,
            "refused": refused,
            "facts": len(row["facts"]),
            "printed": sum(printed(fact, report, None) for fact in row["facts"]),
            "first": sum(printed(fact, report, FIRST_WORDS) for fact in row["facts"]),
        }
        counts["words"] += sum(len(sentence.text.split()) for sentence in report.sentences())
    counts.update(added)
    return added


def show(columns: dict[tuple[str, str], Counter[str]], groups: list[str], changes: Counter[str]) -> None:
    """A row for each rule: what changes when it is left out, and for how many questions it does anything."""
    print(
        "| left out | questions | "
        + " | ".join(f"{group}: printed, first, refused, seen, words" for group in groups)
        + " |"
    )
    print("| --- " * (len(groups) + 2) + "|")
    for rule in ("", *RULES):
        if not any(name == rule for name, _ in columns):
            continue
        cells = []
        for group in groups:
            own, base = columns[rule, group], columns["", group]
            words = round(own["words"] / max(own["questions"], 1))
            told = (
                f"{own['printed']} and {own['first']} of {own['facts']}, {own['refused']} of {own['questions']},"
                f" {own['seen']} of {own['absent']}, {words}"
                if not rule
                else ", ".join(f"{own[name] - base[name]:+d}" for name in ("printed", "first", "refused", "seen"))
                + f", {words - round(base['words'] / max(base['questions'], 1)):+d}"
            )
            cells.append(told)
        print(f"| {rule or 'nothing'} | {changes[rule] if rule else ''} | {' | '.join(cells)} |")


async def main() -> None:
    parser = options(__doc__, every=1)
    parser.add_argument("--rules", default="")
    args = parser.parse_args()
    work = args.work.resolve()
    library = library_of(args.sites.resolve(), args.config, work)
    settings, limits = settings_of(library, work, "standard", args.embeddings)
    chosen: list[str] = [rule for rule in RULES if any(part in rule for part in args.rules.split(","))]
    fitted = set(args.fitted.split(","))
    columns: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    changes: Counter[str] = Counter()
    async with open_parts(settings) as opened:
        await opened.index(library)
        rows = [row for row in rows_of(args.questions) if not args.only or row["site"] in args.only.split(",")]
        for row in rows[:: args.every]:
            group = f"{row['set']}, {'fitted' if row['site'] in fitted else 'other'} sites"
            base: dict[str, int] = {}
            kept = cast("Parts", Kept(opened, await opened.search(), await opened.fetch()))
            with kept_rankings():
                with watched(chosen) as fired:
                    whole = await ask(kept, limits, row["question"])
                for rule in ("", *chosen):
                    report = whole
                    if rule in fired:
                        with without(RULES[rule]):
                            report = await ask(kept, limits, row["question"])
                        changes[rule] += 1
                    told = count(row, report, columns[rule, group])
                    base = base or told
                    if told != base:
                        print(f"{row['id']} without {rule}: {base} -> {told}", file=sys.stderr)
    show(columns, sorted({group for _, group in columns}), changes)


if __name__ == "__main__":
    anyio.run(main)
