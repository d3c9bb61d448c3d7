"""Audit the politeness ledger (complete, unaltered, within the limits in force), and export it.

Each host is read twice, in bounded memory: in the order of its chain, and in the order of its starts.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Iterator
from dataclasses import field
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Connection

from comity.database import ledger, policies, robots
from comity.database.connection import Database
from comity.database.ledger import REQUEST_COLUMNS
from comity.database.types import to_seconds
from comity.model.dataclass import dataclass
from comity.model.errors import BadInput
from comity.model.ledger import Breach, LedgerLine, NoteKind, PolicyEntry, RobotsNote, Violation
from comity.model.wording import counted
from comity.rules.ledger_chain import START, ChainCheck, RequestNumbers, chained, content_digest
from comity.rules.politeness.audit import PolicyLaw, RobotsLaw, audit
from comity.rules.robots.verdict import parsed_part

_BATCH: Final = 5000
_MAX_FINDINGS: Final = 1000
_FORMAT: Final = 1
_NOTE: Final = ("lease_token", "note", "origin", "version", "valid_from", "valid_until", "detail")


@dataclass(frozen=True, slots=True)
class HostAudit:
    """What the check of one host found; `remarks` are worth knowing, but are not violations."""

    host: str
    requests: int
    violations: tuple[Violation, ...]
    remarks: tuple[str, ...] = ()
    digest: str = ""
    """The end of the chain, to be written down and compared later."""


@dataclass(slots=True)
class _Notes:
    """What the notes of a chain record."""

    robots: list[RobotsNote] = field(default_factory=list)
    gaps: list[tuple[int, float, float]] = field(default_factory=list)
    unreported: list[tuple[float, float]] = field(default_factory=list)
    """The windows in which clients may have made requests that they did not report."""


def verify_politeness(database: Database, host: str | None = None) -> Iterator[HostAudit]:
    """Check the ledger host by host; each host is seen as it was at one moment, also while it is crawled."""
    with database.snapshot() as connection:
        ids = ledger.chain_ids(connection, host)
        strays = ledger.stray_rows(connection, _MAX_FINDINGS) if host is None else []
        unledgered = ledger.asked_without_chain(connection, host, _MAX_FINDINGS)
        leased = ledger.leased_without_chain(connection, host, _MAX_FINDINGS)
    for host_id in ids:
        with database.snapshot() as connection:
            chain = ledger.chain(connection, host_id)
            if chain is not None:
                yield _check(connection, chain)
    for row in strays:
        yield _no_chain(row.domain or str(row.domain_id), "its rows exist, but the head of its chain is missing")
    for row in leased:
        since = to_seconds(row.claimed_at or row.unclean_since)
        when = f" since {_format_seconds(since)}" if since is not None else ""
        yield HostAudit(row.domain, 0, (), (f"the host is leased now: requests{when} may not be recorded yet",))
    for row in unledgered:
        yield _no_chain(row.domain, "requests were sent to it, but the ledger has none")


def is_known(database: Database, host: str) -> bool:
    """Whether the state knows a host by this name."""
    with database.read() as connection:
        return ledger.is_known(connection, host)


def _no_chain(host: str, sentence: str) -> HostAudit:
    return HostAudit(host, 0, (Violation(Breach.LEDGER_MISSING, 0, "", None, sentence),))


def _check(connection: Connection, chain: Any) -> HostAudit:
    """Check one chain: that it is whole, then what it says."""
    numbers = RequestNumbers()
    notes = _Notes()
    violations = list(islice(_broken_notes(connection, chain, notes, numbers), _MAX_FINDINGS))
    violations += islice(_broken_requests(connection, chain, numbers), _MAX_FINDINGS)
    violations += _unrecorded(chain, numbers, notes)
    counted = _Counted(_lines(connection, chain.domain_id))
    violations += islice(_misconduct(connection, chain, counted, notes), _MAX_FINDINGS)
    for _line in counted:
        pass  # count the rest, if there are more violations than are shown
    violations += _present(connection, chain)
    if chain.merged_into is None:
        violations += _visits(connection, chain)
    remarks = tuple(_remarks(chain, notes, counted.last))
    return HostAudit(chain.host, counted.number, tuple(violations[:_MAX_FINDINGS]), remarks, chain.request_digest)


def _broken_notes(connection: Connection, chain: Any, notes: _Notes, numbers: RequestNumbers) -> Iterator[Violation]:
    check = ChainCheck(chain.domain_id.hex)
    for row in _batches(connection, ledger.notes_from, chain.domain_id):
        problem = check.row(row.sequence, row.digest, ledger.note_values(row))
        if problem is not None:
            yield _of_note(row, *problem)
        if row.kind == NoteKind.GAP:
            notes.gaps.append((row.lease_token, row.valid_from.timestamp(), row.valid_until.timestamp()))
        elif row.kind == NoteKind.ROBOTS:
            notes.robots.append(_robots_note(row))
        elif row.kind in (NoteKind.UNREPORTED, NoteKind.UNUSED):
            number = _detail(row).get("number")
            if isinstance(number, int):
                numbers.row(row.lease_token, number)
            if row.kind == NoteKind.UNREPORTED:
                notes.unreported.append((row.valid_from.timestamp(), row.valid_until.timestamp()))
    problem = check.end(chain.notes, chain.note_digest)
    if problem is not None:
        yield Violation(problem[0], 0, "", None, f"in the notes, {problem[1]}")


def _of_note(row: Any, breach: Breach, sentence: str) -> Violation:
    return Violation(breach, row.sequence, row.origin or "", row.valid_from.timestamp(), f"in the notes, {sentence}")


def _robots_note(row: Any) -> RobotsNote:
    detail = _detail(row)
    return RobotsNote(
        row.origin or "",
        row.version,
        row.valid_from.timestamp(),
        row.valid_until.timestamp(),
        str(detail.get("access", "")),
        str(detail.get("agent", "")),
    )


def _detail(row: Any) -> dict[str, Any]:
    """The document of a note; if it cannot be read, its digest has shown that it was altered."""
    try:
        detail = json.loads(row.detail)
    except ValueError:
        return {}
    return detail if isinstance(detail, dict) else {}


def _broken_requests(connection: Connection, chain: Any, numbers: RequestNumbers) -> Iterator[Violation]:
    check = ChainCheck(chain.domain_id.hex)
    for row in _batches(connection, ledger.requests_from, chain.domain_id):
        problem = check.row(row.sequence, row.digest, ledger.request_values(row))
        if problem is not None:
            yield Violation(problem[0], row.sequence, row.url, row.started_at.timestamp(), problem[1])
        numbers.row(row.lease_token, row.request_number)
    problem = check.end(chain.requests, chain.request_digest)
    if problem is not None:
        yield Violation(problem[0], 0, "", None, problem[1])


def _unrecorded(chain: Any, numbers: RequestNumbers, notes: _Notes) -> Iterator[Violation]:
    """Requests that are missing from the ledger although their lease was released in order."""
    is_open = chain.claimed_by is not None or chain.unclean_end_at is not None
    excused = {chain.lease_token} if is_open else set()
    for token, count in numbers.missing(excused, [gap[0] for gap in notes.gaps]):
        sentence = f"requests under lease {token} are not in the ledger: {count:,}"
        yield Violation(Breach.REQUEST_UNRECORDED, 0, "", None, sentence)


def _misconduct(connection: Connection, chain: Any, lines: _Counted, notes: _Notes) -> Iterator[Violation]:
    """Requests that broke a rule in force, in the order of their starts."""

    def load(version: str) -> bytes | None:
        return ledger.robots_body(connection, version)

    robots_law, policy_law = RobotsLaw(notes.robots, load), PolicyLaw(_policies(connection, chain))

    def judged() -> Iterator[LedgerLine]:
        for line in lines:
            at_hand.extend(robots_law.check(line))
            at_hand.extend(policy_law.check(line))
            yield line

    at_hand: list[Violation] = []
    for violation in audit(judged()):
        yield from at_hand
        at_hand.clear()
        yield violation
    yield from at_hand


def _policies(connection: Connection, chain: Any) -> list[list[PolicyEntry]]:
    names = [chain.host, *([chain.former_host] if chain.former_host else [])]
    return [
        [
            PolicyEntry(
                row.valid_from.timestamp(),
                None if row.is_deleted else _limits(row),
            )
            for row in ledger.policies_of(connection, name)
        ]
        for name in names
    ]


def _present(connection: Connection, chain: Any) -> Iterator[Violation]:
    """Check that the tables agree with the ends of the ledger and of the histories."""
    if chain.domain is not None and (chain.domain != chain.host or chain.merged_into is not None):
        said = "a merged host" if chain.merged_into is not None else chain.host
        sentence = f"the head of the chain says {said}, and the host's row {chain.domain}"
        yield Violation(Breach.ROW_ALTERED, 0, "", None, sentence)
    history = ledger.policies_of(connection, chain.host)
    policy = policies.get(connection, chain.host)
    last = None if not history or history[-1].is_deleted else _limits(history[-1])
    if (None if policy is None else _limits(policy)) != last:
        yield Violation(Breach.POLICY_MISMATCH, 0, "", None, "the policy is not the last one in its history")
    for row in robots.of_hosts(connection, [chain.host]):
        body = bytes(row.raw) if row.raw is not None else (row.robots_txt or "").encode()
        if row.noted is not None and row.version is not None and content_digest(parsed_part(body)) != row.version:
            sentence = f"the cached robots.txt of {row.origin} was edited after it was read"
            yield Violation(Breach.ROBOTS_ALTERED, 0, row.origin + "/robots.txt", None, sentence)


def _limits(row: Any) -> tuple[int, int]:
    return row.min_request_interval_ms, row.max_concurrency


def _visits(connection: Connection, chain: Any) -> Iterator[Violation]:
    """Compare the ledger with `fetches`, both ways; a merged host into this one left its visits to it."""
    family = [chain.domain_id, *ledger.folded_into(connection, chain.domain_id)]
    visits = ledger.visits_without_request(connection, chain.host, family, _MAX_FINDINGS)
    requests = ledger.requests_without_visit(connection, chain.host, family, _MAX_FINDINGS)
    for row in visits:
        sentence = "the page was stored, but the ledger has no request that started then"
        yield Violation(Breach.FETCH_WITHOUT_REQUEST, 0, row.page_url, row.crawled_at.timestamp(), sentence)
    for row in requests:
        sentence = "the row says that the visit was stored, but it was not"
        yield Violation(Breach.REQUEST_WITHOUT_FETCH, row.sequence, row.url, row.started_at.timestamp(), sentence)


def _remarks(chain: Any, notes: _Notes, last: LedgerLine | None) -> Iterator[str]:
    """What else a reader of the ledger must know: where requests may be missing although the record is intact."""
    delay_s = last.delay_s if last is not None else 0.0
    gaps = [(since, until) for _token, since, until in notes.gaps]
    if chain.claimed_by is None and chain.unclean_end_at is not None:
        until = chain.unclean_end_at.timestamp()
        if not any(gap[1] >= until for gap in gaps):
            gaps.append((_known_since(chain, until), until))
    for since, until in gaps:
        most = f"at most {counted(int((until - since) / delay_s) + 1, 'request')}" if delay_s > 0 else "requests"
        yield (
            f"a lease ended without a release (its process died or was suspended): {most} between "
            f"{_format_seconds(since)} and {_format_seconds(until)} may not be recorded"
        )
    if notes.unreported:
        since, until = min(notes.unreported)[0], max(window[1] for window in notes.unreported)
        yield (
            f"jobs or grants that ran out without a report: {len(notes.unreported):,}; their requests may have been "
            f"made between {_format_seconds(since)} and {_format_seconds(until)}, each in its own window"
        )
    if chain.claimed_by is not None:
        since = _known_since(chain, None)
        yield f"the host is leased now: requests since {_format_seconds(since)} may not be recorded yet"
    if chain.merged_into is not None:
        yield "the host was merged into another one, and its chain ends here"


def _known_since(chain: Any, otherwise: float | None) -> float:
    """The last start that is recorded, or the beginning of the lease, whichever is later."""
    began = chain.claimed_at if chain.claimed_by is not None else chain.unclean_since
    known = [each.timestamp() for each in (began, chain.last_start_at) if each is not None]
    since = max(known, default=otherwise or 0.0)
    return since if otherwise is None else min(since, otherwise)


def _format_seconds(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


class _Counted:
    """Counts the lines that pass through."""

    def __init__(self, lines: Iterator[LedgerLine]) -> None:
        self._lines = lines
        self.number = 0
        self.last: LedgerLine | None = None

    def __iter__(self) -> Iterator[LedgerLine]:
        for line in self._lines:
            self.number += 1
            self.last = line
            yield line


def _batches(connection: Connection, fetch: Any, host_id: UUID) -> Iterator[Any]:
    after: tuple[int, int] | None = None
    while True:
        rows = fetch(connection, host_id, after, _BATCH)
        yield from rows
        if len(rows) < _BATCH:
            return
        after = (rows[-1].sequence, rows[-1].id)


def ledger_line(row: Any) -> LedgerLine:
    """A row of the ledger, for the rules."""
    return LedgerLine(
        number=row.sequence,
        url=row.url,
        lease_token=row.lease_token,
        started_at=row.started_at.timestamp(),
        ended_at=row.ended_at.timestamp(),
        delay_s=row.delay_s,
        max_concurrency=row.max_concurrency,
        rule=row.rule,
        blocked_until=to_seconds(row.blocked_until),
        purpose=row.purpose,
        status=row.status,
        retry_after_s=row.retry_after_s,
        robots_version=row.robots_version,
        rule_line=row.rule_line,
        policy_interval_ms=row.policy_interval_ms,
        policy_max_concurrency=row.policy_max_concurrency,
    )


def _lines(connection: Connection, host_id: UUID) -> Iterator[LedgerLine]:
    return map(ledger_line, ledger.requests_by_start(connection, host_id, _BATCH))


@dataclass(frozen=True, slots=True)
class Anchor:
    """The heads of a host's chains at an earlier moment."""

    host_id: UUID
    host: str
    requests: int
    request_digest: str
    notes: int
    note_digest: str


class LedgerExport:
    """Gives the lines of an export; when they are all read, `digest`, `hosts` and `requests` say what it holds.

    The lines are JSON (docs/ledger.md describes them), and anyone can check them without Comity.
    """

    def __init__(self, database: Database, host: str | None, now: datetime) -> None:
        self._database = database
        self._host = host
        self._now = now
        self.hosts = 0
        self.requests = 0
        self.digest = START
        self._versions: set[str] = set()

    def lines(self) -> Iterator[str]:
        """The whole file, line by line; each host as it was at one moment."""
        yield _line("comity-ledger", format=_FORMAT, exported_at=self._now.strftime("%Y-%m-%dT%H:%M:%SZ"))
        with self._database.snapshot() as connection:
            ids = ledger.chain_ids(connection, self._host)
            strays = [row.domain or str(row.domain_id) for row in ledger.stray_rows(connection, _BATCH)]
            asked = [row.domain for row in ledger.asked_without_chain(connection, self._host, _BATCH)]
        for host_id in ids:
            with self._database.snapshot() as connection:
                chain = ledger.chain(connection, host_id)
                if chain is not None:
                    yield from self._of_host(connection, chain)
        for name in sorted({*(strays if self._host is None else ()), *asked}):
            yield _line("missing", host=name)
        yield _line("end", hosts=self.hosts, requests=self.requests, digest=self.digest)

    def _of_host(self, connection: Connection, chain: Any) -> Iterator[str]:
        self.hosts += 1
        ends = {name: getattr(chain, name) for name in ("requests", "request_digest", "notes", "note_digest")}
        host_id = chain.domain_id.hex
        self.digest = chained(self.digest, (host_id, *ends.values()))
        merged_into = chain.merged_into.hex if chain.merged_into is not None else None
        is_open = chain.claimed_by is not None or chain.unclean_end_at is not None
        open_lease = chain.lease_token if is_open else None
        yield _line("host", id=host_id, host=chain.host, **ends, open_lease=open_lease, merged_into=merged_into)
        for name in dict.fromkeys((chain.host, chain.former_host or chain.host)):
            for row in ledger.policies_of(connection, name):
                limits = None if row.is_deleted else [row.min_request_interval_ms, row.max_concurrency]
                since = ledger.microseconds_of(row.valid_from)
                yield _line("policy", host=name, valid_from=since, limits=limits)
        yield from self._notes(connection, chain.domain_id)
        yield from self._requests(connection, chain.domain_id)
        if chain.merged_into is None:
            yield from _fetches(connection, chain.host)

    def _notes(self, connection: Connection, host_id: UUID) -> Iterator[str]:
        after: tuple[int, int] | None = None
        while rows := ledger.notes_from(connection, host_id, after, _BATCH):
            for row in rows:
                if row.version is not None and row.version not in self._versions:
                    self._versions.add(row.version)
                    body = ledger.robots_body(connection, row.version)
                    if body is not None:
                        yield _line("robots", version=row.version, body=b64encode(body).decode("ascii"))
                values = dict(zip(_NOTE, ledger.note_values(row), strict=True))
                yield _line("note", sequence=row.sequence, digest=row.digest, **values)
            after = (rows[-1].sequence, rows[-1].id)

    def _requests(self, connection: Connection, host_id: UUID) -> Iterator[str]:
        after: tuple[int, int] | None = None
        while rows := ledger.requests_from(connection, host_id, after, _BATCH):
            for row in rows:
                self.requests += 1
                values = dict(zip(REQUEST_COLUMNS, ledger.request_values(row), strict=True))
                yield _line("request", sequence=row.sequence, digest=row.digest, **values)
            after = (rows[-1].sequence, rows[-1].id)


def _fetches(connection: Connection, host: str) -> Iterator[str]:
    after: tuple[Any, int] | None = None
    while rows := ledger.fetches_of_host(connection, host, after, _BATCH):
        for row in rows:
            yield _line("fetch", url=row.page_url, started_at=ledger.microseconds_of(row.crawled_at))
        after = (rows[-1].crawled_at, rows[-1].id)


def read_anchor(lines: Iterable[str]) -> list[Anchor]:
    """The ends of the chains that an earlier export names; raises `BadInput` if the file is not an export."""
    anchors: list[Anchor] = []
    try:
        for number, line in enumerate(lines):
            if number == 0 and json.loads(line).get("kind") != "comity-ledger":
                raise ValueError
            if line.startswith('{"kind":"host"'):
                said = json.loads(line)
                ends = (said["requests"], said["request_digest"], said["notes"], said["note_digest"])
                anchors.append(Anchor(UUID(said["id"]), said["host"], *ends))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise BadInput("the anchor is not an exported ledger") from None
    return anchors


def compare_anchors(database: Database, anchors: Iterable[Anchor]) -> Iterator[HostAudit]:
    """Hosts whose chains do not lead through the ends that an earlier export named.

    A ledger that was rewritten as a whole does not lead to the heads of an earlier export.
    """
    for anchor in anchors:
        with database.read() as connection:
            chains = (
                ("requests", anchor.requests, anchor.request_digest),
                ("notes", anchor.notes, anchor.note_digest),
            )
            for name, count, digest in chains:
                if count and ledger.digest_at(connection, name, anchor.host_id, count) != digest:
                    sentence = f"the first {count:,} {name} are no longer those of the earlier export"
                    yield HostAudit(anchor.host, 0, (Violation(Breach.ANCHOR_MISMATCH, count, "", None, sentence),))


def _line(kind: str, **values: Any) -> str:
    return json.dumps({"kind": kind, **values}, separators=(",", ":")) + "\n"
