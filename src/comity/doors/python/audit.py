"""`comity.audit`: audit a site and get what was found; `comity.read_audit` for one that is stored."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Unpack

from comity.doors.python.options import Place, RequestArguments, request_settings, settings_for
from comity.model.audit import AuditComparison, AuditedLink, AuditedPage, AuditInfo, AuditReport, Finding
from comity.model.wording import counted
from comity.run.remedies import with_remedies

if TYPE_CHECKING:
    from comity.reports.audit.stored_audits import StoredAudit
    from comity.settings import Settings

_LOOK_EVERY_S: Final = 0.2


class Audit:
    """An audit that is stored: its findings, its pages and links, and its report as a file."""

    def __init__(self, stored: StoredAudit) -> None:
        self._stored = stored

    def __repr__(self) -> str:
        return f"<Audit {self.info.audit_id}: {counted(self.info.pages, 'page')}>"

    @property
    def info(self) -> AuditInfo:
        """Which audit it is, and how it went."""
        return self._stored.info

    @property
    def folder(self) -> Path:
        """Where it is stored."""
        return self._stored.folder

    @cached_property
    def report(self) -> AuditReport:
        """Everything that a report shows."""
        from comity.reports.audit.build import report_of

        return report_of(self._stored)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is wrong, by severity, each with the pages that have it."""
        return self.report.findings

    @property
    def advice(self) -> str | None:
        """What to do if no page could be read; None if some could."""
        from comity.run.audit.audit import advice_for

        return advice_for(self.info)

    def pages(self) -> Iterator[AuditedPage]:
        """Every URL that was visited or decided about; read from disk."""
        return iter(self._stored.pages())

    def links(self) -> Iterator[AuditedLink]:
        """Every link of every page; read from disk."""
        return iter(self._stored.links())

    def write_html(self, file: Place) -> Path:
        """Write the report as one HTML page; returns its path."""
        from comity.reports.audit.html import write_html

        path = Path(os.fspath(file))
        write_html(self.report, path)
        return path

    def write_tables(self, folder: Place) -> Path:
        """Write pages, links, findings and decisions as CSV and Parquet; returns the folder."""
        from comity.run.audit.tables import write_tables

        path = Path(os.fspath(folder))
        write_tables(self._stored, self.findings, path)
        return path

    def compare(self, earlier: Audit) -> AuditComparison:
        """What got better and worse since an earlier audit."""
        from comity.reports.audit.build import compare_stored

        return compare_stored(earlier._stored, self._stored)


def audit(
    site: str,
    *,
    state: Place | None = None,
    max_pages: int | None = None,
    max_minutes: float | None = None,
    max_depth: int | None = None,
    sitemaps: bool | None = None,
    robots_unreachable: str | None = None,
    keep_noindex: bool | None = None,
    user_agent: str | None = None,
    contact: str | None = None,
    allow_networks: Iterable[str] | None = None,
    **requests: Unpack[RequestArguments],
) -> Audit:
    """Audit a site and wait for the end: at most 200 pages and 60 minutes, unless other limits are set.

    An audit that was stopped is continued. Wrong input raises `BadInput` at once; an audit that could read no page has
    no findings, and its `info.sentence` and `advice` say why.
    """
    settings = settings_for(
        state,
        max_pages=max_pages,
        max_minutes=max_minutes,
        max_depth=max_depth,
        sitemaps=sitemaps,
        robots_unreachable=robots_unreachable,
        keep_noindex=keep_noindex,
        user_agent=user_agent,
        contact=contact,
        allow_networks=tuple(allow_networks) if allow_networks is not None else None,
        **request_settings(requests),
    )
    return Audit(_run(settings, site))


def read_audit(audit: Place, *, state: Place | None = None) -> Audit:
    """A stored audit, by its name or folder, or the newest of a site; raises `NotFound` if it does not exist."""
    return Audit(_find(settings_for(state), os.fspath(audit)))


@with_remedies()
def _run(settings: Settings, site: str) -> StoredAudit:
    from comity.rules.seed_list import read_seed
    from comity.run.audit.audit import AuditRun, plan_audit
    from comity.run.crawl.sites import with_request_options

    settings = with_request_options(settings, [read_seed(site, collapse=settings.collapse_subdomains)])
    run = AuditRun(plan_audit(settings, site))
    run.start()
    try:
        while not run.wait(_LOOK_EVERY_S):
            pass
    except BaseException:
        run.stop()  # what is in flight is finished and kept
        run.close()
        raise
    return run.close()


@with_remedies()
def _find(settings: Settings, name: str) -> Any:
    from comity.reports.audit.stored_audits import find_audit

    return find_audit(Path(settings.audits), name)
