"""What the passage only plans, expects or reports as possible the claim must not state as done."""

import re
from bisect import bisect_left

from pincite.text.tokens import stem as stem_of
from pincite.verification.findings import Finding, failed, passed
from pincite.verification.fits import REACH
from pincite.verification.lexicon import HEDGES
from pincite.verification.negation import denied
from pincite.verification.passages import Sentence, Window

NAME = "modality"
_GOALS = frozenset("target targets goal goals objective objectives ambition aim aims quota".split())
_REACHED = frozenset("reached achieved met attained exceeded surpassed fulfilled hit accomplished reaches".split())
_PHRASES = ("according to", "is said to", "are said to", "was said to", "not clear whether", "in talks", "on condition")

_AT_A_DISTANCE = re.compile(
    r"\b(?:(?:is|are|was|were) (?:said|thought|believed|reported|rumou?red|alleged|understood) to|"
    r"den(?:y|ies|ied)(?: that)?|disput(?:e|es|ed)(?: that)?|accus(?:e|es|ed) (?:\w+ ){1,3}?of|rumou?rs? that|"
    r"(?:still )?needs? (?:approval|permission|consent|a permit|to be)|subject to|pending|awaits?|awaiting|yet to|"
    r"rumou?rs)(?!\w)",
    re.IGNORECASE,
)
_PRESENT = re.compile(r"\b(?:is|are|has|remains?|still)\b", re.IGNORECASE)
_PAST = re.compile(r"\b(?:was|were|had|used to|did|been|until|formerly|previously|\w{3,}ed)\b", re.IGNORECASE)
_UNTIL = re.compile(r"\b(?:until|formerly|previously|used to)\b", re.IGNORECASE)
_EITHER = re.compile(r"\beither (?P<one>[^,;.]{2,40}?) or (?P<other>\w+(?: [A-Z]\w+)?)")
_PLANNED = frozenset("planned proposed scheduled considered intended suggested".split())
_BEING = frozenset("is are was were being".split())
_MAY = frozenset("may might could would".split())
_WILL = frozenset("will shall".split())
_DONE = frozenset("has have had was were been".split())


def _hedges(sentence: Sentence) -> list[int]:
    return [
        index
        for index, word in enumerate(sentence.words)
        if word.text.lower() in HEDGES and not _month_or_name(sentence, index) and not _only_seems(sentence, index)
    ]


def _only_seems(sentence: Sentence, index: int) -> bool:
    """Whether `appear` is coming into view ("appeared in court") and not a guess ("appears to be")."""
    if not sentence.words[index].stem.startswith(("appear", "seem")):
        return False
    return index + 1 >= len(sentence.words) or sentence.words[index + 1].text.lower() not in ("to", "that", "likely")


def _said_of(sentence: Sentence) -> list[int]:
    """Where the sentence keeps what follows at a distance by more than one word: "is said to", "denies that"."""
    starts = [match.end() for match in _AT_A_DISTANCE.finditer(sentence.text)]
    return [bisect_left(sentence.word_starts, start + sentence.start) - 1 for start in starts]


def _month_or_name(sentence: Sentence, index: int) -> bool:
    word = sentence.words[index].text
    return index > 0 and word[0].isupper()


def _only_aimed(claim: Sentence, window: Window) -> str | None:
    """What the claim says was reached and the passage only has as a target."""
    reached = next((word for word in claim.words if word.text.lower() in _REACHED), None)
    if reached is None or denied(claim):
        return None
    about = [sentence for sentence in window.sentences if len(sentence.stems & claim.stems) >= 2]
    if any(word.text.lower() in _REACHED for sentence in about for word in sentence.words):
        return None
    goal = next((w.text for sentence in about for w in sentence.words if w.text.lower() in _GOALS), None)
    return f'"{goal}" in the passage, "{reached.text}" in the claim' if goal else None


def _not_yet(claim: Sentence, window: Window) -> str | None:
    """What the claim says has happened and the passage only says will happen."""
    lowered = [word.text.lower() for word in claim.words]
    for index, word in enumerate(claim.words):
        if not word.content or not _DONE & set(lowered[max(0, index - 2) : index]) or _WILL & set(lowered):
            continue
        said: str | None = None
        for sentence in window.sentences:
            for place in sentence.positions.get(word.stem, ()):
                before = [other.text.lower() for other in sentence.words[max(0, place - 3) : place]]
                will = next((text for text in before if text in _WILL), None)
                if will is None:
                    return None  # said as done somewhere
                said = said or will
        if said is not None and lowered[index].endswith(("ed", "en", "n", "t")):
            return f'"{said}" in the passage, stated as done in the claim'
    return None


def _no_longer(claim: Sentence, window: Window) -> str | None:
    """What the claim says is so and the passage only says was so, until some time."""
    if _PAST.search(claim.text):
        return None
    stating = max(window.sentences, key=lambda sentence: len(sentence.stems & claim.stems))
    match = _UNTIL.search(stating.text)
    if match is None:
        return None
    was = {word.stem for word in stating.words if word.text.lower().endswith("ed")}
    same_verb = any(word.stem in was and not word.text.lower().endswith("ed") for word in claim.words)
    state = _PRESENT.search(claim.text) and _PAST.search(stating.text) and not _PRESENT.search(stating.text)
    if not same_verb and not state:
        return None
    return f'"{match.group()}" in the passage, still so in the claim'


def _one_of_two(claim: Sentence, window: Window) -> str | None:
    """What the claim takes for certain and the passage leaves open: "either A or B"."""
    if re.search(r"\b(?:or|either)\b", claim.text):
        return None
    for sentence in window.sentences:
        match = _EITHER.search(sentence.text)
        if match is None or len(sentence.stems & claim.stems) < 2:
            continue
        sides = [set(map(stem_of, re.findall(r"\w+", match[name]))) for name in ("one", "other")]
        held = [bool(side & claim.stems) for side in sides]
        if held[0] != held[1]:
            return f'"{match.group()}" in the passage, one of the two in the claim'
    return None


def check_modality(claim: Sentence, window: Window) -> Finding:
    """Whether a hedge of the passage, over words that the claim shares, is in the claim too."""
    if _hedges(claim) or any(phrase in claim.text.lower() for phrase in _PHRASES):
        return passed(NAME)
    stems = claim.stems
    aimed = (
        _only_aimed(claim, window) or _not_yet(claim, window) or _no_longer(claim, window) or _one_of_two(claim, window)
    )
    if aimed is not None:
        return failed(NAME, [aimed])
    for sentence in window.sentences:
        if len(sentence.stems & stems) < 2:
            continue
        for index in sorted({*_hedges(sentence), *_said_of(sentence)}):
            clause = sentence.words[index].clause
            planned = sentence.words[index].text.lower() in _PLANNED and index > 0
            first = max(0, index - REACH) if planned and sentence.words[index - 1].text.lower() in _BEING else index + 1
            reach = sentence.words[first : index + 1 + REACH]
            shared = [word.stem for word in reach if word.content and word.clause == clause and word.stem in stems]
            others = [other for other in window.sentences if other is not sentence]
            if any(set(shared) <= other.stems for other in others):
                continue  # said plainly next to it
            at_once = sentence.words[index + 1].stem if index + 1 < len(sentence.words) else ""
            certain = sentence.words[index].text.lower() in _MAY and at_once in shared
            if len(set(shared)) >= 2 or (shared and len(stems) <= 3) or certain:
                return failed(NAME, [f'"{sentence.words[index].text}" in the passage, stated as a fact in the claim'])
    return passed(NAME)
