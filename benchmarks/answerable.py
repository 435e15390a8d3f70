"""How well one number tells questions that the pages answer from those they only touch on, and where its limit lies.

    python benchmarks/answerable.py collect OUT.jsonl --work DIR --sites DIR --config FILE --questions FILE ...
    python benchmarks/answerable.py collect OUT.jsonl --qa FOLDER [--every N]
    python benchmarks/answerable.py show SCORES.jsonl ...

`collect --sites` asks each question as it is and again with the pages that answer it hidden, and keeps the number
(pincite.research.extractive.answerable) of each part. Questions that another page answers in part
(stated_elsewhere.jsonl) are kept apart. `collect --qa` asks about encyclopaedia articles, whole and without the
paragraph that answers. `show` prints the area under the ROC and, for each group, what is refused and recognised with
the limit that the product has and with one chosen on the other groups only.
"""

import argparse
import json
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import anyio
from questions import ask, gold_of, library_of, load, settings_of, stated_elsewhere

from pincite.research.extractive.answerable import LEAST_SCORE, answer_score
from pincite.research.extractive.parts import split_question
from pincite.research.extractive.passages import cut
from pincite.research.extractive.questions import read_question
from pincite.research.extractive.ranking import PassageIndex
from pincite.research.extractive.shelf import Shelf
from pincite.testing.small_web import document_of
from pincite.wiring import open_parts

REFUSED = 0.09
Row = dict[str, Any]


async def collect(args: argparse.Namespace) -> None:
    args.work.mkdir(parents=True, exist_ok=True)
    library = library_of(args.sites, args.config, args.work)
    settings, limits = settings_of(library, args.work, "standard")
    async with open_parts(settings) as parts:
        await parts.index(library)
        elsewhere = await stated_elsewhere(args.stated_elsewhere, parts)
        with args.out.open("w") as out:
            for question in [q for file in args.questions for q in load(file)][:: args.every]:
                known = question["id"].startswith("pub-") and question["kind"] in ("fact", "synthesis")
                for hidden in (frozenset[str](), gold_of(question)) if known else (frozenset[str](),):
                    shelf = Shelf()
                    await ask(parts, limits, question["question"], hidden, shelf=shelf)
                    row = {
                        "id": question["id"],
                        "group": question["sites"][0],
                        "answerable": question["kind"] != "unanswerable" and not hidden,
                        "elsewhere": bool(hidden) and question["id"] in elsewhere,
                        "scores": [score(shelf.index(()), part) for part in split_question(question["question"])],
                    }
                    out.write(json.dumps(row) + "\n")


def score(index: PassageIndex, question: str) -> float:
    ask_ = read_question(question)
    return round(answer_score(ask_, index.statements(ask_)), 4)


def collect_qa(args: argparse.Namespace) -> None:
    articles = {d["id"]: d for d in load(args.qa / "docs.jsonl") if d["source"] == "xquad"}
    questions = [q for q in load(args.qa / "questions.jsonl") if q["source"] == "xquad"][:: args.every]
    most = max(article["text"].count("\n\n") for article in articles.values()) + 1
    with args.out.open("w") as out:
        for without in (None, *range(most)):
            index = PassageIndex()
            for article in articles.values():
                kept = [text for n, text in enumerate(article["text"].split("\n\n")) if n != without]
                page = document_of("\n\n".join([f"# {article['title']}", *kept]))
                index.add(article["url"], cut(article["url"], page))
            for question in questions:
                if without is None or without == answering_paragraph(question, articles):
                    row = {"id": question["id"], "group": "xquad", "answerable": without is None, "elsewhere": False}
                    out.write(json.dumps(row | {"scores": [score(index, question["question"])]}) + "\n")


def answering_paragraph(question: Row, articles: dict[str, Row]) -> int | None:
    """The number of the one paragraph that has the evidence; None when several have it."""
    paragraphs = articles[question["gold_doc_ids"][0]]["text"].split("\n\n")
    found = [n for n, text in enumerate(paragraphs) if question["evidence"][0]["quote"] in text]
    return found[0] if len(found) == 1 else None


# ---- what it comes to ---------------------------------------------------------------------------------------------


def best(row: Row) -> float:
    """The score of the part that is answered best: what the report goes by."""
    return max(row["scores"], default=0.0)


def area(rows: Sequence[Row]) -> float:
    no = sorted(best(row) for row in rows if not row["answerable"])
    yes = [best(row) for row in rows if row["answerable"]]
    ranks = sum((bisect_left(no, value) + bisect_right(no, value)) / 2 for value in yes)
    return ranks / (len(yes) * len(no) or 1)


def limit_of(rows: Sequence[Row]) -> float:
    """The limit that refuses at most 9 % of the answerable ones among these."""
    yes = sorted(best(row) for row in rows if row["answerable"])
    return yes[int(REFUSED * len(yes))]


def below(rows: Sequence[Row], limit: float) -> str:
    counts = [
        (sum(best(row) < limit for row in some), len(some))
        for some in ([r for r in rows if r["answerable"]], [r for r in rows if not r["answerable"]])
    ]
    (refused, answerable), (recognised, absent) = counts
    return f"refused {refused} of {answerable}, recognised {recognised} of {absent}"


def shown(rows: Sequence[Row]) -> Iterator[str]:
    absent = [row for row in rows if not row["elsewhere"]]
    groups = sorted({row["group"] for row in absent})
    for group in groups:
        inside = [row for row in absent if row["group"] == group]
        others = [row for row in absent if row["group"] != group]
        line = f"{group:20} area {area(inside):.2f}; limit {LEAST_SCORE}: {below(inside, LEAST_SCORE)}"
        if others:
            limit = limit_of(others)
            line += f"; limit of the others {limit:.2f}: {below(inside, limit)}"
        yield line
    yield f"{'all':20} area {area(absent):.2f}; limit {LEAST_SCORE}: {below(absent, LEAST_SCORE)}"
    left = [row for row in rows if row["elsewhere"]]
    refused = sum(best(row) < LEAST_SCORE for row in left)
    yield f"stated elsewhere, for comparison: {refused} of {len(left)} below the limit"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, dest="command")
    collecting = commands.add_parser("collect")
    collecting.add_argument("out", type=Path)
    collecting.add_argument("--questions", type=Path, nargs="+", default=[])
    collecting.add_argument("--qa", type=Path)
    collecting.add_argument("--sites", type=Path)
    collecting.add_argument("--config", type=Path)
    collecting.add_argument("--work", type=Path)
    collecting.add_argument("--every", type=int, default=1)
    collecting.add_argument("--stated-elsewhere", type=Path, default=Path(__file__).with_name("stated_elsewhere.jsonl"))
    commands.add_parser("show").add_argument("files", type=Path, nargs="+")
    args = parser.parse_args()
    if args.command == "show":
        print("\n".join(shown([row for file in args.files for row in load(file)])))
    elif args.qa:
        collect_qa(args)
    else:
        anyio.run(collect, args)
    return 0


if __name__ == "__main__":
    sys.exit(main())
