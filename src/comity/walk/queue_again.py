"""Queue URLs that earlier patterns left out, once the patterns in force allow them.

`left_out_urls` has what earlier runs left out. When a host is opened with other patterns than those of the last look,
every row is checked again; URLs that pass are queued. It blocks, and belongs on the database thread.

Refresh a host: which of its known URLs are queued again, and the conditions under which each is fetched.

A round begins under the lease, in one transaction with its mark on the host's row: after a crash in the middle of
it the next run goes on with what is still queued. All functions block.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Connection
from xxhash import xxh3_128_hexdigest

from comity.database import images, records
from comity.database.frontier import left_out
from comity.database.records import last_seen
from comity.frontier.store import FrontierChange, FrontierReads, HostSettlement
from comity.model.frontier import IMAGE_PRIORITY, FoundBy, FrontierEntry, QueuedUrl, SeenPage, SiteLink
from comity.model.outcome import Sighting
from comity.model.sitemap import PageHints
from comity.rules.canonical import WebAddress, resolve_link
from comity.rules.seed_list import SiteHosts
from comity.rules.stale import RefreshTerms, revisit_rank
from comity.rules.url_patterns import PatternRules, UrlRules, url_rules

_PAGE: Final = 1000
_KNOWN_AT_A_TIME: Final = 1000  # known URLs that are read at a time
_WRITTEN: Final = 10_000


@dataclass(frozen=True, slots=True)
class LeftOutTerms:
    """What decides about a URL that was left out: the patterns of the run, how far it goes, and its hosts."""

    patterns: PatternRules | None
    max_depth: int
    site: SiteHosts | None
    images: bool = False
    collapse: bool = False

    def fingerprint(self, own: PatternRules | None) -> str:
        """A short text that changes with anything that could let another URL of a host through."""
        rules = url_rules(self.patterns, own)
        hosts = (self.site.has_subdomains, *sorted(self.site.names)) if self.site is not None else ()
        terms = (rules.fingerprint if rules is not None else "", self.images, hosts)
        return xxh3_128_hexdigest(repr(terms).encode())


@dataclass(slots=True)
class Returned:
    """What was queued again: URLs of the host, and links to other hosts of its site."""

    queued: int = 0
    site_links: list[SiteLink] = field(default_factory=list)


def queue_left_out(
    change: FrontierChange, host_id: UUID, host: str, own: PatternRules | None, terms: LeftOutTerms
) -> Returned:
    """Check every URL that was left out on a host against the patterns in force; queue those that pass."""
    rules, returned, last = url_rules(terms.patterns, own), Returned(), None
    while rows := left_out.page(change.connection, host_id, last, _PAGE):
        last = rows[-1].url_key
        passed = [(row, address) for row in rows if (address := _passes(row, rules, terms)) is not None]
        own_rows = [row for row, address in passed if address.host == host]
        returned.queued += _queue(change, host_id, own_rows, terms)
        left_out.remove(change.connection, host_id, [row.url_key for row in own_rows])
        if terms.site is not None:
            returned.site_links += [
                SiteLink(address.host, _entry(row), row.depth > terms.max_depth)
                for row, address in passed
                if address.host != host and terms.site.includes(address.host)
            ]
    # Links to other hosts are queued by another transaction, and keep their rows: queuing them twice does no harm.
    if not returned.site_links:
        left_out.asked_with(change.connection, host_id, terms.fingerprint(own))
    return returned


def _passes(row: Any, rules: UrlRules | None, terms: LeftOutTerms) -> WebAddress | None:
    """The address of a URL that is not left out any more."""
    if row.is_image and not terms.images:
        return None  # its turn comes with a run that fetches images
    address = resolve_link(row.url, row.url, collapse=terms.collapse)
    if address is None or (rules is not None and rules.judge(address) is not None):
        return None
    return address


def _entry(row: Any) -> FrontierEntry:
    return FrontierEntry(
        row.url, row.url_key, row.depth, IMAGE_PRIORITY if row.is_image else 0, None, row.found_by, row.found_on
    )


def _queue(change: FrontierChange, host_id: UUID, rows: Sequence[Any], terms: LeftOutTerms) -> int:
    """Queue URLs: those that the frontier never had, and those that it has as done without a visit."""
    entries = [_entry(row) for row in rows]
    if not entries:
        return 0
    _show_images(change, host_id, [row for row in rows if row.is_image])
    near = [entry for entry in entries if entry.depth <= terms.max_depth]
    deep = [entry for entry in entries if entry.depth > terms.max_depth]
    change.foresee({host_id: entries})
    queued = change.settle(host_id, None, HostSettlement(near, too_deep=deep))
    visited: Collection[int] = records.were_pages(change.connection, [entry.key for entry in near])
    return queued + change.requeue_known(
        host_id, [(entry.key, entry.priority) for entry in near if entry.key not in visited]
    )


def _show_images(change: FrontierChange, host_id: UUID, rows: Sequence[Any]) -> None:
    """Note which pages show the images, as when a page is settled."""
    if not rows:
        return
    connection = change.connection
    images.add_urls(connection, host_id, [(row.url_key, row.url) for row in rows])
    pages = {row.found_on: records.fetches_of(connection, row.found_on, 1) for row in rows}
    sightings = [
        Sighting(row.url_key, row.found_on, pages[row.found_on][0].page_url, "discovery", float(row.seen_at))
        for row in rows
        if row.found_by == FoundBy.IMAGE and pages[row.found_on]
    ]
    images.add_sightings(connection, host_id, sightings)


def plan_round(
    reads: FrontierReads, connection: Connection, host_id: UUID, now: datetime, terms: RefreshTerms, *, images: bool
) -> tuple[array[int], array[int]]:
    """The keys of the URLs that a refresh of a host fetches, and their ranks; images only where they are wanted.

    It only reads, and locks nothing however much a host has: its frontier changes only under its lease.
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
    """Queue what was planned, except what was taken down meanwhile; gives how many URLs."""
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
    """Queue URLs again that, as a sitemap says during a round, have changed; gives how many.

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


def with_seen(connection: Connection, host_id: UUID, rows: Sequence[QueuedUrl], began_at: float) -> list[QueuedUrl]:
    """The next URLs of a host that is refreshed, each with what its last visit found; one statement for all.

    What was visited since the round began is queued again only after its frontier was lost: it is asked for without
    conditions, because a page that has not changed since would not say what it links to.
    """
    seen = _seen(connection, host_id, [(row.key, row.is_image) for row in rows])
    for key, page in seen.items():
        if page.at >= began_at:
            seen[key] = page._replace(etag=None, last_modified=None)
    return [row._replace(seen=seen.get(row.key)) for row in rows]


def with_same(
    connection: Connection, rows: Sequence[QueuedUrl], kept: Mapping[str, tuple[str | None, str | None]]
) -> list[QueuedUrl]:
    """URLs with what their last visits found, where the caller has a copy of exactly that: the same validators.

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
    """What is known of pages and of images, which have their own table."""
    found = last_seen(connection, [key for key, is_image in keys if not is_image])
    images = [key for key, is_image in keys if is_image]
    if images:
        from comity.database.images import last_seen as last_seen_images  # most hosts have none

        found.update(last_seen_images(connection, host_id, images))
    return found
