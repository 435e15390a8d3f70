"""A claim may say less than its passage, never more: all for most, the only for one of, the largest for large."""

import re

from pincite.text.tokens import stem
from pincite.verification.findings import Finding, failed, passed, skipped
from pincite.verification.lexicon import NOT_SUPERLATIVE, QUANTIFIERS, SUPERLATIVE_EXTRA
from pincite.verification.passages import Sentence, Window

NAME = "quantifiers"
_REACH = 4
_STRONG = 4
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
    lone = _only_one(claim, window)
    if lone is not None:
        return failed(NAME, [lone, *problems], contradicts=True)
    if not seen:
        return skipped(NAME)
    return failed(NAME, problems) if problems else passed(NAME)


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
    for sentence in window.sentences:
        for place, other in enumerate(sentence.words):
            if other.text.lower() in wanted or other.stem in wanted or _same_extreme(word.text, other.text):
                if _one_of(sentence, place) and not _one_of(claim, index):
                    return f'"{word.text}" in the claim, "one of the {other.text}" in the passage'
                return None
    return f'"{word.text}" is not in the passage'


_EXTREMES = (
    {"first", "earliest", "oldest", "original", "originally", "initial", "debut", "1st", "inaugural", "start", "began"},
    {"last", "final", "latest", "end", "ended", "ultimately"},
    {"largest", "biggest", "greatest", "top", "most", "main", "leading", "chief", "principal", "primary", "major"},
    {"best", "greatest", "finest", "top"},
    {"highest", "tallest", "top"},
)


def _same_extreme(first: str, second: str) -> bool:
    return any(first.lower() in group and second.lower() in group for group in _EXTREMES)


def _one_of(sentence: Sentence, index: int) -> bool:
    before = [word.text.lower() for word in sentence.words[max(0, index - 4) : index]]
    return "one" in before and "of" in before
