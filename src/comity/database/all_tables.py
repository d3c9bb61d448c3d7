"""Every table of the state, whichever module declares it: what the migrations are compared with."""

from __future__ import annotations

from comity.database import console, images, tables
from comity.database import ledger as ledger_tables
from comity.database import search as search_tables
from comity.database.queue import tables as queue_tables
from comity.database.sources import tables as source_tables

# Tables are created in the order of these imports.
# isort: split
from comity.database.frontier import left_out, unqueued

metadata = tables.metadata
__all__ = [
    "console",
    "images",
    "ledger_tables",
    "left_out",
    "metadata",
    "queue_tables",
    "search_tables",
    "source_tables",
    "tables",
    "unqueued",
]
