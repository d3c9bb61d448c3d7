DROP TRIGGER IF EXISTS domains_status_trigger;
--
DROP TRIGGER IF EXISTS domains_first_status_trigger;
--
DROP TRIGGER IF EXISTS domains_replace_trigger;
--
DROP TRIGGER IF EXISTS domains_overwrite_trigger;
--
DROP TRIGGER IF EXISTS domains_woken_trigger;
--
DROP TRIGGER IF EXISTS domains_moves_trigger;
--
DROP TRIGGER IF EXISTS domains_updated_at_trigger;
--
DROP TRIGGER IF EXISTS domain_policies_insert_history_trigger;
--
DROP TRIGGER IF EXISTS domain_policies_update_history_trigger;
--
DROP TRIGGER IF EXISTS domain_policies_delete_history_trigger;
--
DROP TRIGGER IF EXISTS domains_frontier_trigger;
--
DROP TRIGGER IF EXISTS visit_list_hosts_frontier_trigger;
--
DROP TRIGGER IF EXISTS crawl_jobs_status_trigger;
--
DROP TRIGGER IF EXISTS crawl_jobs_lock_trigger;
--
DROP TRIGGER IF EXISTS crawl_jobs_lock_end_trigger;
--
DROP TRIGGER IF EXISTS crawl_jobs_first_status_trigger;
--
DROP TRIGGER IF EXISTS crawl_jobs_replace_trigger;
--
DROP TRIGGER IF EXISTS crawl_jobs_overwrite_trigger;
--
DROP TRIGGER IF EXISTS crawl_jobs_history_trigger;
--
DROP TRIGGER IF EXISTS crawl_jobs_unlock_trigger;
--
DROP TRIGGER IF EXISTS crawl_jobs_id_trigger;
--
DROP TRIGGER IF EXISTS crawl_policies_id_trigger;
--
DROP TRIGGER IF EXISTS crawl_policies_config_trigger;
--
DROP TRIGGER IF EXISTS crawl_policies_new_config_trigger;
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
DROP TABLE search_words;
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
