"""The options of a statement and the settings of its connection, as the settings of a crawl."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from comity.model.errors import BadInput
from comity.rules.robots.access import Network, is_in_networks
from comity.rules.sql.options import MOST_THREADS, SqlCrawlOptions
from comity.rules.sql.seeds import QuerySeed

TIMEOUT_S: Final = 30.0
"""The time limit of a request."""

TEXT_TYPES: Final = ("text/*", "application/json", "application/*+json", "application/xml", "application/*+xml")
"""What a statement stores that names no types: the column `body` is text."""


def crawl_settings(options: SqlCrawlOptions, named: Collection[str], connection: Mapping[str, Any]) -> dict[str, Any]:
    """Settings by name. `named` are the options that the statement has; `connection` is what `SET` said."""
    concurrency = min(1024, options.max_total_connections)
    threads = options.threads if options.threads is not None else connection.get("threads")
    if threads is not None:
        concurrency = min(concurrency, max(1, min(MOST_THREADS, threads)))
    timeout_s = options.timeout_seconds if "timeout_seconds" in named else connection.get("timeout_s")
    if timeout_s is None:
        timeout_s = connection.get("http_timeout_s", TIMEOUT_S)
    bytes_most = connection.get("max_response_bytes") if "max_response_bytes" not in named else None
    delay_named = {"default_crawl_delay", "crawl_delay_ms"} & set(named)
    delay_s = options.default_crawl_delay if delay_named else connection.get("delay_s", options.default_crawl_delay)
    settings: dict[str, Any] = {
        "concurrency": concurrency,
        "per_host": min(64, options.max_parallel_per_domain),
        "delay_s": max(delay_s, options.min_crawl_delay),
        "max_delay_s": options.max_crawl_delay,
        "max_depth": options.max_crawl_depth,
        "pages_per_host": 0,
        "subdomains": options.allow_subdomains,
        "follow_links": options.follow_links,
        "respect_nofollow": options.respect_nofollow,
        "follow_canonical": options.follow_canonical,
        "accept_types": options.accept_content_types or None,
        "reject_types": options.reject_content_types or None,
        "max_response_bytes": bytes_most or options.max_response_bytes,
        "retries": options.max_retries,
        "max_retry_backoff_seconds": options.max_retry_backoff_seconds,
        "user_agent": options.user_agent or connection.get("user_agent"),
        "fetch_timeout_s": timeout_s,
        "compress": options.compress,
        "keep_alive": connection.get("keep_alive"),
        "sitemap_hours": options.sitemap_cache_hours,
        "proxy": (connection["proxy"],) if connection.get("proxy") else None,
        "proxy_user": connection.get("proxy_user"),
        "proxy_password": connection.get("proxy_password"),
    }
    return {name: value for name, value in settings.items() if value is not None}


def check_robots_ignored(option: str, seeds: Sequence[QuerySeed], networks: Sequence[Network]) -> None:
    """Refuse to ignore robots.txt of hosts that are not the user's own: only allowed networks are."""
    for seed in seeds:
        if not is_in_networks(seed.address.origin, networks):
            raise BadInput(
                option,
                f"robots.txt of {seed.address.host} is always obeyed; false is only for addresses in networks that you "
                "allow (allow_networks), and elsewhere the owner of a site can allow your bot by its name",
            )
