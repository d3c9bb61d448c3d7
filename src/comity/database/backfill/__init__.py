"""Statements of a backfill: read what older crawls left, bring `domains` up to it, and check the result."""
