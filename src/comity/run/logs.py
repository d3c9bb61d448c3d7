"""What a long-running command logs: its start and end, runs, hosts, waits, and stores that do not answer."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from time import monotonic
from typing import TYPE_CHECKING

from comity import __version__
from comity.frontier.store import FrontierUnavailable, FrontierUnfit
from comity.model.wording import counted
from comity.run.settings_in_force import missing_contact, unknown_variables
from comity.telemetry import events
from comity.telemetry.events import Level
from comity.telemetry.logs import Log, open_log
from comity.walk.crawl.settling import DiskFull

if TYPE_CHECKING:
    from comity.assemble import State
    from comity.model.gate import DelayInForce, Wait
    from comity.settings import Settings
    from comity.walk.crawl.progress import HostSummary, RunSummary
    from comity.walk.request import OnWait


def log_for(settings: Settings, *, as_json: bool) -> Log:
    """Open the log. If stdout is JSON, only problems are logged, unless a level was set."""
    return open_log(settings.log_format, log_level(settings, as_json=as_json), asked_for_json=as_json)


def log_level(settings: Settings, *, as_json: bool) -> str:
    """The level from which events are logged."""
    is_quiet = as_json and "log_level" not in settings.model_fields_set
    return "warning" if is_quiet else settings.log_level


def wait_logger(log: Log) -> OnWait | None:
    """A function that logs each wait for a host; None if the log level leaves waits out."""
    if not log.tells(events.RATE_LIMIT_WAIT.level):
        return None

    def log_wait(host: str, wait: Wait, now: float, _delay: DelayInForce) -> None:
        seconds = round(wait.until - now, 3)
        message = f"{host}: a request waits {seconds:g} s ({wait.reason})"
        log.emit(events.RATE_LIMIT_WAIT, message, host=host, reason=str(wait.reason), seconds=seconds)

    return log_wait


def log_start(log: Log, settings: Settings) -> None:
    """Log that a worker starts."""
    log.emit(
        events.WORKER_STARTED,
        f"worker started on {settings.where}",
        version=__version__,
        state=settings.where,
        pages_to=settings.pages,
        concurrency=settings.concurrency,
    )


def log_settings_warnings(log: Log, settings: Settings) -> None:
    """Log each likely mistake in the environment."""
    for warning in (*unknown_variables(os.environ), missing_contact(settings)):
        if warning is not None:
            log.emit(events.SETTINGS_DOUBTED, warning)


def log_run(log: Log, summary: RunSummary) -> None:
    """Log the end of a run."""
    rate = summary.pages / summary.seconds if summary.seconds > 0 else 0.0
    message = (
        f"{counted(summary.pages, 'page')} in {summary.seconds:.1f} s ({rate:.1f}/s), "
        f"{counted(summary.errors, 'error')}, {counted(len(summary.hosts), 'host')} released; "
        f"run ended: {summary.reason}"
    )
    names = ("run_id", "status", "code", "reason", "pages", "errors", "refused", "bytes_received")
    log.emit(
        events.RUN_ENDED,
        message,
        Level.WARNING if summary.status == "failed" else None,
        **{name: getattr(summary, name) for name in names},
        seconds=round(summary.seconds, 3),
        pages_per_second=round(rate, 2),
        hosts=len(summary.hosts),
        warnings=summary.warnings[:5],
    )


def log_host(log: Log, line: HostSummary) -> None:
    """Log that a host was released."""
    due = None if line.next_run_at is None else datetime.fromtimestamp(line.next_run_at, UTC)
    message = (
        f"{line.host}: {counted(line.pages, 'page')}, {counted(line.errors, 'error')} in {line.seconds:.1f} s; "
        f"now {line.status}, {line.queued:,} queued"
        + (f", due {due:%Y-%m-%d %H:%M} UTC" if due is not None else "")
        + (f" ({line.reason})" if line.reason else "")
    )
    fields = asdict(line) | {"next_run_at": due}
    log.emit(events.HOST_LEFT, message, **fields)


class StoreLog:
    """Logs once when a store becomes unavailable, returns, or turns out to be empty."""

    def __init__(self, log: Log, on_lost: Callable[[], None] = lambda: None) -> None:
        self._log = log
        self._on_lost = on_lost
        self._lost_at: float | None = None
        self._is_blank = False
        self._full_at: float | None = None  # since when pages wait for disk space

    def check_frontier(self, state: State) -> None:
        """Raise an error if the frontier can never work, before a host is leased in vain; log if it does not answer."""
        try:
            state.frontier.prepare_hosts(())
            is_blank = state.frontier.is_blank()
        except FrontierUnfit:
            raise
        except FrontierUnavailable as error:
            self.on_silence(str(error))
            return
        self.on_silence(None)
        if is_blank and not self._is_blank:
            message = (
                "Redis has no URLs of this state. If COMITY_REDIS_URL is wrong, stop now; "
                "otherwise each host is queued again when it is leased, and visited again"
            )
            self._log.emit(events.FRONTIER_BLANK, message, error="frontier_blank")
        self._is_blank = is_blank

    async def recheck_frontier(self, state: State) -> None:
        """Check a frontier that was unavailable: a run that never waited for it would not notice its return."""
        if self._lost_at is not None:
            await asyncio.to_thread(self.check_frontier, state)

    def on_silence(self, reason: str | None) -> None:
        """Log that Redis does not answer, or that the disk of the pages is full; None: that is over."""
        if isinstance(reason, DiskFull):
            if self._full_at is None:
                self._full_at = monotonic()
                self._log.emit(events.PAGES_WAIT, reason, error="disk_full")
            return
        if reason is None and self._full_at is not None:
            seconds, self._full_at = round(monotonic() - self._full_at, 3), None
            message = f"there is disk space for pages again after {seconds:.1f} s"
            self._log.emit(events.PAGES_GO_ON, message, seconds=seconds)
        if reason is not None and self._lost_at is None:
            self._lost_at = monotonic()
            self._log.emit(events.FRONTIER_LOST, f"{reason}; waiting for the frontier", error="frontier_unavailable")
            self._on_lost()
        elif reason is None and self._lost_at is not None:
            seconds, self._lost_at = round(monotonic() - self._lost_at, 3), None
            self._log.emit(events.FRONTIER_BACK, f"the frontier is back after {seconds:.1f} s", seconds=seconds)
