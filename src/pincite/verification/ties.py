"""What ties a number to its place in the passage more closely than the likeness of all its neighbours does."""

from typing import NamedTuple

from pincite.verification.dates import Moment
from pincite.verification.fits import fit, neighbours
from pincite.verification.passages import Sentence, Window
from pincite.verification.quantities import Quantity

RIVAL_MARGIN = 0.08
"""By how much another number must stand better in the claim's place to be what the passage says there."""
_BESIDE = 2
_NEXT = 4
_TELLING_APART = frozenset({"by", "to", "from"})
_ABOUT = frozenset("about around nearly almost approximately roughly some just over under more less than".split())
_BOUNDING = frozenset("maximum minimum max min limit cap most least".split())
_CONTINUING = frozenset("and or but while whereas against compared versus".split())


class Found(NamedTuple):
    """A number of the passage: how well it stands in the claim's place by its sentence, and with the heading."""

    fit: float
    below_heading: float
    text: str
    sentence: Sentence
    first: int
    last: int
    key: object
    dimension: str = ""
    bound: str = ""


class Asked(NamedTuple):
    """A number of the claim: its words there and their neighbours. `others` are the claim's other numbers."""

    claim: Sentence
    text: str
    first: int
    last: int
    around: list[tuple[str, int, int]]
    others: dict[object, tuple[int, int]]


def key_of(value: Quantity | Moment) -> object:
    """What makes two numbers or dates one."""
    if isinstance(value, Quantity):
        return value.kind, value.value, value.high, value.dimension, value.unit if value.kind == "version" else ""
    return value.kind, value.year, value.month, value.day


def cut_off(asked: Asked, own: Found, other: list[Found]) -> Found | None:
    """The other number that stands between the claim's number and the words after it: "37 reports, five of burns"."""
    after = [stem for stem, distance, side in asked.around if side > 0 and distance <= _NEXT and not stem[0].isdigit()]
    nearer = [f for f in other if f.sentence is own.sentence and f.first > own.last and f.key not in asked.others]
    for found in nearer:
        joining = {word.text.lower() for word in own.sentence.words[own.last + 1 : found.first]}
        if not joining & (_CONTINUING | {"including"}):
            continue
        for stem in after:
            places = own.sentence.positions.get(stem, ())
            if (
                places
                and all(place > found.last for place in places)
                and places[0] - found.last <= _NEXT < places[0] - own.last
            ):
                return found
    return None


def tied(asked: Asked, own: Found, rival: Found, window: Window) -> bool:
    """Whether something closer than the likeness of all neighbours ties the claim's number to its place."""
    return (
        _by_preposition(asked, own, rival)
        or _by_neighbour(asked, own, rival)
        or part_of(own, rival)
        or _by_bound(asked, own, rival)
        or _continued(asked, own, rival)
        or _each_its_own(asked, own, rival, window)
    )


def _preposition(sentence: Sentence, first: int) -> str:
    """The "by", "to" or "from" before a number, approximations aside."""
    place = first - 1
    while place >= 0 and sentence.words[place].text.lower() in _ABOUT:
        place -= 1
    word = sentence.words[place].text.lower() if place >= 0 else ""
    return word if word in _TELLING_APART else ""


def _by_preposition(asked: Asked, own: Found, rival: Found) -> bool:
    """Whether "rose to 5" and "rose by 2" tell the two apart."""
    wanted = _preposition(asked.claim, asked.first)
    theirs = _preposition(rival.sentence, rival.first)
    return bool(wanted and theirs) and _preposition(own.sentence, own.first) == wanted != theirs


def _by_neighbour(asked: Asked, own: Found, rival: Found) -> bool:
    """Whether the claim's next word stands beside the number there too, and not beside the other one."""
    close = {(stem, side) for stem, distance, side in asked.around if distance <= _BESIDE and not stem[0].isdigit()}
    if (close & _beside(own)) - _beside(rival):
        return True
    years = {key[1] for key in asked.others if isinstance(key, tuple) and key[0] == "date"}
    return bool(years & _years_beside(own) - _years_beside(rival))


def _years_beside(found: Found) -> set[int | None]:
    near = range(found.first - 3, found.last + 4)
    sentence = found.sentence
    return {m.year for m in sentence.moments if m.year and sentence.word_range(m.start, m.end)[0] in near}


def _beside(found: Found) -> set[tuple[str, int]]:
    near = neighbours(found.sentence.words, found.first, found.last)
    return {(stem, side) for stem, distance, side in near if distance <= _BESIDE}


def _by_bound(asked: Asked, own: Found, rival: Found) -> bool:
    """Whether the claim is about the most or the least, and only its own number is called so there."""
    return bool(own.bound) and not rival.bound and any(w.stem in _BOUNDING for w in asked.claim.words)


def part_of(own: Found, rival: Found) -> bool:
    """Whether the passage has it as a part of the other: "eleven of the 64"."""
    if own.sentence is not rival.sentence or not own.last < rival.first <= own.last + 3:
        return False
    return own.sentence.words[own.last + 1].text.lower() == "of"


def said_of_part(asked: Asked, whole: Found) -> bool:
    """Whether the claim ends as the clause does in which the passage counts a part: "eleven of the 64 drowned"."""
    words = whole.sentence.words
    clause = [w for w in words[whole.last + 1 :] if w.content and w.clause == words[whole.last].clause]
    return len(clause) > 1 and clause[-1].stem in asked.claim.stems


def _continued(asked: Asked, own: Found, rival: Found) -> bool:
    """Whether it stands in the second half of "A x and B y", which leaves out what was said in the first."""
    if own.sentence is not rival.sentence or own.first <= rival.last:
        return False
    words = own.sentence.words
    joint = next((i for i in range(own.first - 1, rival.last, -1) if words[i].text.lower() in _CONTINUING), None)
    if joint is None:
        return False
    asked_stems = {stem for stem, _, _ in asked.around}
    after = words[own.last + 1 : own.last + 4]
    mine = {word.stem for word in (*words[max(joint + 1, own.first - 4) : own.first], *after) if word.content}
    theirs = {word.stem for word in words[max(0, rival.first - 3) : rival.last + 4]}
    return bool(asked_stems & mine - theirs)


def _each_its_own(asked: Asked, own: Found, rival: Found, window: Window) -> bool:
    """Whether the other number is the claim's too, and the two stand better as they are than exchanged."""
    place = asked.others.get(rival.key)
    if place is None:
        return False
    around = neighbours(asked.claim.words, *place)
    idf = window.source.idf
    straight = own.fit + fit(around, rival.sentence, rival.first, rival.last, idf)
    exchanged = rival.fit + fit(around, own.sentence, own.first, own.last, idf)
    return straight >= exchanged
