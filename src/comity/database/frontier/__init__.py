"""A host's URLs: those queued and done, those not queued, and the journal of a frontier outside the database."""
