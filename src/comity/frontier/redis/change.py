"""Changes to frontiers in Redis, collected in a database transaction and written there as the journal."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final
from uuid import UUID

from sqlalchemy import Connection

from comity.database.frontier import journal as journal_table
from comity.database.frontier.journal import Mark
from comity.database.tables import DONE
from comity.frontier.redis.batches import (
    lift_batch,
    move_batch,
    ranked_batches,
    requeue_batch,
    settlement_batches,
    state_batches,
    too_deep_batches,
)
from comity.frontier.redis.layout import NEW, UNKNOWN, pack_keys, stem_of
from comity.frontier.redis.link import RedisLink
from comity.frontier.redis.replication import Replication, is_up_to
from comity.frontier.store import FrontierUnavailable, HostSettlement
from comity.model.frontier import FrontierEntry

Announced = tuple[set[int], set[int]]  # keys of links that were asked about before, and those of them that were new
_NOTHING: Final[Announced] = (set(), set())


class RedisChange:
    """What is to happen to the frontiers of hosts; nothing of it reaches Redis before the commit."""

    def __init__(
        self,
        connection: Connection,
        replication: Replication,
        link: RedisLink,
        announced: Mapping[UUID, Announced],
        ask_about: Callable[[Mapping[UUID, Sequence[FrontierEntry]]], dict[UUID, Announced]],
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
        """Ask about the links of many hosts at once; those that had a part in this change are asked about later."""
        fresh = [host_id for host_id in links if host_id not in self._payloads and host_id not in self._announced]
        self._announced |= self._ask_about({host_id: links[host_id] for host_id in fresh})

    def add(self, host_id: UUID, run_id: UUID | None, entries: Sequence[FrontierEntry]) -> int:
        """Queue URLs that this host has never had; gives how many were new."""
        return self.settle(host_id, run_id, HostSettlement(links=entries))

    def settle(self, host_id: UUID, run_id: UUID | None, settlement: HostSettlement) -> int:  # noqa: ARG002  # Redis does not keep which run found a URL
        """Enter what became of a host's URLs; gives how many of the links were new."""
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
        """Queue URLs that were too deep, down to a depth; gives how many, as far as Redis can say."""
        if self._replication.mark(host_id) is None or not self._replication.catch_up(host_id, may_rebuild=False):
            return 0
        before = int(self._link.run("counts", stem_of(host_id), max_depth)[8])
        self._put(host_id, [lift_batch(max_depth)])
        return before

    def requeue_all(self, host_id: UUID) -> int:
        """Queue everything again that was done, and forget waits and tries; gives how much of it was done."""
        self._put(host_id, [requeue_batch()])
        if self._replication.mark(host_id) is None or not self._replication.catch_up(host_id, may_rebuild=False):
            return 0
        return int(self._link.run("counts", stem_of(host_id))[2 + DONE])

    def requeue_known(self, host_id: UUID, ranked: Collection[tuple[int, int]]) -> int:
        """Queue URLs that are done again, each with a new priority; gives how many were done."""
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
        """Give one host's URLs to another; those it has fall away."""
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

    def write_journal(self) -> dict[UUID, tuple[Mark, Sequence[bytes]]]:
        """Number the batches and keep them, as the last thing that the transaction does; gives them by host."""
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
