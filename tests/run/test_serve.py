"""The crawl worker of `comity serve`: whatever goes wrong at its start, it is reported, and it tries again."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, cast

import pytest

from comity.run import serve
from comity.run.serve import ServedWorker
from comity.run.work.worker import WorkLimits
from comity.settings import read_settings
from comity.telemetry import events
from comity.telemetry.logs import Log


class Messages:
    """A log that keeps what it is given."""

    def __init__(self) -> None:
        self.found: list[tuple[object, str]] = []

    def emit(self, event: object, message: str, **_: Any) -> None:
        self.found.append((event, message))


def test_a_state_that_cannot_be_opened_at_first_does_not_end_the_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, has_worked, messages = serve.open_state, threading.Event(), Messages()
    failures = [RuntimeError("the disk is odd"), OSError("no such device")]

    def open_state(*given: Any) -> Any:
        if failures:
            raise failures.pop(0)
        return opened(*given)

    monkeypatch.setattr(serve, "open_state", open_state)
    monkeypatch.setattr(serve, "_PAUSE_AFTER_FAULT_S", 0.01)
    settings = read_settings(state=str(tmp_path / "state.db"))
    worker = ServedWorker(settings, WorkLimits(), cast(Log, messages), shows_demonstration=True)

    def work() -> None:
        has_worked.set()
        worker._stopping.wait(30)

    monkeypatch.setattr(worker, "_work", work)
    worker.start()
    assert has_worked.wait(30)
    worker.stop()
    worker._thread.join(30)
    assert not worker.is_running
    assert [event for event, _ in messages.found] == [events.WORKER_FAILED] * 2
    assert "the disk is odd" in messages.found[0][1]
