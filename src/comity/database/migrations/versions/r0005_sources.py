"""Sources, their postings, and what search is still to hear of them."""

from comity.database.migrations import run_script

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    run_script("0005_sources", "up")


def downgrade() -> None:
    """Forget every source and what was found there."""
    run_script("0005_sources", "down")
