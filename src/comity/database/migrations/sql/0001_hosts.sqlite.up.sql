CREATE TABLE crawl_runs (
    id CHAR(32) DEFAULT (lower(hex(randomblob(16)))) NOT NULL,
    door VARCHAR(20) DEFAULT 'crawl' NOT NULL,
    status VARCHAR(20) DEFAULT 'running' NOT NULL,
    end_reason VARCHAR(50),
    settings JSON,
    holder VARCHAR(255),
    started_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL,
    ended_at DATETIME,
    pages_crawled BIGINT DEFAULT 0 NOT NULL,
    pages_failed BIGINT DEFAULT 0 NOT NULL,
    bytes_received BIGINT DEFAULT 0 NOT NULL,
    CONSTRAINT pk_crawl_runs PRIMARY KEY (id),
    CONSTRAINT ck_crawl_runs_status CHECK (status IN ('running', 'finished', 'stopped', 'failed'))
);
--
CREATE INDEX idx_crawl_runs_started_at ON crawl_runs (started_at);
--
CREATE TABLE domain_policies (
    host VARCHAR(260) NOT NULL,
    max_concurrency INTEGER DEFAULT 1 NOT NULL,
    min_request_interval_ms INTEGER DEFAULT 3000 NOT NULL,
    max_pages INTEGER DEFAULT 10 NOT NULL,
    max_kb_per_page INTEGER DEFAULT 1024 NOT NULL,
    allow_js BOOLEAN DEFAULT 0 NOT NULL,
    last_seen_status TEXT,
    updated_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL,
    CONSTRAINT pk_domain_policies PRIMARY KEY (host),
    CONSTRAINT ck_domain_policies_max_concurrency_at_least_1 CHECK (max_concurrency >= 1),
    CONSTRAINT ck_domain_policies_min_request_interval_ms_at_least_0 CHECK (min_request_interval_ms >= 0),
    CONSTRAINT ck_domain_policies_max_pages_at_least_0 CHECK (max_pages >= 0),
    CONSTRAINT ck_domain_policies_max_kb_per_page_at_least_1 CHECK (max_kb_per_page >= 1)
);
--
CREATE TABLE robots_cache (
    origin VARCHAR(280) NOT NULL,
    host VARCHAR(260) NOT NULL,
    robots_txt TEXT,
    raw BLOB,
    fetched_at DATETIME,
    expires_at DATETIME,
    crawl_delay_ms INTEGER,
    disallow JSON,
    access VARCHAR(20) DEFAULT 'parsed' NOT NULL,
    http_status INTEGER,
    version VARCHAR(32),
    etag TEXT,
    last_modified TEXT,
    detail TEXT,
    CONSTRAINT pk_robots_cache PRIMARY KEY (origin)
);
--
CREATE INDEX idx_robots_cache_host ON robots_cache (host);
--
CREATE TABLE takedowns (
    domain_or_url TEXT NOT NULL,
    reason TEXT,
    created_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL,
    CONSTRAINT pk_takedowns PRIMARY KEY (domain_or_url)
);
--
CREATE TABLE domains (
    id CHAR(32) DEFAULT (lower(hex(randomblob(16)))) NOT NULL,
    domain VARCHAR(260) NOT NULL,
    parent_domain VARCHAR(260),
    status VARCHAR(11) DEFAULT 'pending' NOT NULL,
    is_seeded BOOLEAN DEFAULT 1 NOT NULL,
    block_reason TEXT,
    block_reason_code VARCHAR(50),
    first_blocked_at DATETIME,
    cooldown_count INTEGER DEFAULT 0 NOT NULL,
    claimed_by VARCHAR(255),
    claim_expires_at DATETIME,
    lease_token BIGINT DEFAULT 0 NOT NULL,
    version INTEGER DEFAULT 0 NOT NULL,
    pages_discovered BIGINT DEFAULT 0 NOT NULL,
    pages_crawled BIGINT DEFAULT 0 NOT NULL,
    images_found BIGINT DEFAULT 0 NOT NULL,
    images_stored BIGINT DEFAULT 0 NOT NULL,
    max_pages_per_run INTEGER DEFAULT 1000,
    crawl_depth_reached INTEGER DEFAULT 0 NOT NULL,
    image_yield_rate DOUBLE,
    avg_images_per_page DOUBLE,
    error_rate DOUBLE,
    total_error_count INTEGER DEFAULT 0 NOT NULL,
    consecutive_error_count INTEGER DEFAULT 0 NOT NULL,
    priority_score INTEGER DEFAULT 0 NOT NULL,
    priority_computed_at DATETIME,
    seed_rank INTEGER,
    source VARCHAR(100),
    first_seen_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL,
    last_crawled_at DATETIME,
    next_crawl_after DATETIME,
    updated_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL,
    last_crawl_run_id CHAR(32),
    frontier_checkpoint_id VARCHAR(300),
    frontier_size BIGINT DEFAULT 0 NOT NULL,
    frontier_updated_at DATETIME,
    next_fetch_at DATETIME,
    blocked_until DATETIME,
    backoff_step INTEGER DEFAULT 0 NOT NULL,
    adaptive_delay_s DOUBLE DEFAULT 0 NOT NULL,
    latency_baseline_s DOUBLE,
    latency_recent_s DOUBLE,
    unclean_end_at DATETIME,
    last_start_at DATETIME,
    CONSTRAINT pk_domains PRIMARY KEY (id),
    CONSTRAINT ck_domains_domain_not_empty CHECK (domain <> ''),
    CONSTRAINT ck_domains_lease_has_holder_and_end CHECK ((claimed_by IS NULL) = (claim_expires_at IS NULL)),
    CONSTRAINT uq_domains_domain UNIQUE (domain),
    CONSTRAINT ck_domains_domain_status CHECK (status IN ('pending', 'active', 'exhausted', 'blocked', 'unreachable')),
    CONSTRAINT fk_domains_last_crawl_run_id FOREIGN KEY(last_crawl_run_id) REFERENCES crawl_runs (id) ON DELETE SET NULL
);
--
CREATE INDEX idx_domains_claims ON domains (claimed_by, claim_expires_at) WHERE claimed_by IS NOT NULL;
--
CREATE INDEX idx_domains_discovery_candidates ON domains ((CASE WHEN status = 'active' THEN 0 ELSE 1 END), priority_score DESC, last_crawled_at ASC, id) WHERE status IN ('pending', 'active') AND is_seeded AND claimed_by IS NULL;
--
CREATE INDEX idx_domains_last_crawled ON domains (last_crawled_at);
--
CREATE INDEX idx_domains_lease_expiry ON domains (claim_expires_at) WHERE claimed_by IS NOT NULL;
--
CREATE INDEX idx_domains_next_crawl ON domains (next_crawl_after) WHERE next_crawl_after IS NOT NULL;
--
CREATE INDEX idx_domains_parent_domain ON domains (parent_domain);
--
CREATE INDEX idx_domains_priority_score ON domains (priority_score DESC);
--
CREATE INDEX idx_domains_refresh_candidates ON domains (status, next_crawl_after, image_yield_rate DESC) WHERE status = 'exhausted';
--
CREATE INDEX idx_domains_source ON domains (source);
--
CREATE INDEX idx_domains_status ON domains (status);
--
CREATE INDEX idx_domains_yield ON domains (image_yield_rate DESC);
--
CREATE TABLE domain_frontier (
    id INTEGER NOT NULL,
    domain_id CHAR(32) NOT NULL,
    run_id CHAR(32),
    url TEXT NOT NULL,
    url_key BIGINT NOT NULL,
    depth INTEGER DEFAULT 0 NOT NULL,
    priority INTEGER DEFAULT 0 NOT NULL,
    state SMALLINT DEFAULT 0 NOT NULL,
    attempts SMALLINT DEFAULT 0 NOT NULL,
    not_before DATETIME,
    discovered_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL,
    CONSTRAINT pk_domain_frontier PRIMARY KEY (id),
    CONSTRAINT ck_domain_frontier_state CHECK (state IN (0, 1, 2)),
    CONSTRAINT fk_domain_frontier_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE CASCADE,
    CONSTRAINT fk_domain_frontier_run_id FOREIGN KEY(run_id) REFERENCES crawl_runs (id) ON DELETE SET NULL
);
--
CREATE INDEX idx_domain_frontier_put_off ON domain_frontier (domain_id, not_before) WHERE state = 0 AND not_before IS NOT NULL;
--
CREATE INDEX idx_domain_frontier_queue ON domain_frontier (domain_id, priority DESC, depth, id) WHERE state = 0;
--
CREATE UNIQUE INDEX uq_domain_frontier_url ON domain_frontier (domain_id, url_key);
--
CREATE TABLE evidence (
    id INTEGER NOT NULL,
    run_id CHAR(32),
    domain_id CHAR(32),
    url TEXT NOT NULL,
    url_key BIGINT NOT NULL,
    type VARCHAR(40) NOT NULL,
    content JSON NOT NULL,
    metadata JSON,
    confidence VARCHAR(10) DEFAULT 'high' NOT NULL,
    created_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL,
    CONSTRAINT pk_evidence PRIMARY KEY (id),
    CONSTRAINT fk_evidence_run_id FOREIGN KEY(run_id) REFERENCES crawl_runs (id) ON DELETE SET NULL,
    CONSTRAINT fk_evidence_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE CASCADE
);
--
CREATE INDEX idx_evidence_domain ON evidence (domain_id, created_at);
--
CREATE INDEX idx_evidence_url ON evidence (url_key, created_at);
--
CREATE TABLE fetches (
    id INTEGER NOT NULL,
    run_id CHAR(32),
    domain_id CHAR(32),
    domain VARCHAR(260) NOT NULL,
    page_url TEXT NOT NULL,
    url_key BIGINT NOT NULL,
    final_url TEXT,
    redirect_count SMALLINT DEFAULT 0 NOT NULL,
    outcome VARCHAR(30) NOT NULL,
    status INTEGER,
    error TEXT,
    content_type TEXT,
    content_hash VARCHAR(32),
    etag TEXT,
    last_modified TEXT,
    bytes_received BIGINT DEFAULT 0 NOT NULL,
    duration_ms INTEGER,
    depth INTEGER DEFAULT 0 NOT NULL,
    images_found INTEGER DEFAULT 0 NOT NULL,
    crawled_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL,
    CONSTRAINT pk_fetches PRIMARY KEY (id),
    CONSTRAINT fk_fetches_run_id FOREIGN KEY(run_id) REFERENCES crawl_runs (id) ON DELETE SET NULL,
    CONSTRAINT fk_fetches_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE SET NULL
);
--
CREATE INDEX idx_fetches_domain ON fetches (domain, crawled_at);
--
CREATE INDEX idx_fetches_url ON fetches (url_key);
--
CREATE UNIQUE INDEX uq_fetches_run_url ON fetches (run_id, url_key, crawled_at);
--
CREATE TABLE politeness_ledger (
    id INTEGER NOT NULL,
    run_id CHAR(32),
    domain_id CHAR(32) NOT NULL,
    lease_token BIGINT NOT NULL,
    url TEXT NOT NULL,
    purpose VARCHAR(10) NOT NULL,
    started_at DATETIME NOT NULL,
    ended_at DATETIME NOT NULL,
    delay_s DOUBLE NOT NULL,
    delay_source VARCHAR(10) NOT NULL,
    max_concurrency SMALLINT NOT NULL,
    robots_version VARCHAR(32),
    rule_line INTEGER,
    rule TEXT,
    status INTEGER,
    blocked_until DATETIME,
    CONSTRAINT pk_politeness_ledger PRIMARY KEY (id),
    CONSTRAINT fk_politeness_ledger_run_id FOREIGN KEY(run_id) REFERENCES crawl_runs (id) ON DELETE SET NULL,
    CONSTRAINT fk_politeness_ledger_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE CASCADE
);
--
CREATE INDEX idx_politeness_ledger_host ON politeness_ledger (domain_id, started_at);
--
CREATE TRIGGER domains_status_trigger BEFORE UPDATE OF status ON domains
    FOR EACH ROW WHEN NOT ((OLD.status = 'pending' AND NEW.status IN ('active', 'blocked', 'unreachable')) OR (OLD.status = 'active' AND NEW.status IN ('active', 'exhausted', 'blocked', 'unreachable')) OR (OLD.status = 'exhausted' AND NEW.status IN ('pending', 'active')) OR (OLD.status = 'blocked' AND NEW.status IN ('pending', 'active', 'blocked')) OR (OLD.status = 'unreachable' AND NEW.status IN ('pending', 'active')))
BEGIN
    SELECT CASE OLD.status WHEN 'pending' THEN RAISE(ABORT, 'illegal status change: pending may only become active, blocked or unreachable') WHEN 'active' THEN RAISE(ABORT, 'illegal status change: active may only become active, exhausted, blocked or unreachable') WHEN 'exhausted' THEN RAISE(ABORT, 'illegal status change: exhausted may only become pending or active') WHEN 'blocked' THEN RAISE(ABORT, 'illegal status change: blocked may only become pending, active or blocked') WHEN 'unreachable' THEN RAISE(ABORT, 'illegal status change: unreachable may only become pending or active') ELSE RAISE(ABORT, 'illegal status change') END;
END;
--
CREATE TRIGGER domains_updated_at_trigger AFTER UPDATE ON domains
    FOR EACH ROW WHEN NEW.updated_at IS OLD.updated_at
BEGIN
    UPDATE domains SET updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now') WHERE id = NEW.id;
END;
