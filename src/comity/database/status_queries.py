"""Queries on the status of the whole state: claims, queues, throughput, what is due.

They run every few seconds during crawls, so each reads an index, or a bounded number of rows, however large
the tables are. Where an exact answer would read everything, the answer is an estimate and is called one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Connection, Row, case, func, literal, literal_column, or_, select, text

from comity.database.bulk import Decoding, placed, rows_of
from comity.database.leases.claims import OPEN
from comity.database.tables import ACTIVE_FIRST, CANDIDATE, crawl_runs, domains, fetches
from comity.database.types import UtcDateTime, from_seconds, instant
from comity.model.host import HostStatus

_LONGEST_S: Final = 10  # a status query may not take more of a server's time
MOST_COUNTED: Final = 100_000  # rows that are added up one by one
SAMPLED_ROWS: Final = 20_000
# A page may have been fetched this much earlier than those whose rows were written with it.
OUT_OF_ORDER: Final = timedelta(minutes=2)


class Estimate(NamedTuple):
    """A number, and whether it was counted."""

    number: int
    is_exact: bool


def bound(connection: Connection) -> None:
    """Limit the time of the statements of this transaction on a shared server."""
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"SET LOCAL statement_timeout = '{_LONGEST_S}s'"))
        # Every statement here was made for an index; without statistics the planner would read the tables instead.
        connection.execute(text("SET LOCAL enable_seqscan = off"))
        connection.execute(text("SET LOCAL jit = off"))


def answers(connection: Connection) -> None:
    """Check that the state can be reached and has its tables."""
    connection.execute(select(domains.c.id).limit(1)).first()


def moment(connection: Connection, now: datetime | None) -> datetime:
    """The time by the clock that rules the leases."""
    found: datetime = connection.execute(select(instant(connection, now))).scalar_one()
    return found


def claims(connection: Connection, now: datetime, limit: int) -> Sequence[Any]:
    """Holders of leases: how many, how many of them ran out, the first and the last end; all from an index."""
    ended = case((domains.c.claim_expires_at <= now, 1), else_=0)
    return connection.execute(
        select(
            domains.c.claimed_by,
            func.count().label("hosts"),
            func.sum(ended).label("expired"),
            func.min(domains.c.claim_expires_at, type_=UtcDateTime()).label("first_end"),
            func.max(domains.c.claim_expires_at, type_=UtcDateTime()).label("last_end"),
        )
        .where(domains.c.claimed_by.is_not(None))
        .with_hint(domains, "INDEXED BY idx_domains_claims", "sqlite")
        .group_by(domains.c.claimed_by)
        .order_by(func.count().desc(), domains.c.claimed_by)
        .limit(limit)
    ).all()


def claim_totals(connection: Connection, now: datetime) -> Row[Any]:
    """All leases: how many, and how many of them ran out."""
    ended = case((domains.c.claim_expires_at <= now, 1), else_=0)
    return connection.execute(
        select(func.count().label("hosts"), func.coalesce(func.sum(ended), 0).label("expired"))
        .where(domains.c.claimed_by.is_not(None))
        .with_hint(domains, "INDEXED BY idx_domains_lease_expiry", "sqlite")
    ).one()


def hosts_by_status(connection: Connection) -> dict[HostStatus, int]:
    """How many hosts there are of each status, from the index of statuses alone."""
    rows = connection.execute(
        select(domains.c.status, func.count().label("hosts"))
        .with_hint(domains, "INDEXED BY idx_domains_status", "sqlite")
        .group_by(domains.c.status)
    )
    return {row.status: row.hosts for row in rows}


def waiting_by_status(connection: Connection, now: datetime | None) -> dict[HostStatus, int]:
    """How many hosts of each status a worker would find now: seeded, due and not leased.

    Hosts that are free are counted by the index of the claim, less those that are not due; hosts whose lease ran out
    come on top.
    """
    moment = instant(connection, now)
    rank: ColumnElement[int] = literal_column(ACTIVE_FIRST)
    free = (
        select(rank.label("rank"), func.count().label("hosts"))
        .select_from(domains)
        .where(text(CANDIDATE))
        .with_hint(domains, "INDEXED BY idx_domains_discovery_candidates", "sqlite")
        .group_by(text("rank"))
    )
    ranks = connection.execute(free)
    found = Counter({HostStatus.PENDING if row.rank else HostStatus.ACTIVE: row.hosts for row in ranks})
    not_due = (
        select(domains.c.status, func.count().label("hosts"))
        .where(text(f"{CANDIDATE} AND next_crawl_after IS NOT NULL"), domains.c.next_crawl_after > moment)
        .with_hint(domains, "INDEXED BY idx_domains_not_due", "sqlite")
        .group_by(domains.c.status)
    )
    found.subtract({row.status: row.hosts for row in connection.execute(not_due)})
    expired = (
        select(domains.c.status, func.count().label("hosts"))
        .where(
            domains.c.claimed_by.is_not(None),
            domains.c.claim_expires_at <= moment,
            text(OPEN),
            or_(domains.c.next_crawl_after.is_(None), domains.c.next_crawl_after <= moment),
        )
        .with_hint(domains, "INDEXED BY idx_domains_lease_expiry", "sqlite")
        .group_by(domains.c.status)
    )
    found.update({row.status: row.hosts for row in connection.execute(expired)})
    return {status: hosts for status, hosts in found.items() if hosts > 0}


def frontier_size(connection: Connection, known: dict[HostStatus, int]) -> Estimate:
    """URLs that are queued, by what the hosts' rows say.

    Of very many hosts, those that are being crawled have most of the URLs, so they are all added up while they are not
    too many. The others are estimated from hosts in the order of their ids, which are random, so their names do not
    matter. Each row is read from the table itself, so their number is bounded.
    """
    active = known.get(HostStatus.ACTIVE, 0)
    others = sum(known.values()) - active
    if active + others <= MOST_COUNTED:
        total = func.coalesce(func.sum(domains.c.frontier_size), 0)
        return Estimate(int(connection.execute(select(total)).scalar_one()), is_exact=True)
    sample = select(domains.c.status, domains.c.frontier_size).order_by(domains.c.id).limit(SAMPLED_ROWS).subquery()
    is_active = sample.c.status == HostStatus.ACTIVE
    of_others, others_read = _sum_of(connection, select(sample.c.frontier_size).where(~is_active))
    if active <= MOST_COUNTED:
        crawled = select(domains.c.frontier_size).where(domains.c.status == HostStatus.ACTIVE).limit(MOST_COUNTED)
        crawled = crawled.with_hint(domains, "INDEXED BY idx_domains_status", "sqlite")
    else:
        crawled = select(sample.c.frontier_size).where(is_active)
    of_active, active_read = _sum_of(connection, crawled)
    scaled = of_active * active / max(active_read, 1) + of_others * others / max(others_read, 1)
    return Estimate(round(scaled), is_exact=False)


def _sum_of(connection: Connection, sizes: Any) -> tuple[int, int]:
    part = sizes.subquery()
    row = connection.execute(select(func.coalesce(func.sum(part.c.frontier_size), 0), func.count())).one()
    return int(row[0]), int(row[1])


class FetchMark(NamedTuple):
    """A place in `fetches`: the rows after it were written after a moment. `number` 0 is before all rows."""

    number: int
    last: int

    @property
    def rows(self) -> int:
        """How many rows follow, if no number was left out."""
        return self.last - self.number


class FetchTimes:
    """Finds places in `fetches` by time, with some twenty look-ups of the primary key each; caches them.

    Rows are nearly in the order of their times: numbers are given when a batch is settled.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.last = int(connection.execute(select(func.coalesce(func.max(fetches.c.id), 0))).scalar_one())
        self._known: dict[int, datetime] = {}
        self._seconds = Decoding(connection).seconds
        # Uses the driver directly: the dashboard of a new server makes a thousand look-ups.
        look = "SELECT id, crawled_at FROM fetches WHERE id <= ? ORDER BY id DESC LIMIT 1"
        self._look = placed(connection.dialect.name, look)

    def mark(self, since: datetime) -> FetchMark:
        """Where the fetches since a moment begin, found by halving between the nearest rows that are known."""
        high = min((number - 1 for number, at in self._known.items() if at >= since), default=self.last)
        low = max((number for number, at in self._known.items() if at < since and number <= high), default=0)
        while low < high:
            middle = (low + high + 1) // 2
            found = rows_of(self._connection, self._look, (middle,))
            if not found:
                low = middle  # the numbers begin later
                continue
            number, at = found[0][0], from_seconds(self._seconds(found[0][1]))
            assert at is not None
            self._known[number] = at
            if at < since:
                low = middle
            else:
                high = number - 1
        return FetchMark(low, self.last)


class FetchCount(NamedTuple):
    """Fetches of one outcome, with their bytes."""

    outcome: str
    fetches: int
    bytes_received: int


def fetched_since(connection: Connection, since: datetime) -> tuple[list[FetchCount], bool]:
    """Fetches since a moment by outcome, and whether that was counted.

    Of more than can be counted at once, the last ones are, and the others are taken to be like them.
    """
    times = FetchTimes(connection)
    mark = times.mark(since - OUT_OF_ORDER)
    first = max(mark.number, mark.last - MOST_COUNTED)
    is_exact = first == mark.number
    statement = (
        select(
            fetches.c.outcome,
            func.count().label("fetches"),
            func.coalesce(func.sum(fetches.c.bytes_received), 0).label("bytes"),
        )
        .where(fetches.c.id > first)
        .group_by(fetches.c.outcome)
        .order_by(fetches.c.outcome)
    )
    if is_exact:
        statement = statement.where(fetches.c.crawled_at > since)
    rows = [FetchCount(row.outcome, row.fetches, int(row.bytes)) for row in connection.execute(statement)]
    if is_exact:
        return rows, True
    scale = times.mark(since).rows / max(1, sum(row.fetches for row in rows))
    return [
        FetchCount(row.outcome, round(row.fetches * scale), round(row.bytes_received * scale)) for row in rows
    ], False


def last_errors(connection: Connection, since: datetime, looked_at: int) -> Sequence[Any]:
    """What went wrong since a moment among the last fetches, newest first."""
    last = select(func.coalesce(func.max(fetches.c.id), 0)).scalar_subquery()
    return connection.execute(
        select(fetches.c.domain, fetches.c.page_url, fetches.c.error, fetches.c.crawled_at)
        .where(fetches.c.id > last - looked_at, fetches.c.error.is_not(None), fetches.c.crawled_at > since)
        .order_by(fetches.c.id.desc())
    ).all()


def last_errors_of(connection: Connection, host: str, looked_at: int) -> Sequence[Any]:
    """What went wrong among the last fetches of a host, newest first."""
    column = fetches.c
    last = (
        select(column.domain, column.page_url, column.error, column.crawled_at)
        .where(column.domain == host)
        .order_by(column.crawled_at.desc())
        .limit(looked_at)
        .subquery()
    )
    statement = select(last).where(last.c.error.is_not(None)).order_by(last.c.crawled_at.desc())
    return connection.execute(statement).all()


def due_next(connection: Connection, now: datetime, limit: int) -> Sequence[Any]:
    """Hosts whose cooldown or pause ends next."""
    column = domains.c
    return connection.execute(
        select(column.domain, column.status, column.block_reason_code, column.next_crawl_after)
        .where(column.next_crawl_after > literal(now, UtcDateTime()))
        .with_hint(domains, "INDEXED BY idx_domains_next_crawl", "sqlite")
        .order_by(column.next_crawl_after)
        .limit(limit)
    ).all()


def last_runs(connection: Connection, limit: int) -> Sequence[Any]:
    """The runs that began last, newest first."""
    column = crawl_runs.c
    return connection.execute(
        select(
            column.id,
            column.holder,
            column.status,
            column.end_reason,
            column.end_detail,
            column.started_at,
            column.ended_at,
            column.pages_crawled,
            column.pages_failed,
            column.bytes_received,
            column.settings["lease_minutes"].as_float().label("lease_minutes"),
        )
        .where(column.door == "crawl")  # runs of sources are many, and have a log of their own
        .order_by(column.started_at.desc())
        .limit(limit)
    ).all()
