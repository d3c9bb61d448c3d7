"""Every table there is, whichever file declares it: what migrations are held to."""

from __future__ import annotations

from comity.database import search_tables, source_tables, tables

metadata = tables.metadata
__all__ = ["metadata", "search_tables", "source_tables", "tables"]
