DROP TRIGGER IF EXISTS domains_status_trigger ON domains;
--
DROP TRIGGER IF EXISTS domains_first_status_trigger ON domains;
--
DROP TRIGGER IF EXISTS domains_updated_at_trigger ON domains;
--
DROP TRIGGER IF EXISTS domains_moves_trigger ON domains;
--
DROP FUNCTION IF EXISTS note_domain_move();
--
DROP FUNCTION IF EXISTS check_domain_status();
--
DROP FUNCTION IF EXISTS refuse_first_domain_status();
--
DROP FUNCTION IF EXISTS update_domains_updated_at();
--
DROP TRIGGER IF EXISTS domain_policies_history_trigger ON domain_policies;
--
DROP FUNCTION IF EXISTS note_policy();
--
DROP TRIGGER IF EXISTS domains_frontier_trigger ON domains;
--
DROP TRIGGER IF EXISTS visit_list_hosts_frontier_trigger ON visit_list_hosts;
--
DROP FUNCTION IF EXISTS delete_frontier();
--
DROP TRIGGER IF EXISTS crawl_jobs_status_trigger ON crawl_jobs;
--
DROP TRIGGER IF EXISTS crawl_jobs_lock_trigger ON crawl_jobs;
--
DROP TRIGGER IF EXISTS crawl_jobs_lock_end_trigger ON crawl_jobs;
--
DROP TRIGGER IF EXISTS crawl_jobs_first_status_trigger ON crawl_jobs;
--
DROP FUNCTION IF EXISTS check_job_move();
--
DROP FUNCTION IF EXISTS refuse_stolen_lock();
--
DROP FUNCTION IF EXISTS refuse_first_job_status();
--
DROP FUNCTION IF EXISTS set_lock_end();
--
DROP TABLE late_submissions;
--
DROP TABLE crawl_results;
--
DROP TABLE crawl_job_moves;
--
DROP TABLE crawl_jobs;
--
DROP TABLE unqueued_notes;
--
DROP TABLE left_out_urls;
--
DROP TABLE image_sightings;
--
DROP TABLE image_urls;
--
DROP TABLE provenance;
--
DROP TABLE job_sightings;
--
DROP TABLE grants;
--
DROP TABLE crawl_policies;
--
DROP TABLE evidence;
--
DROP TABLE fetches;
--
DROP TABLE frontier_journal;
--
DROP TABLE frontier_epochs;
--
DROP TABLE visit_list_hosts;
--
DROP TABLE domain_moves;
--
DROP TABLE search_cards;
--
DROP TABLE job_postings;
--
DROP TABLE crawl_locks;
--
DROP TABLE crawl_logs;
--
DROP TABLE source_pages;
--
DROP TABLE webhook_deliveries;
--
DROP TABLE domain_frontier;
--
DROP TABLE domains;
--
DROP TABLE unqueued_keys;
--
DROP TABLE search_documents;
--
DROP TABLE policy_history;
--
DROP TABLE robots_versions;
--
DROP TABLE ledger_notes;
--
DROP TABLE ledger_chains;
--
DROP TABLE images;
--
DROP TABLE console_activity;
--
DROP TABLE console_sessions;
--
DROP TABLE console_users;
--
DROP TABLE search_outbox;
--
DROP TABLE sources;
--
DROP TABLE webhooks;
--
DROP TABLE bots;
--
DROP TABLE politeness_ledger;
--
DROP TABLE sitemaps;
--
DROP TABLE visit_lists;
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
