"""A model's text as a value of a field, and whether a passage has that value."""

import re
from datetime import date
from typing import Final

from pincite.domain.events import Json
from pincite.research.model.wording import plain_line
from pincite.research.schema_fields import Field
from pincite.text.normalise import fold
from pincite.verification.dates import moments

_NUMBER: Final = re.compile(r"[-−]?\d[\d,\u00a0\u202f ]*(?:\.\d+)?")
_YES, _NO = frozenset({"true", "yes"}), frozenset({"false", "no"})


def value_of(place: Field, text: str) -> Json:
    """The text as a value of the field's type; None when it is none, or none of the field's choices."""
    plain = plain_line(text).strip()
    value = _typed(place, plain)
    if value is None or not place.choices:
        return value
    if isinstance(value, str):
        return next((choice for choice in place.choices if bare_text(str(choice)) == bare_text(value)), None)
    return value if value in place.choices else None


def _typed(place: Field, plain: str) -> Json:
    match place.kind:
        case "boolean":
            return True if plain.lower() in _YES else False if plain.lower() in _NO else None
        case "date":
            days = _days(plain)
            return days[0].isoformat() if len(days) == 1 else None
        case "integer" | "number":
            found = _NUMBER.findall(plain)
            if len(found) != 1:
                return None
            number = _figure(found[0])
            if place.kind == "number":
                return number
            return int(number) if number.is_integer() else None
        case _:
            return plain or None


def keeps_rules(place: Field, value: Json) -> bool:
    """Whether the value is within the bounds that the schema sets."""
    rules = dict(place.rules)
    if isinstance(value, str):
        least, most, pattern = rules.get("minLength"), rules.get("maxLength"), rules.get("pattern")
        return (
            (not isinstance(least, int) or len(value) >= least)
            and (not isinstance(most, int) or len(value) <= most)
            and (not isinstance(pattern, str) or re.search(pattern, value) is not None)
        )
    if isinstance(value, bool) or not isinstance(value, int | float):
        return True
    return all(_keeps(value, name, bound) for name, bound in rules.items() if isinstance(bound, int | float))


def _keeps(value: float, name: str, bound: float) -> bool:
    match name:
        case "minimum":
            return value >= bound
        case "maximum":
            return value <= bound
        case "exclusiveMinimum":
            return value > bound
        case "exclusiveMaximum":
            return value < bound
        case "multipleOf":
            return bound != 0 and abs(value / bound - round(value / bound)) < 1e-9
        case _:
            return True


def standing(place: Field, value: Json, passage: str) -> bool:
    """Whether the value stands in the passage: a number as that number, a date as that day, a text word for word."""
    if place.kind == "date":
        return str(value) in {day.isoformat() for day in _days(passage)}
    text = fold(passage).text
    if place.kind in ("integer", "number"):
        return any(_figure(found) == value for found in _figures(text))
    wanted = bare_text(str(value)) if place.choices else fold(str(value)).text.strip().lower()
    body = bare_text(text) if place.choices else text.lower()
    return bool(wanted) and re.search(rf"(?<![\w.,]){re.escape(wanted)}(?![\w]|[.,]\d)", body) is not None


def bare_text(text: str) -> str:
    """The text as a choice is compared: lower case, `_` and `-` as spaces."""
    return " ".join(re.sub(r"[_-]", " ", fold(text).text.lower()).split())


def _days(text: str) -> list[date]:
    """The whole days that the text names, in order; 5/10/2018 names none."""
    found: list[date] = []
    for moment in moments(text):
        if moment.swapped or moment.year is None or moment.month is None or moment.day is None:
            continue
        try:
            found.append(date(moment.year, moment.month, moment.day))
        except ValueError:
            continue
    return found


def _figures(text: str) -> list[str]:
    """The numbers of a text that stand alone: no part of an identifier or of a longer number."""
    return re.findall(r"(?<![\w.,])[-−]?\d+(?:[,\u00a0\u202f ]\d{3})*(?:\.\d+)?(?![\w]|[.,]\d)", text)


def _figure(text: str) -> float:
    return float(re.sub(r"[,\u00a0\u202f ]", "", text).replace("−", "-"))
