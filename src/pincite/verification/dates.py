"""Dates in any common form, partial ones too: a year, a month of a year, a day of a month, a decade, a century."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from pincite.domain.frozen import dataclass

_MONTHS = (
    "january february march april may june july august september october november december".split(),
    "jan feb mar apr may jun jul aug sep oct nov dec".split(),
)
# German, French and Spanish: read only between a day and a year, or before a year ("mars 2020" may be a planet's).
_OTHER_MONTHS = (
    "januar februar märz april mai juni juli august september oktober november dezember".split(),
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre".split(),
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre".split(),
)
_MONTH_NUMBER = (
    {name: index + 1 for names in _OTHER_MONTHS for index, name in enumerate(names)}
    | {name: index + 1 for names in _MONTHS for index, name in enumerate(names)}
    | {"sept": 9}
)
_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_SEASONS = "spring summer autumn winter".split()
_CENTURIES = {
    name: index + 1
    for index, name in enumerate(
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
        "fifteenth sixteenth seventeenth eighteenth nineteenth twentieth twenty-first".split()
    )
}
# "may" and "march" are words too: without a year beside them they count only when capitalised.
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|"
    r"aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_OTHER_MONTH = "|".join(
    sorted({name for names in _OTHER_MONTHS for name in names} - {*_MONTHS[0]}, key=len, reverse=True)
)
_DAY = r"(?:0?[1-9]|[12]\d|3[01])"
_YEAR = r"(?:1\d{3}|20\d{2}|2100)"
_NTH = r"(?:st|nd|rd|th)?"
_PATTERNS = re.compile(
    rf"(?P<iso>\b(?P<iy>{_YEAR})[-/.](?P<im>0?[1-9]|1[0-2])[-/.](?P<id>{_DAY})\b)"
    rf"|(?P<slash>\b(?P<s1>{_DAY})(?P<sep>[/.])(?P<s2>{_DAY})(?P=sep)(?P<sy>{_YEAR}|\d{{2}})\b)"
    rf"|(?P<slashed>\b(?P<m7>0[1-9]|1[0-2])/(?P<y7>(?:19|20)\d{{2}})\b)"
    rf"|(?P<dmy>\b(?P<d1>{_DAY})(?:{_NTH}|\.)(?: day)?(?: of| de)? (?P<m1>{_MONTH})\b\.?(?:,? (?P<y1>{_YEAR})\b)?)"
    rf"|(?P<other>\b(?P<d6>{_DAY})(?:\.|er)?(?: de)? (?P<m6>{_OTHER_MONTH})\b(?:,?(?: del?)? (?P<y6>{_YEAR})\b)?)"
    rf"|(?P<mdy>\b(?P<m2>{_MONTH})\b\.? (?:the )?(?P<d2>{_DAY}){_NTH}\b(?!\s*(?:%|percent|million))"
    rf"(?:(?:,| ,)? (?:in )?(?P<y2>{_YEAR})\b)?)"
    rf"|(?P<my>\b(?P<m3>{_MONTH})\b\.?,?(?: of)? (?P<y3>{_YEAR})\b)"
    r"|(?P<decade>\b(?P<dec>1\d{2}0|20\d0)'?s\b|(?<![\d])'(?P<short>[2-9]0)s\b)"
    r"|(?P<century>\b(?P<cn>\d{1,2})(?:st|nd|rd|th)[- ]century\b|\b(?P<cw>"
    + "|".join(sorted(_CENTURIES, key=len, reverse=True))
    + r")[- ]century\b)"
    rf"|(?P<year>(?<![\d.,$€£#:/-])\b(?P<y4>1[1-9]\d{{2}}|20\d{{2}})\b"
    r"(?![\d%]|[.,:]\d| ?%| percent))"
    rf"|(?P<month>\b(?P<m5>{_MONTH})\b)"
    rf"|(?P<weekday>\b(?:{'|'.join(_WEEKDAYS)})s?\b)"
    rf"|(?P<season>\b(?:{'|'.join(_SEASONS)})\b)",
    re.IGNORECASE,
)

# "1939-45", "2018/19": the century is that of the year before. Up to 12 it may be a month, and behind a dash with
# spaces ("in 2015 - 20 years later") another thought begins.
_SHORT_END = re.compile(r"[-/](?P<end>1[3-9]|[2-9]\d)(?![\d%]|[-/.,:]\d)")
_JOINT = r"(?: ?- ?| (?:and|to|or|und|bis|et|au|y|al) )"
_DAY_BEFORE = re.compile(rf"(?<![\w.,:/-])(?P<day>{_DAY})(?:{_NTH}|\.){_JOINT}$")
_DAY_BEHIND = re.compile(rf"{_JOINT}(?P<day>{_DAY}){_NTH}(?![\w%:/-]|[.,]\d)(?:,? (?P<year>{_YEAR})\b)?")
_COUNTS = {word: value + 1 for value, word in enumerate("one two three four five six seven eight nine ten".split())}
_RELATIVE = re.compile(
    rf"\b(?:(?P<count>a|{'|'.join(_COUNTS)}) years? (?:(?P<back>earlier|before|previously)|later|afterwards)|"
    r"the (?P<previous>previous|prior|preceding) year|the (?:following|next) year)\b"
    r"(?! (?:the|he|she|it|they|his|her|its)\b)",
    re.IGNORECASE,
)
_WORDS_TOO = frozenset({"mar", "may", "march"})
_ABOUT_TIME = re.compile(
    r"\b(?:in|since|until|till|by|from|to|of|last|next|early|late|mid|between|and|during) $", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Moment:
    """A date with the parts that were written; `start` and `end` are offsets in the sentence.

    `kind` is `date`, `decade`, `century`, `weekday` or `season`. `swapped` is the other reading of 5/10/2018.
    """

    text: str
    start: int
    end: int
    kind: str
    year: int | None = None
    month: int | None = None
    day: int | None = None
    swapped: bool = False

    @property
    def parts(self) -> tuple[int | None, int | None, int | None]:
        """Year, month and day, as far as they are written."""
        return self.year, self.month, self.day

    def same(self, other: "Moment") -> bool:
        """Whether no part written in both differs, and this one says nothing that the other does not."""
        if self.kind != other.kind:
            return self._within(other)
        if self.kind == "date" and self.swapped and self.year == other.year:
            return (self.month, self.day) in {(other.month, other.day), (other.day, other.month)}
        return all(mine is None or mine == theirs for mine, theirs in zip(self.parts, other.parts, strict=True))

    def _within(self, other: "Moment") -> bool:
        if other.kind != "date" or other.year is None:
            return False
        if self.kind == "decade":
            return self.year == other.year // 10 * 10
        return self.kind == "century" and self.year == (other.year - 1) // 100 + 1


def moments(text: str) -> Iterator[Moment]:
    """Every date in the sentence, in order; those counted from a year of the sentence ("a year earlier") last."""
    found: list[Moment] = []
    for match in _PATTERNS.finditer(text):
        moment = _moment(match)
        if moment is not None:
            found.append(moment)
            yield moment
    for moment in tuple(found):
        short = _SHORT_END.match(text, moment.end) if moment.kind == "date" and moment.text.isdecimal() else None
        year = (moment.year or 0) // 100 * 100 + int(short["end"]) if short is not None else 0
        if short is not None and year > (moment.year or 0):
            yield Moment(short["end"], short.start("end"), short.end("end"), "date", year)
    yield from _of_one_month(text, found)
    years = [moment for moment in found if moment.kind == "date" and moment.year]
    for match in _RELATIVE.finditer(text) if years else ():
        from_year = next((m for m in reversed(years) if m.end <= match.start()), years[0]).year or 0
        count = _COUNTS.get((match["count"] or "").lower(), 1)
        back = match["back"] is not None or match["previous"] is not None
        yield Moment(match.group(), match.start(), match.end(), "date", from_year + (-count if back else count))


def _of_one_month(text: str, found: Sequence[Moment]) -> Iterator[Moment]:
    """The other day of "9 and 25 February 2018" and of "February 9-25, 2018": both have the one's month and year."""
    for moment in found:
        if moment.kind != "date" or moment.month is None or moment.day is None or moment.swapped:
            continue
        first = _DAY_BEFORE.search(text, max(0, moment.start - 12), moment.start)
        if first is not None and moment.text[:1].isdigit():
            day, at, end = int(first["day"]), first.start("day"), first.end("day")
            yield Moment(first["day"], at, end, "date", moment.year, moment.month, day)
        last = _DAY_BEHIND.match(text, moment.end)
        if last is not None and not moment.text[:1].isdigit():
            year = int(last["year"]) if last["year"] else moment.year
            end = last.end()
            yield Moment(
                text[last.start("day") : end], last.start("day"), end, "date", year, moment.month, int(last["day"])
            )
            if year != moment.year:
                yield replace(moment, year=year)


def _moment(match: re.Match[str]) -> Moment | None:
    kind, text = str(match.lastgroup), match.group()
    found = match.groupdict()
    form = next(name for name in _FORMS if found[name] is not None)
    kind, year, month, day, swapped = _FORMS[form](found, text)
    if form == "month" and not (
        text[0].isupper() and (text.lower() not in _WORDS_TOO or _ABOUT_TIME.search(match.string[: match.start()]))
    ):
        # A bare "May" opens sentences and "march" is a walk: a date only behind a word of time.
        return None
    if year is None and form in {"dmy", "mdy"} and (found["m1"] or found["m2"]) in _WORDS_TOO:
        # "A limit of 1 may delay it" is no first of May.
        return None
    return Moment(text, match.start(), match.end(), kind, year, month, day, swapped)


_Parts = tuple[str, int | None, int | None, int | None, bool]


def _number(value: str | None) -> int | None:
    return int(value) if value else None


def _month(name: str | None) -> int | None:
    return _MONTH_NUMBER.get((name or "").lower().rstrip("."))


def _slash(found: dict[str, str | None]) -> _Parts:
    first, second = int(found["s1"] or 0), int(found["s2"] or 0)
    year = int(found["sy"] or 0)
    year += 0 if year > 99 else 2000 if year < 50 else 1900
    if first > 12 >= second:
        return "date", year, second, first, False
    return "date", year, first, second, first <= 12 and second <= 12 and first != second


def _named(names: list[str], text: str) -> int:
    lowered = text.lower()
    return next(index for index, name in enumerate(names) if lowered.startswith(name))


_FORMS: dict[str, Callable[[dict[str, str | None], str], _Parts]] = {
    "iso": lambda f, _: ("date", _number(f["iy"]), _number(f["im"]), _number(f["id"]), False),
    "slash": lambda f, _: _slash(f),
    "dmy": lambda f, _: ("date", _number(f["y1"]), _month(f["m1"]), _number(f["d1"]), False),
    "other": lambda f, _: ("date", _number(f["y6"]), _month(f["m6"]), _number(f["d6"]), False),
    "slashed": lambda f, _: ("date", _number(f["y7"]), _number(f["m7"]), None, False),
    "mdy": lambda f, _: ("date", _number(f["y2"]), _month(f["m2"]), _number(f["d2"]), False),
    "my": lambda f, _: ("date", _number(f["y3"]), _month(f["m3"]), None, False),
    "decade": lambda f, _: ("decade", int(f["dec"] or 0) or 1900 + int(f["short"] or 0), None, None, False),
    "century": lambda f, _: ("century", _number(f["cn"]) or _CENTURIES[(f["cw"] or "").lower()], None, None, False),
    "year": lambda f, _: ("date", _number(f["y4"]), None, None, False),
    "month": lambda f, _: ("date", None, _month(f["m5"]), None, False),
    "weekday": lambda _, t: ("weekday", None, None, _named(_WEEKDAYS, t), False),
    "season": lambda _, t: ("season", None, _named(_SEASONS, t), None, False),
}
