"""The record of URLs that were not queued says what a dictionary would say, and keeps that of development versions."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Connection, delete, insert, select, text, update

from comity.database import schema
from comity.database.connection import Database, open_database
from comity.database.frontier import older_unqueued, unqueued
from comity.database.frontier.notes import (
    URL_CHARACTERS,
    Note,
    compressor,
    note_of,
    notes_in,
    packed_details,
    packed_keys,
)
from comity.database.frontier.unqueued import Earlier, HostUnqueued
from comity.database.tables import domains
from comity.model.errors import Remedy, RemedyCode, SchemaMismatch
from comity.model.frontier import FoundBy, Unqueued, UnqueuedCode
from comity.rules.canonical import WebAddress, web_address
from tests.database.test_migrations import described
from tests.sizes import sized

AT = 1_800_000_000
BOUNDS = (30, 1000)  # that hosts reach, and that they do not
OLDER_TABLE = {
    "sqlite": """
        CREATE TABLE unqueued_urls (
            url_key BIGINT NOT NULL, domain_id CHAR(32) NOT NULL, url VARCHAR(60) NOT NULL, code VARCHAR(20) NOT NULL,
            found_by SMALLINT DEFAULT 0 NOT NULL, found_on BIGINT DEFAULT 0 NOT NULL, seen_at BIGINT NOT NULL,
            CONSTRAINT pk_unqueued_urls PRIMARY KEY (url_key, domain_id),
            CONSTRAINT fk_unqueued_urls_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE CASCADE
        ) WITHOUT ROWID""",
    "postgresql": """
        CREATE TABLE unqueued_urls (
            url_key BIGINT NOT NULL, domain_id UUID NOT NULL, url VARCHAR(60) NOT NULL, code VARCHAR(20) NOT NULL,
            found_by SMALLINT DEFAULT 0 NOT NULL, found_on BIGINT DEFAULT 0 NOT NULL, seen_at BIGINT NOT NULL,
            CONSTRAINT pk_unqueued_urls PRIMARY KEY (url_key, domain_id),
            CONSTRAINT fk_unqueued_urls_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE CASCADE
        )""",
}


def address(number: int) -> WebAddress:
    return web_address(f"https://host-{number % 7}.example/a/path/as/long/as/they/are/{number}.html")


class Known(NamedTuple):
    code: str
    found_by: int
    found_on: int
    seen_at: int


class Model:
    """The same in dictionaries: what hosts have on record, and the two counts of each."""

    def __init__(self, bound: int) -> None:
        self.bound = bound
        self.notes: dict[UUID, dict[int, Known]] = {}
        self.counts: dict[UUID, tuple[int, int]] = {}

    def put(self, hosts: list[HostUnqueued], at: int) -> None:
        for host_id, seen, unrecorded, _lease in hosts:
            notes, (recorded, more) = self.notes[host_id], self.counts[host_id]
            room = self.bound - recorded
            for each in {each.key: each for each in seen}.values():
                before = notes.get(each.key)
                if before is None and room <= 0:
                    more += 1
                elif before is None or before.code != each.code:
                    notes[each.key] = Known(each.code, each.found_by, each.found_on, at)
                    room, recorded = (room - 1, recorded + 1) if before is None else (room, recorded)
            self.counts[host_id] = (recorded, more + unrecorded)

    def move(self, from_host: UUID, to_host: UUID) -> None:
        self.notes[to_host] = self.notes.pop(from_host) | self.notes[to_host]
        ours, theirs = self.counts[to_host], self.counts.pop(from_host)
        self.counts[to_host] = (ours[0] + theirs[0], ours[1] + theirs[1])


class Play:
    """A random play on a database and on the model."""

    def __init__(self, connection: Connection, chance: Random, bound: int) -> None:
        self.connection = connection
        self.chance = chance
        self.model = Model(bound)
        self.earlier = Earlier(most=chance.choice([1, 150, 10_000]))
        self.leases: dict[UUID, tuple[int, set[int]]] = {}  # the tokens in force, and what came under them
        self.at = AT
        for _host in range(4):
            self.add_host()

    def add_host(self) -> None:
        host_id = uuid4()
        self.connection.execute(insert(domains).values(id=host_id, domain=f"{host_id.hex}.example"))
        self.model.notes[host_id], self.model.counts[host_id] = {}, (0, 0)
        self.leases[host_id] = (1, set())

    def step(self) -> None:
        self.at += self.chance.choice([0, 1, 60])
        what = self.chance.random()
        hosts = list(self.model.notes)
        if what < 0.8:
            self.put(self.chance.sample(hosts, self.chance.randint(1, len(hosts))))
        elif what < 0.9:
            host_id = self.chance.choice(hosts)
            self.leases[host_id] = (self.leases[host_id][0] + 1, set())
        elif what < 0.95:
            gone, kept = self.chance.sample(hosts, 2)
            unqueued.move(self.connection, gone, kept)
            self.model.move(gone, kept)
            recorded, more = self.model.counts[kept]
            values = {"unqueued_recorded": recorded, "unqueued_unrecorded": more}
            self.connection.execute(update(domains).where(domains.c.id == kept).values(**values))
            self.delete(gone)
            self.leases[kept] = (self.leases[kept][0] + 1, set())  # a host that is leased is not merged
        else:
            gone = self.chance.choice(hosts)
            del self.model.notes[gone], self.model.counts[gone]
            self.delete(gone)

    def delete(self, host_id: UUID) -> None:
        self.connection.execute(delete(domains).where(domains.c.id == host_id))
        self.add_host()

    def put(self, chosen: list[UUID]) -> None:
        batch = [self.batch_of(host_id) for host_id in chosen]
        is_rolled_back = self.chance.random() < 0.2
        with self.connection.begin_nested() as attempt:
            unqueued.put(self.connection, batch, self.at + 0.5, self.earlier)
            if is_rolled_back:  # the same batch comes again
                attempt.rollback()
        if is_rolled_back:
            unqueued.put(self.connection, batch, self.at + 0.5, self.earlier)
        self.model.put(batch, self.at)

    def batch_of(self, host_id: UUID) -> HostUnqueued:
        token, came = self.leases[host_id]
        is_apart = self.chance.random() < 0.2  # without a lease whatever may come
        most = self.chance.choice([2, 10, 40])
        numbers = [number for _each in range(most) if (number := self.chance.randrange(120)) not in came or is_apart]
        seen = [self.seen(number) for number in (numbers if is_apart else dict.fromkeys(numbers))]
        came.update(numbers)
        return HostUnqueued(host_id, seen, self.chance.choice([0, 0, 3]), 0 if is_apart else token)

    def seen(self, number: int) -> Unqueued:
        found = address(number)
        code = self.chance.choice([UnqueuedCode.OTHER_HOST, UnqueuedCode.OTHER_HOST, *UnqueuedCode])
        on = self.chance.choice([0, -5, 2**63 - 1])
        return Unqueued(found.url, found.key, code, self.chance.choice(list(FoundBy)), on)

    def assert_same(self) -> None:
        for host_id, wanted in self.model.notes.items():
            notes = list(unqueued.of_host(self.connection, host_id))
            assert {note.key: Known(*note[2:]) for note in notes} == wanted
            assert len(notes) == len(wanted)
        columns = (domains.c.id, domains.c.unqueued_recorded, domains.c.unqueued_unrecorded)
        rows = self.connection.execute(select(*columns)).all()
        assert {row[0]: tuple(row[1:]) for row in rows} == self.model.counts
        for number in range(125):
            key = address(number).key
            sightings = unqueued.of_url(self.connection, key)
            found = {each.domain_id: Known(*each[2:]) for each in sightings}
            assert found == {host_id: notes[key] for host_id, notes in self.model.notes.items() if key in notes}
            assert [each.seen_at for each in sightings] == sorted((each.seen_at for each in sightings), reverse=True)
            assert len(found) == len(sightings)


@pytest.mark.parametrize("seed", range(sized(6, 60)))
def test_it_says_what_a_dictionary_says(database: Database, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    bound = BOUNDS[seed % 2]
    monkeypatch.setattr(unqueued, "MOST_PER_HOST", bound)
    with database.write() as connection:
        play = Play(connection, Random(seed), bound)
        for step in range(60):
            play.step()
            if step % 15 == 14:
                play.assert_same()
        assert sum(map(len, play.model.notes.values())) > 0


def test_of_many_sightings_the_newest_are_given(database: Database) -> None:
    found, ids = address(1), [uuid4() for _host in range(130)]
    with database.write() as connection:
        for number, host_id in enumerate(ids):
            connection.execute(insert(domains).values(id=host_id, domain=f"{number}.example"))
            seen = [Unqueued(found.url, found.key, UnqueuedCode.OTHER_HOST, FoundBy.LINK, 1)]
            unqueued.put(connection, [HostUnqueued(host_id, seen)], AT + number)
        sightings = unqueued.of_url(connection, found.key, 20)
    assert [each.domain for each in sightings] == [f"{number}.example" for number in range(129, 109, -1)]


def test_a_row_is_what_was_put_into_it() -> None:
    chance = Random(5)
    for size in (1, 2, 3, 500, 10_000):
        for codes in (["robots"], ["trap", "other_host", "nofollow_page"]):
            notes = [
                Note(
                    f"https://example.org/{chance.random()}"[:URL_CHARACTERS],
                    chance.randrange(-(2**63), 2**63),
                    chance.choice(codes),
                    chance.choice([2, 3]),
                    chance.choice([0, -(2**63), 2**63 - 1]),
                    AT + chance.choice([0, len(codes)]),
                )
                for _note in range(size)
            ]
            urls, keys, *rest = zip(*notes, strict=True)
            row = packed_keys(keys), packed_details((urls, *rest), compressor())
            assert notes_in(*row) == notes
            assert [note_of(note.key, *row) for note in notes[:50]] == notes[:50]
            assert note_of(next(key for key in range(size + 1) if key not in keys), *row) is None


Rows = dict[UUID, dict[int, tuple[Any, ...]]]


@pytest.fixture
def older(database_url: str) -> Iterator[tuple[Database, Rows]]:
    """A state that a development version made, and its rows by host and key."""
    database = open_database(database_url)
    schema.upgrade(database)
    yield database, made_older(database)
    database.close()


def made_older(database: Database) -> Rows:
    chance = Random(11)
    rows: Rows = {}
    with database.write() as connection:
        connection.execute(text("DROP TABLE unqueued_notes"))
        connection.execute(text("DROP TABLE unqueued_keys"))
        connection.execute(text(OLDER_TABLE[connection.dialect.name]))
        statement = text("INSERT INTO unqueued_urls VALUES (:key, :host, :url, :code, :found_by, :found_on, :seen_at)")
        for host in range(5):
            host_id = uuid4()
            connection.execute(
                insert(domains).values(id=host_id, domain=f"{host}.example", unqueued_recorded=40 if host else 0)
            )
            numbers = chance.sample(range(100), 40 if host else 0)
            rows[host_id] = {
                address(number).key: (
                    address(number).url[:60],
                    chance.choice(["robots", "other_host"]),
                    int(FoundBy.LINK),
                    chance.choice([0, -7]),
                    AT + chance.randrange(3),
                )
                for number in numbers
            }
            for key, (url, code, found_by, found_on, seen_at) in rows[host_id].items():
                values = {"key": key, "url": url, "code": code, "found_by": found_by, "found_on": found_on}
                is_shared = connection.dialect.name == "postgresql"
                values |= {"seen_at": seen_at, "host": host_id if is_shared else host_id.hex}
                connection.execute(statement, values)
    return rows


@pytest.mark.parametrize("at_once", [1, 7, 50_000])
def test_what_a_development_version_recorded_is_taken_over(
    older: tuple[Database, Rows], monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    database, recorded = older
    monkeypatch.setattr(older_unqueued, "_AT_ONCE", at_once)
    if database.is_shared:  # workers of another age may use it: an operator decides when
        with pytest.raises(SchemaMismatch, match="kept its notes on URLs in another table") as refused:
            schema.ensure_current(database)
        assert refused.value.remedy == Remedy(RemedyCode.UPGRADE_SCHEMA)
        schema.upgrade(database)
    schema.ensure_current(database)
    schema.ensure_current(database)
    with database.read() as connection:
        for host_id, rows in recorded.items():
            notes = list(unqueued.of_host(connection, host_id))
            assert {note.key: (note.url, *note[2:]) for note in notes} == rows
            assert len(notes) == len(rows)
            for key, row in rows.items():
                (sighting,) = (each for each in unqueued.of_url(connection, key) if each.domain_id == host_id)
                assert sighting[2:] == row[1:]
        assert not [name for name in described(connection) if "unqueued_urls" in name]
    host_id = next(reversed(recorded))
    known = next(iter(recorded[host_id]))
    with database.write() as connection:  # and goes on from there
        new = address(500)
        seen = [Unqueued("", known, UnqueuedCode.TRAP, FoundBy.LINK, 1)]
        seen += [Unqueued(new.url, new.key, UnqueuedCode.TRAP, FoundBy.LINK, 1)]
        unqueued.put(connection, [HostUnqueued(host_id, seen, 0, 3)], AT + 60, Earlier())
        codes = {note.key: note.code for note in unqueued.of_host(connection, host_id)}
        assert (len(codes), codes[known], codes[new.key]) == (41, "trap", "trap")
        count = connection.execute(select(domains.c.unqueued_recorded).where(domains.c.id == host_id)).scalar_one()
        assert count == 41


def test_a_development_state_whose_other_columns_do_not_fit_is_left_as_it_is(
    older: tuple[Database, Rows],
) -> None:
    database, recorded = older
    with database.write() as connection:
        connection.execute(text("ALTER TABLE sitemaps RENAME COLUMN status TO former"))
    with pytest.raises(SchemaMismatch, match=r"it lacks sitemaps\.status"):
        schema.upgrade(database)
    with database.read() as connection:
        count = connection.execute(text("SELECT count(*) FROM unqueued_urls")).scalar_one()
    assert count == sum(map(len, recorded.values()))


def test_a_development_state_can_be_emptied(older: tuple[Database, Rows]) -> None:
    database, _recorded = older
    assert schema.downgrade(database, "base") is None
    assert schema.upgrade(database) == schema.HEAD
