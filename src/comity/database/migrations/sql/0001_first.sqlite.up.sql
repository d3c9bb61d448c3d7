CREATE TABLE crawl_runs (
    id CHAR(32) DEFAULT (lower(hex(randomblob(16)))) NOT NULL,
    door VARCHAR(20) DEFAULT 'crawl' NOT NULL,
    status VARCHAR(20) DEFAULT 'running' NOT NULL,
    end_reason VARCHAR(50),
    end_detail TEXT,
    settings JSON,
    holder VARCHAR(255),
    started_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL,
    ended_at DATETIME,
    pages_crawled BIGINT DEFAULT 0 NOT NULL,
    pages_failed BIGINT DEFAULT 0 NOT NULL,
    bytes_received BIGINT DEFAULT 0 NOT NULL,
    stop_requested_at DATETIME,
    CONSTRAINT pk_crawl_runs PRIMARY KEY (id),
    CONSTRAINT ck_crawl_runs_status CHECK (status IN ('running', 'finished', 'stopped', 'failed'))
);
--
CREATE INDEX idx_crawl_runs_door ON crawl_runs (door, started_at);
--
CREATE INDEX idx_crawl_runs_started_at ON crawl_runs (started_at);
--
CREATE INDEX idx_crawl_runs_status ON crawl_runs (status, started_at);
--
CREATE TABLE domain_policies (
    host VARCHAR(260) NOT NULL,
    max_concurrency INTEGER DEFAULT 1 NOT NULL,
    min_request_interval_ms INTEGER DEFAULT 3000 NOT NULL,
    max_pages INTEGER DEFAULT 10 NOT NULL,
    max_kb_per_page INTEGER DEFAULT 1024 NOT NULL,
    allow_js BOOLEAN DEFAULT 0 NOT NULL,
    last_seen_status TEXT,
    is_page_size_set BOOLEAN DEFAULT 0 NOT NULL,
    include TEXT DEFAULT '' NOT NULL,
    exclude TEXT DEFAULT '' NOT NULL,
    request_options JSON,
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
    access VARCHAR(20) DEFAULT 'parse' NOT NULL,
    http_status INTEGER,
    version VARCHAR(32),
    etag TEXT,
    last_modified TEXT,
    detail TEXT,
    failure VARCHAR(24),
    lacks_tls BOOLEAN DEFAULT 0 NOT NULL,
    noted VARCHAR(32),
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
CREATE TABLE visit_lists (
    id CHAR(32) DEFAULT (lower(hex(randomblob(16)))) NOT NULL,
    door VARCHAR(20) NOT NULL,
    name VARCHAR(300) NOT NULL,
    settings JSON,
    begun_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL,
    ended_at DATETIME,
    CONSTRAINT pk_visit_lists PRIMARY KEY (id)
);
--
CREATE INDEX idx_visit_lists_name ON visit_lists (door, name, begun_at);
--
CREATE TABLE sitemaps (
    domain_id CHAR(32) NOT NULL,
    url_key BIGINT NOT NULL,
    url TEXT NOT NULL,
    depth SMALLINT DEFAULT 0 NOT NULL,
    is_guess BOOLEAN DEFAULT 0 NOT NULL,
    state VARCHAR(10) NOT NULL,
    status INTEGER,
    kind VARCHAR(20),
    entries INTEGER DEFAULT 0 NOT NULL,
    detail TEXT,
    asked_at DATETIME,
    CONSTRAINT pk_sitemaps PRIMARY KEY (domain_id, url_key),
    CONSTRAINT ck_sitemaps_state CHECK (state IN ('planned', 'read', 'missing', 'failed', 'refused'))
);
--
CREATE TABLE politeness_ledger (
    id INTEGER NOT NULL,
    run_id CHAR(32),
    domain_id CHAR(32) NOT NULL,
    sequence BIGINT DEFAULT 0 NOT NULL,
    digest VARCHAR(32) DEFAULT '' NOT NULL,
    lease_token BIGINT NOT NULL,
    request_number BIGINT DEFAULT 0 NOT NULL,
    url TEXT NOT NULL,
    purpose VARCHAR(60) NOT NULL,
    started_at DATETIME NOT NULL,
    ended_at DATETIME NOT NULL,
    delay_s DOUBLE NOT NULL,
    delay_source VARCHAR(10) NOT NULL,
    max_concurrency SMALLINT NOT NULL,
    policy_interval_ms INTEGER,
    policy_max_concurrency INTEGER,
    robots_version VARCHAR(32),
    rule_line INTEGER,
    rule TEXT,
    status INTEGER,
    retry_after_s DOUBLE,
    blocked_until DATETIME,
    has_fetch BOOLEAN DEFAULT 0 NOT NULL,
    CONSTRAINT pk_politeness_ledger PRIMARY KEY (id)
);
--
CREATE INDEX idx_politeness_ledger_chain ON politeness_ledger (domain_id, sequence);
--
CREATE TABLE bots (
    bot_id VARCHAR(100) NOT NULL,
    key_hash VARCHAR(64),
    status VARCHAR(20) DEFAULT 'active' NOT NULL,
    max_jobs_in_hand INTEGER,
    max_jobs_per_minute INTEGER,
    consecutive_failures INTEGER DEFAULT 0 NOT NULL,
    times_quarantined INTEGER DEFAULT 0 NOT NULL,
    jobs_pulled BIGINT DEFAULT 0 NOT NULL,
    jobs_done BIGINT DEFAULT 0 NOT NULL,
    jobs_failed BIGINT DEFAULT 0 NOT NULL,
    quarantined_until DATETIME,
    note TEXT,
    last_seen_at DATETIME,
    minute_started_at DATETIME,
    pulled_this_minute INTEGER DEFAULT 0 NOT NULL,
    created_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL,
    CONSTRAINT pk_bots PRIMARY KEY (bot_id),
    CONSTRAINT ck_bots_status CHECK (status IN ('active', 'quarantined', 'revoked')),
    CONSTRAINT ck_bots_max_jobs_in_hand_at_least_1 CHECK (max_jobs_in_hand >= 1),
    CONSTRAINT ck_bots_max_jobs_per_minute_at_least_1 CHECK (max_jobs_per_minute >= 1),
    CONSTRAINT uq_bots_key_hash UNIQUE (key_hash)
);
--
CREATE TABLE webhooks (
    id CHAR(32) DEFAULT (lower(hex(randomblob(16)))) NOT NULL,
    url TEXT NOT NULL,
    events JSON NOT NULL,
    secret TEXT NOT NULL,
    enabled BOOLEAN DEFAULT 1 NOT NULL,
    consecutive_failures INTEGER DEFAULT 0 NOT NULL,
    disabled_reason TEXT,
    note TEXT,
    created_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL,
    updated_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL,
    CONSTRAINT pk_webhooks PRIMARY KEY (id)
);
--
CREATE TABLE sources (
    id CHAR(32) DEFAULT (lower(hex(randomblob(16)))) NOT NULL,
    org_name TEXT,
    careers_url TEXT NOT NULL,
    source_type TEXT DEFAULT 'html' NOT NULL,
    org_type TEXT,
    status TEXT DEFAULT 'active' NOT NULL,
    crawl_frequency_days INTEGER DEFAULT 3,
    next_run_at DATETIME,
    last_crawled_at DATETIME,
    last_crawl_status TEXT,
    last_crawl_message TEXT,
    consecutive_failures INTEGER DEFAULT 0 NOT NULL,
    consecutive_nochange INTEGER DEFAULT 0 NOT NULL,
    parser_hint TEXT,
    time_window TEXT,
    created_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL,
    updated_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL,
    country VARCHAR(2),
    time_zone VARCHAR(64),
    schedule VARCHAR(10) DEFAULT 's0' NOT NULL,
    importance DOUBLE DEFAULT 1 NOT NULL,
    change_statistics JSON,
    last_found INTEGER DEFAULT 0 NOT NULL,
    empty_reads INTEGER DEFAULT 0 NOT NULL,
    block_reason_code VARCHAR(20),
    CONSTRAINT pk_sources PRIMARY KEY (id),
    CONSTRAINT ck_sources_source_type CHECK (source_type IN ('html', 'rss', 'api')),
    CONSTRAINT ck_sources_status CHECK (status IN ('active', 'paused', 'blocked', 'deleted')),
    CONSTRAINT ck_sources_schedule CHECK (schedule IN ('s0', 'adaptive')),
    CONSTRAINT ck_sources_crawl_frequency_days_at_least_1 CHECK (crawl_frequency_days >= 1),
    CONSTRAINT uq_sources_careers_url UNIQUE (careers_url)
);
--
CREATE INDEX idx_sources_last_crawled_at ON sources (last_crawled_at);
--
CREATE INDEX idx_sources_next_run_at ON sources (next_run_at);
--
CREATE INDEX idx_sources_org_name ON sources (org_name);
--
CREATE INDEX idx_sources_org_type ON sources (org_type);
--
CREATE INDEX idx_sources_status ON sources (status);
--
CREATE TABLE search_outbox (
    id INTEGER NOT NULL,
    posting_id CHAR(32) NOT NULL,
    action VARCHAR(10) NOT NULL,
    attempts INTEGER DEFAULT 0 NOT NULL,
    next_attempt_at DATETIME,
    last_error TEXT,
    created_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL,
    CONSTRAINT pk_search_outbox PRIMARY KEY (id),
    CONSTRAINT ck_search_outbox_action CHECK (action IN ('upsert', 'delete'))
);
--
CREATE INDEX idx_search_outbox_next_attempt_at ON search_outbox (next_attempt_at, id);
--
CREATE TABLE console_users (
    name VARCHAR(64) NOT NULL,
    password_hash TEXT NOT NULL,
    role VARCHAR(10) DEFAULT 'viewer' NOT NULL,
    created_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL,
    last_login_at DATETIME,
    CONSTRAINT pk_console_users PRIMARY KEY (name),
    CONSTRAINT ck_console_users_role CHECK (role IN ('viewer', 'operator'))
);
--
CREATE TABLE console_sessions (
    name_hash VARCHAR(64) NOT NULL,
    user_name VARCHAR(64) NOT NULL,
    password_mark VARCHAR(64) NOT NULL,
    started_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL,
    expires_at DATETIME NOT NULL,
    CONSTRAINT pk_console_sessions PRIMARY KEY (name_hash)
);
--
CREATE INDEX idx_console_sessions_expires_at ON console_sessions (expires_at);
--
CREATE INDEX idx_console_sessions_user_name ON console_sessions (user_name);
--
CREATE TABLE console_activity (
    id INTEGER NOT NULL,
    at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL,
    user_name VARCHAR(64),
    role VARCHAR(10),
    by_token BOOLEAN DEFAULT 0 NOT NULL,
    address VARCHAR(45) DEFAULT '' NOT NULL,
    action VARCHAR(200) NOT NULL,
    path TEXT DEFAULT '' NOT NULL,
    subject TEXT DEFAULT '' NOT NULL,
    status INTEGER DEFAULT 0 NOT NULL,
    CONSTRAINT pk_console_activity PRIMARY KEY (id)
);
--
CREATE INDEX idx_console_activity_action ON console_activity (action, id);
--
CREATE INDEX idx_console_activity_user_name ON console_activity (user_name, id);
--
CREATE TABLE images (
    id INTEGER NOT NULL,
    content_hash VARCHAR(64) NOT NULL,
    url TEXT NOT NULL,
    format VARCHAR(10) NOT NULL,
    content_type TEXT,
    width INTEGER,
    height INTEGER,
    bytes BIGINT DEFAULT 0 NOT NULL,
    stored_path TEXT NOT NULL,
    first_seen_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL,
    last_seen_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL,
    CONSTRAINT pk_images PRIMARY KEY (id),
    CONSTRAINT uq_images_content_hash UNIQUE (content_hash)
);
--
CREATE TABLE ledger_chains (
    domain_id CHAR(32) NOT NULL,
    host VARCHAR(260) NOT NULL,
    requests BIGINT DEFAULT 0 NOT NULL,
    request_digest VARCHAR(32) DEFAULT '' NOT NULL,
    notes BIGINT DEFAULT 0 NOT NULL,
    note_digest VARCHAR(32) DEFAULT '' NOT NULL,
    gap_until DATETIME,
    former_host VARCHAR(260),
    merged_into CHAR(32),
    CONSTRAINT pk_ledger_chains PRIMARY KEY (domain_id)
);
--
CREATE INDEX idx_ledger_chains_host ON ledger_chains (host);
--
CREATE TABLE ledger_notes (
    id INTEGER NOT NULL,
    domain_id CHAR(32) NOT NULL,
    sequence BIGINT DEFAULT 0 NOT NULL,
    digest VARCHAR(32) DEFAULT '' NOT NULL,
    lease_token BIGINT NOT NULL,
    kind VARCHAR(10) NOT NULL,
    origin TEXT,
    version VARCHAR(32),
    valid_from DATETIME NOT NULL,
    valid_until DATETIME NOT NULL,
    detail TEXT DEFAULT '{}' NOT NULL,
    CONSTRAINT pk_ledger_notes PRIMARY KEY (id)
);
--
CREATE INDEX idx_ledger_notes_chain ON ledger_notes (domain_id, sequence);
--
CREATE TABLE robots_versions (
    version VARCHAR(32) NOT NULL,
    body BLOB NOT NULL,
    first_seen_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL,
    CONSTRAINT pk_robots_versions PRIMARY KEY (version)
);
--
CREATE TABLE policy_history (
    id INTEGER NOT NULL,
    host VARCHAR(260) NOT NULL,
    valid_from DATETIME NOT NULL,
    is_deleted BOOLEAN DEFAULT 0 NOT NULL,
    max_concurrency INTEGER NOT NULL,
    min_request_interval_ms INTEGER NOT NULL,
    CONSTRAINT pk_policy_history PRIMARY KEY (id)
);
--
CREATE INDEX idx_policy_history_host ON policy_history (host, id);
--
CREATE TABLE search_documents (
    number INTEGER NOT NULL,
    posting_id CHAR(32) NOT NULL,
    source_id CHAR(32),
    country_iso VARCHAR(2),
    level_norm VARCHAR(40),
    work_modality VARCHAR(40),
    career_type VARCHAR(40),
    international_eligible BOOLEAN,
    language VARCHAR(20),
    mission_tags TEXT DEFAULT '|' NOT NULL,
    org_name TEXT DEFAULT '' NOT NULL,
    org_key TEXT DEFAULT '' NOT NULL,
    deadline DATETIME,
    newest_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL,
    closed_at DATETIME,
    words TEXT,
    CONSTRAINT pk_search_documents PRIMARY KEY (number),
    CONSTRAINT uq_search_documents_posting_id UNIQUE (posting_id)
);
--
CREATE INDEX idx_search_documents_deadline ON search_documents (deadline, posting_id);
--
CREATE INDEX idx_search_documents_newest_at ON search_documents (newest_at DESC, posting_id);
--
CREATE INDEX idx_search_documents_org_key ON search_documents (org_key);
--
CREATE TABLE unqueued_keys (
    place INTEGER NOT NULL,
    entries BLOB NOT NULL,
    CONSTRAINT pk_unqueued_keys PRIMARY KEY (place)
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
    refused_address VARCHAR(45),
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
    unqueued_recorded INTEGER DEFAULT 0 NOT NULL,
    unqueued_unrecorded BIGINT DEFAULT 0 NOT NULL,
    left_out_recorded INTEGER DEFAULT 0 NOT NULL,
    left_out_unrecorded BIGINT DEFAULT 0 NOT NULL,
    left_out_rules VARCHAR(40),
    left_at_depth INTEGER,
    next_fetch_at DATETIME,
    blocked_until DATETIME,
    backoff_step INTEGER DEFAULT 0 NOT NULL,
    adaptive_delay_s DOUBLE DEFAULT 0 NOT NULL,
    latency_baseline_s DOUBLE,
    latency_recent_s DOUBLE,
    unclean_end_at DATETIME,
    claimed_at DATETIME,
    unclean_since DATETIME,
    last_start_at DATETIME,
    is_refresh_due BOOLEAN DEFAULT 0 NOT NULL,
    refresh_started_at DATETIME,
    queue_ready_at DATETIME,
    slots_given INTEGER DEFAULT 0 NOT NULL,
    queue_failures INTEGER DEFAULT 0 NOT NULL,
    queue_parked_until DATETIME,
    paused_by_run CHAR(32),
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
CREATE INDEX idx_domains_discovery_candidates ON domains ((CASE WHEN status = 'active' THEN 0 ELSE 1 END), priority_score DESC, last_crawled_at ASC, id) WHERE status IN ('pending', 'active') AND is_seeded AND claimed_by IS NULL AND paused_by_run IS NULL;
--
CREATE INDEX idx_domains_last_crawled ON domains (last_crawled_at, domain);
--
CREATE INDEX idx_domains_lease_expiry ON domains (claim_expires_at) WHERE claimed_by IS NOT NULL;
--
CREATE INDEX idx_domains_left_at_depth ON domains (left_at_depth) WHERE left_at_depth IS NOT NULL;
--
CREATE INDEX idx_domains_next_crawl ON domains (next_crawl_after, domain) WHERE next_crawl_after IS NOT NULL;
--
CREATE INDEX idx_domains_not_due ON domains (status, next_crawl_after) WHERE status IN ('pending', 'active') AND is_seeded AND claimed_by IS NULL AND paused_by_run IS NULL AND next_crawl_after IS NOT NULL;
--
CREATE INDEX idx_domains_parent_domain ON domains (parent_domain);
--
CREATE INDEX idx_domains_paused ON domains (domain) WHERE paused_by_run IS NOT NULL;
--
CREATE INDEX idx_domains_priority_score ON domains (priority_score, domain);
--
CREATE INDEX idx_domains_queue_ready ON domains (queue_ready_at) WHERE queue_ready_at IS NOT NULL;
--
CREATE INDEX idx_domains_refresh_candidates ON domains (status, next_crawl_after, image_yield_rate DESC) WHERE status = 'exhausted';
--
CREATE INDEX idx_domains_source ON domains (source);
--
CREATE INDEX idx_domains_status ON domains (status, domain);
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
    lastmod DATETIME,
    changefreq VARCHAR(10),
    sitemap_priority DOUBLE,
    found_by SMALLINT DEFAULT 0 NOT NULL,
    found_on BIGINT,
    CONSTRAINT pk_domain_frontier PRIMARY KEY (id),
    CONSTRAINT ck_domain_frontier_state CHECK (state IN (0, 1, 2, 3)),
    CONSTRAINT fk_domain_frontier_run_id FOREIGN KEY(run_id) REFERENCES crawl_runs (id) ON DELETE SET NULL
);
--
CREATE INDEX idx_domain_frontier_put_off ON domain_frontier (domain_id, not_before) WHERE state = 0 AND not_before IS NOT NULL;
--
CREATE INDEX idx_domain_frontier_queue ON domain_frontier (domain_id, priority DESC, depth, id) WHERE state = 0;
--
CREATE INDEX idx_domain_frontier_too_deep ON domain_frontier (domain_id, depth, url_key) WHERE state = 3;
--
CREATE UNIQUE INDEX uq_domain_frontier_url ON domain_frontier (domain_id, url_key);
--
CREATE TABLE webhook_deliveries (
    id CHAR(32) DEFAULT (lower(hex(randomblob(16)))) NOT NULL,
    webhook_id CHAR(32) NOT NULL,
    event VARCHAR(40) NOT NULL,
    payload JSON NOT NULL,
    status VARCHAR(20) DEFAULT 'pending' NOT NULL,
    attempts INTEGER DEFAULT 0 NOT NULL,
    next_attempt_at DATETIME,
    last_attempt_at DATETIME,
    last_status INTEGER,
    last_error TEXT,
    is_test BOOLEAN DEFAULT 0 NOT NULL,
    created_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL,
    delivered_at DATETIME,
    CONSTRAINT pk_webhook_deliveries PRIMARY KEY (id),
    CONSTRAINT ck_webhook_deliveries_status CHECK (status IN ('pending', 'delivered', 'failed')),
    CONSTRAINT fk_webhook_deliveries_webhook_id FOREIGN KEY(webhook_id) REFERENCES webhooks (id) ON DELETE CASCADE
);
--
CREATE INDEX idx_webhook_deliveries_created_at ON webhook_deliveries (created_at, id);
--
CREATE INDEX idx_webhook_deliveries_due ON webhook_deliveries (webhook_id, next_attempt_at) WHERE status = 'pending';
--
CREATE INDEX idx_webhook_deliveries_status ON webhook_deliveries (status, created_at, id);
--
CREATE INDEX idx_webhook_deliveries_webhook ON webhook_deliveries (webhook_id, created_at, id);
--
CREATE TABLE source_pages (
    source_id CHAR(32) NOT NULL,
    number SMALLINT NOT NULL,
    url TEXT NOT NULL,
    final_url TEXT NOT NULL,
    etag TEXT,
    last_modified TEXT,
    next_url TEXT,
    kind VARCHAR(20) NOT NULL,
    found INTEGER DEFAULT 0 NOT NULL,
    content_hash VARCHAR(32),
    read_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL,
    CONSTRAINT pk_source_pages PRIMARY KEY (source_id, number),
    CONSTRAINT fk_source_pages_source_id FOREIGN KEY(source_id) REFERENCES sources (id) ON DELETE CASCADE
);
--
CREATE TABLE crawl_logs (
    id CHAR(32) DEFAULT (lower(hex(randomblob(16)))) NOT NULL,
    source_id CHAR(32),
    ran_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL,
    duration_ms INTEGER,
    found INTEGER,
    inserted INTEGER,
    updated INTEGER,
    skipped INTEGER,
    status TEXT,
    message TEXT,
    closed INTEGER DEFAULT 0 NOT NULL,
    pages INTEGER DEFAULT 0 NOT NULL,
    next_run_at DATETIME,
    next_run_reason TEXT,
    CONSTRAINT pk_crawl_logs PRIMARY KEY (id),
    CONSTRAINT ck_crawl_logs_status CHECK (status IN ('ok', 'warn', 'fail')),
    CONSTRAINT fk_crawl_logs_source_id FOREIGN KEY(source_id) REFERENCES sources (id) ON DELETE CASCADE
);
--
CREATE INDEX idx_crawl_logs_ran_at ON crawl_logs (ran_at DESC);
--
CREATE INDEX idx_crawl_logs_source_id ON crawl_logs (source_id, ran_at DESC);
--
CREATE INDEX idx_crawl_logs_status ON crawl_logs (status, ran_at DESC);
--
CREATE TABLE crawl_locks (
    source_id CHAR(32) NOT NULL,
    locked_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL,
    expires_at DATETIME,
    holder VARCHAR(255),
    CONSTRAINT pk_crawl_locks PRIMARY KEY (source_id),
    CONSTRAINT fk_crawl_locks_source_id FOREIGN KEY(source_id) REFERENCES sources (id) ON DELETE CASCADE
);
--
CREATE TABLE job_postings (
    id CHAR(32) DEFAULT (lower(hex(randomblob(16)))) NOT NULL,
    canonical_hash VARCHAR(64) NOT NULL,
    source_id CHAR(32),
    title TEXT NOT NULL,
    org_name TEXT DEFAULT '' NOT NULL,
    apply_url TEXT NOT NULL,
    location_raw TEXT DEFAULT '' NOT NULL,
    description_snippet TEXT DEFAULT '' NOT NULL,
    description_text TEXT DEFAULT '' NOT NULL,
    deadline DATETIME,
    posted_at DATETIME,
    city TEXT,
    country_iso VARCHAR(2),
    level_norm VARCHAR(40),
    work_modality VARCHAR(40),
    career_type VARCHAR(40),
    international_eligible BOOLEAN,
    mission_tags JSON DEFAULT '[]' NOT NULL,
    language VARCHAR(20),
    first_seen_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL,
    last_seen_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL,
    updated_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL,
    closed_at DATETIME,
    CONSTRAINT pk_job_postings PRIMARY KEY (id),
    CONSTRAINT uq_job_postings_canonical_hash UNIQUE (canonical_hash),
    CONSTRAINT fk_job_postings_source_id FOREIGN KEY(source_id) REFERENCES sources (id) ON DELETE SET NULL
);
--
CREATE INDEX idx_job_postings_country_iso ON job_postings (country_iso);
--
CREATE INDEX idx_job_postings_deadline ON job_postings (deadline);
--
CREATE INDEX idx_job_postings_last_seen_at ON job_postings (last_seen_at);
--
CREATE INDEX idx_job_postings_source_id ON job_postings (source_id);
--
CREATE TABLE search_cards (
    number INTEGER NOT NULL,
    card JSON NOT NULL,
    CONSTRAINT pk_search_cards PRIMARY KEY (number),
    CONSTRAINT fk_search_cards_number FOREIGN KEY(number) REFERENCES search_documents (number) ON DELETE CASCADE
);
--
CREATE VIRTUAL TABLE search_words USING fts5(title, org, about, body, tokenize = 'unicode61 remove_diacritics 2', prefix = '2 3');
--
CREATE TABLE domain_moves (
    id INTEGER NOT NULL,
    domain_id CHAR(32) NOT NULL,
    moved_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL,
    from_status VARCHAR(20) NOT NULL,
    to_status VARCHAR(20) NOT NULL,
    reason_code VARCHAR(50),
    reason TEXT,
    holder VARCHAR(255),
    CONSTRAINT pk_domain_moves PRIMARY KEY (id),
    CONSTRAINT fk_domain_moves_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE CASCADE
);
--
CREATE INDEX idx_domain_moves_host ON domain_moves (domain_id, id);
--
CREATE TABLE visit_list_hosts (
    id CHAR(32) DEFAULT (lower(hex(randomblob(16)))) NOT NULL,
    list_id CHAR(32) NOT NULL,
    domain_id CHAR(32) NOT NULL,
    CONSTRAINT pk_visit_list_hosts PRIMARY KEY (id),
    CONSTRAINT fk_visit_list_hosts_list_id FOREIGN KEY(list_id) REFERENCES visit_lists (id) ON DELETE CASCADE,
    CONSTRAINT fk_visit_list_hosts_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE CASCADE
);
--
CREATE INDEX idx_visit_list_hosts_domain ON visit_list_hosts (domain_id);
--
CREATE UNIQUE INDEX uq_visit_list_hosts_host ON visit_list_hosts (list_id, domain_id);
--
CREATE TABLE frontier_epochs (
    domain_id CHAR(32) NOT NULL,
    epoch VARCHAR(16) NOT NULL,
    batch BIGINT DEFAULT 0 NOT NULL,
    CONSTRAINT pk_frontier_epochs PRIMARY KEY (domain_id),
    CONSTRAINT fk_frontier_epochs_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE CASCADE
);
--
CREATE TABLE frontier_journal (
    domain_id CHAR(32) NOT NULL,
    batch BIGINT NOT NULL,
    payload BLOB NOT NULL,
    CONSTRAINT pk_frontier_journal PRIMARY KEY (domain_id, batch),
    CONSTRAINT fk_frontier_journal_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE CASCADE
);
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
    discovery_type VARCHAR(20) DEFAULT 'discovery' NOT NULL,
    images_read BOOLEAN DEFAULT 0 NOT NULL,
    columns_key BIGINT,
    CONSTRAINT pk_fetches PRIMARY KEY (id),
    CONSTRAINT fk_fetches_run_id FOREIGN KEY(run_id) REFERENCES crawl_runs (id) ON DELETE SET NULL,
    CONSTRAINT fk_fetches_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE SET NULL
);
--
CREATE INDEX idx_fetches_domain ON fetches (domain, crawled_at);
--
CREATE INDEX idx_fetches_url ON fetches (url_key);
--
CREATE UNIQUE INDEX uq_fetches_run_url ON fetches (run_id, crawled_at, url_key);
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
CREATE INDEX idx_evidence_url ON evidence (url_key);
--
CREATE TABLE crawl_policies (
    id CHAR(32) DEFAULT (lower(hex(randomblob(16)))) NOT NULL,
    url VARCHAR(2048) NOT NULL,
    domain_id CHAR(32),
    frequency_hours INTEGER DEFAULT 24 NOT NULL,
    priority INTEGER DEFAULT 5 NOT NULL,
    max_retries INTEGER DEFAULT 3 NOT NULL,
    retry_backoff_minutes INTEGER DEFAULT 5 NOT NULL,
    timeout_minutes INTEGER DEFAULT 10 NOT NULL,
    crawl_config JSON,
    enabled BOOLEAN DEFAULT 1 NOT NULL,
    next_run_at DATETIME,
    failure_count INTEGER DEFAULT 0 NOT NULL,
    last_success_at DATETIME,
    last_failed_at DATETIME,
    schedule VARCHAR(10) DEFAULT 'fixed' NOT NULL,
    importance DOUBLE DEFAULT 1 NOT NULL,
    change_statistics JSON,
    last_price VARCHAR,
    last_currency VARCHAR(3),
    last_in_stock BOOLEAN,
    created_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL,
    updated_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL,
    CONSTRAINT pk_crawl_policies PRIMARY KEY (id),
    CONSTRAINT ck_crawl_policies_schedule CHECK (schedule IN ('fixed', 'adaptive')),
    CONSTRAINT ck_crawl_policies_frequency_hours_at_least_1 CHECK (frequency_hours >= 1),
    CONSTRAINT ck_crawl_policies_max_retries_at_least_0 CHECK (max_retries >= 0),
    CONSTRAINT ck_crawl_policies_retry_backoff_minutes_at_least_0 CHECK (retry_backoff_minutes >= 0),
    CONSTRAINT ck_crawl_policies_timeout_minutes_at_least_1 CHECK (timeout_minutes >= 1),
    CONSTRAINT uq_crawl_policies_url UNIQUE (url),
    CONSTRAINT fk_crawl_policies_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE SET NULL
);
--
CREATE INDEX idx_crawl_policies_domain_id ON crawl_policies (domain_id, next_run_at, id);
--
CREATE INDEX idx_crawl_policies_due ON crawl_policies (next_run_at, priority) WHERE enabled;
--
CREATE INDEX idx_crawl_policies_enabled ON crawl_policies (enabled, next_run_at, id);
--
CREATE INDEX idx_crawl_policies_failing ON crawl_policies (failure_count, id) WHERE failure_count > 0;
--
CREATE INDEX idx_crawl_policies_next_run_at ON crawl_policies (next_run_at);
--
CREATE INDEX idx_crawl_policies_priority ON crawl_policies (priority, id);
--
CREATE INDEX idx_crawl_policies_same_priority ON crawl_policies (priority, next_run_at, id);
--
CREATE TABLE grants (
    id CHAR(32) DEFAULT (lower(hex(randomblob(16)))) NOT NULL,
    domain_id CHAR(32) NOT NULL,
    client VARCHAR(100) NOT NULL,
    url TEXT NOT NULL,
    slot_at DATETIME NOT NULL,
    slot_ends_at DATETIME NOT NULL,
    slot JSON NOT NULL,
    lease_token INTEGER NOT NULL,
    expires_at DATETIME NOT NULL,
    is_open BOOLEAN DEFAULT 1 NOT NULL,
    outcome VARCHAR(20),
    granted_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL,
    ended_at DATETIME,
    CONSTRAINT pk_grants PRIMARY KEY (id),
    CONSTRAINT ck_grants_outcome CHECK (outcome IN ('reported', 'released', 'expired')),
    CONSTRAINT fk_grants_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE CASCADE
);
--
CREATE INDEX idx_grants_expiry ON grants (expires_at) WHERE is_open;
--
CREATE INDEX idx_grants_granted_at ON grants (granted_at);
--
CREATE INDEX idx_grants_open ON grants (domain_id, expires_at) WHERE is_open;
--
CREATE TABLE job_sightings (
    source_id CHAR(32) NOT NULL,
    posting_id CHAR(32) NOT NULL,
    page_number SMALLINT DEFAULT 0 NOT NULL,
    seen_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL,
    CONSTRAINT pk_job_sightings PRIMARY KEY (source_id, posting_id),
    CONSTRAINT fk_job_sightings_source_id FOREIGN KEY(source_id) REFERENCES sources (id) ON DELETE CASCADE,
    CONSTRAINT fk_job_sightings_posting_id FOREIGN KEY(posting_id) REFERENCES job_postings (id) ON DELETE CASCADE
);
--
CREATE INDEX idx_job_sightings_posting_id ON job_sightings (posting_id);
--
CREATE TABLE provenance (
    id INTEGER NOT NULL,
    image_id BIGINT NOT NULL,
    page_key BIGINT NOT NULL,
    page_url TEXT NOT NULL,
    source_domain VARCHAR(260) NOT NULL,
    domain_id CHAR(32),
    discovery_type VARCHAR(20) DEFAULT 'discovery' NOT NULL,
    found_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL,
    CONSTRAINT pk_provenance PRIMARY KEY (id),
    CONSTRAINT fk_provenance_image_id FOREIGN KEY(image_id) REFERENCES images (id) ON DELETE CASCADE,
    CONSTRAINT fk_provenance_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE SET NULL
);
--
CREATE INDEX idx_provenance_image ON provenance (image_id);
--
CREATE INDEX idx_provenance_source_domain ON provenance (source_domain);
--
CREATE UNIQUE INDEX uq_provenance_page_image ON provenance (page_key, image_id, discovery_type);
--
CREATE TABLE image_urls (
    domain_id CHAR(32) NOT NULL,
    url_key BIGINT NOT NULL,
    url TEXT NOT NULL,
    image_id BIGINT,
    asked_at DATETIME,
    status INTEGER,
    error TEXT,
    final_url TEXT,
    etag TEXT,
    last_modified TEXT,
    CONSTRAINT pk_image_urls PRIMARY KEY (domain_id, url_key),
    CONSTRAINT fk_image_urls_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE CASCADE,
    CONSTRAINT fk_image_urls_image_id FOREIGN KEY(image_id) REFERENCES images (id) ON DELETE SET NULL
);
--
CREATE INDEX idx_image_urls_image ON image_urls (image_id);
--
CREATE TABLE image_sightings (
    domain_id CHAR(32) NOT NULL,
    url_key BIGINT NOT NULL,
    page_key BIGINT NOT NULL,
    page_url TEXT NOT NULL,
    discovery_type VARCHAR(20) DEFAULT 'discovery' NOT NULL,
    found_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL,
    CONSTRAINT pk_image_sightings PRIMARY KEY (domain_id, url_key, page_key),
    CONSTRAINT fk_image_sightings_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE CASCADE
);
--
CREATE TABLE left_out_urls (
    url_key BIGINT NOT NULL,
    domain_id CHAR(32) NOT NULL,
    url TEXT NOT NULL,
    depth INTEGER NOT NULL,
    is_image BOOLEAN NOT NULL,
    found_by SMALLINT NOT NULL,
    found_on BIGINT NOT NULL,
    rule VARCHAR(10) NOT NULL,
    pattern VARCHAR(200) NOT NULL,
    is_of_policy BOOLEAN NOT NULL,
    seen_at BIGINT DEFAULT 0 NOT NULL,
    CONSTRAINT pk_left_out_urls PRIMARY KEY (url_key, domain_id),
    CONSTRAINT fk_left_out_urls_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE CASCADE
)
 WITHOUT ROWID;
--
CREATE INDEX idx_left_out_urls_domain ON left_out_urls (domain_id, url_key);
--
CREATE TABLE unqueued_notes (
    id INTEGER NOT NULL,
    domain_id CHAR(32) NOT NULL,
    url_keys BLOB NOT NULL,
    details BLOB NOT NULL,
    CONSTRAINT pk_unqueued_notes PRIMARY KEY (id),
    CONSTRAINT fk_unqueued_notes_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE CASCADE
);
--
CREATE INDEX idx_unqueued_notes_domain ON unqueued_notes (domain_id);
--
CREATE TABLE crawl_jobs (
    id CHAR(32) DEFAULT (lower(hex(randomblob(16)))) NOT NULL,
    policy_id CHAR(32),
    domain_id CHAR(32),
    url VARCHAR(2048) NOT NULL,
    status VARCHAR(20) DEFAULT 'pending' NOT NULL,
    priority INTEGER DEFAULT 5 NOT NULL,
    locked_by VARCHAR(100),
    locked_at DATETIME,
    lock_ttl_seconds INTEGER DEFAULT 600 NOT NULL,
    lock_ends_at DATETIME,
    retry_count INTEGER DEFAULT 0 NOT NULL,
    max_retries INTEGER DEFAULT 3 NOT NULL,
    error_msg TEXT,
    crawl_config JSON,
    not_before DATETIME,
    first_priority INTEGER,
    ages_at DATETIME,
    expiry_count INTEGER DEFAULT 0 NOT NULL,
    moved_by VARCHAR(120),
    move_reason TEXT,
    slot_at DATETIME,
    slot_ends_at DATETIME,
    slot JSON,
    lease_token INTEGER,
    submitted_by VARCHAR(100),
    submission_digest VARCHAR(32),
    submission_answer JSON,
    finished_at DATETIME,
    created_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL,
    updated_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL,
    CONSTRAINT pk_crawl_jobs PRIMARY KEY (id),
    CONSTRAINT ck_crawl_jobs_status CHECK (status IN ('pending', 'locked', 'done', 'failed', 'expired')),
    CONSTRAINT ck_crawl_jobs_lock_has_bot_and_time CHECK (status <> 'locked' OR (locked_by IS NOT NULL AND locked_at IS NOT NULL)),
    CONSTRAINT ck_crawl_jobs_lock_ttl_seconds_at_least_1 CHECK (lock_ttl_seconds >= 1),
    CONSTRAINT fk_crawl_jobs_policy_id FOREIGN KEY(policy_id) REFERENCES crawl_policies (id) ON DELETE CASCADE,
    CONSTRAINT fk_crawl_jobs_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE CASCADE
);
--
CREATE INDEX idx_crawl_jobs_ages ON crawl_jobs (ages_at) WHERE status IN ('pending', 'expired') AND not_before IS NULL AND ages_at IS NOT NULL;
--
CREATE INDEX idx_crawl_jobs_created_at ON crawl_jobs (created_at);
--
CREATE INDEX idx_crawl_jobs_domain ON crawl_jobs (domain_id, status, created_at, id);
--
CREATE INDEX idx_crawl_jobs_failed ON crawl_jobs (finished_at) WHERE status = 'failed';
--
CREATE INDEX idx_crawl_jobs_host ON crawl_jobs (domain_id, priority DESC, created_at) WHERE status IN ('pending', 'expired') AND not_before IS NULL;
--
CREATE INDEX idx_crawl_jobs_hostless ON crawl_jobs (created_at) WHERE domain_id IS NULL AND not_before IS NULL;
--
CREATE INDEX idx_crawl_jobs_lock ON crawl_jobs (locked_by, locked_at);
--
CREATE INDEX idx_crawl_jobs_lock_ends ON crawl_jobs (lock_ends_at) WHERE status = 'locked';
--
CREATE INDEX idx_crawl_jobs_locked ON crawl_jobs (domain_id, locked_at) WHERE status = 'locked';
--
CREATE INDEX idx_crawl_jobs_parked ON crawl_jobs (not_before, id) WHERE not_before IS NOT NULL;
--
CREATE INDEX idx_crawl_jobs_policy ON crawl_jobs (policy_id, status, created_at, id);
--
CREATE INDEX idx_crawl_jobs_priority ON crawl_jobs (priority DESC, status);
--
CREATE INDEX idx_crawl_jobs_pull ON crawl_jobs (status, priority DESC, created_at, id);
--
CREATE INDEX idx_crawl_jobs_status ON crawl_jobs (status, created_at, id);
--
CREATE INDEX idx_crawl_jobs_url ON crawl_jobs (url);
--
CREATE UNIQUE INDEX uq_crawl_jobs_open ON crawl_jobs (policy_id) WHERE status IN ('pending', 'locked', 'expired');
--
CREATE TABLE crawl_job_moves (
    id INTEGER NOT NULL,
    job_id CHAR(32) NOT NULL,
    "before" VARCHAR(20),
    "after" VARCHAR(20) NOT NULL,
    actor VARCHAR(120),
    reason TEXT,
    moved_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL,
    CONSTRAINT pk_crawl_job_moves PRIMARY KEY (id),
    CONSTRAINT fk_crawl_job_moves_job_id FOREIGN KEY(job_id) REFERENCES crawl_jobs (id) ON DELETE CASCADE
);
--
CREATE INDEX idx_crawl_job_moves_job ON crawl_job_moves (job_id, id);
--
CREATE TABLE crawl_results (
    id CHAR(32) DEFAULT (lower(hex(randomblob(16)))) NOT NULL,
    job_id CHAR(32) NOT NULL,
    policy_id CHAR(32),
    url VARCHAR(2048) NOT NULL,
    price VARCHAR,
    currency VARCHAR(3),
    title VARCHAR(500),
    in_stock BOOLEAN,
    parsed_data JSON,
    raw_html BLOB,
    raw_html_bytes INTEGER,
    bot_id VARCHAR(100),
    crawled_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL,
    created_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL,
    CONSTRAINT pk_crawl_results PRIMARY KEY (id),
    CONSTRAINT uq_crawl_results_job_id UNIQUE (job_id),
    CONSTRAINT fk_crawl_results_job_id FOREIGN KEY(job_id) REFERENCES crawl_jobs (id) ON DELETE CASCADE,
    CONSTRAINT fk_crawl_results_policy_id FOREIGN KEY(policy_id) REFERENCES crawl_policies (id) ON DELETE SET NULL
);
--
CREATE INDEX idx_crawl_results_bot ON crawl_results (bot_id, created_at, id);
--
CREATE INDEX idx_crawl_results_created_at ON crawl_results (created_at, id);
--
CREATE INDEX idx_crawl_results_currency ON crawl_results (currency, created_at, id);
--
CREATE INDEX idx_crawl_results_in_stock ON crawl_results (in_stock, created_at, id);
--
CREATE INDEX idx_crawl_results_policy ON crawl_results (policy_id, crawled_at, id);
--
CREATE TABLE late_submissions (
    id CHAR(32) DEFAULT (lower(hex(randomblob(16)))) NOT NULL,
    job_id CHAR(32) NOT NULL,
    bot_id VARCHAR(100) NOT NULL,
    submission_digest VARCHAR(32) NOT NULL,
    content JSON NOT NULL,
    raw_html BLOB,
    raw_html_bytes INTEGER,
    received_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL,
    CONSTRAINT pk_late_submissions PRIMARY KEY (id),
    CONSTRAINT fk_late_submissions_job_id FOREIGN KEY(job_id) REFERENCES crawl_jobs (id) ON DELETE CASCADE
);
--
CREATE INDEX idx_late_submissions_received_at ON late_submissions (received_at, id);
--
CREATE UNIQUE INDEX uq_late_submissions ON late_submissions (job_id, bot_id, submission_digest);
--
CREATE TRIGGER domains_status_trigger BEFORE UPDATE OF status ON domains
    FOR EACH ROW WHEN NOT ((OLD.status = 'pending' AND NEW.status IN ('active', 'blocked', 'unreachable')) OR (OLD.status = 'active' AND NEW.status IN ('active', 'exhausted', 'blocked', 'unreachable')) OR (OLD.status = 'exhausted' AND NEW.status IN ('pending', 'active')) OR (OLD.status = 'blocked' AND NEW.status IN ('pending', 'active', 'blocked')) OR (OLD.status = 'unreachable' AND NEW.status IN ('pending', 'active')))
BEGIN
    SELECT CASE OLD.status WHEN 'pending' THEN RAISE(ABORT, 'illegal status change: pending may only become active, blocked or unreachable') WHEN 'active' THEN RAISE(ABORT, 'illegal status change: active may only become active, exhausted, blocked or unreachable') WHEN 'exhausted' THEN RAISE(ABORT, 'illegal status change: exhausted may only become pending or active') WHEN 'blocked' THEN RAISE(ABORT, 'illegal status change: blocked may only become pending, active or blocked') WHEN 'unreachable' THEN RAISE(ABORT, 'illegal status change: unreachable may only become pending or active') ELSE RAISE(ABORT, 'illegal status change') END;
END;
--
CREATE TRIGGER domains_first_status_trigger BEFORE INSERT ON domains
    FOR EACH ROW WHEN NEW.status <> 'pending' AND NOT (coalesce(NEW.source, '') LIKE 'backfill%' AND NEW.status IN ('exhausted', 'blocked', 'unreachable')) AND NOT EXISTS (SELECT 1 FROM domains WHERE domain = NEW.domain)
BEGIN
    SELECT RAISE(ABORT, 'illegal status of a new host: a new host is pending, or, where its source begins with backfill, exhausted, blocked, unreachable');
END;
--
CREATE TRIGGER domains_replace_trigger BEFORE INSERT ON domains
    FOR EACH ROW WHEN NEW.source IS NOT '(replaced)' AND EXISTS (
        SELECT 1 FROM domains AS old WHERE (old.domain = NEW.domain OR old.id = NEW.id) AND NOT ((old.status = 'pending' AND NEW.status IN ('active', 'blocked', 'unreachable')) OR (old.status = 'active' AND NEW.status IN ('active', 'exhausted', 'blocked', 'unreachable')) OR (old.status = 'exhausted' AND NEW.status IN ('pending', 'active')) OR (old.status = 'blocked' AND NEW.status IN ('pending', 'active', 'blocked')) OR (old.status = 'unreachable' AND NEW.status IN ('pending', 'active')))
    )
BEGIN
    INSERT OR IGNORE INTO domains (id, domain, source)
        SELECT id, domain, '(replaced)' FROM domains WHERE domain = NEW.domain OR id = NEW.id;
    SELECT RAISE(ABORT, 'illegal status change by REPLACE; update the row instead')
        FROM domains WHERE (domain = NEW.domain OR id = NEW.id) AND source = '(replaced)';
END;
--
CREATE TRIGGER domains_overwrite_trigger BEFORE UPDATE OF domain, id ON domains
    FOR EACH ROW WHEN EXISTS (SELECT 1 FROM domains WHERE (domain = NEW.domain OR id = NEW.id) AND id <> OLD.id)
BEGIN
    SELECT RAISE(ABORT, 'another host has this name or id');
END;
--
CREATE TRIGGER domains_woken_trigger AFTER UPDATE OF status ON domains
    FOR EACH ROW WHEN NEW.status IN ('pending', 'active') AND OLD.status NOT IN ('pending', 'active') AND NEW.next_crawl_after IS OLD.next_crawl_after AND NEW.next_crawl_after IS NOT NULL
BEGIN
    UPDATE domains SET next_crawl_after = NULL WHERE id = NEW.id;
END;
--
CREATE TRIGGER domains_moves_trigger AFTER UPDATE OF status ON domains
    FOR EACH ROW WHEN OLD.status IS NOT NEW.status
BEGIN
    INSERT INTO domain_moves (domain_id, moved_at, from_status, to_status, reason_code, reason, holder) VALUES (NEW.id, strftime('%Y-%m-%d %H:%M:%f', 'now') || '000', OLD.status, NEW.status, CASE WHEN NEW.status IN ('blocked', 'unreachable') THEN NEW.block_reason_code END, CASE WHEN NEW.status IN ('blocked', 'unreachable') THEN NEW.block_reason END, coalesce(NEW.claimed_by, OLD.claimed_by));
END;
--
CREATE TRIGGER domains_updated_at_trigger AFTER UPDATE ON domains
    FOR EACH ROW WHEN NEW.updated_at IS OLD.updated_at
BEGIN
    UPDATE domains SET updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now') WHERE id = NEW.id;
END;
--
CREATE TRIGGER domain_policies_insert_history_trigger AFTER INSERT ON domain_policies
    FOR EACH ROW
BEGIN
    INSERT INTO policy_history (host, valid_from, is_deleted, max_concurrency, min_request_interval_ms) SELECT NEW.host, NEW.updated_at, 0, NEW.max_concurrency, NEW.min_request_interval_ms;
END;
--
CREATE TRIGGER domain_policies_update_history_trigger AFTER UPDATE ON domain_policies
    FOR EACH ROW WHEN NEW.host <> OLD.host OR NEW.max_concurrency <> OLD.max_concurrency OR NEW.min_request_interval_ms <> OLD.min_request_interval_ms
BEGIN
    INSERT INTO policy_history (host, valid_from, is_deleted, max_concurrency, min_request_interval_ms) SELECT OLD.host, strftime('%Y-%m-%d %H:%M:%f', 'now') || '000', 1, OLD.max_concurrency, OLD.min_request_interval_ms WHERE NEW.host <> OLD.host;
    INSERT INTO policy_history (host, valid_from, is_deleted, max_concurrency, min_request_interval_ms) SELECT NEW.host, CASE WHEN NEW.updated_at IS OLD.updated_at THEN strftime('%Y-%m-%d %H:%M:%f', 'now') || '000' ELSE NEW.updated_at END, 0, NEW.max_concurrency, NEW.min_request_interval_ms;
END;
--
CREATE TRIGGER domain_policies_delete_history_trigger AFTER DELETE ON domain_policies
    FOR EACH ROW
BEGIN
    INSERT INTO policy_history (host, valid_from, is_deleted, max_concurrency, min_request_interval_ms) SELECT OLD.host, strftime('%Y-%m-%d %H:%M:%f', 'now') || '000', 1, OLD.max_concurrency, OLD.min_request_interval_ms;
END;
--
CREATE TRIGGER domains_frontier_trigger AFTER DELETE ON domains
    FOR EACH ROW
BEGIN
    DELETE FROM domain_frontier WHERE domain_id = OLD.id; DELETE FROM sitemaps WHERE domain_id = OLD.id;
END;
--
CREATE TRIGGER visit_list_hosts_frontier_trigger AFTER DELETE ON visit_list_hosts
    FOR EACH ROW
BEGIN
    DELETE FROM domain_frontier WHERE domain_id = OLD.id; DELETE FROM sitemaps WHERE domain_id = OLD.id;
END;
--
CREATE TRIGGER crawl_jobs_status_trigger BEFORE UPDATE OF status ON crawl_jobs
    FOR EACH ROW WHEN NOT (OLD.status = 'pending' AND NEW.status IN ('locked', 'expired')) AND NOT (OLD.status = 'locked' AND NEW.status IN ('locked', 'done', 'pending', 'failed', 'expired')) AND NOT (OLD.status = 'expired' AND NEW.status IN ('locked', 'pending')) AND NOT (OLD.status = 'failed' AND NEW.status IN ('pending'))
BEGIN
    SELECT CASE OLD.status WHEN 'pending' THEN RAISE(ABORT, 'illegal status change: pending may only become locked or expired') WHEN 'locked' THEN RAISE(ABORT, 'illegal status change: locked may only become locked, done, pending, failed or expired') WHEN 'expired' THEN RAISE(ABORT, 'illegal status change: expired may only become locked or pending') WHEN 'failed' THEN RAISE(ABORT, 'illegal status change: failed may only become pending') WHEN 'done' THEN RAISE(ABORT, 'illegal status change: a done job keeps its status') ELSE RAISE(ABORT, 'illegal status change') END;
END;
--
CREATE TRIGGER crawl_jobs_lock_trigger BEFORE UPDATE OF locked_by ON crawl_jobs
    FOR EACH ROW WHEN OLD.status = 'locked' AND NEW.status = 'locked' AND NEW.locked_by IS NOT OLD.locked_by
BEGIN
    SELECT RAISE(ABORT, 'illegal status change: a locked job belongs to one bot until its lock ends');
END;
--
CREATE TRIGGER crawl_jobs_first_status_trigger BEFORE INSERT ON crawl_jobs
    FOR EACH ROW WHEN NEW.status <> 'pending' AND NOT EXISTS (SELECT 1 FROM crawl_jobs WHERE id = NEW.id)
BEGIN
    SELECT RAISE(ABORT, 'illegal status of a new job: a new job is pending');
END;
--
CREATE TRIGGER crawl_jobs_replace_trigger BEFORE INSERT ON crawl_jobs
    FOR EACH ROW WHEN NEW.move_reason IS NOT '(replaced)' AND EXISTS (SELECT 1 FROM crawl_jobs WHERE (id = NEW.id OR (policy_id = NEW.policy_id AND status IN ('pending', 'locked', 'expired') AND NEW.status IN ('pending', 'locked', 'expired'))))
BEGIN
    INSERT OR IGNORE INTO crawl_jobs (id, policy_id, domain_id, url, move_reason)
        SELECT id, policy_id, domain_id, url, '(replaced)' FROM crawl_jobs WHERE (id = NEW.id OR (policy_id = NEW.policy_id AND status IN ('pending', 'locked', 'expired') AND NEW.status IN ('pending', 'locked', 'expired')));
    SELECT RAISE(ABORT, 'illegal status change by REPLACE; update the row instead')
        FROM crawl_jobs WHERE (id = NEW.id OR (policy_id = NEW.policy_id AND status IN ('pending', 'locked', 'expired') AND NEW.status IN ('pending', 'locked', 'expired'))) AND move_reason = '(replaced)';
END;
--
CREATE TRIGGER crawl_jobs_overwrite_trigger BEFORE UPDATE OF id, policy_id, status ON crawl_jobs
    FOR EACH ROW WHEN EXISTS (SELECT 1 FROM crawl_jobs WHERE (id = NEW.id OR (policy_id = NEW.policy_id AND status IN ('pending', 'locked', 'expired') AND NEW.status IN ('pending', 'locked', 'expired'))) AND id <> OLD.id)
BEGIN
    SELECT RAISE(ABORT, 'another job has this id, or is the open job of this policy');
END;
--
CREATE TRIGGER crawl_jobs_history_trigger AFTER UPDATE OF status ON crawl_jobs
    FOR EACH ROW WHEN NEW.status <> OLD.status
BEGIN
    INSERT INTO crawl_job_moves (job_id, "before", "after", actor, reason, moved_at) SELECT
        NEW.id, OLD.status, NEW.status,
        CASE WHEN (NEW.moved_by IS NOT OLD.moved_by OR NEW.move_reason IS NOT OLD.move_reason OR NEW.updated_at IS NOT OLD.updated_at) THEN NEW.moved_by ELSE 'sql' END,
        CASE WHEN (NEW.moved_by IS NOT OLD.moved_by OR NEW.move_reason IS NOT OLD.move_reason OR NEW.updated_at IS NOT OLD.updated_at) THEN NEW.move_reason END,
        CASE WHEN NEW.updated_at IS NOT OLD.updated_at THEN NEW.updated_at ELSE strftime('%Y-%m-%d %H:%M:%f', 'now') || '000' END;
    UPDATE crawl_jobs SET updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now') || '000' WHERE id = NEW.id AND NEW.updated_at IS OLD.updated_at;
END;
--
CREATE TRIGGER crawl_jobs_unlock_trigger AFTER UPDATE OF status ON crawl_jobs
    FOR EACH ROW WHEN NEW.status <> 'locked' AND NEW.locked_by IS NOT NULL
BEGIN
    UPDATE crawl_jobs SET locked_by = NULL, locked_at = NULL, lock_ends_at = NULL WHERE id = NEW.id;
END;
--
CREATE TRIGGER crawl_jobs_lock_end_trigger AFTER UPDATE OF locked_at, lock_ttl_seconds ON crawl_jobs
    FOR EACH ROW WHEN NEW.status = 'locked' AND NEW.lock_ends_at IS OLD.lock_ends_at AND (NEW.locked_at IS NOT OLD.locked_at OR NEW.lock_ttl_seconds IS NOT OLD.lock_ttl_seconds)
BEGIN
    UPDATE crawl_jobs SET
        locked_at = CASE WHEN NEW.locked_at IS OLD.locked_at THEN locked_at
            ELSE strftime('%Y-%m-%d %H:%M:%f', NEW.locked_at) || '000' END,
        lock_ends_at = strftime('%Y-%m-%d %H:%M:%f', NEW.locked_at, '+' || NEW.lock_ttl_seconds || ' seconds') || '000'
        WHERE id = NEW.id AND strftime('%s', NEW.locked_at) IS NOT NULL;
END;
--
CREATE TRIGGER crawl_policies_id_trigger AFTER INSERT ON crawl_policies
    FOR EACH ROW WHEN NEW.id <> lower(replace(NEW.id, '-', ''))
BEGIN
    UPDATE crawl_policies SET id = lower(replace(NEW.id, '-', '')) WHERE id = NEW.id;
END;
--
CREATE TRIGGER crawl_jobs_id_trigger AFTER INSERT ON crawl_jobs
    FOR EACH ROW WHEN NEW.id <> lower(replace(NEW.id, '-', ''))
BEGIN
    UPDATE crawl_jobs SET id = lower(replace(NEW.id, '-', '')) WHERE id = NEW.id;
END;
--
CREATE TRIGGER crawl_policies_config_trigger BEFORE INSERT ON crawl_policies
    FOR EACH ROW WHEN NEW.crawl_config IS NOT NULL AND NOT json_valid(NEW.crawl_config)
BEGIN
    SELECT RAISE(ABORT, 'crawl_config is not valid JSON');
END;
--
CREATE TRIGGER crawl_policies_new_config_trigger BEFORE UPDATE OF crawl_config ON crawl_policies
    FOR EACH ROW WHEN NEW.crawl_config IS NOT NULL AND NOT json_valid(NEW.crawl_config)
BEGIN
    SELECT RAISE(ABORT, 'crawl_config is not valid JSON');
END;
