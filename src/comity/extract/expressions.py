"""Evaluate expressions on a page: takes its tree and columns, returns a value for each column."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from turbohtml import Document, Element

from comity.extract.page_data import STEPS_IN_A_CHILD, STEPS_ON_THE_LOOP, OverBudget, PageData, StepBudget
from comity.model.expression import (
    Coalesce,
    CssSelection,
    DataPath,
    Expression,
    ExpressionProblem,
    ExtractColumn,
    Transform,
    Wanted,
    XpathSelection,
)
from comity.rules.expressions.parse import parse_columns, uses_xpath
from comity.rules.expressions.values import MAX_VALUE_CHARACTERS, converted, text_of, transformed

_NUMERIC_XPATH: Final = 1e15


class Extracted(NamedTuple):
    """The values of a page's columns in their stored form, and how many of them could not be converted."""

    values: list[Any]
    unconverted: int


def evaluate(document: Document, columns: Sequence[ExtractColumn], *, steps: int = STEPS_IN_A_CHILD) -> Extracted:
    """Evaluate columns; `OverBudget` if the page takes more steps than it may."""
    evaluator = Evaluator(document, steps=steps)
    values: list[Any] = []
    unconverted = room = 0
    for column in columns:
        found = evaluator.value(column.expression)
        value = converted(found, column.type) if found is not None else None
        if isinstance(value, str):
            room += len(value)
            if room > 2 * MAX_VALUE_CHARACTERS:
                value = None
        unconverted += value is None and evaluator.found_something
        values.append(value)
    return Extracted(values, unconverted)


def extract_columns(document: Document, text: str, *, on_the_loop: bool) -> tuple[list[Any], int] | None:
    """The same for columns as text, which any process can be given; None if the page takes too many steps here."""
    columns = columns_of(text)
    try:
        found = evaluate(document, columns, steps=STEPS_ON_THE_LOOP if on_the_loop else STEPS_IN_A_CHILD)
    except OverBudget:
        return None
    return found.values, found.unconverted


@lru_cache(maxsize=64)
def columns_of(text: str) -> tuple[ExtractColumn, ...]:
    """Columns whose text was checked before."""
    columns = parse_columns(text)
    if isinstance(columns, ExpressionProblem):
        raise ValueError(columns.message)
    return columns


@lru_cache(maxsize=64)
def is_unbounded(text: str) -> bool:
    """Whether columns use XPath, whose cost on a page has no bound: such pages are read in a child process."""
    return any(uses_xpath(column.expression) for column in columns_of(text))


class Evaluator:
    """Evaluates expressions on one page, or on an element of it."""

    def __init__(self, document: Document, *, steps: int = STEPS_IN_A_CHILD) -> None:
        self._document = document
        self._budget = StepBudget(steps)
        self._data = PageData(document, self._budget)
        self.found_something = False

    def value(self, expression: Expression, within: Element | None = None) -> object | None:
        """What an expression finds, selectors within an element if one is named; None for nothing, or blank text."""
        self.found_something = False
        return self._value(expression, within)

    def text(self, expression: Expression, within: Element | None = None) -> str:
        """The same as text without blanks around it; empty where there is nothing, or it takes too many steps."""
        try:
            found = self.value(expression, within)
        except OverBudget:
            return ""
        return text_of(found).strip() if found is not None else ""

    def _value(self, expression: Expression, within: Element | None) -> object | None:
        found = self._source(expression, within)
        if found is None or (isinstance(found, str) and not found.strip()):
            return None
        self.found_something = True
        if not expression.transforms:
            return found
        text: str | None = text_of(found)[: MAX_VALUE_CHARACTERS + 1]
        for transform in expression.transforms:
            if text is not None:
                self._budget.spend(1 + len(text) // (100 if transform is Transform.STRIP_HTML else 10_000))
                text = transformed(text, transform)
        return text or None

    def _source(self, expression: Expression, within: Element | None) -> object | None:
        self._budget.spend()
        match expression.source:
            case DataPath() as path:
                return self._data.find(path)
            case CssSelection() as selection:
                return self._select(selection, within)
            case XpathSelection(xpath=xpath):
                return _first_of_xpath(within if within is not None else self._document, xpath)
            case Coalesce(options=options):
                values = (self._value(option, within) for option in options)
                return next((value for value in values if value is not None), None)

    def _select(self, selection: CssSelection, within: Element | None) -> str | None:
        root = within if within is not None else self._document
        if selection.css:
            element = root.select_one(selection.css)
        else:
            element = within if within is not None else self._document.root
        if element is None:
            return None
        if selection.wanted is Wanted.TEXT:
            return element.text
        return element.attr(selection.attribute) if selection.wanted is Wanted.ATTRIBUTE else element.html


def _first_of_xpath(root: Document | Element, xpath: str) -> object | None:
    """The first node of a set, or the value itself."""
    try:
        found: object = root.xpath(xpath)
    except (ValueError, TypeError):  # what an expression means may depend on the page
        return None
    if isinstance(found, list):
        found = found[0] if found else None
    if isinstance(found, Element):
        return found.text
    if isinstance(found, float) and found.is_integer() and abs(found) < _NUMERIC_XPATH:
        return int(found)
    if isinstance(found, float) and found != found:
        return None
    return found if isinstance(found, str | bool | int | float) else None
