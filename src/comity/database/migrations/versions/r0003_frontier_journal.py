"""Frontiers kept elsewhere: their lives, and the batches on their way to them."""

from comity.database.migrations import run_script

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    run_script("0003_frontier_journal", "up")


def downgrade() -> None:
    """Forget what was on its way."""
    run_script("0003_frontier_journal", "down")
