"""`comity crawl` and `comity demo`: options, progress display and summary."""
