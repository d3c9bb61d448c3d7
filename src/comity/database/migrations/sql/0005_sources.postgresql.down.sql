DROP TABLE search_outbox;
--
DROP TABLE job_sightings;
--
DROP TABLE job_postings;
--
DROP TABLE crawl_locks;
--
DROP TABLE crawl_logs;
--
DROP TABLE source_pages;
--
DROP TABLE sources;
