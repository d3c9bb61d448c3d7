"""Tables of HTML pages as rows of text: the first table that a selector matches, with cells that span expanded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from turbohtml import Element

from comity.extract.decode import parse_html

MOST_ROWS: Final = 100_000
MOST_COLUMNS: Final = 1_000
_WIDEST_SPAN: Final = 1_000
_FOREIGN: Final = re.compile(r"[^\w$]")
_NOTE: Final = re.compile(r"\[[^\]\[]{1,6}\]")


class HtmlTable(NamedTuple):
    """Names of columns, and rows of that length; a cell without text is None."""

    names: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]


def read_table(html: str, css: str, number: int = 0) -> HtmlTable | None:
    """A table that a selector matches, or that is in what it matches, counted from 0; None if there is none."""
    document = parse_html(html.encode("utf-8", "replace"), "text/html; charset=utf-8")
    tables = (table for element in document.select(css) if (table := _table_of(element)) is not None)
    found = next(islice(tables, number, None), None)
    if found is None:
        return None
    rows = list(_rows(found))
    if not rows:
        return HtmlTable((), ())
    width = min(MOST_COLUMNS, max(len(cells) for cells, _is_head in rows))
    has_head = rows[0][1]
    names = _names(rows[0][0] if has_head else [], width)
    body = [cells for cells, is_head in rows[1 if has_head else 0 :] if not is_head or not has_head]
    return HtmlTable(names, tuple(tuple((cells + [None] * width)[:width]) for cells in body))


def _table_of(element: Element) -> Element | None:
    return element if element.tag == "table" else element.select_one("table")


def _rows(table: Element) -> Iterator[tuple[list[str | None], bool]]:
    """The cells of each row, and whether all of them are headings."""
    below: _Spanned = {}
    for row in table.select("tr")[:MOST_ROWS]:
        cells = [cell for cell in row.children if isinstance(cell, Element) and cell.tag in ("td", "th")]
        if not cells:
            continue
        values: list[str | None] = []
        spanned, below = below, {}
        for cell in cells:
            _fill(values, spanned, below)
            text = " ".join(_NOTE.sub("", cell.text).split()) or None
            if len(values) >= MOST_COLUMNS:
                break
            rows = _span(cell, "rowspan")
            for _ in range(min(_span(cell, "colspan"), MOST_COLUMNS - len(values))):
                if rows > 1:
                    below[len(values)] = (rows - 1, text)
                values.append(text)
        _fill(values, spanned, below)
        yield values, all(cell.tag == "th" for cell in cells)


_Spanned = dict[int, tuple[int, str | None]]
"""Cells that reach into later rows: by their column, into how many, and their text."""


def _fill(values: list[str | None], spanned: _Spanned, below: _Spanned) -> None:
    """Put cells that began in earlier rows where they reach."""
    while len(values) in spanned:
        rows, text = spanned.pop(len(values))
        if rows > 1:
            below[len(values)] = (rows - 1, text)
        values.append(text)


def _span(cell: Element, name: str) -> int:
    said = cell.attr(name) or ""
    return min(_WIDEST_SPAN, max(1, int(said))) if said.isascii() and said.isdigit() else 1


def _names(heads: Sequence[str | None], width: int) -> tuple[str, ...]:
    """Names that are valid in SQL: words, digits and `$`, each once."""
    names: list[str] = []
    taken: set[str] = set()
    for number in range(width):
        text = heads[number] if number < len(heads) else None
        name = _FOREIGN.sub("_", text) if text else f"column{number}"
        if name.casefold() in taken:
            name = f"{name}_{number}"
        while name.casefold() in taken:
            name += "_"
        taken.add(name.casefold())
        names.append(name)
    return tuple(names)
