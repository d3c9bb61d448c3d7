"""Decisions of the crawl service: slots, retries, priorities, breakers and what a submission means."""
