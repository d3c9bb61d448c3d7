ALTER TABLE crawl_logs ADD COLUMN next_run_reason TEXT;
--
DELETE FROM source_pages;
