ALTER TABLE domains ADD COLUMN is_refresh_due BOOLEAN DEFAULT false NOT NULL;
--
ALTER TABLE domains ADD COLUMN refresh_started_at TIMESTAMP WITH TIME ZONE;
--
ALTER TABLE fetches ADD COLUMN discovery_type VARCHAR(20) DEFAULT 'discovery' NOT NULL;
