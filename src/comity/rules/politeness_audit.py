"""Replaying the ledger: whether every request that was started kept the manners that were in force."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from heapq import heappop, heappush
from typing import Final

# Times are stored to the microsecond, and the arithmetic on them is in doubles.
_ROUNDING_S: Final = 2e-6


class Breach(StrEnum):
    """How a request can break the rules."""

    TOO_SOON = "too_soon"
    TOO_MANY_AT_ONCE = "too_many_at_once"
    INSIDE_A_BLOCK = "inside_a_block"
    LATE_HAND = "late_hand"
    DISALLOWED = "disallowed"


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """What the audit needs of one request."""

    number: int
    url: str
    lease_token: int
    started_at: float
    ended_at: float
    delay_s: float
    max_concurrency: int
    rule: str | None
    blocked_until: float | None


@dataclass(frozen=True, slots=True)
class Violation:
    """A request that should not have been started when it was."""

    breach: Breach
    number: int
    url: str
    started_at: float
    sentence: str


def audit(lines: Iterable[LedgerLine]) -> Iterator[Violation]:
    """Check one host's requests, given in the order in which they started."""
    before: LedgerLine | None = None
    under_way: list[float] = []
    blocks: list[tuple[float, float]] = []  # set at, until
    for line in lines:
        if before is not None:
            yield from _gap(before, line)
            if line.lease_token < before.lease_token:
                sentence = f"token {line.lease_token} was used after token {before.lease_token}"
                yield Violation(Breach.LATE_HAND, line.number, line.url, line.started_at, sentence)
        while under_way and under_way[0] <= line.started_at + _ROUNDING_S:
            heappop(under_way)
        heappush(under_way, line.ended_at)
        if len(under_way) > line.max_concurrency:
            sentence = f"{len(under_way)} requests at once, {line.max_concurrency} allowed"
            yield Violation(Breach.TOO_MANY_AT_ONCE, line.number, line.url, line.started_at, sentence)
        for set_at, until in blocks:
            if set_at <= line.started_at < until - _ROUNDING_S:
                sentence = f"the host had asked for patience for another {until - line.started_at:.3f} s"
                yield Violation(Breach.INSIDE_A_BLOCK, line.number, line.url, line.started_at, sentence)
        blocks = [block for block in blocks if block[1] > line.started_at]
        if line.blocked_until is not None:
            blocks.append((line.ended_at, line.blocked_until))
        if line.rule is not None and line.rule.lower().startswith("disallow"):
            sentence = f"robots.txt says {line.rule}"
            yield Violation(Breach.DISALLOWED, line.number, line.url, line.started_at, sentence)
        before = line


def _gap(before: LedgerLine, line: LedgerLine) -> Iterator[Violation]:
    gap_s = line.started_at - before.started_at
    if gap_s < line.delay_s - _ROUNDING_S:
        sentence = f"{gap_s:.6f} s after the request before, {line.delay_s:g} s asked for"
        yield Violation(Breach.TOO_SOON, line.number, line.url, line.started_at, sentence)
