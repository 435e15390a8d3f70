"""The first tables: runs, calls, events, captures, documents, reports."""

from pincite.storage.migrations import run_script

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Run the SQL of this number."""
    run_script(1)
