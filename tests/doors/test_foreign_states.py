"""`--state` at something that is not ours: refused by every command, in one line with its path, and left as it is."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sqlite3
from pathlib import Path

import psycopg
import pytest

from comity.database.connection import open_database
from comity.database.schema import ensure_current, upgrade
from comity.model.errors import BadInput
from tests.doors.command_line import CommandLine
from tests.servers.postgres import conninfo

COMMANDS = [
    ["status"],
    ["domains", "list"],
    ["domains", "info", "example.com"],
    ["domains", "reset", "example.com"],
    ["why", "https://example.com/"],
    ["verify-politeness"],
    ["seeds", "add", "example.com"],
    ["policy", "set", "example.com", "--max-pages", "3"],
    ["takedown", "add", "example.com"],
    ["takedown", "list"],
    ["sources", "list"],
    ["sources", "add", "https://example.com/jobs"],
    ["search", "nurse"],
    ["recalculate-priorities"],
    ["db", "current"],
    ["db", "upgrade"],
    ["crawl", "https://example.com/"],
    ["work", "--idle-exit"],
]
FOREIGN = {
    "tables": ["CREATE TABLE bookmarks (url TEXT)", "INSERT INTO bookmarks VALUES ('x')"],
    "an id": ["PRAGMA application_id = 252006675", "CREATE TABLE t (a)"],
    "an id alone": ["PRAGMA application_id = 252006675"],
    "alembic": ["CREATE TABLE alembic_version (version_num TEXT)", "INSERT INTO alembic_version VALUES ('0001')"],
    "our names": ["CREATE TABLE domains (id INTEGER, domain TEXT)", "CREATE TABLE sources (id INTEGER)"],
    "a log": ["PRAGMA journal_mode = WAL", "CREATE TABLE moz_places (id INTEGER)"],
}


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def make(path: Path, statements: list[str]) -> None:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_database_of_another_program_is_refused_by_every_command(
    comity: CommandLine, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "places.sqlite"
    make(path, FOREIGN[kind])
    before = digest(path)
    for command in COMMANDS if kind == "tables" else COMMANDS[:3]:
        answer = comity("--state", str(path), *command)
        assert answer.code == 2, (command, answer.err)
        assert f"{path} is a database of another program" in answer.err
        assert len(answer.err.splitlines()) == (2 if command[0] == "work" else 1), answer.err  # a worker says hello
    assert digest(path) == before
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith("places")] == ["places.sqlite"]


def test_an_empty_file_becomes_a_state_and_is_known_again(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    path.touch()
    for _ in range(2):
        database = open_database(path)
        ensure_current(database)
        database.close()
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA application_id").fetchone() == (0x434F4D59,)
        # A copy by `.dump` has no id; its tables tell.
        copy = sqlite3.connect(tmp_path / "copy.db")
        copy.executescript("\n".join(connection.iterdump()))
        copy.close()
    database = open_database(tmp_path / "copy.db")
    ensure_current(database)
    database.close()


@pytest.mark.parametrize(
    ("statements", "complaint"),
    [
        (["CREATE TABLE alembic_version (version_num text)", "INSERT INTO alembic_version VALUES ('0001')"], "belongs"),
        (["CREATE TABLE alembic_version (version_num text)", "INSERT INTO alembic_version VALUES ('ae1')"], "belongs"),
        (["CREATE TABLE domains (id int)", "CREATE TABLE sources (id int)"], r"\(domains, sources\)"),
    ],
)
def test_a_postgresql_database_of_another_program_is_refused(
    postgres_url: str, statements: list[str], complaint: str
) -> None:
    with psycopg.connect(conninfo(postgres_url)) as connection:
        for statement in statements:
            connection.execute(statement)
    database = open_database(postgres_url)
    for step in (ensure_current, upgrade):
        with pytest.raises(BadInput, match=complaint):
            step(database)
    database.close()


def damage(path: Path, where: int, size: int = 20_000) -> None:
    with path.open("r+b") as file:
        file.seek(where)
        file.write(os.urandom(size))


@pytest.mark.parametrize("command", COMMANDS[:12], ids=" ".join)
def test_a_damaged_state_is_named(
    comity: CommandLine, command: list[str], tmp_path: Path, migrated_sqlite_file: Path
) -> None:
    """With every page but the first damaged, no command can answer."""
    path = Path(shutil.copy(migrated_sqlite_file, tmp_path / "state.db"))
    assert comity("--state", str(path), "seeds", "add", "example.com").code == 0
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    damage(path, 4096, path.stat().st_size - 4096)
    answer = comity("--state", str(path), *command)
    assert (answer.code, len(answer.err.splitlines())) == (1, 1), answer.err
    assert str(path) in answer.err


@pytest.mark.parametrize("command", COMMANDS[:12], ids=" ".join)
def test_a_partly_damaged_state_gives_no_wrong_answer(
    comity: CommandLine, command: list[str], tmp_path: Path, migrated_sqlite_file: Path
) -> None:
    """A command either names the damaged state, or did not read the damage and answers as from a whole one."""
    whole = Path(shutil.copy(migrated_sqlite_file, tmp_path / "whole.db"))
    assert comity("--state", str(whole), "seeds", "add", "example.com").code == 0
    with sqlite3.connect(whole) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    copies = {where: tmp_path / f"{where}.db" for where in (0, 4096, whole.stat().st_size // 2)}
    for where, path in copies.items():
        shutil.copy(whole, path)
        if where:
            damage(path, where)
    expected = comity("--state", str(copies.pop(0)), *command)
    assert expected.code == 0, expected.err
    for path in copies.values():
        answer = comity("--state", str(path), *command)
        if answer.code == 0:
            assert without_chance(answer.out) == without_chance(expected.out)
        else:
            assert (answer.code, len(answer.err.splitlines())) == (1, 1), answer.err
            assert str(path) in answer.err


def without_chance(text: str) -> str:
    """An answer without times and ids, which differ from run to run."""
    return re.sub(r"\d+ (s|min) ago|\d{4}-\d\d-\d\d[T ]\d\d:\d\d[:.\dZ]*|[0-9a-f]{8}-[0-9a-f-]{27}", "…", text)
