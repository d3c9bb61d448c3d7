"""Leases: who may talk to a host, for how long, and how a late write is refused."""
