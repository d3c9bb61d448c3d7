"""Replaying the ledger: whether the requests kept the pace, the number at once and the pauses that were asked for.

A process that slept (SIGSTOP, a laptop that was closed) notes the end of a request when it wakes. Such an end says
nothing about the requests of a later lease: those were made by a process that could not know of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from typing import Final, NamedTuple

from comity.model.audit import Breach, LedgerLine, Violation, found
from comity.rules.retry_after import RETRY_AFTER_CEILING_S

__all__ = ["Breach", "LedgerLine", "Violation", "audit"]

# Times are stored to the microsecond, and the arithmetic on them is in doubles.
ROUNDING_S: Final = 2e-6


class _Block(NamedTuple):
    """A pause that a host asked for."""

    set_at: float
    until: float


def audit(lines: Iterable[LedgerLine]) -> Iterator[Violation]:
    """Check one host's requests, given in the order in which they started."""
    before: LedgerLine | None = None
    under_way: list[float] = []
    blocks: list[_Block] = []
    for line in lines:
        if line.ended_at < line.started_at - ROUNDING_S:
            sentence = f"it ended {line.started_at - line.ended_at:.6f} s before it started"
            yield found(Breach.ENDS_BEFORE_START, line, sentence)
        if before is not None:
            yield from _gap(before, line)
            if line.lease_token < before.lease_token:
                sentence = f"it used lease {line.lease_token} after lease {before.lease_token} was taken"
                yield found(Breach.LATE_HAND, line, sentence)
            elif line.lease_token > before.lease_token:
                # What an earlier holder noted later than this is no knowledge of the present one.
                under_way = []
                blocks = [block for block in blocks if block.set_at <= line.started_at]
        while under_way and under_way[0] <= line.started_at + ROUNDING_S:
            heappop(under_way)
        heappush(under_way, line.ended_at)
        if len(under_way) > line.max_concurrency:
            sentence = f"{len(under_way)} requests at once, {line.max_concurrency} allowed"
            yield found(Breach.TOO_MANY_AT_ONCE, line, sentence)
        for block in blocks:
            if block.set_at <= line.started_at < block.until - ROUNDING_S:
                sentence = f"the host had asked for a pause of another {block.until - line.started_at:.3f} s"
                yield found(Breach.INSIDE_A_BLOCK, line, sentence)
        blocks = [block for block in blocks if block.until > line.started_at]
        asked_until = _asked_until(line)
        if asked_until is not None and (line.blocked_until or 0.0) < asked_until - ROUNDING_S:
            sentence = f"the host asked for a pause of {line.retry_after_s:g} s, and a shorter one was kept"
            yield found(Breach.BLOCK_TOO_SHORT, line, sentence)
        until = max((each for each in (asked_until, line.blocked_until) if each is not None), default=None)
        if until is not None:
            blocks.append(_Block(line.ended_at, until))
        if line.rule is not None and line.rule.lower().startswith("disallow"):
            yield found(Breach.DISALLOWED, line, f"robots.txt says {line.rule}")
        before = line


def _gap(before: LedgerLine, line: LedgerLine) -> Iterator[Violation]:
    gap_s = line.started_at - before.started_at
    if gap_s < line.delay_s - ROUNDING_S:
        sentence = f"{gap_s:.6f} s after the request before it, with a delay of {line.delay_s:g} s in force"
        yield found(Breach.TOO_SOON, line, sentence)


def _asked_until(line: LedgerLine) -> float | None:
    """The end of the pause that the answer itself asked for (RFC 9110 §10.2.3); "0" is no leave to go on at once."""
    if line.status not in (429, 503) or line.retry_after_s is None or line.retry_after_s <= 0.0:
        return None
    return line.ended_at + min(line.retry_after_s, RETRY_AFTER_CEILING_S)
