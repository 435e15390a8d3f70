"""What is kept: runs, their ledger and events, snapshots, documents, reports, cache.

`service` is the way in. `evidence` and `cache` use the standard library alone, so that `check`, `doctor` and a
cached search start without the database layer; everything else is SQLAlchemy Core.
"""
