"""The tables of images: each content once, where it was found, and the addresses that are still to be asked for.

Apart from `tables`, so that a crawl without images does not load them; `declared` knows both.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, String, Table, Text, Uuid, text

from comity.database.column_kinds import count, written_at
from comity.database.tables import metadata
from comity.database.types import RowNumber, UtcDateTime

# Images, each content once, whatever addresses it has.
images: Final = Table(
    "images",
    metadata,
    Column("id", RowNumber, primary_key=True, autoincrement=True),
    Column("content_hash", String(64), nullable=False, unique=True),
    Column("url", Text(), nullable=False),
    Column("format", String(10), nullable=False),
    Column("content_type", Text()),
    Column("width", Integer()),
    Column("height", Integer()),
    count("bytes"),
    Column("stored_path", Text(), nullable=False),
    written_at("first_seen_at"),
    written_at("last_seen_at"),
)

# On which page of which host an image was found: when the page was first read, and when a refresh met it there again.
provenance: Final = Table(
    "provenance",
    metadata,
    Column("id", RowNumber, primary_key=True, autoincrement=True),
    Column("image_id", BigInteger(), ForeignKey("images.id", ondelete="CASCADE"), nullable=False),
    Column("page_key", BigInteger(), nullable=False),
    Column("page_url", Text(), nullable=False),
    Column("source_domain", String(260), nullable=False),
    Column("domain_id", Uuid(), ForeignKey("domains.id", ondelete="SET NULL")),
    Column("discovery_type", String(20), nullable=False, server_default=text("'discovery'")),
    written_at("found_at"),
    Index("uq_provenance_page_image", "page_key", "image_id", "discovery_type", unique=True),
    Index("idx_provenance_image", "image_id"),
    Index("idx_provenance_source_domain", "source_domain"),
)

# The addresses of a host's images: what came of asking, and what to ask with next time.
image_urls: Final = Table(
    "image_urls",
    metadata,
    Column("domain_id", Uuid(), ForeignKey("domains.id", ondelete="CASCADE"), primary_key=True),
    Column("url_key", BigInteger(), primary_key=True, autoincrement=False),
    Column("url", Text(), nullable=False),
    Column("image_id", BigInteger(), ForeignKey("images.id", ondelete="SET NULL")),
    Column("asked_at", UtcDateTime()),
    Column("status", Integer()),
    Column("error", Text()),
    Column("final_url", Text()),
    Column("etag", Text()),
    Column("last_modified", Text()),
    Index("idx_image_urls_image", "image_id"),
)

# Pages on which an image was found that is still to be asked for.
image_sightings: Final = Table(
    "image_sightings",
    metadata,
    Column("domain_id", Uuid(), ForeignKey("domains.id", ondelete="CASCADE"), primary_key=True),
    Column("url_key", BigInteger(), primary_key=True, autoincrement=False),
    Column("page_key", BigInteger(), primary_key=True, autoincrement=False),
    Column("page_url", Text(), nullable=False),
    Column("discovery_type", String(20), nullable=False, server_default=text("'discovery'")),
    written_at("found_at"),
)
