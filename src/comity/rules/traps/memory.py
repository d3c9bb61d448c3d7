"""Memory with a bound: the most recent keys stay, the oldest fall out together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

Value = TypeVar("Value")


class RecentMap(Generic[Value]):
    """Remembers at least the last `most` keys, at most twice as many, and what was noted with them."""

    __slots__ = ("_most", "_new", "_old")

    def __init__(self, most: int) -> None:
        self._most = most
        self._new: dict[int, Value] = {}
        self._old: dict[int, Value] = {}

    def get(self, key: int) -> Value | None:
        """What was noted with a key; None if it is not remembered."""
        value = self._new.get(key)
        return value if value is not None else self._old.get(key)

    def put(self, key: int, value: Value) -> None:
        """Note something with a key."""
        new = self._new
        new[key] = value
        if len(new) > self._most:
            self._old, self._new = new, {}

    def items(self) -> Iterator[tuple[int, Value]]:
        """Everything that is remembered, the oldest first."""
        yield from self._old.items()
        yield from self._new.items()

    def __len__(self) -> int:
        return len(self._new) + len(self._old)


class RecentSet:
    """Remembers at least the last `most` keys, at most twice as many."""

    __slots__ = ("_most", "_new", "_old")

    def __init__(self, most: int) -> None:
        self._most = most
        self._new: set[int] = set()
        self._old: set[int] = set()

    def __contains__(self, key: int) -> bool:
        return key in self._new or key in self._old

    def add(self, key: int) -> None:
        """Remember a key."""
        new = self._new
        new.add(key)
        if len(new) > self._most:
            self._old, self._new = new, set()

    def __len__(self) -> int:
        return len(self._new) + len(self._old)
