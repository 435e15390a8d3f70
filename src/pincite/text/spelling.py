"""A word that is nowhere, read as the nearest of the words that are: how near is near enough, and which is nearest."""

import itertools
from collections.abc import Iterable, Mapping

LONG_LENGTH = 8
_SHORT_LENGTH = 4
_SHORT_PAGES = 10
"""A word of four letters is near to many: it is read as one with two letters swapped, if that is on this many pages."""
_MIDDLE_LENGTH = 6
"""Up to here another letter often makes another word ("crate", "create"): only swapped and doubled ones are slips."""


def slips_allowed(word: str) -> int:
    """How many letters may be wrong, missing, too many or swapped: two in a long word, else one."""
    return 2 if len(word) >= LONG_LENGTH else 1


def nearest(word: str, candidates: Mapping[str, int]) -> str:
    """The candidate with the fewest slips, of these the one on most pages; same figures, or it is another word."""
    from rapidfuzz.distance import OSA

    best: tuple[int, bool, int, str] | None = None
    figures = _figures(word)
    for other, pages in candidates.items():
        slips = OSA.distance(word, other, score_cutoff=slips_allowed(word))
        swapped = sorted(other) == sorted(word) and other[0] == word[0]
        rare = len(word) <= _SHORT_LENGTH and (pages < _SHORT_PAGES or not swapped)
        rare = rare or (len(word) <= _MIDDLE_LENGTH and not swapped and _undoubled(word) != _undoubled(other))
        if 0 < slips <= slips_allowed(word) and _figures(other) == figures and not rare:
            key = (slips, other[0] != word[0], -pages, other)
            best = key if best is None else min(best, key)
    return best[3] if best else ""


def _undoubled(word: str) -> str:
    """The word with each run of a letter as one letter."""
    return "".join(letter for letter, _ in itertools.groupby(word))


def _figures(word: Iterable[str]) -> str:
    return "".join(character for character in word if character.isdigit())
