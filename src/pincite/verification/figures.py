"""Figures as they are written: value, unit, magnitude, period, bound; in digits or words, in four languages.

English, German, French and Spanish. What can be read two ways (1.200; a gigabyte of 1000 or 1024 megabytes; a billion)
keeps both readings, and two figures are equal when any two readings are: the comparison never refuses for a spelling.
"""

import re
from dataclasses import replace
from typing import Final

from pincite.domain.frozen import dataclass
from pincite.text.tokens import is_stop
from pincite.verification.units import (
    ARTICLES,
    COMPOUND,
    CURRENCY_SIGNS,
    HALF,
    HUNDREDS,
    LETTERS,
    MAGNITUDES,
    NUMBER_WORDS,
    ORDINALS,
    POWERS,
    QUARTER,
    SHARES,
    TWO_WORD_UNITS,
    UNITS,
    VULGAR,
    Numerals,
    readings,
)

_AN_HOUR = frozenset({"kph", "kmh", "mph"})
_PER = frozenset("per pro par por a an each every je chaque cada /".split())
_OF = frozenset({"de", "of", "d"})
_EACH = frozenset({"per", "pro", "par", "por"})
_ABBREVIATED = frozenset({"mio", "mrd", "mln", "mn", "bn", "tn", "k"})
# French kilo-octets and so on: "5 Go", but "5 go".
_OCTETS = frozenset({"ko", "mo", "go", "to", "po"})
# Spelled like a word of grammar: a unit only when it stands at the digits ("5in") or is written as one.
_NEVER_A_UNIT_ALONE = frozenset({"in", "an", "ha", "us", "v"})

_ABOUT = (
    r"about|around|approximately|roughly|nearly|almost|some|circa|ca\.?|c\.|approx\.?|close to|rund|etwa|"
    r"ungefähr|fast|environ|près de|presque|unos|unas|aproximadamente|casi|alrededor de|~|≈"
)
# Where one of these stands as a word: without it no figure of a text is bound by "about".
SAYS_ABOUT = re.compile(rf"(?:(?<!\w)|(?=[~≈]))(?:{_ABOUT})(?:(?<=[~≈])|(?![^\W\d_]))", re.IGNORECASE)
_BOUND = re.compile(
    r"(?:(?<!\w)|(?=[~≈]))"
    r"(?:(?P<min>more than|greater than|at least|no fewer than|no less than|over|above|exceed(?:s|ed|ing)?|"
    r"upwards of|mehr als|mindestens|über|plus de|au moins|más de|al menos|mínimo)|"
    r"(?P<max>less than|fewer than|at most|up to|under|below|no more than|not more than|weniger als|höchstens|"
    r"bis zu|unter|moins de|au plus|jusqu'à|menos de|como máximo|hasta)|"
    rf"(?P<about>{_ABOUT}))\s*(?:the |[$€£]\s?)?$",
    re.IGNORECASE,
)
# "not more than about" and its kin, before the figure; a bound keeps the pattern linear.
_LOOK_BACK = 24
_STARTS: Final = frozenset(
    {phrase.split()[0] for phrase in NUMBER_WORDS}
    | set(HUNDREDS)
    | HALF
    | QUARTER
    | set(SHARES)
    | set(ORDINALS)
    | ARTICLES
    | _EACH
    | {word for word in MAGNITUDES if word not in _ABBREVIATED}
)


@dataclass(frozen=True, slots=True)
class Figure:
    """One number with what belongs to it; `start` and `end` are offsets in the text.

    `raw` are its readings as written, `values` those in the base unit of `dimension` (empty: a bare number); `per` is
    the period in seconds. `exact` is whether a statement is held to it: digits, or words with a unit; "two" beside a
    noun is a word. `size` is the unit of data that a glued capital may stand for: the 64M of "64M of memory". `counts`
    is whether a word stands right behind a bare one, as what it counts: "600 requests".
    """

    text: str
    start: int
    end: int
    raw: tuple[float, ...]
    values: tuple[float, ...] = ()
    dimension: str = ""
    unit: str = ""
    bound: str = ""
    per: float = 0.0
    exact: bool = True
    kind: str = "number"
    size: str = ""
    counts: bool = False


# "HTTP/2's", "Python 3's": no seconds.
_GENITIVE = re.compile(r"(?<=\d)'s\b")


def figures(text: str) -> tuple[Figure, ...]:
    """Every figure in folded text, in order. Dates are to be blanked out before."""
    text = _GENITIVE.sub("  ", text)
    found: list[Figure] = []
    for match in _CLOCK.finditer(text):
        hours = int(match["h"] or match["h2"])
        if match["half"]:
            hours = hours % 12 + (12 if match["half"].lower() == "p" else 0)
        minutes = hours * 60 + int(match["m"] or match["m2"] or match["m3"] or 0)
        found.append(Figure(match.group(), match.start(), match.end(), (float(minutes),), kind="clock"))
    text = _CLOCK.sub(lambda match: " " * len(match.group()), text)
    reader = _Reader(text)
    index = 0
    while index < len(reader.tokens):
        token = reader.tokens[index]
        if token.kind == "num":
            read, index = reader.digits(index)
        elif token.low in _STARTS or COMPOUND.search(token.low):
            read, index = reader.words(index)
        else:
            read, index = None, index + 1
        found += [] if read is None else [read]
    return tuple(found)


_CLOCK = re.compile(
    r"(?<![\d:.])(?P<h>[01]?\d|2[0-4])(?:[:.h](?P<m>[0-5]\d)(?::[0-5]\d)?)? ?(?P<half>[ap])(?:\.m\.|m\b)"
    r"|(?<![\d:.])(?P<h2>[01]?\d|2[0-4])(?::(?P<m2>[0-5]\d)(?::[0-5]\d)?(?![\d:])| ?h ?(?P<m3>[0-5]\d)\b| Uhr\b)",
    re.IGNORECASE,
)


class _Reader(Numerals):
    """Reads numbers with what belongs to them. Each gives the figure, if one begins there, and the token behind it."""

    def digits(self, index: int) -> tuple[Figure | None, int]:
        """The figure of digits that begins at this token."""
        token = self.tokens[index]
        before = self.text[: token.start][-2:]
        glued = before[-1:].isalnum() or before[-1:] == "_"
        named = glued or (before[-1:] in "-." and before[:1].isalpha() and len(before) == 2)
        if before[-1:].lower() == "v" and not before[:-1].isalnum():
            return self._version(index, token.start - 1)
        if token.text.count(".") > 1 and not _GROUPED.fullmatch(token.text):
            return self._version(index, token.start)
        values, index = self.powers(readings(token.text), index + 1)
        following = self.at(index)
        if following is not None and following.text in VULGAR and following.start == token.end:
            values, index = tuple(v + VULGAR[following.text] for v in values), index + 1
        elif following is not None and following.kind == "word" and following.start == token.end:
            if not any(following.low in known for known in (UNITS, LETTERS, _SUFFIXES, ("x",))):
                return None, index + 1  # "4IR", "70ty": part of a name
            if following.low in _SUFFIXES:
                return self._figure(token.start, index + 1, values, exact=not named, kind="ordinal")
            if following.low == "s" and len(token.text) == _YEAR_DIGITS:
                return self._figure(token.start, index + 1, values, exact=not named)  # 1990s
        read, after = self._figure(token.start, index, values, exact=not named)
        if read is not None and read.text == token.text and _DECIMAL.fullmatch(read.text):
            word = _WORD_BEFORE.search(self.text, max(0, token.start - _LOOK_BACK), token.start)
            # What numbers the word before it ("Python 3.10", "version 0.2") counts nothing.
            if word is not None and not is_stop(word.group(1)) and not SAYS_ABOUT.fullmatch(word.group(1)):
                return replace(read, raw=(), values=(), kind="version"), after
        return read, after

    def _version(self, index: int, start: int) -> tuple[Figure | None, int]:
        end = self.tokens[index].end
        return Figure(self.text[start:end], start, end, (), kind="version"), index + 1

    def words(self, index: int) -> tuple[Figure | None, int]:
        """The figure in words that begins at this token."""
        token, start = self.tokens[index], self.tokens[index].start
        if token.low in ARTICLES or token.low in _EACH:
            return self._article(index)
        part = 0.5 if token.low in HALF else 0.25 if token.low in QUARTER else 0.0
        if part:
            behind = index + 1
            while (following := self.at(behind)) is not None and following.low in _BETWEEN:
                behind += 1
            if self._measure(behind) or self._magnitude(behind):
                return self._figure(start, behind, (part,))
        values, after = self.spelled(index)
        if values:
            parts = after - index
            values, after = self.and_a_half(values, after)
            ninths = self.at(after)
            if ninths is not None and ninths.low in SHARES and values[0] < 10:
                return self._share(after, values[0] * SHARES[ninths.low], start)
            exact = self._measure(after) or values[0] >= _LARGE or (parts > 1 and values[0] > _HUNDRED)
            return self._figure(start, after, values, exact=exact)
        if token.low in ORDINALS:
            return self._figure(start, index + 1, (float(ORDINALS[token.low]),), exact=False, kind="ordinal")
        if token.low in SHARES:
            return self._share(index, SHARES[token.low])
        return None, index + 1

    def _article(self, index: int) -> tuple[Figure | None, int]:
        """One of what follows ("a second", "a million", "one and a half"); else no figure."""
        token, following = self.tokens[index], self.at(index + 1)
        if following is not None and (following.low in HALF or following.low in QUARTER):
            return self.words(index + 1)
        if following is not None and following.low in SHARES and not self._measure(index + 2):
            return self._share(index + 1, SHARES[following.low], token.start)
        values, after = self.spelled(index)
        if values and (after > index + 1 or token.low in NUMBER_WORDS):
            halved, after = self.and_a_half(values, after)
            if halved != values or after > index + 1:
                exact = self._measure(after) or values[0] >= _LARGE
                return self._figure(token.start, after, halved, exact=exact)
        if self._measure(index + 1):
            kind = "number" if token.low == "one" else "article"
            return self._figure(token.start, index + 1, (1.0,), exact=token.low == "one", kind=kind)
        if token.low == "one":  # "one of three servers": no figure to hold a statement to, yet the 1 of another
            return self._figure(token.start, index + 1, (1.0,), exact=False)
        return None, index + 1

    def _measure(self, index: int) -> bool:
        return self._unit(index)[0] != ""

    def _magnitude(self, index: int) -> bool:
        token = self.at(index)
        return token is not None and token.low in MAGNITUDES and token.low not in _ABBREVIATED

    def _share(self, index: int, value: float, start: int | None = None) -> tuple[Figure | None, int]:
        token = self.tokens[index]
        first = token.start if start is None else start
        article = _OF_ONE.match(self.text, token.end)
        if article is not None:  # "three quarters of a million", "two thirds of an hour"
            behind = index + article.group().count(" ") + 1
            if self._measure(behind) or self._magnitude(behind):
                return self._figure(first, behind, (value,))
        text = self.text[first : token.end]
        return Figure(text, first, token.end, (value,), (value,), "share", "part", exact=False), index + 1

    def _unit(self, index: int) -> tuple[str, str, tuple[float, ...], int]:
        """(unit, dimension, factors, the token behind it) of the unit at this token; empty when it is none."""
        none = ("", "", (1.0,), index)
        token = self.at(index)
        if token is not None and token.text == "-" and token.start == self.tokens[index - 1].end:
            index, token = index + 1, self.at(index + 1)
        if token is not None and token.low in _OF:
            index, token = index + 1, self.at(index + 1)
        before = self.tokens[index - 1]
        if token is None or self.text[before.end : token.start].strip("'. " if before.low in _ABBREVIATED else "' "):
            return none
        following = self.at(index + 1)
        both = f"{token.low} {following.low}" if following is not None else ""
        if both in TWO_WORD_UNITS:
            return (both, *TWO_WORD_UNITS[both], index + 2)
        if token.low in POWERS and following is not None and following.low in UNITS:
            dimension, factors = UNITS[following.low]
            power = POWERS[token.low]
            return both, f"{dimension}^{power}", tuple(f**power for f in factors), index + 2
        if token.text in CURRENCY_SIGNS:
            return token.text, CURRENCY_SIGNS[token.text], (1.0,), index + 1
        if token.low not in UNITS or self.text[token.end : token.end + 1] == "_":
            return none  # "peak=3592 second_size=80": the first word of a name
        short = len(token.low) <= _SHORT_UNIT and before.kind == "word"
        if short or (token.low in _NEVER_A_UNIT_ALONE and before.end != token.start):
            return none
        if token.low in _OCTETS and token.text.islower():
            return none
        dimension, factors = UNITS[token.low]
        raised = following is not None and dimension == "length" and following.start == token.end
        power = _RAISED.get(following.text, 0) if raised and following is not None else 0
        if power:  # km², m3
            return f"{token.low}{power}", f"{dimension}^{power}", tuple(f**power for f in factors), index + 2
        return (token.low, dimension, factors, index + 1)

    def _figure(
        self, start: int, index: int, values: tuple[float, ...], *, exact: bool = True, kind: str = "number"
    ) -> tuple[Figure | None, int]:
        """The figure with its magnitude, unit, currency, period, bound and neighbours."""
        token = self.at(index)
        currency, start = self._currency(start)
        glued = token is not None and token.start == self.tokens[index - 1].end
        if token is not None and token.low in MAGNITUDES and (token.low != "k" or glued):
            values, index = tuple(v * m for v in values for m in MAGNITUDES[token.low]), index + 1
        elif token is not None and glued and (currency or token.text in ("M", "B")) and token.low in LETTERS:
            values, index = tuple(v * m for v in values for m in LETTERS[token.low]), index + 1
        size = _SIZES.get(token.text, "") if token is not None and glued else ""
        unit, dimension, factors, index = self._unit(index)
        if dimension and values == (1.0,):  # "a day and a half"
            values, index = self.and_a_half(values, index)
        if currency and (not dimension or dimension == currency):
            unit, dimension, factors = currency, currency, (1.0,)
        # What fell by 5 % is told as -5 %, too: only bare numbers and degrees are below nothing.
        if dimension in ("", "temperature", "fahrenheit") and (
            sign := _MINUS.search(self.text, max(0, start - 6), start)
        ):
            values, start = tuple(-v for v in values), sign.start()
        base = tuple(v * f for v in values for f in factors)
        if dimension == "fahrenheit":
            dimension, base = "temperature", tuple((v - 32) * 5 / 9 for v in values)
        end = self.tokens[index - 1].end
        per = self._per(index)
        before = self.text[max(0, start - _LOOK_BACK) : start]
        # "c.two" is a name; "c. two" and "c.1900" are about so much.
        is_name = before.endswith(".") and self.text[start].isalpha()
        match = None if is_name else _BOUND.search(before)
        return Figure(
            self.text[start:end],
            start,
            end,
            values,
            base,
            dimension,
            unit,
            str(match.lastgroup) if match is not None else "",
            per,
            exact=exact,
            kind=kind,
            size="" if dimension and unit not in _GLUED_UNITS else size,
            counts=not dimension and self._counts(index),
        ), index

    def _counts(self, index: int) -> bool:
        """Whether a word in small letters, and none of grammar, stands right behind."""
        token = self.at(index)
        if token is None or self.text[self.tokens[index - 1].end : token.start] != " ":
            return False
        begins_name = self.text[token.end : token.end + 1] == "_"
        return token.kind == "word" and token.text.islower() and not begins_name and not is_stop(token.low)

    def _currency(self, start: int) -> tuple[str, int]:
        """The currency that stands in front, and where the figure begins with it."""
        sign = self.text[max(start - 1, 0) : start].strip() or self.text[max(start - 2, 0) : start].strip()
        if sign in CURRENCY_SIGNS:
            return CURRENCY_SIGNS[sign], self.text.rindex(sign, 0, start)
        code = self.text[max(start - 4, 0) : start].strip().lower()
        if len(code) == 3 and code in UNITS and UNITS[code][0] == code:
            return code, self.text.lower().rindex(code, 0, start)
        return "", start

    def _per(self, index: int) -> float:
        """The period in seconds that the figure is counted by, looked for up to four words behind it; 0 for none."""
        if self.tokens[index - 1].low in _AN_HOUR:
            return 3600.0
        for at in range(index, min(index + 4, len(self.tokens) - 1)):
            token, following = self.tokens[at], self.tokens[at + 1]
            if at > index and self.text[self.tokens[at - 1].end : token.start].strip():
                return 0.0
            near = at <= index + 1 or token.low not in ARTICLES
            if token.low in _PER and near and UNITS.get(following.low, ("",))[0] == "time":
                return UNITS[following.low][1][0]
        return 0.0


_GROUPED = re.compile(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?")
_SUFFIXES = frozenset({"st", "nd", "rd", "th", "er", "ème"})
# Of 2G and 2T the letter may as well be grams and tons.
_GLUED_UNITS = frozenset({"g", "t"})
# "64M" may be 64 million or 64 megabytes: both readings stand.
_SIZES = {"k": "kb", "K": "kb", "M": "mb", "G": "gb", "T": "tb", "B": "byte"}
# A decimal fraction that may as well number a release or a section; three digits behind the point may be thousands.
_DECIMAL = re.compile(r"\d+\.(?:\d{1,2}|\d{4,})")
_WORD_BEFORE = re.compile(r"(?<!\w)([A-Z]\w*|(?i:version|release)) $")
# A minus at a number, with nothing before it that this could be taken from or belong to: no "5-10", no "SHA-1".
_MINUS = re.compile(r"(?<![\d%)] )(?:(?<![^\s(\[{=<>,:;\"'`|])-|\bminus )$")
# "the 1990s" is a decade; other figures with an s are plurals.
_YEAR_DIGITS = 4
# From here on a spelled number is a figure by itself: "a hundred" and "a thousand" are ways of saying many.
_HUNDRED, _LARGE = 100, 1e6
# Units of one or two letters follow digits only: "one s" is no second.
_SHORT_UNIT = 2
_BETWEEN = frozenset({"-", "of", "d", "de", "a", "an", "einer", "eine", "une", "un", "una"})
_OF_ONE = re.compile(r" (?:of (?:an?|one)|einer|eines|d'une?|de una?)(?= )")
_RAISED = {"²": 2, "³": 3, "2": 2, "3": 3}
