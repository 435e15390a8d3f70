"""Small changes to a quoted sentence that turn its meaning: what a near copy adds, drops or puts in another place.

The claim checks compare what is said; this compares wording, and only where a sentence follows its passage closely. A
free paraphrase is left to the checks.
"""

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import Final

from pincite.text.normalise import fold

FOLLOWS_FROM: Final = 0.6
"""Share of a sentence's words that stand in one passage in the same order, from which it counts as a near copy."""
_MAX_WORDS: Final = 400
_WORD = re.compile(r"\d+(?:[.,:]\d+)*%?|\w+(?:['’]\w+)*")
_TURNING: Final = frozenset(
    "not no never neither nor none nothing cannot can't don't doesn't didn't isn't aren't wasn't weren't won't without "
    "unless except only all every each always most many some several few any both either half may might can could must "
    "should shall usually often sometimes typically generally rarely seldom probably possibly likely approximately "
    "about nearly almost least more less fewer greater smaller larger higher lower above below over under before after "
    "until since maximum minimum first last increase increases increased decrease decreases decreased rose fell grew "
    "shrank unlike instead former latter true false "
    "bits bytes kilobytes megabytes gigabytes terabytes kb mb gb tb kib mib gib milliseconds seconds minutes "
    "hours days weeks months years nanometres micrometres millimetres centimetres metres meters kilometres "
    "kilometers miles feet inches grams kilograms tonnes pounds litres liters degrees percent thousand million "
    "billion trillion".split()
)


def alteration(text: str, passages: Iterable[str]) -> str:
    """What the sentence changes in the passage it follows, in words; empty when it changes nothing that turns it.

    Args:
        text: a claim or a written sentence.
        passages: the quotes it rests on.
    """
    mine = _words(text)
    if not mine:
        return ""
    lowered = [word.lower() for word in mine]
    best: tuple[float, list[str], SequenceMatcher[str]] | None = None
    for passage in passages:
        theirs = _words(passage)
        matcher = SequenceMatcher(a=[word.lower() for word in theirs], b=lowered, autojunk=False)
        share = sum(block.size for block in matcher.get_matching_blocks()) / len(mine)
        if best is None or share > best[0]:
            best = (share, theirs, matcher)
    if best is None or best[0] < FOLLOWS_FROM:
        return ""
    _, theirs, matcher = best
    return _turned(mine, theirs, matcher)


def _turned(mine: Sequence[str], theirs: Sequence[str], matcher: SequenceMatcher[str]) -> str:
    blocks = [block for block in matcher.get_matching_blocks() if block.size]
    first, last = blocks[0], blocks[-1]
    dropped: list[str] = []
    added: list[str] = []
    for tag, a0, a1, b0, b1 in matcher.get_opcodes():
        if tag == "equal":
            continue
        # What stands before and after the part that is followed is not its wording, unless it is said here.
        if a0 >= first.a and a1 <= last.a + last.size:
            dropped += theirs[a0:a1]
        added += mine[b0:b1]
    turned = sorted({word.lower() for word in added} & _TURNING - {word.lower() for word in dropped})
    lost = sorted({word.lower() for word in dropped} & _TURNING - {word.lower() for word in added})
    if turned:
        return f"the passage does not say {_listed(turned)} there"
    if lost:
        return f"the passage says {_listed(lost)} there"
    moved = _moved(added, dropped)
    return f"{_listed(sorted(moved))} stands in another place in the passage" if moved else ""


def _moved(added: Iterable[str], dropped: Iterable[str]) -> set[str]:
    """The names that stand elsewhere, also where one takes the genitive of another: "Python's API", "API's Python"."""
    new, old = ({word for word in words if word[:1].isupper()} for words in (added, dropped))
    gained, lost = _owners(new) & old, _owners(old) & new
    return (new & old) | (gained | lost if gained and lost else set())


def _owners(names: set[str]) -> set[str]:
    return {name[:-2] for name in names if name.endswith(("'s", "’s"))}


def _listed(found: Sequence[str]) -> str:
    return ", ".join(f'"{word}"' for word in found[:3])


def _words(text: str) -> list[str]:
    return _WORD.findall(fold(text).text)[:_MAX_WORDS]
