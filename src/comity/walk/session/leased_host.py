"""One host while we hold its lease: its gate, its limits, its URLs at hand, how it fares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from comity.frontier.at_hand import KEYS_MOST, HostWork
from comity.gate.host_gate import HostGate
from comity.model.budget import Exhausted
from comity.model.discovery import FoundBy, Unqueued, UnqueuedCode
from comity.model.evidence import Evidence
from comity.model.fetch import FetchFailure, FetchLimits
from comity.model.frontier import FrontierEntry
from comity.model.gate import DoorProfile, GateLimits
from comity.model.lease import Lease
from comity.model.ledger import LedgerRow
from comity.model.policy import HostPolicy
from comity.model.sitemap import PageHints, SitemapRow
from comity.rules.policy_reach import page_bytes_for_any_door
from comity.rules.politeness import limits_for
from comity.rules.traps import TrapWatch
from comity.walk.robots_in_force import RobotsInForce

UNQUEUED_MOST: Final = 10_000  # URLs that are noted as seen and not queued, of one host in one run
MAX_HOST_WAIT_S: Final = 60.0  # a host that cannot be asked anything for longer than this is given back meanwhile


@dataclass(slots=True)
class Tally:
    """What a run has seen of a host so far."""

    begun: int = 0  # visits of pages in this run, also those before the host was taken again
    pages: int = 0
    earlier_pages: int = 0  # of this run, before the host was taken again
    errors: int = 0
    refused_by_robots: int = 0
    refused_as_trap: int = 0
    login_walls: int = 0
    login_pages: int = 0
    robots_unread: int = 0  # URLs put off because robots.txt of their origin cannot be read
    busy_elsewhere: int = 0  # redirects to hosts that somebody else holds
    errors_in_a_row: int = 0
    moved_to: str | None = None  # where a seed led, if that is another host
    last_error: tuple[str, int | None, str] | None = None  # code, status, sentence

    @property
    def pages_in_run(self) -> int:
        """What the host's budget counts."""
        return self.pages + self.earlier_pages


@dataclass(slots=True)
class Unsettled:
    """What a host has to say besides the outcomes of visits."""

    requests: list[LedgerRow] = field(default_factory=list)
    links: list[FrontierEntry] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    sitemaps: list[SitemapRow] = field(default_factory=list)
    hints: list[tuple[int, PageHints]] = field(default_factory=list)  # of URLs that are known, by their keys
    unqueued: list[Unqueued] = field(default_factory=list)  # URLs that were seen and not queued
    unrecorded: int = 0  # and how many more of them there were than are noted

    def __bool__(self) -> bool:
        heard = self.requests or self.links or self.evidence or self.sitemaps or self.hints
        return bool(heard or self.unqueued or self.unrecorded)


class LeasedHost:
    """What the walk keeps in memory for one lease; it dies with the lease."""

    def __init__(
        self,
        lease: Lease,
        profile: DoorProfile,
        policy: HostPolicy | None,
        *,
        clock: Callable[[], float],
        chance: Callable[[], float],
    ) -> None:
        self.lease = lease
        self.profile = profile
        self.policy = policy
        self.crawl_delay_s: float | None = None
        self.robots: dict[str, RobotsInForce] = {}
        self.refused: dict[str, FetchFailure] = {}  # origins that we will not ask, and why
        self.guessed: set[str] = set()  # https origins that were not named as such
        self.without_tls: set[str] = set()  # https origins in whose place http is visited
        self.gate = HostGate(
            self._limits(), lease.memory, clock=clock, chance=chance, lease_ends_at=lease.expires_at.timestamp()
        )
        self.work = HostWork((), knows_all=True, is_whole=True)
        self.met: dict[str, set[str]] = {}  # links as written, by the origin of the page
        self.met_too_deep: dict[str, set[str]] = {}  # the same for those that lie deeper than is followed
        self.has_too_deep = False  # whether such links are kept
        self.links_remembered = KEYS_MOST
        self.passed: dict[str, set[str]] = {}  # links as written that were seen and not queued, likewise
        self.unqueued: set[int] = set()  # keys of URLs that are noted as such
        self.traps: TrapWatch | None = None
        self.unread = 0  # pages that wait to be read apart
        self.hard_pages = 0  # pages that could not be read, or held everybody up
        self.tally = Tally()
        self.unsettled = Unsettled()
        self._requests_made = (lease.token, 0)
        self.sitemaps: list[SitemapRow] | None = None  # what is known of them, while they are still to be read
        self.is_given_directly = False  # a page of it was given by its URL, and is still to be visited
        self.is_reading_sitemaps = False
        self.has_sitemaps_again = False  # what was read of them meanwhile is lost
        self.home: str | None = None  # an origin of the host, whose robots.txt names its sitemaps
        self.refresh_began_at: float | None = None  # while its known pages are asked for again
        self.may_know_pages = False  # whether pages of it came before
        self.spent_budget: Exhausted | None = None
        self.has_page = False  # whether a page of the budgets was taken for its next visit
        self.pages_under_way = 0
        self.visits_under_way = 0
        self.is_lost = False
        self.is_stopped = False
        self.is_closed = False
        self.came_again = False  # its URLs are queued again since it was closed: its frontier was lost just then
        self.is_warned = False
        self.waits_until: float | None = None  # what the host asked for, where that is more than our patience

    @property
    def name(self) -> str:
        """The host's canonical authority."""
        return self.lease.host

    def next_request_number(self) -> int:
        """Count the requests under the present lease, from 1; the ledger shows that none of them is missing."""
        token, number = self._requests_made
        number = number + 1 if token == self.lease.token else 1
        self._requests_made = (self.lease.token, number)
        return number

    def note_unqueued(self, url: str, key: int, code: UnqueuedCode, found_by: FoundBy, found_on: int) -> None:
        """Have it recorded, once in a run, that a URL was seen and not queued, and why."""
        noted = self.unqueued
        if key in noted:
            return
        if len(noted) >= UNQUEUED_MOST:
            self.unsettled.unrecorded += 1
            return
        noted.add(key)
        self.unsettled.unqueued.append(Unqueued(url, key, code, found_by, found_on))

    def use_policy(self, policy: HostPolicy | None) -> bool:
        """Put an operator's edit in force, also on the wait that is under way; whether there was one."""
        if policy == self.policy:
            return False
        self.policy = policy
        self.gate.update_limits(self._limits())
        return True

    def fetch_limits(self, limits: FetchLimits) -> FetchLimits:
        """The bounds of one request to this host: a page size that the operator set applies to every one."""
        most = page_bytes_for_any_door(self.policy)
        if most is None or most >= limits.max_body_bytes:
            return limits
        return replace(limits, max_body_bytes=most, max_wire_bytes=min(most, limits.max_wire_bytes))

    def use_crawl_delay(self, crawl_delay_s: float | None) -> None:
        """Put robots.txt's delay in force; of several origins of the host, the longest holds."""
        longest = max(
            (reading.crawl_delay_s for reading in self.robots.values() if reading.crawl_delay_s is not None),
            default=crawl_delay_s,
        )
        if longest != self.crawl_delay_s:
            self.crawl_delay_s = longest
            self.gate.update_limits(self._limits())

    def keep_lease(self, lease: Lease) -> None:
        """The lease was prolonged."""
        self.lease = lease
        if not self.is_closed:
            self.gate.extend_lease(lease.expires_at.timestamp())

    def begin_anew(self, *, sitemaps: bool) -> None:
        """The host's frontier was lost and made anew: its pages come again, and their links with them."""
        self.work.forget_met()
        self.met.clear()
        self.met_too_deep.clear()
        self.may_know_pages = True
        self.came_again = self.is_closed
        if sitemaps:
            self.has_sitemaps_again = self.is_reading_sitemaps
            self.sitemaps = self.sitemaps if self.is_reading_sitemaps else []

    def lose_lease(self) -> None:
        """The lease is gone: nothing more may start."""
        self.is_lost = True
        self.close()

    def close(self) -> None:
        """Nothing more may start here; whoever waits for a start is sent away, and what is in flight is finished."""
        self.is_stopped = True
        self.is_closed = True
        self.gate.close()

    def _limits(self) -> GateLimits:
        policy = self.policy
        return limits_for(
            self.profile,
            policy_interval_s=policy.min_request_interval_ms / 1000 if policy else None,
            policy_max_concurrency=policy.max_concurrency if policy else None,
            crawl_delay_s=self.crawl_delay_s,
        )
