"""The state, as tables. One declaration serves both databases; `migrations` bring a database to it.

Every column has the default that a row inserted in SQL would expect.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Double,
    Enum,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    Uuid,
    false,
    text,
    true,
)

from comity.database.dialects import WITH, indexed_order
from comity.database.types import JsonDocument, RowNumber, UtcDateTime
from comity.database.types import at_least as _at_least
from comity.database.types import count as _count
from comity.database.types import partial_index as _partial
from comity.database.types import row_id as _id
from comity.database.types import written_at as _now
from comity.model.host import HostStatus

metadata: Final = MetaData(
    naming_convention={
        "ix": "idx_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

domain_status: Final = Enum(
    HostStatus,
    name="domain_status",
    values_callable=lambda statuses: [str(status) for status in statuses],
    create_constraint=True,
    validate_strings=True,
)

# The same words are in the index and in the claim statement, so that the planner can match them.
CANDIDATE: Final = "status IN ('pending', 'active') AND is_seeded AND claimed_by IS NULL AND paused_by_run IS NULL"
ACTIVE_FIRST: Final = "(CASE WHEN status = 'active' THEN 0 ELSE 1 END)"

# Names of hosts sort by their characters on every server, whatever its language: lists of them are paged by name.
_HOST_NAME: Final = String(260).with_variant(String(260, collation="C"), "postgresql")

crawl_runs: Final = Table(
    "crawl_runs",
    metadata,
    _id(),
    Column("door", String(20), nullable=False, server_default=text("'crawl'")),
    Column("status", String(20), nullable=False, server_default=text("'running'")),
    Column("end_reason", String(50)),  # a code of `model.run.EndReason`
    Column("end_detail", Text()),  # the same in words, with what was particular to the run
    Column("settings", JsonDocument),
    Column("holder", String(255)),
    _now("started_at"),
    Column("ended_at", UtcDateTime()),
    _count("pages_crawled"),
    _count("pages_failed"),
    _count("bytes_received"),
    # An operator requested a clean stop; the process that started the run checks for it.
    Column("stop_requested_at", UtcDateTime()),
    CheckConstraint("status IN ('running', 'finished', 'stopped', 'failed')", name="status"),
    Index("idx_crawl_runs_started_at", "started_at"),
    # Lists of runs: of one door, and of those in one status, newest first.
    Index("idx_crawl_runs_door", "door", "started_at"),
    Index("idx_crawl_runs_status", "status", "started_at"),
)

domains: Final = Table(
    "domains",
    metadata,
    _id(),
    Column("domain", _HOST_NAME, nullable=False, unique=True),
    Column("parent_domain", String(260)),
    Column("status", domain_status, nullable=False, server_default=text("'pending'")),
    # False while only a source, a policy, an audit, a query or a redirect has touched the host.
    Column("is_seeded", Boolean(), nullable=False, server_default=true()),
    Column("block_reason", Text()),
    Column("block_reason_code", String(50)),
    Column("refused_address", String(45)),  # which address of the host is not asked; an allowed network may hold it
    Column("first_blocked_at", UtcDateTime()),
    _count("cooldown_count", Integer),
    # The lease. `lease_token` fences writes; `version` counts changes to the row.
    Column("claimed_by", String(255)),
    Column("claim_expires_at", UtcDateTime()),
    _count("lease_token"),
    _count("version", Integer),
    # Progress over all runs.
    _count("pages_discovered"),
    _count("pages_crawled"),
    _count("images_found"),
    _count("images_stored"),
    Column("max_pages_per_run", Integer(), server_default=text("1000")),
    _count("crawl_depth_reached", Integer),
    # Quality.
    Column("image_yield_rate", Double()),
    Column("avg_images_per_page", Double()),
    Column("error_rate", Double()),
    _count("total_error_count", Integer),
    _count("consecutive_error_count", Integer),
    # Scheduling.
    _count("priority_score", Integer),
    Column("priority_computed_at", UtcDateTime()),
    Column("seed_rank", Integer()),
    Column("source", String(100)),
    _now("first_seen_at"),
    Column("last_crawled_at", UtcDateTime()),
    Column("next_crawl_after", UtcDateTime()),
    _now("updated_at"),
    # Resuming.
    Column("last_crawl_run_id", Uuid(), ForeignKey("crawl_runs.id", ondelete="SET NULL")),
    Column("frontier_checkpoint_id", String(300)),
    _count("frontier_size"),
    Column("frontier_updated_at", UtcDateTime()),
    # URLs that its pages name and that were not queued: how many have a row, and how many sightings have none.
    _count("unqueued_recorded", Integer),
    _count("unqueued_unrecorded"),
    # URLs that patterns left out: how many have a row, how many more there were, and the patterns of the last look.
    _count("left_out_recorded", Integer),
    _count("left_out_unrecorded"),
    Column("left_out_rules", String(40)),
    # The least depth of the links that were stored because they are deeper than the crawls so far follow.
    Column("left_at_depth", Integer()),
    # What the gate must remember between holders.
    Column("next_fetch_at", UtcDateTime()),
    Column("blocked_until", UtcDateTime()),
    _count("backoff_step", Integer),
    Column("adaptive_delay_s", Double(), nullable=False, server_default=text("0")),
    Column("latency_baseline_s", Double()),
    Column("latency_recent_s", Double()),
    Column("unclean_end_at", UtcDateTime()),
    # When the present lease was taken, and when the one that ended without a release was.
    Column("claimed_at", UtcDateTime()),
    Column("unclean_since", UtcDateTime()),
    Column("last_start_at", UtcDateTime()),
    # Refreshing: whether a round is to begin, and when the one that is under way did.
    Column("is_refresh_due", Boolean(), nullable=False, server_default=false()),
    Column("refresh_started_at", UtcDateTime()),
    # When a pull should look at the host's jobs next; NULL without any. A hint: one that comes too early looks again.
    Column("queue_ready_at", UtcDateTime()),
    # How many slots the present lease has given to its client: the next request's number is one more.
    _count("slots_given", Integer),
    # The jobs of the crawl service that failed in a row, and until when none is handed out because of that.
    _count("queue_failures", Integer),
    Column("queue_parked_until", UtcDateTime()),
    # The crawl whose limits hold for the host, or that a person stopped: workers, which have other limits, leave the
    # host alone until a person continues. No foreign key: the pause outlives the record of the run.
    Column("paused_by_run", Uuid()),
    CheckConstraint("domain <> ''", name="domain_not_empty"),
    CheckConstraint("(claimed_by IS NULL) = (claim_expires_at IS NULL)", name="lease_has_holder_and_end"),
    # The name behind each lets a list of hosts go on after any row of it.
    Index("idx_domains_status", "status", "domain"),
    Index("idx_domains_priority_score", "priority_score", "domain"),
    _partial(
        "idx_domains_next_crawl",
        "next_crawl_after",
        "domain",
        where="next_crawl_after IS NOT NULL",
    ),
    # Hosts to crawl that are not due: few of those that wait.
    _partial(
        "idx_domains_not_due", "status", "next_crawl_after", where=f"{CANDIDATE} AND next_crawl_after IS NOT NULL"
    ),
    _partial("idx_domains_left_at_depth", "left_at_depth", where="left_at_depth IS NOT NULL"),
    _partial("idx_domains_paused", "domain", where="paused_by_run IS NOT NULL"),
    _partial("idx_domains_queue_ready", "queue_ready_at", where="queue_ready_at IS NOT NULL"),
    Index("idx_domains_yield", indexed_order("image_yield_rate DESC", "NULLS LAST")),
    Index("idx_domains_last_crawled", "last_crawled_at", "domain"),
    Index("idx_domains_source", "source"),
    Index("idx_domains_parent_domain", "parent_domain"),
    # In the order of the claim, and without the hosts that are taken: a claim reads the front of it.
    _partial(
        "idx_domains_discovery_candidates",
        text(ACTIVE_FIRST),
        text("priority_score DESC"),
        indexed_order("last_crawled_at ASC", "NULLS FIRST"),
        text("id"),
        where=CANDIDATE,
    ),
    _partial(
        "idx_domains_refresh_candidates",
        "status",
        "next_crawl_after",
        text("image_yield_rate DESC"),
        where="status = 'exhausted'",
    ),
    _partial(
        "idx_domains_claims",
        "claimed_by",
        "claim_expires_at",
        where="claimed_by IS NOT NULL",
    ),
    _partial(
        "idx_domains_lease_expiry",
        "claim_expires_at",
        where="claimed_by IS NOT NULL",
    ),
    # Claims and releases rewrite these rows all day: leave room for it, and clean up early.
    info={WITH: {"fillfactor": 80, "autovacuum_vacuum_scale_factor": 0.02, "autovacuum_vacuum_cost_delay": 0}},
)

# Every change of a host's status. A trigger writes it, so that changes by hand are in it, too.
domain_moves: Final = Table(
    "domain_moves",
    metadata,
    Column("id", RowNumber, primary_key=True, autoincrement=True),
    Column("domain_id", Uuid(), ForeignKey("domains.id", ondelete="CASCADE"), nullable=False),
    _now("moved_at"),
    Column("from_status", String(20), nullable=False),
    Column("to_status", String(20), nullable=False),
    Column("reason_code", String(50)),
    Column("reason", Text()),
    Column("holder", String(255)),  # of the lease under which it happened
    Index("idx_domain_moves_host", "domain_id", "id"),
)

domain_policies: Final = Table(
    "domain_policies",
    metadata,
    Column("host", String(260), primary_key=True),
    _count("max_concurrency", Integer, 1),
    _count("min_request_interval_ms", Integer, 3000),
    _count("max_pages", Integer, 10),
    _count("max_kb_per_page", Integer, 1024),
    Column("allow_js", Boolean(), nullable=False, server_default=false()),
    Column("last_seen_status", Text()),
    # Whether an operator set max_kb_per_page: then it applies to every request, else it is the default of sources.
    Column("is_page_size_set", Boolean(), nullable=False, server_default=false()),
    # Patterns of URLs to crawl and to leave out, one a line.
    Column("include", Text(), nullable=False, server_default=text("''")),
    Column("exclude", Text(), nullable=False, server_default=text("''")),
    # Headers, cookies, credentials, proxy and login: references to secrets (env:NAME, file:PATH), never a secret.
    Column("request_options", JsonDocument),
    _now("updated_at"),
    _at_least("max_concurrency", 1),
    _at_least("min_request_interval_ms", 0),
    _at_least("max_pages", 0),
    _at_least("max_kb_per_page", 1),
)

robots_cache: Final = Table(
    "robots_cache",
    metadata,
    Column("origin", String(280), primary_key=True),
    Column("host", String(260), nullable=False),
    Column("robots_txt", Text()),
    # The bytes as received, where text cannot hold them.
    Column("raw", LargeBinary()),
    Column("fetched_at", UtcDateTime()),
    Column("expires_at", UtcDateTime()),
    Column("crawl_delay_ms", Integer()),
    Column("disallow", JsonDocument),
    Column("access", String(20), nullable=False, server_default=text("'parse'")),
    Column("http_status", Integer()),
    Column("version", String(32)),
    Column("etag", Text()),
    Column("last_modified", Text()),
    Column("detail", Text()),
    # Why a request for the file failed; NULL where an answer came.
    Column("failure", String(24)),
    Column("lacks_tls", Boolean(), nullable=False, server_default=false()),
    # Identifies the ledger note that says what this row puts in force; a row edited in SQL no longer matches it.
    Column("noted", String(32)),
    Index("idx_robots_cache_host", "host"),
)

takedowns: Final = Table(
    "takedowns",
    metadata,
    Column("domain_or_url", Text(), primary_key=True),
    Column("reason", Text()),
    _now("created_at"),
)

# domain_frontier.state; what is too deep lies further from a seed than the crawls so far follow.
QUEUED, DONE, DROPPED, TOO_DEEP = 0, 1, 2, 3

domain_frontier: Final = Table(
    "domain_frontier",
    metadata,
    Column("id", RowNumber, primary_key=True, autoincrement=True),
    # A host, for the crawls that share its frontier; or a host of a list of visits (`visit_list_hosts.id`).
    Column("domain_id", Uuid(), nullable=False),
    Column("run_id", Uuid(), ForeignKey("crawl_runs.id", ondelete="SET NULL")),
    Column("url", Text(), nullable=False),
    Column("url_key", BigInteger(), nullable=False),
    _count("depth", Integer),
    _count("priority", Integer),
    _count("state", SmallInteger),
    _count("attempts", SmallInteger),
    Column("not_before", UtcDateTime()),
    _now("discovered_at"),
    # What a sitemap says of it.
    Column("lastmod", UtcDateTime()),
    Column("changefreq", String(10)),
    Column("sitemap_priority", Double()),
    # What named it first (`model.frontier.FoundBy`), and the key of the page or sitemap that did.
    _count("found_by", SmallInteger),
    Column("found_on", BigInteger()),
    CheckConstraint("state IN (0, 1, 2, 3)", name="state"),
    # One row for each URL and host, also after its visit: this keeps a page from being requested twice.
    Index("uq_domain_frontier_url", "domain_id", "url_key", unique=True),
    _partial(
        "idx_domain_frontier_queue",
        "domain_id",
        text("priority DESC"),
        "depth",
        "id",
        where="state = 0",
    ),
    # A crawl that follows further takes these up.
    _partial("idx_domain_frontier_too_deep", "domain_id", "depth", "url_key", where="state = 3"),
    # Few URLs are postponed at any time, and the earliest of them is looked up often.
    _partial(
        "idx_domain_frontier_put_off",
        "domain_id",
        "not_before",
        where="state = 0 AND not_before IS NOT NULL",
    ),
)

# A list of visits that one piece of work has for itself (a query, an audit): what is known of a URL is shared by all,
# whether it is still to be visited is not. Its URLs are in `domain_frontier`, under the ids of `visit_list_hosts`.
visit_lists: Final = Table(
    "visit_lists",
    metadata,
    _id(),
    Column("door", String(20), nullable=False),
    # The identity of this query or audit, so that it continues after a crash: a digest of the statement, a site.
    Column("name", String(300), nullable=False),
    Column("settings", JsonDocument),
    _now("begun_at"),
    Column("ended_at", UtcDateTime()),
    Index("idx_visit_lists_name", "door", "name", "begun_at"),
)

visit_list_hosts: Final = Table(
    "visit_list_hosts",
    metadata,
    _id(),
    Column("list_id", Uuid(), ForeignKey("visit_lists.id", ondelete="CASCADE"), nullable=False),
    Column("domain_id", Uuid(), ForeignKey("domains.id", ondelete="CASCADE"), nullable=False),
    Index("uq_visit_list_hosts_host", "list_id", "domain_id", unique=True),
    Index("idx_visit_list_hosts_domain", "domain_id"),
)

# A frontier outside of the database: its current epoch, and the last batch that it was sent.
frontier_epochs: Final = Table(
    "frontier_epochs",
    metadata,
    Column("domain_id", Uuid(), ForeignKey("domains.id", ondelete="CASCADE"), primary_key=True),
    Column("epoch", String(16), nullable=False),
    _count("batch"),
)

# Batches on their way there; they are stored until the other store has them on disk.
frontier_journal: Final = Table(
    "frontier_journal",
    metadata,
    Column("domain_id", Uuid(), ForeignKey("domains.id", ondelete="CASCADE"), primary_key=True),
    Column("batch", BigInteger(), primary_key=True, autoincrement=False),
    Column("payload", LargeBinary(), nullable=False),
)

# The sitemap files of a host: those that were requested, and those that an index named and that were not requested yet.
sitemaps: Final = Table(
    "sitemaps",
    metadata,
    Column("domain_id", Uuid(), primary_key=True),  # as in `domain_frontier`
    Column("url_key", BigInteger(), primary_key=True, autoincrement=False),
    Column("url", Text(), nullable=False),
    _count("depth", SmallInteger),
    Column("is_guess", Boolean(), nullable=False, server_default=false()),
    Column("state", String(10), nullable=False),
    Column("status", Integer()),
    Column("kind", String(20)),
    _count("entries", Integer),
    Column("detail", Text()),
    Column("asked_at", UtcDateTime()),
    CheckConstraint("state IN ('planned', 'read', 'missing', 'failed', 'refused')", name="state"),
)

fetches: Final = Table(
    "fetches",
    metadata,
    Column("id", RowNumber, primary_key=True, autoincrement=True),
    Column("run_id", Uuid(), ForeignKey("crawl_runs.id", ondelete="SET NULL")),
    Column("domain_id", Uuid(), ForeignKey("domains.id", ondelete="SET NULL")),
    Column("domain", String(260), nullable=False),
    Column("page_url", Text(), nullable=False),
    Column("url_key", BigInteger(), nullable=False),
    Column("final_url", Text()),
    _count("redirect_count", SmallInteger),
    Column("outcome", String(30), nullable=False),
    Column("status", Integer()),
    Column("error", Text()),
    Column("content_type", Text()),
    Column("content_hash", String(32)),
    Column("etag", Text()),
    Column("last_modified", Text()),
    _count("bytes_received"),
    Column("duration_ms", Integer()),
    _count("depth", Integer),
    _count("images_found", Integer),
    _now("crawled_at"),
    # Of a crawl: "discovery" for the first visit of a URL, "refresh" if a known page was requested again. Of others:
    # "audit", "sql", "source", "policy".
    Column("discovery_type", String(20), nullable=False, server_default=text("'discovery'")),
    Column("images_read", Boolean(), nullable=False, server_default=false()),
    # Which columns were read from the page besides those of every page (`rules.expressions.printing`); NULL: none.
    Column("columns_key", BigInteger()),
    # Settling the same outcome twice leaves one row. The time before the key: rows come in its order, so that a batch
    # writes the end of the index instead of a page of it for each row.
    Index("uq_fetches_run_url", "run_id", "crawled_at", "url_key", unique=True),
    Index("idx_fetches_domain", "domain", "crawled_at"),
    Index("idx_fetches_url", "url_key"),
)

evidence: Final = Table(
    "evidence",
    metadata,
    Column("id", RowNumber, primary_key=True, autoincrement=True),
    Column("run_id", Uuid(), ForeignKey("crawl_runs.id", ondelete="SET NULL")),
    Column("domain_id", Uuid(), ForeignKey("domains.id", ondelete="CASCADE")),
    Column("url", Text(), nullable=False),
    Column("url_key", BigInteger(), nullable=False),
    Column("type", String(40), nullable=False),
    Column("content", JsonDocument, nullable=False),
    Column("metadata", JsonDocument),
    Column("confidence", String(10), nullable=False, server_default=text("'high'")),
    _now("created_at"),
    # Without the time: a URL has few rows, which are sorted when they are read, and each batch writes fewer pages.
    Index("idx_evidence_url", "url_key"),
    Index("idx_evidence_domain", "domain_id", "created_at"),
)

# One row for each request: what `comity verify-politeness` replays. `ledger_tables` has what it is checked against.
# No foreign keys: the proof outlives its host and its run, and no other row is looked up for each request.
politeness_ledger: Final = Table(
    "politeness_ledger",
    metadata,
    Column("id", RowNumber, primary_key=True, autoincrement=True),
    Column("run_id", Uuid()),
    Column("domain_id", Uuid(), nullable=False),
    # The place in the host's chain, and the digest over this row and the one before it.
    _count("sequence"),
    Column("digest", String(32), nullable=False, server_default=text("''")),
    Column("lease_token", BigInteger(), nullable=False),
    _count("request_number"),  # 1 for the first request under a lease
    Column("url", Text(), nullable=False),
    Column("purpose", String(60), nullable=False),
    Column("started_at", UtcDateTime(), nullable=False),
    Column("ended_at", UtcDateTime(), nullable=False),
    Column("delay_s", Double(), nullable=False),
    Column("delay_source", String(10), nullable=False),
    Column("max_concurrency", SmallInteger(), nullable=False),
    # The operator's policy as the request knew it; NULL where there was none.
    Column("policy_interval_ms", Integer()),
    Column("policy_max_concurrency", Integer()),
    Column("robots_version", String(32)),
    Column("rule_line", Integer()),
    Column("rule", Text()),
    Column("status", Integer()),
    Column("retry_after_s", Double()),
    Column("blocked_until", UtcDateTime()),
    Column("has_fetch", Boolean(), nullable=False, server_default=false()),  # `fetches` has a row for it
    # The only index: each further one that begins with the host writes another page per host and batch. Readers that
    # want requests in order of their start sort them.
    Index("idx_politeness_ledger_chain", "domain_id", "sequence"),
)
