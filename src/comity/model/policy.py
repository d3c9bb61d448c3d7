"""What an operator decided about one host: a floor under every front door."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

SCRIPTS_NOT_RUN: Final = "allow_js is set, but scripts are not run: pages are read as the server sends them"


@dataclass(frozen=True, slots=True)
class HostPolicy:
    """Limits for one host; the defaults are those of a careful first visit."""

    host: str
    max_concurrency: int = 1
    min_request_interval_ms: int = 3000
    max_pages: int = 10
    max_kb_per_page: int = 1024
    allow_js: bool = False
    last_seen_status: str | None = None
    is_page_size_set: bool = False
    """Whether an operator set `max_kb_per_page`: then it limits every request, else it is the default of sources."""
