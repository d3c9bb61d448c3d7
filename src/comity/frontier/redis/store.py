"""The frontier in Redis; the database is the source of truth.

A change is committed to the database first, as rows of the journal, and applied to Redis after. If Redis does not
answer then, the change is committed anyway: the next reader of the host applies it before anything is read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from functools import wraps
from threading import RLock
from types import MappingProxyType
from typing import Concatenate, Final, ParamSpec, TypeVar
from uuid import UUID

from sqlalchemy import Connection

from comity.clock import Clock
from comity.database.connection import Database
from comity.database.frontier import journal as journal_table
from comity.database.frontier.journal import JournalMark
from comity.database.tables import DONE
from comity.frontier.redis.layout import (
    NEW,
    PER_LIST,
    UNKNOWN,
    instant_of,
    lift_batch,
    move_batch,
    pack_keys,
    ranked_batches,
    requeue_batch,
    settlement_batches,
    state_batches,
    stem_of,
    too_deep_batches,
    unpack_element,
    unpack_found,
    unpack_hints,
    unpack_keys,
)
from comity.frontier.redis.link import RedisLink, RedisTerms, info_of
from comity.frontier.redis.replication import LISTED, Replication, is_up_to
from comity.frontier.store import (
    DoneUrl,
    FoundUrl,
    FrontierUnavailable,
    FrontierUnfit,
    HostSettlement,
    PlacedUrl,
    Validators,
)
from comity.model.frontier import FrontierEntry, HostHome, QueuedUrl

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_LOOKED_AT: Final = ("persistence", "memory", "replication", "cluster")
_SAMPLED: Final = 20  # hosts that are looked up, to recognise an empty server
_LOOKED: Final = 1000  # URLs that one script gives
_MOVED: Final = 500  # URLs whose wait is over that one script brings back
_KEY_LISTS: Final = 100  # lists of keys that one script reads
_Announced = tuple[set[int], set[int]]  # keys of links that were looked up before, and those of them that were new
_NOTHING: Final[_Announced] = (set(), set())


def _alone(method: Callable[Concatenate[RedisFrontier, Arguments], Result]) -> Callable[..., Result]:
    """Admit one thread at a time: what is known of marks and of the disk must stay consistent."""

    @wraps(method)
    def alone(self: RedisFrontier, *arguments: Arguments.args, **options: Arguments.kwargs) -> Result:
        with self._lock:
            return method(self, *arguments, **options)

    return alone


class RedisFrontier:
    """A `FrontierStore` in Redis or Valkey; threads that share one wait for each other."""

    has_own_server = True
    is_selective = False
    homes: Mapping[str, HostHome] = MappingProxyType({})
    validators: Validators | None = None

    def __init__(self, database: Database, url: str, clock: Clock, terms: RedisTerms | None = None) -> None:
        self._database = database
        self._link = RedisLink(url, terms)
        self._replication = Replication(database, self._link, clock)
        self._is_checked = False
        self._may_guess = False
        self._lock = RLock()

    def check(self) -> None:
        """Refuse a server that would lose data: one that evicts, or one without a log, unless that is allowed.

        Refuse a replica or a part of a cluster, too: neither accepts all writes.
        """
        persistence, memory, replication, cluster = (
            info_of(each) for each in self._link.commands([("INFO", section) for section in _LOOKED_AT])
        )
        if persistence.get("loading", "0") != "0":  # it calls its log disabled while it reads it
            raise FrontierUnavailable(f"the frontier at {self._link.location} is still loading its data from disk")
        if replication.get("role", "master") != "master":
            raise FrontierUnfit(f"the frontier at {self._link.location} is a replica: name its primary instead")
        if cluster.get("cluster_enabled", "0") != "0":
            said = info_of(self._link.command("CLUSTER", "INFO"))
            if int(said.get("cluster_size", "1")) > 1:
                raise FrontierUnfit(
                    f"the frontier at {self._link.location} is part of a cluster: Comity needs a single server"
                )
        policy = memory.get("maxmemory_policy", "noeviction")
        if memory.get("maxmemory", "0") != "0" and policy not in ("noeviction", "volatile-lru", "volatile-lfu"):
            raise FrontierUnfit(
                f"the frontier at {self._link.location} would lose URLs: its maxmemory-policy is {policy}; "
                "set it to noeviction"
            )
        if self._link.terms.is_durable and persistence.get("aof_enabled", "1") == "0":
            raise FrontierUnfit(
                f"the frontier at {self._link.location} would not survive a restart: set appendonly yes there"
            )
        self._is_checked = True

    def key_of(self, host_id: UUID) -> UUID:
        """The host's own id."""
        return host_id

    def stop_asking(self) -> None:
        """Commit to the journal alone while Redis does not answer; it is brought up to it later."""
        self._may_guess = True

    def checkpoint_id(self, host_id: UUID, host: str, run_id: UUID | None) -> str | None:  # noqa: ARG002  # as in the database
        """The key that every key of the host begins with."""
        return f"redis:{stem_of(host_id)}"

    @_alone
    def prepare_hosts(self, host_ids: Collection[UUID]) -> None:
        """Bring Redis up to the database for hosts that were leased just now, whatever a former holder left."""
        if not self._is_checked:
            self.check()
        marks = self._replication.load(host_ids)
        replies = self._link.commands([("HMGET", stem_of(host_id), "epoch", "applied") for host_id in marks])
        with self._database.read() as connection:
            left = journal_table.hosts_with_batches(connection, len(marks), among=list(marks)) if marks else []
        for (host_id, mark), reply in zip(marks.items(), replies, strict=True):
            if host_id in left or not is_up_to(reply, mark):
                self._replication.catch_up(host_id)

    @_alone
    def is_blank(self) -> bool:
        """Whether Redis has nothing of hosts that it should have: it lost everything, or is the wrong server."""
        with self._database.read() as connection:
            hosts = journal_table.hosts_without_batches(connection, _SAMPLED)
        return bool(hosts) and not any(self._link.commands([("EXISTS", stem_of(host_id)) for host_id in hosts]))

    @contextmanager
    def reading(self) -> Iterator[RedisFrontier]:
        """Several reads; each is a round trip of its own."""
        yield self

    def reads_in(self, connection: Connection) -> RedisFrontier:  # noqa: ARG002  # it is on a server of its own
        """Queries that do not need the database."""
        return self

    @_alone
    def peek(self, host_id: UUID, limit: int, now: datetime) -> list[QueuedUrl]:
        """The next URLs: by priority, depth, age; without postponed ones. They stay queued."""
        found: list[QueuedUrl] = []
        while len(found) < limit:
            some = min(_LOOKED, limit - len(found))
            reply = self._replication.ask(host_id, "look", len(found), some, repr(now.timestamp()), _MOVED)
            if reply is None:
                break
            _epoch, _applied, origin, more, elements, tries = reply
            if more:
                continue
            for number, element in enumerate(elements):
                url, key, depth, priority = unpack_element(element, origin)
                found.append(QueuedUrl(url, key, depth, int(tries[number] or 0) if tries else 0, priority))
            if len(elements) < some:
                break
        return found

    @_alone
    def keys(self, host_id: UUID, limit: int) -> list[int]:
        """The keys of URLs that a host has, at most `limit` of them."""
        found: list[int] = []
        for first in range(0, limit // PER_LIST + 1, _KEY_LISTS):
            reply = self._replication.ask(host_id, "keys", first, _KEY_LISTS)
            if reply is None:
                break
            found += unpack_keys(reply[2])
            if len(reply[2]) < 8 * PER_LIST * _KEY_LISTS:
                break
        return found[:limit]

    def queued_up_to(self, host_id: UUID, most: int) -> int:
        """How many URLs are still to visit, counted no further than `most`."""
        return min(most, self.size(host_id))

    def size(self, host_id: UUID) -> int:
        """How many URLs are still to visit."""
        return self.states(host_id).get(0, 0)

    @_alone
    def queued_of(self, host_ids: Collection[UUID]) -> dict[UUID, int]:
        """How many URLs of each of some hosts are still to visit, of all of them at once."""
        marks = self._replication.marks(host_ids)
        replies = self._link.run_many([("counts", stem_of(host_id), ()) for host_id in marks])
        found = {
            host_id: int(reply[2]) if is_up_to(reply, mark) else self.size(host_id)
            for (host_id, mark), reply in zip(marks.items(), replies, strict=True)
        }
        return {host_id: queued for host_id, queued in found.items() if queued}

    @_alone
    def states(self, host_id: UUID) -> dict[int, int]:
        """How many URLs there are in each state."""
        reply = self._replication.ask(host_id, "counts")
        if reply is None:
            return {}
        return {state: int(count) for state, count in enumerate((*reply[2:5], reply[6])) if int(count)}

    @_alone
    def next_ready_at(self, host_id: UUID) -> datetime | None:
        """When the earliest postponed URL may be tried."""
        reply = self._replication.ask(host_id, "counts")
        return None if reply is None else instant_of(reply[5])

    @_alone
    def too_deep(self, host_ids: Collection[UUID]) -> dict[UUID, tuple[int, int]]:
        """How many URLs of hosts are too deep, and the least depth of them, of all hosts at once."""
        marks = self._replication.marks(host_ids)
        replies = self._link.run_many([("counts", stem_of(host_id), ()) for host_id in marks])
        found: dict[UUID, tuple[int, int]] = {}
        for (host_id, mark), reply in zip(marks.items(), replies, strict=True):
            sure = reply if is_up_to(reply, mark) else self._replication.ask(host_id, "counts")
            if sure is not None and int(sure[6]):
                found[host_id] = int(sure[6]), int(float(sure[7]))
        return found

    @_alone
    def too_deep_keys(self, host_id: UUID, limit: int) -> list[int]:
        """The keys of URLs that are too deep, at most `limit` of them."""
        found: list[int] = []
        while len(found) < limit:
            reply = self._replication.ask(host_id, "too_deep_keys", len(found), LISTED)
            if reply is None or not reply[2]:
                break
            found += unpack_keys(reply[2])
        return found[:limit]

    @_alone
    def any_url(self, host_id: UUID) -> str | None:
        """Some URL of a host: its first."""
        reply = self._replication.ask(host_id, "list", 0, 1, "")
        return None if reply is None or not reply[4] else unpack_element(reply[4][0][1], reply[2])[0]

    @_alone
    def find(self, host_ids: Collection[UUID], key: int) -> FoundUrl | None:
        """What is known of one URL."""
        for host_id in host_ids:
            reply = self._replication.ask(host_id, "find", pack_keys([key]))
            if reply is not None and len(reply) > 3:
                return unpack_found(reply[2], reply[3:])
        return None

    @_alone
    def urls(self, host_id: UUID, state: int, after: int, limit: int) -> list[PlacedUrl]:
        """URLs in one state, a page at a time; a place is one more than the sequence number."""
        found: list[PlacedUrl] = []
        place = after
        while place >= 0 and len(found) < limit:
            reply = self._replication.ask(host_id, "list", place, LISTED, state)
            if reply is None:
                break
            _epoch, _applied, origin, place, rows = reply
            for sequence, element, *_rest in rows:
                url, key, _depth, _priority = unpack_element(element, origin)
                found.append(PlacedUrl(int(sequence) + 1, url, key))
        return found[:limit]

    def done(self, host_id: UUID, after: int | None, limit: int) -> list[DoneUrl]:
        """URLs that are done, a page at a time; a place is one more than the sequence number."""
        found: list[DoneUrl] = []
        place = after or 0
        while place >= 0 and len(found) < limit:
            reply = self._replication.ask(host_id, "list", place, LISTED, DONE)
            if reply is None:
                break
            _epoch, _applied, origin, place, rows = reply
            for sequence, element, _state, _tries, _at, hints in rows:
                _url, key, _depth, priority = unpack_element(element, origin)
                found.append(DoneUrl(int(sequence) + 1, key, priority, unpack_hints(hints)))
        return found[:limit]

    def everything(self, host_id: UUID) -> Iterator[list[FoundUrl]]:
        """All URLs of a host with all that is known of them, oldest first, about a thousand at a time."""
        place = 0
        while place >= 0:
            reply = self._replication.ask(host_id, "list", place, LISTED, "")
            if reply is None:
                return
            _epoch, _applied, origin, place, rows = reply
            yield [unpack_found(origin, fields) for _sequence, *fields in rows]

    @_alone
    def wipe(self, host_id: UUID) -> None:
        """Delete what Redis has of a host that the database does not look for there any more."""
        self._replication.drop(host_id)
        self._replication.wipe(host_id)

    @contextmanager
    def change(self, announced: Mapping[UUID, Sequence[FrontierEntry]] | None = None) -> Iterator[RedisChange]:
        """Begin a transaction of the database; Redis follows after its end."""
        with self._lock, self._changed(announced) as change:
            yield change

    @contextmanager
    def _changed(self, announced: Mapping[UUID, Sequence[FrontierEntry]] | None) -> Iterator[RedisChange]:
        if not self._is_checked:
            self.check()
        confirmed = self._confirmed()
        asked: dict[UUID, _Announced] = {}
        if announced:
            try:
                asked = self._ask_about(announced)
            except FrontierUnavailable:
                if not self._may_guess:
                    raise
        with self._database.write() as connection:
            change = RedisChange(
                connection, self._replication, self._link, asked, self._ask_about, may_guess=self._may_guess
            )
            yield change
            sent = change.write_journal()
            journal_table.remove(connection, confirmed)
        for host_id in change.forgotten | change.moved:
            self._replication.drop(host_id)
        for host_id, (mark, _payloads) in sent.items():
            self._replication.note(host_id, mark)
        # From here on the change stands. If Redis is away, the next question about these hosts tries again.
        with suppress(FrontierUnavailable):
            for host_id in change.forgotten:
                self._replication.wipe(host_id)
            self._replication.follow(sent)

    def _ask_about(self, links: Mapping[UUID, Sequence[FrontierEntry]]) -> dict[UUID, _Announced]:
        """The keys of links and those of them that are new to their hosts, of all hosts at once."""
        keys = {host_id: list({entry.key for entry in entries}) for host_id, entries in links.items() if entries}
        unmet = {host_id: set(each) for host_id, each in keys.items()}
        marks = self._replication.marks(keys)
        calls = [("states_of", stem_of(host_id), [pack_keys(keys[host_id])]) for host_id in marks]
        for (host_id, mark), reply in zip(marks.items(), self._link.run_many(calls), strict=True):
            sure = (
                reply
                if is_up_to(reply, mark)
                else self._replication.ask(host_id, "states_of", pack_keys(keys[host_id]))
            )
            if sure is not None:
                pairs = zip(keys[host_id], sure[2], strict=True)
                unmet[host_id] = {key for key, state in pairs if state in NEW}
        return {host_id: (set(each), unmet[host_id]) for host_id, each in keys.items()}

    def _confirmed(self) -> dict[UUID, int]:
        """Batches that the journal may drop; those that Redis lost again are applied again."""
        confirmed, gone = self._replication.durability.confirmed()
        for host_id in gone:
            self._replication.catch_up(host_id)
        return confirmed

    def take_rebuilt(self) -> set[UUID]:
        """Hosts whose frontier was rebuilt since the last call, by any process."""
        return self._replication.take_rebuilt()

    @_alone
    def recover(self, limit: int = 1000) -> int:
        """Apply what is in the journal, whichever process left it, and delete what is safe."""
        with self._database.read() as connection:
            hosts = journal_table.hosts_with_batches(connection, limit)
        for host_id in hosts:
            self._replication.catch_up(host_id)
        self.tidy()
        return len(hosts)

    @_alone
    def tidy(self) -> bool:
        """Drop journal entries that are safe; returns whether some of this process are still to be confirmed."""
        if confirmed := self._confirmed():
            with self._database.write() as connection:
                journal_table.remove(connection, confirmed)
        return bool(self._replication.durability)

    @_alone
    def close(self) -> None:
        """Drop journal entries that are safe, and close connections."""
        with suppress(FrontierUnavailable):
            self.tidy()
        self._replication.durability.close()
        self._link.close()


class RedisChange:
    """Planned changes to the frontiers of hosts; none of them reaches Redis before the commit.

    Changes are collected in a database transaction and written there as the journal.
    """

    def __init__(
        self,
        connection: Connection,
        replication: Replication,
        link: RedisLink,
        announced: Mapping[UUID, _Announced],
        ask_about: Callable[[Mapping[UUID, Sequence[FrontierEntry]]], dict[UUID, _Announced]],
        *,
        may_guess: bool = False,
    ) -> None:
        self.connection = connection
        self._replication = replication
        self._link = link
        self._announced = dict(announced)
        self._ask_about = ask_about
        self._may_guess = may_guess
        self._met: dict[UUID, set[int]] = {}
        self._payloads: dict[UUID, list[bytes]] = {}
        self.forgotten: set[UUID] = set()
        self.moved: set[UUID] = set()

    def foresee(self, links: Mapping[UUID, Sequence[FrontierEntry]]) -> None:
        """Look up the links of many hosts at once; hosts that this change already touches are looked up later."""
        fresh = [host_id for host_id in links if host_id not in self._payloads and host_id not in self._announced]
        self._announced |= self._ask_about({host_id: links[host_id] for host_id in fresh})

    def add(self, host_id: UUID, run_id: UUID | None, entries: Sequence[FrontierEntry]) -> int:
        """Queue URLs that this host has never had; returns how many were new."""
        return self.settle(host_id, run_id, HostSettlement(links=entries))

    def settle(self, host_id: UUID, run_id: UUID | None, settlement: HostSettlement) -> int:  # noqa: ARG002  # Redis does not keep which run found a URL
        """Store what became of a host's URLs; returns how many of the links were new."""
        met = self._met.setdefault(host_id, set())
        announced, unmet = self._announced.get(host_id, _NOTHING)
        new_keys = {entry.key for entry in settlement.links} - met
        to_ask = list(new_keys - announced)
        new_keys -= announced - unmet
        states = self._states(host_id, to_ask) if to_ask else None
        if states is not None:  # else all of them are sent: a script adds nothing twice
            new_keys.difference_update(key for key, state in zip(to_ask, states, strict=True) if state not in NEW)
        new: list[FrontierEntry] = []
        for entry in settlement.links:
            if entry.key in new_keys and entry.key not in met:
                met.add(entry.key)
                new.append(entry)
        hints = [(entry.key, entry.hints) for entry in settlement.links if entry.hints is not None]
        self._put(host_id, settlement_batches(replace(settlement, links=new, hints=[*hints, *settlement.hints])))
        if settlement.too_deep:
            self._put(host_id, too_deep_batches(settlement.too_deep))
        return len(new)

    def _states(self, host_id: UUID, keys: Sequence[int]) -> bytes | None:
        """The states of URLs as Redis has them, a digit each; None if it cannot say without a rebuild."""
        mark = self._replication.mark(host_id) if host_id not in self.forgotten else None
        if mark is None:
            return UNKNOWN * len(keys)
        try:
            for _ in range(2):
                reply = self._link.run("states_of", stem_of(host_id), pack_keys(keys))
                if is_up_to(reply, mark):
                    return bytes(reply[2])
                if not self._replication.catch_up(host_id, may_rebuild=False):
                    break
        except FrontierUnavailable:
            if not self._may_guess:
                raise
        return None

    def lift(self, host_id: UUID, max_depth: int) -> int:
        """Queue URLs that were too deep, down to a depth; returns how many, as far as Redis can say."""
        if self._replication.mark(host_id) is None or not self._replication.catch_up(host_id, may_rebuild=False):
            return 0
        before = int(self._link.run("counts", stem_of(host_id), max_depth)[8])
        self._put(host_id, [lift_batch(max_depth)])
        return before

    def requeue_all(self, host_id: UUID) -> int:
        """Queue every URL again that is done, without waits and tries; returns how many."""
        self._put(host_id, [requeue_batch()])
        if self._replication.mark(host_id) is None or not self._replication.catch_up(host_id, may_rebuild=False):
            return 0
        return int(self._link.run("counts", stem_of(host_id))[2 + DONE])

    def requeue_known(self, host_id: UUID, ranked: Collection[tuple[int, int]]) -> int:
        """Queue URLs that are done again, each with a new priority; returns how many were done."""
        priorities = dict(ranked)
        states = self._states(host_id, list(priorities))
        self._put(host_id, ranked_batches(list(priorities.items())))
        return len(priorities) if states is None else states.count(str(DONE).encode())

    def change_state(self, host_id: UUID, keys: Collection[int], before: int, after: int) -> int:
        """Take URLs out of the queue or put them back; only those in the state `before`."""
        listed = list(dict.fromkeys(keys))
        states = self._states(host_id, listed)
        self._put(host_id, state_batches(listed, before, after))
        return len(listed) if states is None else states.count(str(before).encode())

    def move(self, from_host: UUID, to_host: UUID) -> None:
        """Give one host's URLs to another; those it already has are dropped."""
        if self._replication.mark(from_host) is None:
            return
        if from_host in self._payloads or not self._replication.catch_up(from_host, may_rebuild=False):
            raise FrontierUnavailable(f"host {from_host} cannot be moved now: it has changes in progress")
        self.moved.add(from_host)
        self._put(to_host, [move_batch(from_host)])
        journal_table.forget(self.connection, from_host)

    def forget(self, host_id: UUID) -> None:
        """Forget every URL of a host."""
        journal_table.forget(self.connection, host_id)
        self._payloads.pop(host_id, None)
        self._announced.pop(host_id, None)
        self._met.pop(host_id, None)
        self.forgotten.add(host_id)

    def _put(self, host_id: UUID, payloads: Iterable[bytes]) -> None:
        self._payloads.setdefault(host_id, []).extend(payloads)

    def write_journal(self) -> dict[UUID, tuple[JournalMark, Sequence[bytes]]]:
        """Number the batches and store them, as the last step of the transaction; returns them by host."""
        payloads = {host_id: each for host_id, each in self._payloads.items() if each}
        counts = {host_id: len(each) for host_id, each in payloads.items()}
        marks = journal_table.number(self.connection, counts, self._replication.new_epoch())
        journal_table.put(
            self.connection,
            (
                (host_id, number, payload)
                for host_id, each in payloads.items()
                for number, payload in enumerate(each, marks[host_id].batch - len(each) + 1)
            ),
        )
        return {host_id: (marks[host_id], each) for host_id, each in payloads.items()}
