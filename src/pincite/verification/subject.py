"""What the claim is about must be what the sentence is about: "X is the default" is not "Y is the default"."""

from pincite.text.tokens import stem as stem_of
from pincite.verification.findings import Finding, failed, passed, skipped
from pincite.verification.lexicon import PRONOUNS
from pincite.verification.names import held_by, identifiers
from pincite.verification.numbers import equal
from pincite.verification.passages import Sentence, Window, Word

NAME = "subject"
_VERBS = frozenset(
    "is are was were be been has have had can could may might must will would shall should does do did isn't aren't "
    "wasn't weren't hasn't haven't can't couldn't won't wouldn't doesn't don't didn't cannot".split()
)
# "The park" after "Havel Wind Park": as good as a pronoun.
_DEFINITE = frozenset("the this that these those its his her their such both another our my your".split())
_REACH = 10
_SAME_STATEMENT = 0.6
_CLEAR = 0.8
_DEFAULT = "default"
_DEFAULT_SHARE = 0.5


def check_subject(claim: Sentence, window: Window) -> Finding:
    """Whether the sentence that states the claim states it of the same thing."""
    other = _other_entry(claim, window) or _other_default(claim, window)
    if other is not None:
        return failed(NAME, [other])
    verb = _verb(claim)
    subject = _before(claim, verb) if verb is not None else []
    if verb is None or not subject or _points_back(claim, verb):
        return skipped(NAME)
    predicate = {
        word.stem for i, word in enumerate(claim.words) if i > verb and word.content and i not in claim.measured
    }
    if not predicate:
        return skipped(NAME)
    stating = max(window.sentences, key=lambda sentence: len(predicate & sentence.stems))
    share = len(predicate & stating.stems) / len(predicate)
    named = [stating] if window.head is None else [stating, window.head]
    if share < _SAME_STATEMENT or any(held_by(word.stem, sentence) for word in subject for sentence in named):
        return passed(NAME)
    written = " ".join(word.text for word in subject)
    their_verb = _verb(stating)
    theirs = _before(stating, their_verb) if their_verb is not None else []
    if their_verb is None or not theirs or _points_back(stating, their_verb):
        known = any(word.stem in window.source.postings for word in subject)
        return passed(NAME) if known else failed(NAME, [f"{written} is not in the passage"])
    named_there = " ".join(word.text for word in theirs)
    return failed(NAME, [f"{written} in the claim, {named_there} in the passage"], contradicts=share >= _CLEAR)


def _other_entry(claim: Sentence, window: Window) -> str | None:
    """What is wrong when the sentence that says it stands in the entry of another setting, option or function."""
    wanted = set(identifiers(claim))
    if not wanted:
        return None
    stating = max(window.sentences, key=lambda sentence: _said(claim, sentence, window))
    heading = window.heading_of(stating)
    entry = () if heading is None else identifiers(heading)
    if not entry or not wanted.isdisjoint((*entry, *identifiers(stating))):
        return None
    return f"the passage says it of {entry[0]}"


def _said(claim: Sentence, sentence: Sentence, window: Window) -> float:
    """How much of what the claim says the sentence has, its numbers included; what it is said of does not count."""
    named = {stem for text in identifiers(claim) for stem in map(stem_of, text.strip("-").split("_"))}
    shared = (claim.stems & sentence.stems) - named
    same = sum(any(equal(a, b, sentence) for b in sentence.quantities) for a in claim.quantities)
    return sum(window.source.idf(root) for root in shared) + 2 * same


def _other_default(claim: Sentence, window: Window) -> str | None:
    """What is wrong when the claim calls something the default and the sentence with that word names another thing."""
    if _DEFAULT not in claim.positions:
        return None
    saying = [sentence for sentence in window.sentences if _DEFAULT in sentence.positions]
    if not saying or (len(window.sentences) == 1 and window.head is None):
        return None
    source = window.source
    wanted = {word.stem for i, word in enumerate(claim.words) if word.content and i not in claim.measured}
    wanted -= {_DEFAULT}
    total = sum(source.idf(stem) for stem in wanted)
    best = max(sum(source.idf(stem) for stem in wanted & (sentence.stems | window.head_stems)) for sentence in saying)
    if not total or best >= _DEFAULT_SHARE * total:
        return None
    return "the passage says of something else that it is the default"


def _verb(sentence: Sentence) -> int | None:
    """Index of the first auxiliary near the start."""
    return next((i for i, word in enumerate(sentence.words[:_REACH]) if word.text.lower() in _VERBS and i), None)


def _before(sentence: Sentence, verb: int) -> list[Word]:
    """The content words of the verb's clause before it."""
    clause = sentence.words[verb].clause
    return [word for word in sentence.words[:verb] if word.content and word.clause == clause]


def _points_back(sentence: Sentence, verb: int) -> bool:
    """Whether the subject stands for something named before: a pronoun or a definite description."""
    clause = sentence.words[verb].clause
    words = [word.text.lower() for word in sentence.words[:verb] if word.clause == clause]
    return not words or words[0] in _DEFINITE or any(word in PRONOUNS for word in words)
