"""API keys and the log of calls, where many machines use one database."""

from pincite.storage.migrations import run_script

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Run the SQL of this number."""
    run_script(5)
