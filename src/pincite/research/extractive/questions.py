"""What a question asks for: kind of answer, names in it, parts of an enumeration or comparison, what it presupposes."""

import re
from dataclasses import dataclass

from pincite.research.extractive.words import is_identifier, key_terms
from pincite.text.sentences import sentences
from pincite.text.tokens import is_stop

_URL = re.compile(r"\bhttps?://\S+|\bwww\.\S+", re.IGNORECASE)
_QUANTITY = (
    r"(?:number|amount|size|length|limit|maximum|minimum|rate|interval|duration|period|time|timeout|age|port|"
    r"percentage|percent|share|fraction|ratio|count|code|status|level|price|cost|width|height|weight|depth|distance|"
    r"speed|temperature|population|range|window|threshold|bound|capacity|value|mode|frequency|margin|range|precision)s?"
)
_LEAD = r"(?:in|on|at|from|after|for|since|with|to|by|of|under|until|up to|as of)?\s*"
_TYPES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("compare", re.compile(r"\bcompare[sd]?\b|\bdifferences?\s+between\b|\bversus\b|\bvs\b|\bdiffer\b", re.I)),
    ("version", re.compile(rf"\b{_LEAD}(?:which|what)\s+(?:\S+\s+){{0,3}}(?:version|release)s?\b", re.I)),
    ("date", re.compile(rf"\bwhen\b|\b{_LEAD}(?:which|what)\s+(?:year|date|day|month|century)\b", re.I)),
    ("person", re.compile(r"\bwho(?:se|m)?\b", re.I)),
    ("place", re.compile(r"\bwhere\b|\b(?:which|what)\s+(?:city|country|place|state|town)\b", re.I)),
    (
        "number",
        re.compile(
            rf"\bhow\s+(?:many|much|long|large|big|often|old|far|fast|high|deep|tall|heavy|wide|quickly|soon|frequently)"
            rf"\b|\b(?:which|what)\s+(?:\S+\s+){{0,3}}{_QUANTITY}\b|\b(?:which|what)\s+is\s+the\s+(?:\S+\s+)?(?:\w+est)\b",
            re.I,
        ),
    ),
    ("reason", re.compile(r"\bwhy\b|\bwhat\s+(?:is|was)\s+the\s+reason\b", re.I)),
    ("method", re.compile(r"\bhow\b", re.I)),
    ("list", re.compile(r"\b(?:list|enumerate|summari[sz]e)\b|\b(?:which|what)\s+are\b", re.I)),
    (
        "yes_no",
        re.compile(r"^\W*(?:is|are|was|were|do|does|did|can|could|may|must|should|will|would|has|have|had)\b", re.I),
    ),
    (
        "definition",
        re.compile(r"\bwhat\s+(?:is|was)\s+(?:an?\s+)?\S+(?:\s+\S+)?\s*\?*$|\bwhat\s+does\b.*\bmean\b", re.I),
    ),
)
_DEFAULT = re.compile(
    r"\bby\s+default\b|\bdefaults?\b|\bout\s+of\s+the\s+box\b|\bunless\b|\bif\s+(?:you|one|nothing|none)\b|\bnormally\b"
    r"|\busually\b|\bwhen\s+(?:not|nothing)\b|\bwithout\s+(?:arguments|options|configuration)\b|\binitially\b",
    re.I,
)
_ENUMERATION = re.compile(r"^(?P<stem>[^:]{8,}?):\s+(?P<items>.+)$", re.DOTALL)
_ITEM_BREAK = re.compile(r"\s*[,;]\s*(?:and|or|as\s+well\s+as)\s+|\s*[,;]\s*", re.I)
_LAST_AND = re.compile(r"\s+(?:and|or)\s+", re.I)
_SECOND_QUESTION = re.compile(
    r"[,;]?\s+and\s+(?=(?:who|whom|whose|when|where|why|which|what|how|is|are|does|do|did|can|will|was|were)\b)", re.I
)
_PAIR = (
    re.compile(r"\bdifferences?\s+between\s+(?P<a>.+?)\s+and\s+(?P<b>.+?)(?:\s+(?:in|for|when|with)\b.*)?\??$", re.I),
    re.compile(r"\bcompare\s+(?P<a>.+?)\s+(?:and|with|to)\s+(?P<b>.+?)\??$", re.I),
    re.compile(r"(?P<a>[\w.\-]+(?:\s[\w.\-]+)?)\s+(?:vs\.?|versus)\s+(?P<b>[\w.\-]+(?:\s[\w.\-]+)?)", re.I),
    re.compile(
        r"^(?:are|were|do|did|is|was)\s+(?P<a>.+?)\s+and\s+(?P<b>.+?)\s+(?:both|from the same|in the same)\b", re.I
    ),
)
_NAME = re.compile(r"(?:[A-Z][\w'’.\-]*)(?:\s+(?:(?:of|the|de|von|van|der|da|and)\s+)?[A-Z0-9][\w'’.\-]*)*")
MAX_PARTS = 8
MAX_TERMS = 40


@dataclass(frozen=True, slots=True)
class Ask:
    """One question read. `terms` are distinct stems in order; `identifiers` must be in any page that answers."""

    text: str
    answer_type: str
    wants_default: bool
    terms: tuple[str, ...]
    identifiers: tuple[str, ...]
    names: tuple[str, ...]


def read_question(text: str) -> Ask:
    """The question as the other roles use it. A very long text is cut to its first 40 distinct terms."""
    plain = _URL.sub(" ", text)
    answer_type = next((name for name, pattern in _TYPES if pattern.search(plain)), "")
    terms = tuple(dict.fromkeys(key_terms(plain)))[:MAX_TERMS]
    found = [word.strip(".,;:!?()[]{}\"'`’‘“”") for word in plain.split()]
    identifiers = tuple(dict.fromkeys(word for word in found if is_identifier(word)))
    return Ask(plain.strip(), answer_type, bool(_DEFAULT.search(plain)), terms, identifiers, names_in(plain))


def names_in(text: str) -> tuple[str, ...]:
    """Proper names as written: runs of capitalised words; a lone first word of a sentence counts only inside a run."""
    openings = {span.start for span in sentences(text)}
    found: list[str] = []
    for match in _NAME.finditer(text):
        name, start = match.group().rstrip(".,'’"), match.start()
        first, _, rest = name.partition(" ")
        if start in openings and (is_stop(first) or not rest or first.lower() in _OPENING_VERBS):
            name = rest
        name = re.sub(r"['’]s$", "", name)
        if name and not is_stop(name) and not name.isdigit():
            found.append(name)
    return tuple(dict.fromkeys(found))


_OPENING_VERBS = frozenset(
    "summarise summarize compare list describe explain name give tell show roughly since".split()
)


def split_question(text: str) -> tuple[str, ...]:
    """The parts of a question that each want an answer, at most eight; a simple question is its only part.

    Several questions one after another, the items of an enumeration after a colon, and two questions joined by
    "and" are parts. An item keeps the words before the colon, so that it can be understood alone.
    """
    plain = " ".join(_URL.sub(" ", text).split())
    asked = [plain[span.start : span.end] for span in sentences(plain)]
    questions = [sentence for sentence in asked if sentence.endswith("?")]
    if len(questions) > 1:
        return tuple(dict.fromkeys(questions))[:MAX_PARTS]
    whole = questions[0] if questions and len(plain) > 400 else plain
    parts = _enumeration(whole) or _joined(whole) or _pair(whole)
    return parts[:MAX_PARTS] or (whole,)


def _enumeration(text: str) -> tuple[str, ...]:
    match = _ENUMERATION.match(text)
    if match is None:
        return ()
    items = _items(match.group("items").rstrip("?.! "))
    if len(items) < 2 or any(len(item.split()) > 16 for item in items):
        return ()
    return tuple(f"{match.group('stem').strip()}: {item}" for item in items)


def _items(text: str) -> list[str]:
    """The items of a list in running words; commas inside brackets do not separate."""
    masked = re.sub(r"\([^()]*\)", lambda match: "\x00" * len(match.group()), text)
    pieces: list[str] = []
    start = 0
    for match in _ITEM_BREAK.finditer(masked):
        pieces.append(text[start : match.start()])
        start = match.end()
    pieces.append(text[start:])
    last = _LAST_AND.search(re.sub(r"\([^()]*\)", lambda m: "\x00" * len(m.group()), pieces[-1]))
    if last and len(pieces) > 1 and ", and" not in text and len(pieces[-1].split()) <= 8:
        tail = pieces.pop()
        pieces += [tail[: last.start()], tail[last.end() :]]
    return [piece.strip() for piece in pieces if piece.strip()]


def _joined(text: str) -> tuple[str, ...]:
    pieces = [piece.strip(" ,;") for piece in _SECOND_QUESTION.split(text)]
    if len(pieces) < 2 or any(len(key_terms(piece)) < 2 for piece in pieces):
        return ()
    return tuple(pieces)


def _pair(text: str) -> tuple[str, ...]:
    for pattern in _PAIR:
        match = pattern.search(text)
        if match and all(len(match.group(side).split()) <= 8 for side in "ab"):
            return (text, match.group("a").strip(" ,"), match.group("b").strip(" ,?"))
    return ()


def item_of(part: str) -> str:
    """The item of an enumeration part, without the words before the colon; any other part is returned whole."""
    match = _ENUMERATION.match(part)
    return match.group("items").strip() if match else part
