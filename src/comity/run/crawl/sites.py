"""How many pages of one host a run takes, when somebody said how many pages the run may have."""

from __future__ import annotations

from collections.abc import Collection

from comity.settings import Settings


def with_page_limit(settings: Settings, max_pages: int | None, hosts: Collection[str]) -> Settings:
    """Whoever says how many pages means it: "no limit", or the limit of the only host.

    Several hosts that share a limit keep their fair parts, and a host whose row was edited keeps what stands there.
    """
    if max_pages is None or (max_pages and len(hosts) > 1):
        return settings
    return settings.model_copy(update={"pages_per_host": 0})  # the limit of the run is limit enough
