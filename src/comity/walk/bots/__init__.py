"""The crawl service: bots that pull jobs and submit results, and other crawlers that ask for grants."""
