"""What the claim affirms the passage must not deny, and the other way round."""

from collections.abc import Sequence
from itertools import pairwise

from pincite.verification.findings import Finding, failed, passed
from pincite.verification.lexicon import NEGATIONS, NEGATIVE_VERBS
from pincite.verification.passages import Sentence, Window, Word

NAME = "negation"
_REACH = 4
_NOT_ONLY = frozenset({"only", "just", "merely", "least", "surprisingly", "yet", "long"})
_TURNS = frozenset({"but", "although", "though", "however", "rather", "instead", "except", "until", "unless"})
_COMPARED = frozenset("more less fewer longer later earlier higher larger greater lower".split())
_NONE_YET = frozenset("no never none nobody nothing".split())
_PREFIXES = ("un", "non", "dis", "in", "im", "ir", "il", "mis")


def denied(sentence: Sentence) -> dict[int, str]:
    """Index of each content word within reach of a negation → the negation, as written."""
    found: dict[int, str] = {}
    words = sentence.words
    for index, word in enumerate(words):
        lowered = word.text.lower()
        if not _negates(lowered):
            continue
        if index + 1 < len(words) and words[index + 1].text.lower() in _NOT_ONLY:
            continue  # "not only ... but": nothing is denied
        if _bounds(words, index) or (lowered in _NONE_YET and words[-1].text.lower() == "before"):
            continue  # "never more than one" is at most one; "no one had done it before" is the first
        reached = 0
        for place in range(index + 1, len(words)):
            if words[place].clause != word.clause or reached == _REACH or words[place].text.lower() in _TURNS:
                break
            if words[place].content:
                found[place] = word.text
                reached += 1
    return found


def _bounds(words: Sequence[Word], index: int) -> bool:
    """Whether the negation is part of a bound: "no more than", "never be fewer than"."""
    near = [word.text.lower() for word in words[index + 1 : index + 5]]
    return any(one in _COMPARED and other == "than" for one, other in pairwise(near))


def _negates(word: str) -> bool:
    return word in NEGATIONS or word.endswith("n't")


def check_negation(claim: Sentence, window: Window) -> Finding:
    """Whether claim and passage agree on what is denied, word by word for the words they share."""
    shared = [sentence for sentence in window.sentences if _about(sentence, claim, window)]
    problem = _denied_in_claim(claim, shared) or _denied_in_passage(claim, shared)
    return failed(NAME, [problem], contradicts=True) if problem else passed(NAME)


def _about(sentence: Sentence, claim: Sentence, window: Window) -> bool:
    """Whether the sentence is part of the evidence and not a neighbour about something else."""
    return len(window.sentences) == 1 or len(sentence.stems & claim.stems) >= 2


def _denied_in_claim(claim: Sentence, sentences: list[Sentence]) -> str | None:
    """What the claim denies and the passage affirms, or denies without any word of denial in the passage."""
    in_claim = denied(claim)
    for cue in dict.fromkeys(in_claim.values()):
        stems = [claim.words[index].stem for index, found in in_claim.items() if found == cue]
        plain = None
        agrees = False
        for sentence in sentences:
            in_sentence = denied(sentence)
            for stem in stems:
                for place in sentence.positions.get(stem, ()):
                    if place in in_sentence or _negative_before(sentence, place):
                        agrees = True
                    else:
                        plain = plain or sentence.words[place].text
            agrees = agrees or _without_the_word(sentence, stems)
        if agrees:
            continue
        if plain is not None:
            return f'the claim denies "{plain}" ({cue}), the passage affirms it'
        if not any(_any_denial(sentence) for sentence in sentences):
            return f'"{cue}" in the claim, nothing denied in the passage'
    return None


def _denied_in_passage(claim: Sentence, sentences: list[Sentence]) -> str | None:
    """What the passage only denies and the claim affirms."""
    in_claim = denied(claim)
    affirmed = {
        word.stem: word.text
        for index, word in enumerate(claim.words)
        if word.content and index not in in_claim and not _negative_before(claim, index)
    }
    denying: dict[str, str] = {}
    plain: set[str] = set()
    for sentence in sentences:
        in_sentence = denied(sentence)
        for index, word in enumerate(sentence.words):
            if word.stem in affirmed:
                if in_sentence.get(index, "").lower() == "without" and word.text[0].isupper():
                    continue  # "without permission of the Institution" denies no institution
                if index in in_sentence:
                    denying.setdefault(word.stem, in_sentence[index])
                else:
                    plain.add(word.stem)
    for stem, cue in denying.items():
        if stem not in plain and not any(claim.words[index].stem == stem for index in in_claim):
            return f'the passage denies "{affirmed[stem]}" ({cue}), the claim affirms it'
    return None


def _negative_before(sentence: Sentence, place: int) -> bool:
    """Whether a verb of not doing stands just before ("failed to win", "lack of money")."""
    return any(word.stem in NEGATIVE_VERBS for word in sentence.words[max(0, place - 3) : place])


def _without_the_word(sentence: Sentence, stems: list[str]) -> bool:
    """Whether the sentence has one of the words with a denying prefix: unsuccessful for not successful."""
    return any(
        root.startswith(_PREFIXES) and any(len(stem) > 3 and root.endswith(stem) and root != stem for stem in stems)
        for root in sentence.stems
    )


def _any_denial(sentence: Sentence) -> bool:
    return any(_negates(word.text.lower()) or word.stem in NEGATIVE_VERBS for word in sentence.words)
