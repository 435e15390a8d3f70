"""What the servers of one database sign with, so that all of them sign alike."""

from pincite.storage.migrations import run_script

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Run the SQL of this number."""
    run_script(6)
