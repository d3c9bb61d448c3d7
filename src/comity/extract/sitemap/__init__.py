"""Sitemaps and feeds as lists of URLs: takes body bytes, returns entries in document order, however broken."""
