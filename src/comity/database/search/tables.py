"""The tables of search: what a posting is found by, and what a hit displays. The outbox fills them, no trigger does.

Words are kept apart on SQLite, in an FTS5 table with the same row numbers, and beside the rest on PostgreSQL, as a
`tsvector`. Both are given words that are folded already: see `rules/search/fold`.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import DDL, Boolean, Column, ForeignKey, Index, String, Table, Text, Uuid, event, text
from sqlalchemy.dialects.postgresql import TSVECTOR

from comity.database.tables import metadata
from comity.database.types import JsonDocument, RowNumber, UtcDateTime, written_at

# Narrow rows: counting the facets of a large result reads every one of them.
search_documents: Final = Table(
    "search_documents",
    metadata,
    Column("number", RowNumber, primary_key=True, autoincrement=True),
    Column("posting_id", Uuid(), nullable=False, unique=True),
    Column("source_id", Uuid()),
    Column("country_iso", String(2)),
    Column("level_norm", String(40)),
    Column("work_modality", String(40)),
    Column("career_type", String(40)),
    Column("international_eligible", Boolean()),
    Column("language", String(20)),
    # Between bars, each tag: |health|wash|
    Column("mission_tags", Text(), nullable=False, server_default=text("'|'")),
    Column("org_name", Text(), nullable=False, server_default=text("''")),
    Column("org_key", Text(), nullable=False, server_default=text("''")),
    Column("deadline", UtcDateTime()),
    written_at("newest_at"),
    Column("closed_at", UtcDateTime()),
    # On PostgreSQL only; SQLite has search_words.
    Column("words", Text().with_variant(TSVECTOR(), "postgresql")),
    Index("idx_search_documents_newest_at", text("newest_at DESC"), "posting_id"),
    Index("idx_search_documents_deadline", "deadline", "posting_id"),
    Index("idx_search_documents_org_key", "org_key"),
    Index("idx_search_documents_words", "words", postgresql_using="gin").ddl_if(dialect="postgresql"),
)

# A posting as it is shown.
search_cards: Final = Table(
    "search_cards",
    metadata,
    Column(
        "number",
        RowNumber,
        ForeignKey("search_documents.number", ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("card", JsonDocument, nullable=False),
)

WORDS_TABLE: Final = (
    "CREATE VIRTUAL TABLE search_words USING fts5("
    "title, org, about, body, tokenize = 'unicode61 remove_diacritics 2', prefix = '2 3')"
)
_MADE: Final = DDL(WORDS_TABLE)  # type: ignore[no-untyped-call]
_DROPPED: Final = DDL("DROP TABLE search_words")  # type: ignore[no-untyped-call]
event.listen(search_cards, "after_create", _MADE.execute_if(dialect="sqlite"))
event.listen(search_cards, "before_drop", _DROPPED.execute_if(dialect="sqlite"))
