"""Who did what to whom: two names around one verb must stand in the same order, or the verb must be turned round."""

import re
from itertools import pairwise

from pincite.verification.findings import Finding, failed, passed, skipped
from pincite.verification.names import held_by, names
from pincite.verification.passages import Name, Sentence, Window

NAME = "roles"
_SENTENCE_END = re.compile(r"[.!?][\"')\]]*\s")
_MUTUAL = frozenset("meet marri play join merg face fight with and between alongsid against versus vs co".split())


def check_roles(claim: Sentence, window: Window) -> Finding:
    """Whether each pair of names with a verb between them stands in that order in the passage."""
    if claim.text.rstrip(" .!?") in " ".join(sentence.text for sentence in window.sentences):
        return passed(NAME)  # word for word: nobody has changed places
    pairs = list(pairwise(names(claim, window.source)))
    seen = False
    problems: list[str] = []
    for first, second in pairs:
        between = _between(claim, first.last, second.first)
        if not between:
            continue
        for sentence in window.sentences:
            turned = _turned(claim, first, second, between, sentence)
            seen = seen or turned is not None
            if turned:
                problems.append(f"{first.text} and {second.text} have changed places")
    unlike = _unlike(claim, window)
    if unlike is not None:
        seen = True
        problems += [unlike] if unlike else []
    if not seen:
        return skipped(NAME)
    return failed(NAME, problems, contradicts=True) if problems else passed(NAME)


def _unlike(claim: Sentence, window: Window) -> str | None:
    """What is wrong with the claim's "unlike X", "" when nothing is, None when it has none or the passage has none."""
    own = _name_after(claim, "unlike", window)
    if own is None:
        return None
    for sentence in window.sentences:
        theirs = _name_after(sentence, "unlike", window)
        if theirs is None:
            continue
        mine, other = set(own.stems), set(theirs.stems)
        if mine - other and other - mine and all(held_by(stem, sentence) for stem in own.stems):
            return f"unlike {own.text} in the claim, unlike {theirs.text} in the passage"
        return ""
    return None


def _name_after(sentence: Sentence, word: str, window: Window) -> Name | None:
    places = [index for index, found in enumerate(sentence.words) if found.text.lower() == word]
    if not places:
        return None
    return next((name for name in names(sentence, window.source) if 0 < name.first - places[0] <= 2), None)


def _between(sentence: Sentence, after: int, before: int) -> set[str]:
    """The content words between two names; none where a sentence ends between them."""
    start, end = sentence.words[after].end - sentence.start, sentence.words[before].start - sentence.start
    if _SENTENCE_END.search(sentence.text, start, end):
        return set()
    found = {word.stem for word in sentence.words[after + 1 : before] if word.content}
    return set() if found & _MUTUAL else found


def _turned(claim: Sentence, first: Name, second: Name, between: set[str], sentence: Sentence) -> bool | None:
    """Whether the sentence has the two the other way round about the same verb; None when it lacks one of the three."""
    head, tail = first.stems[-1], second.stems[-1]
    here, there = held_by(head, sentence), held_by(tail, sentence)
    if here is None or there is None or here == there:
        return None
    verb_places = [place for stem in between for place in sentence.positions.get(stem, ())]
    answer: bool | None = None
    for place in verb_places:
        ones = [p for p in sentence.positions.get(here, ()) if abs(p - place) <= 12]
        others = [p for p in sentence.positions.get(there, ()) if abs(p - place) <= 12]
        straight = any(p < place for p in ones) and any(p > place for p in others)
        reverse = any(p < place for p in others) and any(p > place for p in ones)
        if not straight and not reverse:
            continue
        passive = _passive(claim, first.last, second.first) != _passive_around(sentence, place)
        if (straight and not passive) or (reverse and passive):
            return False
        answer = True
    return answer


def _passive(sentence: Sentence, after: int, before: int) -> bool:
    return any(word.text.lower() == "by" for word in sentence.words[after + 1 : before])


def _passive_around(sentence: Sentence, place: int) -> bool:
    return any(word.text.lower() == "by" for word in sentence.words[place + 1 : place + 4])
