DROP TRIGGER IF EXISTS domains_status_trigger ON domains;
--
DROP TRIGGER IF EXISTS domains_updated_at_trigger ON domains;
--
DROP FUNCTION IF EXISTS check_domain_status();
--
DROP FUNCTION IF EXISTS update_domains_updated_at();
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
--
DROP TYPE domain_status;
