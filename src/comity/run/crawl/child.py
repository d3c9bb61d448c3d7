"""One process of a crawl in several: what it does, what it reports to its parent, and what all of them share.

They share the page budget and the list of finished hosts. Both are open files that children inherit. Neither has a
lock, so a process that is killed at any moment blocks no other.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import struct
import tempfile
import termios
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from heapq import nlargest
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from comity.assemble import open_state
from comity.model.run import BudgetReason, EndReason, Exhausted
from comity.rules.budget import seconds_for
from comity.run.crawl.view import visits_of, wait_reporter
from comity.run.remedies import CRAWL_ADVICE
from comity.run.runtime import spare_what_is_loaded
from comity.walk.crawl.budget import SharedPages
from comity.walk.crawl.terms import CrawlHooks, HostShare

if TYPE_CHECKING:
    from comity.run.child_process import ParentChannel
    from comity.settings import Settings
    from comity.walk.crawl.crawl import Crawl
    from comity.walk.crawl.progress import Progress

_REPORT_EVERY_S: Final = 0.2
_MOST_LOADS: Final = 100  # how many hosts report their load: those that need longest
COUNTED: Final = (
    "begun",
    "held",
    "pages",
    "errors",
    "refused",
    "unchanged",
    "images_found",
    "images_stored",
    "images_failed",
    "unconverted",
    "bytes_received",
    "links_found",
    "hosts_active",
    "hosts_waiting",
    "hosts_blocked",
    "hosts_done",
    "queued",
    "left_out",
)
_READ_BYTES: Final = 65_536
_MOST_IN_PIPE: Final = 32_768  # of the 65,536 bytes that a pipe holds: the rest is for pages that are returned


async def crawl_part(
    settings: Settings, job: dict[str, Any], orders: AsyncIterator[dict[str, Any]], parent: ParentChannel
) -> None:
    """Crawl this process's share of the hosts, to the end of the run."""
    is_held = False

    def hold(holds: bool) -> None:
        nonlocal is_held
        is_held = holds
        if not holds:
            crawl.resume()

    with open_state(settings, migrate=False) as state:
        async with state.fetcher() as fetcher:
            crawl = state.crawl(fetcher, job["hosts"], _hooks(job, parent, lambda: is_held))
            for number in (signal.SIGINT, signal.SIGTERM):  # a service manager may signal every process
                asyncio.get_running_loop().add_signal_handler(number, crawl.stop)
            tasks = [
                asyncio.create_task(_obey(orders, crawl, hold)),
                asyncio.create_task(_report(crawl.progress, parent, with_hosts=job["reports_hosts"])),
            ]
            spare_what_is_loaded()
            try:
                summary = await crawl.run()
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
    crawl.progress.held = 0
    parent.send(**_progress_message(crawl.progress))
    parent.send(ended=[summary.status, summary.code])


def _hooks(job: dict[str, Any], parent: ParentChannel, is_held: Callable[[], bool]) -> CrawlHooks:
    finished = FinishedHosts(job["finished_hosts"], number=job["number"])
    pages = None
    if job["page_budget"] is not None:
        taken_from, returned_to = job["page_budget"]
        pages = SharedPages(partial(take_page, taken_from), partial(return_page, returned_to))
    report_host = lambda line: parent.send(host=asdict(line))  # noqa: E731
    report_visits = lambda outcomes: parent.send(visits=[asdict(visit) for visit in visits_of(outcomes)])  # noqa: E731
    report_wait = lambda wait: parent.offer(wait=asdict(wait))  # noqa: E731
    return CrawlHooks(
        on_settled=report_visits if job["reports_visits"] else None,
        on_wait=wait_reporter(report_wait) if job["reports_waits"] else None,
        explains_links=job["explains_links"],
        is_held_up=is_held,
        run_id=UUID(job["run_id"]),
        pages=pages,
        seeds=frozenset(job["seeds"]) if job["seeds"] is not None else None,
        hosts=HostShare(job["most_hosts"], finished.all, finished.add, finished.remove, report_host),
        pauses_hosts=job["pauses_hosts"],
        advice=CRAWL_ADVICE,
    )


async def _obey(orders: AsyncIterator[dict[str, Any]], crawl: Crawl, hold: Callable[[bool], None]) -> None:
    """Do what the parent orders, and stop when it is gone."""
    async for order in orders:
        match order:
            case {"stop": reason}:
                crawl.stop(EndReason(reason))
            case {"spent": [reason, sentence]}:
                crawl.end_by(Exhausted(BudgetReason(reason), sentence))
            case {"hold": holds}:
                hold(holds)
    crawl.stop(EndReason.PARENT_GONE)


async def _report(progress: Progress, parent: ParentChannel, *, with_hosts: bool) -> None:
    while True:
        await asyncio.sleep(_REPORT_EVERY_S)
        loads = nlargest(_MOST_LOADS, progress.loads(), key=seconds_for) if with_hosts else ()
        parent.offer(**_progress_message(progress), loads=loads)


def _progress_message(progress: Progress) -> dict[str, Any]:
    return {
        "progress": {name: getattr(progress, name) for name in COUNTED},
        "warnings": progress.warnings,
        "faults": [asdict(fault) for fault in progress.faults.values()],
        "left_out_by": progress.left_out_by,
    }


class PageBudget:
    """A pipe with one byte for each page that may still begin: a process takes one, and returns it without a page.

    If a process is killed, the bytes that it had taken are lost; `add` replaces them.
    """

    def __init__(self, limit: int) -> None:
        self._not_in_pipe = limit
        self.descriptor, self.end = os.pipe()
        for descriptor in (self.descriptor, self.end):
            os.set_blocking(descriptor, False)
        self.fill()

    @property
    def is_empty(self) -> bool:
        """Whether every page is taken."""
        return not self._not_in_pipe and not self._unread()

    def add(self, pages: int) -> None:
        """Let more pages begin."""
        self._not_in_pipe += pages
        self.fill()

    def fill(self) -> None:
        """Fill the pipe, but leave space for pages that are returned."""
        some = min(self._not_in_pipe, _MOST_IN_PIPE - self._unread())
        if some > 0:
            with suppress(BlockingIOError):
                self._not_in_pipe -= os.write(self.end, bytes(some))

    def close(self) -> None:
        """Close the pipe."""
        os.close(self.end)
        os.close(self.descriptor)

    def _unread(self) -> int:
        return int(struct.unpack("i", fcntl.ioctl(self.descriptor, termios.FIONREAD, b"\0" * 4))[0])


def take_page(descriptor: int) -> bool:
    """Take one page of the budget; False if there is none just now."""
    try:
        return bool(os.read(descriptor, 1))
    except BlockingIOError:
        return False


def return_page(end: int) -> None:
    """Return one page to the budget: none was fetched."""
    with suppress(BlockingIOError, BrokenPipeError):  # `fill` leaves space for it
        os.write(end, b"\0")


class FinishedHosts:
    """A file to which each process appends the hosts that it has finished, for all to read before they lease one.

    A line says which process finished a host (`+3 example.com`), or that it must be leased again (`-3 example.com`).
    """

    def __init__(self, descriptor: int | None = None, *, number: int = 0) -> None:
        self._number = number
        self.descriptor = _unnamed_file() if descriptor is None else descriptor
        self._read_to = 0
        self._finished: dict[str, int] = {}

    def all(self) -> set[str]:
        """Every host that the crawl has finished."""
        return set(self._read())

    def by(self, number: int) -> list[str]:
        """The hosts that one process finished."""
        return [host for host, by in self._read().items() if by == number]

    def add(self, host: str) -> None:
        """Note that the crawl has finished a host."""
        self._append("+", host)

    def remove(self, host: str) -> None:
        """Note that a host may be unfinished after all: it must be leased again."""
        self._append("-", host)

    def close(self) -> None:
        """Close the file."""
        os.close(self.descriptor)

    def _append(self, sign: str, host: str) -> None:
        os.write(self.descriptor, f"{sign}{self._number} {host}\n".encode())

    def _read(self) -> dict[str, int]:
        while piece := os.pread(self.descriptor, _READ_BYTES, self._read_to):
            whole = piece[: piece.rfind(b"\n") + 1]
            if not whole:
                break
            self._read_to += len(whole)
            for line in whole.decode().splitlines():
                number, _, host = line[1:].partition(" ")
                if line.startswith("+"):
                    self._finished[host] = int(number)
                else:
                    self._finished.pop(host, None)
        return self._finished


def _unnamed_file() -> int:
    """A file that disappears with the last process that has it open."""
    descriptor, name = tempfile.mkstemp()
    os.unlink(name)
    # With O_APPEND, a write of one process cannot split a line of another.
    fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) | os.O_APPEND)
    return descriptor
