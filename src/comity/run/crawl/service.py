"""Crawls that a server runs: started by an operator, a few at once, each in its own child processes.

A run is recorded before anything else happens, so its page exists at once and later says how the run ended. Stopping is
clean, as everywhere: requests in flight finish, and the same seeds continue exactly there. When the server stops, its
runs stop; when it is killed, their processes notice and stop by themselves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final, Protocol
from uuid import UUID, uuid4

from comity.model.dataclass import dataclass
from comity.model.errors import BadInput, HostBusy
from comity.model.run import EndReason
from comity.operate.hosts import seeded_hosts_of_site
from comity.operate.runs import pause_hosts, resume_finished_hosts
from comity.reports.runs import is_stop_requested
from comity.rules.seed_list import read_seed
from comity.run.child_process import packed_settings
from comity.run.crawl.sites import (
    finish_sites,
    prepare_sites,
    recorded_seeds,
    reopen_hosts,
    with_page_limit,
    with_request_options,
    with_site,
)
from comity.run.crawl.supervisor import SharedCrawl, supervised
from comity.run.crawl.view import CrawlObserver
from comity.run.remedies import describe_failure
from comity.settings import read_settings
from comity.store.target import read_target

if TYPE_CHECKING:
    from comity.assemble import State
    from comity.model.host import Seed
    from comity.reports.runs import RunListed
    from comity.settings import Settings
    from comity.walk.crawl.progress import Progress
    from comity.walk.crawl.run_record import RunRecord

MOST_AT_ONCE: Final = 4
MOST_PROCESSES: Final = 8
MOST_SEEDS: Final = 1_000
STOPS_WITHIN_S: Final = 28.5  # the processes of a run end within 27.5
_SERVER_STOPPED: Final = "the server was stopped"
# What an operator may choose for one crawl. Where pages go, which networks are allowed and what requests carry is for
# the settings of the server alone: a browser must not write to other folders or reach private addresses.
CHOICES: Final = (
    "max_pages",
    "max_minutes",
    "max_depth",
    "delay_s",
    "concurrency",
    "per_host",
    "processes",
    "follow_links",
    "respect_nofollow",
    "follow_canonical",
    "sitemaps",
    "subdomains",
    "include",
    "exclude",
    "site_hosts",
    "accept_types",
    "reject_types",
    "update_stale",
    "text",
    "markdown",
    "images",
    "keep_links",
    "keep_headers",
)


@dataclass(frozen=True, slots=True)
class CrawlOrder:
    """A crawl that an operator ordered: seeds, and settings that differ from the server's."""

    seeds: tuple[str, ...]
    choices: Mapping[str, Any] = field(default_factory=dict)
    under: bool = False
    refresh: bool = False


def _cover(patterns: Collection[str], types: Collection[str]) -> bool:
    return all(any(fnmatchcase(each, pattern) for pattern in patterns) for each in types)


# Whether a choice makes a crawl visit less than the server's own setting would.
_RESTRICTS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "max_pages": lambda chosen, own: bool(chosen) and not 0 < own <= chosen,
    "max_minutes": lambda chosen, own: bool(chosen) and not 0 < own <= chosen,
    "max_depth": lambda chosen, own: chosen < own,
    "include": lambda chosen, own: bool(chosen) and not (own and set(own) <= set(chosen)),
    "exclude": lambda chosen, own: not set(chosen) <= set(own),
    "accept_types": lambda chosen, own: bool(chosen) and not (own and _cover(chosen, own)),
    "reject_types": lambda chosen, own: not _cover(own, chosen),
    "respect_nofollow": lambda chosen, own: chosen and not own,
    "follow_links": lambda chosen, own: own and not chosen,
    "follow_canonical": lambda chosen, own: own and not chosen,
    "sitemaps": lambda chosen, own: own and not chosen,
    "subdomains": lambda chosen, own: own and not chosen,
    "images": lambda chosen, own: own and not chosen,
}
# A host that was finished within these limits has nothing more for a worker to visit.
_AMOUNTS: Final = frozenset({"max_pages", "max_minutes", "max_depth"})


def limits_of(order: CrawlOrder, settings: Settings) -> frozenset[str]:
    """The choices that make a crawl visit less than a worker with the server's settings would.

    If there are any, workers leave its hosts alone, during and after the crawl: they would exceed the limits.
    """
    limits = {"under"} if order.under else set()
    for name, chosen in order.choices.items():
        if chosen is not None and name in _RESTRICTS and _RESTRICTS[name](chosen, getattr(settings, name)):
            limits.add(name)
    return frozenset(limits)


def order_to_resume(run: RunListed, settings: Settings, *, refresh: bool = False) -> CrawlOrder:
    """The crawl that continues a run; `BadInput` if this server cannot continue it."""
    if not run.seeds:
        raise BadInput("this run has no seeds to continue with: it took whatever was due")
    if run.settings.get("pages", settings.pages) != settings.pages:
        raise BadInput(f"its pages are stored in {run.settings['pages']}; repeat the command that started it")
    # A run is recorded with all of its settings: those that are the server's own were not chosen.
    own = settings.model_dump(mode="json", include={*CHOICES, "under"})
    choices = {name: run.settings[name] for name in CHOICES if run.settings.get(name) not in (None, own[name])}
    if run.settings.get("pages_per_host") == 0 < settings.pages_per_host:  # an explicit limit of the run, also "none"
        choices.setdefault("max_pages", run.settings.get("max_pages", 0))
    is_under = bool(run.settings.get("under")) and run.settings["under"] != own["under"]
    return CrawlOrder(run.seeds, choices, is_under, refresh or bool(run.settings.get("refresh")))


@dataclass(slots=True)
class _Hosted:
    """A run of this server, until it ends."""

    record: RunRecord
    task: asyncio.Task[None] = field(init=False)
    crawl: SharedCrawl | None = None
    limits: frozenset[str] = frozenset()
    stop_detail: str | None = None
    """Why it is to stop; it may be asked to before its processes are started."""
    is_stopping: bool = False

    def pauses_for(self, run_id: UUID) -> UUID | None:
        """The run for which workers leave its hosts alone: it has limits, or a person, not the server, stopped it."""
        return run_id if self.limits or (self.is_stopping and self.stop_detail is None) else None

    def stop(self, detail: str | None) -> None:
        self.is_stopping, self.stop_detail = True, detail
        if self.crawl is not None:
            self.crawl.stop(detail)


class PausableWorker(Protocol):
    """The worker of this process, which pauses for the crawls that an operator starts."""

    async def pause(self) -> None:
        """Release every host, and take none until `resume`."""

    def resume(self) -> None:
        """Continue."""


class HostedCrawls:
    """The crawls of one server; its worker, if it has one, pauses while one of them runs."""

    def __init__(self, state: State, on_fault: Callable[[str, Exception], None]) -> None:
        self._state = state
        self._on_fault = on_fault
        self._runs: dict[UUID, _Hosted] = {}
        self._is_closed = False
        self.worker: PausableWorker | None = None

    @property
    def running(self) -> int:
        """How many crawls run here."""
        return len(self._runs)

    def progress(self, run_id: UUID) -> Progress | None:
        """The counters of a run of this server, once its processes are started."""
        run = self._runs.get(run_id)
        return run.crawl.progress if run is not None and run.crawl is not None else None

    def is_here(self, run_id: UUID) -> bool:
        """Whether a run is one of this server and has not ended."""
        return run_id in self._runs

    async def start(self, order: CrawlOrder) -> UUID:
        """Start a crawl, and return once it is recorded; `BadInput` if it cannot be, `HostBusy` if too many run."""
        self._require_room()
        settings, seeds = await asyncio.to_thread(self._plan, order)
        self._require_room()  # others may have started one meanwhile
        run_id, state = uuid4(), replace(self._state, settings=settings)
        run = self._runs[run_id] = _Hosted(state.run_record(run_id), limits=limits_of(order, self._state.settings))
        recorded = recorded_seeds(seeds, refresh=order.refresh)
        try:
            await asyncio.to_thread(run.record.open, state.recorded_settings | supervised(recorded))
        except BaseException:
            del self._runs[run_id]
            raise
        run.task = asyncio.create_task(self._run(run_id, run, state, seeds, refresh=order.refresh))
        run.task.add_done_callback(lambda _task: self._runs.pop(run_id, None))
        return run_id

    def stop(self, run_id: UUID) -> None:
        """Stop a run of this server cleanly, without waiting for its end; others are stopped through the state."""
        if (run := self._runs.get(run_id)) is not None:
            run.stop(None)

    async def open(self) -> None:
        """Record the end of runs whose process is gone, because their server was killed."""
        await asyncio.to_thread(self._state.run_record(uuid4()).end_dead_runs)

    async def close(self) -> None:
        """Start no more, and stop all cleanly within a time limit."""
        self._is_closed = True
        for run in self._runs.values():
            run.stop(_SERVER_STOPPED)
        tasks = [run.task for run in self._runs.values() if hasattr(run, "task")]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=STOPS_WITHIN_S)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    def _require_room(self) -> None:
        if self._is_closed or len(self._runs) >= MOST_AT_ONCE:
            raise HostBusy(f"{MOST_AT_ONCE} crawls run on this server already; stop one, or wait until one ends")

    def _plan(self, order: CrawlOrder) -> tuple[Settings, tuple[Seed, ...]]:
        """The settings and seeds of a crawl, checked as the command checks them."""
        base = self._state.settings
        seeds = tuple(read_seed(text, collapse=base.collapse_subdomains) for text in order.seeds)
        if not seeds:
            raise BadInput("seeds", "enter at least one URL or host, such as https://example.com/")
        if len(seeds) > MOST_SEEDS:
            raise BadInput("seeds", f"enter at most {MOST_SEEDS:,}; use comity crawl --seeds for more")
        if unknown := order.choices.keys() - set(CHOICES):
            raise BadInput(min(unknown), "is set for the whole server, not for one crawl")
        settings = read_settings(**(packed_settings(base) | dict(order.choices)))
        if settings.processes > MOST_PROCESSES:
            raise BadInput("processes", f"must be at most {MOST_PROCESSES}")
        read_target(settings.pages)
        hosts = {seed.host.authority for seed in seeds}
        settings = with_page_limit(settings, order.choices.get("max_pages"), hosts)
        return with_request_options(with_site(settings, seeds, under=order.under), seeds), seeds

    async def _run(self, run_id: UUID, run: _Hosted, state: State, seeds: Sequence[Seed], *, refresh: bool) -> None:
        worker = self.worker
        if worker is None:
            await self._crawl(run_id, run, state, seeds, refresh=refresh)
            return
        try:
            await worker.pause()
            await self._crawl(run_id, run, state, seeds, refresh=refresh)
        finally:
            worker.resume()

    async def _crawl(self, run_id: UUID, run: _Hosted, state: State, seeds: Sequence[Seed], *, refresh: bool) -> None:
        try:
            paused_by = run.pauses_for(run_id)
            sites = await asyncio.to_thread(
                prepare_sites, state, seeds, source="web", refresh=refresh, paused_by=paused_by
            )
            if not sites.hosts:
                reason = EndReason.TAKEN_DOWN
                await asyncio.to_thread(run.record.close, "finished", reason, reason.sentence)
                return
            await reopen_hosts(state, sites.hosts)
            processes = min(state.settings.processes, len(sites.hosts), state.settings.concurrency)
            view = CrawlObserver(shows_hosts=True)
            run.crawl = SharedCrawl(state, sites, processes, view, begun=(run_id, run.record), handles_signals=False)
            if run.is_stopping:
                run.crawl.stop(run.stop_detail)
        except Exception as error:
            await self._record_failure(run, error)
            return
        try:
            try:
                summary = await run.crawl.run()  # records how it ended, also if it fails
                await asyncio.to_thread(finish_sites, state, summary)
            finally:
                await asyncio.to_thread(self._settle_pauses, run_id, run, state, sites.hosts)
        except Exception as error:
            self._on_fault("crawl", error)

    def _settle_pauses(self, run_id: UUID, run: _Hosted, state: State, hosts: Collection[str]) -> None:
        """After a crawl, leave what its limits or its stop left over to a person, and return the rest to the workers.

        The stop may have been requested in another process, and hosts of a site may have been found after it.
        """
        database = state.database
        if not run.limits and (run.pauses_for(run_id) is not None or is_stop_requested(database, run_id)):
            site = state.site()
            found = seeded_hosts_of_site(database, site) if site is not None else set()
            pause_hosts(database, found.union(hosts), run_id)
        if run.limits <= _AMOUNTS:
            resume_finished_hosts(database, run_id)

    async def _record_failure(self, run: _Hosted, error: Exception) -> None:
        """A crawl that failed before its processes were started."""
        self._on_fault("crawl", error)
        try:
            sentence = describe_failure(error).message
            await asyncio.to_thread(run.record.close, "failed", EndReason.FAILED, sentence)
        except Exception as second:  # the next start of a server finds that the run is dead
            self._on_fault("crawl", second)
