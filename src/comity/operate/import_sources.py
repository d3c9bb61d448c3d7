"""Import a list of sources: all of its rows in one transaction, or none, with a report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from sqlalchemy import Connection

from comity.clock import Clock
from comity.database import takedowns as takedowns_table
from comity.database.connection import Database
from comity.database.sources import rows as sources_table
from comity.database.sources.rows import source_from
from comity.model.dataclass import dataclass
from comity.model.errors import BadInput
from comity.model.source import Source, SourceStatus
from comity.model.source_import import ImportedRow, ImportResult, ParsedSourceList, SourceImport, SourceRow
from comity.operate.sources import change_source, check_columns, columns_of_new_source, insert_source
from comity.rules.canonical import resolve_link
from comity.rules.takedown import Takedowns

_LONGEST_ADDRESS: Final = 300  # in a report
_PLANNED: Final = {ImportResult.ADDED: ImportResult.WOULD_ADD, ImportResult.UPDATED: ImportResult.WOULD_UPDATE}


@dataclass(frozen=True, slots=True)
class ImportTerms:
    """How to import: update existing sources, skip bad rows, dry run, add as approved."""

    update: bool = False
    skip_bad: bool = False
    dry_run: bool = False
    approved: bool = True


class _Undo(Exception):
    """Ends a transaction without writing anything."""


def import_sources(
    database: Database, clock: Clock, listed: ParsedSourceList, terms: ImportTerms | None = None
) -> SourceImport:
    """Add the sources of a list. If a row is refused, nothing is written, unless bad rows are to be skipped."""
    terms = terms or ImportTerms()
    checked = [_checked(row) for row in listed.rows]
    rows: list[ImportedRow] = []
    is_written = True
    try:
        with database.write() as connection:
            rows = _import(database, clock, connection, checked, terms)
            is_whole = terms.skip_bad or all(row.result is not ImportResult.REFUSED for row in rows)
            if terms.dry_run or not is_whole:
                raise _Undo
    except _Undo:
        is_written = False
        rows = [replace(row, result=_PLANNED.get(row.result, row.result), source_id=_known_id(row)) for row in rows]
    return SourceImport(tuple(rows), is_written, terms.dry_run, listed.ignored_columns)


def _known_id(row: ImportedRow) -> Any:
    """A source that was not added has no id."""
    return None if row.result is ImportResult.ADDED else row.source_id


def _checked(row: SourceRow) -> tuple[SourceRow, dict[str, Any]]:
    """A row with its values in stored form, or with the problem that makes it unusable."""
    if row.problem is not None:
        return row, {}
    try:
        return row, check_columns(**row.values)
    except BadInput as problem:
        # Only an address is refused without the name of its column.
        return replace(row, problem=(problem.field or "careers_url", problem.reason)), {}


def _import(
    database: Database,
    clock: Clock,
    connection: Connection,
    checked: list[tuple[SourceRow, dict[str, Any]]],
    terms: ImportTerms,
) -> list[ImportedRow]:
    takedowns = Takedowns.of(row.domain_or_url for row in takedowns_table.entries(connection))
    addresses = dict.fromkeys(values["careers_url"] for _, values in checked if values)
    known = {url: source_from(row) for url, row in sources_table.with_addresses(connection, addresses).items()}
    first: dict[str, tuple[int, dict[str, Any]]] = {}
    found: list[ImportedRow] = []
    for row, values in checked:
        said = row.values.get("careers_url", "")
        url = values.get("careers_url") or str(said)[:_LONGEST_ADDRESS]
        report = ImportedRow(row.number, row.line, url, ImportResult.REFUSED)
        if row.problem is not None:
            found.append(replace(report, field=row.problem[0], reason=row.problem[1]))
        elif (entry := _covering(takedowns, url)) is not None:
            found.append(replace(report, field="careers_url", reason=f"is taken down ({entry})"))
        elif url in first:
            found.append(_repeated(report, values, *first[url], known.get(url)))
        else:
            first[url] = (row.number, values)
            known[url], report = _put(database, clock, connection, report, values, known.get(url), terms)
            found.append(report)
    return found


def _put(
    database: Database,
    clock: Clock,
    connection: Connection,
    report: ImportedRow,
    values: dict[str, Any],
    known: Source | None,
    terms: ImportTerms,
) -> tuple[Source, ImportedRow]:
    """Add, change or leave one source."""
    if known is None or known.status is SourceStatus.DELETED:
        new = columns_of_new_source(values, clock.now(), approved=terms.approved)
        added = insert_source(connection, new)
        if added is not None:
            return added, replace(report, result=ImportResult.ADDED, source_id=added.id)
        # Another process added it a moment ago.
        row = sources_table.with_address(connection, values["careers_url"])
        assert row is not None
        known = source_from(row)
    changes = _differing(known, values)
    if changes and terms.update:
        changed = change_source(database, clock, connection, known.id, changes)
        reason = f"changed {', '.join(changes)}"
        return changed, replace(report, result=ImportResult.UPDATED, source_id=known.id, reason=reason)
    differs = f"{', '.join(changes)} {'differs' if len(changes) == 1 else 'differ'}" if changes else None
    return known, replace(report, result=ImportResult.ALREADY_THERE, source_id=known.id, reason=differs)


def _repeated(
    report: ImportedRow, values: Mapping[str, Any], number: int, before: Mapping[str, Any], known: Source | None
) -> ImportedRow:
    """A row with the address of an earlier row: accepted if both are the same, refused if they differ."""
    if values == before:
        reason = f"same as row {number:,}"
        return replace(report, result=ImportResult.ALREADY_THERE, reason=reason, source_id=known.id if known else None)
    differing = [name for name in {**before, **values} if before.get(name) != values.get(name)]
    reason = f"row {number:,} has the same address, but a different {', '.join(differing)}"
    return replace(report, field="careers_url", reason=reason)


def _differing(known: Source, values: Mapping[str, Any]) -> dict[str, Any]:
    """The columns in which a row differs from its source; omitted values do not count."""
    return {name: value for name, value in values.items() if value is not None and value != getattr(known, name)}


def _covering(takedowns: Takedowns, url: str) -> str | None:
    address = resolve_link(url, url)
    return takedowns.covering(address) if address is not None else None
