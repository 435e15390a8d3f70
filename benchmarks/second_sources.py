"""second_sources.py [--json FILE]: how many claims that two publishers state in other words get both as sources.

Made libraries of two publishers each (second_sources.json): twelve facts that both state, no sentence copied; three
that only one has; three for which the other gives another value; and pages about other things. Each sentence of the
first is asked about in a thorough run of its own. The judge is a label judge: it knows which sentence of one publisher
states which of the other, and finds everything else absent, so what is measured is the searching and the choice of
passages, not a model.
"""

import argparse
import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import anyio

from pincite.domain.evidence import Relation
from pincite.domain.report import Report
from pincite.engine import Engine
from pincite.testing.judges import PageReader
from pincite.testing.web import html, write_warc

DATA = Path(__file__).with_name("second_sources.json")
_FACTS_A_PAGE = 3
_FILLER_PAGES = 40


def pages_of(library: dict[str, Any]) -> dict[str, bytes]:
    """The pages of both publishers: the first has all on two pages, the second three facts a page among other news."""
    (first, second), (title, other) = library["hosts"], library["titles"]
    own = [pair[0] for pair in library["both"] + library["other_value"]] + library["only_first"]
    half = len(own) // 2
    pages = {f"https://{first}/{n}": html(title, *part) for n, part in enumerate((own[:half], own[half:]))}
    said = [pair[1] for pair in library["both"] + library["other_value"]]
    fillers = library["fillers"]
    for n in range(0, len(said), _FACTS_A_PAGE):
        pages[f"https://{second}/{n}"] = html(f"{other}, part {n}", fillers[n % 3], *said[n : n + _FACTS_A_PAGE])
    for n in range(_FILLER_PAGES):
        pages[f"https://{second}/news/{n}"] = html(f"News {n}", *(f"{text} Note {n}." for text in fillers))
    return pages


def judge_of(library: dict[str, Any]) -> PageReader:
    """Knows for each sentence the words of the other publisher that state it."""
    pairs = [*library["both"]]
    return PageReader(dict(pairs) | {other: one for one, other in pairs})


async def ask(library: dict[str, Any], embeddings: str) -> list[tuple[Report, PageReader]]:
    """A report on each sentence of the first publisher, asked in its words, and the judge that was asked."""
    found: list[tuple[Report, PageReader]] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "library.warc.gz"
        write_warc(path, pages_of(library))
        settings: dict[str, Any] = {
            "home": folder,
            "profile": "thorough",
            "source": [f"local:{path}"],
            "embeddings": embeddings,
        }
        for sentence in [pair[0] for pair in library["both"] + library["other_value"]] + library["only_first"]:
            judge = judge_of(library)
            async with Engine.from_settings(**settings, judge=judge) as engine:
                found.append((await engine.research(f"Is it true that {sentence[0].lower()}{sentence[1:-1]}?"), judge))
    return found


def counted(library: dict[str, Any], report: Report) -> Counter[str]:
    """The printed claims by what the two publishers say, and how many of each have both as sources."""
    both = {sentence for pair in library["both"] for sentence in pair}
    other = {sentence for pair in library["other_value"] for sentence in pair}
    found: Counter[str] = Counter()
    for claim in report.claims:
        kind = "both" if claim.text in both else "other_value" if claim.text in other else "one"
        found[kind] += 1
        found[f"{kind}_seconded"] += claim.independent_sources > 1
        found["corroborations"] += sum(item.relation is Relation.CORROBORATES for item in claim.evidence)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    figures: list[dict[str, Any]] = []
    for library in json.loads(DATA.read_text("utf-8")):
        for embeddings in ("minilm", "none"):
            total: Counter[str] = Counter()
            for report, judge in anyio.run(ask, library, embeddings):
                total += counted(library, report)
                total["searches"] += report.metrics.searches
                total["pages"] += report.metrics.pages_fetched
                total["cases_judged"] += len(judge.asked)
            share = total["both_seconded"] / total["both"] if total["both"] else 0.0
            figures.append({"part": library["part"], "ranked by": embeddings, "share": round(share, 3), **total})
            print(
                f"{library['part']}, {embeddings}: {total['both_seconded']} of {total['both']} claims that both state "
                f"have both as sources ({share:.0%}); of {total['one']} that one states {total['one_seconded']}, of "
                f"{total['other_value']} with another value {total['other_value_seconded']}; {total['searches']} "
                f"searches, {total['pages']} pages, {total['cases_judged']} passages judged"
            )
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
