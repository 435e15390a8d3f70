"""Length and form of reports on broad questions without a model: words, sections, what closes them.

    python benchmarks/broad.py --sites DIR --config public.json --work DIR [--length long] [--words-only] [--only N,N]

Twelve broad questions over six packaged documentations, six over the sites that limits were chosen on and six over the
others. Words are those of printed sentences. Reports are kept as Markdown below `--work`, to be read: figures of length
say nothing of padding. `local:` libraries only, nothing is fetched.
"""

import argparse
import statistics
import time
from pathlib import Path

import anyio
from questions import library_of

from pincite import Engine
from pincite.domain.layout import SectionKind
from pincite.domain.report import Report
from pincite.settings import load_settings

KINDS = (SectionKind.KEY_NUMBERS, SectionKind.RISKS, SectionKind.CONCLUSION)
CHOSEN_ON = (
    "How does streaming replication in PostgreSQL work and what are its limits?",
    "How do I tune the memory settings of a PostgreSQL server?",
    "What do I need to know about autovacuum in PostgreSQL?",
    "How do Git submodules work and what are their pitfalls?",
    "How does merging work in Git and how are conflicts resolved?",
    "What does Requests do about timeouts, retries and connection pooling?",
)
REPORTED_ON = (
    "How do I tune Postfix for performance?",
    "How does Postfix defend against junk mail?",
    "How do maintainer scripts of Debian packages work?",
    "What kinds of relationships between Debian packages are there and when is each of them used?",
    "How does asyncio work and which mistakes should I avoid?",
    "How does logging in Python work and what should I watch out for?",
)


def words_of(report: Report, kind: SectionKind | None = None) -> int:
    """The words of all printed sentences, or of those in sections of one kind."""
    said = (
        report.sentences()
        if kind is None
        else [s for part in report.sections if part.kind is kind for s in part.sentences]
    )
    return sum(len(sentence.text.split()) for sentence in said)


async def measure(wanted: argparse.Namespace) -> None:
    library = library_of(wanted.sites, wanted.config, wanted.work)
    kept = wanted.work / f"broad-{wanted.length}"
    kept.mkdir(parents=True, exist_ok=True)
    only = {int(number) for number in wanted.only.split(",") if number}
    asked = {"home": wanted.work / "home", "source": [f"local:{library}"], "llm": "none"}
    columns: dict[str, list[int]] = {"chosen on": [], "reported on": []}
    print("| | question | words | answer | key numbers | risks | conclusion | sections | references | CPU s |")
    print("| --- " * 10 + "|")
    async with Engine(load_settings(asked, environ={}, files=())) as engine:
        for number, question in enumerate((*CHOSEN_ON, *REPORTED_ON), start=1):
            if only and number not in only:
                continue
            began = time.process_time()
            report = await engine.research(question, length=wanted.length, words_only=wanted.words_only)
            cpu_s = time.process_time() - began
            total = words_of(report)
            columns["chosen on" if question in CHOSEN_ON else "reported on"].append(total)
            (kept / f"{number:02}.md").write_text(report.markdown)
            answer = sum(len(sentence.text.split()) for sentence in report.summary.sentences)
            around = (words_of(report, kind) for kind in KINDS)
            cells = (number, question, total, answer, *around, len(report.sections), len(report.references))
            print("| " + " | ".join(map(str, cells)) + f" | {cpu_s:.1f} |", flush=True)
    for name, lengths in columns.items():
        if lengths:
            enough = sum(length >= 500 for length in lengths)
            print(f"{name}: median {statistics.median(lengths):.0f} words, {enough} of {len(lengths)} with 500 or more")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sites", type=Path, required=True)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--length", default="standard", choices=("short", "standard", "long"))
    parser.add_argument("--words-only", action="store_true")
    parser.add_argument("--only", default="", help="numbers of questions")
    anyio.run(measure, parser.parse_args())


if __name__ == "__main__":
    main()
