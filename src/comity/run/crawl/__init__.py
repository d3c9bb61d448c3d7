"""A crawl of named sites: prepared, run here or in several processes, and finished."""
