"""What is known of the robots.txt of a host, as it was last read; nothing is asked of the host."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from comity.database import robots as robots_table
from comity.database.connection import Database


@dataclass(frozen=True, slots=True)
class RobotsEntry:
    """The robots.txt of one origin; `access` is what reading it came to."""

    host: str
    origin: str
    robots_txt: str | None
    fetched_at: datetime | None
    expires_at: datetime | None
    crawl_delay_ms: int | None
    disallow: list[str]
    access: str
    http_status: int | None
    detail: str | None


def robots_known(database: Database, host: str) -> list[RobotsEntry]:
    """Every origin of a host whose file was asked for, the last one first."""
    with database.read() as connection:
        rows = robots_table.of_hosts(connection, [host])
    entries = [_entry(row) for row in rows]
    return sorted(entries, key=lambda entry: entry.fetched_at.timestamp() if entry.fetched_at else 0.0, reverse=True)


def _entry(row: Any) -> RobotsEntry:
    disallow = row.disallow if isinstance(row.disallow, list) else []
    return RobotsEntry(
        row.host,
        row.origin,
        row.robots_txt,
        row.fetched_at,
        row.expires_at,
        row.crawl_delay_ms,
        [str(each) for each in disallow],
        row.access,
        row.http_status,
        row.detail,
    )
