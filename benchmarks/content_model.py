"""Train the block classifier: `python benchmarks/content_model.py DATA_FOLDER [--write]` (needs `lightgbm`).

Prints the figures of five-fold cross-validation, folds split by site, in the metrics of `DATA_FOLDER/run.py`:
what to expect on pages it has not seen. `--write` trains on all pages and stores the trees in the package.
"""

import argparse
import gzip
import hashlib
import importlib
import json
import random
import re
import statistics
import sys
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from itertools import compress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

WORD = re.compile(r"\w+")
TREES = 60
PARAMETERS = {
    "objective": "cross_entropy", "learning_rate": 0.15, "num_leaves": 13, "max_depth": 6, "min_data_in_leaf": 60,
    "lambda_l2": 5, "feature_fraction": 0.5, "bagging_fraction": 0.7, "bagging_freq": 1, "verbose": -1,
    "num_threads": 1, "seed": 7, "deterministic": True, "force_row_wise": True,
}  # fmt: skip
TARGET = Path(__file__).parents[1] / "src/pincite/fetch/extractors/content_trees.py"


def read_page(path: Path) -> dict[str, Any]:
    """One labelled page: block texts, features, labels, weights."""
    from pincite.domain.errors import PinciteError
    from pincite.fetch.extractors import html
    from pincite.fetch.extractors.characters import decode

    labels = json.loads(path.read_text(encoding="utf-8"))
    body = gzip.decompress(path.with_suffix(".html.gz").read_bytes())
    page = {"name": path.stem, "labels": labels, "texts": [], "one": [], "both": [], "fixed": None}
    try:
        text, url = decode(body, "text/html"), labels.get("url") or "https://unknown.example/"
        found, layout, one, both, fixed = html.labelled(text, url)
    except PinciteError:
        return page
    texts = [item.block.text for item in found]
    goals, weights = targets(labels, texts)
    facts = {"layout": layout, "one": one, "both": both, "fixed": fixed}
    return page | {"texts": texts, "goals": goals, "weights": weights} | facts


def targets(labels: dict[str, Any], texts: list[str]) -> tuple[list[float], list[float]]:
    """For each block the share of it that is content, and how much it matters on its page."""
    reference = labels.get("text") or labels.get("articleBody")
    if not reference:
        wanted, unwanted = ([" ".join(part.split()) for part in labels.get(key) or []] for key in ("with", "without"))
        goals, weights = [], []
        for text in texts:
            line = " ".join(text.split())
            good = any(part in line or (len(line) > 30 and line in part) for part in wanted)
            bad = not good and any(part in line for part in unwanted)
            goals.append(float(good))
            weights.append(0.2 if good or bad else 0.0)
        return goals, weights
    words = WORD.findall(reference.lower())
    runs, whole = set(zip(words, words[1:], words[2:], words[3:], strict=False)), f" {' '.join(words)} "
    goals, weights = [], []
    for text in texts:
        row = WORD.findall(text.lower())
        own = list(zip(row, row[1:], row[2:], row[3:], strict=False))
        short = float(bool(row) and f" {' '.join(row)} " in whole)
        goals.append(sum(run in runs for run in own) / len(own) if own else short)
        weights.append(len(row) / max(len(words), 50))
    return goals, weights


def train(pages: list[dict[str, Any]], votes: str) -> Any:
    import lightgbm
    import numpy as np

    rows = np.array([row for page in pages for row in page[votes]])
    goals = np.array([goal for page in pages for goal in page["goals"]])
    weights = np.array([weight for page in pages for weight in page["weights"]])
    used = weights > 0
    data = lightgbm.Dataset(rows[used], goals[used], weight=weights[used] / weights[used].mean())
    return lightgbm.train(PARAMETERS, data, TREES)


def score(run: Any, pages: list[dict[str, Any]], chosen: list[str]) -> str:
    shingles, words, segments, kinds = [], [], [], defaultdict(list)
    for page, text in zip(pages, chosen, strict=True):
        labels = page["labels"]
        reference = labels.get("text") or labels.get("articleBody")
        if labels["source"] == "scrapinghub":
            shingles.append(run.shingle(reference, text))
        elif labels["source"] == "wcxb":
            words.append(run.word(reference, text))
            kinds[labels["page_type"]].append(words[-1][2])
        else:
            segments.append(run.snippet(labels.get("with") or [], labels.get("without") or [], text))
    word = tuple(statistics.mean(column) for column in zip(*words, strict=True))
    figures = {"shingle": run.shingle_scores(shingles), "word": word, "segments": run.snippet_scores(segments)}
    lines = [f"{name}: precision {p:.3f} recall {r:.3f} F1 {f:.3f}" for name, (p, r, f) in figures.items()]
    kinds_line = " ".join(f"{kind} {statistics.mean(row):.3f}" for kind, row in sorted(kinds.items()))
    lines.append(f"word F1 by page type: {kinds_line}")
    return "\n".join(lines)


def written(votes: str, trees: list[dict[str, Any]]) -> str:
    """A function of the package: the sum of what the trees say of a row of features, as one expression.

    Compiled Python takes two fifths of the time of a walk over lists of nodes.
    """
    lines = (f"        {'+ ' if place else ''}{said(tree)}" for place, tree in enumerate(trees))
    told = f'"""The log-odds that a block is content, by the votes of {votes}."""'
    return "\n".join((f"def {votes}(r: Sequence[float]) -> float:", f"    {told}", "    return (", *lines, "    )"))


def said(node: dict[str, Any]) -> str:
    """What a tree says of the row `r`."""
    if "leaf_value" in node:
        return repr(round(node["leaf_value"], 5))
    low, high = said(node["left_child"]), said(node["right_child"])
    return f"({low} if r[{node['split_feature']}] <= {round(node['threshold'], 6)!r} else {high})"


def names_hash(features: tuple[str, ...]) -> str:
    """What the module of the trees knows the features by."""
    return hashlib.sha256("\n".join(features).encode()).hexdigest()[:16]


def module(features: tuple[str, ...], trees: dict[str, list[dict[str, Any]]]) -> str:
    """The text of the module that holds the trees."""
    head = '''"""The trees of `main_content`, written by `benchmarks/content_model.py`."""

# A tree to a line: compiled comparisons are what reading is fast by, and nobody edits them by hand.
# ruff: noqa: E501
# fmt: off

from collections.abc import Sequence
'''
    named = (
        "# Of the names of the features, in order: trees that were trained on others say nothing.\n"
        f'FEATURES_SHA256 = "{names_hash(features)}"'
    )
    return "\n\n\n".join((f"{head}\n{named}", *(written(votes, trees[votes]) for votes in trees))) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--skip-validation", action="store_true")
    arguments = parser.parse_args()
    sys.path.insert(0, str(arguments.folder))
    run = importlib.import_module("run")
    with ProcessPoolExecutor(2) as pool:
        pages = list(pool.map(read_page, sorted((arguments.folder / "public").glob("*.json")), chunksize=8))
    print(f"{len(pages)} pages, {sum(len(page['texts']) for page in pages):,} blocks", flush=True)
    readable = [page for page in pages if page["one"]]
    if arguments.write:
        from pincite.fetch.extractors.features import FEATURES

        models = {votes: train(readable, votes).dump_model()["tree_info"] for votes in ("one", "both")}
        trees = {votes: [tree["tree_structure"] for tree in model] for votes, model in models.items()}
        TARGET.write_text(module(FEATURES, trees), encoding="utf-8")
        print(f"wrote {TARGET.name}, {TARGET.stat().st_size:,} bytes", flush=True)
    if not arguments.skip_validation:
        print(validate(run, pages))


def validate(run: Any, pages: list[dict[str, Any]]) -> str:
    def site(page: dict[str, Any]) -> str:
        return ".".join((urlsplit(page["labels"].get("url") or "").hostname or page["name"]).split(".")[-2:])

    sites = sorted({site(page) for page in pages})
    random.Random(1).shuffle(sites)
    fold = {name: index % 5 for index, name in enumerate(sites)}
    chosen = [""] * len(pages)
    asked = 0
    for number in range(5):
        learnt = [page for page in pages if page["one"] and fold[site(page)] != number]
        one, both = train(learnt, "one"), train(learnt, "both")
        for index, page in enumerate(pages):
            if not page["one"] or fold[site(page)] != number:
                continue
            if page["fixed"] is not None:
                chosen[index] = page["fixed"]
                continue
            layout = page["layout"]
            odds = layout.likely([float(value) for value in one.predict(page["one"])])
            if layout.is_unsure(odds):
                asked += 1
                odds = layout.likely([float(value) for value in both.predict(page["both"])])
            kept = layout.kept(odds)
            if not any(kept):
                kept = [True] * len(kept)
            chosen[index] = "\n\n".join(compress(page["texts"], kept))
    print(f"the costly reader was asked about {asked} of {len(pages)} pages")
    return score(run, pages, chosen)


if __name__ == "__main__":
    main()
