"""Whether a sentence can be read alone: what it starts with may point to the sentence before it."""

import re
from functools import lru_cache

from pincite.domain.page import BlockKind
from pincite.research.extractive.passages import Passage, Span

MAX_CLAIM_CHARS = 520

NEEDS_REFERENT = re.compile(
    r"(?:it|its|this|that|these|those|they|their|he|his|she|her|such|here|there|both|either|neither|another|"
    r"one(?!\s+(?:can|may|might|must|should|has|needs|of))|"
    r"the\s+(?:former|latter|same|default|defaults|value|option|parameter|setting|argument|function|method|command|"
    r"following|above|result|first|second|third|other|previous))\b",
    re.IGNORECASE,
)
CONTINUES = re.compile(
    r"(?:however|therefore|thus|otherwise|in\s+this\s+case|in\s+that\s+case|in\s+addition|moreover|furthermore|hence|"
    r"also|instead|then|similarly|likewise|consequently|nevertheless|for\s+(?:example|instance)|note\s+that|but|and|"
    r"so(?!\s+(?:long|far|much|many)\b))\b,?\s*",
    re.IGNORECASE,
)
POINTS_BACK = re.compile(
    r"[^\w’'-]*(?:[\w’'-]+[^\w’'-]+){1,5}(?:these|those|this|that\s+(?:last|same|case)|the\s+(?:latter|former|above|following))\b",
    re.IGNORECASE,
)
_BARE = re.compile(
    r"(?:default|optional|required|must|can|may|should|if|when|by\s+default|defaults?\s+to|same\s+as|new\s+in|changed\s+in|"
    r"added\s+in|removed\s+in|deprecated|available|returns?|raises?|specifies|sets?|controls?|requires?)\b",
    re.IGNORECASE,
)
_IMPERSONAL = re.compile(
    r"it(?:['’]s|\s+(?:is|was|(?:can|may|might|will|would)\s+be))(?:\s+(?:not|also|then|often|usually|generally|always|never|"
    r"very|more))*\s+(?:(?:(?:im)?possible|(?:un)?necessary|(?:un)?important|(?:in)?advisable|(?:un)?wise|(?:un)?common|"
    r"(?:un)?usual|useful|helpful|customary|recommended|permissible|allowed|forbidden|easy|easier|hard|harder|difficult|"
    r"better|best|enough)\s+(?:to|that|for)|(?:un)?(?:likely|clear|true|known)\s+that|worth\s+\w+ing)\b",
    re.IGNORECASE,
)
"""An "it" that stands for nothing before it: "It is possible to ..."."""
POINTER = re.compile(r"(?:see|refer\s+to|cf\.?)\s", re.IGNORECASE)


@lru_cache(maxsize=16384)
def stands_alone(text: str) -> bool:
    """Whether a sentence can be read without the one before it."""
    return bool(text[:1].isupper() or text[:1].isdigit() or not text[:1].isalpha()) and not (
        (NEEDS_REFERENT.match(text) and not _IMPERSONAL.match(text))
        or CONTINUES.match(text)
        or _BARE.match(text)
        or POINTS_BACK.match(text)
        or len(text.split()) < 4
    )


def sentence_before(passage: Passage, index: int, text: str) -> Span | None:
    """The sentence right before a statement, when it stands alone and both fit into a claim."""
    statement = passage.statements[index]
    if not index or statement.kind in (BlockKind.TABLE, BlockKind.CODE):
        return None
    before = passage.statements[index - 1]
    words = passage.text(before.span)
    adjacent = 0 <= statement.span.start - before.span.end <= 2
    aside = words.startswith("(") and words.rstrip().endswith(")")
    fits = len(words) + len(text) <= MAX_CLAIM_CHARS and not POINTER.match(words) and not aside
    shown = before.kind is not BlockKind.CODE or NEEDS_REFERENT.match(text)
    return before.span if adjacent and fits and shown and stands_alone(words) else None
