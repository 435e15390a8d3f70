"""A question cut into the parts that each want an answer: several questions, enumerations, comparisons."""

import re

from pincite.research.extractive.words import URL, key_terms
from pincite.text.sentences import sentences

MAX_PARTS = 8
_ENUMERATION = re.compile(r"^(?P<stem>[^:]{8,}?):\s+(?P<items>.+)$", re.DOTALL)
_ITEM_BREAK = re.compile(r"\s*[,;]\s*(?:and|or|as\s+well\s+as)\s+|\s*[,;]\s*", re.I)
_LAST_AND = re.compile(r"\s+(?:and|or)\s+", re.I)
_SECOND_QUESTION = re.compile(
    r"[,;]?\s+and\s+(?=(?:who|whom|whose|when|where|why|which|what|how|is|are|does|do|did|can|will|was|were)\b)", re.I
)
_POINTS_BACK = re.compile(
    r"\b(?:its|them|they|their|these|those)\b|\b(?:it|that|this)\b(?=\W*$|\W+(?:in|on|for|at|by|\w+(?:ed|en))\b)", re.I
)
_PAIR = (
    re.compile(r"\bdifferences?\s+between\s+(?P<a>.+?)\s+and\s+(?P<b>.+?)(?:\s+(?:in|for|when|with)\b.*)?\??$", re.I),
    re.compile(r"\bcompare\s+(?P<a>.+?)\s+(?:and|with|to)\s+(?P<b>.+?)\??$", re.I),
    re.compile(r"(?P<a>[\w.\-]+(?:\s[\w.\-]+)?)\s+(?:vs\.?|versus)\s+(?P<b>[\w.\-]+(?:\s[\w.\-]+)?)", re.I),
    re.compile(
        r"^(?:are|were|do|did|is|was)\s+(?P<a>.+?)\s+and\s+(?P<b>.+?)\s+(?:both|from the same|in the same)\b", re.I
    ),
)


def split_question(text: str) -> tuple[str, ...]:
    """The parts of a question that each want an answer, at most eight; a simple question is its only part.

    Several questions one after another, the items of an enumeration after a colon, and two questions joined by
    "and" are parts. An item keeps the words before the colon, so that it can be understood alone.
    """
    plain = " ".join(URL.sub(" ", text).split())
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
    # "..., and what does VACUUM have to do with it?" can't be understood, nor searched, without what "it" is.
    first = pieces[0].rstrip("?.! ")
    pieces = [first, *(f"{first}: {piece}" if _POINTS_BACK.search(piece) else piece for piece in pieces[1:])]
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
