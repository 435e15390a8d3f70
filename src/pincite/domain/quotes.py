"""A quote: an exact passage of a stored document, which only that document can make; words that a page crosses out."""

from collections.abc import Iterable
from dataclasses import InitVar

from pincite.domain.frozen import dataclass

# Length of a quote's prefix and suffix (W3C TextQuoteSelector) in characters.
CONTEXT_CHARS = 48

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


# Before and after words that a page crosses out, wherever they are printed (Markdown, GFM 6.5).
STRUCK_SIGN = "~~"


def united(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans in order, those that touch as one."""
    found: list[tuple[int, int]] = []
    for low, high in sorted(spans):
        if found and low <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], high))
        else:
            found.append((low, high))
    return found


def with_struck(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text with the sign before and after each of these spans, less the spaces at their edges."""
    for low, high in reversed(united(spans)):
        gone = text[low:high]
        if bare := gone.strip():
            text = f"{text[:low]}{gone.replace(bare, f'{STRUCK_SIGN}{bare}{STRUCK_SIGN}', 1)}{text[high:]}"
    return text


def without_struck(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text with spaces in place of these spans, so that offsets stay."""
    for low, high in spans:
        text = text[:low] + " " * (high - low) + text[high:]
    return text
