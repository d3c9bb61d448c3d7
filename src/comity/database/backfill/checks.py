"""Statements that check a backfill: the sums of the old log against `domains`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, case, func, literal, or_, select, union_all

from comity.database.backfill.writing import COUNTERS, staged
from comity.database.tables import domains

_beside = staged.join(domains, domains.c.domain == staged.c.host)
_beside_or_none = staged.outerjoin(domains, domains.c.domain == staged.c.host)


def totals(connection: Connection) -> Any:
    """How many hosts there are, and how many of them a backfill made."""
    return connection.execute(
        select(func.count().label("hosts"), _number_of(domains.c.source.startswith("backfill")).label("backfilled"))
    ).one()


def hosts_read(connection: Connection) -> Any:
    """How many hosts the fetches name, and how many the images."""
    return connection.execute(
        select(
            _number_of(staged.c.fetch_rows > 0).label("in_fetches"),
            _number_of(staged.c.images_stored > 0).label("in_provenance"),
        )
    ).one()


def results(connection: Connection) -> dict[str | None, int]:
    """How many hosts came to what; None stands for those that were being written to all the time."""
    counted = select(staged.c.result, func.count()).group_by(staged.c.result)
    return {row[0]: row[1] for row in connection.execute(counted)}


def hosts_with(connection: Connection, result: str | None, limit: int) -> Sequence[Any]:
    """Some of the hosts that came to one result, with the remark on each."""
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
        columns += [_number_of(_is_lower(name)).label(f"lower_{name}"), _number_of(_is_higher(name)).label(name)]
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
    """Hosts whose pages were counted, but of whose pages no fetch is kept."""
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


def _number_of(condition: ColumnElement[bool]) -> ColumnElement[Any]:
    return func.coalesce(func.sum(case((condition, 1), else_=0)), 0)
