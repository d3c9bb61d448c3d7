"""One host while its lease is held: its phase, gate, limits, URLs in memory, and what a run has seen of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from enum import Enum
from typing import Final

from comity.frontier.host_queue import KEYS_MOST, HostQueue
from comity.gate import HostGate
from comity.model.dataclass import dataclass
from comity.model.evidence import Evidence
from comity.model.fetch import FailureKind, FetchFailure, FetchLimits
from comity.model.frontier import FoundBy, FrontierEntry, LeftOutUrl, SiteLink, Unqueued, UnqueuedCode
from comity.model.gate import DoorProfile, GateLimits
from comity.model.host import HostError, HostPolicy, Lease
from comity.model.ledger import LedgerRow
from comity.model.outcome import Fetched, SkippedLinks
from comity.model.run import EndReason, Exhausted
from comity.model.sitemap import PageHints, SitemapRow
from comity.rules.canonical import WebAddress
from comity.rules.politeness.backoff import retry_delay
from comity.rules.politeness.pace import limits_for
from comity.rules.politeness.policy import page_bytes_for_any_door
from comity.rules.traps.watch import TrapWatch
from comity.rules.url_patterns import LeftOut, PatternRules, pattern_rules
from comity.walk.robots.record import RobotsInForce
from comity.walk.session.identity import HostIdentity, IdentityOf

UNQUEUED_MOST: Final = 10_000  # URLs recorded as seen and not queued, of one host in one run
MAX_HOST_WAIT_S: Final = 60.0  # a host that takes no request for longer than this is released meanwhile


class Phase(Enum):
    """What may be done with a host.

    Loading more URLs of a host or releasing it is a task, not a phase: see `crawl.hosts`.

        HELD ──open──▶ READY ──drain──▶ DRAINING ──close──▶ CLOSED ──release──▶ RELEASED
        (`close` and `lose` are possible from every phase; a LOST host is released, too)
    """

    HELD = "held"
    """Leased. Requests may start, but no run visits it: not yet, or it was only leased on demand."""
    READY = "ready"
    """Open: visits may begin."""
    DRAINING = "draining"
    """No new visits begin. Those in progress are finished, redirects included."""
    CLOSED = "closed"
    """The gate is closed: no request starts. Those in flight are finished."""
    LOST = "lost"
    """The lease is lost and the gate is closed. From now on, settling writes nothing."""
    RELEASED = "released"
    """Released and forgotten."""


class Move(Enum):
    """What can happen to a host."""

    OPEN = "open"
    DRAIN = "drain"
    CLOSE = "close"
    LOSE = "lose"
    RELEASE = "release"


class IllegalMove(RuntimeError):
    """A host cannot make this move from its phase: a bug."""


# A move that comes twice, or too late, leaves a host where it is.
MOVES: Final[Mapping[Phase, Mapping[Move, Phase]]] = {
    Phase.HELD: {Move.OPEN: Phase.READY, Move.CLOSE: Phase.CLOSED, Move.LOSE: Phase.LOST},
    Phase.READY: {Move.DRAIN: Phase.DRAINING, Move.CLOSE: Phase.CLOSED, Move.LOSE: Phase.LOST},
    Phase.DRAINING: {Move.DRAIN: Phase.DRAINING, Move.CLOSE: Phase.CLOSED, Move.LOSE: Phase.LOST},
    Phase.CLOSED: {
        Move.DRAIN: Phase.CLOSED,
        Move.CLOSE: Phase.CLOSED,
        Move.LOSE: Phase.LOST,
        Move.RELEASE: Phase.RELEASED,
    },
    Phase.LOST: {
        Move.DRAIN: Phase.LOST,
        Move.CLOSE: Phase.LOST,
        Move.LOSE: Phase.LOST,
        Move.RELEASE: Phase.RELEASED,
    },
    Phase.RELEASED: {Move.DRAIN: Phase.RELEASED, Move.CLOSE: Phase.RELEASED, Move.LOSE: Phase.RELEASED},
}
SHUT: Final = frozenset({Phase.CLOSED, Phase.LOST, Phase.RELEASED})
"""The phases in which no request may start."""


def after(phase: Phase, move: Move) -> Phase:
    """The phase that follows.

    Every legal move is in `MOVES`; no other code knows them.
    """
    following = MOVES[phase].get(move)
    if following is None:
        raise IllegalMove(f"a host that is {phase.value} cannot {move.value}")
    return following


@dataclass(slots=True)
class Tally:
    """What a run has seen of a host so far."""

    begun: int = 0  # visits of pages in this run, including those of earlier leases
    pages: int = 0
    earlier_pages: int = 0  # of this run, before the host was leased again
    errors: int = 0
    refused_by_robots: int = 0
    refused_as_trap: int = 0
    left_out: int = 0  # URLs, by patterns
    login_walls: int = 0
    login_pages: int = 0
    robots_unread: int = 0  # URLs put off because robots.txt of their origin cannot be read
    busy_elsewhere: dict[str, int] = field(default_factory=dict)  # redirects to each host that another worker holds
    errors_in_a_row: int = 0
    moved_to: str | None = None  # where a seed led, if that is another host
    unread_sitemaps: int = 0  # files that the site names and that were not read, or not in full
    unread_sitemap: str | None = None  # the first of them, with the reason
    unread_pages: int = 0  # pages that were not read, or not in full: links there may be missing
    unread_page: str | None = None  # the first of them
    last_error: HostError | None = None

    @property
    def pages_in_run(self) -> int:
        """What the host's budget counts."""
        return self.pages + self.earlier_pages


@dataclass(slots=True)
class Unsettled:
    """What is to be settled for a host besides the outcomes of its visits."""

    requests: list[LedgerRow] = field(default_factory=list)
    links: list[FrontierEntry] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    sitemaps: list[SitemapRow] = field(default_factory=list)
    hints: list[tuple[int, PageHints]] = field(default_factory=list)  # of URLs that are known, by their keys
    unqueued: list[Unqueued] = field(default_factory=list)  # URLs that were seen and not queued
    unrecorded: int = 0  # how many more there were than are recorded
    left_out: list[LeftOutUrl] = field(default_factory=list)  # URLs that patterns left out
    site_links: list[SiteLink] = field(default_factory=list)  # links to other hosts of the same site

    def __bool__(self) -> bool:
        found = self.requests or self.links or self.evidence or self.sitemaps or self.hints
        return bool(found or self.unqueued or self.unrecorded or self.left_out or self.site_links)


class LeasedHost:
    """What is in memory for one lease, and ends with it. Only the methods below change `phase`."""

    def __init__(
        self,
        lease: Lease,
        profile: DoorProfile,
        policy: HostPolicy | None,
        *,
        clock: Callable[[], float],
        chance: Callable[[], float],
        identity: HostIdentity | None = None,
    ) -> None:
        self.lease = lease
        self.name = lease.host  # its canonical authority
        self.phase = Phase.HELD
        self.identity = identity  # what its requests carry besides the usual
        # Why nothing can be requested of it, if that is not the host's fault.
        self.stopped_by: tuple[EndReason, str] | None = None
        self._our_failures = (0, 0)  # in a row, and the pages that there were before them
        self.profile = profile
        self.policy = policy
        self.patterns: PatternRules | None = _patterns(policy)
        self.crawl_delay_s: float | None = None
        self.robots: dict[str, RobotsInForce] = {}
        self.refused: dict[str, FetchFailure] = {}  # origins that we will not ask, and why
        self.guessed: set[str] = set()  # https origins that were not named as such
        self.without_tls: set[str] = set()  # https origins in whose place http is visited
        self.gate = HostGate(
            self._limits(), lease.memory, clock=clock, chance=chance, lease_ends_at=lease.expires_at.timestamp()
        )
        self.work = HostQueue((), knows_all=True, is_whole=True)
        self.met: dict[str, set[str]] = {}  # links as written, by the origin of the page
        self.met_too_deep: dict[str, set[str]] = {}  # the same for those deeper than the run follows
        self.has_too_deep = False  # whether the frontier has such links
        self.links_remembered = KEYS_MOST
        self.passed: dict[str, set[str]] = {}  # links as written that were seen and not queued, likewise
        self.unqueued: set[int] = set()  # keys of URLs that are recorded as such
        self.skipped: dict[int, dict[str, SkippedLinks]] | None = None  # by page and reason, if requested
        self.trapped: dict[int, str] | None = None  # links that are not followed as traps, if links are stored
        self.traps: TrapWatch | None = None
        self.unread = 0  # pages that wait to be read in a child process
        self.hard_pages = 0  # pages that could not be read, or took very long
        self.tally = Tally()
        self.unsettled = Unsettled()
        self._requests_made = (lease.token, 0)
        self.sitemaps: list[SitemapRow] | None = None  # what is known of them, while they are still to be read
        self.is_given_directly = False  # one of its pages was named by its URL and is still to be visited
        self.is_reading_sitemaps = False
        self.has_sitemaps_again = False  # what was read in the meantime is lost: read them again
        self.home: str | None = None  # an origin of the host, whose robots.txt names its sitemaps
        self.refresh_began_at: float | None = None  # while its known pages are requested again
        self.may_know_pages = False  # whether pages of it were fetched before
        self.spent_budget: Exhausted | None = None
        self.has_page = False  # whether a page of the budgets is reserved for its next visit
        self.waits_for_slot: tuple[int, float] | None = None  # the key of its next URL, and since when
        self.pages_under_way = 0
        self.visits_under_way = 0
        self.was_requeued_late = False  # its frontier was rebuilt after it was closed, so its URLs are queued again
        self.is_warned = False  # that its budget is nearly spent
        self.waits_until: float | None = None  # when it may be requested again, if that is later than a run waits

    @property
    def is_stopped(self) -> bool:
        """Whether no visit may begin any more."""
        return self.phase is not Phase.READY and self.phase is not Phase.HELD

    @property
    def is_closed(self) -> bool:
        """Whether no request may start any more."""
        return self.phase in SHUT

    @property
    def is_lost(self) -> bool:
        """Whether the lease is gone."""
        return self.phase is Phase.LOST

    def open(self) -> None:
        """Visits may begin."""
        self.phase = after(self.phase, Move.OPEN)

    def drain(self) -> None:
        """Begin no more visits; finish those in progress."""
        self.phase = after(self.phase, Move.DRAIN)

    def drain_until(self, until: float) -> None:
        """Begin no more visits: the host takes no request before `until`."""
        self.waits_until = until
        self.drain()

    def drain_spent(self, spent: Exhausted) -> None:
        """Begin no more visits: a budget is spent."""
        self.spent_budget = spent
        self.drain()

    def close(self) -> None:
        """Start no more requests: those that wait for a start give up, those in flight are finished."""
        self.phase = after(self.phase, Move.CLOSE)
        self.gate.close()

    def lose_lease(self) -> None:
        """The lease is lost: start no more requests."""
        self.phase = after(self.phase, Move.LOSE)
        self.gate.close()

    def release(self) -> None:
        """The lease was released."""
        self.phase = after(self.phase, Move.RELEASE)

    def note_our_failure(self, kind: FailureKind, detail: str) -> float:
        """A request failed before it reached the host; returns how long to wait. After a few in a row it is stopped."""
        count, pages = self._our_failures
        count = count + 1 if pages == self.tally.pages else 1
        self._our_failures = (count, self.tally.pages)
        if count > self.profile.retry_limit or kind is FailureKind.CREDENTIALS_MISSING:
            said = f"{EndReason.PROXY_FAILURE.sentence} ({detail})" if kind is FailureKind.PROXY_FAILURE else detail
            self.stopped_by = (EndReason(str(kind)), said)
            if self.phase is Phase.READY:
                self.drain()
            return 0.0  # the next run may try at once
        return retry_delay(count, self.profile.max_retry_backoff_s)

    def next_request_number(self) -> int:
        """Count the requests under the present lease, from 1, so that the ledger shows a missing one."""
        token, number = self._requests_made
        number = number + 1 if token == self.lease.token else 1
        self._requests_made = (self.lease.token, number)
        return number

    def note_unqueued(self, url: str, key: int, code: UnqueuedCode, found_by: FoundBy, found_on: int) -> None:
        """Record, once in a run, that a URL was seen and not queued, and why."""
        noted = self.unqueued
        if key in noted:
            return
        if len(noted) >= UNQUEUED_MOST:
            self.unsettled.unrecorded += 1
            return
        noted.add(key)
        self.unsettled.unqueued.append(Unqueued(url, key, code, found_by, found_on))

    def note_others(self, addresses: Iterable[WebAddress], found_by: FoundBy, found_on: int) -> None:
        """Record addresses of other hosts, of which a page may name dozens."""
        noted, code, more = self.unqueued, UnqueuedCode.OTHER_HOST, self.unsettled.unqueued
        for address in addresses:
            key = address.key
            if key not in noted:
                if len(noted) < UNQUEUED_MOST:
                    noted.add(key)
                    more.append(Unqueued(address.url, key, code, found_by, found_on))
                else:
                    self.unsettled.unrecorded += 1
            if self.skipped is not None:
                self.note_skipped(address.url, str(code), found_on)

    def note_skipped(self, url: str, code: str, found_on: int) -> None:
        """Count a link of a page that is not queued."""
        assert self.skipped is not None
        reasons = self.skipped.setdefault(found_on, {})
        before = reasons.get(code)
        reasons[code] = SkippedLinks(1, url) if before is None else SkippedLinks(before.links + 1, before.first)

    def note_left_out(
        self, address: WebAddress, why: LeftOut, found: tuple[FoundBy, int], depth: int, *, is_image: bool = False
    ) -> None:
        """Record that patterns leave a URL out, with what queues it when others are in force."""
        self.tally.left_out += 1
        self.unsettled.left_out.append(LeftOutUrl(address.url, address.key, depth, is_image, found[0], found[1], *why))

    def keep_found(self, page: Fetched) -> None:
        """Keep the links and images of a page in memory until they are settled."""
        if page.links:
            self.work.found(page.links)
        elif page.too_deep:
            self.has_too_deep = True
        if page.new_images:
            self.work.has_images = True

    def use_policy(self, policy: HostPolicy | None, identity_of: IdentityOf | None = None) -> bool:
        """Apply an operator's edit, also to a current wait; returns whether there was one."""
        if policy == self.policy:
            return False
        self.policy = policy
        self.patterns = _patterns(policy)
        if identity_of is not None:
            terms = identity_of(self.name, policy)
            if terms is None or self.identity is None:
                self.identity = None if terms is None else HostIdentity(terms)
            else:
                self.identity = self.identity.use(terms)
        self.gate.update_limits(self._limits())
        return True

    def fetch_limits(self, limits: FetchLimits) -> FetchLimits:
        """The limits of one request to this host; the operator's page size applies to every request."""
        most = page_bytes_for_any_door(self.policy) if self.policy is not None else None
        if most is None or most >= limits.max_body_bytes:
            return limits
        return replace(limits, max_body_bytes=most, max_wire_bytes=min(most, limits.max_wire_bytes))

    def use_crawl_delay(self, crawl_delay_s: float | None) -> None:
        """Put the delay of robots.txt in force; of several origins of the host, the longest counts."""
        longest = max(
            (reading.crawl_delay_s for reading in self.robots.values() if reading.crawl_delay_s is not None),
            default=crawl_delay_s,
        )
        if longest != self.crawl_delay_s:
            self.crawl_delay_s = longest
            self.gate.update_limits(self._limits())

    def keep_lease(self, lease: Lease) -> None:
        """The lease was renewed."""
        self.lease = lease
        if not self.is_closed:
            self.gate.extend_lease(lease.expires_at.timestamp())

    def restart_frontier(self, *, sitemaps: bool) -> None:
        """The host's frontier was lost and rebuilt: its pages, and so their links, will come again."""
        self.work.forget_met()
        self.met.clear()
        self.met_too_deep.clear()
        self.may_know_pages = True
        self.was_requeued_late = self.is_closed
        if sitemaps:
            self.has_sitemaps_again = self.is_reading_sitemaps
            self.sitemaps = self.sitemaps if self.is_reading_sitemaps else []

    def _limits(self) -> GateLimits:
        policy = self.policy
        limits = limits_for(
            self.profile,
            policy_interval_s=policy.min_request_interval_ms / 1000 if policy else None,
            policy_max_concurrency=policy.max_concurrency if policy else None,
            crawl_delay_s=self.crawl_delay_s,
        )
        # What ends a session must be known before the next request of it.
        is_logged_in = self.identity is not None and self.identity.terms.login is not None
        return replace(limits, max_concurrency=1) if is_logged_in else limits


def _patterns(policy: HostPolicy | None) -> PatternRules | None:
    if policy is None:
        return None
    return pattern_rules(policy.include, policy.exclude, is_of_policy=True)
