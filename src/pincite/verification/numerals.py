"""Bare numbers as they are written: digits with points and commas, powers of ten, and words of four languages."""

import math
import re
from functools import lru_cache

from pincite.domain.frozen import dataclass
from pincite.verification.units import ARTICLES, GLUE, HUNDREDS, LONGEST_PHRASE, MAGNITUDES, NUMBER_WORDS

_SUPERSCRIPT = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_TOKEN = re.compile(
    r"(?P<num>\d{1,3}(?:[ ']\d{3})+(?![\d.,']|\w)|\d+(?:\.\d+)?e[+-]?\d+(?!\w)|\d+(?:[.,]\d+)*|(?<![\w.])\.\d+)"
    r"|(?P<sup>[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+)|(?P<sign>\*\*|[-%°$€£¥₹×^/½⅓⅔¼¾⅛⅕])|(?P<word>[^\W\d_⁰¹²³⁴⁵⁶⁷⁸⁹½⅓⅔¼¾⅛⅕]+)"
)
_AND_A_HALF = re.compile(r" (?:and a half|et demie?|y medi[ao]|einhalb)\b", re.IGNORECASE)
# What a German number of one word is put together with.
COMPOUND = re.compile("hundert|tausend")
# Floating point ends at about 1e308.
_LARGEST_POWER = 300


@dataclass(frozen=True, slots=True)
class Token:
    """A word, a run of digits or a sign; `low` is its text in small letters, `kind` the group of the pattern."""

    text: str
    low: str
    start: int
    end: int
    kind: str


class Numerals:
    """Reads the bare numbers of one text, token by token."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tuple(
            Token(match.group(), match.group().lower(), match.start(), match.end(), str(match.lastgroup))
            for match in _TOKEN.finditer(text)
        )

    def at(self, index: int) -> Token | None:
        """The token at this place; None behind the last."""
        return self.tokens[index] if index < len(self.tokens) else None

    def _joined(self, index: int) -> bool:
        """Whether only spaces and hyphens stand between this token and the one before it."""
        return index > 0 and not self.text[self.tokens[index - 1].end : self.tokens[index].start].strip()

    def powers(self, values: tuple[float, ...], index: int) -> tuple[tuple[float, ...], int]:
        """With what stands raised behind it: 2^64, 2**64, 10⁶, 1.5 × 10^6."""
        token, after = self.at(index), self.at(index + 1)
        if token is None:
            return values, index
        if token.kind == "sup" and token.text.translate(_SUPERSCRIPT).lstrip("-").isdecimal():
            return _raised(values, int(token.text.translate(_SUPERSCRIPT))), index + 1
        if token.text in ("^", "**") and after is not None and after.text.isdecimal():
            return _raised(values, int(after.text)), index + 2
        if token.text == "×" and after is not None and after.text == "10":
            powers, end = self.powers((10.0,), index + 2)
            if end > index + 2:
                return tuple(v * powers[0] for v in values), end
        return values, index

    def and_a_half(self, values: tuple[float, ...], index: int) -> tuple[tuple[float, ...], int]:
        """With the half that is told behind it, and the first token behind that."""
        half = _AND_A_HALF.match(self.text, self.tokens[index - 1].end)
        if half is None:
            return values, index
        while index < len(self.tokens) and self.tokens[index].start < half.end():
            index += 1
        return tuple(v + 0.5 for v in values), index

    def spelled(self, index: int) -> tuple[tuple[float, ...], int]:
        """The number that is spelled out from this token on, and the first token behind it."""
        totals: tuple[float, ...] = (0.0,)
        current: float | None = None
        seen = False
        while index < len(self.tokens):
            here = index
            if seen and self.tokens[index].low in GLUE and self._joined(index):
                here = index + 1
            if here >= len(self.tokens) or (seen and not self._joined(here)):
                break
            value, after = self._phrase(here)
            low = self.tokens[here].low
            if value is not None and (current is None or (current % 100 == 0 and value < 100)):
                current = (current or 0) + value
            elif low in HUNDREDS and (current is None or (current < 100 and HUNDREDS[low] == 100)):
                current, after = (current or 1) * HUNDREDS[low], here + 1
            elif low in MAGNITUDES:
                # "mil millones": a magnitude of the magnitude before it.
                pairs = [(t, m) for t in totals for m in MAGNITUDES[low]]
                totals = tuple(t * m if current is None and t else t + (current or 1) * m for t, m in pairs)
                current, after = None, here + 1
            elif low in ARTICLES and not seen:
                after = here + 1
                seen_next = self.at(after)
                if seen_next is None or (seen_next.low not in HUNDREDS and seen_next.low not in MAGNITUDES):
                    break
            else:
                break
            seen, index = True, after
        return (tuple(t + (current or 0) for t in totals) if seen else ()), index

    def _phrase(self, index: int) -> tuple[float | None, int]:
        """The longest number below a hundred that begins here."""
        words: list[str] = []
        best: tuple[float | None, int] = (None, index + 1)
        while index < len(self.tokens) and len(words) < LONGEST_PHRASE:
            token = self.tokens[index]
            if token.text != "-":
                if token.kind != "word" or (words and not self._joined(index)):
                    break
                words.append(token.low)
                value = NUMBER_WORDS.get(" ".join(words))
                if value is not None:
                    best = (value, index + 1)
                elif len(words) == 1 and COMPOUND.search(token.low) and (compound := _german(token.low)) is not None:
                    return compound, index + 1
            index += 1
        return best


def readings(text: str) -> tuple[float, ...]:
    """The values that digits with points, commas, spaces or apostrophes may have."""
    plain = text.replace(" ", "").replace("'", "")
    if "e" in plain.lower():
        return (float(plain),)
    found = []
    for thousands, decimal in ((",", "."), (".", ",")):
        head, _, tail = plain.partition(decimal)
        groups = head.split(thousands)
        regular = len(groups) == 1 or all(len(group) == 3 for group in groups[1:])
        if regular and thousands not in tail and decimal not in tail:
            found.append(float(f"{''.join(groups) or 0}.{tail or 0}"))
    return tuple(dict.fromkeys(found)) or (float(re.sub(r"\D", "", plain)),)


def _raised(values: tuple[float, ...], power: int) -> tuple[float, ...]:
    if abs(power) > _LARGEST_POWER:
        return values
    return tuple(v**power for v in values if v > 0 and abs(power * math.log10(v)) < _LARGEST_POWER) or values


@lru_cache(maxsize=4096)
def _german(word: str) -> float | None:
    """The value of a German number written as one word: zweitausenddreihundertfünf."""
    for part, size in (("tausend", 1000), ("hundert", 100)):
        head, found, tail = word.partition(part)
        if found:
            front = 1 if not head else _german(head)
            back = 0 if not tail else _german(tail.removeprefix("und"))
            return None if front is None or back is None else front * size + back
    return NUMBER_WORDS.get(word)
