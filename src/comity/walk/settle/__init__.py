"""Settle: outcomes of visits become rows, in one transaction for a batch."""
