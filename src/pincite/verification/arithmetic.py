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

# Numbers of an example ("with 4,000 MB and 50 MB a process") stand on no page; a rule that needs three is none for one
# line. Sums must have a number of the lines in them, or any figure could be had from two made up.
_ASSUMED: Final = 2
_SUMS: Final = frozenset("+-−–")
_NUMBER: Final = r"\d[\d,]*+(?:\.\d++)?(?: ?%)?"
_TERM: Final = rf"\(*+{_NUMBER}(?: [a-zA-Z]{{1,12}}+)?\)*+"
# Eight terms are a line; what is longer is no example for a reader. Possessive, so that no text makes it look back for
# long (a sentence of 480 times "1 + " took 25 seconds before).
_CALCULATION: Final = re.compile(
    rf"(?<![\d,.])(?P<left>{_TERM}(?: ?[-+*/×·÷−–] ?{_TERM}){{1,8}}+) ?[=≈] ?(?P<right>{_NUMBER})"
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
        left = re.sub(r"[a-zA-Z]", "", match["left"]).translate(_SIGNS).replace(",", "")
        left = re.sub(r"(\d+(?:\.\d+)?) *%", lambda share: repr(float(share[1]) / 100), left).strip()
        outer = left.count("(") - left.count(")")  # those of the sentence: "(50 + 250 = 300)"
        left = left.removeprefix("(" * outer).strip() if outer > 0 else left
        try:
            operands, value = _executed(ast.parse(left, mode="eval").body)
        except (SyntaxError, ValueError, ZeroDivisionError, OverflowError):
            continue
        written = match["right"].replace(",", "")
        result = float(written.rstrip(" %")) / (100 if written.endswith("%") else 1)
        step = 10.0 ** -len(written.rstrip(" %").partition(".")[2]) / (100 if written.endswith("%") else 1)
        if math.isclose(value, result, rel_tol=1e-12, abs_tol=step / 2):
            shown = match.group().removeprefix("(" * max(outer, 0)).strip()
            yield Calculation(shown, match.start(), match.end(), tuple(operands), result)


def _executed(node: ast.expr) -> tuple[list[float], float]:
    """The numbers of an expression, and its value. Errors: ValueError, for what is no number and no sum of them."""
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return [float(value)], float(value)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _OPERATIONS:
            (ours, one), (theirs, other) = _executed(left), _executed(right)
            return [*ours, *theirs], _OPERATIONS[type(sign)](one, other)
    raise ValueError(ast.dump(node))


def reckoned(text: str, seen: Sequence[Figure], stated: Sequence[Figure]) -> Mapping[int, str]:
    """Which of the `stated` figures of a sentence follow by its calculations: their places, with the calculation.

    The numbers of a calculation stand in the lines (`seen`), come out of a calculation before it, or are numbers of an
    example, two at most, which the sentence then names beside its calculation, too.
    """
    known = [value for figure in seen for value in (*figure.raw, *figure.values)]
    found: dict[int, str] = {}
    for made in calculations(text):
        assumed = {value for value in made.operands if not _among(value, known)}
        beside = [figure for figure in stated if not made.start <= figure.start < made.end]
        named = all(any(_is(figure, value) for figure in beside) for value in assumed)
        is_bare = len(assumed) == len(set(made.operands)) and not _SUMS.isdisjoint(made.text)
        if len(assumed) > _ASSUMED or is_bare or not named:
            continue
        for at, figure in enumerate(stated):
            if any(_is(figure, value) for value in (*made.operands, made.result)):
                found[at] = made.text
        known.append(made.result)
    return found


def _among(value: float, known: Sequence[float]) -> bool:
    return any(math.isclose(value, one, rel_tol=1e-9) for one in known)


def _is(figure: Figure, value: float) -> bool:
    """Whether the figure is this number, in its own unit or as it is rounded ("about 20 million" of 20,000,050)."""
    bare = replace(figure, values=(), dimension="", unit="", per=0.0)
    return _among(value, (*figure.raw, *figure.values)) or equal(bare, replace(bare, raw=(value,), bound=""))
