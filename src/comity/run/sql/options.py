"""The options of a statement and the settings of its connection, as the settings of a crawl."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from comity.model.errors import BadInput
from comity.rules.sql.options import SqlCrawlOptions

TIMEOUT_S: Final = 30.0
"""S4's time limit of a request."""


def crawl_settings(options: SqlCrawlOptions, named: Collection[str], connection: Mapping[str, Any]) -> dict[str, Any]:
    """Settings by name. `named` are the options that the statement has; `connection` is what `SET` said."""
    if not options.respect_robots_txt:
        raise BadInput(
            "respect_robots_txt", "robots.txt is always obeyed; ask the site's owner to allow your bot's name in it"
        )
    concurrency = options.max_total_connections
    if options.threads is not None:
        concurrency = min(concurrency, options.threads)
    timeout_s = options.timeout_seconds if "timeout_seconds" in named else connection.get("timeout_s", TIMEOUT_S)
    bytes_most = connection.get("max_response_bytes") if "max_response_bytes" not in named else None
    delay_named = {"default_crawl_delay", "crawl_delay_ms"} & set(named)
    delay_s = options.default_crawl_delay if delay_named else connection.get("delay_s", options.default_crawl_delay)
    settings: dict[str, Any] = {
        "concurrency": concurrency,
        "per_host": min(64, options.max_parallel_per_domain),
        "delay_s": max(delay_s, options.min_crawl_delay),
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
        "proxy": (connection["proxy"],) if connection.get("proxy") else None,
        "proxy_user": connection.get("proxy_user"),
        "proxy_password": connection.get("proxy_password"),
    }
    return {name: value for name, value in settings.items() if value is not None}
