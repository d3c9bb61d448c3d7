"""What a CRAWL statement asks for: its options, the columns it extracts, and the URLs that its query returns."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any, Final

from comity.model.errors import BadAddress, BadInput
from comity.model.expression import ExpressionProblem
from comity.model.statement import CrawlStatement
from comity.rules.expressions.parse import describe, parse_columns, reads_scripts
from comity.rules.sql.options import SqlCrawlOptions, read_options
from comity.rules.sql.seeds import QuerySeed, read_query_seed
from comity.store.sql_table import COLUMNS, ExtractedColumns, extracted_columns

MOST_SEEDS: Final = 10_000_000


def options_of(statement: CrawlStatement) -> SqlCrawlOptions:
    """The options of a statement; `BadInput` says where an unknown one is, or one that does not fit."""
    for option, at in zip(statement.options, statement.option_places, strict=False):
        try:
            read_options([option])
        except BadInput as problem:
            raise BadInput(f"line {at.line}, column {at.column}: {problem}") from None
    return read_options(statement.options)


def columns_of(statement: CrawlStatement, *, reads_js: bool) -> ExtractedColumns:
    """The columns that EXTRACT adds to the table."""
    extract = statement.extract
    if extract is None:
        return ExtractedColumns([], [])
    found = parse_columns(extract, COLUMNS)
    if isinstance(found, ExpressionProblem):
        raise BadInput("EXTRACT", describe(extract, found, statement.extract_place))
    if not reads_js and (column := next(filter(reads_scripts, found), None)) is not None:
        raise BadInput("EXTRACT", f"the column {column.name} reads js.…, but extract_js is false")
    return extracted_columns(found)


def seeds_among(batches: Iterable[Sequence[Sequence[Any]]]) -> tuple[tuple[QuerySeed, ...], int]:
    """What the rows of a query name, each once, and how many of them are not URLs."""
    found: dict[str, QuerySeed] = {}
    unreadable = 0
    shown: list[str] = []
    for rows in batches:
        for value, *_others in rows:
            if value is None:
                continue
            try:
                seed = read_query_seed(str(value))
            except BadAddress:
                unreadable += 1
                shown += [str(value)[:60]] if unreadable <= 3 else []
                continue
            found.setdefault(f"{seed.kind}{seed.address.url}", seed)
        if len(found) > MOST_SEEDS:
            raise BadInput(f"the query names more than {MOST_SEEDS:,} URLs")
    if unreadable and not found:
        raise BadInput("CRAWL", f"the query has only invalid URL/hostname values: {', '.join(map(repr, shown))}")
    if unreadable:
        are_not = "value of the query is not a URL" if unreadable == 1 else "values of the query are not URLs"
        warnings.warn(f"{unreadable:,} {are_not}: {', '.join(shown)}", stacklevel=5)
    return tuple(found.values()), unreadable
