"""Hosts: domains, their policies, robots files, takedowns, frontier, runs, fetches and evidence."""

from comity.database.migrations import run_script

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables, their indexes and the guards."""
    run_script("0001_hosts", "up")


def downgrade() -> None:
    """Take everything away."""
    run_script("0001_hosts", "down")
