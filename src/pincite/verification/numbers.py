"""Every number and date of the claim must stand in the passage, with its unit, beside the thing it counts."""

import math
import re
from collections.abc import Iterator
from dataclasses import replace

from pincite.verification.dates import Moment
from pincite.verification.findings import Finding, failed, passed, skipped
from pincite.verification.fits import fit, neighbours
from pincite.verification.passages import Sentence, Window
from pincite.verification.quantities import CURRENCIES, Quantity, unit_factor
from pincite.verification.ties import RIVAL_MARGIN, Asked, Found, cut_off, key_of, part_of, said_of_part, tied

NAME = "numbers"
DATES = "dates"
_SLACK_OTHER_UNIT = 0.02
_SLACK_ABOUT = 0.06
_CLEAR_FIT = 0.45
_LEAST_FIT = 0.12
_HEAD_SENTENCES = 12
_LIMIT = re.compile(
    r"\b(?:(?P<max>max(?:imum)?|limit|cap)|min(?:imum)?)\b[^,;]{0,40}\b(?:is|was|are|of|to|at) ?$", re.IGNORECASE
)
_DURATIONS = frozenset({"time", "months"})


def check_numbers(claim: Sentence, window: Window) -> Finding:
    """Whether each quantity of the claim is in the passage, and no other one stands in its place."""
    if not claim.quantities:
        return skipped(NAME)
    problems: list[str] = []
    contradicts = False
    places = {key_of(q): claim.word_range(q.start, q.end) for q in claim.quantities}
    places |= {key_of(m): claim.word_range(m.start, m.end) for m in claim.moments}
    for quantity in claim.quantities:
        asked = _asked(claim, quantity.text.strip(), quantity.start, quantity.end, places)
        same: list[Found] = []
        other: list[Found] = []
        for sentence, above, candidate in _candidates(window):
            if equal(quantity, candidate, sentence):
                same.append(_found(asked, sentence, candidate, above, window))
            elif comparable(quantity, candidate):
                other.append(_found(asked, sentence, candidate, above, window))
        if not same and (_both_ends(quantity, window) or _in_a_name(asked, window)):
            continue
        lone = bool(quantity.dimension) and len(other) == 1 and quantity.dimension == other[0].dimension
        problem = _judge(asked, same, other, window, lone=lone)
        if problem is not None:
            problems.append(problem[0])
            contradicts = contradicts or problem[1]
    return failed(NAME, problems, contradicts=contradicts) if problems else passed(NAME)


def check_dates(claim: Sentence, window: Window) -> Finding:
    """Whether each date of the claim is in the passage, beside what happened then."""
    if not claim.moments:
        return skipped(DATES)
    problems: list[str] = []
    contradicts = False
    years = {moment.year for sentence in window.sentences for moment in sentence.moments}
    places = {key_of(m): claim.word_range(m.start, m.end) for m in claim.moments}
    for moment in claim.moments:
        asked = _asked(claim, moment.text, moment.start, moment.end, places)
        same: list[Found] = []
        other: list[Found] = []
        for sentence, above in window.placed:
            for candidate in sentence.moments:
                if moment.same(candidate) or _same_with_year_nearby(moment, candidate, years):
                    same.append(_found(asked, sentence, candidate, above, window))
                elif moment.clashes(candidate):
                    other.append(_found(asked, sentence, candidate, above, window))
        if not same and not other and _page_date(moment, window):
            continue
        problem = _judge(asked, same, other, window, lone=False)
        if problem is not None:
            problems.append(problem[0])
            contradicts = contradicts or problem[1]
    return failed(DATES, problems, contradicts=contradicts) if problems else passed(DATES)


def _asked(claim: Sentence, text: str, start: int, end: int, places: dict[object, tuple[int, int]]) -> Asked:
    first, last = claim.word_range(start, end)
    others = {key: place for key, place in places.items() if place != (first, last)}
    return Asked(claim, text, first, last, neighbours(claim.words, first, last), others)


def _found(
    asked: Asked, sentence: Sentence, candidate: Quantity | Moment, above: frozenset[str], window: Window
) -> Found:
    first, last = sentence.word_range(candidate.start, candidate.end)
    idf = window.source.idf
    value = fit(asked.around, sentence, first, last, idf)
    below = fit(asked.around, sentence, first, last, idf, above) if above else value
    measure = (candidate.dimension, candidate.bound) if isinstance(candidate, Quantity) else ("", "")
    return Found(value, below, candidate.text.strip(), sentence, first, last, key_of(candidate), *measure)


def _both_ends(claim: Quantity, window: Window) -> bool:
    """Whether one sentence has both ends of the claim's range as numbers of their own: "30 instead of 10"."""
    if claim.high is None:
        return False
    low = replace(claim, high=None, kind="number", bound="")
    high = replace(low, value=claim.high)
    for sentence in window.sentences:
        found = [q for q in sentence.quantities if q.high is None]
        if all(any(equal(end, q, sentence) or _bare(end, q) for q in found) for end in (low, high)):
            return True
    return False


def _bare(claim: Quantity, found: Quantity) -> bool:
    """Whether the passage leaves out the unit at this one of two numbers."""
    return not found.dimension and found.kind == "number" and math.isclose(found.value * _factor(claim), claim.value)


def _factor(claim: Quantity) -> float:
    return unit_factor(claim.unit)


def _in_a_name(asked: Asked, window: Window) -> bool:
    """Whether the number is part of a name ("Windows 11") that the source has elsewhere, whole."""
    if not asked.first or asked.first != asked.last:
        return False
    before = asked.claim.words[asked.first - 1]
    if not before.text[0].isupper() or not before.content:
        return False
    return f"{before.text} {asked.claim.words[asked.first].text}".lower() in window.source.lower


def _page_date(moment: Moment, window: Window) -> bool:
    """Whether the page itself is dated so at its head, and the passage gives no other date."""
    head = window.source.sentences[:_HEAD_SENTENCES]
    return any(
        moment.same(found)
        for sentence in head
        for found in sentence.moments
        if found.kind == "date" and found.year is not None and found.month is not None
    )


def _judge(
    asked: Asked, same: list[Found], other: list[Found], window: Window, *, lone: bool
) -> tuple[str, bool] | None:
    """(what is wrong, whether the passage says otherwise), or None when the number stands where it should.

    Where the claim's number stands in the passage too, another one must beat it by what its own sentence says.
    """
    text = asked.text
    if not same:
        rival = max(other, key=lambda found: found.below_heading, default=None)
        value = 0.0 if rival is None else rival.below_heading
        if rival is not None and (value >= _LEAST_FIT or lone):
            return f"{text} in the claim, {rival.text} in the passage", value >= _CLEAR_FIT or lone
        return f"{text} is not in the passage", False
    best = max(same, key=lambda found: found.below_heading)
    rival = max(other, key=lambda found: found.fit, default=None)
    if (
        rival is not None
        and rival.fit > best.below_heading + RIVAL_MARGIN
        and rival.fit >= _LEAST_FIT
        and not any(tied(asked, own, rival, window) for own in same)
    ):
        return f"{text} in the claim, {rival.text} in the passage at that place", rival.fit >= _CLEAR_FIT
    part = next((found for found in other if part_of(found, best)), None)
    if part is not None and len(same) == 1 and said_of_part(asked, best) and part.key not in asked.others:
        return f"{text} in the claim, {part.text} of {best.text} in the passage", False
    nearer = cut_off(asked, best, other)
    if nearer is not None and len(same) == 1:
        return f"{text} in the claim, {nearer.text} in the passage at that place", False
    if best.below_heading < _LEAST_FIT and asked.around:
        return f"{text} stands with something else in the passage", False
    return None


def _candidates(window: Window) -> Iterator[tuple[Sentence, frozenset[str], Quantity]]:
    for sentence, above in window.placed:
        for quantity in sentence.quantities:
            yield sentence, above, quantity
        for moment in sentence.moments:
            # "In 1500 people" and "the class of 2019": a bare year may be the count that is looked for.
            if moment.kind == "date" and moment.month is None and moment.day is None and moment.year is not None:
                yield sentence, above, Quantity(moment.text, moment.start, moment.end, "number", float(moment.year))


def _same_with_year_nearby(claim: Moment, found: Moment, years: set[int | None]) -> bool:
    if claim.kind != "date" or found.kind != "date" or found.year is not None or claim.year not in years:
        return False
    return claim.month == found.month and claim.day in (found.day, None)


def equal(claim: Quantity, found: Quantity, sentence: Sentence) -> bool:
    """Whether the passage's number says what the claim's says."""
    if {claim.kind, found.kind} == {"ordinal", "number"} or "version" in (claim.kind, found.kind):
        return claim.kind == found.kind and claim.unit == found.unit and claim.value == found.value
    if claim.kind == "clock" or found.kind == "clock" or "ordinal" in (claim.kind, found.kind):
        return claim.kind == found.kind and claim.value == found.value
    if not _same_unit(claim, found, sentence):
        return False
    if claim.high is not None:
        return (
            found.high is not None and _close(claim, found.value, claim.value) and _close(claim, found.high, claim.high)
        )
    if found.high is not None and found.dimension == claim.dimension:
        return claim.bound != "" and found.value <= claim.value <= found.high
    if _close(claim, found.value, claim.value, exact=claim.unit == found.unit or not found.unit or not claim.unit):
        return _bounds_agree(claim.bound, found.bound) or _called_a_limit(claim, found, sentence)
    return _within_bound(claim, found)


def comparable(claim: Quantity, found: Quantity) -> bool:
    """Whether the two could stand in the same place of a sentence."""
    if claim.high is None and found.high is not None and found.high < found.value:
        return False  # 6-4 is a score
    if claim.kind in ("version", "clock", "ordinal") or found.kind in ("version", "clock", "ordinal"):
        return claim.kind == found.kind
    return claim.dimension == found.dimension or any(
        {claim.dimension, found.dimension} <= alike for alike in (CURRENCIES, _DURATIONS)
    )


def _same_unit(claim: Quantity, found: Quantity, sentence: Sentence) -> bool:
    if claim.dimension == found.dimension:
        return True
    if not claim.dimension:
        # "412" for "412 MW" drops the unit; "5" for "5 %" or "$5" would change what is said.
        return found.dimension not in ("percent", "points") and claim.value == found.value
    if not found.dimension and claim.unit:
        # A table says the unit once, in its head or beside the row.
        return claim.unit.rstrip("s") in sentence.text.lower() and claim.value == found.value
    return False


def _close(claim: Quantity, found: float, wanted: float, *, exact: bool = True) -> bool:
    slack = _SLACK_ABOUT if claim.bound == "about" else 1e-9 if exact else _SLACK_OTHER_UNIT
    return math.isclose(found, wanted, rel_tol=slack, abs_tol=1e-12)


def _bounds_agree(claim: str, found: str) -> bool:
    """`about 5` and `5` agree; `more than 5` for `5`, or for `less than 5`, does not."""
    return claim == found or {claim, found} <= {"", "about"} or (claim == "" and found != "")


def _called_a_limit(claim: Quantity, found: Quantity, sentence: Sentence) -> bool:
    """Whether the passage calls the number a maximum or minimum: "the maximum size is 2 GB"."""
    match = _LIMIT.search(sentence.text, 0, found.start)
    return match is not None and not found.bound and claim.bound == ("max" if match["max"] else "min")


def _within_bound(claim: Quantity, found: Quantity) -> bool:
    """Whether "more than 400" follows from 412: true and not by far."""
    if found.bound not in ("", "about") or not found.value:
        return False
    ratio = claim.value / found.value
    return (claim.bound == "min" and 0.75 <= ratio < 1) or (claim.bound == "max" and 1 < ratio <= 1.33)
