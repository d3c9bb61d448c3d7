"""What the answer to a robots.txt request means for its origin (RFC 9309 §2.3.1).

The last status of the redirect chain, or the name of a failure, enters; a reading to be cached leaves.

| answer | access | why |
|---|---|---|
| 2xx | parse | §2.3.1.1 |
| 304 to a conditional request | unchanged | the copy in the cache was confirmed |
| a redirect, up to 5 in a row | the caller follows it, to any host | §2.3.1.2 |
| a redirect after 5 | allow | §2.3.1.2: may be taken as unavailable |
| a redirect without an address, or to no web address | allow | no crawler can read a file there: unavailable |
| a redirect to an address that we do not ask (private, taken down) | as 5xx | there may be rules that we did not read |
| 429 | as 5xx | the host asks for fewer requests; taking that as leave to crawl would answer it with more |
| other 4xx, also 401 and 403 | allow | §2.3.1.3: unavailable |
| 5xx, other statuses, no answer | disallow, or allow by setting | §2.3.1.4: unreachable |
"""

from collections.abc import Iterable
from dataclasses import replace
from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import Final
from urllib.parse import urlsplit

from comity.model.fetch import FailureKind
from comity.model.robots import Confidence, RobotsAccess, RobotsReading, RobotsUnreachable

MAX_ROBOTS_REDIRECTS: Final = 5
REDIRECT_STATUSES: Final = frozenset({301, 302, 303, 307, 308})

Network = IPv4Network | IPv6Network
IGNORED: Final = RobotsReading(
    RobotsAccess.ALLOW_ALL, Confidence.HIGH, "robots.txt was not read, as requested for a private network"
)

_TOO_MANY_REQUESTS: Final = 429
_NOT_MODIFIED: Final = 304


def is_in_networks(origin: str, networks: Iterable[Network]) -> bool:
    """Whether an origin is an address in one of some networks. A name may lead anywhere, except `localhost`."""
    host = urlsplit(origin).hostname or ""
    try:
        address = ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError:
        return False
    return any(address in network for network in networks)


def may_follow_redirect(http_status: int, redirects_followed: int) -> bool:
    """Whether a robots.txt answer is a redirect that is still to be followed."""
    return http_status in REDIRECT_STATUSES and redirects_followed < MAX_ROBOTS_REDIRECTS


def read_status(
    http_status: int,
    *,
    redirects_followed: int = 0,
    location: str | None = None,
    conditional: bool = False,
    unreachable: RobotsUnreachable = RobotsUnreachable.DISALLOW,
) -> RobotsReading:
    """Read the status that ended a robots.txt fetch, which was ``conditional`` if there was a cached copy.

    ``location`` is where a redirect pointed that could not be followed.
    """
    answered = f"robots.txt answered {http_status}"
    if 200 <= http_status < 300:
        return RobotsReading(RobotsAccess.PARSE, Confidence.HIGH, f"{answered}: its rules apply", http_status)
    if http_status == _NOT_MODIFIED and conditional:
        reason = f"{answered}: the rules read earlier still apply"
        return RobotsReading(RobotsAccess.UNCHANGED, Confidence.HIGH, reason, http_status)
    if 300 <= http_status < 400:
        if redirects_followed >= MAX_ROBOTS_REDIRECTS:
            answered = f"robots.txt was redirected more than {MAX_ROBOTS_REDIRECTS} times"
        elif http_status in REDIRECT_STATUSES:
            answered += (
                f" to {location[:200]!r}, which is not an http or https URL" if location else " without an address"
            )
        reason = f"{answered}: treated as unavailable, everything allowed"
        return RobotsReading(RobotsAccess.ALLOW_ALL, Confidence.LOW, reason, http_status)
    if 400 <= http_status < 500 and http_status != _TOO_MANY_REQUESTS:
        reason = f"{answered}: unavailable, everything allowed"
        return RobotsReading(RobotsAccess.ALLOW_ALL, Confidence.HIGH, reason, http_status)
    return _unreachable(answered, http_status, unreachable)


def read_failure(
    what: str,
    kind: FailureKind | None = None,
    *,
    lacks_tls: bool = False,
    unreachable: RobotsUnreachable = RobotsUnreachable.DISALLOW,
) -> RobotsReading:
    """Read a robots.txt fetch that got no usable answer: no address, no connection, no time, a broken body."""
    reading = _unreachable(f"robots.txt could not be fetched ({what})", None, unreachable)
    return replace(reading, failure=kind, lacks_tls=lacks_tls)


def _unreachable(what: str, http_status: int | None, unreachable: RobotsUnreachable) -> RobotsReading:
    """Apply the operator's choice; allowing what could not be read is never more than a guess."""
    if unreachable is RobotsUnreachable.ALLOW:
        reason = f"{what}: everything allowed by setting until it is read again"
        return RobotsReading(RobotsAccess.ALLOW_ALL, Confidence.LOW, reason, http_status)
    reason = f"{what}: everything disallowed until it is read again"
    return RobotsReading(RobotsAccess.DISALLOW_ALL, Confidence.HIGH, reason, http_status)
