"""Sources: a client of the session that reads career pages on a schedule and keeps their postings."""
