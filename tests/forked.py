"""Runs collected tests in several processes that are forked after the collection.

To import all tests takes twenty seconds of processor time: here once, not once for each process. The processes share
what was imported. Each of them takes the next file of tests from a queue, and sends its reports to the parent, which
counts and prints them. `pytest-xdist` (`-n`) still works for a few tests; it imports them in every process.
"""

from __future__ import annotations

import gc
import os
import pickle
import selectors
import signal
import struct
import sys
import time
import traceback
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import pytest

# Tests of these share a browser or a crawl that takes many seconds: one process runs all of them.
WHOLE: Final = (
    "tests/console/",
    "tests/audit/test_report_in_chromium.py",
    "tests/doors/sql/test_s4_requirements.py",
    "tests/walk/test_hostile_crawl.py",
    "tests/walk/test_whole_site.py",
)
MOST_AT_ONCE: Final = 40
"""So many tests of another file at most: a long file shall not keep one process busy while the others have ended."""
# Tests of these wait for half a minute without doing anything. They come first: others run meanwhile.
WAITING: Final = (
    "tests/walk/test_hung_stores.py",
    "tests/machines/test_cut_off.py",
    "tests/machines/test_cut_off_mid_transaction.py",
    "tests/walk/test_hostile_crawl.py",
    "tests/run/test_audit.py",
    "tests/walk/test_run_endings.py",
    "tests/walk/test_requests.py",
)
# Tests of these folders take milliseconds each. They come last, so that the processes end at the same time.
QUICK: Final = ("tests/rules/", "tests/extract/", "tests/house/")
SILENCE_S: Final = 1800.0  # without a report for so long, something hangs
ENDS_WITHIN_S: Final = 60.0  # after its last test: servers and browsers are ended, too
_NUMBER: Final = struct.Struct("I")


@dataclass(frozen=True, slots=True)
class Unit:
    """Tests that one process runs, one after another."""

    items: list[pytest.Item]


def units(items: Sequence[pytest.Item], root: Path, most: int = MOST_AT_ONCE) -> list[Unit]:
    """The tests of each file, the quick ones last."""

    def place(item: pytest.Item) -> str:
        path = item.path.relative_to(root).as_posix()
        return next((start for start in WHOLE if path.startswith(start)), path)

    found: list[tuple[str, list[pytest.Item]]] = []
    for name, group in groupby(items, place):
        every = list(group)
        step = len(every) if name in WHOLE else most
        found += [(name, every[start : start + step]) for start in range(0, len(every), step)]
    found.sort(key=lambda pair: (pair[0] not in WAITING, pair[0] not in WHOLE, pair[0].startswith(QUICK)))
    return [Unit(group) for _, group in found]


def run(session: pytest.Session, count: int, most: int = MOST_AT_ONCE) -> None:
    """Run all tests of a session in `count` processes."""
    queue = _Queue(units(session.items, session.config.rootpath, most))
    children = [_Child.begin(session, queue) for _ in range(count)]
    reported: set[str] = set()
    try:
        with selectors.DefaultSelector() as selector:
            for child in children:
                selector.register(child.reads, selectors.EVENT_READ, child)
            while selector.get_map():
                ready = selector.select(SILENCE_S)
                if not ready:
                    # Not `Failed`: the Makefile repeats tests that failed, and these were not run.
                    raise session.Interrupted(f"no test was reported for {SILENCE_S:.0f} s: {_running(children)}")
                for key, _ in ready:
                    if not key.data.read(session, reported):
                        selector.unregister(key.fileobj)
                if session.shouldstop or session.shouldfail:
                    queue.empty()
    finally:
        statuses = [child.end() for child in children]
    if session.shouldfail:
        raise session.Failed(session.shouldfail)
    if session.shouldstop:
        raise session.Interrupted(session.shouldstop)
    for child, status in zip(children, statuses, strict=True):
        if child.running is not None:
            _fail(session, child.running, f"the process of this test ended with {status}", reported)
    for item in session.items:
        if item.nodeid not in reported:
            _fail(session, item.nodeid, "this test was not run: its process ended before", reported)


class _Queue:
    """The numbers of units in a pipe, which gives each of them to one reader."""

    def __init__(self, every: list[Unit]) -> None:
        self.every = every
        self.reads, writes = os.pipe()
        # A pipe holds 16,000 numbers, and there are a thousand files; a larger queue must fail, not wait for a reader.
        os.set_blocking(writes, False)
        numbers = b"".join(_NUMBER.pack(number) for number in range(len(every)))
        if os.write(writes, numbers) != len(numbers):
            raise RuntimeError("the pipe has no room for the queue of tests")
        os.close(writes)

    def take(self) -> Unit | None:
        record = os.read(self.reads, _NUMBER.size)
        return self.every[_NUMBER.unpack(record)[0]] if record else None

    def empty(self) -> None:
        while self.take() is not None:
            pass

    def items(self) -> Iterator[pytest.Item]:
        while (unit := self.take()) is not None:
            # What earlier files left in caches is passed by from now on: without that, a collection takes ever longer.
            gc.collect()
            gc.freeze()
            yield from unit.items


class _Child:
    """A process, as its parent sees it."""

    def __init__(self, pid: int, reads: int) -> None:
        self.pid, self.reads = pid, reads
        self.running: str | None = None
        self.is_done = False
        self._is_gone = False  # it closed its pipe, which it does by ending
        self._rest = b""

    @classmethod
    def begin(cls, session: pytest.Session, queue: _Queue) -> _Child:
        reads, writes = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # libraries have threads, which the child does not use
            pid = os.fork()
        if pid:
            os.close(writes)
            return cls(pid, reads)
        status = 1
        try:
            os.close(reads)
            _run_taken(session, queue, writes)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)

    def read(self, session: pytest.Session, reported: set[str]) -> bool:
        """Pass on what has come; false at the end."""
        more = os.read(self.reads, 1 << 20)
        self._is_gone = not more
        self._rest += more
        for message in self._messages():
            if isinstance(message, dict):
                report = session.config.hook.pytest_report_from_serializable(config=session.config, data=message)
                reported.add(report.nodeid)
                session.config.hook.pytest_runtest_logreport(report=report)
            else:
                self.running, self.is_done = message, message is None
        return bool(more) and not self.is_done

    def _messages(self) -> Iterator[Any]:
        while len(self._rest) >= _NUMBER.size:
            end = _NUMBER.size + _NUMBER.unpack_from(self._rest)[0]
            if len(self._rest) < end:
                return
            message, self._rest = pickle.loads(self._rest[_NUMBER.size : end]), self._rest[end:]
            yield message

    def end(self) -> int:
        """Wait for the process, which is ended if it still has tests to run; its exit status."""
        os.close(self.reads)
        until = time.monotonic() + (ENDS_WITHIN_S if self.is_done or self._is_gone else 0)
        ended, status = os.waitpid(self.pid, os.WNOHANG)
        while not ended and time.monotonic() < until:
            time.sleep(0.01)
            ended, status = os.waitpid(self.pid, os.WNOHANG)
        if not ended:
            os.kill(self.pid, signal.SIGKILL)
            _, status = os.waitpid(self.pid, 0)
        return os.waitstatus_to_exitcode(status)


class _Reporter:
    """Sends reports from a process to its parent."""

    def __init__(self, config: pytest.Config, writes: int) -> None:
        self._config, self._writes = config, writes

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or not report.passed:  # nothing is counted or printed of the others
            self.send(self._config.hook.pytest_report_to_serializable(config=self._config, report=report))

    def send(self, message: dict[str, Any] | str | None) -> None:
        data = pickle.dumps(message)
        data = _NUMBER.pack(len(data)) + data
        while data:
            data = data[os.write(self._writes, data) :]


def _run_taken(session: pytest.Session, queue: _Queue, writes: int) -> None:
    """In a child: run units from the queue until there are none."""
    config = session.config
    os.environ.pop("COMITY_TEST_FAILURES", None)  # the parent notes them
    manager = config.pluginmanager
    capturing = manager.getplugin("capturemanager")
    capturing.stop_global_capturing()  # into files that all processes would share
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 1)  # where pytest prints; the parent does that
    capturing.start_global_capturing()
    capturing.suspend_global_capture()
    reporter = _Reporter(config, writes)
    manager.register(reporter)
    items = queue.items()
    item = next(items, None)
    while item is not None:
        reporter.send(item.nodeid)
        following = next(items, None)
        config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        item = following
    reporter.send(None)


def _running(children: list[_Child]) -> str:
    return ", ".join(child.running for child in children if child.running is not None)


def _fail(session: pytest.Session, nodeid: str, why: str, reported: set[str]) -> None:
    reported.add(nodeid)
    place = (nodeid.partition("::")[0], None, nodeid)
    report = pytest.TestReport(nodeid, place, {}, "failed", why, "call")
    session.config.hook.pytest_runtest_logreport(report=report)
