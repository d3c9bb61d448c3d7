"""Why a URL was, or was not, fetched: every decision about it, from the takedown list to the lease.

Nothing is asked of the site: what the state knows is read, and the same rules are applied to it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from comity.clock import Clock
from comity.database import frontier, hosts, images, policies, records, takedowns
from comity.database import robots as robots_table
from comity.database.connection import Database
from comity.database.tables import DONE, DROPPED, QUEUED, TOO_DEEP
from comity.model.evidence import EvidenceType
from comity.model.host import HostStatus
from comity.model.robots import RobotsAccess
from comity.rules.canonical import WebAddress
from comity.rules.robots import parse_robots
from comity.rules.takedown import Takedowns

Find = Callable[[Collection[UUID], int], Any]

_STATES: Final = {QUEUED: "queued", DONE: "done", DROPPED: "dropped", TOO_DEEP: "kept, too deep to be followed"}


@dataclass(frozen=True, slots=True)
class Finding:
    """One question that stands between a URL and its fetch, and how it is answered now."""

    question: str
    verdict: str  # yes: it lets the URL pass; no: it does not; wait: not yet; unknown
    sentence: str


@dataclass(frozen=True, slots=True)
class UrlHistory:
    """What happened to a URL so far."""

    at: datetime
    what: str
    detail: str | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything that can be said about one URL."""

    url: str
    host: str
    would_be_fetched: bool
    conclusion: str
    findings: tuple[Finding, ...]
    history: tuple[UrlHistory, ...]


def explain(database: Database, clock: Clock, address: WebAddress, agent: str, find: Find | None = None) -> Explanation:
    """Ask every rule about a URL, in the order in which a visit would.

    `find` looks the URL up in the frontier, where that is not in the database.
    """
    now = clock.now()
    with database.read() as connection:
        host = hosts.get(connection, address.host)
    entry = find([host.id], address.key) if find is not None and host is not None else None
    with database.read() as connection:
        if find is None and host is not None:
            entry = frontier.find(connection, [host.id], address.key)
        fetched = list(records.fetches_of(connection, address.key))
        evidence = list(records.evidence_of(connection, address.key))
        findings = [
            _takedown(Takedowns.of(row.domain_or_url for row in takedowns.entries(connection)), address),
            _known(host, address),
            *_status(host, now),
            _robots(robots_table.get(connection, address.origin), address, agent, now),
            _policy(policies.get(connection, address.host)),
            *_gate(host, now),
            *(_trap(evidence, fetched) or _queue(entry, now)),
            *_budget(host, entry, records.last_budget(connection, host.id) if host is not None else None),
        ]
        image = images.find(connection, host.id, address.key) if host is not None else None
        history = _history(fetched, evidence, image)
    against = [finding for word in ("no", "wait") for finding in findings if finding.verdict == word]
    unknown = [finding for finding in findings if finding.verdict == "unknown"]
    if against:
        conclusion = against[0].sentence
    elif unknown:
        conclusion = f"Nothing is known that stands against it. {unknown[0].sentence}"
    else:
        conclusion = "Nothing stands against it: the next crawl of its host fetches it."
    return Explanation(address.url, address.host, not against, conclusion, tuple(findings), tuple(history))


def _takedown(entries: Takedowns, address: WebAddress) -> Finding:
    covered = entries.covering(address)
    if covered is None:
        return Finding("takedown", "yes", "No takedown covers it.")
    return Finding("takedown", "no", f"It is taken down by the entry {covered}.")


def _known(host: Any, address: WebAddress) -> Finding:
    if host is None:
        return Finding("host", "unknown", f"{address.host} is not known here; `comity seeds add` makes it known.")
    if not host.is_seeded:
        return Finding("host", "no", f"{host.domain} was only touched by {host.source}; it was never seeded.")
    return Finding("host", "yes", f"{host.domain} was seeded ({host.source or 'no source noted'}).")


def _status(host: Any, now: datetime) -> list[Finding]:
    if host is None:
        return []
    status, due_at = host.status, host.next_crawl_after
    when = f"{due_at:%Y-%m-%d %H:%M} UTC" if due_at else "never by itself"
    findings = []
    if status in (HostStatus.BLOCKED, HostStatus.UNREACHABLE):
        reason = host.block_reason or host.block_reason_code or "no reason noted"
        over = due_at is not None and due_at <= now
        verdict = "yes" if over else "wait"
        findings.append(Finding("cooldown", verdict, f"The host is {status} ({reason}); it is tried again {when}."))
    elif status is HostStatus.EXHAUSTED:
        findings.append(Finding("status", "wait", f"Everything found on the host was crawled; it is due again {when}."))
    else:
        findings.append(Finding("status", "yes", f"The host is {status}."))
    if host.claimed_by is not None and host.claim_expires_at > now:
        until = f"{host.claim_expires_at:%H:%M:%S} UTC"
        findings.append(
            Finding("lease", "yes", f"{host.claimed_by} holds the lease (token {host.lease_token}) until {until}.")
        )
    else:
        findings.append(Finding("lease", "yes", f"Nobody holds the lease; the last token was {host.lease_token}."))
    return findings


def _robots(row: Any, address: WebAddress, agent: str, now: datetime) -> Finding:
    if row is None:
        return Finding(
            "robots", "unknown", f"robots.txt of {address.origin} was never read; it is read before any request."
        )
    age = "" if row.expires_at is None or row.expires_at > now else " (due to be read again)"
    access = RobotsAccess(row.access)
    if access is RobotsAccess.PARSE:
        body = bytes(row.raw) if row.raw is not None else (row.robots_txt or "").encode()
        verdict = parse_robots(body, version=row.version).verdict(agent, address.path)
        word = "allows" if verdict.allowed else "forbids"
        return Finding("robots", "yes" if verdict.allowed else "no", f"robots.txt {word} it: {verdict.reason}{age}.")
    allowed = access is RobotsAccess.ALLOW_ALL
    return Finding("robots", "yes" if allowed else "no", f"{row.detail}{age}.")


def _policy(row: Any) -> Finding:
    if row is None:
        return Finding("policy", "yes", "No operator's policy; the door's own manners apply.")
    return Finding(
        "policy",
        "yes",
        f"An operator's policy: at least {row.min_request_interval_ms} ms between requests, "
        f"{row.max_concurrency} at once, {row.max_kb_per_page} kB a page.",
    )


def _gate(host: Any, now: datetime) -> list[Finding]:
    if host is None:
        return []
    if host.blocked_until is not None and host.blocked_until > now:
        until = f"{host.blocked_until:%Y-%m-%d %H:%M:%S} UTC"
        return [Finding("block", "wait", f"The host asked for patience until {until}.")]
    return [Finding("block", "yes", "The host has not asked for patience.")]


def _trap(evidence: Sequence[Any], fetched: Sequence[Any]) -> list[Finding]:
    """Whether the URL was last met as one of endlessly many; it may be queued as done then, but nobody visited it."""
    said = [row for row in evidence if row.type == EvidenceType.TRAP]
    if not said:
        return []
    last = max(said, key=lambda row: row.created_at)
    if any(row.crawled_at >= last.created_at for row in fetched):
        return []
    sentence = f"It looks like one of endlessly many ({last.content['code']}): {last.content['reason']}."
    return [Finding("trap", "no", sentence)]


def _queue(entry: Any, now: datetime) -> list[Finding]:
    if entry is None:
        return [Finding("frontier", "unknown", "It was never found by a crawl; a crawl that begins there queues it.")]
    state = _STATES[entry.state]
    if entry.state == DONE:
        return [Finding("duplicate", "no", "It was visited already and is not visited twice in one crawl.")]
    if entry.state == DROPPED:
        return [Finding("frontier", "no", "It was dropped from the queue; see the history.")]
    if entry.not_before is not None and entry.not_before > now:
        return [
            Finding(
                "retry", "wait", f"It is tried again at {entry.not_before:%H:%M:%S} UTC (try {entry.attempts + 1})."
            )
        ]
    return [Finding("frontier", "yes", f"It is {state}, {entry.depth} steps from a seed.")]


def _budget(host: Any, entry: Any, spent: Any) -> list[Finding]:
    if host is None or spent is None or entry is None or entry.state != QUEUED:
        return []
    return [Finding("budget", "wait", f"{spent.content['reason']} The next run goes on from there.")]


def _history(fetched: Any, evidence: Any, image: Any) -> list[UrlHistory]:
    visits = [
        UrlHistory(row.crawled_at, row.outcome, row.error or (f"HTTP {row.status}" if row.status else None))
        for row in fetched
    ]
    if image is not None and image.asked_at is not None:
        visits.append(UrlHistory(image.asked_at, "image", image.error or f"HTTP {image.status}"))
    decisions = [UrlHistory(row.created_at, row.type, _said(row.content, row.confidence)) for row in evidence]
    return sorted(decisions + visits, key=lambda event: event.at)  # of the same moment, what was decided comes first


def _said(content: dict[str, Any], confidence: str) -> str:
    doubt = "" if confidence == "high" else f" ({confidence} confidence)"
    for key in ("reason", "said", "matchedRule"):
        if content.get(key):
            value = content[key]
            return ("; ".join(value) if isinstance(value, list) else str(value)) + doubt
    return doubt.strip()
