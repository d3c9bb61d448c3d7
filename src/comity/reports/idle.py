"""Why a host that somebody asked for was left alone, and what would change it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from comity.clock import Clock
from comity.database import hosts as hosts_table
from comity.database.connection import Database
from comity.model.host import HostStatus


@dataclass(frozen=True, slots=True)
class IdleHost:
    """A host with nothing to do now."""

    host: str
    why: str
    due_at: datetime | None
    remedy: str


def why_idle(database: Database, clock: Clock, hosts: Collection[str]) -> list[IdleHost]:
    """Explain every host of a run that no crawl was started for."""
    with database.read() as connection:
        rows = [(host, hosts_table.get(connection, host)) for host in sorted(hosts)]
    return [_explain(host, row, clock.now()) for host, row in rows if row is not None]


def _explain(host: str, row: Any, now: datetime) -> IdleHost:
    status = row.status
    due_at = row.next_crawl_after
    held_until = row.claim_expires_at
    again = f"`comity domains reset {host}` crawls it again now."
    if held_until is not None and held_until > now:
        holder = row.claimed_by
        return IdleHost(host, f"{holder} is crawling it", held_until, "Wait for it, or stop that crawl.")
    if status is HostStatus.EXHAUSTED:
        remedy = f"`comity crawl {host} --refresh` looks for what changed; {again}"
        return IdleHost(host, "everything found there has been crawled", due_at, remedy)
    if status in (HostStatus.BLOCKED, HostStatus.UNREACHABLE):
        reason = row.block_reason or status
        return IdleHost(host, f"it is {status} ({reason})", due_at, again)
    if due_at is not None and due_at > now:
        why = "it asked for patience, or what is left waits"
        return IdleHost(host, why, due_at, "The same command goes on then.")
    return IdleHost(host, "it waits for its turn", due_at, "Run the command again.")
