"""Comity: a polite, stateful crawl platform. A lease on a host is the right to talk to it."""

__version__ = "0.1.0.dev0"
