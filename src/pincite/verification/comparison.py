"""Words of direction (more or less, before or after, rise or fall, win or lose) must point the same way."""

import re

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
_OF_TIME = frozenset("before after following until since prior".split())
_GOING_ON = frozenset("and but while whereas then".split())
_SINCE = frozenset({"since", "after"})
_TIME_BEFORE = re.compile(
    r"\b(?P<word>before|until|till|since|after) (?:(?:the|version|release|year|about|around|early|late|mid) )*$",
    re.IGNORECASE,
)


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
        if not own:
            continue
        seen = True
        around = neighbours(claim.words, index, index)
        same, opposite, text = 0.0, 0.0, ""
        mine: list[tuple[Sentence, int]] = []
        theirs: tuple[Sentence, int] | None = None
        found = False
        # "Not allowed" is what "prohibited" says: of what is denied, only what is denied there is the opposite.
        for sentence in window.sentences:
            for place, other in enumerate(sentence.words):
                sides = places(other)
                if other.stem == word.stem or any(side in own for side in sides):
                    found = True
                    mine.append((sentence, place))
                    same = max(same, fit(around, sentence, place, place, window.source.idf))
                elif (
                    other.stem not in claimed
                    and any((g, 1 - s) in own for g, s in sides)
                    and not _turned_round(claim, index, sentence, place)
                    and (index not in turned or place in denied(sentence))
                ):
                    value = fit(around, sentence, place, place, window.source.idf)
                    if value > opposite:
                        opposite, text, theirs = value, other.text, (sentence, place)
        if not found and not text and _comparative(word) and index not in turned:
            problems.append(f'"{word.text}" is not in the passage')
        elif theirs and any(goes_on(claim, own_place, theirs) for own_place in mine):
            continue
        elif (opposite >= _LEAST_FIT and not found) or (opposite > same + _MARGIN and opposite >= _LEAST_FIT):
            problems.append(f'"{word.text}" in the claim, "{text}" in the passage')
            contradicts = contradicts or opposite >= _CLEAR_FIT
    moved = _moved_anchors(claim, window)
    problems += moved
    if not seen and not moved:
        return skipped(NAME)
    return failed(NAME, problems, contradicts=contradicts) if problems else passed(NAME)


def goes_on(claim: Sentence, own: tuple[Sentence, int], rival: tuple[Sentence, int]) -> bool:
    """Whether the word stands in the second half of "refused it in 1971 and accepted it in 1983", and its words do."""
    sentence, place = own
    if sentence is not rival[0] or place <= rival[1]:
        return False
    words = sentence.words
    if not any(word.text.lower() in _GOING_ON for word in words[rival[1] + 1 : place]):
        return False
    after = {word.stem for word in words[place + 1 : place + 5] if word.content}
    before = {word.stem for word in words[max(0, rival[1] - 3) : place] if word.content}
    return bool(claim.stems & after - before)


def _turned_round(claim: Sentence, index: int, sentence: Sentence, place: int) -> bool:
    """Whether two words of time hold for different things: "before A, B did it" is "A did it, following B"."""
    if claim.words[index].text.lower() not in _OF_TIME or sentence.words[place].text.lower() not in _OF_TIME:
        return False
    mine, theirs = _next(claim, index), _next(sentence, place)
    return bool(mine and theirs and not mine & theirs)


def _next(sentence: Sentence, index: int) -> set[str]:
    """The stems of the next words of the clause."""
    clause = sentence.words[index].clause
    return {word.stem for word in sentence.words[index + 1 : index + 4] if word.content and word.clause == clause}


def _anchors(sentence: Sentence) -> dict[object, dict[int, str]]:
    """Of each date, version and number that a word of time stands before: the side (0 before, 1 after) and the word."""
    found: dict[object, dict[int, str]] = {}
    spans: list[tuple[object, int]] = [((m.year, m.month, m.day), m.start) for m in sentence.moments]
    spans += [((q.kind, q.value, q.unit), q.start) for q in sentence.quantities]
    for key, start in spans:
        match = _TIME_BEFORE.search(sentence.text[:start])
        if match:
            word = match["word"].lower()
            found.setdefault(key, {})[int(word in _SINCE)] = match["word"]
    return found


def _moved_anchors(claim: Sentence, window: Window) -> list[str]:
    """What the claim puts before a date or version and the passage only after it, or the other way round."""
    own = _anchors(claim)
    if not own:
        return []
    there: dict[object, dict[int, str]] = {}
    for sentence in window.sentences:
        for key, sides in _anchors(sentence).items():
            there.setdefault(key, {}).update(sides)
    return [
        f'"{word}" in the claim, "{there[key][1 - side]}" in the passage'
        for key, sides in own.items()
        for side, word in sides.items()
        if key in there and side not in there[key]
    ]
