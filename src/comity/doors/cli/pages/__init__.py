"""`comity pages …`: read what was crawled, and check the files that hold it."""
