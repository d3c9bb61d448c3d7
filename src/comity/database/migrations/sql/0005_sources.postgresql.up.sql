CREATE TABLE sources (
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
    CONSTRAINT pk_sources PRIMARY KEY (id),
    CONSTRAINT ck_sources_source_type CHECK (source_type IN ('html', 'rss', 'api')),
    CONSTRAINT ck_sources_status CHECK (status IN ('active', 'paused', 'blocked', 'deleted')),
    CONSTRAINT ck_sources_schedule CHECK (schedule IN ('s0', 'adaptive')),
    CONSTRAINT ck_sources_crawl_frequency_days_at_least_1 CHECK (crawl_frequency_days >= 1),
    CONSTRAINT uq_sources_careers_url UNIQUE (careers_url)
);
--
CREATE INDEX idx_sources_next_run_at ON sources (next_run_at);
--
CREATE INDEX idx_sources_org_type ON sources (org_type);
--
CREATE INDEX idx_sources_status ON sources (status);
--
CREATE TABLE source_pages (
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
--
CREATE TABLE crawl_logs (
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
    CONSTRAINT pk_crawl_logs PRIMARY KEY (id),
    CONSTRAINT ck_crawl_logs_status CHECK (status IN ('ok', 'warn', 'fail')),
    CONSTRAINT fk_crawl_logs_source_id FOREIGN KEY(source_id) REFERENCES sources (id) ON DELETE CASCADE
);
--
CREATE INDEX idx_crawl_logs_ran_at ON crawl_logs (ran_at DESC);
--
CREATE INDEX idx_crawl_logs_source_id ON crawl_logs (source_id, ran_at DESC);
--
CREATE TABLE crawl_locks (
    source_id UUID NOT NULL,
    locked_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
    expires_at TIMESTAMP WITH TIME ZONE,
    holder VARCHAR(255),
    CONSTRAINT pk_crawl_locks PRIMARY KEY (source_id),
    CONSTRAINT fk_crawl_locks_source_id FOREIGN KEY(source_id) REFERENCES sources (id) ON DELETE CASCADE
);
--
CREATE TABLE job_postings (
    id UUID DEFAULT gen_random_uuid() NOT NULL,
    canonical_hash VARCHAR(64) NOT NULL,
    source_id UUID,
    title TEXT NOT NULL,
    org_name TEXT DEFAULT '' NOT NULL,
    apply_url TEXT NOT NULL,
    location_raw TEXT DEFAULT '' NOT NULL,
    description_snippet TEXT DEFAULT '' NOT NULL,
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
--
CREATE INDEX idx_job_postings_country_iso ON job_postings (country_iso);
--
CREATE INDEX idx_job_postings_deadline ON job_postings (deadline);
--
CREATE INDEX idx_job_postings_last_seen_at ON job_postings (last_seen_at);
--
CREATE INDEX idx_job_postings_source_id ON job_postings (source_id);
--
CREATE TABLE job_sightings (
    source_id UUID NOT NULL,
    posting_id UUID NOT NULL,
    page_number SMALLINT DEFAULT 0 NOT NULL,
    seen_at TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
    CONSTRAINT pk_job_sightings PRIMARY KEY (source_id, posting_id),
    CONSTRAINT fk_job_sightings_source_id FOREIGN KEY(source_id) REFERENCES sources (id) ON DELETE CASCADE,
    CONSTRAINT fk_job_sightings_posting_id FOREIGN KEY(posting_id) REFERENCES job_postings (id) ON DELETE CASCADE
);
--
CREATE INDEX idx_job_sightings_posting_id ON job_sightings (posting_id);
--
CREATE TABLE search_outbox (
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
--
CREATE INDEX idx_search_outbox_next_attempt_at ON search_outbox (next_attempt_at, id);
