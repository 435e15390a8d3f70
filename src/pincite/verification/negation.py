"""What the claim affirms the passage must not deny, and the other way round."""

from pincite.verification.findings import Finding, failed, passed
from pincite.verification.lexicon import NEGATIONS, NEGATIVE_VERBS
from pincite.verification.passages import Sentence, Window

NAME = "negation"
_REACH = 4
_NOT_ONLY = frozenset({"only", "just", "merely", "least", "surprisingly", "yet", "long"})


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
        reached = 0
        for place in range(index + 1, len(words)):
            if words[place].clause != word.clause or reached == _REACH:
                break
            if words[place].content:
                found[place] = word.text
                reached += 1
    return found


def _negates(word: str) -> bool:
    return word in NEGATIONS or word.endswith("n't")


def _cues(sentence: Sentence) -> list[str]:
    return [word.text for word in sentence.words if _negates(word.text.lower())]


def _negative_verbs(sentence: Sentence) -> list[str]:
    return [word.text for word in sentence.words if word.stem in NEGATIVE_VERBS or _privative(word.text.lower())]


def _privative(word: str) -> bool:
    return len(word) > 6 and (word.startswith(("un", "non", "dis", "in", "im", "ir", "il")) or word.endswith("less"))


def check_negation(claim: Sentence, window: Window) -> Finding:
    """Whether claim and passage agree on what is denied, word by word for the words they share."""
    in_claim = denied(claim)
    claim_denied = {claim.words[index].stem: cue for index, cue in in_claim.items()}
    claim_plain = {word.stem for i, word in enumerate(claim.words) if word.content and i not in in_claim}
    passage_denied: dict[str, str] = {}
    passage_plain: set[str] = set()
    negative = False
    for sentence in window.sentences:
        shared = sum(1 for stem in sentence.stems if stem in claim_plain or stem in claim_denied)
        if shared < 2 and len(window.sentences) > 1:
            continue  # a neighbour about something else
        in_sentence = denied(sentence)
        negative = negative or bool(_cues(sentence) or _negative_verbs(sentence))
        for index, word in enumerate(sentence.words):
            if not word.content:
                continue
            if index in in_sentence:
                passage_denied.setdefault(word.stem, in_sentence[index])
            else:
                passage_plain.add(word.stem)
    return _compare(claim, claim_denied, claim_plain, passage_denied, passage_plain, negative=negative)


def _compare(
    claim: Sentence,
    claim_denied: dict[str, str],
    claim_plain: set[str],
    passage_denied: dict[str, str],
    passage_plain: set[str],
    *,
    negative: bool,
) -> Finding:
    problems: list[str] = []
    contradicts = False
    only_affirmed = [stem for stem in claim_denied if stem in passage_plain and stem not in passage_denied]
    if claim_denied and only_affirmed and not any(stem in passage_denied for stem in claim_denied) and not negative:
        word = _written(claim, only_affirmed[0])
        problems.append(f'the claim denies "{word}" ({claim_denied[only_affirmed[0]]}), the passage affirms it')
        contradicts = True
    elif (_cues(claim)) and not negative and not passage_denied:
        problems.append(f'"{_cues(claim)[0]}" in the claim, nothing denied in the passage')
    only_denied = [
        stem
        for stem in claim_plain
        if stem in passage_denied and stem not in passage_plain and stem not in claim_denied
    ]
    if only_denied and not _cues(claim) and not _negative_verbs(claim):
        word = _written(claim, only_denied[0])
        problems.append(f'the passage denies "{word}" ({passage_denied[only_denied[0]]}), the claim affirms it')
        contradicts = True
    return failed(NAME, problems, contradicts=contradicts) if problems else passed(NAME)


def _written(claim: Sentence, stem: str) -> str:
    return next(word.text for word in claim.words if word.stem == stem)
