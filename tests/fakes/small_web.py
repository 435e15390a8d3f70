"""A web of a few pages held in memory, with the ports that research needs around it: search, fetch, ledger, stores."""

import json
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import urlsplit

from pincite.domain.budget import Budget, Usage
from pincite.domain.errors import BudgetExhausted, DeadLink, PinciteError
from pincite.domain.events import Event, EventType, Json
from pincite.domain.excerpts import Excerpts
from pincite.domain.fetch import FetchInfo, FetchRequest, FetchResult
from pincite.domain.ids import sha256_hex, snapshot_id
from pincite.domain.page import Block, BlockKind, Document, Snapshot
from pincite.domain.records import Outcome
from pincite.domain.search import LeftOut, Query, SearchInfo, SearchResponse, SearchResult
from pincite.runtime.telemetry import count_request

_READ_AT = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
_WORD = re.compile(r"\w+")


def document_of(text: str, *, title: str = "", published_at: datetime | None = None) -> Document:
    """A document from light markup: `# ` headings, `- ` items, `term :: definition` lines, blank lines between.

    Code stands between lines of three backticks, the first with its language; a blank line in it ends it.
    """
    blocks: list[Block] = []
    for raw in text.strip().split("\n\n"):
        piece = " ".join(raw.split()) if not raw.startswith("    ") else raw
        heading = re.match(r"(#+) (.+)", piece)
        if raw.startswith("```"):
            language, *lines = raw.strip("`\n").split("\n")
            blocks.append(Block(BlockKind.CODE, "\n".join(lines), language=language))
        elif heading:
            blocks.append(Block(BlockKind.HEADING, heading.group(2), level=len(heading.group(1))))
        elif piece.startswith("- "):
            blocks.append(Block(BlockKind.LIST_ITEM, piece[2:]))
        elif step := re.match(r"(\d)\. ", piece):
            blocks.append(Block(BlockKind.LIST_ITEM, piece[3:], ordered=True, number=int(step[1])))
        elif " :: " in piece:
            term, definition = piece.split(" :: ", 1)
            blocks.append(Block(BlockKind.TERM, term))
            blocks.append(Block(BlockKind.DEFINITION, definition))
        else:
            blocks.append(Block(BlockKind.PARAGRAPH, piece))
    first = next((block.text for block in blocks if block.kind is BlockKind.HEADING), "")
    return Document("small", "1", tuple(blocks), title=title or first, published_at=published_at)


class SmallWeb:
    """Pages by URL. Implements `ports.Search` (words in common) and `ports.Fetch`; counts what it was asked."""

    def __init__(
        self,
        pages: Mapping[str, str | Document],
        *,
        dead: Sequence[str] = (),
        snippets: Mapping[str, str] | None = None,
        provider: str = "small",
        failing: PinciteError | None = None,
        left_out: tuple[LeftOut, ...] = (),
    ) -> None:
        self.left_out = left_out
        self.documents = {u: p if isinstance(p, Document) else document_of(p) for u, p in pages.items()}
        self.dead = tuple(dead)
        self.snippets = dict(snippets or {})
        self.provider = provider
        self.failing = failing
        self.searched: list[str] = []
        self.fetched: list[str] = []

    async def search(self, query: Query) -> SearchResponse:
        """Pages that share a word with the query, most words first."""
        count_request()
        self.searched.append(query.text)
        if self.failing is not None:
            raise self.failing
        wanted = {word.lower() for word in _WORD.findall(query.text)}
        counts: Counter[str] = Counter()
        for url, document in self.documents.items():
            counts[url] = len(wanted & {word.lower() for word in _WORD.findall(document.title + " " + document.text)})
        without = query.constraints.exclude_domains
        found = {url: count for url, count in counts.items() if count and urlsplit(url).hostname not in without}
        ranked = sorted(found, key=lambda url: -found[url])
        urls = [*ranked[: query.max_results], *self.dead]
        results = tuple(
            SearchResult(
                self._title(url),
                url,
                self.snippets.get(url, ""),
                self.provider,
                rank,
                published_at=self.documents[url].published_at if url in self.documents else None,
            )
            for rank, url in enumerate(urls, start=1)
        )
        return SearchResponse(query.text, results, info=SearchInfo(left_out=self.left_out))

    async def fetch(self, request: FetchRequest) -> FetchResult:
        """The page, or a dead link."""
        count_request()
        self.fetched.append(request.url)
        if request.url not in self.documents:
            raise DeadLink(f"nothing at {request.url}", reason="dead_link")
        document = self.documents[request.url]
        body = document.text.encode()
        digest = sha256_hex(body)
        snapshot = Snapshot(
            snapshot_id=snapshot_id(request.url, _READ_AT, digest),
            url=request.url,
            final_url=request.url,
            canonical_url=request.url,
            status=200,
            content_type="text/html",
            headers=(),
            body=body,
            body_sha256=digest,
            fetched_at=_READ_AT,
            via="archive",
        )
        info = FetchInfo(via="archive", fetched_at=_READ_AT, size_bytes=len(body), parser="small")
        return FetchResult(
            content=document.text,
            content_format="text",
            status=200,
            content_type="text/html",
            excerpt="",
            truncated=False,
            next_offset=None,
            title=document.title,
            final_url=request.url,
            canonical_url=request.url,
            snapshot_id=snapshot.snapshot_id,
            info=info,
            snapshot=snapshot,
            document=document,
        )

    def _title(self, url: str) -> str:
        return self.documents[url].title if url in self.documents else url


@dataclass
class ListLedger:
    """A ledger in memory: replays by content, refuses above its budget. Give it to a second run to replay the first."""

    budget: Budget = Budget()
    record: dict[str, Json] = field(default_factory=dict)
    usage: Usage = Usage()
    calls: list[str] = field(default_factory=list)

    async def call(
        self, kind: str, request: Mapping[str, Json], estimate: Usage, do: Callable[[], Awaitable[Outcome]]
    ) -> Json:
        """The recorded outcome, or a fresh one within the budget."""
        key = kind + json.dumps(request, sort_keys=True)
        self.calls.append(key)
        if key not in self.record:
            exceeded = self.budget.first_exceeded(self.usage + estimate)
            if exceeded:
                raise BudgetExhausted(f"the cap on {exceeded} is reached", reason=exceeded)
            self.usage = self.usage + estimate
            outcome = await do()
            self.usage = self.usage - estimate + outcome.usage
            self.record[key] = outcome.value
        return self.record[key]

    async def spent(self) -> Usage:
        """What was settled so far."""
        return self.usage

    def cache_reads(self) -> tuple[int, int]:
        """None: there is no cache."""
        return 0, 0


@dataclass
class ListEvents:
    """An event sink that keeps a list."""

    run_id: str = "run_small"
    events: list[Event] = field(default_factory=list)

    async def emit(self, type_: EventType, data: Mapping[str, Json]) -> Event:
        """The event, numbered."""
        event = Event(len(self.events) + 1, type_, self.run_id, _READ_AT, data)
        self.events.append(event)
        return event

    def of(self, type_: EventType) -> list[Mapping[str, Json]]:
        """The data of all events of one type."""
        return [event.data for event in self.events if event.type is type_]


class MemoryStores:
    """Snapshots and documents of a `SmallWeb`, as `ports.SnapshotStore` and `ports.DocumentStore` see them."""

    def __init__(self) -> None:
        self.snapshots = _Snapshots()
        self.documents = _Documents()

    async def keep(self, page: FetchResult) -> FetchResult:
        """Store both sides of a fetched page, as the fetch service does."""
        await self.snapshots.put(page.snapshot)
        await self.documents.put(page.document, page.snapshot.snapshot_id)
        return page


class _Snapshots:
    def __init__(self) -> None:
        self._kept: dict[str, Snapshot] = {}

    async def put(self, snapshot: Snapshot) -> None:
        self._kept.setdefault(snapshot.snapshot_id, snapshot)

    async def get(self, snapshot_id: str) -> Snapshot | None:
        return self._kept.get(snapshot_id)


class _Documents:
    def __init__(self) -> None:
        self._kept: dict[str, Document] = {}

    async def put(self, document: Document, snapshot_id: str) -> None:
        self._kept.setdefault(document.document_id, document)

    async def get(self, document_id: str) -> Document | None:
        return self._kept.get(document_id)

    async def excerpts(self, document_id: str) -> Excerpts | None:
        return None

    async def newest_for_snapshot(self, snapshot_id: str) -> Document | None:
        return None
