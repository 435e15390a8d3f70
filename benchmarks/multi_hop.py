"""Questions whose answer takes several pages: are all gold passages cited when a planner follows what was found?

    python benchmarks/multi_hop.py QA_FOLDER --work DIR [--every 2] [--rules]

The planner knows the labels and uses of them only what a good planner could know: it searches for the title of a gold
page once that title stands in the question or in a statement that the run has proven. The analyst makes a claim of
each labelled sentence that it is shown. Everything else is the product: search, windows, rounds, parts that wait for
another's answer, proof, the report. `--rules` gives the planning back to rules, to see what the planner is worth.
"""

import argparse
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import anyio
from questions import qa_library

from pincite.domain.events import Json
from pincite.domain.model import RESEARCH_ROLES, ModelRole
from pincite.domain.report import broken_rules
from pincite.engine import Engine
from pincite.settings import load_settings
from pincite.testing.models import FaithfulModel, Seen
from pincite.text.tokens import is_stop, terms, words


def bare(text: str) -> str:
    return " ".join(words(text)).lower()


class LabelReader(FaithfulModel):
    """Plans and reads by the labels of one question."""

    def __init__(self, row: dict[str, Any], titles: dict[str, str], roles: tuple[ModelRole, ...]) -> None:
        super().__init__(roles=roles)
        self._gold = [(titles[found["doc_id"]], found["quote"]) for found in row["evidence"]]
        self._asked: set[str] = set()

    def plan(self, seen: Seen) -> Json:
        """A part for each gold page; one whose title nobody has said yet waits for the part before it."""
        parts: list[Json] = []
        for number, (title, _) in enumerate(self._gold, start=1):
            known = self._said(title, seen.question)
            content = " ".join(word for word in words(seen.question) if not is_stop(word))
            self._asked |= {title} if known else set()
            parts.append(
                {
                    "question": f"{seen.question} (page {number})",
                    "heading": f"Page {number}",
                    "kind": "any",
                    "queries": [title] if known else [content],
                    "depends_on": 0 if known else number - 1,
                }
            )
        return {"parts": parts}

    def follow_up(self, seen: Seen) -> Json:
        """The titles that what was found has named by now, each asked for once."""
        found = " ".join([seen.question, *seen.lines.values()])
        parts: list[Json] = []
        for name in seen.listed("Open parts"):
            at = int(name) - 1
            title = self._gold[at][0] if at < len(self._gold) else ""
            if title and title not in self._asked and self._said(title, found):
                self._asked.add(title)
                parts.append({"part": name, "question": f"What is said of {title}?", "queries": [title]})
        return {"parts": parts}

    def analyse(self, seen: Seen) -> Json:
        """The labelled sentences that are shown, word for word."""
        claims: list[Json] = []
        for number, (_, quote) in enumerate(self._gold, start=1):
            wanted = bare(quote)
            lines: list[Json] = [
                name for name, text in seen.lines.items() if name.startswith("s") and (b := bare(text)) and b in wanted
            ]
            if lines:
                text = " ".join(seen.lines[str(name)] for name in lines)
                claims.append({"text": text, "part": str(number), "lines": lines, "confidence": 0.9})
        return {"claims": claims}

    @staticmethod
    def _said(title: str, text: str) -> bool:
        name = set(terms(re.sub(r"\(.*?\)", "", title)))
        return bool(name) and name <= set(terms(text))


async def main_async(arguments: argparse.Namespace) -> None:
    titles = {
        doc["id"]: doc["title"] for doc in map(json.loads, (arguments.folder / "docs.jsonl").read_text().splitlines())
    }
    rows = [json.loads(line) for line in (arguments.folder / "questions.jsonl").read_text().splitlines()]
    rows = [row for row in rows if len(row["gold_doc_ids"]) > 1][:: arguments.every]
    library = qa_library(arguments.folder, arguments.work)
    roles = tuple(role for role in RESEARCH_ROLES if not (arguments.rules and role is ModelRole.PLANNER))
    settings = load_settings(
        {"home": arguments.work / "home", "source": (f"local:{library}",), "max_rounds": arguments.rounds},
        environ={},
        files=(),
    )
    counts: Counter[str] = Counter()
    for row in rows:
        async with Engine(settings, model=LabelReader(row, titles, roles)) as engine:
            report = await engine.research(row["question"])
        cited = {Path(reference.url).stem for reference in report.references}
        gold = set(row["gold_doc_ids"])
        for name in ("all", row["source"]):
            counts[f"{name} questions"] += 1
            counts[f"{name} all gold cited"] += gold <= cited
            counts[f"{name} gold passages"] += len(gold)
            counts[f"{name} gold passages cited"] += len(gold & cited)
        counts["broken rules"] += len(list(broken_rules(report)))
        if not gold <= cited and arguments.tell:
            print(
                f"  {row['id']}: {row['question']}\n    missing {[titles[name] for name in gold - cited]}", flush=True
            )
    for name in ("all", *sorted({row["source"] for row in rows})):
        questions, passages = counts[f"{name} questions"], counts[f"{name} gold passages"]
        print(
            f"{name}: all gold passages cited {counts[f'{name} all gold cited']} of {questions} = "
            f"{counts[f'{name} all gold cited'] / questions:.0%} (aim 70 %); "
            f"gold passages {counts[f'{name} gold passages cited']} of {passages}"
        )
    print(f"broken rules: {counts['broken rules']}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--rules", action="store_true")
    parser.add_argument("--tell", action="store_true", help="name the questions whose gold passages are not all cited")
    arguments = parser.parse_args()
    arguments.work = arguments.work.resolve()
    arguments.work.mkdir(parents=True, exist_ok=True)
    anyio.run(main_async, arguments)


if __name__ == "__main__":
    main()
