"""Statements on `domains` other than those of leases: add, read and change hosts, and compute their priority."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, Final
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    Connection,
    Double,
    Integer,
    Row,
    Select,
    Text,
    case,
    cast,
    func,
    literal,
    or_,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from comity.database.dialects import insert_into, named_in
from comity.database.tables import domains
from comity.database.triggers import is_illegal_move
from comity.database.types import UtcDateTime, instant
from comity.model.errors import IllegalTransition
from comity.model.host import BlockReason, CanonicalHost, HostStatus, Seed
from comity.rules.endings import UNCOUNTED_REASONS
from comity.rules.priority import PriorityWeights

_BATCH: Final = 1000
BATCH_HOSTS: Final = 5_000
_SECONDS_PER_DAY: Final = 86400.0


def add_seeds(
    connection: Connection,
    seeds: Iterable[Seed],
    source: str | None,
    first_score: Callable[[int | None], int],
    paused_by: UUID | None = None,
) -> int:
    """Make sure that every seed has a row and may be crawled; returns how many hosts are new.

    A known host keeps its status, counters and cooldown: the table decides, not the list.
    `first_score` gives the priority of a host of that rank that was never crawled. Workers leave hosts that were not
    seeded before to the run `paused_by`.
    """
    before = count(connection)
    rows: list[dict[str, Any]] = [
        {
            "domain": seed.host.authority,
            "parent_domain": seed.host.parent_domain,
            "seed_rank": seed.rank,
            "source": source,
            "is_seeded": True,
            "priority_score": first_score(seed.rank),
            "paused_by_run": paused_by,
        }
        for seed in sorted(
            seeds, key=lambda seed: seed.host.authority
        )  # so that two writers of one list do not deadlock
    ]
    statement = insert_into(connection, domains)
    statement = statement.on_conflict_do_update(
        index_elements=[domains.c.domain],
        set_={
            "is_seeded": True,
            "seed_rank": func.coalesce(statement.excluded.seed_rank, domains.c.seed_rank),
            "source": func.coalesce(domains.c.source, statement.excluded.source),
            "priority_score": case(
                (domains.c.last_crawled_at.is_(None), statement.excluded.priority_score),
                else_=domains.c.priority_score,
            ),
            "paused_by_run": func.coalesce(statement.excluded.paused_by_run, domains.c.paused_by_run),
            "version": domains.c.version + 1,
        },
        where=or_(
            ~domains.c.is_seeded,
            domains.c.seed_rank.is_distinct_from(func.coalesce(statement.excluded.seed_rank, domains.c.seed_rank)),
        ),
    )
    for start in range(0, len(rows), _BATCH):
        batch = rows[start : start + _BATCH]
        # A conflict would lock the row even if nothing changes, and the worker that holds the host would wait for us.
        seeded = _ranks_of_seeded(connection, [row["domain"] for row in batch])
        changed = [
            row for row in batch if row["domain"] not in seeded or row["seed_rank"] not in (None, seeded[row["domain"]])
        ]
        if changed:
            connection.execute(statement, changed)
    return count(connection) - before


def _ranks_of_seeded(connection: Connection, hosts: Sequence[str]) -> dict[str, int | None]:
    """Those of the hosts that are seeded already, with their ranks."""
    statement = select(domains.c.domain, domains.c.seed_rank).where(
        named_in(connection.dialect.name, domains.c.domain, "hosts"), domains.c.is_seeded
    )
    return {row.domain: row.seed_rank for row in connection.execute(statement, {"hosts": hosts})}


def touch(connection: Connection, hosts: Iterable[CanonicalHost], source: str) -> None:
    """Give hosts a row for their lease and gate, without making them candidates for whole-site crawls."""
    rows = [
        {"domain": host.authority, "parent_domain": host.parent_domain, "source": source, "is_seeded": False}
        for host in sorted(hosts, key=str)
    ]
    if rows:
        connection.execute(insert_into(connection, domains).on_conflict_do_nothing(index_elements=["domain"]), rows)


def count(connection: Connection) -> int:
    """How many hosts are known."""
    return connection.execute(select(func.count()).select_from(domains)).scalar_one()


def get(connection: Connection, host: str) -> Row[Any] | None:
    """One host's row."""
    return connection.execute(select(domains).where(domains.c.domain == host)).first()


def pages_crawled(connection: Connection, hosts: Collection[str]) -> dict[str, int]:
    """How many pages of each host were ever fetched; unknown hosts are missing."""
    found: dict[str, int] = {}
    rest = iter(hosts)
    while some := list(islice(rest, _BATCH)):
        statement = select(domains.c.domain, domains.c.pages_crawled).where(domains.c.domain.in_(some))
        found.update((row.domain, row.pages_crawled) for row in connection.execute(statement))
    return found


def get_some(connection: Connection, hosts: Collection[str]) -> dict[str, Any]:
    """When hosts may be crawled, by their rows; unknown hosts are missing."""
    column = domains.c
    wanted = (
        column.domain,
        column.status,
        column.next_crawl_after,
        column.claim_expires_at,
        column.claimed_by,
        column.block_reason,
        column.block_reason_code,
        column.blocked_until,
        column.frontier_size,
        column.left_at_depth,
    )
    statement = select(*wanted).where(named_in(connection.dialect.name, column.domain, "hosts"))
    found: dict[str, Any] = {}
    rest = iter(hosts)
    while some := list(islice(rest, _BATCH)):
        found |= {row.domain: row for row in connection.execute(statement, {"hosts": some})}
    return found


def status_of(connection: Connection, host_ids: Collection[UUID]) -> dict[UUID, Any]:
    """The pages, the queue and the refresh of each of some hosts, as their rows have them."""
    column = domains.c
    wanted = (column.id, column.pages_crawled, column.frontier_size, column.refresh_started_at)
    statement = select(*wanted).where(column.id.in_(list(host_ids)))
    return {row.id: row for row in connection.execute(statement)}


def due_for_refresh(connection: Connection, host_ids: Collection[UUID]) -> set[UUID]:
    """Which of some hosts are to be refreshed."""
    statement = select(domains.c.id).where(domains.c.id.in_(list(host_ids)), domains.c.is_refresh_due)
    return set(connection.execute(statement).scalars())


def add_discovered(connection: Connection, found: Mapping[UUID, int], now: datetime) -> None:
    """Count URLs that were found for hosts outside of a crawl; a host that was finished has URLs to visit again."""
    by_number: dict[int, list[UUID]] = {}  # of a long list nearly every host has as many as the others: one
    for host_id, number in found.items():
        if number:
            by_number.setdefault(number, []).append(host_id)
    for number, host_ids in by_number.items():
        rest = iter(host_ids)
        while some := list(islice(rest, 500)):
            connection.execute(
                update(domains)
                .where(domains.c.id.in_(some))
                .values(
                    pages_discovered=domains.c.pages_discovered + number,
                    frontier_size=domains.c.frontier_size + number,
                    frontier_updated_at=now,
                    version=domains.c.version + 1,
                )
            )
            connection.execute(
                update(domains)
                .where(domains.c.id.in_(some), domains.c.status == HostStatus.EXHAUSTED)
                .values(status=HostStatus.PENDING, next_crawl_after=None)
            )


def note_checkpoint(connection: Connection, host_id: UUID, checkpoint_id: str | None) -> None:
    """Note where the URLs of a host are stored after a move; None is the database itself: the host and its last run."""
    of_run = domains.c.domain + ":" + cast(domains.c.last_crawl_run_id, Text)
    connection.execute(
        update(domains)
        .where(domains.c.id == host_id, domains.c.frontier_size > 0)
        .values(frontier_checkpoint_id=of_run if checkpoint_id is None else checkpoint_id)
    )


def is_leased(connection: Connection, host_id: UUID, now: datetime | None) -> bool:
    """Whether the host is leased now, by the clock that rules the leases."""
    statement = select(domains.c.id).where(
        domains.c.id == host_id, domains.c.claim_expires_at > instant(connection, now)
    )
    return connection.execute(statement).first() is not None


def leased_now(connection: Connection, now: datetime | None) -> str | None:
    """Some host that is leased now."""
    statement = select(domains.c.domain).where(domains.c.claim_expires_at > instant(connection, now)).limit(1)
    found: str | None = connection.execute(statement).scalar()
    return found


def ids_of(connection: Connection, hosts: Collection[str]) -> dict[str, UUID]:
    """The ids of the hosts that are known."""
    statement = select(domains.c.domain, domains.c.id).where(
        named_in(connection.dialect.name, domains.c.domain, "hosts")
    )
    return {row.domain: row.id for row in connection.execute(statement, {"hosts": list(hosts)})}


def lock(connection: Connection, host_ids: Iterable[UUID]) -> None:
    """Lock the rows of hosts until the transaction ends, in the order that every transaction uses.

    An embedded state has one writer at a time.
    """
    if connection.dialect.name == "postgresql":
        statement = select(domains.c.id).where(domains.c.id.in_(list(host_ids))).order_by(domains.c.id)
        connection.execute(statement.with_for_update()).all()


def page(
    connection: Connection,
    *,
    status: HostStatus | None = None,
    contains: str | None = None,
    limit: int = 50,
    offset: int = 0,
) -> Sequence[Row[Any]]:
    """Hosts for a listing: those crawled last come first, then those that wait, best first."""
    statement = select(domains).order_by(
        domains.c.last_crawled_at.desc().nulls_last(), domains.c.priority_score.desc(), domains.c.domain
    )
    if status is not None:
        statement = statement.where(domains.c.status == status)
    if contains:
        statement = statement.where(domains.c.domain.contains(contains, autoescape=True))
    return connection.execute(statement.limit(limit).offset(offset)).all()


def ranked_by_yield(connection: Connection, limit: int) -> Sequence[Row[Any]]:
    """Hosts with the most images per page, by their present counters."""
    per_page = cast(domains.c.images_stored, Double) / domains.c.pages_crawled
    return connection.execute(
        select(domains)
        .where(domains.c.pages_crawled > 0)
        .order_by(per_page.desc(), domains.c.images_stored.desc(), domains.c.domain)
        .limit(limit)
    ).all()


def change(
    connection: Connection, host_id: UUID, values: Mapping[str, Any], *, expected_version: int | None = None
) -> bool:
    """Change a host's row outside of a lease; with a version, only if it did not change in between."""
    statement = (
        update(domains)
        .where(domains.c.id == host_id)
        .values(**values, version=domains.c.version + 1)
        .returning(domains.c.id)
    )
    if expected_version is not None:
        statement = statement.where(domains.c.version == expected_version)
    try:
        return connection.execute(statement).first() is not None
    except IntegrityError as error:
        if is_illegal_move(error):
            raise IllegalTransition(str(error.orig).splitlines()[0]) from error
        raise


def asleep(connection: Connection, host_ids: Iterable[UUID], reasons: Collection[BlockReason]) -> list[UUID]:
    """Those of some hosts that are blocked for one of these reasons."""
    codes = [str(reason) for reason in reasons]
    rest = iter(host_ids)
    found: list[UUID] = []
    while some := list(islice(rest, 500)):
        statement = select(domains.c.id).where(domains.c.id.in_(some), *_asleep(codes))
        found += connection.execute(statement).scalars()
    return found


def refused_by_address(connection: Connection, among: Collection[str] | None, limit: int) -> Sequence[Any]:
    """Hosts that are blocked because of their addresses, with the addresses."""
    statement = (
        select(domains.c.id, domains.c.domain, domains.c.refused_address)
        .where(*_asleep([str(BlockReason.ADDRESS_REFUSED)]), domains.c.refused_address.is_not(None))
        .order_by(domains.c.domain)
        .limit(limit)
    )
    if among is None:
        return connection.execute(statement).all()
    named = named_in(connection.dialect.name, domains.c.domain, "hosts")
    return connection.execute(statement.where(named), {"hosts": list(among)}).all()


def _asleep(reasons: list[str]) -> tuple[ColumnElement[bool], ...]:
    kinds = [HostStatus.BLOCKED, HostStatus.UNREACHABLE]
    return domains.c.status.in_(kinds), domains.c.block_reason_code.in_(reasons), domains.c.claimed_by.is_(None)


def wake(connection: Connection, host_ids: Iterable[UUID]) -> int:
    """End the cooldown of hosts because something changed that it depended on; no retry is used up."""
    rest, woken = iter(host_ids), 0
    while some := list(islice(rest, 500)):
        statement = (
            update(domains)
            .where(domains.c.id.in_(some), domains.c.status.in_([HostStatus.BLOCKED, HostStatus.UNREACHABLE]))
            .values(
                status=HostStatus.PENDING,
                next_crawl_after=None,
                consecutive_error_count=0,
                version=domains.c.version + 1,
            )
        )
        woken += connection.execute(statement).rowcount
    return woken


def end_cooldowns(connection: Connection, now: datetime | None, *, refresh: bool, limit: int) -> int:
    """Make hosts whose cooldown is over pending again, at most `limit` of them; returns how many.

    An automatic retry is counted here, so that a host that keeps refusing is given up in the end.
    """
    kinds = [HostStatus.BLOCKED, HostStatus.UNREACHABLE] + ([HostStatus.EXHAUSTED] if refresh else [])
    due: Select[Any] = (
        select(domains.c.id)
        .where(
            domains.c.status.in_(kinds),
            domains.c.next_crawl_after <= instant(connection, now),
            or_(domains.c.claimed_by.is_(None), domains.c.claim_expires_at <= instant(connection, now)),
        )
        .order_by(domains.c.next_crawl_after)
        .limit(limit)
    )
    if connection.dialect.name == "postgresql":
        due = due.with_for_update(skip_locked=True)
    woken = (
        update(domains)
        .where(domains.c.id.in_(due.cte("due").select()))
        .values(
            status=HostStatus.PENDING,
            next_crawl_after=None,
            consecutive_error_count=0,
            is_refresh_due=or_(domains.c.is_refresh_due, domains.c.status == HostStatus.EXHAUSTED),
            cooldown_count=case((_is_uncounted(), domains.c.cooldown_count), else_=domains.c.cooldown_count + 1),
            version=domains.c.version + 1,
        )
        .returning(domains.c.id)  # SQLite's driver counts no rows of a statement that begins with a CTE
    )
    return len(connection.execute(woken).all())


def ask_refresh(connection: Connection, hosts: Collection[str], now: datetime | None) -> list[str]:
    """Make those of the hosts due that are done and not leased; returns their names.

    A host that was done, and woke because a page of it was named just now, is refreshed with it.
    """
    asked = {"hosts": list(hosts)}
    due = update(domains).where(
        named_in(connection.dialect.name, domains.c.domain, "hosts"),
        or_(domains.c.claimed_by.is_(None), domains.c.claim_expires_at <= instant(connection, now)),
    )
    marked = {"next_crawl_after": None, "is_refresh_due": True, "version": domains.c.version + 1}
    woken = due.where(domains.c.status == HostStatus.PENDING, domains.c.pages_crawled > 0).values(**marked)
    done = due.where(domains.c.status == HostStatus.EXHAUSTED).values(**marked, status=HostStatus.PENDING)
    names: list[str] = []
    for statement in (woken, done):  # a host that was done is not woken twice
        names += connection.execute(statement.returning(domains.c.domain), asked).scalars()
    return sorted(names)


def reachable_at_depth(
    connection: Connection,
    max_depth: int,
    now: datetime | None,
    hosts: Collection[str] | None,
    limit: int,
    after: UUID | None = None,
) -> Sequence[Any]:
    """Hosts that are done, that no worker holds, and whose links that were left lie no deeper than is followed now."""
    statement = select(domains.c.id, domains.c.domain).where(
        domains.c.left_at_depth <= max_depth,
        domains.c.status == HostStatus.EXHAUSTED,
        or_(domains.c.claimed_by.is_(None), domains.c.claim_expires_at <= instant(connection, now)),
    )
    if hosts is not None:
        statement = statement.where(named_in(connection.dialect.name, domains.c.domain, "hosts"))
    else:
        statement = statement.where(domains.c.is_seeded, domains.c.paused_by_run.is_(None))
    if connection.dialect.name == "postgresql":
        statement = statement.with_for_update(skip_locked=True)
    if after is not None:
        statement = statement.where(domains.c.id > after)
    parameters = {} if hosts is None else {"hosts": list(hosts)}
    return connection.execute(statement.order_by(domains.c.id).limit(limit), parameters).all()


def pause_for_workers(connection: Connection, hosts: Collection[str], run_id: UUID | None) -> int:
    """Reserve hosts for a run that a person may continue, or return them to the workers; returns how many."""
    paused_by = domains.c.paused_by_run
    # Few hosts are paused, and have an index: a crawl of very many seeds does not look at each of them.
    is_other = paused_by.is_not(None) if run_id is None else paused_by.is_distinct_from(run_id)
    named = named_in(connection.dialect.name, domains.c.domain, "hosts")
    found = connection.execute(select(domains.c.id).where(named, is_other), {"hosts": list(hosts)}).scalars()
    return _pause(connection, found, run_id, is_other)


def resume_finished(connection: Connection, run_id: UUID) -> int:
    """End the pauses of a run on hosts where every URL was visited and no link was too deep; returns how many."""
    column = domains.c
    is_finished = (
        column.paused_by_run == run_id,
        column.status == HostStatus.EXHAUSTED,
        column.frontier_size == 0,
        column.left_at_depth.is_(None),
    )
    found = connection.execute(select(column.id).where(*is_finished)).scalars()
    return _pause(connection, found, None, *is_finished)


def _pause(connection: Connection, host_ids: Iterable[UUID], run_id: UUID | None, *conditions: Any) -> int:
    """Pause hosts for a run, or end their pauses, where the conditions still hold once the rows are locked."""
    values = {"paused_by_run": run_id, "version": domains.c.version + 1}
    ordered = iter(sorted(host_ids))  # in batches, the rows are still locked in the order of all ids
    changed = 0
    while some := list(islice(ordered, _BATCH)):
        lock(connection, some)
        statement = update(domains).where(domains.c.id.in_(some), *conditions).values(**values)
        changed += connection.execute(statement).rowcount
    return changed


def wake_released(connection: Connection, host_id: UUID) -> None:
    """Make a host due that was released just now and has URLs to visit after all."""
    column = domains.c
    waits = column.status.in_((HostStatus.PENDING, HostStatus.ACTIVE)) & column.next_crawl_after.is_not(None)
    status = case((column.status == HostStatus.EXHAUSTED, HostStatus.PENDING), else_=column.status)
    statement = (
        update(domains)
        .where(column.id == host_id, (column.status == HostStatus.EXHAUSTED) | waits, column.claimed_by.is_(None))
        .values(status=status, next_crawl_after=None, version=column.version + 1)
    )
    connection.execute(statement)


def seeded_below(connection: Connection, names: Collection[str], parents: Collection[str]) -> list[str]:
    """Seeded hosts that are named, or whose registrable domain is."""
    column, dialect = domains.c, connection.dialect.name
    found: list[str] = []
    for place, wanted in ((column.domain, names), (column.parent_domain, parents)):
        statement = select(column.domain).where(column.is_seeded, named_in(dialect, place, "hosts"))
        found += connection.execute(statement, {"hosts": list(wanted)}).scalars()
    return found


def wake_for_depth(connection: Connection, host_id: UUID, found: int) -> None:
    """A host that was done has links to follow: as if they had been found just now.

    Where its frontier was lost, and with it the links, all of its pages are requested again and lead to them.
    """
    change(
        connection,
        host_id,
        {
            "status": HostStatus.PENDING,
            "next_crawl_after": None,
            "left_at_depth": None,
            "pages_discovered": domains.c.pages_discovered + found,
            "frontier_size": domains.c.frontier_size + found,
        },
    )


def _is_uncounted() -> ColumnElement[bool]:
    """Whether a host is woken without a retry being used up: it refused nothing."""
    reasons = [str(reason) for reason in UNCOUNTED_REASONS]
    return or_(domains.c.status == HostStatus.EXHAUSTED, func.coalesce(domains.c.block_reason_code, "").in_(reasons))


def rescore(
    connection: Connection,
    weights: PriorityWeights,
    now: datetime | None,
    after: UUID | None,
    older_than_s: float = 0.0,
) -> UUID | None:
    """Score one batch of hosts in the order of their ids; returns the last id of it, or None at the end.

    Hosts that were scored within `older_than_s` are skipped.
    """
    rest = [domains.c.id > after] if after is not None else []
    last: UUID | None = connection.execute(
        select(domains.c.id).where(*rest).order_by(domains.c.id).offset(BATCH_HOSTS - 1).limit(1)
    ).scalar()
    which = [*rest, domains.c.id <= last] if last is not None else rest
    if older_than_s:
        computed_at = domains.c.priority_computed_at
        which = [*which, or_(computed_at.is_(None), computed_at <= instant(connection, now, -older_than_s))]
    _score(connection, weights, now, which)
    return last


def rescore_of_run(connection: Connection, weights: PriorityWeights, now: datetime | None, run_id: UUID) -> None:
    """Score the hosts that a run was the last to crawl."""
    _score(connection, weights, now, [domains.c.last_crawl_run_id == run_id])


def _score(connection: Connection, weights: PriorityWeights, now: datetime | None, which: list[Any]) -> None:
    """Blocked and unreachable hosts keep their score: their cooldown decides, not their merit."""
    scored = [*which, domains.c.status.not_in([HostStatus.BLOCKED, HostStatus.UNREACHABLE])]
    if connection.dialect.name == "postgresql":
        # A host that a worker is writing to is scored next time: we never wait while others wait for us.
        unlocked = select(domains.c.id).where(*scored).with_for_update(skip_locked=True)
        scored = [domains.c.id.in_(select(unlocked.cte("unlocked")))]
    connection.execute(
        update(domains)
        .where(*scored)
        .values(
            image_yield_rate=_per_page(domains.c.images_stored),
            avg_images_per_page=_per_page(domains.c.images_found),
            error_rate=_per_page(domains.c.total_error_count),
            priority_score=score(connection, weights, now),
            priority_computed_at=instant(connection, now),
            version=domains.c.version + 1,
        )
    )


def score(connection: Connection, weights: PriorityWeights, now: datetime | None) -> ColumnElement[Any]:
    """The sum of `rules.priority.priority_score`, as an expression over the columns."""
    rank = case((domains.c.seed_rank > 0, cast(domains.c.seed_rank, Double)), (domains.c.seed_rank <= 0, 0.0))
    remaining = domains.c.pages_discovered - domains.c.pages_crawled
    total = (
        func.coalesce(weights.seed_rank * weights.seed_rank_half / (weights.seed_rank_half + rank), 0.0)
        + weights.image_yield * func.coalesce(_per_page(domains.c.images_stored), 0.0)
        + weights.page_remaining
        * case(
            (remaining < 0, 0), (remaining < weights.pages_remaining_cap, remaining), else_=weights.pages_remaining_cap
        )
        - weights.error_rate * func.coalesce(_per_page(domains.c.total_error_count), 0.0)
        + weights.day_waiting * _days_waiting(connection, weights, now)
    )
    bounded = case((total > 2**31 - 1, 2**31 - 1), (total < -(2**31), -(2**31)), else_=total)
    return cast(func.round(bounded), Integer)


def _per_page(column: ColumnElement[Any]) -> ColumnElement[Any]:
    pages = domains.c.pages_crawled
    return case((pages > 0, cast(column, Double) / pages), else_=None)


def _days_waiting(connection: Connection, weights: PriorityWeights, now: datetime | None) -> ColumnElement[Any]:
    """Days since the host was last crawled; the one calculation that differs between the databases."""
    since = func.coalesce(domains.c.last_crawled_at, literal(weights.never_crawled_since, UtcDateTime()))
    moment = instant(connection, now)
    if connection.dialect.name == "postgresql":
        return cast(func.extract("epoch", moment - since), Double) / _SECONDS_PER_DAY
    return func.julianday(moment) - func.julianday(since)
