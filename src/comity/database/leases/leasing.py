"""Statements on `domains` that claim, renew and release leases.

Each has the lease's token in its WHERE: a late write finds no row and changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final
from uuid import UUID

from sqlalchemy import (
    ClauseElement,
    ColumnElement,
    Connection,
    Integer,
    Row,
    Select,
    Update,
    bindparam,
    case,
    func,
    literal,
    literal_column,
    or_,
    select,
    text,
    update,
)
from sqlalchemy.exc import IntegrityError

from comity.database.bulk import Encoding, driver_text, rows_of, run_for_each
from comity.database.leases.claims import OPEN, ClaimKind, claim_statement, parameters, take_statement
from comity.database.tables import CANDIDATE, domains
from comity.database.triggers import is_illegal_move
from comity.database.types import UtcDateTime, from_seconds, instant, to_seconds
from comity.model.errors import IllegalTransition
from comity.model.gate import GateMemory
from comity.model.host import HostEnding, HostProgress, HostStatus, Lease
from comity.rules.endings import cooldown_ends_at

_MEMORY: Final = (
    "next_fetch_at",
    "blocked_until",
    "backoff_step",
    "adaptive_delay_s",
    "latency_baseline_s",
    "latency_recent_s",
    "unclean_end_at",
    "last_start_at",
)
_NEVER: Final = datetime.min.replace(tzinfo=UTC)


def claim(
    connection: Connection,
    *,
    holder: str,
    limit: int,
    lease_s: float,
    now: datetime | None,
    hosts: Collection[str] | None = None,
    smart: bool = True,
) -> list[Row[Any]]:
    """Lease up to `limit` hosts that may be crawled, in one statement; the best comes first.

    Without `smart`, hosts come in the order of the seeds instead of by priority.
    """
    if limit < 1:
        return []
    kind = ClaimKind(connection.dialect.name, now is None, smart, hosts is not None)
    rows = connection.execute(claim_statement(kind), parameters(holder, lease_s, now, hosts, limit)).all()
    return sorted(rows, key=_by_merit if smart else _by_seed)  # RETURNING keeps no order


def take(
    connection: Connection, *, hosts: Collection[str], holder: str, lease_s: float, now: datetime | None
) -> Sequence[Row[Any]]:
    """Lease those of the named hosts that are free, whatever their status."""
    kind = ClaimKind(connection.dialect.name, now is None, is_smart=False, names_hosts=True)
    return connection.execute(take_statement(kind), parameters(holder, lease_s, now, hosts)).all()


def _by_merit(row: Row[Any]) -> tuple[Any, ...]:
    return (row.rank, -row.priority_score, row.last_crawled_at or _NEVER, row.id)


def _by_seed(row: Row[Any]) -> tuple[Any, ...]:
    return (row.seed_rank is None, row.seed_rank, row.first_seen_at, row.id)


def renew(
    connection: Connection, *, leases: Collection[Lease], holder: str, lease_s: float, now: datetime | None
) -> set[tuple[UUID, int]]:
    """Prolong these leases as far as they are still held; what is missing from the answer is lost."""
    statement = (
        update(domains)
        .where(
            domains.c.id.in_([lease.host_id for lease in leases]),
            domains.c.claimed_by == holder,
            domains.c.claim_expires_at > instant(connection, now),
        )
        .values(claim_expires_at=instant(connection, now, lease_s), version=domains.c.version + 1)
        .returning(domains.c.id, domains.c.lease_token)
    )
    return {(row.id, row.lease_token) for row in connection.execute(statement)}


def has_candidate(connection: Connection, now: datetime | None) -> bool:
    """Whether a claim would find a host: one that is free, or one whose lease ran out."""
    moment = instant(connection, now)
    expired = (
        select(domains.c.id)
        .where(
            domains.c.claimed_by.is_not(None),
            domains.c.claim_expires_at <= moment,
            text(OPEN),
            domains.c.paused_by_run.is_(None),
            _is_due(moment),
        )
        .order_by(domains.c.claim_expires_at)
        .limit(1)
    )
    free = _free_and_due(moment).limit(1)
    return any(connection.execute(statement).first() is not None for statement in (free, expired))


def has_new_candidate(connection: Connection, now: datetime | None) -> bool:
    """Whether a free host waits that was never crawled."""
    waiting = _free_and_due(instant(connection, now)).where(domains.c.status == HostStatus.PENDING).limit(1)
    return connection.execute(waiting).first() is not None


def _is_due(moment: ColumnElement[Any]) -> ColumnElement[bool]:
    return or_(domains.c.next_crawl_after.is_(None), domains.c.next_crawl_after <= moment)


def _free_and_due(moment: ColumnElement[Any]) -> Select[Any]:
    hint = "INDEXED BY idx_domains_discovery_candidates"
    return select(domains.c.id).where(text(CANDIDATE), _is_due(moment)).with_hint(domains, hint, "sqlite")


def write_under(connection: Connection, lease: Lease, values: Mapping[str, Any], now: datetime | None) -> bool:
    """Change the host's row if the lease is still held; False, with nothing changed, if it is not."""
    given = {name: value for name, value in values.items() if not isinstance(value, ClauseElement)}
    statement = _write_statement(tuple(given), now is None)
    if len(given) < len(values):
        statement = statement.values({name: value for name, value in values.items() if name not in given})
    parameters = {f"new_{name}": value for name, value in given.items()}
    parameters |= {"host": lease.host_id, "token": lease.token, "holder": lease.holder}
    if now is not None:
        parameters["now"] = now
    elif connection.dialect.name != "postgresql":
        raise ValueError("an embedded state has no clock: pass the time")
    try:
        return connection.execute(statement, parameters).first() is not None
    except IntegrityError as error:
        if is_illegal_move(error):
            raise IllegalTransition(f"{lease.host}: {str(error.orig).splitlines()[0]}") from error
        raise


@lru_cache(maxsize=256)
def _write_statement(names: tuple[str, ...], asks_server_time: bool) -> Update:
    """Built once for each set of columns: a run writes a row for every host that it opens and closes."""
    column = domains.c
    now = func.now() if asks_server_time else bindparam("now", type_=UtcDateTime())
    return (
        update(domains)
        .where(
            column.id == bindparam("host"),
            column.lease_token == bindparam("token"),
            column.claimed_by == bindparam("holder"),
            column.claim_expires_at > now,
        )
        .values({name: bindparam(f"new_{name}", type_=column[name].type) for name in names})
        .values(version=column.version + 1)
        .returning(column.id)
    )


def still_held(connection: Connection, leases: Collection[Lease], now: datetime | None) -> set[UUID]:
    """Which of these leases hold, with their rows locked until the transaction ends."""
    if not leases:
        return set()
    encode = Encoding(connection)
    asked = {encode.uuid(lease.host_id): lease for lease in leases}
    native = connection.dialect.name == "postgresql"
    hosts: Any = list(asked) if native else json.dumps(list(asked))
    moment = () if now is None else (encode.time(now.timestamp()),)
    found = rows_of(connection, _held_text(native, now is not None), (hosts, *moment))
    rows = ((asked[host], token, holder) for host, token, holder in found)
    return {lease.host_id for lease, token, holder in rows if (token, holder) == (lease.token, lease.holder)}


@lru_cache(maxsize=4)
def _held_text(native: bool, has_time: bool) -> str:
    """Written as text: it runs for every batch, and a list of many hosts costs more to compile than to find."""
    if not native and not has_time:
        raise ValueError("an embedded state has no clock: pass the time")
    hosts = "= ANY(%s)" if native else "IN (SELECT value FROM json_each(?))"
    now = ("%s" if native else "?") if has_time else "now()"
    held = f"SELECT id, lease_token, claimed_by FROM domains WHERE id {hosts} AND claim_expires_at > {now}"  # noqa: S608
    # In order, so that two transactions that lock the same rows do not deadlock.
    return f"{held} ORDER BY id FOR UPDATE" if native else held


def add_progress(connection: Connection, rows: Iterable[tuple[Lease, HostProgress, GateMemory]], now: datetime) -> None:
    """Add to the counters of hosts whose leases are known to hold in this transaction, many at once."""
    encode = Encoding(connection)
    moment = encode.time(now.timestamp())
    values = [
        (
            progress.pages_crawled,
            progress.pages_discovered,
            progress.images_found,
            progress.images_stored,
            progress.errors,
            progress.depth_reached,
            progress.depth_reached,
            progress.consecutive_errors,
            progress.queued,
            progress.checkpoint_id,
            moment,
            moment,
            moment,
            *_memory_row(encode, memory),
            encode.uuid(lease.host_id),
            lease.token,
        )
        for lease, progress, memory in rows
    ]
    if values:
        run_for_each(connection, _progress_text(connection.dialect.name), values)


def keep_memories(connection: Connection, rows: Iterable[tuple[Lease, GateMemory]]) -> None:
    """Store what gates remember of hosts whose leases are known to hold in this transaction, many at once."""
    encode = Encoding(connection)
    values = [(*_memory_row(encode, memory), encode.uuid(lease.host_id), lease.token) for lease, memory in rows]
    if values:
        run_for_each(connection, _memories_text(connection.dialect.name), values)


def _memory_row(encode: Encoding, memory: GateMemory) -> tuple[Any, ...]:
    """The values of the columns that store a gate, in the order of `_MEMORY`."""
    return (
        encode.time_or_none(memory.next_fetch_at),
        encode.time_or_none(memory.blocked_until),
        memory.backoff_step,
        memory.adaptive_delay_s,
        memory.latency_baseline_s,
        memory.latency_recent_s,
        encode.time_or_none(memory.unclean_end_at),
        encode.time_or_none(memory.last_start_at),
    )


@lru_cache(maxsize=2)
def _memories_text(dialect: str) -> str:
    statement = (
        update(domains)
        .where(domains.c.id == bindparam("host"), domains.c.lease_token == bindparam("token"))
        .ordered_values(
            *((domains.c[name], bindparam(f"new_{name}")) for name in _MEMORY),
            (domains.c.version, domains.c.version + literal_column("1")),
        )
    )
    return driver_text(dialect, statement, (*(f"new_{name}" for name in _MEMORY), "host", "token"))


@lru_cache(maxsize=2)
def _progress_text(dialect: str) -> str:
    column = domains.c
    depth = column.crawl_depth_reached
    deepest = case((depth < _whole("depth"), _whole("depth_again")), else_=depth)
    largest = func.greatest if dialect == "postgresql" else func.max
    statement = (
        update(domains)
        .where(column.id == bindparam("host"), column.lease_token == bindparam("token"))
        .ordered_values(
            (column.pages_crawled, column.pages_crawled + _whole("pages")),
            (column.pages_discovered, column.pages_discovered + _whole("found")),
            # A page may show fewer images than it did.
            (column.images_found, largest(literal_column("0"), column.images_found + _whole("images_found"))),
            (column.images_stored, column.images_stored + _whole("images_stored")),
            (column.total_error_count, column.total_error_count + _whole("errors")),
            (depth, deepest),
            (column.consecutive_error_count, func.coalesce(_whole("in_a_row"), column.consecutive_error_count)),
            # A frontier that was rebuilt has more to settle than was counted.
            (column.frontier_size, largest(literal_column("0"), column.frontier_size + _whole("queued"))),
            (column.frontier_checkpoint_id, func.coalesce(_checkpoint(), column.frontier_checkpoint_id)),
            (column.frontier_updated_at, bindparam("frontier_moment")),
            (column.last_crawled_at, bindparam("moment")),
            (column.updated_at, bindparam("changed")),  # or SQLite's trigger changes the row once more
            *((column[name], bindparam(f"new_{name}")) for name in _MEMORY),
            (column.version, column.version + literal_column("1")),
        )
    )
    counters = ("pages", "found", "images_found", "images_stored", "errors")
    moments = ("frontier_moment", "moment", "changed")
    names = (*counters, "depth", "depth_again", "in_a_row", "queued", "checkpoint", *moments)
    return driver_text(dialect, statement, (*names, *(f"new_{name}" for name in _MEMORY), "host", "token"))


def _whole(name: str) -> Any:
    return bindparam(name, type_=Integer())


def _checkpoint() -> Any:
    return bindparam("checkpoint", type_=domains.c.frontier_checkpoint_id.type)


def holders(connection: Connection, prefix: str) -> list[str]:
    """The holders of leases on one machine, dead or alive."""
    statement = (
        select(domains.c.claimed_by)
        .where(domains.c.claimed_by.is_not(None), domains.c.claimed_by.startswith(prefix, autoescape=True))
        .distinct()
    )
    return list(connection.execute(statement).scalars())


def any_free(connection: Connection, hosts: Collection[str], now: datetime | None) -> bool:
    """Whether one of these hosts could be leased now."""
    free = or_(domains.c.claimed_by.is_(None), domains.c.claim_expires_at <= instant(connection, now))
    statement = select(domains.c.id).where(domains.c.domain.in_(list(hosts)), free).limit(1)
    return connection.execute(statement).first() is not None


def end_uncleanly(connection: Connection, dead_holders: Collection[str], now: datetime | None) -> int:
    """Free the leases of dead holders, and record that they ended without a release."""
    if not dead_holders:
        return 0
    statement = (
        update(domains)
        .where(domains.c.claimed_by.in_(list(dead_holders)))
        .values(
            claimed_by=None,
            claim_expires_at=None,
            unclean_end_at=instant(connection, now),
            unclean_since=domains.c.claimed_at,
            version=domains.c.version + 1,
        )
    )
    return connection.execute(statement).rowcount


def claims_by_holder(connection: Connection, now: datetime | None) -> Sequence[Row[Any]]:
    """Who holds how many leases, and when the first of them runs out."""
    return connection.execute(
        select(
            domains.c.claimed_by,
            func.count().label("hosts"),
            func.min(domains.c.claim_expires_at, type_=UtcDateTime()).label("earliest_expiry"),
            func.sum(case((domains.c.claim_expires_at <= instant(connection, now), 1), else_=0)).label("expired"),
        )
        .where(domains.c.claimed_by.is_not(None))
        .group_by(domains.c.claimed_by)
        .order_by(domains.c.claimed_by)
    ).all()


def lease_from(row: Row[Any]) -> Lease:
    """Read a leased host's row."""
    return Lease(
        host_id=row.id,
        host=row.domain,
        holder=row.claimed_by,
        token=row.lease_token,
        expires_at=row.claim_expires_at,
        status=row.status,
        cooldown_count=row.cooldown_count,
        max_pages_per_run=row.max_pages_per_run,
        memory=GateMemory(
            next_fetch_at=to_seconds(row.next_fetch_at),
            blocked_until=to_seconds(row.blocked_until),
            backoff_step=row.backoff_step,
            adaptive_delay_s=row.adaptive_delay_s,
            latency_baseline_s=row.latency_baseline_s,
            latency_recent_s=row.latency_recent_s,
            unclean_end_at=to_seconds(row.unclean_end_at),
            last_start_at=to_seconds(row.last_start_at),
        ),
    )


def memory_values(memory: GateMemory) -> dict[str, Any]:
    """The columns that store a gate between holders."""
    return {
        "next_fetch_at": from_seconds(memory.next_fetch_at),
        "blocked_until": from_seconds(memory.blocked_until),
        "backoff_step": memory.backoff_step,
        "adaptive_delay_s": memory.adaptive_delay_s,
        "latency_baseline_s": memory.latency_baseline_s,
        "latency_recent_s": memory.latency_recent_s,
        "unclean_end_at": from_seconds(memory.unclean_end_at),
        "last_start_at": from_seconds(memory.last_start_at),
    }


def progress_values(progress: HostProgress, now: datetime) -> dict[str, Any]:
    """The counters that crawling increases."""
    depth = domains.c.crawl_depth_reached
    queued = domains.c.frontier_size + progress.queued
    values: dict[str, Any] = {
        "pages_crawled": domains.c.pages_crawled + progress.pages_crawled,
        "pages_discovered": domains.c.pages_discovered + progress.pages_discovered,
        "images_found": domains.c.images_found + progress.images_found,
        "images_stored": domains.c.images_stored + progress.images_stored,
        "total_error_count": domains.c.total_error_count + progress.errors,
        "crawl_depth_reached": case((depth < progress.depth_reached, progress.depth_reached), else_=depth),
        "frontier_size": case((queued < 0, 0), else_=queued),
        "frontier_updated_at": now,
        "last_crawled_at": now,
    }
    if progress.checkpoint_id is not None:
        values["frontier_checkpoint_id"] = progress.checkpoint_id
    if progress.consecutive_errors is not None:
        values["consecutive_error_count"] = progress.consecutive_errors
    return values


def ending_values(lease: Lease, ending: HostEnding, now: datetime, refresh_after: timedelta) -> dict[str, Any]:
    """The columns that say how work on a host ended, and when it is due again."""
    values: dict[str, Any] = {
        "status": ending.status,
        "block_reason": None,
        "block_reason_code": None,
        "refused_address": ending.refused_address,
    }
    if ending.reason is not None:
        return values | {
            "block_reason": ending.detail or str(ending.reason),
            "block_reason_code": str(ending.reason),
            "first_blocked_at": func.coalesce(domains.c.first_blocked_at, literal(now, UtcDateTime())),
            "next_crawl_after": cooldown_ends_at(now, ending.reason, lease.cooldown_count),
        }
    due = now + refresh_after if ending.status is HostStatus.EXHAUSTED else None
    return values | {"first_blocked_at": None, "cooldown_count": 0, "next_crawl_after": due}
