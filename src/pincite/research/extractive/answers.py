"""Whether a sentence holds the kind of answer a question wants: a figure with a unit, a date, a name, a default."""

import re
from functools import lru_cache

from pincite.research.extractive.passages import Passage
from pincite.research.extractive.questions import MOMENT, Ask
from pincite.text.tokens import is_stop

_NUMBER_WORDS = (
    "zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|"
    "eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|million|billion|half"
)
_FIGURE = re.compile(rf"(?<![\w.])(?<![A-Za-z]-)[-+]?\d[\d.,_^]*|\b(?:{_NUMBER_WORDS})\b", re.I)
_AMOUNT = rf"(?:(?<![\w.])\d[\d.,_]*|\b(?:{_NUMBER_WORDS}))[\s-]*"
_TIME = re.compile(
    _AMOUNT
    + r"(?:(?:milli|micro|nano)?(?:seconds?|secs?)|minutes?|mins?|hours?|days?|weeks?|months?|years?|[µmn]?s|h|d|w)\b",
    re.I,
)
_SIZE = re.compile(
    _AMOUNT
    + r"(?:(?:kilo|mega|giga|tera|kibi|mebi|gibi)?(?:bytes?|bits?)|[kmgtp]i?b|[kmgt]\b|characters?|pages?|blocks?|"
    r"lines?|words?|(?:kilo|centi|milli)?met(?:er|re)s?|feet|inch(?:es)?|miles?|km|cm|mm|acres?|hectares?)\b",
    re.I,
)
_COUNTED_IN = {
    _TIME: re.compile(r"\b(?:number\s+of|in)\s+(?:\w*seconds|minutes|hours|days|weeks|months|years)\b", re.I),
    _SIZE: re.compile(r"\b(?:number\s+of|in)\s+(?:\w*bytes|bits|characters|lines|pages|blocks)\b", re.I),
}
"""The unit apart from its figure: "Number of seconds to wait (default: 900)"."""
_ASKS_TIME = re.compile(
    r"\bhow\s+(?:long|often|quickly|soon|frequently|old|fast)\b|\b(?:what|which)\s+(?:\S+\s+){0,2}(?:interval|duration|"
    r"timeout|time|period|delay|age)\b|\bhow\s+many\s+(?:\w*seconds|minutes|hours|days|weeks|months|years)\b",
    re.I,
)
_HOW_LONG = re.compile(r"\bhow\s+long\s+(?:is|are|was|were|may|can|must|should)\b", re.I)
"""Of a thing that is or may be long the size is asked as well as the time."""
_ASKS_SIZE = re.compile(
    r"\bhow\s+(?:big|large|much\s+(?:room|space|memory|storage)|wide|tall|high|deep|heavy|far)\b"
    r"|\b(?:what|which)\s+(?:\S+\s+){0,2}size\b|\bhow\s+many\s+(?:\w*bytes|bits|characters)\b",
    re.I,
)
_LIMIT = re.compile(
    r"\b(?:max(?:imum|imal)?|min(?:imum|imal)?|limit(?:s|ed)?|at\s+(?:most|least)|up\s+to|exceed(?:s|ed|ing)?|no\s+more\s+than|"
    r"no\s+less\s+than|not\s+more\s+than|(?:big|larg|great|long|high|small|short|low)(?:g?est))\b",
    re.I,
)
_NAMING = re.compile(r"(?:[#/§]|\b[A-Z][\w.]*\s|\b(?:version|section|chapter|release|step|figure|table|page|RFC)\s)$")
_UNBOUNDED = re.compile(
    r"\b(?:unlimited|infinite(?:ly)?|indefinitely|forever|no\s+(?:limit|maximum|time\s*out)|never(?!\s+\w)|never\s+(?:expires?|times?\s*out|ends?)|(?:does|do)\s+not\s+time\s*out)\b",
    re.I,
)
_ASSIGNED = re.compile(r"\([^()]*\w=(?![A-Z][A-Z_]+\b)[^\s,)]+")
"""A default in a signature; the name of a constant does not say it."""
_YEAR = re.compile(r"\b(?:1[0-9]{3}|20[0-9]{2})\b")
_DATE = re.compile(
    r"\b\d{1,2}\s+(?:January|February|March|April|May|June|July|August|September|October|November|December)\b"
    r"|\b(?:January|February|March|April|May|June|July|August|September|October|November|December)\s+\d{1,4}\b"
    r"|\b\d{4}-\d{2}-\d{2}\b"
)
_MOMENT = re.compile(
    r"\b(?:when(?:ever)?|after|before|once|until|while|during|if|unless|as\s+soon\s+as|(?:at|by|from)\s+the\s+(?:start|end|"
    r"beginning)|on\s+(?:start|shutdown)|every|each\s+time|hourly|daily|nightly|weekly|monthly|yearly|annually|noon|"
    r"midnight|(?:mon|tues|wednes|thurs|fri|satur|sun)days?)\b|\b\d{1,2}(?::\d{2}|\s*[ap]\.?m\b)",
    re.I,
)
_VERSION = re.compile(
    r"\b(?:version|release|since|as\s+of|v)\s*\S{0,12}?\s*\d+(?:\.\d+)+|\b[A-Z]\w+\s+\d+\.\d+|\b\d+\.\d+\.\d+\b", re.I
)
_INTRODUCED = re.compile(
    r"\b(?:new\s+in|(?:was|were|been|is|are)\s+(?:\w+\s+)?(?:added|introduced|removed|dropped|deprecated)|added\s+in|since|"
    r"as\s+of|first|no\s+longer|(?:available|supported|required)\s+(?:in|from|since|with)|changed\s+in|deprecated)\b",
    re.I,
)
"""A release is asked for because something came or went with it."""
_NOT_INTRODUCED = 0.7
_SPECIAL_VALUE = re.compile(r"\b(?:set(?:ting|s)?|values?)\b[^.;]{0,40}?\b(?:to|of|is)\s+(?:-1|0|zero)\b(?!\.\d)", re.I)
"""A value that only switches something off is not how much it is."""
_DEFAULT = re.compile(
    r"\bdefault(?:s|ed)?\b|\bnormally\b|\bunless\s+(?:otherwise\s+)?(?:specified|set)\b|\binitially\b"
    r"|\b(?:if|when)\s+(?:\S+\s+){1,4}(?:omitted|unset|absent|not\s+(?:given|set|specified|present))\b",
    re.I,
)
_NAME = re.compile(r"(?<![.!?]\s)(?<!^)\b[A-Z][a-z]+(?:\s+[A-Z][a-z]+)*")
_FULL_NAME = re.compile(
    r"(?<![\[(<“‘\"'`/])\b(?P<first>[A-Z][a-zà-ÿ]+)\s+(?:(?:[A-Z]\.|[A-Z][a-zà-ÿ]+|of|de|da|van|von|der)\s+){0,2}[A-Z][a-zà-ÿ’'-]+|\bby\s+[A-Z][a-zà-ÿ]+"
)
_LONE_NAME = 0.4
_REASON = re.compile(
    r"\bbecause\b|\bsince\b|\bso\s+that\b|\btherefore\b|\bin\s+order\s+to\b|\bdue\s+to\b|\breason\b", re.I
)
_METHOD = re.compile(
    r"\b(?:use|using|call|set|run|by\s+\w+ing|must|should|can|determines?|ensures?|creates?|allows?|enables?)\b", re.I
)
_DEFINITION = re.compile(
    r"^(?:An?\s+|The\s+)?[^,.;]{2,60}\s+(?:is|are|was|were|means|refers\s+to)\s+(?:an?|the|any|one)\b", re.I
)
_LISTING = re.compile(r"(?:[^,;:.]{2,40}[,;]\s+){2,}(?:(?:and|or)\s+)?\S|:\s*$")
_PLACE = re.compile(r"\b(?:in|at|from|near|under|inside|of)\s+(?:the\s+)?[A-Z/~]\w*")


_HEAD_OPENING, _HEAD_LATER = 0.9, 0.6
_NOT_DEFAULT = 0.85
TYPED = frozenset({"number", "date", "version", "person"})
"""Kinds of answer whose form can be seen: a sentence without it is not the answer."""


def is_typed(ask: Ask) -> bool:
    """Whether the form of the answer is known from the question."""
    return ask.answer_type in TYPED or ask.wants_default


def answer_fit(ask: Ask, text: str, passage: Passage, *, opens: bool = True) -> float:
    """0 to 1: how well the form of the sentence is that of an answer of the wanted kind.

    A sentence is printed with the term it defines, so what the term states counts too ("size_limit (default: 50)",
    "0-99:"), most for the sentence that `opens` the definition.
    """
    head = passage.text(passage.head) if passage.head else ""
    fit = _stated_fit(ask, text, passage)
    if head and is_typed(ask) and text not in head:
        fit = max(fit, (_HEAD_OPENING if opens else _HEAD_LATER) * _stated_fit(ask, head, passage))
    if head and ask.answer_type == "number" and not ask.wants_default and not _DEFAULT.search(text):
        fit *= _NOT_DEFAULT  # how much a setting allows is what it is set to
    return fit


def _stated_fit(ask: Ask, text: str, passage: Passage) -> float:
    fit = _number_fit(ask.text, text) if ask.answer_type == "number" else _fit(ask.answer_type, text)
    if ask.wants_default:
        # "timeout=5.0" in a signature states a default as well.
        stated = bool(_DEFAULT.search(text) or _ASSIGNED.search(text))
        return 0.45 * fit + 0.55 * stated if ask.answer_type in TYPED else max(fit * 0.4, float(stated))
    if ask.wants_limit:
        above = " ".join(passage.text(span) for span in passage.section[-1:])
        return 0.7 * fit + 0.3 * bool(_LIMIT.search(text) or _LIMIT.search(above))
    return fit


def _number_fit(question: str, text: str) -> float:
    """A figure with the wanted unit, else any figure; "how long" wants time, "how big" wants a size."""
    text = _SPECIAL_VALUE.sub(" ", text)
    if _HOW_LONG.search(question) and _SIZE.search(text):
        return 1.0
    if _ASKS_TIME.search(question):
        form = _TIME
    elif _ASKS_SIZE.search(question):
        form = _SIZE
    else:
        return 1.0 if states_quantity(text) else 0.8 * bool(_UNBOUNDED.search(text))
    if form.search(text) or (_COUNTED_IN[form].search(text) and states_quantity(text)):
        return 1.0
    return 0.8 if _UNBOUNDED.search(text) else 0.45 if states_quantity(text) else 0.0


@lru_cache(maxsize=16384)
def states_quantity(text: str) -> bool:
    """Whether some figure counts or measures: not `Python 3.4`, `Section 9.14`, `#2323`, `log(1)`, `HTTP/2`, "one"."""
    for match in _FIGURE.finditer(text):
        word, before = match.group(), text[: match.start()]
        if word.lower() == "one" or _NAMING.search(before) or word.count(".") > 1:
            continue
        if before.endswith("(") and before[-2:-1].isalnum() and text[match.end() : match.end() + 1] == ")":
            continue
        return True
    return False


@lru_cache(maxsize=16384)
def _fit(answer_type: str, text: str) -> float:
    if answer_type in ("date", "version"):
        if answer_type == "version":
            fit = 1.0 if _VERSION.search(text) else 0.4 if _FIGURE.search(text) else 0.0
            return fit if _INTRODUCED.search(text) else _NOT_INTRODUCED * fit
        return 1.0 if _DATE.search(text) or _YEAR.search(text) else 0.3 if _VERSION.search(text) else 0.0
    if answer_type == "person":
        return _person_fit(text)
    if answer_type == MOMENT:
        return float(bool(_MOMENT.search(text) or _DATE.search(text) or _YEAR.search(text)))
    pattern = {
        "reason": _REASON,
        "method": _METHOD,
        "definition": _DEFINITION,
        "place": _PLACE,
        "list": _LISTING,
    }.get(answer_type)
    return 0.0 if pattern is None else float(bool(pattern.search(text)))


def _person_fit(text: str) -> float:
    """A name of two words or after "by"; a lone word with a capital may be the name of anything."""
    if any(not match["first"] or not is_stop(match["first"]) for match in _FULL_NAME.finditer(text)):
        return 1.0
    return _LONE_NAME if any(not is_stop(name) for name in _NAME.findall(text)) else 0.0
