"""Answers without a model to questions as people ask them: the facts printed, and "not here" where nothing is there.

    python benchmarks/natural.py QUESTIONS.jsonl --sites DIR --config public.json --work DIR [--every 2]
        [--embeddings minilm] [--fitted SITE,SITE] [--remove-gold] [--more QUESTIONS.txt]

Takes natural questions (`site`, `facts` with a `quote` and what says the same in `also`) and exam questions (`sites`,
`facts` with `answer_patterns` and their page). A fact counts as printed when half of the four-word runs of its quote,
or of a sentence that says the same, stand in the report's sentences; one with patterns when a sentence cited to its
page has one. "First" counts the first 120 words. Each table column is a group of sites: those that the weights were
fitted on (`--fitted`, `scripts/fit_ranking.py`) and the others. `--remove-gold` asks each answerable question again
without the pages that state it; `--more` names a file of questions, one a line, that the library has no answer to.
Run `pincite index` on the library below `--work` first (PINCITE_HOME=DIR/home), or heads have no vectors.
"""

import argparse
import json
import re
import statistics
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from questions import ask, gold_of, keep, library_of, load, settings_of

from pincite.domain.report import PartStatus, Report, ReportStatus
from pincite.wiring.parts import open_parts

FIRST_WORDS = 120
FITTED = "postgresql-doc-15,git-doc,python-requests-doc,xquad"
_RUN = 4


@dataclass
class Column:
    """Counts of one kind of question on one group of sites."""

    counts: Counter[str] = field(default_factory=Counter)
    words: list[int] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)


def runs_of(text: str) -> set[str]:
    """The four-word runs of a text; a shorter text is one run."""
    found = re.findall(r"\w+", text.lower())
    size = min(_RUN, len(found))
    return {" ".join(found[at : at + size]) for at in range(len(found) - size + 1)} if size else set()


def says(text: str, quotes: list[str]) -> bool:
    """Whether half of the runs of one of the quotes stand in the text."""
    there = " ".join(["", *re.findall(r"\w+", text.lower()), ""])
    wanted = [runs for quote in quotes if (runs := runs_of(quote))]
    return any(2 * sum(f" {run} " in there for run in runs) >= len(runs) for runs in wanted)


def printed(fact: dict[str, Any], report: Report, most_words: int | None) -> bool:
    """Whether the report states the fact within so many words."""
    left = most_words
    urls = {reference.n: reference.url for reference in report.references}
    pages = {fact["url"], *fact.get("urls", ())} if "url" in fact else set()
    text = []
    for sentence in report.sentences():
        words = sentence.text.split()[:left]
        left = None if left is None else left - len(words)
        shown = " ".join(words)
        text.append(shown)
        cited = pages & {urls[n] for n in sentence.references}
        if cited and any(re.search(pattern, shown, re.IGNORECASE) for pattern in fact.get("answer_patterns", ())):
            return True
    return "quote" in fact and not pages and says(" ".join(text), [fact["quote"], *fact.get("also", ())])


def count(row: dict[str, Any], report: Report, column: Column) -> None:
    """What one report adds to its column."""
    counts = column.counts
    refused = report.status is ReportStatus.INSUFFICIENT_EVIDENCE
    column.words.append(sum(len(sentence.text.split()) for sentence in report.sentences()))
    if not row["answerable"]:
        counts["absent"] += 1
        counts["seen"] += refused
        return
    found = [printed(fact, report, None) for fact in row["facts"]]
    counts["questions"] += 1
    counts["refused"] += refused
    counts["facts"] += len(found)
    counts["printed"] += sum(found)
    counts["first"] += sum(printed(fact, report, FIRST_WORDS) for fact in row["facts"])
    complete = bool(report.parts) and all(part.status is PartStatus.ANSWERED for part in report.parts)
    counts["complete"] += complete
    counts["complete, a fact missing"] += complete and not all(found)


def rows_of(files: list[Path]) -> Iterator[dict[str, Any]]:
    """The questions of all kinds of file, as one kind; general knowledge (`qa/`) has no answer on these sites."""
    for file in files:
        for row in load(file):
            if "gold_doc_ids" in row:
                yield {**row, "set": "general", "site": row["source"], "answerable": False, "facts": []}
            elif "site" in row:
                yield {**row, "set": "natural"}
            else:
                yield {**row, "set": "exam", "site": row["sites"][0], "answerable": row["kind"] != "unanswerable"}


def gold_pages(row: dict[str, Any], urls: dict[str, str]) -> frozenset[str]:
    """The addresses of the pages that state a fact of the question."""
    if row["set"] == "exam":
        return gold_of(row)
    return frozenset(urls[f"{row['site']}/{fact['file']}"] for fact in row["facts"])


def urls_of(sites: Path, config: Path) -> dict[str, str]:
    """The address of each page file below the folder of sites."""
    found = {}
    for host, site in json.loads(config.read_text())["hosts"].items():
        root = Path(site["root"].replace("$SITES", str(sites)))
        for page in root.rglob("*.html"):
            found[str(page.relative_to(sites))] = f"http://{host}/{page.relative_to(root)}"
    return found


def show(columns: dict[str, Column]) -> None:
    """The table, a column for each group."""

    def share(part: str, whole: str) -> list[str]:
        cells = [(c.counts[part], c.counts[whole]) for c in columns.values()]
        return [f"{a} of {b} = {a / b:.2f}" if b else "-" for a, b in cells]

    print("| | " + " | ".join(columns) + " |")
    print("| --- " * (len(columns) + 1) + "|")
    for name, part, whole in (
        ("facts printed", "printed", "facts"),
        (f"facts in the first {FIRST_WORDS} words", "first", "facts"),
        ("answerable but refused", "refused", "questions"),
        ("not answerable and seen", "seen", "absent"),
        ("called complete", "complete", "questions"),
        ("called complete, a fact missing", "complete, a fact missing", "complete"),
    ):
        print(f"| {name} | " + " | ".join(share(part, whole)) + " |")
    print(
        "| words a report, median | " + " | ".join(f"{statistics.median(c.words):.0f}" for c in columns.values()) + " |"
    )
    spent = [f"{statistics.median(c.cpu_s):.1f} / {max(c.cpu_s):.1f}" for c in columns.values()]
    print("| CPU s a question, median / most | " + " | ".join(spent) + " |")


def options(described: str | None, *, every: int) -> argparse.ArgumentParser:
    """Which questions over which sites, as every benchmark of them takes it."""
    parser = argparse.ArgumentParser(description=described, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions", nargs="+", type=Path)
    parser.add_argument("--sites", type=Path, required=True)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--every", type=int, default=every)
    parser.add_argument("--fitted", default=FITTED)
    parser.add_argument("--only", default="")
    parser.add_argument("--embeddings", default="minilm", choices=("minilm", "none"))
    return parser


async def main() -> None:
    parser = options(__doc__, every=2)
    parser.add_argument("--remove-gold", action="store_true")
    parser.add_argument("--more", type=Path)
    args = parser.parse_args()
    work = args.work.resolve()
    library = library_of(args.sites.resolve(), args.config, work)
    settings, limits = settings_of(library, work, "standard", args.embeddings)
    urls = urls_of(args.sites.resolve(), args.config)
    fitted, only = set(args.fitted.split(",")), set(filter(None, args.only.split(",")))
    columns: dict[str, Column] = defaultdict(Column)
    rows = [row for row in list(rows_of(args.questions))[:: args.every] if not only or row["site"] in only]
    asked: list[tuple[dict[str, Any], str, frozenset[str]]] = [
        (row, f"{row['set']}, {'fitted' if row['site'] in fitted else 'other'} sites", frozenset()) for row in rows
    ]
    if args.remove_gold:
        asked += [
            ({**row, "answerable": False, "id": f"{row['id']}-removed"}, f"{name}, gold removed", gold_pages(row, urls))
            for row, name, _ in asked
            if row["answerable"]
        ]
    for number, line in enumerate(args.more.read_text().splitlines() if args.more else ()):
        asked.append(({"question": line, "answerable": False, "id": f"more-{number}"}, "more", frozenset()))
    async with open_parts(settings) as parts:
        await parts.index(library)
        for row, name, hidden in asked:
            started = time.process_time()
            report = await ask(parts, limits, row["question"], hidden)
            columns[name].cpu_s.append(time.process_time() - started)
            count(row, report, columns[name])
            keep(work / "reports" / f"{row['id']}.md", report)
            print(f"{row['id']}: {report.status}", file=sys.stderr)
    show(dict(sorted(columns.items())))


if __name__ == "__main__":
    anyio.run(main)
