"""Research without a model over a question file: how many facts are found, cited and told first.

    python benchmarks/questions.py QUESTIONS.jsonl --sites DIR --config public.json --work DIR [--only SITE,SITE]
    python benchmarks/questions.py QUESTIONS.jsonl --library PATH --work DIR
    python benchmarks/questions.py QUESTIONS.jsonl --sites DIR --config public.json --miniweb serve.py --work DIR
    python benchmarks/questions.py --qa FOLDER --work DIR

`--sites` holds unpacked documentation packages and `--config` says which folder of them is which site (mini web
configuration). Reports are kept as Markdown below `--work`. A fact counts when a sentence that states it is cited to
a page listed for the question. Precision is counted beside it, so that neither is paid for with the other unseen: of
the printed sentences the share that is cited to a page listed for the question (another page may be right as well),
and the share that itself states a listed fact; "first" counts the direct answer alone. `--remove-gold` asks each
answerable question again without its pages; questions that another page answers, at least in part, are counted apart
(`--stated-elsewhere`: id, address and quote of such a page, each looked up before it is believed). `--miniweb` asks all
over loopback HTTP (no rate per host) and checks each report after. `--embeddings minilm` ranks by meaning as well.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import sys
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import beside_tests  # noqa: F401  # its import is its effect
from mini_web import served, settings_for, without_port
from tests.fakes.small_web import ListEvents, ListLedger, MemoryStores

from pincite import Engine
from pincite.domain.budget import Budget
from pincite.domain.fetch import FetchRequest
from pincite.domain.layout import Sentence
from pincite.domain.plan import Task
from pincite.domain.report import Reference, Report, ReportStatus, broken_rules
from pincite.domain.search import Query, SearchResponse
from pincite.ports import Embedder, Search
from pincite.research.extractive.analyst import ExtractiveAnalyst
from pincite.research.extractive.planner import ExtractivePlanner
from pincite.research.extractive.verifier import ExtractiveVerifier
from pincite.research.extractive.writer import ExtractiveWriter
from pincite.research.reader import PageReader
from pincite.research.records import LibrarySurvey
from pincite.research.searcher import QuerySearcher
from pincite.research.service import ResearchService, Roles
from pincite.research.state import Limits
from pincite.runtime.system import SystemClock
from pincite.search.request import MAX_RESULTS
from pincite.settings import Settings, load_settings
from pincite.wiring.checking import check_stored_report
from pincite.wiring.parts import Parts, open_parts
from pincite.wiring.registry import EMBEDDERS
from pincite.wiring.registry import load as load_class


@dataclass
class Without:
    """A search service that hides some pages."""

    search_door: Search
    hidden: frozenset[str] = frozenset()

    async def search(self, query: Query) -> SearchResponse:
        wider = replace(query, max_results=min(query.max_results + len(self.hidden), MAX_RESULTS))
        response = await self.search_door.search(wider)
        kept = [result for result in response.results if result.url not in self.hidden][: query.max_results]
        return replace(response, results=tuple(replace(r, rank=n) for n, r in enumerate(kept, start=1)))


@dataclass
class Tally:
    """Counts over the questions, and the seconds of each."""

    counts: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    pages: list[int] = field(default_factory=list)
    lengths: dict[str, list[int]] = field(default_factory=dict)


async def ask(
    parts: Parts,
    limits: Limits,
    question: str,
    hidden: frozenset[str] = frozenset(),
) -> Report:
    ledger, events, stores = ListLedger(limits.budget), ListEvents(), MemoryStores()
    roles = Roles(
        ExtractivePlanner(
            survey=LibrarySurvey(await parts.vocabularies(), ledger), results_per_query=limits.results_per_query
        ),
        QuerySearcher(Without(await parts.search(), hidden), ledger, events, limits=limits),
        PageReader(await parts.fetch(), stores.snapshots, stores.documents, ledger, events, limits=limits),
        ExtractiveAnalyst(parts.ranker, max_domain_share=limits.max_domain_share),
        ExtractiveVerifier(),
        ExtractiveWriter(),
    )
    service = ResearchService(
        roles,
        ledger=ledger,
        events=events,
        clock=SystemClock(),
        limits=limits,
        run_id="run_benchmark",
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    return await service.run(Task(question))


def states(sentences: tuple[Sentence, ...], fact: dict[str, Any], gold: frozenset[str], urls: dict[int, str]) -> bool:
    """Whether a sentence states the fact and is cited to one of the question's pages."""
    return any(
        any(re.search(pattern, sentence.text, re.IGNORECASE) for pattern in fact["answer_patterns"])
        and any(urls[n] in gold for n in sentence.references)
        for sentence in sentences
    )


def count_printed(question: dict[str, Any], report: Report, tally: Tally, urls: dict[int, str]) -> None:
    """How much of what was printed rests on a page of the question, and how much of it states a fact."""
    kind, gold = question["kind"], gold_of(question)
    tally.lengths.setdefault(kind, []).append(len(report.sentences()))
    for place, sentence in enumerate(report.sentences()):
        on_gold = any(urls[n] in gold for n in sentence.references)
        stating = any(states((sentence,), fact, gold, urls) for fact in question["facts"])
        for where in ("printed", "printed first") if place < len(report.summary.sentences) else ("printed",):
            tally.counts[f"{kind} {where} n"] += 1
            tally.counts[f"{kind} {where} from a gold page"] += on_gold
            tally.counts[f"{kind} {where} stating a fact"] += stating


def gold_of(question: dict[str, Any]) -> frozenset[str]:
    """The pages that state a fact of the question; `urls` of a fact are further pages that do."""
    return frozenset(url for fact in question["facts"] for url in (fact["url"], *fact.get("urls", ())))


def score(
    question: dict[str, Any],
    report: Report,
    tally: Tally,
    *,
    removed: bool,
    elsewhere: bool = False,
    references: tuple[Reference, ...] | None = None,
) -> None:
    counts, kind = tally.counts, question["kind"]
    abstained = report.status is ReportStatus.INSUFFICIENT_EVIDENCE
    counts["broken rules"] += len(list(broken_rules(report)))
    counts["sentences"] += len(report.sentences())
    counts["sentences with quotes"] += sum(bool(sentence.references) for sentence in report.sentences())
    if removed or kind == "unanswerable":
        names = ["unanswerable"]
        if removed:
            names = ["gold pages removed", "removed, stated elsewhere" if elsewhere else "removed, stated nowhere else"]
        for name in (*names, *(() if elsewhere else ("absent in all",))):
            counts[f"{name} n"] += 1
            counts[f"{name} recognised"] += abstained
        return
    counts["answerable n"] += 1
    counts["over-abstention"] += abstained
    urls = {reference.n: reference.url for reference in references or report.references}
    gold = gold_of(question)
    count_printed(question, report, tally, urls)
    for fact in question["facts"]:
        counts[f"{kind} n"] += 1
        counts[f"{kind} in report"] += states(report.sentences(), fact, gold, urls)
        counts[f"{kind} in first three"] += states(report.sentences()[:3], fact, gold, urls)


def library_of(sites: Path, config: Path, work: Path) -> Path:
    """A library folder with the sites below it and a manifest of their addresses; made once."""
    target = work / "library"
    lines = ['name = "sites"', 'exclude = ["*genindex*", "_sources/*", "*/_sources/*", "*/_modules/*", "*search.html"]']
    for host, site in json.loads(config.read_text())["hosts"].items():
        folder = host.split(".")[0]
        lines += ["", "[[folders]]", f'path = "{folder}"', f'base_url = "http://{host}/"']
        root = Path(site["root"].replace("$SITES", str(sites)))
        for page in pages_below(root) if not (target / folder).exists() else ():
            copy = target / folder / page.relative_to(root)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(page, copy)
    (target / "pincite-library.toml").write_text("\n".join(lines) + "\n")
    return target


def pages_below(root: Path) -> list[Path]:
    """The HTML files of a site; packages link folders from elsewhere in the package."""
    walked = os.walk(root, followlinks=True)
    files = [Path(folder) / name for folder, _, names in walked for name in names if name.endswith(".html")]
    return sorted(file for file in files if file.is_file())


def qa_library(folder: Path, work: Path) -> Path:
    """The passages of the multi-hop set as one page each; made once."""
    target = work / "qa"
    target.mkdir(parents=True, exist_ok=True)
    (target / "pincite-library.toml").write_text('name = "qa"\n')
    for line in (folder / "docs.jsonl").read_text().splitlines():
        page = json.loads(line)
        file = target / f"{page['id']}.md"
        if not file.exists():
            file.write_text(f"# {page['title']}\n\n{page['text']}\n")
    return target


def load(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


async def run_questions(args: argparse.Namespace, parts: Parts, limits: Limits) -> None:
    questions = load(Path(args.questions))[:: args.every]
    only = set(args.only.split(",")) if args.only else None
    elsewhere = await stated_elsewhere(args.stated_elsewhere, parts) if args.remove_gold else frozenset()
    tally = Tally()
    for question in questions:
        if only and not set(question["sites"]) <= only:
            continue
        gold = gold_of(question)
        for removed in (False, True) if args.remove_gold and question["kind"] in ("fact", "synthesis") else (False,):
            started = time.perf_counter()
            report = await ask(parts, limits, question["question"], gold if removed else frozenset())
            tally.seconds.append(time.perf_counter() - started)
            tally.pages.append(report.metrics.pages_fetched)
            score(question, report, tally, removed=removed, elsewhere=question["id"] in elsewhere)
            keep(args.work / "reports" / f"{question['id']}{'-removed' if removed else ''}.md", report)
    show(tally)


async def stated_elsewhere(file: Path, parts: Parts) -> frozenset[str]:
    """The questions that a page besides their own ones answers in part; the file's quotes must stand on its pages."""
    door = await parts.fetch()
    for row in load(file):
        page = await door.fetch(FetchRequest(row["url"]))
        if " ".join(row["quote"].split()) not in " ".join(page.document.text.split()):
            raise SystemExit(f"{row['id']}: {row['url']} does not say: {row['quote']}")
    return frozenset(row["id"] for row in load(file))


def keep(file: Path, report: Report) -> None:
    """For reading: what a run wrote."""
    file.parent.mkdir(exist_ok=True)
    file.write_text(report.markdown)


async def run_web(args: argparse.Namespace) -> None:
    """The same questions through the whole product over HTTP; each report is checked against what was stored."""
    given = {"profile": args.profile, "per_domain_cap": args.per_domain_cap, "embeddings": args.embeddings}
    only = set(args.only.split(",")) if args.only else None
    tally = Tally()
    with served(args.miniweb, args.sites, args.config, args.work, args.port) as web:
        settings = settings_for(web, args.work / "web-home", {k: v for k, v in given.items() if v is not None})
        async with Engine(settings) as engine:
            for question in load(Path(args.questions))[:: args.every]:
                if only and not set(question["sites"]) <= only:
                    continue
                report = await engine.research(question["question"])
                tally.seconds.append(report.metrics.duration_s)
                tally.pages.append(report.metrics.pages_fetched)
                tally.counts["searches"] += report.metrics.searches
                tally.counts["pages failed"] += report.metrics.pages_failed
                checked = check_stored_report(await engine.export(report, "json"), settings)
                tally.counts["reports n"] += 1
                tally.counts["reports that check clean"] += checked.status == "passed"
                keep(args.work / "reports-web" / f"{question['id']}.md", report)
                plain = tuple(replace(r, url=without_port(r.url, web["port"])) for r in report.references)
                score(question, report, tally, removed=False, references=plain)
    show(tally)


async def run_qa(args: argparse.Namespace, parts: Parts, limits: Limits) -> None:
    """Multi-hop: are all gold passages among the cited ones, and how many are among the first ten results."""
    questions = [q for q in load(args.qa / "questions.jsonl") if len(q["gold_doc_ids"]) > 1][:: args.every]
    search, tally = await parts.search(), Tally()
    recalls, by_meaning = [], []
    for question in questions:
        gold = set(question["gold_doc_ids"])
        results = (await search.search(Query(question["question"], 10))).results
        recalls.append(len(gold & {Path(r.url).stem for r in results}) / len(gold))
        if args.embedder:
            (library,) = await parts.vocabularies()
            fifty = [hit.url for hit in library.search(Query(question["question"], 50))]
            ranked = await by_both(parts, args.embedder, question["question"], fifty)
            by_meaning.append(len(gold & {Path(url).stem for url in ranked[:10]}) / len(gold))
        started = time.perf_counter()
        report = await ask(parts, limits, question["question"])
        tally.seconds.append(time.perf_counter() - started)
        tally.pages.append(report.metrics.pages_fetched)
        cited = {Path(reference.url).stem for reference in report.references}
        tally.counts["questions"] += 1
        tally.counts["all gold cited"] += gold <= cited
        tally.counts["gold passages"] += len(gold)
        tally.counts["gold passages cited"] += len(gold & cited)
        tally.counts["references"] += len(report.references)
        tally.counts["references that are gold"] += len(gold & cited)
        tally.counts["broken rules"] += len(list(broken_rules(report)))
    show(tally)
    print(f"recall@10 of one search with the question: {statistics.mean(recalls):.3f}")
    if by_meaning:
        print(f"recall@10 of its first 50 ranked by words and meaning: {statistics.mean(by_meaning):.3f}")


async def by_both(parts: Parts, embedder: Embedder, question: str, urls: list[str]) -> list[str]:
    """The pages by reciprocal rank of their place in the search and their nearness in meaning."""
    door = await parts.fetch()
    texts = [(await door.fetch(FetchRequest(url))).document.text[:1_000] for url in urls]
    wanted, *found = embedder.embed([question, *texts])
    near = [sum(a * b for a, b in zip(wanted, vector, strict=True)) for vector in found]
    places = {index: place for place, index in enumerate(sorted(range(len(urls)), key=lambda i: -near[i]), start=1)}
    fused = sorted(range(len(urls)), key=lambda i: -(1 / (60 + i + 1) + 1 / (60 + places[i])))
    return [urls[index] for index in fused]


SHARES = {
    " in report": " n",
    " in first three": " n",
    " recognised": " n",
    " from a gold page": " n",
    " stating a fact": " n",
    " that check clean": " n",
}


def show(tally: Tally) -> None:
    """Counts; a share is printed beside the counts that are parts of another."""
    counts = tally.counts
    bases = {"over-abstention": "answerable n", "sentences with quotes": "sentences", "all gold cited": "questions"}
    bases |= {"gold passages cited": "gold passages", "references that are gold": "references"}
    for name, count in counts.items():
        ending = next((ending for ending in SHARES if name.endswith(ending)), "")
        base = counts.get(bases.get(name) or (name.removesuffix(ending) + SHARES[ending] if ending else ""), 0)
        print(f"{name}: {count}" + (f" of {base} = {count / base:.2f}" if base else ""))
    for kind, lengths in tally.lengths.items():
        print(f"{kind} sentences a report: median {statistics.median(lengths)}, most {max(lengths)}")
    print(f"seconds: median {statistics.median(tally.seconds):.2f}, longest {max(tally.seconds):.2f}")
    print(f"pages read: median {statistics.median(tally.pages)}")


def settings_of(library: Path, work: Path, profile: str, embeddings: str = "none") -> tuple[Settings, Limits]:
    """The settings of a run over one library, and its limits."""
    given = {"home": work / "home", "source": (f"local:{library}",), "profile": profile, "embeddings": embeddings}
    settings = load_settings(given, environ={}, files=())
    return settings, Limits(
        budget=Budget(searches=settings.max_searches, pages=settings.max_pages, rounds=settings.max_rounds),
        results_per_query=settings.results_per_query,
        pages_per_round=settings.pages_per_round,
    )


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions", nargs="?")
    parser.add_argument("--sites", type=Path)
    parser.add_argument("--config", type=Path)
    parser.add_argument("--library", type=Path)
    parser.add_argument("--qa", type=Path)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--only")
    parser.add_argument("--remove-gold", action="store_true")
    parser.add_argument("--stated-elsewhere", type=Path, default=Path(__file__).with_name("stated_elsewhere.jsonl"))
    parser.add_argument("--profile", default="standard")
    parser.add_argument("--embeddings", choices=list(EMBEDDERS))
    parser.add_argument("--miniweb", type=Path)
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--per-domain-cap", type=int)
    args = parser.parse_args()
    args.work = args.work.resolve()
    args.work.mkdir(parents=True, exist_ok=True)
    if args.miniweb:
        await run_web(args)
        return
    args.embedder = load_class(EMBEDDERS, args.embeddings, "embedder")() if args.embeddings else None
    if args.qa:
        library = qa_library(args.qa, args.work)
    elif args.sites:
        library = library_of(args.sites, args.config, args.work)
    else:
        library = args.library
    settings, limits = settings_of(library, args.work, args.profile, args.embeddings or "none")
    async with open_parts(settings) as parts:
        report = await parts.index(library)
        print(f"library: {report.pages} pages, {report.added} read anew in {report.seconds:.0f} s", file=sys.stderr)
        await (run_qa if args.qa else run_questions)(args, parts, limits)


if __name__ == "__main__":
    anyio.run(main)
