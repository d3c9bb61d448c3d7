"""Statements of a backfill: sum the log of older crawls by host, compare that with `domains`, raise its counters.

The sums are in work tables, with a note of how far the log was read, so that an interrupted backfill continues
where it stopped. They are not part of the schema: a backfill makes them when it begins and drops them when it is done;
a dry run uses temporary ones, which no other session sees. The log (`fetches` and `provenance`) is read in ranges of
row numbers, or of names, so a statement reads a bounded part of it however long it is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    Index,
    Integer,
    MetaData,
    Row,
    String,
    Table,
    TableClause,
    Text,
    and_,
    bindparam,
    case,
    column,
    delete,
    func,
    insert,
    inspect,
    literal,
    not_,
    or_,
    select,
    table,
    text,
    union_all,
    update,
)

from comity.database.dialects import insert_into, named_in
from comity.database.hosts import score
from comity.database.records import OF_NO_CRAWL
from comity.database.tables import domains, fetches
from comity.database.types import JsonDocument, UtcDateTime, instant
from comity.model.host import HostStatus
from comity.rules.priority import PriorityWeights

# What is compared: a counter of `domains`, and the evidence for it under the same name.
COUNTERS: Final = (
    "pages_discovered",
    "pages_crawled",
    "images_found",
    "images_stored",
    "total_error_count",
    "crawl_depth_reached",
)
LONGEST_NAME: Final = 260
_LOCK: Final = 0x6261636B66696C6C  # "backfill", as a PostgreSQL advisory lock
SUMMED: Final = (
    "fetch_rows",
    "pages_discovered",
    "pages_crawled",
    "images_found",
    "total_error_count",
    "refusals",
    "logins_asked",
    "rate_limits",
    "server_errors",
    "unanswered",
)
_CAME: Final = ("fetched", "not_modified")
_WENT_WRONG: Final = ("gone", "rate_limited", "rejected", "failed", "refused")
_LONGEST_ORIGIN: Final = 400
_OLDER: Final = "older_provenance"  # what a migration calls the table of that name that an older crawl left


def _work_tables(prefixes: list[str]) -> MetaData:
    work = MetaData()
    Table(
        "backfill_run",
        work,
        Column("id", Integer(), primary_key=True, autoincrement=False),
        Column("token", String(32), nullable=False),
        Column("notes", JsonDocument, nullable=False),
        prefixes=prefixes,
    )
    Table(
        "backfill_hosts",
        work,
        Column("host", String(LONGEST_NAME), primary_key=True),
        Column("parent_domain", String(LONGEST_NAME)),
        *(Column(name, BigInteger(), nullable=False, server_default=text("0")) for name in SUMMED),
        Column("crawl_depth_reached", Integer(), nullable=False, server_default=text("0")),
        Column("images_stored", BigInteger(), nullable=False, server_default=text("0")),
        Column("first_at", UtcDateTime()),
        Column("last_at", UtcDateTime()),
        Column("result", String(20)),
        Column("detail", Text()),
        prefixes=prefixes,
    )
    Table(
        "backfill_spellings",
        work,
        Column("kind", String(10), primary_key=True),
        Column("spelling", String(LONGEST_NAME), primary_key=True),
        Column("host", String(LONGEST_NAME), nullable=False),
        Index("idx_backfill_spellings_host", "kind", "host"),
        prefixes=prefixes,
    )
    return work


_KEPT: Final = _work_tables([])
_TEMPORARY: Final = _work_tables(["TEMPORARY"])
# A temporary table hides a permanent one of the same name: the statements are the same for both.
run: Final = _KEPT.tables["backfill_run"]
staged: Final = _KEPT.tables["backfill_hosts"]
spellings: Final = _KEPT.tables["backfill_spellings"]


def begin(
    connection: Connection, token: str, notes: Mapping[str, Any], *, restart: bool, temporary: bool
) -> dict[str, Any] | None:
    """Take over an interrupted backfill and return its notes; or make the tables for a new one and return None.

    An interrupted backfill is continued if it began with the same `terms`; its old process finds the token changed.
    """
    if not temporary:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        found = connection.execute(select(run.c.notes)).scalar() if inspect(connection).has_table(run.name) else None
        if found is not None and not restart and found.get("terms") == notes["terms"]:
            connection.execute(update(run).values(token=token))
            return dict(found)
        _KEPT.drop_all(connection)
    (_TEMPORARY if temporary else _KEPT).create_all(connection, checkfirst=False)
    connection.execute(insert(run).values(id=1, token=token, notes=dict(notes)))
    return None


def note(connection: Connection, token: str, notes: Mapping[str, Any]) -> bool:
    """Store the progress; False, and nothing may be written, if another backfill took over or ended this one."""
    if not inspect(connection).has_table(run.name):
        return False
    return connection.execute(update(run).where(run.c.token == token).values(notes=dict(notes))).rowcount == 1


def end(connection: Connection, *, temporary: bool) -> None:
    """Drop the work tables."""
    (_TEMPORARY if temporary else _KEPT).drop_all(connection, checkfirst=not temporary)


def undecided_after(connection: Connection, after: str, limit: int) -> Sequence[Row[Any]]:
    """Hosts with sums that are not yet compared, ordered by name."""
    return connection.execute(
        select(staged).where(staged.c.result.is_(None), staged.c.host > after).order_by(staged.c.host).limit(limit)
    ).all()


def rows_of(
    connection: Connection, hosts: Collection[str], now: datetime | None, *, keep_still: bool
) -> dict[str, Any]:
    """The rows of hosts, locked until the transaction ends; rows that another process has locked are missing."""
    leased = func.coalesce(domains.c.claim_expires_at > instant(connection, now), False)
    columns: list[ColumnElement[Any]] = [
        domains.c[name] for name in ("id", "domain", "status", "claimed_by", "last_crawled_at", *COUNTERS)
    ]
    statement = select(*columns, leased.label("is_leased")).where(
        named_in(connection.dialect.name, domains.c.domain, "hosts")
    )
    if keep_still and connection.dialect.name == "postgresql":
        statement = statement.with_for_update(skip_locked=True)
    return {row.domain: row for row in connection.execute(statement, {"hosts": list(hosts)})}


def known_otherwise(connection: Connection, hosts: Collection[str]) -> dict[str, str]:
    """Those of the hosts that `domains` has under another name, or that are themselves such a name."""
    dialect = connection.dialect.name
    found = connection.execute(
        select(spellings.c.spelling, spellings.c.host).where(
            spellings.c.kind == "domains",
            or_(named_in(dialect, spellings.c.host, "hosts"), named_in(dialect, spellings.c.spelling, "hosts")),
        ),
        {"hosts": list(hosts)},
    ).all()
    return {row.host: row.spelling for row in found} | {row.spelling: row.host for row in found}


def insert_hosts(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> set[str]:
    """Give hosts their first row; those that another process added meanwhile are missing from the answer."""
    if not rows:
        return set()
    statement = insert_into(connection, domains).on_conflict_do_nothing(index_elements=["domain"])
    return set(connection.execute(statement.returning(domains.c.domain), list(rows)).scalars())


def raise_counters(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Set the counters, rates and times of rows that are locked; their other columns stay."""
    if rows:
        values: dict[str, Any] = {name: bindparam(f"new_{name}") for name in rows[0] if name != "id"}
        statement = update(domains).where(domains.c.id == bindparam("host_id"))
        connection.execute(
            statement.values(**values, version=domains.c.version + 1),
            [
                {"host_id": row["id"]} | {f"new_{name}": value for name, value in row.items() if name != "id"}
                for row in rows
            ],
        )


def score_hosts(connection: Connection, hosts: Collection[str], weights: PriorityWeights, now: datetime | None) -> None:
    """Compute the priority of hosts whose counters changed; a cooldown decides about the others, not merit."""
    if hosts:
        statement = (
            update(domains)
            .where(
                named_in(connection.dialect.name, domains.c.domain, "hosts"),
                domains.c.status.not_in([HostStatus.BLOCKED, HostStatus.UNREACHABLE]),
            )
            .values(priority_score=score(connection, weights, now), priority_computed_at=instant(connection, now))
        )
        connection.execute(statement, {"hosts": list(hosts)})


def decide(connection: Connection, results: Mapping[str, tuple[str, str | None]]) -> None:
    """Store the result for hosts, with a remark."""
    if results:
        statement = update(staged).where(staged.c.host == bindparam("name"))
        connection.execute(
            statement.values(result=bindparam("what"), detail=bindparam("why")),
            [{"name": host, "what": result, "why": detail} for host, (result, detail) in results.items()],
        )


def number_of_undecided(connection: Connection) -> int:
    """How many hosts are still to be compared."""
    waiting = select(func.count()).select_from(staged).where(staged.c.result.is_(None))
    return connection.execute(waiting).scalar_one()


def fetch_bounds(connection: Connection) -> tuple[int, int] | None:
    """The first and last row number; None without rows."""
    low, high = connection.execute(select(func.min(fetches.c.id), func.max(fetches.c.id))).one()
    return None if low is None else (low, high)


def next_fetch(connection: Connection, at_least: int) -> int | None:
    """The first row number from a place on: gaps cost nothing."""
    return connection.execute(select(func.min(fetches.c.id)).where(fetches.c.id >= at_least)).scalar()


def sums_of_fetches(connection: Connection, first: int, last: int) -> Sequence[Row[Any]]:
    """The rows of a range of numbers, summed by the origin of their URL and the host that they are tied to.

    A page that came, and an error, are what settling counts as such; a row of an older log, whose `outcome` may be any
    word, goes by its status. Pages discovered are URLs: only the first row of each counts. A page that was requested
    again counts once, and so do its images.
    """
    row = fetches.alias("row")
    earlier = fetches.alias("earlier")
    is_earlier = (earlier.c.url_key == row.c.url_key) & (earlier.c.id < row.c.id)
    again = select(1).where(is_earlier, earlier.c.discovery_type.not_in(OF_NO_CRAWL)).correlate(row).exists()
    status = func.coalesce(row.c.status, 0)
    error = or_(status >= 400, row.c.outcome.in_(_WENT_WRONG))
    crawled = not_(error) & or_(status > 0, row.c.outcome.in_(_CAME))
    is_refresh = row.c.discovery_type == "refresh"
    grouped = (
        select(
            row.c.domain_id,
            _origin(connection, row.c.page_url).label("origin"),
            func.count().label("fetch_rows"),
            _number_of(not_(again)).label("pages_discovered"),
            _number_of(crawled & ~is_refresh).label("pages_crawled"),
            func.sum(case((is_refresh, 0), else_=row.c.images_found)).label("images_found"),
            _number_of(error).label("total_error_count"),
            _number_of(status >= 400).label("refusals"),
            _number_of(status == 401).label("logins_asked"),
            _number_of(status == 429).label("rate_limits"),
            _number_of(status >= 500).label("server_errors"),
            _number_of((row.c.outcome == "failed") & row.c.status.is_(None)).label("unanswered"),
            func.max(case((crawled, row.c.depth), else_=0)).label("crawl_depth_reached"),
            func.min(row.c.crawled_at, type_=UtcDateTime()).label("first_at"),
            func.max(row.c.crawled_at, type_=UtcDateTime()).label("last_at"),
        )
        .where(row.c.id.between(first, last), row.c.discovery_type.not_in(OF_NO_CRAWL))
        .group_by(row.c.domain_id, text("origin"))
        .subquery("grouped")
    )
    linked = domains.c.domain.label("linked")
    return connection.execute(
        select(grouped, linked).select_from(grouped.outerjoin(domains, domains.c.id == grouped.c.domain_id))
    ).all()


def add_sums(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Add sums of a range to those of the hosts."""
    if not rows:
        return
    statement = insert_into(connection, staged)
    new = statement.excluded
    added: dict[str, Any] = {name: staged.c[name] + new[name] for name in SUMMED}
    depth = staged.c.crawl_depth_reached
    added["crawl_depth_reached"] = case((new.crawl_depth_reached > depth, new.crawl_depth_reached), else_=depth)
    added["first_at"] = case((staged.c.first_at <= new.first_at, staged.c.first_at), else_=new.first_at)
    added["last_at"] = case((staged.c.last_at >= new.last_at, staged.c.last_at), else_=new.last_at)
    connection.execute(statement.on_conflict_do_update(index_elements=["host"], set_=added), list(rows))


def _origin(connection: Connection, url: ColumnElement[str]) -> ColumnElement[Any]:
    """A URL up to the first slash after `https://`: there are few of them, and each names one host."""
    url = func.ltrim(url)
    rest = func.substr(url, 9, _LONGEST_ORIGIN, type_=Text()).concat("/")
    place = func.strpos if connection.dialect.name == "postgresql" else func.instr
    return func.substr(url, 1, place(rest, "/") + 8, type_=Text())


def _number_of(condition: ColumnElement[bool]) -> ColumnElement[Any]:
    return func.sum(case((condition, 1), else_=0))


def provenance_lacks(connection: Connection) -> str | None:
    """Why images cannot be counted: there are none, or the table lacks a column. None if they can."""
    name = _name(connection)
    present = {each["name"] for each in inspect(connection).get_columns(name)}
    missing = sorted({"source_domain", "image_id"} - present)
    if missing:
        return f"{name} has no column {' and '.join(missing)}"
    is_empty = connection.execute(select(1).select_from(table(name)).limit(1)).first() is None
    return f"{name} is empty" if is_empty else None


def _name(connection: Connection) -> str:
    """The table that says which images came from where: what an older crawl left, or our own."""
    return _OLDER if inspect(connection).has_table(_OLDER) else "provenance"


def _provenance(connection: Connection) -> TableClause:
    return table(_name(connection), column("source_domain", Text()), column("image_id"))


def provenance_is_indexed(connection: Connection) -> bool:
    """Whether images can be looked up by host; otherwise one long query is better than many."""
    keys = [each["column_names"] for each in inspect(connection).get_indexes(_name(connection))]
    return any(names and names[0] == "source_domain" for names in keys)


def unnamed_images(connection: Connection) -> int:
    """Rows of `provenance` that name no host."""
    rows = _provenance(connection)
    unnamed = select(func.count()).select_from(rows).where(rows.c.source_domain.is_(None))
    return connection.execute(unnamed).scalar_one()


def image_hosts_after(connection: Connection, after: str | None, limit: int | None) -> Sequence[Row[Any]]:
    """The hosts as `provenance` names them, in their order, with the number of their rows."""
    name = _provenance(connection).c.source_domain
    statement = select(name, func.count().label("rows")).group_by(name).order_by(name)
    statement = statement.where(name.is_not(None) if after is None else name > after)
    return connection.execute(statement.limit(limit) if limit is not None else statement).all()


def add_spellings(connection: Connection, kind: str, pairs: Iterable[tuple[str, str]]) -> None:
    """Store the name that a table has for a host; kinds are `provenance` and `domains`."""
    rows = [{"kind": kind, "spelling": spelling, "host": host} for spelling, host in pairs]
    if rows:
        known = insert_into(connection, spellings).on_conflict_do_nothing(index_elements=["kind", "spelling"])
        connection.execute(known, rows)


def last_image_host(connection: Connection, after: str, limit: int | None) -> str | None:
    """The last of the next so many hosts that have images; None if there are no more."""
    following = select(spellings.c.host).distinct().where(spellings.c.kind == "provenance", spellings.c.host > after)
    if limit is not None:
        following = following.order_by(spellings.c.host).limit(limit)
    return connection.execute(select(func.max(following.subquery().c.host))).scalar()


def image_counts(connection: Connection, after: str, through: str) -> Sequence[Any]:
    """The number of different images of hosts, under all forms of their names."""
    rows = _provenance(connection)
    return connection.execute(
        select(spellings.c.host, func.count(rows.c.image_id.distinct()).label("images_stored"))
        .select_from(spellings.join(rows, rows.c.source_domain == spellings.c.spelling))
        .where(spellings.c.kind == "provenance", spellings.c.host > after, spellings.c.host <= through)
        .group_by(spellings.c.host)
    ).all()


def set_images(connection: Connection, counted: Sequence[Any]) -> None:
    """Put the images of hosts beside their fetches."""
    if counted:
        statement = insert_into(connection, staged)
        images = {"images_stored": statement.excluded.images_stored}
        connection.execute(
            statement.on_conflict_do_update(index_elements=["host"], set_=images),
            [dict(row._mapping) for row in counted],
        )


def forget_spellings(connection: Connection, kind: str) -> None:
    """Forget the names that a table has for its hosts, so that it is read again."""
    connection.execute(delete(spellings).where(spellings.c.kind == kind))


_beside = staged.join(domains, domains.c.domain == staged.c.host)
_beside_or_none = staged.outerjoin(domains, domains.c.domain == staged.c.host)


def totals(connection: Connection) -> Any:
    """How many hosts there are, and how many of them a backfill made."""
    return connection.execute(
        select(func.count().label("hosts"), _total_of(domains.c.source.startswith("backfill")).label("backfilled"))
    ).one()


def hosts_read(connection: Connection) -> Any:
    """How many hosts the fetches name, and how many the images."""
    return connection.execute(
        select(
            _total_of(staged.c.fetch_rows > 0).label("in_fetches"),
            _total_of(staged.c.images_stored > 0).label("in_provenance"),
        )
    ).one()


def results(connection: Connection) -> dict[str | None, int]:
    """The number of hosts by result; None stands for hosts that were locked by other processes throughout."""
    counted = select(staged.c.result, func.count()).group_by(staged.c.result)
    return {row[0]: row[1] for row in connection.execute(counted)}


def hosts_with(connection: Connection, result: str | None, limit: int) -> Sequence[Any]:
    """Some of the hosts with one result, with the remark on each."""
    which = staged.c.result.is_(None) if result is None else staged.c.result == result
    return connection.execute(
        select(staged.c.host, staged.c.detail).where(which).order_by(staged.c.host).limit(limit)
    ).all()


def gaps(connection: Connection) -> dict[str, tuple[int, int]]:
    """For every counter: how many hosts have less than the evidence, and how many have more.

    Hosts that a dry run would raise count as raised.
    """
    columns = []
    for name in COUNTERS:
        columns += [_total_of(_is_lower(name)).label(f"lower_{name}"), _total_of(_is_higher(name)).label(name)]
    row = connection.execute(select(*columns).select_from(_beside)).one()._mapping
    return {name: (row[f"lower_{name}"], row[name]) for name in COUNTERS}


def mismatches(connection: Connection, limit: int, *, without_images: bool) -> Sequence[Any]:
    """Some of the counters that do not agree with the evidence, the lower ones first."""
    parts = [
        select(
            staged.c.host,
            literal(name).label("counter"),
            domains.c[name].label("stored"),
            staged.c[name].label("evidence"),
        )
        .select_from(_beside)
        .where(or_(_is_lower(name), _is_higher(name)))
        for name in COUNTERS
        if not (without_images and name == "images_stored")
    ]
    found = union_all(*parts).subquery()
    lower_first = case((found.c.stored < found.c.evidence, 0), else_=1)
    return connection.execute(select(found).order_by(lower_first, found.c.host, found.c.counter).limit(limit)).all()


def missing(connection: Connection) -> int:
    """How many hosts with fetches have no row; those that a dry run would make are not missing."""
    lacking = select(func.count()).select_from(_beside_or_none).where(_has_no_row(), staged.c.fetch_rows > 0)
    return connection.execute(lacking).scalar_one()


def orphaned_images(connection: Connection) -> Any:
    """Hosts that only images name, and how many images those are: nothing was fetched there that we know of."""
    return connection.execute(
        select(func.count().label("hosts"), func.coalesce(func.sum(staged.c.images_stored), 0).label("images"))
        .select_from(_beside_or_none)
        .where(_has_no_row(), staged.c.fetch_rows == 0)
    ).one()


def hosts_without_fetches(connection: Connection) -> int:
    """Hosts whose pages were counted, but without a stored fetch of a page."""
    evidence = select(staged.c.host).where(staged.c.host == domains.c.domain, staged.c.fetch_rows > 0)
    counted = select(func.count()).select_from(domains).where(domains.c.pages_crawled > 0, ~evidence.exists())
    return connection.execute(counted).scalar_one()


def backfilled_by_status(connection: Connection) -> Sequence[Any]:
    """The hosts that a backfill made, by their status, with what they gave on average."""
    return connection.execute(
        select(
            domains.c.status,
            func.count().label("hosts"),
            func.avg(domains.c.image_yield_rate).label("average_yield"),
            func.avg(domains.c.pages_crawled).label("average_pages"),
        )
        .where(domains.c.source.startswith("backfill"))
        .group_by(domains.c.status)
        .order_by(domains.c.status)
    ).all()


def _is_lower(name: str) -> ColumnElement[bool]:
    return and_(domains.c[name] < staged.c[name], staged.c.result.is_distinct_from("raised"))


def _is_higher(name: str) -> ColumnElement[bool]:
    return and_(domains.c[name] > staged.c[name], staged.c.fetch_rows > 0)


def _has_no_row() -> ColumnElement[bool]:
    return and_(domains.c.id.is_(None), staged.c.result.is_distinct_from("created"))


def _total_of(condition: ColumnElement[bool]) -> ColumnElement[Any]:
    return func.coalesce(func.sum(case((condition, 1), else_=0)), 0)
