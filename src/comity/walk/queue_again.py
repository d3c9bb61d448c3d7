"""Queue URLs that earlier patterns left out, once the patterns in force allow them.

`left_out_urls` has what earlier runs left out. When a host is opened with patterns that differ from those of the last
check, every row is checked again, and URLs that pass are queued. All functions block; call them on the database thread.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import field
from typing import Any, Final
from uuid import UUID

from xxhash import xxh3_128_hexdigest

from comity.database import images, records
from comity.database.frontier import left_out
from comity.frontier.store import FrontierChange, HostSettlement
from comity.model.dataclass import dataclass
from comity.model.frontier import IMAGE_PRIORITY, FoundBy, FrontierEntry, SiteLink
from comity.model.image import Sighting
from comity.rules.canonical import WebAddress, resolve_link
from comity.rules.seed_list import SiteHosts
from comity.rules.url_patterns import PatternRules, UrlRules, url_rules

_PAGE: Final = 1000


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
class QueuedAgain:
    """What was queued again: URLs of the host, and links to other hosts of its site."""

    queued: int = 0
    site_links: list[SiteLink] = field(default_factory=list)


def queue_left_out(
    change: FrontierChange, host_id: UUID, host: str, own: PatternRules | None, terms: LeftOutTerms
) -> QueuedAgain:
    """Check every URL that was left out on a host against the patterns in force; queue those that pass."""
    rules, returned, last = url_rules(terms.patterns, own), QueuedAgain(), None
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
    # Links to other hosts are queued by another transaction, and their rows stay: queuing them twice does no harm.
    if not returned.site_links:
        left_out.asked_with(change.connection, host_id, terms.fingerprint(own))
    return returned


def _passes(row: Any, rules: UrlRules | None, terms: LeftOutTerms) -> WebAddress | None:
    """The address of a URL, if it is no longer left out."""
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
    """Queue URLs that the frontier never had, and those that it marked as done without a visit."""
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
