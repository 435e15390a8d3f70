"""The local libraries of an engine: each opened once, brought up to date before its first use."""

from pathlib import Path
from typing import TYPE_CHECKING

import anyio.from_thread
import anyio.to_thread

from pincite.domain.library import IndexReport, ListedPage
from pincite.runtime.kept_open import KeptOpen
from pincite.settings import Settings
from pincite.wiring.ranking import vectors_of
from pincite.wiring.sources import Sources, remember_library

if TYPE_CHECKING:
    from pincite.library import LocalLibrary


def _stop_when_cancelled(_pages: int, _place: str) -> None:
    """Ends the indexing in this thread when the task that waits for it was cancelled."""
    anyio.from_thread.check_cancelled()


class OpenLibraries:
    """The libraries that were opened; closed with the engine.

    Args:
        settings: of the engine.
        kept: keeps what is opened here.
    """

    def __init__(self, settings: Settings, kept: KeptOpen) -> None:
        self._settings = settings
        self._kept = kept
        self._opened: dict[Path, LocalLibrary] = {}
        self._refreshed: set[Path] = set()

    async def ready(self, path: Path) -> "LocalLibrary":
        """The library in that folder, its index up to date. Errors: LibraryNotFound, and those of its index."""
        if path not in self._refreshed:
            library = await anyio.to_thread.run_sync(self._open, path)
            await anyio.to_thread.run_sync(library.refresh, _stop_when_cancelled)
            self._refreshed.add(path)
        return self._opened[path]

    async def listing(self, paths: tuple[Path, ...]) -> tuple[ListedPage, ...]:
        """The pages of the libraries. Errors: LibraryNotFound, and those of their indexes."""
        libraries = [await self.ready(path) for path in paths]
        return tuple([page for library in libraries for page in await anyio.to_thread.run_sync(library.listing)])

    def vocabularies(self, sources: Sources) -> "tuple[LocalLibrary, ...]":
        """The libraries, made ready before, whose words a question is read by: none when the web is searched too."""
        return () if sources.providers else tuple(self._opened[path] for path in sources.libraries)

    def index(self, path: Path, vectors: bool = False) -> IndexReport:
        """What indexing the folder did; it is searched from now on when no source is named. Blocks."""
        wanted = path.expanduser().resolve()
        report = self._open(wanted).refresh(_stop_when_cancelled)
        remember_library(self._settings, wanted)
        if vectors:
            self._opened[wanted].make_vectors(lambda done, of: _stop_when_cancelled(done, ""))
        return report

    def _open(self, path: Path) -> "LocalLibrary":
        if path not in self._opened:
            from pincite.fetch.extractors import BytesExtractor
            from pincite.library import LocalLibrary

            library = LocalLibrary.open(
                path,
                index_dir=self._settings.home / "libraries",
                extractor=BytesExtractor(),
                revision=BytesExtractor.revision,
                embedder=vectors_of(self._settings),
            )
            self._kept.on_close(library.close)
            self._opened[path] = library
        return self._opened[path]
