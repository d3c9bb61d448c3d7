ALTER TABLE domain_frontier ADD COLUMN lastmod DATETIME;
--
ALTER TABLE domain_frontier ADD COLUMN changefreq VARCHAR(10);
--
ALTER TABLE domain_frontier ADD COLUMN sitemap_priority DOUBLE;
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
    CONSTRAINT ck_sitemaps_state CHECK (state IN ('planned', 'read', 'missing', 'failed', 'refused')),
    CONSTRAINT fk_sitemaps_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE CASCADE
);
