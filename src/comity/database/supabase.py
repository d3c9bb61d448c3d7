"""`infra/supabase.sql`: the whole schema as one script that may be run again and again.

    python -m comity.database.supabase > infra/supabase.sql

It makes what is missing: tables, columns that an older table lacks, constraints, indexes, the guards of a host's life;
and it notes the age of the schema, so that Comity takes the database for its own. Written from the tables themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sqlalchemy import CheckConstraint, Constraint, Enum, PrimaryKeyConstraint, Table
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import AddConstraint, CreateColumn, CreateIndex, CreateTable
from sqlalchemy.sql.ddl import sort_tables

from comity.database.all_tables import metadata
from comity.database.schema import HEAD
from comity.database.triggers import create_statements, drop_statements
from comity.rules.host_transitions import MOVES

_DIALECT: Final = postgresql.dialect()  # type: ignore[no-untyped-call]
_HEAD: Final = """\
-- Comity's tables, for a PostgreSQL such as Supabase's. Run it as often as you like: it only makes what is missing.
-- Generated from the tables by `python -m comity.database.supabase`; a test holds it to them.
"""
_AGE: Final = f"""\
CREATE TABLE IF NOT EXISTS alembic_version (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);

DO $$
BEGIN
    IF EXISTS (SELECT FROM alembic_version WHERE version_num <> '{HEAD}') THEN
        RAISE EXCEPTION 'these tables have another schema than {HEAD}: run `comity db upgrade` instead';
    END IF;
END
$$;
"""
# A table of the same name with another key cannot be added to; what it held is fetched again.
_REPLACED: Final = {
    "robots_cache": """\
DO $$
BEGIN
    IF to_regclass('robots_cache') IS NOT NULL AND NOT EXISTS (
        SELECT FROM pg_attribute WHERE attrelid = to_regclass('robots_cache') AND attname = 'origin'
    ) THEN
        DROP TABLE robots_cache;
    END IF;
END
$$;""",
}
# A row against a rule could not be changed any more, not even to note that it was run.
_HEALED: Final = {
    "sources": """\
-- What an older table says in other words is put into ours.
UPDATE sources SET source_type = CASE WHEN lower(trim(source_type)) IN ('rss', 'api') THEN lower(trim(source_type)) \
ELSE 'html' END
    WHERE source_type IS NULL OR source_type NOT IN ('html', 'rss', 'api');
UPDATE sources SET status = CASE WHEN lower(trim(status)) IN ('active', 'blocked', 'deleted') \
THEN lower(trim(status)) ELSE 'paused' END
    WHERE status IS NULL OR status NOT IN ('active', 'paused', 'blocked', 'deleted');
UPDATE sources SET crawl_frequency_days = NULL WHERE crawl_frequency_days < 1;""",
}


def supabase_sql() -> str:
    """The script as it should be."""
    parts = [_HEAD, "BEGIN;", _AGE, *_types()]
    # By name where nothing else decides: the order of imports must not show in the file.
    tables = sort_tables(sorted(metadata.tables.values(), key=lambda table: table.name))
    for table in tables:
        parts += _table(table)
    drops = [statement + ";" for statement in drop_statements("postgresql") if "TRIGGER" in statement]
    parts.append("\n".join(drops))
    moves = {str(before): tuple(str(each) for each in after) for before, after in MOVES.items()}
    parts += [statement.strip() + ";" for statement in create_statements("postgresql", moves)]
    parts.append(f"INSERT INTO alembic_version VALUES ('{HEAD}') ON CONFLICT DO NOTHING;")  # noqa: S608  # our own word
    return "\n\n".join(part.strip("\n") for part in [*parts, "COMMIT;"]) + "\n"


def _types() -> Iterator[str]:
    kinds = {
        column.type.name: column.type
        for table in metadata.tables.values()
        for column in table.columns
        if isinstance(column.type, Enum) and column.type.name
    }
    for name, kind in sorted(kinds.items()):
        words = ", ".join(f"'{word}'" for word in kind.enums)
        yield (
            f"DO $$\nBEGIN\n    IF to_regtype('{name}') IS NULL THEN\n"
            f"        CREATE TYPE {name} AS ENUM ({words});\n    END IF;\nEND\n$$;"
        )


def _table(table: Table) -> Iterator[str]:
    if table.name in _REPLACED:
        yield _REPLACED[table.name]
    made = _text(CreateTable(table, if_not_exists=True)).replace("\t", "    ").replace(", \n", ",\n")
    yield made + ";"
    missing = [line for column in table.columns if not column.primary_key for line in [_missing(table, column.name)]]
    if missing:
        yield "\n".join(missing)
    if table.name in _HEALED:
        yield _HEALED[table.name]
    for constraint in sorted(table.constraints, key=lambda each: str(each.name)):
        # An enumeration is a type of its own here, and needs no check beside it.
        if not isinstance(constraint, PrimaryKeyConstraint) and not getattr(constraint, "_type_bound", False):
            yield _constraint(table, constraint)
    indexes = sorted(table.indexes, key=lambda each: str(each.name))
    if indexes:
        yield "\n".join(_text(CreateIndex(index, if_not_exists=True)) + ";" for index in indexes)


def _missing(table: Table, column: str) -> str:
    """An older table may have rows: a column that must not be empty but has no default is added as one that may be."""
    declared = _text(CreateColumn(table.c[column]))
    if table.c[column].server_default is None:
        declared = declared.removesuffix(" NOT NULL")
    return f"ALTER TABLE {table.name} ADD COLUMN IF NOT EXISTS {declared};"


def _constraint(table: Table, constraint: Constraint) -> str:
    """Rows that an older table has already are not held to a rule that comes later."""
    name = _DIALECT.identifier_preparer.format_constraint(constraint)
    added = " ".join(_text(AddConstraint(constraint)).split())
    later = " NOT VALID" if isinstance(constraint, CheckConstraint) else ""
    known = f"SELECT FROM pg_constraint WHERE conname = '{name}' AND conrelid = '{table.name}'::regclass"
    return f"DO $$\nBEGIN\n    IF NOT EXISTS ({known}) THEN\n        {added}{later};\n    END IF;\nEND\n$$;"


def _text(statement: CreateTable | CreateColumn | CreateIndex | AddConstraint) -> str:
    return str(statement.compile(dialect=_DIALECT)).strip()


if __name__ == "__main__":
    import sys

    sys.stdout.write(supabase_sql())
