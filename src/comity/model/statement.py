"""Statements of the SQL door: what Comity runs itself, and what it hands to DuckDB as it was written."""

from __future__ import annotations

from dataclasses import field
from decimal import Decimal
from typing import NamedTuple

from comity.model.dataclass import dataclass

OptionValue = str | int | Decimal | bool | None | tuple["OptionValue", ...]


class TextPosition(NamedTuple):
    """A place in a script; both numbers start at 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class PlainSql:
    """A statement for DuckDB, with nothing changed."""

    text: str


@dataclass(frozen=True, slots=True)
class QualifiedName:
    """The name of a table: up to a catalog, a schema and the table, without quotes."""

    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CrawlStatement:
    """`CRAWL (query) INTO target …`. The query, the filter and the columns are text, as they were written."""

    query: str
    target: QualifiedName
    extract: str | None = None
    where: str | None = None
    options: tuple[tuple[str, OptionValue], ...] = ()
    """Names in lower case, in the order of the statement."""
    limit: int | None = None
    option_places: tuple[TextPosition, ...] = field(default=(), compare=False, repr=False)
    """Where the options are in the script, for messages."""
    extract_place: TextPosition | None = field(default=None, compare=False, repr=False)
    """Where the text of EXTRACT begins."""
    query_place: TextPosition | None = field(default=None, compare=False, repr=False)
    where_place: TextPosition | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class CrawlingMerge:
    """`CRAWLING MERGE INTO …`: DuckDB's own MERGE, once the pages that its source names are crawled."""

    merge: str
    """The statement without its first word."""
    target: QualifiedName | None = field(default=None, compare=False)
    source: str = field(default="", compare=False)
    """What follows USING, as a query: a target that is missing gets its columns."""


@dataclass(frozen=True, slots=True)
class StreamStatement:
    """`STREAM (query) INTO target …`: the rows of a query, which may call functions that request pages."""

    query: str
    target: QualifiedName
    batch_size: int | None = None
    """Accepted for scripts of the crawler extension; the rows are stored together."""
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class StopCrawl:
    """`STOP CRAWL INTO target`."""

    target: QualifiedName


@dataclass(frozen=True, slots=True)
class CrawlerSetting:
    """`SET crawler_… = value`, or `RESET crawler_…`: a setting that DuckDB does not have."""

    name: str
    """In lower case."""
    value: OptionValue
    is_reset: bool = False


Statement = PlainSql | CrawlStatement | CrawlingMerge | StreamStatement | StopCrawl | CrawlerSetting


@dataclass(frozen=True, slots=True)
class StatementProblem:
    """Why a statement cannot be read, and where."""

    message: str
    at: TextPosition

    def __str__(self) -> str:
        """The sentence that a user reads."""
        return f"line {self.at.line}, column {self.at.column}: {self.message}"
