"""Nouns of the expression language: where on a page a value is, how it is cleaned, and the type of its column.

docs/extract.md describes the language; `rules.expressions` reads and prints it, `extract.expressions` evaluates it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

from comity.model.dataclass import dataclass


class PathRoot(StrEnum):
    """A kind of structured data; the value is its name in an expression."""

    JSONLD = "jsonld"
    MICRODATA = "microdata"
    OPENGRAPH = "og"
    META = "meta"
    JAVASCRIPT = "js"


class EveryElement(StrEnum):
    """The step of a path that takes every element of a list."""

    EVERY = "*"


PathStep = str | int | EveryElement


@dataclass(frozen=True, slots=True)
class DataPath:
    """A path into structured data: `jsonld.Product.offers[0].price`."""

    root: PathRoot
    steps: tuple[PathStep, ...] = ()


class Wanted(StrEnum):
    """What to read from a selected element."""

    TEXT = "text"
    ATTRIBUTE = "attr"
    HTML = "html"


@dataclass(frozen=True, slots=True)
class CssSelection:
    """A CSS selector, and what to read from the first element that it selects."""

    css: str
    wanted: Wanted = Wanted.HTML
    attribute: str = ""


@dataclass(frozen=True, slots=True)
class XpathSelection:
    """An XPath 1.0 expression: the first node's text, or the value itself."""

    xpath: str


@dataclass(frozen=True, slots=True)
class Coalesce:
    """The first of several expressions that finds something."""

    options: tuple[Expression, ...]


class Transform(StrEnum):
    """A step behind a pipe; the value is its name in an expression."""

    TRIM = "trim"
    LOWERCASE = "lowercase"
    UPPERCASE = "uppercase"
    STRIP_HTML = "strip_html"
    PARSE_PRICE = "parse_price"


ValueSource = DataPath | CssSelection | XpathSelection | Coalesce


@dataclass(frozen=True, slots=True)
class Expression:
    """Where a value is, and what is done to its text before it gets its type."""

    source: ValueSource
    transforms: tuple[Transform, ...] = ()


class TypeName(StrEnum):
    """The types of columns; the value is DuckDB's name."""

    VARCHAR = "VARCHAR"
    DECIMAL = "DECIMAL"
    DOUBLE = "DOUBLE"
    INTEGER = "INTEGER"
    BIGINT = "BIGINT"
    BOOLEAN = "BOOLEAN"
    DATE = "DATE"
    TIMESTAMP = "TIMESTAMP"
    JSON = "JSON"
    """What a user's own extractor returned; no expression has this type."""


_SIMPLE_TYPES: Final = frozenset(name.value for name in TypeName if name is not TypeName.DECIMAL)
MAX_PRECISION: Final = 38
DEFAULT_PRECISION: Final = 18
DEFAULT_SCALE: Final = 2


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A type; only DECIMAL has a precision and a scale."""

    name: TypeName = TypeName.VARCHAR
    precision: int = 0
    scale: int = 0

    def __str__(self) -> str:
        """DuckDB's name of the type."""
        return f"DECIMAL({self.precision},{self.scale})" if self.name is TypeName.DECIMAL else self.name.value


VARCHAR: Final = ColumnType()
_DECIMAL: Final = re.compile(r"DECIMAL\(([1-9][0-9]?), ?([0-9]{1,2})\)")


def type_called(name: str) -> ColumnType | None:
    """The type with this name in a store; None if no column has it."""
    found = _DECIMAL.fullmatch(name)
    if found is not None:
        return ColumnType(TypeName.DECIMAL, int(found[1]), int(found[2]))
    return ColumnType(TypeName(name)) if name in _SIMPLE_TYPES else None


@dataclass(frozen=True, slots=True)
class ExtractColumn:
    """A column that is extracted from every page."""

    name: str
    type: ColumnType
    expression: Expression


class StoredColumn(NamedTuple):
    """A column that pages of a run have besides those of every page."""

    name: str
    type: ColumnType


class ExtractedValues(NamedTuple):
    """The further columns of one page, and their values in the form in which they are stored.

    That form is JSON's: DECIMAL, DATE and TIMESTAMP are texts (`12.50`, `2026-05-01`, `2026-05-01T10:00:00`).
    """

    columns: tuple[StoredColumn, ...]
    values: Sequence[Any]


@dataclass(frozen=True, slots=True)
class ExpressionProblem:
    """Why a text is no expression: a sentence for its author, and the offset at which it fails."""

    message: str
    offset: int
