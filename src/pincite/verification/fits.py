"""How well a word of the passage stands where a word of the claim stands: the likeness of their neighbours.

This is what ties a number to the thing it counts and a name to what it did. A fit is 0-1; two candidates of one
passage are compared with each other, so only the neighbours that tell them apart matter.
"""

from collections.abc import Callable, Iterable, Sequence

from pincite.verification.passages import Sentence, Word

REACH = 9
_OTHER_SIDE = 0.6
_ABOVE = 0.6
"""What a neighbour is worth that stands in the heading above the sentence."""


def _near(distance: int) -> float:
    return 1.0 / (1.0 + 0.5 * (distance - 1))


def neighbours(words: Sequence[Word], first: int, last: int) -> list[tuple[str, int, int]]:
    """(stem, distance, side) of the content words around words[first..last]; side is -1 before, 1 after."""
    before = range(max(0, first - REACH), first)
    after = range(last + 1, min(len(words), last + REACH + 1))
    return [
        *((words[index].stem, first - index, -1) for index in before if words[index].content),
        *((words[index].stem, index - last, 1) for index in after if words[index].content),
    ]


def fit(
    claim: Iterable[tuple[str, int, int]],
    sentence: Sentence,
    first: int,
    last: int,
    weight: Callable[[str], float],
    above: frozenset[str] = frozenset(),
) -> float:
    """How much of the claim's neighbourhood stands around words[first..last] of the sentence, at like distances.

    `above` are the stems of the heading the sentence stands under: what a list of settings is about, it says there.
    """
    total = got = 0.0
    positions = sentence.positions
    for root, distance, side in claim:
        value = weight(root) * _near(distance)
        total += value
        best = _ABOVE if root in above else 0.0
        for place in positions.get(root, ()):
            if first <= place <= last:
                continue
            there = first - place if place < first else place - last
            same = (place < first) == (side < 0)
            clause = 1.0 if sentence.words[place].clause == sentence.words[first].clause else 0.8
            best = max(best, min(1.0, _near(there) / _near(distance)) * (1.0 if same else _OTHER_SIDE) * clause)
        got += value * best
    return got / total if total else 0.0
