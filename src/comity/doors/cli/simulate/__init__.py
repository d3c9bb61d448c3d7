"""`comity simulate …`: compare schedules on synthetic sources."""
