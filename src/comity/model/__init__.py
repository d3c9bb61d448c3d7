"""Nouns: frozen values and enums that every room may speak of; the standard library only."""
