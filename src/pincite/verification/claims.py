"""`check_claim`: one claim against texts, by `prove` as everywhere else."""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Coroutine, Sequence
from datetime import UTC, datetime
from itertools import accumulate
from typing import Any, Final, TypeVar

from pincite.domain.evidence import ClaimType, EvidencePassage, Relation, SourceQuote, Verdict, VerdictStatus
from pincite.ports import Judge
from pincite.text.normalise import fold
from pincite.text.sentences import Span
from pincite.verification.evidence import LIMIT, PageSearch, given_page, searched
from pincite.verification.figures import SAYS_ABOUT, figures
from pincite.verification.proof import Proven, Statement, prove
from pincite.verification.quotes import locate

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
