"""The captures and documents behind a report, each looked at once, and what a check can find wrong with them."""

from collections import Counter
from collections.abc import Callable, Iterator
from enum import StrEnum

from pincite.domain.errors import PinciteError, QuoteMismatch, StorageUnavailable
from pincite.domain.excerpts import Excerpts
from pincite.domain.frozen import dataclass
from pincite.domain.ids import sha256_hex, snapshot_id
from pincite.domain.page import Document, Kept, Snapshot
from pincite.domain.quotes import QuoteRecord
from pincite.domain.report import ReportEvidence
from pincite.ports import EvidenceSource
from pincite.text.normalise import Folded, fold
from pincite.urls.masking import MASK, mask_secrets
from pincite.verification.quotes import locate_folded


class ProblemKind(StrEnum):
    """Whether something is wrong, or could not be looked at."""

    FAILED = "failed"
    UNCHECKED = "unchecked"


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong and where: `where` is a path in the report JSON, for instance `claims[2].evidence[0]`."""

    kind: ProblemKind
    where: str
    what: str


def failed(where: str, what: str) -> Problem:
    """Something that is wrong."""
    return Problem(ProblemKind.FAILED, where, what)


def unchecked(where: str, what: str) -> Problem:
    """Something that could not be looked at."""
    return Problem(ProblemKind.UNCHECKED, where, what)


# The captures and documents behind a report, each looked at once: are they what their ids and hashes say?
#
# Where the body of a capture is kept it is read again: the stored text must come out, or, where another version of
# the reader made it, every quote must stand in what today's reads.

Reread = Callable[[bytes, str, str | None], Document]

_Key = tuple[str, str]


class StoredPages:
    """What an `EvidenceSource` holds of one report's pages."""

    def __init__(self, evidence: EvidenceSource, reread: Reread | None) -> None:
        self._evidence = evidence
        self._reread = reread
        self.snapshots: dict[str, Snapshot | None] = {}
        self.documents: dict[_Key, Document | None] = {}
        self.excerpts: dict[_Key, Excerpts] = {}
        self._today: dict[_Key, tuple[Document, Folded]] = {}
        self.notes: list[str] = []

    def of(self, item: ReportEvidence) -> Document | Excerpts | None:
        """What is stored of the page that the item was cut from; None before it was looked at."""
        key = (item.document_id, item.snapshot_id)
        return self.documents.get(key) or self.excerpts.get(key)

    def pages_of(self, name: str) -> list[Document | Excerpts]:
        """What was read out of one capture."""
        stored = (*self.documents.items(), *self.excerpts.items())
        return [page for (_, snapshot), page in stored if page is not None and snapshot == name]

    def kept(self) -> dict[str, int]:
        """How many captures are kept as what."""
        cut = {snapshot for _, snapshot in self.excerpts}
        found = Counter(
            Kept.EXCERPTS.value if name in cut else snapshot.kept.value
            for name, snapshot in self.snapshots.items()
            if snapshot is not None
        )
        return {kept.value: found[kept.value] for kept in Kept if found[kept.value]}

    def item(self, where: str, item: ReportEvidence) -> Iterator[Problem]:
        """What is wrong with an item of evidence: its capture, its document, the words at its place."""
        yield from self.capture(where, item.snapshot_id)
        snapshot = self.snapshots[item.snapshot_id]
        if snapshot is not None:
            if item.body_sha256 != snapshot.body_sha256:
                yield failed(f"{where}.body_sha256", f"is not that of the capture {item.snapshot_id}")
            if item.url not in addresses(snapshot):
                yield failed(f"{where}.url", f"is not an address of the capture {item.snapshot_id}")
        yield from self._document(where, item)
        stored = self.of(item)
        if stored is None:
            return
        try:
            stored.verify(QuoteRecord(item.document_id, item.start, item.end, item.quote, item.prefix, item.suffix))
        except QuoteMismatch as error:
            yield failed(where, error.message)
            return
        today = self._today.get((item.document_id, item.snapshot_id))
        if today is not None and locate_folded(item.quote, today[1]) is None:
            before, now = stored, today[0]
            read = f"was read by {before.extractor} {before.version}, which is not here"
            yield unchecked(where, f"{read}; {now.extractor} {now.version} does not find it in the capture")

    def capture(self, where: str, name: str) -> Iterator[Problem]:
        """Load a capture once, and what is wrong with it."""
        if name in self.snapshots:
            return
        self.snapshots[name] = None
        try:
            snapshot = self._evidence.snapshot(name)
        except StorageUnavailable as error:
            yield failed(where, f"the capture {name} can't be read: {error.message}")
            return
        if snapshot is None:
            yield unchecked(where, f"the capture {name} is not stored here")
            return
        self.snapshots[name] = snapshot
        if snapshot.kept is Kept.FULL and sha256_hex(snapshot.body) != snapshot.body_sha256:
            yield failed(where, f"the stored body of the capture {name} was changed: its hash is another one")
        masked = f"={MASK}" in snapshot.final_url  # a bundle holds no credentials: the address can't be hashed anew
        if not masked and snapshot_id(snapshot.final_url, snapshot.fetched_at, snapshot.body_sha256) != name:
            yield failed(where, f"the capture {name} was changed: address, time and body make another id")

    def _document(self, where: str, item: ReportEvidence) -> Iterator[Problem]:
        key = (item.document_id, item.snapshot_id)
        if key in self.documents:
            return
        self.documents[key] = None
        try:
            document = self._evidence.document(*key)
            excerpts = self._evidence.excerpts(*key) if document is None else None
        except StorageUnavailable as error:
            yield failed(where, f"the document {item.document_id} can't be read: {error.message}")
            return
        if excerpts is not None:
            self.excerpts[key] = excerpts
            return
        if document is None:
            yield unchecked(where, f"the document {item.document_id} is not stored here")
            return
        if document.document_id != item.document_id:
            yield failed(where, f"the stored document {item.document_id} was changed: its text makes another id")
            return
        self.documents[key] = document
        snapshot = self.snapshots[item.snapshot_id]
        if self._reread is not None and snapshot is not None and snapshot.kept is Kept.FULL:
            yield from self._read_again(where, key, document, snapshot, self._reread)

    def _read_again(
        self, where: str, key: _Key, document: Document, snapshot: Snapshot, reread: Reread
    ) -> Iterator[Problem]:
        """Whether the body of the capture gives the stored text."""
        try:
            again = reread(snapshot.body, snapshot.final_url, snapshot.content_type or None)
        except PinciteError as error:
            yield unchecked(where, f"the capture {snapshot.snapshot_id} can't be read again here: {error.message}")
            return
        if (again.extractor, again.version) != (document.extractor, document.version):
            self._today[key] = (again, fold(again.text))
            read = f"{document.document_id} was read by {document.extractor} {document.version}"
            self.notes.append(f"{read}; its quotes were looked for with {again.extractor} {again.version}")
        elif again.document_id != document.document_id:
            yield failed(where, f"reading the capture {snapshot.snapshot_id} again gives another text")
        elif (again.title, again.byline, again.published_at) != (
            document.title,
            document.byline,
            document.published_at,
        ):
            yield failed(where, f"reading the capture {snapshot.snapshot_id} again gives another title, author or day")


def addresses(snapshot: Snapshot) -> tuple[str, ...]:
    """The addresses of a capture, also as reports print them."""
    own = (snapshot.url, snapshot.final_url, snapshot.canonical_url)
    return (*own, *(mask_secrets(url) for url in own))
