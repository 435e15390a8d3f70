"""Whether the passage that answers is among the best: questions that were each written for one passage of a manual.

    python benchmarks/found_passages.py --sites DIR [--only SITE,SITE] [--questions FILE.jsonl]

DIR holds the manuals, a folder for each Debian package that `found_passages.jsonl` names. Strong readers wrote the
questions, in words of their own, for passages drawn at random; no weight was fitted on them. Another passage may
answer as well, so the shares are lower than a reader would give. Printed are the shares of questions whose passage is
among the best 1, 3, 6 and 10 by the shipped weights: by words; by meaning without comparing words one by one; by both.
Then the gain of the last at three, with its standard error over questions. Needs the extra `embeddings`.
"""

import argparse
import json
import math
import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pincite.domain.page import Document
from pincite.embeddings.local import MiniLm
from pincite.fetch.extractors import BytesExtractor
from pincite.ports import Embedder
from pincite.ranking.passages import CutPassage, cut_passages, passage_text
from pincite.ranking.ranker import PassageRanker, Source
from pincite.ranking.vectors import KeptVectors

PLACES = (1, 3, 6, 10)


class Whole:
    """Implements `ranking.passages.KnownPassages`: the passages of a manual with their vectors."""

    def __init__(self, documents: Sequence[Document], embedder: KeptVectors) -> None:
        self._cut = {document.document_id: cut_passages(document) for document in documents}
        self._vectors = {
            document.document_id: np.array(
                embedder.embed(
                    [
                        passage_text(document.title, cut.draft.section, document.text[cut.draft.start : cut.draft.end])
                        for cut in self._cut[document.document_id]
                    ]
                )
            )
            for document in documents
        }

    def cut_passages(self, document_id: str) -> Sequence[CutPassage] | None:
        return self._cut.get(document_id)

    def passages_near(self, document_id: str, wanted: Sequence[float]) -> Mapping[int, float]:
        if not self._cut[document_id]:
            return {}
        near = self._vectors[document_id] @ np.array(wanted)
        return {cut.draft.start: float(value) for cut, value in zip(self._cut[document_id], near, strict=True)}

    def __len__(self) -> int:
        return sum(map(len, self._cut.values()))


class WholeTexts:
    """An embedder in front of another one that hides that it compares words."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        return self._embedder.embed(texts)


def pages_of(folder: Path) -> Iterator[tuple[str, Document]]:
    """The pages of a manual by their path in it."""
    reader = BytesExtractor()
    for path in sorted(folder.rglob("*.html")):
        name = path.relative_to(folder).as_posix()
        yield name, reader.extract(path.read_bytes(), f"https://{folder.name}.test/{name}", "text/html")


def place_of(row: Mapping[str, Any], ranker: PassageRanker, sources: Sequence[Source]) -> int:
    """The place of the passage that the question was written for, from 1; a large one where it is not ranked."""
    ranked = ranker.rank(row["question"], sources).passages
    for place, passage in enumerate(ranked, 1):
        if passage.source.url == row["page"] and " ".join(passage.text.split()).startswith(row["begins"]):
            return place
    return len(ranked) + max(PLACES)


def measured(site: Path, rows: Sequence[Mapping[str, Any]], model: MiniLm) -> tuple[int, list[tuple[int, ...]]]:
    """How many passages a manual has, and for each question the place of its passage in each order."""
    pages = list(pages_of(site))
    sources = [Source(name, document) for name, document in pages]
    embedder = KeptVectors(model)
    whole = Whole([document for _, document in pages], embedder)
    rankers = (
        PassageRanker(None, whole),
        PassageRanker(WholeTexts(embedder), whole),
        PassageRanker(embedder, whole),
    )
    return len(whole), [tuple(place_of(row, ranker, sources) for ranker in rankers) for row in rows]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sites", type=Path, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--questions", type=Path, default=Path(__file__).with_suffix(".jsonl"))
    given = parser.parse_args()
    by_site: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for line in given.questions.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        by_site[row["site"]].append(row)
    wanted = [name for name in given.only.split(",") if name] or list(by_site)
    model, places, passages = MiniLm(), list[tuple[int, ...]](), 0
    for site in wanted:
        count, found = measured(given.sites / site, by_site[site], model)
        passages += count
        places += found
        best = sum(one[2] <= 3 for one in found) / len(found)
        print(f"{site}: {len(found)} questions, {count} passages; among the best three {best:.2f}", flush=True)
    print(f"{len(places)} questions over {passages} passages; among the best {' / '.join(map(str, PLACES))}")
    for order, name in enumerate(("words", "meaning", "meaning, word by word")):
        shares = (sum(one[order] <= most for one in places) / len(places) for most in PLACES)
        print(f"  {name:<22} {' / '.join(f'{share:.2f}' for share in shares)}")
    gains = [(one[2] <= 3) - (one[1] <= 3) for one in places]
    error = statistics.stdev(gains) / math.sqrt(len(gains))
    print(f"  gain at three: {100 * statistics.mean(gains):.1f} points, standard error {100 * error:.1f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
