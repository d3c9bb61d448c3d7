"""The frontier in Redis: the database is the truth, and Redis follows it batch by batch."""
