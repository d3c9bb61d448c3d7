"""Runs one CRAWL statement on its own thread: URLs enter, Parquet parts and a summary leave.

The statement is a visit list in the state. If it was killed, the same statement continues it; once it has ended, the
same statement starts again from the beginning.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import chain
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Any, Final

from comity.assemble import State
from comity.frontier.store import Validators
from comity.model.dataclass import dataclass
from comity.model.evidence import EvidenceType
from comity.model.frontier import FrontierEntry, HostHome
from comity.model.outcome import Fetched, NotModified, Outcome
from comity.model.run import EndReason
from comity.rules.canonical import web_address
from comity.rules.responses import without_tls
from comity.rules.sql.seeds import QuerySeed, SeedKind
from comity.rules.surt import surt_key
from comity.run.visit_list_thread import WAIT_FOR_HOSTS_S, VisitListThread, hosts_held_elsewhere
from comity.settings import Settings
from comity.store.pages import PageStore, PartPace
from comity.store.parts.manifest import note_path
from comity.store.sink import PageSink
from comity.store.sitemap_files import SitemapFiles
from comity.store.sql_table import RefusedRow
from comity.store.target import Target
from comity.walk.crawl.progress import RunSummary
from comity.walk.crawl.terms import CrawlHooks
from comity.walk.visit_list import (
    VisitList,
    add_visits,
    durations,
    end_list,
    forget_list,
    hosts_to_visit,
    not_asked,
    not_visited,
    open_list,
    pages_so_far,
    plan_sitemaps,
    sitemaps_not_read,
)

DOOR: Final = "sql"
_LISTED: Final = 1000
_WARNED_MOST: Final = 5
_ALLOWED_BY: Final = "--allow-network"
_ALLOW: Final = "; in Python: allow_networks"

_PART_BYTES: Final = 64 * 1024 * 1024  # of bodies
# Each row group is one transaction. With 7.5 MB in each, DuckDB uses memory again that it has; with 20 MB, it has the
# system clear twice as much, and takes a seventh more processor time.
_GROUP_BYTES: Final = 7_500_000
# Loading a part takes a few milliseconds, however few pages it has; but what has arrived since the last one is loaded
# when the crawl is over, while the user waits. So parts are younger in a short statement.
_PART_AGE_S: Final = 1.0
_PART_AGE_AT_FIRST_S: Final = 0.2
_PART_SHARE: Final = 0.1  # of the time that the statement has taken
_MOST_TIMES: Final = 10_000  # kept until their pages are in the table; the state knows the others
_UNREACHABLE: Final = frozenset(
    {
        EndReason.DNS_FAILURE,
        EndReason.CONNECTION_FAILURE,
        EndReason.ADDRESS_REFUSED,
        EndReason.ROBOTS_UNREACHABLE,
        EndReason.SERVER_ERRORS,
        EndReason.FORBIDDEN,
    }
)
"""Hosts that the same statement does not continue with: each of their URLs gets a row that says why."""

Admits = Callable[[Sequence[FrontierEntry]], Sequence[bool]]


@dataclass(frozen=True, slots=True)
class StatementPlan:
    """What a statement crawls, and how; checked. `settings` name the state, and the folder that pages come to."""

    settings: Settings
    name: str
    """What tells this statement from others of its database."""
    seeds: tuple[QuerySeed, ...]
    admits: Admits
    most_pages: int = 0
    """0 means no limit."""
    lists_refused: bool = True
    is_forgotten: bool = False
    """Whether its list of visits is deleted at its end, because no statement ever continues with it."""
    database: str = ""
    target: tuple[str, ...] = ()
    """The table that it fills, and the database that has it: `STOP CRAWL` names them."""
    validators: Validators | None = None
    """The ETag and Last-Modified that the table has of URLs, if pages that it has are requested conditionally."""
    batch_size: int = 100
    """Rows that are written to the table together, at least."""
    kept_sitemaps: SitemapFiles | None = None
    """Sitemaps that earlier statements of the database read."""
    ignores_own_robots: bool = False
    """Whether robots.txt is ignored at addresses in the allowed networks."""


@dataclass(slots=True)
class StatementSummary:
    """How a statement ended."""

    pages: int = 0
    errors: int = 0
    left_out: int = 0
    """URLs that were found and that the filter did not admit, or that the table has."""
    left: int = 0
    """Hosts that still have URLs: the same statement continues with them."""
    ended_by: str = str(EndReason.NOTHING_LEFT)
    refused: int = 0
    """URLs that were not requested."""
    first_refused: RefusedRow | None = None
    unreachable: dict[str, str] = field(default_factory=dict)
    """Hosts that could not be crawled at all, and why."""
    waits_for: tuple[str, ...] = ()
    """Hosts that another process is crawling; the statement continues when that has ended."""

    @property
    def brought_nothing(self) -> bool:
        """Whether it wanted pages, and none was requested or answered; an answer that is an error has its row."""
        return not self.pages and bool(self.refused or self.unreachable)

    def warnings(self) -> list[str]:
        """Sentences about hosts that could not be crawled: an empty table would not explain itself."""
        found = []
        for host, why in list(self.unreachable.items())[:_WARNED_MOST]:
            found.append(f"{host} was not crawled: {why}{_ALLOW if _ALLOWED_BY in why else ''}")
        if (more := len(self.unreachable) - _WARNED_MOST) > 0:
            found.append(f"{more:,} more hosts were not crawled; their rows have the reasons")
        if not found and self.brought_nothing:
            count, row = self.refused, self.first_refused
            assert row is not None  # no host was unreachable
            which = f"{row.url} was refused" if count == 1 else f"{count:,} URLs were refused, the first {row.url}"
            found.append(f"no page was stored: {which}: {row.error}")
        return found


class StatementRun(VisitListThread):
    """One run of a statement: `start`, then `wait`; the state is open until `close`."""

    def __init__(self, plan: StatementPlan) -> None:
        super().__init__(plan.settings, "comity-sql")
        self.plan = self._plan = plan
        self._state: State | None = None
        self._may_close = Event()
        self._opened: list[VisitList] = []
        self._visited: list[VisitList] = []  # lists of which nothing is left to do
        self._elapsed_ms: dict[str, int] = {}  # of pages whose parts are not in the table yet
        self._unchanged: dict[str, float] = {}  # pages that answered 304, and when they were requested
        self._dead: dict[str, str] = {}  # hosts that could not be reached, and why
        self._store: PageStore | None = None
        self._began = monotonic()
        self._not_requested: list[Iterator[list[RefusedRow]]] = []
        self._first_not_requested: list[RefusedRow] = []
        self._has_looked = Event()  # for the first of them
        self.is_complete = False
        """Whether nothing is left for the same statement to continue with."""
        self.summary = StatementSummary()

    def end(self) -> None:
        """Everything fetched is in its table, so the same statement starts again from the beginning."""
        if self._state is None:
            return
        for visits in self._opened if self._plan.is_forgotten else self._visited:
            if self._plan.is_forgotten:
                forget_list(self._state.database, visits)
            else:
                end_list(self._state.database, self._state.clock, visits)

    def begin_close(self) -> None:
        """Close the state, of which nothing is needed any more, on its own thread."""
        self._may_close.set()

    def close(self) -> StatementSummary:
        """Wait until the state is closed; raises what made the statement fail."""
        self.begin_close()
        self._join()
        return self.summary

    def finished_parts(self) -> Iterator[Path]:
        """Parts with everything that belongs to them, in order."""
        for part in Target.of_folder(Path(self._plan.settings.pages)).parts():
            if note_path(part).exists():
                yield part

    def forget_part(self, part: Path) -> None:
        """A part is in its table."""
        part.unlink(missing_ok=True)
        note_path(part).unlink(missing_ok=True)
        if self._store is not None:
            self._store.pace(self._pace())

    def elapsed_ms(self, urls: Sequence[str]) -> dict[str, int]:
        """How long the last visits of URLs took, each returned once; the state knows those of dead processes."""
        found = {url: took for url in urls if (took := self._elapsed_ms.pop(url, None)) is not None}
        if len(found) < len(urls) and self._state is not None:
            keys = {web_address(url).key: url for url in urls if url not in found}
            found |= {keys[key]: took for key, took in durations(self._state.database, list(keys)).items()}
        return found

    def take_refused(self) -> Iterator[list[RefusedRow]]:
        """URLs that were not requested, some at a time, once the crawl is over; each once, and counted."""
        if self._state is not None:
            self._has_looked.wait()
        for rows in chain([self._first_not_requested], *self._not_requested):
            if rows:
                self.summary.refused += len(rows)
                self.summary.first_refused = self.summary.first_refused or rows[0]
                yield rows

    def take_unchanged(self) -> dict[str, float]:
        """Pages that have not changed since the table's rows, with the times of their requests; each once."""
        taken = {}
        while self._unchanged:  # outcomes may arrive meanwhile
            url, at = self._unchanged.popitem()
            taken[url] = at
        return taken

    def _note(self, outcomes: Sequence[Outcome]) -> None:
        """Called on the event loop once outcomes are committed; their part may be in the table before that."""
        if len(self._elapsed_ms) > _MOST_TIMES:
            self._elapsed_ms.clear()
        for outcome in outcomes:
            if isinstance(outcome, Fetched):
                self._elapsed_ms[outcome.entry.url] = round(outcome.answer.elapsed_s * 1000)
            elif isinstance(outcome, NotModified):
                self._unchanged[outcome.entry.url] = outcome.answer.at

    def _hold(self) -> None:
        try:  # while the last pages are stored: with many URLs this takes as long
            self._first_not_requested = next(chain.from_iterable(self._not_requested), [])
        finally:
            self._has_looked.set()
            self._may_close.wait()
            self._state = None

    async def _work(self, state: State) -> None:
        """Direct URLs first: their hosts' sitemaps are not requested."""
        self._state = state
        pages = [seed for seed in self._plan.seeds if seed.kind is SeedKind.PAGE]
        sites = [seed for seed in self._plan.seeds if seed.kind is not SeedKind.PAGE]
        for seeds, reads_sitemaps in ((pages, False), (sites, True)):
            if seeds and not self._is_full():
                settings = state.settings.model_copy(update={"sitemaps": reads_sitemaps})
                kind = "sites" if reads_sitemaps else "pages"
                await self._crawl_some(State(state.database, state.clock, settings), seeds, kind)
        self.is_complete = not self._is_stopping.is_set() and not self.summary.left

    def _admits_of_sites(self) -> Admits:
        """What may be visited of sitemaps: the URLs that the query names itself are on the list of pages."""
        direct = {seed.address.url for seed in self._plan.seeds if seed.kind is SeedKind.PAGE}
        if not direct:
            return self._plan.admits

        def admits(entries: Sequence[FrontierEntry]) -> Sequence[bool]:
            admitted = self._plan.admits(entries)
            return [said and entry.url not in direct for said, entry in zip(admitted, entries, strict=True)]

        return admits

    def _is_full(self) -> bool:
        return bool(self._plan.most_pages) and self.summary.pages >= self._plan.most_pages

    async def _crawl_some(self, state: State, seeds: Sequence[QuerySeed], kind: str) -> None:
        database, clock = state.database, state.clock
        if self._is_stopping.is_set():
            return
        visits = open_list(database, clock, DOOR, f"{self._plan.name}:{kind}")
        self._opened.append(visits)
        visits.frontier.admits = self._plan.admits if kind == "pages" else self._admits_of_sites()
        visits.frontier.validators = self._plan.validators
        self._add_seeds(state, visits, seeds)
        before = pages_so_far(database, visits) if visits.is_resumed else 0
        self.summary.pages += before
        hosts = set(hosts_to_visit(database, visits))
        if kind == "sites":  # a sitemap may name pages where nothing is queued yet
            visits.frontier.homes = {
                seed.address.host: HostHome(seed.address.url, is_scheme_guessed=not seed.names_scheme) for seed in seeds
            }
            hosts.update(visits.frontier.homes)
        left = await self._crawl_until_done(state, visits, hosts)
        if kind == "sites" and (plain := self._sites_without_tls(seeds, left)):
            visits.frontier.homes = plain
            left |= await self._crawl_until_done(state, visits, set(plain))
        files = [seed.address for seed in seeds if seed.kind is SeedKind.SITEMAP]
        if files and not left and not self._is_stopping.is_set() and not self._is_full():
            add_visits(database, visits, sitemaps_not_read(database, visits, files))
            if wanted_hosts := set(hosts_to_visit(database, visits)):
                settings = state.settings.model_copy(update={"sitemaps": False})
                left = await self._crawl_until_done(State(database, clock, settings), visits, wanted_hosts)
        self.summary.left_out += visits.frontier.left_out
        if self._plan.lists_refused:
            self._not_requested.append(_unreachable(state, visits, left & self._dead.keys(), self._dead))
        left -= self._dead.keys()
        self.summary.unreachable = dict(self._dead)
        # One that was stopped may not have read its sitemaps: nothing queued does not mean that nothing is left.
        if (not left and not self._is_stopping.is_set()) or self._is_full():
            if self._plan.lists_refused:
                self._not_requested.append(_refused(state, visits))
            self._visited.append(visits)
        else:
            self.summary.left += len(left)

    def _add_seeds(self, state: State, visits: VisitList, seeds: Sequence[QuerySeed]) -> None:
        """Put what the query names on the list; also on one that goes on, since its process may not have got that far.

        What is on the list already stays as it is, and was counted.
        """
        guessed = {seed.address for seed in seeds if not seed.names_scheme}
        wanted = [seed.address for seed in seeds if seed.kind is not SeedKind.SITEMAP]
        added = add_visits(state.database, visits, wanted, is_guessed=guessed.__contains__)
        plan_sitemaps(state.database, visits, (seed.address for seed in seeds if seed.kind is SeedKind.SITEMAP))
        if visits.is_resumed and not added:
            visits.frontier.left_out = 0

    def _sites_without_tls(self, seeds: Sequence[QuerySeed], left: Collection[str]) -> dict[str, HostHome]:
        """Sites that https did not reach, although the query names no scheme: their start pages by http.

        A start page that is to be visited is tried by http with its visit. One that the filter leaves out is not, and
        the sitemaps of its host would never be found.
        """
        if self._is_stopping.is_set() or self._is_full():
            return {}
        guessed = (seed.address for seed in seeds if not seed.names_scheme)
        plain = {
            each.host: HostHome(without_tls(each.url) or each.url)
            for each in guessed
            if each.host in self._dead and each.host not in left
        }
        for host in plain:
            del self._dead[host]
        return plain

    async def _crawl_until_done(self, state: State, visits: VisitList, hosts: set[str]) -> set[str]:
        """Crawl hosts, including those that other processes hold now; returns the hosts that are left."""
        if self._is_full():  # a killed process reached the limit: only what it left is saved
            hosts = set()
        gives_up_at = monotonic() + WAIT_FOR_HOSTS_S
        left: set[str] = set()
        while hosts or visits.is_resumed:  # what a killed process left is saved also where nothing is to be visited
            summary = await self._crawl_once(state, visits, hosts)
            if hosts:
                self.summary.ended_by = str(summary.code)
            # A host whose sitemaps were not read, because another process holds it, has nothing to visit yet.
            left = set(hosts_to_visit(state.database, visits)) | hosts_held_elsewhere(summary)
            if self._is_stopping.is_set() or self._is_full() or not left:
                break
            held = hosts_held_elsewhere(summary, left)
            if not held or not await self._wait_for_any(state, held, gives_up_at):
                break
            if self._is_stopping.is_set():
                break
            hosts = left
        return left

    async def _crawl_once(self, state: State, visits: VisitList, hosts: set[str]) -> RunSummary:
        most = self._plan.most_pages
        settings = state.settings
        if most:
            settings = settings.model_copy(update={"max_pages": max(1, most - self.summary.pages)})  # 0: no limit
        summary = await self._crawl_hosts(
            State(state.database, state.clock, settings),
            hosts,
            CrawlHooks(on_settled=self._note, kept_sitemaps=self._plan.kept_sitemaps),
            sink=self._paced,
            visits=visits,
            ignores_own_robots=self._plan.ignores_own_robots,
        )
        self._is_news.set()  # the last part
        self.summary.pages += summary.pages
        self.summary.errors += summary.errors
        for line in summary.hosts:
            if line.code in _UNREACHABLE:
                self._dead[line.host] = f"{line.code}: {line.reason or EndReason(line.code).sentence}"
        return summary

    def _paced(self, open_store: Callable[[], PageSink]) -> PageSink:
        """A store that writes its parts while the crawl runs."""
        store = open_store()
        if isinstance(store, PageStore):
            self._store = store
            store.pace(self._pace())
        return store

    def _pace(self) -> PartPace:
        age_s = max(_PART_AGE_AT_FIRST_S, min(_PART_AGE_S, _PART_SHARE * (monotonic() - self._began)))
        return PartPace(_PART_BYTES, self._plan.batch_size, age_s, _GROUP_BYTES)


def _refused(state: State, visits: VisitList) -> Iterator[list[RefusedRow]]:
    """The URLs of a list that were not requested, each with its reason.

    Without those that https did not reach and that http did: the query named no scheme, and the page has its row.
    """
    after = 0
    while rows := not_asked(state.database, visits, after, _LISTED):
        after = rows[-1].place
        refused = (row for row in rows if row.code != EvidenceType.NO_HTTPS)
        if found := [RefusedRow(row.url, surt_key(row.url), f"{row.code}: {_reason(row.content)}") for row in refused]:
            yield found


def _unreachable(
    state: State, visits: VisitList, hosts: Collection[str], reasons: Mapping[str, str]
) -> Iterator[list[RefusedRow]]:
    """The URLs of hosts that could not be reached, each with the reason."""
    for host in sorted(hosts):
        after = 0
        while rows := not_visited(state.database, visits, host, after, _LISTED):
            after = rows[-1].place
            yield [RefusedRow(row.url, surt_key(row.url), reasons[host]) for row in rows]


def _reason(content: Any) -> str:
    said = content if isinstance(content, dict) else {}
    rule = said.get("matchedRule")
    return f"robots.txt says {rule}" if rule else str(said.get("reason") or "not requested")
