"""A list of sources that an operator imports: its rows, and a report with the result for each."""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from comity.model.dataclass import dataclass

MOST_ROWS: Final = 10_000
LONGEST_ROW: Final = 40_000  # characters: a parser hint of 20,000, written as JSON inside CSV
MOST_FILE_BYTES: Final = 16_000_000


class SourceFormat(StrEnum):
    """How a list of sources is written; also the ending of the file's name."""

    CSV = "csv"
    TSV = "tsv"
    JSON = "json"
    JSON_LINES = "jsonl"


@dataclass(frozen=True, slots=True)
class SourceRow:
    """One row of a list: its values by column, or why it cannot be read."""

    number: int
    """The number of the row, from 1, without the header."""
    line: int | None
    """Where it starts in the file; None for an item of a JSON document."""
    values: dict[str, Any] = field(default_factory=dict)
    problem: tuple[str | None, str] | None = None
    """The column, if it is one column's fault, and the reason."""


@dataclass(frozen=True, slots=True)
class ParsedSourceList:
    """A list of sources as read."""

    rows: tuple[SourceRow, ...]
    ignored_columns: tuple[str, ...] = ()


class ImportResult(StrEnum):
    """The result for a row."""

    ADDED = "added"
    WOULD_ADD = "would_add"
    UPDATED = "updated"
    WOULD_UPDATE = "would_update"
    ALREADY_THERE = "already_there"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class ImportedRow:
    """What became of one row of a list; `field` and `reason` say why it was refused, or what differs."""

    row: int
    line: int | None
    careers_url: str
    result: ImportResult
    field: str | None = None
    reason: str | None = None
    source_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class SourceImport:
    """The report of an imported list of sources."""

    rows: tuple[ImportedRow, ...]
    is_written: bool
    """false: nothing was changed, because it was a dry run or because a row was refused."""
    is_dry_run: bool = False
    ignored_columns: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """The number of rows with each result."""
        found = Counter(row.result for row in self.rows)
        return {str(result): found[result] for result in ImportResult if found[result]}

    @property
    def refused(self) -> tuple[ImportedRow, ...]:
        """The rows that were refused."""
        return tuple(row for row in self.rows if row.result is ImportResult.REFUSED)
