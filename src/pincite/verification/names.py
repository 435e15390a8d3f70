"""Every name of the claim must stand in the passage, or be what the passage's pronoun refers to, in its own place."""

import re
from collections.abc import Iterator

from pincite.verification.findings import Finding, failed, passed, skipped
from pincite.verification.fits import fit, neighbours
from pincite.verification.lexicon import FIRST_PERSON, PRONOUNS, SYNONYMS
from pincite.verification.passages import Name, Sentence, Source, Window

NAME = "names"
_RIVAL_MARGIN = 0.10
_CLEAR_FIT = 0.55
_LEAST_FIT = 0.20
_KEPT = 2_000
_CLOSE_BY = 600
"""Characters before and after a passage in which the text may have named in full what it then calls by a part."""
_CONNECTORS = frozenset("of de van von der den du la le el al bin ibn the and & y di da dos del st".split())
_NOT_NAMES = frozenset(
    "january february march april may june july august september october november december monday tuesday wednesday "
    "thursday friday saturday sunday mr mrs ms dr prof sir lord lady president king queen prince princess also "
    "however meanwhile additionally furthermore moreover instead although while since according overall finally "
    "several many most some few both each every other another such its their his her our my your one two three "
    "unlike despite via versus "
    "spring summer autumn winter yes yeah ok okay well lol oh hi hey wow sure right yep nope maybe thanks hello".split()
)
_IDENTIFIER = re.compile(r"(?<![\w-])-{0,2}[^\W\d_][^\W_]*(?:_[^\W_]+)+(?!\w)|(?<![\w-])--[^\W\d_][\w-]*\w")
"""Names of things in programs: `work_mem`, `--no-ff`."""
_COMMON_ENDINGS = ("ing", "ed", "ly", "ers", "ors", "ists", "ions", "ments", "ness", "ities", "als", "ies")
_DEMONYMS = ("ians", "ian", "eans", "ean", "ans", "an", "ese", "ish", "is", "ic", "ch", "i", "y", "ia", "a", "s", "e")


def names(sentence: Sentence, source: Source) -> tuple[Name, ...]:
    """The names in the sentence. What the source writes with a capital is a name in the claim too."""
    kept = source.names.get(sentence)
    if kept is None:
        if len(source.names) > _KEPT:
            source.names.clear()
        kept = source.names[sentence] = tuple(_names(sentence, source))
    return kept


def _names(sentence: Sentence, source: Source) -> list[Name]:
    found: list[Name] = []
    words = sentence.words
    index = 0
    while index < len(words):
        if not _is_name_word(sentence, index, source):
            index += 1
            continue
        last = index
        while last + 1 < len(words) and _joined(sentence, last):
            if _is_name_word(sentence, last + 1, source):
                last += 1
            elif (
                last + 2 < len(words)
                and words[last + 1].text in _CONNECTORS
                and _is_name_word(sentence, last + 2, source)
            ):
                if words[last + 1].text in ("and", "&", "the", "y"):
                    break
                last += 2
            else:
                break
        stems = tuple(word.stem for word in words[index : last + 1] if word.content)
        found.append(Name(_written(sentence, index, last), stems, index, last))
        index = last + 1
    return found


def _written(sentence: Sentence, first: int, last: int) -> str:
    start, end = sentence.words[first].start - sentence.start, sentence.words[last].end - sentence.start
    return sentence.text[start:end].removesuffix("'s")


def _joined(sentence: Sentence, index: int) -> bool:
    """Whether only a space, a hyphen or the dot of an initial stands between this word and the next."""
    gap = sentence.text[sentence.words[index].end - sentence.start : sentence.words[index + 1].start - sentence.start]
    short = len(sentence.words[index].text) <= 2
    return gap in (" ", "-", "") or (short and gap in (".", ". ")) or gap == " & "


def _is_name_word(sentence: Sentence, index: int, source: Source) -> bool:
    word = sentence.words[index]
    text = word.text
    if (
        not word.content
        or not text[0].isalpha()
        or index in sentence.measured
        or text.lower() in _NOT_NAMES
        or text.lower() in FIRST_PERSON
    ):
        return False
    if text[0].islower():
        # All-lower-case chat: a word the source only ever writes with a capital.
        return source.capitalised.get(word.stem, 0) > 1 and word.stem not in source.lowered
    if not text[0].isupper():
        return False
    if index and not _opens_sentence(sentence, index):
        return True
    if source.capitalised.get(word.stem, 0):
        return word.stem not in source.lowered
    if len(text) > 1 and text.isupper():
        return True
    follow = sentence.words[index + 1] if index + 1 < len(sentence.words) else None
    if follow is not None and follow.content and follow.text[0].isupper() and _joined(sentence, index):
        return True
    return word.stem not in source.lowered and not text.lower().endswith(_COMMON_ENDINGS)


def _opens_sentence(sentence: Sentence, index: int) -> bool:
    before = sentence.text[
        sentence.words[index - 1].end - sentence.start : sentence.words[index].start - sentence.start
    ]
    return any(mark in before for mark in '.!?:"\n')


def check_names(claim: Sentence, window: Window) -> Finding:
    """Whether each name of the claim is in the passage and no other name stands in its place there."""
    source = window.source
    wanted = names(claim, source)
    wanted_here = identifiers(claim)
    if not wanted and not wanted_here:
        return skipped(NAME)
    problems = [f"{text} is not in the passage" for text in wanted_here if not _has_identifier(text, window)]
    contradicts = False
    claimed = {stem for name in wanted for stem in name.stems} | {word.stem for word in claim.words}
    rivals = [
        (sentence, name)
        for sentence in window.sentences
        for name in names(sentence, source)
        if not claimed.issuperset(name.stems)
    ]
    for name in wanted:
        problem = _problem(claim, name, window, rivals, claimed)
        if problem is not None:
            problems.append(problem[0])
            contradicts = contradicts or problem[1]
    return failed(NAME, problems, contradicts=contradicts) if problems else passed(NAME)


def _has_identifier(identifier: str, window: Window) -> bool:
    """Whether the window, or what it stands under, has the identifier whole: work_mem is not maintenance_work_mem."""
    return any(identifier in identifiers(sentence) for sentence in (*window.sentences, *filter(None, (window.head,))))


def identifiers(sentence: Sentence) -> tuple[str, ...]:
    """The names of things in programs that the sentence has, whole."""
    return tuple(_IDENTIFIER.findall(sentence.text)) if "_" in sentence.text or "--" in sentence.text else ()


def _problem(
    claim: Sentence, name: Name, window: Window, rivals: list[tuple[Sentence, Name]], claimed: set[str]
) -> tuple[str, bool] | None:
    """(what is wrong, whether the passage names another in its place), or None."""
    source = window.source
    around = neighbours(claim.words, name.first, name.last)
    rival_fit, rival = max(
        (
            (fit(around, sentence, other.first, other.last, source.idf), other.text)
            for sentence, other in rivals
            if not _stands_for(name, other) and not _same_bearer(name, other, claimed)
        ),
        default=(0.0, ""),
    )
    best = max(_places(name, window, around), default=None)
    if best is None:
        if not _referred(name, window):
            if rival_fit >= _CLEAR_FIT:
                return f"{name.text} in the claim, {rival} in the passage", True
            return f"{name.text} is not in the passage", False
        # A pronoun stands for it: any other name in its place speaks against it.
        return (f"{name.text} in the claim, {rival} in the passage", True) if rival_fit >= _CLEAR_FIT else None
    if rival_fit > best + _RIVAL_MARGIN and rival_fit >= _LEAST_FIT:
        # Both stand there: not what the passage says, but too little to say that it says otherwise.
        return f"{name.text} in the claim, {rival} in the passage at that place", False
    return None


def _places(name: Name, window: Window, around: list[tuple[str, int, int]]) -> Iterator[float]:
    """The fit of every place of the passage where the name stands, in full or in a form that the source explains."""
    whole = " ".join(name.text.lower().split()) in window.source.lower
    for sentence in (*window.sentences, *filter(None, (window.head,))):
        held = [stem for stem in name.stems if held_by(stem, sentence)]
        if (
            len(held) < len(name.stems)
            and not (whole and held and _short_form(held, sentence, name.text, window))
            and not _acronym(name, sentence)
        ):
            continue
        places = [place for stem in held for place in sentence.positions.get(held_by(stem, sentence) or stem, ())]
        for place in places or [0]:
            yield fit(around, sentence, place, place, window.source.idf)


def _short_form(stems: list[str], sentence: Sentence, written: str, window: Window) -> bool:
    """Whether a part of a name stands for it: written as a name, or with the whole name close by."""
    places = (place for stem in stems for place in sentence.positions.get(held_by(stem, sentence) or stem, ()))
    if any(not sentence.words[place].text[0].islower() for place in places):
        return True
    around = window.source.folded[max(0, window.start - _CLOSE_BY) : window.end + _CLOSE_BY].lower()
    return " ".join(written.lower().split()) in " ".join(around.split())


def held_by(stem: str, sentence: Sentence) -> str | None:
    """The stem under which the sentence has this name word: itself, or the name of a people for its country."""
    if stem in sentence.positions:
        return stem
    if len(stem) < 4 or not stem.isalpha():
        return None
    roots = _roots(stem)
    return next((other for other in sentence.stems if other[:3] == stem[:3] and roots & _roots(other)), None)


def _roots(stem: str) -> set[str]:
    found = {stem} | {stem.removesuffix(ending) for ending in _DEMONYMS if stem.endswith(ending)}
    return {root for root in found if len(root) >= 4} or {stem}


def _acronym(name: Name, sentence: Sentence) -> bool:
    """Whether the sentence has the initials of this name, or the name that this acronym stands for."""
    if len(name.stems) >= 2:
        return initials(name) in sentence.positions
    return spelled_out(name.text, sentence)


def spelled_out(acronym: str, sentence: Sentence) -> bool:
    """Whether the sentence has the words that the acronym is made of; one of three letters and more in any case."""
    text = acronym.replace(".", "")
    if not (2 <= len(text) <= 6 and text.isupper()):
        return False
    pattern = r"\b" + r"\w*(?:[ -](?:of|the|for|and|in|on))*[ -]".join(map(re.escape, text)) + r"\w*"
    return re.search(pattern, sentence.text, re.IGNORECASE if len(text) > 2 else 0) is not None


def initials(name: Name) -> str:
    """The first letters of the capitalised words, in lower case."""
    return "".join(word[0] for word in name.text.split() if word[0].isupper()).lower()


def _stands_for(first: Name, second: Name) -> bool:
    """Whether one of the two is made of the initials of the other."""
    return any(
        len(long.stems) > 1 and short.text.replace(".", "").lower() == initials(long)
        for long, short in ((first, second), (second, first))
    )


def _same_bearer(name: Name, other: Name, claimed: set[str]) -> bool:
    """Whether the other name may be this one, or another of the claim: "Court" in common is too little."""
    shared = claimed.intersection(other.stems)
    if not shared:
        return False
    return not (len(name.stems) > 1 and len(other.stems) > 1 and shared == {name.stems[-1]} == {other.stems[0]})


def _referred(name: Name, window: Window) -> bool:
    """Whether the passage can mean this name without saying it: a pronoun, and the name is what the text is about."""
    source = window.source
    opener = window.sentences[0].words[:12]
    if not any(word.text.lower() in PRONOUNS for word in opener):
        return False
    before = source.folded[max(0, window.start - 300) : window.start].lower()
    if not all(SYNONYMS.get(stem, stem) in source.postings for stem in name.stems):
        return False
    return name.text.lower() in before or max(source.capitalised.get(stem, 0) for stem in name.stems) >= max(
        3, source.most_capitalised * 0.6
    )
