ALTER TABLE domain_frontier ADD COLUMN found_by SMALLINT DEFAULT 0 NOT NULL
--
ALTER TABLE domain_frontier ADD COLUMN found_on BIGINT
--
ALTER TABLE domains ADD COLUMN unqueued_recorded INTEGER DEFAULT 0 NOT NULL
--
ALTER TABLE domains ADD COLUMN unqueued_unrecorded BIGINT DEFAULT 0 NOT NULL
--
CREATE TABLE unqueued_urls (
	url_key BIGINT NOT NULL,
	domain_id UUID NOT NULL,
	url VARCHAR(60) NOT NULL,
	code VARCHAR(20) NOT NULL,
	found_by SMALLINT DEFAULT 0 NOT NULL,
	found_on BIGINT DEFAULT 0 NOT NULL,
	seen_at BIGINT NOT NULL,
	CONSTRAINT pk_unqueued_urls PRIMARY KEY (url_key, domain_id),
	CONSTRAINT fk_unqueued_urls_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE CASCADE
)
