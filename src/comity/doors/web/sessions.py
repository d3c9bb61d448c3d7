"""Logins: sessions kept in this process, and how often somebody may try a password.

Only the hash of a session's name is kept, so that nobody who reads this memory's dump can use it.
"""

from __future__ import annotations

import hmac
import secrets
from collections import OrderedDict, deque
from dataclasses import dataclass
from hashlib import sha256
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Final

MOST_SESSIONS: Final = 1000
MOST_FAILURES: Final = 5
FAILURES_WITHIN_S: Final = 900.0
_MOST_ADDRESSES: Final = 10_000


@dataclass(frozen=True, slots=True)
class Session:
    """Somebody who logged in."""

    csrf_token: str
    expires_at: float  # UNIX time


class Sessions:
    """Who is logged in, by a name that only their browser knows."""

    def __init__(self, lasts_s: float) -> None:
        self.lasts_s = lasts_s
        self._known: OrderedDict[bytes, Session] = OrderedDict()  # the oldest first

    def begin(self, now: float) -> tuple[str, Session]:
        """Log somebody in; gives the name for their cookie."""
        self._forget_old(now)
        while len(self._known) >= MOST_SESSIONS:
            self._known.popitem(last=False)
        name = secrets.token_urlsafe(32)
        session = Session(secrets.token_urlsafe(32), now + self.lasts_s)
        self._known[_digest(name)] = session
        return name, session

    def get(self, name: str, now: float) -> Session | None:
        """Whose name this is."""
        session = self._known.get(_digest(name))
        return session if session is not None and session.expires_at > now else None

    def end(self, name: str) -> None:
        """Log somebody out."""
        self._known.pop(_digest(name), None)

    def _forget_old(self, now: float) -> None:
        while self._known and next(iter(self._known.values())).expires_at <= now:
            self._known.popitem(last=False)


class LoginThrottle:
    """Counts failures by address; the memory is bounded, and so is the number of addresses."""

    def __init__(self) -> None:
        self._failures: OrderedDict[str, deque[float]] = OrderedDict()

    def wait_s(self, client: str, now: float) -> float:
        """Seconds until an address may try again; 0 means now."""
        times = self._failures.get(_network(client))
        while times and times[0] <= now - FAILURES_WITHIN_S:
            times.popleft()
        return times[0] + FAILURES_WITHIN_S - now if times and len(times) >= MOST_FAILURES else 0.0

    def note_failure(self, client: str, now: float) -> None:
        """Remember a wrong password; written down before it is checked, so that nobody tries many at once."""
        key = _network(client)
        self._failures.setdefault(key, deque(maxlen=MOST_FAILURES)).append(now)
        self._failures.move_to_end(key)
        while len(self._failures) > _MOST_ADDRESSES:
            self._failures.popitem(last=False)

    def forgive(self, client: str) -> None:
        """Forget the failures of somebody who knew the password in the end."""
        self._failures.pop(_network(client), None)


def is_token(token: str, hashes: tuple[str, ...]) -> bool:
    """Whether a token is one of those whose hashes are known; takes the same time for any."""
    given = sha256(token.encode("utf-8", "replace")).hexdigest()
    return sum(hmac.compare_digest(given, known) for known in hashes) > 0


def new_token() -> tuple[str, str]:
    """A new token, and the hash of it that is configured."""
    token = secrets.token_urlsafe(32)
    return token, sha256(token.encode()).hexdigest()


def _digest(name: str) -> bytes:
    return sha256(name.encode("utf-8", "replace")).digest()


def _network(client: str) -> str:
    """Whom a failure counts against: an IPv4 address, or the network that one IPv6 customer has."""
    try:
        address = ip_address(client.partition("%")[0])
    except ValueError:
        return client
    if isinstance(address, IPv6Address):
        return str(address.ipv4_mapped or ip_network((address, 64), strict=False))
    return str(address)
