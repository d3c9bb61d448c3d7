"""`comity work`: crawl what the table of hosts offers, until somebody stops it."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any, Final
from uuid import UUID

import typer

from comity.doors.cli.crawl.options import (
    ConnectTimeoutOption,
    FirstByteTimeoutOption,
    ImagesOption,
    MaxImageBytesOption,
    MaxRetryBackoffOption,
    OnlyStaleOption,
    RefreshModeOption,
    RetriesOption,
    TimeoutOption,
)
from comity.doors.cli.exit_codes import INTERRUPTED
from comity.doors.cli.help_text import command
from comity.doors.cli.options import Invocation, JsonOption, StateOption, check_number, read_invocation
from comity.doors.cli.output import counted
from comity.model.end_reason import EndReason
from comity.model.errors import BadInput, StateUnavailable
from comity.run.observe import log_doubts, log_host, log_of, log_run, log_start, observed, told_as_logged, wait_teller
from comity.run.signals import FORCED_EXIT, exit_in_time, print_forced_exit
from comity.run.work.log import FrontierWatch
from comity.telemetry import events, metrics

if TYPE_CHECKING:
    from comity.assemble import State
    from comity.settings import Settings
    from comity.telemetry.meter import Meter
    from comity.telemetry.metrics import Metric
    from comity.walk.crawl import Crawl
    from comity.walk.crawl_hooks import CrawlHooks
    from comity.walk.progress import HostLineInSummary, RunSummary
    from comity.walk.worker import News, WorkerTerms

_MOST_PROCESSES: Final = 64
_MOST_HOSTS: Final = 100_000
_MOST_MINUTES: Final = 1_000_000_000
FINISHING: Final = "finishing what is under way (once more to leave at once)"
NO_PAGE, NOTHING_TO_DO = 3, 4  # what a worker that is one of several ends with, when it did not get a page
_STINT_MINUTES: Final = 30.0  # a run of a worker lasts no longer, so that upkeep comes between
_RESCORE_EVERY_S: Final = 3600.0
_LOOK_AGAIN_EVERY_S: Final = 15.0  # at a frontier that was away
_TIDY_EVERY_S: Final = 60.0  # while there is nothing to crawl
_EXAMPLES = (
    "comity work",
    "comity work --processes 4 --hosts 200 --concurrency 64",
    "comity work --metrics 127.0.0.1:9100",
    "comity work --idle-exit --json",
)


def _option(name: str, metavar: str, text: str) -> Any:
    return typer.Option(name, metavar=metavar, help=text)


def register(root: typer.Typer) -> None:
    """Add the command of this file."""
    command(root, "work", examples=_EXAMPLES, panel="Crawl")(work)


def work(
    context: typer.Context,
    processes: Annotated[int | None, _option("--processes", "N", "Processes; one per core is best. Default 1.")] = None,
    hosts: Annotated[int | None, _option("--hosts", "N", "Hosts under way at once, over all processes.")] = None,
    concurrency: Annotated[int | None, _option("--concurrency", "N", "Requests under way at once. Default 16.")] = None,
    delay: Annotated[float | None, _option("--delay", "SECONDS", "Between requests to a host. Default 1.")] = None,
    per_host: Annotated[int | None, _option("--per-host", "N", "Requests to one host at once. Default 1.")] = None,
    into: Annotated[str | None, _option("--into", "TARGET", "Where pages are kept; see comity crawl --help.")] = None,
    max_minutes: Annotated[float | None, _option("--max-minutes", "N", "Stop after N minutes; 0: never.")] = None,
    refresh: RefreshModeOption = None,
    update_stale: OnlyStaleOption = None,
    images: ImagesOption = None,
    max_image_bytes: MaxImageBytesOption = None,
    timeout: TimeoutOption = None,
    connect_timeout: ConnectTimeoutOption = None,
    first_byte_timeout: FirstByteTimeoutOption = None,
    retries: RetriesOption = None,
    max_retry_backoff: MaxRetryBackoffOption = None,
    idle_exit: Annotated[bool, typer.Option("--idle-exit", help="End when there is nothing to crawl.")] = False,
    metrics: Annotated[
        str | None, _option("--metrics", "ADDRESS:PORT", "Serve /metrics, /healthz and /readyz there.")
    ] = None,
    ends_with_stdin: Annotated[bool, typer.Option("--ends-with-stdin", hidden=True)] = False,
    reports_to: Annotated[int | None, typer.Option("--reports-to", hidden=True)] = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Crawl what the table of hosts offers, best first, until stopped.

    Any number of workers on any number of machines share one state; each host is crawled by one at a time. Hosts come
    from comity seeds. SIGTERM or Ctrl-C finishes what is under way and gives every host back. With --json, one line for
    each finished run. What happens is logged on stderr: sentences on a terminal, JSON lines elsewhere (or by
    COMITY_LOG_FORMAT).
    """
    if processes is not None:
        check_number("--processes", processes, 1, _MOST_PROCESSES)
    if max_minutes is not None and not 0 <= max_minutes <= _MOST_MINUTES:
        raise BadInput(f"--max-minutes must be between 0 and {_MOST_MINUTES:,}, not {max_minutes:g}")
    if hosts is not None:
        check_number("--hosts", hosts, 1, _MOST_HOSTS)
    door = read_invocation(
        context,
        state,
        as_json,
        warns=False,  # it is logged
        pages=into,
        delay_s=delay,
        concurrency=concurrency,
        per_host=per_host,
        processes=processes,
        metrics=metrics,
        enable_refresh_mode=refresh,
        update_stale=update_stale,
        images=images,
        max_image_bytes=max_image_bytes,
        fetch_timeout_s=timeout,
        connect_timeout_s=connect_timeout,
        first_byte_timeout_s=first_byte_timeout,
        retries=retries,
        max_retry_backoff_seconds=max_retry_backoff,
    )
    _check(door)
    with told_as_logged(door):
        code = _run(door, hosts, max_minutes or 0.0, idle_exit, ends_with_stdin, reports_to)
    if code:
        raise typer.Exit(code)


def _run(
    door: Invocation, hosts: int | None, max_minutes: float, idle_exit: bool, is_child: bool, reports_to: int | None
) -> int:
    """Work in as many processes as the settings say; gives the exit code."""
    if door.settings.processes > 1 and not is_child:
        from comity.run.work.supervisor import run_workers

        return run_workers(door, hosts, max_minutes, idle_exit=idle_exit)
    from comity.run.event_loop import event_loop_runner
    from comity.walk.worker import WorkerTerms

    stint_minutes = min(_STINT_MINUTES, door.settings.max_minutes or _STINT_MINUTES)
    terms = WorkerTerms(stint_minutes, max_minutes=max_minutes, is_to_exit_when_idle=idle_exit)
    desk = _Desk(door, hosts, terms, ends_with_stdin=is_child, reports_to=reports_to)
    with event_loop_runner() as runner:
        return runner.run(desk.run())


def _check(door: Invocation) -> None:
    """Whatever cannot be is refused before anything is made or begun."""
    from comity.store.target import read_target

    if ":memory:" in door.settings.where:
        raise BadInput("a worker needs a state that others can reach; one in memory is not")
    read_target(door.settings.pages)


class _Desk:
    """One worker: its signals, its shifts, and what it says."""

    def __init__(
        self, door: Invocation, hosts: int | None, terms: WorkerTerms, *, ends_with_stdin: bool, reports_to: int | None
    ) -> None:
        self._door = door
        self._log = log_of(door)
        self._reports_to = reports_to
        self._meter: Meter | None = None
        self._hosts = hosts
        self._terms = terms
        self._is_child = ends_with_stdin
        self._memory = _Memory()
        self._frontier = FrontierWatch(self._log, lambda: self._count(metrics.STATE_LOST))
        self._code: int | None = None  # what a signal asked for

    async def run(self) -> int:
        """Work to the end; gives the exit code."""
        from comity.walk.worker import Worker

        worker = Worker(self._shift, self._terms, monotonic, random.random, self._tell)
        obey(
            self._stopper(worker.stop), tell=lambda: self._log.tell(events.WORKER_LEFT, FORCED_EXIT, error="no_answer")
        )
        if self._is_child:
            end_with_stdin(worker.stop)
        async with observed(self._door, self._log, self._reports_to) as self._meter:
            begun = monotonic()
            log_start(self._log, self._door)
            if not self._is_child:
                log_doubts(self._log, self._door)
            await worker.run()
            seconds = round(monotonic() - begun, 3)
            said = f"the worker ends after {counted(self._memory.runs, 'run')}"
            self._log.tell(events.WORKER_ENDED, said, runs=self._memory.runs, seconds=seconds)
        return self._memory.exit_code(is_child=self._is_child) if self._code is None else self._code

    def _stopper(self, stop: Callable[[], None]) -> Callable[[int], None]:
        def on_signal(number: int) -> None:
            self._code = INTERRUPTED if number == signal.SIGINT else 0
            if not self._is_child:
                self._log.tell(events.STOPPING, FINISHING, signal=signal.Signals(number).name)
            stop()

        return on_signal

    @asynccontextmanager
    async def _shift(self) -> AsyncIterator[_OneShift]:
        """Open the state anew; opening and closing wait for a server, so they are done beside the loop."""
        opened = self._door.open_or_make(connections=2)
        state = await asyncio.to_thread(opened.__enter__)
        try:
            await asyncio.to_thread(self._frontier.look, state)
            quiet = self._door.as_json or self._is_child or self._log.as_json
            yield _OneShift(state, self._hooks(state), self._memory, quiet=quiet)
        finally:
            await asyncio.to_thread(opened.__exit__, None, None, None)

    def _tell(self, news: News) -> None:
        from comity.walk.progress import RunSummary
        from comity.walk.worker import StateLost

        if isinstance(news, RunSummary):
            self._memory.runs += 1
            self._memory.pages += news.pages
            self._memory.brought_nothing |= news.brought_nothing
            log_run(self._log, news)
            self._count(metrics.RUNS, news.status)
            if self._door.as_json:
                _write_json_line(news)
        elif isinstance(news, StateLost):
            said = f"{news.reason}; trying again in {news.pause_s:.0f} s"
            self._log.tell(events.STATE_LOST, said, error=StateUnavailable.code, pause_s=round(news.pause_s, 3))
            self._count(metrics.STATE_LOST)
        else:
            self._log.tell(events.IDLE, "nothing to crawl now; waiting for hosts")

    def _count(self, metric: Metric, value: str = "") -> None:
        if self._meter is not None:
            self._meter.add(metric, 1, value)

    def _told_of_host(self, line: HostLineInSummary) -> None:
        log_host(self._log, line)
        self._count(metrics.HOSTS_LEFT, line.status.replace(" ", "_"))

    def _hooks(self, state: State) -> CrawlHooks:
        from comity.walk.crawl_hooks import CrawlHooks, Duty, HostShare

        most = _MOST_HOSTS if self._hosts is None else self._hosts
        share = HostShare(most, tuple, leave=_unshared, take_back=_unshared, told=self._told_of_host)
        duty = Duty(_LOOK_AGAIN_EVERY_S, partial(self._frontier.look_again, state))
        return CrawlHooks(
            hosts=share,
            meter=self._meter,
            on_silence=self._frontier.on_silence,
            on_wait=wait_teller(self._log),
            waits_for_room=True,
            duties=(duty,),
        )


def _unshared(_host: str) -> None:
    """Other workers learn from the table which hosts are left."""


@dataclass(slots=True)
class _Memory:
    """What a worker knows from one shift to the next."""

    unfinished: list[tuple[str, UUID]] = field(default_factory=list)  # holders and runs that a lost state kept open
    rescored_at: float = field(default_factory=monotonic)
    tidied_at: float = -inf
    reread_at: float = -inf  # robots.txt of hosts that it closed, while there was nothing to crawl
    runs: int = 0
    pages: int = 0
    brought_nothing: bool = False  # whether a run wanted pages and got none

    def exit_code(self, *, is_child: bool) -> int:
        """How a worker ends by itself: 1 if no page came of all that it tried. One of several tells its parent more."""
        if self.pages:
            return 0
        if not self.brought_nothing:
            return NOTHING_TO_DO if is_child else 0
        return NO_PAGE if is_child else 1


class _OneShift:
    """Runs on one open state, and the upkeep between them."""

    def __init__(self, state: State, hooks: CrawlHooks, memory: _Memory, *, quiet: bool) -> None:
        self._state = state
        self._leases = state.leases()
        self._hooks = hooks
        self._memory = memory
        self._quiet = quiet
        self._running: Crawl | None = None
        self._is_stopped = False

    async def look(self) -> bool:
        """Tidy up where that is due; whether there is a host to crawl."""
        from comity.assemble import REREAD_EVERY_S

        memory, now = self._memory, monotonic()
        if await asyncio.to_thread(self._look):
            return True
        if now - memory.reread_at < REREAD_EVERY_S:
            return False
        memory.reread_at = now
        async with self._state.fetcher() as fetcher:
            await self._state.reread_robots(fetcher)
        return await asyncio.to_thread(self._leases.has_candidate)

    def stop(self) -> None:
        """End the run that is under way, and let none begin."""
        self._is_stopped = True
        if self._running is not None:
            self._running.stop()

    def _look(self) -> bool:
        from comity.upkeep.end_cooldowns import end_cooldowns, lift_refusals
        from comity.upkeep.go_deeper import go_deeper
        from comity.upkeep.rescore import rescore

        state, memory, now = self._state, self._memory, monotonic()
        self._finish_what_failed()
        if now - memory.tidied_at >= _TIDY_EVERY_S:
            self._leases.free_own_dead()
            if memory.tidied_at == -inf:  # the setting can only have changed before the worker began
                lift_refusals(state.database, state.settings.allow_networks)
            end_cooldowns(state.database, state.clock, refresh=state.settings.enable_refresh_mode)
            go_deeper(state.database, state.clock, state.frontier, state.settings.max_depth)
            if now - memory.rescored_at >= _RESCORE_EVERY_S:
                rescore(state.database, state.clock, state.settings.weights)
                memory.rescored_at = now
            memory.tidied_at = now
        return self._leases.has_candidate()

    def _finish_what_failed(self) -> None:
        """The state is back: the hosts of a run that lost it are freed, and its end is noted."""
        unfinished = self._memory.unfinished
        while unfinished:
            holder, run_id = unfinished[0]
            self._leases.free_former([holder])
            desk, lost = self._state.run_desk(run_id), EndReason.STATE_LOST
            desk.take_over()  # also pages for which there was no room
            desk.close("failed", lost, lost.sentence)
            del unfinished[0]

    async def crawl(self, minutes: float) -> RunSummary:
        """One run, of so many minutes at most."""
        from comity.doors.cli.crawl.progress import watched
        from comity.upkeep.rescore import rescore_run

        settings = _of_one_run(self._state.settings, minutes)
        leases = self._state.leases()
        state = replace(self._state, settings=settings)
        shown = replace(self._state, settings=settings.model_copy(update={"max_minutes": 0.0}))
        async with state.fetcher() as fetcher:
            crawl = self._running = state.crawl(fetcher, None, self._hooks, leases=leases)
            if self._is_stopped:
                crawl.stop()
            try:
                async with watched(crawl.progress, shown, quiet=self._quiet):
                    summary = await crawl.run()
            except BaseException:
                self._memory.unfinished.append((leases.holder, crawl.run_id))
                raise
            finally:
                self._running = None
        with suppress(StateUnavailable):  # the next look tells; what was crawled is settled
            await asyncio.to_thread(rescore_run, state.database, state.clock, summary.run_id, settings.weights)
        self._memory.tidied_at = float("-inf")  # before the next run
        return summary


def _of_one_run(settings: Settings, minutes: float) -> Settings:
    return settings.model_copy(update={"max_minutes": minutes})


def obey(
    on_signal: Callable[[int], None],
    leave: Callable[[], None] | None = None,
    tell: Callable[[], None] = print_forced_exit,
) -> None:
    """The first SIGINT or SIGTERM is handed on; the second leaves at once, and loses nothing that was settled.

    So does the time that a command may take to end; `tell` says so.
    """
    loop = asyncio.get_running_loop()
    asked: list[int] = []

    def on(number: int) -> None:
        if asked:
            if leave is not None:
                leave()
            os._exit(INTERRUPTED)
        asked.append(number)
        exit_in_time(1, tell=tell, before=leave or (lambda: None))
        on_signal(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, on, number)


def end_with_stdin(stop: Callable[[], None]) -> None:
    """Whoever started us holds the other end of stdin: when it is closed, they are gone."""
    loop = asyncio.get_running_loop()

    def read() -> None:
        with suppress(BlockingIOError):
            if not os.read(0, 4096):
                loop.remove_reader(0)
                stop()

    loop.add_reader(0, read)


def _write_json_line(summary: RunSummary) -> None:
    """Short enough for one write, so that the lines of several processes do not mix."""
    names = ("run_id", "status", "code", "reason", "pages", "unchanged", "errors", "refused", "bytes_received")
    told = {name: getattr(summary, name) for name in names}
    told |= {"seconds": round(summary.seconds, 3), "hosts": len(summary.hosts), "endings": summary.endings}
    told["warnings"] = summary.warnings[:5]
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()
