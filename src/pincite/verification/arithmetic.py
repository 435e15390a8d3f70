"""Calculations that a sentence writes out ("50 + 0.2 × 1,000 = 250"): each is executed, and none is taken on trust."""

import ast
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from pincite.domain.frozen import dataclass
from pincite.verification.comparison import equal
from pincite.verification.figures import Figure
from pincite.verification.units import MAGNITUDES, UNITS

# Numbers of an example ("with 4,000 MB and 50 MB a process") stand on no page; a rule that needs three is none for one
# line. Sums must have a number of the lines in them, or any figure could be had from two made up.
_ASSUMED: Final = 2
_SUMS: Final = frozenset("+-−–")
_NUMBER: Final = r"\d[\d,]*+(?:\.\d++)?(?: ?%)?"
_UNIT: Final = r"(?: ?(?!of\b)[a-zA-Z]{1,12}+)?"
_TERM: Final = rf"\(*+{_NUMBER}{_UNIT}\)*+"
# Eight terms are a line; what is longer is no example for a reader. Possessive, so that no text makes it look back for
# long (a sentence of 480 times "1 + " took 25 seconds before); and of a run of brackets only the first is tried.
_CALCULATION: Final = re.compile(
    rf"(?:(?<![\d,.(])|(?<=[\d,.]\())(?P<left>{_TERM}(?:(?: ?[-+*/×·÷−–] ?|(?<=%) of ){_TERM}){{1,8}}+) ?[=≈] ?"
    rf"(?P<right>{_NUMBER})(?P<unit>{_UNIT})"
)
_SIGNS: Final = str.maketrans("×·÷−–", "**/--")
_OPERATIONS: Final[Mapping[type[ast.operator], Callable[[float, float], float]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


@dataclass(frozen=True, slots=True)
class Calculation:
    """A right calculation: where it stands in its sentence, what it is made of and what comes out."""

    text: str
    start: int
    end: int
    operands: tuple[float, ...]
    result: float


def calculations(text: str) -> Iterator[Calculation]:
    """Every calculation in folded text whose result is what comes out, rounded as it is written."""
    if "=" not in text and "≈" not in text:  # nearly every statement
        return
    for match in _CALCULATION.finditer(text):
        left = match["left"].replace(",", "").replace("% of ", "% × ").translate(_SIGNS)
        outer = left.count("(") - left.count(")")  # those of the sentence: "(50 + 250 = 300)"
        left = left.removeprefix("(" * outer).strip() if outer > 0 else left
        written = match["right"].replace(",", "")
        share = 100 if written.endswith("%") else 1
        result = float(written.rstrip(" %")) / share
        step = 10.0 ** -len(written.rstrip(" %").partition(".")[2]) / share
        unit = match["unit"].strip().lower()
        result, step = result * _magnitude(unit), step * _magnitude(unit)
        try:
            operands, _ = _executed(ast.parse(_OPERAND.sub(lambda term: _plain(term, {}), left), mode="eval").body)
            for factors in _scales(left, unit):
                parsed = ast.parse(_OPERAND.sub(lambda term, by=factors: _plain(term, by), left), mode="eval").body
                value, scale = _executed(parsed)[1], factors.get(unit, 1.0)
                if math.isclose(value, result * scale, rel_tol=1e-12, abs_tol=step * scale / 2):
                    end = match.end() if unit in UNITS or unit in MAGNITUDES else match.end("right")
                    shown = text[match.start() : end].removeprefix("(" * max(outer, 0)).strip()
                    yield Calculation(shown, match.start(), end, tuple(operands), result)
                    break
        except (SyntaxError, ValueError, ZeroDivisionError, OverflowError):
            continue


_OPERAND: Final = re.compile(rf"(?P<number>{_NUMBER})(?P<unit>{_UNIT})")


def _plain(term: re.Match[str], factors: Mapping[str, float]) -> str:
    """An operand as a plain number: a share as a fraction, and times what its unit or magnitude comes to."""
    number, unit = term["number"], term["unit"].strip().lower()
    value = float(number.rstrip(" %")) / 100 if number.endswith("%") else float(number)
    factor = factors.get(unit, 1.0) * _magnitude(unit)
    return repr(value * factor if factor != 1.0 else value)


def _magnitude(unit: str) -> float:
    return MAGNITUDES.get(unit, (1.0,))[0]


def _units(left: str) -> list[str]:
    return [unit for term in _OPERAND.finditer(left) if (unit := term["unit"].strip().lower()) in UNITS]


def _scales(left: str, unit: str) -> Sequence[Mapping[str, float]]:
    """What each unit of a calculation counts as; both where a megabyte may have two sizes.

    With one unit throughout, or one that the result leaves out, numbers count as they are: 20 × 4 MB = 80 MB. So do
    those of another quantity than a product's: 30 days × 2 GB = 60 GB.
    """
    units = _units(left)
    known = {*units, unit} & UNITS.keys()
    if unit in UNITS and _SUMS.isdisjoint(left):
        known = {one for one in known if UNITS[one][0] == UNITS[unit][0]}
    if not units or len({UNITS[one] for one in known}) == 1:
        return ({},)
    return tuple({one: UNITS[one][1][at if at < len(UNITS[one][1]) else 0] for one in known} for at in (0, 1))


def _executed(node: ast.expr) -> tuple[list[float], float]:
    """The numbers of an expression, and its value. Errors: ValueError, for what is no number and no sum of them."""
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return [float(value)], float(value)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _OPERATIONS:
            (ours, one), (theirs, other) = _executed(left), _executed(right)
            return [*ours, *theirs], _OPERATIONS[type(sign)](one, other)
    raise ValueError(ast.dump(node))


def reckoned(
    text: str, seen: Sequence[Figure], stated: Sequence[Figure], said: Sequence[Figure] = ()
) -> Mapping[int, str]:
    """Which of the `stated` figures of a sentence follow by its calculations: their places, with the calculation.

    The numbers of a calculation stand in the lines (`seen`), come out of a calculation before it, say how many of the
    result's unit one of theirs is (2.5 × 1024 × 1024 bytes are 2.5 MB), or are numbers of an example, two at most,
    which the sentence (all of its figures: `said`) then names beside its calculation, too.
    """
    known = [value for figure in seen for value in (*figure.raw, *figure.values)]
    found: dict[int, str] = {}
    for made in calculations(text):
        assumed = {value for value in made.operands if not _among(value, known)}
        converted = _is_conversion(made, [*seen, *stated], known)
        assumed = set() if converted else assumed
        beside = [figure for figure in said or stated if not made.start <= figure.start < made.end]
        named = all(any(_is(figure, value) for figure in beside) for value in assumed)
        is_bare = len(assumed) == len(set(made.operands)) and not _SUMS.isdisjoint(made.text)
        if len(assumed) > _ASSUMED or is_bare or not named:
            continue
        for at, figure in enumerate(stated):
            carried = any(_is(figure, value) for value in (*made.operands, made.result))
            if carried and (converted or not _in_another_unit(figure, made, [*seen, *beside])):
                found[at] = made.text
        known.append(made.result)
    return found


def _is_conversion(made: Calculation, figures: Sequence[Figure], known: Sequence[float]) -> bool:
    """Whether what no line has of a product is how many of the unit of its result a unit of the lines is."""
    own = [value for value in made.operands if not _among(value, known)]
    results = [f for f in figures if made.start <= f.start < made.end and f.dimension and made.result in f.raw]
    if not own or len(own) == len(made.operands) or not _SUMS.isdisjoint(made.text):
        return False
    return any(
        _among(math.prod(own), (ratio, 1 / ratio))
        for result in results
        for figure in figures
        if figure.dimension == result.dimension and set(figure.raw) & set(made.operands)
        for ours in figure.values
        for theirs in result.values
        if (ratio := (ours / figure.raw[0]) / (theirs / result.raw[0]))
    )


def _in_another_unit(figure: Figure, made: Calculation, known: Sequence[Figure]) -> bool:
    """Whether it is the result in a unit that no operand has: 5 × 30 = 150 minutes, where the 30 are seconds."""
    if not figure.dimension or "share" in figure.dimension or made.result not in figure.raw:
        return False
    units = {f.unit for f in known if f.dimension == figure.dimension and set(f.raw) & set(made.operands)}
    written = {UNITS[unit][1] for unit in units if unit in UNITS}
    return (
        bool(written)
        and figure.unit in UNITS
        and UNITS[figure.unit][1] not in written
        and not _units(made.text.partition("=")[0])
    )


def _among(value: float, known: Sequence[float]) -> bool:
    return any(math.isclose(value, one, rel_tol=1e-9) for one in known)


def _is(figure: Figure, value: float) -> bool:
    """Whether the figure is this number, in its own unit or as it is rounded ("about 20 million" of 20,000,050)."""
    bare = replace(figure, values=(), dimension="", unit="", per=0.0)
    sizes = (1.0, *(own / raw for own, raw in zip(figure.values, figure.raw, strict=False) if raw))
    return _among(value, (*figure.raw, *figure.values)) or any(
        equal(bare, replace(bare, raw=(value / size,), bound="")) for size in sizes
    )
