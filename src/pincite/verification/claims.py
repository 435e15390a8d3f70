"""One claim against given texts: where to look for it on a page, and `check_claim`, by `prove` as everywhere else.

Words only find: they neither prove nor refute anything.
"""

import math
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Coroutine, Iterator, Sequence
from datetime import UTC, datetime
from functools import cached_property
from itertools import accumulate
from typing import Any, Final, TypeVar

from pincite.domain.evidence import ClaimType, EvidencePassage, Relation, SourceQuote, Verdict, VerdictStatus
from pincite.domain.page import Block, BlockKind, Document
from pincite.ports import Judge
from pincite.text.context import passage_in_context, units_of
from pincite.text.normalise import fold
from pincite.text.sentences import Span
from pincite.text.tokens import stem, words
from pincite.verification.figures import SAYS_ABOUT, figures
from pincite.verification.proof import Proven, Statement, prove
from pincite.verification.quotes import locate

# Passages for one statement: with their context about 1,200 tokens, what a judge reads of a page at once.
LIMIT: Final = 5
# A word of the heading counts half: it says what a passage is about, and all passages below it share it.
_ABOVE_WEIGHT: Final = 0.5
# What is carried already counts so much for the next passage: a statement may rest on two places of a page.
_LEFT_WEIGHT: Final = 0.25
# A short line without an end mark is read as a heading; longer ones are text.
_HEADING_CHARS: Final = 100
_END_MARKS: Final = (".", "!", "?", ",", ";", "|")
_BLANK: Final = re.compile(r"\n[ \t]*\n")
_MARKED_HEADING: Final = re.compile(r"#{1,6} +")


class PageSearch:
    """The sentences, list items and rows of one page, searched by the words of a statement. Made once per page."""

    def __init__(self, document: Document) -> None:
        self.document = document

    @cached_property
    def _units(self) -> tuple[tuple[Span, frozenset[str], frozenset[str]], ...]:
        """Each with its words, and those of the headings and terms above it."""
        found: list[tuple[Span, frozenset[str], frozenset[str]]] = []
        for index, block in enumerate(self.document.blocks):
            if block.kind is BlockKind.HEADING:
                continue
            above = [self.document.title, *self.document.section_path(self.document.starts[index])]
            above += [self.document.blocks[at].text for at in self.document.ancestors(index)]
            heads = _terms(" ".join(above))
            spans = units_of(self.document, index)
            found += [(span, _terms(self.document.text[span.start : span.end]), heads) for span in spans]
        return tuple(found)

    @cached_property
    def _rarity(self) -> dict[str, float]:
        counts = Counter(term for _, terms, heads in self._units for term in terms | heads)
        return {term: math.log(1 + (len(self._units) + 1) / count) for term, count in counts.items()}

    def best(self, statement: str, limit: int = LIMIT) -> tuple[EvidencePassage, ...]:
        """The passages that share most with the statement, in the order of the page; none when none shares a word.

        Each next one counts what the ones before do not carry, so that a statement put together from two places of the
        page finds both.
        """
        weights = {term: self._rarity.get(term, 0.0) for term in _terms(statement)}
        chosen: list[Span] = []
        taken: set[int] = set()
        for _ in range(limit):
            scored = [
                (_weight(terms, weights) + _ABOVE_WEIGHT * _weight(heads - terms, weights), -index)
                for index, (_, terms, heads) in enumerate(self._units)
                if index not in taken and not terms.isdisjoint(weights)
            ]
            if not scored:
                break
            index = -max(scored)[1]
            taken.add(index)
            span, terms, heads = self._units[index]
            chosen.append(span)
            for term in (terms | heads) & weights.keys():
                weights[term] *= _LEFT_WEIGHT
        return tuple(
            passage_in_context(self.document, span.start, span.end)
            for span in sorted(chosen, key=lambda span: span.start)
        )

    def opening(self, limit: int = LIMIT) -> tuple[EvidencePassage, ...]:
        """The first passages of the page: what a judge is shown where words find nothing."""
        spans = [span for span, _, _ in self._units[:limit]]
        return tuple(passage_in_context(self.document, span.start, span.end) for span in spans)


def given_page(text: str, name: str) -> Document:
    """A text without a page as a document: blank lines part paragraphs, short ones without an end mark are headings.

    `name` keeps texts apart that say the same.
    """
    return Document("given", name, tuple(_blocks(unicodedata.normalize("NFC", text.replace("\r\n", "\n")))))


def _blocks(text: str) -> Iterator[Block]:
    parts = [part.strip() for part in _BLANK.split(text.replace("\r", "\n")) if part.strip()]
    for index, part in enumerate(parts):
        marked = _MARKED_HEADING.match(part)
        short = "\n" not in part and len(part) <= _HEADING_CHARS and not part.endswith(_END_MARKS)
        if short and index + 1 < len(parts) and (marked or ":" not in part):
            level = marked.group().count("#") if marked else 6
            yield Block(BlockKind.HEADING, part[marked.end() :] if marked else part, level=level)
        else:
            yield Block(BlockKind.PARAGRAPH, part)


def _terms(text: str) -> frozenset[str]:
    """Stems of all words, grammar words too: how rare each is on the page says how much it tells."""
    return frozenset(stem(word) for word in words(fold(text).text))


def _weight(terms: frozenset[str], weights: dict[str, float]) -> float:
    return sum(weights[term] for term in terms & weights.keys())


def searched(statement: str, pages: Sequence[PageSearch], limit: int = LIMIT) -> tuple[EvidencePassage, ...]:
    """The best passages of each page; where no page shares a word, how each begins."""
    found = tuple(passage for page in pages for passage in page.best(statement, limit))
    return found or tuple(passage for page in pages for passage in page.opening(limit))


T = TypeVar("T")
# As for sentences of reports (`audit.judging`): shared by the pages that are given.
_MOST_PASSAGES: Final = 12
_SCORES: Final = {VerdictStatus.SUPPORTED: 1.0, VerdictStatus.PARTIAL: 0.5}


def check_claim(claim: str, sources: Sequence[str]) -> Verdict:
    """The verdict on one claim against texts by code alone: no model, no network, the same answer every time.

    Supported are claims in a source's own words; a figure, identifier or quotation that stands nowhere in the sources
    refuses one; all else is `unchecked`, for only a judge can tell (`Engine.check_claim` asks one). `quotes` are exact
    slices of the given sources, `reasons` say what is missing, `checks` name every exact fact.
    """
    return _finished(check_claim_with(claim, sources, None, at=datetime.now(UTC)))


async def check_claim_with(claim: str, sources: Sequence[str], judge: Judge | None, *, at: datetime) -> Verdict:
    """As `check_claim`, with a judge of meaning where there is one. Errors: as `prove`."""
    if not any(source.strip() for source in sources):
        reason = "no source has any text" if sources else "no source was given"
        return Verdict(VerdictStatus.UNCHECKED, reasons=(reason,))
    pages = _pages(sources)
    statement = _statement(claim, pages)
    [proven] = await prove([statement], judge, at=at)
    indexes = {page.document.document_id: index for index, page in pages.items()}
    quotes = [_quote(passage, indexes[passage.document_id], sources, proven) for passage in _shown(proven)]
    said = proven.judgement
    return Verdict(
        proven.verdict,
        tuple(quote for quote in quotes if quote is not None),
        _SCORES.get(proven.verdict, 0.0) if said is None or said.likelihood is None else said.likelihood,
        (proven.reason,) if proven.reason else (),
        proven.checks,
        proof=proven.proof,
        judge=proven.judge,
        beyond=proven.beyond,
    )


def statement_about(claim: str, sources: Sequence[str]) -> Statement:
    """The claim as `check_claim` puts it before a judge: with the best passages of the texts."""
    return _statement(claim, _pages(sources))


def _pages(sources: Sequence[str]) -> dict[int, PageSearch]:
    return {index: PageSearch(given_page(text, str(index))) for index, text in enumerate(sources) if text.strip()}


def _statement(claim: str, pages: dict[int, PageSearch]) -> Statement:
    limit = max(1, min(LIMIT, _MOST_PASSAGES // len(pages)))
    evidence = searched(claim, list(pages.values()), limit)[:_MOST_PASSAGES]
    return Statement(claim, evidence, tuple(page.document.text for page in pages.values()), repin=True)


def _shown(proven: Proven) -> Sequence[EvidencePassage]:
    """The passages that a reader should look at: those that say it, or that say otherwise."""
    if proven.verdict in (VerdictStatus.UNSUPPORTED, VerdictStatus.UNCHECKED):
        return ()
    quoted = [passage for passage in proven.evidence if _plain(passage.text) in _plain(proven.statement.text)]
    return proven.telling or quoted or proven.evidence


def _plain(text: str) -> str:
    return fold(text).flat.strip(" .!?")


def _quote(passage: EvidencePassage, index: int, sources: Sequence[str], proven: Proven) -> SourceQuote | None:
    """The passage as a slice of the text it was given in, whose white space and composition may differ."""
    span = _located(passage.text, sources[index])
    if span is None:
        return None
    against = proven.verdict is VerdictStatus.CONTRADICTED
    relation = Relation.CONTRADICTS if against else Relation.SUPPORTS
    return SourceQuote(index, span.start, span.end, sources[index][span.start : span.end], relation)


def _located(words: str, source: str) -> Span | None:
    """Where composed words stand in a text that may write them decomposed."""
    if unicodedata.is_normalized("NFC", source):
        return locate(words, source)
    clusters: list[str] = []  # a character with the marks that combine with it composes by itself
    for character in source:
        if clusters and unicodedata.combining(character):
            clusters[-1] += character
        else:
            clusters.append(character)
    composed = [unicodedata.normalize("NFC", cluster) for cluster in clusters]
    found = locate(words, "".join(composed))
    if found is None:
        return None
    ends = [0, *accumulate(map(len, composed))]
    places = [0, *accumulate(map(len, clusters))]
    return Span(places[bisect_right(ends, found.start) - 1], places[bisect_left(ends, found.end)])


def _finished(asked: Coroutine[Any, Any, T]) -> T:  # what a coroutine is sent and yields doesn't matter here
    """What a coroutine gives that has nobody to wait for."""
    try:
        asked.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    asked.close()
    raise AssertionError("without a judge nobody is waited for")


_QUOTED: Final = re.compile(r"“[^”]*”|\"[^\"]*\"|„[^“]*“|«[^»]*»")
# "HEAD~2" is a name, and "some two-byte characters" are not nearly two.
_UNCLEAR: Final = re.compile(r"(?<=\S)[~≈]|\bsome\b(?! estimates?\b)", re.IGNORECASE)
_OPINION: Final = re.compile(
    r"\b(?:I|we)(?: (?:do|would|still|also|personally|strongly|generally|highly|certainly))*(?: not|n't|n’t)?"
    r" (?:think|believe|feel|suspect|prefer|recommend|suggest|argue|advise|hope|doubt|find it)\b"
    r"|\bin (?:my|our)(?: \w+)? (?:opinion|view|judgement|judgment|experience)\b|\barguably\b",
    re.IGNORECASE,
)
# "the estimated cost" is a cost that is named so; "an estimated 40 people" is an estimate.
_ESTIMATE: Final = re.compile(
    r"\b(?:is|are|was|were|been|being)(?: \w+ly)? (?:estimated|projected|forecast|forecasted|extrapolated)"
    r"(?: to| at| that)|\ban estimated (?=\S*\d)|\bby (?:one|some|most|our|rough) estimates?\b",
    re.IGNORECASE,
)


def claim_type(text: str) -> ClaimType:
    """The kind of statement that the sentence marks itself as."""
    said = _UNCLEAR.sub(" ", _QUOTED.sub(" ", text))
    if _OPINION.search(said):
        return ClaimType.OPINION
    if _ESTIMATE.search(said):
        return ClaimType.ESTIMATE
    if SAYS_ABOUT.search(said) and any(figure.exact and figure.bound == "about" for figure in figures(said)):
        return ClaimType.ESTIMATE
    return ClaimType.FACT
