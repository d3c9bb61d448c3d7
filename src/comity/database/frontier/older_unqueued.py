"""The notes on URLs of development versions, which had a row for each of them: they are kept in the present form.

This goes with the first release, before which no other state is brought up to date.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final

from sqlalchemy import Connection

from comity.database.bulk import placed, rows_of, run
from comity.database.frontier.notes import Note
from comity.database.frontier.unqueued import put_notes, unqueued_keys, unqueued_notes
from comity.database.tables import metadata

TABLE: Final = "unqueued_urls"
_COLUMNS: Final = ("url_key", "domain_id", "url", "code", "found_by", "found_on", "seen_at")
_AT_ONCE: Final = 50_000  # rows in memory
_ROWS: Final = f"SELECT {', '.join(_COLUMNS)} FROM {TABLE}"  # noqa: S608  # our own words
_FIRST: Final = f"{_ROWS} ORDER BY url_key, domain_id LIMIT ?"
_NEXT: Final = f"{_ROWS} WHERE url_key >= ? AND (url_key > ? OR domain_id > ?) ORDER BY url_key, domain_id LIMIT ?"


def is_older(columns: Iterable[tuple[str, str]]) -> bool:
    """Whether a state, of which these are tables and columns, has notes of a development version."""
    return {(TABLE, column) for column in _COLUMNS} <= set(columns)


def bring_up_to_date(connection: Connection) -> None:
    """Take over all notes of a development version; the time is proportional to their number, the memory is not."""
    metadata.create_all(connection, tables=[unqueued_notes, unqueued_keys])  # those that are missing
    dialect = connection.dialect.name
    rows = rows_of(connection, placed(dialect, _FIRST), (_AT_ONCE,))
    while rows:
        hosts: dict[Any, list[Note]] = defaultdict(list)
        for key, host, url, code, found_by, found_on, seen_at in rows:
            hosts[host].append(Note(url, key, code, found_by, found_on, seen_at))
        put_notes(connection, hosts)
        key, host = rows[-1][:2]
        rows = rows_of(connection, placed(dialect, _NEXT), (key, key, host, _AT_ONCE))
    run(connection, f"DROP TABLE {TABLE}")
