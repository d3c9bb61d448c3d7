"""The metrics of a run: counts of each batch, and gauges of what is in progress.

It counts once a batch and sets the gauges when they are read; a page costs a few look-ups.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Protocol

from comity.model.evidence import EvidenceType
from comity.model.fetch import FailureKind
from comity.model.gate import WaitReason
from comity.model.outcome import (
    OUTCOME_NAMES,
    Failed,
    Fetched,
    Gone,
    ImageFetched,
    NotModified,
    Outcome,
    RateLimited,
    Refused,
    Rejected,
)
from comity.telemetry import metrics
from comity.telemetry.meter import Meter
from comity.walk.crawl.progress import Progress
from comity.walk.settle.settler import Settled

_REASONS: Final = {
    "robots_denied": "robots",
    "robots_unreachable": "robots",
    "taken_down": "takedown",
    "trap": "trap",
    str(FailureKind.ADDRESS_REFUSED): "address",
}
_OF_LINKS: Final = {
    EvidenceType.BLOCKED_BY_ROBOTS: "robots",
    EvidenceType.TAKEN_DOWN: "takedown",
    EvidenceType.TRAP: "trap",
}
_ANSWERED: Final = (Fetched, ImageFetched, NotModified, Gone, RateLimited)
_UNANSWERED: Final = (Failed, Rejected)
_LATE_AFTER: Final = 1.5  # intervals of renewal; half a lease is left then


class UnderWay(Protocol):
    """What the gauges show of a run."""

    progress: Progress
    unsettled: int

    @property
    def unsettled_bytes(self) -> int:
        """Bytes of bodies that are not committed yet."""
        ...

    @property
    def in_flight(self) -> int:
        """Requests in flight."""
        ...

    @property
    def hosts_held(self) -> int:
        """Leases that are held."""
        ...

    @property
    def gate_waits(self) -> Mapping[WaitReason, int]:
        """How often hosts had to wait for their gates so far."""
        ...


class RunMeter:
    """Counts one run in the metrics of the process; without metrics it does nothing."""

    def __init__(self, meter: Meter | None, run: UnderWay, clock: Callable[[], float], renew_every_s: float) -> None:
        self._meter = meter
        self._run = run
        self._clock = clock
        self._renew_every_s = renew_every_s
        self._renewed_at = clock()
        self._waits: dict[WaitReason, int] = {}

    def begin(self) -> None:
        """The gauges show this run from now on."""
        self._renewed_at = self._clock()
        if self._meter is not None:
            self._meter.before_reading = self.update_gauges

    def end(self) -> None:
        """Nothing is in progress any more: set the gauges to zero."""
        if self._meter is None:
            return
        self.update_gauges()
        self._meter.before_reading = None
        for gauge in _GAUGES:
            self._meter.set(gauge, 0.0)

    def settled(self, outcomes: Sequence[Outcome], result: Settled, seconds: float) -> None:
        """Count a committed batch, except hosts whose lease was lost; images are not pages."""
        meter = self._meter
        if meter is None:
            return
        pages = (type(outcome) for outcome in outcomes if not outcome.entry.is_image)
        for kind, number in Counter(pages).items():
            meter.add(metrics.PAGES, number, OUTCOME_NAMES[kind])
        meter.add(metrics.BYTES, result.received)
        meter.add(metrics.LINKS, result.links)
        meter.add(metrics.RETRIES, _retries(outcomes, result))
        meter.observe(metrics.FETCH_SECONDS, _latencies(outcomes))
        meter.observe(metrics.SETTLE_SECONDS, (seconds,))
        meter.add(metrics.LEASES_LOST, len(result.lost))
        for outcome in outcomes:
            if len(outcome.trail.evidence) > 1 or isinstance(outcome, Refused):
                _count_refusals(meter, outcome)

    def renewed(self, lost: int) -> None:
        """The leases were renewed, except those that were lost."""
        self._renewed_at = self._clock()
        if self._meter is not None:
            self._meter.add(metrics.LEASES_LOST, lost)

    def update_gauges(self) -> None:
        """Bring the gauges up to date."""
        run, meter = self._run, self._meter
        if meter is None:
            return
        progress = run.progress
        meter.set(metrics.IN_FLIGHT, run.in_flight)
        meter.set(metrics.HOSTS_HELD, run.hosts_held)
        meter.set(metrics.HOSTS_WAITING, progress.hosts_waiting)
        meter.set(metrics.HOSTS_BLOCKED, progress.hosts_blocked)
        meter.set(metrics.QUEUED, max(0, progress.queued))
        meter.set(metrics.UNSETTLED, run.unsettled)
        meter.set(metrics.UNSETTLED_BYTES, run.unsettled_bytes)
        late_s = self._clock() - self._renewed_at - _LATE_AFTER * self._renew_every_s
        meter.set(metrics.LEASE_OVERDUE, max(0.0, late_s) if run.hosts_held else 0.0)
        for reason, number in run.gate_waits.items():
            meter.add(metrics.WAITS, number - self._waits.get(reason, 0), str(reason))
            self._waits[reason] = number


_GAUGES: Final = (
    metrics.IN_FLIGHT,
    metrics.HOSTS_HELD,
    metrics.HOSTS_WAITING,
    metrics.HOSTS_BLOCKED,
    metrics.QUEUED,
    metrics.UNSETTLED,
    metrics.UNSETTLED_BYTES,
    metrics.LEASE_OVERDUE,
)


def _count_refusals(meter: Meter, outcome: Outcome) -> None:
    if isinstance(outcome, Refused):
        meter.add(metrics.REFUSALS, 1, _REASONS.get(outcome.code, "other"))
        return
    for item in outcome.trail.evidence:
        reason = _OF_LINKS.get(item.type)
        if reason is not None:
            meter.add(metrics.REFUSALS, 1, reason)


def _latencies(outcomes: Iterable[Outcome]) -> Iterable[float]:
    for outcome in outcomes:
        if isinstance(outcome, _ANSWERED):
            yield outcome.answer.elapsed_s
        elif isinstance(outcome, _UNANSWERED):
            yield outcome.elapsed_s


def _retries(outcomes: Iterable[Outcome], result: Settled) -> int:
    """URLs postponed because they failed; one that was postponed before its request is not a retry."""
    postponed = {entry.key for entries in result.postponed.values() for entry, _until in entries}
    if not postponed:
        return 0
    return sum(isinstance(outcome, RateLimited | Failed) and outcome.entry.key in postponed for outcome in outcomes)
