"""Comity: a polite, stateful crawl platform. A lease on a host is the right to talk to it.

The public names are imported on first use, so that `import comity` is fast. `__init__.pyi` has their types, and
docs/python.md says how to use them.
"""

__version__ = "0.1.0.dev0"

_HOMES = {
    "Audit": "comity.doors.python.audit",
    "AuditComparison": "comity.model.audit",
    "AuditReport": "comity.model.audit",
    "BadInput": "comity.model.errors",
    "ComityError": "comity.model.errors",
    "CrawlRun": "comity.doors.python.crawl_run",
    "Extraction": "comity.model.page",
    "ExtractorFailed": "comity.doors.python.user_code",
    "IdleHost": "comity.reports.runs",
    "Page": "comity.doors.python.page",
    "Posting": "comity.model.search",
    "FetchedPage": "comity.extract.fetched_page",
    "Finding": "comity.model.audit",
    "Progress": "comity.walk.crawl.progress",
    "RunSummary": "comity.walk.crawl.progress",
    "Source": "comity.model.source",
    "Sink": "comity.doors.python.user_code",
    "SinkFailed": "comity.doors.python.user_code",
    "TEMPORARY": "comity.doors.python.options",
    "audit": "comity.doors.python.audit",
    "crawl": "comity.doors.python.crawl",
    "read_audit": "comity.doors.python.audit",
    "read_pages": "comity.doors.python.read_pages",
    "search": "comity.doors.python.search",
}
_MODULES = {"sources": "comity.sources", "sql": "comity.sql"}
__all__ = ["__version__", *_HOMES, *_MODULES]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name) or _MODULES.get(name)
    if home is None:
        raise AttributeError(f"module 'comity' has no attribute {name!r}")
    from importlib import import_module

    module = import_module(home)
    found: object = module if name in _MODULES else getattr(module, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
