"""Keeps the robots.txt of every origin that a leased host has: from memory, from the cache, or asked for.

However many tasks wait for an origin, one request is made (RFC 9309 §2.3, §2.4).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final
from uuid import UUID

from comity.database import robots as robots_table
from comity.database.connection import Database
from comity.database.instants import from_seconds, to_seconds
from comity.model.fetch import DEFAULT_LIMITS, Cookie, FailureKind, FetchFailure, FetchLimits, FetchRequest, Response
from comity.model.gate import SlotTimeout, Wait, WaitReason
from comity.model.ledger import Purpose
from comity.model.robots import Confidence, RobotsAccess, RobotsReading, RobotsUnreachable
from comity.rules.canonical import WebAddress, resolve_link, resolve_location
from comity.rules.cookies import cookie_field, cookies_after
from comity.rules.first_contact import NO_TLS, lacks_tls
from comity.rules.politeness.backoff import retry_delay
from comity.rules.robots.access import MAX_ROBOTS_REDIRECTS, may_follow_redirect, read_failure, read_status
from comity.rules.robots.parse import MAX_BYTES
from comity.rules.robots.verdict import RobotsFile, parse_robots
from comity.rules.takedown import Takedowns
from comity.walk.request import NotStarted, Requests
from comity.walk.robots.in_force import RobotsInForce
from comity.walk.robots.record import RobotsRecord, keep_robots, noted_as, record_of
from comity.walk.session.database_thread import DatabaseThread
from comity.walk.session.leased_host import LeasedHost

# More than is parsed, so that a long file is read as far as the rules go instead of closing its site.
_MOST_BYTES: Final = 5 * MAX_BYTES
_MOST_SECONDS: Final = 30.0
_TRIES: Final = 3  # a robots.txt that cannot be read closes a site, so it is asked for more than once
_UNREACHABLE_FOR_S: Final = 3600.0
_BUSY_FOR_S: Final = 5.0
_READ: Final = (RobotsAccess.PARSE, RobotsAccess.UNCHANGED)
# Failures that say nothing about the site: we would not ask there in the first place.
NEVER_ASKED: Final = frozenset({FailureKind.ADDRESS_REFUSED, FailureKind.SCHEME_REFUSED, FailureKind.INVALID_URL})

HostOf = Callable[[WebAddress], Awaitable[LeasedHost | None]]


@dataclass(frozen=True, slots=True)
class RobotsPostponed:
    """The file could not even be asked for: a gate did not open, or somebody else holds the host that has it."""

    why: Wait | SlotTimeout


@dataclass(frozen=True, slots=True)
class RobotsRefused:
    """We will not ask there at all, for robots.txt or anything else: the address is not one that a crawler asks."""

    failure: FetchFailure


@dataclass(frozen=True, slots=True)
class RobotsTerms:
    """How robots.txt is kept."""

    agent: str
    ttl_s: float = 12 * 3600.0
    unreachable: RobotsUnreachable = RobotsUnreachable.DISALLOW
    timeouts: FetchLimits = DEFAULT_LIMITS
    """Of a request in general: only its times count here."""

    @property
    def limits(self) -> FetchLimits:
        """The bounds of one request for the file: the time-outs in force, but no more than half a minute in all."""
        return replace(
            self.timeouts,
            max_body_bytes=_MOST_BYTES,
            max_wire_bytes=_MOST_BYTES,
            total_timeout_s=min(_MOST_SECONDS, self.timeouts.total_timeout_s),
        )


Found = RobotsInForce | RobotsPostponed | RobotsRefused


class RobotsKeeper:
    """Answers what robots.txt says, for the hosts that this process holds."""

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
        waits_for_keeping: bool = True,
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
        self._waits_for_keeping = waits_for_keeping
        self._unkept: list[RobotsRecord] = []
        self._keeping: asyncio.Task[None] | None = None

    def known(self, host: LeasedHost, origin: str) -> RobotsInForce | None:
        """What is in force in memory, if it is still fresh."""
        known = host.robots.get(origin)
        return known if known is not None and known.expires_at > self._clock() else None

    async def in_force(self, host: LeasedHost, origin: str, host_of: HostOf) -> Found:
        """What robots.txt of this origin says now; asks the host for it at most once."""
        known = self.known(host, origin)
        if known is not None:
            return known
        if origin in host.refused:
            return RobotsRefused(host.refused[origin])
        key = (host.lease.host_id, origin)
        task = self._under_way.get(key)
        if task is None:
            task = self._under_way[key] = asyncio.create_task(self._obtain(host, origin, host_of))
            task.add_done_callback(lambda _task: self._under_way.pop(key, None))
        return await asyncio.shield(task)

    async def cancel(self) -> None:
        """End every look that is under way: whoever waited for it is gone."""
        tasks = list(self._under_way.values())
        for task in tasks:
            task.cancel()
        keeping = [self._keeping] if self._keeping is not None else []  # is under way on another thread: it ends
        await asyncio.gather(*tasks, *keeping, return_exceptions=True)

    async def _obtain(self, host: LeasedHost, origin: str, host_of: HostOf) -> Found:
        row = await self._thread.run(self._load, origin)
        if row is not None and (to_seconds(row.expires_at) or 0.0) > self._clock():
            found = robots_from_row(row, self._terms.agent, self._terms.unreachable)
            if row.noted != noted_as(found, self._terms.agent):  # written or edited by hand, or under other settings
                record = record_of(host.lease, found, self._terms.agent, self._clock(), robots_body(row))
                await self._keep(record._replace(is_cached=True))
        else:
            if row is not None and row.crawl_delay_ms is not None:
                host.use_crawl_delay(row.crawl_delay_ms / 1000)  # holds until the file says otherwise
            answer = await self._fetch(host, origin, row, host_of)
            if not isinstance(answer, RobotsInForce):
                return answer
            found = answer
        host.robots[origin] = found
        host.use_crawl_delay(found.crawl_delay_s)
        return found

    async def _fetch(self, host: LeasedHost, origin: str, row: Any, host_of: HostOf) -> Found:
        """Ask for the file, a few times if the way or the server fails, and keep what was learnt."""
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
        # What could not be read is asked for again sooner: until then the whole origin is closed, or open on a guess.
        ttl_s = min(_UNREACHABLE_FOR_S, self._terms.ttl_s) if is_unread(reading) else self._terms.ttl_s
        expires_at = now + ttl_s
        found = self._read(origin, reading, response, row, expires_at)
        body = robots_body(row) if reading.access is RobotsAccess.UNCHANGED else (response.body if response else b"")
        record = record_of(host.lease, found, self._terms.agent, now, body)
        await self._keep(record._replace(values=_values(host.name, found, response, row, now) | record.values))
        return found

    async def flush(self) -> None:
        """Have everything that was read kept; raises what went wrong with that."""
        while self._keeping is not None or self._unkept:
            if self._keeping is None:
                self._keeping = asyncio.create_task(self._keep_some())
            keeping = self._keeping
            try:
                await asyncio.shield(keeping)
            finally:
                if self._keeping is keeping and keeping.done():
                    self._keeping = None

    async def _keep(self, record: RobotsRecord) -> None:
        """Write a cache row, together with those that wait to be written: many hosts begin at the same time.

        A crawl does not wait for it: the host's first page would, and only its delay should hold that up.
        """
        self._unkept.append(record)
        if self._waits_for_keeping:
            await self.flush()
        elif self._keeping is None or (self._keeping.done() and self._keeping.exception() is None):
            self._keeping = asyncio.create_task(self._keep_some())

    async def _keep_some(self) -> None:
        while self._unkept:
            some, self._unkept = self._unkept, []
            await self._thread.run(self._store, some)

    async def _follow(
        self, host: LeasedHost, origin: str, row: Any, host_of: HostOf
    ) -> tuple[RobotsReading, Response | None, bool] | RobotsPostponed | RobotsRefused:
        """One attempt, through at most five redirects (RFC 9309 §2.3.1.2); says whether another would end alike."""
        url, conditional = origin + "/robots.txt", row is not None and row.access == str(RobotsAccess.PARSE)
        unreachable = self._terms.unreachable
        cookies: tuple[Cookie, ...] = ()
        for hops in range(MAX_ROBOTS_REDIRECTS + 1):
            address = resolve_link(url, url, collapse=self._collapse)
            if address is None or self._takedowns().covering(address) is not None:
                led = "it leads to " if hops else ""
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
            )
            asked = await self._requests.ask(holder, request, Purpose.ROBOTS, may_go=partial(self._is_up, address))
            if isinstance(asked, NotStarted):
                return RobotsPostponed(asked.why or Wait(self._clock(), WaitReason.DELAY))
            host.unsettled.requests.append(asked.row)
            if isinstance(asked.result, FetchFailure):
                if asked.result.kind in NEVER_ASKED and hops == 0:
                    return RobotsRefused(asked.result)
                kind = asked.result.kind
                what = f"it leads to {url[:200]}: {asked.result.detail}" if kind in NEVER_ASKED else str(kind)
                is_final = kind.is_refusal
                if hops == 0 and url.startswith("https:") and lacks_tls(kind, asked.result.detail):
                    what, is_final = f"{kind}; {NO_TLS}", origin in host.guessed
                return read_failure(what, unreachable=unreachable), None, is_final
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
        raise AssertionError("a redirect after the fifth ends the loop above")

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

    def _store(self, records: list[RobotsRecord]) -> None:
        with self._database.write() as connection:
            keep_robots(connection, records)


def _values(host: str, found: RobotsInForce, response: Response | None, row: Any, now: float) -> dict[str, Any]:
    """The cache row; a confirmed copy only gets a new date."""
    unchanged = found.reading.access is RobotsAccess.UNCHANGED
    body = robots_body(row) if unchanged else (response.body if found.file is not None and response else None)
    text = _text(body) if body is not None else None
    delay = found.crawl_delay_s
    return {
        "origin": found.origin,
        "host": host,
        "robots_txt": text if text is not None or body is None else body.decode("utf-8", "replace").replace("\0", "�"),
        "raw": None if text is not None else body,
        "fetched_at": from_seconds(now),
        "expires_at": from_seconds(found.expires_at),
        "crawl_delay_ms": round(delay * 1000) if delay is not None else None,
        "disallow": list(found.rules.disallowed()) if found.rules is not None else None,
        "access": str(RobotsAccess.PARSE if unchanged else found.reading.access),
        "http_status": found.reading.http_status,
        "version": found.version,
        "etag": (response.headers.get("etag") if response else None) or (row.etag if unchanged else None),
        "last_modified": (response.headers.get("last-modified") if response else None)
        or (row.last_modified if unchanged else None),
        "detail": found.reading.reason,
    }


def _text(body: bytes) -> str | None:
    """The octets as text, if text holds them exactly (PostgreSQL takes no NUL)."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def robots_body(row: Any) -> bytes:
    """The file as it came, from a row of the cache."""
    return bytes(row.raw) if row.raw is not None else (row.robots_txt or "").encode()


def is_unread(reading: RobotsReading) -> bool:
    """Whether the file could not be read, whatever that is taken for (RFC 9309 §2.3.1.4)."""
    status = reading.http_status
    return reading.access not in _READ and (status is None or status == 429 or status >= 500)


def robots_from_row(row: Any, agent: str, unreachable: RobotsUnreachable) -> RobotsInForce:
    """What a cached row says, under the operator's present choice for files that could not be read."""
    access = RobotsAccess(row.access)
    reading = RobotsReading(access, Confidence.HIGH, row.detail or "robots.txt from the cache", row.http_status)
    if is_unread(reading):
        allowed = unreachable is RobotsUnreachable.ALLOW
        access = RobotsAccess.ALLOW_ALL if allowed else RobotsAccess.DISALLOW_ALL
        reading = replace(reading, access=access, confidence=Confidence.LOW if allowed else Confidence.HIGH)
    # Named by its content, whatever version the row says: it may have been edited by hand.
    file = parse_robots(robots_body(row)) if access is RobotsAccess.PARSE else None
    rules = file.for_agent(agent) if file is not None else None
    return RobotsInForce(row.origin, reading, file, rules, to_seconds(row.expires_at) or 0.0)
