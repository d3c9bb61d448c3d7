"""Make jobs of the policies that are due: never two open jobs of one policy, in short transactions."""

from __future__ import annotations

from typing import Final, NamedTuple
from uuid import UUID

from comity.clock import Clock
from comity.database.connection import Database
from comity.database.queue import jobs, policies, reservations
from comity.database.queue.policies import DuePolicy, NewJob
from comity.model.errors import BadInput
from comity.model.host import CanonicalHost
from comity.rules.canonical import canonical_host, web_address
from comity.rules.queue.job_timing import FIRST_AGE_S, first_priority
from comity.walk.bots.threads import time_of

BATCH: Final = 200
_MOST_BATCHES: Final = 100
_UNREADABLE_S: Final = 86_400.0


class _Batch(NamedTuple):
    looked_at: int
    made: int


def make_due_jobs(
    database: Database, clock: Clock, *, collapse_subdomains: bool = False, most_batches: int = _MOST_BATCHES
) -> int:
    """Make the jobs of policies that are due, in a limited number of transactions; returns how many."""
    with database.read() as connection:  # usually there are none: no need to take the write lock
        is_any_hostless = jobs.are_hostless(connection)
        is_any_due = policies.is_any_due(connection, time_of(connection, database, clock))
    made = _find_hosts(database, clock, collapse_subdomains) if is_any_hostless else 0
    if not is_any_due:
        return made
    for _ in range(most_batches):
        batch = _make_some(database, clock, collapse_subdomains)
        made += batch.made
        if batch.looked_at < BATCH:
            break
    return made


def _find_hosts(database: Database, clock: Clock, collapse: bool) -> int:
    """Give jobs that were inserted with SQL their hosts, so that pulls find them; returns how many."""
    with database.write() as connection:
        now = time_of(connection, database, clock)
        found = {job_id: _host(url, collapse) for job_id, url in jobs.hostless(connection, BATCH)}
        hosts = {job_id: host for job_id, host in found.items() if host is not None}
        ids = reservations.add_hosts(connection, list(hosts.values()))
        jobs.set_hosts(connection, [(job_id, ids[host.authority]) for job_id, host in hosts.items()])
        unreadable = [job_id for job_id, host in found.items() if host is None]
        jobs.park(connection, [(job_id, now + _UNREADABLE_S, "not a web address") for job_id in unreadable])
    with database.write() as connection:
        jobs.mark_ready(connection, {ids[host.authority] for host in hosts.values()}, now)
    return len(hosts)


def _make_some(database: Database, clock: Clock, collapse: bool) -> _Batch:
    with database.write() as connection:
        now = time_of(connection, database, clock)
        due = policies.due(connection, now, BATCH)
        hosts = {policy.id: host for policy in due if (host := _host(policy.url, collapse)) is not None}
        ids = reservations.add_hosts(connection, list(hosts.values()))
        new: list[NewJob] = []
        postponed = []
        for policy in due:
            host = hosts.get(policy.id)
            host_id = None if host is None else ids[host.authority]
            # A policy whose job is still open is asked about again after its frequency, and so is one without a host.
            wait_s = _UNREADABLE_S if host is None else policy.frequency_hours * 3600.0
            postponed.append((policy.id, now + wait_s, host_id))
            if host_id is not None and not policy.has_open_job:
                new.append(_job(policy, host_id, now))
        policies.add_jobs(connection, new, now)
        policies.postpone(connection, postponed)
    # Afterwards, so that no one waits for these hosts meanwhile; the sweeper makes a hint again that a crash loses.
    with database.write() as connection:
        jobs.mark_ready(connection, {job.host_id for job in new}, now)
    return _Batch(len(due), len(new))


def _job(policy: DuePolicy, host_id: UUID, now: float) -> NewJob:
    return NewJob(
        policy_id=policy.id,
        host_id=host_id,
        url=policy.url,
        priority=first_priority(policy.priority, policy.importance, policy.failure_count),
        lock_ttl_s=policy.timeout_minutes * 60,
        max_retries=policy.max_retries,
        crawl_config=policy.crawl_config,
        ages_at=now + FIRST_AGE_S,
    )


def _host(url: str, collapse: bool) -> CanonicalHost | None:
    try:
        return canonical_host(web_address(url, collapse=collapse).host, collapse=collapse)
    except BadInput:
        return None
