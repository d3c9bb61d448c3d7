"""Timed duties, one per file: each looks once, does a bounded amount, and says what it did."""
