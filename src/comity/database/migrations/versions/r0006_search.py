"""Search: what postings are found by, and how they are shown."""

from comity.database.migrations import run_script

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    run_script("0006_search", "up")


def downgrade() -> None:
    """Forget the index; `comity search --rebuild` fills it again."""
    run_script("0006_search", "down")
