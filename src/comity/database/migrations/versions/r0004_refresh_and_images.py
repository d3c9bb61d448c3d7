"""Rounds of refreshing, how a visit came about, and images."""

from comity.database.migrations import run_script

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the columns and tables."""
    run_script("0004_refresh_and_images", "up")


def downgrade() -> None:
    """Forget the images, and which visits were repeated ones."""
    run_script("0004_refresh_and_images", "down")
