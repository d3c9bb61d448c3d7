"""Statements that claim, renew and release leases on hosts."""
