"""BM25 over lists of terms held in memory. Large collections live in the library's own index."""

import math
from collections import Counter
from collections.abc import Sequence

_K1 = 1.2
_B = 0.75


class Bm25:
    """Scores of documents for a query. Built once, asked often; the documents are not kept.

    Source: Robertson and Zaragoza 2009, with the idf of Lucene (never negative).
    """

    def __init__(self, documents: Sequence[Sequence[str]], *, k1: float = _K1, b: float = _B) -> None:
        self._count = len(documents)
        self._k1 = k1
        lengths = [len(document) for document in documents]
        average = (sum(lengths) / len(lengths) if lengths else 0.0) or 1.0
        self._norms = [k1 * (1 - b + b * length / average) for length in lengths]
        self._postings: dict[str, list[tuple[int, int]]] = {}
        for index, document in enumerate(documents):
            for term, count in Counter(document).items():
                self._postings.setdefault(term, []).append((index, count))

    def idf(self, term: str) -> float:
        """How rare the term is here: 0 would be everywhere, higher is rarer; an unknown term is the rarest."""
        found = len(self._postings.get(term, ()))
        return math.log(1 + (self._count - found + 0.5) / (found + 0.5))

    def scores(self, query_terms: Sequence[str]) -> tuple[float, ...]:
        """One score for each document in the order given; 0 means no query term occurs in it."""
        totals = [0.0] * self._count
        for term, weight in Counter(query_terms).items():
            idf = self.idf(term) * weight
            for index, count in self._postings.get(term, ()):
                totals[index] += idf * count * (self._k1 + 1) / (count + self._norms[index])
        return tuple(totals)
