ALTER TABLE crawl_logs DROP COLUMN next_run_reason;
