"""Limits, breakers and the cache of all workers."""

from pincite.storage.migrations import run_script

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Run the SQL of this number."""
    run_script(2)
