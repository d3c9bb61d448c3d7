"""robots.txt for bots and for crawlers with grants, which may name URLs of any host at any time.

`RobotsBook` answers from `robots_cache`, inside the transaction of a pull or a grant: no file is fetched there.
`RobotsReader` fetches the files that are unknown or out of date, in the background, through the one session: with the
lease of the host, its gate, the address guard and a row in the ledger. A pull or a grant that needs an unknown file
requests it here and finds it a moment later.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable
from threading import Lock
from types import TracebackType
from typing import Any, Final, NamedTuple, Protocol, Self
from uuid import UUID

from sqlalchemy import Connection

from comity.database import records
from comity.database import robots as robots_table
from comity.database.robots import CachedHead, HeadRow
from comity.model.errors import ComityError, HostBusy
from comity.model.robots import RobotsUnreachable, RobotsVerdict
from comity.rules.canonical import WebAddress, web_address
from comity.rules.robots.verdict import RobotsFile, parse_robots
from comity.telemetry.loops import Loops
from comity.walk.evidence import robots_evidence_of, taken_down_of
from comity.walk.robots.record import (
    ClientLease,
    RobotsInForce,
    RobotsRecord,
    noted_as,
    record_of,
    robots_body,
    robots_from_row,
    store_robots,
)
from comity.walk.session.session import Session

MOST_ORIGINS: Final = 20_000  # remembered; a few hundred bytes each beside their file
MOST_BYTES: Final = 64 * 2**20  # total size of the parsed files in memory
MOST_WAITING: Final = 1_000  # files waiting to be read
AT_ONCE: Final = 8
BUSY_FOR_S: Final = 2.0
FAILED_FOR_S: Final = 30.0
_MOST_FAILURES: Final = 10_000
_MOST_DENIALS: Final = 50_000
_AGENTS_REMEMBERED: Final = 8


class ClientRobots(NamedTuple):
    """The robots.txt of one origin, read for one product token."""

    in_force: RobotsInForce
    head: CachedHead
    noted: str
    """The value of `robots_cache.noted` if the ledger has a note of this file."""

    @property
    def is_noted(self) -> bool:
        """Whether the ledger has a note that this file is in force."""
        return self.head.noted == self.noted

    def verdict(self, address: WebAddress) -> RobotsVerdict:
        """Decide about a URL of the origin."""
        return self.in_force.verdict(address.path)


class _Kept(NamedTuple):
    row: HeadRow
    head: CachedHead
    expires_at: float
    by_agent: dict[str, ClientRobots]
    """By the user agent as a client sends it."""


class RobotsBook:
    """Answers from the cache of robots.txt; remembers parsed files, bounded in number and size."""

    def __init__(self, agent: str, unreachable: RobotsUnreachable) -> None:
        self.agent = agent
        self._unreachable = unreachable
        self._lock = Lock()  # pulls and grants come from several threads
        self._kept: OrderedDict[str, _Kept] = OrderedDict()  # by origin
        self._files: OrderedDict[str, tuple[RobotsFile, int]] = OrderedDict()  # by version: many hosts have the same
        self._size = 0
        self._denied: OrderedDict[tuple[int, str | None], None] = OrderedDict()  # URL, and what denied it

    def find(
        self, connection: Connection, origins: Collection[str], now: float, agent: str | None = None
    ) -> dict[str, ClientRobots]:
        """The files in force for some origins; unknown and expired ones are missing.

        `agent` is a client's own user agent; without one, rules are read for Comity's.
        """
        heads, agent = robots_table.heads(connection, origins), agent or self.agent
        found: dict[str, ClientRobots] = {}
        with self._lock:
            for origin, row in heads.items():
                kept = self._kept.get(origin)
                if kept is None or kept.row != row:
                    head = robots_table.head_of(row)
                    expires_at = 0.0 if head.expires_at is None else head.expires_at.timestamp()
                    kept = self._kept[origin] = _Kept(row, head, expires_at, {})
                if kept.expires_at <= now:
                    continue
                self._kept.move_to_end(origin)
                known = kept.by_agent.get(agent)
                found[origin] = self._for_agent(connection, kept, agent) if known is None else known
            self._shrink()
        return found

    def note(self, connection: Connection, held: Iterable[tuple[ClientRobots, ClientLease]], now: float) -> None:
        """Record in the ledger that files are in force, if it does not because they or the settings changed."""
        unsaid = {robots.in_force.origin: (robots, lease) for robots, lease in held if not robots.is_noted}
        made: list[RobotsRecord] = []
        for origin, (robots, lease) in unsaid.items():
            row = robots_table.get(connection, origin)
            body = robots_body(row) if row is not None else b""
            made.append(record_of(lease, robots.in_force, self.agent, now, body)._replace(is_cached=True))
        if made:
            store_robots(connection, made)

    def deny(
        self, connection: Connection, denials: Iterable[tuple[UUID, WebAddress, RobotsVerdict, str | None]], now: float
    ) -> None:
        """Store evidence of denials, once for a URL as long as its robots.txt stays the same."""
        evidence = [
            robots_evidence_of(host_id, address, verdict, now)
            for host_id, address, verdict, version in denials
            if self._is_new((address.key, version))
        ]
        if evidence:
            records.add_evidence(connection, None, evidence)

    def note_taken_down(
        self, connection: Connection, entries: Iterable[tuple[UUID, WebAddress, str]], now: float
    ) -> None:
        """The same for URLs that takedowns cover."""
        evidence = [
            taken_down_of(host_id, address, entry, now)
            for host_id, address, entry in entries
            if self._is_new((address.key, f"takedown {entry}"))
        ]
        if evidence:
            records.add_evidence(connection, None, evidence)

    def _is_new(self, denial: tuple[int, str | None]) -> bool:
        with self._lock:
            if denial in self._denied:
                return False
            self._denied[denial] = None
            while len(self._denied) > _MOST_DENIALS:
                self._denied.popitem(last=False)
            return True

    def _for_agent(self, connection: Connection, kept: _Kept, agent: str) -> ClientRobots:
        row: Any = kept.head
        in_force = robots_from_row(row, agent, self._unreachable, self._file(connection, kept.head))
        # The ledger's note is about the file; it names Comity's own token, whatever token a client has.
        found = ClientRobots(in_force, kept.head, noted_as(in_force, self.agent))
        if len(kept.by_agent) < _AGENTS_REMEMBERED:
            kept.by_agent[agent] = found
        return found

    def _file(self, connection: Connection, head: CachedHead) -> RobotsFile:
        if head.version is None:
            return _NO_FILE
        known = self._files.get(head.version)
        if known is None:
            body = robots_body(robots_table.get(connection, head.origin))
            known = self._files[head.version] = parse_robots(body), len(body)
            self._size += known[1]
        self._files.move_to_end(head.version)
        return known[0]

    def _shrink(self) -> None:
        while len(self._kept) > MOST_ORIGINS:
            self._kept.popitem(last=False)
        while self._size > MOST_BYTES and len(self._files) > 1:
            _version, (_file, size) = self._files.popitem(last=False)
            self._size -= size
            self._kept.clear()  # they hold files in memory, and are cheap to build again


_NO_FILE: Final = parse_robots(b"")


class ReadsRobots(Protocol):
    """What reads unknown files for pulls and grants."""

    def why_not(self, origin: str) -> str | None:
        """Why a file cannot be requested, if that was tried a moment ago."""
        ...

    async def known(self, origins: Collection[str], timeout_s: float) -> None:
        """Request files, and wait for them for at most this long."""
        ...


class RobotsReader:
    """Reads robots.txt for clients in the background; use it as an asynchronous context."""

    def __init__(self, session: Session, clock: Callable[[], float], loops: Loops, at_once: int = AT_ONCE) -> None:
        self._session = session
        self._loops = loops
        self._clock = clock
        self._at_once = at_once
        self._waiting: OrderedDict[str, asyncio.Future[None]] = OrderedDict()
        self._under_way: dict[str, asyncio.Future[None]] = {}
        self._failures: OrderedDict[str, tuple[float, str | None]] = OrderedDict()
        self._tasks: list[asyncio.Task[None]] = []
        self._has_work = asyncio.Event()

    async def __aenter__(self) -> Self:
        await self._session.open()
        self._tasks = [asyncio.create_task(self._serve()) for _ in range(self._at_once)]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for waiting in (*self._waiting.values(), *self._under_way.values()):
            waiting.cancel()
        await self._session.__aexit__(kind, error, where)

    def why_not(self, origin: str) -> str | None:
        """Why the robots.txt of an origin cannot be requested, if that was tried a moment ago."""
        known = self._failures.get(origin)
        return known[1] if known is not None and known[0] > self._clock() else None

    async def known(self, origins: Collection[str], timeout_s: float) -> None:
        """Request files, and wait for them for at most this long; slower ones are still read."""
        waiting = [future for origin in origins if (future := self._wanted(origin)) is not None]
        if waiting and timeout_s > 0:
            await asyncio.wait(waiting, timeout=timeout_s)

    def _wanted(self, origin: str) -> asyncio.Future[None] | None:
        """Queue a file; None if it cannot be read now."""
        known = self._under_way.get(origin) or self._waiting.get(origin)
        if known is not None:
            return known
        failed = self._failures.get(origin)
        if len(self._waiting) >= MOST_WAITING or (failed is not None and failed[0] > self._clock()):
            return None
        future = self._waiting[origin] = asyncio.get_running_loop().create_future()
        self._has_work.set()
        return future

    async def _serve(self) -> None:
        while True:
            while not self._waiting:
                self._has_work.clear()
                await self._has_work.wait()
            origin, future = self._waiting.popitem(last=False)
            self._under_way[origin] = future
            try:
                await self._read(origin)
            finally:
                del self._under_way[origin]
                if not future.done():
                    future.set_result(None)

    async def _read(self, origin: str) -> None:
        try:
            await self._session.robots_once(web_address(f"{origin}/robots.txt"))
        except HostBusy:
            self._failed(origin, BUSY_FOR_S, None)
        except ComityError as error:
            self._failed(origin, FAILED_FOR_S, str(error))
        except Exception as error:  # an error of one origin: the others are still read
            self._failed(origin, FAILED_FOR_S, f"unexpected {type(error).__name__}")
            self._loops.on_fault("reading of robots.txt", error)
        else:
            self._failures.pop(origin, None)

    def _failed(self, origin: str, for_s: float, why: str | None) -> None:
        self._failures[origin] = (self._clock() + for_s, why)
        self._failures.move_to_end(origin)
        while len(self._failures) > _MOST_FAILURES:
            self._failures.popitem(last=False)
