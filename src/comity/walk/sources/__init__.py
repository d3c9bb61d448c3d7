"""Sources: a client of the session that reads careers pages on a schedule and stores their postings."""
