ALTER TABLE domains ADD COLUMN is_refresh_due BOOLEAN DEFAULT 0 NOT NULL;
--
ALTER TABLE domains ADD COLUMN refresh_started_at DATETIME;
--
ALTER TABLE fetches ADD COLUMN discovery_type VARCHAR(20) DEFAULT 'discovery' NOT NULL;
