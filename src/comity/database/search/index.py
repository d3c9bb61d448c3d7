"""Statements that fill the tables of search.

The tables of search: what a posting is found by, and what a hit displays. The outbox fills them, no trigger does.

Words are kept apart on SQLite, in an FTS5 table with the same row numbers, and beside the rest on PostgreSQL, as a
`tsvector`. Both are given words that are folded already: see `rules/search/terms`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache
from typing import Any, Final
from uuid import UUID

from sqlalchemy import (
    DDL,
    Boolean,
    Column,
    Connection,
    ForeignKey,
    Index,
    String,
    Table,
    Text,
    Uuid,
    bindparam,
    cast,
    column,
    delete,
    event,
    func,
    insert,
    select,
    table,
    text,
)
from sqlalchemy.dialects.postgresql import TSVECTOR

from comity.database.dialects import insert_for
from comity.database.tables import metadata
from comity.database.types import JsonDocument, RowNumber, UtcDateTime, written_at
from comity.model.search import SearchDocument
from comity.rules.search.card import card_of
from comity.rules.search.terms import fields_of, name_key

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

_WORDS_TABLE: Final = (
    "CREATE VIRTUAL TABLE search_words USING fts5("
    "title, org, about, body, tokenize = 'unicode61 remove_diacritics 2', prefix = '2 3')"
)
_MADE: Final = DDL(_WORDS_TABLE)  # type: ignore[no-untyped-call]
_DROPPED: Final = DDL("DROP TABLE search_words")  # type: ignore[no-untyped-call]
event.listen(search_cards, "after_create", _MADE.execute_if(dialect="sqlite"))
event.listen(search_cards, "before_drop", _DROPPED.execute_if(dialect="sqlite"))
search_words: Final = table(
    "search_words", column("rowid"), column("title"), column("org"), column("about"), column("body")
)
BATCH: Final = 200
_WEIGHTS: Final = "ABCD"
_APART: Final = 50  # positions between two fields, so that no phrase reaches over
_LAST_POSITION: Final = 16_383  # PostgreSQL counts no further


def put(connection: Connection, documents: Sequence[SearchDocument]) -> None:
    """Take documents, each in place of the one with its identity; every writer in the same order, against deadlocks."""
    by_id = {document.id: document for document in documents}
    ordered = [by_id[each] for each in sorted(by_id)]
    for first in range(0, len(ordered), BATCH):
        _put(connection, ordered[first : first + BATCH])


def remove(connection: Connection, posting_ids: Collection[UUID]) -> None:
    """Forget documents."""
    ordered = sorted(posting_ids)
    for first in range(0, len(ordered), BATCH):
        chosen = search_documents.c.posting_id.in_(ordered[first : first + BATCH])
        if connection.dialect.name == "sqlite":
            numbers = select(search_documents.c.number).where(chosen)
            connection.execute(delete(search_words).where(search_words.c.rowid.in_(numbers)))
        connection.execute(delete(search_documents).where(chosen))


def clear(connection: Connection) -> None:
    """Forget every document."""
    if connection.dialect.name == "sqlite":
        connection.execute(delete(search_words))
    connection.execute(delete(search_cards))
    connection.execute(delete(search_documents))


def count(connection: Connection) -> int:
    """How many documents there are."""
    return int(connection.execute(select(func.count()).select_from(search_documents)).scalar_one())


def _put(connection: Connection, documents: Sequence[SearchDocument]) -> None:
    rows = [_row(document) for document in documents]
    words = [fields_of(document) for document in documents]
    is_sqlite = connection.dialect.name == "sqlite"
    if not is_sqlite:
        for row, fields in zip(rows, words, strict=True):
            row["words"] = vector_of(fields)
    kept = connection.execute(_upsert(connection.dialect.name), rows)
    numbers = {row.posting_id: row.number for row in kept}
    connection.execute(
        _upsert_card(connection.dialect.name),
        [{"number": numbers[document.id], "card": card_of(document)} for document in documents],
    )
    if is_sqlite:
        connection.execute(delete(search_words).where(search_words.c.rowid.in_(numbers.values())))
        values = ((numbers[each.id], *fields) for each, fields in zip(documents, words, strict=True))
        names = ("rowid", "title", "org", "about", "body")
        connection.execute(insert(search_words), [dict(zip(names, each, strict=True)) for each in values])


@cache
def _upsert(dialect: str) -> Any:
    """Built once: compiling a statement for many rows would take longer than running it."""
    names = [column.name for column in search_documents.columns if column.name not in ("number", "words")]
    values: dict[str, Any] = {name: bindparam(name, type_=search_documents.c[name].type) for name in names}
    if dialect == "postgresql":
        values["words"] = cast(bindparam("words", type_=Text()), TSVECTOR)
    statement = insert_for(dialect, search_documents).values(values)
    changed = {name: statement.excluded[name] for name in values if name != "posting_id"}
    upsert = statement.on_conflict_do_update(index_elements=["posting_id"], set_=changed)
    return upsert.returning(search_documents.c.posting_id, search_documents.c.number)


@cache
def _upsert_card(dialect: str) -> Any:
    statement = insert_for(dialect, search_cards)
    return statement.on_conflict_do_update(index_elements=["number"], set_={"card": statement.excluded.card})


def _row(document: SearchDocument) -> dict[str, Any]:
    return {
        "posting_id": document.id,
        "source_id": document.source_id,
        "country_iso": document.country_iso,
        "level_norm": document.level_norm,
        "work_modality": document.work_modality,
        "career_type": document.career_type,
        "international_eligible": document.international_eligible,
        "language": document.language,
        "mission_tags": "|" + "".join(f"{tag}|" for tag in document.mission_tags),
        "org_name": document.org_name,
        "org_key": name_key(document.org_name),
        "deadline": document.deadline,
        "newest_at": document.newest_at,
        "closed_at": document.closed_at,
    }


def vector_of(fields: Sequence[str]) -> str:
    """Folded words as a `tsvector` is written: their places, and how much each field weighs.

    Written by us and not by `to_tsvector`, whose parser takes some words for hosts, numbers or parts of both.
    """
    places: dict[str, list[str]] = {}
    position = 1
    for weight, field in zip(_WEIGHTS, fields, strict=True):
        for word in field.split():
            places.setdefault(word, []).append(f"{min(position, _LAST_POSITION)}{weight}")
            position += 1
        position += _APART
    return " ".join(f"'{word}':{','.join(found)}" for word, found in places.items())
