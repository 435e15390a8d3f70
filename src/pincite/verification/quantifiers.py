"""A claim may say less than its passage, never more: all for most, the only for one of, the largest for large."""

import re

from pincite.text.tokens import stem
from pincite.verification.findings import Finding, failed, passed, skipped
from pincite.verification.fits import fit, neighbours
from pincite.verification.lexicon import NOT_SUPERLATIVE, QUANTIFIERS, SUPERLATIVE_EXTRA
from pincite.verification.negation import denied
from pincite.verification.passages import Sentence, Window

NAME = "quantifiers"
_REACH = 4
_STRONG = 4
_ONLY = "only"
_WHOLE = 5
_MARGIN = 0.05
_ALONE = frozenset("only sole solely exclusively unique uniquely".split())
_NOTHING = frozenset("none never no".split())
_RANKS = frozenset(
    "second third fourth fifth sixth seventh eighth ninth tenth 2nd 3rd 4th 5th 6th 7th 8th 9th 10th".split()
)
_EVER = re.compile(r"\b(?:ever|of all time|in (?:its|the|their|recorded) (?:\w+ )?history)\b", re.IGNORECASE)
_SINCE = re.compile(
    r"\b(?:since|for \d+ years|in \w+ years|in decades|this (?:year|season|century)|so far)\b", re.IGNORECASE
)
_SEVERAL = frozenset("several many multiple numerous various two three".split())
_ONE_ALONE = re.compile(
    r"\b(?:only|just|no more than|not more than|never more than|at most) (?:one|a single) (?P<noun>\w+)", re.IGNORECASE
)


def check_quantifiers(claim: Sentence, window: Window) -> Finding:
    """Whether each strong quantifier and superlative of the claim is in the passage at its strength."""
    problems: list[str] = []
    seen = False
    for index, word in enumerate(claim.words):
        lowered = word.text.lower()
        strength = QUANTIFIERS.get(lowered, 0)
        if strength >= 3 and not _superlative_most(claim, index):
            seen = True
            problem = _too_strong(claim, index, strength, window)
            if problem:
                problems.append(problem)
        elif superlative(claim, index):
            seen = True
            problem = _no_superlative(claim, index, window)
            if problem:
                problems.append(problem)
    problems += _only_that(claim, window)
    lone = _only_one(claim, window)
    if lone is not None:
        return failed(NAME, [lone, *problems], contradicts=True)
    if not seen and not problems:
        return skipped(NAME)
    return failed(NAME, problems) if problems else passed(NAME)


def _only_that(claim: Sentence, window: Window) -> list[str]:
    """What is wrong with "writes A" for "writes only B", and with "reads only B" for "reads B"."""
    problems: list[str] = []
    turned = denied(claim)
    for index, word in enumerate(claim.words[:-1]):
        if not word.content or index in turned:
            continue
        alone = claim.words[index + 1].text.lower() == _ONLY
        after = {w.stem for w in claim.words[index + 1 : index + 6] if w.content}
        found = [(s, p) for s in window.sentences for p in s.positions.get(word.stem, ()) if p + 1 < len(s.words)]
        only = [(s, p) for s, p in found if s.words[p + 1].text.lower() == _ONLY]
        if alone and found and not any(_ONLY in _near(s, p) for s, p in found):
            problems.append(f'"{word.text} only" in the claim, not in the passage')
        elif not alone and only and len(only) == len(found):
            sentence, place = only[0]
            named = {w.stem for w in sentence.words[place + 2 : place + 5] if w.content}
            if after and named and not named & claim.stems and after & window.stems:
                problems.append(f'"{word.text} only" in the passage, of something else')
    return problems


def _near(sentence: Sentence, place: int) -> set[str]:
    return {word.text.lower() for word in sentence.words[max(0, place - 2) : place + 4]}


def _only_one(claim: Sentence, window: Window) -> str | None:
    """What the passage allows one of where the claim has several."""
    for index, word in enumerate(claim.words):
        if word.text.lower() not in _SEVERAL:
            continue
        counted = {found.stem for found in claim.words[index + 1 : index + 4] if found.content}
        for sentence in window.sentences:
            for match in _ONE_ALONE.finditer(sentence.text):
                if stem(match["noun"].lower()) in counted or stem(match["noun"]) in counted:
                    return f'"{word.text}" in the claim, "{match.group()}" in the passage'
    return None


def superlative(sentence: Sentence, index: int) -> bool:
    """Whether the word says that something is beyond all others."""
    lowered = sentence.words[index].text.lower()
    if lowered in SUPERLATIVE_EXTRA:
        return lowered != "least" or not index or sentence.words[index - 1].text.lower() != "at"
    return len(lowered) > 5 and lowered.endswith("est") and lowered not in NOT_SUPERLATIVE


def _superlative_most(sentence: Sentence, index: int) -> bool:
    """Whether `most` is the one of "the most important" and not that of "most people"."""
    if sentence.words[index].text.lower() != "most":
        return False
    return index > 0 and sentence.words[index - 1].text.lower() in ("the", "its", "their", "his", "her", "'s", "second")


def _after(sentence: Sentence, index: int) -> set[str]:
    found = [word.stem for word in sentence.words[index + 1 : index + 1 + _REACH] if word.content]
    before = [word.stem for word in sentence.words[max(0, index - 2) : index] if word.content]
    return {*found[:3], *before[-1:]}


def _too_strong(claim: Sentence, index: int, strength: int, window: Window) -> str | None:
    near = _after(claim, index)
    own = claim.words[index].text.lower()
    found: list[tuple[int, str]] = []
    elsewhere = False
    for sentence in window.sentences:
        for place, word in enumerate(sentence.words):
            value = QUANTIFIERS.get(word.text.lower(), 0)
            if value == strength == _WHOLE and _kind(word.text) != _kind(own):
                continue  # "only on one plan" is not "on all plans"
            if value and near & _after(sentence, place):
                found.append((value, word.text))
            elsewhere = elsewhere or (word.text.lower() == own and not near)
    best = max(found, default=(0, ""))
    if best[0] >= strength or elsewhere:
        return None
    if found:
        return f'"{claim.words[index].text}" in the claim, "{best[1]}" in the passage'
    return f'"{claim.words[index].text}" is not in the passage' if strength > _STRONG else None


def _no_superlative(claim: Sentence, index: int, window: Window) -> str | None:
    word = claim.words[index]
    wanted = {word.text.lower(), word.stem, stem(word.text)}
    around = neighbours(claim.words, index, index)
    found: list[tuple[float, str | None]] = []
    for sentence in window.sentences:
        for place, other in enumerate(sentence.words):
            if other.text.lower() in wanted or other.stem in wanted or _same_extreme(word.text, other.text):
                value = fit(around, sentence, place, place, window.source.idf)
                found.append((value, _weaker(claim, index, sentence, place)))
    if not found:
        return f'"{word.text}" is not in the passage'
    best = max(value for value, _ in found)
    problems = [problem for value, problem in found if value >= best - _MARGIN]
    return None if None in problems else problems[0]


def _weaker(claim: Sentence, index: int, sentence: Sentence, place: int) -> str | None:
    """What keeps the passage's superlative from saying as much as the claim's."""
    word, other = claim.words[index], sentence.words[place]
    if _one_of(sentence, place) and not _one_of(claim, index):
        return f'"{word.text}" in the claim, "one of the {other.text}" in the passage'
    mine, theirs = _rank(claim, index), _rank(sentence, place)
    if mine != theirs and word.text.lower() not in _RANKS:
        return f'"{mine} {word.text}" in the claim, "{theirs} {other.text}" in the passage'.replace('" ', '"')
    if _EVER.search(claim.text) and not _EVER.search(sentence.text) and _SINCE.search(sentence.text):
        return f'"{word.text} ever" in the claim, "{_said_since(sentence)}" in the passage'
    return None


_EXTREMES = (
    {"first", "earliest", "oldest", "original", "originally", "initial", "debut", "1st", "inaugural", "start", "began"},
    {"last", "final", "latest", "end", "ended", "ultimately"},
    {"largest", "biggest", "greatest", "top", "most", "main", "leading", "chief", "principal", "primary", "major"},
    {"best", "greatest", "finest", "top"},
    {"highest", "tallest", "top"},
)


def _same_extreme(first: str, second: str) -> bool:
    return any(first.lower() in group and second.lower() in group for group in _EXTREMES)


def _kind(word: str) -> str:
    """Whether the word means everything, one alone, or nothing."""
    lowered = word.lower()
    return "alone" if lowered in _ALONE else "nothing" if lowered in _NOTHING else "everything"


def _rank(sentence: Sentence, index: int) -> str:
    """The rank before a superlative ("second" of "second-longest"), or nothing."""
    before = sentence.words[index - 1].text.lower() if index else ""
    return before if before in _RANKS else ""


def _said_since(sentence: Sentence) -> str:
    match = _SINCE.search(sentence.text)
    return match.group() if match else ""


def _one_of(sentence: Sentence, index: int) -> bool:
    before = [word.text.lower() for word in sentence.words[max(0, index - 4) : index]]
    return "one" in before and "of" in before
