"""Indexes by which old runs go, and the newest calls are found, without a look at everything."""

from pincite.storage.migrations import run_script

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Run the SQL of this number."""
    run_script(7)
