"""Audits that a server runs: a few at once, each on its own thread, stopped in order when the server ends."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Final

from comity.model.audit import AuditInfo
from comity.model.dataclass import dataclass
from comity.model.errors import BadInput, ComityError, NotFound
from comity.reports.audit.build import report_of
from comity.reports.audit.html import is_current, write_html
from comity.reports.audit.stored_audits import INFO, StoredAudit, audit_folder
from comity.rules.seed_list import read_seed
from comity.run.audit.audit import AuditRun, plan_audit
from comity.run.crawl.sites import with_request_options
from comity.settings import Settings

REPORT: Final = "report.html"
MOST_AT_ONCE: Final = 2
MOST_PAGES: Final = 100_000
MOST_MINUTES: Final = 24 * 60
_BEGINS_WITHIN_S: Final = 10.0
_LOOK_EVERY_S: Final = 0.02
_STOP_S: Final = 20.0


class TooManyAudits(ComityError):
    """As many audits are running as may."""

    code = "too_many_audits"


@dataclass(frozen=True, slots=True)
class RunningAudit:
    """An audit in progress."""

    info: AuditInfo
    pages: int
    is_stopping: bool
    waits_for: tuple[str, ...]


class AuditService:
    """Starts, watches and stops audits. `on_failure` hears of one that ended with an error."""

    def __init__(self, settings: Settings, on_failure: Callable[[str, BaseException], None]) -> None:
        self._settings = settings
        self._on_failure = on_failure
        self._runs: dict[str, AuditRun] = {}
        self._stopping: set[str] = set()
        self._lock = Lock()

    @property
    def folder(self) -> Path:
        """Where audits are stored."""
        return Path(self._settings.audits)

    def start(self, site: str, *, max_pages: int | None = None, max_minutes: float | None = None) -> AuditInfo:
        """Start an audit of a site, or continue one that was stopped; blocks until it has started.

        Raises `TooManyAudits` while as many run as may, and `BadInput` if that site is being audited.
        """
        changes: dict[str, object] = {}
        for name, value, most in (("max_pages", max_pages, MOST_PAGES), ("max_minutes", max_minutes, MOST_MINUTES)):
            if value is not None:
                if not 0 < value <= most:
                    raise BadInput(name, f"must be between 1 and {most:,}")
                changes[name] = value
        seed = read_seed(site, collapse=self._settings.collapse_subdomains)
        settings = with_request_options(self._settings.model_copy(update=changes), [seed])
        run = AuditRun(plan_audit(settings, site))
        with self._lock:
            self._forget_ended()
            if any(other.plan.name == run.plan.name for other in self._runs.values()):
                raise BadInput("site", "is being audited now")
            if len(self._runs) >= MOST_AT_ONCE:
                raise TooManyAudits(f"{MOST_AT_ONCE} audits are running; stop one, or wait until it ends")
            key = f"starting {run.plan.name}"
            self._runs[key] = run
            run.start()
        info = self._begun(run)
        if info is None and not run.wait(0):
            run.stop()  # it keeps its place among the runs until it has ended, so that `close` waits for it
            raise ComityError("the audit did not begin in time; try again")
        with self._lock:
            self._runs.pop(key, None)
            if info is not None:
                self._runs[info.audit_id] = run
        if info is None:
            run.close()  # raises what went wrong
            raise ComityError("the audit did not begin; try again")
        return info

    def stored(self, audit_id: str) -> StoredAudit:
        """An audit that has ended, by its name; raises `NotFound` if it does not exist."""
        folder = audit_folder(self.folder, audit_id)
        if not folder.is_dir():
            raise NotFound(f"there is no audit {audit_id!r}")
        return StoredAudit(folder)

    def report(self, audit_id: str) -> Path:
        """The report of an audit as an HTML file beside its tables; rewritten if the audit or Comity changed."""
        stored = self.stored(audit_id)
        path = stored.folder / REPORT
        is_old = not path.exists() or path.stat().st_mtime < (stored.folder / INFO).stat().st_mtime
        if is_old or not is_current(path):
            write_html(report_of(stored), path)
        return path

    def running(self) -> list[RunningAudit]:
        """The audits in progress."""
        with self._lock:
            self._forget_ended()
            runs = list(self._runs.items())
        return [
            RunningAudit(run.info, run.pages_before + run.progress.pages, audit_id in self._stopping, run.waits_for)
            for audit_id, run in runs
            if run.info is not None
        ]

    def stop(self, audit_id: str) -> None:
        """Start no more requests of an audit; what is in flight is kept, and the audit can be continued."""
        with self._lock:
            run = self._runs.get(audit_id)
            if run is None:
                raise NotFound(f"no audit {audit_id!r} is running here")
            self._stopping.add(audit_id)
        run.stop()

    def close(self) -> None:
        """Stop every audit and wait for their ends, within a time limit."""
        with self._lock:
            runs = list(self._runs.values())
        for run in runs:
            run.stop()
        ends_at = time.monotonic() + _STOP_S
        for run in runs:
            run.wait(max(0.0, ends_at - time.monotonic()))

    def _begun(self, run: AuditRun) -> AuditInfo | None:
        """What is known of an audit as soon as it has started; None if it ended before."""
        for _look in range(int(_BEGINS_WITHIN_S / _LOOK_EVERY_S)):
            if run.info is not None:
                return run.info
            if run.wait(_LOOK_EVERY_S):
                return run.info
        return run.info

    def _forget_ended(self) -> None:
        """Drop runs that are over; one that failed is reported."""
        for audit_id, run in list(self._runs.items()):
            if run.wait(0):
                del self._runs[audit_id]
                self._stopping.discard(audit_id)
                try:
                    run.close()
                except Exception as problem:
                    self._on_failure(audit_id, problem)
