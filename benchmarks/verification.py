"""Print the figures of docs/verification.md: python benchmarks/verification.py DATA_FOLDER [--fit] [--show KIND]

DATA_FOLDER holds public.jsonl (id, dataset, claim, sources[{text}], label). Nothing is downloaded; one core.
`--fit` also refits the shipped weights on all sets and writes them into the package.
"""

import argparse
import hashlib
import json
import math
import random
import re
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import contrast

from pincite.domain.evidence import VerdictStatus
from pincite.verification import scoring
from pincite.verification.checker import MechanicalChecker
from pincite.verification.passages import Source, as_claim

GATED = ("wice", "begin-wow", "begin-tc", "begin-cmu")
FOLDS = 5
PARTITIONS = 10
"""Ways to cut the documents into folds. One alone moves the figure of WiCE by two points either way."""
WEIGHTS = Path(scoring.__file__).with_name("scoring.json")


@dataclass
class Row:
    dataset: str
    claim: str
    texts: list[str]
    label: str
    fold: int
    folds: tuple[int, ...] = ()
    half: int = 0
    values: tuple[float, ...] = ()
    baseline: float = 0.0
    status: VerdictStatus = VerdictStatus.UNCHECKED
    weights: dict[str, float] = field(default_factory=dict)

    @property
    def supported(self) -> bool:
        return self.label == "supported"


def load(folder: Path) -> list[Row]:
    rows = []
    for line in (folder / "public.jsonl").read_text(encoding="utf-8").splitlines():
        item = json.loads(line)
        texts = [source["text"] for source in item["sources"]]
        digest = hashlib.sha256(texts[0].encode()).digest()
        folds = tuple(number % FOLDS for number in digest[:PARTITIONS])
        rows.append(Row(item["dataset"], item["claim"], texts, item["label"], folds[0], folds, digest[-1] % 2))
    return rows


def idf_coverage(claim: str, text: str) -> float:
    """The baseline: rarity-weighted share of the claim's words in the best three-sentence window."""
    words = [set(re.findall(r"\w+", s.lower())) for s in re.split(r"(?<=[.!?])\s+|\n+", text) if s.strip()]
    wanted = set(re.findall(r"\w+", claim.lower()))
    if not words or not wanted:
        return 0.0
    idf = {w: math.log(1 + (len(words) + 0.5) / (sum(w in s for s in words) + 0.5)) for w in wanted}
    total = sum(idf.values())
    return max(
        sum(idf[w] for w in wanted & set().union(*words[i : i + 3])) / total for i in range(max(1, len(words) - 2))
    )


def measure(rows: Sequence[Row]) -> None:
    """Fill in the features and the baseline of each row."""
    checker = MechanicalChecker()
    for row in rows:
        claim = as_claim(row.claim)
        readings = []
        for text in row.texts:
            if text.strip() and claim.stems:
                readings += checker.read_all(claim, Source(text))
        if readings:
            best = max(readings, key=lambda r: (r.score, r.covered.words))
            row.values = scoring.features(claim, best.window, best.covered, best.findings)
        else:
            row.values = tuple(0.0 for _ in scoring.FEATURES)
        row.baseline = max(idf_coverage(row.claim, text) for text in row.texts)


def fit(rows: Sequence[Row], *, ridge: float = 3.0) -> dict[str, float]:
    """Weights of a ridge logistic regression, classes and data sets weighing alike, by Newton's method."""
    size = len(scoring.FEATURES) + 1
    counts: dict[tuple[str, bool], int] = defaultdict(int)
    for row in rows:
        counts[row.dataset, row.supported] += 1
    means = [sum(r.values[i] for r in rows) / len(rows) for i in range(size - 1)]
    spreads = [math.sqrt(sum((r.values[i] - means[i]) ** 2 for r in rows) / len(rows)) or 1.0 for i in range(size - 1)]
    data = [
        ([1.0] + [(v - m) / s for v, m, s in zip(r.values, means, spreads, strict=True)], float(r.supported),
         len(rows) / len(counts) / counts[r.dataset, r.supported])
        for r in rows
    ]  # fmt: skip
    beta = [0.0] * size
    for _ in range(12):
        gradient = [-ridge * b if i else 0.0 for i, b in enumerate(beta)]
        hessian = [[ridge if i == j and i else 0.0 for j in range(size)] for i in range(size)]
        for x, y, weight in data:
            p = 1 / (1 + math.exp(-max(-30, min(30, sum(b * v for b, v in zip(beta, x, strict=True))))))
            error, curve = weight * (y - p), weight * p * (1 - p)
            for i, value in enumerate(x):
                if value:
                    gradient[i] += error * value
                    row_i, scaled = hessian[i], curve * value
                    for j in range(i, size):
                        row_i[j] += scaled * x[j]
        for i in range(size):
            for j in range(i):
                hessian[i][j] = hessian[j][i]
        step = solve(hessian, gradient)
        beta = [b + s for b, s in zip(beta, step, strict=True)]
    weights = {n: b / s for n, b, s in zip(scoring.FEATURES, beta[1:], spreads, strict=True)}
    weights["bias"] = beta[0] - sum(b * m / s for b, m, s in zip(beta[1:], means, spreads, strict=True))
    return {name: round(value, 4) for name, value in weights.items()}


def solve(matrix: list[list[float]], right: list[float]) -> list[float]:
    rows = [[*line, value] for line, value in zip(matrix, right, strict=True)]
    size = len(rows)
    for i in range(size):
        pivot = max(range(i, size), key=lambda k: abs(rows[k][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [v / (rows[i][i] or 1e-9) for v in rows[i]]
        for k in range(size):
            if k != i and rows[k][i]:
                factor = rows[k][i]
                rows[k] = [a - factor * b for a, b in zip(rows[k], rows[i], strict=True)]
    return [line[-1] for line in rows]


def best_threshold(pairs: Sequence[tuple[float, bool]]) -> float:
    """The middle of the thresholds within a point of the best one: steadier than the single best."""
    accuracy = {threshold: balanced(pairs, threshold) for threshold in {score for score, _ in pairs}}
    near = sorted(t for t, value in accuracy.items() if value >= max(accuracy.values()) - 1)
    return near[len(near) // 2]


def balanced(pairs: Sequence[tuple[float, bool]], threshold: float) -> float:
    yes = [score >= threshold for score, label in pairs if label]
    no = [score < threshold for score, label in pairs if not label]
    return 50 * (sum(yes) / max(len(yes), 1) + sum(no) / max(len(no), 1))


def folded_accuracy(rows: Sequence[Row], score: Callable[[Row, int], float]) -> tuple[float, float, float]:
    """Balanced accuracy over five folds by document with a threshold from the other four, and its 95 % interval."""
    outcomes = []
    for fold in range(FOLDS):
        threshold = best_threshold([(score(r, fold), r.supported) for r in rows if r.fold != fold])
        outcomes += [(float(score(r, fold) >= threshold), r.supported) for r in rows if r.fold == fold]
    rng = random.Random(7)
    draws = sorted(balanced([rng.choice(outcomes) for _ in outcomes], 0.5) for _ in range(400))
    return balanced(outcomes, 0.5), draws[10], draws[389]


def print_accuracy(rows: Sequence[Row]) -> None:
    gated = [row for row in rows if row.dataset in GATED]
    found: dict[str, list[tuple[float, float, float, float]]] = defaultdict(list)
    for number in range(PARTITIONS):
        for row in rows:
            row.fold = row.folds[number]
        weights = [fit([row for row in gated if row.fold != fold]) for fold in range(FOLDS)]
        for dataset in (*GATED, "expertqa"):
            chosen = [row for row in rows if row.dataset == dataset]
            ours = folded_accuracy(chosen, lambda r, fold, w=weights: scoring.probability(r.values, w[fold]))
            found[dataset].append((*ours, folded_accuracy(chosen, lambda r, _: r.baseline)[0]))
    for row in rows:
        row.fold = row.folds[0]
    print(f"Balanced accuracy, 5-fold by document, mean of {PARTITIONS} ways to cut the folds (mean 95 % interval);")
    print("baseline = IDF coverage of the best window, in the same folds")
    gains = []
    for dataset, values in found.items():
        ours, low, high, base = (sum(column) / PARTITIONS for column in zip(*values, strict=True))
        each = [value[0] for value in values]
        count = sum(row.dataset == dataset for row in rows)
        print(
            f"  {dataset:10} n={count:4}  ours {ours:5.1f} ({low:.1f}-{high:.1f})  baseline {base:5.1f}"
            f"  gain {ours - base:+.1f}   single cuts {min(each):.1f} to {max(each):.1f}, the first {each[0]:.1f}"
        )
        if dataset in GATED:
            gains.append(ours - base)
    print(f"  mean gain over the baseline: {sum(gains) / len(gains):+.1f} points")
    print_halves(rows, gated)


def print_halves(rows: Sequence[Row], gated: Sequence[Row]) -> None:
    """Weights and thresholds from one half of the documents, figures from the other; mean of both directions."""
    parts = []
    for dataset in GATED:
        values = []
        for half in range(2):
            weights = fit([row for row in gated if row.half == half])
            pairs = [
                (scoring.probability(row.values, weights), row.supported, row.half)
                for row in rows
                if row.dataset == dataset
            ]
            threshold = best_threshold([(score, label) for score, label, of in pairs if of == half])
            values.append(balanced([(score, label) for score, label, of in pairs if of != half], threshold))
        parts.append(f"{dataset} {sum(values) / 2:.1f}")
    print(f"  fitted on one half of the documents, measured on the other: {', '.join(parts)}")


def print_hard(rows: Sequence[Row]) -> None:
    """Out of fold: the weights that judge a row were fitted on the other folds."""
    gated = [row for row in rows if row.dataset in GATED]
    for fold in range(FOLDS):
        checker = MechanicalChecker(weights=fit([row for row in gated if row.fold != fold]))
        for row in rows:
            if row.fold == fold:
                row.status = checker.check(row.claim, row.texts).status
    print('As "verified" (status supported), weights from the other folds')
    for dataset in (*GATED, "expertqa", "all gated"):
        chosen = gated if dataset == "all gated" else [row for row in rows if row.dataset == dataset]
        shares = []
        for label in ("supported", "partial", "unsupported"):
            group = [row for row in chosen if row.label == label]
            accepted = sum(row.status is VerdictStatus.SUPPORTED for row in group)
            shares.append(f"{label} {accepted}/{len(group)} = {100 * accepted / max(len(group), 1):.1f} %")
        print(f"  {dataset:10} accepted: " + "   ".join(shares))


def print_contrast(rows: Sequence[Row], shown: str | None) -> None:
    checker = MechanicalChecker()
    print("Contrast edits of true claims, accepted (lower is better); beside it the share called contradicted")
    for name, chosen in (
        ("gated sets", [r for r in rows if r.supported and r.dataset in GATED]),
        ("with expertqa", [r for r in rows if r.supported]),
    ):
        print(f"  {name}: {len(chosen)} true claims")
        for kind in contrast.KINDS:
            rng = random.Random(11)
            tried = accepted = against = 0
            for row in chosen:
                page = "\n".join(row.texts)
                for edit in {contrast.edited(kind, row.claim, page, rng) for _ in range(2)} - {None}:
                    verdict = checker.check(str(edit), row.texts)
                    tried += 1
                    accepted += verdict.status is VerdictStatus.SUPPORTED
                    against += verdict.status is VerdictStatus.CONTRADICTED
                    if shown == kind and verdict.status is VerdictStatus.SUPPORTED:
                        print(f"    ACCEPTED {edit}\n      TRUE {row.claim}\n      {verdict.quotes[0].text[:400]!r}")
            print(
                f"    {kind:26} {accepted:3}/{tried:4} = {100 * accepted / max(tried, 1):5.1f} %"
                f"   contradicted {100 * against / max(tried, 1):5.1f} %"
            )


def print_speed(rows: Sequence[Row]) -> None:
    """Claims against pages of 1,000 words; every page is parsed in the measured time, each is asked four times."""
    pages = [" ".join(row.texts[0].split(" ")[:1000]) for row in rows if len(row.texts[0].split(" ")) >= 1000][:60]
    claims = [row.claim for row in rows if row.dataset == "wice"]
    checker = MechanicalChecker()
    started = time.process_time()
    count = 0
    for index, page in enumerate(pages):
        for offset in range(4):
            checker.check(claims[(index + offset) % len(claims)], [page])
            count += 1
    unrelated = count / (time.process_time() - started)
    wice = [row for row in rows if row.dataset == "wice"]
    started = time.process_time()
    for row in wice:
        checker.check(row.claim, row.texts)
    alone = len(wice) / (time.process_time() - started)
    print(
        f"Speed: {unrelated:.0f} claims a second (four on each page of 1,000 words), {alone:.0f} with one on each page"
    )


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--show")
    options = parser.parse_args()
    rows = load(options.folder)
    if not options.only or "accuracy" in options.only or "hard" in options.only or options.fit:
        measure(rows)
    if options.fit:
        weights = fit([row for row in rows if row.dataset in GATED])
        WEIGHTS.write_text(json.dumps({"weights": weights}, indent=1) + "\n", encoding="utf-8")
    if not options.only or "accuracy" in options.only:
        print_accuracy(rows)
    if not options.only or "hard" in options.only:
        print_hard(rows)
    if not options.only or "contrast" in options.only:
        print_contrast(rows, options.show)
    if not options.only or "speed" in options.only:
        print_speed(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
