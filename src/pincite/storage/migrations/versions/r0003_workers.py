"""What workers need to know of a run."""

from pincite.storage.migrations import run_script

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Run the SQL of this number."""
    run_script(3)
