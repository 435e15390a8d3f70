"""The only module that names concrete classes: settings in, a working set of parts out.

Adapters are named in registry tables and imported when they are first used, so that what isn't used costs nothing.
"""

import importlib
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.to_thread

from pincite.domain.errors import InvalidInput, InvalidSetting, LibraryNotFound
from pincite.domain.events import Json
from pincite.domain.library import IndexReport
from pincite.domain.page import Document, Snapshot
from pincite.domain.plan import Task
from pincite.ports import (
    DocumentStore,
    EventSink,
    Exporter,
    Fetch,
    FetchBackend,
    RunRecord,
    RunStore,
    Search,
    SearchProvider,
)
from pincite.runtime.clock import SystemClock
from pincite.runtime.kept_open import KeptOpen, keep_open
from pincite.settings import Settings, load_settings
from pincite.urls import AddressPolicy, UrlPolicy, vet_url
from pincite.urls.policy import PORTS

if TYPE_CHECKING:
    from pincite.audit.check import CheckResult
    from pincite.library import LocalLibrary
    from pincite.research.service import ResearchService
    from pincite.storage.service import ScopedStorage

LOCAL: Final = "local"
AUTO: Final = "auto"
OFFLINE: Final = "offline"
LIBRARIES_FILE: Final = "libraries.json"

PROVIDERS: Mapping[str, str] = {
    "tavily": "pincite.search.providers.tavily:Tavily",
    "exa": "pincite.search.providers.exa:Exa",
    "brave": "pincite.search.providers.brave:Brave",
    "serper": "pincite.search.providers.serper:Serper",
    "searxng": "pincite.search.providers.searxng:SearXng",
    "duckduckgo": "pincite.search.providers.duckduckgo:DuckDuckGo",
    "firecrawl": "pincite.search.providers.firecrawl:Firecrawl",
    "jina": "pincite.search.providers.jina:Jina",
}

EXPORTERS: Mapping[str, str] = {
    "md": "pincite.exports.markdown:MarkdownExporter",
    "json": "pincite.exports.json:JsonExporter",
    "html": "pincite.exports.html:HtmlExporter",
    "csv": "pincite.exports.csv:CsvExporter",
    "csl.json": "pincite.exports.csl_json:CslJsonExporter",
    "bib": "pincite.exports.bibtex:BibtexExporter",
    "ris": "pincite.exports.ris:RisExporter",
}

FROZEN: Final = (
    "profile",
    "source",
    "max_rounds",
    "max_searches",
    "max_pages",
    "max_web_requests",
    "max_cost_usd",
    "max_tokens",
    "deadline_s",
    "results_per_query",
    "pages_per_round",
    "per_domain_cap",
    "keep_undated",
    "llm",
)
"""Settings that belong to a run: stored with it, so that a resumed run does what it set out to do."""


def load(registry: Mapping[str, str], name: str, what: str) -> Any:  # a class of the registry
    """The class registered as `name`.

    Errors:
        InvalidInput: there is no such `what`.
    """
    if name not in registry:
        raise InvalidInput(f"there is no {what} {name!r}", hint=f"Known: {', '.join(registry)}.")
    module, _, attribute = registry[name].partition(":")
    return getattr(importlib.import_module(module), attribute)


@dataclass(frozen=True, slots=True)
class Sources:
    """Where a run looks: local libraries by path, providers by name."""

    libraries: tuple[Path, ...] = ()
    providers: tuple[str, ...] = ()


class Parts:
    """What an engine works with. Services are built on first use and closed with the engine."""

    def __init__(self, settings: Settings, storage: "ScopedStorage", clock: SystemClock, kept: KeptOpen) -> None:
        self.settings = settings
        self.clock = clock
        self.runs: RunStore = storage.runs
        self.documents: DocumentStore = storage.documents
        self._storage = storage
        self._kept = kept
        self._libraries: dict[Path, LocalLibrary] = {}
        self._services: dict[Sources, tuple[Search | None, Fetch]] = {}
        self._building = anyio.Lock()

    # ---- front doors ----

    async def search(self) -> Search:
        """The search front door over the sources of the settings."""
        found, _ = await self._front_doors(self.sources(self.settings))
        if found is None:
            raise InvalidInput("no source to search in", hint="--source local:PATH, or --source auto")
        return found

    async def fetch(self) -> Fetch:
        """The fetch front door; pages of local libraries are served from there."""
        _, found = await self._front_doors(self.sources(self.settings))
        return found

    async def research(self, record: RunRecord, task: Task, settings: Settings, events: EventSink) -> "ResearchService":
        """The loop with its roles, for one run that was taken."""
        from pincite.research.extractive.analyst import ExtractiveAnalyst
        from pincite.research.extractive.planner import ExtractivePlanner
        from pincite.research.extractive.shelf import Shelf
        from pincite.research.extractive.verifier import ExtractiveVerifier
        from pincite.research.extractive.writer import ExtractiveWriter
        from pincite.research.reader import PageReader
        from pincite.research.searcher import QuerySearcher
        from pincite.research.service import ResearchService, Roles
        from pincite.research.state import Limits
        from pincite.verification.checker import MechanicalChecker

        search, fetch = await self._front_doors(self.sources(settings, task))
        ledger = await self._storage.ledger(record)
        limits = Limits(
            budget=record.budget,
            results_per_query=settings.results_per_query,
            pages_per_round=settings.pages_per_round,
            per_domain_cap=settings.per_domain_cap,
            keep_undated=settings.keep_undated,
            fetch_deadline_s=settings.fetch_deadline_s,
        )
        shelf = Shelf()
        return ResearchService(
            Roles(
                planner=ExtractivePlanner(shelf, results_per_query=settings.results_per_query),
                searcher=QuerySearcher(search, ledger, events, limits=limits),
                reader=PageReader(
                    fetch, self._storage.snapshots, self._storage.documents, ledger, events, limits=limits
                ),
                analyst=ExtractiveAnalyst(shelf),
                verifier=ExtractiveVerifier(MechanicalChecker()),
                writer=ExtractiveWriter(),
            ),
            ledger=ledger,
            events=events,
            clock=self.clock,
            limits=limits,
            run_id=record.run_id,
            created_at=record.created_at,
        )

    async def events(self, record: RunRecord, topic: str) -> EventSink:
        """Where the run says what happened."""
        sink = await self._storage.events(record)
        sink.topic_hash = topic
        return sink

    def exporter(self, format_: str) -> Exporter:
        """The exporter of that format. Errors: InvalidInput, ExtraNotInstalled."""
        made: Exporter = load(EXPORTERS, format_, "format")()
        return made

    async def vet_task(self, task: Task) -> None:
        """Refuse a task that can't be worked on, before a run of it is stored.

        Errors:
            InvalidUrl, BlockedAddress, DomainDenied: one of its URLs. LibraryNotFound, InvalidInput: its sources.
        """
        for url in task.urls:
            vet_url(url, policy=url_policy(self.settings))
        await self._front_doors(self.sources(self.settings, task))

    # ---- sources ----

    def sources(self, settings: Settings, task: Task | None = None) -> Sources:
        """What the settings' `source` means here and now.

        Errors:
            InvalidInput: an unknown source. LibraryNotFound: `local` without an indexed library.
        """
        named = "source" in settings.model_fields_set
        if task is not None and task.urls and not named:
            return Sources()
        indexed = self._indexed()
        if not named and indexed:
            return Sources(libraries=indexed)
        libraries: list[Path] = []
        providers: list[str] = []
        for source in settings.source:
            if source == LOCAL:
                libraries += indexed or _no_library()
            elif source.startswith(f"{LOCAL}:"):
                libraries.append(Path(source.removeprefix(f"{LOCAL}:")).expanduser().resolve())
            elif source == AUTO:
                providers += self._providers_with_keys() or ["duckduckgo"]
            else:
                providers.append(source)
        return Sources(tuple(dict.fromkeys(libraries)), tuple(dict.fromkeys(providers)))

    def _providers_with_keys(self) -> list[str]:
        with_key = [name for name in PROVIDERS if getattr(self.settings, f"{name}_api_key", None)]
        return with_key + (["searxng"] if self.settings.searxng_base_url else [])

    async def index(self, path: Path) -> IndexReport:
        """Index a library and remember it as one that is searched when no source is named."""
        return await anyio.to_thread.run_sync(self._index, path)

    def _index(self, path: Path) -> IndexReport:
        wanted = path.expanduser().resolve()
        report = self._open_library(wanted).refresh()
        if wanted not in self._indexed():
            names = [str(known) for known in (*self._indexed(), wanted)]
            file = self.settings.home / LIBRARIES_FILE
            partial = file.with_suffix(".partial")
            partial.write_text(json.dumps(names, indent=1), encoding="utf-8")
            partial.replace(file)
        return report

    def _indexed(self) -> tuple[Path, ...]:
        file = self.settings.home / LIBRARIES_FILE
        known = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else []
        configured = [self.settings.library.expanduser().resolve()] if self.settings.library else []
        return tuple(dict.fromkeys([*configured, *(Path(name) for name in known)]))

    def _open_library(self, path: Path) -> "LocalLibrary":
        if path not in self._libraries:
            from pincite.fetch.extractors import BytesExtractor
            from pincite.library import LocalLibrary

            library = LocalLibrary.open(
                path,
                index_dir=self.settings.home / "libraries",
                extractor=BytesExtractor(),
                revision=BytesExtractor.revision,
            )
            self._kept.on_close(library.close)
            self._libraries[path] = library
        return self._libraries[path]

    # ---- building ----

    async def _front_doors(self, sources: Sources) -> tuple[Search | None, Fetch]:
        async with self._building:
            if sources not in self._services:
                libraries = [await self._ready_library(path) for path in sources.libraries]
                search = await self._build_search(libraries, sources.providers)
                self._services[sources] = (search, await self._build_fetch(libraries))
            return self._services[sources]

    async def _ready_library(self, path: Path) -> "LocalLibrary":
        library = await anyio.to_thread.run_sync(self._open_library, path)
        await anyio.to_thread.run_sync(library.refresh)
        return library

    async def _build_search(self, libraries: "Sequence[LocalLibrary]", names: Sequence[str]) -> Search | None:
        if not libraries and not names:
            return None
        from pincite.search.providers.local import LocalProvider
        from pincite.search.service import SearchService

        providers: list[SearchProvider] = [LocalProvider(library) for library in libraries]
        providers += [self._provider(name) for name in names]
        return await self._kept.open(SearchService(providers, clock=self.clock))

    def _provider(self, name: str) -> SearchProvider:
        from pincite.search.api import ProviderSettings
        from pincite.search.catalogue import card_of
        from pincite.search.provider import Surroundings

        card = card_of(name)
        key = getattr(self.settings, f"{name}_api_key", None)
        base_url = getattr(self.settings, f"{name}_base_url", None) or card.base_url
        made: SearchProvider = load(PROVIDERS, name, "search provider")(
            ProviderSettings(base_url, api_key=key.get_secret_value() if key else None), Surroundings(self.clock)
        )
        return made

    async def _build_fetch(self, libraries: "Sequence[LocalLibrary]") -> Fetch:
        from pincite.fetch.backends.archive import ArchiveBackend
        from pincite.fetch.extractors import BytesExtractor
        from pincite.fetch.service import FetchService

        backends: list[FetchBackend] = [ArchiveBackend(libraries)] if libraries else []
        if self.settings.profile != OFFLINE:
            backends.append(await self._direct_backend())
        service = FetchService(
            backends=backends,
            extractor=BytesExtractor(),
            snapshots=self._storage.snapshots,
            documents=self._storage.documents,
            clock=self.clock,
            policy=url_policy(self.settings),
        )
        return await self._kept.open(service)

    async def _direct_backend(self) -> FetchBackend:
        from pincite.fetch.backends.direct import DirectBackend
        from pincite.fetch.client import GuardedClient
        from pincite.fetch.limits import USER_AGENT, FetchLimits
        from pincite.fetch.politeness import HostTurns
        from pincite.fetch.resolver import SystemResolver, VettedResolver
        from pincite.fetch.robots_gate import RobotsGate
        from pincite.runtime.breaker import MemoryBreaker
        from pincite.runtime.limiter import MemoryLimiter

        settings, clock, policy = self.settings, self.clock, url_policy(self.settings)
        limits = FetchLimits(total_s=settings.fetch_deadline_s)
        resolver = VettedResolver(SystemResolver(), policy, clock, fixed_addresses(settings.resolve))
        client = GuardedClient(policy, resolver, clock, limits=limits, user_agent=settings.user_agent or USER_AGENT)
        await self._kept.open(client)
        gate = RobotsGate(client, policy, clock)
        turns = HostTurns(MemoryLimiter(clock), MemoryBreaker(clock), limits)
        return DirectBackend(client, gate, turns, clock, limits=limits)


def url_policy(settings: Settings) -> UrlPolicy:
    """What may be fetched under these settings."""
    return UrlPolicy(
        addresses=AddressPolicy(allow_networks=settings.allow_networks),
        ports=PORTS | frozenset(settings.allow_ports),
        allow_hosts=settings.include_domains,
        deny_hosts=settings.exclude_domains,
    )


def fixed_addresses(entries: Sequence[str]) -> dict[tuple[str, int], tuple[str, ...]]:
    """`HOST:PORT:ADDRESS` entries as a table. Errors: InvalidSetting."""
    table: dict[tuple[str, int], tuple[str, ...]] = {}
    for entry in entries:
        host, _, rest = entry.partition(":")
        port, _, address = rest.partition(":")
        if not (host and port.isdigit() and address):
            raise InvalidSetting(f"--resolve {entry!r} is not HOST:PORT:ADDRESS", context={"setting": "resolve"})
        key = (host.lower(), int(port))
        table[key] = (*table.get(key, ()), address.strip("[]"))
    return table


def frozen_settings(settings: Settings) -> dict[str, Json]:
    """The settings that belong to a run, as plain JSON for its record."""
    plain: dict[str, Json] = settings.model_dump(mode="json", include=set(FROZEN))
    return plain | {"named": "source" in settings.model_fields_set}


def thawed_settings(settings: Settings, frozen: Json) -> Settings:
    """The settings in force with those that the run was started with."""
    if not isinstance(frozen, dict):
        return settings
    kept: dict[str, object] = {name: frozen[name] for name in FROZEN if name in frozen}
    if not frozen.get("named"):
        kept.pop("source", None)
    given: dict[str, object] = {**settings.model_dump(exclude_unset=True), **kept}
    return load_settings(given)


def check_stored_report(data: bytes, settings: Settings) -> "CheckResult":
    """What checking a report (JSON bytes) against the pages stored in the home finds; no database layer is loaded.

    Errors:
        InvalidInput: not JSON. SchemaMismatch: written by a newer Pincite.
    """
    from pincite.audit.check import check_report
    from pincite.storage.evidence import DATABASE_NAME, EvidenceReader
    from pincite.verification.checker import MechanicalChecker

    try:
        raw = json.loads(data)
    except ValueError as error:
        raise InvalidInput(f"not a report: {error}", reason="not_json") from None
    if not isinstance(raw, dict):
        raise InvalidInput("not a report: a JSON object was expected", reason="not_json")
    database = settings.home / DATABASE_NAME
    if not database.is_file():
        return check_report(raw, NothingStored(), checker=MechanicalChecker())
    with EvidenceReader(database, settings.scope) as evidence:
        return check_report(raw, evidence, checker=MechanicalChecker())


class NothingStored:
    """Implements `ports.EvidenceSource` for a home without a database."""

    def snapshot(self, snapshot_id: str) -> Snapshot | None:
        """None."""
        return None

    def document(self, document_id: str, snapshot_id: str | None = None) -> Document | None:
        """None."""
        return None


def _no_library() -> list[Path]:
    raise LibraryNotFound("no library is indexed yet", hint="pincite index PATH")


@asynccontextmanager
async def open_parts(settings: Settings) -> AsyncIterator[Parts]:
    """The parts of an engine; all that was opened is closed at the end.

    Errors:
        StorageUnavailable, StorageFull, SchemaMismatch, Locked, InvalidSetting, ExtraNotInstalled.
    """
    from pincite.storage.service import open_storage

    clock = SystemClock()
    place = settings.home if settings.database_url is None else settings.database_url.get_secret_value()
    async with open_storage(place, clock) as storage, keep_open() as kept:
        yield Parts(settings, storage.scope(settings.scope), clock, kept)
