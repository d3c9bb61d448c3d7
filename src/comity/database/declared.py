"""Every table there is, whichever file declares it: what migrations are held to."""

from __future__ import annotations

from comity.database import image_tables, ledger_tables, search_tables, source_tables, tables, unqueued_tables

metadata = tables.metadata
__all__ = [
    "image_tables",
    "ledger_tables",
    "metadata",
    "search_tables",
    "source_tables",
    "tables",
    "unqueued_tables",
]
