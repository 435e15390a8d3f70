"""Questions whose answer takes several pages: are all gold passages cited when a planner follows what was found?

    python benchmarks/multi_hop.py QA_FOLDER --work DIR [--every 2] [--rules]

The planner knows the labels and uses of them only what a good planner could know: it asks for a gold page by its title
or its labelled question once the names in it stand in the question asked or in a line that was composed from. The
writer tells each labelled sentence that it is shown. Everything else is the product: search, passages, rounds, parts
that wait for another's answer, proof, the report. `--rules` gives the planning of the first round back to rules.
"""

import argparse
import json
import re
from collections import Counter
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

import anyio
from questions import qa_library

from pincite.domain.events import Json
from pincite.domain.model import RESEARCH_ROLES, ModelRole
from pincite.domain.report import broken_rules
from pincite.engine import Engine
from pincite.settings import load_settings
from pincite.testing.models import FaithfulModel, Seen, composed, paragraph, section
from pincite.testing.models import said as sentence
from pincite.text.sentences import sentences
from pincite.text.tokens import is_stop, terms, words

# Headings state no figure; each round has its own, so that it takes the place of none before it.
NUMBERS = ("none", "one", "two", "three", "four", "five", "six")


def bare(text: str) -> str:
    return " ".join(words(text)).lower()


@dataclass(frozen=True)
class Hop:
    """A gold page: the sentence that is read there, and how it is asked for once `needs` have been said."""

    asked: str
    needs: tuple[tuple[int, str], ...]
    quote: str

    def wording(self, found: str) -> str:
        """The query, when all that it needs stands in what was found; else nothing."""
        if not all(said(text, found) for _, text in self.needs):
            return ""
        asked = self.asked
        for number, text in self.needs:
            asked = asked.replace(f"#{number}", text)
        return asked


def said(name: str, text: str) -> bool:
    """Whether all words of the name stand in the text."""
    wanted = set(terms(re.sub(r"\(.*?\)", "", name)))
    return bool(wanted) and wanted <= set(terms(text))


def hops_of(row: dict[str, Any], docs: dict[str, dict[str, Any]]) -> list[Hop]:
    """HotpotQA names a sentence of each gold page, found by its title; MuSiQue a question and an answer for each."""
    if "evidence" in row:
        titles = [docs[found["doc_id"]]["title"] for found in row["evidence"]]
        return [Hop(t, ((0, t),), found["quote"]) for t, found in zip(titles, row["evidence"], strict=True)]
    hops = row["sub_questions"]
    answers = [hop["answer"] for hop in hops]
    # Gold pages come in no order: each hop has the one that says its answer and shares most words with its question.
    texts = [f"{docs[name]['title']}. {docs[name]['text']}" for name in row["gold_doc_ids"]]
    wanted = [set(terms(re.sub(r"#\d", lambda found: answers[int(found[0][1:]) - 1], hop["question"]))) for hop in hops]

    def fits(hop: int, text: str) -> float:
        return 2 * said(answers[hop], text) + len(wanted[hop] & set(terms(text))) / max(len(wanted[hop]), 1)

    best = max(permutations(texts), key=lambda order: sum(map(fits, range(len(hops)), order)))
    found: list[Hop] = []
    for hop, text, asked in zip(hops, best, wanted, strict=False):
        lines = [text[span.start : span.end] for span in sentences(text)]
        quote = max(lines, key=lambda line: (said(hop["answer"], line), len(asked & set(terms(line)))))
        needs = tuple((int(n), answers[int(n) - 1]) for n in re.findall(r"#(\d)", hop["question"]))
        found.append(Hop(hop["question"], needs, quote))
    return found


class LabelReader(FaithfulModel):
    """Plans and reads by the labels of one question."""

    def __init__(self, hops: list[Hop], roles: tuple[ModelRole, ...]) -> None:
        super().__init__(roles=roles)
        self._hops = hops
        self._asked: set[str] = set()
        self._found: set[int] = set()
        self._read: list[str] = []

    def plan(self, seen: Seen) -> Json:
        """A part for each gold page; one whose wording nobody can know yet waits for the part before it."""
        parts: list[Json] = []
        content = " ".join(word for word in words(seen.question) if not is_stop(word))
        for number, hop in enumerate(self._hops, start=1):
            wording = hop.wording(seen.question)
            self._asked |= {wording}
            parts.append(
                {
                    "question": f"{seen.question} (page {number})",
                    "heading": f"Page {number}",
                    "queries": [wording or content],
                    "depends_on": 0 if wording else number - 1,
                }
            )
        return {"parts": parts}

    def compose(self, seen: Seen) -> Json:
        """The labelled sentences that are shown, word for word; what can be asked now, each once."""
        told: list[Json] = []
        parts = list(seen.parts)
        for number, hop in enumerate(self._hops, start=1):
            wanted = bare(hop.quote)
            lines = [name for name, text in seen.citable.items() if (b := bare(text)) and b in wanted]
            part = str(number) if str(number) in parts else next(iter(parts), "")
            told += [sentence(seen.citable[name], name, part=part) for name in lines]
            self._found |= {number} if lines else set()
            self._read += [seen.citable[name] for name in lines]
        said_so_far = " ".join([seen.question, *self._read])
        found = " and ".join(map(NUMBERS.__getitem__, sorted(self._found)))
        missing: list[Json] = []
        for name in parts:
            at = int(name) - 1
            if int(name) in self._found or at >= len(self._hops):
                continue
            wording = self._hops[at].wording(said_so_far)
            fresh: list[Json] = [wording] if wording and wording not in self._asked else []
            self._asked |= {wording} if fresh else set()
            missing.append({"part": name, "what": "", "queries": fresh, "question": f"{wording}?" if wording else ""})
        for name in set(map(str, range(1, len(self._hops) + 1))) - set(parts) if len(parts) == 1 else ():
            at = int(name) - 1
            wording = self._hops[at].wording(said_so_far)
            if int(name) not in self._found and wording and wording not in self._asked:
                self._asked.add(wording)
                missing.append({"part": parts[0], "what": "", "queries": [wording]})
        return composed(sections=[section(f"Pages {found}", paragraph(*told))] if told else [], missing=missing)


async def main_async(arguments: argparse.Namespace) -> None:
    docs = {doc["id"]: doc for doc in map(json.loads, (arguments.folder / "docs.jsonl").read_text().splitlines())}
    rows = [json.loads(line) for line in (arguments.folder / "questions.jsonl").read_text().splitlines()]
    rows = [row for row in rows if len(row["gold_doc_ids"]) > 1][:: arguments.every]
    rows = [row for row in rows if arguments.only in ("", row["source"])]
    library = qa_library(arguments.folder, arguments.work)
    roles = tuple(role for role in RESEARCH_ROLES if not (arguments.rules and role is ModelRole.PLANNER))
    settings = load_settings(
        {"home": arguments.work / "home", "source": (f"local:{library}",), "max_rounds": arguments.rounds},
        environ={},
        files=(),
    )
    counts: Counter[str] = Counter()
    for row in rows:
        async with Engine(settings, model=LabelReader(hops_of(row, docs), roles)) as engine:
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
                f"  {row['id']}: {row['question']}\n    missing {[docs[name]['title'] for name in gold - cited]}",
                flush=True,
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
    parser.add_argument("--only", default="", help="hotpot or musique")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--rules", action="store_true")
    parser.add_argument("--tell", action="store_true", help="name the questions whose gold passages are not all cited")
    arguments = parser.parse_args()
    arguments.work = arguments.work.resolve()
    arguments.work.mkdir(parents=True, exist_ok=True)
    anyio.run(main_async, arguments)


if __name__ == "__main__":
    main()
