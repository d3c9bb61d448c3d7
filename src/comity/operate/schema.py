"""Show and change the schema version of a state."""

from __future__ import annotations

from comity.database import schema
from comity.database.connection import Database
from comity.model.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class SchemaAge:
    """The schema version of a state (None without tables), the version that this code needs, and where the state is."""

    revision: str | None
    head: str
    where: str
    is_shared: bool

    @property
    def is_current(self) -> bool:
        """Whether the state has the schema version that this code needs."""
        return self.revision == self.head


def schema_age(database: Database) -> SchemaAge:
    """Read the schema version of a state; writes nothing."""
    with database.read() as connection:
        revision = schema.current_revision(connection)
    return _age(database, revision)


def upgrade_schema(database: Database, target: str) -> SchemaAge:
    """Move the tables forward to a revision, or to `head`."""
    return _age(database, schema.upgrade(database, target))


def downgrade_schema(database: Database, target: str) -> SchemaAge:
    """Move the tables back to a revision, `-1` for one step, or `base` for none; data is lost."""
    return _age(database, schema.downgrade(database, target))


def _age(database: Database, revision: str | None) -> SchemaAge:
    return SchemaAge(revision, schema.head_revision(), database.location, database.is_shared)
