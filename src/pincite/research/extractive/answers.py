"""Whether a sentence holds the kind of answer a question wants: a figure with a unit, a date, a name, a default."""

import re
from functools import lru_cache

from pincite.research.extractive.passages import Passage
from pincite.research.extractive.questions import Ask
from pincite.text.tokens import is_stop

_NUMBER_WORDS = (
    "zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|"
    "eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|million|billion|half"
)
_FIGURE = re.compile(rf"(?<![\w.])[-+]?\d[\d.,_^]*|\b(?:{_NUMBER_WORDS})\b", re.I)
_MEASURE = re.compile(
    rf"(?:(?<![\w.])\d[\d.,_]*|\b(?:{_NUMBER_WORDS}))\s*-?(?:%|[a-zµμ°]{{1,3}}\b|"
    r"(?:milli|micro|nano|kilo|mega|giga|tera|centi)?"
    r"(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?|decades?|centur(?:y|ies)|bytes?|bits?|met(?:er|re)s?|gram(?:me)?s?|"
    r"hertz|watts?|volts?|miles?|feet|foot|inch(?:es)?|pounds?|degrees?|percent|dollars?|euros?|people|times)\b)",
    re.I,
)
_YEAR = re.compile(r"\b(?:1[0-9]{3}|20[0-9]{2})\b")
_DATE = re.compile(
    r"\b\d{1,2}\s+(?:January|February|March|April|May|June|July|August|September|October|November|December)\b"
    r"|\b(?:January|February|March|April|May|June|July|August|September|October|November|December)\s+\d{1,4}\b"
    r"|\b\d{4}-\d{2}-\d{2}\b"
)
_VERSION = re.compile(
    r"\b(?:version|release|since|as\s+of|v)\s*\S{0,12}?\s*\d+(?:\.\d+)+|\b[A-Z]\w+\s+\d+\.\d+|\b\d+\.\d+\.\d+\b", re.I
)
_DEFAULT = re.compile(
    r"\bdefault(?:s|ed)?\b|\bnormally\b|\bunless\s+(?:otherwise\s+)?(?:specified|set)\b|\binitially\b", re.I
)
_NAME = re.compile(r"(?<![.!?]\s)(?<!^)\b[A-Z][a-z]+(?:\s+[A-Z][a-z]+)*")
_REASON = re.compile(
    r"\bbecause\b|\bsince\b|\bso\s+that\b|\btherefore\b|\bin\s+order\s+to\b|\bdue\s+to\b|\breason\b", re.I
)
_METHOD = re.compile(
    r"\b(?:use|using|call|set|run|by\s+\w+ing|must|should|can|determines?|ensures?|creates?|allows?|enables?)\b", re.I
)
_DEFINITION = re.compile(
    r"^(?:An?\s+|The\s+)?[^,.;]{2,60}\s+(?:is|are|was|were|means|refers\s+to)\s+(?:an?|the|any|one)\b", re.I
)
_PLACE = re.compile(r"\b(?:in|at|from|near|under|inside|of)\s+(?:the\s+)?[A-Z/~]\w*")


def answer_fit(ask: Ask, text: str, passage: Passage) -> float:
    """0 to 1: how well the form of the sentence is that of an answer of the wanted kind."""
    head = passage.text(passage.head) if passage.head else ""
    fit = _fit(ask.answer_type, text)
    if ask.wants_default:
        stated = bool(_DEFAULT.search(text))
        # "timeout=5.0" in a signature or "name (default: 5)" in an option's own line states a default as well.
        stated = stated or bool(re.search(r"\w=[^\s,)]+", text) and "(" in text) or bool(_DEFAULT.search(head))
        fit = (
            0.5 * fit + 0.5 * stated if ask.answer_type in ("number", "version", "list", "") else max(fit, 0.6 * stated)
        )
    return fit


@lru_cache(maxsize=16384)
def _fit(answer_type: str, text: str) -> float:
    if answer_type == "number":
        return 1.0 if _MEASURE.search(text) else 0.8 if _FIGURE.search(text) else 0.0
    if answer_type in ("date", "version"):
        if answer_type == "version":
            return 1.0 if _VERSION.search(text) else 0.4 if _FIGURE.search(text) else 0.0
        return 1.0 if _DATE.search(text) or _YEAR.search(text) else 0.3 if _VERSION.search(text) else 0.0
    if answer_type == "person":
        return 1.0 if any(not is_stop(name) for name in _NAME.findall(text)) else 0.0
    pattern = {
        "reason": _REASON,
        "method": _METHOD,
        "definition": _DEFINITION,
        "place": _PLACE,
    }.get(answer_type)
    return 0.0 if pattern is None else float(bool(pattern.search(text)))
