"""Reservations: the leases of hosts that bots and other crawlers hold.

While a client has slots of a host, it holds that host's lease under its own name: `bot:<bot_id>` or `grant:<client>`.
So no worker claims the host meanwhile, no other client gets slots of it, and a client that dies leaves an unclean end
like any worker: the next holder waits a whole delay after the lease ran out. This is the only place that takes,
prolongs and ends such leases; `walk.bots` says when.

The statements are written as text and built once: every pull, submit and grant runs some of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, Final, NamedTuple
from uuid import UUID

from sqlalchemy import Connection

from comity.database import ledger
from comity.database.bulk import (
    Decoding,
    Encoding,
    array_text,
    asked,
    in_list,
    placed,
    rows_of,
    run,
    run_for_each,
    unnested,
)
from comity.database.hosts import touch
from comity.database.types import from_seconds
from comity.model.gate import GateMemory
from comity.model.host import CanonicalHost

BOT: Final = "bot:"
GRANT: Final = "grant:"
TOUCHED_BY: Final = "queue"

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


def bot_holder(bot_id: str) -> str:
    """The name under which a bot holds hosts."""
    return BOT + bot_id


def grant_holder(client: str) -> str:
    """The name under which a crawler with grants holds hosts."""
    return GRANT + client


class HostRow(NamedTuple):
    """What a host's row says of its lease and its gate, and what the operator's policy asks for."""

    id: UUID
    host: str
    holder: str | None
    """Who holds the lease, also if it ran out."""
    held_until: float | None
    held_since: float | None
    token: int
    memory: GateMemory
    unclean_since: float | None
    queue_ready_at: float | None
    policy_interval_ms: int | None
    policy_max_concurrency: int | None
    queue_failures: int
    queue_parked_until: float | None
    slots_given: int
    """Under the present lease."""

    def token_for(self, holder: str, now: float) -> int:
        """The token of the lease that this client has, or would get."""
        return self.token if self.holder == holder and self.is_held(now) else self.token + 1

    def number_after(self, holder: str, now: float) -> int:
        """The number of the last request that this client was allowed under its lease; 0 for a new lease."""
        return self.slots_given if self.holder == holder and self.is_held(now) else 0

    def is_held(self, now: float) -> bool:
        """Whether anyone has the lease now."""
        return self.holder is not None and self.held_until is not None and self.held_until > now

    def memory_at(self, now: float) -> GateMemory:
        """What the gate of the next holder starts from; a lease that ran out ended without a release."""
        if self.holder is None or self.is_held(now):
            return self.memory
        return self.memory._replace(unclean_end_at=self.held_until)


class Hold(NamedTuple):
    """A host that a client is to hold until a time, with the gate's memory as its slots left it."""

    row: HostRow
    until: float
    memory: GateMemory
    queue_ready_at: float | None
    """When a pull should look at the host next."""
    slots: int = 0
    """How many slots it gets now."""


def add_hosts(connection: Connection, hosts: Collection[CanonicalHost]) -> dict[str, UUID]:
    """Give new hosts a row; returns the ids of all, by their names."""
    names = sorted({host.authority for host in hosts})
    found = _ids(connection, names)
    if missing := [host for host in hosts if host.authority not in found]:
        touch(connection, set(missing), TOUCHED_BY)
        found |= _ids(connection, sorted({host.authority for host in missing}))
    return found


def _ids(connection: Connection, names: Sequence[str]) -> dict[str, UUID]:
    decode = Decoding(connection)
    statement, listed = among(connection, "SELECT domain, id FROM domains WHERE domain {names}", names)
    return {row[0]: decode.uuid(row[1]) for row in connection.exec_driver_sql(statement, (listed,))}


def lock(connection: Connection, host_ids: Sequence[UUID], *, waits: bool = False) -> list[HostRow]:
    """Read the rows of hosts and lock them until the transaction ends.

    Rows that another transaction has locked are skipped, or waited for. An embedded state has one writer at a time.
    """
    if not host_ids:
        return []
    encode = Encoding(connection)
    native = connection.dialect.name == "postgresql"
    keys = sorted(encode.uuid(each) for each in host_ids)
    listed: Any = keys if native else json.dumps(keys)
    decode = Decoding(connection)
    return [host_row(decode, row) for row in rows_of(connection, _lock_text(native, "id", waits), (listed,))]


def lock_named(connection: Connection, hosts: Collection[str], *, waits: bool = False) -> list[HostRow]:
    """The same for hosts by their names."""
    native = connection.dialect.name == "postgresql"
    names = sorted(hosts)
    listed: Any = names if native else json.dumps(names)
    decode = Decoding(connection)
    return [host_row(decode, row) for row in rows_of(connection, _lock_text(native, "domain", waits), (listed,))]


_COLUMNS: Final = (
    "d.id",
    "d.domain",
    "d.claimed_by",
    "d.claim_expires_at",
    "d.claimed_at",
    "d.lease_token",
    "d.unclean_since",
    "d.queue_ready_at",
    "p.min_request_interval_ms",
    "p.max_concurrency",
    *(f"d.{name}" for name in _MEMORY),
    "d.queue_failures",
    "d.queue_parked_until",
    "d.slots_given",
)
COLUMNS: Final = ", ".join(_COLUMNS)
"""What `host_row` reads, of `domains AS d` and `domain_policies AS p`."""
WIDTH: Final = len(_COLUMNS)


@lru_cache(maxsize=8)
def _lock_text(native: bool, column: str, waits: bool) -> str:
    listed = in_list("uuid" if column == "id" else "text") if native else "IN (SELECT value FROM json_each(?))"
    statement = f"""
SELECT {COLUMNS} FROM domains AS d LEFT JOIN domain_policies AS p ON p.host = d.domain
WHERE d.{column} {listed} ORDER BY d.id
"""  # noqa: S608  # our own words
    return statement + (f"FOR NO KEY UPDATE OF d {'' if waits else 'SKIP LOCKED'}" if native else "")


def host_row(decode: Decoding, row: Sequence[Any]) -> HostRow:
    """A row of `COLUMNS`, or one that begins with them."""
    seconds = decode.common_seconds
    memory = GateMemory(
        seconds(row[10]),
        seconds(row[11]),
        row[12],
        row[13],
        row[14],
        row[15],
        seconds(row[16]),
        seconds(row[17]),
    )
    # By place, and in the order of the columns: every grant and submit reads some.
    return HostRow(
        decode.uuid(row[0]),
        row[1],
        row[2],
        seconds(row[3]),
        seconds(row[4]),
        row[5],
        memory,
        seconds(row[6]),
        seconds(row[7]),
        row[8],
        row[9],
        row[18],
        seconds(row[19]),
        row[20],
    )


def hold(connection: Connection, holds: Sequence[Hold], holder: str, now: float) -> dict[UUID, int]:
    """Hold hosts whose rows are locked in this transaction; returns the token of each lease.

    A host that this client holds already keeps its token and the beginning of its turn. Any other gets a new lease, and
    where the one before ended without a release, the ledger gets a note of the gap.
    """
    if not holds:
        return {}
    values = hold_values(Encoding(connection), holds, holder, now)
    if connection.dialect.name == "postgresql":
        run(connection, HELD_FROM_ARRAYS, tuple(map(array_text, zip(*values, strict=True))))
    else:
        run_for_each(connection, _HOLD_ONE, values)
    note_gaps(connection, holds, holder, now)
    return {each.row.id: each.row.token_for(holder, now) for each in holds}


HELD_COLUMNS: Final = (
    ("claimed_by", "text"),
    ("claim_expires_at", "timestamptz"),
    ("lease_token", "bigint"),
    ("claimed_at", "timestamptz"),
    ("unclean_since", "timestamptz"),
    ("queue_ready_at", "timestamptz"),
    ("slots_given", "integer"),
    ("next_fetch_at", "timestamptz"),
    ("blocked_until", "timestamptz"),
    ("backoff_step", "integer"),
    ("adaptive_delay_s", "float8"),
    ("latency_baseline_s", "float8"),
    ("latency_recent_s", "float8"),
    ("unclean_end_at", "timestamptz"),
    ("last_start_at", "timestamptz"),
    # A row that says when it changed is not written a second time by its trigger.
    ("updated_at", "timestamptz"),
)
"""The columns that holding a host writes, in the order of `hold_values`, with their types on PostgreSQL."""


HELD_FROM_ARRAYS: Final = f"""
UPDATE domains AS d SET {", ".join(f"{name} = h.{name}" for name, _ in HELD_COLUMNS)}, version = d.version + 1
FROM {unnested([*(kind for _, kind in HELD_COLUMNS), "uuid"])}
    AS h({", ".join(name for name, _ in HELD_COLUMNS)}, id) WHERE d.id = h.id
"""  # noqa: S608  # our own words
"""Writes `hold_values`, column by column, into many rows at once (PostgreSQL)."""
_HOLD_ONE: Final = (
    f"UPDATE domains SET {', '.join(f'{name} = ?' for name, _ in HELD_COLUMNS)}, version = version + 1 WHERE id = ?"  # noqa: S608
)


def hold_values(encode: Encoding, holds: Sequence[Hold], holder: str, now: float) -> list[tuple[Any, ...]]:
    """What is written into the rows of hosts to hold them; the id of each comes last."""
    time = encode.common_time
    moment = time(now)
    values: list[tuple[Any, ...]] = []
    for each in holds:
        row = each.row
        is_new = row.holder != holder or not row.is_held(now)
        until = each.until if is_new else max(each.until, row.held_until or 0.0)
        values.append(
            (
                holder,
                time(until),
                row.token_for(holder, now),
                moment if is_new else time(row.held_since),
                time(row.held_since if is_new and row.holder is not None else row.unclean_since),
                time(each.queue_ready_at),
                row.number_after(holder, now) + each.slots,
                *_encoded(encode, each.memory),
                moment,
                encode.uuid(row.id),
            )
        )
    return values


def note_gaps(connection: Connection, holds: Sequence[Hold], holder: str, now: float) -> None:
    """Note in the ledger where the lease before ended without a release."""
    gaps: list[Any] = []
    for each in holds:
        row = each.row
        if row.holder != holder or not row.is_held(now):
            unclean_since = row.held_since if row.holder is not None else row.unclean_since
            gaps += _gap(row, row.token_for(holder, now), now, unclean_since)
    ledger.note_gaps(connection, gaps)


def _gap(row: HostRow, token: int, now: float, unclean_since: float | None) -> list[Any]:
    """The end of a lease without a release, as `ledger.note_gaps` takes it."""
    memory = row.memory_at(now)
    if memory.unclean_end_at is None:
        return []
    return [
        SimpleNamespace(
            id=row.id,
            domain=row.host,
            lease_token=token,
            unclean_end_at=from_seconds(memory.unclean_end_at),
            unclean_since=from_seconds(unclean_since),
            last_start_at=from_seconds(memory.last_start_at),
        )
    ]


def _encoded(encode: Encoding, memory: GateMemory) -> tuple[Any, ...]:
    time = encode.common_time
    return (
        time(memory.next_fetch_at),
        time(memory.blocked_until),
        memory.backoff_step,
        memory.adaptive_delay_s,
        memory.latency_baseline_s,
        memory.latency_recent_s,
        time(memory.unclean_end_at),
        time(memory.last_start_at),
    )


def extend(connection: Connection, host_ids: Collection[UUID], holder: str, until: float, now: float) -> set[UUID]:
    """Hold hosts at least until then, as far as the client still holds them; returns those."""
    if not host_ids:
        return set()
    encode, decode = Encoding(connection), Decoding(connection)
    statement = """
UPDATE domains SET claim_expires_at = CASE WHEN claim_expires_at > ? THEN claim_expires_at ELSE ? END,
    version = version + 1
WHERE id {names} AND claimed_by = ? AND claim_expires_at > ? RETURNING id
"""
    text, listed = among(connection, statement, sorted(encode.uuid(each) for each in host_ids))
    end = encode.time(until)
    rows = connection.exec_driver_sql(text, (end, end, listed, holder, encode.time(now)))
    return {decode.uuid(row[0]) for row in rows}


def release_if_idle(
    connection: Connection,
    host_id: UUID,
    holder: str,
    memory: GateMemory,
    *,
    token: int,
    queue_ready_at: float,
    now: float,
    failures: tuple[int, float | None] | None = None,
) -> Callable[[], bool]:
    """Write what the gate has to remember, and release the host if its client has no open job or grant of it.

    The row is locked in this transaction. Nothing is written if the client no longer holds this lease. While
    jobs of the host wait, a pull should look at it from `queue_ready_at`. `failures` are its jobs that failed in a row,
    and until when it is parked for that, where they changed. The function that it returns waits for the answer: whether
    the host was released.
    """
    encode = Encoding(connection)
    count, parked_until = failures or (None, None)
    values = (
        *_encoded(encode, memory),
        count,
        count,
        encode.time_or_none(parked_until),
        encode.time(queue_ready_at),
        encode.time(now),
        encode.uuid(host_id),
        holder,
        token,
    )
    changed = asked(connection, _release_text(connection.dialect.name), values)
    return lambda: any(row[0] is None for row in changed())


# A client has work of a host as long as one of its jobs is locked, or one of its grants is open.
_IS_BUSY: Final = """(
    EXISTS (SELECT 1 FROM crawl_jobs AS j WHERE j.domain_id = domains.id AND j.status = 'locked')
    OR EXISTS (SELECT 1 FROM grants AS g WHERE g.domain_id = domains.id AND g.is_open)
)"""
_HAS_WAITING: Final = """EXISTS (
    SELECT 1 FROM crawl_jobs AS w
    WHERE w.domain_id = domains.id AND w.status IN ('pending', 'expired') AND w.not_before IS NULL
)"""
_MEMORY_KINDS: Final = dict(HELD_COLUMNS)


@lru_cache(maxsize=2)
def _release_text(dialect: str) -> str:
    memory = ", ".join(f"{name} = ?" for name in _MEMORY)
    return placed(
        dialect,
        f"""
UPDATE domains SET {memory},
    queue_failures = coalesce(CAST(? AS INTEGER), queue_failures),
    queue_parked_until = CASE WHEN CAST(? AS INTEGER) IS NULL THEN queue_parked_until ELSE ? END,
    claimed_by = CASE WHEN {_IS_BUSY} THEN claimed_by END,
    claim_expires_at = CASE WHEN {_IS_BUSY} THEN claim_expires_at END,
    queue_ready_at = CASE WHEN {_HAS_WAITING} THEN ? END,
    updated_at = ?,
    version = version + 1
WHERE id = ? AND claimed_by = ? AND lease_token = ? RETURNING claimed_by
""",  # noqa: S608  # our own words
    )


class Returned(NamedTuple):
    """A host on which a client has ended some work, with the gate's memory after that."""

    host_id: UUID
    memory: GateMemory
    token: int
    queue_ready_at: float | None
    """When a pull should look at the host next, if jobs of it wait."""


def release_idle(connection: Connection, returned: Sequence[Returned], holder: str, now: float) -> None:
    """`release_if_idle` for many hosts at once; the sites' failures stay as they are."""
    if not returned:
        return
    encode = Encoding(connection)
    moment = encode.time(now)
    values = [
        (
            *_encoded(encode, each.memory),
            encode.common_time(each.queue_ready_at),
            encode.uuid(each.host_id),
            each.token,
            moment,
            holder,
        )
        for each in returned
    ]
    if connection.dialect.name == "postgresql":
        *columns, _moments, _holders = zip(*values, strict=True)
        arrays = [array_text(column) for column in columns]
        run(connection, _RELEASE_ALL, (moment, *arrays, holder))
    else:
        run_for_each(connection, _RELEASE_ONE, values)


_RELEASE_ONE: Final = f"""
UPDATE domains SET {", ".join(f"{name} = ?" for name in _MEMORY)},
    claimed_by = CASE WHEN {_IS_BUSY} THEN claimed_by END,
    claim_expires_at = CASE WHEN {_IS_BUSY} THEN claim_expires_at END,
    queue_ready_at = CASE WHEN {_HAS_WAITING} THEN ?{len(_MEMORY) + 1} END,
    updated_at = ?{len(_MEMORY) + 4}, version = version + 1
WHERE id = ?{len(_MEMORY) + 2} AND lease_token = ?{len(_MEMORY) + 3} AND claimed_by = ?{len(_MEMORY) + 5}
"""  # noqa: S608  # our own words
_RELEASE_ALL: Final = f"""
UPDATE domains AS d SET {", ".join(f"{name} = r.{name}" for name in _MEMORY)},
    claimed_by = CASE WHEN r.is_busy THEN d.claimed_by END,
    claim_expires_at = CASE WHEN r.is_busy THEN d.claim_expires_at END,
    queue_ready_at = CASE WHEN r.has_waiting THEN r.ready_at END,
    updated_at = %s, version = d.version + 1
FROM (
    SELECT domains.*, {_IS_BUSY} AS is_busy, {_HAS_WAITING} AS has_waiting
    FROM unnest({", ".join(f"%s::{_MEMORY_KINDS[name]}[]" for name in _MEMORY)}, %s::timestamptz[], %s::uuid[],
        %s::bigint[]) AS domains({", ".join(_MEMORY)}, ready_at, id, token)
) AS r WHERE d.id = r.id AND d.lease_token = r.token AND d.claimed_by = %s
"""  # noqa: S608


def end_uncleanly(connection: Connection, host_ids: Iterable[UUID], now: float) -> set[UUID]:
    """Free hosts whose clients let their last job or grant expire, and record that they did not release them.

    A host that a worker holds, or whose client has other work of it, is skipped. Returns those that were freed.
    """
    encode, decode = Encoding(connection), Decoding(connection)
    keys = sorted(encode.uuid(each) for each in host_ids)
    if not keys:
        return set()
    statement = f"""
UPDATE domains SET claimed_by = NULL, claim_expires_at = NULL, unclean_since = claimed_at,
    unclean_end_at = CASE WHEN claim_expires_at < ? THEN claim_expires_at ELSE ? END,
    queue_ready_at = CASE WHEN {_HAS_WAITING} THEN ? END,
    version = version + 1
WHERE id {{names}} AND (claimed_by LIKE ? OR claimed_by LIKE ?)
    AND (claim_expires_at <= ? OR NOT {_IS_BUSY}) RETURNING id
"""  # noqa: S608
    text, listed = among(connection, statement, keys)
    moment = encode.time(now)
    values = (moment, moment, moment, listed, f"{BOT}%", f"{GRANT}%", moment)
    return {decode.uuid(row[0]) for row in connection.exec_driver_sql(text, values)}


def overdue(connection: Connection, now: float, limit: int) -> list[UUID]:
    """Hosts whose reservation ran out."""
    encode, decode = Encoding(connection), Decoding(connection)
    statement = (
        "SELECT id FROM domains WHERE claim_expires_at <= ? AND (claimed_by LIKE ? OR claimed_by LIKE ?) "
        "ORDER BY claim_expires_at LIMIT ?"
    )
    values = (encode.time(now), f"{BOT}%", f"{GRANT}%", limit)
    rows = connection.exec_driver_sql(placed(connection.dialect.name, statement), values)
    return [decode.uuid(row[0]) for row in rows]


def note_site(connection: Connection, host_id: UUID, failures: int, parked_until: float | None) -> None:
    """Write how many jobs of a host failed in a row, and until when it is parked for that."""
    encode = Encoding(connection)
    statement = "UPDATE domains SET queue_failures = ?, queue_parked_until = ? WHERE id = ?"
    values = (failures, encode.time_or_none(parked_until), encode.uuid(host_id))
    run(connection, placed(connection.dialect.name, statement), values)


def among(connection: Connection, statement: str, values: Sequence[Any]) -> tuple[str, Any]:
    """A statement with `{names}` in it, for a list of values that is one parameter however long it is."""
    if connection.dialect.name == "postgresql":
        return placed("postgresql", statement.replace("{names}", "= ANY(?)")), list(values)
    return statement.replace("{names}", "IN (SELECT value FROM json_each(?))"), json.dumps(list(values))
