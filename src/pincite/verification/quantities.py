"""Numbers as they are written: value, unit, magnitude, range, bound; in digits or in words."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

_SMALL = {
    word: value
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen".split()
    )
}
_TENS = {word: 10 * (i + 2) for i, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split())}
_MAGNITUDES = {
    "hundred": 1e2,
    "thousand": 1e3,
    "million": 1e6,
    "billion": 1e9,
    "trillion": 1e12,
    "mn": 1e6,
    "mln": 1e6,
    "bn": 1e9,
    "tn": 1e12,
    "lakh": 1e5,
    "crore": 1e7,
    "dozen": 12.0,
    **dict.fromkeys(("millions", "millionen", "mio", "millón", "millones"), 1e6),
    **dict.fromkeys(("milliard", "milliards", "milliarde", "milliarden", "mrd", "mil millones"), 1e9),
}
_ORDINALS = {
    word: value + 1
    for value, word in enumerate(
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
        "fifteenth sixteenth seventeenth eighteenth nineteenth twentieth".split()
    )
}
_FRACTIONS = {
    "half": 0.5,
    "third": 1 / 3,
    "thirds": 1 / 3,
    "quarter": 0.25,
    "quarters": 0.25,
    "fourth": 0.25,
    "fourths": 0.25,
    "fifth": 0.2,
    "fifths": 0.2,
    "eighth": 0.125,
    "tenth": 0.1,
    "tenths": 0.1,
}
_MULTIPLES = {"twice": 2.0, "thrice": 3.0, "double": 2.0, "doubled": 2.0, "triple": 3.0, "tripled": 3.0, "halved": 0.5}
_MULTIPLES.update(doubling=2.0, doubles=2.0, quadruple=4.0, quadrupled=4.0)
_VULGAR = {"½": 0.5, "⅓": 1 / 3, "⅔": 2 / 3, "¼": 0.25, "¾": 0.75, "⅛": 0.125, "⅕": 0.2}

# unit → (dimension, factor): equal quantities of one dimension are equal whatever the unit.
_UNITS: dict[str, tuple[str, float]] = {}
for _names, _of, _factor in (
    ("km kilometer kilometers kilometre kilometres kilometern kilómetros kilomètres", "length", 1e3),
    ("m meter meters metre metres metern metros mètres", "length", 1.0),
    ("cm centimeter centimeters centimetre centimetres", "length", 1e-2),
    ("mm millimeter millimeters millimetre millimetres", "length", 1e-3),
    ("nm nanometer nanometers nanometre nanometres", "length", 1e-9),
    ("mi mile miles", "length", 1609.344),
    ("ft foot feet", "length", 0.3048),
    ("inch inches", "length", 0.0254),
    ("yd yard yards", "length", 0.9144),
    ("kg kilogram kilograms kilo kilos", "mass", 1.0),
    ("g gram grams", "mass", 1e-3),
    ("mg milligram milligrams", "mass", 1e-6),
    ("µg mcg microgram micrograms", "mass", 1e-9),
    ("t ton tons tonne tonnes tonnen toneladas", "mass", 1e3),
    ("lb lbs pound-mass", "mass", 0.45359237),
    ("oz ounce ounces", "mass", 0.028349523),
    ("w watt watts", "power", 1.0),
    ("kw kilowatt kilowatts", "power", 1e3),
    ("mw megawatt megawatts", "power", 1e6),
    ("gw gigawatt gigawatts", "power", 1e9),
    ("tw terawatt terawatts", "power", 1e12),
    ("kwh kilowatt-hours kilowatt-hour", "energy", 1e3),
    ("mwh megawatt-hours megawatt-hour", "energy", 1e6),
    ("gwh gigawatt-hours gigawatt-hour", "energy", 1e9),
    ("twh terawatt-hours terawatt-hour", "energy", 1e12),
    ("l liter liters litre litres", "volume", 1.0),
    ("ml milliliter milliliters millilitre millilitres", "volume", 1e-3),
    ("gallon gallons", "volume", 3.785411784),
    ("hectare hectares ha", "area", 1e4),
    ("acre acres", "area", 4046.8564),
    ("s sec secs second seconds", "time", 1.0),
    ("ms millisecond milliseconds", "time", 1e-3),
    ("min mins minute minutes minuten minutos", "time", 60.0),
    ("h hr hrs hour hours stunden horas heures", "time", 3600.0),
    ("day days tage tagen días jours", "time", 86400.0),
    ("week weeks wochen semanas semaines", "time", 604800.0),
    ("month months monate monaten meses mois", "months", 1.0),
    ("year years yr yrs jahre jahren años ans", "months", 12.0),
    ("decade decades", "months", 120.0),
    ("century centuries", "months", 1200.0),
    ("byte bytes", "data", 1.0),
    ("kb kilobyte kilobytes", "data", 1e3),
    ("mb megabyte megabytes", "data", 1e6),
    ("gb gigabyte gigabytes", "data", 1e9),
    ("tb terabyte terabytes", "data", 1e12),
    ("hz hertz", "frequency", 1.0),
    ("khz kilohertz", "frequency", 1e3),
    ("mhz megahertz", "frequency", 1e6),
    ("ghz gigahertz", "frequency", 1e9),
    ("mph", "speed", 1.609344),
    ("km/h kph kmh", "speed", 1.0),
    ("°c celsius", "celsius", 1.0),
    ("°f fahrenheit", "fahrenheit", 1.0),
    ("% percent pct per-cent prozent por-ciento pour-cent", "percent", 1.0),
    ("pp percentage-points percentage-point", "points", 1.0),
    ("bps basis-points basis-point", "points", 0.01),
    ("dollar dollars usd bucks dólares", "$", 1.0),
    ("cent cents", "$", 0.01),
    ("euro euros eur", "€", 1.0),
    ("pounds gbp quid sterling", "£", 1.0),
    ("yen jpy yuan cny rmb", "¥", 1.0),
    ("rupee rupees inr", "₹", 1.0),
    ("franc francs chf", "chf", 1.0),
):
    for _name in _names.split():
        _UNITS[_name] = (_of, _factor)

CURRENCIES = frozenset("$ € £ ¥ ₹ chf".split())
"""The dimensions that are money."""
_CURRENCY = r"(?:(?:us|a|c|au|ca|hk|nz|s)?\$|€|£|¥|₹|(?:usd|eur|gbp|jpy|cny|inr|chf)(?= ?\d))"
_DIGITS = r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+,\d{1,2}(?![\d,])|\d+(?:\.\d+)?|\.\d+)"
_DECIMAL_COMMA = re.compile(r",\d{1,2}$")
_NUMBER_WORD = "|".join(sorted([*_SMALL, *_TENS], key=len, reverse=True))
_BIG = "|".join(sorted(_MAGNITUDES, key=len, reverse=True))
_SPELLED = (
    rf"(?:(?:a|{_NUMBER_WORD})(?:[- ](?:and )?(?:{_NUMBER_WORD}|hundred|thousand|million|billion|trillion|dozen))+"
    rf"|{_NUMBER_WORD})"
)
_UNIT = "|".join(sorted((re.escape(u).replace("\\-", "[- ]") for u in _UNITS), key=len, reverse=True))
_BOUND = (
    r"(?:(?<!\w)(?P<bound>more than|greater than|at least|no fewer than|no less than|over|above|"
    r"exceeding|exceeds?|exceeded|upwards of|"
    r"minimum of|"
    r"less than|fewer than|at most|up to|under|below|no more than|not more than|never more than|as much as|as many as|"
    r"maximum of|capped at|limited to|nearly|almost|"
    r"mehr als|mindestens|plus de|au moins|más de|al menos|weniger als|höchstens|bis zu|moins de|au plus|jusqu'à|"
    r"menos de|como máximo|hasta|rund|etwa|ungefähr|environ|unos|unas|"
    r"about|around|approximately|roughly|some|an estimated|estimated|circa|c\.|ca\.|approx\.?|~|≈|close to)\s*)?"
)
_CLOCK = (
    r"(?<![\d:.])(?:[01]?\d|2[0-4])[:.][0-5]\d ?[ap]\.?m\b\.?"
    r"|(?<![\d:])(?:[01]?\d|2[0-4]):[0-5]\d(?::[0-5]\d)?(?![\d:])"
    r"|\b(?:1[0-2]|[1-9]) ?[ap]\.?m\b"
)
_FRACTION = (
    r"(?<![\w/])\d+/\d+(?![\w/])"
    r"|\b(?:(?:one|two|three|four|a|an)[- ])?(?:half|thirds|quarters?|fourths|fifths|tenths?)\b(?! (?:hour|century))"
    r"|\b(?:one|two|a)[- ]third\b|\d*[½⅓⅔¼¾⅛⅕]"
)
_HALVES = "million|billion|trillion|thousand|dozen|century|decade"
_QUANTITY = re.compile(
    rf"(?P<version>(?<![\w.])v?\d+(?:\.\d+){{2,}}(?:[-.]?[a-z]+\d*)?(?![\w])|(?<!\w)v\d+(?:\.\d+)*\b)"
    rf"|(?P<clock>{_CLOCK})"
    rf"|(?P<ordinal>\b\d{{1,4}}(?:st|nd|rd|th)\b|\b(?:{'|'.join(_ORDINALS)})\b(?!-(?:century|largest)))"
    rf"|(?P<halfof>\bhalf(?: an?|-an?)?[ -](?:{_HALVES})\b)"
    rf"|(?P<fraction>{_FRACTION})"
    rf"|(?P<multiple>\b(?:{'|'.join(_MULTIPLES)})\b)"
    rf"|(?P<between>\bbetween )?{_BOUND}(?:(?P<cur>{_CURRENCY}) ?)?(?P<num>(?<![\w.]){_DIGITS}|\b{_SPELLED}\b)"
    rf"(?:[- ]?(?P<mag1>{_BIG})\b|(?P<mag1s>(?(cur)[kmb]|k))(?!\w))?"
    rf"(?: ?(?:-|to|(?(between)and|or)) ?(?P<cur2>{_CURRENCY})? ?(?P<num2>{_DIGITS}(?!\w*\d)|(?:{_SPELLED})\b)"
    rf"(?:[- ]?(?P<mag2>{_BIG})\b|(?P<mag2s>(?(cur)[kmb]|k))(?!\w))?)?"
    rf"(?:[- ]?(?:de |d')?(?P<unit>square (?:{_UNIT})|cubic (?:{_UNIT})|{_UNIT})(?![\w]))?",
    re.IGNORECASE,
)
_MINIMUM = {"more than", "greater than", "at least", "no fewer than", "no less than", "over", "above", "exceeding"}
_MINIMUM |= {"upwards of", "minimum of", "exceed", "exceeds", "exceeded"}
_MINIMUM |= {"mehr als", "mindestens", "plus de", "au moins", "más de", "al menos"}
_MAXIMUM = {"weniger als", "höchstens", "bis zu", "moins de", "au plus", "jusqu'à", "menos de", "como máximo", "hasta"}
_MAXIMUM |= {"less than", "fewer than", "at most", "up to", "under", "below", "no more than", "maximum of"}
_MAXIMUM |= {"not more than", "never more than", "as much as", "as many as", "capped at", "limited to"}
_BOUND_AFTER = re.compile(
    r" (?:years )?or (?:(?P<min>more|older|over|above|higher|greater|later|longer)|"
    r"(?P<max>less|fewer|younger|under|below|lower|earlier|shorter))\b",
    re.IGNORECASE,
)
_DENIED_BOUND = re.compile(
    r"(?:\b(?:not|cannot|never)|n't)(?: \w+){0,2} $|"
    r"\bno \w+ (?:may|can|could|must|should|shall|will|would|is|are|was|were|has|have|had)(?: \w+)? $",
    re.IGNORECASE,
)
_SHORT = {"k": 1e3, "m": 1e6, "b": 1e9}

QUANTITY_WORDS = frozenset({*_SMALL, *_TENS, *_MAGNITUDES, *_ORDINALS, *_FRACTIONS, *_MULTIPLES})
"""Lower-case words without which, and without a digit, a sentence has no number."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """One number with what belongs to it; `start` and `end` are offsets in the sentence.

    `value` (and `high` of a range or score) is in the base unit of `dimension`; `dimension` is empty for a bare count.
    `bound` is `min`, `max`, `about` or empty.
    """

    text: str
    start: int
    end: int
    kind: str
    value: float
    high: float | None = None
    dimension: str = ""
    bound: str = ""
    unit: str = ""


def quantities(text: str, taken: tuple[tuple[int, int], ...] = ()) -> Iterator[Quantity]:
    """Every number in the sentence that is not part of the `taken` spans (dates), in order."""
    masked = text
    for start, end in taken:
        masked = masked[:start] + "\0" * (end - start) + masked[end:]
    for match in _QUANTITY.finditer(masked):
        quantity = _quantity(match)
        if quantity is not None:
            yield _turned_bound(_with_bound_after(quantity, masked), masked[: match.start()])


def _with_bound_after(quantity: Quantity, text: str) -> Quantity:
    """The number with the bound that stands behind it ("45 or older")."""
    after = _BOUND_AFTER.match(text, quantity.end)
    if quantity.kind != "number":
        return quantity
    if after is not None and not quantity.bound:
        quantity = replace(quantity, bound="min" if after["min"] else "max")
    return quantity


def _turned_bound(quantity: Quantity, before: str) -> Quantity:
    """The number with its bound turned round by a negation ("must not exceed 5", "no class may have more than 5")."""
    if quantity.bound in ("min", "max") and _DENIED_BOUND.search(before):
        return replace(quantity, bound="max" if quantity.bound == "min" else "min")
    return quantity


def _quantity(match: re.Match[str]) -> Quantity | None:
    text, start, end = match.group(), match.start(), match.end()
    lowered = text.lower()
    if match["version"]:
        return Quantity(text, start, end, "version", 0.0, unit=lowered.lstrip("v"))
    if match["clock"]:
        return Quantity(text, start, end, "clock", _clock(lowered))
    if match["ordinal"]:
        value = float(_ORDINALS.get(lowered) or re.sub(r"\D", "", lowered))
        return Quantity(text, start, end, "ordinal", value)
    if match["halfof"]:
        of = re.split(r"[ -]", lowered)[-1]
        dimension, factor = _UNITS.get(of, ("", _MAGNITUDES.get(of, 1.0)))
        return Quantity(text, start, end, "number", factor / 2, dimension=dimension, unit=of if dimension else "")
    if match["fraction"]:
        return Quantity(text, start, end, "fraction", _fraction(lowered))
    if match["multiple"]:
        return Quantity(text, start, end, "multiple", _MULTIPLES[lowered])
    return _measured(match)


def _measured(match: re.Match[str]) -> Quantity | None:
    number = match["num"].lower()
    low = _value(number)
    magnitude = _magnitude(match["mag1"], match["mag1s"])
    unit = (match["unit"] or "").lower().replace(" ", "-")
    currency = (match["cur"] or match["cur2"] or "").lower()
    if number in {"one", "a"} and not unit and magnitude == 1 and match["num2"] is None:
        return None  # "one of them": a pronoun, not a count
    high = None
    if match["num2"] is not None:
        high = _value(match["num2"].lower())
        second = _magnitude(match["mag2"], match["mag2s"])
        # "5 to 10 million": the magnitude belongs to both.
        magnitude = second if magnitude == 1 else magnitude
        high *= second if second != 1 else magnitude
    low *= magnitude
    dimension, factor = _dimension(unit, currency)
    lasting = (match["bound"] or "").lower() == "over"  # "over 25 years" is as often during as more than
    start = match.start("cur") if match["cur"] else match.start("num")
    return Quantity(
        match.group().strip(),
        start,
        match.end(),
        "range" if high is not None else "number",
        low * factor,
        None if high is None else high * factor,
        dimension,
        "" if dimension in ("time", "months") and lasting else _bound(match["bound"]),
        unit or currency,
    )


def _bound(words: str | None) -> str:
    if not words:
        return ""
    lowered = words.lower()
    return "min" if lowered in _MINIMUM else "max" if lowered in _MAXIMUM else "about"


def _dimension(unit: str, currency: str) -> tuple[str, float]:
    if currency:
        return {"usd": "$", "eur": "€", "gbp": "£", "jpy": "¥", "cny": "¥", "inr": "₹"}.get(currency, currency[-1]), 1.0
    for prefix, power in (("square-", 2), ("cubic-", 3)):
        if unit.startswith(prefix):
            dimension, factor = _UNITS.get(unit.removeprefix(prefix), ("", 1.0))
            return f"{prefix}{dimension}", factor**power
    return _UNITS.get(unit, ("", 1.0))


def unit_factor(unit: str) -> float:
    """How many base units one of this unit is; 1 for what is no unit."""
    return _UNITS.get(unit, ("", 1.0))[1]


def _magnitude(word: str | None, letter: str | None) -> float:
    if word:
        return _MAGNITUDES[word.lower()]
    return _SHORT[letter.lower()] if letter else 1.0


def _value(text: str) -> float:
    if text[0].isdigit() or text[0] == ".":
        return float(text.replace(",", ".") if _DECIMAL_COMMA.search(text) else text.replace(",", ""))
    total = current = 0.0
    for word in re.split(r"[- ]+", text):
        if word in _SMALL or word in _TENS:
            current += _SMALL.get(word) or _TENS.get(word, 0)
        elif word == "hundred" or word == "dozen":
            current = (current or 1) * _MAGNITUDES[word]
        elif word in _MAGNITUDES:
            total += (current or 1) * _MAGNITUDES[word]
            current = 0
    return total + current


def _fraction(text: str) -> float:
    if "/" in text:
        top, bottom = text.split("/")
        return float(top) / float(bottom) if float(bottom) else 0.0
    if text[-1] in _VULGAR:
        return float(text[:-1] or 0) + _VULGAR[text[-1]]
    head, _, tail = text.replace("-", " ").rpartition(" ")
    return _SMALL.get(head, 1) * _FRACTIONS[tail]


def _clock(text: str) -> float:
    numbers = [int(part) for part in re.findall(r"\d+", text)]
    hours = numbers[0] % 12 + 12 if "p" in text else numbers[0] % 12 if "a" in text else numbers[0]
    return hours * 60 + (numbers[1] if len(numbers) > 1 else 0)
