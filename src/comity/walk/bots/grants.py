"""Grants: crawlers with URLs of their own ask when they may request each, and report what came of it (spec 7.7).

A grant is a slot of the host's gate, given under the host's lease, which the client holds for as long as it has open
grants of the host. So workers, bots and clients that use the same state keep one pace together. Everything that is
answered was committed before; a server that dies loses no grant and no report.

One transaction answers a whole request: the reports in it first, then its URLs. It never waits for robots.txt.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Final, NamedTuple, Self
from uuid import UUID, uuid4

from sqlalchemy import Connection

from comity.clock import Clock
from comity.database import takedowns as takedowns_table
from comity.database.connection import Database
from comity.database.ledger import ledger
from comity.database.queue import grants as grants_table
from comity.database.queue import reservations
from comity.database.queue.grants import GrantRow, NewGrant
from comity.database.queue.reservations import Hold, HostRow, Returned
from comity.database.types import seconds_of
from comity.model.errors import BadAddress, ComityError
from comity.model.gate import DoorProfile, GateLimits, GateMemory
from comity.model.grants import (
    GRANT_TTL_S,
    GrantAnswer,
    Granted,
    GrantReason,
    GrantReport,
    Permission,
    ReportAnswer,
    ReportResult,
)
from comity.model.ledger import LedgerNote, LedgerRow, NoteKind, Purpose
from comity.model.queue import Slot
from comity.model.robots import RobotsVerdict
from comity.rules.canonical import WebAddress, canonical_host, host_in_url, web_address
from comity.rules.politeness.pace import limits_for, observed, reached_within
from comity.rules.queue import slot_terms, slots
from comity.rules.queue.slot_terms import EndedSlot, SlotTerms
from comity.rules.takedown import Takedowns
from comity.rules.user_agent import agent_token
from comity.walk.bots.robots import ClientRobots, ReadsRobots, RobotsBook
from comity.walk.robots.record import ClientLease
from comity.walk.session.database_thread import DatabaseThread

EXPIRE_EVERY_S: Final = 2.0
_EXPIRED_AT_ONCE: Final = 500
_ROBOTS_WAIT_S: Final = 3.0
_LEASED_FOR_S: Final = 2.0
_RESERVED_FOR_S: Final = 1.0
_LONGEST_WAIT_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class GrantTerms:
    """How grants are given."""

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
    """The slots that a client gets of one host."""

    row: HostRow
    wanted: list[_Wanted]
    slots: list[Slot]
    memory: GateMemory
    limits: GateLimits
    crawl_delay_s: float | None


class Granter:
    """Gives grants and takes reports; use it as an asynchronous context."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        chance: Callable[[], float],
        book: RobotsBook,
        reader: ReadsRobots,
        terms: GrantTerms,
    ) -> None:
        self._database = database
        self._clock = clock
        self._chance = chance
        self._book = book
        self._reader = reader
        self._terms = terms
        self._thread = DatabaseThread("comity-grants")
        self._takedowns = Takedowns()
        self._takedowns_edition: tuple[int, str | None, str | None] | None = None
        self._expiring: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._expiring = asyncio.create_task(self._expire_now_and_then())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._expiring is not None:
            self._expiring.cancel()
            await asyncio.gather(self._expiring, return_exceptions=True)
        self._thread.close()

    async def grant(
        self, client: str, urls: Sequence[str], *, user_agent: str | None = None, reports: Sequence[GrantReport] = ()
    ) -> Granted:
        """Answer for each URL whether and when the client may request it, after noting what it reports.

        If nothing can be granted only because robots.txt is unknown, it is waited for, outside of any transaction.
        """
        granted = await self._thread.run(self._grant, client, list(urls), user_agent, list(reports))
        unknown = self._unknown(granted)
        if not unknown:
            return granted
        is_idle = all(answer.permission is not Permission.ALLOWED for answer in granted.answers)
        origins = {web_address(url, collapse=self._terms.collapse_subdomains).origin for url in unknown.values()}
        await self._reader.known(origins, _ROBOTS_WAIT_S if is_idle else 0.0)
        if not is_idle:
            return granted
        again = await self._thread.run(self._grant, client, list(unknown.values()), user_agent, [])
        answers = list(granted.answers)
        for at, answer in zip(unknown, again.answers, strict=True):
            answers[at] = self._explained(answer)
        return Granted(again.now, tuple(answers), granted.reports)

    async def report(self, client: str, reports: Sequence[GrantReport]) -> Granted:
        """End grants with what the client says of their requests."""
        return await self._thread.run(self._grant, client, [], None, list(reports))

    async def release(self, client: str, grant_ids: Sequence[UUID]) -> Granted:
        """End grants that the client did not use."""
        return await self._thread.run(self._release, client, list(grant_ids))

    def expire(self) -> int:
        """End grants that ran out, and free the hosts whose last grant did; gives how many."""
        with self._database.write() as connection:
            now = seconds_of(connection, self._database.now(self._clock))
            rows = grants_table.lock_overdue(connection, now, _EXPIRED_AT_ONCE)
            if not rows:
                return 0
            hosts = self._hosts_of(connection, rows.values())
            grants_table.end(connection, [(grant_id, "expired") for grant_id in rows], now)
            notes = [
                slot_terms.note(_ended(row, hosts[row.host_id].host), NoteKind.UNREPORTED)
                for row in rows.values()
                if row.host_id in hosts
            ]
            ledger.append_notes(connection, notes)
            reservations.end_uncleanly(connection, hosts, now)
            return len(rows)

    async def _expire_now_and_then(self) -> None:
        while True:
            await asyncio.sleep(EXPIRE_EVERY_S)
            with suppress(ComityError):  # the state may be away for a moment
                await self._thread.run(self.expire)

    def _unknown(self, granted: Granted) -> dict[int, str]:
        """The URLs whose robots.txt is to be read, by their place."""
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

    def _grant(self, client: str, urls: list[str], user_agent: str | None, reports: list[GrantReport]) -> Granted:
        with self._database.write() as connection:
            now = seconds_of(connection, self._database.now(self._clock))
            reported = self._report(connection, client, reports, now) if reports else ()
            answers = self._decide(connection, client, urls, user_agent, now) if urls else ()
            return Granted(now, tuple(answers), tuple(reported))

    def _decide(
        self, connection: Connection, client: str, urls: list[str], user_agent: str | None, now: float
    ) -> Sequence[GrantAnswer]:
        """The answers for some URLs, in their order."""
        answers: dict[int, GrantAnswer] = {}
        addresses = self._addresses(connection, urls, answers)
        origins = {address.origin for address in addresses.values()}
        known = self._book.find(connection, origins, now, user_agent)
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
        rows = self._rows(connection, {address.host for address in addresses.values()})
        if denied:
            self._book.deny(
                connection,
                [
                    (rows[one.address.host].id, one.address, one.verdict, one.robots.in_force.version)
                    for one in denied
                    if one.address.host in rows
                ],
                now,
            )
        if wanted:
            agent = agent_token(user_agent) if user_agent else None
            self._give(connection, client, wanted, rows, agent or None, answers, now)
        return [answers[at] for at in range(len(urls))]

    def _addresses(
        self, connection: Connection, urls: list[str], answers: dict[int, GrantAnswer]
    ) -> dict[int, WebAddress]:
        """The URLs that can be read and are not taken down, by their place; the others are answered."""
        takedowns, collapse = self._in_force(connection), self._terms.collapse_subdomains
        found: dict[int, WebAddress] = {}
        for at, url in enumerate(urls):
            try:
                address = web_address(url, collapse=collapse)
            except BadAddress as error:
                answers[at] = GrantAnswer(url, Permission.DENIED, GrantReason.BAD_URL, str(error))
                continue
            entry = takedowns.covering(address)
            if entry is None:
                found[at] = address
            else:
                answers[at] = GrantAnswer(url, Permission.DENIED, GrantReason.TAKEN_DOWN, f"taken down: {entry}")
        return found

    def _rows(self, connection: Connection, names: set[str]) -> dict[str, HostRow]:
        """The rows of hosts, locked; those that another transaction has at this moment are missing."""
        rows = {row.host: row for row in reservations.lock_named(connection, names)}
        missing = names - rows.keys()
        if missing:
            hosts = [canonical_host(host_in_url(name)) for name in sorted(missing)]
            reservations.add_hosts(connection, hosts)
            rows |= {row.host: row for row in reservations.lock_named(connection, missing)}
        return rows

    def _give(
        self,
        connection: Connection,
        client: str,
        wanted: dict[str, list[_Wanted]],
        rows: dict[str, HostRow],
        agent: str | None,
        answers: dict[int, GrantAnswer],
        now: float,
    ) -> None:
        """Plan slots for the URLs of each host that the client may hold, hold the hosts, and store the grants."""
        holder = reservations.grant_holder(client)
        planned = [
            plan for host, ones in wanted.items() if (plan := self._plan(rows.get(host), ones, holder, answers, now))
        ]
        holds = [
            Hold(plan.row, plan.slots[-1].start_by + self._terms.ttl_s, plan.memory, plan.row.queue_ready_at)
            for plan in planned
        ]
        tokens = reservations.hold(connection, holds, holder, now)
        # A client that held the host before goes on with its numbers.
        kept = [(plan.row.id, plan.row.token) for plan in planned if tokens[plan.row.id] == plan.row.token]
        numbers = grants_table.counts(connection, kept)
        new: list[NewGrant] = []
        for plan in planned:
            first, token = numbers.get(plan.row.id, 0) + 1, tokens[plan.row.id]
            for number, (one, slot) in enumerate(zip(plan.wanted, plan.slots, strict=False), first):
                grant_id, expires_at = uuid4(), slot.start_by + self._terms.ttl_s
                document = slot_terms.to_document(slot, _terms_of(plan, one, number, agent))
                times = slot.not_before, slot.start_by
                new.append(
                    NewGrant(grant_id, plan.row.id, client, one.address.url, *times, document, token, expires_at)
                )
                rule, line = one.verdict.rule, one.verdict.line_number
                answers[one.at] = GrantAnswer(
                    one.url, Permission.ALLOWED, None, None, rule, line, grant_id, slot, expires_at
                )
        grants_table.add(connection, new, now)
        held = [
            (one.robots, ClientLease(plan.row.id, plan.row.host, tokens[plan.row.id]))
            for plan in planned
            for one in plan.wanted
        ]
        self._book.note(connection, held, now)

    def _plan(
        self,
        row: HostRow | None,
        ones: list[_Wanted],
        holder: str,
        answers: dict[int, GrantAnswer],
        now: float,
    ) -> _Plan | None:
        """The slots of one host; URLs without one are answered."""
        busy = _busy(row, holder, now)
        if busy is not None or row is None:
            for one in ones:
                answers[one.at] = _wait(one.url, *(busy or _TAKEN))
            return None
        delays = [one.robots.in_force.crawl_delay_s for one in ones]
        crawl_delay_s = max((each for each in delays if each is not None), default=None)
        limits = self._limits(row, crawl_delay_s)
        given, memory = slots.plan(row.memory_at(now), limits, now, len(ones), chance=self._chance())
        for one in ones[len(given) :]:
            answers[one.at] = self._later(one.url, memory, limits, now)
        return _Plan(row, ones, given, memory, limits, crawl_delay_s) if given else None

    def _limits(self, row: HostRow, crawl_delay_s: float | None) -> GateLimits:
        interval_ms = row.policy_interval_ms
        return limits_for(
            self._terms.profile,
            policy_interval_s=None if interval_ms is None else interval_ms / 1000,
            policy_max_concurrency=row.policy_max_concurrency,
            crawl_delay_s=crawl_delay_s,
        )

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
        """End the grants that are reported, each once, and tell the gates of their hosts."""
        by_id = {report.grant_id: report for report in reports}
        rows = grants_table.lock(connection, by_id)
        hosts = self._hosts_of(connection, rows.values())
        memories: dict[UUID, GateMemory] = {}
        entered: list[LedgerRow] = []
        answers: dict[UUID, ReportAnswer] = {}
        mine: list[GrantRow] = []
        for grant_id, report in by_id.items():
            row = rows.get(grant_id)
            host = hosts.get(row.host_id) if row is not None else None
            if row is None or host is None or row.client != client:
                answers[grant_id] = ReportAnswer(grant_id, ReportResult.UNKNOWN)
                continue
            result = _earlier(row)
            memory = memories.get(host.id, host.memory_at(now))
            if result is ReportResult.RECORDED or result is ReportResult.RELEASED:
                answers[grant_id] = ReportAnswer(grant_id, result, _block(memory, now))
                continue
            ended = _ended(row, host.host)
            limits = self._limits(host, ended.terms.crawl_delay_s)
            retry_after_s = report.retry_after_s if report.status in (429, 503) else None
            seen = observed(report.status, report.latency_s, retry_after_s)
            started_at = _reached(report, memory, ended.slot, now)
            memory = slots.end(
                memory, limits, ended.slot, now, observation=seen, started_at=started_at, chance=self._chance()
            )
            memories[host.id] = memory
            block = _block(memory, now)
            if result is ReportResult.EXPIRED:  # the ledger has a note of it
                answers[grant_id] = ReportAnswer(grant_id, result, block)
                continue
            mine.append(row)
            blocked_until = memory.blocked_until if report.status in (429, 503) else None
            entered.append(
                slot_terms.request_row(
                    ended,
                    now,
                    started_at=report.started_at,
                    latency_s=report.latency_s,
                    status=report.status,
                    retry_after_s=retry_after_s,
                    blocked_until=blocked_until,
                )
            )
            answers[grant_id] = ReportAnswer(grant_id, ReportResult.RECORDED, block)
        grants_table.end(connection, [(row.id, "reported") for row in mine], now)
        ledger.append_requests(connection, None, entered)
        self._give_back(connection, client, hosts, memories)
        return [answers[report.grant_id] for report in reports]

    def _release(self, client: str, grant_ids: list[UUID]) -> Granted:
        with self._database.write() as connection:
            now = seconds_of(connection, self._database.now(self._clock))
            rows = grants_table.lock(connection, grant_ids)
            hosts = self._hosts_of(connection, rows.values())
            memories: dict[UUID, GateMemory] = {}
            notes: list[LedgerNote] = []
            answers: list[ReportAnswer] = []
            mine: dict[UUID, GrantRow] = {}
            for grant_id in dict.fromkeys(grant_ids):
                row = rows.get(grant_id)
                host = hosts.get(row.host_id) if row is not None else None
                if row is None or host is None or row.client != client:
                    answers.append(ReportAnswer(grant_id, ReportResult.UNKNOWN))
                    continue
                result = _earlier(row)
                if result is None:
                    mine[grant_id] = row
                answers.append(ReportAnswer(grant_id, result or ReportResult.RELEASED))
            # Those that begin last first: then the time that is given back adds up.
            for row in sorted(mine.values(), key=lambda each: each.not_before, reverse=True):
                host = hosts[row.host_id]
                ended = _ended(row, host.host)
                memory = memories.get(host.id, host.memory_at(now))
                limits = self._limits(host, ended.terms.crawl_delay_s)
                memories[host.id] = slots.end(memory, limits, ended.slot, now, observation=None, chance=self._chance())
                notes.append(slot_terms.note(ended, NoteKind.UNUSED))
            grants_table.end(connection, [(grant_id, "released") for grant_id in mine], now)
            ledger.append_notes(connection, notes)
            self._give_back(connection, client, hosts, memories)
            return Granted(now, (), tuple(answers))

    def _hosts_of(self, connection: Connection, rows: Iterable[GrantRow]) -> dict[UUID, HostRow]:
        ids = sorted({row.host_id for row in rows})
        return {row.id: row for row in reservations.lock(connection, ids, waits=True)}

    def _give_back(
        self, connection: Connection, client: str, hosts: dict[UUID, HostRow], memories: dict[UUID, GateMemory]
    ) -> None:
        """Write what the gates remember; hosts without another open grant are given back."""
        holder = reservations.grant_holder(client)
        returned = [
            Returned(host_id, memory, hosts[host_id].token, memory.next_fetch_at)
            for host_id, memory in memories.items()
        ]
        reservations.release_idle(connection, returned, holder)

    def _in_force(self, connection: Connection) -> Takedowns:
        edition = takedowns_table.edition(connection)  # so that a takedown counts from the next grant
        if edition != self._takedowns_edition:
            self._takedowns = Takedowns.of(row.domain_or_url for row in takedowns_table.entries(connection))
            self._takedowns_edition = edition
        return self._takedowns


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


def _ended(row: GrantRow, host: str) -> EndedSlot:
    slot, terms = slot_terms.from_document(row.document, row.not_before, row.start_by)
    return EndedSlot(row.host_id, host, row.lease_token, row.client, row.url, Purpose.GRANT, slot, terms)


def _reached(report: GrantReport, memory: GateMemory, slot: Slot, now: float) -> float | None:
    """When a request reached its host at the latest, as far as the gate goes by it: the host counts from there."""
    if report.started_at is None:
        return None
    latency_s = report.latency_s if report.latency_s is not None else max(0.0, now - report.started_at)
    return report.started_at + reached_within(latency_s, memory.latency_baseline_s, slot.delay_s)


def _earlier(row: GrantRow) -> ReportResult | None:
    """What became of a grant before; None while it is open."""
    if row.is_open:
        return None
    return {"reported": ReportResult.RECORDED, "released": ReportResult.RELEASED}.get(
        row.outcome or "", ReportResult.EXPIRED
    )


def _block(memory: GateMemory, now: float) -> float | None:
    until = memory.blocked_until
    return until if until is not None and until > now else None
