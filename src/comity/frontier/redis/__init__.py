"""The frontier in Redis: the database is the source of truth, and Redis follows it batch by batch."""
