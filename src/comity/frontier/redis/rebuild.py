"""Rebuild a host's frontier from the database, when Redis has lost it.

What was visited is known from `fetches`, images from `image_urls`, what is under way from the journal. Pages that were
found and never visited are lost: so, unless the host was exhausted, its pages are queued again, and its
sitemaps are read again, because these are what the lost URLs were found on. It costs the site a second visit, and loses
nothing that it links.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any, Final
from uuid import UUID

from comity.database import images, sitemaps
from comity.database.connection import Database
from comity.database.frontier import journal as journal_table
from comity.database.records import were_pages
from comity.database.tables import DONE, QUEUED
from comity.frontier.redis.layout import data_keys, pack_entry, pack_kept, stem_of
from comity.frontier.redis.link import RedisLink
from comity.frontier.store import FrontierUnavailable
from comity.model.frontier import GUESSED_SCHEME_PRIORITY, IMAGE_PRIORITY, FoundBy
from comity.model.host import HostStatus
from comity.rules.canonical import address_of_host, web_address

_PAGE: Final = 1000
_UNLINKED: Final = 500
_ALONE_MS: Final = 60_000
_BUILDING: Final = -1
_WITH_LINKS: Final = ("fetched", "not_modified")
_TRIED_AGAIN: Final = ("failed", "rate_limited")


def rebuild(database: Database, link: RedisLink, host_id: UUID, epoch: str) -> None:
    """Start a new epoch of a host's frontier; the caller applies the journal on top."""
    stem = stem_of(host_id)
    # One at a time: two would undo each other's work without end.
    is_ours = link.command("SET", f"{stem}:building", epoch, "NX", "PX", _ALONE_MS)
    # Where the answer was lost and the command sent once more, it is our own that is in the way.
    if not is_ours and link.command("GET", f"{stem}:building") != epoch.encode():
        raise FrontierUnavailable(
            f"the frontier of host {host_id} at {link.location} is being rebuilt by another worker"
        )
    try:
        with database.write() as connection:
            mark = journal_table.begin_epoch(connection, host_id, epoch)
            if mark is None:
                return
            first = journal_table.first_batch(connection, host_id)
            host = journal_table.host_of(connection, host_id)
            is_finished = host.status is HostStatus.EXHAUSTED
            if not is_finished and first != 1:
                sitemaps.forget(connection, host_id)
        before = link.command("HMGET", stem, "epoch", "known", "buckets")
        link.commands([("DEL", stem), ("HSET", stem, "epoch", epoch, "applied", _BUILDING)])
        if first != 1:  # the journal does not hold all that this host ever had
            _load(database, link, stem, epoch, host.domain, is_finished)
            _load_images(database, link, stem, epoch, host_id)
        applied = mark.batch if first is None else first - 1
        _take_in(link, stem, epoch, [], applied)
        unlink(link, stem, before)
    finally:
        link.command("DEL", f"{stem}:building")


def _load(database: Database, link: RedisLink, stem: str, epoch: str, host: str, is_finished: bool) -> None:
    """Enter every visit, oldest first; what became of a URL last holds."""
    last: Any = None
    has_queued = False
    while True:
        with database.read() as connection:
            rows = journal_table.visits(connection, host, last, _PAGE)
        if not rows:
            break
        items: list[bytes] = []
        for row in rows:
            is_queued = not is_finished and row.outcome in (*_WITH_LINKS, *_TRIED_AGAIN)
            has_queued |= is_queued
            items += _item(row.page_url, row.url_key, row.depth, QUEUED if is_queued else DONE)
        _take_in(link, stem, epoch, items, None)
        link.command("PEXPIRE", f"{stem}:building", _ALONE_MS)
        last = rows[-1]
    if last is None or not (is_finished or has_queued):  # nowhere else to begin
        with database.read() as connection:
            origins = journal_table.origins_of(connection, host)
        # Without a robots.txt that was read, the scheme is a guess, as it is for a seed without one.
        priority, found_by = (0, FoundBy.UNKNOWN) if origins else (GUESSED_SCHEME_PRIORITY, FoundBy.SEED)
        for root in (web_address(f"{origin}/") for origin in origins or [address_of_host(host).origin]):
            item = _item(root.url, root.key, 0, QUEUED, priority, found_by)
            _take_in(link, stem, epoch, item, None, newer=False)


def _load_images(database: Database, link: RedisLink, stem: str, epoch: str, host_id: UUID) -> None:
    """Enter the images of a host: those that were never asked for are queued, whatever became of their pages."""
    last: int | None = None
    while True:
        with database.read() as connection:
            rows = images.addresses_after(connection, host_id, last, _PAGE)
            pages = were_pages(connection, [row.url_key for row in rows])
        if not rows:
            return
        items: list[bytes] = []
        for row in rows:
            if row.url_key not in pages:
                state = QUEUED if row.asked_at is None else DONE
                items += _item(row.url, row.url_key, 0, state, IMAGE_PRIORITY)
        _take_in(link, stem, epoch, items, None)
        link.command("PEXPIRE", f"{stem}:building", _ALONE_MS)
        last = rows[-1].url_key


def _item(url: str, key: int, depth: int, state: int, priority: int = 0, found_by: int = 0) -> list[bytes]:
    return [pack_entry(url, key, depth, priority, found_by), pack_kept(state, 0, None), b""]


def _take_in(
    link: RedisLink, stem: str, epoch: str, items: list[bytes], applied: int | None, *, newer: bool = True
) -> None:
    after = "" if applied is None else applied
    if link.run("take_in", stem, epoch, _BUILDING, after, int(newer), *items) not in (b"OK", b"DONE"):
        raise FrontierUnavailable(f"the frontier at {link.location} was rebuilt by another worker at the same time")


def unlink(link: RedisLink, stem: str, said: Sequence[bytes | None]) -> None:
    """Delete the keys of one life, of which the host's hash said epoch, known and buckets; a few hundred at a time."""
    epoch, known, buckets = said
    if epoch is None:
        return
    names = data_keys(stem, epoch.decode(), int(known or 0), int(buckets or 1))
    while some := list(islice(names, _UNLINKED)):
        link.command("UNLINK", *some)
