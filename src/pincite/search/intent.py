"""What a query is after: decides the order of engines and how long an answer stays fresh. Rules, no model.

The words are those that say what kind of page is wanted, not what it is about.
"""

import re
from enum import StrEnum

from pincite.domain.search import Query, Topic


class Intent(StrEnum):
    """The kind of need behind a query."""

    CURRENT_EVENT = "current_event"
    RESEARCH = "research"
    DOCUMENTATION = "documentation"
    ERROR = "error"
    CODE = "code"
    LOCAL = "local"
    GENERAL = "general"


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-])(?:{pattern})(?![\w-])", re.IGNORECASE)


_ERROR = (
    re.compile(r"Traceback \(most recent call last\)|^\s+at [\w.$<>]+\(|\bpanic:|\bsegfault", re.MULTILINE),
    re.compile(r"\b[A-Z]\w*(?:Error|Exception)\b"),
    re.compile(r"\b(?:E|ERR|SQLSTATE|HTTP|errno|error code)[ _:-]?[A-Z]{0,4}\d{2,6}\b", re.IGNORECASE),
    re.compile(r"\b0x[0-9a-f]{6,}\b", re.IGNORECASE),
    _words(r"errors?|exceptions?|stack ?trace|traceback|fails? (?:with|to)|failing|crash(?:es|ed)?|not working"
           r"|undefined reference|cannot (?:find|open|connect|import|resolve)|permission denied|connection refused"),
)  # fmt: skip
_EVENT = (
    _words(r"today|tonight|yesterday|this (?:week|morning|month)|right now|breaking|latest news|news|headlines"
           r"|announc(?:ed|es|ement)|just released|election results?|live score|stock price|weather"),
    _words(r"(?:latest|current|newest|recent) (?:version|release|update|developments?|status|price|events?)"),
)  # fmt: skip
_RESEARCH = (
    _words(r"papers?|arxiv|doi|preprints?|peer[- ]reviewed|literature review|systematic review|meta[- ]analysis"
           r"|state of the art|benchmark(?:s|ing)? (?:of|for)|survey (?:of|on)|research (?:on|about|into)|theorem"
           r"|dataset|randomi[sz]ed (?:controlled )?trial|et al"),
)  # fmt: skip
_DOCUMENTATION = (
    _words(r"documentation|docs|manual|reference|man page|api|changelog|release notes|tutorial|getting started"
           r"|quick ?start|configur(?:e|ing|ation)|install(?:ing|ation)?|set ?up|upgrad(?:e|ing)|migrat(?:e|ing|ion)"
           r"|parameters?|options?"),
    re.compile(r"^\s*how (?:to|do (?:i|you|we)|can i)\b", re.IGNORECASE),
)  # fmt: skip
_CODE = (
    re.compile(r"\b\w+\([^)]*\)|::|->|=>|[{};]|\b[a-z]+_[a-z_]+\b|\b[a-z]+[A-Z]\w+\b|</?\w+>"),
    _words(
        r"regex|snippet|code (?:example|sample)|implementation of|function to|script to|github|repository|source code"
    ),
)
_LOCAL = (_words(r"near me|nearby|opening hours|open now|in my area|closest|directions to"),)
_TECHNICAL = re.compile(
    r"\b(?:api|sdk|cli|sql|http|json|yaml|server|database|config\w*|framework|library|package|module|cluster|container"
    r"|deploy\w*|query|index|schema|thread|socket|kernel|compiler|runtime|cache|timeout|plugin|docker|linux|python|java"
    r"|rust|node|git|v?\d+\.\d+(?:\.\d+)*)\b",
    re.IGNORECASE,
)
_BY_TOPIC = {Topic.NEWS: Intent.CURRENT_EVENT, Topic.RESEARCH: Intent.RESEARCH, Topic.CODE: Intent.CODE}

KIND_WORDS = frozenset(
    "documentation docs doc manual reference tutorial guide example examples howto article page pages website site "
    "info information paper papers survey research study practice practices best way ways method error errors "
    "exception exceptions raise raises raised throw throws fail fails failed failing issue problem fix solve "
    "solution".split()
)
"""Words that name the kind of page and not its subject; a near-duplicate may differ in them."""


def intent_of(query: Query) -> Intent:
    """The intent; a topic set by the caller decides, else the strongest sign in the text."""
    if query.topic in _BY_TOPIC:
        return _BY_TOPIC[query.topic]
    text = query.text
    if _any(_ERROR, text):
        return Intent.ERROR
    if _any(_LOCAL, text):
        return Intent.LOCAL
    if _any(_EVENT, text):
        return Intent.CURRENT_EVENT
    if _any(_RESEARCH, text):
        return Intent.RESEARCH
    if _any(_CODE, text) and not _DOCUMENTATION[0].search(text):
        return Intent.CODE
    if _DOCUMENTATION[0].search(text) or (_DOCUMENTATION[1].search(text) and _TECHNICAL.search(text)):
        return Intent.DOCUMENTATION
    return Intent.GENERAL


def is_technical(text: str) -> bool:
    """Whether the text is about software (for the gate)."""
    return bool(_TECHNICAL.search(text))


def _any(patterns: tuple[re.Pattern[str], ...], text: str) -> bool:
    return any(pattern.search(text) for pattern in patterns)
