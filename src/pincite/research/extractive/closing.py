"""What stands around the excerpts of a report: how the section about a part goes on, key numbers, limits, conclusions.

All of it is told by the structure of pages (headings, entries, boxes) and by the form of sentences, never by what they
are about, and is sentences of the pages that stand alone, each with the heading or term it stands under.
"""

import re
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from typing import Final

from pincite.domain.citation import cut_on_word
from pincite.domain.evidence import ContextRole, NoteForm
from pincite.domain.page import QUOTED_NOTE, BlockKind, Document, MarkKind
from pincite.ranking.ranker import RankedPassage
from pincite.research.extractive.excerpts import Excerpt, stands_alone
from pincite.text.context import context_of
from pincite.text.sentences import Span, sentences
from pincite.verification.facts import quantities

# A page of fewer sections is read as quickly as an overview of it.
LEAST_SECTIONS: Final = 3
# Of the sections below a heading so many have to be near the question; else the heading is about something else.
# Chosen, as the next two, by reading the reports on the first half of the questions of `benchmarks/broad.py`: tutorials
# and references that name everything have up to a quarter, pages about the question more than half.
_ABOUT_SHARE: Final = 0.5
# A section is near from this share of the likelihood of the best passage on.
_NEAR_SECTION: Final = 0.06
# A sentence that stands without its passage needs more: in less likely ones it is about something else too often.
_NEAR: Final = 0.25
# A heading or a term with its arguments; as of passages (`ranking.passages`).
LABEL_CHARS: Final = 120
_TEXT: Final = frozenset({BlockKind.PARAGRAPH, BlockKind.DEFINITION, BlockKind.LIST_ITEM, BlockKind.QUOTATION})
# The kinds of boxes (`Block.note`) that warn. Notes, tips and hints say anything.
_WARNING_BOXES: Final = frozenset({"warning", "caution", "danger", "attention", "important", "error"})
# A modal verb with its negation (not that of "mail that cannot be delivered"), a forbidding imperative, "never": closed
# classes of English, German, French, Spanish.
_FORBIDS: Final = re.compile(
    r"(?<!that )(?<!which )\b(?:must|should|shall|can|could|may) ?not\b|\b(?:mustn|shouldn|can|couldn)['’]t\b|\bnever\b"
    r"|^(?:do not|don['’]t|avoid|beware)\b"
    r"|\b(?:darf|dürfen|soll|sollte|sollten|kann|können|muss)(?: \w+){0,3} (?:nicht|kein\w*|niemals)\b|\bniemals\b"
    r"|\bne (?:doit|doivent|devez|peut|peuvent|pouvez) (?:pas|jamais)\b|\bn['’]\w+ jamais\b"
    r"|\bno (?:debe|deben|debería|puede|pueden)\b|\bnunca\b",
    re.IGNORECASE,
)
# What pages call the part in which they conclude or sum up, as a whole heading with or without its number: names of
# parts of a text, as "Introduction" is. 44 of 833 labelled pages of the web have one, of six documentations five.
_CONCLUDES: Final = re.compile(
    r"\W*(?:[\dIVX]+[.)]? )*(?:(?:the|our|my|in|some|final|key|short) )*"
    r"(?:conclusions?|concluding (?:remarks|thoughts)|summary|recap|takeaways?|recommendations?|thoughts"
    r"|wrap(?:ping)?[ -]up|bottom line|tl;?dr|fazit|zusammenfassung|schlussfolgerung(?:en)?|empfehlung(?:en)?"
    r"|conclusión|conclusiones|resumen|recomendaciones|en résumé|résumé|recommandations)\W*",
    re.IGNORECASE,
)
# So many sentences of such a part; more is the whole of it.
_CONCLUDING: Final = 3
# A sentence that recommends, by its verb ("a recommended workflow" recommends nothing), in four languages.
# Looked at on PostgreSQL and Git; of 49 sentences it finds in four other documentations 46 recommend or advise against.
_RECOMMENDS: Final = re.compile(
    r"\b(?:is|are|be|we|i|you|not|often|usually|generally|strongly|highly) (?:\w+ly )?"
    r"(?:recommend(?:ed)?|advised|advisable|preferable)\b"
    r"|\bit(?: is|['’]s) (?:\w+ )?(?:best|better|wise|preferred|a good idea|good practice) (?:not )?to\b"
    r"|\b(?:empfohlen|empfiehlt|ratsam)\b|\best (?:\w+ )?(?:recommandée?s?|conseillée?s?|préférable)\b"
    r"|\b(?:se recomienda|es (?:recomendable|aconsejable|preferible))\b",
    re.IGNORECASE,
)
# "It is best to", "it is recommended that": this "it" points to nothing that was said before.
_EXPLETIVE: Final = re.compile(r"It(?: is|['’]s) (?:[a-z]+ ){1,4}?(?:that|not to|to(?! be\b)) [^?:]+\.", re.DOTALL)
# What a number belongs to when a name stands before it: "Section 27.2", "Python 3.8", "git-diff(1)"; "-1" is a sign.
_NAMED_NUMBER: Final = re.compile(r"(?:^|[\s(])[A-Z][\w.]*[ \xa0]$|\bversions? $|\w\($|-$")

# A number, perhaps with a unit.
_VALUE: Final = re.compile(r"[-+]?\d[\d.,]* ?(?:[^\W\d_]{0,12}|%)")


def overview_of(chosen: Sequence[RankedPassage], ranked: Sequence[RankedPassage]) -> tuple[Excerpt, ...]:
    """What the sections open with that are near the question, of the part of a page that is about it.

    That part is the one around a chosen passage with the most such sections; at least half of its sections are.
    """
    near: dict[str, list[RankedPassage]] = {}
    for passage in ranked:
        if passage.likelihood >= _NEAR_SECTION * ranked[0].likelihood:
            near.setdefault(passage.source.url, []).append(passage)
    # Of a page that has less to say than another one nobody wants to know how it goes on.
    held_by = Counter(passage.source.url for passage in chosen)
    main = [passage for passage in chosen if held_by[passage.source.url] == max(held_by.values())]
    best: tuple[Excerpt, ...] = ()
    for passage in main:
        document, own = passage.source.document, near.get(passage.source.url, ())
        for low, high in _sections_around(document, passage.draft.start):
            openings = list(_openings(document, low, high))
            held = [(next((p for p in own if _holds(p, s)), None), s) for s in openings]
            found = tuple(Excerpt(p, NoteForm.POINT, (span,), (0.0,)) for p, span in held if p is not None)
            if len(found) >= max(LEAST_SECTIONS, _ABOUT_SHARE * len(openings), len(best)):
                best = found
    return best


def figures_near(ranked: Sequence[RankedPassage]) -> Iterator[Excerpt]:
    """The sentences with a figure and its unit, and those of an entry with any figure, of passages that answer."""
    for passage, span in _sentences_near(ranked):
        if tells_figure(passage.source.document, span.start, span.end):
            yield Excerpt(passage, NoteForm.FIGURE, (span,), (0.0,))


def limits_near(chosen: Sequence[RankedPassage], ranked: Sequence[RankedPassage]) -> Iterator[Excerpt]:
    """The sentences that warn: those of boxes in the sections that answer, then those that forbid, by their form."""
    boxed: list[tuple[RankedPassage, Span]] = []
    for passage in chosen:
        *_, (low, high) = _sections_around(passage.source.document, passage.draft.start)
        boxed += [(passage, span) for span in _alone(passage.source.document, low, high, boxed=True)]
    formed = [(passage, span) for passage, span in _sentences_near(ranked) if _FORBIDS.search(_text(passage, span))]
    for passage, span in (*boxed, *formed):
        yield Excerpt(passage, NoteForm.LIMIT, (span,), (0.0,))


def conclusions_near(chosen: Sequence[RankedPassage], ranked: Sequence[RankedPassage]) -> Iterator[Excerpt]:
    """What the concluding part of a page says, near the question and around a chosen passage; what pages recommend."""
    near = [passage for passage in ranked if passage.likelihood >= _NEAR_SECTION * ranked[0].likelihood]
    for passage in chosen:
        document, outline = passage.source.document, passage.source.document.outline
        around = {low for low, _ in _sections_around(document, passage.draft.start)}
        for entry in outline:
            *_, (above, _), (low, high) = (0, 0), *_sections_around(document, entry.start)
            if above not in around or not _CONCLUDES.fullmatch(" ".join(entry.title.split())):
                continue
            for span in list(_alone(document, low, high))[:_CONCLUDING]:
                own = next((p for p in near if p.source is passage.source and _holds(p, span)), None)
                if own is not None:
                    yield Excerpt(own, NoteForm.CONCLUSION, (span,), (0.0,))
    for passage, span in _sentences_near(ranked, also=_EXPLETIVE):
        text = _text(passage, span)
        if _RECOMMENDS.search(text) and text[-1] not in "?:":
            yield Excerpt(passage, NoteForm.CONCLUSION, (span,), (0.0,))


def _holds(passage: RankedPassage, span: Span) -> bool:
    return passage.draft.start <= span.start < passage.draft.end


def tells_figure(document: Document, start: int, end: int) -> bool:
    """Whether a sentence tells a figure with its unit, or, in the entry of an option or setting, any figure."""
    told = [
        (figure, figure.kind == "version" or _NAMED_NUMBER.search(before) is not None)
        for figure, before in quantities(_told(document, start, end))
    ]
    if any(figure.dimension and not named for figure, named in told):
        return True
    # A bare number says something where the entry says of what, unless the sentence is about versions and sections.
    entry = any(piece.role is ContextRole.TERM for piece in context_of(document, start, end))
    digits = any(character.isdigit() for figure, _ in told for character in figure.text)
    return entry and digits and not any(named for _, named in told)


def _told(document: Document, start: int, end: int) -> str:
    """What stands, with code blanked that is more than a value ("4 MB", "-1"): arguments of examples tell nothing."""
    text = document.standing(start, end)
    for mark in document.marks_in(start, end, (MarkKind.CODE,)):
        low, high = max(mark.start, start) - start, min(mark.end, end) - start
        if not _VALUE.fullmatch(text[low:high]):
            text = text[:low] + " " * (high - low) + text[high:]
    return text


def label_of(document: Document, start: int, end: int, shared: Container[str] = ()) -> str:
    """The term, else the heading, that a sentence stands under; empty below the title alone.

    A heading of `shared` ("Description", "Notes") does not say what a sentence is about: the one above it may.
    """
    context = context_of(document, start, end)
    terms = [piece.text for piece in context if piece.role is ContextRole.TERM]
    headings = (p.text for p in context if p.role is ContextRole.HEADING and p.text not in shared)
    return cut_on_word((terms or [*headings] or [""])[-1], LABEL_CHARS)


def _text(passage: RankedPassage, span: Span) -> str:
    return passage.source.document.text[span.start : span.end]


def _sentences_near(
    ranked: Sequence[RankedPassage], also: re.Pattern[str] | None = None
) -> Iterator[tuple[RankedPassage, Span]]:
    """The sentences that stand alone of passages about as likely as the best one, most likely first."""
    for passage in ranked:
        if passage.likelihood >= _NEAR * ranked[0].likelihood:
            spans = _alone(passage.source.document, passage.draft.start, passage.draft.end, also=also)
            yield from ((passage, span) for span in spans)


def _alone(
    document: Document, low: int, high: int, *, boxed: bool = False, also: re.Pattern[str] | None = None
) -> Iterator[Span]:
    """The sentences of text between two offsets that stand alone; of warning boxes only, where that is wanted."""
    for index in range(document.block_at(low), document.block_at(max(high - 1, 0)) + 1):
        block, base = document.blocks[index], document.starts[index]
        if block.kind not in _TEXT or block.note == QUOTED_NOTE or (boxed and block.note not in _WARNING_BOXES):
            continue
        for span in sentences(block.text):
            found = Span(base + span.start, base + span.end)
            own = also is not None and also.fullmatch(block.text[span.start : span.end].strip()) is not None
            if low <= found.start and found.end <= high and (own or stands_alone(document, found)):
                yield found
                if boxed:
                    break  # what a paragraph of a warning opens with says of what it warns


def _sections_around(document: Document, offset: int) -> Iterator[tuple[int, int]]:
    """Start and end of the sections that hold the offset, outermost first; the first is the whole page."""
    yield 0, len(document.text)
    for index in document.headings_above(document.block_at(offset)):
        heading, start = document.blocks[index], document.starts[index]
        after = zip(document.blocks[index + 1 :], document.starts[index + 1 :], strict=True)
        ends = (
            begin
            for block, begin in after
            if block.kind is BlockKind.HEADING and block.level <= heading.level and block.note in {"", heading.note}
        )
        yield start, next(ends, len(document.text))


def _openings(document: Document, low: int, high: int) -> Iterator[Span]:
    """The first sentence that stands alone of each section and entry below the first heading between two offsets."""
    first, last = document.block_at(low), document.block_at(max(high - 1, 0))
    head: int | None = None
    for index in range(first + 1, last + 1):
        block, base = document.blocks[index], document.starts[index]
        if block.kind in (BlockKind.HEADING, BlockKind.TERM):
            head = index if any(map(str.isalpha, block.text)) else None  # the term of a footnote is its number
        elif head is not None and block.kind in (BlockKind.PARAGRAPH, BlockKind.DEFINITION) and not block.note:
            spans = (Span(base + span.start, base + span.end) for span in sentences(block.text))
            opening = next(spans, None)
            if opening is not None and stands_alone(document, opening):
                yield opening
            head = None
