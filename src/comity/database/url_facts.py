"""What the state knows about one URL, in one statement: each round trip to a server costs more than the look-up."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from sqlalchemy import Connection, Row, Select, and_, bindparam, literal, select

from comity.database.images import image_urls
from comity.database.sources.tables import sources
from comity.database.tables import crawl_runs, domain_policies, domains, evidence, robots_cache, sitemaps

_OF_HOST: Final = (
    "id",
    "domain",
    "status",
    "is_seeded",
    "source",
    "first_seen_at",
    "block_reason",
    "block_reason_code",
    "first_blocked_at",
    "next_crawl_after",
    "claimed_by",
    "claim_expires_at",
    "blocked_until",
    "next_fetch_at",
    "unqueued_unrecorded",
    "paused_by_run",
)
_OF_ROBOTS: Final = (
    "origin",
    "access",
    "detail",
    "raw",
    "robots_txt",
    "version",
    "crawl_delay_ms",
    "fetched_at",
    "expires_at",
    "failure",
)
_OF_POLICY: Final = (
    "host",
    "min_request_interval_ms",
    "max_concurrency",
    "max_kb_per_page",
    "is_page_size_set",
    "include",
    "exclude",
)
_OF_IMAGE: Final = ("url_key", "asked_at", "status", "error")
_OF_SITEMAP: Final = ("url_key", "state", "status", "entries", "detail", "asked_at", "is_guess", "kind")


def around(connection: Connection, *, host: str, root_key: int, origin: str, url: str, key: int) -> Row[Any]:
    """The host of a URL, its last run and what that ran out of; robots.txt, the policy, and the URL in other tables.

    What is not there is NULL: the host's `id`, `origin`, `policy_host`, `image_url_key`, `sitemap_url_key` and
    `source_id` say so. The budget is stored with the host's start page, whose key is `root_key`.
    """
    values = {"host": host, "root_key": root_key, "origin": origin, "url": url, "key": key}
    return connection.execute(_statement(), values).one()


@lru_cache(maxsize=1)
def _statement() -> Select[Any]:
    key: Any = bindparam("key")
    budget = (
        select(evidence.c.content)
        .where(
            evidence.c.url_key == bindparam("root_key"),
            evidence.c.domain_id == domains.c.id,
            evidence.c.run_id == domains.c.last_crawl_run_id,
            evidence.c.type == "budget",
        )
        .with_hint(evidence, "INDEXED BY idx_evidence_url", "sqlite")  # or all evidence of the host is read
        .order_by(evidence.c.created_at.desc())
        .limit(1)
        .scalar_subquery()
    )
    one = select(literal(1).label("one")).subquery("one")
    joined = (
        one.outerjoin(domains, domains.c.domain == bindparam("host"))
        .outerjoin(crawl_runs, crawl_runs.c.id == domains.c.last_crawl_run_id)
        .outerjoin(robots_cache, robots_cache.c.origin == bindparam("origin"))
        .outerjoin(domain_policies, domain_policies.c.host == bindparam("host"))
        .outerjoin(image_urls, and_(image_urls.c.domain_id == domains.c.id, image_urls.c.url_key == key))
        .outerjoin(sitemaps, and_(sitemaps.c.domain_id == domains.c.id, sitemaps.c.url_key == key))
        .outerjoin(sources, sources.c.careers_url == bindparam("url"))
    )
    return select(
        *(domains.c[name] for name in _OF_HOST),
        crawl_runs.c.settings.label("run_settings"),
        budget.label("budget"),
        *(robots_cache.c[name] for name in _OF_ROBOTS),
        *(domain_policies.c[name].label(f"policy_{name}") for name in _OF_POLICY),
        *(image_urls.c[name].label(f"image_{name}") for name in _OF_IMAGE),
        *(sitemaps.c[name].label(f"sitemap_{name}") for name in _OF_SITEMAP),
        sources.c.id.label("source_id"),
    ).select_from(joined)
