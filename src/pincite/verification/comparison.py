"""Words of direction (more or less, before or after, rise or fall, win or lose) must point the same way."""

from pincite.verification.findings import Finding, failed, passed, skipped
from pincite.verification.fits import fit, neighbours
from pincite.verification.lexicon import OPPOSITES
from pincite.verification.negation import denied
from pincite.verification.passages import Sentence, Window, Word

NAME = "direction"
_MARGIN = 0.12
_COMPARING = frozenset({"more", "less", "fewer", "before", "above", "below", "greater"})
_CLEAR_FIT = 0.4
_LEAST_FIT = 0.2


def places(word: Word) -> tuple[tuple[int, int], ...]:
    """(group, side) of a word of direction, or nothing."""
    return OPPOSITES.get(word.stem, ()) or OPPOSITES.get(word.text.lower(), ())


def _comparative(word: Word) -> bool:
    """Whether the word compares, so that a passage without it says something else."""
    lowered = word.text.lower()
    return lowered in _COMPARING or (len(lowered) > 4 and lowered.endswith("er"))


def check_direction(claim: Sentence, window: Window) -> Finding:
    """Whether the passage has each direction of the claim, and not its opposite in that place."""
    problems: list[str] = []
    seen = contradicts = False
    claimed = {word.stem for word in claim.words}
    turned = denied(claim)
    for index, word in enumerate(claim.words):
        own = places(word)
        if not own or index in turned:
            continue  # "not allowed" is what "prohibited" says
        seen = True
        around = neighbours(claim.words, index, index)
        same, opposite, text = 0.0, 0.0, ""
        found = False
        for sentence in window.sentences:
            for place, other in enumerate(sentence.words):
                sides = places(other)
                if other.stem == word.stem or any(side in own for side in sides):
                    found = True
                    same = max(same, fit(around, sentence, place, place, window.source.idf))
                elif other.stem not in claimed and any((g, 1 - s) in own for g, s in sides):
                    value = fit(around, sentence, place, place, window.source.idf)
                    if value > opposite:
                        opposite, text = value, other.text
        if not found and not text and _comparative(word):
            problems.append(f'"{word.text}" is not in the passage')
        elif (opposite >= _LEAST_FIT and not found) or (opposite > same + _MARGIN and opposite >= _LEAST_FIT):
            problems.append(f'"{word.text}" in the claim, "{text}" in the passage')
            contradicts = contradicts or opposite >= _CLEAR_FIT
    if not seen:
        return skipped(NAME)
    return failed(NAME, problems, contradicts=contradicts) if problems else passed(NAME)
