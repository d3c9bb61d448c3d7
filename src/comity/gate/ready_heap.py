"""Hosts ordered by the time of their next allowed request.

The walk keeps one of these instead of a sleeping task per URL: hosts go in with a time, hosts that are due come out.
"""

from __future__ import annotations

from collections.abc import Hashable
from heapq import heapify, heappop, heappush
from math import inf
from typing import Generic, TypeVar

Host = TypeVar("Host", bound=Hashable)


class ReadyHeap(Generic[Host]):
    """A heap of hosts, each in it once; equal times come out in the order in which they went in."""

    def __init__(self, capacity: int = 1_000_000) -> None:
        self._capacity = capacity
        self._heap: list[tuple[float, int, Host]] = []
        self._place: dict[Host, tuple[float, int]] = {}
        self._pushes = 0

    def __len__(self) -> int:
        return len(self._place)

    def __contains__(self, host: Host) -> bool:
        return host in self._place

    def push(self, host: Host, at: float) -> bool:
        """Set when the host comes due, in place of any earlier word; infinite parks it. False when full."""
        if at != at:
            raise ValueError("a host cannot come due at no time at all")
        if host not in self._place and len(self._place) >= self._capacity:
            return False
        self._pushes += 1
        self._place[host] = (at, self._pushes)
        if at < inf:
            heappush(self._heap, (at, self._pushes, host))
            self._shed()
        return True

    def remove(self, host: Host) -> bool:
        """Forget the host; False if it was not there."""
        if self._place.pop(host, None) is None:
            return False
        self._shed()
        return True

    def pop_due(self, now: float, limit: int = 1_000) -> list[Host]:
        """Take out at most `limit` hosts whose time has come, the longest due first."""
        due: list[Host] = []
        heap, place = self._heap, self._place
        while heap and heap[0][0] <= now and len(due) < limit:
            _, push, host = heappop(heap)
            current = place.get(host)
            if current is not None and current[1] == push:
                del place[host]
                due.append(host)
        return due

    def next_at(self) -> float:
        """When the next host comes due; infinite if none will by itself."""
        heap, place = self._heap, self._place
        while heap:
            at, push, host = heap[0]
            current = place.get(host)
            if current is not None and current[1] == push:
                return at
            heappop(heap)
        return inf

    def _shed(self) -> None:
        """Keep entries that were overtaken by a later word from piling up."""
        if len(self._heap) > 2 * len(self._place) + 64:
            self._heap = [(at, push, host) for host, (at, push) in self._place.items() if at < inf]
            heapify(self._heap)
