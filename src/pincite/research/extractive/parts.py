"""A question cut into the parts that each want an answer: several questions, enumerations, comparisons."""

import re

from pincite.domain.plan import SubQuestion
from pincite.text.sentences import sentences
from pincite.text.tokens import index_terms as key_terms
from pincite.text.tokens import is_identifier

# Each part is searched and answered by itself: a question of more is a list of questions, for a batch.
MAX_PARTS = 8
_ENUMERATION = re.compile(r"^(?P<stem>[^:]{8,}?):\s+(?P<items>.+)$", re.DOTALL)
_ITEM_BREAK = re.compile(r"\s*[,;]\s*(?:and|or|as\s+well\s+as)\s+|\s*[,;]\s*", re.I)
_PAIRED = re.compile(r"\([^()]*\)|\[[^\[\]]*\]|\"[^\"]*\"|“[^”]*”|`[^`]*`")
# "main, contrib or non-free?" asks for one of these, and alone none of them is asked for.
_CHOICE = re.compile(r"[,;]?(?<!\s)\s++or\s++[^,;]+\?\s*$", re.I)
_SENTENCE_END = re.compile(r"[.!?]\s")
_LAST_AND = re.compile(r"\s+(?:and|or)\s+", re.I)
_ASKS = r"(?:who|whom|whose|when|where|why|which|what|how|is|are|does|do|did|can|will|was|were)\b"
_SECOND_QUESTION = re.compile(rf"[,;]?\s+and\s+(?={_ASKS})", re.I)
_POINTS_BACK = re.compile(
    r"\b(?:its|them|they|their|these|those)\b|\b(?:it|that|this)\b(?=\W*$|\W+(?:in|on|for|at|by|\w+(?:ed|en))\b)"
    # "what does it protect against?", but not "is it possible to?", "how long does it take to?"
    r"|\b(?:do(?:es)?|did|can|could|will|would|should|may|might|must|is|was)\s+it\b(?!\s+\w+\s+(?:to|that|if)\b)",
    re.I,
)
_SIDE_TAIL = r"(?P<tail>(?:\s+(?:in|for|when|with|on|of)\s+.*?)?)\s*\??$"
_WHERE = re.compile(r"\s(?:in|for|when|with|on|of)\s", re.I)
_PAIR = (
    re.compile(r"\bdifferences?\s+between\s+(?P<a>.+?)\s+and\s+(?P<b>.+?)" + _SIDE_TAIL, re.I),
    re.compile(r"\bcompare\s+(?P<a>.+?)\s+(?:and|with|to)\s+(?P<b>.+?)" + _SIDE_TAIL, re.I),
    re.compile(
        r"\bhow\s+(?:do|does|did)\s+(?P<a>.+?)\s+(?:and\s+(?P<b>.+?)\s+differ|differ\s+from\s+(?P<c>.+?))" + _SIDE_TAIL,
        re.I,
    ),
    re.compile(
        r"(?P<a>[\w.\-]+(?:\s[\w.\-]+)?)\s+(?:vs\.?|versus)\s+(?P<b>[\w.\-]+(?:\s[\w.\-]+)?)" + _SIDE_TAIL, re.I
    ),
)
_BOTH = re.compile(
    r"^(?:are|were|do|did|is|was)\s+(?P<a>.+?)\s+and\s+(?P<b>.+?)\s+(?:both|from the same|in the same)\b", re.I
)
# A request that says who asks ("tell me about", "could you give us a list of", "please explain how") stands in front of
# what is asked. By form: an imperative with "me", behind it with "a" the noun for the form of the answer; in English,
# German, French. An imperative alone may be the subject ("create a table of"), and "contact us" is a page. Of 36
# requests by somebody who had not seen it 14 are shortened, none loses its subject; of 36 lines that are none 2 are cut
# ("Please Please Me"): `benchmarks/requested.py`. What is not known is searched as it stands.
_REQUEST = re.compile(
    r"(?:please,? )?(?:(?:can|could|would|will) you (?:please )?)?"
    r"[a-z]+ (?:me|us(?= (?:an?|some|the|about|how|what|why|when|where)\b)) (?:please )?"
    r"(?:(?:an?|some) (?:[\w-]+ ){1,3}?(?:of|about|on) |about )?"
    r"|please,? [a-z]+ (?=(?:the|an?|how|what|why|when|where|which|who|whether)\b)"
    r"|(?:bitte )?[a-zäöüß]+ (?:mir|uns) (?:bitte )?(?:eine?n? (?:[\w-]+ ){1,2}?(?:von|über|zu[rm]?) )?"
    r"|[a-zé]+[- ](?:moi|nous) (?:une? (?:[\w-]+ ){1,2}?(?:de|du|des|sur) )?",
    re.I,
)
# A comparison of more things is a table that no single page has.
_MOST_SIDES = 4
# "git rebase with the option --onto"; longer sides are clauses, and "or" joins something else.
_SIDE_WORDS = 8
# A heading of one line and a half.
_HEADING_CHARS = 90


def split_question(text: str) -> tuple[SubQuestion, ...]:
    """The parts of a question that each want an answer, at most eight; a simple question is its only part.

    Several questions one after another, the items of an enumeration after a colon, and two questions joined by
    "and" are parts. An item keeps the words before the colon, so that it can be understood alone; a question stays as
    it was asked, with the first one as its context where it needs that.
    """
    plain = " ".join(text.split())
    asked = [plain[span.start : span.end] for span in sentences(plain)]
    questions = list(dict.fromkeys(sentence for sentence in asked if sentence.endswith("?")))
    whole = questions[0] if questions and len(plain) > 400 else plain
    listed = _enumeration(whole) if len(questions) < 2 else ()
    questions = questions if len(questions) > 1 else [] if listed else _joined(whole)
    found = [(question, _context(question, questions[0]) if at else "") for at, question in enumerate(questions)]
    found = found or [(part, "") for part in listed or _pair(whole) or (whole,)]
    return tuple(
        SubQuestion(str(number), part, heading=_heading(part), context=context)
        for number, (part, context) in enumerate(found[:MAX_PARTS], start=1)
    )


def asked_for(question: str) -> str:
    """The question without the request that it is put as: "Write me a summary of the harbour" asks for the harbour."""
    request = _REQUEST.match(question)
    rest = question[request.end() :] if request else ""
    return rest if key_terms(rest) else question


def _enumeration(text: str) -> tuple[str, ...]:
    match = _ENUMERATION.match(_masked(text))
    if match is None or _CHOICE.search(text, match.start("items")):
        return ()
    stem, items = text[: match.end("stem")].strip(), _items(text[match.start("items") :].rstrip("?.! "))
    # What runs on over the end of a sentence is no list: "554 5.7.1: Relay access denied. from home, it works".
    if len(items) < 2 or any(len(item.split()) > 16 or _SENTENCE_END.search(item) for item in items):
        return ()
    return tuple(f"{stem}: {item}" for item in items)


def _items(text: str) -> list[str]:
    """The items of a list in running words."""
    masked = _masked(text)
    pieces: list[str] = []
    start = 0
    for match in _ITEM_BREAK.finditer(masked):
        pieces.append(text[start : match.start()])
        start = match.end()
    pieces.append(text[start:])
    last = _LAST_AND.search(_masked(pieces[-1]))
    if last and len(pieces) > 1 and ", and" not in text and len(pieces[-1].split()) <= 8:
        tail = pieces.pop()
        pieces += [tail[: last.start()], tail[last.end() :]]
    return [piece.strip() for piece in pieces if piece.strip()]


def _masked(text: str) -> str:
    """The text with what stands in brackets or quotation marks blanked: nothing is cut in there."""
    return _PAIRED.sub(lambda match: "\x00" * len(match.group()), text)


def _joined(text: str) -> list[str]:
    """Questions joined by "and", each a sentence of its own; none where one is only a scrap."""
    pieces = [piece.strip(" ,;").rstrip("?.! ") for piece in _SECOND_QUESTION.split(text)]
    understood = (f"{_context(piece, pieces[0])} {piece}" for piece in pieces)
    if len(pieces) < 2 or any(len(key_terms(piece)) < 2 for piece in understood):
        return []
    end = "?" if text.rstrip().endswith("?") else ""
    first, *others = (piece + end for piece in pieces)
    return [first, *(other[:1].upper() + other[1:] if first[:1].isupper() else other for other in others)]


def _context(piece: str, first: str) -> str:
    """The first question, where a later one needs it.

    "What does VACUUM have to do with it?" can't be understood, nor searched, without what "it" is; "what happens when a
    sort needs more?" names nothing, so it is about what the first question names.
    """
    nameless = _names_something(first) and not _names_something(piece)
    return first.rstrip("?.! ") if nameless or _POINTS_BACK.search(piece) else ""


def _names_something(text: str) -> bool:
    """Whether a word after the first is written as a name."""
    found = text.split()
    named = any(
        bare[:1].isupper() and bare != "I" for bare in (word.strip(".,;:!?()[]{}\"'`’‘“”") for word in found[1:])
    )
    return named or any(is_identifier(word) for word in found)


def _pair(text: str) -> tuple[str, ...]:
    """The whole question and the things it compares or speaks of together."""
    sides = sides_of(text)
    if sides:
        return (text, *sides)
    match = _BOTH.search(text)
    if match and all(len(match.group(side).split()) <= _SIDE_WORDS for side in "ab"):
        return (text, match.group("a").strip(" ,"), match.group("b").strip(" ,?"))
    return ()


def sides_of(text: str) -> tuple[str, ...]:
    """The things that a question compares, two to four, each with what the question says of where ("in Python")."""
    for pattern in _PAIR:
        match = pattern.search(text)
        if match is None:
            continue
        found = match.groupdict()
        *before, last = _ITEM_BREAK.split(found["a"])
        sides = [side.strip(" ,.?!") for side in (*before, last, found.get("b") or found.get("c") or "")]
        tail = (found.get("tail") or "").rstrip("? ")
        fits = 2 <= len(sides) <= _MOST_SIDES and all(0 < len(side.split()) <= _SIDE_WORDS for side in sides)
        # "the sweeper of one with the daemon of another": a side that says where it is has no use for the other's.
        tails = [tail if side is sides[-1] or not _WHERE.search(side) else "" for side in sides]
        return tuple(dict.fromkeys(f"{side}{own}" for side, own in zip(sides, tails, strict=True))) if fits else ()
    return ()


def item_of(part: str) -> str:
    """The item of an enumeration part, without the words before the colon; any other part is returned whole."""
    match = _ENUMERATION.match(_masked(part))
    return part[match.start("items") :].strip() if match else part


def _heading(part: str) -> str:
    """A short title: the item of an enumeration, else the question without its question mark."""
    text = item_of(part).rstrip(" ?.!")
    if len(text) > _HEADING_CHARS:
        text = text[:_HEADING_CHARS].rsplit(" ", 1)[0] + "…"
    first = re.sub(r"['’,:;-]", "", text.split(" ", 1)[0])
    return text[:1].upper() + text[1:] if first.isalpha() else text  # `sorted()` is a name of code
