"""What the claim affirms the passage must not deny, and the other way round."""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from pincite.verification.findings import Finding, failed, passed
from pincite.verification.fits import fit, neighbours
from pincite.verification.lexicon import ENDING_VERBS, NEGATIONS, NEGATIVE_VERBS, OPPOSITES
from pincite.verification.passages import Sentence, Window, Word

NAME = "negation"
_REACH = 4
_NOT_ONLY = frozenset({"only", "just", "merely", "least", "surprisingly", "long"})
_TURNS = frozenset({"but", "although", "though", "however", "rather", "instead", "except", "until", "unless"})
_COMPARED = frozenset("more less fewer longer later earlier higher larger greater lower".split())
_NONE_YET = frozenset("no never none nobody nothing".split())
_LACKING = frozenset("lack lacks lacked lacking fails failed failing".split())
_PREFIXES = ("un", "non", "dis", "in", "im", "ir", "il", "mis")
_EXCEPTION = re.compile(r"\b(?:except(?: for)?|other than|apart from|unless|until)\b", re.IGNORECASE)
_OPENING = ("rul", "sho")
_JOINED = frozenset({"but", "and"})
_QUOTE = '"'
_BELIEVING = frozenset("believe think expect say know suggest mean claim consider".split())
_AS_CLOSE = 0.6
_MARGIN = 0.1
_KEPT = 4_096


def denied(sentence: Sentence) -> dict[int, str]:
    """Index of each content word within reach of a negation → the negation, as written."""
    return {place: cue for cues in denials(sentence) for place, cue in cues.items()}


@lru_cache(maxsize=_KEPT)
def denials(sentence: Sentence) -> tuple[dict[int, str], ...]:
    """For each negation in order: the indexes of the content words it denies, and how it is written."""
    words = sentence.words
    found: list[dict[int, str]] = []
    last = -_REACH
    for index, word in enumerate(words):
        lowered = word.text.lower()
        if not (_negates(lowered) or lowered in _LACKING or (lowered[:3] in _OPENING and _phrase(words, index))):
            continue
        if index + 1 < len(words) and words[index + 1].text.lower() in _NOT_ONLY:
            continue  # "not only ... but": nothing is denied
        if _bounds(words, index) or (lowered in _NONE_YET and words[-1].text.lower() == "before"):
            continue  # "never more than one" is at most one; "no one had done it before" is the first
        if lowered not in NEGATIONS and found and index - last <= 2:
            found.pop()  # "did not rule out", "never fails to"
            continue
        found.append(_reached(sentence, index))
        last = index
    return tuple(found)


def _reached(sentence: Sentence, index: int) -> dict[int, str]:
    """What the negation at this index denies: what follows in its clause, else what stands before it there."""
    words, cue = sentence.words, sentence.words[index]
    reached: dict[int, str] = {}
    numbers: dict[int, str] = {}
    for place in range(index + 1, len(words)):
        between = sentence.text[words[place - 1].end - sentence.start : words[place].start - sentence.start]
        if words[place].clause != cue.clause or len(reached) == _REACH or words[place].text.lower() in _TURNS:
            break
        if _QUOTE in between:
            break
        if words[place].content:
            (numbers if place in sentence.measured else reached)[place] = cue.text
    if not reached and numbers:
        return numbers
    if not reached:  # "the south tower never was"
        before = [p for p in range(max(0, index - _REACH), index) if words[p].clause == cue.clause]
        reached = {place: cue.text for place in before if words[place].content}
    elif (
        cue.text.lower() in ("no", "pas")
        and index
        and words[index - 1].content
        and words[index - 1].clause == cue.clause
    ):
        reached[index - 1] = cue.text  # "needs no pruning" does not need it
    return reached


def _phrase(words: Sequence[Word], index: int) -> bool:
    """Whether two words deny what follows: "ruled out", "short of"."""
    after = words[index + 1].text.lower() if index + 1 < len(words) else ""
    lowered = words[index].text.lower()
    return (after == "out" and lowered.startswith("rul")) or (after == "of" and lowered == "short")


def _bounds(words: Sequence[Word], index: int) -> bool:
    """Whether the negation is part of a bound: "no more than", "never be fewer than", "not exceed"."""
    near = [word.text.lower() for word in words[index + 1 : index + 7]]
    if near[:1] and near[0].startswith("exceed"):
        return True
    return any(one in _COMPARED and other == "than" for one, other in pairwise(near))


def _negates(word: str) -> bool:
    return word in NEGATIONS or word.endswith("n't")


def check_negation(claim: Sentence, window: Window) -> Finding:
    """Whether claim and passage agree on what is denied, word by word for the words they share."""
    shared = [sentence for sentence in window.sentences if _about(sentence, claim, window)]
    problem = (
        _denied_in_claim(claim, shared, window) or _denied_in_passage(claim, shared, window) or _prefixed(claim, shared)
    )
    problem = problem or _others_left_out(claim, shared)
    return failed(NAME, [problem], contradicts=True) if problem else passed(NAME)


def _about(sentence: Sentence, claim: Sentence, window: Window) -> bool:
    """Whether the sentence is part of the evidence and not a neighbour about something else."""
    return len(window.sentences) == 1 or len(sentence.stems & claim.stems) >= 2


def _denied_in_claim(claim: Sentence, sentences: list[Sentence], window: Window) -> str | None:
    """What the claim denies and the passage affirms, or denies without any word of denial in the passage."""
    shares = [len(sentence.stems & claim.stems) for sentence in sentences]
    for reached in denials(claim):
        stems = [claim.words[index].stem for index in reached]
        plain = None
        agrees = False
        for sentence, share in zip(sentences, shares, strict=True):
            in_sentence = denied(sentence)
            both = {sentence.words[place].stem for place in in_sentence}.intersection(stems)
            for stem in stems:
                for place in sentence.positions.get(stem, ()):
                    if place not in in_sentence and not _negative_near(sentence, place):
                        plain = plain or sentence.words[place].text
                    elif share >= _AS_CLOSE * max(shares) or len(both) > 1:
                        agrees = True
            agrees = agrees or _without_the_word(sentence, stems) or _left_out(claim, sentence)
        agrees = agrees or any(_opposite_there(claim, index, sentences, window) for index in reached)
        if agrees:
            continue
        written = next(iter(reached.values()), "")
        if plain is not None:
            return f'the claim denies "{plain}" ({written}), the passage affirms it'
        if reached and not any(_any_denial(sentence) for sentence in sentences):
            return f'"{written}" in the claim, nothing denied in the passage'
    return None


def _left_out(claim: Sentence, sentence: Sentence) -> bool:
    """Whether the sentence denies it of the claim's subject without saying it again: "but not for letters"."""
    for index, word in enumerate(sentence.words):
        if not _negates(word.text.lower()):
            continue
        joined = index > 0 and sentence.words[index - 1].text.lower() in _JOINED
        reached = _reached(sentence, index)
        if (joined or all(place < index for place in reached)) and any(
            sentence.words[place].stem in claim.stems for place in reached
        ):
            return True
    return False


def _others_left_out(claim: Sentence, sentences: list[Sentence]) -> str | None:
    """What is wrong when "A does; B does not" stands for "B does; A does not"."""
    own = [cue for cue in denials(claim) if cue and _behind(claim, cue)]
    for sentence in sentences if own else ():
        for cue in denials(sentence):
            if not cue or not _behind(sentence, cue):
                continue
            mine = {claim.words[place].stem for place in own[0]}
            theirs = {sentence.words[place].stem for place in cue}
            if mine - theirs and theirs - mine and mine <= sentence.stems and theirs <= claim.stems:
                written = " ".join(claim.words[place].text for place in sorted(own[0]))
                return f'the claim denies it of "{written}", the passage of others'
    return None


def _behind(sentence: Sentence, cue: dict[int, str]) -> bool:
    """Whether the negation stands behind what it denies, with nothing after it: "threads do not"."""
    written = next(iter(cue.values())).lower()
    near = sentence.words[max(cue) + 1 : max(cue) + 5]
    return any(word.text.lower() == written for word in near) and all(not word.content for word in near[:1])


def _denied_in_passage(claim: Sentence, sentences: list[Sentence], window: Window) -> str | None:
    """What the passage only denies and the claim affirms."""
    in_claim = denied(claim)
    turned = {claim.words[index].stem for index in in_claim}
    affirmed = {
        word.stem: word.text
        for index, word in enumerate(claim.words)
        if word.content and index not in in_claim and index not in claim.measured and not _negative_near(claim, index)
    }
    shares = [len(sentence.stems & claim.stems) for sentence in sentences]
    denying: dict[str, tuple[str, int]] = {}
    plain: dict[str, int] = {}
    for sentence, share in zip(sentences, shares, strict=True):
        taken: set[int] = set()
        for cue in denials(sentence):
            taken.update(cue)
            for index, written in _bearing(cue, sentence, claim, affirmed, turned):
                denying.setdefault(sentence.words[index].stem, (written, share))
        for index, word in enumerate(sentence.words):
            if (
                word.stem in affirmed
                and index not in taken
                and not _stands_denied(claim, sentence, index, taken, window)
            ):
                plain[word.stem] = max(plain.get(word.stem, 0), share)
    for stem, (written, share) in denying.items():
        if plain.get(stem, 0) < _AS_CLOSE * share and stem not in turned:
            return f'the passage denies "{affirmed[stem]}" ({written}), the claim affirms it'
    return None


def _stands_denied(claim: Sentence, sentence: Sentence, plain: int, taken: set[int], window: Window) -> bool:
    """Whether the claim's word stands where the sentence denies it, though the sentence has the word plainly too."""
    stem = sentence.words[plain].stem
    rivals = [place for place in sentence.positions[stem] if place in taken]
    if not rivals:
        return False
    place = claim.positions[stem][0]
    around = neighbours(claim.words, place, place)
    idf = window.source.idf
    best = max(fit(around, sentence, rival, rival, idf) for rival in rivals)
    return best > fit(around, sentence, plain, plain, idf) + _MARGIN


def _bearing(
    cue: dict[int, str], sentence: Sentence, claim: Sentence, affirmed: dict[str, str], turned: set[str]
) -> list[tuple[int, str]]:
    """The words denied by one negation that the claim affirms, when the denial is about what the claim says."""
    words = sentence.words
    if any(words[index].stem in turned for index in cue) or (turned and _elliptic(cue, sentence)):
        return []  # the claim denies it too
    held = [(index, written) for index, written in cue.items() if words[index].stem in affirmed]
    heads = sorted(cue)[:2]
    believed = bool(heads) and words[heads[0]].text.lower() in _BELIEVING
    if not any(index in heads for index, _ in held) and not (believed and len(held) > 1):
        return []  # "does not prevent colds" says nothing against "shortens colds"
    if len(held) < 2 and not any(index == heads[0] for index, _ in held):
        return []
    roots = {words[index].stem for index in cue}
    if any(root[len(prefix) :] in affirmed for root in roots for prefix in _PREFIXES if root.startswith(prefix)):
        return []  # "not unlawful" is lawful
    if _excepted(sentence, claim):
        return []
    # "without permission of the Institution" denies no institution
    return [(i, w) for i, w in held if not (w.lower() == "without" and words[i].text[0].isupper())]


def _elliptic(cue: dict[int, str], sentence: Sentence) -> bool:
    """Whether what is denied is not said again: "the south tower never was", "but not for letters"."""
    place = min(cue, default=0)
    written = cue.get(place, "").lower()
    joined = [
        i
        for i, word in enumerate(sentence.words[:place])
        if word.text.lower() == written and i and sentence.words[i - 1].text.lower() in _JOINED
    ]
    return bool(joined) or any(word.text.lower() == written for word in sentence.words[place:])


def _excepted(sentence: Sentence, claim: Sentence) -> bool:
    """Whether the claim is about what the sentence excepts from its denial."""
    match = _EXCEPTION.search(sentence.text)
    if match is None or match.group().lower() in claim.text.lower():
        return False
    after = [word for word in sentence.words if word.start - sentence.start >= match.end()]
    excepted = {word.stem for word in after if word.content and word.clause == after[0].clause}
    return bool(excepted) and excepted <= claim.stems


def _prefixed(claim: Sentence, sentences: list[Sentence]) -> str | None:
    """What the claim affirms and the passage has only with a denying prefix: agree for disagree."""
    in_claim = denied(claim)
    for sentence in sentences:
        in_sentence = {sentence.words[index].stem for index in denied(sentence)}
        for index, word in enumerate(claim.words):
            if index in in_claim or not word.content or len(word.stem) < 5 or word.stem in sentence.positions:
                continue
            for prefix in ("un", "dis", "non"):
                if prefix + word.stem in sentence.stems and prefix + word.stem not in in_sentence:
                    return f'"{word.text}" in the claim, "{prefix}{word.text}" in the passage'
    return None


def _negative_near(sentence: Sentence, place: int) -> bool:
    """Whether a verb of not doing stands just before ("failed to win") or one of ending near ("was removed")."""
    if any(word.stem in NEGATIVE_VERBS for word in sentence.words[max(0, place - 3) : place]):
        return True
    following = sentence.words[place + 1].text.lower() if place + 1 < len(sentence.words) else ""
    if following == "only" and not sentence.words[place].text.endswith("'s"):
        return True  # "writes only CSV" does not write the rest
    clause = sentence.words[place].clause
    return any(
        word.text.lower() in ENDING_VERBS and word.clause == clause
        for word in sentence.words[max(0, place - 3) : place + 7]
    )


def _without_the_word(sentence: Sentence, stems: list[str]) -> bool:
    """Whether the sentence has one of the words with a denying prefix: unsuccessful for not successful."""
    return any(
        root.startswith(_PREFIXES) and any(len(stem) > 3 and root.endswith(stem) and root != stem for stem in stems)
        for root in sentence.stems
    )


def _opposite_there(claim: Sentence, index: int, sentences: list[Sentence], window: Window) -> bool:
    """Whether the passage has the opposite where the claim has the denied word: excluded for not included."""
    wanted = {(group, 1 - side) for group, side in OPPOSITES.get(claim.words[index].stem, ())}
    if not wanted:
        return False
    around = neighbours(claim.words, index, index)
    same = opposite = 0.0
    for sentence in sentences:
        for place, word in enumerate(sentence.words):
            if word.stem == claim.words[index].stem:
                same = max(same, fit(around, sentence, place, place, window.source.idf))
            elif wanted.intersection(OPPOSITES.get(word.stem, ())):
                opposite = max(opposite, fit(around, sentence, place, place, window.source.idf))
    return opposite > same + _MARGIN / 2


def _any_denial(sentence: Sentence) -> bool:
    return any(_negates(word.text.lower()) or word.stem in NEGATIVE_VERBS for word in sentence.words)
