"""Politeness: when the next request to a host may start, what slows it down, and the audit of what was done."""
