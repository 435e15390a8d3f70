"""Quotes, claims and verdicts: what ties a sentence to a passage."""

from collections.abc import Iterable
from dataclasses import InitVar, dataclass, field
from enum import StrEnum

CONTEXT_CHARS = 48
"""Length of a quote's prefix and suffix (W3C TextQuoteSelector) in characters."""

_SEAL = object()


@dataclass(frozen=True, slots=True)
class QuoteRecord:
    """A quote as stored or sent: trusted only after `document.verify(record)`.

    Source: W3C Web Annotation, TextPositionSelector (start, end) and TextQuoteSelector (text, prefix, suffix).
    """

    document_id: str
    start: int
    end: int
    text: str
    prefix: str = ""
    suffix: str = ""


@dataclass(frozen=True, slots=True)
class Quote:
    """An exact passage of a stored document. Only `Document.quote` and `Document.verify` make one."""

    document_id: str
    start: int
    end: int
    text: str
    prefix: str
    suffix: str
    seal: InitVar[object]

    def __post_init__(self, seal: object) -> None:
        if seal is not _SEAL:
            raise TypeError("a Quote is made by Document.quote(start, end) or Document.verify(record)")

    def record(self) -> QuoteRecord:
        """This quote as plain values, for storing and sending."""
        return QuoteRecord(self.document_id, self.start, self.end, self.text, self.prefix, self.suffix)


def seal_quote(record: QuoteRecord) -> Quote:
    """For `domain.page` alone: the record as a Quote, its text having just been sliced from the document."""
    return Quote(record.document_id, record.start, record.end, record.text, record.prefix, record.suffix, _SEAL)


class ClaimType(StrEnum):
    """What kind of statement a claim is; the rules are in docs/research.md."""

    FACT = "fact"
    ESTIMATE = "estimate"
    OPINION = "opinion"


class Relation(StrEnum):
    """How a passage bears on a claim."""

    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"


class VerdictStatus(StrEnum):
    """Outcome of checking a claim. `unchecked` means a check could not run: never clean, never fabricated."""

    SUPPORTED = "supported"
    PARTIAL = "partial"
    CONTRADICTED = "contradicted"
    UNSUPPORTED = "unsupported"
    UNCHECKED = "unchecked"


class CheckOutcome(StrEnum):
    """Outcome of one check."""

    PASSED = "passed"
    FAILED = "failed"
    PARTIAL = "partial"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Check:
    """One named check and what it found; `detail` is readable ("412 MW in the claim, 398 MW in the passage")."""

    name: str
    outcome: CheckOutcome
    detail: str = ""


@dataclass(frozen=True, slots=True)
class SourceQuote:
    """A passage of the `source_index`-th source given to `check_claim`: `sources[i][start:end] == text`."""

    source_index: int
    start: int
    end: int
    text: str
    relation: Relation = Relation.SUPPORTS


@dataclass(frozen=True, slots=True)
class Verdict:
    """What checking one claim against its sources found. `score` is 0-1: how well the best passage carries it."""

    status: VerdictStatus
    quotes: tuple[SourceQuote, ...] = ()
    score: float = 0.0
    reasons: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()


@dataclass(frozen=True, slots=True)
class Evidence:
    """One quote of one claim, with the capture it was sliced from.

    `title`, `url` and dates are the source's; `fragment_url` is a text-fragment link where the passage is unique.
    """

    quote: Quote
    snapshot_id: str
    body_sha256: str
    url: str
    relation: Relation = Relation.SUPPORTS
    fragment_url: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """One checkable statement with its quotes. `claim_id` is made of normalised text and sub-question."""

    claim_id: str
    text: str
    sub_question: str
    type: ClaimType = ClaimType.FACT
    confidence: float = 0.5
    evidence: tuple[Evidence, ...] = ()


UNRESOLVED = "unresolved"
"""Name of the check that a claim carries none of whose pages could be confirmed before writing."""


@dataclass(frozen=True, slots=True)
class VerifiedClaim:
    """A claim and the verdict on it; `independent_sources` counts mirrors and syndicated copies once."""

    claim: Claim
    verdict: Verdict
    independent_sources: int = 0
    checks: tuple[Check, ...] = field(default=())

    @property
    def printable(self) -> bool:
        """Whether a report may state it (invariant 2)."""
        return self.verdict.status in (VerdictStatus.SUPPORTED, VerdictStatus.PARTIAL)

    @property
    def unresolved(self) -> bool:
        """Whether its pages are old and their sites could not be asked whether they still say it."""
        return any(check.name == UNRESOLVED for check in self.checks)


def page_texts(quotes: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """`(url, quote)` pairs as one text for each page, in order: what a claim is judged by, and nothing more."""
    by_page: dict[str, list[str]] = {}
    for url, text in quotes:
        by_page.setdefault(url, []).append(text)
    return tuple(": ".join(texts) for texts in by_page.values())
