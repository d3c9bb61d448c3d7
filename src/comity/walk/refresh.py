"""Refreshing a host: which of its known URLs are queued again, and what each is asked with.

A round begins under the lease, in one transaction with its mark on the host's row: whoever is killed in the midst of it
goes on with what is still queued. All of it blocks.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import Connection

from comity.database.seen_pages import last_seen
from comity.frontier.store import FrontierChange, FrontierReads
from comity.model.frontier import QueuedUrl
from comity.model.sitemap import PageHints
from comity.rules.stale import RefreshTerms, revisit_rank

_PAGE: Final = 1000  # known URLs that are looked at together


def begin_round(reads: FrontierReads, change: FrontierChange, host_id: UUID, now: datetime, terms: RefreshTerms) -> int:
    """Queue again what a refresh of a host asks for; gives how many URLs that is. A round may begin anew."""
    queued, place = 0, None
    while known := reads.done(host_id, place, _PAGE):
        place = known[-1].place
        seen = last_seen(change.connection, [each.key for each in known])
        ranks = ((each.key, revisit_rank(each.hints, seen.get(each.key), now, terms)) for each in known)
        queued += change.requeue_known(host_id, [(key, rank) for key, rank in ranks if rank is not None])
    return queued


def requeue_changed(
    change: FrontierChange,
    host_id: UUID,
    hinted: Collection[tuple[int, PageHints]],
    began_at: float,
    now: datetime,
    terms: RefreshTerms,
) -> int:
    """Queue URLs again of which a sitemap says, during a round, that they changed; gives how many.

    What was visited since the round began is not asked for again, whatever is said of it.
    """
    said = dict(hinted)
    seen = last_seen(change.connection, said)
    ranked = [
        (key, rank)
        for key, page in seen.items()
        if page.at < began_at and (rank := revisit_rank(said[key], page, now, terms)) is not None
    ]
    return change.requeue_known(host_id, ranked) if ranked else 0


def with_seen(connection: Connection, rows: Sequence[QueuedUrl]) -> list[QueuedUrl]:
    """The next URLs of a host that is refreshed, each with what its last visit found: one statement for all."""
    seen = last_seen(connection, [row.key for row in rows])
    return [row._replace(seen=seen.get(row.key)) for row in rows]
