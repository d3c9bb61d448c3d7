"""Requests against the earliest moment at which each was allowed, for people to look at.

The moments follow the same rules as `audit`: a request that this shows as early is one that `audit` reports.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from comity.model.ledger import LedgerLine
from comity.rules.politeness.audit import ROUNDING_S, asked_until, is_of_client


class HeldBy(StrEnum):
    """What a request had to wait for."""

    DELAY = "delay"
    """The time between two requests."""
    PAUSE = "pause"
    """A pause that the host asked for."""
    CONCURRENCY = "concurrency"
    """The end of another request."""


@dataclass(frozen=True, slots=True)
class TimedRequest:
    """A request, and when it was allowed to start; None for the first, before which nothing is known."""

    line: LedgerLine
    allowed_at: float | None
    held_by: HeldBy | None

    @property
    def is_early(self) -> bool:
        """Whether it started before it was allowed to."""
        return self.allowed_at is not None and self.line.started_at < self.allowed_at - ROUNDING_S

    @property
    def margin_s(self) -> float | None:
        """How much later than allowed it started."""
        return None if self.allowed_at is None else self.line.started_at - self.allowed_at


def timeline(lines: Iterable[LedgerLine]) -> list[TimedRequest]:
    """One host's requests, in the order in which they started, each with its slot."""
    found: list[TimedRequest] = []
    before: LedgerLine | None = None
    ends: list[float] = []
    pauses: list[tuple[float, float]] = []
    for line in sorted(lines, key=lambda each: (each.started_at, each.number)):
        if before is not None and line.lease_token > before.lease_token:
            # What an earlier holder noted later than this is no knowledge of the present one.
            ends = []
            pauses = [pause for pause in pauses if pause[0] <= line.started_at]
        limits: list[tuple[float, HeldBy]] = []
        if before is not None:
            limits.append((before.started_at + line.delay_s, HeldBy.DELAY))
        limits += [(until, HeldBy.PAUSE) for set_at, until in pauses if set_at <= line.started_at]
        if not is_of_client(line.purpose) and len(ends) >= line.max_concurrency:
            limits.append((sorted(ends)[len(ends) - line.max_concurrency], HeldBy.CONCURRENCY))
        allowed_at, held_by = max(limits, default=(None, None))
        found.append(TimedRequest(line, allowed_at, held_by))
        ends = [end for end in ends if end > line.started_at + ROUNDING_S]
        if not is_of_client(line.purpose):
            ends.append(line.ended_at)
        pauses = [pause for pause in pauses if pause[1] > line.started_at]
        until = max((each for each in (asked_until(line), line.blocked_until) if each is not None), default=None)
        if until is not None:
            pauses.append((line.ended_at, until))
        before = line
    return found
