"""Statements of a backfill that compare the sums of an old log with `domains`, and raise `domains` to them.

The sums wait in work tables of their own, beside a note of how far the reading has come, so that an interrupted
backfill goes on where it stopped. They are no part of the schema: made when a backfill begins, dropped when it is
done; a dry run has temporary ones, which no other session sees.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
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
    Text,
    bindparam,
    func,
    insert,
    inspect,
    or_,
    select,
    text,
    update,
)

from comity.database.dialects import insert_into, named_in
from comity.database.priorities import score
from comity.database.tables import domains
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
# A temporary table hides one that is kept under the same name: the statements are the same for both.
run: Final = _KEPT.tables["backfill_run"]
staged: Final = _KEPT.tables["backfill_hosts"]
spellings: Final = _KEPT.tables["backfill_spellings"]


def begin(
    connection: Connection, token: str, notes: Mapping[str, Any], *, anew: bool, temporary: bool
) -> dict[str, Any] | None:
    """Take a backfill over, and give its notes; or make the tables for a new one, with these notes, and give None.

    One that stopped is gone on with if it began under the same `terms`; any other process finds the token changed.
    """
    if not temporary:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        found = connection.execute(select(run.c.notes)).scalar() if inspect(connection).has_table(run.name) else None
        if found is not None and not anew and found.get("terms") == notes["terms"]:
            connection.execute(update(run).values(token=token))
            return dict(found)
        _KEPT.drop_all(connection)
    (_TEMPORARY if temporary else _KEPT).create_all(connection, checkfirst=False)
    connection.execute(insert(run).values(id=1, token=token, notes=dict(notes)))
    return None


def note(connection: Connection, token: str, notes: Mapping[str, Any]) -> bool:
    """Write down how far we are; False, and nothing may be written, if another backfill took over or ended this one."""
    if not inspect(connection).has_table(run.name):
        return False
    return connection.execute(update(run).where(run.c.token == token).values(notes=dict(notes))).rowcount == 1


def end(connection: Connection, *, temporary: bool) -> None:
    """Drop the work tables."""
    (_TEMPORARY if temporary else _KEPT).drop_all(connection, checkfirst=not temporary)


def undecided_after(connection: Connection, after: str, limit: int) -> Sequence[Row[Any]]:
    """Hosts with sums that nothing was decided about yet, in the order of their names."""
    return connection.execute(
        select(staged).where(staged.c.result.is_(None), staged.c.host > after).order_by(staged.c.host).limit(limit)
    ).all()


def rows_of(
    connection: Connection, hosts: Collection[str], now: datetime | None, *, keep_still: bool
) -> dict[str, Any]:
    """What the table says of hosts, locked until the transaction ends; rows that another process holds are missing."""
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
    """Set the counters, rates and times of rows that are kept still; nothing else of them is touched."""
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
    """Write down what became of hosts, with a remark."""
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
