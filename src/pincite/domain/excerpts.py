"""What is kept of a document whose text may not be kept whole."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from pincite.domain.errors import QuoteMismatch
from pincite.domain.frozen import dataclass
from pincite.domain.page import BlockKind, Document
from pincite.domain.quotes import QuoteRecord, united

# Characters kept on either side of a quote when a page is kept in excerpts.
_WINDOW_CHARS = 160


@dataclass(frozen=True, slots=True)
class Excerpts:
    """What is kept of a document instead of its text: the windows around its quotes, with their offsets in it.

    `document_id` is the hash of the whole text; `chars` is its length.
    """

    document_id: str
    extractor: str
    version: str
    chars: int
    windows: tuple[tuple[int, str], ...]
    title: str = ""
    byline: str = ""
    published_at: datetime | None = None

    def verify(self, record: QuoteRecord) -> None:
        """Return when the stored `record` stands in a window, word for word and at its place.

        Errors: QuoteMismatch (another document, or not in the windows).
        """
        if record.document_id != self.document_id:
            raise QuoteMismatch(f"quote belongs to {record.document_id}, not to {self.document_id}")
        wanted = record.prefix + record.text + record.suffix
        start = record.start - len(record.prefix)
        for at, text in self.windows:
            if at <= start and text[start - at : start - at + len(wanted)] == wanted and record.text:
                return
        raise QuoteMismatch(
            f"the quote at {record.start}-{record.end} is not in what was kept of {self.document_id}",
            context={"document_id": self.document_id},
        )


def excerpts_of(document: Document, spans: Iterable[tuple[int, int]]) -> Excerpts:
    """What is kept of `document` around the spans `[start, end)` of its quotes, with the headings and terms above them.

    A report prints those above an excerpt; without them nobody could check that it stands where it is said to.
    """
    quoted = list(spans)
    kept = [(max(0, start - _WINDOW_CHARS), min(len(document.text), end + _WINDOW_CHARS)) for start, end in quoted]
    kept += [place for start, _ in quoted for place in _above(document, start)]
    return Excerpts(
        document_id=document.document_id,
        extractor=document.extractor,
        version=document.version,
        chars=len(document.text),
        # As one where they touch, or the same words would be kept twice.
        windows=tuple((low, document.text[low:high]) for low, high in united(kept)),
        title=document.title,
        byline=document.byline,
        published_at=document.published_at,
    )


def _above(document: Document, offset: int) -> Iterator[tuple[int, int]]:
    """Where the headings and terms stand that the text at `offset` is below."""
    index = document.block_at(offset)
    terms = (outer for outer in document.ancestors(index) if document.blocks[outer].kind is BlockKind.TERM)
    for above in (*document.headings_above(index), *terms):
        yield document.starts[above], document.starts[above] + len(document.blocks[above].text)
