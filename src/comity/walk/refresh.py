"""Refresh a host: which of its known URLs are queued again, and the conditions under which each is fetched.

A round starts under the lease, in one transaction with its mark on the host's row: after a crash, the next run
continues with what is still queued. All functions block.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Final
from uuid import UUID

from sqlalchemy import Connection

from comity.database.records import last_seen
from comity.frontier.store import FrontierChange, FrontierReads
from comity.model.frontier import IMAGE_PRIORITY, QueuedUrl, SeenPage
from comity.model.sitemap import PageHints
from comity.rules.refresh import RefreshTerms, revisit_rank

_KNOWN_AT_A_TIME: Final = 1000  # known URLs that are read at a time
_WRITTEN: Final = 10_000


def plan_round(
    reads: FrontierReads, connection: Connection, host_id: UUID, now: datetime, terms: RefreshTerms, *, images: bool
) -> tuple[array[int], array[int]]:
    """The keys of the URLs that a refresh of a host fetches, and their ranks; images only where they are wanted.

    It only reads and locks nothing, however many URLs a host has: its frontier changes only under its lease.
    """
    keys, ranks, place = array("q"), array("i"), None
    while known := reads.done(host_id, place, _KNOWN_AT_A_TIME):
        place = known[-1].place
        asked = [each for each in known if images or each.priority > IMAGE_PRIORITY]
        seen = _seen(connection, host_id, [(each.key, each.priority <= IMAGE_PRIORITY) for each in asked])
        for each in asked:
            rank = revisit_rank(each.hints, seen.get(each.key), now, terms)
            if rank is not None:
                keys.append(each.key)
                ranks.append(rank if each.priority > IMAGE_PRIORITY else IMAGE_PRIORITY)
    return keys, ranks


def requeue_planned(change: FrontierChange, host_id: UUID, keys: array[int], ranks: array[int]) -> int:
    """Queue the planned URLs, except those taken down in the meantime; returns how many."""
    planned = zip(keys, ranks, strict=True)
    queued = 0
    while some := list(islice(planned, _WRITTEN)):
        queued += change.requeue_known(host_id, some)
    return queued


def requeue_changed(
    change: FrontierChange,
    host_id: UUID,
    hinted: Collection[tuple[int, PageHints]],
    began_at: float,
    now: datetime,
    terms: RefreshTerms,
) -> int:
    """Queue URLs again that changed during a round, according to a sitemap; returns how many.

    URLs visited since the round began are not requested again, whatever the sitemap says.
    """
    said = dict(hinted)
    seen = last_seen(change.connection, said)
    ranked = [
        (key, rank)
        for key, page in seen.items()
        if page.at < began_at and (rank := revisit_rank(said[key], page, now, terms)) is not None
    ]
    return change.requeue_known(host_id, ranked) if ranked else 0


def with_seen(connection: Connection, host_id: UUID, rows: Sequence[QueuedUrl], began_at: float) -> list[QueuedUrl]:
    """The next URLs of a host that is refreshed, each with what its last visit found; one statement for all.

    A URL visited since the round began is queued again only if the frontier was lost. It is requested unconditionally,
    because a 304 response would bring no links.
    """
    seen = _seen(connection, host_id, [(row.key, row.is_image) for row in rows])
    for key, page in seen.items():
        if page.at >= began_at:
            seen[key] = page._replace(etag=None, last_modified=None)
    return [row._replace(seen=seen.get(row.key)) for row in rows]


def with_same(
    connection: Connection, rows: Sequence[QueuedUrl], kept: Mapping[str, tuple[str | None, str | None]]
) -> list[QueuedUrl]:
    """URLs with what their last visits found, if the caller's copy has the same validators.

    Another door may have seen a newer page than the caller has: "not modified" would then leave the old one in place.
    """
    wanted = [row.key for row in rows if any(kept.get(row.url, ()))]
    seen = last_seen(connection, wanted, of_crawls=False) if wanted else {}
    return [
        row._replace(seen=page)
        if (page := seen.get(row.key)) is not None and (page.etag, page.last_modified) == kept.get(row.url)
        else row
        for row in rows
    ]


def _seen(connection: Connection, host_id: UUID, keys: Sequence[tuple[int, bool]]) -> dict[int, SeenPage]:
    """What is known about pages, and about images, which have their own table."""
    found = last_seen(connection, [key for key, is_image in keys if not is_image])
    images = [key for key, is_image in keys if is_image]
    if images:
        from comity.database.images import last_seen as last_seen_images  # most hosts have none

        found.update(last_seen_images(connection, host_id, images))
    return found
