"""What a standard run with a model costs: tokens by task, prompt caches, the time to the first section, imports.

    python benchmarks/model_cost.py STATEMENTS.jsonl --sites DIR --work DIR [--runs 3] [--seconds 3] [--thinking 0]
    python benchmarks/model_cost.py --recorded tests/e2e/data/recorded/NAME.json --work DIR [--seconds 3]

The model writes in other words what labelled statements truly say (`ParaphrasingModel`) and judges by the labels
with 3 % of errors. With `--recorded` it answers as a strong reader did, whose answers and pages are on record
(`benchmarks/record_answers.py`), and the sentences of that reader that are printed are counted. A token is cacheable
when the call begins with at least 1,024 tokens that an earlier call began with, as providers count; the share is of all
tokens sent. `--seconds` is what each call takes on the clock of the wall.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
from model_statements import library, spread
from tests.fakes.models import LabelledStatement, ParaphrasingModel
from tests.fakes.models.recorded import RecordedModel

from pincite.domain.events import Event, EventType
from pincite.domain.report import Report
from pincite.engine import Engine
from pincite.settings import load_settings
from pincite.testing.models import ModelFake

IMPORTS = """
import sys, time
from pincite.engine import Engine
from pincite.llm.client import load_modules
from pincite.llm.catalogue import Endpoint, parse_model
begun = time.process_time()
load_modules(parse_model(f"{sys.argv[1]}:m", {sys.argv[1]: Endpoint(None, "key")}, Endpoint()))
print(round(time.process_time() - begun, 2))
"""


async def one(
    question: str, model: ModelFake, folder: Path, arguments: argparse.Namespace
) -> tuple[Report, list[Event], float, float]:
    settings = load_settings(
        {
            "home": Path(tempfile.mkdtemp(dir=arguments.work)),
            "source": (f"local:{folder}",),
            "profile": arguments.profile,
        },
        environ={},
        files=(),
    )
    events: list[Event] = []
    first_s = 0.0
    begun = time.perf_counter()

    def see(event: Event) -> None:
        nonlocal first_s
        events.append(event)
        if event.type is EventType.SECTION_READY and not first_s:
            first_s = time.perf_counter() - begun

    async with Engine(settings, model=model) as engine:
        report = await engine.research(question, on_event=see)
    return report, events, first_s, time.perf_counter() - begun


def tell(question: str, report: Report, events: list[Event], first_s: float, all_s: float) -> tuple[int, int, int]:
    tasks: dict[str, Counter[str]] = defaultdict(Counter)
    for event in events:
        if event.type is EventType.MODEL_ANSWERED:
            told = tasks[str(event.data["task"])]
            told["calls"] += 1
            for name in ("tokens_in", "tokens_out", "cached_in"):
                told[name] += int(str(event.data.get(name) or 0))
    total = sum(tasks.values(), Counter[str]())
    lost = Counter(str(event.data.get("reason")) for event in events if event.type is EventType.MODEL_FAILED)
    replaced = sum(event.type is EventType.ROLE_REPLACED for event in events)
    tokens = total["tokens_in"] + total["tokens_out"]
    words = sum(len(sentence.text.split()) for sentence in report.sentences())
    print(
        f"{question}\n  {tokens:,} tokens in {total['calls']} calls, {total['cached_in']:,} of {total['tokens_in']:,} "
        f"in cacheable = {total['cached_in'] / max(total['tokens_in'], 1):.0%}; first section {first_s:.1f} s, "
        f"all {all_s:.1f} s; pages {report.metrics.pages_fetched}, words {words}; "
        f"calls failed {dict(lost)}, roles replaced {replaced}"
    )
    for name, told in sorted(tasks.items(), key=lambda item: -item[1]["tokens_in"]):
        print(
            f"    {name:<17} {told['calls']:>3} calls, in {told['tokens_in']:>6} (cacheable {told['cached_in']:>6}), "
            f"out {told['tokens_out']:>6}"
        )
    return tokens, total["cached_in"], total["tokens_in"]


def sentences_in(made: Any) -> int:
    """How many sentences, items and cells that name lines were composed."""
    if isinstance(made, list):
        return sum(map(sentences_in, made))
    if not isinstance(made, dict):
        return 0
    return bool(made.get("lines") and made.get("text")) + sum(map(sentences_in, made.values()))


def runs(arguments: argparse.Namespace) -> Iterator[tuple[str, ModelFake, Path, int]]:
    """Each question with the model that answers and the pages; how many sentences the recorded reader wrote."""
    for path in arguments.recorded:
        book = json.loads(path.read_text())
        model = RecordedModel(book)
        model.latency_s = arguments.seconds
        yield book["question"], model, path.with_suffix(".warc.gz"), sentences_in(book["composed"])
    if arguments.file is None:
        return
    rows = [json.loads(line) for line in arguments.file.read_text().splitlines()]
    statements = [
        LabelledStatement(row["claim"], tuple(row["passages"]), row["label"] == "true", row["title"]) for row in rows
    ]
    folder = arguments.library or library(rows, arguments.sites, arguments.work)
    for question in arguments.question or spread(rows, arguments.runs):
        thinking = [arguments.thinking]
        yield (
            question,
            ParaphrasingModel(statements, latency_s=arguments.seconds, thinking=thinking, errors=0.03),
            folder,
            0,
        )


async def main_async(arguments: argparse.Namespace) -> None:
    found, firsts = [], []
    for question, model, folder, made in runs(arguments):
        report, events, first_s, all_s = await one(question, model, folder, arguments)
        found.append(tell(question, report, events, first_s, all_s))
        if made:
            held = sum(bool(sentence.claim_ids) for sentence in report.sentences())
            print(f"    sentences, items and cells of the reader that are printed: {held} of {made}")
        firsts.append(first_s)
        (arguments.work / f"report-{len(found)}.md").write_text(report.markdown)
    tokens = [row[0] for row in found]
    shares = sum(row[1] for row in found) / max(sum(row[2] for row in found), 1)
    print(f"tokens a run: median {statistics.median(tokens):,.0f}, most {max(tokens):,} (aim 45,000)")
    print(f"tokens sent that are in cacheable prefixes: {shares:.0%} (aim 60 %)")
    print(f"first proven section: median {statistics.median(firsts):.1f} s, latest {max(firsts):.1f} s (aim 25)")


def tell_imports() -> None:
    """CPU seconds that the modules of each provider take in a process that has loaded what every run has."""
    for provider in ("vllm", "openai", "anthropic", "google"):
        made = subprocess.run([sys.executable, "-c", IMPORTS, provider], capture_output=True, text=True, timeout=120)
        print(f"imports of {provider}: {made.stdout.strip() or made.stderr.strip()[-80:]} CPU s (aim 1.5)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, nargs="?")
    parser.add_argument(
        "--recorded", type=Path, nargs="+", default=[], help="recorded runs: NAME.json beside NAME.warc.gz"
    )
    parser.add_argument("--sites", type=Path)
    parser.add_argument("--library", type=Path, help="a library instead of the pages of the statements")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--question", action="append", help="instead of questions of the statements")
    parser.add_argument("--seconds", type=float, default=0.0)
    parser.add_argument("--thinking", type=int, default=0)
    parser.add_argument("--profile", default="standard")
    parser.add_argument("--imports", action="store_true")
    arguments = parser.parse_args()
    if arguments.file is None and not arguments.recorded:
        parser.error("a file of statements, or --recorded")
    arguments.work = arguments.work.resolve()
    arguments.work.mkdir(parents=True, exist_ok=True)
    anyio.run(main_async, arguments)
    if arguments.imports:
        tell_imports()


if __name__ == "__main__":
    main()
