"""The ledger as a file that anyone can check without Comity: JSON lines (docs/ledger.md describes them).

The heads of an earlier export serve as an anchor: a ledger that was rewritten as a whole does not lead to them.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Connection

from comity.database.connection import Database
from comity.database.ledger import reading
from comity.database.ledger.ledger import REQUEST_COLUMNS
from comity.model.errors import BadInput
from comity.model.ledger import Breach, Violation
from comity.reports.politeness import HostAudit
from comity.rules.ledger_chain import START, chained

FORMAT: Final = 1
_BATCH: Final = 5000
_NOTE: Final = ("lease_token", "note", "origin", "version", "valid_from", "valid_until", "detail")


@dataclass(frozen=True, slots=True)
class Anchor:
    """The ends of a host's chains at an earlier moment."""

    host_id: UUID
    host: str
    requests: int
    request_digest: str
    notes: int
    note_digest: str


class LedgerExport:
    """Gives the lines of an export; when they are all read, `digest`, `hosts` and `requests` say what it holds."""

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
        yield _line("comity-ledger", format=FORMAT, exported_at=self._now.strftime("%Y-%m-%dT%H:%M:%SZ"))
        with self._database.snapshot() as connection:
            ids = reading.chain_ids(connection, self._host)
            strays = [row.domain or str(row.domain_id) for row in reading.stray_rows(connection, _BATCH)]
            asked = [row.domain for row in reading.asked_without_chain(connection, self._host, _BATCH)]
        for host_id in ids:
            with self._database.snapshot() as connection:
                chain = reading.chain(connection, host_id)
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
            for row in reading.policies_of(connection, name):
                limits = None if row.is_deleted else [row.min_request_interval_ms, row.max_concurrency]
                since = reading.microseconds_of(row.valid_from)
                yield _line("policy", host=name, valid_from=since, limits=limits)
        yield from self._notes(connection, chain.domain_id)
        yield from self._requests(connection, chain.domain_id)
        if chain.merged_into is None:
            yield from _fetches(connection, chain.host)

    def _notes(self, connection: Connection, host_id: UUID) -> Iterator[str]:
        after: tuple[int, int] | None = None
        while rows := reading.notes_from(connection, host_id, after, _BATCH):
            for row in rows:
                if row.version is not None and row.version not in self._versions:
                    self._versions.add(row.version)
                    body = reading.robots_body(connection, row.version)
                    if body is not None:
                        yield _line("robots", version=row.version, body=b64encode(body).decode("ascii"))
                values = dict(zip(_NOTE, reading.note_values(row), strict=True))
                yield _line("note", sequence=row.sequence, digest=row.digest, **values)
            after = (rows[-1].sequence, rows[-1].id)

    def _requests(self, connection: Connection, host_id: UUID) -> Iterator[str]:
        after: tuple[int, int] | None = None
        while rows := reading.requests_from(connection, host_id, after, _BATCH):
            for row in rows:
                self.requests += 1
                values = dict(zip(REQUEST_COLUMNS, reading.request_values(row), strict=True))
                yield _line("request", sequence=row.sequence, digest=row.digest, **values)
            after = (rows[-1].sequence, rows[-1].id)


def _fetches(connection: Connection, host: str) -> Iterator[str]:
    after: tuple[Any, int] | None = None
    while rows := reading.fetches_of_host(connection, host, after, _BATCH):
        for row in rows:
            yield _line("fetch", url=row.page_url, started_at=reading.microseconds_of(row.crawled_at))
        after = (rows[-1].crawled_at, rows[-1].id)


def read_anchor(lines: Iterable[str]) -> list[Anchor]:
    """The ends of the chains that an earlier export names; `BadInput` if it is none."""
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
    """Hosts whose chains do not lead through the ends that an earlier export named."""
    for anchor in anchors:
        with database.read() as connection:
            chains = (
                ("requests", anchor.requests, anchor.request_digest),
                ("notes", anchor.notes, anchor.note_digest),
            )
            for name, count, digest in chains:
                if count and reading.digest_at(connection, name, anchor.host_id, count) != digest:
                    sentence = f"the first {count:,} {name} are no longer those of the earlier export"
                    yield HostAudit(anchor.host, 0, (Violation(Breach.ANCHOR_MISMATCH, count, "", None, sentence),))


def _line(kind: str, **values: Any) -> str:
    return json.dumps({"kind": kind, **values}, separators=(",", ":")) + "\n"
