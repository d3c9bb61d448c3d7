"""Migrated states for the tests of the database and of the rooms on it, and a clock that only tests move.

On PostgreSQL the server's clock rules; `State` goes by the test's clock on both databases, so that one test tells one
story on both. What depends on the server's clock is tested with `shared_database`.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Connection, insert, select, update
from sqlalchemy.engine import make_url

from comity.database.all_tables import metadata
from comity.database.connection import Database, open_database
from comity.database.schema import upgrade
from comity.database.tables import domain_frontier, domains
from comity.leases.leases import Leases, LeaseTerms
from comity.model.host import HostStatus, Lease
from comity.rules.canonical import canonical_host, url_key
from tests.servers.postgres import PostgresDatabases

BEGINNING = datetime(2026, 2, 7, 12, tzinfo=UTC)


class MovedClock:
    """A clock that stands still until a test moves it."""

    def __init__(self, now: datetime = BEGINNING) -> None:
        self._now = now

    def seconds(self) -> float:
        return self._now.timestamp()

    def now(self) -> datetime:
        return self._now

    def advance(self, **duration: float) -> None:
        self._now += timedelta(**duration)


WAY_TO = {
    HostStatus.PENDING: (),
    HostStatus.ACTIVE: (HostStatus.ACTIVE,),
    HostStatus.EXHAUSTED: (HostStatus.ACTIVE, HostStatus.EXHAUSTED),
    HostStatus.BLOCKED: (HostStatus.BLOCKED,),
    HostStatus.UNREACHABLE: (HostStatus.UNREACHABLE,),
}


def put_host(connection: Connection, values: dict[str, Any]) -> UUID:
    """Insert a host as pending, and bring it to its status by moves that are legal."""
    rest = dict(values)
    status = HostStatus(rest.pop("status", HostStatus.PENDING))
    key: UUID = connection.execute(insert(domains).values(rest).returning(domains.c.id)).scalar_one()
    for step in WAY_TO[status]:
        connection.execute(update(domains).where(domains.c.id == key).values(status=step))
    return key


@dataclass(slots=True)
class State:
    """An empty, migrated state with the test's clock."""

    database: Database
    clock: MovedClock = field(default_factory=MovedClock)

    def leases(self, holder: str = "", **terms: Any) -> Leases:
        return Leases(self.database, self.clock, LeaseTerms(**terms), holder=holder)

    def add(self, host: str, **columns: Any) -> UUID:
        """Insert a host as it is given; everything else takes its default."""
        values = {"domain": host, "parent_domain": canonical_host(host).parent_domain} | columns
        with self.database.write() as connection:
            return put_host(connection, values)

    def row(self, host: str) -> dict[str, Any]:
        """All columns of a host."""
        with self.database.read() as connection:
            return dict(connection.execute(select(domains).where(domains.c.domain == host)).one()._mapping)

    def queue(self, host: str, *urls: str, state: int = 0, **columns: Any) -> None:
        """Put URLs into a host's frontier."""
        host_id = self.row(host)["id"]
        rows = [{"domain_id": host_id, "url": url, "url_key": url_key(url), "state": state} | columns for url in urls]
        with self.database.write() as connection:
            connection.execute(insert(domain_frontier), rows)

    def urls(self, host: str) -> dict[str, int]:
        """The frontier of a host: each URL with its state."""
        wanted = select(domain_frontier.c.url, domain_frontier.c.state).join(
            domains, domains.c.id == domain_frontier.c.domain_id
        )
        with self.database.read() as connection:
            return {row.url: row.state for row in connection.execute(wanted.where(domains.c.domain == host))}


def names(leases: list[Lease]) -> list[str]:
    """The hosts of leases, in their order."""
    return [lease.host for lease in leases]


@pytest.fixture(scope="session")
def migrated_sqlite_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("migrated") / "state.db"
    database = open_database(path)
    upgrade(database)
    database.close()
    return path


@pytest.fixture(scope="session")
def migrated_template(postgres_server: PostgresDatabases) -> Iterator[str]:
    """The name of a migrated PostgreSQL database to copy: a copy takes less time than a migration."""
    url = postgres_server.create_database()
    database = open_database(url)
    upgrade(database)
    database.close()
    yield make_url(url).database or ""
    postgres_server.drop_database(url)


@pytest.fixture
def migrated_postgres_url(postgres_server: PostgresDatabases, migrated_template: str) -> Iterator[str]:
    """A migrated, empty PostgreSQL database for this test alone."""
    url = postgres_server.create_database(migrated_template)
    yield url
    postgres_server.drop_database(url)


@pytest.fixture(scope="session")
def migrated_postgresql(postgres_server: PostgresDatabases, migrated_template: str) -> Iterator[Database]:
    """One PostgreSQL database for all tests of this process; each finds it empty."""
    url = postgres_server.create_database(migrated_template)
    database = open_database(url, connections=20)
    yield database
    database.close()
    postgres_server.drop_database(url)


# A column with a sequence counts its table as used: its next row would not get the first number.
_USED_SEQUENCES = """
    SELECT owner.relname, seqrelid::regclass::text AS sequence, seqstart FROM pg_sequence
    JOIN pg_depend ON pg_depend.objid = seqrelid AND pg_depend.deptype IN ('a', 'i')
    JOIN pg_class owner ON owner.oid = pg_depend.refobjid AND owner.relkind = 'r'
    WHERE pg_sequence_last_value(seqrelid) IS NOT NULL
"""
_SMALL_BYTES = 128 * 1024


def empty_tables(database: Database) -> None:
    """Empty the tables that were used: looking into all of them takes less time than truncating them.

    To truncate takes 30 ms of processor time, most of it for new files of all tables that refer to one. So the rows of
    small tables are deleted, without triggers. That leaves dead rows: a table that has grown by them is truncated.
    """
    names = sorted(metadata.tables)
    filled = " UNION ALL ".join(f"SELECT '{name}' WHERE EXISTS (SELECT 1 FROM {name})" for name in names)
    with database.write() as connection:
        connection.exec_driver_sql("SET LOCAL lock_timeout = '20s'")  # a test that left a transaction open fails here
        sequences = [row for row in connection.exec_driver_sql(_USED_SEQUENCES) if row.relname in metadata.tables]
        used = sorted({row.relname for row in sequences} | set(connection.exec_driver_sql(filled).scalars()))
        if not used:
            return
        connection.exec_driver_sql(f"LOCK TABLE {', '.join(used)} IN ACCESS EXCLUSIVE MODE")
        sizes = " UNION ALL ".join(f"SELECT '{name}', pg_relation_size('{name}')" for name in used)
        large = [name for name, size in connection.exec_driver_sql(sizes) if size > _SMALL_BYTES]
        if connection.exec_driver_sql("SHOW is_superuser").scalar_one() != "on":  # a server that was named
            large = used
        if large:
            connection.exec_driver_sql(f"TRUNCATE {', '.join(large)} RESTART IDENTITY CASCADE")
        if len(large) < len(used):
            connection.exec_driver_sql("SET LOCAL session_replication_role = replica")
            for name in used:
                connection.exec_driver_sql(f"DELETE FROM {name}")
            for row in sequences:
                connection.exec_driver_sql(f"SELECT setval('{row.sequence}', {row.seqstart}, false)")


@pytest.fixture
def embedded_database(migrated_sqlite_file: Path, tmp_path: Path) -> Iterator[Database]:
    """A migrated SQLite file."""
    path = tmp_path / "state.db"
    shutil.copy(migrated_sqlite_file, path)
    database = open_database(path)
    yield database
    database.close()


@pytest.fixture
def shared_database(migrated_postgresql: Database) -> Iterator[Database]:
    """A migrated, empty PostgreSQL database, whose server's clock rules."""
    yield migrated_postgresql
    migrated_postgresql.is_shared = True
    empty_tables(migrated_postgresql)


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> Database:
    """A migrated database of each kind: the test runs twice."""
    found: Database = request.getfixturevalue("embedded_database" if request.param == "sqlite" else "shared_database")
    return found


@pytest.fixture
def state(database: Database) -> State:
    """A migrated state of each kind that goes by the test's clock."""
    database.is_shared = False
    return State(database)
