"""What the passage only plans, expects or reports as possible the claim must not state as done."""

from pincite.verification.findings import Finding, failed, passed
from pincite.verification.fits import REACH
from pincite.verification.lexicon import HEDGES
from pincite.verification.negation import denied
from pincite.verification.passages import Sentence, Window

NAME = "modality"
_GOALS = frozenset("target targets goal goals objective objectives ambition aim aims quota".split())
_REACHED = frozenset("reached achieved met attained exceeded surpassed fulfilled hit accomplished reaches".split())
_PHRASES = ("according to", "is said to", "are said to", "was said to", "not clear whether", "in talks", "on condition")


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


def check_modality(claim: Sentence, window: Window) -> Finding:
    """Whether a hedge of the passage, over words that the claim shares, is in the claim too."""
    if _hedges(claim) or any(phrase in claim.text.lower() for phrase in _PHRASES):
        return passed(NAME)
    stems = claim.stems
    aimed = _only_aimed(claim, window)
    if aimed is not None:
        return failed(NAME, [aimed])
    for sentence in window.sentences:
        if len(sentence.stems & stems) < 2:
            continue
        for index in _hedges(sentence):
            clause = sentence.words[index].clause
            reach = sentence.words[index + 1 : index + 1 + REACH]
            shared = [word.stem for word in reach if word.content and word.clause == clause and word.stem in stems]
            others = [other for other in window.sentences if other is not sentence]
            if any(set(shared) <= other.stems for other in others):
                continue  # said plainly next to it
            if len(set(shared)) >= 2 or (shared and len(stems) <= 3):
                return failed(NAME, [f'"{sentence.words[index].text}" in the passage, stated as a fact in the claim'])
    return passed(NAME)
