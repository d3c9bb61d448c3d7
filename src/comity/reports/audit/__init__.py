"""Audits as their readers see them: built from a stored audit, written as a page, as tables, or compared."""
