DROP TABLE unqueued_urls
--
ALTER TABLE domains DROP COLUMN unqueued_recorded
--
ALTER TABLE domains DROP COLUMN unqueued_unrecorded
--
ALTER TABLE domain_frontier DROP COLUMN found_by
--
ALTER TABLE domain_frontier DROP COLUMN found_on
