"""Which sitemaps of a host are read, in which order, and which of their entries count.

Starts from the Sitemap lines of robots.txt, or from common places where there are none. Sitemaps that an index names
are appended. Every address is returned once, and their number is bounded.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import islice
from typing import Final, NamedTuple

from comity.model.frontier import QueuedUrl
from comity.model.sitemap import SitemapBounds, SitemapEntry, SitemapRow, SitemapState
from comity.rules.canonical import WebAddress, resolve_link, web_address
from comity.rules.tracking import TrackingRules

_USUAL_PATHS: Final = ("/sitemap.xml", "/sitemap_index.xml")  # each guess is a request, so they are few
_DEFAULT_BOUNDS: Final = SitemapBounds()


class PlannedSitemap(NamedTuple):
    """A sitemap to request; `is_guess` if nothing named it, so that its absence means nothing."""

    address: WebAddress
    depth: int
    is_guess: bool


def common_sitemap_paths(origin: str) -> tuple[str, ...]:
    """Where a sitemap is looked for when robots.txt names none, the likeliest first."""
    return tuple(origin + path for path in _USUAL_PATHS)


def has_seeded_pages(queued: Iterable[QueuedUrl]) -> bool:
    """Whether a page of this host other than its start page was named by its URL and is still waiting."""
    return any(row.depth == 0 and web_address(row.url).path != "/" for row in queued)


class SitemapPlan:
    """The sitemaps of one host that are still to be requested."""

    def __init__(
        self,
        host: str,
        origin: str,
        named: Iterable[str],
        *,
        bounds: SitemapBounds = _DEFAULT_BOUNDS,
        collapse: bool = False,
        tracking: TrackingRules | None = None,
        earlier: Iterable[SitemapRow] = (),
    ) -> None:
        self._host = host
        self._bounds = bounds
        self._collapse = collapse
        self._tracking = tracking
        self._met: set[int] = set()
        self._queue: deque[PlannedSitemap] = deque()
        self._asked = 0
        self._found = 0
        self._entries = 0
        self._over: tuple[PlannedSitemap, ...] = ()
        base = origin + "/robots.txt"
        for row in earlier:
            self._take_up(row)
        names_some = bool(self._queue)
        for url in named:
            # robots.txt of this host names it, so it may list pages of this host wherever it is stored (sitemaps.org).
            address = resolve_link(url.strip(), base, collapse=collapse)
            names_some |= address is not None
            self._add(address, 0, is_guess=False)
        if not names_some:
            for url in common_sitemap_paths(origin):
                self._add(resolve_link(url, base, collapse=collapse), 0, is_guess=True)

    def waiting(self) -> tuple[PlannedSitemap, ...]:
        """What is still to be requested, in order."""
        return tuple(self._queue)

    def next(self) -> PlannedSitemap | None:
        """Take the next sitemap to request; None if there is none, or enough were read."""
        while self._queue:
            planned = self._queue.popleft()
            # One correct guess makes the others unnecessary.
            if planned.is_guess and self._found:
                continue
            if self._asked >= self._bounds.most_files or self._entries >= self._bounds.most_entries:
                self._over = (planned, *self._queue)
                self._queue.clear()
                return None
            self._asked += 1
            return planned
        return None

    def left_out(self) -> tuple[PlannedSitemap, ...]:
        """The sitemaps that are left out because the limit is reached."""
        return self._over

    def read(
        self,
        planned: PlannedSitemap,
        nested: Iterable[SitemapEntry] = (),
        *,
        found_at: WebAddress | None = None,
    ) -> list[PlannedSitemap]:
        """Note that this was a sitemap, found at `found_at`, and queue the sitemaps that it names; returns those."""
        found_at = found_at or planned.address
        # An index may name sitemaps of its own host and of the host that it redirects to; robots.txt may name others.
        hosts = {self._host, planned.address.host} | ({found_at.host} if not planned.is_guess else set())
        self._found += 1
        before = len(self._queue)
        for entry in nested:
            address = resolve_link(entry.loc, found_at.url, collapse=self._collapse)
            if address is not None and address.host in hosts and planned.depth < self._bounds.most_depth:
                self._add(address, planned.depth + 1, is_guess=False)
        return list(islice(self._queue, before, None))

    def accept(
        self, planned: PlannedSitemap, entry: SitemapEntry, *, found_at: WebAddress | None = None
    ) -> WebAddress | None:
        """Resolve an entry of a planned sitemap; None if it is on another host or beyond the limit."""
        base = (found_at or planned.address).url
        address = resolve_link(entry.loc, base, collapse=self._collapse, tracking=self._tracking)
        if address is None or address.host != self._host or self._entries >= self._bounds.most_entries:
            return None
        self._entries += 1
        return address

    def _take_up(self, row: SitemapRow) -> None:
        """Continue where an earlier reading of the same plan ended."""
        if row.state is SitemapState.PLANNED:
            self._add(resolve_link(row.url, row.url, collapse=self._collapse), row.depth, is_guess=row.is_guess)
        else:
            self._met.add(row.key)
            self._asked += 1
            self._found += row.state is SitemapState.READ

    def _add(self, address: WebAddress | None, depth: int, *, is_guess: bool) -> None:
        if address is None or address.key in self._met or len(self._met) >= 4 * self._bounds.most_files:
            return
        self._met.add(address.key)
        self._queue.append(PlannedSitemap(address, depth, is_guess))
