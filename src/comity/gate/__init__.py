"""The gate of each leased host, run in the holder's own memory, and the order in which hosts come due."""
