"""How near texts are: BM25 over lists of terms in memory, near-duplicates, and words that differ by a typo."""

import itertools
import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

# Robertson and Zaragoza 2009: 1.2 to 2 is usual.
_K1 = 1.2
# The usual value, from the same source.
_B = 0.75


class Bm25:
    """Scores of documents for a query. Built once, asked often; the documents are not kept.

    Source: Robertson and Zaragoza 2009, with the idf of Lucene (never negative).
    """

    def __init__(self, documents: Sequence[Sequence[str]]) -> None:
        self._count = len(documents)
        lengths = [len(document) for document in documents]
        average = (sum(lengths) / len(lengths) if lengths else 0.0) or 1.0
        self._norms = [_K1 * (1 - _B + _B * length / average) for length in lengths]
        self._postings: dict[str, list[tuple[int, int]]] = {}
        for index, document in enumerate(documents):
            for term, count in Counter(document).items():
                self._postings.setdefault(term, []).append((index, count))

    def idf(self, term: str) -> float:
        """How rare the term is here: 0 would be everywhere, higher is rarer; an unknown term is the rarest."""
        found = len(self._postings.get(term, ()))
        # Never negative, as Lucene has it: in a handful of documents a word of the question may stand in all of them.
        return math.log(1 + (self._count - found + 0.5) / (found + 0.5))

    def scores(self, query_terms: Sequence[str]) -> tuple[float, ...]:
        """One score for each document in the order given; 0 means no query term occurs in it."""
        totals = [0.0] * self._count
        for term, weight in Counter(query_terms).items():
            idf = self.idf(term) * weight
            for index, count in self._postings.get(term, ()):
                totals[index] += idf * count * (_K1 + 1) / (count + self._norms[index])
        return tuple(totals)


# Texts that are nearly the same: mirrors, syndicated copies, the same page under two addresses.
#
# Of many, candidates come from MinHash with locality-sensitive hashing; each is then checked on its real word
# sequences, so a cluster never rests on an estimate.
#
# Source: extraction figures: rensa finds pairs at the threshold with recall 1.00 at 0.03 ms a text.

_WORD = re.compile(r"\w+")
# Runs of four words are seldom shared by chance, and most survive an edit (Broder 1997 takes ten).
_RUN = 4
# The estimate is off by about 1/sqrt(128), nine in a hundred; candidates are compared exactly afterwards.
_PERMUTATIONS = 128
# Bands of four rows: texts of a similarity of .5 are candidates with a chance of .87, of .8 with one of 1.
_BANDS = 32
# Fixed, so that the same pages give the same groups.
_SEED = 1
# The bands find no likeness below that.
_LOWEST_THRESHOLD = 0.5
# So many texts are compared each with each: that takes less than their sketches, and misses nothing.
_COMPARED_WITH_ALL = 64
_Runs = frozenset[tuple[str, ...]]


def cluster(texts: Sequence[str], *, threshold: float = 0.8) -> tuple[int, ...]:
    """For each text the index of the first one it nearly repeats; its own index if it is the first.

    Two texts are near when the Jaccard similarity of their four-word runs is at least `threshold` (0.5 to 1).
    Texts without a word are near nothing.
    """
    runs = [_runs(text) for text in texts]
    sizes = sorted(map(len, runs))
    leaders = _Leaders(threshold, of_few=len(texts) <= _COMPARED_WITH_ALL)
    found: list[int] = []
    for position, own in enumerate(runs):
        found.append(position)
        # Of texts that are so much alike the shorter has that share of the longer one's runs: nobody has, nobody is.
        low, high = math.floor(len(own) * threshold), math.ceil(len(own) / threshold)
        if not own or bisect_right(sizes, high) - bisect_left(sizes, low) < 2:
            continue
        # Jaccard's coefficient of the runs of words themselves: what the index gives is only likely to be near. To make
        # the union itself would take longer than all else.
        alike = [other for other in leaders.like(own) if low <= len(runs[other]) <= high]
        shared = [len(own & runs[other]) for other in alike]
        near = ((n / (len(own) + len(runs[other]) - n), -other) for other, n in zip(alike, shared, strict=True))
        # Negative places, so that of equally near texts the first one leads.
        best, leader = max(near, default=(0.0, 0))
        if best >= threshold:
            found[-1] = -leader
        else:
            leaders.add_latest(position)
    return tuple(found)


class _Leaders:
    """The first texts of their kind, and which of them another one may nearly repeat."""

    def __init__(self, threshold: float, *, of_few: bool) -> None:
        self._positions: list[int] = []
        self._index: Any = None
        self._sketch: Any = None
        self._latest: Any = None
        if not of_few:
            from rensa import RMinHash, RMinHashLSH

            self._index = RMinHashLSH(max(threshold, _LOWEST_THRESHOLD), _PERMUTATIONS, _BANDS)
            self._sketch = RMinHash

    def like(self, runs: _Runs) -> Sequence[int]:
        if self._index is None:
            return self._positions
        self._latest = self._sketch(num_perm=_PERMUTATIONS, seed=_SEED)
        # Sorted: sets come in another order in every process, and the groups must not.
        self._latest.update(sorted(map(" ".join, runs)))
        found: Sequence[int] = self._index.query(self._latest)
        return found

    def add_latest(self, position: int) -> None:
        """The text that `like` was asked for."""
        self._positions.append(position)
        if self._index is not None:
            self._index.insert(position, self._latest)


def _runs(text: str) -> _Runs:
    words = _WORD.findall(text.casefold())
    if len(words) < _RUN:
        return frozenset([tuple(words)] if words else [])
    return frozenset(zip(*(words[start:] for start in range(_RUN)), strict=False))


# A word that is nowhere, read as the nearest of the words that are: how near is near enough, and which is nearest.

# From here two letters may differ (Meilisearch: two typos from nine letters, one from five).
LONG_LENGTH = 8
_SHORT_LENGTH = 4
# A word of four letters is near to many: it is read as one with two letters swapped, if that is on this many pages.
_SHORT_PAGES = 10
# Up to here another letter often makes another word ("crate", "create"): only swapped and doubled ones are typos.
_MIDDLE_LENGTH = 6


def typos_allowed(word: str) -> int:
    """How many letters may be wrong, missing, too many or swapped: two in a long word, else one."""
    return 2 if len(word) >= LONG_LENGTH else 1


def nearest(word: str, candidates: Mapping[str, int]) -> str:
    """The candidate with the fewest typos, of these the one on most pages; same figures, or it is another word."""
    # Swapped letters count as one typo here, as two in Levenshtein's distance: they are the commonest.
    from rapidfuzz.distance import OSA

    best: tuple[int, bool, int, str] | None = None
    figures = _figures(word)
    for other, pages in candidates.items():
        typos = OSA.distance(word, other, score_cutoff=typos_allowed(word))
        swapped = sorted(other) == sorted(word) and other[0] == word[0]
        rare = len(word) <= _SHORT_LENGTH and (pages < _SHORT_PAGES or not swapped)
        rare = rare or (len(word) <= _MIDDLE_LENGTH and not swapped and _undoubled(word) != _undoubled(other))
        if 0 < typos <= typos_allowed(word) and _figures(other) == figures and not rare:
            key = (typos, other[0] != word[0], -pages, other)
            best = key if best is None else min(best, key)
    return best[3] if best else ""


def _undoubled(word: str) -> str:
    """The word with each run of a letter as one letter."""
    return "".join(letter for letter, _ in itertools.groupby(word))


def _figures(word: Iterable[str]) -> str:
    return "".join(character for character in word if character.isdigit())
