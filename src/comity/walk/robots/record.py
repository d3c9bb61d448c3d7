"""robots.txt of one origin, in force and as stored: the row of the cache, the file by its digest, the ledger's note.

All three are written in one transaction, so that the ledger can say which file decided at any moment.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from typing import Any, Final, NamedTuple
from uuid import UUID

from sqlalchemy import Connection

from comity.database import ledger
from comity.database import robots as robots_table
from comity.database.connection import Database
from comity.database.types import from_seconds, to_seconds
from comity.model.dataclass import dataclass
from comity.model.errors import NotFound, Remedy, RemedyCode
from comity.model.fetch import FailureKind, Response
from comity.model.host import HostError, Lease
from comity.model.ledger import LedgerNote, NoteKind
from comity.model.robots import Confidence, RobotsAccess, RobotsReading, RobotsUnreachable, RobotsVerdict
from comity.rules.canonical import WebAddress
from comity.rules.ledger_chain import START, chained, microseconds
from comity.rules.robots.parse import product_token
from comity.rules.robots.verdict import AgentRules, RobotsFile, parse_robots, parsed_part

_READ: Final = (RobotsAccess.PARSE, RobotsAccess.UNCHANGED)
_FAILURES: Final = {str(kind): kind for kind in FailureKind}


@dataclass(frozen=True, slots=True)
class RobotsInForce:
    """Decides about every URL of one origin until it expires.

    The file was read or confirmed, or its absence is judged.
    """

    origin: str
    reading: RobotsReading
    file: RobotsFile | None
    rules: AgentRules | None
    expires_at: float
    version: str | None = field(init=False)
    """The digest of the file that was read."""
    is_unreachable: bool = field(init=False)
    """Whether everything is disallowed only because the file could not be read."""

    def __post_init__(self) -> None:  # read for each page and link, so not methods
        object.__setattr__(self, "version", self.file.version if self.file is not None else None)
        object.__setattr__(self, "is_unreachable", self.reading.access is RobotsAccess.DISALLOW_ALL)

    @property
    def crawl_delay_s(self) -> float | None:
        """The delay between requests that this origin asks for."""
        return self.rules.crawl_delay_seconds if self.rules is not None else None

    @property
    def failure(self) -> HostError | None:
        """Why the file could not be read."""
        if not self.is_unreachable:
            return None
        status, failure = self.reading.http_status, self.reading.failure
        is_answered = failure is None or failure.is_answered
        code = f"http_{status}" if status is not None else str("robots_unreachable" if is_answered else failure)
        sentence = self.reading.reason
        if failure is FailureKind.DNS_FAILURE:
            sentence = "the host's name could not be resolved"
        elif not is_answered and not self.lacks_tls:
            sentence = f"the host could not be reached ({failure})"
        return HostError(code, status, sentence)

    @property
    def lacks_tls(self) -> bool:
        """Whether nothing speaks TLS where the file should be."""
        return self.reading.lacks_tls

    def verdict(self, path: str) -> RobotsVerdict:
        """Decide for a path with its query."""
        if self.rules is not None:
            return self.rules.verdict(path)
        verdict = self.reading.verdict()
        assert verdict is not None
        return verdict


class RobotsRecord(NamedTuple):
    """One reading of robots.txt, ready to be stored."""

    values: dict[str, Any]
    note: LedgerNote
    body: bytes
    is_cached: bool = False
    """Whether the cache row exists and only the note is new."""


class ClientLease(NamedTuple):
    """The lease of a host that a bot or another crawler holds."""

    host_id: UUID
    host: str
    token: int


def record_of(lease: Lease | ClientLease, found: RobotsInForce, agent: str, now: float, body: bytes) -> RobotsRecord:
    """What is stored about a robots.txt that is in force from now on."""
    token = product_token(agent)
    detail = json.dumps({"access": _access(found), "agent": token, "status": found.reading.http_status})
    note = LedgerNote(
        lease.host_id,
        lease.host,
        lease.token,
        NoteKind.ROBOTS,
        found.origin,
        found.version,
        now,
        max(now, found.expires_at),
        detail,
    )
    return RobotsRecord({"origin": found.origin, "noted": noted_as(found, agent)}, note, body)


def noted_as(found: RobotsInForce, agent: str) -> str:
    """A digest of everything that a note puts in force."""
    return chained(START, (found.version, _access(found), product_token(agent), microseconds(found.expires_at)))


def store_robots(connection: Connection, records: Sequence[RobotsRecord]) -> None:
    """Store readings."""
    files = {record.note.version: parsed_part(record.body) for record in records if record.note.version is not None}
    ledger.keep_versions(connection, files)
    for record in records:
        if record.is_cached:
            robots_table.note(connection, record.values["origin"], record.note.version, record.values["noted"])
        else:
            robots_table.put(connection, record.values)
    ledger.append_notes(connection, [record.note for record in records])


class UnstoredRobots:
    """Readings that are in force and not stored yet, in the order in which they came.

    A request may only be recorded after the reading that allowed it: without its note in the ledger, the request would
    look like a violation. So a reading stays here until its transaction is committed. The event loop adds readings,
    and the database thread alone takes them away.
    """

    __slots__ = ("_count", "_records")

    def __init__(self) -> None:
        self._records: dict[int, RobotsRecord] = {}
        self._count = 0

    def __bool__(self) -> bool:
        """Whether any reading has to be stored."""
        return bool(self._records)

    def add(self, record: RobotsRecord) -> int:
        """Keep a reading until it is stored; returns its number."""
        self._count += 1
        self._records[self._count] = record
        return self._count

    def drop(self, number: int) -> None:
        """Forget a reading that allowed nothing, because it could not be stored."""
        self._records.pop(number, None)

    @contextmanager
    def stored_first(self, database: Database) -> Iterator[Connection]:
        """A transaction that begins by storing them."""
        records = list(self._records.items())
        with database.write() as connection:
            if records:
                store_robots(connection, [record for _number, record in records])
            yield connection
        for number, _record in records:
            self._records.pop(number, None)


def _access(found: RobotsInForce) -> str:
    access = found.reading.access
    return str(RobotsAccess.PARSE if access is RobotsAccess.UNCHANGED else access)


def robots_from_row(
    row: Any, agent: str, unreachable: RobotsUnreachable, file: RobotsFile | None = None
) -> RobotsInForce:
    """Read a row of the cache, with the operator's present choice for files that could not be read.

    A `file` that was parsed before need not be read again.
    """
    access = RobotsAccess(row.access)
    reading = RobotsReading(
        access,
        Confidence.HIGH,
        row.detail or "robots.txt from the cache",
        row.http_status,
        _FAILURES.get(row.failure),
        row.lacks_tls,
    )
    if is_unread(reading):
        allowed = unreachable is RobotsUnreachable.ALLOW
        access = RobotsAccess.ALLOW_ALL if allowed else RobotsAccess.DISALLOW_ALL
        reading = replace(reading, access=access, confidence=Confidence.LOW if allowed else Confidence.HIGH)
    # Named by its content, not by the row's version: the row may have been edited.
    if access is not RobotsAccess.PARSE:
        file = None
    elif file is None:
        file = parse_robots(robots_body(row))
    rules = file.for_agent(agent) if file is not None else None
    return RobotsInForce(row.origin, reading, file, rules, to_seconds(row.expires_at) or 0.0)


def robots_body(row: Any) -> bytes:
    """The file as it came, from a row of the cache."""
    return bytes(row.raw) if row.raw is not None else (row.robots_txt or "").encode()


def is_unread(reading: RobotsReading) -> bool:
    """Whether the file could not be read, whatever that means for the site (RFC 9309 §2.3.1.4)."""
    status = reading.http_status
    return reading.access not in _READ and (status is None or status == 429 or status >= 500)


def cache_values(host: str, found: RobotsInForce, response: Response | None, row: Any, now: float) -> dict[str, Any]:
    """The cache row; a copy that was confirmed only gets a new date."""
    unchanged = found.reading.access is RobotsAccess.UNCHANGED
    body = robots_body(row) if unchanged else (response.body if found.file is not None and response else None)
    text = _text(body) if body is not None else None
    delay = found.crawl_delay_s
    return {
        "origin": found.origin,
        "host": host,
        "robots_txt": text if text is not None or body is None else body.decode("utf-8", "replace").replace("\0", "�"),
        "raw": None if text is not None else body,
        "fetched_at": from_seconds(now),
        "expires_at": from_seconds(found.expires_at),
        "crawl_delay_ms": round(delay * 1000) if delay is not None else None,
        "disallow": list(found.rules.disallowed()) if found.rules is not None else None,
        "access": str(RobotsAccess.PARSE if unchanged else found.reading.access),
        "http_status": found.reading.http_status,
        "version": found.version,
        "etag": (response.headers.get("etag") if response else None) or (row.etag if unchanged else None),
        "last_modified": (response.headers.get("last-modified") if response else None)
        or (row.last_modified if unchanged else None),
        "detail": found.reading.reason,
        "failure": str(found.reading.failure) if found.reading.failure is not None else None,
        "lacks_tls": found.reading.lacks_tls,
    }


def _text(body: bytes) -> str | None:
    """The bytes as text, if text holds them exactly (PostgreSQL takes no NUL)."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def cached_robots(database: Database, address: WebAddress, agent: str, unreachable: RobotsUnreachable) -> RobotsInForce:
    """The robots.txt of an address's origin as last read; raises `NotFound` if it never was."""
    with database.read() as connection:
        row = robots_table.get(connection, address.origin)
    if row is None:
        raise NotFound(
            f"the robots.txt of {address.origin} has not been read yet",
            remedy=Remedy(RemedyCode.READ_ROBOTS, address.url),
        )
    return robots_from_row(row, agent, unreachable)
