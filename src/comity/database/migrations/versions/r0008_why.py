"""How URLs came to be known, and URLs that were seen and not queued."""

from comity.database.migrations import run_script

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the columns and the table."""
    run_script("0008_why", "up")


def downgrade() -> None:
    """Forget them."""
    run_script("0008_why", "down")
