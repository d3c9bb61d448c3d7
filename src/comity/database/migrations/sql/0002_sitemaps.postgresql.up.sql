ALTER TABLE domain_frontier ADD COLUMN lastmod TIMESTAMP WITH TIME ZONE;
--
ALTER TABLE domain_frontier ADD COLUMN changefreq VARCHAR(10);
--
ALTER TABLE domain_frontier ADD COLUMN sitemap_priority DOUBLE PRECISION;
--
CREATE TABLE sitemaps (
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
    CONSTRAINT ck_sitemaps_state CHECK (state IN ('planned', 'read', 'missing', 'failed', 'refused')),
    CONSTRAINT fk_sitemaps_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE CASCADE
);
