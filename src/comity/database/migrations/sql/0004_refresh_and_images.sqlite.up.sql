ALTER TABLE domains ADD COLUMN is_refresh_due BOOLEAN DEFAULT 0 NOT NULL;
--
ALTER TABLE domains ADD COLUMN refresh_started_at DATETIME;
--
ALTER TABLE fetches ADD COLUMN discovery_type VARCHAR(20) DEFAULT 'discovery' NOT NULL;
--
ALTER TABLE fetches ADD COLUMN images_read BOOLEAN DEFAULT 0 NOT NULL;
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
CREATE UNIQUE INDEX uq_provenance_page_image ON provenance (page_key, image_id);
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
