"""Sitemaps: the files of a host, and what they say of its pages."""

from comity.database.migrations import run_script

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table, and room beside each queued URL."""
    run_script("0002_sitemaps", "up")


def downgrade() -> None:
    """Forget what sitemaps said."""
    run_script("0002_sitemaps", "down")
