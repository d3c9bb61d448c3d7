"""`--json-lines`: what a crawl does, one JSON object a line on stdout, while it runs.

`doors.schemas.runs` describes every object. Lines are flushed with each batch of visits. When the reader is gone
(`| head`), the crawl is stopped as by Ctrl-C: what was started is finished and stored, and the same command continues.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from comity.doors.cli.output import json_line

if TYPE_CHECKING:
    from comity.assemble import State
    from comity.run.crawl.view import HostWait, Visit
    from comity.walk.crawl.progress import HostSummary, Progress

Watch = Callable[["Progress", "State"], AbstractAsyncContextManager[None]]


class JsonEvents:
    """The events of one crawl, in the order in which they happened; the summary comes last."""

    def __init__(self, watch: Watch, clock: Callable[[], datetime]) -> None:
        self.is_closed = False  # whether the reader is gone
        self._watch = watch
        self._stop: Callable[[], None] = lambda: None
        self._progress: Progress | None = None
        self._warned: set[str] = set()
        self._clock = clock

    def on_start(self, stop: Callable[[], None]) -> None:
        """Remember how to stop the crawl."""
        self._stop = stop

    @asynccontextmanager
    async def watch(self, progress: Progress, state: State) -> AsyncIterator[None]:
        """Look for warnings while the crawl runs."""
        self._progress = progress
        async with self._watch(progress, state):
            yield
        self._write_warnings()

    def visits(self, visits: Sequence[Visit]) -> None:
        """Write a batch of visits."""
        self._write([_visit_event(visit) for visit in visits])
        self._write_warnings()

    def host(self, line: HostSummary) -> None:
        """Write how a host ended."""
        self._write([{"event": "host", "at": self._clock()} | host_document(line)])
        self._write_warnings()

    def wait(self, wait: HostWait) -> None:
        """Write that a request waits."""
        event = {"event": "wait", "at": self._clock(), "host": wait.host}
        self._write([event | {"seconds": wait.seconds, "reason": wait.reason}])

    def run(self, figures: dict[str, Any]) -> None:
        """Write the end of a run of a worker."""
        self._write([{"event": "run", "at": self._clock()} | figures])

    def warning(self, sentence: str) -> None:
        """Write a warning, once."""
        if sentence not in self._warned:
            self._warned.add(sentence)
            message = sentence.removeprefix("comity: ")
            self._write([{"event": "warning", "at": self._clock(), "message": message}])

    def summary(self, document: dict[str, Any]) -> None:
        """Write the end: the document of `--json`."""
        self._write([{"event": "summary", "at": self._clock()} | document])

    def _write_warnings(self) -> None:
        for sentence in tuple(self._progress.warnings) if self._progress is not None else ():
            self.warning(sentence)

    def _write(self, events: Sequence[dict[str, Any]]) -> None:
        if self.is_closed or not events:
            return
        try:
            sys.stdout.write("".join(f"{json_line(event)}\n" for event in events))
            sys.stdout.flush()
        except (BrokenPipeError, ValueError):
            self.is_closed = True
            self._stop()


def host_document(line: HostSummary) -> dict[str, Any]:
    """How a host ended, as in the summary of a crawl."""
    due = line.next_run_at
    return {
        "host": line.host,
        "status": line.status,
        "pages": line.pages,
        "errors": line.errors,
        "queued": line.queued,
        "reason": line.reason,
        "seconds": line.seconds,
        "next_run_at": None if due is None else datetime.fromtimestamp(due, UTC),
        "code": line.code,
        "too_deep": line.too_deep,
        "pages_in_all": line.pages_in_all,
    }


def _visit_event(visit: Visit) -> dict[str, Any]:
    """A page, an error or a refusal."""
    kind = "page" if visit.is_page else "refused" if visit.outcome == "refused" else "error"
    event: dict[str, Any] = {
        "event": kind,
        "at": None if visit.at is None else datetime.fromtimestamp(visit.at, UTC),
        "url": visit.url,
        "host": visit.host,
        "outcome": visit.outcome,
        "depth": visit.depth,
    }
    if kind != "page":
        event |= {"code": visit.code, "reason": visit.reason}
    if kind == "refused":
        return event
    event |= {
        "status": visit.status,
        "ms": None if visit.elapsed_s is None else round(visit.elapsed_s * 1000, 1),
        "bytes": visit.wire_bytes,
        "content_type": visit.content_type,
        "redirected_to": visit.redirected_to,
        "attempt": visit.attempt,
    }
    if kind == "page":
        event |= {"links_found": visit.links_found, "links_new": visit.links_new}
        if visit.left_out is not None:
            event["left_out"] = {
                reason: {"links": each[0], "first": each[1]} for reason, each in visit.left_out.items()
            }
    return event
