"""Every table, index and trigger: the schema of the first release."""

from alembic import op

from comity.database.migrations import restore_older_tables, run_script, set_older_tables_aside

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create everything; tables of the same names that an older crawl left are set aside."""
    set_older_tables_aside(op.get_bind())
    run_script(op.get_bind(), "0001_first", "up")


def downgrade() -> None:
    """Drop everything, and restore what was set aside."""
    run_script(op.get_bind(), "0001_first", "down")
    restore_older_tables(op.get_bind())
