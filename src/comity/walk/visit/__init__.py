"""Visit: one URL through takedown, robots, gate, fetch and extraction; its links come back as frontier entries."""
