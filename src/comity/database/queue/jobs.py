"""Statements on `crawl_jobs`: hosts to look at and the front of their queues, locks, ends, and what a sweeper does.

A pull goes host by host: `domains.queue_ready_at` says which hosts to look at, and an index gives the front of each
host's jobs. So a host that cannot be requested now costs a pull nothing, however many jobs it has.

Every transaction locks the rows of hosts before those of jobs, and hosts in the order of their ids, so that no two
deadlock.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple
from uuid import UUID

from sqlalchemy import Connection

from comity.database.bulk import Decoding, Encoding, array_text, asked, in_list, placed, rows_of, run, unnested
from comity.database.queue import bots, reservations
from comity.database.queue.bots import PullCount
from comity.database.queue.reservations import Hold, HostRow, among, bot_holder
from comity.database.queue.tables import HOSTLESS, WAITING
from comity.model.queue import OWN_BOT, JobStatus

_FRONT: Final = "id, policy_id, url, priority, retry_count, max_retries, lock_ttl_seconds, crawl_config"
_FIRST: Final = UUID(int=0)


class ReadyHost(NamedTuple):
    """A host that a pull should look at, with the priority of its best job; None if it has none that waits."""

    id: UUID
    host: str
    ready_at: float | None
    priority: int | None


class WaitingJob(NamedTuple):
    """A job at the front of its host's queue."""

    id: UUID
    host_id: UUID
    policy_id: UUID | None
    url: str
    priority: int
    retry_count: int
    max_retries: int
    lock_ttl_s: int
    crawl_config: dict[str, Any] | None


class JobLock(NamedTuple):
    """The lock that a bot gets on a job, with the slot of its request and the slot's terms, as JSON."""

    job_id: UUID
    ends_at: float
    slot_at: float
    slot_ends_at: float
    slot: str
    lease_token: int


def server_time(connection: Connection) -> float:
    """The time of a shared server's own clock, which rules its leases."""
    return float(rows_of(connection, "SELECT extract(epoch FROM clock_timestamp())")[0][0])


def ready_hosts(connection: Connection, now: float | None, limit: int) -> list[ReadyHost]:
    """The hosts that a pull should look at, those that have waited longest first; locks nothing.

    `now=None` goes by the server's clock.
    """
    if now is None:
        # The limit is part of the statement, as in `take_front`.
        condition = f"queue_ready_at <= statement_timestamp() ORDER BY queue_ready_at LIMIT {limit:d}"
        return _hosts(connection, condition, ())
    moment = Encoding(connection).time(now)
    return _hosts(connection, "queue_ready_at <= ? ORDER BY queue_ready_at LIMIT ?", (moment, limit))


def hosts_of_domain(connection: Connection, domain: str, parent: str | None, limit: int) -> list[ReadyHost]:
    """The hosts of a domain that have jobs: that of the name, on any port, and those whose registrable domain it is.

    `parent` is the registrable domain of the name itself; without one it is an address, or a name such as localhost.
    """
    parents = "parent_domain IS NULL" if parent is None else "parent_domain = ?"
    condition = (
        f"(domain = ? OR parent_domain = ? OR ({parents} AND substr(domain, 1, ?) = ?)) "
        "AND queue_ready_at IS NOT NULL ORDER BY queue_ready_at LIMIT ?"
    )
    values = (domain, domain, *filter(None, (parent,)), len(domain) + 1, f"{domain}:", limit)
    return _hosts(connection, condition, values)


def named_hosts(connection: Connection, host_ids: Collection[UUID]) -> list[ReadyHost]:
    """The same for some hosts."""
    encode = Encoding(connection)
    text, listed = among(connection, "id {names} ORDER BY queue_ready_at", [encode.uuid(each) for each in host_ids])
    return _hosts(connection, text.replace("%s", "?"), (listed,))


def _hosts(connection: Connection, condition: str, values: tuple[Any, ...]) -> list[ReadyHost]:
    decode = Decoding(connection)
    rows = rows_of(connection, _hosts_text(connection.dialect.name, condition), values)
    return [ReadyHost(decode.uuid(row[0]), row[1], decode.seconds(row[2]), row[3]) for row in rows]


@lru_cache(maxsize=16)
def _hosts_text(dialect: str, condition: str) -> str:
    statement = f"""
SELECT d.id, d.domain, d.queue_ready_at, (
    SELECT j.priority FROM crawl_jobs AS j
    WHERE j.domain_id = d.id AND j.status IN ('pending', 'expired') AND j.not_before IS NULL
    ORDER BY j.domain_id, j.priority DESC, j.created_at LIMIT 1
) FROM (SELECT id, domain, queue_ready_at FROM domains WHERE {condition}) AS d
"""  # noqa: S608  # our own words
    return placed(dialect, statement)


def take_front(
    connection: Connection, host_ids: Sequence[UUID], each: int, *, waits: bool = False
) -> tuple[list[HostRow], dict[UUID, list[WaitingJob]]]:
    """Lock the rows of hosts until the transaction ends, and read the best jobs of each, up to a limit.

    Hosts that another transaction has locked are skipped, or waited for. A job that another takes at this moment may be
    among those read: `hand_out` finds that out.
    """
    if not host_ids:
        return [], {}
    encode, decode = Encoding(connection), Decoding(connection)
    fronts: dict[UUID, list[WaitingJob]] = {}
    if connection.dialect.name != "postgresql":
        rows = reservations.lock(connection, host_ids)
        for host in rows:
            found = rows_of(connection, _FRONT_OF_ONE, (encode.uuid(host.id), each))
            fronts[host.id] = [_waiting(decode, host.id, job) for job in found]
        return rows, fronts
    taken: dict[UUID, HostRow] = {}
    # The limit is part of the statement, which the server would otherwise plan for each execution. Few limits occur.
    limit = 1 << (each - 1).bit_length()
    for row in rows_of(connection, _front_text(limit, waits=waits), (sorted(host_ids),)):
        host_id = row[0]
        if host_id not in taken:
            taken[host_id] = reservations.host_row(decode, row)
            fronts[host_id] = []
        job = row[reservations.WIDTH :]
        if job[0] is not None and len(fronts[host_id]) < each:
            fronts[host_id].append(_waiting(decode, host_id, job))
    return list(taken.values()), fronts


_ORDER: Final = "ORDER BY domain_id, priority DESC, created_at LIMIT"
_FRONT_OF_ONE: Final = f"SELECT {_FRONT} FROM crawl_jobs WHERE domain_id = ? AND {WAITING} {_ORDER} ?"  # noqa: S608


@lru_cache(maxsize=16)
def _front_text(limit: int, *, waits: bool) -> str:
    return f"""
SELECT {reservations.COLUMNS}, j.* FROM domains AS d LEFT JOIN domain_policies AS p ON p.host = d.domain
LEFT JOIN LATERAL (SELECT {_FRONT} FROM crawl_jobs WHERE domain_id = d.id AND {WAITING} {_ORDER} {limit:d}) AS j ON true
WHERE d.id {in_list("uuid")} FOR NO KEY UPDATE OF d {"" if waits else "SKIP LOCKED"}
"""  # noqa: S608


def _waiting(decode: Decoding, host_id: UUID, row: Sequence[Any]) -> WaitingJob:
    return WaitingJob(
        id=decode.uuid(row[0]),
        host_id=host_id,
        policy_id=decode.uuid_or_none(row[1]),
        url=row[2],
        priority=row[3],
        retry_count=row[4],
        max_retries=row[5],
        lock_ttl_s=row[6],
        crawl_config=decode.json(row[7]),
    )


def hand_out(
    connection: Connection, holds: Sequence[Hold], locks: Sequence[JobLock], count: PullCount, holder: str
) -> int:
    """Hold hosts, lock waiting jobs for a bot, and count them for it; returns how many of the jobs still waited.

    On PostgreSQL it is one statement: each more would be another round trip while the hosts are locked.
    """
    encode, now = Encoding(connection), count.now
    moment = encode.time(now)
    if connection.dialect.name != "postgresql":
        reservations.hold(connection, holds, holder, now)
        bots.note_pull(connection, count)
        return sum(_lock_one(connection, encode, each, count.bot_id, holder, moment) for each in locks)
    held = map(array_text, zip(*reservations.hold_values(encode, holds, holder, now), strict=True))
    columns = [list(column) for column in zip(*locks, strict=True)]
    for place in (1, 2, 3):
        columns[place] = [encode.time(each) for each in columns[place]]
    counted = bots.pull_values(encode, count)
    values = (*held, *counted, count.bot_id, moment, holder, moment, *map(array_text, columns))
    locked = run(connection, _hand_out_text(resumes=count.resumes), values)
    reservations.note_gaps(connection, holds, holder, now)
    return locked


@lru_cache(maxsize=2)
def _hand_out_text(*, resumes: bool) -> str:
    return f"""
WITH held AS ({reservations.HELD_FROM_ARRAYS}), counted AS (
    {placed("postgresql", bots.pull_text(resumes=resumes))}
)
UPDATE crawl_jobs AS j SET status = 'locked', locked_by = %s, locked_at = %s, lock_ends_at = n.ends_at,
    slot_at = n.slot_at, slot_ends_at = n.slot_ends_at, slot = n.slot, lease_token = n.lease_token,
    moved_by = %s, move_reason = 'pulled', updated_at = %s
FROM {unnested(("uuid", "timestamptz", "timestamptz", "timestamptz", "jsonb", "bigint"))}
    AS n(id, ends_at, slot_at, slot_ends_at, slot, lease_token)
WHERE j.id = n.id AND CASE WHEN j.status IN ('pending', 'expired') THEN j.not_before IS NULL ELSE false END
"""  # noqa: S608  # CASE hides the status: by its index, a server without statistics would read all jobs that wait


def _lock_one(connection: Connection, encode: Encoding, each: JobLock, bot_id: str, actor: str, moment: Any) -> int:
    statement = """
UPDATE crawl_jobs SET status = 'locked', locked_by = ?, locked_at = ?, lock_ends_at = ?, slot_at = ?,
    slot_ends_at = ?, slot = ?, lease_token = ?, moved_by = ?, move_reason = 'pulled', updated_at = ?
WHERE id = ? AND status IN ('pending', 'expired') AND not_before IS NULL
"""
    values = (
        bot_id,
        moment,
        encode.time(each.ends_at),
        encode.time(each.slot_at),
        encode.time(each.slot_ends_at),
        each.slot,
        each.lease_token,
        actor,
        moment,
        encode.uuid(each.job_id),
    )
    return run(connection, statement, values)


def park(connection: Connection, parked: Sequence[tuple[UUID, float, str | None]]) -> None:
    """Keep waiting jobs from being pulled until a time, with a sentence on why."""
    encode = Encoding(connection)
    values = [(encode.time(until), why, encode.uuid(job_id)) for job_id, until, why in parked]
    if values:
        statement = (
            "UPDATE crawl_jobs SET not_before = ?, error_msg = ? WHERE id = ? AND status IN ('pending', 'expired')"
        )
        connection.exec_driver_sql(placed(connection.dialect.name, statement), values)


def wake(connection: Connection, now: float, limit: int) -> int:
    """Let jobs be pulled whose time to wait is over; returns how many."""
    encode, decode = Encoding(connection), Decoding(connection)
    native = connection.dialect.name == "postgresql"
    statement = f"""
UPDATE crawl_jobs SET not_before = NULL WHERE id IN (
    SELECT id FROM crawl_jobs
    WHERE not_before IS NOT NULL AND not_before <= ?
        AND CASE WHEN status IN ('pending', 'expired') THEN true ELSE false END
    ORDER BY not_before LIMIT ? {"FOR UPDATE SKIP LOCKED" if native else ""}
) RETURNING domain_id
"""  # noqa: S608  # CASE: as in `hand_out`
    rows = connection.exec_driver_sql(placed(connection.dialect.name, statement), (encode.time(now), limit)).all()
    mark_ready(connection, {decode.uuid(row[0]) for row in rows if row[0] is not None}, now)
    return len(rows)


def mark_ready(connection: Connection, host_ids: Collection[UUID], now: float) -> None:
    """Have pulls look at hosts, because jobs of theirs wait."""
    if not host_ids:
        return
    encode = Encoding(connection)
    keys = sorted(encode.uuid(each) for each in host_ids)
    late = "(queue_ready_at IS NULL OR queue_ready_at > ?)"
    if connection.dialect.name == "postgresql":
        statement = f"SELECT id FROM domains WHERE id {{names}} AND {late} ORDER BY id FOR NO KEY UPDATE"  # noqa: S608
        text, listed = among(connection, statement, keys)
        keys = [row[0] for row in connection.exec_driver_sql(text, (listed, encode.time(now)))]
        if not keys:
            return
    text, listed = among(connection, f"UPDATE domains SET queue_ready_at = ? WHERE id {{names}} AND {late}", keys)  # noqa: S608
    connection.exec_driver_sql(text, (encode.time(now), listed, encode.time(now)))


def set_ready(connection: Connection, looks: Sequence[tuple[UUID, float]]) -> None:
    """Say when pulls should look at hosts again, whose rows are locked here; one without waiting jobs is forgotten."""
    encode = Encoding(connection)
    values = [(encode.time(at), encode.uuid(host_id)) for host_id, at in looks]
    if values:
        statement = f"""
UPDATE domains SET queue_ready_at = CASE WHEN EXISTS (
    SELECT 1 FROM crawl_jobs AS j
    WHERE j.domain_id = domains.id AND j.status IN ('pending', 'expired') AND j.not_before IS NULL
) THEN {"CAST(? AS timestamptz)" if connection.dialect.name == "postgresql" else "?"} END WHERE id = ?
"""  # noqa: S608
        connection.exec_driver_sql(placed(connection.dialect.name, statement), values)


def parked_hosts(connection: Connection, now: float, limit: int, each: int) -> list[tuple[HostRow, int]]:
    """Hosts that a pull should look at later, the soonest first, each with how many jobs wait, up to a limit."""
    decode = Decoding(connection)
    statement = f"""
SELECT {reservations.COLUMNS}, (
    SELECT count(*) FROM (SELECT 1 FROM crawl_jobs WHERE domain_id = d.id AND {WAITING} LIMIT ?) AS waiting
) FROM domains AS d LEFT JOIN domain_policies AS p ON p.host = d.domain
WHERE d.queue_ready_at > ? ORDER BY d.queue_ready_at LIMIT ?
"""  # noqa: S608
    values = (each, Encoding(connection).time(now), limit)
    rows = connection.exec_driver_sql(placed(connection.dialect.name, statement), values).all()
    return [(reservations.host_row(decode, row), int(row[reservations.WIDTH])) for row in rows]


def hostless(connection: Connection, limit: int) -> list[tuple[UUID, str]]:
    """Jobs without a host, as hand-written SQL may insert them, with their URLs."""
    decode = Decoding(connection)
    lock = " FOR UPDATE SKIP LOCKED" if connection.dialect.name == "postgresql" else ""
    statement = f"SELECT id, url FROM crawl_jobs WHERE {HOSTLESS} LIMIT ?{lock}"  # noqa: S608
    rows = connection.exec_driver_sql(placed(connection.dialect.name, statement), (limit,)).all()
    return [(decode.uuid(row[0]), row[1]) for row in rows]


def are_hostless(connection: Connection) -> bool:
    """Whether there is any."""
    return connection.exec_driver_sql(f"SELECT 1 FROM crawl_jobs WHERE {HOSTLESS} LIMIT 1").first() is not None  # noqa: S608


def set_hosts(connection: Connection, found: Sequence[tuple[UUID, UUID]]) -> None:
    """Give jobs their hosts."""
    encode = Encoding(connection)
    values = [(encode.uuid(host_id), encode.uuid(job_id)) for job_id, host_id in found]
    if values:
        statement = "UPDATE crawl_jobs SET domain_id = ? WHERE id = ?"
        connection.exec_driver_sql(placed(connection.dialect.name, statement), values)


def next_look_at(connection: Connection) -> float | None:
    """When the next host should be looked at."""
    statement = "SELECT min(queue_ready_at) FROM domains WHERE queue_ready_at IS NOT NULL"
    return Decoding(connection).seconds(connection.exec_driver_sql(statement).scalar())


def are_any(connection: Connection) -> bool:
    """Whether there is anything to maintain: policies, or jobs."""
    statement = "SELECT EXISTS (SELECT 1 FROM crawl_policies) OR EXISTS (SELECT 1 FROM crawl_jobs)"
    return bool(connection.exec_driver_sql(statement).scalar())


def lost_hosts(connection: Connection, after: UUID | None, limit: int) -> tuple[list[UUID], UUID | None]:
    """Hosts with waiting jobs that no pull would look at, such as those whose jobs were inserted in SQL.

    Looks at `limit` hosts with waiting jobs, after one of them; returns the last, or None at the end.
    """
    encode, decode = Encoding(connection), Decoding(connection)
    step = f"SELECT domain_id FROM crawl_jobs WHERE {WAITING} AND domain_id > {{0}} ORDER BY domain_id LIMIT 1"  # noqa: S608
    statement = f"""
WITH RECURSIVE hosts(id) AS (
    SELECT * FROM ({step.format("?")}) AS one
    UNION ALL
    SELECT ({step.format("hosts.id")}) FROM hosts WHERE hosts.id IS NOT NULL
), few AS (SELECT id FROM hosts WHERE id IS NOT NULL LIMIT ?)
SELECT few.id, d.queue_ready_at IS NULL FROM few JOIN domains AS d ON d.id = few.id
"""  # noqa: S608
    values = (encode.uuid(after or _FIRST), limit)
    rows = connection.exec_driver_sql(placed(connection.dialect.name, statement), values).all()
    found = [(decode.uuid(row[0]), bool(row[1])) for row in rows]
    last = max((host_id for host_id, _ in found), default=None)
    return [host_id for host_id, is_lost in found if is_lost], last if len(found) == limit else None


def ageing(connection: Connection, now: float, limit: int) -> list[tuple[UUID, int, float]]:
    """Waiting jobs whose priority is to grow: their first priority, and when they were made."""
    decode = Decoding(connection)
    statement = f"SELECT id, first_priority, created_at FROM crawl_jobs WHERE {WAITING} AND ages_at <= ? LIMIT ?"  # noqa: S608
    values = (Encoding(connection).time(now), limit)
    rows = connection.exec_driver_sql(placed(connection.dialect.name, statement), values)
    return [(decode.uuid(row[0]), row[1] or 0, decode.seconds(row[2]) or now) for row in rows]


def age(connection: Connection, aged: Sequence[tuple[UUID, int, float | None]]) -> None:
    """Give jobs that still wait their new priority, and the time of the next."""
    encode = Encoding(connection)
    values = [(priority, encode.time_or_none(at), encode.uuid(job_id)) for job_id, priority, at in sorted(aged)]
    if values:
        statement = f"UPDATE crawl_jobs SET priority = ?, ages_at = ? WHERE id = ? AND {WAITING}"  # noqa: S608
        connection.exec_driver_sql(placed(connection.dialect.name, statement), values)


class HeldJob(NamedTuple):
    """A job that a bot holds, or held: what its end depends on."""

    id: UUID
    host_id: UUID
    host: str
    policy_id: UUID | None
    url: str
    status: JobStatus
    locked_by: str | None
    locked_at: float | None
    lock_ends_at: float | None
    lock_ttl_s: int
    retry_count: int
    max_retries: int
    lease_token: int | None
    slot_at: float | None
    slot_ends_at: float | None
    slot: dict[str, Any] | None
    submitted_by: str | None
    submission_digest: str | None
    submission_answer: dict[str, Any] | None
    expiry_count: int


_JOB: Final = """j.id, j.domain_id, d.domain, j.policy_id, j.url, j.status, j.locked_by, j.locked_at, j.lock_ends_at,
    j.lock_ttl_seconds, j.retry_count, j.max_retries, j.lease_token, j.slot_at, j.slot_ends_at, j.slot,
    j.submitted_by, j.submission_digest, j.submission_answer, j.expiry_count"""
_HELD: Final = f"SELECT {_JOB} FROM crawl_jobs AS j JOIN domains AS d ON d.id = j.domain_id "  # noqa: S608


def take(connection: Connection, job_id: UUID, now: float | None) -> tuple[HeldJob, HostRow, float] | None:
    """A job and its host, whose row is locked until the transaction ends, and the time; None if there is no such job.

    The row of the host is waited for. What the job says may be from before that: `end` finds out. `now=None` asks the
    server.
    """
    encode, decode = Encoding(connection), Decoding(connection)
    found = rows_of(connection, _take_text(connection.dialect.name), (encode.uuid(job_id),))
    if not found:
        return None
    (row,) = found
    job = _held(decode, row[reservations.WIDTH :])
    return job, reservations.host_row(decode, row), float(row[-1]) if now is None else now


@lru_cache(maxsize=2)
def _take_text(dialect: str) -> str:
    native = dialect == "postgresql"
    time, lock = ("extract(epoch FROM clock_timestamp())", "FOR NO KEY UPDATE OF d") if native else ("NULL", "")
    statement = f"""
SELECT {reservations.COLUMNS}, {_JOB}, {time}
FROM crawl_jobs AS j JOIN domains AS d ON d.id = j.domain_id LEFT JOIN domain_policies AS p ON p.host = d.domain
WHERE j.id = ? {lock}
"""  # noqa: S608
    return placed(dialect, statement)


def held(connection: Connection, job_ids: Collection[UUID]) -> dict[UUID, HeldJob]:
    """Some jobs, as they are; locks nothing."""
    encode = Encoding(connection)
    text, listed = among(connection, _HELD + "WHERE j.id {names}", [encode.uuid(each) for each in job_ids])
    decode = Decoding(connection)
    found = (_held(decode, row) for row in connection.exec_driver_sql(text, (listed,)))
    return {job.id: job for job in found}


def overdue(connection: Connection, now: float, limit: int) -> list[HeldJob]:
    """Locked jobs whose lock ran out, those longest over first; also those locked in SQL, whose end is computed."""
    decode, moment = Decoding(connection), Encoding(connection).time(now)
    conditions = (
        ("WHERE j.status = 'locked' AND j.lock_ends_at <= ? ORDER BY j.lock_ends_at LIMIT ?", (moment, limit)),
        ("WHERE j.status = 'locked' AND j.lock_ends_at IS NULL LIMIT ?", (limit,)),
    )
    found: list[HeldJob] = []
    for condition, values in conditions:
        rows = connection.exec_driver_sql(placed(connection.dialect.name, _HELD + condition), values)
        found += [_held(decode, row) for row in rows]
    return [job for job in found if (job.lock_ends_at or 0.0) <= now][:limit]


def _held(decode: Decoding, row: Sequence[Any]) -> HeldJob:
    seconds = decode.seconds
    locked_at, ttl_s = seconds(row[7]), row[9]
    ends_at = seconds(row[8])
    if ends_at is None and locked_at is not None:
        ends_at = locked_at + ttl_s
    return HeldJob(
        id=decode.uuid(row[0]),
        host_id=decode.uuid(row[1]),
        host=row[2],
        policy_id=decode.uuid_or_none(row[3]),
        url=row[4],
        status=JobStatus(row[5]),
        locked_by=row[6],
        locked_at=locked_at,
        lock_ends_at=ends_at,
        lock_ttl_s=ttl_s,
        retry_count=row[10],
        max_retries=row[11],
        lease_token=row[12],
        slot_at=seconds(row[13]),
        slot_ends_at=seconds(row[14]),
        slot=decode.json(row[15]),
        submitted_by=row[16],
        submission_digest=row[17],
        submission_answer=decode.json(row[18]),
        expiry_count=row[19],
    )


class JobEnd(NamedTuple):
    """How a job leaves its lock."""

    status: JobStatus
    reason: str
    actor: str
    error_msg: str | None = None
    retry_count: int | None = None
    """None leaves it as it is, as does the next."""
    not_before: float | None = None
    submitted_by: str | None = None
    submission_digest: str | None = None
    submission_answer: Any = None
    expiry_count: int | None = None


def end(connection: Connection, job: HeldJob, ending: JobEnd, now: float) -> bool:
    """Move a job out of its lock; False, with nothing changed, if it is no longer in that lock."""
    return begin_end(connection, job, ending, now)()


def begin_end(connection: Connection, job: HeldJob, ending: JobEnd, now: float) -> Callable[[], bool]:
    """The same, without waiting for the result: the function that it returns waits."""
    encode = Encoding(connection)
    is_over = ending.status in (JobStatus.DONE, JobStatus.FAILED)
    moment = encode.time(now)
    values = (
        str(ending.status),
        ending.error_msg,
        ending.retry_count,
        encode.time_or_none(ending.not_before),
        ending.submitted_by,
        ending.submission_digest,
        None if ending.submission_answer is None else encode.json(ending.submission_answer),
        ending.expiry_count,
        moment if is_over else None,
        ending.actor,
        ending.reason,
        moment,
        encode.uuid(job.id),
        job.locked_by,
        encode.time_or_none(job.locked_at),
    )
    changed = asked(connection, _end_text(connection.dialect.name), values)
    return lambda: bool(changed())


@lru_cache(maxsize=2)
def _end_text(dialect: str) -> str:
    document = "CAST(? AS jsonb)" if dialect == "postgresql" else "?"
    statement = f"""
UPDATE crawl_jobs SET status = ?, error_msg = ?, retry_count = coalesce(?, retry_count), not_before = ?,
    submitted_by = coalesce(?, submitted_by), submission_digest = coalesce(?, submission_digest),
    submission_answer = coalesce({document}, submission_answer), expiry_count = coalesce(?, expiry_count),
    finished_at = ?, moved_by = ?, move_reason = ?, updated_at = ?
WHERE id = ? AND status = 'locked' AND locked_by = ? AND locked_at = ? RETURNING id
"""  # noqa: S608
    return placed(dialect, statement)


def keep_locks(connection: Connection, job_ids: Collection[UUID], bot_id: str, now: float, longest_s: float) -> Any:
    """Prolong the locks that a bot still has by their TTL; returns id, host and the new end of each.

    A lock ends at most `longest_s` after its slot: a job that a bot never finishes goes to another one.
    """
    encode, decode = Encoding(connection), Decoding(connection)
    native = connection.dialect.name == "postgresql"
    if native:
        ends = "CAST(? AS timestamptz) + make_interval(secs => lock_ttl_seconds)"
    else:  # whole seconds are added, so that the fraction stays; SQLite itself would cut it to milliseconds
        ends = "strftime('%Y-%m-%d %H:%M:%S', ?, '+' || lock_ttl_seconds || ' seconds') || substr(?, 20)"
    statement = f"""
UPDATE crawl_jobs SET locked_at = ?, lock_ends_at = {ends}, updated_at = ?
WHERE id {{names}} AND status = 'locked' AND locked_by = ? AND lock_ends_at > ? AND (slot_at IS NULL OR slot_at > ?)
RETURNING id, domain_id, lock_ends_at
"""  # noqa: S608
    text, listed = among(connection, statement, sorted(encode.uuid(each) for each in job_ids))
    moment = encode.time(now)
    times = (moment, moment) if native else (moment, moment, moment)
    values = (*times, moment, listed, bot_id, moment, encode.time(now - longest_s))
    rows = connection.exec_driver_sql(text, values).all()
    return [(decode.uuid(row[0]), decode.uuid(row[1]), decode.seconds(row[2])) for row in rows]


def former_lock(connection: Connection, job_id: UUID, actor: str) -> float | None:
    """When a bot locked a job, if its last lock ran out; None if it ended in any other way, or there was none."""
    encode, decode = Encoding(connection), Decoding(connection)
    dialect, key = connection.dialect.name, encode.uuid(job_id)
    statement = """
SELECT id, moved_at FROM crawl_job_moves WHERE job_id = ? AND "after" = 'locked' AND actor = ? ORDER BY id DESC LIMIT 1
"""
    taken = connection.exec_driver_sql(placed(dialect, statement), (key, actor)).first()
    if taken is None:
        return None
    statement = 'SELECT "after" FROM crawl_job_moves WHERE job_id = ? AND id > ? ORDER BY id LIMIT 1'
    ended = connection.exec_driver_sql(placed(dialect, statement), (key, taken[0])).first()
    return decode.seconds(taken[1]) if ended is not None and ended[0] == JobStatus.EXPIRED else None


def in_hand(connection: Connection, bot_id: str) -> int:
    """How many jobs a bot holds."""
    statement = "SELECT count(*) FROM crawl_jobs WHERE locked_by = ? AND status = 'locked'"
    return int(connection.exec_driver_sql(placed(connection.dialect.name, statement), (bot_id,)).scalar_one())


def lock_own(connection: Connection, job_id: UUID, ends_at: float, lease_token: int, now: float) -> bool:
    """Lock a waiting job for Comity's own worker; False if it no longer waits.

    The worker holds the lease of the job's host, and has its row locked: the job needs no slot.
    """
    encode = Encoding(connection)
    moment = encode.time(now)
    statement = """
UPDATE crawl_jobs SET status = 'locked', locked_by = ?, locked_at = ?, lock_ends_at = ?, slot_at = NULL,
    slot_ends_at = NULL, slot = NULL, lease_token = ?, moved_by = ?, move_reason = 'taken by a worker', updated_at = ?
WHERE id = ? AND status IN ('pending', 'expired') AND not_before IS NULL
"""
    values = (OWN_BOT, moment, encode.time(ends_at), lease_token, bot_holder(OWN_BOT), moment, encode.uuid(job_id))
    return connection.exec_driver_sql(placed(connection.dialect.name, statement), values).rowcount > 0
