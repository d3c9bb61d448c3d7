DROP TRIGGER IF EXISTS domains_status_trigger;
--
DROP TRIGGER IF EXISTS domains_updated_at_trigger;
--
DROP TABLE politeness_ledger;
--
DROP TABLE fetches;
--
DROP TABLE evidence;
--
DROP TABLE domain_frontier;
--
DROP TABLE domains;
--
DROP TABLE takedowns;
--
DROP TABLE robots_cache;
--
DROP TABLE domain_policies;
--
DROP TABLE crawl_runs;
