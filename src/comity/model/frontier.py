"""A URL that waits to be visited."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FrontierEntry:
    """A canonical URL of a host, with its key, how far from the seed it was found, and how much it matters."""

    url: str
    key: int
    depth: int = 0
    priority: int = 0


@dataclass(frozen=True, slots=True)
class QueuedUrl:
    """An entry that was handed out: still in the frontier until its outcome is settled under `id`."""

    id: int
    url: str
    key: int
    depth: int
    attempts: int
