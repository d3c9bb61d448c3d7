"""Merge rows of `domains` that name the same host under today's naming rules.

The earliest row is kept, counters are summed, references are moved, and the stricter of two policies holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from comity.clock import Clock
from comity.database import hosts as hosts_table
from comity.database import merging
from comity.database.connection import Database
from comity.frontier.sql_store import own_frontier
from comity.frontier.store import FrontierStore
from comity.model.dataclass import dataclass
from comity.model.errors import BadAddress
from comity.model.host import CanonicalHost, HostStatus
from comity.rules.canonical import canonical_host

BATCH_ROWS: Final = 5000


@dataclass(frozen=True, slots=True)
class Merged:
    """One host whose name changed."""

    old: str
    new: str
    action: str  # renamed | folded | skipped
    detail: str | None = None


def merge_hosts(
    database: Database,
    clock: Clock,
    *,
    collapse: bool = False,
    dry_run: bool = False,
    frontier: FrontierStore | None = None,
) -> Iterator[Merged]:
    """Give every host its canonical name, one transaction per host; yields what was done."""
    store = frontier or own_frontier(database)
    last: UUID | None = None
    while True:
        with database.read() as connection:
            rows = merging.names_after(connection, last, BATCH_ROWS)
        if not rows:
            return
        for row in rows:
            try:
                wanted = canonical_host(row.domain, collapse=collapse)
            except BadAddress as error:
                yield Merged(row.domain, row.domain, "skipped", error.reason)
                continue
            if wanted.authority != row.domain:
                now = database.now(clock)
                yield _merge(database, store, now, row.domain, wanted, dry_run)
        last = rows[-1].id


def _merge(
    database: Database,
    store: FrontierStore,
    now: datetime | None,
    old: str,
    wanted: CanonicalHost,
    dry_run: bool,
) -> Merged:
    new = wanted.authority
    with database.read() as connection:
        ids = list(hosts_table.ids_of(connection, [old, new]).values())
    if len(ids) > 1:
        store.prepare_hosts(ids)  # changes that are still on their way to Redis would be lost with its row
    with store.change() as change:
        connection = change.connection
        ours, theirs = (merging.locked(connection, name) for name in sorted((old, new)))
        if old > new:
            ours, theirs = theirs, ours
        if ours is None:
            return Merged(old, new, "skipped", "it is gone")
        for row in (ours, theirs):
            if row is not None and hosts_table.is_leased(connection, row.id, now):
                return Merged(old, new, "skipped", f"{row.domain} is leased by {row.claimed_by}")
        if dry_run:
            return Merged(old, new, "renamed" if theirs is None else "folded", "not done: dry run")
        if theirs is None:
            merging.rename(connection, ours, new, wanted.parent_domain)
            return Merged(old, new, "renamed")
        kept, gone = sorted((ours, theirs), key=lambda row: (row.first_seen_at, str(row.id)))
        change.move(gone.id, kept.id)
        merging.fold(connection, kept, gone, new, wanted.parent_domain)
        _wake_if_work_came(connection, kept, gone)
    queued = store.size(kept.id)
    with database.write() as connection:
        merging.note_size(connection, kept.id, queued)
    return Merged(old, new, "folded")


def _wake_if_work_came(connection: Any, kept: Any, gone: Any) -> None:
    """Make a finished host pending again if it inherits URLs that are still waiting."""
    if kept.status is HostStatus.EXHAUSTED and gone.status in (HostStatus.PENDING, HostStatus.ACTIVE):
        hosts_table.change(connection, kept.id, {"status": HostStatus.PENDING, "next_crawl_after": None})
