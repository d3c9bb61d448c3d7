"""CRAWL statements, for the SQL door."""
