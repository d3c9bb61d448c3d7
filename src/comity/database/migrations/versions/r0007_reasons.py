"""Why a source is read again when it is: kept beside what its run came to."""

from comity.database.migrations import run_script

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the column, and have every page of a source read once more: more is seen in some of them now."""
    run_script("0007_reasons", "up")


def downgrade() -> None:
    """Forget the reasons."""
    run_script("0007_reasons", "down")
