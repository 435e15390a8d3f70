"""A sentence kept whole but for one word says something else: that word is compared with what stands in its place.

Only words that are told apart by the passage itself count: both stand there, in like places ("the treated group", "the
placebo group"), or both are members of one closed class (left and right, men and women).
"""

from collections.abc import Iterator
from functools import lru_cache

from pincite.verification.classes import CLASSES
from pincite.verification.comparison import goes_on
from pincite.verification.findings import Finding, failed, passed, skipped
from pincite.verification.fits import fit, neighbours
from pincite.verification.lexicon import OPPOSITES
from pincite.verification.negation import denied
from pincite.verification.passages import Sentence, Window, Word

NAME = "wording"
_MARGIN = 0.15
_LEAST_FIT = 0.5
_LEAST_FIT_AT_EDGE = 0.6
_LEAST_FIT_ONE_SIDE = 0.75
_CLEAR_FIT = 0.85
_FAR_FIT = 0.55
_NEAR = 5
_ARTICLES = frozenset({"a", "an", "the"})
_JOINING = frozenset("and or but while whereas than nor".split())
_LONGEST_LIST = 12
_LEAST_FIT_NAMED = 0.3
_TOWARDS = frozenset("to from by for against in at near under with".split())
_FORMS = {
    **dict.fromkeys("is are was were be been".split(), "be"),
    **dict.fromkeys("has have had".split(), "have"),
    **dict.fromkeys(("a", "an", "the"), "the"),
}
_EITHER_SIDE = frozenset({"for", "against", "with", "without"})
_TURNED = {"to": "from", "from": "to", "with": "without", "without": "with", "for": "against", "against": "for"}
_BEGIN, _END = "^", "$"


def check_wording(claim: Sentence, window: Window) -> Finding:
    """Whether no word of the claim stands where the passage has another one of its kind."""
    problems: list[str] = []
    contradicts = seen = False
    turned = denied(claim)
    for index, word in enumerate(claim.words):
        if not word.content or index in claim.measured or index in turned or len(claim.positions[word.stem]) > 1:
            continue
        seen = True
        around = neighbours(claim.words, index, index)
        own = list(_own(word, around, window))
        best = max((value for value, *_ in own), default=0.0)
        for value, rival, sentence, place in _rivals(claim, index, around, window):
            if own:
                wrong = (
                    value > best + _MARGIN
                    and (
                        (value >= _CLEAR_FIT and best <= _FAR_FIT)
                        or any(_parallel(a, i, sentence, place) for _, a, i in own)
                    )
                    and not any(a is sentence and _listed(a, i, place) for _, a, i in own)
                )
            else:
                wrong = _of_one_class(word, rival)
            if wrong and not any(goes_on(claim, (a, i), (sentence, place)) for _, a, i in own):
                problems.append(f'"{word.text}" in the claim, "{rival.text}" in the passage at that place')
                contradicts = True
                break
    problems += _turned(claim, window)
    if problems:
        return failed(NAME, problems, contradicts=contradicts)
    return passed(NAME) if seen else skipped(NAME)


def _turned(claim: Sentence, window: Window) -> list[str]:
    """What is wrong where two words are joined the other way: "imports to China" for "imports from China"."""
    problems: list[str] = []
    for index in range(1, len(claim.words) - 1):
        before, word, after = claim.words[index - 1 : index + 2]
        other = _TURNED.get(word.text.lower())
        if other is None or not before.content or not (after.content or word.text.lower() in _EITHER_SIDE):
            continue
        found = {
            sentence.words[place + 1].text.lower()
            for sentence in window.sentences
            for place in sentence.positions.get(before.stem, ())
            if _stem(sentence, place + 2) == _root(after)
        }
        if other in found and word.text.lower() not in found:
            problems.append(f'"{word.text} {after.text}" in the claim, "{other} {after.text}" in the passage')
    return problems


def _own(word: Word, around: list[tuple[str, int, int]], window: Window) -> Iterator[tuple[float, Sentence, int]]:
    """(fit, sentence, place) of each place of the passage that has the word."""
    for sentence in window.sentences:
        for place in _places(word.stem, sentence):
            yield fit(around, sentence, place, place, window.source.idf), sentence, place


def _places(stem: str, sentence: Sentence) -> tuple[int, ...]:
    """Where the sentence has the word, or one that begins like it."""
    found = sentence.positions.get(stem, ())
    if found or len(stem) < _NEAR:
        return found
    return tuple(place for root, places in sentence.positions.items() if _like(root, stem) for place in places)


def _like(first: str, second: str) -> bool:
    return first == second or (len(first) >= _NEAR and first[:_NEAR] == second[:_NEAR])


def _rivals(
    claim: Sentence, index: int, around: list[tuple[str, int, int]], window: Window
) -> Iterator[tuple[float, Word, Sentence, int]]:
    """(fit, word, sentence, place) of each word that stands between the same words as the claim's word does."""
    stems = [_root(word) for word in claim.words]
    before, after = stems[max(0, index - 2) : index][::-1], stems[index + 1 : index + 3]
    named = claim.words[index].text[0].isupper()
    for sentence in window.sentences:
        if len(sentence.stems & claim.stems) < 2 or "|" in sentence.text:
            continue
        turned = denied(sentence)
        for place in _beside(before[:1], after[:1], sentence):
            word = sentence.words[place]
            if not word.content or word.stem in claim.positions or _like(word.stem, claim.words[index].stem):
                continue
            least = _least_fit(before, after, sentence, place, named=named and word.text[0].isupper())
            if least < 1 and place not in sentence.measured and place not in turned:
                value = fit(around, sentence, place, place, window.source.idf)
                if value >= least:
                    yield value, word, sentence, place


def _beside(before: list[str], after: list[str], sentence: Sentence) -> Iterator[int]:
    """The places that may be between the two words: behind the first, or before the second."""
    roots = _roots(sentence)
    last = len(roots) - 1
    for place in range(last + 1):
        left = roots[place - 1] if place else ""
        if left == "the" and place > 1 and before != ["the"]:
            left = roots[place - 2]
        if (not before or left in before or not left) or (not after or (place < last and roots[place + 1] in after)):
            yield place


@lru_cache(maxsize=4_096)
def _roots(sentence: Sentence) -> tuple[str, ...]:
    return tuple(_root(word) for word in sentence.words)


def _least_fit(before: list[str], after: list[str], sentence: Sentence, place: int, *, named: bool) -> float:
    """How well a word must fit to be in the same place, by how many of the words beside it are the same; 1 for never.

    For two names it is enough that the same word of content stands right beside them: "went to Omar", "WHO said".
    """
    left, right = _left(sentence, place), _right(sentence, place)
    begins = left == _BEGIN if not before else before[0] in (left, _stem(sentence, place - 1))
    ends = right == _END if not after else after[0] in (right, _stem(sentence, place + 1))
    if begins and ends:
        return _LEAST_FIT if before and after else _LEAST_FIT_AT_EDGE
    if begins and len(before) == 2 and before[1] == _stem(sentence, place - 2):
        return _LEAST_FIT_NAMED if named and before[0] in _TOWARDS else _LEAST_FIT_ONE_SIDE
    if ends and len(after) == 2 and after[1] == _stem(sentence, place + 2):
        return _LEAST_FIT_ONE_SIDE
    return 1.0


def _stem(sentence: Sentence, place: int) -> str:
    roots = _roots(sentence)
    return roots[place] if 0 <= place < len(roots) else ""


def _root(word: Word) -> str:
    """The stem, with the forms of "be" and "have" and the articles taken as one."""
    return _FORMS.get(word.text.lower(), word.stem)


def _left(sentence: Sentence, place: int) -> str:
    """What stands before the word, articles aside: a stem, or `^` where its clause begins."""
    clause = sentence.words[place].clause
    place -= 1
    while place >= 0 and sentence.words[place].text.lower() in _ARTICLES:
        place -= 1
    if place < 0 or sentence.words[place].clause != clause or sentence.words[place].text.lower() in _JOINING:
        return _BEGIN
    return _root(sentence.words[place])


def _right(sentence: Sentence, place: int) -> str:
    """What stands after the word: a stem, or `$` where its clause ends."""
    if place + 1 == len(sentence.words):
        return _END
    after = sentence.words[place + 1]
    if after.clause != sentence.words[place].clause or after.text.lower() in _JOINING:
        return _END
    return _root(after)


def _parallel(first: Sentence, one: int, second: Sentence, other: int) -> bool:
    """Whether the two places are alike: the same word before or after, or both at the border of a clause."""
    return _left(first, one) == _left(second, other) or _right(first, one) == _right(second, other)


def _of_one_class(word: Word, other: Word) -> bool:
    """Whether the two are opposites, or different members of one closed class."""
    if CLASSES.get(word.stem, frozenset()) & CLASSES.get(other.stem, frozenset()):
        return True
    return any((group, 1 - side) in OPPOSITES.get(other.stem, ()) for group, side in OPPOSITES.get(word.stem, ()))


def _listed(sentence: Sentence, one: int, other: int) -> bool:
    """Whether the two are items of one list: only content words, commas and "and" stand between."""
    first, last = sorted((one, other))
    between = sentence.words[first + 1 : last]
    return len(between) <= _LONGEST_LIST and all(word.content or word.text.lower() in _JOINING for word in between)
