"""A URL that waits to be visited."""

from __future__ import annotations

from typing import NamedTuple

from comity.model.sitemap import PageHints


class FrontierEntry(NamedTuple):
    """A canonical URL of a host, with its key, how far from the seed it was found, and how much it matters."""

    url: str
    key: int
    depth: int = 0
    priority: int = 0
    hints: PageHints | None = None


class QueuedUrl(NamedTuple):
    """An entry that was handed out: it stays in the frontier until its outcome is settled under its key."""

    url: str
    key: int
    depth: int
    attempts: int = 0
    priority: int = 0
