"""Whether two figures agree: equal in any reading, one implied by the other, one derived from two others."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, combinations, pairwise, product

from pincite.verification.figures import Figure
from pincite.verification.units import LETTERS, UNITS


def equal(wanted: Figure, found: Figure) -> bool:
    """Whether the figure of the passage says what that of the statement says, in any reading of the two."""
    if wanted.kind != found.kind and "number" not in (wanted.kind, found.kind):
        return False
    if "version" in (wanted.kind, found.kind):
        # "6 characters" are no version 6.0.
        counted = any(figure.counts and figure.kind == "number" for figure in (wanted, found))
        return not counted and _parts(wanted) == _parts(found) != ()
    if "clock" in (wanted.kind, found.kind):
        # Half a day apart only where one of them leaves open which half it is in.
        open_half = not (_HALF_OF_DAY.search(wanted.text) and _HALF_OF_DAY.search(found.text))
        return wanted.kind == found.kind and abs(wanted.raw[0] - found.raw[0]) in (
            (0.0, 720.0) if open_half else (0.0,)
        )
    wanted, found = _sized(wanted, found), _sized(found, wanted)
    wanted, found = _timed(wanted, found), _timed(found, wanted)
    if wanted.dimension and found.dimension:
        if wanted.dimension != found.dimension:
            return False
        same = wanted.unit == found.unit  # each megabyte of the two is as long as the other
        ones, others = (wanted.raw, found.raw) if same else (wanted.values, found.values)
        if wanted.per and found.per:
            ones, others = tuple(v / wanted.per for v in ones), tuple(v / found.per for v in others)
        rounded = not same or wanted.per != found.per
        pairs: Iterable[tuple[float, float]] = product(ones, others)
        # The same mark before three digits means the same in both, thousands or a fraction: else 20,000 kW, read as
        # 20.000 kW, would be 20,000 W.
        marks = [_MARK.findall(figure.text) for figure in (wanted, found)]
        if len(wanted.raw) == len(found.raw) == 2 and marks[0] == marks[1] != []:
            half, rest = len(ones) // 2, len(others) // 2
            pairs = chain(product(ones[:half], others[:rest]), product(ones[half:], others[rest:]))
        months = any(UNITS.get(figure.unit) == _MONTH for figure in (wanted, found))
        slack = _SLACK_MONTH if months else _SLACK_UNIT
        return any(_close(one, other, wanted, rounded=rounded, slack=slack) for one, other in pairs)
    if "share" in (wanted.dimension, found.dimension):
        # The same as a plain fraction: "20 %" and a factor of 0.2.
        share, fraction = (wanted, found) if wanted.dimension else (found, wanted)
        if any(0 < f < 1 and math.isclose(f, s, rel_tol=1e-9) for s in share.values for f in fraction.raw):
            return True
    if wanted.dimension not in ("", "share") and found.counts:
        return False  # "512 entries" are no 512 MB, but "3 patients in 100" may be 3 %
    if wanted.dimension and not found.exact and found.kind != "year":
        return False  # the "three" of "three characters" has no unit elsewhere
    # One of the two has its unit elsewhere, as in the head of a table.
    ours, theirs = (wanted.per, found.per) if wanted.per and found.per else (1.0, 1.0)
    return any(_close(one / ours, other / theirs, wanted) for one in wanted.raw for other in found.raw)


_MARK = re.compile(r"(?<=\d)[.,](?=\d{3}(?!\d))")


def _parts(version: Figure) -> tuple[int, ...]:
    """What a version is made of: 3.10 is not 3.1, yet 3.0 is 3. Nothing of what is no version."""
    written = version.text.lstrip("vV")
    parts = [int(part) for part in written.split(".")] if _VERSION.fullmatch(written) else []
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return tuple(parts)


_VERSION = re.compile(r"\d{1,9}(?:\.\d{1,9})*")


def _sized(one: Figure, other: Figure) -> Figure:
    """A figure as the size of data that it may be, where the other is one: the 64M of "64M of memory"."""
    if not one.size or other.dimension != "data":
        return one
    letter = LETTERS.get(one.text[-1].lower(), (1.0,))[0] if one.text[-1] in "kKMB" else 1.0
    dimension, factors = UNITS[one.size]
    raw = tuple(value / letter for value in one.raw)
    values = tuple(value * factor for value in raw for factor in factors)
    return replace(one, raw=raw, values=values, dimension=dimension, unit=one.size)


def _timed(one: Figure, other: Figure) -> Figure:
    """A figure as the minutes that it may be, where the other is a time: the "30m" of a configuration is no length."""
    if not (_MINUTES.fullmatch(one.text) and one.unit == "m" and other.dimension == "time"):
        return one
    dimension, factors = UNITS["min"]
    return replace(one, values=tuple(v * f for v in one.raw for f in factors), dimension=dimension, unit="min")


_MINUTES = re.compile(r"[\d.,]+m")
_HALF_OF_DAY = re.compile(r"[ap]\.?m", re.IGNORECASE)


def implied(wanted: Figure, found: Figure) -> bool:
    """Whether "more than 400" follows from 412: true and not by far.

    Only a round one, and from a bound a rounder one: nobody who read 120 writes "up to 128", nor who read "less than
    40" "less than 44".
    """
    if not wanted.bound or wanted.bound == "about" or wanted.dimension != found.dimension:
        return False
    ours, theirs = _significant(wanted), _significant(found)
    if len(ours) >= len(theirs) and (found.bound or not _is_round(ours)):
        return False
    same = wanted.unit == found.unit  # each megabyte of the two is as long as the other
    sizes = (wanted.raw, found.raw) if same else (wanted.values or wanted.raw, found.values or found.raw)
    ratios = [f / w for w, f in product(*sizes) if w]
    low, high = (1.0, _FAR) if wanted.bound == "min" else (1 / _FAR, 1.0)
    return any(low <= ratio <= high for ratio in ratios)


def derived(wanted: Figure, found: Sequence[Figure], stated: Sequence[Figure]) -> str:
    """The arithmetic on figures of the evidence by which the wanted one follows ("2000 - 1991"), executed; or nothing.

    Any page has enough figures to make any other. So what is reckoned with is `stated`, too: both sides of a sum or a
    product, one side of a quotient, a share or a difference. The time between two dates needs nothing beside it, nor
    does the difference of two measures that is told in their unit.
    """
    # To take a bare number below nothing from another would be their sum.
    counted = (f for f in found if f.dimension or min(f.raw, default=0.0) >= 0)
    operands = tuple({(f.dimension, f.raw, f.values): f for f in counted}.values())[:_OPERANDS]
    for one, other in combinations(operands, 2):
        # "120 m (390 ft)" is one quantity told twice, and no sum.
        if one.dimension and equal(one, other):
            continue
        dates = one.kind == "moment"
        slack = _SLACK_MONTH if dates else 0.0
        for value, sign, needed in _results(one, other, wanted.dimension):
            # Quotients are rounded to the digits written, where these are enough to tell it from another.
            rounded = dates or wanted.dimension == "share" or (sign in "/×" and "." in wanted.text)
            if not value or not any(
                _close(v, value, wanted, rounded=rounded, slack=slack) for v in wanted.values or wanted.raw
            ):
                continue
            if sign == "-" and _size(wanted) == _size(one) == _size(other) != ():
                needed = 0
            if sum(any(equal(said, operand) for said in stated) for operand in (one, other)) >= needed:
                larger, smaller = (other, one) if sign in "-/" and _largest(one) < _largest(other) else (one, other)
                return f"{larger.text.strip()} {sign} {smaller.text.strip()}"
    return _total(wanted, found, stated)


def _results(one: Figure, other: Figure, dimension: str) -> Iterator[tuple[float, str, int]]:
    """What of this dimension comes out of two figures, by which sign, and how many of them a statement has to name."""
    if (one.kind == "moment") != (other.kind == "moment"):
        return
    for first, second in product(one.values or one.raw, other.values or other.raw):
        high, low = max(first, second), min(first, second)
        if one.kind == "moment":
            if dimension == "time":
                yield high - low, "-", 0
        elif one.dimension != other.dimension:
            if dimension in (one.dimension, other.dimension) and not (one.dimension and other.dimension):
                yield first * second, "×", 2
        elif dimension == one.dimension:
            yield high + low, "+", 2
            yield high - low, "-", 1
        elif dimension == "points" and one.dimension == "share":  # 3 % are a point more than 2 %
            yield high - low, "-", 0
        elif low > 0 and dimension == "":
            yield high / low, "/", 1
        elif low > 0 and dimension == "share":
            yield from ((part, "/", 1) for part in (low / high, high / low - 1, 1 - low / high))


def _size(figure: Figure) -> tuple[float, ...]:
    return UNITS[figure.unit][1] if figure.unit in UNITS else ()


def _largest(figure: Figure) -> float:
    return max(figure.values or figure.raw, default=0.0)


def _total(wanted: Figure, found: Sequence[Figure], stated: Sequence[Figure]) -> str:
    """The sum of figures that the statement tells in a row, the evidence has each: 7 daily, 4 weekly, 6 yearly."""
    there = [any(equal(said, figure) for figure in found) for said in stated]
    for start, end in combinations(range(len(stated) + 1), 2):
        row = stated[start:end]
        if len(row) < 3 or not all(there[start:end]) or any(said.dimension != wanted.dimension for said in row):
            continue
        total = sum((said.values or said.raw or (math.nan,))[0] for said in row)
        if any(_close(value, total, wanted) for value in wanted.values or wanted.raw):
            return " + ".join(said.text.strip() for said in row)
    return ""


# Figures of the evidence that are combined at most: 276 pairs, a tenth of a millisecond.
_OPERANDS = 24


def same_thing(wanted: Figure, found: Figure) -> bool:
    """Whether both are of one kind of quantity: two durations, two sums of one currency, two times of the day."""
    return (
        wanted.kind == found.kind and wanted.dimension == found.dimension and wanted.kind + wanted.dimension != "number"
    )


# Conversions are rounded to the digits written, or cut there (60 mph are 96.56 km/h, and 96 is said, too).
_SLACK_UNIT = 0.01
# Months have 28 to 31 days.
_SLACK_MONTH = 0.03
_MONTH = UNITS["month"]


def _close(one: float, other: float, wanted: Figure, *, rounded: bool = False, slack: float = _SLACK_UNIT) -> bool:
    if math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12):
        return True
    if not rounded and wanted.bound != "about":
        return False
    written = _significant(wanted)
    digits = len(written) or 1
    # "About 80" and "about 45" are round and leave room; "about 82" is 82 rounded, not 79.
    coarse = wanted.bound == "about" and _is_round(written)
    if math.isclose(one, other, rel_tol=_SLACK_ABOUT if coarse else slack if rounded else 0.0):
        return True
    unit = one / wanted.raw[0] if wanted.raw and wanted.raw[0] else 1.0
    return bool(other) and math.isclose(float(f"{other / unit:.{digits - 1}e}"), one / unit, rel_tol=1e-9)


def _is_round(written: str) -> bool:
    """Whether figures of these digits are such as people round to: 80, 45."""
    return len(written) < 2 or written.endswith("5")


def _significant(figure: Figure) -> str:
    """The digits that a figure is exact to: 1,500 to two, but 90 % to two as well."""
    written = re.sub(r"\D", "", _LEADING_ZEROS.sub("", figure.text))
    return written if figure.dimension == "share" and not figure.bound else written.rstrip("0")


_LEADING_ZEROS = re.compile(r"^\D*0*[.,]?0*")


# How far a value may be beyond a bound that is said to hold: "more than 400" of 412 informs, of 4,000 misleads.
_FAR = 4 / 3


# For "about" before a figure of one digit, or one that ends in five: people round so. Chosen, not measured.
_SLACK_ABOUT = 0.06


def joined(found: Sequence[Figure], text: str) -> tuple[Figure, ...]:
    """The figures with those that say one quantity in two units as one: "1 minute and 30 seconds"."""
    made: list[Figure] = []
    for figure in found:
        last = made[-1] if made else None
        if last is not None and _goes_on(last, figure) and _BETWEEN_PARTS.fullmatch(text[last.end : figure.start]):
            total = tuple(one + other for one, other in zip(last.values, figure.values, strict=False))
            # In the unit of the smaller part, of which it has so many.
            raw = tuple(value * figure.raw[0] / figure.values[0] for value in total)
            said = text[last.start : figure.end]
            made[-1] = replace(figure, text=said, start=last.start, raw=raw, values=total, bound=last.bound)
        else:
            made.append(figure)
    return tuple(made)


def _goes_on(one: Figure, other: Figure) -> bool:
    """Whether the second has a smaller unit of the same quantity, of which the first one's has more than it counts."""
    whole = one.values[:1] + one.raw[:1] + other.values[:1] + other.raw[:1]
    if len(whole) < 4 or not all(whole) or one.dimension != other.dimension or not one.exact or not other.exact:
        return False
    return one.dimension in _IN_PARTS and other.values[0] < one.values[0] / one.raw[0]


# Quantities that are said in two units; money and shares are not, and sizes of data are told one by one.
_IN_PARTS = frozenset({"time", "length", "mass"})
_BETWEEN_PARTS = re.compile(r",? (?:(?:and|und|et|y) )?")


def with_unit_behind(found: Sequence[Figure], text: str) -> Iterator[Figure]:
    """The bare figures that have the unit of the one they are joined to: the 64 of "from 64 to 120 bytes"."""
    for one, other in pairwise(found):
        is_bare = not one.dimension and one.exact and one.kind == other.kind == "number"
        if is_bare and other.unit in UNITS and _JOINT.fullmatch(text[one.end : other.start]):
            dimension, factors = UNITS[other.unit]
            values = tuple(value * factor for value in one.raw for factor in factors)
            yield replace(one, values=values, dimension=dimension, unit=other.unit, per=other.per)


_JOINT = re.compile(r" ?- ?| (?:to|and|or|und|bis|oder|et|ou|à|y|o|a) ")
