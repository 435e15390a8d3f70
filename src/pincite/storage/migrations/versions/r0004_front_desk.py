"""What a server remembers of requests: idempotency keys, what API keys spent, webhooks to be sent."""

from pincite.storage.migrations import run_script

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Run the SQL of this number."""
    run_script(4)
