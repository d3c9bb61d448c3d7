"""A crawl of named sites, for the command line and the Python API: seeds go in, a summary comes out.

Both doors prepare, reopen, crawl and finish in this order; the command line by `crawl_sites`, the Python API on its own
threads and event loop.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from comity.assemble import cookie_folder, read_request_options
from comity.clock import SystemClock
from comity.model.dataclass import dataclass
from comity.model.errors import BadInput
from comity.operate.hosts import request_refresh, seeded_hosts_of_site
from comity.operate.runs import pause_hosts
from comity.operate.seeds import add_seeds
from comity.rules.canonical import address_of_host, web_address
from comity.rules.request_options import origins_of_seeds
from comity.rules.url_patterns import path_of_seed
from comity.run.crawl.supervisor import stop_on_request
from comity.run.crawl.view import CrawlObserver, visits_of, wait_reporter
from comity.run.remedies import CRAWL_ADVICE, worded
from comity.run.runtime import event_loop_runner, spare_what_is_loaded
from comity.run.signals import INTERRUPTED, stop_on_signals
from comity.upkeep.rescore import rescore_run
from comity.upkeep.wake_hosts import end_cooldowns, follow_left_out, go_deeper, lift_refusals, reread_robots
from comity.walk.crawl.terms import CrawlHooks

if TYPE_CHECKING:
    from uuid import UUID

    from comity.assemble import State
    from comity.model.host import Seed
    from comity.settings import Settings
    from comity.walk.crawl.progress import RunSummary

_SEEDS_MOST: Final = 10_000  # beyond this number, seeds are treated like other URLs at depth 0
_RECORDED_MOST: Final = 1_000  # stored with a run; with more, only the command that started it can continue it


@dataclass(frozen=True, slots=True)
class Sites:
    """The hosts that a crawl may visit, and the seeds that a takedown excludes."""

    hosts: frozenset[str]
    taken_down: tuple[str, ...]
    seeds: frozenset[str] | None = None
    """The seeds without their schemes; None where they are very many."""
    recorded: Mapping[str, Any] = field(default_factory=dict)
    """What is stored with the run, so that it can be shown, stopped and continued from elsewhere."""
    pauses_hosts: bool = False
    """Whether workers leave the hosts that the run finds alone, too."""


def with_page_limit(settings: Settings, max_pages: int | None, hosts: Collection[str]) -> Settings:
    """Apply an explicit page limit: it replaces the limit per host if it is "no limit", or if there is one host.

    Several hosts share a limit in fair parts, and a host with its own policy keeps that limit.
    """
    if max_pages is None or (max_pages and len(hosts) > 1):
        return settings
    return settings.model_copy(update={"pages_per_host": 0})  # the limit of the run is enough


def with_site(settings: Settings, seeds: Sequence[Seed], *, under: bool = False) -> Settings:
    """Turn options that depend on the seeds into settings: paths to stay below, and the hosts of one site.

    Settings reach every process of the crawl, and are recorded with the run.
    """
    changes: dict[str, tuple[str, ...]] = {}
    if under:
        addresses = (web_address(seed.url) if seed.url else address_of_host(seed.host.authority) for seed in seeds)
        changes["under"] = tuple(dict.fromkeys(map(path_of_seed, addresses)))
    if settings.subdomains or settings.site_hosts:
        changes["site_hosts"] = tuple(dict.fromkeys([*settings.site_hosts, *(seed.host.authority for seed in seeds)]))
    return settings.model_copy(update=changes) if changes else settings


def with_request_options(settings: Settings, seeds: Collection[Seed]) -> Settings:
    """Send headers, cookies and credentials that name no host to the seeds; `BadInput` if an option cannot be used.

    Every secret is read once here, before anything is opened or requested.
    """
    if settings.keep_cookies and cookie_folder(settings) is None:
        raise BadInput("keep_cookies", "with a shared state, COMITY_COOKIE_FOLDER must name the folder of kept cookies")
    if not (settings.headers or settings.cookies or settings.auth or settings.login or settings.proxy):
        return settings
    origins = (*settings.request_origins, *origins_of_seeds(seeds))
    settings = settings.model_copy(update={"request_origins": tuple(dict.fromkeys(origins))})
    options = read_request_options(settings, SystemClock().seconds)
    hosts = {seed.host.authority for seed in seeds}
    for host, page in options.logins.items():
        if host not in hosts:
            raise BadInput("login", f"{page} is not on one of the hosts to crawl")
    return settings


def prepare_sites(
    state: State, seeds: Sequence[Seed], *, source: str, refresh: bool, paused_by: UUID | None = None
) -> Sites:
    """Add the seeds, and make their hosts ready for this crawl.

    A person named these hosts, so earlier pauses end. `paused_by` is a run with limits: workers leave its hosts alone.
    """
    database, clock, settings = state.database, state.clock, state.settings
    report = add_seeds(
        database,
        clock,
        seeds,
        source=source,
        weights=settings.weights,
        frontier=state.frontier,
        paused_by=paused_by,
    )
    hosts = {seed.host.authority for seed in seeds} - set(report.taken_down)
    if (site := state.site()) is not None:  # hosts that earlier crawls of the site found
        hosts |= seeded_hosts_of_site(database, site) - set(report.taken_down)
    if paused_by is not None:  # before they are woken, or a worker could take them in between
        pause_hosts(database, hosts, paused_by)
    end_cooldowns(database, clock, refresh=settings.enable_refresh_mode)
    lift_refusals(database, settings.allow_networks, hosts)
    go_deeper(database, clock, state.frontier, settings.max_depth, hosts)
    woken = follow_left_out(database, clock, state.frontier, state.left_out_terms(), hosts, paused_by=paused_by)
    if woken and site is not None:  # what was left out may be on hosts that no crawl knew
        hosts |= seeded_hosts_of_site(database, site) - set(report.taken_down)
    if refresh:
        request_refresh(database, clock, hosts)
    pause_hosts(database, hosts, paused_by)
    recorded = recorded_seeds(seeds, refresh=refresh)
    return Sites(frozenset(hosts), tuple(report.taken_down), _named(seeds), recorded, paused_by is not None)


def recorded_seeds(seeds: Sequence[Seed], *, refresh: bool = False) -> dict[str, Any]:
    """What a run was asked to crawl, as it is stored with its settings; nothing where the seeds are very many."""
    if len(seeds) > _RECORDED_MOST:
        return {}
    return {"seeds": list(dict.fromkeys(map(_as_entered, seeds))), "refresh": refresh}


def _as_entered(seed: Seed) -> str:
    if seed.url is None:
        return seed.host.authority
    return seed.url.partition("://")[2] if seed.is_scheme_guessed else seed.url


def _named(seeds: Sequence[Seed]) -> frozenset[str] | None:
    """The seeds, for the patterns: they were named explicitly, so the run's patterns do not apply to them."""
    if len(seeds) > _SEEDS_MOST:
        return None
    urls = (seed.url or address_of_host(seed.host.authority).url for seed in seeds)
    return frozenset(web_address(url).url.partition("://")[2] for url in urls)


async def reopen_hosts(state: State, hosts: Collection[str]) -> None:
    """Read robots.txt again where it closed a host and its copy is too old; a change reopens the host."""
    async with state.fetcher() as fetcher:
        read = partial(state.read_robots, fetcher)
        await reread_robots(state.database, state.clock, read, hosts, state.frontier)


def finish_sites(state: State, summary: RunSummary) -> RunSummary:
    """Rank the hosts of the run by its results; returns the summary for users, with remedies in words."""
    rescore_run(state.database, state.clock, summary.run_id, state.settings.weights)
    return replace(summary, idle=tuple(map(worded, summary.idle)))


def crawl_sites(
    state: State,
    seeds: Sequence[Seed],
    view: CrawlObserver,
    *,
    processes: int = 1,
    refresh: bool = False,
) -> tuple[RunSummary, Sites]:
    """Crawl sites from a terminal, here or in several processes, until the crawl ends or a signal stops it."""
    sites = prepare_sites(state, seeds, source="cli", refresh=refresh)
    if sites.taken_down:
        view.on_warning(f"Skipped because of a takedown: {', '.join(sites.taken_down)}.")
    with event_loop_runner() as runner:
        runner.run(reopen_hosts(state, sites.hosts))
    processes = min(processes, len(sites.hosts), state.settings.concurrency)
    with event_loop_runner() as runner:
        if processes > 1:
            from comity.run.crawl.supervisor import SharedCrawl

            summary = runner.run(SharedCrawl(state, sites, processes, view).run())
        else:
            summary = runner.run(_crawl_here(state, sites, view))
    return finish_sites(state, summary), sites


async def _crawl_here(state: State, sites: Sites, view: CrawlObserver) -> RunSummary:
    on_visits = view.on_visits
    hooks = CrawlHooks(
        on_settled=(lambda outcomes: on_visits(visits_of(outcomes))) if on_visits is not None else None,
        on_host=view.on_host,
        on_wait=wait_reporter(view.on_wait) if view.on_wait is not None else None,
        explains_links=view.explains_links,
        advice=CRAWL_ADVICE,
        seeds=sites.seeds,
        recorded=sites.recorded,
        duties=(stop_on_request(state, lambda: crawl.run_id, lambda: crawl.stop()),),
    )
    async with state.fetcher() as fetcher:
        crawl = state.crawl(fetcher, sites.hosts, hooks)

        def stop(_number: int) -> None:
            view.on_stop()
            crawl.stop()

        stop_on_signals(stop, view.on_exit, timeout_code=INTERRUPTED)
        view.on_start(crawl.stop)
        spare_what_is_loaded()
        async with view.watch(crawl.progress, state):
            return await crawl.run()
