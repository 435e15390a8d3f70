"""Local libraries: full-text search and passages over folders, WARC and WACZ files, in one SQLite file each.

`LocalLibrary` is the front. `folder`, `warc`, `wacz` read pages; `reading` turns them into passages in killable child
processes; `index` keeps them up to date; `ranking` scores. Pages become documents through the extractor that the
caller passes: this package knows no page format.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pincite.library.local import LocalLibrary

__all__ = ["LocalLibrary"]


def __getattr__(name: str) -> object:
    """The front on first use: reader processes need none of it."""
    if name != "LocalLibrary":
        raise AttributeError(name)
    from pincite.library.local import LocalLibrary

    return LocalLibrary
