"""Statements on the tables of the crawl service."""
