"""Page storage: parts that any DuckDB or Arrow reader opens while the crawl goes on."""
