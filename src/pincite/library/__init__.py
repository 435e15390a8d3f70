"""Local libraries: full-text search and passages over folders, WARC and WACZ files, in one SQLite file each.

`local` is the front. `folder` and `warc` read pages; `reading` turns them into passages in killable child processes;
`index` keeps them up to date; `lookup` finds and orders. Pages become documents through the extractor that the caller
passes: this package knows no page format.
"""
