-- Comity's tables, for a PostgreSQL such as Supabase's. Run it as often as you like: it only makes what is missing.
-- Generated from the tables by `python -m comity.database.supabase`; a test holds it to them.

BEGIN;

CREATE TABLE IF NOT EXISTS alembic_version (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);

DO $$
BEGIN
    IF EXISTS (SELECT FROM alembic_version WHERE version_num <> '0001') THEN
        RAISE EXCEPTION 'these tables have another schema than 0001: run `comity db upgrade` instead';
    END IF;
END
$$;

DO $$
BEGIN
    IF to_regtype('domain_status') IS NULL THEN
        CREATE TYPE domain_status AS ENUM ('pending', 'active', 'exhausted', 'blocked', 'unreachable');
    END IF;
END
$$;

CREATE TABLE IF NOT EXISTS bots (
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
    quarantined_until TIMESTAMP WITH TIME ZONE,
    note TEXT,
    last_seen_at TIMESTAMP WITH TIME ZONE,
    minute_started_at TIMESTAMP WITH TIME ZONE,
    pulled_this_minute INTEGER DEFAULT 0 NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
    CONSTRAINT pk_bots PRIMARY KEY (bot_id),
    CONSTRAINT ck_bots_status CHECK (status IN ('active', 'quarantined', 'revoked')),
    CONSTRAINT ck_bots_max_jobs_in_hand_at_least_1 CHECK (max_jobs_in_hand >= 1),
    CONSTRAINT ck_bots_max_jobs_per_minute_at_least_1 CHECK (max_jobs_per_minute >= 1),
    CONSTRAINT uq_bots_key_hash UNIQUE (key_hash)
);

ALTER TABLE bots ADD COLUMN IF NOT EXISTS key_hash VARCHAR(64);
ALTER TABLE bots ADD COLUMN IF NOT EXISTS status VARCHAR(20) DEFAULT 'active' NOT NULL;
ALTER TABLE bots ADD COLUMN IF NOT EXISTS max_jobs_in_hand INTEGER;
ALTER TABLE bots ADD COLUMN IF NOT EXISTS max_jobs_per_minute INTEGER;
ALTER TABLE bots ADD COLUMN IF NOT EXISTS consecutive_failures INTEGER DEFAULT 0 NOT NULL;
ALTER TABLE bots ADD COLUMN IF NOT EXISTS times_quarantined INTEGER DEFAULT 0 NOT NULL;
ALTER TABLE bots ADD COLUMN IF NOT EXISTS jobs_pulled BIGINT DEFAULT 0 NOT NULL;
ALTER TABLE bots ADD COLUMN IF NOT EXISTS jobs_done BIGINT DEFAULT 0 NOT NULL;
ALTER TABLE bots ADD COLUMN IF NOT EXISTS jobs_failed BIGINT DEFAULT 0 NOT NULL;
ALTER TABLE bots ADD COLUMN IF NOT EXISTS quarantined_until TIMESTAMP WITH TIME ZONE;
ALTER TABLE bots ADD COLUMN IF NOT EXISTS note TEXT;
ALTER TABLE bots ADD COLUMN IF NOT EXISTS last_seen_at TIMESTAMP WITH TIME ZONE;
ALTER TABLE bots ADD COLUMN IF NOT EXISTS minute_started_at TIMESTAMP WITH TIME ZONE;
ALTER TABLE bots ADD COLUMN IF NOT EXISTS pulled_this_minute INTEGER DEFAULT 0 NOT NULL;
ALTER TABLE bots ADD COLUMN IF NOT EXISTS created_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'ck_bots_max_jobs_in_hand_at_least_1' AND conrelid = 'bots'::regclass) THEN
        ALTER TABLE bots ADD CONSTRAINT ck_bots_max_jobs_in_hand_at_least_1 CHECK (max_jobs_in_hand >= 1) NOT VALID;
    END IF;
END
$$;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'ck_bots_max_jobs_per_minute_at_least_1' AND conrelid = 'bots'::regclass) THEN
        ALTER TABLE bots ADD CONSTRAINT ck_bots_max_jobs_per_minute_at_least_1 CHECK (max_jobs_per_minute >= 1) NOT VALID;
    END IF;
END
$$;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'ck_bots_status' AND conrelid = 'bots'::regclass) THEN
        ALTER TABLE bots ADD CONSTRAINT ck_bots_status CHECK (status IN ('active', 'quarantined', 'revoked')) NOT VALID;
    END IF;
END
$$;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'uq_bots_key_hash' AND conrelid = 'bots'::regclass) THEN
        ALTER TABLE bots ADD CONSTRAINT uq_bots_key_hash UNIQUE (key_hash);
    END IF;
END
$$;

CREATE TABLE IF NOT EXISTS console_activity (
    id BIGSERIAL NOT NULL,
    at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
    user_name VARCHAR(64),
    role VARCHAR(10),
    by_token BOOLEAN DEFAULT false NOT NULL,
    address VARCHAR(45) DEFAULT '' NOT NULL,
    action VARCHAR(200) NOT NULL,
    path TEXT DEFAULT '' NOT NULL,
    subject TEXT DEFAULT '' NOT NULL,
    status INTEGER DEFAULT 0 NOT NULL,
    CONSTRAINT pk_console_activity PRIMARY KEY (id)
);

ALTER TABLE console_activity ADD COLUMN IF NOT EXISTS at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL;
ALTER TABLE console_activity ADD COLUMN IF NOT EXISTS user_name VARCHAR(64);
ALTER TABLE console_activity ADD COLUMN IF NOT EXISTS role VARCHAR(10);
ALTER TABLE console_activity ADD COLUMN IF NOT EXISTS by_token BOOLEAN DEFAULT false NOT NULL;
ALTER TABLE console_activity ADD COLUMN IF NOT EXISTS address VARCHAR(45) DEFAULT '' NOT NULL;
ALTER TABLE console_activity ADD COLUMN IF NOT EXISTS action VARCHAR(200);
ALTER TABLE console_activity ADD COLUMN IF NOT EXISTS path TEXT DEFAULT '' NOT NULL;
ALTER TABLE console_activity ADD COLUMN IF NOT EXISTS subject TEXT DEFAULT '' NOT NULL;
ALTER TABLE console_activity ADD COLUMN IF NOT EXISTS status INTEGER DEFAULT 0 NOT NULL;

CREATE INDEX IF NOT EXISTS idx_console_activity_action ON console_activity (action, id);
CREATE INDEX IF NOT EXISTS idx_console_activity_user_name ON console_activity (user_name, id);

CREATE TABLE IF NOT EXISTS console_sessions (
    name_hash VARCHAR(64) NOT NULL,
    user_name VARCHAR(64) NOT NULL,
    password_mark VARCHAR(64) NOT NULL,
    started_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
    expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_console_sessions PRIMARY KEY (name_hash)
);

ALTER TABLE console_sessions ADD COLUMN IF NOT EXISTS user_name VARCHAR(64);
ALTER TABLE console_sessions ADD COLUMN IF NOT EXISTS password_mark VARCHAR(64);
ALTER TABLE console_sessions ADD COLUMN IF NOT EXISTS started_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL;
ALTER TABLE console_sessions ADD COLUMN IF NOT EXISTS expires_at TIMESTAMP WITH TIME ZONE;

CREATE INDEX IF NOT EXISTS idx_console_sessions_expires_at ON console_sessions (expires_at);
CREATE INDEX IF NOT EXISTS idx_console_sessions_user_name ON console_sessions (user_name);

CREATE TABLE IF NOT EXISTS console_users (
    name VARCHAR(64) NOT NULL,
    password_hash TEXT NOT NULL,
    role VARCHAR(10) DEFAULT 'viewer' NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
    last_login_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_console_users PRIMARY KEY (name),
    CONSTRAINT ck_console_users_role CHECK (role IN ('viewer', 'operator'))
);

ALTER TABLE console_users ADD COLUMN IF NOT EXISTS password_hash TEXT;
ALTER TABLE console_users ADD COLUMN IF NOT EXISTS role VARCHAR(10) DEFAULT 'viewer' NOT NULL;
ALTER TABLE console_users ADD COLUMN IF NOT EXISTS created_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL;
ALTER TABLE console_users ADD COLUMN IF NOT EXISTS last_login_at TIMESTAMP WITH TIME ZONE;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'ck_console_users_role' AND conrelid = 'console_users'::regclass) THEN
        ALTER TABLE console_users ADD CONSTRAINT ck_console_users_role CHECK (role IN ('viewer', 'operator')) NOT VALID;
    END IF;
END
$$;

CREATE TABLE IF NOT EXISTS crawl_runs (
    id UUID DEFAULT gen_random_uuid() NOT NULL,
    door VARCHAR(20) DEFAULT 'crawl' NOT NULL,
    status VARCHAR(20) DEFAULT 'running' NOT NULL,
    end_reason VARCHAR(50),
    end_detail TEXT,
    settings JSONB,
    holder VARCHAR(255),
    started_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
    ended_at TIMESTAMP WITH TIME ZONE,
    pages_crawled BIGINT DEFAULT 0 NOT NULL,
    pages_failed BIGINT DEFAULT 0 NOT NULL,
    bytes_received BIGINT DEFAULT 0 NOT NULL,
    stop_requested_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_crawl_runs PRIMARY KEY (id),
    CONSTRAINT ck_crawl_runs_status CHECK (status IN ('running', 'finished', 'stopped', 'failed'))
);

ALTER TABLE crawl_runs ADD COLUMN IF NOT EXISTS door VARCHAR(20) DEFAULT 'crawl' NOT NULL;
ALTER TABLE crawl_runs ADD COLUMN IF NOT EXISTS status VARCHAR(20) DEFAULT 'running' NOT NULL;
ALTER TABLE crawl_runs ADD COLUMN IF NOT EXISTS end_reason VARCHAR(50);
ALTER TABLE crawl_runs ADD COLUMN IF NOT EXISTS end_detail TEXT;
ALTER TABLE crawl_runs ADD COLUMN IF NOT EXISTS settings JSONB;
ALTER TABLE crawl_runs ADD COLUMN IF NOT EXISTS holder VARCHAR(255);
ALTER TABLE crawl_runs ADD COLUMN IF NOT EXISTS started_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL;
ALTER TABLE crawl_runs ADD COLUMN IF NOT EXISTS ended_at TIMESTAMP WITH TIME ZONE;
ALTER TABLE crawl_runs ADD COLUMN IF NOT EXISTS pages_crawled BIGINT DEFAULT 0 NOT NULL;
ALTER TABLE crawl_runs ADD COLUMN IF NOT EXISTS pages_failed BIGINT DEFAULT 0 NOT NULL;
ALTER TABLE crawl_runs ADD COLUMN IF NOT EXISTS bytes_received BIGINT DEFAULT 0 NOT NULL;
ALTER TABLE crawl_runs ADD COLUMN IF NOT EXISTS stop_requested_at TIMESTAMP WITH TIME ZONE;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'ck_crawl_runs_status' AND conrelid = 'crawl_runs'::regclass) THEN
        ALTER TABLE crawl_runs ADD CONSTRAINT ck_crawl_runs_status CHECK (status IN ('running', 'finished', 'stopped', 'failed')) NOT VALID;
    END IF;
END
$$;

CREATE INDEX IF NOT EXISTS idx_crawl_runs_door ON crawl_runs (door, started_at);
CREATE INDEX IF NOT EXISTS idx_crawl_runs_started_at ON crawl_runs (started_at);
CREATE INDEX IF NOT EXISTS idx_crawl_runs_status ON crawl_runs (status, started_at);

CREATE TABLE IF NOT EXISTS domain_policies (
    host VARCHAR(260) NOT NULL,
    max_concurrency INTEGER DEFAULT 1 NOT NULL,
    min_request_interval_ms INTEGER DEFAULT 3000 NOT NULL,
    max_pages INTEGER DEFAULT 10 NOT NULL,
    max_kb_per_page INTEGER DEFAULT 1024 NOT NULL,
    allow_js BOOLEAN DEFAULT false NOT NULL,
    last_seen_status TEXT,
    is_page_size_set BOOLEAN DEFAULT false NOT NULL,
    include TEXT DEFAULT '' NOT NULL,
    exclude TEXT DEFAULT '' NOT NULL,
    request_options JSONB,
    updated_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
    CONSTRAINT pk_domain_policies PRIMARY KEY (host),
    CONSTRAINT ck_domain_policies_max_concurrency_at_least_1 CHECK (max_concurrency >= 1),
    CONSTRAINT ck_domain_policies_min_request_interval_ms_at_least_0 CHECK (min_request_interval_ms >= 0),
    CONSTRAINT ck_domain_policies_max_pages_at_least_0 CHECK (max_pages >= 0),
    CONSTRAINT ck_domain_policies_max_kb_per_page_at_least_1 CHECK (max_kb_per_page >= 1)
);

ALTER TABLE domain_policies ADD COLUMN IF NOT EXISTS max_concurrency INTEGER DEFAULT 1 NOT NULL;
ALTER TABLE domain_policies ADD COLUMN IF NOT EXISTS min_request_interval_ms INTEGER DEFAULT 3000 NOT NULL;
ALTER TABLE domain_policies ADD COLUMN IF NOT EXISTS max_pages INTEGER DEFAULT 10 NOT NULL;
ALTER TABLE domain_policies ADD COLUMN IF NOT EXISTS max_kb_per_page INTEGER DEFAULT 1024 NOT NULL;
ALTER TABLE domain_policies ADD COLUMN IF NOT EXISTS allow_js BOOLEAN DEFAULT false NOT NULL;
ALTER TABLE domain_policies ADD COLUMN IF NOT EXISTS last_seen_status TEXT;
ALTER TABLE domain_policies ADD COLUMN IF NOT EXISTS is_page_size_set BOOLEAN DEFAULT false NOT NULL;
ALTER TABLE domain_policies ADD COLUMN IF NOT EXISTS include TEXT DEFAULT '' NOT NULL;
ALTER TABLE domain_policies ADD COLUMN IF NOT EXISTS exclude TEXT DEFAULT '' NOT NULL;
ALTER TABLE domain_policies ADD COLUMN IF NOT EXISTS request_options JSONB;
ALTER TABLE domain_policies ADD COLUMN IF NOT EXISTS updated_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'ck_domain_policies_max_concurrency_at_least_1' AND conrelid = 'domain_policies'::regclass) THEN
        ALTER TABLE domain_policies ADD CONSTRAINT ck_domain_policies_max_concurrency_at_least_1 CHECK (max_concurrency >= 1) NOT VALID;
    END IF;
END
$$;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'ck_domain_policies_max_kb_per_page_at_least_1' AND conrelid = 'domain_policies'::regclass) THEN
        ALTER TABLE domain_policies ADD CONSTRAINT ck_domain_policies_max_kb_per_page_at_least_1 CHECK (max_kb_per_page >= 1) NOT VALID;
    END IF;
END
$$;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'ck_domain_policies_max_pages_at_least_0' AND conrelid = 'domain_policies'::regclass) THEN
        ALTER TABLE domain_policies ADD CONSTRAINT ck_domain_policies_max_pages_at_least_0 CHECK (max_pages >= 0) NOT VALID;
    END IF;
END
$$;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'ck_domain_policies_min_request_interval_ms_at_least_0' AND conrelid = 'domain_policies'::regclass) THEN
        ALTER TABLE domain_policies ADD CONSTRAINT ck_domain_policies_min_request_interval_ms_at_least_0 CHECK (min_request_interval_ms >= 0) NOT VALID;
    END IF;
END
$$;

CREATE TABLE IF NOT EXISTS images (
    id BIGSERIAL NOT NULL,
    content_hash VARCHAR(64) NOT NULL,
    url TEXT NOT NULL,
    format VARCHAR(10) NOT NULL,
    content_type TEXT,
    width INTEGER,
    height INTEGER,
    bytes BIGINT DEFAULT 0 NOT NULL,
    stored_path TEXT NOT NULL,
    first_seen_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
    last_seen_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
    CONSTRAINT pk_images PRIMARY KEY (id),
    CONSTRAINT uq_images_content_hash UNIQUE (content_hash)
);

ALTER TABLE images ADD COLUMN IF NOT EXISTS content_hash VARCHAR(64);
ALTER TABLE images ADD COLUMN IF NOT EXISTS url TEXT;
ALTER TABLE images ADD COLUMN IF NOT EXISTS format VARCHAR(10);
ALTER TABLE images ADD COLUMN IF NOT EXISTS content_type TEXT;
ALTER TABLE images ADD COLUMN IF NOT EXISTS width INTEGER;
ALTER TABLE images ADD COLUMN IF NOT EXISTS height INTEGER;
ALTER TABLE images ADD COLUMN IF NOT EXISTS bytes BIGINT DEFAULT 0 NOT NULL;
ALTER TABLE images ADD COLUMN IF NOT EXISTS stored_path TEXT;
ALTER TABLE images ADD COLUMN IF NOT EXISTS first_seen_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL;
ALTER TABLE images ADD COLUMN IF NOT EXISTS last_seen_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'uq_images_content_hash' AND conrelid = 'images'::regclass) THEN
        ALTER TABLE images ADD CONSTRAINT uq_images_content_hash UNIQUE (content_hash);
    END IF;
END
$$;

CREATE TABLE IF NOT EXISTS ledger_chains (
    domain_id UUID NOT NULL,
    host VARCHAR(260) NOT NULL,
    requests BIGINT DEFAULT 0 NOT NULL,
    request_digest VARCHAR(32) DEFAULT '' NOT NULL,
    notes BIGINT DEFAULT 0 NOT NULL,
    note_digest VARCHAR(32) DEFAULT '' NOT NULL,
    gap_until TIMESTAMP WITH TIME ZONE,
    former_host VARCHAR(260),
    merged_into UUID,
    CONSTRAINT pk_ledger_chains PRIMARY KEY (domain_id)
);

ALTER TABLE ledger_chains ADD COLUMN IF NOT EXISTS host VARCHAR(260);
ALTER TABLE ledger_chains ADD COLUMN IF NOT EXISTS requests BIGINT DEFAULT 0 NOT NULL;
ALTER TABLE ledger_chains ADD COLUMN IF NOT EXISTS request_digest VARCHAR(32) DEFAULT '' NOT NULL;
ALTER TABLE ledger_chains ADD COLUMN IF NOT EXISTS notes BIGINT DEFAULT 0 NOT NULL;
ALTER TABLE ledger_chains ADD COLUMN IF NOT EXISTS note_digest VARCHAR(32) DEFAULT '' NOT NULL;
ALTER TABLE ledger_chains ADD COLUMN IF NOT EXISTS gap_until TIMESTAMP WITH TIME ZONE;
ALTER TABLE ledger_chains ADD COLUMN IF NOT EXISTS former_host VARCHAR(260);
ALTER TABLE ledger_chains ADD COLUMN IF NOT EXISTS merged_into UUID;

CREATE INDEX IF NOT EXISTS idx_ledger_chains_host ON ledger_chains (host);

CREATE TABLE IF NOT EXISTS ledger_notes (
    id BIGSERIAL NOT NULL,
    domain_id UUID NOT NULL,
    sequence BIGINT DEFAULT 0 NOT NULL,
    digest VARCHAR(32) DEFAULT '' NOT NULL,
    lease_token BIGINT NOT NULL,
    kind VARCHAR(10) NOT NULL,
    origin TEXT,
    version VARCHAR(32),
    valid_from TIMESTAMP WITH TIME ZONE NOT NULL,
    valid_until TIMESTAMP WITH TIME ZONE NOT NULL,
    detail TEXT DEFAULT '{}' NOT NULL,
    CONSTRAINT pk_ledger_notes PRIMARY KEY (id)
);

ALTER TABLE ledger_notes ADD COLUMN IF NOT EXISTS domain_id UUID;
ALTER TABLE ledger_notes ADD COLUMN IF NOT EXISTS sequence BIGINT DEFAULT 0 NOT NULL;
ALTER TABLE ledger_notes ADD COLUMN IF NOT EXISTS digest VARCHAR(32) DEFAULT '' NOT NULL;
ALTER TABLE ledger_notes ADD COLUMN IF NOT EXISTS lease_token BIGINT;
ALTER TABLE ledger_notes ADD COLUMN IF NOT EXISTS kind VARCHAR(10);
ALTER TABLE ledger_notes ADD COLUMN IF NOT EXISTS origin TEXT;
ALTER TABLE ledger_notes ADD COLUMN IF NOT EXISTS version VARCHAR(32);
ALTER TABLE ledger_notes ADD COLUMN IF NOT EXISTS valid_from TIMESTAMP WITH TIME ZONE;
ALTER TABLE ledger_notes ADD COLUMN IF NOT EXISTS valid_until TIMESTAMP WITH TIME ZONE;
ALTER TABLE ledger_notes ADD COLUMN IF NOT EXISTS detail TEXT DEFAULT '{}' NOT NULL;

CREATE INDEX IF NOT EXISTS idx_ledger_notes_chain ON ledger_notes (domain_id, sequence);

CREATE TABLE IF NOT EXISTS policy_history (
    id BIGSERIAL NOT NULL,
    host VARCHAR(260) NOT NULL,
    valid_from TIMESTAMP WITH TIME ZONE NOT NULL,
    is_deleted BOOLEAN DEFAULT false NOT NULL,
    max_concurrency INTEGER NOT NULL,
    min_request_interval_ms INTEGER NOT NULL,
    CONSTRAINT pk_policy_history PRIMARY KEY (id)
);

ALTER TABLE policy_history ADD COLUMN IF NOT EXISTS host VARCHAR(260);
ALTER TABLE policy_history ADD COLUMN IF NOT EXISTS valid_from TIMESTAMP WITH TIME ZONE;
ALTER TABLE policy_history ADD COLUMN IF NOT EXISTS is_deleted BOOLEAN DEFAULT false NOT NULL;
ALTER TABLE policy_history ADD COLUMN IF NOT EXISTS max_concurrency INTEGER;
ALTER TABLE policy_history ADD COLUMN IF NOT EXISTS min_request_interval_ms INTEGER;

CREATE INDEX IF NOT EXISTS idx_policy_history_host ON policy_history (host, id);

CREATE TABLE IF NOT EXISTS politeness_ledger (
    id BIGSERIAL NOT NULL,
    run_id UUID,
    domain_id UUID NOT NULL,
    sequence BIGINT DEFAULT 0 NOT NULL,
    digest VARCHAR(32) DEFAULT '' NOT NULL,
    lease_token BIGINT NOT NULL,
    request_number BIGINT DEFAULT 0 NOT NULL,
    url TEXT NOT NULL,
    purpose VARCHAR(60) NOT NULL,
    started_at TIMESTAMP WITH TIME ZONE NOT NULL,
    ended_at TIMESTAMP WITH TIME ZONE NOT NULL,
    delay_s DOUBLE PRECISION NOT NULL,
    delay_source VARCHAR(10) NOT NULL,
    max_concurrency SMALLINT NOT NULL,
    policy_interval_ms INTEGER,
    policy_max_concurrency INTEGER,
    robots_version VARCHAR(32),
    rule_line INTEGER,
    rule TEXT,
    status INTEGER,
    retry_after_s DOUBLE PRECISION,
    blocked_until TIMESTAMP WITH TIME ZONE,
    has_fetch BOOLEAN DEFAULT false NOT NULL,
    CONSTRAINT pk_politeness_ledger PRIMARY KEY (id)
);

ALTER TABLE politeness_ledger ADD COLUMN IF NOT EXISTS run_id UUID;
ALTER TABLE politeness_ledger ADD COLUMN IF NOT EXISTS domain_id UUID;
ALTER TABLE politeness_ledger ADD COLUMN IF NOT EXISTS sequence BIGINT DEFAULT 0 NOT NULL;
ALTER TABLE politeness_ledger ADD COLUMN IF NOT EXISTS digest VARCHAR(32) DEFAULT '' NOT NULL;
ALTER TABLE politeness_ledger ADD COLUMN IF NOT EXISTS lease_token BIGINT;
ALTER TABLE politeness_ledger ADD COLUMN IF NOT EXISTS request_number BIGINT DEFAULT 0 NOT NULL;
ALTER TABLE politeness_ledger ADD COLUMN IF NOT EXISTS url TEXT;
ALTER TABLE politeness_ledger ADD COLUMN IF NOT EXISTS purpose VARCHAR(60);
ALTER TABLE politeness_ledger ADD COLUMN IF NOT EXISTS started_at TIMESTAMP WITH TIME ZONE;
ALTER TABLE politeness_ledger ADD COLUMN IF NOT EXISTS ended_at TIMESTAMP WITH TIME ZONE;
ALTER TABLE politeness_ledger ADD COLUMN IF NOT EXISTS delay_s DOUBLE PRECISION;
ALTER TABLE politeness_ledger ADD COLUMN IF NOT EXISTS delay_source VARCHAR(10);
ALTER TABLE politeness_ledger ADD COLUMN IF NOT EXISTS max_concurrency SMALLINT;
ALTER TABLE politeness_ledger ADD COLUMN IF NOT EXISTS policy_interval_ms INTEGER;
ALTER TABLE politeness_ledger ADD COLUMN IF NOT EXISTS policy_max_concurrency INTEGER;
ALTER TABLE politeness_ledger ADD COLUMN IF NOT EXISTS robots_version VARCHAR(32);
ALTER TABLE politeness_ledger ADD COLUMN IF NOT EXISTS rule_line INTEGER;
ALTER TABLE politeness_ledger ADD COLUMN IF NOT EXISTS rule TEXT;
ALTER TABLE politeness_ledger ADD COLUMN IF NOT EXISTS status INTEGER;
ALTER TABLE politeness_ledger ADD COLUMN IF NOT EXISTS retry_after_s DOUBLE PRECISION;
ALTER TABLE politeness_ledger ADD COLUMN IF NOT EXISTS blocked_until TIMESTAMP WITH TIME ZONE;
ALTER TABLE politeness_ledger ADD COLUMN IF NOT EXISTS has_fetch BOOLEAN DEFAULT false NOT NULL;

CREATE INDEX IF NOT EXISTS idx_politeness_ledger_chain ON politeness_ledger (domain_id, sequence);

DO $$
BEGIN
    IF to_regclass('robots_cache') IS NOT NULL AND NOT EXISTS (
        SELECT FROM pg_attribute WHERE attrelid = to_regclass('robots_cache') AND attname = 'origin'
    ) THEN
        DROP TABLE robots_cache;
    END IF;
END
$$;

CREATE TABLE IF NOT EXISTS robots_cache (
    origin VARCHAR(280) NOT NULL,
    host VARCHAR(260) NOT NULL,
    robots_txt TEXT,
    raw BYTEA,
    fetched_at TIMESTAMP WITH TIME ZONE,
    expires_at TIMESTAMP WITH TIME ZONE,
    crawl_delay_ms INTEGER,
    disallow JSONB,
    access VARCHAR(20) DEFAULT 'parse' NOT NULL,
    http_status INTEGER,
    version VARCHAR(32),
    etag TEXT,
    last_modified TEXT,
    detail TEXT,
    failure VARCHAR(24),
    lacks_tls BOOLEAN DEFAULT false NOT NULL,
    noted VARCHAR(32),
    CONSTRAINT pk_robots_cache PRIMARY KEY (origin)
);

ALTER TABLE robots_cache ADD COLUMN IF NOT EXISTS host VARCHAR(260);
ALTER TABLE robots_cache ADD COLUMN IF NOT EXISTS robots_txt TEXT;
ALTER TABLE robots_cache ADD COLUMN IF NOT EXISTS raw BYTEA;
ALTER TABLE robots_cache ADD COLUMN IF NOT EXISTS fetched_at TIMESTAMP WITH TIME ZONE;
ALTER TABLE robots_cache ADD COLUMN IF NOT EXISTS expires_at TIMESTAMP WITH TIME ZONE;
ALTER TABLE robots_cache ADD COLUMN IF NOT EXISTS crawl_delay_ms INTEGER;
ALTER TABLE robots_cache ADD COLUMN IF NOT EXISTS disallow JSONB;
ALTER TABLE robots_cache ADD COLUMN IF NOT EXISTS access VARCHAR(20) DEFAULT 'parse' NOT NULL;
ALTER TABLE robots_cache ADD COLUMN IF NOT EXISTS http_status INTEGER;
ALTER TABLE robots_cache ADD COLUMN IF NOT EXISTS version VARCHAR(32);
ALTER TABLE robots_cache ADD COLUMN IF NOT EXISTS etag TEXT;
ALTER TABLE robots_cache ADD COLUMN IF NOT EXISTS last_modified TEXT;
ALTER TABLE robots_cache ADD COLUMN IF NOT EXISTS detail TEXT;
ALTER TABLE robots_cache ADD COLUMN IF NOT EXISTS failure VARCHAR(24);
ALTER TABLE robots_cache ADD COLUMN IF NOT EXISTS lacks_tls BOOLEAN DEFAULT false NOT NULL;
ALTER TABLE robots_cache ADD COLUMN IF NOT EXISTS noted VARCHAR(32);

CREATE INDEX IF NOT EXISTS idx_robots_cache_host ON robots_cache (host);

CREATE TABLE IF NOT EXISTS robots_versions (
    version VARCHAR(32) NOT NULL,
    body BYTEA NOT NULL,
    first_seen_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
    CONSTRAINT pk_robots_versions PRIMARY KEY (version)
);

ALTER TABLE robots_versions ADD COLUMN IF NOT EXISTS body BYTEA;
ALTER TABLE robots_versions ADD COLUMN IF NOT EXISTS first_seen_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL;

CREATE TABLE IF NOT EXISTS search_documents (
    number BIGSERIAL NOT NULL,
    posting_id UUID NOT NULL,
    source_id UUID,
    country_iso VARCHAR(2),
    level_norm VARCHAR(40),
    work_modality VARCHAR(40),
    career_type VARCHAR(40),
    international_eligible BOOLEAN,
    language VARCHAR(20),
    mission_tags TEXT DEFAULT '|' NOT NULL,
    org_name TEXT DEFAULT '' NOT NULL,
    org_key TEXT DEFAULT '' NOT NULL,
    deadline TIMESTAMP WITH TIME ZONE,
    newest_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
    closed_at TIMESTAMP WITH TIME ZONE,
    words TSVECTOR,
    CONSTRAINT pk_search_documents PRIMARY KEY (number),
    CONSTRAINT uq_search_documents_posting_id UNIQUE (posting_id)
);

ALTER TABLE search_documents ADD COLUMN IF NOT EXISTS posting_id UUID;
ALTER TABLE search_documents ADD COLUMN IF NOT EXISTS source_id UUID;
ALTER TABLE search_documents ADD COLUMN IF NOT EXISTS country_iso VARCHAR(2);
ALTER TABLE search_documents ADD COLUMN IF NOT EXISTS level_norm VARCHAR(40);
ALTER TABLE search_documents ADD COLUMN IF NOT EXISTS work_modality VARCHAR(40);
ALTER TABLE search_documents ADD COLUMN IF NOT EXISTS career_type VARCHAR(40);
ALTER TABLE search_documents ADD COLUMN IF NOT EXISTS international_eligible BOOLEAN;
ALTER TABLE search_documents ADD COLUMN IF NOT EXISTS language VARCHAR(20);
ALTER TABLE search_documents ADD COLUMN IF NOT EXISTS mission_tags TEXT DEFAULT '|' NOT NULL;
ALTER TABLE search_documents ADD COLUMN IF NOT EXISTS org_name TEXT DEFAULT '' NOT NULL;
ALTER TABLE search_documents ADD COLUMN IF NOT EXISTS org_key TEXT DEFAULT '' NOT NULL;
ALTER TABLE search_documents ADD COLUMN IF NOT EXISTS deadline TIMESTAMP WITH TIME ZONE;
ALTER TABLE search_documents ADD COLUMN IF NOT EXISTS newest_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL;
ALTER TABLE search_documents ADD COLUMN IF NOT EXISTS closed_at TIMESTAMP WITH TIME ZONE;
ALTER TABLE search_documents ADD COLUMN IF NOT EXISTS words TSVECTOR;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'uq_search_documents_posting_id' AND conrelid = 'search_documents'::regclass) THEN
        ALTER TABLE search_documents ADD CONSTRAINT uq_search_documents_posting_id UNIQUE (posting_id);
    END IF;
END
$$;

CREATE INDEX IF NOT EXISTS idx_search_documents_deadline ON search_documents (deadline, posting_id);
CREATE INDEX IF NOT EXISTS idx_search_documents_newest_at ON search_documents (newest_at DESC, posting_id);
CREATE INDEX IF NOT EXISTS idx_search_documents_org_key ON search_documents (org_key);
CREATE INDEX IF NOT EXISTS idx_search_documents_words ON search_documents USING gin (words);

CREATE TABLE IF NOT EXISTS search_outbox (
    id BIGSERIAL NOT NULL,
    posting_id UUID NOT NULL,
    action VARCHAR(10) NOT NULL,
    attempts INTEGER DEFAULT 0 NOT NULL,
    next_attempt_at TIMESTAMP WITH TIME ZONE,
    last_error TEXT,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
    CONSTRAINT pk_search_outbox PRIMARY KEY (id),
    CONSTRAINT ck_search_outbox_action CHECK (action IN ('upsert', 'delete'))
);

ALTER TABLE search_outbox ADD COLUMN IF NOT EXISTS posting_id UUID;
ALTER TABLE search_outbox ADD COLUMN IF NOT EXISTS action VARCHAR(10);
ALTER TABLE search_outbox ADD COLUMN IF NOT EXISTS attempts INTEGER DEFAULT 0 NOT NULL;
ALTER TABLE search_outbox ADD COLUMN IF NOT EXISTS next_attempt_at TIMESTAMP WITH TIME ZONE;
ALTER TABLE search_outbox ADD COLUMN IF NOT EXISTS last_error TEXT;
ALTER TABLE search_outbox ADD COLUMN IF NOT EXISTS created_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'ck_search_outbox_action' AND conrelid = 'search_outbox'::regclass) THEN
        ALTER TABLE search_outbox ADD CONSTRAINT ck_search_outbox_action CHECK (action IN ('upsert', 'delete')) NOT VALID;
    END IF;
END
$$;

CREATE INDEX IF NOT EXISTS idx_search_outbox_next_attempt_at ON search_outbox (next_attempt_at, id);

CREATE TABLE IF NOT EXISTS sitemaps (
    domain_id UUID NOT NULL,
    url_key BIGINT NOT NULL,
    url TEXT NOT NULL,
    depth SMALLINT DEFAULT 0 NOT NULL,
    is_guess BOOLEAN DEFAULT false NOT NULL,
    state VARCHAR(10) NOT NULL,
    status INTEGER,
    kind VARCHAR(20),
    entries INTEGER DEFAULT 0 NOT NULL,
    detail TEXT,
    asked_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_sitemaps PRIMARY KEY (domain_id, url_key),
    CONSTRAINT ck_sitemaps_state CHECK (state IN ('planned', 'read', 'missing', 'failed', 'refused'))
);

ALTER TABLE sitemaps ADD COLUMN IF NOT EXISTS url TEXT;
ALTER TABLE sitemaps ADD COLUMN IF NOT EXISTS depth SMALLINT DEFAULT 0 NOT NULL;
ALTER TABLE sitemaps ADD COLUMN IF NOT EXISTS is_guess BOOLEAN DEFAULT false NOT NULL;
ALTER TABLE sitemaps ADD COLUMN IF NOT EXISTS state VARCHAR(10);
ALTER TABLE sitemaps ADD COLUMN IF NOT EXISTS status INTEGER;
ALTER TABLE sitemaps ADD COLUMN IF NOT EXISTS kind VARCHAR(20);
ALTER TABLE sitemaps ADD COLUMN IF NOT EXISTS entries INTEGER DEFAULT 0 NOT NULL;
ALTER TABLE sitemaps ADD COLUMN IF NOT EXISTS detail TEXT;
ALTER TABLE sitemaps ADD COLUMN IF NOT EXISTS asked_at TIMESTAMP WITH TIME ZONE;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'ck_sitemaps_state' AND conrelid = 'sitemaps'::regclass) THEN
        ALTER TABLE sitemaps ADD CONSTRAINT ck_sitemaps_state CHECK (state IN ('planned', 'read', 'missing', 'failed', 'refused')) NOT VALID;
    END IF;
END
$$;

CREATE TABLE IF NOT EXISTS sources (
    id UUID DEFAULT gen_random_uuid() NOT NULL,
    org_name TEXT,
    careers_url TEXT NOT NULL,
    source_type TEXT DEFAULT 'html' NOT NULL,
    org_type TEXT,
    status TEXT DEFAULT 'active' NOT NULL,
    crawl_frequency_days INTEGER DEFAULT 3,
    next_run_at TIMESTAMP WITH TIME ZONE,
    last_crawled_at TIMESTAMP WITH TIME ZONE,
    last_crawl_status TEXT,
    last_crawl_message TEXT,
    consecutive_failures INTEGER DEFAULT 0 NOT NULL,
    consecutive_nochange INTEGER DEFAULT 0 NOT NULL,
    parser_hint TEXT,
    time_window TEXT,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
    updated_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
    country VARCHAR(2),
    time_zone VARCHAR(64),
    schedule VARCHAR(10) DEFAULT 's0' NOT NULL,
    importance DOUBLE PRECISION DEFAULT 1 NOT NULL,
    change_statistics JSONB,
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

ALTER TABLE sources ADD COLUMN IF NOT EXISTS org_name TEXT;
ALTER TABLE sources ADD COLUMN IF NOT EXISTS careers_url TEXT;
ALTER TABLE sources ADD COLUMN IF NOT EXISTS source_type TEXT DEFAULT 'html' NOT NULL;
ALTER TABLE sources ADD COLUMN IF NOT EXISTS org_type TEXT;
ALTER TABLE sources ADD COLUMN IF NOT EXISTS status TEXT DEFAULT 'active' NOT NULL;
ALTER TABLE sources ADD COLUMN IF NOT EXISTS crawl_frequency_days INTEGER DEFAULT 3;
ALTER TABLE sources ADD COLUMN IF NOT EXISTS next_run_at TIMESTAMP WITH TIME ZONE;
ALTER TABLE sources ADD COLUMN IF NOT EXISTS last_crawled_at TIMESTAMP WITH TIME ZONE;
ALTER TABLE sources ADD COLUMN IF NOT EXISTS last_crawl_status TEXT;
ALTER TABLE sources ADD COLUMN IF NOT EXISTS last_crawl_message TEXT;
ALTER TABLE sources ADD COLUMN IF NOT EXISTS consecutive_failures INTEGER DEFAULT 0 NOT NULL;
ALTER TABLE sources ADD COLUMN IF NOT EXISTS consecutive_nochange INTEGER DEFAULT 0 NOT NULL;
ALTER TABLE sources ADD COLUMN IF NOT EXISTS parser_hint TEXT;
ALTER TABLE sources ADD COLUMN IF NOT EXISTS time_window TEXT;
ALTER TABLE sources ADD COLUMN IF NOT EXISTS created_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL;
ALTER TABLE sources ADD COLUMN IF NOT EXISTS updated_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL;
ALTER TABLE sources ADD COLUMN IF NOT EXISTS country VARCHAR(2);
ALTER TABLE sources ADD COLUMN IF NOT EXISTS time_zone VARCHAR(64);
ALTER TABLE sources ADD COLUMN IF NOT EXISTS schedule VARCHAR(10) DEFAULT 's0' NOT NULL;
ALTER TABLE sources ADD COLUMN IF NOT EXISTS importance DOUBLE PRECISION DEFAULT 1 NOT NULL;
ALTER TABLE sources ADD COLUMN IF NOT EXISTS change_statistics JSONB;
ALTER TABLE sources ADD COLUMN IF NOT EXISTS last_found INTEGER DEFAULT 0 NOT NULL;
ALTER TABLE sources ADD COLUMN IF NOT EXISTS empty_reads INTEGER DEFAULT 0 NOT NULL;
ALTER TABLE sources ADD COLUMN IF NOT EXISTS block_reason_code VARCHAR(20);

-- What an older table says in other words is put into ours.
UPDATE sources SET source_type = CASE WHEN lower(trim(source_type)) IN ('rss', 'api') THEN lower(trim(source_type)) ELSE 'html' END
    WHERE source_type IS NULL OR source_type NOT IN ('html', 'rss', 'api');
UPDATE sources SET status = CASE WHEN lower(trim(status)) IN ('active', 'blocked', 'deleted') THEN lower(trim(status)) ELSE 'paused' END
    WHERE status IS NULL OR status NOT IN ('active', 'paused', 'blocked', 'deleted');
UPDATE sources SET crawl_frequency_days = NULL WHERE crawl_frequency_days < 1;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'ck_sources_crawl_frequency_days_at_least_1' AND conrelid = 'sources'::regclass) THEN
        ALTER TABLE sources ADD CONSTRAINT ck_sources_crawl_frequency_days_at_least_1 CHECK (crawl_frequency_days >= 1) NOT VALID;
    END IF;
END
$$;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'ck_sources_schedule' AND conrelid = 'sources'::regclass) THEN
        ALTER TABLE sources ADD CONSTRAINT ck_sources_schedule CHECK (schedule IN ('s0', 'adaptive')) NOT VALID;
    END IF;
END
$$;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'ck_sources_source_type' AND conrelid = 'sources'::regclass) THEN
        ALTER TABLE sources ADD CONSTRAINT ck_sources_source_type CHECK (source_type IN ('html', 'rss', 'api')) NOT VALID;
    END IF;
END
$$;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'ck_sources_status' AND conrelid = 'sources'::regclass) THEN
        ALTER TABLE sources ADD CONSTRAINT ck_sources_status CHECK (status IN ('active', 'paused', 'blocked', 'deleted')) NOT VALID;
    END IF;
END
$$;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'uq_sources_careers_url' AND conrelid = 'sources'::regclass) THEN
        ALTER TABLE sources ADD CONSTRAINT uq_sources_careers_url UNIQUE (careers_url);
    END IF;
END
$$;

CREATE INDEX IF NOT EXISTS idx_sources_last_crawled_at ON sources (last_crawled_at);
CREATE INDEX IF NOT EXISTS idx_sources_next_run_at ON sources (next_run_at);
CREATE INDEX IF NOT EXISTS idx_sources_org_name ON sources (org_name);
CREATE INDEX IF NOT EXISTS idx_sources_org_type ON sources (org_type);
CREATE INDEX IF NOT EXISTS idx_sources_status ON sources (status);

CREATE TABLE IF NOT EXISTS takedowns (
    domain_or_url TEXT NOT NULL,
    reason TEXT,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
    CONSTRAINT pk_takedowns PRIMARY KEY (domain_or_url)
);

ALTER TABLE takedowns ADD COLUMN IF NOT EXISTS reason TEXT;
ALTER TABLE takedowns ADD COLUMN IF NOT EXISTS created_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL;

CREATE TABLE IF NOT EXISTS unqueued_keys (
    place BIGINT NOT NULL,
    entries BYTEA NOT NULL,
    CONSTRAINT pk_unqueued_keys PRIMARY KEY (place)
);

ALTER TABLE unqueued_keys ADD COLUMN IF NOT EXISTS entries BYTEA;

CREATE TABLE IF NOT EXISTS visit_lists (
    id UUID DEFAULT gen_random_uuid() NOT NULL,
    door VARCHAR(20) NOT NULL,
    name VARCHAR(300) NOT NULL,
    settings JSONB,
    begun_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
    ended_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_visit_lists PRIMARY KEY (id)
);

ALTER TABLE visit_lists ADD COLUMN IF NOT EXISTS door VARCHAR(20);
ALTER TABLE visit_lists ADD COLUMN IF NOT EXISTS name VARCHAR(300);
ALTER TABLE visit_lists ADD COLUMN IF NOT EXISTS settings JSONB;
ALTER TABLE visit_lists ADD COLUMN IF NOT EXISTS begun_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL;
ALTER TABLE visit_lists ADD COLUMN IF NOT EXISTS ended_at TIMESTAMP WITH TIME ZONE;

CREATE INDEX IF NOT EXISTS idx_visit_lists_name ON visit_lists (door, name, begun_at);

CREATE TABLE IF NOT EXISTS webhooks (
    id UUID DEFAULT gen_random_uuid() NOT NULL,
    url TEXT NOT NULL,
    events JSONB NOT NULL,
    secret TEXT NOT NULL,
    enabled BOOLEAN DEFAULT true NOT NULL,
    consecutive_failures INTEGER DEFAULT 0 NOT NULL,
    disabled_reason TEXT,
    note TEXT,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
    updated_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
    CONSTRAINT pk_webhooks PRIMARY KEY (id)
);

ALTER TABLE webhooks ADD COLUMN IF NOT EXISTS url TEXT;
ALTER TABLE webhooks ADD COLUMN IF NOT EXISTS events JSONB;
ALTER TABLE webhooks ADD COLUMN IF NOT EXISTS secret TEXT;
ALTER TABLE webhooks ADD COLUMN IF NOT EXISTS enabled BOOLEAN DEFAULT true NOT NULL;
ALTER TABLE webhooks ADD COLUMN IF NOT EXISTS consecutive_failures INTEGER DEFAULT 0 NOT NULL;
ALTER TABLE webhooks ADD COLUMN IF NOT EXISTS disabled_reason TEXT;
ALTER TABLE webhooks ADD COLUMN IF NOT EXISTS note TEXT;
ALTER TABLE webhooks ADD COLUMN IF NOT EXISTS created_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL;
ALTER TABLE webhooks ADD COLUMN IF NOT EXISTS updated_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL;

CREATE TABLE IF NOT EXISTS crawl_locks (
    source_id UUID NOT NULL,
    locked_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
    expires_at TIMESTAMP WITH TIME ZONE,
    holder VARCHAR(255),
    CONSTRAINT pk_crawl_locks PRIMARY KEY (source_id),
    CONSTRAINT fk_crawl_locks_source_id FOREIGN KEY(source_id) REFERENCES sources (id) ON DELETE CASCADE
);

ALTER TABLE crawl_locks ADD COLUMN IF NOT EXISTS locked_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL;
ALTER TABLE crawl_locks ADD COLUMN IF NOT EXISTS expires_at TIMESTAMP WITH TIME ZONE;
ALTER TABLE crawl_locks ADD COLUMN IF NOT EXISTS holder VARCHAR(255);

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'fk_crawl_locks_source_id' AND conrelid = 'crawl_locks'::regclass) THEN
        ALTER TABLE crawl_locks ADD CONSTRAINT fk_crawl_locks_source_id FOREIGN KEY(source_id) REFERENCES sources (id) ON DELETE CASCADE;
    END IF;
END
$$;

CREATE TABLE IF NOT EXISTS crawl_logs (
    id UUID DEFAULT gen_random_uuid() NOT NULL,
    source_id UUID,
    ran_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
    duration_ms INTEGER,
    found INTEGER,
    inserted INTEGER,
    updated INTEGER,
    skipped INTEGER,
    status TEXT,
    message TEXT,
    closed INTEGER DEFAULT 0 NOT NULL,
    pages INTEGER DEFAULT 0 NOT NULL,
    next_run_at TIMESTAMP WITH TIME ZONE,
    next_run_reason TEXT,
    CONSTRAINT pk_crawl_logs PRIMARY KEY (id),
    CONSTRAINT ck_crawl_logs_status CHECK (status IN ('ok', 'warn', 'fail')),
    CONSTRAINT fk_crawl_logs_source_id FOREIGN KEY(source_id) REFERENCES sources (id) ON DELETE CASCADE
);

ALTER TABLE crawl_logs ADD COLUMN IF NOT EXISTS source_id UUID;
ALTER TABLE crawl_logs ADD COLUMN IF NOT EXISTS ran_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL;
ALTER TABLE crawl_logs ADD COLUMN IF NOT EXISTS duration_ms INTEGER;
ALTER TABLE crawl_logs ADD COLUMN IF NOT EXISTS found INTEGER;
ALTER TABLE crawl_logs ADD COLUMN IF NOT EXISTS inserted INTEGER;
ALTER TABLE crawl_logs ADD COLUMN IF NOT EXISTS updated INTEGER;
ALTER TABLE crawl_logs ADD COLUMN IF NOT EXISTS skipped INTEGER;
ALTER TABLE crawl_logs ADD COLUMN IF NOT EXISTS status TEXT;
ALTER TABLE crawl_logs ADD COLUMN IF NOT EXISTS message TEXT;
ALTER TABLE crawl_logs ADD COLUMN IF NOT EXISTS closed INTEGER DEFAULT 0 NOT NULL;
ALTER TABLE crawl_logs ADD COLUMN IF NOT EXISTS pages INTEGER DEFAULT 0 NOT NULL;
ALTER TABLE crawl_logs ADD COLUMN IF NOT EXISTS next_run_at TIMESTAMP WITH TIME ZONE;
ALTER TABLE crawl_logs ADD COLUMN IF NOT EXISTS next_run_reason TEXT;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'ck_crawl_logs_status' AND conrelid = 'crawl_logs'::regclass) THEN
        ALTER TABLE crawl_logs ADD CONSTRAINT ck_crawl_logs_status CHECK (status IN ('ok', 'warn', 'fail')) NOT VALID;
    END IF;
END
$$;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'fk_crawl_logs_source_id' AND conrelid = 'crawl_logs'::regclass) THEN
        ALTER TABLE crawl_logs ADD CONSTRAINT fk_crawl_logs_source_id FOREIGN KEY(source_id) REFERENCES sources (id) ON DELETE CASCADE;
    END IF;
END
$$;

CREATE INDEX IF NOT EXISTS idx_crawl_logs_ran_at ON crawl_logs (ran_at DESC);
CREATE INDEX IF NOT EXISTS idx_crawl_logs_source_id ON crawl_logs (source_id, ran_at DESC);
CREATE INDEX IF NOT EXISTS idx_crawl_logs_status ON crawl_logs (status, ran_at DESC);

CREATE TABLE IF NOT EXISTS domain_frontier (
    id BIGSERIAL NOT NULL,
    domain_id UUID NOT NULL,
    run_id UUID,
    url TEXT NOT NULL,
    url_key BIGINT NOT NULL,
    depth INTEGER DEFAULT 0 NOT NULL,
    priority INTEGER DEFAULT 0 NOT NULL,
    state SMALLINT DEFAULT 0 NOT NULL,
    attempts SMALLINT DEFAULT 0 NOT NULL,
    not_before TIMESTAMP WITH TIME ZONE,
    discovered_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
    lastmod TIMESTAMP WITH TIME ZONE,
    changefreq VARCHAR(10),
    sitemap_priority DOUBLE PRECISION,
    found_by SMALLINT DEFAULT 0 NOT NULL,
    found_on BIGINT,
    CONSTRAINT pk_domain_frontier PRIMARY KEY (id),
    CONSTRAINT ck_domain_frontier_state CHECK (state IN (0, 1, 2, 3)),
    CONSTRAINT fk_domain_frontier_run_id FOREIGN KEY(run_id) REFERENCES crawl_runs (id) ON DELETE SET NULL
);

ALTER TABLE domain_frontier ADD COLUMN IF NOT EXISTS domain_id UUID;
ALTER TABLE domain_frontier ADD COLUMN IF NOT EXISTS run_id UUID;
ALTER TABLE domain_frontier ADD COLUMN IF NOT EXISTS url TEXT;
ALTER TABLE domain_frontier ADD COLUMN IF NOT EXISTS url_key BIGINT;
ALTER TABLE domain_frontier ADD COLUMN IF NOT EXISTS depth INTEGER DEFAULT 0 NOT NULL;
ALTER TABLE domain_frontier ADD COLUMN IF NOT EXISTS priority INTEGER DEFAULT 0 NOT NULL;
ALTER TABLE domain_frontier ADD COLUMN IF NOT EXISTS state SMALLINT DEFAULT 0 NOT NULL;
ALTER TABLE domain_frontier ADD COLUMN IF NOT EXISTS attempts SMALLINT DEFAULT 0 NOT NULL;
ALTER TABLE domain_frontier ADD COLUMN IF NOT EXISTS not_before TIMESTAMP WITH TIME ZONE;
ALTER TABLE domain_frontier ADD COLUMN IF NOT EXISTS discovered_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL;
ALTER TABLE domain_frontier ADD COLUMN IF NOT EXISTS lastmod TIMESTAMP WITH TIME ZONE;
ALTER TABLE domain_frontier ADD COLUMN IF NOT EXISTS changefreq VARCHAR(10);
ALTER TABLE domain_frontier ADD COLUMN IF NOT EXISTS sitemap_priority DOUBLE PRECISION;
ALTER TABLE domain_frontier ADD COLUMN IF NOT EXISTS found_by SMALLINT DEFAULT 0 NOT NULL;
ALTER TABLE domain_frontier ADD COLUMN IF NOT EXISTS found_on BIGINT;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'ck_domain_frontier_state' AND conrelid = 'domain_frontier'::regclass) THEN
        ALTER TABLE domain_frontier ADD CONSTRAINT ck_domain_frontier_state CHECK (state IN (0, 1, 2, 3)) NOT VALID;
    END IF;
END
$$;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'fk_domain_frontier_run_id' AND conrelid = 'domain_frontier'::regclass) THEN
        ALTER TABLE domain_frontier ADD CONSTRAINT fk_domain_frontier_run_id FOREIGN KEY(run_id) REFERENCES crawl_runs (id) ON DELETE SET NULL;
    END IF;
END
$$;

CREATE INDEX IF NOT EXISTS idx_domain_frontier_put_off ON domain_frontier (domain_id, not_before) WHERE state = 0 AND not_before IS NOT NULL;
CREATE INDEX IF NOT EXISTS idx_domain_frontier_queue ON domain_frontier (domain_id, priority DESC, depth, id) WHERE state = 0;
CREATE INDEX IF NOT EXISTS idx_domain_frontier_too_deep ON domain_frontier (domain_id, depth, url_key) WHERE state = 3;
CREATE UNIQUE INDEX IF NOT EXISTS uq_domain_frontier_url ON domain_frontier (domain_id, url_key);

CREATE TABLE IF NOT EXISTS domains (
    id UUID DEFAULT gen_random_uuid() NOT NULL,
    domain VARCHAR(260) COLLATE "C" NOT NULL,
    parent_domain VARCHAR(260),
    status domain_status DEFAULT 'pending' NOT NULL,
    is_seeded BOOLEAN DEFAULT true NOT NULL,
    block_reason TEXT,
    block_reason_code VARCHAR(50),
    refused_address VARCHAR(45),
    first_blocked_at TIMESTAMP WITH TIME ZONE,
    cooldown_count INTEGER DEFAULT 0 NOT NULL,
    claimed_by VARCHAR(255),
    claim_expires_at TIMESTAMP WITH TIME ZONE,
    lease_token BIGINT DEFAULT 0 NOT NULL,
    version INTEGER DEFAULT 0 NOT NULL,
    pages_discovered BIGINT DEFAULT 0 NOT NULL,
    pages_crawled BIGINT DEFAULT 0 NOT NULL,
    images_found BIGINT DEFAULT 0 NOT NULL,
    images_stored BIGINT DEFAULT 0 NOT NULL,
    max_pages_per_run INTEGER DEFAULT 1000,
    crawl_depth_reached INTEGER DEFAULT 0 NOT NULL,
    image_yield_rate DOUBLE PRECISION,
    avg_images_per_page DOUBLE PRECISION,
    error_rate DOUBLE PRECISION,
    total_error_count INTEGER DEFAULT 0 NOT NULL,
    consecutive_error_count INTEGER DEFAULT 0 NOT NULL,
    priority_score INTEGER DEFAULT 0 NOT NULL,
    priority_computed_at TIMESTAMP WITH TIME ZONE,
    seed_rank INTEGER,
    source VARCHAR(100),
    first_seen_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
    last_crawled_at TIMESTAMP WITH TIME ZONE,
    next_crawl_after TIMESTAMP WITH TIME ZONE,
    updated_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
    last_crawl_run_id UUID,
    frontier_checkpoint_id VARCHAR(300),
    frontier_size BIGINT DEFAULT 0 NOT NULL,
    frontier_updated_at TIMESTAMP WITH TIME ZONE,
    unqueued_recorded INTEGER DEFAULT 0 NOT NULL,
    unqueued_unrecorded BIGINT DEFAULT 0 NOT NULL,
    left_out_recorded INTEGER DEFAULT 0 NOT NULL,
    left_out_unrecorded BIGINT DEFAULT 0 NOT NULL,
    left_out_rules VARCHAR(40),
    left_at_depth INTEGER,
    next_fetch_at TIMESTAMP WITH TIME ZONE,
    blocked_until TIMESTAMP WITH TIME ZONE,
    backoff_step INTEGER DEFAULT 0 NOT NULL,
    adaptive_delay_s DOUBLE PRECISION DEFAULT 0 NOT NULL,
    latency_baseline_s DOUBLE PRECISION,
    latency_recent_s DOUBLE PRECISION,
    unclean_end_at TIMESTAMP WITH TIME ZONE,
    claimed_at TIMESTAMP WITH TIME ZONE,
    unclean_since TIMESTAMP WITH TIME ZONE,
    last_start_at TIMESTAMP WITH TIME ZONE,
    is_refresh_due BOOLEAN DEFAULT false NOT NULL,
    refresh_started_at TIMESTAMP WITH TIME ZONE,
    queue_ready_at TIMESTAMP WITH TIME ZONE,
    slots_given INTEGER DEFAULT 0 NOT NULL,
    queue_failures INTEGER DEFAULT 0 NOT NULL,
    queue_parked_until TIMESTAMP WITH TIME ZONE,
    paused_by_run UUID,
    CONSTRAINT pk_domains PRIMARY KEY (id),
    CONSTRAINT ck_domains_domain_not_empty CHECK (domain <> ''),
    CONSTRAINT ck_domains_lease_has_holder_and_end CHECK ((claimed_by IS NULL) = (claim_expires_at IS NULL)),
    CONSTRAINT uq_domains_domain UNIQUE (domain),
    CONSTRAINT fk_domains_last_crawl_run_id FOREIGN KEY(last_crawl_run_id) REFERENCES crawl_runs (id) ON DELETE SET NULL
)
 WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

ALTER TABLE domains ADD COLUMN IF NOT EXISTS domain VARCHAR(260) COLLATE "C";
ALTER TABLE domains ADD COLUMN IF NOT EXISTS parent_domain VARCHAR(260);
ALTER TABLE domains ADD COLUMN IF NOT EXISTS status domain_status DEFAULT 'pending' NOT NULL;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS is_seeded BOOLEAN DEFAULT true NOT NULL;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS block_reason TEXT;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS block_reason_code VARCHAR(50);
ALTER TABLE domains ADD COLUMN IF NOT EXISTS refused_address VARCHAR(45);
ALTER TABLE domains ADD COLUMN IF NOT EXISTS first_blocked_at TIMESTAMP WITH TIME ZONE;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS cooldown_count INTEGER DEFAULT 0 NOT NULL;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS claimed_by VARCHAR(255);
ALTER TABLE domains ADD COLUMN IF NOT EXISTS claim_expires_at TIMESTAMP WITH TIME ZONE;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS lease_token BIGINT DEFAULT 0 NOT NULL;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS version INTEGER DEFAULT 0 NOT NULL;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS pages_discovered BIGINT DEFAULT 0 NOT NULL;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS pages_crawled BIGINT DEFAULT 0 NOT NULL;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS images_found BIGINT DEFAULT 0 NOT NULL;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS images_stored BIGINT DEFAULT 0 NOT NULL;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS max_pages_per_run INTEGER DEFAULT 1000;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS crawl_depth_reached INTEGER DEFAULT 0 NOT NULL;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS image_yield_rate DOUBLE PRECISION;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS avg_images_per_page DOUBLE PRECISION;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS error_rate DOUBLE PRECISION;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS total_error_count INTEGER DEFAULT 0 NOT NULL;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS consecutive_error_count INTEGER DEFAULT 0 NOT NULL;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS priority_score INTEGER DEFAULT 0 NOT NULL;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS priority_computed_at TIMESTAMP WITH TIME ZONE;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS seed_rank INTEGER;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS source VARCHAR(100);
ALTER TABLE domains ADD COLUMN IF NOT EXISTS first_seen_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS last_crawled_at TIMESTAMP WITH TIME ZONE;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS next_crawl_after TIMESTAMP WITH TIME ZONE;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS updated_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS last_crawl_run_id UUID;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS frontier_checkpoint_id VARCHAR(300);
ALTER TABLE domains ADD COLUMN IF NOT EXISTS frontier_size BIGINT DEFAULT 0 NOT NULL;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS frontier_updated_at TIMESTAMP WITH TIME ZONE;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS unqueued_recorded INTEGER DEFAULT 0 NOT NULL;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS unqueued_unrecorded BIGINT DEFAULT 0 NOT NULL;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS left_out_recorded INTEGER DEFAULT 0 NOT NULL;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS left_out_unrecorded BIGINT DEFAULT 0 NOT NULL;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS left_out_rules VARCHAR(40);
ALTER TABLE domains ADD COLUMN IF NOT EXISTS left_at_depth INTEGER;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS next_fetch_at TIMESTAMP WITH TIME ZONE;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS blocked_until TIMESTAMP WITH TIME ZONE;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS backoff_step INTEGER DEFAULT 0 NOT NULL;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS adaptive_delay_s DOUBLE PRECISION DEFAULT 0 NOT NULL;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS latency_baseline_s DOUBLE PRECISION;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS latency_recent_s DOUBLE PRECISION;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS unclean_end_at TIMESTAMP WITH TIME ZONE;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS claimed_at TIMESTAMP WITH TIME ZONE;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS unclean_since TIMESTAMP WITH TIME ZONE;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS last_start_at TIMESTAMP WITH TIME ZONE;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS is_refresh_due BOOLEAN DEFAULT false NOT NULL;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS refresh_started_at TIMESTAMP WITH TIME ZONE;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS queue_ready_at TIMESTAMP WITH TIME ZONE;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS slots_given INTEGER DEFAULT 0 NOT NULL;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS queue_failures INTEGER DEFAULT 0 NOT NULL;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS queue_parked_until TIMESTAMP WITH TIME ZONE;
ALTER TABLE domains ADD COLUMN IF NOT EXISTS paused_by_run UUID;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'ck_domains_domain_not_empty' AND conrelid = 'domains'::regclass) THEN
        ALTER TABLE domains ADD CONSTRAINT ck_domains_domain_not_empty CHECK (domain <> '') NOT VALID;
    END IF;
END
$$;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'ck_domains_lease_has_holder_and_end' AND conrelid = 'domains'::regclass) THEN
        ALTER TABLE domains ADD CONSTRAINT ck_domains_lease_has_holder_and_end CHECK ((claimed_by IS NULL) = (claim_expires_at IS NULL)) NOT VALID;
    END IF;
END
$$;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'fk_domains_last_crawl_run_id' AND conrelid = 'domains'::regclass) THEN
        ALTER TABLE domains ADD CONSTRAINT fk_domains_last_crawl_run_id FOREIGN KEY(last_crawl_run_id) REFERENCES crawl_runs (id) ON DELETE SET NULL;
    END IF;
END
$$;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'uq_domains_domain' AND conrelid = 'domains'::regclass) THEN
        ALTER TABLE domains ADD CONSTRAINT uq_domains_domain UNIQUE (domain);
    END IF;
END
$$;

CREATE INDEX IF NOT EXISTS idx_domains_claims ON domains (claimed_by, claim_expires_at) WHERE claimed_by IS NOT NULL;
CREATE INDEX IF NOT EXISTS idx_domains_discovery_candidates ON domains ((CASE WHEN status = 'active' THEN 0 ELSE 1 END), priority_score DESC, last_crawled_at ASC NULLS FIRST, id) WHERE status IN ('pending', 'active') AND is_seeded AND claimed_by IS NULL AND paused_by_run IS NULL;
CREATE INDEX IF NOT EXISTS idx_domains_last_crawled ON domains (last_crawled_at, domain);
CREATE INDEX IF NOT EXISTS idx_domains_lease_expiry ON domains (claim_expires_at) WHERE claimed_by IS NOT NULL;
CREATE INDEX IF NOT EXISTS idx_domains_left_at_depth ON domains (left_at_depth) WHERE left_at_depth IS NOT NULL;
CREATE INDEX IF NOT EXISTS idx_domains_next_crawl ON domains (next_crawl_after, domain) WHERE next_crawl_after IS NOT NULL;
CREATE INDEX IF NOT EXISTS idx_domains_not_due ON domains (status, next_crawl_after) WHERE status IN ('pending', 'active') AND is_seeded AND claimed_by IS NULL AND paused_by_run IS NULL AND next_crawl_after IS NOT NULL;
CREATE INDEX IF NOT EXISTS idx_domains_parent_domain ON domains (parent_domain);
CREATE INDEX IF NOT EXISTS idx_domains_paused ON domains (domain) WHERE paused_by_run IS NOT NULL;
CREATE INDEX IF NOT EXISTS idx_domains_priority_score ON domains (priority_score, domain);
CREATE INDEX IF NOT EXISTS idx_domains_queue_ready ON domains (queue_ready_at) WHERE queue_ready_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS idx_domains_refresh_candidates ON domains (status, next_crawl_after, image_yield_rate DESC) WHERE status = 'exhausted';
CREATE INDEX IF NOT EXISTS idx_domains_source ON domains (source);
CREATE INDEX IF NOT EXISTS idx_domains_status ON domains (status, domain);
CREATE INDEX IF NOT EXISTS idx_domains_yield ON domains (image_yield_rate DESC NULLS LAST);

CREATE TABLE IF NOT EXISTS job_postings (
    id UUID DEFAULT gen_random_uuid() NOT NULL,
    canonical_hash VARCHAR(64) NOT NULL,
    source_id UUID,
    title TEXT NOT NULL,
    org_name TEXT DEFAULT '' NOT NULL,
    apply_url TEXT NOT NULL,
    location_raw TEXT DEFAULT '' NOT NULL,
    description_snippet TEXT DEFAULT '' NOT NULL,
    description_text TEXT DEFAULT '' NOT NULL,
    deadline TIMESTAMP WITH TIME ZONE,
    posted_at TIMESTAMP WITH TIME ZONE,
    city TEXT,
    country_iso VARCHAR(2),
    level_norm VARCHAR(40),
    work_modality VARCHAR(40),
    career_type VARCHAR(40),
    international_eligible BOOLEAN,
    mission_tags JSONB DEFAULT '[]' NOT NULL,
    language VARCHAR(20),
    first_seen_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
    last_seen_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
    updated_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
    closed_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_job_postings PRIMARY KEY (id),
    CONSTRAINT uq_job_postings_canonical_hash UNIQUE (canonical_hash),
    CONSTRAINT fk_job_postings_source_id FOREIGN KEY(source_id) REFERENCES sources (id) ON DELETE SET NULL
);

ALTER TABLE job_postings ADD COLUMN IF NOT EXISTS canonical_hash VARCHAR(64);
ALTER TABLE job_postings ADD COLUMN IF NOT EXISTS source_id UUID;
ALTER TABLE job_postings ADD COLUMN IF NOT EXISTS title TEXT;
ALTER TABLE job_postings ADD COLUMN IF NOT EXISTS org_name TEXT DEFAULT '' NOT NULL;
ALTER TABLE job_postings ADD COLUMN IF NOT EXISTS apply_url TEXT;
ALTER TABLE job_postings ADD COLUMN IF NOT EXISTS location_raw TEXT DEFAULT '' NOT NULL;
ALTER TABLE job_postings ADD COLUMN IF NOT EXISTS description_snippet TEXT DEFAULT '' NOT NULL;
ALTER TABLE job_postings ADD COLUMN IF NOT EXISTS description_text TEXT DEFAULT '' NOT NULL;
ALTER TABLE job_postings ADD COLUMN IF NOT EXISTS deadline TIMESTAMP WITH TIME ZONE;
ALTER TABLE job_postings ADD COLUMN IF NOT EXISTS posted_at TIMESTAMP WITH TIME ZONE;
ALTER TABLE job_postings ADD COLUMN IF NOT EXISTS city TEXT;
ALTER TABLE job_postings ADD COLUMN IF NOT EXISTS country_iso VARCHAR(2);
ALTER TABLE job_postings ADD COLUMN IF NOT EXISTS level_norm VARCHAR(40);
ALTER TABLE job_postings ADD COLUMN IF NOT EXISTS work_modality VARCHAR(40);
ALTER TABLE job_postings ADD COLUMN IF NOT EXISTS career_type VARCHAR(40);
ALTER TABLE job_postings ADD COLUMN IF NOT EXISTS international_eligible BOOLEAN;
ALTER TABLE job_postings ADD COLUMN IF NOT EXISTS mission_tags JSONB DEFAULT '[]' NOT NULL;
ALTER TABLE job_postings ADD COLUMN IF NOT EXISTS language VARCHAR(20);
ALTER TABLE job_postings ADD COLUMN IF NOT EXISTS first_seen_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL;
ALTER TABLE job_postings ADD COLUMN IF NOT EXISTS last_seen_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL;
ALTER TABLE job_postings ADD COLUMN IF NOT EXISTS updated_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL;
ALTER TABLE job_postings ADD COLUMN IF NOT EXISTS closed_at TIMESTAMP WITH TIME ZONE;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'fk_job_postings_source_id' AND conrelid = 'job_postings'::regclass) THEN
        ALTER TABLE job_postings ADD CONSTRAINT fk_job_postings_source_id FOREIGN KEY(source_id) REFERENCES sources (id) ON DELETE SET NULL;
    END IF;
END
$$;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'uq_job_postings_canonical_hash' AND conrelid = 'job_postings'::regclass) THEN
        ALTER TABLE job_postings ADD CONSTRAINT uq_job_postings_canonical_hash UNIQUE (canonical_hash);
    END IF;
END
$$;

CREATE INDEX IF NOT EXISTS idx_job_postings_country_iso ON job_postings (country_iso);
CREATE INDEX IF NOT EXISTS idx_job_postings_deadline ON job_postings (deadline);
CREATE INDEX IF NOT EXISTS idx_job_postings_last_seen_at ON job_postings (last_seen_at);
CREATE INDEX IF NOT EXISTS idx_job_postings_source_id ON job_postings (source_id);

CREATE TABLE IF NOT EXISTS search_cards (
    number BIGINT NOT NULL,
    card JSONB NOT NULL,
    CONSTRAINT pk_search_cards PRIMARY KEY (number),
    CONSTRAINT fk_search_cards_number FOREIGN KEY(number) REFERENCES search_documents (number) ON DELETE CASCADE
);

ALTER TABLE search_cards ADD COLUMN IF NOT EXISTS card JSONB;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'fk_search_cards_number' AND conrelid = 'search_cards'::regclass) THEN
        ALTER TABLE search_cards ADD CONSTRAINT fk_search_cards_number FOREIGN KEY(number) REFERENCES search_documents (number) ON DELETE CASCADE;
    END IF;
END
$$;

CREATE TABLE IF NOT EXISTS source_pages (
    source_id UUID NOT NULL,
    number SMALLINT NOT NULL,
    url TEXT NOT NULL,
    final_url TEXT NOT NULL,
    etag TEXT,
    last_modified TEXT,
    next_url TEXT,
    kind VARCHAR(20) NOT NULL,
    found INTEGER DEFAULT 0 NOT NULL,
    content_hash VARCHAR(32),
    read_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
    CONSTRAINT pk_source_pages PRIMARY KEY (source_id, number),
    CONSTRAINT fk_source_pages_source_id FOREIGN KEY(source_id) REFERENCES sources (id) ON DELETE CASCADE
);

ALTER TABLE source_pages ADD COLUMN IF NOT EXISTS url TEXT;
ALTER TABLE source_pages ADD COLUMN IF NOT EXISTS final_url TEXT;
ALTER TABLE source_pages ADD COLUMN IF NOT EXISTS etag TEXT;
ALTER TABLE source_pages ADD COLUMN IF NOT EXISTS last_modified TEXT;
ALTER TABLE source_pages ADD COLUMN IF NOT EXISTS next_url TEXT;
ALTER TABLE source_pages ADD COLUMN IF NOT EXISTS kind VARCHAR(20);
ALTER TABLE source_pages ADD COLUMN IF NOT EXISTS found INTEGER DEFAULT 0 NOT NULL;
ALTER TABLE source_pages ADD COLUMN IF NOT EXISTS content_hash VARCHAR(32);
ALTER TABLE source_pages ADD COLUMN IF NOT EXISTS read_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'fk_source_pages_source_id' AND conrelid = 'source_pages'::regclass) THEN
        ALTER TABLE source_pages ADD CONSTRAINT fk_source_pages_source_id FOREIGN KEY(source_id) REFERENCES sources (id) ON DELETE CASCADE;
    END IF;
END
$$;

CREATE TABLE IF NOT EXISTS webhook_deliveries (
    id UUID DEFAULT gen_random_uuid() NOT NULL,
    webhook_id UUID NOT NULL,
    event VARCHAR(40) NOT NULL,
    payload JSONB NOT NULL,
    status VARCHAR(20) DEFAULT 'pending' NOT NULL,
    attempts INTEGER DEFAULT 0 NOT NULL,
    next_attempt_at TIMESTAMP WITH TIME ZONE,
    last_attempt_at TIMESTAMP WITH TIME ZONE,
    last_status INTEGER,
    last_error TEXT,
    is_test BOOLEAN DEFAULT false NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
    delivered_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_webhook_deliveries PRIMARY KEY (id),
    CONSTRAINT ck_webhook_deliveries_status CHECK (status IN ('pending', 'delivered', 'failed')),
    CONSTRAINT fk_webhook_deliveries_webhook_id FOREIGN KEY(webhook_id) REFERENCES webhooks (id) ON DELETE CASCADE
);

ALTER TABLE webhook_deliveries ADD COLUMN IF NOT EXISTS webhook_id UUID;
ALTER TABLE webhook_deliveries ADD COLUMN IF NOT EXISTS event VARCHAR(40);
ALTER TABLE webhook_deliveries ADD COLUMN IF NOT EXISTS payload JSONB;
ALTER TABLE webhook_deliveries ADD COLUMN IF NOT EXISTS status VARCHAR(20) DEFAULT 'pending' NOT NULL;
ALTER TABLE webhook_deliveries ADD COLUMN IF NOT EXISTS attempts INTEGER DEFAULT 0 NOT NULL;
ALTER TABLE webhook_deliveries ADD COLUMN IF NOT EXISTS next_attempt_at TIMESTAMP WITH TIME ZONE;
ALTER TABLE webhook_deliveries ADD COLUMN IF NOT EXISTS last_attempt_at TIMESTAMP WITH TIME ZONE;
ALTER TABLE webhook_deliveries ADD COLUMN IF NOT EXISTS last_status INTEGER;
ALTER TABLE webhook_deliveries ADD COLUMN IF NOT EXISTS last_error TEXT;
ALTER TABLE webhook_deliveries ADD COLUMN IF NOT EXISTS is_test BOOLEAN DEFAULT false NOT NULL;
ALTER TABLE webhook_deliveries ADD COLUMN IF NOT EXISTS created_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL;
ALTER TABLE webhook_deliveries ADD COLUMN IF NOT EXISTS delivered_at TIMESTAMP WITH TIME ZONE;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'ck_webhook_deliveries_status' AND conrelid = 'webhook_deliveries'::regclass) THEN
        ALTER TABLE webhook_deliveries ADD CONSTRAINT ck_webhook_deliveries_status CHECK (status IN ('pending', 'delivered', 'failed')) NOT VALID;
    END IF;
END
$$;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'fk_webhook_deliveries_webhook_id' AND conrelid = 'webhook_deliveries'::regclass) THEN
        ALTER TABLE webhook_deliveries ADD CONSTRAINT fk_webhook_deliveries_webhook_id FOREIGN KEY(webhook_id) REFERENCES webhooks (id) ON DELETE CASCADE;
    END IF;
END
$$;

CREATE INDEX IF NOT EXISTS idx_webhook_deliveries_created_at ON webhook_deliveries (created_at, id);
CREATE INDEX IF NOT EXISTS idx_webhook_deliveries_due ON webhook_deliveries (webhook_id, next_attempt_at) WHERE status = 'pending';
CREATE INDEX IF NOT EXISTS idx_webhook_deliveries_status ON webhook_deliveries (status, created_at, id);
CREATE INDEX IF NOT EXISTS idx_webhook_deliveries_webhook ON webhook_deliveries (webhook_id, created_at, id);

CREATE TABLE IF NOT EXISTS crawl_policies (
    id UUID DEFAULT gen_random_uuid() NOT NULL,
    url VARCHAR(2048) NOT NULL,
    domain_id UUID,
    frequency_hours INTEGER DEFAULT 24 NOT NULL,
    priority INTEGER DEFAULT 5 NOT NULL,
    max_retries INTEGER DEFAULT 3 NOT NULL,
    retry_backoff_minutes INTEGER DEFAULT 5 NOT NULL,
    timeout_minutes INTEGER DEFAULT 10 NOT NULL,
    crawl_config JSONB,
    enabled BOOLEAN DEFAULT true NOT NULL,
    next_run_at TIMESTAMP WITH TIME ZONE,
    failure_count INTEGER DEFAULT 0 NOT NULL,
    last_success_at TIMESTAMP WITH TIME ZONE,
    last_failed_at TIMESTAMP WITH TIME ZONE,
    schedule VARCHAR(10) DEFAULT 'fixed' NOT NULL,
    importance DOUBLE PRECISION DEFAULT 1 NOT NULL,
    change_statistics JSONB,
    last_price NUMERIC(18, 4),
    last_currency VARCHAR(3),
    last_in_stock BOOLEAN,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
    updated_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
    CONSTRAINT pk_crawl_policies PRIMARY KEY (id),
    CONSTRAINT ck_crawl_policies_schedule CHECK (schedule IN ('fixed', 'adaptive')),
    CONSTRAINT ck_crawl_policies_frequency_hours_at_least_1 CHECK (frequency_hours >= 1),
    CONSTRAINT ck_crawl_policies_max_retries_at_least_0 CHECK (max_retries >= 0),
    CONSTRAINT ck_crawl_policies_retry_backoff_minutes_at_least_0 CHECK (retry_backoff_minutes >= 0),
    CONSTRAINT ck_crawl_policies_timeout_minutes_at_least_1 CHECK (timeout_minutes >= 1),
    CONSTRAINT uq_crawl_policies_url UNIQUE (url),
    CONSTRAINT fk_crawl_policies_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE SET NULL
);

ALTER TABLE crawl_policies ADD COLUMN IF NOT EXISTS url VARCHAR(2048);
ALTER TABLE crawl_policies ADD COLUMN IF NOT EXISTS domain_id UUID;
ALTER TABLE crawl_policies ADD COLUMN IF NOT EXISTS frequency_hours INTEGER DEFAULT 24 NOT NULL;
ALTER TABLE crawl_policies ADD COLUMN IF NOT EXISTS priority INTEGER DEFAULT 5 NOT NULL;
ALTER TABLE crawl_policies ADD COLUMN IF NOT EXISTS max_retries INTEGER DEFAULT 3 NOT NULL;
ALTER TABLE crawl_policies ADD COLUMN IF NOT EXISTS retry_backoff_minutes INTEGER DEFAULT 5 NOT NULL;
ALTER TABLE crawl_policies ADD COLUMN IF NOT EXISTS timeout_minutes INTEGER DEFAULT 10 NOT NULL;
ALTER TABLE crawl_policies ADD COLUMN IF NOT EXISTS crawl_config JSONB;
ALTER TABLE crawl_policies ADD COLUMN IF NOT EXISTS enabled BOOLEAN DEFAULT true NOT NULL;
ALTER TABLE crawl_policies ADD COLUMN IF NOT EXISTS next_run_at TIMESTAMP WITH TIME ZONE;
ALTER TABLE crawl_policies ADD COLUMN IF NOT EXISTS failure_count INTEGER DEFAULT 0 NOT NULL;
ALTER TABLE crawl_policies ADD COLUMN IF NOT EXISTS last_success_at TIMESTAMP WITH TIME ZONE;
ALTER TABLE crawl_policies ADD COLUMN IF NOT EXISTS last_failed_at TIMESTAMP WITH TIME ZONE;
ALTER TABLE crawl_policies ADD COLUMN IF NOT EXISTS schedule VARCHAR(10) DEFAULT 'fixed' NOT NULL;
ALTER TABLE crawl_policies ADD COLUMN IF NOT EXISTS importance DOUBLE PRECISION DEFAULT 1 NOT NULL;
ALTER TABLE crawl_policies ADD COLUMN IF NOT EXISTS change_statistics JSONB;
ALTER TABLE crawl_policies ADD COLUMN IF NOT EXISTS last_price NUMERIC(18, 4);
ALTER TABLE crawl_policies ADD COLUMN IF NOT EXISTS last_currency VARCHAR(3);
ALTER TABLE crawl_policies ADD COLUMN IF NOT EXISTS last_in_stock BOOLEAN;
ALTER TABLE crawl_policies ADD COLUMN IF NOT EXISTS created_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL;
ALTER TABLE crawl_policies ADD COLUMN IF NOT EXISTS updated_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'ck_crawl_policies_frequency_hours_at_least_1' AND conrelid = 'crawl_policies'::regclass) THEN
        ALTER TABLE crawl_policies ADD CONSTRAINT ck_crawl_policies_frequency_hours_at_least_1 CHECK (frequency_hours >= 1) NOT VALID;
    END IF;
END
$$;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'ck_crawl_policies_max_retries_at_least_0' AND conrelid = 'crawl_policies'::regclass) THEN
        ALTER TABLE crawl_policies ADD CONSTRAINT ck_crawl_policies_max_retries_at_least_0 CHECK (max_retries >= 0) NOT VALID;
    END IF;
END
$$;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'ck_crawl_policies_retry_backoff_minutes_at_least_0' AND conrelid = 'crawl_policies'::regclass) THEN
        ALTER TABLE crawl_policies ADD CONSTRAINT ck_crawl_policies_retry_backoff_minutes_at_least_0 CHECK (retry_backoff_minutes >= 0) NOT VALID;
    END IF;
END
$$;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'ck_crawl_policies_schedule' AND conrelid = 'crawl_policies'::regclass) THEN
        ALTER TABLE crawl_policies ADD CONSTRAINT ck_crawl_policies_schedule CHECK (schedule IN ('fixed', 'adaptive')) NOT VALID;
    END IF;
END
$$;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'ck_crawl_policies_timeout_minutes_at_least_1' AND conrelid = 'crawl_policies'::regclass) THEN
        ALTER TABLE crawl_policies ADD CONSTRAINT ck_crawl_policies_timeout_minutes_at_least_1 CHECK (timeout_minutes >= 1) NOT VALID;
    END IF;
END
$$;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'fk_crawl_policies_domain_id' AND conrelid = 'crawl_policies'::regclass) THEN
        ALTER TABLE crawl_policies ADD CONSTRAINT fk_crawl_policies_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE SET NULL;
    END IF;
END
$$;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'uq_crawl_policies_url' AND conrelid = 'crawl_policies'::regclass) THEN
        ALTER TABLE crawl_policies ADD CONSTRAINT uq_crawl_policies_url UNIQUE (url);
    END IF;
END
$$;

CREATE INDEX IF NOT EXISTS idx_crawl_policies_domain_id ON crawl_policies (domain_id, next_run_at, id);
CREATE INDEX IF NOT EXISTS idx_crawl_policies_due ON crawl_policies (next_run_at, priority) WHERE enabled;
CREATE INDEX IF NOT EXISTS idx_crawl_policies_enabled ON crawl_policies (enabled, next_run_at, id);
CREATE INDEX IF NOT EXISTS idx_crawl_policies_failing ON crawl_policies (failure_count, id) WHERE failure_count > 0;
CREATE INDEX IF NOT EXISTS idx_crawl_policies_next_run_at ON crawl_policies (next_run_at);
CREATE INDEX IF NOT EXISTS idx_crawl_policies_priority ON crawl_policies (priority, id);
CREATE INDEX IF NOT EXISTS idx_crawl_policies_same_priority ON crawl_policies (priority, next_run_at, id);

CREATE TABLE IF NOT EXISTS domain_moves (
    id BIGSERIAL NOT NULL,
    domain_id UUID NOT NULL,
    moved_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
    from_status VARCHAR(20) NOT NULL,
    to_status VARCHAR(20) NOT NULL,
    reason_code VARCHAR(50),
    reason TEXT,
    holder VARCHAR(255),
    CONSTRAINT pk_domain_moves PRIMARY KEY (id),
    CONSTRAINT fk_domain_moves_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE CASCADE
);

ALTER TABLE domain_moves ADD COLUMN IF NOT EXISTS domain_id UUID;
ALTER TABLE domain_moves ADD COLUMN IF NOT EXISTS moved_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL;
ALTER TABLE domain_moves ADD COLUMN IF NOT EXISTS from_status VARCHAR(20);
ALTER TABLE domain_moves ADD COLUMN IF NOT EXISTS to_status VARCHAR(20);
ALTER TABLE domain_moves ADD COLUMN IF NOT EXISTS reason_code VARCHAR(50);
ALTER TABLE domain_moves ADD COLUMN IF NOT EXISTS reason TEXT;
ALTER TABLE domain_moves ADD COLUMN IF NOT EXISTS holder VARCHAR(255);

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'fk_domain_moves_domain_id' AND conrelid = 'domain_moves'::regclass) THEN
        ALTER TABLE domain_moves ADD CONSTRAINT fk_domain_moves_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE CASCADE;
    END IF;
END
$$;

CREATE INDEX IF NOT EXISTS idx_domain_moves_host ON domain_moves (domain_id, id);

CREATE TABLE IF NOT EXISTS evidence (
    id BIGSERIAL NOT NULL,
    run_id UUID,
    domain_id UUID,
    url TEXT NOT NULL,
    url_key BIGINT NOT NULL,
    type VARCHAR(40) NOT NULL,
    content JSONB NOT NULL,
    metadata JSONB,
    confidence VARCHAR(10) DEFAULT 'high' NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
    CONSTRAINT pk_evidence PRIMARY KEY (id),
    CONSTRAINT fk_evidence_run_id FOREIGN KEY(run_id) REFERENCES crawl_runs (id) ON DELETE SET NULL,
    CONSTRAINT fk_evidence_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE CASCADE
);

ALTER TABLE evidence ADD COLUMN IF NOT EXISTS run_id UUID;
ALTER TABLE evidence ADD COLUMN IF NOT EXISTS domain_id UUID;
ALTER TABLE evidence ADD COLUMN IF NOT EXISTS url TEXT;
ALTER TABLE evidence ADD COLUMN IF NOT EXISTS url_key BIGINT;
ALTER TABLE evidence ADD COLUMN IF NOT EXISTS type VARCHAR(40);
ALTER TABLE evidence ADD COLUMN IF NOT EXISTS content JSONB;
ALTER TABLE evidence ADD COLUMN IF NOT EXISTS metadata JSONB;
ALTER TABLE evidence ADD COLUMN IF NOT EXISTS confidence VARCHAR(10) DEFAULT 'high' NOT NULL;
ALTER TABLE evidence ADD COLUMN IF NOT EXISTS created_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'fk_evidence_domain_id' AND conrelid = 'evidence'::regclass) THEN
        ALTER TABLE evidence ADD CONSTRAINT fk_evidence_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE CASCADE;
    END IF;
END
$$;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'fk_evidence_run_id' AND conrelid = 'evidence'::regclass) THEN
        ALTER TABLE evidence ADD CONSTRAINT fk_evidence_run_id FOREIGN KEY(run_id) REFERENCES crawl_runs (id) ON DELETE SET NULL;
    END IF;
END
$$;

CREATE INDEX IF NOT EXISTS idx_evidence_domain ON evidence (domain_id, created_at);
CREATE INDEX IF NOT EXISTS idx_evidence_url ON evidence (url_key);

CREATE TABLE IF NOT EXISTS fetches (
    id BIGSERIAL NOT NULL,
    run_id UUID,
    domain_id UUID,
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
    crawled_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
    discovery_type VARCHAR(20) DEFAULT 'discovery' NOT NULL,
    images_read BOOLEAN DEFAULT false NOT NULL,
    columns_key BIGINT,
    CONSTRAINT pk_fetches PRIMARY KEY (id),
    CONSTRAINT fk_fetches_run_id FOREIGN KEY(run_id) REFERENCES crawl_runs (id) ON DELETE SET NULL,
    CONSTRAINT fk_fetches_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE SET NULL
);

ALTER TABLE fetches ADD COLUMN IF NOT EXISTS run_id UUID;
ALTER TABLE fetches ADD COLUMN IF NOT EXISTS domain_id UUID;
ALTER TABLE fetches ADD COLUMN IF NOT EXISTS domain VARCHAR(260);
ALTER TABLE fetches ADD COLUMN IF NOT EXISTS page_url TEXT;
ALTER TABLE fetches ADD COLUMN IF NOT EXISTS url_key BIGINT;
ALTER TABLE fetches ADD COLUMN IF NOT EXISTS final_url TEXT;
ALTER TABLE fetches ADD COLUMN IF NOT EXISTS redirect_count SMALLINT DEFAULT 0 NOT NULL;
ALTER TABLE fetches ADD COLUMN IF NOT EXISTS outcome VARCHAR(30);
ALTER TABLE fetches ADD COLUMN IF NOT EXISTS status INTEGER;
ALTER TABLE fetches ADD COLUMN IF NOT EXISTS error TEXT;
ALTER TABLE fetches ADD COLUMN IF NOT EXISTS content_type TEXT;
ALTER TABLE fetches ADD COLUMN IF NOT EXISTS content_hash VARCHAR(32);
ALTER TABLE fetches ADD COLUMN IF NOT EXISTS etag TEXT;
ALTER TABLE fetches ADD COLUMN IF NOT EXISTS last_modified TEXT;
ALTER TABLE fetches ADD COLUMN IF NOT EXISTS bytes_received BIGINT DEFAULT 0 NOT NULL;
ALTER TABLE fetches ADD COLUMN IF NOT EXISTS duration_ms INTEGER;
ALTER TABLE fetches ADD COLUMN IF NOT EXISTS depth INTEGER DEFAULT 0 NOT NULL;
ALTER TABLE fetches ADD COLUMN IF NOT EXISTS images_found INTEGER DEFAULT 0 NOT NULL;
ALTER TABLE fetches ADD COLUMN IF NOT EXISTS crawled_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL;
ALTER TABLE fetches ADD COLUMN IF NOT EXISTS discovery_type VARCHAR(20) DEFAULT 'discovery' NOT NULL;
ALTER TABLE fetches ADD COLUMN IF NOT EXISTS images_read BOOLEAN DEFAULT false NOT NULL;
ALTER TABLE fetches ADD COLUMN IF NOT EXISTS columns_key BIGINT;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'fk_fetches_domain_id' AND conrelid = 'fetches'::regclass) THEN
        ALTER TABLE fetches ADD CONSTRAINT fk_fetches_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE SET NULL;
    END IF;
END
$$;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'fk_fetches_run_id' AND conrelid = 'fetches'::regclass) THEN
        ALTER TABLE fetches ADD CONSTRAINT fk_fetches_run_id FOREIGN KEY(run_id) REFERENCES crawl_runs (id) ON DELETE SET NULL;
    END IF;
END
$$;

CREATE INDEX IF NOT EXISTS idx_fetches_domain ON fetches (domain, crawled_at);
CREATE INDEX IF NOT EXISTS idx_fetches_url ON fetches (url_key);
CREATE UNIQUE INDEX IF NOT EXISTS uq_fetches_run_url ON fetches (run_id, crawled_at, url_key);

CREATE TABLE IF NOT EXISTS frontier_epochs (
    domain_id UUID NOT NULL,
    epoch VARCHAR(16) NOT NULL,
    batch BIGINT DEFAULT 0 NOT NULL,
    CONSTRAINT pk_frontier_epochs PRIMARY KEY (domain_id),
    CONSTRAINT fk_frontier_epochs_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE CASCADE
);

ALTER TABLE frontier_epochs ADD COLUMN IF NOT EXISTS epoch VARCHAR(16);
ALTER TABLE frontier_epochs ADD COLUMN IF NOT EXISTS batch BIGINT DEFAULT 0 NOT NULL;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'fk_frontier_epochs_domain_id' AND conrelid = 'frontier_epochs'::regclass) THEN
        ALTER TABLE frontier_epochs ADD CONSTRAINT fk_frontier_epochs_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE CASCADE;
    END IF;
END
$$;

CREATE TABLE IF NOT EXISTS frontier_journal (
    domain_id UUID NOT NULL,
    batch BIGINT NOT NULL,
    payload BYTEA NOT NULL,
    CONSTRAINT pk_frontier_journal PRIMARY KEY (domain_id, batch),
    CONSTRAINT fk_frontier_journal_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE CASCADE
);

ALTER TABLE frontier_journal ADD COLUMN IF NOT EXISTS payload BYTEA;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'fk_frontier_journal_domain_id' AND conrelid = 'frontier_journal'::regclass) THEN
        ALTER TABLE frontier_journal ADD CONSTRAINT fk_frontier_journal_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE CASCADE;
    END IF;
END
$$;

CREATE TABLE IF NOT EXISTS grants (
    id UUID DEFAULT gen_random_uuid() NOT NULL,
    domain_id UUID NOT NULL,
    client VARCHAR(100) NOT NULL,
    url TEXT NOT NULL,
    slot_at TIMESTAMP WITH TIME ZONE NOT NULL,
    slot_ends_at TIMESTAMP WITH TIME ZONE NOT NULL,
    slot JSONB NOT NULL,
    lease_token BIGINT NOT NULL,
    expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
    is_open BOOLEAN DEFAULT true NOT NULL,
    outcome VARCHAR(20),
    granted_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
    ended_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_grants PRIMARY KEY (id),
    CONSTRAINT ck_grants_outcome CHECK (outcome IN ('reported', 'released', 'expired')),
    CONSTRAINT fk_grants_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE CASCADE
);

ALTER TABLE grants ADD COLUMN IF NOT EXISTS domain_id UUID;
ALTER TABLE grants ADD COLUMN IF NOT EXISTS client VARCHAR(100);
ALTER TABLE grants ADD COLUMN IF NOT EXISTS url TEXT;
ALTER TABLE grants ADD COLUMN IF NOT EXISTS slot_at TIMESTAMP WITH TIME ZONE;
ALTER TABLE grants ADD COLUMN IF NOT EXISTS slot_ends_at TIMESTAMP WITH TIME ZONE;
ALTER TABLE grants ADD COLUMN IF NOT EXISTS slot JSONB;
ALTER TABLE grants ADD COLUMN IF NOT EXISTS lease_token BIGINT;
ALTER TABLE grants ADD COLUMN IF NOT EXISTS expires_at TIMESTAMP WITH TIME ZONE;
ALTER TABLE grants ADD COLUMN IF NOT EXISTS is_open BOOLEAN DEFAULT true NOT NULL;
ALTER TABLE grants ADD COLUMN IF NOT EXISTS outcome VARCHAR(20);
ALTER TABLE grants ADD COLUMN IF NOT EXISTS granted_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL;
ALTER TABLE grants ADD COLUMN IF NOT EXISTS ended_at TIMESTAMP WITH TIME ZONE;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'ck_grants_outcome' AND conrelid = 'grants'::regclass) THEN
        ALTER TABLE grants ADD CONSTRAINT ck_grants_outcome CHECK (outcome IN ('reported', 'released', 'expired')) NOT VALID;
    END IF;
END
$$;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'fk_grants_domain_id' AND conrelid = 'grants'::regclass) THEN
        ALTER TABLE grants ADD CONSTRAINT fk_grants_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE CASCADE;
    END IF;
END
$$;

CREATE INDEX IF NOT EXISTS idx_grants_expiry ON grants (expires_at) WHERE is_open;
CREATE INDEX IF NOT EXISTS idx_grants_granted_at ON grants (granted_at);
CREATE INDEX IF NOT EXISTS idx_grants_open ON grants (domain_id, expires_at) WHERE is_open;

CREATE TABLE IF NOT EXISTS image_sightings (
    domain_id UUID NOT NULL,
    url_key BIGINT NOT NULL,
    page_key BIGINT NOT NULL,
    page_url TEXT NOT NULL,
    discovery_type VARCHAR(20) DEFAULT 'discovery' NOT NULL,
    found_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
    CONSTRAINT pk_image_sightings PRIMARY KEY (domain_id, url_key, page_key),
    CONSTRAINT fk_image_sightings_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE CASCADE
);

ALTER TABLE image_sightings ADD COLUMN IF NOT EXISTS page_url TEXT;
ALTER TABLE image_sightings ADD COLUMN IF NOT EXISTS discovery_type VARCHAR(20) DEFAULT 'discovery' NOT NULL;
ALTER TABLE image_sightings ADD COLUMN IF NOT EXISTS found_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'fk_image_sightings_domain_id' AND conrelid = 'image_sightings'::regclass) THEN
        ALTER TABLE image_sightings ADD CONSTRAINT fk_image_sightings_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE CASCADE;
    END IF;
END
$$;

CREATE TABLE IF NOT EXISTS image_urls (
    domain_id UUID NOT NULL,
    url_key BIGINT NOT NULL,
    url TEXT NOT NULL,
    image_id BIGINT,
    asked_at TIMESTAMP WITH TIME ZONE,
    status INTEGER,
    error TEXT,
    final_url TEXT,
    etag TEXT,
    last_modified TEXT,
    CONSTRAINT pk_image_urls PRIMARY KEY (domain_id, url_key),
    CONSTRAINT fk_image_urls_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE CASCADE,
    CONSTRAINT fk_image_urls_image_id FOREIGN KEY(image_id) REFERENCES images (id) ON DELETE SET NULL
);

ALTER TABLE image_urls ADD COLUMN IF NOT EXISTS url TEXT;
ALTER TABLE image_urls ADD COLUMN IF NOT EXISTS image_id BIGINT;
ALTER TABLE image_urls ADD COLUMN IF NOT EXISTS asked_at TIMESTAMP WITH TIME ZONE;
ALTER TABLE image_urls ADD COLUMN IF NOT EXISTS status INTEGER;
ALTER TABLE image_urls ADD COLUMN IF NOT EXISTS error TEXT;
ALTER TABLE image_urls ADD COLUMN IF NOT EXISTS final_url TEXT;
ALTER TABLE image_urls ADD COLUMN IF NOT EXISTS etag TEXT;
ALTER TABLE image_urls ADD COLUMN IF NOT EXISTS last_modified TEXT;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'fk_image_urls_domain_id' AND conrelid = 'image_urls'::regclass) THEN
        ALTER TABLE image_urls ADD CONSTRAINT fk_image_urls_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE CASCADE;
    END IF;
END
$$;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'fk_image_urls_image_id' AND conrelid = 'image_urls'::regclass) THEN
        ALTER TABLE image_urls ADD CONSTRAINT fk_image_urls_image_id FOREIGN KEY(image_id) REFERENCES images (id) ON DELETE SET NULL;
    END IF;
END
$$;

CREATE INDEX IF NOT EXISTS idx_image_urls_image ON image_urls (image_id);

CREATE TABLE IF NOT EXISTS job_sightings (
    source_id UUID NOT NULL,
    posting_id UUID NOT NULL,
    page_number SMALLINT DEFAULT 0 NOT NULL,
    seen_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
    CONSTRAINT pk_job_sightings PRIMARY KEY (source_id, posting_id),
    CONSTRAINT fk_job_sightings_source_id FOREIGN KEY(source_id) REFERENCES sources (id) ON DELETE CASCADE,
    CONSTRAINT fk_job_sightings_posting_id FOREIGN KEY(posting_id) REFERENCES job_postings (id) ON DELETE CASCADE
);

ALTER TABLE job_sightings ADD COLUMN IF NOT EXISTS page_number SMALLINT DEFAULT 0 NOT NULL;
ALTER TABLE job_sightings ADD COLUMN IF NOT EXISTS seen_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'fk_job_sightings_posting_id' AND conrelid = 'job_sightings'::regclass) THEN
        ALTER TABLE job_sightings ADD CONSTRAINT fk_job_sightings_posting_id FOREIGN KEY(posting_id) REFERENCES job_postings (id) ON DELETE CASCADE;
    END IF;
END
$$;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'fk_job_sightings_source_id' AND conrelid = 'job_sightings'::regclass) THEN
        ALTER TABLE job_sightings ADD CONSTRAINT fk_job_sightings_source_id FOREIGN KEY(source_id) REFERENCES sources (id) ON DELETE CASCADE;
    END IF;
END
$$;

CREATE INDEX IF NOT EXISTS idx_job_sightings_posting_id ON job_sightings (posting_id);

CREATE TABLE IF NOT EXISTS left_out_urls (
    url_key BIGINT NOT NULL,
    domain_id UUID NOT NULL,
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
);

ALTER TABLE left_out_urls ADD COLUMN IF NOT EXISTS url TEXT;
ALTER TABLE left_out_urls ADD COLUMN IF NOT EXISTS depth INTEGER;
ALTER TABLE left_out_urls ADD COLUMN IF NOT EXISTS is_image BOOLEAN;
ALTER TABLE left_out_urls ADD COLUMN IF NOT EXISTS found_by SMALLINT;
ALTER TABLE left_out_urls ADD COLUMN IF NOT EXISTS found_on BIGINT;
ALTER TABLE left_out_urls ADD COLUMN IF NOT EXISTS rule VARCHAR(10);
ALTER TABLE left_out_urls ADD COLUMN IF NOT EXISTS pattern VARCHAR(200);
ALTER TABLE left_out_urls ADD COLUMN IF NOT EXISTS is_of_policy BOOLEAN;
ALTER TABLE left_out_urls ADD COLUMN IF NOT EXISTS seen_at BIGINT DEFAULT 0 NOT NULL;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'fk_left_out_urls_domain_id' AND conrelid = 'left_out_urls'::regclass) THEN
        ALTER TABLE left_out_urls ADD CONSTRAINT fk_left_out_urls_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE CASCADE;
    END IF;
END
$$;

CREATE INDEX IF NOT EXISTS idx_left_out_urls_domain ON left_out_urls (domain_id, url_key);

CREATE TABLE IF NOT EXISTS provenance (
    id BIGSERIAL NOT NULL,
    image_id BIGINT NOT NULL,
    page_key BIGINT NOT NULL,
    page_url TEXT NOT NULL,
    source_domain VARCHAR(260) NOT NULL,
    domain_id UUID,
    discovery_type VARCHAR(20) DEFAULT 'discovery' NOT NULL,
    found_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
    CONSTRAINT pk_provenance PRIMARY KEY (id),
    CONSTRAINT fk_provenance_image_id FOREIGN KEY(image_id) REFERENCES images (id) ON DELETE CASCADE,
    CONSTRAINT fk_provenance_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE SET NULL
);

ALTER TABLE provenance ADD COLUMN IF NOT EXISTS image_id BIGINT;
ALTER TABLE provenance ADD COLUMN IF NOT EXISTS page_key BIGINT;
ALTER TABLE provenance ADD COLUMN IF NOT EXISTS page_url TEXT;
ALTER TABLE provenance ADD COLUMN IF NOT EXISTS source_domain VARCHAR(260);
ALTER TABLE provenance ADD COLUMN IF NOT EXISTS domain_id UUID;
ALTER TABLE provenance ADD COLUMN IF NOT EXISTS discovery_type VARCHAR(20) DEFAULT 'discovery' NOT NULL;
ALTER TABLE provenance ADD COLUMN IF NOT EXISTS found_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'fk_provenance_domain_id' AND conrelid = 'provenance'::regclass) THEN
        ALTER TABLE provenance ADD CONSTRAINT fk_provenance_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE SET NULL;
    END IF;
END
$$;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'fk_provenance_image_id' AND conrelid = 'provenance'::regclass) THEN
        ALTER TABLE provenance ADD CONSTRAINT fk_provenance_image_id FOREIGN KEY(image_id) REFERENCES images (id) ON DELETE CASCADE;
    END IF;
END
$$;

CREATE INDEX IF NOT EXISTS idx_provenance_image ON provenance (image_id);
CREATE INDEX IF NOT EXISTS idx_provenance_source_domain ON provenance (source_domain);
CREATE UNIQUE INDEX IF NOT EXISTS uq_provenance_page_image ON provenance (page_key, image_id, discovery_type);

CREATE TABLE IF NOT EXISTS unqueued_notes (
    id BIGSERIAL NOT NULL,
    domain_id UUID NOT NULL,
    url_keys BYTEA NOT NULL,
    details BYTEA NOT NULL,
    CONSTRAINT pk_unqueued_notes PRIMARY KEY (id),
    CONSTRAINT fk_unqueued_notes_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE CASCADE
);

ALTER TABLE unqueued_notes ADD COLUMN IF NOT EXISTS domain_id UUID;
ALTER TABLE unqueued_notes ADD COLUMN IF NOT EXISTS url_keys BYTEA;
ALTER TABLE unqueued_notes ADD COLUMN IF NOT EXISTS details BYTEA;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'fk_unqueued_notes_domain_id' AND conrelid = 'unqueued_notes'::regclass) THEN
        ALTER TABLE unqueued_notes ADD CONSTRAINT fk_unqueued_notes_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE CASCADE;
    END IF;
END
$$;

CREATE INDEX IF NOT EXISTS idx_unqueued_notes_domain ON unqueued_notes (domain_id);

CREATE TABLE IF NOT EXISTS visit_list_hosts (
    id UUID DEFAULT gen_random_uuid() NOT NULL,
    list_id UUID NOT NULL,
    domain_id UUID NOT NULL,
    CONSTRAINT pk_visit_list_hosts PRIMARY KEY (id),
    CONSTRAINT fk_visit_list_hosts_list_id FOREIGN KEY(list_id) REFERENCES visit_lists (id) ON DELETE CASCADE,
    CONSTRAINT fk_visit_list_hosts_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE CASCADE
);

ALTER TABLE visit_list_hosts ADD COLUMN IF NOT EXISTS list_id UUID;
ALTER TABLE visit_list_hosts ADD COLUMN IF NOT EXISTS domain_id UUID;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'fk_visit_list_hosts_domain_id' AND conrelid = 'visit_list_hosts'::regclass) THEN
        ALTER TABLE visit_list_hosts ADD CONSTRAINT fk_visit_list_hosts_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE CASCADE;
    END IF;
END
$$;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'fk_visit_list_hosts_list_id' AND conrelid = 'visit_list_hosts'::regclass) THEN
        ALTER TABLE visit_list_hosts ADD CONSTRAINT fk_visit_list_hosts_list_id FOREIGN KEY(list_id) REFERENCES visit_lists (id) ON DELETE CASCADE;
    END IF;
END
$$;

CREATE INDEX IF NOT EXISTS idx_visit_list_hosts_domain ON visit_list_hosts (domain_id);
CREATE UNIQUE INDEX IF NOT EXISTS uq_visit_list_hosts_host ON visit_list_hosts (list_id, domain_id);

CREATE TABLE IF NOT EXISTS crawl_jobs (
    id UUID DEFAULT gen_random_uuid() NOT NULL,
    policy_id UUID,
    domain_id UUID,
    url VARCHAR(2048) NOT NULL,
    status VARCHAR(20) DEFAULT 'pending' NOT NULL,
    priority INTEGER DEFAULT 5 NOT NULL,
    locked_by VARCHAR(100),
    locked_at TIMESTAMP WITH TIME ZONE,
    lock_ttl_seconds INTEGER DEFAULT 600 NOT NULL,
    lock_ends_at TIMESTAMP WITH TIME ZONE,
    retry_count INTEGER DEFAULT 0 NOT NULL,
    max_retries INTEGER DEFAULT 3 NOT NULL,
    error_msg TEXT,
    crawl_config JSONB,
    not_before TIMESTAMP WITH TIME ZONE,
    first_priority INTEGER,
    ages_at TIMESTAMP WITH TIME ZONE,
    expiry_count INTEGER DEFAULT 0 NOT NULL,
    moved_by VARCHAR(120),
    move_reason TEXT,
    slot_at TIMESTAMP WITH TIME ZONE,
    slot_ends_at TIMESTAMP WITH TIME ZONE,
    slot JSONB,
    lease_token BIGINT,
    submitted_by VARCHAR(100),
    submission_digest VARCHAR(32),
    submission_answer JSONB,
    finished_at TIMESTAMP WITH TIME ZONE,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
    updated_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
    CONSTRAINT pk_crawl_jobs PRIMARY KEY (id),
    CONSTRAINT ck_crawl_jobs_status CHECK (status IN ('pending', 'locked', 'done', 'failed', 'expired')),
    CONSTRAINT ck_crawl_jobs_lock_has_bot_and_time CHECK (status <> 'locked' OR (locked_by IS NOT NULL AND locked_at IS NOT NULL)),
    CONSTRAINT ck_crawl_jobs_lock_ttl_seconds_at_least_1 CHECK (lock_ttl_seconds >= 1),
    CONSTRAINT fk_crawl_jobs_policy_id FOREIGN KEY(policy_id) REFERENCES crawl_policies (id) ON DELETE CASCADE,
    CONSTRAINT fk_crawl_jobs_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE CASCADE
);

ALTER TABLE crawl_jobs ADD COLUMN IF NOT EXISTS policy_id UUID;
ALTER TABLE crawl_jobs ADD COLUMN IF NOT EXISTS domain_id UUID;
ALTER TABLE crawl_jobs ADD COLUMN IF NOT EXISTS url VARCHAR(2048);
ALTER TABLE crawl_jobs ADD COLUMN IF NOT EXISTS status VARCHAR(20) DEFAULT 'pending' NOT NULL;
ALTER TABLE crawl_jobs ADD COLUMN IF NOT EXISTS priority INTEGER DEFAULT 5 NOT NULL;
ALTER TABLE crawl_jobs ADD COLUMN IF NOT EXISTS locked_by VARCHAR(100);
ALTER TABLE crawl_jobs ADD COLUMN IF NOT EXISTS locked_at TIMESTAMP WITH TIME ZONE;
ALTER TABLE crawl_jobs ADD COLUMN IF NOT EXISTS lock_ttl_seconds INTEGER DEFAULT 600 NOT NULL;
ALTER TABLE crawl_jobs ADD COLUMN IF NOT EXISTS lock_ends_at TIMESTAMP WITH TIME ZONE;
ALTER TABLE crawl_jobs ADD COLUMN IF NOT EXISTS retry_count INTEGER DEFAULT 0 NOT NULL;
ALTER TABLE crawl_jobs ADD COLUMN IF NOT EXISTS max_retries INTEGER DEFAULT 3 NOT NULL;
ALTER TABLE crawl_jobs ADD COLUMN IF NOT EXISTS error_msg TEXT;
ALTER TABLE crawl_jobs ADD COLUMN IF NOT EXISTS crawl_config JSONB;
ALTER TABLE crawl_jobs ADD COLUMN IF NOT EXISTS not_before TIMESTAMP WITH TIME ZONE;
ALTER TABLE crawl_jobs ADD COLUMN IF NOT EXISTS first_priority INTEGER;
ALTER TABLE crawl_jobs ADD COLUMN IF NOT EXISTS ages_at TIMESTAMP WITH TIME ZONE;
ALTER TABLE crawl_jobs ADD COLUMN IF NOT EXISTS expiry_count INTEGER DEFAULT 0 NOT NULL;
ALTER TABLE crawl_jobs ADD COLUMN IF NOT EXISTS moved_by VARCHAR(120);
ALTER TABLE crawl_jobs ADD COLUMN IF NOT EXISTS move_reason TEXT;
ALTER TABLE crawl_jobs ADD COLUMN IF NOT EXISTS slot_at TIMESTAMP WITH TIME ZONE;
ALTER TABLE crawl_jobs ADD COLUMN IF NOT EXISTS slot_ends_at TIMESTAMP WITH TIME ZONE;
ALTER TABLE crawl_jobs ADD COLUMN IF NOT EXISTS slot JSONB;
ALTER TABLE crawl_jobs ADD COLUMN IF NOT EXISTS lease_token BIGINT;
ALTER TABLE crawl_jobs ADD COLUMN IF NOT EXISTS submitted_by VARCHAR(100);
ALTER TABLE crawl_jobs ADD COLUMN IF NOT EXISTS submission_digest VARCHAR(32);
ALTER TABLE crawl_jobs ADD COLUMN IF NOT EXISTS submission_answer JSONB;
ALTER TABLE crawl_jobs ADD COLUMN IF NOT EXISTS finished_at TIMESTAMP WITH TIME ZONE;
ALTER TABLE crawl_jobs ADD COLUMN IF NOT EXISTS created_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL;
ALTER TABLE crawl_jobs ADD COLUMN IF NOT EXISTS updated_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'ck_crawl_jobs_lock_has_bot_and_time' AND conrelid = 'crawl_jobs'::regclass) THEN
        ALTER TABLE crawl_jobs ADD CONSTRAINT ck_crawl_jobs_lock_has_bot_and_time CHECK (status <> 'locked' OR (locked_by IS NOT NULL AND locked_at IS NOT NULL)) NOT VALID;
    END IF;
END
$$;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'ck_crawl_jobs_lock_ttl_seconds_at_least_1' AND conrelid = 'crawl_jobs'::regclass) THEN
        ALTER TABLE crawl_jobs ADD CONSTRAINT ck_crawl_jobs_lock_ttl_seconds_at_least_1 CHECK (lock_ttl_seconds >= 1) NOT VALID;
    END IF;
END
$$;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'ck_crawl_jobs_status' AND conrelid = 'crawl_jobs'::regclass) THEN
        ALTER TABLE crawl_jobs ADD CONSTRAINT ck_crawl_jobs_status CHECK (status IN ('pending', 'locked', 'done', 'failed', 'expired')) NOT VALID;
    END IF;
END
$$;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'fk_crawl_jobs_domain_id' AND conrelid = 'crawl_jobs'::regclass) THEN
        ALTER TABLE crawl_jobs ADD CONSTRAINT fk_crawl_jobs_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE CASCADE;
    END IF;
END
$$;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'fk_crawl_jobs_policy_id' AND conrelid = 'crawl_jobs'::regclass) THEN
        ALTER TABLE crawl_jobs ADD CONSTRAINT fk_crawl_jobs_policy_id FOREIGN KEY(policy_id) REFERENCES crawl_policies (id) ON DELETE CASCADE;
    END IF;
END
$$;

CREATE INDEX IF NOT EXISTS idx_crawl_jobs_ages ON crawl_jobs (ages_at) WHERE status IN ('pending', 'expired') AND not_before IS NULL AND ages_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS idx_crawl_jobs_created_at ON crawl_jobs (created_at);
CREATE INDEX IF NOT EXISTS idx_crawl_jobs_domain ON crawl_jobs (domain_id, status, created_at, id);
CREATE INDEX IF NOT EXISTS idx_crawl_jobs_failed ON crawl_jobs (finished_at) WHERE status = 'failed';
CREATE INDEX IF NOT EXISTS idx_crawl_jobs_host ON crawl_jobs (domain_id, priority DESC, created_at) WHERE status IN ('pending', 'expired') AND not_before IS NULL;
CREATE INDEX IF NOT EXISTS idx_crawl_jobs_hostless ON crawl_jobs (created_at) WHERE domain_id IS NULL AND not_before IS NULL;
CREATE INDEX IF NOT EXISTS idx_crawl_jobs_lock ON crawl_jobs (locked_by, locked_at);
CREATE INDEX IF NOT EXISTS idx_crawl_jobs_lock_ends ON crawl_jobs (lock_ends_at) WHERE status = 'locked';
CREATE INDEX IF NOT EXISTS idx_crawl_jobs_locked ON crawl_jobs (domain_id, locked_at) WHERE status = 'locked';
CREATE INDEX IF NOT EXISTS idx_crawl_jobs_parked ON crawl_jobs (not_before, id) WHERE not_before IS NOT NULL;
CREATE INDEX IF NOT EXISTS idx_crawl_jobs_policy ON crawl_jobs (policy_id, status, created_at, id);
CREATE INDEX IF NOT EXISTS idx_crawl_jobs_priority ON crawl_jobs (priority DESC, status);
CREATE INDEX IF NOT EXISTS idx_crawl_jobs_pull ON crawl_jobs (status, priority DESC, created_at, id);
CREATE INDEX IF NOT EXISTS idx_crawl_jobs_status ON crawl_jobs (status, created_at, id);
CREATE INDEX IF NOT EXISTS idx_crawl_jobs_url ON crawl_jobs (url);
CREATE UNIQUE INDEX IF NOT EXISTS uq_crawl_jobs_open ON crawl_jobs (policy_id) WHERE status IN ('pending', 'locked', 'expired');

CREATE TABLE IF NOT EXISTS crawl_job_moves (
    id BIGSERIAL NOT NULL,
    job_id UUID NOT NULL,
    before VARCHAR(20),
    after VARCHAR(20) NOT NULL,
    actor VARCHAR(120),
    reason TEXT,
    moved_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
    CONSTRAINT pk_crawl_job_moves PRIMARY KEY (id),
    CONSTRAINT fk_crawl_job_moves_job_id FOREIGN KEY(job_id) REFERENCES crawl_jobs (id) ON DELETE CASCADE
);

ALTER TABLE crawl_job_moves ADD COLUMN IF NOT EXISTS job_id UUID;
ALTER TABLE crawl_job_moves ADD COLUMN IF NOT EXISTS before VARCHAR(20);
ALTER TABLE crawl_job_moves ADD COLUMN IF NOT EXISTS after VARCHAR(20);
ALTER TABLE crawl_job_moves ADD COLUMN IF NOT EXISTS actor VARCHAR(120);
ALTER TABLE crawl_job_moves ADD COLUMN IF NOT EXISTS reason TEXT;
ALTER TABLE crawl_job_moves ADD COLUMN IF NOT EXISTS moved_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'fk_crawl_job_moves_job_id' AND conrelid = 'crawl_job_moves'::regclass) THEN
        ALTER TABLE crawl_job_moves ADD CONSTRAINT fk_crawl_job_moves_job_id FOREIGN KEY(job_id) REFERENCES crawl_jobs (id) ON DELETE CASCADE;
    END IF;
END
$$;

CREATE INDEX IF NOT EXISTS idx_crawl_job_moves_job ON crawl_job_moves (job_id, id);

CREATE TABLE IF NOT EXISTS crawl_results (
    id UUID DEFAULT gen_random_uuid() NOT NULL,
    job_id UUID NOT NULL,
    policy_id UUID,
    url VARCHAR(2048) NOT NULL,
    price NUMERIC(18, 4),
    currency VARCHAR(3),
    title VARCHAR(500),
    in_stock BOOLEAN,
    parsed_data JSONB,
    raw_html BYTEA,
    raw_html_bytes INTEGER,
    bot_id VARCHAR(100),
    crawled_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
    CONSTRAINT pk_crawl_results PRIMARY KEY (id),
    CONSTRAINT uq_crawl_results_job_id UNIQUE (job_id),
    CONSTRAINT fk_crawl_results_job_id FOREIGN KEY(job_id) REFERENCES crawl_jobs (id) ON DELETE CASCADE,
    CONSTRAINT fk_crawl_results_policy_id FOREIGN KEY(policy_id) REFERENCES crawl_policies (id) ON DELETE SET NULL
);

ALTER TABLE crawl_results ADD COLUMN IF NOT EXISTS job_id UUID;
ALTER TABLE crawl_results ADD COLUMN IF NOT EXISTS policy_id UUID;
ALTER TABLE crawl_results ADD COLUMN IF NOT EXISTS url VARCHAR(2048);
ALTER TABLE crawl_results ADD COLUMN IF NOT EXISTS price NUMERIC(18, 4);
ALTER TABLE crawl_results ADD COLUMN IF NOT EXISTS currency VARCHAR(3);
ALTER TABLE crawl_results ADD COLUMN IF NOT EXISTS title VARCHAR(500);
ALTER TABLE crawl_results ADD COLUMN IF NOT EXISTS in_stock BOOLEAN;
ALTER TABLE crawl_results ADD COLUMN IF NOT EXISTS parsed_data JSONB;
ALTER TABLE crawl_results ADD COLUMN IF NOT EXISTS raw_html BYTEA;
ALTER TABLE crawl_results ADD COLUMN IF NOT EXISTS raw_html_bytes INTEGER;
ALTER TABLE crawl_results ADD COLUMN IF NOT EXISTS bot_id VARCHAR(100);
ALTER TABLE crawl_results ADD COLUMN IF NOT EXISTS crawled_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL;
ALTER TABLE crawl_results ADD COLUMN IF NOT EXISTS created_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'fk_crawl_results_job_id' AND conrelid = 'crawl_results'::regclass) THEN
        ALTER TABLE crawl_results ADD CONSTRAINT fk_crawl_results_job_id FOREIGN KEY(job_id) REFERENCES crawl_jobs (id) ON DELETE CASCADE;
    END IF;
END
$$;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'fk_crawl_results_policy_id' AND conrelid = 'crawl_results'::regclass) THEN
        ALTER TABLE crawl_results ADD CONSTRAINT fk_crawl_results_policy_id FOREIGN KEY(policy_id) REFERENCES crawl_policies (id) ON DELETE SET NULL;
    END IF;
END
$$;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'uq_crawl_results_job_id' AND conrelid = 'crawl_results'::regclass) THEN
        ALTER TABLE crawl_results ADD CONSTRAINT uq_crawl_results_job_id UNIQUE (job_id);
    END IF;
END
$$;

CREATE INDEX IF NOT EXISTS idx_crawl_results_bot ON crawl_results (bot_id, created_at, id);
CREATE INDEX IF NOT EXISTS idx_crawl_results_created_at ON crawl_results (created_at, id);
CREATE INDEX IF NOT EXISTS idx_crawl_results_currency ON crawl_results (currency, created_at, id);
CREATE INDEX IF NOT EXISTS idx_crawl_results_in_stock ON crawl_results (in_stock, created_at, id);
CREATE INDEX IF NOT EXISTS idx_crawl_results_policy ON crawl_results (policy_id, crawled_at, id);

CREATE TABLE IF NOT EXISTS late_submissions (
    id UUID DEFAULT gen_random_uuid() NOT NULL,
    job_id UUID NOT NULL,
    bot_id VARCHAR(100) NOT NULL,
    submission_digest VARCHAR(32) NOT NULL,
    content JSONB NOT NULL,
    raw_html BYTEA,
    raw_html_bytes INTEGER,
    received_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
    CONSTRAINT pk_late_submissions PRIMARY KEY (id),
    CONSTRAINT fk_late_submissions_job_id FOREIGN KEY(job_id) REFERENCES crawl_jobs (id) ON DELETE CASCADE
);

ALTER TABLE late_submissions ADD COLUMN IF NOT EXISTS job_id UUID;
ALTER TABLE late_submissions ADD COLUMN IF NOT EXISTS bot_id VARCHAR(100);
ALTER TABLE late_submissions ADD COLUMN IF NOT EXISTS submission_digest VARCHAR(32);
ALTER TABLE late_submissions ADD COLUMN IF NOT EXISTS content JSONB;
ALTER TABLE late_submissions ADD COLUMN IF NOT EXISTS raw_html BYTEA;
ALTER TABLE late_submissions ADD COLUMN IF NOT EXISTS raw_html_bytes INTEGER;
ALTER TABLE late_submissions ADD COLUMN IF NOT EXISTS received_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conname = 'fk_late_submissions_job_id' AND conrelid = 'late_submissions'::regclass) THEN
        ALTER TABLE late_submissions ADD CONSTRAINT fk_late_submissions_job_id FOREIGN KEY(job_id) REFERENCES crawl_jobs (id) ON DELETE CASCADE;
    END IF;
END
$$;

CREATE INDEX IF NOT EXISTS idx_late_submissions_received_at ON late_submissions (received_at, id);
CREATE UNIQUE INDEX IF NOT EXISTS uq_late_submissions ON late_submissions (job_id, bot_id, submission_digest);

DROP TRIGGER IF EXISTS domains_status_trigger ON domains;
DROP TRIGGER IF EXISTS domains_first_status_trigger ON domains;
DROP TRIGGER IF EXISTS domains_updated_at_trigger ON domains;
DROP TRIGGER IF EXISTS domains_moves_trigger ON domains;
DROP TRIGGER IF EXISTS domain_policies_history_trigger ON domain_policies;
DROP TRIGGER IF EXISTS domains_frontier_trigger ON domains;
DROP TRIGGER IF EXISTS visit_list_hosts_frontier_trigger ON visit_list_hosts;
DROP TRIGGER IF EXISTS crawl_jobs_status_trigger ON crawl_jobs;
DROP TRIGGER IF EXISTS crawl_jobs_lock_trigger ON crawl_jobs;
DROP TRIGGER IF EXISTS crawl_jobs_lock_end_trigger ON crawl_jobs;
DROP TRIGGER IF EXISTS crawl_jobs_first_status_trigger ON crawl_jobs;

CREATE OR REPLACE FUNCTION check_domain_status() RETURNS TRIGGER AS $$
BEGIN
    IF NOT ((OLD.status = 'pending' AND NEW.status IN ('active', 'blocked', 'unreachable')) OR (OLD.status = 'active' AND NEW.status IN ('active', 'exhausted', 'blocked', 'unreachable')) OR (OLD.status = 'exhausted' AND NEW.status IN ('pending', 'active')) OR (OLD.status = 'blocked' AND NEW.status IN ('pending', 'active', 'blocked')) OR (OLD.status = 'unreachable' AND NEW.status IN ('pending', 'active'))) THEN
        RAISE EXCEPTION 'illegal status change of %: % to %', OLD.domain, OLD.status, NEW.status
            USING ERRCODE = 'check_violation', CONSTRAINT = 'domains_status_trigger',
            HINT = CASE OLD.status::text WHEN 'pending' THEN 'pending may only become active, blocked or unreachable' WHEN 'active' THEN 'active may only become active, exhausted, blocked or unreachable' WHEN 'exhausted' THEN 'exhausted may only become pending or active' WHEN 'blocked' THEN 'blocked may only become pending, active or blocked' WHEN 'unreachable' THEN 'unreachable may only become pending or active' END;
    END IF;
    IF NEW.status IN ('pending', 'active') AND OLD.status NOT IN ('pending', 'active') AND NEW.next_crawl_after IS NOT DISTINCT FROM OLD.next_crawl_after THEN
        NEW.next_crawl_after = NULL;
    END IF;
    RETURN NEW;
END;
$$ LANGUAGE plpgsql;

CREATE TRIGGER domains_status_trigger BEFORE UPDATE OF status ON domains
    FOR EACH ROW EXECUTE FUNCTION check_domain_status();

CREATE OR REPLACE FUNCTION refuse_first_domain_status() RETURNS TRIGGER AS $$
BEGIN
    RAISE EXCEPTION 'illegal status of the new host %: %', NEW.domain, NEW.status
        USING ERRCODE = 'check_violation', HINT = 'a new host is pending, or, where its source begins with backfill, exhausted, blocked, unreachable';
END;
$$ LANGUAGE plpgsql;

CREATE TRIGGER domains_first_status_trigger AFTER INSERT ON domains
    FOR EACH ROW WHEN (NEW.status <> 'pending' AND NOT (coalesce(NEW.source, '') LIKE 'backfill%' AND NEW.status IN ('exhausted', 'blocked', 'unreachable'))) EXECUTE FUNCTION refuse_first_domain_status();

CREATE OR REPLACE FUNCTION update_domains_updated_at() RETURNS TRIGGER AS $$
BEGIN
    NEW.updated_at = CURRENT_TIMESTAMP;
    RETURN NEW;
END;
$$ LANGUAGE plpgsql;

CREATE TRIGGER domains_updated_at_trigger BEFORE UPDATE ON domains
    FOR EACH ROW EXECUTE FUNCTION update_domains_updated_at();

CREATE OR REPLACE FUNCTION note_domain_move() RETURNS TRIGGER AS $$
BEGIN
    INSERT INTO domain_moves (domain_id, moved_at, from_status, to_status, reason_code, reason, holder) VALUES (NEW.id, CURRENT_TIMESTAMP, OLD.status, NEW.status, CASE WHEN NEW.status IN ('blocked', 'unreachable') THEN NEW.block_reason_code END, CASE WHEN NEW.status IN ('blocked', 'unreachable') THEN NEW.block_reason END, coalesce(NEW.claimed_by, OLD.claimed_by));
    RETURN NULL;
END;
$$ LANGUAGE plpgsql;

CREATE TRIGGER domains_moves_trigger AFTER UPDATE OF status ON domains
    FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION note_domain_move();

CREATE OR REPLACE FUNCTION note_policy() RETURNS TRIGGER AS $$
BEGIN
    IF TG_OP = 'DELETE' OR (TG_OP = 'UPDATE' AND NEW.host <> OLD.host) THEN
        INSERT INTO policy_history (host, valid_from, is_deleted, max_concurrency, min_request_interval_ms)
            VALUES (OLD.host, CURRENT_TIMESTAMP, true, OLD.max_concurrency, OLD.min_request_interval_ms);
    END IF;
    IF TG_OP = 'INSERT' THEN
        INSERT INTO policy_history (host, valid_from, is_deleted, max_concurrency, min_request_interval_ms)
            VALUES (NEW.host, NEW.updated_at, false, NEW.max_concurrency, NEW.min_request_interval_ms);
    ELSIF TG_OP = 'UPDATE' THEN
        IF (NEW.host, NEW.max_concurrency, NEW.min_request_interval_ms)
            IS DISTINCT FROM (OLD.host, OLD.max_concurrency, OLD.min_request_interval_ms) THEN
            INSERT INTO policy_history (host, valid_from, is_deleted, max_concurrency, min_request_interval_ms)
                VALUES (
                    NEW.host,
                    CASE WHEN NEW.updated_at IS DISTINCT FROM OLD.updated_at
                        THEN NEW.updated_at ELSE CURRENT_TIMESTAMP END,
                    false, NEW.max_concurrency, NEW.min_request_interval_ms
                );
        END IF;
    END IF;
    RETURN NULL;
END;
$$ LANGUAGE plpgsql;

CREATE TRIGGER domain_policies_history_trigger AFTER INSERT OR UPDATE OR DELETE ON domain_policies
    FOR EACH ROW EXECUTE FUNCTION note_policy();

CREATE OR REPLACE FUNCTION delete_frontier() RETURNS TRIGGER AS $$
BEGIN
    DELETE FROM domain_frontier WHERE domain_id = OLD.id; DELETE FROM sitemaps WHERE domain_id = OLD.id;
    RETURN OLD;
END;
$$ LANGUAGE plpgsql;

CREATE TRIGGER domains_frontier_trigger AFTER DELETE ON domains
    FOR EACH ROW EXECUTE FUNCTION delete_frontier();

CREATE TRIGGER visit_list_hosts_frontier_trigger AFTER DELETE ON visit_list_hosts
    FOR EACH ROW EXECUTE FUNCTION delete_frontier();

CREATE OR REPLACE FUNCTION check_job_move() RETURNS TRIGGER AS $$
BEGIN
    IF NOT (OLD.status = 'pending' AND NEW.status IN ('locked', 'expired')) AND NOT (OLD.status = 'locked' AND NEW.status IN ('locked', 'done', 'pending', 'failed', 'expired')) AND NOT (OLD.status = 'expired' AND NEW.status IN ('locked', 'pending')) AND NOT (OLD.status = 'failed' AND NEW.status IN ('pending')) THEN
        RAISE EXCEPTION 'illegal status change of job %: % to %', OLD.id, OLD.status, NEW.status
            USING ERRCODE = 'check_violation', CONSTRAINT = 'crawl_jobs_status_trigger', HINT = CASE OLD.status WHEN 'pending' THEN 'pending may only become locked or expired' WHEN 'locked' THEN 'locked may only become locked, done, pending, failed or expired' WHEN 'expired' THEN 'expired may only become locked or pending' WHEN 'failed' THEN 'failed may only become pending' WHEN 'done' THEN 'a done job keeps its status' END;
    END IF;
    IF NEW.status = OLD.status THEN
        RETURN NEW;
    END IF;
    INSERT INTO crawl_job_moves (job_id, before, after, actor, reason, moved_at) VALUES (
        OLD.id, OLD.status, NEW.status,
        CASE WHEN (NEW.moved_by IS DISTINCT FROM OLD.moved_by OR NEW.move_reason IS DISTINCT FROM OLD.move_reason OR NEW.updated_at IS DISTINCT FROM OLD.updated_at) THEN NEW.moved_by ELSE 'sql' END,
        CASE WHEN (NEW.moved_by IS DISTINCT FROM OLD.moved_by OR NEW.move_reason IS DISTINCT FROM OLD.move_reason OR NEW.updated_at IS DISTINCT FROM OLD.updated_at) THEN NEW.move_reason END,
        CASE WHEN NEW.updated_at IS DISTINCT FROM OLD.updated_at THEN NEW.updated_at ELSE CURRENT_TIMESTAMP END
    );
    IF NEW.updated_at IS NOT DISTINCT FROM OLD.updated_at THEN
        NEW.updated_at = CURRENT_TIMESTAMP;
    END IF;
    IF NEW.status <> 'locked' THEN
        NEW.locked_by = NULL;
        NEW.locked_at = NULL;
        NEW.lock_ends_at = NULL;
    END IF;
    RETURN NEW;
END;
$$ LANGUAGE plpgsql;

CREATE TRIGGER crawl_jobs_status_trigger BEFORE UPDATE OF status ON crawl_jobs
    FOR EACH ROW EXECUTE FUNCTION check_job_move();

CREATE OR REPLACE FUNCTION refuse_stolen_lock() RETURNS TRIGGER AS $$
BEGIN
    RAISE EXCEPTION 'illegal status change of job %: a locked job belongs to one bot until its lock ends', OLD.id
        USING ERRCODE = 'check_violation', CONSTRAINT = 'crawl_jobs_status_trigger';
END;
$$ LANGUAGE plpgsql;

CREATE TRIGGER crawl_jobs_lock_trigger BEFORE UPDATE OF locked_by ON crawl_jobs
    FOR EACH ROW WHEN (
        OLD.status = 'locked' AND NEW.status = 'locked' AND NEW.locked_by IS DISTINCT FROM OLD.locked_by
    ) EXECUTE FUNCTION refuse_stolen_lock();

CREATE OR REPLACE FUNCTION refuse_first_job_status() RETURNS TRIGGER AS $$
BEGIN
    RAISE EXCEPTION 'illegal status of the new job %: %', NEW.id, NEW.status
        USING ERRCODE = 'check_violation', HINT = 'a new job is pending';
END;
$$ LANGUAGE plpgsql;

CREATE TRIGGER crawl_jobs_first_status_trigger AFTER INSERT ON crawl_jobs
    FOR EACH ROW WHEN (NEW.status <> 'pending') EXECUTE FUNCTION refuse_first_job_status();

CREATE OR REPLACE FUNCTION set_lock_end() RETURNS TRIGGER AS $$
BEGIN
    NEW.lock_ends_at = NEW.locked_at + make_interval(secs => NEW.lock_ttl_seconds);
    RETURN NEW;
END;
$$ LANGUAGE plpgsql;

CREATE TRIGGER crawl_jobs_lock_end_trigger BEFORE UPDATE OF locked_at, lock_ttl_seconds ON crawl_jobs
    FOR EACH ROW WHEN (NEW.status = 'locked' AND NEW.lock_ends_at IS NOT DISTINCT FROM OLD.lock_ends_at AND (NEW.locked_at IS DISTINCT FROM OLD.locked_at OR NEW.lock_ttl_seconds IS DISTINCT FROM OLD.lock_ttl_seconds)) EXECUTE FUNCTION set_lock_end();

INSERT INTO alembic_version VALUES ('0001') ON CONFLICT DO NOTHING;

COMMIT;
