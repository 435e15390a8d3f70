"""What Pincite needs from outside, on one page. Adapters implement these; only `wiring` names an adapter.

Every await has a deadline kept by the adapter; every method raises errors of `domain.errors` only.
"""

# Read by type checkers alone: whoever needs one port does not load the types of all.
from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from datetime import datetime

    import anyio

    from pincite.domain.budget import Usage
    from pincite.domain.citation import ArchivedCopy
    from pincite.domain.events import Event, EventType, Json, RunStatus
    from pincite.domain.evidence import JudgeCase, Judgement, Thresholds
    from pincite.domain.excerpts import Excerpts
    from pincite.domain.fetch import FetchRequest, FetchResult
    from pincite.domain.model import Generation, ModelInfo, ModelRole, Prompt
    from pincite.domain.page import Document, Snapshot
    from pincite.domain.records import (
        ApiKey,
        CallRecord,
        Entry,
        Offer,
        Outcome,
        PlannedCall,
        Reservation,
        RunRecord,
        SettledCall,
    )
    from pincite.domain.report import Report
    from pincite.domain.search import LibraryPage, PageHit, Query, SearchResponse, Survey

T = TypeVar("T")


class Clock(Protocol):
    """Time as the program sees it; tests freeze it."""

    def now(self) -> datetime:
        """The present moment, aware, UTC."""

    def monotonic_s(self) -> float:
        """Seconds that never run backwards."""

    async def sleep(self, seconds: float) -> None:
        """Return after `seconds`."""


class SearchProvider(Protocol):
    """One search engine."""

    @property
    def name(self) -> str:
        """The name used in settings, results and events."""

    async def search(self, query: Query) -> SearchResponse:
        """Results in the engine's own order; an empty tuple only when the engine said that there are none."""


class BatchSearchProvider(SearchProvider, Protocol):
    """An engine that answers several queries in one call."""

    @property
    def batch_size(self) -> int:
        """How many at most."""

    async def search_many(self, queries: Sequence[Query]) -> Sequence[SearchResponse]:
        """One answer for each query, in order; all have the same topic."""


class Resolver(Protocol):
    """DNS."""

    async def resolve(self, host: str) -> Sequence[str]:
        """All addresses of `host`, unvetted, as text. Errors: DnsError, DeadLink (the name does not exist)."""


class FetchBackend(Protocol):
    """One way to come by the bytes of a page."""

    @property
    def name(self) -> str:
        """The value of `Snapshot.via`."""

    async def fetch(self, request: FetchRequest) -> Snapshot:
        """One capture, policy already applied at every hop."""


class WebArchive(Protocol):
    """A public archive of the web, asked about addresses that no longer answer."""

    async def newest(self, url: str) -> ArchivedCopy | None:
        """The newest good capture of the page; None when the archive is sure that it never saw the address.

        Errors: RateLimited, ProviderBadReply, PageBlocked (its owner had it taken out), NetworkError, Timeout.
        """


class Extractor(Protocol):
    """Bytes to blocks. CPU work: callers run it in a worker."""

    def extract(self, body: bytes, url: str, content_type: str | None) -> Document:
        """The document. Errors: ParseError, EmptyContent, UnsupportedContentType, TooLarge."""


class PageIndex(Protocol):
    """Pages that can be searched without a network. Blocking: callers run it in a worker thread."""

    @property
    def name(self) -> str:
        """What the library is called in results and messages."""

    def search(self, query: Query) -> Sequence[PageHit]:
        """The best pages, best first; an empty sequence when nothing matches. Errors: InvalidInput, LibraryNotFound."""


class Vocabulary(Protocol):
    """The words of a library. Blocking: callers run it in a worker thread."""

    def survey(self, text: str) -> Survey:
        """What the library knows of the words of a question. Errors: StorageUnavailable."""


class PageSource(Protocol):
    """The stored bytes of a library's pages. Blocking: callers run it in a worker thread."""

    def page(self, url: str) -> LibraryPage:
        """The page as stored. Errors: NotFound, LibraryNotFound, ArchiveCorrupt."""


class CallStore(Protocol):
    """Where the ledger of one run, owned at one epoch, keeps its calls."""

    async def load(self) -> Mapping[str, str]:
        """Final outcomes by key; calls that an earlier owner left in flight are charged their estimate."""

    async def reserve(self, call: PlannedCall) -> None:
        """Take the estimate out of the budget and note the call. Errors: BudgetExhausted, RunFenced."""

    async def refuse(self, call: PlannedCall, outcome: str) -> None:
        """Note a call that was not made because a cap was reached. Errors: RunFenced."""

    async def settle(self, call: PlannedCall, settled: SettledCall) -> None:
        """Exchange the estimate for what was used and note the outcome. Errors: RunFenced."""

    async def confirm(self) -> None:
        """Return when the run is still owned at the ledger's epoch. Errors: RunFenced."""

    async def spent(self) -> Usage:
        """What the run has settled so far."""


class Ledger(Protocol):
    """The record of every outside call of one run: reserved before, settled after, replayed by content."""

    async def call(
        self, kind: str, request: Mapping[str, Json], estimate: Usage, do: Callable[[], Awaitable[Outcome]]
    ) -> Json:
        """The outcome of this logical call; a finished one comes from the record without a call.

        `request` is the whole identity of the call: no provider, key, time or id in it. An error of
        `domain.errors` raised by `do` is recorded; a final one is raised again on replay, a retryable one is not.

        Errors: BudgetExhausted (nothing was called), RunFenced, StorageUnavailable, StorageFull, and what `do` raises.
        """

    async def spent(self) -> Usage:
        """What this run has settled so far."""

    def cache_reads(self) -> tuple[int, int]:
        """Of the calls asked for so far, how many the cache answered, and how many it was asked for in vain."""


class EventSink(Protocol):
    """Where a run says what happened."""

    async def emit(self, type_: EventType, data: Mapping[str, Json]) -> Event:
        """The stored, numbered event; a resumed run writes each only once."""


class SnapshotStore(Protocol):
    """Captures, bodies stored once per hash."""

    async def put(self, snapshot: Snapshot) -> None:
        """Store it; putting the same id again changes nothing."""

    async def get(self, snapshot_id: str) -> Snapshot | None:
        """The capture, or None."""


class DocumentStore(Protocol):
    """What extractors read, tied to the capture."""

    async def put(self, document: Document, snapshot_id: str) -> None:
        """Store it; putting the same id again changes nothing."""

    async def get(self, document_id: str) -> Document | None:
        """The document, or None."""

    async def excerpts(self, document_id: str) -> Excerpts | None:
        """What is kept in place of the document, or None."""

    async def newest_for_snapshot(self, snapshot_id: str) -> Document | None:
        """What was read last out of that capture, by whichever extractor, or None."""


class EvidenceSource(Protocol):
    """Stored evidence as `check` reads it: a home, or a bundle. What was tampered with is given as it is."""

    def snapshot(self, snapshot_id: str) -> Snapshot | None:
        """The capture with its body, or None when it isn't here. Errors: StorageUnavailable (it can't be read)."""

    def document(self, document_id: str, snapshot_id: str | None = None) -> Document | None:
        """The document stored under this id (for this capture), or None. Errors: StorageUnavailable."""

    def excerpts(self, document_id: str, snapshot_id: str | None = None) -> Excerpts | None:
        """What is kept in place of the document when it may not be kept whole, or None. Errors: StorageUnavailable."""


class RunStore(Protocol):
    """Runs, their events and reports. Every method sees one scope only."""

    async def create(self, record: RunRecord) -> None:
        """Store a new run."""

    async def get(self, run_id: str) -> RunRecord:
        """The run. Errors: RunNotFound."""

    async def list(
        self,
        limit: int = 50,
        *,
        before: tuple[datetime, str] | None = None,
        project: str | None = None,
        status: RunStatus | None = None,
    ) -> Sequence[RunRecord]:
        """The newest runs first (of a project, of a status); with `before` (time and id of a run) those after it."""

    async def take(self, run_id: str, worker: str, lease_s: float) -> RunRecord:
        """Own the run: status running, epoch one higher. Errors: RunNotFound, Locked (a live worker has it)."""

    async def claim(self, run_id: str, worker: str, lease_s: float, at_most: int) -> RunRecord | None:
        """As `take`, for a worker that was offered the run.

        None when there is nothing to do: it has ended or is gone, a live worker has it, or the scope has `at_most`
        runs in work already. An owner that died is counted.
        """

    async def renew(self, run_id: str, epoch: int, lease_s: float) -> bool:
        """Keep owning the run; whether somebody asked to cancel it. Errors: RunFenced."""

    async def cancel(self, run_id: str) -> RunStatus:
        """Ask the owner to stop, or cancel at once where nobody owns it; the status now. Errors: RunNotFound."""

    async def delete(self, run_id: str) -> None:
        """Forget the run and what only it used. Errors: RunNotFound, Locked (it is running)."""

    async def finish(self, run_id: str, epoch: int, status: RunStatus, reason: str = "") -> None:
        """Give the run its final status and release it. Errors: RunFenced."""

    async def queue(self, run_id: str, priority: int) -> bool:
        """Have the run wait for a worker, also an ended one; False where one has it. Errors: RunNotFound."""

    async def hand_back(self, run_id: str, epoch: int) -> None:
        """Let another worker go on with the run, at once. Errors: RunFenced."""

    async def put_report(self, report: Report) -> None:
        """Store a version of the run's report with its claims and citations."""

    async def get_report(self, run_id: str) -> Report | None:
        """The newest version, or None."""

    async def events(self, run_id: str, after: int = 0, limit: int | None = None) -> Sequence[Event]:
        """The events of the run numbered above `after`, in order; the first `limit` of them."""

    async def calls(self, run_id: str) -> Sequence[CallRecord]:
        """Every outside call of the run in the order they were first made."""

    async def latest_calls(
        self, limit: int, *, before: tuple[datetime, str] | None = None, kind: str | None = None
    ) -> Sequence[tuple[str, CallRecord]]:
        """Outside calls of all runs, each with its run's id, newest first; `before` is time and key of a call."""


class Cache(Protocol):
    """A bounded store of bytes by namespace, scope and key."""

    async def get(self, namespace: str, key: str) -> Entry | None:
        """The entry, fresh or stale, or None."""

    async def put(self, namespace: str, key: str, entry: Entry) -> None:
        """Store or replace it."""

    async def delete(self, namespace: str, key: str | None = None) -> int:
        """Remove one entry, or all of the namespace; the number removed."""

    async def lease(self, namespace: str, key: str, ttl_s: float) -> bool:
        """Whether the caller may compute this key now (single flight across tasks and processes)."""


class Limiter(Protocol):
    """Token buckets by key, shared by all tasks (and by all workers where the adapter says so)."""

    async def reserve(self, key: str, cost: float, priority: int, max_wait_s: float) -> Reservation | None:
        """A place within `max_wait_s`, or None. Lower `priority` numbers go first."""

    async def push_back(self, key: str, wait_s: float) -> None:
        """Nobody may call `key` for `wait_s` (the other side said so)."""

    async def release(self, reservation: Reservation) -> None:
        """Give an unused place back."""


class Breaker(Protocol):
    """Stops calls to something that keeps failing."""

    async def allow(self, key: str) -> bool:
        """Whether a call may go out now (a probe after the cool-down counts)."""

    async def record(self, key: str, ok: bool) -> None:
        """Tell how a call went."""


class LanguageModel(Protocol):
    """Language models by role. One call is one attempt at one model; who calls retries."""

    def info(self, role: ModelRole) -> Sequence[ModelInfo]:
        """The model of this role and its fallbacks, in order; empty when the role has none."""

    async def generate(
        self, role: ModelRole, prompt: Prompt, output_type: type[T], *, choice: int = 0, deadline_s: float | None = None
    ) -> Generation[T]:
        """The answer of the `choice`-th model as a value of `output_type` (a dataclass, or `str` for plain text).

        Errors: ModelUnavailable, ModelBadOutput (what it used is in `context`), ProviderAuth, ProviderQuota,
        RateLimited, Timeout.
        """


class ModelCalls(Protocol):
    """Models as the roles of one run see them: budget, record, retries and fallbacks are behind it."""

    async def ask(self, role: ModelRole, prompt: Prompt, output_type: type[T], *, deadline_s: float | None = None) -> T:
        """The answer in that type. Errors: BudgetExhausted, and what the last model failed with."""

    async def ask_named(
        self, role: ModelRole, prompt: Prompt, output_type: type[T], *, deadline_s: float | None = None
    ) -> tuple[T, str]:
        """As `ask`, with the name of the model that answered."""


class Judge(Protocol):
    """A judge of meaning: does the evidence, read in its context, state the statement?"""

    @property
    def name(self) -> str:
        """What reports call it (`openai:gpt-5-mini`, `nli-deberta-v3-xsmall`)."""

    @property
    def thresholds(self) -> Thresholds | None:
        """What its likelihoods mean; None while nobody measured them: then they can only refuse."""

    async def judge(self, cases: Sequence[JudgeCase]) -> Sequence[Judgement]:
        """Judgements by case id, in any order; a case it can't judge is left out. Errors: as a model's, or Timeout."""


class Embedder(Protocol):
    """Turns texts into vectors whose inner product says how near they are in meaning."""

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """One vector of length 1 for each text, in order; the same text gives the same vector. Blocks: CPU work."""


class Reranker(Protocol):
    """Reads question and passage together, which tells more than their vectors do and costs more."""

    def scores(self, question: str, passages: Sequence[str]) -> Sequence[float]:
        """How relevant each passage is, in order, on any scale. Blocks: CPU work or a call."""


class KeyStore(Protocol):
    """The API keys of a home. Blocking; `is_local` says that a look costs no more than one at a file."""

    @property
    def is_local(self) -> bool:
        """Whether a server may look at each request; else it looks now and then, in a thread."""

    def state(self) -> str:
        """What tells one state of the keys from another."""

    def read(self) -> Sequence[ApiKey]:
        """Every key, revoked ones too."""

    def add(self, key: ApiKey) -> bool:
        """Store a key unless its name is taken; whether it was stored."""

    def revoke(self, name: str, at: str) -> bool:
        """Note that an active key opens nothing from now on; whether there was one."""


class Dispatcher(Protocol):
    """Wakes workers for runs, at least once each. Who may work on a run is decided by the run's own row."""

    async def enqueue(self, offer: Offer) -> None:
        """Have a worker look at the run; a second call while the first waits changes nothing."""

    async def serve(self, work: Callable[[Offer], Awaitable[None]], slots: int, stopping: anyio.Event) -> None:
        """Give offers to `work`, so many at a time, until `stopping`; returns when the last one is done."""


class Exporter(Protocol):
    """Report to bytes. An attribute of the class, `title`, is what people choose it by; `about` says what it is for."""

    @property
    def media_type(self) -> str:
        """The MIME type of what `render` gives."""

    def render(self, report: Report, documents: Mapping[str, Document]) -> bytes:
        """The file. `documents` are the stored ones by id, as far as they are at hand."""


class Search(Protocol):
    """The search service as research sees it."""

    async def search(self, query: Query) -> SearchResponse:
        """Results of the best provider or of several. Errors: SearchProviderUnavailable, InvalidInput."""


class Fetch(Protocol):
    """The fetch service as research sees it."""

    async def fetch(self, request: FetchRequest) -> FetchResult:
        """The page, stored. Errors: every policy and remote error."""
