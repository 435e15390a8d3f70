"""Whole runs with models that write in other words: how much of the truth is told, and how many lies.

    python benchmarks/model_statements.py STATEMENTS.jsonl --sites DIR --work DIR [--runs 10] [--kinds a,b]

The pages of the labelled statements are one library. `--runs` questions of the statements are asked. The model composes
a report of each true statement whose passages it is shown; a liar makes every second one a lie of one kind. Three
judges: honest with a share of errors (`--errors`), agreeing to all,
absent.
"""

import argparse
import json
import shutil
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import anyio
import beside_tests  # noqa: F401  # its import is its effect
from tests.fakes.models import LABELLED, OPEN_LIES, LabelledStatement, OpenLiar, ParaphrasingModel

from pincite.domain.evidence import JudgementLabel, Proof
from pincite.domain.report import Report
from pincite.engine import Engine
from pincite.ports import Judge
from pincite.settings import load_settings
from pincite.testing.judges import LabelJudge, TellTaleJudge
from pincite.text.tokens import words

JUDGES = ("honest", "colluding", "absent")


def bare(text: str) -> str:
    return " ".join(words(text)).lower()


def told(texts: list[str], report: Report) -> int:
    """How many of the statements the report says."""
    said = [bare(sentence.text) for sentence in report.sentences()]
    return sum(any(bare(text) in one for one in said) for text in dict.fromkeys(texts))


def library(rows: list[dict[str, Any]], sites: Path, work: Path) -> Path:
    """The pages of the statements as a folder."""
    folder = work / "pages"
    for row in rows:
        place = sites / row["site"] / row["file"]
        target = folder / row["site"] / Path(row["file"]).name
        if place.exists() and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(place, target)
    return folder


def spread(rows: list[dict[str, Any]], wanted: int) -> list[str]:
    """Questions of the statements, the sites taking turns."""
    by_site: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        if row["question"] and row["question"] not in by_site[row["site"]]:
            by_site[row["site"]].append(row["question"])
    turns = [questions[turn * 3 % len(questions)] for turn in range(wanted) for questions in by_site.values()]
    return list(dict.fromkeys(turns))[:wanted]


async def run(folder: Path, work: Path, question: str, model: ParaphrasingModel, judge: Judge | None) -> Report:
    settings = load_settings(
        {
            "home": work / "home",
            "source": (f"local:{folder}",),
            "max_rounds": 1,
            "judge": "none" if judge is None else "auto",
        },
        environ={},
        files=(),
    )
    async with Engine(settings, model=model, judge=judge) as engine:
        return await engine.research(question)


def judge_of(name: str, model: OpenLiar | ParaphrasingModel, errors: float) -> Judge | None:
    if name == "absent":
        return None
    if name == "colluding":
        return LabelJudge({}, default=JudgementLabel.STATES)
    lied = model.lied if isinstance(model, OpenLiar) else lambda text: False
    return TellTaleJudge(lied, errors)


async def main_async(arguments: argparse.Namespace) -> None:
    rows = [json.loads(line) for line in arguments.file.read_text().splitlines()]
    statements = [
        LabelledStatement(row["claim"], tuple(row["passages"]), row["label"] == "true", row["title"]) for row in rows
    ]
    folder = library(rows, arguments.sites, arguments.work)
    questions = spread(rows, arguments.runs)
    counts: Counter[str] = Counter()
    begun = time.process_time()
    for name in ("honest", "absent"):
        for question in questions:
            model = ParaphrasingModel(statements)
            report = await run(folder, arguments.work, question, model, judge_of(name, model, arguments.errors))
            counts[f"{name} proposed"] += len(set(model.proposed))
            counts[f"{name} told"] += told(model.proposed, report)
            counts[f"{name} sentences"] += len(report.sentences())
            counts[f"{name} not quoted"] += sum(s.proof is not Proof.QUOTED for s in report.sentences())
            counts[f"{name} rejected"] += len(report.rejected_claims)
            counts[f"{name} tokens"] += report.metrics.tokens_in + report.metrics.tokens_out
            counts[f"{name} words"] += sum(len(s.text.split()) for s in report.sentences())
        print(
            f"{name} judge, {len(questions)} runs: true statements proposed {counts[f'{name} proposed']}, "
            f"told {counts[f'{name} told']}; sentences {counts[f'{name} sentences']}, "
            f"not quoted {counts[f'{name} not quoted']}, listed as rejected {counts[f'{name} rejected']}, "
            f"words {counts[f'{name} words']}, tokens {counts[f'{name} tokens']}",
            flush=True,
        )
    kinds = arguments.kinds.split(",") if arguments.kinds else [LABELLED, *OPEN_LIES]
    for name in JUDGES:
        for kind in kinds:
            planted = printed = 0
            for question in questions[: arguments.lying or None]:
                liar = OpenLiar(statements, kind)
                report = await run(folder, arguments.work, question, liar, judge_of(name, liar, arguments.errors))
                lies = [item.text for item in liar.planted]
                planted += len(set(lies))
                leaked = [text for text in dict.fromkeys(lies) if told([text], report)]
                printed += len(leaked)
                for text in leaked[:1] if name != "colluding" or OPEN_LIES.get(kind, (None, False))[1] else ():
                    print(f"    printed: {text[:160]}")
            exact = " (exact)" if kind in OPEN_LIES and OPEN_LIES[kind][1] else ""
            print(f"  {name:<10} {kind:<18} planted {planted:>4}, printed {printed:>3}{exact}", flush=True)
            counts[f"{name} planted{exact}"] += planted
            counts[f"{name} printed{exact}"] += printed
    for name in JUDGES:
        for exact in ("", " (exact)"):
            print(
                f"{name}{exact}: {counts[f'{name} printed{exact}']} of {counts[f'{name} planted{exact}']} lies printed"
            )
    print(f"CPU {time.process_time() - begun:.0f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--sites", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--lying", type=int, default=0, help="questions for each kind of lie; all by default")
    parser.add_argument("--kinds", default="")
    parser.add_argument("--errors", type=float, default=0.03)
    anyio.run(main_async, parser.parse_args())


if __name__ == "__main__":
    main()
