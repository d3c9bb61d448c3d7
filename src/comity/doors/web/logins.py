"""Logins: the limit on wrong passwords and keys, and admin tokens.

Each process counts what it sees itself; wrong passwords are counted for all processes of a state by the record of what
was done, which has every attempt.
"""

from __future__ import annotations

import hmac
import secrets
from collections import OrderedDict, deque
from collections.abc import Sequence
from hashlib import sha256
from ipaddress import IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from comity.operate.console import LoginAttempt

MAX_FAILURES: Final = 5
FAILURE_WINDOW_S: Final = 900.0
_MAX_ADDRESSES: Final = 10_000


class LoginThrottle:
    """Counts wrong passwords or keys by address, for a bounded number of addresses."""

    def __init__(self, max_failures: int = MAX_FAILURES, window_s: float = FAILURE_WINDOW_S) -> None:
        self._max_failures = max_failures
        self._window_s = window_s
        self._failures: OrderedDict[str, deque[float]] = OrderedDict()

    def wait_s(self, client: str, now: float) -> float:
        """Seconds until this address may try again; 0 means now."""
        times = self._failures.get(_network(client))
        while times and times[0] <= now - self._window_s:
            times.popleft()
        return times[0] + self._window_s - now if times and len(times) >= self._max_failures else 0.0

    def note_failure(self, client: str, now: float) -> None:
        """Count a failure. Call it before checking a password, so that parallel attempts count too."""
        key = _network(client)
        self._failures.setdefault(key, deque(maxlen=self._max_failures)).append(now)
        self._failures.move_to_end(key)
        while len(self._failures) > _MAX_ADDRESSES:
            self._failures.popitem(last=False)

    def forgive(self, client: str) -> None:
        """Forget the failures of an address after a correct password."""
        self._failures.pop(_network(client), None)


def wait_after(attempts: Sequence[LoginAttempt], client: str) -> float:
    """Seconds until an address may try again, by the attempts that every process of the state recorded."""
    network, ages = _network(client), list[float]()
    for attempt in attempts:  # the newest first
        if _network(attempt.address) != network:
            continue
        if attempt.is_correct or len(ages) == MAX_FAILURES:
            break
        ages.append(attempt.age_s)
    return max(0.0, FAILURE_WINDOW_S - ages[-1]) if len(ages) == MAX_FAILURES else 0.0


def is_token(token: str, hashes: tuple[str, ...]) -> bool:
    """Whether one of the hashes belongs to this token; takes the same time for any token."""
    found = sha256(token.encode("utf-8", "replace")).hexdigest()
    return sum(hmac.compare_digest(found, known) for known in hashes) > 0


def new_token() -> tuple[str, str]:
    """Make a token; returns it with the hash to configure."""
    token = secrets.token_urlsafe(32)
    return token, sha256(token.encode()).hexdigest()


def _network(client: str) -> str:
    """The unit of counting: an IPv4 address, or the /64 network that one IPv6 customer has."""
    try:
        address = ip_address(client.partition("%")[0])
    except ValueError:
        return client
    if isinstance(address, IPv6Address):
        return str(address.ipv4_mapped or ip_network((address, 64), strict=False))
    return str(address)
