"""Refreshing: rounds of hosts, and how a visit came about."""

from comity.database.migrations import run_script

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the columns."""
    run_script("0004_refresh", "up")


def downgrade() -> None:
    """Forget which visits were repeated ones."""
    run_script("0004_refresh", "down")
