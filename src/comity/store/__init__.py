"""Where pages are kept: parts that any DuckDB or Arrow reader opens while the crawl goes on."""
