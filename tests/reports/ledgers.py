"""Ledgers for tests: an honest one of two hosts, and what both checkers say about a state."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import Any
from uuid import UUID

from sqlalchemy import text, update

from comity.database import ledger, policies, records, runs
from comity.database.tables import domains
from comity.model.gate import DelayInForce, DelaySource
from comity.model.ledger import LedgerNote, LedgerRow, NoteKind, Purpose
from comity.model.outcome import FetchRow
from comity.reports.politeness import LedgerExport, compare_anchors, read_anchor, verify_politeness
from comity.rules.canonical import url_key
from comity.rules.ledger_chain import content_digest
from tests.database.states import BEGINNING, State

ROOT = Path(__file__).parents[2]
ROBOTS = b"User-agent: *\nDisallow: /private\nCrawl-delay: 2\n"
VERSION = content_digest(ROBOTS)
RUN = UUID(int=7)
HOSTS = ("a.example", "b.example")
START = BEGINNING.timestamp()


def script() -> ModuleType:
    """docs/verify_ledger.py, as a stranger has it."""
    spec = importlib.util.spec_from_file_location("verify_ledger", ROOT / "docs/verify_ledger.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def request(host_id: UUID, host: str, number: int, at: float, **changes: Any) -> LedgerRow:
    """A request that broke nothing: two seconds after the one before."""
    row = LedgerRow(
        host_id=host_id,
        host=host,
        lease_token=1,
        request_number=number,
        url=f"https://{host}/{number}",
        purpose=Purpose.PAGE,
        started_at=at,
        ended_at=at + 0.3,
        delay=DelayInForce(2.0, DelaySource.ROBOTS),
        max_concurrency=1,
        policy_interval_ms=1500,
        policy_max_concurrency=1,
        robots_version=VERSION,
        rule_line=None,
        rule=None,
        status=200,
        retry_after_s=None,
        blocked_until=None,
    )
    return row._replace(**changes)


def robots_note(host_id: UUID, host: str, at: float, **changes: Any) -> LedgerNote:
    """robots.txt came into force."""
    detail = '{"access": "parse", "agent": "comitybot", "status": 200}'
    origin = f"https://{host}"
    note = LedgerNote(host_id, host, 1, NoteKind.ROBOTS, origin, VERSION, at, at + 43_200, detail)
    return note._replace(**changes)


def fetch(host_id: UUID, host: str, url: str, at: float) -> FetchRow:
    return FetchRow(host_id, host, url, url_key(url), "fetched", 200, None, at, 0.3, 1000, 1)


def honest(state: State) -> dict[str, UUID]:
    """Two hosts that were crawled politely: robots.txt, eight pages, one of them answered with 429, and two leases."""
    ids = {host: state.add(host, lease_token=2) for host in HOSTS}
    with state.database.write() as connection:
        runs.begin(connection, RUN, door="crawl", holder="me", settings={}, now=BEGINNING)
        ledger.keep_versions(connection, {VERSION: ROBOTS})
        for host, host_id in ids.items():
            values = {"min_request_interval_ms": 1500, "max_concurrency": 1}
            policies.put(connection, host, values, BEGINNING - timedelta(hours=1))
            first = request(
                host_id, host, 1, START, url=f"https://{host}/robots.txt", purpose=Purpose.ROBOTS, robots_version=None
            )
            rows = [first, *(request(host_id, host, number, START + 2.0 * (number - 1)) for number in range(2, 6))]
            asked = START + 8.0 + 0.3 + 30.0
            rows[-1] = rows[-1]._replace(status=429, retry_after_s=30.0, blocked_until=asked)
            rows += [
                request(
                    host_id, host, number, asked + 2.0 * number, lease_token=2, url=f"https://{host}/later/{number}"
                )
                for number in range(1, 5)
            ]
            pages = [row for row in rows if row.purpose is Purpose.PAGE]
            records.add_fetches(connection, RUN, [fetch(host_id, host, row.url, row.started_at) for row in pages])
            ledger.append_notes(connection, [robots_note(host_id, host, START + 0.3)])
            ledger.append_requests(connection, RUN, rows, {host_id: {row.started_at for row in pages}})
            connection.execute(update(domains).where(domains.c.id == host_id).values(last_start_at=BEGINNING))
    return ids


def doctor(state: State, *statements: str) -> None:
    """Change the state as somebody with a SQL prompt would; each statement must change something."""
    with state.database.write() as connection:
        for statement in statements:
            assert connection.execute(text(statement)).rowcount != 0, statement


def spelled(state: State, host_id: UUID) -> str:
    """A host's id as hand-written SQL spells it."""
    return f"'{host_id.hex}'"  # PostgreSQL takes it without dashes, too


@dataclass(frozen=True, slots=True)
class Checked:
    """What Comity and the script say."""

    by_comity: set[str]
    by_script: set[str]


def checked(state: State, folder: Path, anchor: Path | None = None) -> Checked:
    """Run both checkers on a state."""
    audits = list(verify_politeness(state.database))
    if anchor is not None:
        with anchor.open(encoding="utf-8") as lines:
            audits += compare_anchors(state.database, read_anchor(lines))
    file = exported(state, folder / "ledger.jsonl")
    found = script().verify(str(file), str(anchor) if anchor is not None else None)
    return Checked(
        {str(violation.breach) for audit in audits for violation in audit.violations},
        {finding[0] for _host, finding in found},
    )


def exported(state: State, file: Path, host: str | None = None) -> Path:
    with file.open("w", encoding="ascii") as lines:
        lines.writelines(LedgerExport(state.database, host, state.clock.now()).lines())
    return file
