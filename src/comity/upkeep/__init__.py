"""Timed tasks: each runs once, does a bounded amount of work, and returns what it did."""
