"""A ranked statement as a claim: a sentence that can be read alone, with the exact quotes it was made of."""

import itertools
import re

from pincite.domain.evidence import Claim, ClaimType, Evidence
from pincite.domain.ids import claim_id
from pincite.domain.page import BlockKind
from pincite.domain.plan import ReadPage
from pincite.research.extractive.headings import is_structural
from pincite.research.extractive.passages import HEADING_NUMBER, MAX_HEAD_CHARS, Passage, Span, heading_text
from pincite.research.extractive.scoring import Scored
from pincite.research.extractive.standing import (
    CONTINUES,
    MAX_CLAIM_CHARS,
    NEEDS_REFERENT,
    POINTER,
    POINTS_BACK,
    sentence_before,
    stands_alone,
)

MIN_CLAIM_WORDS = 3
_CODE_LINES = 5
_OPEN_END = re.compile(
    r"(?::|\b(?:with|using|by|for|to|of|in|from|like|as|via|and|or|the|a|an|as\s+follows|except|than|where|when|if|that)\.?)\s*$",
    re.IGNORECASE,
)
"""A sentence that goes on in what follows it: a list, a line of code."""
_LINK = re.compile(
    r"(?:however|therefore|thus|moreover|furthermore|in\s+addition|also|similarly|likewise|consequently|nevertheless|"
    r"note(?:\s+also)?\s+that|but|and|so(?!\s+(?:long|far|much|many|that|as)\b))\b,?\s+",
    re.IGNORECASE,
)
"""A word that only links a sentence to the one before; what follows it may stand alone."""
_NEEDS_SENTENCE = re.compile(
    r"(?:the\s+(?:above|following|former|latter|other|first|second|third|previous|result|same)|such|both|either|neither|"
    r"another|th(?:is|at|ese|ose)\s+(?:is|was|are|were|has|have|does|do|did|can|could|may|might|must|should|will|would|"
    r"also|means?|happens?|occurs?|makes?|causes?|allows?|ensures?|requires?|helps?|works?))\b",
    re.IGNORECASE,
)
"""What a heading does not tell: an ordinal, a bare "this" before its verb."""
"""A demonstrative among the first words: "To use this option, ..."."""
_ESTIMATE = re.compile(
    r"\b(?:about|approximately|roughly|around|estimated?|probably|likely|typically|nearly|almost|on\s+average)\b",
    re.IGNORECASE,
)
_OPINION = re.compile(
    r"\b(?:I|we)\s+(?:think|believe|feel|recommend|suggest)\b|\b(?:arguably|in\s+my\s+opinion|best|worst|better|should|"
    r"recommended|unfortunately|fortunately)\b",
    re.IGNORECASE,
)
_CONDITIONAL = re.compile(
    r"\b(?:may|might|could|possibly|perhaps|can\s+be|sometimes|appears?\s+to|seems?\s+to)\b", re.IGNORECASE
)
_SAYS_NOTHING = re.compile(r"[\w.]+\(\)[.,;]?|[^:/]{3,40}:\s+\S*/\S+(?:,\s*\S*/\S+)*\.?")
"""A bare call, or a label before paths and addresses."""
_SOURCE_LINK = re.compile(r"\s*\[(?:source|edit)\](?=\s*¶?$)")
"""A link behind a heading or signature, to the code or to an editor."""
_ENDED = re.compile(r"[.!?:;][\"'”’)\]]*$")
_CELLS = (BlockKind.TABLE, BlockKind.TERM, BlockKind.CODE)
_WORD = re.compile(r"\w+")


def make_claim(scored: Scored, page: ReadPage, sub_question: str) -> Claim | None:
    """The statement as a claim, or None when it can't be made to stand alone."""
    spans = _spans(scored)
    if spans is None:
        return None
    text = _join(scored.passage, spans)
    if not len(text.split()) >= MIN_CLAIM_WORDS or len(text) > MAX_CLAIM_CHARS:
        return None
    return Claim(
        claim_id=claim_id(text, sub_question),
        text=text,
        sub_question=sub_question,
        type=claim_type(text),
        confidence=confidence(scored, text),
        evidence=tuple(evidence_of(page, span) for span in spans),
    )


def claim_type(text: str) -> ClaimType:
    """Opinion when the writer judges or advises, estimate when the figure is said to be approximate, else fact."""
    if _OPINION.search(text):
        return ClaimType.OPINION
    return ClaimType.ESTIMATE if _ESTIMATE.search(text) and re.search(r"\d", text) else ClaimType.FACT


def confidence(scored: Scored, text: str) -> float:
    """0.25 + 0.55 × coverage + 0.2 × fit of the answer's form; a tenth less when the sentence itself hedges."""
    value = 0.25 + 0.55 * min(scored.coverage, 1.0) + 0.2 * scored.fit
    return round(min(value * (0.9 if _CONDITIONAL.search(text) else 1.0), 0.99), 2)


def _spans(scored: Scored) -> list[Span] | None:
    """What the claim is made of, in reading order: its referent where it needs one, then the statement."""
    passage, statement = scored.passage, scored.statement
    text = passage.text(statement.span)
    if POINTER.match(text) or text.rstrip().endswith("?") or _SAYS_NOTHING.fullmatch(text):
        return None
    if HEADING_NUMBER.match(text) and text.rstrip()[-1:] not in ".!?:":
        return None  # an entry of a table of contents
    if passage.head is None and statement.kind not in _CELLS and len(_WORD.findall(text)) < MIN_CLAIM_WORDS:
        return None  # "5.", "Q.": a number or letter of a list
    if statement.kind is BlockKind.CODE and passage.head is None and "(" not in text and "=" not in text:
        return None
    tail = _what_follows(scored) if _OPEN_END.search(text) else []
    if statement.kind is BlockKind.TERM:
        meaning = next(
            (other for other in passage.statements[scored.index + 1 :] if other.kind is not statement.kind), None
        )
        fits = meaning is not None and meaning.span.end - meaning.span.start + len(text) <= MAX_CLAIM_CHARS
        if meaning is not None and fits:
            return [statement.span, meaning.span]
    elif _OPEN_END.search(text) and not tail:
        return None
    start = statement.span.start + (_unlinked(text) if statement.lead is None else 0)
    span = Span(start, statement.span.end)
    if start > statement.span.start and passage.head is None:
        return [span, *tail]
    front = _front(scored, passage.text(span))
    return None if front is None else [*front, span, *tail]


def _unlinked(text: str) -> int:
    """How many characters of a linking word may go from the front so that the sentence stands alone; 0: none."""
    link = _LINK.match(text)
    rest = text[link.end() :] if link else ""
    return link.end() if link and stands_alone(rest[:1].upper() + rest[1:]) else 0


def _front(scored: Scored, text: str) -> list[Span] | None:
    """The spans that must stand before the statement; None when it can't be made to stand alone."""
    passage, statement = scored.passage, scored.statement
    if passage.head is not None and passage.head != statement.span and is_structural(passage.text(passage.head)):
        # "Parameters: ..." does not say of what.
        return [] if stands_alone(text) else _with_referent(scored, text)
    if passage.head is not None and statement.kind is BlockKind.CODE:
        above = passage.statements[scored.index - 1].span if scored.index else passage.head
        named = passage.text(above).rstrip().endswith(":") and above != passage.head
        return [passage.head, above] if named else [passage.head]
    if passage.head is not None and passage.head != statement.span:
        long = passage.head.end - passage.head.start > MAX_HEAD_CHARS
        return [] if long or _names_head(passage, text) else [passage.head]
    if statement.lead is not None and statement.lead != statement.span:
        lead = passage.text(statement.lead)
        in_row = statement.kind is BlockKind.TABLE
        if len(lead) + len(text) <= MAX_CLAIM_CHARS and (in_row or not stands_alone(text)):
            # "This ..." inside an item is about the sentence before it, not about what introduces the list.
            said = (
                sentence_before(scored.passage, scored.index, text)
                if NEEDS_REFERENT.match(text) and not in_row
                else None
            )
            return [said or statement.lead]
    if stands_alone(text) and statement.kind is not BlockKind.TABLE:
        return []
    return _with_referent(scored, text)


def _what_follows(scored: Scored) -> list[Span]:
    """The list that a statement ending in a colon introduces, or the one line after it, as far as there is room."""
    passage, lead = scored.passage, scored.statement.span
    following = passage.statements[scored.index + 1 :]
    items = list(itertools.takewhile(lambda statement: statement.lead == lead, following))
    items = items or list(
        itertools.takewhile(lambda statement: statement.kind is BlockKind.CODE, following[:_CODE_LINES])
    )
    items = items or list(following[:1])
    room = MAX_CLAIM_CHARS - (lead.end - lead.start)
    taken: list[Span] = []
    for item in items:
        room -= item.span.end - item.span.start + 2
        if room < 0:
            break
        taken.append(item.span)
    return taken


def _with_referent(scored: Scored, text: str) -> list[Span] | None:
    """The sentence before it when that one stands alone, else the heading above."""
    before = sentence_before(scored.passage, scored.index, text)
    if before is not None:
        return [before]
    heading = _heading_span(scored.passage)
    # A heading tells what "it" is, but not what stands against a "however", nor what is "the above".
    needs_more = CONTINUES.match(text) or _NEEDS_SENTENCE.match(text) or POINTS_BACK.match(text)
    return None if heading is None or needs_more else [heading]


def _heading_span(passage: Passage) -> Span | None:
    """The heading that says what this is about, without its number; a bare "DESCRIPTION" gives way to one above it."""
    if not passage.section or not heading_text(passage).strip():
        return None
    span = passage.section[-1]
    text = passage.text(span)
    if (len(passage.section) > 1 and (text.isupper() or len(text.split()) == 1)) or is_structural(text):
        telling = [other for other in passage.section if not is_structural(passage.text(other))]
        if not telling:
            return None
        span = telling[0]
        text = passage.text(span)
    number = HEADING_NUMBER.match(text)
    return Span(span.start + number.end(), span.end) if number and number.end() < len(text) else span


def _names_head(passage: Passage, text: str) -> bool:
    """Whether the sentence already says the name of the term it defines."""
    assert passage.head is not None
    name = re.split(r"[\s(=,:]", passage.text(passage.head).strip(), maxsplit=1)[0]
    return len(name) > 2 and name.lower() in text.lower()


def _join(passage: Passage, spans: list[Span]) -> str:
    """The claim's words: the spans in order; a term or heading with a colon after it, items with semicolons."""
    pieces = [_SOURCE_LINK.sub("", _cells(" ".join(passage.text(span).split()))) for span in spans]
    text = pieces[0].rstrip(" ¶")
    text = text[:1].upper() + text[1:] if _trimmed(passage, spans[0]) else text
    listing = bool(_OPEN_END.search(text))
    for place, piece in enumerate(pieces[1:], start=1):
        listed = listing and not _OPEN_END.search(pieces[place - 1]) and text[-1:] not in ".!?"
        text = f"{text.rstrip(' ,;')}; {piece}" if listed else f"{text}{' ' if _ENDED.search(text) else ': '}{piece}"
        listing = listing or bool(_OPEN_END.search(piece))
    return _tidy(text)


def _cells(text: str) -> str:
    """A table row as words: the first cell, a colon, the others with semicolons between."""
    first, bar, rest = text.strip(" |").partition(" | ")
    others = "; ".join(cell.strip() for cell in rest.split(" | ") if cell.strip(" |"))
    return f"{first.rstrip(' :')}: {others}" if bar and others and first.strip() else text


def _trimmed(passage: Passage, span: Span) -> bool:
    """Whether a linking word was taken from the front of the span: then it starts inside a sentence."""
    before = passage.document.text[max(span.start - 12, 0) : span.start]
    return bool(re.search(r"\w,? $", before)) and passage.text(span)[:1].islower()


def _tidy(text: str) -> str:
    """One line without list marks in front and with an end mark."""
    cleaned = re.sub(r"^[\-–—•*·]\s+", "", text).strip(" |")
    cleaned = re.sub(r",?\s+(?:and|or)[.,;:]?$", "", cleaned)
    if cleaned.endswith((".)", ".”", '."', "?)", "!)")):
        return cleaned
    if cleaned[-1:].isalnum() or cleaned[-1:] in ")%]”\"'’":
        return cleaned + "."
    return cleaned[:-1].rstrip() + "." if cleaned[-1:] in ":;,—–" else cleaned


def evidence_of(page: ReadPage, span: Span) -> Evidence:
    """The span of a page as a quote with its capture."""
    return Evidence(
        quote=page.document.quote(span.start, span.end),
        snapshot_id=page.snapshot.snapshot_id,
        body_sha256=page.snapshot.body_sha256,
        url=page.url,
    )
