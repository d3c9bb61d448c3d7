"""Evidence of decisions about URLs, as it is stored: what was decided, by which rule, and when."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import lru_cache
from json.encoder import encode_basestring as _quoted
from typing import Final
from uuid import UUID

from comity.model.evidence import Evidence, EvidenceType
from comity.model.robots import RobotsVerdict
from comity.model.traps import TrapRefusal
from comity.rules.canonical import WebAddress
from comity.rules.url_patterns import LeftOut
from comity.walk.session.leased_host import LeasedHost

_json: Final = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
_TRAPS_KEPT: Final = 100  # limit for one kind on one host: a trap is endless, its evidence must not be
_TRAPS_NOTED: Final = 2_000  # limit for one kind in the short form, to leave room for the others
_LEFT_OUT_KEPT: Final = 1_000  # limit per host and run for full evidence; the rest gets the short form


def robots_evidence(host: LeasedHost, address: WebAddress, verdict: RobotsVerdict, now: float) -> Evidence:
    """What robots.txt said about a URL of a leased host."""
    return robots_evidence_of(host.lease.host_id, address, verdict, now)


def robots_evidence_of(host_id: UUID, address: WebAddress, verdict: RobotsVerdict, now: float) -> Evidence:
    """What robots.txt said about a URL, in the two forms that audits read.

    Every page has one, and most of it is the same for many pages, so it is assembled as text.
    """
    known = _written.get(id(verdict))
    decision, detail, confidence = known[1] if known is not None and known[0] is verdict else _write(verdict)
    url = address.url
    return Evidence(
        host_id,
        url,
        address.key,
        EvidenceType.ROBOTS_ALLOWED if verdict.allowed else EvidenceType.BLOCKED_BY_ROBOTS,
        f'{{{decision},"timestamp":"{iso_time(now)}",{detail}}}',
        f'{{"url":{_quoted(url)},{decision}}}',
        confidence,
        now,
    )


# By the verdict itself, which is one value for all URLs of a rule: to compare its eight parts costs more.
_written: Final[dict[int, tuple[RobotsVerdict, tuple[str, str, str]]]] = {}
_WRITTEN_MOST: Final = 4096


def _write(verdict: RobotsVerdict) -> tuple[str, str, str]:
    """The members of a decision that do not depend on the URL, as JSON without the braces; remembers them."""
    decision = {
        "allowed": verdict.allowed,
        "matchedRule": verdict.rule,
        "crawlDelay": verdict.crawl_delay_seconds,
    }
    detail = {"line": verdict.line_number, "reason": verdict.reason}
    if len(_written) >= _WRITTEN_MOST:
        _written.clear()
    written = _json(decision)[1:-1], _json(detail)[1:-1], str(verdict.confidence)
    _written[id(verdict)] = verdict, written
    return written


def iso_time(seconds: float) -> str:
    """UNIX seconds as evidence shows them: ISO 8601 in UTC, to the millisecond."""
    whole = int(seconds)
    return f"{_iso_second(whole)}.{int((seconds - whole) * 1000):03d}Z"


@lru_cache(maxsize=1024)
def _iso_second(whole: int) -> str:
    return datetime.fromtimestamp(whole, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def taken_down(host: LeasedHost, address: WebAddress, entry: str, now: float) -> Evidence:
    """Evidence that a takedown covers a URL of a leased host."""
    return taken_down_of(host.lease.host_id, address, entry, now)


def taken_down_of(host_id: UUID, address: WebAddress, entry: str, now: float) -> Evidence:
    """Evidence that a takedown covers a URL."""
    return Evidence(
        host_id=host_id,
        url=address.url,
        key=address.key,
        type=EvidenceType.TAKEN_DOWN,
        content={"entry": entry, "reason": f"taken down: {entry}"},
        metadata={"url": address.url, "entry": entry},
        confidence="high",
        at=now,
    )


def left_out_evidence(host: LeasedHost, address: WebAddress, left_out: LeftOut, now: float) -> Evidence:
    """Evidence that a pattern leaves a URL out."""
    pattern, by = left_out.pattern[:1000], "policy" if left_out.is_of_policy else "crawl"
    return Evidence(
        host_id=host.lease.host_id,
        url=address.url,
        key=address.key,
        type=EvidenceType.LEFT_OUT,
        content={"rule": left_out.rule, "pattern": pattern, "by": by, "reason": left_out.reason[:1200]},
        metadata={"url": address.url, "rule": left_out.rule},
        confidence="high",
        at=now,
    )


def is_left_out_kept(host: LeasedHost) -> bool:
    """Whether a URL that a pattern left out, counted just now, is among the first of its host in this run."""
    return host.tally.left_out <= _LEFT_OUT_KEPT


def is_worth_storing(trap: TrapRefusal) -> bool:
    """Whether this is among the first of its kind on its host, which get full evidence."""
    return trap.number <= _TRAPS_KEPT


def is_worth_noting(trap: TrapRefusal) -> bool:
    """Whether it is among those of its kind that are noted in the short form."""
    return trap.number <= _TRAPS_NOTED


def is_denial_kept(host: LeasedHost) -> bool:
    """Whether a link that robots.txt forbids, counted just now, is among the first of its host in this run."""
    return host.tally.refused_by_robots <= host.profile.denials_kept


def trap_evidence(host: LeasedHost, address: WebAddress, trap: TrapRefusal, now: float) -> Evidence:
    """Evidence that a link looks like part of an endless space."""
    return Evidence(
        host_id=host.lease.host_id,
        url=address.url,
        key=address.key,
        type=EvidenceType.TRAP,
        content={"code": str(trap.code), "reason": trap.reason, "pattern": trap.pattern},
        metadata={"url": address.url, "code": str(trap.code)},
        confidence="high",
        at=now,
    )
