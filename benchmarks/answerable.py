"""Fits when a run without a model should say that its best passages only touch on a question.

    python benchmarks/answerable.py collect OUT.jsonl --work DIR --qa FOLDER [--every N]
    python benchmarks/answerable.py collect OUT.jsonl --work DIR --sites DIR --config FILE --questions FILE ...
    python benchmarks/answerable.py fit SIGNALS.jsonl ... [--held-out SITE,SITE,SITE]

`collect` asks each question as it is and again with the pages that answer it hidden, and keeps the signals of each
part (pincite.research.extractive.answerable). `fit` prints the weights of a logistic model, its ROC on questions it
was not fitted on, and the share of unanswerable ones recognised at a given share of answerable ones refused. Hidden
pages leave other pages that state the fact: rows where the report still states it are fitted on by nothing.
"""

import argparse
import json
import math
import re
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import anyio
from questions import ask, gold_of, library_of, load, qa_library, settings_of, states

from pincite.research.extractive.answerable import Signals, signals
from pincite.research.extractive.parts import split_question
from pincite.research.extractive.questions import read_question
from pincite.research.extractive.shelf import Shelf
from pincite.wiring import open_parts

NAMES = tuple(field.name for field in fields(Signals))
RIDGE = 3.0
FOLDS = 5
Row = dict[str, Any]


async def collect(args: argparse.Namespace) -> None:
    args.work.mkdir(parents=True, exist_ok=True)
    library = qa_library(args.qa, args.work) if args.qa else library_of(args.sites, args.config, args.work)
    asked = qa_questions(args.qa)[:: args.every] if args.qa else [q for file in args.questions for q in load(file)]
    settings, limits = settings_of(library, args.work, "standard")
    async with open_parts(settings) as parts:
        await parts.index(library)
        urls = {Path(url).stem: url for url in (await parts.vocabularies())[0].urls()} if args.qa else {}
        with args.out.open("w") as out:
            for question in asked:
                gold = frozenset(urls.get(url, url) for url in gold_of(question))
                hiding = question["kind"] in ("fact", "synthesis")
                for hidden in (frozenset[str](), gold) if hiding else (frozenset[str](),):
                    shelf = Shelf()
                    report = await ask(parts, limits, question["question"], hidden, shelf=shelf)
                    anywhere = {reference.n: "" for reference in report.references}
                    stated = any(
                        states(report.sentences(), fact, frozenset({""}), anywhere) for fact in question["facts"]
                    )
                    row = {
                        "id": question["id"],
                        "group": question["sites"][0],
                        "answerable": question["kind"] != "unanswerable" and not hidden,
                        "hidden": bool(hidden),
                        "stated": stated,
                        "parts": signals_of(shelf, question["question"]),
                    }
                    out.write(json.dumps(row) + "\n")


def signals_of(shelf: Shelf, question: str) -> list[dict[str, float]]:
    index = shelf.index(())
    asked = [read_question(part) for part in split_question(question)]
    made = [signals(part, index, index.statements(part)) for part in asked]
    return [asdict(found) for found in made if found is not None]


def qa_questions(folder: Path) -> list[Row]:
    """The sets in the shape of a question file; the ids of the gold passages stand for addresses."""
    return [
        {
            "id": row["id"],
            "kind": "fact",
            "question": row["question"],
            "facts": [
                {"url": page, "answer_patterns": [re.escape(answer) for answer in row["answers"]]}
                for page in row["gold_doc_ids"]
            ],
            "sites": ["xquad" if row["source"] == "xquad" else "multi-hop"],
        }
        for row in load(folder / "questions.jsonl")
    ]


# ---- the model ----------------------------------------------------------------------------------------------------


def vector(signal: dict[str, float]) -> list[float]:
    return [signal[name] for name in NAMES]


def examples(rows: Sequence[Row]) -> list[tuple[list[float], bool]]:
    """One example for each part; a part of a question whose pages are hidden is one without an answer."""
    return [
        (vector(part), row["answerable"])
        for row in rows
        if not (row["hidden"] and row["stated"])
        for part in row["parts"]
    ]


def fitted(known: Sequence[tuple[list[float], bool]]) -> tuple[float, list[float]]:
    """Bias and weights of a ridge-regularised logistic model by Newton's method over standardised signals."""
    xs, size = [x for x, _ in known], len(NAMES)
    means = [sum(x[j] for x in xs) / len(xs) for j in range(size)]
    spreads = [max(math.sqrt(sum((x[j] - means[j]) ** 2 for x in xs) / len(xs)), 1e-6) for j in range(size)]
    rows = [[1.0, *((x[j] - means[j]) / spreads[j] for j in range(size))] for x in xs]
    weights = [0.0] * (size + 1)
    for _ in range(30):
        slope, curve = [0.0] * (size + 1), [[0.0] * (size + 1) for _ in range(size + 1)]
        for row, (_, answerable) in zip(rows, known, strict=True):
            p = 1 / (1 + math.exp(-sum(w * v for w, v in zip(weights, row, strict=True))))
            for i, value in enumerate(row):
                slope[i] += (p - answerable) * value
                for j, other in enumerate(row):
                    curve[i][j] += p * (1 - p) * value * other
        for i in range(1, size + 1):
            slope[i] += RIDGE * weights[i]
            curve[i][i] += RIDGE
        weights = [w - step for w, step in zip(weights, solved(curve, slope), strict=True)]
    scaled = [weight / spread for weight, spread in zip(weights[1:], spreads, strict=True)]
    return weights[0] - sum(w * m for w, m in zip(scaled, means, strict=True)), scaled


def solved(matrix: list[list[float]], right: list[float]) -> list[float]:
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for i in range(len(rows)):
        pivot = max(range(i, len(rows)), key=lambda k: abs(rows[k][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for k in range(len(rows)):
            if k != i and rows[k][i]:
                factor = rows[k][i] / rows[i][i]
                rows[k] = [a - factor * b for a, b in zip(rows[k], rows[i], strict=True)]
    return [row[-1] / row[i] for i, row in enumerate(rows)]


def chance(model: tuple[float, list[float]], row: Row) -> float:
    """How likely some part of the question is answered: what the report goes by."""
    bias, weights = model
    totals = [bias + sum(w * v for w, v in zip(weights, vector(part), strict=True)) for part in row["parts"]]
    return 1 / (1 + math.exp(-max(totals, default=-30.0)))


def roc(scored: Sequence[tuple[float, Row]]) -> tuple[float, list[tuple[float, float]]]:
    """Area under the curve, and the share recognised where 5, 10, 15, 20 and 30 % of answerable ones are refused."""
    yes = sorted(p for p, row in scored if row["answerable"])
    no = sorted(p for p, row in scored if not row["answerable"])
    area = sum((bisect_left(no, p) + bisect_right(no, p)) / 2 for p in yes) / (len(yes) * len(no) or 1)
    points = [
        (refused, bisect_left(no, yes[int(refused * len(yes))]) / len(no)) for refused in (0.05, 0.1, 0.15, 0.2, 0.3)
    ]
    return area, points


def show(name: str, scored: Sequence[tuple[float, Row]]) -> None:
    area, points = roc(scored)
    unanswerable = sum(not row["answerable"] for _, row in scored)
    line = "  ".join(f"{refused:.0%} refused: {found:.2f}" for refused, found in points)
    counts = f"{len(scored) - unanswerable:4} answerable {unanswerable:4} not"
    print(f"{name:36} {counts}  area {area:.3f}  recognised at {line}")


def fit(args: argparse.Namespace) -> None:
    rows = [row for file in args.files for row in load(file) if row["parts"]]
    held = set(args.held_out.split(",")) if args.held_out else set()
    build = [row for row in rows if row["group"] not in held]
    folds: list[tuple[float, Row]] = []
    ids = sorted({row["id"] for row in build})
    for number in range(FOLDS):
        out = set(ids[number::FOLDS])
        model = fitted(examples([row for row in build if row["id"] not in out]))
        folds += [(chance(model, row), row) for row in build if row["id"] in out]
    clean = [(p, row) for p, row in folds if not (row["hidden"] and row["stated"])]
    for group in sorted({row["group"] for row in build}):
        show(f"cross-validated, {group}", [(p, row) for p, row in clean if row["group"] == group])
    show("cross-validated, all", clean)
    model = fitted(examples(build))
    rest = [(chance(model, row), row) for row in rows if row["group"] in held]
    if rest:
        show("held out, every row", rest)
        show(
            "held out, fact not stated elsewhere",
            [(p, row) for p, row in rest if not (row["hidden"] and row["stated"])],
        )
    answerable = sorted(chance(model, row) for row in build if row["answerable"])
    print("\n".join(f"    {name}={weight:.2f}," for name, weight in zip(NAMES, model[1], strict=True)))
    print(f"BIAS = {model[0]:.2f}")
    for refused in (0.05, 0.08, 0.1):
        limit = answerable[int(refused * len(answerable))]
        print(f"LIKELY = {limit:.3f}  # {refused:.0%} of the answerable ones fitted on are below")
        for group in sorted({row["group"] for row in rows}):
            print("   ", group, *below(model, limit, [row for row in rows if row["group"] == group]), sep="  ")


def below(model: tuple[float, list[float]], limit: float, rows: Sequence[Row]) -> list[str]:
    kinds = {
        "answerable": [row for row in rows if row["answerable"]],
        "hidden": [row for row in rows if row["hidden"]],
        "never answerable": [row for row in rows if not row["answerable"] and not row["hidden"]],
    }
    counts = {kind: sum(chance(model, row) < limit for row in some) for kind, some in kinds.items()}
    return [f"{kind}: {counts[kind]} of {len(some)}" for kind, some in kinds.items() if some]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, dest="command")
    collecting = commands.add_parser("collect")
    collecting.add_argument("out", type=Path)
    collecting.add_argument("--questions", type=Path, nargs="+", default=[])
    collecting.add_argument("--qa", type=Path)
    collecting.add_argument("--sites", type=Path)
    collecting.add_argument("--config", type=Path)
    collecting.add_argument("--work", type=Path, required=True)
    collecting.add_argument("--every", type=int, default=1)
    fitting = commands.add_parser("fit")
    fitting.add_argument("files", type=Path, nargs="+")
    fitting.add_argument("--held-out")
    args = parser.parse_args()
    if args.command == "fit":
        fit(args)
    else:
        anyio.run(collect, args)
    return 0


if __name__ == "__main__":
    sys.exit(main())
