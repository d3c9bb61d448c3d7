ALTER TABLE fetches DROP COLUMN discovery_type;
--
ALTER TABLE domains DROP COLUMN refresh_started_at;
--
ALTER TABLE domains DROP COLUMN is_refresh_due;
