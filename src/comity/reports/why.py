"""Collect what the state knows of a URL, for `rules.why` to explain.

The site is not contacted. Every query uses an index, so the answer takes a few milliseconds however large the state is.
All queries share one transaction and are sent together where possible, because each round trip to a distant server
costs time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final, Protocol
from uuid import UUID

from sqlalchemy import Connection

from comity.clock import Clock
from comity.database import records, runs, sitemaps, takedowns, url_facts
from comity.database.connection import Database
from comity.database.frontier import left_out, unqueued
from comity.database.queue import policies
from comity.database.queue.policies import UrlJob
from comity.database.sources import rows as sources_table
from comity.database.tables import DONE, DROPPED, QUEUED, TOO_DEEP
from comity.model.dataclass import dataclass
from comity.model.explanation import (
    CrawlJobFacts,
    DecisionFacts,
    Explanation,
    HostFacts,
    ImageFacts,
    QueueFacts,
    RobotsFacts,
    SightingFacts,
    SitemapFacts,
    SourceFacts,
    UrlFacts,
    VisitFacts,
)
from comity.model.frontier import IMAGE_PRIORITY, FoundBy, UnqueuedCode
from comity.model.robots import RobotsAccess
from comity.model.sitemap import SitemapKind
from comity.rules.canonical import WebAddress, address_of_host, resolve_link, url_key
from comity.rules.politeness.policy import reach_of
from comity.rules.robots.verdict import parse_robots
from comity.rules.takedown import Takedowns
from comity.rules.tracking import TrackingRules, clean_query
from comity.rules.url_patterns import LeftOut
from comity.rules.why.explain import explain_url


class FindsUrls(Protocol):
    """The frontiers of hosts, in the database or in Redis."""

    def find(self, host_ids: Collection[UUID], key: int) -> Any:
        """What the frontier knows about one URL, as `FrontierReads.find` returns it."""
        ...


FrontierIn = Callable[[Connection], FindsUrls]
"""The frontiers as one transaction reads them."""
_STATES: Final = {QUEUED: "queued", DONE: "done", DROPPED: "dropped", TOO_DEEP: "too_deep"}
_BY_SOURCE: Final = "source"


@dataclass(frozen=True, slots=True)
class WhyTerms:
    """How the crawl reads addresses and robots.txt."""

    agent: str
    tracking: TrackingRules | None = None
    collapse: bool = False
    retries: int = 5


def explain(
    database: Database, clock: Clock, address: WebAddress, terms: WhyTerms, frontier_in: FrontierIn
) -> Explanation:
    """What decided last about a URL, the chain from discovery to now, and what would change it."""
    folded = _without_tracking(address, terms)
    with database.read() as connection:
        lookup = _Lookup(connection, clock.now(), database.now(clock), terms, frontier_in(connection))
        facts = lookup.facts(address)
        other = lookup.facts(folded) if folded is not None else None
    if folded is None:
        return explain_url(facts)
    return explain_url(facts, other, _dropped(address.url, folded.url))


def _without_tracking(address: WebAddress, terms: WhyTerms) -> WebAddress | None:
    """The address that a link is treated as, if it differs."""
    if terms.tracking is None:
        return None
    cleaned = clean_query(address.url, terms.tracking)
    return resolve_link(cleaned, cleaned, collapse=terms.collapse) if cleaned != address.url else None


def _dropped(url: str, kept: str) -> str:
    """The names of the parameters that were dropped, or what else was."""
    left = set(kept.partition("?")[2].split("&"))
    names = [each.partition("=")[0] for each in url.partition("?")[2].split("&") if each not in left and each]
    if names:
        return ", ".join(f"`{name[:40]}`" for name in names[:5])
    return "an empty query" if url.partition("?")[0] == kept.partition("?")[0] else "a session id in its path"


class _Lookup:
    """One lookup in the state."""

    def __init__(
        self,
        connection: Connection,
        now: datetime,
        statement_now: datetime | None,
        terms: WhyTerms,
        frontier: FindsUrls,
    ) -> None:
        self._connection = connection
        self._now = now
        self._statement_now = statement_now
        self._terms = terms
        self._frontier = frontier

    def facts(self, address: WebAddress) -> UrlFacts:
        """Everything that is known of one URL."""
        key, connection = address.key, self._connection
        root_key = address_of_host(address.host).key
        found = url_facts.around(
            connection, host=address.host, root_key=root_key, origin=address.origin, url=address.url, key=key
        )
        host = found if found.id is not None else None
        seen = unqueued.of_url(connection, key)
        patterned = left_out.of_url(connection, key)
        fetched = list(reversed(records.fetches_of(connection, key)))
        evidence = list(reversed(records.evidence_of(connection, key)))
        entries = Takedowns.of(row.domain_or_url for row in takedowns.entries(connection))
        entry = self._frontier.find([host.id], key) if host is not None else None
        known = entry is not None or fetched or evidence or seen or patterned
        sightings = [*map(self._sighting, seen), *map(self._left_out, patterned)]
        return UrlFacts(
            now=self._now,
            retry_limit=self._terms.retries,
            url=address.url,
            host_name=address.host,
            path=address.path,
            takedown=entries.covering(address),
            host=self._host(host) if host is not None else None,
            robots=self._robots(found, address) if found.origin is not None else None,
            policy=_policy(found) if found.policy_host is not None else None,
            queue=self._queue(host.id, entry) if host is not None and entry is not None else None,
            visits=tuple(map(_visit, fetched)),
            decisions=tuple(_decision(row) for row in evidence if row.type != "budget"),
            sightings=tuple(sorted(sightings, key=lambda each: each.at)),
            image=_image(found) if found.image_url_key is not None else None,
            sitemap=_sitemap(found) if found.sitemap_url_key is not None else None,
            source=self._source(found.source_id, fetched),
            crawl_job=_crawl_job(policies.of_url(connection, address.url)),
            budget=found.budget["reason"] if found.budget is not None else None,
            max_depth=_max_depth(found.run_settings),
            variants=() if known or host is None else tuple(self._variants(host.id, address)),
        )

    def _host(self, row: Any) -> HostFacts:
        is_held = row.claimed_by is not None and row.claim_expires_at > self._now
        return HostFacts(
            row.domain,
            str(row.status),
            row.is_seeded,
            row.source,
            row.first_seen_at,
            row.block_reason,
            row.block_reason_code,
            row.first_blocked_at,
            row.next_crawl_after,
            row.claimed_by if is_held else None,
            row.claim_expires_at if is_held else None,
            row.blocked_until,
            row.next_fetch_at,
            row.unqueued_unrecorded,
            row.paused_by_run is not None,
        )

    def _robots(self, row: Any, address: WebAddress) -> RobotsFacts:
        access = RobotsAccess(row.access)
        allowed, reason = access is RobotsAccess.ALLOW_ALL, row.detail or "robots.txt from the cache"
        if access is RobotsAccess.PARSE:
            body = bytes(row.raw) if row.raw is not None else (row.robots_txt or "").encode()
            verdict = parse_robots(body, version=row.version).verdict(self._terms.agent, address.path)
            allowed, reason = verdict.allowed, verdict.reason
        delay_s = row.crawl_delay_ms / 1000 if row.crawl_delay_ms is not None else None
        is_unreadable = access is RobotsAccess.DISALLOW_ALL
        return RobotsFacts(allowed, reason, is_unreadable, row.fetched_at, row.expires_at, delay_s, row.failure)

    def _queue(self, host_id: UUID, entry: Any) -> QueueFacts:
        found_by = FoundBy(entry.found_by)
        return QueueFacts(
            _STATES[entry.state],
            entry.depth,
            entry.attempts,
            entry.not_before,
            found_by,
            self._address_of(host_id, found_by, entry.found_on),
            entry.discovered_at,
            entry.priority <= IMAGE_PRIORITY,
        )

    def _sighting(self, row: Any) -> SightingFacts:
        found_by = FoundBy(row.found_by)
        found_at = self._address_of(row.domain_id, found_by, row.found_on)
        return SightingFacts(datetime.fromtimestamp(row.seen_at, UTC), row.code, found_by, row.domain, found_at)

    def _left_out(self, row: Any) -> SightingFacts:
        found_by, why = FoundBy(row.found_by), LeftOut(row.rule, row.pattern, row.is_of_policy)
        found_at = self._address_of(row.domain_id, found_by, row.found_on)
        at = datetime.fromtimestamp(row.seen_at, UTC)
        return SightingFacts(at, UnqueuedCode.LEFT_OUT, found_by, row.domain, found_at, why.reason)

    def _address_of(self, host_id: UUID, found_by: FoundBy, key: int) -> str | None:
        """The page or sitemap in which a URL was found."""
        if not key:
            return None
        if found_by is FoundBy.SITEMAP:
            row = sitemaps.find(self._connection, host_id, key)
            return str(row.url) if row is not None else None
        entry = self._frontier.find([host_id], key)
        if entry is not None:
            return str(entry.url)
        visits = records.fetches_of(self._connection, key, 1)
        return str(visits[0].page_url) if visits else None

    def _source(self, source_id: UUID | None, fetched: list[Any]) -> SourceFacts | None:
        """The source that this URL is, or that last asked for it."""
        connection = self._connection
        if source_id is None:
            run_id = next((each.run_id for each in reversed(fetched) if each.discovery_type == _BY_SOURCE), None)
            named = runs.settings_of(connection, run_id).get("source_id") if run_id is not None else None
            source_id = UUID(named) if named is not None else None
        row = sources_table.get(connection, source_id) if source_id is not None else None
        if row is None:
            return None
        logs = sources_table.logs(connection, row.id, 1)
        return SourceFacts(
            row.careers_url,
            row.status,
            row.created_at,
            row.last_crawled_at,
            row.last_crawl_status,
            row.last_crawl_message,
            row.next_run_at,
            logs[0].next_run_reason if logs else None,
            sources_table.lock_of(connection, row.id, self._statement_now),
        )

    def _variants(self, host_id: UUID, address: WebAddress) -> Iterator[str]:
        """Variants of an address that the host has: the other scheme, `www.`, a slash at the end."""
        for url in _spellings(address.url):
            if self._frontier.find([host_id], url_key(url)) is not None:
                yield url
                return


def _spellings(url: str) -> Iterator[str]:
    scheme, _, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    bare, mark, query = path.partition("?")
    ends = [bare, bare.rstrip("/") if bare.endswith("/") else f"{bare}/"] if bare else [bare]
    names = [authority, authority.removeprefix("www.") if authority.startswith("www.") else f"www.{authority}"]
    for end in ends:
        for each in (scheme, "http" if scheme == "https" else "https"):
            for name in names:
                variant = f"{each}://{name}{slash}{end}{mark}{query}"
                if variant != url:
                    yield variant


def _crawl_job(found: UrlJob) -> CrawlJobFacts | None:
    policy, job = found
    if policy is None and job is None:
        return None
    facts = CrawlJobFacts(
        since=policy.created_at if policy is not None else job.created_at if job is not None else None,
        is_enabled=policy.enabled if policy is not None else None,
        next_run_at=policy.next_run_at if policy is not None else None,
    )
    if job is None:
        return facts
    return replace(
        facts,
        job_id=str(job.id),
        status=job.status,
        holder=job.locked_by,
        held_until=job.lock_ends_at,
        not_before=job.not_before,
        finished_at=job.finished_at,
        error=job.error_msg,
    )


def _max_depth(settings: Any) -> int | None:
    """How far the last run of a host followed links."""
    max_depth = settings.get("max_depth") if isinstance(settings, dict) else None
    return max_depth if isinstance(max_depth, int) else None


def _policy(row: Any) -> str:
    return (
        f"an operator's policy: at least {row.policy_min_request_interval_ms} ms between requests, "
        f"{row.policy_max_concurrency} at once, for crawls, sources, audits and queries; "
        f"{row.policy_max_kb_per_page} kB a page for "
        f"{reach_of('max_kb_per_page', is_page_size_set=row.policy_is_page_size_set)}"
        + (f"; include {', '.join(row.policy_include.splitlines())}" if row.policy_include else "")
        + (f"; exclude {', '.join(row.policy_exclude.splitlines())}" if row.policy_exclude else "")
    )


def _visit(row: Any) -> VisitFacts:
    return VisitFacts(
        row.crawled_at,
        row.outcome,
        row.status,
        row.error,
        row.final_url,
        row.content_type,
        row.discovery_type == _BY_SOURCE,
    )


def _decision(row: Any) -> DecisionFacts:
    return DecisionFacts(row.created_at, row.type, row.content, row.confidence)


def _image(row: Any) -> ImageFacts:
    return ImageFacts(row.image_asked_at, row.image_status, row.image_error)


def _sitemap(row: Any) -> SitemapFacts:
    return SitemapFacts(
        row.sitemap_state,
        row.sitemap_status,
        row.sitemap_entries,
        row.sitemap_detail,
        row.sitemap_asked_at,
        row.sitemap_is_guess,
        row.sitemap_kind == SitemapKind.INDEX,
    )
