"""Who did what to whom: two things around one verb must stand in the same order, or the verb must be turned round."""

import re
from collections.abc import Iterator

from pincite.verification.findings import Finding, failed, passed, skipped
from pincite.verification.lexicon import IRREGULAR_PAST, PRONOUNS
from pincite.verification.names import held_by
from pincite.verification.negation import denied
from pincite.verification.passages import Sentence, Window, Word

NAME = "roles"
_SENTENCE_END = re.compile(r"[.!?][\"')\]]*\s")
_MUTUAL = frozenset("meet marri play join merg face fight alongsid versus vs co between differ draw tie".split())
_REACH = 8
_NEAR = 4
_WORDS_EACH_SIDE = 4
_AUXILIARIES = frozenset(
    "can could will would may might must shall should to do does did not never always also often didn't doesn't don't "
    "can't cannot won't has have had been".split()
)
_ARTICLES = frozenset("a an the its their his her our my your of this that these those".split())
_SAYING = frozenset("said says told announced confirmed warned argued claimed estimated found reported stated".split())
_TOLD_SHARE = 0.6
_INSTEAD = re.compile(r"\b(?:instead of|rather than|in favou?r of|in place of)\b", re.IGNORECASE)
_FROM, _TO = "from", "to"


def check_roles(claim: Sentence, window: Window) -> Finding:
    """Whether two things with a verb between them stand in that order in the passage, and go the same way."""
    if claim.text.rstrip(" .!?") in " ".join(sentence.text for sentence in window.sentences):
        return passed(NAME)  # word for word: nobody has changed places
    problems: list[str] = []
    seen = False
    if window.source.english:
        for sentence in window.sentences:
            for first, second, turned in _ordered(claim, sentence):
                seen = True
                if turned:
                    problems.append(f"{first.text} and {second.text} have changed places")
        problems += _other_way(claim, window)
        problems += _object_as_subject(claim, window)
        problems += _other_agent(claim, window)
        problems += _other_speaker(claim, window)
    unlike = _unlike(claim, window)
    if unlike is not None:
        seen = True
        problems += [unlike] if unlike else []
    if problems:
        return failed(NAME, problems[:2], contradicts=True)
    return passed(NAME) if seen else skipped(NAME)


def _ordered(claim: Sentence, sentence: Sentence) -> Iterator[tuple[Word, Word, bool]]:
    """(first, second, whether they have changed places) for the words around each verb that both share."""
    if len(claim.stems & sentence.stems) < 3:
        return
    for index, verb in enumerate(claim.words):
        if not _verb_like(claim, index) or verb.stem not in sentence.positions:
            continue
        befores, afters = _around(claim, index)
        pairs = [(a, b) for a in befores for b in afters if a.stem != b.stem]
        answers: dict[tuple[str, str], bool] = {}
        for place in sentence.positions[verb.stem]:
            for first, second in pairs:
                turned = _turned(claim, index, first, second, sentence, place)
                if turned is not None:
                    key = first.text, second.text
                    answers[key] = answers.get(key, True) and turned
        straight = {word for pair, turned in answers.items() if not turned for word in pair}
        for first, second in pairs:
            turned = answers.get((first.text, second.text))
            if turned is not None:
                yield first, second, turned and first.text not in straight and second.text not in straight


def _verb_like(sentence: Sentence, index: int) -> bool:
    """Whether the word reads as a verb or a comparison: by its ending, or by the auxiliary before it."""
    word = sentence.words[index]
    if not word.content or index in sentence.measured or word.stem in _MUTUAL or word.text[0].isupper() or not index:
        return False
    before, lowered = sentence.words[index - 1].text.lower(), word.text.lower()
    if before in _ARTICLES or before.endswith("'s"):
        return False
    if lowered.endswith(("er", "ier")) or before in ("more", "less"):
        return any(other.text.lower() == "than" for other in sentence.words[index + 1 : index + 4])
    if before in _AUXILIARIES or lowered in IRREGULAR_PAST or (lowered.endswith("ed") and not lowered.endswith("eed")):
        return True
    after = sentence.words[index + 1].text.lower() if index + 1 < len(sentence.words) else ""
    return lowered.endswith("s") and not lowered.endswith("ss") and after != "of"


def _around(claim: Sentence, index: int) -> tuple[list[Word], list[Word]]:
    """The content words before and after the verb that may be its subject and object, the nearest first."""

    def near(places: range) -> list[Word]:
        found: list[Word] = []
        for place in places:
            word = claim.words[place]
            edges = sorted((word.start - claim.start, claim.words[index].start - claim.start))
            if _SENTENCE_END.search(claim.text, *edges) or word.text.lower() in ("and", "or", "with"):
                break
            if word.content and place not in claim.measured and len(found) < _WORDS_EACH_SIDE:
                found.append(word)
        return found

    before = near(range(index - 1, max(-1, index - 1 - _REACH), -1))
    return before, near(range(index + 1, min(len(claim.words), index + 1 + _REACH)))


def _turned(claim: Sentence, index: int, first: Word, second: Word, sentence: Sentence, place: int) -> bool | None:
    """Whether the sentence has the two the other way round about this verb; None when it does not have both there."""
    here, there = _held(first, sentence), _held(second, sentence)
    if here is None or there is None or here == there:
        return None
    ones = [p for p in sentence.positions.get(here, ()) if abs(p - place) <= _REACH + _NEAR]
    others = [p for p in sentence.positions.get(there, ()) if abs(p - place) <= _REACH + _NEAR]
    straight = any(p < place for p in ones) and any(p > place for p in others)
    reverse = any(p < place for p in others) and any(p > place for p in ones)
    passive = _passive(claim, index) != _passive(sentence, place)
    if straight and not reverse:
        return passive
    if not reverse or straight or not _verb_like(sentence, place):
        return None
    return not passive


def _held(word: Word, sentence: Sentence) -> str | None:
    return held_by(word.stem, sentence) if word.text[0].isupper() else (
        word.stem if word.stem in sentence.positions else None
    )  # fmt: skip


def _passive(sentence: Sentence, place: int) -> bool:
    """Whether somebody is named by whom it was done: "by" soon after a participle, before no number and no time."""
    words = sentence.words
    if words[place].text.lower().endswith(("s", "ing")):
        return False
    for index in range(place + 1, min(place + 1 + _NEAR, len(words))):
        if words[index].text.lower() == "by":
            near = range(index + 1, min(index + 4, len(words)))
            agent = next((i for i in near if words[i].content), None)
            if agent in sentence.measured and agent + 1 in near and words[agent + 1].content:
                agent += 1  # "by two publishers"
            return (
                agent is not None
                and agent not in sentence.measured
                and not words[agent].text.lower().endswith("ing")
                and words[agent].text.lower() != "default"
            )
    return False


def _other_way(claim: Sentence, window: Window) -> list[str]:
    """What is wrong when the claim goes from B to A and the passage from A to B, or prefers the other of two."""
    chosen = _chosen(claim)
    for sentence in window.sentences if chosen else ():
        other = _chosen(sentence)
        if chosen and other and chosen[0] & other[1] and chosen[1] & other[0]:
            return [f'"{chosen[2]}" stands the other way round in the passage']
    own = _way(claim)
    for sentence in window.sentences if own else ():
        theirs = _way(sentence)
        if theirs is not None and own and own[0].stem == theirs[1].stem and own[1].stem == theirs[0].stem:
            return [f"from {own[0].text} to {own[1].text} in the claim, the other way in the passage"]
    return []


def _chosen(sentence: Sentence) -> tuple[set[str], set[str], str] | None:
    """The words before and after "instead of" and the like, and how it is written."""
    match = _INSTEAD.search(sentence.text)
    if match is None:
        return None
    start, end = match.start() + sentence.start, match.end() + sentence.start
    before = [word.stem for word in sentence.words if word.content and word.end <= start][-3:]
    after = [word.stem for word in sentence.words if word.content and word.start >= end][:3]
    return set(before) - set(after), set(after) - set(before), match.group()


def _way(sentence: Sentence) -> tuple[Word, Word] | None:
    """The words after "from" and "to" of one sentence, when it has both."""
    ends: dict[str, Word] = {}
    for index, word in enumerate(sentence.words):
        lowered = word.text.lower()
        if lowered in (_FROM, _TO) and lowered not in ends:
            after = next((w for w in sentence.words[index + 1 : index + 4] if w.content), None)
            if after is not None:
                ends[lowered] = after
    return (ends[_FROM], ends[_TO]) if len(ends) == 2 else None


def _object_as_subject(claim: Sentence, window: Window) -> list[str]:
    """What is wrong when the one who did it there, to somebody called "him" or "it", is the one it was done to here."""
    for index, verb in enumerate(claim.words):
        if not _verb_like(claim, index) or _passive(claim, index):
            continue
        befores, afters = _around(claim, index)
        subject = next((w for w in befores if w.text[0].isupper()), None)
        target = afters[0] if afters else None
        if subject is None or target is None:
            continue
        for sentence in window.sentences:
            for place in sentence.positions.get(verb.stem, ()):
                ahead = [
                    w for w in sentence.words[max(0, place - 3) : place] if w.clause == sentence.words[place].clause
                ]
                follows = sentence.words[place + 1].text.lower() if place + 1 < len(sentence.words) else ""
                if follows in _OBJECTS and any(w.stem == target.stem for w in ahead) and not any(
                    w.stem == subject.stem for w in ahead
                ):  # fmt: skip
                    return [f"{subject.text} and {target.text} have changed places"]
    return []


def _other_agent(claim: Sentence, window: Window) -> list[str]:
    """What is wrong when the claim names one who did it and the passage says "by" another."""
    for index, verb in enumerate(claim.words):
        if not _verb_like(claim, index) or not claim.words[index - 1].text[0].isupper():
            continue
        doer = claim.words[index - 1]
        for sentence in window.sentences:
            agents = [_agent(sentence, place) for place in sentence.positions.get(verb.stem, ())]
            named = [agent for agent in agents if agent]
            if named and len(named) == len(agents) and not any(held_in(doer, agent) for agent in named):
                return [f"{doer.text} in the claim, {' '.join(word.text for word in named[0])} in the passage"]
    return []


def _agent(sentence: Sentence, place: int) -> tuple[Word, ...]:
    """The name after the "by" that stands right behind the verb."""
    words = sentence.words
    if place + 2 >= len(words) or words[place + 1].text.lower() != "by" or not words[place + 2].text[0].isupper():
        return ()
    end = place + 2
    while end < len(words) and words[end].text[0].isupper() and words[end].clause == words[place + 2].clause:
        end += 1
    return words[place + 2 : end]


def held_in(word: Word, words: tuple[Word, ...]) -> bool:
    """Whether one of the words is this one."""
    return any(word.stem == other.stem for other in words)


def _other_speaker(claim: Sentence, window: Window) -> list[str]:
    """What is wrong when the claim lets one say what the passage lets another say."""
    said = _speaking(claim)
    if said is None:
        return []
    speakers = [word for word in claim.words[max(0, said - _NEAR) : said] if word.content]
    told = {word.stem for word in claim.words[said + 1 :] if word.content}
    if not speakers or len(told) < 2:
        return []
    stating = max(window.sentences, key=lambda sentence: len(told & sentence.stems))
    theirs = _speaking(stating)
    if theirs is None or len(told & stating.stems) < _TOLD_SHARE * len(told):
        return []
    others = [word for word in stating.words[max(0, theirs - _NEAR) : theirs] if word.content]
    if not others or any(_held(word, stating) for word in speakers):
        return []
    if any(word.text.lower() in PRONOUNS for word in stating.words[max(0, theirs - _NEAR) : theirs]):
        return []
    written = " ".join(word.text for word in speakers)
    return [f"{written} in the claim, {' '.join(word.text for word in others)} in the passage"]


def _speaking(sentence: Sentence) -> int | None:
    """Where the sentence has its verb of saying, when that comes early."""
    return next((i for i, word in enumerate(sentence.words[:_REACH]) if word.text.lower() in _SAYING and i), None)


_OBJECTS = PRONOUNS & frozenset("him her them it".split())


def _unlike(claim: Sentence, window: Window) -> str | None:
    """What is wrong with the claim's "unlike X", "" when nothing is, None when it has none or the passage has none."""
    own = _after_unlike(claim)
    for sentence in window.sentences:
        theirs = _after_unlike(sentence)
        if not theirs:
            continue
        if own:
            told = own - theirs, theirs - own
            if not all(told) or not own <= sentence.stems:
                return ""
            return f"unlike {_words(claim, own)} in the claim, unlike {_words(sentence, theirs)} in the passage"
        subject = {word.stem for word in claim.words[:_NEAR] if word.content}
        other = {word.stem for word in sentence.words if word.content} - theirs
        if theirs <= subject and len(claim.stems & other) >= 2 and bool(denied(claim)) == bool(denied(sentence)):
            return f"the passage says it of others, unlike {_words(sentence, theirs)}"
    return None


def _after_unlike(sentence: Sentence) -> set[str]:
    """The content words after "unlike" in its clause."""
    for index, word in enumerate(sentence.words):
        if word.text.lower() == "unlike":
            clause = sentence.words[min(index + 1, len(sentence.words) - 1)].clause
            return {w.stem for w in sentence.words[index + 1 : index + 5] if w.content and w.clause == clause}
    return set()


def _words(sentence: Sentence, stems: set[str]) -> str:
    return " ".join(dict.fromkeys(word.text for word in sentence.words if word.stem in stems))
