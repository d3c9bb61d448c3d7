"""The head of a host's frontier, in memory.

The frontier itself is in the database. While everything queued there is also here, new links are added at once. When
there is more than fits, they wait in the database and are loaded when this is empty: memory is bounded.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from heapq import heappop, heappush
from typing import Final

from comity.model.frontier import FrontierEntry, QueuedUrl
from comity.rules.canonical import MetLinks

LOADED_MOST: Final = 1000
KEYS_MOST: Final = 100_000
_NONE: Final[frozenset[int]] = frozenset()


class HostQueue:
    """URLs to hand out next, postponed URLs, and those handed out and not yet settled."""

    def __init__(
        self,
        known_keys: Iterable[int],
        *,
        knows_all: bool,
        is_whole: bool,
        keys_most: int = KEYS_MOST,
        loaded_most: int = LOADED_MOST,
    ) -> None:
        self._ready: list[tuple[int, int, int, QueuedUrl]] = []
        self._later: list[tuple[float, int, QueuedUrl]] = []
        self._number = 0
        self._keys = set(known_keys)
        self._keys_most = keys_most
        self._loaded_most = loaded_most
        self._knows_all = knows_all  # whether a key that is not here is certainly new
        self.has_more = not is_whole  # whether the database has queued URLs that are not here
        self.has_images = False  # whether it has images, which wait there until no page is left
        self.out: set[int] = set()
        self._images: set[int] = set()  # of the keys, those that were first found as images
        self._linked: set[int] = set()  # and of these, those that pages link to as well
        self._deep: set[int] = set()  # keys of links that were only found too deep

    def __len__(self) -> int:
        return len(self._ready)

    @property
    def loaded(self) -> int:
        """URLs that are here and not handed out, including postponed ones."""
        return len(self._ready) + len(self._later)

    def is_met(self, key: int) -> bool:
        """Note a link; returns whether it was found before, as far as is remembered."""
        if key in self._keys:
            return True
        if len(self._keys) >= self._keys_most:
            # Too many to remember: from here on the database decides which are new.
            self._keys.clear()
            self._images.clear()
            self._knows_all = False
        self._keys.add(key)
        return False

    def knows(self, key: int) -> bool:
        """Whether a link was found before, without noting it."""
        return key in self._keys

    def is_met_too_deep(self, key: int) -> bool:
        """Note a link that lies deeper than is followed; nearer to a seed it still counts as new."""
        if key in self._keys or key in self._deep:
            return True
        if len(self._deep) >= self._keys_most:
            self._deep.clear()  # the database decides which are new
        self._deep.add(key)
        return False

    def is_met_as_link(self, key: int) -> bool:
        """The same for a link that may be a page; remembers if it was found as an image before."""
        if key not in self._keys:
            return self.is_met(key)
        if key in self._images and len(self._linked) < self._keys_most:
            self._linked.add(key)
        return True

    def met_links(self, host: str, noted: Set[int] | None, *, is_too_deep: bool) -> MetLinks:
        """The links of a host for which these methods decide nothing more, with those of others that are `noted`."""
        if is_too_deep:
            return MetLinks(host, self._keys, self._deep, _NONE, noted)
        return MetLinks(host, self._keys, None, self._images, noted)

    def noted_links(self, host: str, noted: Set[int] | None) -> MetLinks:
        """The links of a host that `knows` or that are `noted`, with those of others that are."""
        return MetLinks(host, self._keys, noted, _NONE, noted)

    def is_met_as_image(self, key: int) -> bool:
        """The same for an image."""
        if self.is_met(key):
            return True
        self._images.add(key)
        return False

    def is_linked_image(self, key: int) -> bool:
        """Whether links also lead to URLs that were found as images."""
        return key in self._linked

    def forget_met(self) -> None:
        """Known URLs may be missing from the frontier: from here on it decides which are new."""
        self._keys.clear()
        self._deep.clear()
        self._images.clear()
        self._linked.clear()
        self._knows_all = False
        self.has_more = True

    def found(self, entries: Iterable[FrontierEntry]) -> None:
        """Add links that are about to be settled, if they are certainly new and there is room."""
        for entry in entries:
            if self.has_more or not self._knows_all or len(self._ready) >= self._loaded_most:
                self.has_more = True
                return
            self._push(QueuedUrl(entry.url, entry.key, entry.depth, 0, entry.priority))

    def read(self, rows: Iterable[QueuedUrl], *, is_whole: bool) -> int:
        """Add rows of the frontier; returns how many of them were not handed out already."""
        fresh = 0
        for row in rows:
            if row.key not in self.out:
                self._push(row)
                fresh += 1
        self.has_more = not is_whole
        return fresh

    def turn_to_images(self) -> bool:
        """Load images now that no page is left, here or handed out; returns whether there are any."""
        self.has_more |= self.has_images
        self.has_images = False
        return self.has_more

    def postpone(self, entry: QueuedUrl, until: float) -> None:
        """Hand this one out again, but not before a time."""
        self._number += 1
        heappush(self._later, (until, self._number, entry))
        self.out.add(entry.key)

    def peek(self, now: float) -> QueuedUrl | None:
        """The next URL, without taking it."""
        while self._later and self._later[0][0] <= now:
            self._push(heappop(self._later)[2])
        return self._ready[0][3] if self._ready else None

    def take(self) -> QueuedUrl:
        """Take what `peek` showed."""
        return heappop(self._ready)[3]

    def settled(self, key: int) -> None:
        """A URL's outcome is committed. Postponed URLs are not settled: they count as handed out until the next try."""
        self.out.discard(key)

    def next_at(self) -> float | None:
        """When the first postponed URL is due."""
        return self._later[0][0] if self._later else None

    def _push(self, entry: QueuedUrl) -> None:
        self._number += 1
        self.out.add(entry.key)
        heappush(self._ready, (-entry.priority, entry.depth, self._number, entry))
