"""Migrations: forward and back on both databases, equal to the tables as declared, and safe to run at once."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text
from sqlalchemy.exc import ProgrammingError

from comity.database import schema
from comity.database.all_tables import metadata
from comity.database.connection import Database, open_database
from comity.model.errors import BadInput, Remedy, RemedyCode, SchemaMismatch, StateUnavailable
from tests.database.workers import Worker, run_together
from tests.servers.postgres import PostgresDatabases

REVISIONS = [script.revision for script in ScriptDirectory.from_config(schema._config()).walk_revisions()][::-1]

# PostgreSQL's own descriptions: whatever two databases could differ in.
POSTGRESQL_CATALOGS = {
    "columns": """
        SELECT table_class.relname, attname, format_type(atttypid, atttypmod), attnotnull, attidentity, attgenerated,
               pg_get_expr(adbin, adrelid)
        FROM pg_attribute
        JOIN pg_class AS table_class ON table_class.oid = attrelid AND relkind = 'r'
        LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
        WHERE relnamespace = 'public'::regnamespace AND attnum > 0 AND NOT attisdropped""",
    "constraints": """
        SELECT conrelid::regclass::text, conname, contype, pg_get_constraintdef(oid), convalidated
        FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND conrelid <> 0""",
    "indexes": "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'",
    "tables": """
        SELECT relname, relkind, reloptions FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'S', 'v', 'm', 'p')""",
    "types": """
        SELECT typname, enumlabel, enumsortorder FROM pg_type JOIN pg_enum ON enumtypid = pg_type.oid
        WHERE typnamespace = 'public'::regnamespace""",
}
POSTGRESQL_LEFTOVERS = """
    SELECT 'class', relname FROM pg_class WHERE relnamespace = 'public'::regnamespace
    UNION ALL SELECT 'type', typname FROM pg_type WHERE typnamespace = 'public'::regnamespace
    UNION ALL SELECT 'function', proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace
    UNION ALL SELECT 'schema', nspname FROM pg_namespace
              WHERE nspname !~ '^pg_' AND nspname NOT IN ('public', 'information_schema')"""


def described(connection: Connection) -> dict[str, Any]:
    """Everything that tells two schemas apart, without Alembic's own table."""
    if connection.dialect.name == "postgresql":
        return {
            kind: sorted(str(row) for row in connection.execute(text(query)) if "alembic_version" not in str(row))
            for kind, query in POSTGRESQL_CATALOGS.items()
        }
    rows = connection.execute(text("SELECT type, name, tbl_name, sql FROM sqlite_master")).all()
    found: dict[str, Any] = {}
    for kind, name, table, statement in rows:
        if kind == "trigger" or table == "alembic_version":
            continue
        found[name] = (kind, table, parts_of(statement or ""))
        if kind == "table":
            found[f"{name} columns"] = connection.exec_driver_sql(f"PRAGMA table_xinfo({name})").all()
            found[f"{name} references"] = sorted(connection.exec_driver_sql(f"PRAGMA foreign_key_list({name})").all())
        else:
            found[f"{name} columns"] = connection.exec_driver_sql(f"PRAGMA index_xinfo({name})").all()
    return found


def parts_of(statement: str) -> list[str]:
    """A CREATE statement as the sorted parts between its outer commas, without insignificant space and quotes."""
    plain = re.sub(r"\s+", " ", statement.replace('"', ""))
    plain = re.sub(r" ?([(),]) ?", r"\1", plain)
    parts, depth = [""], 0
    for character in plain:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 1:
            parts.append("")
        else:
            parts[-1] += character
    return sorted(part.strip() for part in parts)


def leftovers(connection: Connection) -> list[Any]:
    """What an empty database would not have."""
    if connection.dialect.name == "postgresql":
        return list(connection.execute(text(POSTGRESQL_LEFTOVERS)))
    return list(connection.execute(text("SELECT type, name FROM sqlite_master")))


@pytest.fixture
def new_database(database_url: str) -> Any:
    database = open_database(database_url)
    yield database
    database.close()


def look(database: Database) -> dict[str, Any]:
    with database.read() as connection:
        return described(connection)


def test_migrating_from_zero_gives_the_tables_as_they_are_declared(
    new_database: Database, postgres_server: PostgresDatabases, tmp_path: Path
) -> None:
    schema.upgrade(new_database)
    is_shared = new_database.is_shared
    url = postgres_server.create_database() if is_shared else str(tmp_path / "declared.db")
    declared = open_database(url)
    try:
        with declared.write() as connection:
            metadata.create_all(connection)
        migrated, wanted = look(new_database), look(declared)
        assert set(migrated) == set(wanted)
        for name in wanted:
            assert migrated[name] == wanted[name], name
        assert len(str(wanted)) > 5000  # the descriptions do describe
    finally:
        declared.close()
        if is_shared:
            postgres_server.drop_database(url)


def test_a_new_embedded_state_is_what_migrating_from_zero_gives(tmp_path: Path) -> None:
    """A new state is made without Alembic, and nobody can tell afterwards."""
    made, migrated = open_database(str(tmp_path / "made.db")), open_database(str(tmp_path / "migrated.db"))
    try:
        schema.ensure_current(made)
        schema.upgrade(migrated)
        query = text("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name")
        found = []
        for database in (made, migrated):
            with database.read() as connection:
                rows = [(*row[:3], "".join((row.sql or "").split())) for row in connection.execute(query)]
                found.append((rows, schema.current_revision(connection)))
        assert found[0] == found[1]
        assert len(found[0][0]) > 20
        assert schema.downgrade(made, "base") is None
    finally:
        made.close()
        migrated.close()


def test_down_to_base_leaves_nothing_behind_and_up_again_gives_the_same(new_database: Database) -> None:
    assert schema.upgrade(new_database) == schema.head_revision()
    first = look(new_database)
    assert schema.downgrade(new_database, "base") is None
    with new_database.read() as connection:
        assert leftovers(connection) == []
        assert schema.current_revision(connection) is None
    assert schema.upgrade(new_database) == schema.head_revision()
    assert look(new_database) == first


@pytest.mark.parametrize("revision", REVISIONS)
def test_every_step_can_be_gone_back_and_forth(new_database: Database, revision: str) -> None:
    assert schema.upgrade(new_database, revision) == revision
    there = look(new_database)
    schema.downgrade(new_database, "-1")
    assert look(new_database) != there
    assert schema.upgrade(new_database, revision) == revision
    assert look(new_database) == there


@pytest.mark.parametrize("revision", REVISIONS)
def test_what_is_stored_survives_the_way_to_the_newest_schema(new_database: Database, revision: str) -> None:
    schema.upgrade(new_database, revision)
    with new_database.write() as connection:
        connection.execute(text("INSERT INTO domains (domain, pages_crawled) VALUES ('kept.example', 17)"))
        connection.execute(text("UPDATE domains SET status = 'active'"))
        before = dict(connection.execute(text("SELECT * FROM domains")).one()._mapping)
    assert schema.upgrade(new_database) == schema.head_revision()
    with new_database.read() as connection:
        after = dict(connection.execute(text("SELECT * FROM domains")).one()._mapping)
    assert {name: after.get(name) for name in before} == before


def test_a_table_of_images_that_an_older_crawl_left_is_set_aside_and_given_back(new_database: Database) -> None:
    with new_database.write() as connection:
        connection.execute(text("CREATE TABLE provenance (image_id TEXT, source_domain TEXT)"))
        connection.execute(text("INSERT INTO provenance VALUES ('1', 'old.example')"))
    if new_database.is_shared:
        schema.upgrade(new_database)
    else:
        schema.ensure_current(new_database)  # makes an embedded state without Alembic
    kept = [("1", "old.example")]
    with new_database.read() as connection:
        assert connection.execute(text("SELECT * FROM provenance")).all() == []
        assert connection.execute(text("SELECT * FROM older_provenance")).all() == kept
    schema.downgrade(new_database, "base")
    with new_database.read() as connection:
        assert connection.execute(text("SELECT * FROM provenance")).all() == kept


def test_a_failed_migration_changes_nothing(new_database: Database) -> None:
    with new_database.write() as connection:
        connection.execute(text("CREATE VIEW fetches AS SELECT 1 AS in_the_way"))
        before = leftovers(connection)
    with pytest.raises((ProgrammingError, StateUnavailable)):
        schema.upgrade(new_database)
    with new_database.read() as connection:
        assert sorted(leftovers(connection)) == sorted(before)


@pytest.mark.parametrize("target", ["9999", "nonsense", "-99"])
def test_a_revision_that_does_not_exist_is_bad_input(new_database: Database, target: str) -> None:
    schema.upgrade(new_database)
    with pytest.raises(BadInput, match=f"cannot migrate to '{target}'"):
        schema.downgrade(new_database, target)
    with new_database.read() as connection:
        assert schema.current_revision(connection) == schema.head_revision()


def test_a_database_of_a_newer_comity_is_refused_in_words(new_database: Database) -> None:
    schema.upgrade(new_database)
    with new_database.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    for act in (schema.ensure_current, schema.upgrade, lambda database: schema.downgrade(database, "base")):
        with pytest.raises(SchemaMismatch, match=r"newer Comity \(schema 9999.*upgrade Comity") as caught:
            act(new_database)
        assert new_database.location in str(caught.value)
    with new_database.read() as connection:
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalars().all() == ["9999"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("ALTER TABLE sitemaps RENAME COLUMN status TO former", "it lacks sitemaps.status"),
        ("ALTER TABLE domains RENAME COLUMN left_at_depth TO former", "it lacks domains.left_at_depth"),
        ("DROP TABLE robots_cache", "it lacks robots_cache.access, robots_cache.crawl_delay_ms, robots_cache.detail …"),
    ],
)
def test_a_state_of_a_development_version_with_other_columns_is_refused_in_words(
    new_database: Database, change: str, told: str
) -> None:
    schema.upgrade(new_database)
    schema.ensure_current(new_database)  # what this process has compared is compared again when it has changed
    with new_database.write() as connection:
        connection.execute(text(change))
    for act in (schema.ensure_current, schema.upgrade):
        with pytest.raises(SchemaMismatch) as caught:
            act(new_database)
        assert str(caught.value) == (
            f"the state at {new_database.location} was made by a development version of Comity, whose schema "
            f"{schema.HEAD} had other columns ({told}): use another state"
        )


def test_a_column_of_a_development_version_that_every_row_must_have_does_not_come_as_a_surprise(
    new_database: Database,
) -> None:
    schema.upgrade(new_database)
    columns = ", ".join(f"{column.name} TEXT" for column in metadata.tables["takedowns"].columns)
    with new_database.write() as connection:
        connection.execute(text("DROP TABLE takedowns"))
        connection.execute(text(f"CREATE TABLE takedowns ({columns}, by_whom TEXT NOT NULL)"))
    if new_database.is_shared:  # an older table of an operator may have such columns: `sources add` would say so
        schema.ensure_current(new_database)
        return
    with pytest.raises(SchemaMismatch, match=r"other columns \(it has takedowns\.by_whom\): use another state"):
        schema.ensure_current(new_database)


def test_columns_and_tables_that_an_operator_added_do_no_harm(new_database: Database) -> None:
    schema.upgrade(new_database)
    with new_database.write() as connection:
        connection.execute(text("ALTER TABLE domains ADD COLUMN remark TEXT"))
        connection.execute(text("ALTER TABLE domains ADD COLUMN colour TEXT NOT NULL DEFAULT 'blue'"))
        connection.execute(text("CREATE TABLE remarks (host TEXT NOT NULL, remark TEXT NOT NULL)"))
    schema.ensure_current(new_database)
    assert schema.upgrade(new_database) == schema.HEAD


def test_a_state_of_a_development_version_can_be_emptied(new_database: Database) -> None:
    schema.upgrade(new_database)
    with new_database.write() as connection:
        connection.execute(text("ALTER TABLE domains RENAME COLUMN left_at_depth TO former"))
    assert schema.downgrade(new_database, "base") is None
    assert schema.upgrade(new_database) == schema.HEAD


def test_an_embedded_state_is_migrated_when_it_is_opened(sqlite_url: str) -> None:
    database = open_database(sqlite_url)
    schema.ensure_current(database)
    with database.read() as connection:
        assert schema.current_revision(connection) == schema.head_revision()
    schema.ensure_current(database)
    database.close()


def test_a_shared_state_is_not_migrated_by_the_way_but_says_how(postgres_url: str) -> None:
    database = open_database(postgres_url)
    with pytest.raises(SchemaMismatch, match=r"has schema none") as refused:
        schema.ensure_current(database)
    assert refused.value.remedy == Remedy(RemedyCode.UPGRADE_SCHEMA)
    with database.read() as connection:
        assert leftovers(connection) == []
    schema.upgrade(database)
    schema.ensure_current(database)
    database.close()


def test_eight_processes_may_open_the_same_new_file_at_once(tmp_path: Path) -> None:
    where = str(tmp_path / "folder" / "state.db")
    workers = [Worker("open_new_file", where, f"host{number}.example") for number in range(8)]
    assert run_together(workers) == [schema.head_revision()] * 8
    database = open_database(where)
    with database.read() as connection:
        assert connection.execute(text("SELECT count(*) FROM domains")).scalar() == 8
        assert connection.execute(text("SELECT count(*) FROM alembic_version")).scalar() == 1
        assert connection.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
    database.close()


def test_two_operators_may_migrate_one_server_at_once(postgres_url: str) -> None:
    workers = [Worker("upgrade_shared", postgres_url) for _ in range(2)]
    assert run_together(workers) == [schema.head_revision()] * 2
    database = open_database(postgres_url)
    with database.read() as connection:
        assert connection.execute(text("SELECT count(*) FROM alembic_version")).scalar() == 1
    database.close()


def test_the_age_that_the_code_names_is_that_of_the_newest_migration() -> None:
    from alembic.script import ScriptDirectory

    from comity.database import schema

    assert ScriptDirectory.from_config(schema._config()).get_current_head() == schema.HEAD
