"""What a question asks for: the kind of answer, the terms with their weight, the names in it."""

import re
from dataclasses import dataclass

from pincite.research.extractive.parts import asking_part, item_of
from pincite.research.extractive.words import URL, bare_word, is_exact, is_identifier, key_terms
from pincite.text.sentences import sentences
from pincite.text.tokens import is_stop, stem, words

DEFINITION = "definition"
"""What it is or does: the kind of answer that each side of a comparison wants, too."""
MOMENT = "moment"
ROLE = "role"
"""What is asked by "when does" and "who may": kinds of answer that have no one form."""
_PAST = (
    r"\w+ed|wrote|built|made|won|led|began|gave|drew|sang|spoke|ran|taught|fought|sold|bought|found|held|wore|took|sent|"
    r"lost|kept|left|paid|said|saw|met|rode|shot|stole|swam|threw|broke|came|became|chose|drove|flew|rose"
)
_QUANTITY = (
    r"(?:number|amount|size|length|limit|maximum|minimum|rate|interval|duration|period|time|timeout|age|port|"
    r"percentage|percent|share|fraction|ratio|count|code|status|level|price|cost|width|height|weight|depth|distance|"
    r"speed|temperature|population|range|window|threshold|bound|capacity|value|mode|frequency|margin|range|precision)s?"
)
_WHICH = r"\b(?:which|what)\s+"
_HOW_PLAIN = r"(?:do|does|did|is|are|was|were|can|could|should|would|will|must|may|might|to|come|else|and|or|it|the)"
_TYPES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("compare", re.compile(r"\bcompare[sd]?\b|\bdifferences?\s+between\b|\bversus\b|\bvs\b|\bdiffer\b", re.I)),
    ("version", re.compile(_WHICH + r"(?:\S+\s+){0,3}(?:version|release)s?\b", re.I)),
    ("date", re.compile(rf"\bwhen\s+(?:did|was|were|had)\b|{_WHICH}(?:year|date|day|month|century)\b", re.I)),
    # "When does it run?" is answered by a condition, an hour or a rhythm; "what happens when ..." asks neither.
    (MOMENT, re.compile(r"\bwhen\s+(?:do|does|is|are|can|could|should|would|will|must|may|might|has|have)\b", re.I)),
    # Who once did something has a name; who does, may or must do something is often a role ("the owner of the table").
    ("person", re.compile(rf"\bwho(?:se|m)?\s+(?:was|were|is|did|had|{_PAST})\b", re.I)),
    (ROLE, re.compile(r"\bwho(?:se|m)?\b", re.I)),
    ("place", re.compile(rf"\bwhere\b|{_WHICH}(?:city|country|place|state|town)\b", re.I)),
    (
        "number",
        re.compile(
            # "how many", "how deep", "how tightly": any degree, but not "how does"
            rf"\bhow\s+(?!{_HOW_PLAIN}\b)\w+\b|{_WHICH}(?:\S+\s+){{0,4}}{_QUANTITY}\b"
            rf"|{_WHICH}is\s+the\s+(?:\S+\s+)?(?:\w+est)\b",
            re.I,
        ),
    ),
    ("reason", re.compile(rf"\bwhy\b|{_WHICH}(?:is|was|are|were)\s+the\s+reasons?\b", re.I)),
    ("method", re.compile(r"\bhow\b", re.I)),
    (
        "list",
        re.compile(
            rf"\b(?:list|enumerate|summari[sz]e)\b|{_WHICH}(?:are|were)\b"
            rf"|{_WHICH}(?:[\w-]+\s+){{0,2}}\w+[^\Ws]s\s+(?:are|were|do|does|can|may|must|will|has|have)\b",
            re.I,
        ),
    ),
    (
        "yes_no",
        re.compile(r"^\W*(?:is|are|was|were|do|does|did|can|could|may|must|should|will|would|has|have|had)\b", re.I),
    ),
    (
        DEFINITION,
        re.compile(
            rf"{_WHICH}(?:is|was)\s+(?:an?\s+)?\S+(?:\s+\S+)?\s*\?*$|\bwhat\s+(?:does|do)\b.*\b(?:mean|do|stand\s+for)\b"
            rf"|^\W*\S+\W*$",
            re.I,
        ),
    ),
)
_DEFAULT = re.compile(
    r"\bby\s+default\b|\bdefaults?\b|\bout\s+of\s+the\s+box\b|\bunless(?:\s+(?:otherwise\s+)?\w+(?:ed|en|et|old)\b(?:\s+otherwise)?)?"
    r"|\b(?:if|when)\s+(?:you|one|nothing|none|nobody|no\s+one|no|not)\b|\bnormally\b|\busually\b|\binitially\b"
    r"|\bwithout\s+(?:any\s+)?(?:arguments?|options?|configuration|settings?)\b",
    re.I,
)
_ASKING = re.compile(
    r"\bhow\s+(?:many|much|long|often|far|soon)\b|\b(?:vs\.?|versus)(?=\s)|\b(?:one|other|same)\b"
    r"|\b(?:what|which)\s+(?:kinds?|sorts?|types?)\s+of\b|\b(?:summari[sz]e|compare|describe|explain)\b"
    r"|(?:^|[.?!:,]\s+|\b(?:please|to)\s+)list\b(?!\s+(?:and|or|vs|versus|in)\b)"
    r"|\b(?:write|give|tell|show|send|make|prepare|draft)\s+(?:me|us)\b"
    r"|\b(?:an?|the|me|us|write|short|brief)\s+(?:summary|overview|report|essay|article|explanation|outline)\s+(?:of|on|about)\b"
    r"|^\W*since\b|\b(?:roughly|approximately|exactly|at\s+(?:most|least)|in\s+theory)\b",
    re.I,
)
_LIMIT = re.compile(
    r"\b(?:at\s+(?:most|least)|max(?:imum|imal)?|min(?:imum|imal)?|limit(?:s|ed)?|upper|lower|bound|(?:big|larg|great|long|"
    r"high|deep|wid|small|short|low|few|fast|slow)(?:g?est)|the\s+(?:most|least)|before\s+it\s+(?:stops|fails|gives\s+up)|"
    r"up\s+to)\b",
    re.I,
)
_FRAME_VERB = re.compile(
    r"\b(?i:do|does|did|can|could|should|would|will|must|may|might)\b\W+(?:[\w'’.\-]+\W+){1,5}?"
    r"(?P<verb>[a-z]+)\s+(?=(?:which|whether|what|how|when|where|who|whose)\b)"
)
"""The verb before an indirect question ("how does X decide which ..."): it asks, the pages say it in other words."""
_DIMENSION = re.compile(r"\bhow\s+(?P<degree>big|large|tall|wide|deep|heavy|old)\b", re.I)
_DIMENSIONS = {
    "big": "size", "large": "size", "tall": "height", "wide": "width", "deep": "depth",
    "heavy": "weight", "old": "age",
}  # fmt: skip
"""What is asked by its degree is stated by its name: how large something is, as its size."""
_FRAME_EMPHASIS = 0.1
_STEM_EMPHASIS, _POINTED_AT = 0.35, 0.6
"""What words before the colon count: those that all items share, and those that a second question points back to."""
_PART_EMPHASIS = 0.3
_NAME = re.compile(r"(?:[A-Z][\w'’.\-]*)(?:\s+(?:(?:of|the|de|von|van|der|da|and)\s+)?[A-Z0-9][\w'’.\-]*)*")
MAX_TERMS = 40


@dataclass(frozen=True, slots=True)
class Ask:
    """One question read. `terms` are distinct stems in order, `emphasis` what each counts (1 is usual).

    `identifiers` must be somewhere in the pages read, the `exact` ones in any page that answers; `names` are proper
    names as written. `same` are terms with another one that says as much: "height" and "tall".
    """

    text: str
    answer_type: str
    wants_default: bool
    wants_limit: bool
    terms: tuple[str, ...]
    emphasis: tuple[float, ...]
    identifiers: tuple[str, ...]
    exact: tuple[str, ...]
    names: tuple[str, ...]
    same: tuple[tuple[str, str], ...] = ()


def read_question(text: str) -> Ask:
    """The question as the other roles use it. A very long text is cut to its first 40 distinct terms.

    Words that only ask ("how many", "by default") are no terms; words before the colon of an enumeration count less.
    """
    plain = URL.sub(" ", text).strip()
    named = with_dimensions(plain)
    item = item_of(named)
    asking = asking_part(plain)
    shared = 1.0 if item == named else _STEM_EMPHASIS if asking == plain else _POINTED_AT
    weights: dict[str, float] = {}
    for piece, weight in ((item, 1.0), (named, shared)):
        for term in key_terms(_DEFAULT.sub(" ", _ASKING.sub(" ", piece))):
            weights.setdefault(term, weight)
    for term in frame_terms(plain):
        if term in weights and len(weights) > 2:
            weights[term] *= _FRAME_EMPHASIS
    if not weights:
        weights = dict.fromkeys(key_terms(plain), 1.0)
    terms = tuple(weights)[:MAX_TERMS]
    found = [bare_word(word) for word in plain.split()]
    identifiers = tuple(dict.fromkeys(word for word in found if is_identifier(word)))
    whole = set(key_terms(named)) - _parts_of_names(named)
    return Ask(
        text=plain,
        answer_type=_answer_type(asking),
        wants_default=bool(_DEFAULT.search(asking)),
        wants_limit=bool(_LIMIT.search(asking)),
        terms=terms,
        emphasis=tuple(weights[term] * (1.0 if term in whole else _PART_EMPHASIS) for term in terms),
        identifiers=identifiers,
        exact=tuple(word for word in identifiers if is_exact(word)),
        names=names_in(plain),
        same=tuple((stem(_DIMENSIONS[degree.lower()]), stem(degree.lower())) for degree in _DIMENSION.findall(plain)),
    )


def with_dimensions(text: str) -> str:
    """The question with what it asks by degree named: "size" for "how large"."""
    return _DIMENSION.sub(lambda match: _DIMENSIONS[match["degree"].lower()], text)


def frame_terms(text: str) -> frozenset[str]:
    """Stems of the verbs that only introduce what is asked."""
    return frozenset(term for match in _FRAME_VERB.finditer(text) for term in key_terms(match["verb"]))


def _answer_type(text: str) -> str:
    """The kind that the earliest asking word names; of two at one place the one listed first."""
    found = [(match.start(), number) for number, (_, p) in enumerate(_TYPES) if (match := p.search(text))]
    return _TYPES[min(found)[1]][0] if found else ""


def _parts_of_names(text: str) -> set[str]:
    """Stems that are only a piece of a compound word: `keep` in `KeepAlive`."""
    whole = {term for word in words(text) for term in key_terms(word)[:1]}
    return set(key_terms(text)) - whole


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
