"""Grants: crawlers with URLs of their own ask when they may request each, and report the result.

A grant is a slot of the host's gate. The client holds the host's lease for as long as it has open grants on it, so
workers, bots and clients of one state share one pace. Everything is committed before it is answered, so a server that
dies loses no grant and no report.

One transaction answers a whole request: the reports in it first, then its URLs. It never waits for robots.txt.
Short requests that wait together are committed together (`TransactionThread`).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Final, NamedTuple, Self
from uuid import UUID

from sqlalchemy import Connection

from comity.clock import Clock
from comity.database import ledger
from comity.database.bulk import together
from comity.database.connection import Database
from comity.database.queue import bots, jobs, reservations
from comity.database.queue import grants as grants_table
from comity.database.queue.bots import PullCount
from comity.database.queue.grants import GrantRow, NewGrant
from comity.database.queue.reservations import Hold, HostRow, Returned
from comity.database.types import seconds_of
from comity.model.dataclass import dataclass
from comity.model.errors import BadAddress, ComityError
from comity.model.gate import DoorProfile, GateLimits, GateMemory
from comity.model.grants import (
    GRANT_TTL_S,
    GrantAnswer,
    GrantAnswers,
    GrantReason,
    GrantReport,
    Permission,
    ReportAnswer,
    ReportResult,
)
from comity.model.ledger import LedgerNote, LedgerRow, NoteKind, Purpose
from comity.model.queue import BotError, BotRefused, Slot
from comity.model.robots import RobotsVerdict
from comity.rules.canonical import WebAddress, canonical_host, host_in_url, web_address
from comity.rules.politeness.pace import limits_for, observed, reached_within
from comity.rules.queue import slots
from comity.rules.queue.bot_limits import Allowance, allowance
from comity.rules.queue.slots import EndedSlot, SlotTerms
from comity.rules.user_agent import agent_token
from comity.telemetry.loops import Loops
from comity.walk.bots.robots import ClientRobots, ReadsRobots, RobotsBook
from comity.walk.bots.takedowns import TakedownsInForce
from comity.walk.bots.threads import TransactionThread
from comity.walk.robots.record import ClientLease

EXPIRE_EVERY_S: Final = 2.0
_COPY_EVERY_S: Final = 0.2
_EXPIRED_AT_ONCE: Final = 500
_ROBOTS_WAIT_S: Final = 3.0
_LEASED_FOR_S: Final = 2.0
_RESERVED_FOR_S: Final = 1.0
_LONGEST_WAIT_S: Final = 60.0
_KEPT_S: Final = 86_400.0  # how long a finished grant is stored, so that its report can be repeated
_FORGOTTEN_AT_ONCE: Final = 200  # a few milliseconds, for which requests wait
_FORGETTING_TURNS: Final = 50  # deletes up to 5,000 a second: more than a busy server grants
_LIMITS_KEPT: Final = 1_000
_BOTS_KEPT: Final = 1_000
_SEEN_EVERY_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class GrantTerms:
    """The terms of grants."""

    profile: DoorProfile
    collapse_subdomains: bool = False
    ttl_s: float = GRANT_TTL_S


class _Wanted(NamedTuple):
    """A URL that robots.txt and takedowns allow."""

    at: int
    url: str
    address: WebAddress
    robots: ClientRobots
    verdict: RobotsVerdict


class _Plan(NamedTuple):
    """The slots that a client gets on one host."""

    row: HostRow
    wanted: list[_Wanted]
    slots: list[Slot]
    memory: GateMemory
    limits: GateLimits
    crawl_delay_s: float | None


class _Bot(NamedTuple):
    """The bot on whose behalf a client requests grants, with its limits."""

    bot_id: str
    may: Allowance
    resumes: bool
    message: str


@dataclass(slots=True)
class _Request:
    """One request for grants while it is being decided."""

    client: str
    urls: Sequence[str]
    agent: str | None
    """The client's own product token."""
    now: float
    answers: dict[int, GrantAnswer]
    """By position in the request."""
    bot: _Bot | None
    room: int
    """How many more grants the client's limits allow."""


class Granter:
    """Issues grants and takes reports; use it as an asynchronous context."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        chance: Callable[[], float],
        book: RobotsBook,
        reader: ReadsRobots,
        terms: GrantTerms,
        loops: Loops,
    ) -> None:
        self._database = database
        self._clock = clock
        self._chance = chance
        self._book = book
        self._reader = reader
        self._terms = terms
        self._loops = loops
        self._thread = TransactionThread("comity-grants", database, clock)
        self._takedowns = TakedownsInForce()
        self._limits_of: dict[tuple[int | None, int | None, float | None], GateLimits] = {}
        self._seen_at: dict[str, float] = {}
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        loops = {"expiry of grants": self._expire_regularly, "copying of the log": self._copy_regularly}
        self._tasks = [asyncio.create_task(self._loops.keep(name, serve)) for name, serve in loops.items()]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._thread.close()

    async def grant(
        self, client: str, urls: Sequence[str], *, user_agent: str | None = None, reports: Sequence[GrantReport] = ()
    ) -> GrantAnswers:
        """Answer for each URL whether and when the client may request it, after noting what it reports.

        If nothing can be granted only because robots.txt is unknown, wait for it, outside any transaction.
        """
        granted = await self._thread.transact(partial(self._grant, client, list(urls), user_agent, list(reports)))
        unknown = self._unknown(granted)
        if not unknown:
            return granted
        is_idle = all(answer.permission is not Permission.ALLOWED for answer in granted.answers)
        origins = {web_address(url, collapse=self._terms.collapse_subdomains).origin for url in unknown.values()}
        await self._reader.known(origins, _ROBOTS_WAIT_S if is_idle else 0.0)
        if not is_idle:
            return granted
        again = await self._thread.transact(partial(self._grant, client, list(unknown.values()), user_agent, []))
        answers = list(granted.answers)
        for at, answer in zip(unknown, again.answers, strict=True):
            answers[at] = self._explained(answer)
        return GrantAnswers(again.now, tuple(answers), granted.reports)

    async def report(self, client: str, reports: Sequence[GrantReport]) -> GrantAnswers:
        """End grants with what the client says of their requests."""
        return await self._thread.transact(partial(self._grant, client, [], None, list(reports)))

    async def release(self, client: str, grant_ids: Sequence[UUID]) -> GrantAnswers:
        """End grants that the client did not use."""
        return await self._thread.transact(partial(self._release, client, list(grant_ids)))

    def expire(self) -> int:
        """End expired grants, and release the hosts whose last grant expired; returns how many."""
        with self._database.write() as connection:
            now = seconds_of(connection, self._database.now(self._clock))
            taken = grants_table.take(connection, grants_table.overdue(connection, now, _EXPIRED_AT_ONCE))
            over = [(row, host) for row, host in taken.values() if row.is_open and row.expires_at <= now]
            grants_table.end(connection, [row.id for row, _host in over], "expired", now)
            ledger.append_notes(connection, [slots.note(_ended(row, host), NoteKind.UNREPORTED) for row, host in over])
            reservations.end_uncleanly(connection, {host.id for _row, host in over}, now)
            return len(over)

    def forget(self) -> bool:
        """Delete some of the grants that ended long ago; returns whether there may be more.

        A transaction of its own: it locks grants without their hosts, and everyone else locks hosts first.
        """
        with self._database.write() as connection:
            now = seconds_of(connection, self._database.now(self._clock))
            return grants_table.forget(connection, now - _KEPT_S, _FORGOTTEN_AT_ONCE) == _FORGOTTEN_AT_ONCE

    async def _expire_regularly(self) -> None:
        while True:
            await asyncio.sleep(EXPIRE_EVERY_S)
            with suppress(ComityError):  # the state may be unavailable for a moment
                await self._thread.run(self.expire)
                for _turn in range(_FORGETTING_TURNS):  # requests come in between
                    if not await self._thread.run(self.forget):
                        break

    async def _copy_regularly(self) -> None:
        """Keep the log of a busy embedded state short, while another thread writes."""
        copied = self._thread.committed
        while not self._database.is_shared:
            await asyncio.sleep(_COPY_EVERY_S)
            if copied != self._thread.committed:
                copied = self._thread.committed
                with suppress(ComityError):
                    await asyncio.to_thread(self._database.copy_log)

    def _unknown(self, granted: GrantAnswers) -> dict[int, str]:
        """The URLs whose robots.txt must be read, by position."""
        return {
            at: answer.url for at, answer in enumerate(granted.answers) if answer.reason is GrantReason.ROBOTS_UNKNOWN
        }

    def _explained(self, answer: GrantAnswer) -> GrantAnswer:
        """An answer that names why robots.txt cannot be read, if that was found out."""
        if answer.reason is not GrantReason.ROBOTS_UNKNOWN:
            return answer
        why = self._reader.why_not(web_address(answer.url, collapse=self._terms.collapse_subdomains).origin)
        if why is None:
            return answer
        return GrantAnswer(answer.url, Permission.DENIED, GrantReason.NOT_CONTACTED, why)

    # Everything below runs in the thread of the database.

    def _grant(
        self,
        client: str,
        urls: list[str],
        user_agent: str | None,
        reports: list[GrantReport],
        connection: Connection,
        now: float,
    ) -> GrantAnswers:
        reported = self._report(connection, client, reports, now) if reports else ()
        answers = self._decide(connection, client, urls, user_agent, now) if urls else ()
        return GrantAnswers(now, tuple(answers), tuple(reported))

    def _decide(
        self, connection: Connection, client: str, urls: list[str], user_agent: str | None, now: float
    ) -> Sequence[GrantAnswer]:
        """The answers for some URLs, in their order."""
        bot = self._bot_of(connection, client, len(urls), now)
        room = len(urls) if bot is None else bot.may.jobs
        agent = agent_token(user_agent) if user_agent else None
        request = _Request(client, urls, agent or None, now, {}, bot, room)
        answers = request.answers
        addresses, taken_down = self._addresses(connection, request)
        known = self._book.find(connection, {address.origin for address in addresses.values()}, now, user_agent)
        wanted: dict[str, list[_Wanted]] = {}
        denied: list[_Wanted] = []
        for at, address in addresses.items():
            robots = known.get(address.origin)
            if robots is None:
                message = f"robots.txt of {address.origin} is being read"
                answers[at] = _wait(urls[at], GrantReason.ROBOTS_UNKNOWN, _RESERVED_FOR_S, message)
                continue
            one = _Wanted(at, urls[at], address, robots, robots.verdict(address))
            if one.verdict.allowed:
                wanted.setdefault(address.host, []).append(one)
            else:
                denied.append(one)
                answers[at] = _denied(one)
        names = {address.host for address in addresses.values()} | {address.host for address, _entry in taken_down}
        rows = self._rows(connection, names)
        self._leave_evidence(connection, rows, denied, taken_down, now)
        if wanted:
            self._give(connection, request, wanted, rows)
        return [answers[at] for at in range(len(urls))]

    def _bot_of(self, connection: Connection, client: str, wanted: int, now: float) -> _Bot | None:
        """What the limits of the client's bot still allow; None if it has none. Grants count like jobs."""
        bot_id = client.partition("/")[0]
        self._note_seen(connection, bot_id, now)
        if not bots.is_limited(connection, bot_id):
            return None
        bot, _now = bots.row_for_pull(connection, bot_id, now)
        if bot.status == "revoked":
            raise BotRefused(BotError.NOT_ASSIGNED, f"the bot {bot_id} is revoked", {"client_id": client})
        most = bot.max_jobs_in_hand
        in_hand = 0 if most is None else jobs.in_hand(connection, bot_id) + grants_table.open_of(connection, bot_id)
        is_quarantined = bot.status == "quarantined"
        may = allowance(
            wanted,
            now,
            in_hand=in_hand,
            most_in_hand=most,
            most_per_minute=bot.max_jobs_per_minute,
            minute_started_at=bot.minute_started_at,
            pulled_this_minute=bot.pulled_this_minute,
            quarantined_until=bot.quarantined_until if is_quarantined else None,
        )
        is_over = is_quarantined and (bot.quarantined_until is None or bot.quarantined_until <= now)
        message = f"the limits of {bot_id} allow no more grants now"
        if is_quarantined and not is_over:
            message = f"{bot_id} is quarantined because its jobs failed too often"
        return _Bot(bot_id, may, is_over, message)

    def _note_seen(self, connection: Connection, bot_id: str, now: float) -> None:
        """Note when a bot was last seen; not every time, since crawlers ask many times a second."""
        if 0.0 <= now - self._seen_at.get(bot_id, 0.0) < _SEEN_EVERY_S:
            return
        if len(self._seen_at) >= _BOTS_KEPT:
            self._seen_at.clear()
        self._seen_at[bot_id] = now
        bots.note_seen(connection, bot_id, now)

    def _addresses(
        self, connection: Connection, request: _Request
    ) -> tuple[dict[int, WebAddress], list[tuple[WebAddress, str]]]:
        """The valid URLs by position, and those that are taken down; all others are answered here."""
        takedowns, collapse = self._takedowns.at(connection), self._terms.collapse_subdomains
        found: dict[int, WebAddress] = {}
        taken_down: list[tuple[WebAddress, str]] = []
        for at, url in enumerate(request.urls):
            try:
                address = web_address(url, collapse=collapse)
            except BadAddress as error:
                request.answers[at] = GrantAnswer(url, Permission.DENIED, GrantReason.BAD_URL, str(error))
                continue
            entry = takedowns.covering(address)
            if entry is None:
                found[at] = address
            else:
                taken_down.append((address, entry))
                message = f"taken down: {entry}"
                request.answers[at] = GrantAnswer(url, Permission.DENIED, GrantReason.TAKEN_DOWN, message)
        return found, taken_down

    def _leave_evidence(
        self,
        connection: Connection,
        rows: dict[str, HostRow],
        denied: list[_Wanted],
        taken_down: list[tuple[WebAddress, str]],
        now: float,
    ) -> None:
        """Store why URLs were denied, once for each as long as the reason stays the same."""
        if denied:
            found = (
                (rows[one.address.host].id, one.address, one.verdict, one.robots.in_force.version)
                for one in denied
                if one.address.host in rows
            )
            self._book.deny(connection, found, now)
        if taken_down:
            entries = [(rows[each.host].id, each, entry) for each, entry in taken_down if each.host in rows]
            self._book.note_taken_down(connection, entries, now)

    def _rows(self, connection: Connection, names: set[str]) -> dict[str, HostRow]:
        """The rows of hosts, locked; rows that another transaction has locked are missing."""
        rows = {row.host: row for row in reservations.lock_named(connection, names)}
        missing = names - rows.keys()
        if missing:
            hosts = [canonical_host(host_in_url(name)) for name in sorted(missing)]
            reservations.add_hosts(connection, hosts)
            rows |= {row.host: row for row in reservations.lock_named(connection, missing)}
        return rows

    def _give(
        self, connection: Connection, request: _Request, wanted: dict[str, list[_Wanted]], rows: dict[str, HostRow]
    ) -> None:
        """Plan slots for the URLs of each host that the client may hold, hold the hosts, and store the grants."""
        now, ttl_s, answers = request.now, self._terms.ttl_s, request.answers
        holder = reservations.grant_holder(request.client)
        planned = [plan for host, ones in wanted.items() if (plan := self._plan(request, rows.get(host), ones, holder))]
        new: list[NewGrant] = []
        holds: list[Hold] = []
        unnoted: list[tuple[ClientRobots, ClientLease]] = []
        ids = _new_ids(now, sum(len(plan.slots) for plan in planned))
        for plan in planned:
            row, given = plan.row, plan.slots
            holds.append(Hold(row, given[-1].start_by + ttl_s, plan.memory, row.queue_ready_at, len(given)))
            token = row.token_for(holder, now)
            # A client that already holds the host continues its numbering.
            first = row.number_after(holder, now) + 1
            for number, (one, slot) in enumerate(zip(plan.wanted, given, strict=False), first):
                grant_id, expires_at = next(ids), slot.start_by + ttl_s
                document = slots.to_document(slot, _terms_of(plan, one, number, request.agent))
                new.append(
                    NewGrant(
                        grant_id, row.id, one.address.url, slot.not_before, slot.start_by, document, token, expires_at
                    )
                )
                verdict = one.verdict
                answers[one.at] = GrantAnswer(
                    one.url,
                    Permission.ALLOWED,
                    None,
                    None,
                    verdict.rule,
                    verdict.line_number,
                    grant_id,
                    slot,
                    expires_at,
                )
                if not one.robots.is_noted:
                    unnoted.append((one.robots, ClientLease(row.id, row.host, token)))
        reservations.hold(connection, holds, holder, now)
        grants_table.add(connection, request.client, new, now)
        self._book.note(connection, unnoted, now)
        bot = request.bot
        if bot is not None and new:
            started_at, before = bot.may.minute_started_at, bot.may.pulled_this_minute
            count = PullCount(bot.bot_id, now, 0, started_at, before + len(new), bot.resumes)
            bots.note_pull(connection, count)

    def _plan(self, request: _Request, row: HostRow | None, ones: list[_Wanted], holder: str) -> _Plan | None:
        """The slots of one host; URLs without one are answered."""
        now, answers = request.now, request.answers
        busy = _busy(row, holder, now)
        if busy is not None or row is None:
            for one in ones:
                answers[one.at] = _wait(one.url, *(busy or _TAKEN))
            return None
        if request.room < len(ones) and request.bot is not None:
            wait_s = min(max(request.bot.may.retry_after_s or _RESERVED_FOR_S, _RESERVED_FOR_S), _LONGEST_WAIT_S)
            for one in ones[request.room :]:
                answers[one.at] = _wait(one.url, GrantReason.OVER_LIMIT, wait_s, request.bot.message)
            ones = ones[: request.room]
        if not ones:
            return None
        crawl_delay_s = max(
            (each for one in ones if (each := one.robots.in_force.crawl_delay_s) is not None), default=None
        )
        limits = self._limits(row, crawl_delay_s)
        given, memory = slots.plan(row.memory_at(now), limits, now, len(ones), chance=self._chance())
        for one in ones[len(given) :]:
            answers[one.at] = self._later(one.url, memory, limits, now)
        request.room -= len(given)
        return _Plan(row, ones, given, memory, limits, crawl_delay_s) if given else None

    def _limits(self, row: HostRow, crawl_delay_s: float | None) -> GateLimits:
        """The limits of a host; most hosts have the same ones."""
        interval_ms = row.policy_interval_ms
        key = (interval_ms, row.policy_max_concurrency, crawl_delay_s)
        known = self._limits_of.get(key)
        if known is None:
            if len(self._limits_of) >= _LIMITS_KEPT:
                self._limits_of.clear()
            known = self._limits_of[key] = limits_for(
                self._terms.profile,
                policy_interval_s=None if interval_ms is None else interval_ms / 1000,
                policy_max_concurrency=row.policy_max_concurrency,
                crawl_delay_s=crawl_delay_s,
            )
        return known

    def _later(self, url: str, memory: GateMemory, limits: GateLimits, now: float) -> GrantAnswer:
        """When to ask again for a URL of a host that has no slot within the horizon."""
        at = slots.next_start(memory, limits, now).at
        is_blocked = memory.blocked_until is not None and memory.blocked_until > now
        wait_s = min(max(at - slots.HORIZON_S / 2 - now, _RESERVED_FOR_S), _LONGEST_WAIT_S)
        if is_blocked:
            return _wait(url, GrantReason.BLOCKED, wait_s, "the host asked for a pause")
        return _wait(url, GrantReason.TOO_SOON, wait_s, "the next slots of the host are taken")

    def _report(
        self, connection: Connection, client: str, reports: Sequence[GrantReport], now: float
    ) -> list[ReportAnswer]:
        """End the reported grants, each once, and update the gates of their hosts."""
        by_id = {report.grant_id: report for report in reports}
        taken = grants_table.take(connection, by_id)
        memories: dict[UUID, tuple[HostRow, GateMemory]] = {}
        entered: list[LedgerRow] = []
        answers: dict[UUID, ReportAnswer] = {}
        mine: list[UUID] = []
        for grant_id, report in by_id.items():
            found = taken.get(grant_id)
            if found is None or found[0].client != client:
                answers[grant_id] = ReportAnswer(grant_id, ReportResult.UNKNOWN)
                continue
            row, host = found
            result = None if row.is_open else _earlier(row)
            known = memories.get(host.id)
            memory = host.memory_at(now) if known is None else known[1]
            if result is ReportResult.RECORDED or result is ReportResult.RELEASED:
                answers[grant_id] = ReportAnswer(grant_id, result, _block(memory, now))
                continue
            ended = _ended(row, host)
            limits = self._limits(host, ended.terms.crawl_delay_s)
            is_refusal = report.status in (429, 503)
            retry_after_s = report.retry_after_s if is_refusal else None
            memory = slots.end(
                memory,
                limits,
                ended.slot,
                now,
                observation=observed(report.status, report.latency_s, retry_after_s),
                started_at=_reached(report, memory, ended.slot, now),
                chance=self._chance(),
            )
            memories[host.id] = host, memory
            block = _block(memory, now)
            if result is ReportResult.EXPIRED:  # the ledger has a note of it
                answers[grant_id] = ReportAnswer(grant_id, result, block)
                continue
            mine.append(grant_id)
            entered.append(
                slots.request_row(
                    ended,
                    now,
                    started_at=report.started_at,
                    latency_s=report.latency_s,
                    status=report.status,
                    retry_after_s=retry_after_s,
                    blocked_until=memory.blocked_until if is_refusal else None,
                )
            )
            answers[grant_id] = ReportAnswer(grant_id, ReportResult.RECORDED, block)
        with together(connection):
            grants_table.end(connection, mine, "reported", now)
            ledger.append_requests(connection, None, entered)
            self._give_back(connection, client, memories, now)
        return [answers[report.grant_id] for report in reports]

    def _release(self, client: str, grant_ids: list[UUID], connection: Connection, now: float) -> GrantAnswers:
        taken = grants_table.take(connection, grant_ids)
        memories: dict[UUID, tuple[HostRow, GateMemory]] = {}
        notes: list[LedgerNote] = []
        answers: list[ReportAnswer] = []
        mine: list[tuple[GrantRow, HostRow]] = []
        for grant_id in dict.fromkeys(grant_ids):
            found = taken.get(grant_id)
            if found is None or found[0].client != client:
                answers.append(ReportAnswer(grant_id, ReportResult.UNKNOWN))
            elif found[0].is_open:
                mine.append(found)
                answers.append(ReportAnswer(grant_id, ReportResult.RELEASED))
            else:
                answers.append(ReportAnswer(grant_id, _earlier(found[0])))
        # Start with the last slots: only then can all their time be reused.
        for row, host in sorted(mine, key=lambda each: each[0].not_before, reverse=True):
            ended = _ended(row, host)
            known = memories.get(host.id)
            memory = host.memory_at(now) if known is None else known[1]
            limits = self._limits(host, ended.terms.crawl_delay_s)
            ending = slots.end(memory, limits, ended.slot, now, observation=None, chance=self._chance())
            memories[host.id] = host, ending
            notes.append(slots.note(ended, NoteKind.UNUSED))
        grants_table.end(connection, [row.id for row, _host in mine], "released", now)
        ledger.append_notes(connection, notes)
        self._give_back(connection, client, memories, now)
        return GrantAnswers(now, (), tuple(answers))

    def _give_back(
        self, connection: Connection, client: str, memories: dict[UUID, tuple[HostRow, GateMemory]], now: float
    ) -> None:
        """Write what the gates remember; hosts without another open grant are released."""
        holder = reservations.grant_holder(client)
        returned = [
            Returned(host_id, memory, host.token, memory.next_fetch_at) for host_id, (host, memory) in memories.items()
        ]
        reservations.release_idle(connection, returned, holder, now)


_TAKEN: Final = (GrantReason.RESERVED, _RESERVED_FOR_S, "the host is in use")


def _busy(row: HostRow | None, holder: str, now: float) -> tuple[GrantReason, float, str] | None:
    """Why a client may not hold a host now, and for how long to wait."""
    if row is None:
        return _TAKEN
    if not row.is_held(now):
        return None
    if row.holder == holder:
        if row.held_since is None or now - row.held_since <= slots.TURN_S:
            return None
        return GrantReason.RESERVED, _RESERVED_FOR_S, "your turn is over: report or release your grants of the host"
    if row.holder is not None and row.holder.startswith((reservations.BOT, reservations.GRANT)):
        return GrantReason.RESERVED, _RESERVED_FOR_S, "another client has slots of the host"
    return GrantReason.LEASED, _LEASED_FOR_S, "a worker of Comity is crawling the host"


def _wait(url: str, reason: GrantReason, retry_after_s: float, message: str) -> GrantAnswer:
    return GrantAnswer(url, Permission.WAIT, reason, message, retry_after_s=round(retry_after_s, 3))


def _denied(one: _Wanted) -> GrantAnswer:
    verdict = one.verdict
    reason = GrantReason.ROBOTS_UNREACHABLE if one.robots.in_force.is_unreachable else GrantReason.ROBOTS_DENIED
    return GrantAnswer(one.url, Permission.DENIED, reason, verdict.reason, verdict.rule, verdict.line_number)


def _terms_of(plan: _Plan, one: _Wanted, number: int, agent: str | None) -> SlotTerms:
    row = plan.row
    return SlotTerms(
        number,
        plan.limits.max_concurrency,
        row.policy_interval_ms,
        row.policy_max_concurrency,
        plan.crawl_delay_s,
        one.robots.in_force.version,
        one.verdict.line_number,
        one.verdict.rule,
        agent,
    )


def _new_ids(now: float, count: int) -> Iterator[UUID]:
    """Ids that begin with the time, so that grants made together lie together in the index (RFC 9562 §5.7)."""
    chances, base = os.urandom(10 * count), int(now * 1000) << 80
    for at in range(0, 10 * count, 10):
        yield UUID(int=(base | int.from_bytes(chances[at : at + 10], "big")) & ~_ID_BITS | _VERSION_7)


_ID_BITS: Final = 0xF << 76 | 0b11 << 62
_VERSION_7: Final = 0x7 << 76 | 0b10 << 62


def _ended(row: GrantRow, host: HostRow) -> EndedSlot:
    slot, terms = slots.from_text(row.document, row.not_before, row.start_by)
    return EndedSlot(host.id, host.host, row.lease_token, row.client, row.url, Purpose.GRANT, slot, terms)


def _reached(report: GrantReport, memory: GateMemory, slot: Slot, now: float) -> float | None:
    """The latest time at which a request reached its host, for the gate: the host counts from there."""
    if report.started_at is None:
        return None
    latency_s = report.latency_s if report.latency_s is not None else max(0.0, now - report.started_at)
    return report.started_at + reached_within(latency_s, memory.latency_baseline_s, slot.delay_s)


def _earlier(row: GrantRow) -> ReportResult:
    """What became of a grant that has ended."""
    return {"reported": ReportResult.RECORDED, "released": ReportResult.RELEASED}.get(
        row.outcome or "", ReportResult.EXPIRED
    )


def _block(memory: GateMemory, now: float) -> float | None:
    until = memory.blocked_until
    return until if until is not None and until > now else None
