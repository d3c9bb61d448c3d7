"""What a run has done so far, for whoever looks on."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Progress:
    """Counters that the walk moves and a door reads; nothing here decides anything."""

    started_at: float
    pages: int = 0
    errors: int = 0
    refused: int = 0
    bytes_received: int = 0
    links_found: int = 0
    hosts_active: int = 0
    hosts_waiting: int = 0
    hosts_blocked: int = 0
    hosts_done: int = 0
    queued: int = 0
    warnings: list[str] = field(default_factory=list)
    current_url: str | None = None


@dataclass(frozen=True, slots=True)
class HostLineInSummary:
    """How one host was left."""

    host: str
    status: str
    pages: int
    errors: int
    queued: int
    reason: str | None


@dataclass(frozen=True, slots=True)
class RunSummary:
    """How a run ended."""

    run_id: str
    status: str
    reason: str
    pages: int
    errors: int
    refused: int
    bytes_received: int
    seconds: float
    hosts: tuple[HostLineInSummary, ...]
    warnings: tuple[str, ...]
