"""Statements that read what older crawls left, in `fetches` and in `provenance`, and sum it host by host.

Reading is in ranges of row numbers, or of names: however long the log is, a bounded part of it is looked at in a
statement. The sums go into the work tables of `backfilling`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    TableClause,
    Text,
    case,
    column,
    delete,
    func,
    inspect,
    not_,
    or_,
    select,
    table,
    text,
)

from comity.database.backfill.writing import SUMMED, spellings, staged
from comity.database.dialects import insert_into
from comity.database.records import OF_NO_CRAWL
from comity.database.tables import domains, fetches
from comity.database.types import UtcDateTime

_CAME: Final = ("fetched", "not_modified")
_WENT_WRONG: Final = ("gone", "rate_limited", "rejected", "failed", "refused")
_LONGEST_ORIGIN: Final = 400
OLDER: Final = "older_provenance"  # what a migration calls the table of that name that an older crawl left


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
    word, goes by its status. Pages discovered are URLs: only the first row of each counts. A page that was asked for
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
    """A URL up to the first slash after `https://`: few spellings, and each names one host."""
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
    return OLDER if inspect(connection).has_table(OLDER) else "provenance"


def _provenance(connection: Connection) -> TableClause:
    return table(_name(connection), column("source_domain", Text()), column("image_id"))


def provenance_is_indexed(connection: Connection) -> bool:
    """Whether images can be asked for by host; otherwise one long look is better than many."""
    keys = [each["column_names"] for each in inspect(connection).get_indexes(_name(connection))]
    return any(names and names[0] == "source_domain" for names in keys)


def unnamed_images(connection: Connection) -> int:
    """Rows of `provenance` that name no host."""
    rows = _provenance(connection)
    unnamed = select(func.count()).select_from(rows).where(rows.c.source_domain.is_(None))
    return connection.execute(unnamed).scalar_one()


def image_hosts_after(connection: Connection, after: str | None, limit: int | None) -> Sequence[Row[Any]]:
    """The hosts as `provenance` spells them, in their order, with the number of their rows."""
    name = _provenance(connection).c.source_domain
    statement = select(name, func.count().label("rows")).group_by(name).order_by(name)
    statement = statement.where(name.is_not(None) if after is None else name > after)
    return connection.execute(statement.limit(limit) if limit is not None else statement).all()


def add_spellings(connection: Connection, kind: str, pairs: Iterable[tuple[str, str]]) -> None:
    """Remember that a table calls a host so; kinds are `provenance` and `domains`."""
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
    """The number of different images of hosts, under whatever spellings."""
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
    """Forget how a table calls its hosts: it is looked at anew."""
    connection.execute(delete(spellings).where(spellings.c.kind == kind))
