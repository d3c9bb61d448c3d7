"""The tables of search, and the statements that fill and query them. The outbox fills them, no trigger does.

On SQLite, words are in a separate FTS5 table with the same row numbers; on PostgreSQL, in a `tsvector` column. Both get
words that are folded already: see `rules/search/terms`. A search reads and never writes. What people typed reaches SQL
as folded words only, and as parameters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final, NamedTuple
from uuid import UUID

from sqlalchemy import (
    DDL,
    REAL,
    Boolean,
    Column,
    ColumnElement,
    Connection,
    Double,
    ForeignKey,
    Index,
    Row,
    Select,
    String,
    Table,
    Text,
    Uuid,
    and_,
    bindparam,
    case,
    cast,
    column,
    delete,
    event,
    func,
    insert,
    literal,
    literal_column,
    null,
    or_,
    select,
    table,
    text,
)
from sqlalchemy.dialects.postgresql import TSVECTOR

from comity.database.dialects import insert_for
from comity.database.sources.tables import job_postings
from comity.database.tables import metadata
from comity.database.types import JsonDocument, RowNumber, UtcDateTime, written_at
from comity.model.search import FacetCount, SearchDocument, SearchPosition, SearchSort, card_of, document_from
from comity.rules.search.query import facet_counts
from comity.rules.search.terms import SearchPlan, Term, fields_of, name_key

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

# A posting as results show it.
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
_FIELD_WEIGHTS: Final = "ABCD"
_FIELD_GAP: Final = 50  # positions between two fields, so that no phrase spans both
_LAST_POSITION: Final = 16_383  # PostgreSQL counts no further
_DOCUMENT: Final = search_documents.c
# The title before the organisation, before place and tags, before the description.
_BM25: Final[ColumnElement[float]] = literal_column("bm25(search_words, 10.0, 5.0, 3.0, 1.0)")
_WEIGHTS: Final[ColumnElement[Any]] = literal_column("'{0.1, 0.3, 0.5, 1.0}'::float4[]")  # the title's is the last
_NEVER: Final = datetime(9999, 1, 1, tzinfo=UTC)
_NOTHING: Final[ColumnElement[Any]] = literal_column("''")
_APART: Final = "\x1f"  # no text of ours holds a control character
_PLAIN_FILTERS: Final = ("country_iso", "level_norm", "work_modality", "career_type", "language")


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
    for weight, field in zip(_FIELD_WEIGHTS, fields, strict=True):
        for word in field.split():
            places.setdefault(word, []).append(f"{min(position, _LAST_POSITION)}{weight}")
            position += 1
        position += _FIELD_GAP
    return " ".join(f"'{word}':{','.join(found)}" for word, found in places.items())


def places(
    connection: Connection,
    plan: SearchPlan,
    now: datetime,
    *,
    limit: int,
    offset: int = 0,
    after: SearchPosition | None = None,
) -> Sequence[Row[Any]]:
    """A part of what matches, in order: the number of each posting, and what it is sorted by."""
    rank = _rank(connection, plan) if plan.sort is SearchSort.RELEVANCE else null()
    by = _SortColumns(_DOCUMENT.newest_at, _DOCUMENT.posting_id, _DOCUMENT.deadline, rank)
    keys = (by.newest_at, by.posting_id, by.deadline, by.rank.label("rank"))
    statement = _matching(connection, plan, now, [_DOCUMENT.number, *keys])
    if after is not None:
        if plan.sort is SearchSort.RELEVANCE:
            # SQLite computes a rank where it is selected, but not where it is compared.
            found = statement.cte("found").prefix_with("MATERIALIZED").c
            statement = select(*found)
            by = _SortColumns(found.newest_at, found.posting_id, found.deadline, found.rank)
        statement = statement.where(_after(connection, by, after))
    statement = statement.order_by(*_order(connection, plan, by)).limit(limit)
    return connection.execute(statement.offset(offset) if offset else statement).all()


def documents(connection: Connection, chosen: Sequence[int]) -> list[SearchDocument]:
    """Some postings as results show them, in the order of the ids."""
    if not chosen:
        return []
    rows = connection.execute(select(search_cards).where(search_cards.c.number.in_(chosen)))
    found = {row.number: document_from(row.card) for row in rows}
    return [found[number] for number in chosen if number in found]


def texts(connection: Connection, posting_ids: Collection[UUID]) -> dict[UUID, str]:
    """The whole descriptions of some postings."""
    columns = (job_postings.c.id, job_postings.c.description_text)
    rows = connection.execute(select(*columns).where(job_postings.c.id.in_(posting_ids)))
    return {row.id: row.description_text for row in rows}


def count(connection: Connection, plan: SearchPlan, now: datetime) -> int:
    """How many postings match."""
    return int(connection.execute(_matching(connection, plan, now, [func.count()])).scalar_one())


def facets(
    connection: Connection, plan: SearchPlan, now: datetime, names: Sequence[str]
) -> tuple[int, dict[str, tuple[FacetCount, ...]]]:
    """How many postings match, and how many of them have each value of each facet."""
    if connection.dialect.name == "postgresql":
        total, counts = _grouped(connection, plan, now, [_DOCUMENT[name] for name in names])
    else:
        total, counts = _listed(connection, plan, now, [_DOCUMENT[name] for name in names])
    return total, {name: facet_counts(name, counter) for name, counter in zip(names, counts, strict=True)}


def _listed(
    connection: Connection, plan: SearchPlan, now: datetime, columns: Sequence[ColumnElement[Any]]
) -> tuple[int, list[Counter[Any]]]:
    """One pass, with all values of a facet in one text: SQLite would sort the result once for every facet."""
    lists = [func.group_concat(func.ifnull(column, _NOTHING), _APART) for column in columns]
    total, *texts = connection.execute(_matching(connection, plan, now, [func.count(), *lists])).one()
    return total, [Counter(text.split(_APART)) if text is not None else Counter() for text in texts]


def _grouped(
    connection: Connection, plan: SearchPlan, now: datetime, columns: Sequence[ColumnElement[Any]]
) -> tuple[int, list[Counter[Any]]]:
    sets = func.grouping_sets(*columns, literal_column("()"))
    which = func.grouping(*columns).label("which")
    statement = _matching(connection, plan, now, [which, func.count().label("found"), *columns]).group_by(sets)
    counts: list[Counter[Any]] = [Counter() for _ in columns]
    total, every = 0, (1 << len(columns)) - 1
    for row in connection.execute(statement):
        if row.which == every:
            total = row.found
            continue
        # The one bit that is not set, from the left, is the facet that this row counts.
        index = len(columns) - (every ^ row.which).bit_length()
        counts[index][row[2 + index]] = row.found
    return total, counts


def _matching(connection: Connection, plan: SearchPlan, now: datetime, columns: Sequence[Any]) -> Select[Any]:
    """Everything that matches, to select columns from."""
    conditions = _filters(plan, now)
    terms = plan.terms
    if connection.dialect.name == "postgresql":
        if terms.wanted or terms.unwanted:
            conditions.append(_DOCUMENT.words.op("@@")(_tsquery(plan)))
        return select(*columns).select_from(search_documents).where(*conditions)
    if terms.wanted:
        # The plus keeps SQLite from looking up the words of each document in turn.
        joined = search_words.join(search_documents, literal_column("+search_words.rowid") == _DOCUMENT.number)
        conditions.append(_fts_match(_fts_text(plan)))
        return select(*columns).select_from(joined).where(*conditions)
    if terms.unwanted:
        unwanted = select(search_words.c.rowid).where(_fts_match(_fts_any(terms.unwanted)))
        conditions.append(_DOCUMENT.number.not_in(unwanted))
    return select(*columns).select_from(search_documents).where(*conditions)


def _filters(plan: SearchPlan, now: datetime) -> list[ColumnElement[bool]]:
    values = dict(plan.values)
    found: list[ColumnElement[bool]] = [_DOCUMENT[name].in_(values[name]) for name in _PLAIN_FILTERS if name in values]
    if "org_name" in values:
        found.append(_DOCUMENT.org_key.in_(values["org_name"]))
    if plan.tags:
        found.append(or_(*(_DOCUMENT.mission_tags.contains(f"|{tag}|", autoescape=True) for tag in plan.tags)))
    if plan.source_id:
        found.append(_DOCUMENT.source_id.in_(plan.source_id))
    if plan.international_eligible is not None:
        found.append(_DOCUMENT.international_eligible.is_(plan.international_eligible))
    if plan.deadline_after is not None:
        found.append(_DOCUMENT.deadline >= plan.deadline_after)
    if plan.deadline_before is not None:
        found.append(_DOCUMENT.deadline <= plan.deadline_before)
    if plan.since is not None:
        found.append(_DOCUMENT.newest_at >= plan.since)
    if plan.open_only:
        # Not "IS NULL OR …": for that SQLite would look up nearly every row by an index, one by one.
        deadline = func.coalesce(_DOCUMENT.deadline, literal(_NEVER, UtcDateTime()), type_=UtcDateTime())
        found.append(and_(_DOCUMENT.closed_at.is_(None), deadline >= now))
    return found


class _SortColumns(NamedTuple):
    newest_at: ColumnElement[Any]
    posting_id: ColumnElement[Any]
    deadline: ColumnElement[Any]
    rank: ColumnElement[Any]


def _rank(connection: Connection, plan: SearchPlan) -> ColumnElement[Any]:
    if connection.dialect.name == "postgresql":
        return func.ts_rank_cd(_WEIGHTS, _DOCUMENT.words, _tsquery(plan), type_=REAL())
    return _BM25  # the less, the better


def _order(connection: Connection, plan: SearchPlan, by: _SortColumns) -> list[ColumnElement[Any]]:
    newest = [by.newest_at.desc(), by.posting_id]
    if plan.sort is SearchSort.DEADLINE:
        return [case((by.deadline.is_(None), 1), else_=0), by.deadline, *newest]
    if plan.sort is SearchSort.RELEVANCE:
        return [by.rank.desc() if connection.dialect.name == "postgresql" else by.rank, *newest]
    return newest


def _after(connection: Connection, by: _SortColumns, last: SearchPosition) -> ColumnElement[bool]:
    """The rows after a position, in the order of `_order`; the first comparison allows the use of an index."""
    at = literal(last.newest_at, UtcDateTime())
    newest = and_(by.newest_at <= at, or_(by.newest_at < at, by.posting_id > literal(last.posting_id, Uuid())))
    if last.sort is SearchSort.DEADLINE:
        if last.deadline is None:
            return and_(by.deadline.is_(None), newest)
        until = literal(last.deadline, UtcDateTime())
        return or_(by.deadline > until, and_(by.deadline == until, newest), by.deadline.is_(None))
    if last.sort is SearchSort.RELEVANCE:
        rank: ColumnElement[Any] = literal(last.rank, Double())
        if connection.dialect.name == "postgresql":
            rank = cast(rank, REAL())  # of four bytes, as the ranks are
            return or_(by.rank < rank, and_(by.rank == rank, newest))
        return or_(by.rank > rank, and_(by.rank == rank, newest))
    return newest


def _fts_match(text: str) -> ColumnElement[bool]:
    matches: ColumnElement[bool] = literal_column("search_words").op("MATCH", is_comparison=True)(bindparam(None, text))
    return matches


def _fts_text(plan: SearchPlan) -> str:
    """The query in the syntax of FTS5; folded words contain no character that is special there."""
    wanted = " AND ".join(_fts_term(term) for term in plan.terms.wanted)
    unwanted = plan.terms.unwanted
    return f"({wanted}) NOT ({_fts_any(unwanted)})" if unwanted else wanted


def _fts_any(terms: Sequence[Term]) -> str:
    return " OR ".join(_fts_term(term) for term in terms)


def _fts_term(term: Term) -> str:
    star = "*" if term.is_prefix else ""
    return "(" + " OR ".join(f'"{" ".join(run)}"{star}' for run in term.runs) + ")"


def _tsquery(plan: SearchPlan) -> ColumnElement[Any]:
    from sqlalchemy.dialects.postgresql import TSQUERY

    parts = [_ts_term(term) for term in plan.terms.wanted]
    parts += [f"!{_ts_term(term)}" for term in plan.terms.unwanted]
    return cast(bindparam(None, " & ".join(parts)), TSQUERY)


def _ts_term(term: Term) -> str:
    star = ":*" if term.is_prefix else ""
    runs = (" <-> ".join(f"'{word}'" for word in run) + star for run in term.runs)
    return "(" + " | ".join(f"({run})" for run in runs) + ")"
