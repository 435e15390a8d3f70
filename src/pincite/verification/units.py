"""How numbers and units are called in English, German, French and Spanish; and bare numbers read by these tables."""

import math
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from pincite.domain.frozen import dataclass

_ONES_EN = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_ONES_DE = (
    "null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn "
    "achtzehn neunzehn"
).split()
_ONES_FR = (
    "zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept dix-huit "
    "dix-neuf"
).split()
_ONES_ES = (
    "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis diecisiete "
    "dieciocho diecinueve"
).split()
_TENS_EN = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_TENS_DE = "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig".split()
_TENS_FR = "vingt trente quarante cinquante soixante".split()
_TENS_ES = "veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa".split()
_TWENTIES_ES = (
    "veintiuno veintidós veintitrés veinticuatro veinticinco veintiséis veintisiete veintiocho veintinueve".split()
)


def _number_words() -> dict[str, float]:
    """0 to 99 in words, hyphens as spaces."""
    found: dict[str, float] = {
        "anderthalb": 1.5,
        "eins": 1,
        "eine": 1,
        "une": 1,
        "una": 1,
        "zwo": 2,
        "septante": 70,
        "nonante": 90,
    }
    for ones in (_ONES_EN, _ONES_DE, _ONES_FR, _ONES_ES):
        found |= {word.replace("-", " "): value for value, word in enumerate(ones)}
    for ones, tens, joints in ((_ONES_EN, _TENS_EN, (" ",)), (_ONES_ES, _TENS_ES, (" y ",))):
        for ten, word in enumerate(tens, start=2):
            found[word] = 10 * ten
            found |= {f"{word}{joint}{ones[one]}": 10 * ten + one for one in range(1, 10) for joint in joints}
    found |= {word: 21 + index for index, word in enumerate(_TWENTIES_ES)}
    for ten, word in enumerate(_TENS_DE, start=2):
        found[word] = 10 * ten
        found |= {f"{_ONES_DE[one]}und{word}": 10 * ten + one for one in range(1, 10)}
    bases = {word: 10 * ten for ten, word in enumerate(_TENS_FR, start=2)} | {"quatre vingt": 80, "quatre vingts": 80}
    for word, value in bases.items():
        found[word] = value
        # French counts to 79 on sixty and to 99 on four twenties; Swiss and Belgian words for 70 and 90 stand above.
        for one in range(1, 20 if value in (60, 80) else 10):
            for joint in (" ", " et ") if one in (1, 11) else (" ",):
                found[f"{word}{joint}{_ONES_FR[one].replace('-', ' ')}"] = value + one
    return found


NUMBER_WORDS: Final = _number_words()
# How many words ahead a reader of numbers has to look.
LONGEST_PHRASE: Final = max(phrase.count(" ") for phrase in NUMBER_WORDS) + 1
HUNDREDS: Final = {
    **dict.fromkeys("hundred hundreds hundert einhundert cent cents cien ciento cientos".split(), 100),
    **{f"{word}hundert": 100 * value for value, word in enumerate(_ONES_DE[:10]) if value > 1},
    **{
        word: 100 * value
        for value, word in enumerate(
            "doscientos trescientos cuatrocientos quinientos seiscientos setecientos ochocientos novecientos".split(), 2
        )
    },
}
_THOUSAND = dict.fromkeys("thousand thousands tausend mille mil k".split(), (1e3,))
_MILLION = dict.fromkeys("million millions millionen millón millones mio mln mn".split(), (1e6,))
_MILLIARD = dict.fromkeys("milliard milliards milliarde milliarden mrd bn".split(), (1e9,))
# English says billion for 10^9, German, French and Spanish for 10^12: both readings stand.
_BILLION = dict.fromkeys("billion billions billionen billón billones".split(), (1e9, 1e12))
_TRILLION = dict.fromkeys("trillion trillions trillionen trillón trillones tn".split(), (1e12, 1e18))
_DOZEN = dict.fromkeys("dozen dozens dutzend douzaine douzaines docena docenas".split(), (12.0,))
MAGNITUDES: Final[Mapping[str, tuple[float, ...]]] = {
    **_THOUSAND, **_MILLION, **_MILLIARD, **_BILLION, **_TRILLION, **_DOZEN,
    "lakh": (1e5,), "crore": (1e7,),
}  # fmt: skip  # a table
LETTERS = {"k": (1e3,), "m": (1e6,), "b": (1e9,), "bn": (1e9,), "mn": (1e6,), "tn": (1e12,)}
GLUE = frozenset({"and", "und", "et", "y", "-"})
ARTICLES = frozenset("a an one ein eine einen einem einer un une una".split())
HALF = frozenset("half halbe halben halber halbes demi demie media medio".split())
QUARTER = frozenset("quarter viertel quart cuarto".split())
SHARES = {
    **dict.fromkeys("half hälfte moitié mitad".split(), 1 / 2),
    **dict.fromkeys("third drittel tiers tercio".split(), 1 / 3),
    **dict.fromkeys("quarter viertel quart cuarto".split(), 1 / 4),
    "thirds": 1 / 3, "quarters": 1 / 4, "fifth": 1 / 5, "fifths": 1 / 5, "tenth": 1 / 10, "tenths": 1 / 10,
}  # fmt: skip  # a table
ORDINALS = {
    word: value
    for value, word in enumerate("first second third fourth fifth sixth seventh eighth ninth tenth".split(), start=1)
}
VULGAR = {"½": 1 / 2, "⅓": 1 / 3, "⅔": 2 / 3, "¼": 1 / 4, "¾": 3 / 4, "⅛": 1 / 8, "⅕": 1 / 5}
CURRENCY_SIGNS = {"$": "usd", "€": "eur", "£": "gbp", "¥": "jpy", "₹": "inr"}

DAY_S: Final = 86400.0
# 365.2422 days by twelve; comparisons of months and days allow for it (`figures`).
MONTH_S: Final = 30.44 * DAY_S
# name → (dimension, factors to its base unit): equal quantities of one dimension are equal whatever the unit.
UNITS: dict[str, tuple[str, tuple[float, ...]]] = {}
for _names, _dimension, _factors in (
    ("km kilometer kilometers kilometre kilometres kilometern kilómetros kilomètres", "length", 1e3),
    ("m meter meters metre metres metern metro metros mètre mètres", "length", 1.0),
    ("cm centimeter centimeters centimetre centimetres zentimeter centímetros centimètres", "length", 1e-2),
    ("mm millimeter millimeters millimetre millimetres milímetros millimètres", "length", 1e-3),
    ("µm micron microns micrometer micrometers micrometre micrometres", "length", 1e-6),
    ("nm nanometer nanometers nanometre nanometres", "length", 1e-9),
    ("kph kmh", "length", 1e3),
    ("mph mi mile miles meilen millas milles", "length", 1609.344),
    ("ft foot feet", "length", 0.3048),
    ("in inch inches zoll pulgadas pouces", "length", 0.0254),
    ("yd yard yards", "length", 0.9144),
    ("kg kilogram kilograms kilogramm kilogramos kilogrammes kilo kilos", "mass", 1.0),
    ("g gram grams gramm gramos grammes", "mass", 1e-3),
    ("mg milligram milligrams milligramm miligramos milligrammes", "mass", 1e-6),
    ("µg mcg microgram micrograms", "mass", 1e-9),
    ("t ton tons tonne tonnes tonnen tonelada toneladas", "mass", 1e3),
    ("lb lbs", "mass", 0.45359237),
    ("oz ounce ounces", "mass", 0.028349523),
    ("w watt watts vatios", "power", 1.0),
    ("kw kilowatt kilowatts", "power", 1e3),
    ("mw megawatt megawatts", "power", 1e6),
    ("gw gigawatt gigawatts", "power", 1e9),
    ("tw terawatt terawatts", "power", 1e12),
    ("wh", "energy", 1.0),
    ("kwh kilowattstunden", "energy", 1e3),
    ("mwh", "energy", 1e6),
    ("gwh", "energy", 1e9),
    ("twh", "energy", 1e12),
    ("l liter liters litre litres litern litro litros", "volume", 1.0),
    ("ml milliliter milliliters millilitre millilitres mililitros", "volume", 1e-3),
    ("gallon gallons", "volume", 3.785411784),
    ("hectare hectares hektar hectárea hectáreas ha", "area", 1e4),
    ("acre acres", "area", 4046.8564),
    ("s sec secs second seconds sekunde sekunden seconde secondes segundo segundos", "time", 1.0),
    ("ms millisecond milliseconds millisekunde millisekunden milliseconde millisecondes milisegundos", "time", 1e-3),
    ("µs us microsecond microseconds mikrosekunden microsecondes microsegundos", "time", 1e-6),
    ("ns nanosecond nanoseconds nanosekunden nanosecondes nanosegundos", "time", 1e-9),
    ("min mins minute minutes minuten minuto minutos", "time", 60.0),
    ("h hr hrs hour hours stunde stunden hora horas heure heures", "time", 3600.0),
    ("d day days tag tage tagen día días jour jours", "time", DAY_S),
    ("week weeks woche wochen semana semanas semaine semaines", "time", 604800.0),
    ("month months monat monate monaten mes meses mois", "time", MONTH_S),
    ("year years yr yrs jahr jahre jahren año años an ans année années", "time", 12 * MONTH_S),
    ("decade decades jahrzehnt jahrzehnte jahrzehnten década décadas décennies", "time", 120 * MONTH_S),
    ("century centuries jahrhundert jahrhunderte siglo siglos siècle siècles", "time", 1200 * MONTH_S),
    ("bit bits", "data", 1 / 8),
    ("byte bytes octet octets", "data", 1.0),
    ("hz hertz", "frequency", 1.0),
    ("khz kilohertz", "frequency", 1e3),
    ("mhz megahertz", "frequency", 1e6),
    ("ghz gigahertz", "frequency", 1e9),
    ("v volt volts voltios", "voltage", 1.0),
    ("kv kilovolt kilovolts", "voltage", 1e3),
    ("px pixel pixels píxeles", "pixels", 1.0),
    ("% percent pct prozent", "share", 0.01),
    ("dollar dollars usd dólar dólares", "usd", 1.0),
    ("euro euros eur", "eur", 1.0),
    ("gbp sterling", "gbp", 1.0),
    ("yen jpy", "jpy", 1.0),
    ("rupee rupees inr", "inr", 1.0),
    ("franc francs chf franken", "chf", 1.0),
):  # fmt: skip  # a table
    for _name in _names.split():
        UNITS[_name] = (_dimension, (_factors,))
for _power, (_letter, _long, _binary) in enumerate(
    (("k", "kilo", "kibi"), ("m", "mega", "mebi"), ("g", "giga", "gibi"), ("t", "tera", "tebi"), ("p", "peta", "pebi")),
    1,
):
    for _base, _size in (("byte", 1.0), ("bit", 1 / 8)):
        # Pages write KB for either: both readings stand, and what agrees with one of them is no contradiction.
        _both = (_size * 1000**_power, _size * 1024**_power)
        for _name in (f"{_long}{_base}", f"{_long}{_base}s"):
            UNITS[_name] = ("data", _both)
        for _name in (f"{_binary}{_base}", f"{_binary}{_base}s"):
            UNITS[_name] = ("data", _both[1:])
    UNITS[f"{_letter}b"] = UNITS[f"{_letter}o"] = ("data", (1000.0**_power, 1024.0**_power))
    UNITS[f"{_letter}ib"] = ("data", (1024.0**_power,))
    UNITS[f"{_letter}bit"] = ("data", (1000.0**_power / 8, 1024.0**_power / 8))
# Points are no shares: from 2 % to 3 % is one point and half as much again.
TWO_WORD_UNITS: Final = {
    "per cent": ("share", (0.01,)),
    "pour cent": ("share", (0.01,)),
    "por ciento": ("share", (0.01,)),
    "percentage points": ("points", (0.01,)),
    "percentage point": ("points", (0.01,)),
    "basis points": ("points", (0.0001,)),
    "prozent punkte": ("points", (0.01,)),
    "pound sterling": ("gbp", (1.0,)),
    "° c": ("temperature", (1.0,)),
    "degrees celsius": ("temperature", (1.0,)),
    "grad celsius": ("temperature", (1.0,)),
    "° f": ("fahrenheit", (1.0,)),
    "degrees fahrenheit": ("fahrenheit", (1.0,)),
}
POWERS = {"square": 2, "sq": 2, "cubic": 3, "quadrat": 2, "kubik": 3}


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
