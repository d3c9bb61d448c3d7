"""Audit of the request ledger: whether requests kept the pace, the concurrency limit, the pauses and the rules.

A process that was suspended (SIGSTOP, a closed laptop) records the end of a request when it wakes. Such an end says
nothing about the requests of a later lease: those were made by a process that could not know of it.

`RobotsLaw` and `PolicyLaw` know which robots.txt and which operator policy were in force when a request started; both
are compared with what the request's own row says. Edits take effect within moments, not at once: a request that was
waiting for its start when a rule changed may still follow the old one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from heapq import heappop, heappush
from typing import Final, NamedTuple

from comity.model.dataclass import dataclass
from comity.model.ledger import Breach, LedgerLine, PolicyEntry, RobotsNote, Violation, found
from comity.rules.ledger_chain import content_digest
from comity.rules.politeness.backoff import RETRY_AFTER_CEILING_S
from comity.rules.politeness.pace import LONGEST_DELAY_S
from comity.rules.robots.verdict import RobotsFile, parse_robots

# Times are stored to the microsecond, and the arithmetic on them is in doubles.
ROUNDING_S: Final = 2e-6
GRACE_S: Final = 120.0  # a request waits for its start no longer than this and its delay
STALE_AFTER_S: Final = 600.0
_FILES_REMEMBERED: Final = 16
_ROBOTS: Final = "robots"  # a request for robots.txt needs no permission (RFC 9309 §2.2.2)
# Requests of outside clients: their starts are spaced before they are made, and only their client sees them end.
_OF_CLIENTS: Final = ("job", "grant")


class _RequestedPause(NamedTuple):
    """A pause that a host asked for."""

    set_at: float
    until: float


def audit(lines: Iterable[LedgerLine]) -> Iterator[Violation]:
    """Check one host's requests, given in the order in which they started."""
    before: LedgerLine | None = None
    under_way: list[float] = []
    blocks: list[_RequestedPause] = []
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
                # What an earlier holder recorded after this was not known to the present one.
                under_way = []
                blocks = [block for block in blocks if block.set_at <= line.started_at]
        while under_way and under_way[0] <= line.started_at + ROUNDING_S:
            heappop(under_way)
        if not is_of_client(line.purpose):
            heappush(under_way, line.ended_at)
        if len(under_way) > line.max_concurrency:
            sentence = f"{len(under_way)} concurrent requests, {line.max_concurrency} allowed"
            yield found(Breach.TOO_MANY_AT_ONCE, line, sentence)
        for block in blocks:
            if block.set_at <= line.started_at < block.until - ROUNDING_S:
                sentence = f"the host had asked Comity to wait another {block.until - line.started_at:.3f} s"
                yield found(Breach.INSIDE_A_BLOCK, line, sentence)
        blocks = [block for block in blocks if block.until > line.started_at]
        requested = asked_until(line)
        if requested is not None and (line.blocked_until or 0.0) < requested - ROUNDING_S:
            sentence = f"the host asked Comity to wait {line.retry_after_s:g} s, but the pause was shorter"
            yield found(Breach.BLOCK_TOO_SHORT, line, sentence)
        until = max((each for each in (requested, line.blocked_until) if each is not None), default=None)
        if until is not None:
            blocks.append(_RequestedPause(line.ended_at, until))
        if line.rule is not None and line.rule.lower().startswith("disallow"):
            yield found(Breach.DISALLOWED, line, f"robots.txt says {line.rule}")
        before = line


def is_of_client(purpose: str) -> bool:
    """Whether an outside client made the request, with a job or a grant."""
    return purpose.partition(":")[0] in _OF_CLIENTS


def _gap(before: LedgerLine, line: LedgerLine) -> Iterator[Violation]:
    gap_s = line.started_at - before.started_at
    if gap_s < line.delay_s - ROUNDING_S:
        sentence = f"{gap_s:.6f} s after the request before it, with a delay of {line.delay_s:g} s in force"
        yield found(Breach.TOO_SOON, line, sentence)


def asked_until(line: LedgerLine) -> float | None:
    """The end of the pause that the answer itself asked for (RFC 9110 §10.2.3); "0" does not permit one at once."""
    if line.status not in (429, 503) or line.retry_after_s is None or line.retry_after_s <= 0.0:
        return None
    return line.ended_at + min(line.retry_after_s, RETRY_AFTER_CEILING_S)


class RobotsLaw:
    """The robots.txt files of one host's origins, from the notes of its chain. `load` returns a file by version."""

    def __init__(self, notes: Sequence[RobotsNote], load: Callable[[str], bytes | None]) -> None:
        self._load = load
        self._notes: dict[str, list[RobotsNote]] = {}
        for note in sorted(notes, key=lambda each: each.valid_from):
            self._notes.setdefault(note.origin, []).append(note)
        self._files: dict[str, RobotsFile | Violation] = {}

    def check(self, line: LedgerLine) -> Iterator[Violation]:
        """The violation of robots.txt by one request, if any."""
        if line.purpose == _ROBOTS:
            return
        origin, path = _split(line.url)
        note = self._in_force(origin, line)
        if note is None:
            yield found(Breach.ROBOTS_UNKNOWN, line, f"no robots.txt of {origin} had been read before it")
            return
        if line.started_at > note.valid_until + STALE_AFTER_S + line.delay_s:
            sentence = f"robots.txt had not been read again for {line.started_at - note.valid_from:,.0f} s"
            yield found(Breach.ROBOTS_STALE, line, sentence)
        if note.version != line.robots_version:
            sentence = f"robots.txt {note.version or 'without a file'} was in force, not {line.robots_version}"
            yield found(Breach.ROBOTS_MISMATCH, line, sentence)
        if note.version is not None:
            yield from self._judge(line, note.version, line.purpose.partition(":")[2] or note.agent, path)
        elif note.access == "disallow_all":
            yield found(Breach.DISALLOWED, line, "robots.txt could not be read, and everything was disallowed")
        elif line.rule is not None:
            yield found(Breach.ROBOTS_MISMATCH, line, "it names a rule, but there was no robots.txt")

    def _in_force(self, origin: str, line: LedgerLine) -> RobotsNote | None:
        """The last reading before a start; a file just replaced still counts for a request that waited."""
        notes = self._notes.get(origin, [])
        at = bisect_right(notes, line.started_at + ROUNDING_S, key=lambda note: note.valid_from) - 1
        if at < 0:
            return None
        grace_s = GRACE_S + 2 * line.delay_s
        for earlier in range(at, -1, -1):
            if earlier < at and notes[earlier + 1].valid_from < line.started_at - grace_s:
                break
            if notes[earlier].version == line.robots_version:
                return notes[earlier]
        return notes[at]

    def _judge(self, line: LedgerLine, version: str, agent: str, path: str) -> Iterator[Violation]:
        file = self._file(version)
        if isinstance(file, Violation):
            yield found(file.breach, line, file.sentence)
            return
        verdict = file.verdict(agent, path)
        if (
            not verdict.allowed and (line.rule or "") != verdict.rule
        ):  # the row itself records this fault; it is found elsewhere
            yield found(Breach.DISALLOWED, line, f"robots.txt says {verdict.rule} in line {verdict.line_number}")
        if (verdict.line_number, verdict.rule) != (line.rule_line, line.rule):
            sentence = f"it recorded {line.rule or 'no rule'}, but robots.txt decides by {verdict.rule or 'no rule'}"
            yield found(Breach.ROBOTS_MISMATCH, line, sentence)
        delay_s = verdict.crawl_delay_seconds
        if delay_s is not None and line.delay_s < delay_s - ROUNDING_S:
            sentence = f"the delay was {line.delay_s:g} s, but robots.txt asks for {delay_s:g} s"
            yield found(Breach.DELAY_TOO_SHORT, line, sentence)

    def _file(self, version: str) -> RobotsFile | Violation:
        known = self._files.get(version)
        if known is None:
            body = self._load(version)
            if body is None:
                sentence = f"the robots.txt {version} that was in force is not stored"
                known = Violation(Breach.ROBOTS_MISSING, 0, "", None, sentence)
            elif content_digest(body) != version:
                sentence = f"the stored robots.txt {version} is not the one that was in force"
                known = Violation(Breach.ROBOTS_ALTERED, 0, "", None, sentence)
            else:
                known = parse_robots(body)
            if len(self._files) >= _FILES_REMEMBERED:
                self._files.clear()
            self._files[version] = known
        return known


class PolicyLaw:
    """The policies of one host under each of its names, from their history."""

    def __init__(self, histories: Sequence[Sequence[PolicyEntry]]) -> None:
        self._histories = [sorted(history, key=lambda entry: entry.valid_from) for history in histories]
        self._last_start: dict[int, float] = {}
        self._excused_until: dict[int, float] = {}

    def check(self, line: LedgerLine) -> Iterator[Violation]:
        """The violation of the policy by one request, if any; call it in the order in which requests started."""
        limits = _limits(line)
        if not any(self._agrees(history, limits, line) for history in self._histories):
            history = self._histories[0]
            at = bisect_right(history, line.started_at, key=_from) - 1
            known = history[at].limits if at >= 0 else None
            sentence = f"it recorded {_in_words(limits)}, but the history has {_in_words(known)}"
            yield found(Breach.POLICY_MISMATCH, line, sentence)
        self._last_start[line.lease_token] = line.started_at
        if limits is None:
            return
        interval_s = min(limits[0] / 1000, LONGEST_DELAY_S)
        if line.delay_s < interval_s - ROUNDING_S:
            sentence = f"the delay was {line.delay_s:g} s, but the policy asks for {interval_s:g} s"
            yield found(Breach.DELAY_TOO_SHORT, line, sentence)
        if line.max_concurrency > max(1, limits[1]):
            sentence = f"{line.max_concurrency} concurrent requests were allowed, but the policy allows {limits[1]}"
            yield found(Breach.CONCURRENCY_TOO_HIGH, line, sentence)

    def _agrees(self, history: Sequence[PolicyEntry], limits: tuple[int, int] | None, line: LedgerLine) -> bool:
        """Whether a request went by the policy in force, by one just replaced, or by one replaced while it slept."""
        at = bisect_right(history, line.started_at + GRACE_S, key=_from) - 1
        while at >= -1:
            entry = history[at].limits if at >= 0 else None
            replaced_at = history[at + 1].valid_from if at + 1 < len(history) else None
            if entry == limits:
                return replaced_at is None or line.started_at <= replaced_at + GRACE_S or self._slept(line, replaced_at)
            at -= 1
        return False

    def _slept(self, line: LedgerLine, replaced_at: float) -> bool:
        """Whether the process may have been asleep from the edit on: it started nothing between the two."""
        token = line.lease_token
        if line.started_at <= self._excused_until.get(token, 0.0):
            return True
        before = self._last_start.get(token)
        if before is None or before > replaced_at + GRACE_S:
            return False
        self._excused_until[token] = line.started_at + GRACE_S
        return True


def _from(entry: PolicyEntry) -> float:
    return entry.valid_from


def _limits(line: LedgerLine) -> tuple[int, int] | None:
    if line.policy_interval_ms is None or line.policy_max_concurrency is None:
        return None
    return line.policy_interval_ms, line.policy_max_concurrency


def _in_words(limits: tuple[int, int] | None) -> str:
    return "no policy" if limits is None else f"a policy of {limits[0]:,} ms and {limits[1]} concurrent requests"


def _split(url: str) -> tuple[str, str]:
    """The origin of a URL, and its path with the query."""
    scheme, _, rest = url.partition("://")
    end = min((at for at in (rest.find("/"), rest.find("?")) if at >= 0), default=len(rest))
    path = rest[end:]
    return f"{scheme}://{rest[:end]}", path if path.startswith("/") else "/" + path


__all__ = ["Breach", "LedgerLine", "Violation", "audit"]


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
    """One host's requests, in the order in which they started, each with its slot.

    For display. The slots follow the same rules as `audit`: a request that is shown as early here is one that `audit`
    reports.
    """
    found: list[TimedRequest] = []
    before: LedgerLine | None = None
    ends: list[float] = []
    pauses: list[tuple[float, float]] = []
    for line in sorted(lines, key=lambda each: (each.started_at, each.number)):
        if before is not None and line.lease_token > before.lease_token:
            # What an earlier holder recorded after this was not known to the present one.
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
