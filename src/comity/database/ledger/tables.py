"""The tables that the politeness ledger is checked against: chain heads, notes, robots.txt files, policy history.

`politeness_ledger` itself is in `tables`.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, LargeBinary, String, Table, Text, Uuid, false, text

from comity.database.tables import metadata
from comity.database.types import RowNumber, UtcDateTime, count, written_at

# One row for each host that was ever asked: how long its two chains are, and the digests they end with.
ledger_chains: Final = Table(
    "ledger_chains",
    metadata,
    Column("domain_id", Uuid(), primary_key=True),
    Column("host", String(260), nullable=False),
    count("requests"),
    Column("request_digest", String(32), nullable=False, server_default=text("''")),
    count("notes"),
    Column("note_digest", String(32), nullable=False, server_default=text("''")),
    Column("gap_until", UtcDateTime()),  # the end of the last gap that was noted
    Column("former_host", String(260)),
    Column("merged_into", Uuid()),
    Index("idx_ledger_chains_host", "host"),
)

# Facts about a host that are no requests, in a chain of their own: the robots.txt put in force, and gaps that a
# process left when it ended without a release.
ledger_notes: Final = Table(
    "ledger_notes",
    metadata,
    Column("id", RowNumber, primary_key=True, autoincrement=True),
    Column("domain_id", Uuid(), nullable=False),
    count("sequence"),
    Column("digest", String(32), nullable=False, server_default=text("''")),
    Column("lease_token", BigInteger(), nullable=False),
    Column("kind", String(10), nullable=False),
    Column("origin", Text()),
    Column("version", String(32)),
    Column("valid_from", UtcDateTime(), nullable=False),
    Column("valid_until", UtcDateTime(), nullable=False),
    Column("detail", Text(), nullable=False, server_default=text("'{}'")),
    Index("idx_ledger_notes_chain", "domain_id", "sequence"),
)

# Each robots.txt that was ever in force, once, by the digest of what is stored of it.
robots_versions: Final = Table(
    "robots_versions",
    metadata,
    Column("version", String(32), primary_key=True),
    Column("body", LargeBinary(), nullable=False),
    written_at("first_seen_at"),
)

# What each policy said and since when; triggers write it, so that edits by hand are in it, too.
policy_history: Final = Table(
    "policy_history",
    metadata,
    Column("id", RowNumber, primary_key=True, autoincrement=True),
    Column("host", String(260), nullable=False),
    Column("valid_from", UtcDateTime(), nullable=False),
    Column("is_deleted", Boolean(), nullable=False, server_default=false()),
    Column("max_concurrency", Integer(), nullable=False),
    Column("min_request_interval_ms", Integer(), nullable=False),
    Index("idx_policy_history_host", "host", "id"),
)
