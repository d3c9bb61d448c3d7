"""Admission: may this URL be queued, or fetched? One ladder of questions, the same for every URL, cheapest first.

    scope      is it on the host that is crawled?
    memory     was it seen before?
    patterns   do the patterns of the run, or of its host's policy, leave it out?
    takedown   is it, or its whole host, taken down?
    address    did its origin turn out to be one that is never asked?
    robots     does robots.txt of its origin allow it?
    trap       does it look like one of endlessly many?

Whether a text is a web address is decided before: `rules.canonical` returns a `WebAddress` or nothing. Depth and
budgets are not questions about one URL: they apply to all links of a page, or to all visits of a host
(`walk.visit.page`, `rules.budget`).

Different stages of a URL ask different questions; the builders below say which. `admit` is called for every link of
every page, so it creates an object only to carry evidence or a robots.txt verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final, NamedTuple, Protocol

from comity.model.fetch import FetchFailure
from comity.model.named_tuple import fast_new
from comity.model.robots import RobotsVerdict
from comity.model.traps import TrapRefusal
from comity.rules.canonical import WebAddress
from comity.rules.takedown import Takedowns
from comity.rules.url_patterns import LeftOut


class DenialCode(StrEnum):
    """The question that a URL did not pass."""

    OTHER_HOST = "other_host"
    KNOWN = "known"
    LEFT_OUT = "left_out"
    TAKEN_DOWN = "taken_down"
    ADDRESS_REFUSED = "address_refused"
    ROBOTS_UNKNOWN = "robots_unknown"
    """robots.txt of its origin must be read first."""
    ROBOTS_UNREACHABLE = "robots_unreachable"
    """robots.txt could not be read, so everything is disallowed until it can (RFC 9309 §2.3.1.4)."""
    ROBOTS = "robots"
    TRAP = "trap"


@fast_new
class Admitted(NamedTuple):
    """A URL that passed every question of its stage, with the verdict of robots.txt if it is about to be fetched."""

    verdict: RobotsVerdict | None


@fast_new
class Denied(NamedTuple):
    """A URL that did not, with what its evidence is made from.

    That is the pattern, the takedown's entry, the failed first contact, the verdict of robots.txt or the refusal of the
    trap watch.
    """

    code: DenialCode
    evidence: str | FetchFailure | LeftOut | RobotsVerdict | TrapRefusal | None = None


ADMITTED: Final = Admitted(None)
OTHER_HOST: Final = Denied(DenialCode.OTHER_HOST)
KNOWN: Final = Denied(DenialCode.KNOWN)
ROBOTS_UNKNOWN: Final = Denied(DenialCode.ROBOTS_UNKNOWN)


class RobotsRules(Protocol):
    """The robots.txt of one origin, as it is in force."""

    @property
    def is_unreachable(self) -> bool:
        """Whether everything is disallowed only because the file could not be read."""
        ...

    def verdict(self, path: str) -> RobotsVerdict:
        """Decide for a path with its query."""
        ...


RobotsOf = Callable[[str], RobotsRules | None]
"""Gives the robots.txt of an origin, if it is known."""
IsKnown = Callable[[int], bool]
"""Whether the URL with this key was seen before; may note that it has been now."""
TrapCheck = Callable[[str, int], TrapRefusal | None]
"""Judges a path with its query, at a depth."""
PatternCheck = Callable[[WebAddress], LeftOut | None]
"""Whether patterns leave a URL out; a method of `UrlRules`."""


@fast_new
class Terms(NamedTuple):
    """The questions of one stage, and the rules in force there; a question that is None or empty is skipped."""

    host: str | None = None
    is_known: IsKnown | None = None
    covering: Callable[[WebAddress], str | None] | None = None
    refused: Mapping[str, FetchFailure] | None = None
    robots: RobotsOf | None = None
    is_fetch: bool = False
    """Whether it is about to be fetched: then robots.txt must be known and readable."""
    trap: TrapCheck | None = None
    depth: int = 0
    patterns: PatternCheck | None = None


def admit(address: WebAddress, terms: Terms) -> Admitted | Denied:
    """Ask every question of a stage about a URL; the first one that it fails decides."""
    if terms.host is not None and address.host != terms.host:
        return OTHER_HOST
    if terms.is_known is not None and terms.is_known(address.key):
        return KNOWN
    if terms.patterns is not None and (left_out := terms.patterns(address)) is not None:
        return Denied(DenialCode.LEFT_OUT, left_out)
    if terms.covering is not None and (entry := terms.covering(address)) is not None:
        return Denied(DenialCode.TAKEN_DOWN, entry)
    if terms.refused and (failure := terms.refused.get(address.origin)) is not None:
        return Denied(DenialCode.ADDRESS_REFUSED, failure)
    verdict = None
    if terms.robots is not None:
        robots = terms.robots(address.origin)
        if robots is None:
            if terms.is_fetch:
                return ROBOTS_UNKNOWN
        elif terms.is_fetch or not robots.is_unreachable:
            verdict = robots.verdict(address.path)
            if not verdict.allowed:
                code = DenialCode.ROBOTS_UNREACHABLE if robots.is_unreachable else DenialCode.ROBOTS
                return Denied(code, verdict)
    if terms.trap is not None and (trap := terms.trap(address.path, terms.depth)) is not None:
        return Denied(DenialCode.TRAP, trap)
    return Admitted(verdict) if terms.is_fetch else ADMITTED


def of_link(
    host: str,
    is_known: IsKnown,
    takedowns: Takedowns,
    robots: RobotsOf,
    trap: TrapCheck | None,
    depth: int,
    patterns: PatternCheck | None = None,
) -> Terms:
    """A link on a page, or an entry of a sitemap: queued once, on the host that is being crawled.

    While robots.txt is unknown or unreadable, nothing is forbidden for good: it is checked again before the fetch.
    """
    return Terms(host, is_known, _covering(takedowns), None, robots, False, trap, depth, patterns)


def of_site_link(is_known: IsKnown, takedowns: Takedowns, depth: int, patterns: PatternCheck | None) -> Terms:
    """A link to another host of the same site: the holder of that host checks its robots.txt before the fetch."""
    return Terms(None, is_known, _covering(takedowns), depth=depth, patterns=patterns)


def of_image(host: str, takedowns: Takedowns, robots: RobotsOf, patterns: PatternCheck | None = None) -> Terms:
    """An image on a page: like a link, but every page that shows it counts, and no trap is expected."""
    return Terms(host, None, _covering(takedowns), None, robots, patterns=patterns)


def of_withheld_link(host: str, is_known: IsKnown) -> Terms:
    """A link that is not followed in any case: asks only whether it would have been on this host."""
    return Terms(host, is_known)


def of_fetch(
    takedowns: Takedowns,
    refused: Mapping[str, FetchFailure],
    robots: RobotsOf,
    trap: TrapCheck | None,
    depth: int,
    patterns: PatternCheck | None = None,
) -> Terms:
    """A queued URL that is about to be fetched: more is known than when it was queued."""
    return Terms(None, None, _covering(takedowns), refused, robots, True, trap, depth, patterns)


def of_redirect(
    takedowns: Takedowns,
    refused: Mapping[str, FetchFailure] | None,
    robots: RobotsOf,
    patterns: PatternCheck | None = None,
) -> Terms:
    """The target of a redirect, or any other URL that is fetched without having been queued; on any host."""
    return Terms(None, None, _covering(takedowns), refused, robots, True, patterns=patterns)


def _covering(takedowns: Takedowns) -> Callable[[WebAddress], str | None] | None:
    return takedowns.covering if takedowns.hosts or takedowns.paths else None
