"""The robots.txt of every origin of a leased host: from memory, from the cache, or fetched.

However many tasks wait for an origin, it is fetched once (RFC 9309 §2.3, §2.4).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from math import inf
from typing import Any, Final
from uuid import UUID

from comity.database import robots as robots_table
from comity.database.connection import Database
from comity.database.types import to_seconds
from comity.model.dataclass import dataclass
from comity.model.fetch import DEFAULT_LIMITS, Cookie, FailureKind, FetchFailure, FetchLimits, FetchRequest, Response
from comity.model.gate import SlotTimeout, Wait, WaitReason
from comity.model.ledger import Purpose
from comity.model.robots import RobotsAccess, RobotsReading, RobotsUnreachable
from comity.rules.canonical import WebAddress, resolve_link, resolve_location
from comity.rules.cookies import cookie_field, cookies_after
from comity.rules.politeness.backoff import retry_delay
from comity.rules.responses import NO_TLS, lacks_tls
from comity.rules.robots.access import (
    IGNORED,
    MAX_ROBOTS_REDIRECTS,
    Network,
    is_in_networks,
    may_follow_redirect,
    read_failure,
    read_status,
)
from comity.rules.robots.parse import MAX_BYTES
from comity.rules.robots.verdict import RobotsFile, parse_robots
from comity.rules.takedown import Takedowns
from comity.walk.request import NotStarted, Requests
from comity.walk.robots.record import (
    RobotsInForce,
    RobotsRecord,
    UnstoredRobots,
    cache_values,
    is_unread,
    noted_as,
    record_of,
    robots_body,
    robots_from_row,
)
from comity.walk.session.database_thread import DatabaseThread
from comity.walk.session.leased_host import LeasedHost

# More than is parsed. A longer file is cut off: its beginning holds, and it does not close its site (RFC 9309 §2.5).
_MOST_BYTES: Final = 5 * MAX_BYTES
_MOST_SECONDS: Final = 30.0
_TRIES: Final = 3  # a robots.txt that cannot be read closes a site, so one failure does not decide
_UNREACHABLE_FOR_S: Final = 3600.0
_BUSY_FOR_S: Final = 5.0
# Failures that say nothing about the site: the address is one that a crawler never requests.
NEVER_ASKED: Final = frozenset({FailureKind.ADDRESS_REFUSED, FailureKind.SCHEME_REFUSED, FailureKind.INVALID_URL})

HostOf = Callable[[WebAddress], Awaitable[LeasedHost | None]]


@dataclass(frozen=True, slots=True)
class RobotsPostponed:
    """The file could not be fetched now: a gate did not open, or another worker holds its host."""

    why: Wait | SlotTimeout
    failure: str | None = None
    """What failed on our side, if the request did not reach the host."""


@dataclass(frozen=True, slots=True)
class RobotsRefused:
    """Nothing is fetched from this origin, not even robots.txt: a crawler never requests such an address."""

    failure: FetchFailure


@dataclass(frozen=True, slots=True)
class RobotsTerms:
    """How robots.txt is fetched and how long it is valid."""

    agent: str
    ttl_s: float = 12 * 3600.0
    unreachable: RobotsUnreachable = RobotsUnreachable.DISALLOW
    timeouts: FetchLimits = DEFAULT_LIMITS
    """The limits of any request; only the times apply here."""
    ignored_in: tuple[Network, ...] = ()
    """Networks of the user's own where robots.txt is neither read nor obeyed."""

    @property
    def limits(self) -> FetchLimits:
        """The limits of one request for the file: the time-outs in force, but no more than half a minute in all."""
        return replace(
            self.timeouts,
            max_body_bytes=_MOST_BYTES,
            max_wire_bytes=_MOST_BYTES,
            total_timeout_s=min(_MOST_SECONDS, self.timeouts.total_timeout_s),
        )


Found = RobotsInForce | RobotsPostponed | RobotsRefused


class RobotsKeeper:
    """The robots.txt of the hosts that this process holds."""

    def __init__(
        self,
        database: Database,
        thread: DatabaseThread,
        requests: Requests,
        terms: RobotsTerms,
        clock: Callable[[], float],
        takedowns: Callable[[], Takedowns],
        *,
        collapse: bool = False,
        unstored: UnstoredRobots,
        waits_for_storing: bool = True,
    ) -> None:
        self._database = database
        self._thread = thread
        self._requests = requests
        self._terms = terms
        self._limits = terms.limits
        self._clock = clock
        self._takedowns = takedowns
        self._collapse = collapse
        self._under_way: dict[tuple[UUID, str], asyncio.Task[Found]] = {}
        self._waits_for_storing = waits_for_storing
        self._unstored = unstored
        self._storing: asyncio.Task[None] | None = None

    def known(self, host: LeasedHost, origin: str) -> RobotsInForce | None:
        """What is in force, if it is in memory and still valid."""
        known = host.robots.get(origin)
        return known if known is not None and known.expires_at > self._clock() else None

    async def in_force(self, host: LeasedHost, origin: str, host_of: HostOf) -> Found:
        """The robots.txt of this origin now; it is fetched at most once at a time."""
        known = self.known(host, origin)
        if known is not None:
            return known
        if origin in host.refused:
            return RobotsRefused(host.refused[origin])
        if self._terms.ignored_in and is_in_networks(origin, self._terms.ignored_in):
            found = RobotsInForce(origin, IGNORED, None, None, inf)
            host.robots[origin] = found
            return found
        key = (host.lease.host_id, origin)
        task = self._under_way.get(key)
        if task is None:
            task = self._under_way[key] = asyncio.create_task(self._obtain(host, origin, host_of))
            task.add_done_callback(lambda _task: self._under_way.pop(key, None))
        return await asyncio.shield(task)

    async def cancel(self) -> None:
        """End every fetch in progress: nothing waits for it any longer."""
        tasks = list(self._under_way.values())
        for task in tasks:
            task.cancel()
        storing = [self._storing] if self._storing is not None else []  # on another thread, where it ends
        await asyncio.gather(*tasks, *storing, return_exceptions=True)

    async def _obtain(self, host: LeasedHost, origin: str, host_of: HostOf) -> Found:
        row = await self._thread.run(self._load, origin)
        if row is not None and (to_seconds(row.expires_at) or 0.0) > self._clock():
            found = robots_from_row(row, self._terms.agent, self._terms.unreachable)
            if row.noted != noted_as(found, self._terms.agent):  # edited, or stored under other settings
                record = record_of(host.lease, found, self._terms.agent, self._clock(), robots_body(row))
                await self._save(record._replace(is_cached=True))
        else:
            if row is not None and row.crawl_delay_ms is not None:
                host.use_crawl_delay(row.crawl_delay_ms / 1000)  # valid until the file says otherwise
            answer = await self._fetch(host, origin, row, host_of)
            if not isinstance(answer, RobotsInForce):
                return answer
            found = answer
        host.robots[origin] = found
        host.use_crawl_delay(found.crawl_delay_s)
        return found

    async def _fetch(self, host: LeasedHost, origin: str, row: Any, host_of: HostOf) -> Found:
        """Fetch the file, a few times if the network or the server fails, and store what was read."""
        for attempt in range(1, _TRIES + 1):
            result = await self._follow(host, origin, row, host_of)
            if isinstance(result, RobotsRefused):
                host.refused[origin] = result.failure
            if isinstance(result, RobotsRefused | RobotsPostponed):
                return result
            reading, response, is_final = result
            if is_final or not is_unread(reading) or attempt == _TRIES or host.is_closed:
                break
            await asyncio.sleep(retry_delay(attempt, host.profile.max_retry_backoff_s))
        now = self._clock()
        # A file that could not be read is tried again sooner: until then the origin is closed, or open on a guess.
        ttl_s = min(_UNREACHABLE_FOR_S, self._terms.ttl_s) if is_unread(reading) else self._terms.ttl_s
        expires_at = now + ttl_s
        found = self._read(origin, reading, response, row, expires_at)
        body = robots_body(row) if reading.access is RobotsAccess.UNCHANGED else (response.body if response else b"")
        record = record_of(host.lease, found, self._terms.agent, now, body)
        await self._save(record._replace(values=cache_values(host.name, found, response, row, now) | record.values))
        return found

    @property
    def is_storing(self) -> bool:
        """Whether something that was read is not stored yet."""
        return bool(self._unstored)

    async def flush(self) -> None:
        """Wait until everything that was read is stored; what failed before is tried again, and raised if it fails."""
        while self._unstored:
            await asyncio.shield(self._store())

    async def _save(self, record: RobotsRecord) -> None:
        """Store a reading, together with others that are waiting: many hosts start at the same time.

        A crawl does not wait for this: only the delay may hold up the first page of a host.
        """
        number = self._unstored.add(record)
        if not self._waits_for_storing:
            self._store()
            return
        try:
            await self.flush()
        except Exception:
            self._unstored.drop(number)
            raise

    def _store(self) -> asyncio.Task[None]:
        """The task that stores waiting readings: the current one, or a new one."""
        if self._storing is None or self._storing.done():
            self._storing = asyncio.create_task(self._store_waiting())
            # If nothing waits for it, the next flush tries again.
            self._storing.add_done_callback(lambda task: task.cancelled() or task.exception())
        return self._storing

    async def _store_waiting(self) -> None:
        while self._unstored:
            await self._thread.run(self._write)

    async def _follow(
        self, host: LeasedHost, origin: str, row: Any, host_of: HostOf
    ) -> tuple[RobotsReading, Response | None, bool] | RobotsPostponed | RobotsRefused:
        """One attempt, through at most five redirects (RFC 9309 §2.3.1.2); says whether a retry would end so too."""
        url, conditional = origin + "/robots.txt", row is not None and row.access == str(RobotsAccess.PARSE)
        unreachable = self._terms.unreachable
        cookies: tuple[Cookie, ...] = ()
        for hops in range(MAX_ROBOTS_REDIRECTS + 1):
            address = resolve_link(url, url, collapse=self._collapse)
            if address is None or self._takedowns().covering(address) is not None:
                led = "it redirects to " if hops else ""
                return read_failure(f"{led}{url[:200]}, which is taken down", unreachable=unreachable), None, True
            holder = host if address.host == host.name else await host_of(address)
            if holder is None:
                return RobotsPostponed(Wait(self._clock() + _BUSY_FOR_S, WaitReason.CONCURRENCY))
            field = cookie_field(cookies, address.url, self._clock()) if cookies else None
            request = FetchRequest(
                url=address.url,
                headers=(("Cookie", field),) if field is not None else (),
                etag=row.etag if conditional and hops == 0 else None,
                last_modified=row.last_modified if conditional and hops == 0 else None,
                limits=self._limits,
                keeps_beginning=True,
            )
            asked = await self._requests.ask(holder, request, Purpose.ROBOTS, may_go=partial(self._is_up, address))
            if isinstance(asked, NotStarted):
                return RobotsPostponed(asked.why or Wait(self._clock(), WaitReason.DELAY))
            host.unsettled.requests.append(asked.row)
            if isinstance(asked.result, FetchFailure):
                if asked.result.kind.is_ours:  # it says nothing about the site, so nothing is noted about it
                    wait_s = host.note_our_failure(asked.result.kind, asked.result.detail)
                    why = Wait(self._clock() + wait_s, WaitReason.DELAY)
                    return RobotsPostponed(why, f"{asked.result.kind}: {asked.result.detail}")
                if asked.result.kind in NEVER_ASKED and hops == 0:
                    return RobotsRefused(asked.result)
                kind = asked.result.kind
                what = f"it redirects to {url[:200]}: {asked.result.detail}" if kind in NEVER_ASKED else str(kind)
                is_final, has_no_tls = kind.is_refusal, False
                if hops == 0 and url.startswith("https:") and lacks_tls(kind, asked.result.detail):
                    what, is_final, has_no_tls = f"{kind}; {NO_TLS}", origin in host.guessed, True
                failure = kind if kind not in NEVER_ASKED else None
                reading = read_failure(what, failure, lacks_tls=has_no_tls, unreachable=unreachable)
                return reading, None, is_final
            response = asked.result
            location = response.headers.get("location")
            if may_follow_redirect(response.status, hops) and location:
                target = resolve_location(location, response.url, collapse=self._collapse)
                if target is not None:
                    url = target.url
                    if "set-cookie" in response.headers:
                        said = response.headers.get_all("set-cookie")
                        cookies = cookies_after(cookies, response.url, said, self._clock())
                    continue
            reading = read_status(
                response.status,
                redirects_followed=hops,
                location=location,
                conditional=conditional,
                unreachable=unreachable,
            )
            return reading, response, False
        raise AssertionError("the sixth redirect is not followed")

    def _is_up(self, address: WebAddress) -> bool:
        return self._takedowns().covering(address) is None

    def _read(
        self, origin: str, reading: RobotsReading, response: Response | None, row: Any, expires_at: float
    ) -> RobotsInForce:
        file: RobotsFile | None = None
        if reading.access is RobotsAccess.PARSE and response is not None:
            file = parse_robots(response.body)
        elif reading.access is RobotsAccess.UNCHANGED:
            file = parse_robots(robots_body(row))
        rules = file.for_agent(self._terms.agent) if file is not None else None
        return RobotsInForce(origin, reading, file, rules, expires_at)

    def _load(self, origin: str) -> Any:
        with self._database.read() as connection:
            return robots_table.get(connection, origin)

    def _write(self) -> None:
        with self._unstored.stored_first(self._database):
            pass
