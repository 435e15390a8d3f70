"""Local libraries: full-text search and passages over folders, WARC and WACZ files, in one SQLite file each.

`LocalLibrary` is the front. `folder`, `warc`, `wacz` read pages; `reading` turns them into passages in killable child
processes; `index` keeps them up to date; `ranking` scores. Pages become documents through the extractor that the
caller passes: this package knows no page format.
"""

from pincite.library.local import LocalLibrary

__all__ = ["LocalLibrary"]
