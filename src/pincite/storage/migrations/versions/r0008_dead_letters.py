"""What is needed to tell a run that kills its workers from one that stood beside it."""

from pincite.storage.migrations import run_script

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Run the SQL of this number."""
    run_script(8)
