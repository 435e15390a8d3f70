"""A quote: an exact passage of a stored document, which nothing but that document can make."""

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
