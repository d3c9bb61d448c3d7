"""Rounds of refreshing, how a visit came about, and images."""

from alembic import op
from sqlalchemy import inspect

from comity.database.migrations import run_script

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


OLDER = "older_"  # before the names of tables that an older crawl left, which `domains backfill` reads


def upgrade() -> None:
    """Make the columns and tables; those of the same names that an older crawl left are set aside."""
    for name in ("images", "provenance"):
        if inspect(op.get_bind()).has_table(name):
            op.rename_table(name, OLDER + name)
    run_script("0004_refresh_and_images", "up")


def downgrade() -> None:
    """Forget the images, and which visits were repeated ones."""
    run_script("0004_refresh_and_images", "down")
    for name in ("images", "provenance"):
        if inspect(op.get_bind()).has_table(OLDER + name):
            op.rename_table(OLDER + name, name)
