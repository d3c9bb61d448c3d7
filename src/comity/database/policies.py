"""Statements on `domain_policies`: what an operator decided about one host."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

from sqlalchemy import Connection, Row, Select, select, update

from comity.database.dialects import insert_into, named_in
from comity.database.tables import domain_policies
from comity.database.types import instant
from comity.model.host import HostPolicy

_SHORT: Final = 100  # rows; a table that has no more is read as a whole rather than searched for many hosts
_FEW_HOSTS: Final = 8
_FIRST: Final = select(domain_policies).limit(_SHORT + 1)
_PATTERNS: Final = ("include", "exclude")  # one a line


def policy_from(row: Row[Any]) -> HostPolicy:
    """A row as a value."""
    values = {each.name: getattr(row, each.name) for each in fields(HostPolicy)}
    return HostPolicy(**(values | {name: tuple(values[name].splitlines()) for name in _PATTERNS}))


def get(connection: Connection, host: str) -> Row[Any] | None:
    """The policy of a host, if an operator made one."""
    return connection.execute(select(domain_policies).where(domain_policies.c.host == host)).first()


def get_many(connection: Connection, hosts: Collection[str]) -> dict[str, Row[Any]]:
    """The policies of those hosts that have one."""
    if len(hosts) > _FEW_HOSTS:
        # A crawl asks for all of its hosts several times a second, and few of them have a policy.
        rows = connection.execute(_FIRST).all()
        if len(rows) <= _SHORT:
            named = set(hosts) if rows else set()
            return {row.host: row for row in rows if row.host in named}
    found = connection.execute(_named_statement(connection.dialect.name), {"hosts": list(hosts)})
    return {row.host: row for row in found}


@lru_cache(maxsize=2)
def _named_statement(dialect: str) -> Select[Any]:
    return select(domain_policies).where(named_in(dialect, domain_policies.c.host, "hosts"))


def put(connection: Connection, host: str, values: Mapping[str, Any], now: datetime | None) -> Row[Any]:
    """Create or change a policy; limits that are not named keep their value, or get the default."""
    changed = dict(values) | {"updated_at": instant(connection, now)}
    changed |= {name: "\n".join(changed[name]) for name in _PATTERNS if name in changed}
    if "max_kb_per_page" in changed:
        changed["is_page_size_set"] = True
    statement = (
        insert_into(connection, domain_policies)
        .values(host=host, **changed)
        .on_conflict_do_update(index_elements=["host"], set_=changed)
        .returning(*domain_policies.c)
    )
    row: Row[Any] = connection.execute(statement).one()
    return row


def note_status(connection: Connection, host: str, status: str) -> None:
    """Store the last answer of a host with its policy, if it has one."""
    changed = domain_policies.c.last_seen_status.is_distinct_from(status)
    connection.execute(
        update(domain_policies).where(domain_policies.c.host == host, changed).values(last_seen_status=status)
    )
