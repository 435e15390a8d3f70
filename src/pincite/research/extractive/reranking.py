"""The best passages ranked again by meaning: what says the same in other words moves up. Off without an embedder."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256

from pincite.ports import Embedder
from pincite.research.extractive.passages import Passage, heading_text
from pincite.research.extractive.scoring import Scored

PASSAGES = 50
"""Only so many are embedded: the rest was far below by words, and each costs."""
_PASSAGE_CHARS = 1_000
_KEPT_VECTORS = 4_096
_LEAST, _SPREAD = 0.75, 0.5
"""A passage's statements count 0.75 when it means something else, up to 1.25 when it says what the question says."""


class Reranker:
    """Multiplies scores by nearness in meaning. Vectors are kept by content, for later rounds and sub-questions."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._vectors: OrderedDict[bytes, Sequence[float]] = OrderedDict()

    def rerank(self, question: str, scored: Sequence[Scored]) -> list[Scored]:
        """The statements in their new order. CPU work: call it from a worker thread."""
        passages = {id(item.passage): item.passage for item in scored}
        best = dict(list(passages.items())[:PASSAGES])
        texts = [_text_of(passage) for passage in best.values()]
        wanted, *found = self._embedded([question, *texts])
        factors = {
            name: _LEAST + _SPREAD * max(_product(wanted, vector), 0.0)
            for name, vector in zip(best, found, strict=True)
        }
        moved = [replace(item, score=item.score * factors.get(id(item.passage), _LEAST)) for item in scored]
        return sorted(moved, key=lambda item: (-item.score, -item.coverage))

    def _embedded(self, texts: Sequence[str]) -> list[Sequence[float]]:
        names = [sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        fresh = {name: text for name, text in zip(names, texts, strict=True) if name not in self._vectors}
        self._vectors.update(zip(fresh, self._embedder.embed(list(fresh.values())), strict=True))
        found = [self._vectors[name] for name in names]
        while len(self._vectors) > _KEPT_VECTORS:
            self._vectors.popitem(last=False)
        return found


def _text_of(passage: Passage) -> str:
    """What is embedded of a passage: where it stands, then its words."""
    words = " ".join(passage.text(statement.span) for statement in passage.statements)
    head = passage.text(passage.head) if passage.head else ""
    return " ".join(f"{heading_text(passage)}. {head} {words}".split())[:_PASSAGE_CHARS]


def _product(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))
