"""Leases: who may talk to a host, for how long, and how a late hand is refused."""
