"""Runs one audit on its own thread: a site enters, the folder of the audit and its `AuditInfo` leave.

An audit crawls its own visit list. If it was stopped or killed, the same command continues it; if it was done or
its budget was spent, the next audit of the same site is a new one.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from time import monotonic
from typing import Any, Final, TextIO
from uuid import UUID

from comity.assemble import State
from comity.model.audit import AuditInfo, ListedUrl, Warned
from comity.model.dataclass import dataclass
from comity.model.errors import ComityError
from comity.model.gate import SLOT_TIMEOUT_MESSAGE, Door
from comity.model.run import BudgetReason, EndReason
from comity.model.wording import counted
from comity.operate.takedown import list_takedowns
from comity.reports.audit.gather import LISTED, PAGES, AuditRuns, gather
from comity.reports.audit.stored_audits import StoredAudit, read_runs, when, write_info
from comity.rules.budget import WARN_AT, limit_reached, limit_warning
from comity.rules.canonical import WebAddress, web_address
from comity.rules.responses import without_tls
from comity.rules.takedown import Takedowns
from comity.run.visit_list_thread import WAIT_FOR_HOSTS_S, VisitListThread, hosts_held_elsewhere
from comity.settings import Settings
from comity.store.formats.parquet_reader import read_rows
from comity.store.parts.manifest import note_path
from comity.store.target import Target
from comity.walk.crawl.progress import RunSummary
from comity.walk.crawl.terms import CrawlHooks
from comity.walk.visit_list import (
    VisitList,
    add_visits,
    end_list,
    forget_robots,
    hosts_to_visit,
    is_open,
    list_state,
    open_list,
    pages_so_far,
    where_it_led,
)

LOCK: Final = ".lock"
MAX_PAGES: Final = 200
MAX_MINUTES: Final = 60.0
"""The default budgets."""
_LONGEST_NAME: Final = 250
_MOST_ROUNDS: Final = 10_000
_MOST_ENDED: Final = 5  # how often another process may end an audit just before this one continues it
_BUDGETS: Final = frozenset(map(str, BudgetReason))
# After these the same command continues; after any other end it begins a new audit.
_GOES_ON: Final = frozenset(
    {
        EndReason.STOPPED,
        EndReason.PARENT_GONE,
        EndReason.FAILED,
        EndReason.STATE_LOST,
        EndReason.DIED,
        EndReason.HELD_ELSEWHERE,
        EndReason.LEASE_LOST,
        EndReason.ASKED_TO_WAIT,
        EndReason.PUT_OFF,
        EndReason.PROXY_FAILURE,
        EndReason.NOT_TAKEN,
    }
)


@dataclass(frozen=True, slots=True)
class AuditPlan:
    """What is audited, and how; checked. `settings` name the state and the folder of audits."""

    settings: Settings
    start: WebAddress
    names_scheme: bool
    """Whether the user wrote https:// or http://; if not, the other is tried where nothing answers."""
    max_pages: int
    max_minutes: float

    @property
    def name(self) -> str:
        """The name of this audit, unique in its state."""
        written = self.start.url if self.names_scheme else self.start.url.partition("://")[2]
        return written if len(written) <= _LONGEST_NAME else f"{written[:200]}…{self.start.key:x}"


def plan_audit(settings: Settings, site: str) -> AuditPlan:
    """An audit of a site; `BadInput` if it is no address. Budgets that were not set have their defaults."""
    chosen = settings.model_fields_set
    return AuditPlan(
        settings=settings,
        start=web_address(site, collapse=settings.collapse_subdomains),
        names_scheme="://" in site,
        max_pages=settings.max_pages if "max_pages" in chosen else MAX_PAGES,
        max_minutes=settings.max_minutes if "max_minutes" in chosen else MAX_MINUTES,
    )


class AuditRun(VisitListThread):
    """One run of an audit: `start`, then `wait` until it is over, then `close`."""

    def __init__(self, plan: AuditPlan) -> None:
        super().__init__(plan.settings, "comity-audit")
        self.plan = plan
        self.pages_before = 0
        """Pages that earlier processes fetched; `progress` counts those of this one."""
        self.is_resumed = False
        self.info: AuditInfo | None = None
        """Known as soon as the audit has started."""
        self.folder: Path | None = None
        self._run_ids: list[UUID] = []
        self._moved_to: str | None = None
        self._seconds_before = 0.0

    def near_limits(self, now: float) -> list[Warned]:
        """Budgets that are 80 % used; `now` is by the clock of the progress."""
        spent_s = max(0.0, now - self.progress.started_at) if self.progress.started_at else 0.0
        return near_limits(self.plan, self.pages_before + self.progress.pages, (self._seconds_before + spent_s) / 60.0)

    def close(self) -> StoredAudit:
        """The audit as it is stored; raises what made it fail."""
        self._join()
        if self.folder is None or not self._is_done.is_set():
            raise ComityError("the audit did not end in time; run the same command to continue it")
        return StoredAudit(self.folder)

    async def _work(self, state: State) -> None:
        with self._own_list(state) as visits:
            await self._audit_list(state, visits)

    @contextmanager
    def _own_list(self, state: State) -> Iterator[VisitList]:
        """The list of visits of this audit, started or continued; `ComityError` while another process works on it.

        The lock of its folder is that of an open file, so a process that is killed frees it.
        """
        for _attempt in range(_MOST_ENDED):
            visits = open_list(state.database, state.clock, str(Door.AUDIT), self.plan.name)
            folder = self._folder_of(state, visits)
            folder.mkdir(parents=True, exist_ok=True)
            with (folder / LOCK).open("a+") as file:
                if not _is_locked(file):
                    raise ComityError(_busy(folder.name, file))
                if is_open(state.database, visits):  # otherwise another process ended it just now, and this one is new
                    yield visits
                    return
        raise ComityError(f"other processes keep auditing {self.plan.start.url}; wait until they have finished")

    async def _audit_list(self, state: State, visits: VisitList) -> None:
        database, plan = state.database, self.plan
        self.is_resumed = visits.is_resumed
        folder = self._open_folder(state, visits)
        if not visits.is_resumed:  # an owner who has just fixed robots.txt wants to see that
            forget_robots(database, plan.start.host)
        add_visits(database, visits, [plan.start], is_guessed=lambda _address: not plan.names_scheme)
        settings = state.settings.model_copy(update={"pages": str(folder / PAGES), "site_hosts": ()})
        reason, sentence = await self._crawl_until_done(State(database, state.clock, settings), visits)
        if not pages_so_far(database, visits) and _is_taken_down(state, plan.start):
            # A host that may not be asked has no robots.txt either, but that is not why.
            reason, sentence = EndReason.TAKEN_DOWN, EndReason.TAKEN_DOWN.sentence
        self._gather(state, visits, reason, sentence)
        if reason not in _GOES_ON:
            end_list(database, state.clock, visits)

    def _folder_of(self, state: State, visits: VisitList) -> Path:
        """The folder of the audit, named by its site and the time when it started."""
        begun_at = list_state(state.database, visits, ()).begun_at
        site = self.plan.start.host.replace(":", "-").replace("[", "").replace("]", "")[:100]
        return Path(state.settings.audits) / f"{site}-{when(begun_at)}-{visits.list_id.hex[:4]}"

    def _open_folder(self, state: State, visits: VisitList) -> Path:
        now = list_state(state.database, visits, ())
        folder = self.folder = self._folder_of(state, visits)
        known = read_runs(folder)
        self._run_ids = list(known.run_ids) if known is not None else []
        self.info = AuditInfo(
            audit_id=folder.name,
            site=self.plan.start.url,
            started_at=now.begun_at,
            ended_at=None,
            ended_by="",
            sentence="it has not ended yet",
            max_pages=self.plan.max_pages,
            max_minutes=self.plan.max_minutes,
            user_agent=state.settings.identity,
        )
        self._write_info(visits)
        return folder

    def _write_info(self, visits: VisitList) -> None:
        assert self.folder is not None
        assert self.info is not None
        write_info(self.folder, self.info, AuditRuns(visits.list_id, tuple(self._run_ids)))

    async def _crawl_until_done(self, state: State, visits: VisitList) -> tuple[EndReason, str]:
        """Crawl the site until it is done, a budget is spent or `stop` is called; returns how it ended."""
        hosts = {self.plan.start.host} | set(hosts_to_visit(state.database, visits))
        gives_up_at = monotonic() + WAIT_FOR_HOSTS_S
        for _round in range(_MOST_ROUNDS):
            spent = self._spent(state, visits)
            summary = await self._crawl_once(state, visits, set() if spent else hosts)
            if spent is not None:  # a killed process reached the limit: only what it left was saved
                return spent, ""
            reason = EndReason(summary.code)
            left = set(hosts_to_visit(state.database, visits))
            if self._is_stopping.is_set():
                return (EndReason.STOPPED, EndReason.STOPPED.sentence) if left else (reason, summary.reason)
            if str(reason) in _BUDGETS:
                return reason, summary.reason
            if moved := self._follow_start(state, visits):
                hosts = {moved}
                continue
            if not left:
                return reason, summary.reason
            held = hosts_held_elsewhere(summary, left)
            if not held or not await self._wait_for_any(state, held, gives_up_at):
                return reason, summary.reason
            hosts = left
        return EndReason.PUT_OFF, EndReason.PUT_OFF.sentence

    def _spent(self, state: State, visits: VisitList) -> EndReason | None:
        """The budget that earlier processes spent, if they did."""
        plan = self.plan
        self.pages_before = pages_so_far(state.database, visits)
        if plan.max_pages and self.pages_before >= plan.max_pages:
            return EndReason.PAGE_LIMIT
        seconds = self._seconds_before = list_state(state.database, visits, self._run_ids).seconds
        return EndReason.TIME_LIMIT if plan.max_minutes and seconds >= 60.0 * plan.max_minutes else None

    async def _crawl_once(self, state: State, visits: VisitList, hosts: set[str]) -> RunSummary:
        plan, seconds = self.plan, self._seconds_before
        settings = state.settings.model_copy(
            update={
                "max_pages": max(1, plan.max_pages - self.pages_before) if plan.max_pages else 0,
                "max_minutes": max(0.01, plan.max_minutes - seconds / 60.0) if plan.max_minutes else 0.0,
            }
        )

        def note_run(run_id: UUID) -> None:
            self._run_ids.append(run_id)
            self._write_info(visits)  # before its first page: what the run decides is found by its id

        limited, hooks = State(state.database, state.clock, settings), CrawlHooks(on_listed=self._note_listed)
        return await self._crawl_hosts(limited, hosts, hooks, note_run, visits=visits)

    def _note_listed(self, listed: Sequence[ListedUrl]) -> None:
        """Note what a sitemap lists; it is on disk before the sitemap counts as read."""
        assert self.folder is not None
        with (self.folder / LISTED).open("a", encoding="utf-8") as file:
            for url, sitemap, alternates in listed:
                named = {"alternates": [each[:2] for each in alternates]} if alternates else {}
                file.write(json.dumps({"url": url, "sitemap": sitemap, **named}, ensure_ascii=False) + "\n")

    def _follow_start(self, state: State, visits: VisitList) -> str | None:
        """The host that the start page redirects to, if it is another one; then that site is audited."""
        if self._moved_to is not None:
            return None
        address = self._other_site(state)
        if address is None:
            return None
        self._moved_to = address.url
        return address.host if add_visits(state.database, visits, [address]) else None

    def _other_site(self, state: State) -> WebAddress | None:
        """Where the start page is, if it redirected to another host."""
        led_to = where_it_led(state.database, self._run_ids, self._start(state).key)
        address = web_address(led_to, collapse=state.settings.collapse_subdomains) if led_to else None
        return address if address is not None and address.host != self.plan.start.host else None

    def _start(self, state: State) -> WebAddress:
        """The start page as it was visited: by http where the user wrote no scheme and nothing speaks TLS."""
        start = self.plan.start
        plain = without_tls(start.url) if not self.plan.names_scheme else None
        if plain is None or where_it_led(state.database, self._run_ids, start.key) is not None:
            return start
        address = web_address(plain, collapse=state.settings.collapse_subdomains)
        return address if where_it_led(state.database, self._run_ids, address.key) is not None else start

    def _gather(self, state: State, visits: VisitList, reason: EndReason, sentence: str) -> None:
        """Write the tables of the audit and how it ended."""
        assert self.folder is not None
        assert self.info is not None
        runs = AuditRuns(visits.list_id, tuple(self._run_ids))
        start = self._start(state).url
        if self._moved_to is None and (moved := self._other_site(state)) is not None:
            # An earlier process followed the redirect; this one ended before it looked.
            self._moved_to = moved.url if not add_visits(state.database, visits, [moved]) else None
        gather(state.database, runs, self.folder, partial(read_stored, self.folder), self._moved_to or start)
        now, pages = list_state(state.database, visits, self._run_ids), pages_so_far(state.database, visits)
        warnings = self._warnings(reason, pages, now.seconds / 60.0)
        if self._moved_to is not None:
            said = f"{start} redirects to {self._moved_to}; that site was audited."
            warnings.append(Warned("redirected", said))
        self.info = replace(
            self.info,
            site=start,
            ended_at=state.clock.seconds(),
            ended_by=str(reason),
            sentence=_sentence(reason, self.plan)
            or (reason.sentence if reason is EndReason.ROBOTS_DENIED else sentence),
            pages=pages,
            requests=now.requests,
            warnings=tuple(warnings),
            left=now.left,
        )
        timed_out = sum(
            1 for page in StoredAudit(self.folder).pages() if page.error and SLOT_TIMEOUT_MESSAGE in page.error
        )
        if timed_out:
            were = "was" if timed_out == 1 else "were"
            said = f"{SLOT_TIMEOUT_MESSAGE}: {counted(timed_out, 'URL')} {were} not fetched."
            self.info = replace(self.info, warnings=(*self.info.warnings, Warned("slot_timeout", said)))
        self._write_info(visits)

    def _warnings(self, reason: EndReason, pages: int, minutes: float) -> list[Warned]:
        """Budgets that were 80 % used, and the one that ended the audit."""
        found = near_limits(self.plan, pages, minutes, str(reason))
        said = _sentence(reason, self.plan)
        return [*found, Warned(str(reason), said)] if said else found


def near_limits(plan: AuditPlan, pages: int, minutes: float, spent: str = "") -> list[Warned]:
    """Budgets that are 80 % used, or `spent`."""
    found: list[Warned] = []
    for budget, used, limit in (
        (BudgetReason.PAGE_LIMIT, float(pages), float(plan.max_pages)),
        (BudgetReason.TIME_LIMIT, minutes, plan.max_minutes),
    ):
        if limit and (used >= WARN_AT * limit or spent == budget):
            near = limit_warning(budget, WARN_AT * limit, int(limit) if limit == int(limit) else limit)
            found.append(Warned(f"{budget}_near", near.sentence))
    return found


def _is_locked(file: TextIO) -> bool:
    """Lock a file for as long as it is open, and note in it which process did; False if another process has it."""
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system without locks; the lease of the host must do
    file.truncate(0)
    file.write(f"{os.getpid()}\n")
    file.flush()
    return True


def _busy(name: str, file: TextIO) -> str:
    file.seek(0)
    process = file.read(20).strip()
    by = f" (process {process})" if process.isdecimal() else ""
    return (
        f"the audit {name} is being run by another process{by}; wait until it has ended, or stop that process and "
        "run the same command to continue the audit"
    )


def read_stored(folder: Path, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Columns of the pages that an audit has stored, page by page."""
    parts = (part for part in Target.of_folder(folder / PAGES).parts() if note_path(part).exists())
    return chain.from_iterable(read_rows(part, names) for part in parts)


def _sentence(reason: EndReason, plan: AuditPlan) -> str | None:
    """The error for a budget that is spent: the page limit or the time limit."""
    if reason is EndReason.PAGE_LIMIT:
        return limit_reached(BudgetReason.PAGE_LIMIT, plan.max_pages).sentence
    if reason is EndReason.TIME_LIMIT:
        return limit_reached(BudgetReason.TIME_LIMIT, plan.max_minutes).sentence
    return None


def _is_taken_down(state: State, start: WebAddress) -> bool:
    return Takedowns.of(stored.entry for stored in list_takedowns(state.database)).covering(start) is not None


_ADVICE: Final[Mapping[str, str]] = {
    EndReason.DNS_FAILURE: "Check the spelling of {host}, and that its name resolves from here.",
    EndReason.CONNECTION_FAILURE: "Check that {host} answers from here, on the right port and over https or http.",
    EndReason.ADDRESS_REFUSED: "Check the address and its port; --allow-network CIDR allows a private network.",
    EndReason.SERVER_ERRORS: "Fix the server first, then run the same command.",
    EndReason.RATE_LIMITED: "Run the same command later, or let the server accept the User-Agent {agent}.",
    EndReason.ASKED_TO_WAIT: "Run the same command later: {host} asked Comity to wait.",
    EndReason.FORBIDDEN: "Let the server accept the User-Agent {agent}, or log in: --auth, --cookie or --login.",
    EndReason.LOGIN_REQUIRED: "Log in: --auth, --cookie or --login (docs/requests.md).",
    EndReason.LOGIN_FAILED: "Check the file of --login and its credentials (docs/requests.md).",
    EndReason.ROBOTS_DENIED: "`comity robots {site}` shows the line; allow {agent} in robots.txt to audit the site.",
    EndReason.ROBOTS_UNREACHABLE: "Fix robots.txt, or audit without it: --robots-unreachable allow.",
    EndReason.TAKEN_DOWN: "`comity takedown remove {host}` lifts the takedown.",
    EndReason.PROXY_FAILURE: "Check --proxy.",
    EndReason.HELD_ELSEWHERE: "Run the same command when the other crawl of {host} has ended.",
    EndReason.NOTHING_LEFT: "Check the address: {site} did not answer with a page.",
}


def read_nothing(info: AuditInfo) -> bool:
    """Whether an audit read no page of a site, or only the one that asks for a login."""
    return not info.pages or info.ended_by == EndReason.LOGIN_REQUIRED


def advice_for(info: AuditInfo) -> str | None:
    """What would let the audit read pages; None if it read some, or if nothing is known to help."""
    if not read_nothing(info):
        return None
    advice = _ADVICE.get(info.ended_by)
    if advice is None:
        return None
    agent = info.user_agent.partition("/")[0].partition(" ")[0] or "Comity"
    return advice.format(host=web_address(info.site).host, site=info.site, agent=agent)
