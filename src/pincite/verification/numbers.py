"""Every number and date of the claim must stand in the passage, with its unit, beside the thing it counts."""

import math
from collections.abc import Iterator
from typing import NamedTuple

from pincite.verification.dates import Moment
from pincite.verification.findings import Finding, failed, passed, skipped
from pincite.verification.fits import fit, neighbours
from pincite.verification.passages import Sentence, Window
from pincite.verification.quantities import CURRENCIES, Quantity

NAME = "numbers"
DATES = "dates"
_SLACK_OTHER_UNIT = 0.02
_SLACK_ABOUT = 0.06
_RIVAL_MARGIN = 0.08
_CLEAR_FIT = 0.45
_LEAST_FIT = 0.12
_HEAD_SENTENCES = 12


class _Rival(NamedTuple):
    """Another number of the passage: how well it stands in the claim's place by its sentence, and with the heading."""

    fit: float
    below_heading: float
    text: str


_NO_RIVAL = _Rival(0.0, 0.0, "")


def check_numbers(claim: Sentence, window: Window) -> Finding:
    """Whether each quantity of the claim is in the passage, and no other one stands in its place."""
    if not claim.quantities:
        return skipped(NAME)
    problems: list[str] = []
    contradicts = False
    for quantity in claim.quantities:
        first, last = claim.word_range(quantity.start, quantity.end)
        around = neighbours(claim.words, first, last)
        same: list[float] = []
        other: list[_Rival] = []
        for sentence, above, candidate in _candidates(window):
            place = sentence.word_range(candidate.start, candidate.end)
            if equal(quantity, candidate, sentence):
                same.append(fit(around, sentence, *place, window.source.idf, above))
            elif comparable(quantity, candidate):
                other.append(_rival(around, sentence, place, above, window, candidate.text.strip()))
        lone = bool(quantity.dimension) and len(other) == 1
        problem = _judge(quantity.text.strip(), same, other, alone=not around, lone=lone)
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
    for moment in claim.moments:
        first, last = claim.word_range(moment.start, moment.end)
        around = neighbours(claim.words, first, last)
        same: list[float] = []
        other: list[_Rival] = []
        for sentence, above in window.placed:
            for candidate in sentence.moments:
                place = sentence.word_range(candidate.start, candidate.end)
                if moment.same(candidate) or _same_with_year_nearby(moment, candidate, years):
                    same.append(fit(around, sentence, *place, window.source.idf, above))
                elif moment.clashes(candidate):
                    other.append(_rival(around, sentence, place, above, window, candidate.text))
        if not same and not other and _page_date(moment, window):
            continue
        problem = _judge(moment.text, same, other, alone=not around, lone=False)
        if problem is not None:
            problems.append(problem[0])
            contradicts = contradicts or problem[1]
    return failed(DATES, problems, contradicts=contradicts) if problems else passed(DATES)


def _page_date(moment: Moment, window: Window) -> bool:
    """Whether the page itself is dated so at its head, and the passage gives no other date."""
    head = window.source.sentences[:_HEAD_SENTENCES]
    return any(
        moment.same(found)
        for sentence in head
        for found in sentence.moments
        if found.kind == "date" and found.year is not None and found.month is not None
    )


def _rival(
    around: list[tuple[str, int, int]],
    sentence: Sentence,
    place: tuple[int, int],
    above: frozenset[str],
    window: Window,
    text: str,
) -> _Rival:
    idf = window.source.idf
    return _Rival(fit(around, sentence, *place, idf), fit(around, sentence, *place, idf, above), text)


def _judge(text: str, same: list[float], other: list[_Rival], *, alone: bool, lone: bool) -> tuple[str, bool] | None:
    """(what is wrong, whether the passage says otherwise), or None when the number stands where it should.

    Where the claim's number stands in the passage too, another one must beat it by what its own sentence says.
    """
    if not same:
        _, rival_fit, rival = max(other, key=lambda found: found.below_heading, default=_NO_RIVAL)
        if rival_fit >= _LEAST_FIT or lone:
            return f"{text} in the claim, {rival} in the passage", rival_fit >= _CLEAR_FIT or lone
        return f"{text} is not in the passage", False
    best = max(same)
    rival_fit, _, rival = max(other, default=_NO_RIVAL)
    if rival_fit > best + _RIVAL_MARGIN and rival_fit >= _LEAST_FIT:
        return f"{text} in the claim, {rival} in the passage at that place", rival_fit >= _CLEAR_FIT
    if best < _LEAST_FIT and not alone:
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
        return _bounds_agree(claim.bound, found.bound)
    return _within_bound(claim, found)


def comparable(claim: Quantity, found: Quantity) -> bool:
    """Whether the two could stand in the same place of a sentence."""
    if claim.kind in ("version", "clock", "ordinal") or found.kind in ("version", "clock", "ordinal"):
        return claim.kind == found.kind
    return claim.dimension == found.dimension or {claim.dimension, found.dimension} <= CURRENCIES


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


def _within_bound(claim: Quantity, found: Quantity) -> bool:
    """Whether "more than 400" follows from 412: true and not by far."""
    if found.bound not in ("", "about") or not found.value:
        return False
    ratio = claim.value / found.value
    return (claim.bound == "min" and 0.75 <= ratio < 1) or (claim.bound == "max" and 1 < ratio <= 1.33)
