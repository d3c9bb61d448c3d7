"""How search stands: what it is still to be told, and how many postings there are."""

from __future__ import annotations

from comity.database import search_outbox
from comity.database.connection import Database
from comity.model.search import OutboxStatus


def outbox_status(database: Database) -> OutboxStatus:
    """What search is still to be told."""
    with database.read() as connection:
        return search_outbox.status(connection)
