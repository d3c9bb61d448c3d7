"""The chosen content of a page as text and Markdown: takes an element, changes it, returns what turbohtml renders.

Text has a line for each row of a table. Markdown has tables without spans or HTML, absolute links, and no links that
lead nowhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final
from urllib.parse import urljoin

from turbohtml import Element, Markdown, PlainText, Text

MAX_CHARACTERS: Final = 1_000_000
_AS_TEXT: Final = PlainText(layout="strict")
_AS_MARKDOWN: Final = Markdown(
    images=Markdown.Images(mode="alt"),
    tables=Markdown.Tables(header="detect", cell_blocks="text"),
    links=Markdown.Links(autolink=False),
)
TABLES_MOST: Final = 500
_TABLE_PARTS: Final = ("tbody", "thead", "tfoot")
_ROWS_LOOKED_AT: Final = 50
_SPAN_MOST: Final = 50
_ADDED_CELLS_MOST: Final = 2_000  # of a page
_SAFE_SCHEMES: Final = ("http:", "https:", "mailto:", "tel:")
_HAS_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
# A line end after a blank, or more than two line ends. Both begin with the line end, which is searched for fast.
_UNTIDY: Final = re.compile(r"\n(?:(?<=[^\S\n]\n)|(?=\n\n)\n+)")
_BLANKS_AND_CONTROLS: Final = "".join(map(chr, range(0x21)))


def render_text(root: Element, tables: list[Element]) -> str:
    """The content as plain text; `tables` are those that hold data."""
    for table in tables:
        _write_in_lines(table)
    return _tidy(root.to_text(_AS_TEXT))


def render_markdown(root: Element, tables: list[Element], base_url: str | None) -> str:
    """The content as Markdown, with absolute links if there is a base."""
    for link in root.select("a[href]"):
        href = (link.attr("href") or "").strip(_BLANKS_AND_CONTROLS)
        if href.startswith("#") or (_HAS_SCHEME.match(href) and not href.lower().startswith(_SAFE_SCHEMES)):
            del link.attrs["href"]
        elif href and base_url is not None:
            try:
                link.attrs["href"] = urljoin(base_url, href)
            except ValueError:  # no address, such as `http://[`
                del link.attrs["href"]
    rendered = root.to_markdown(_AS_MARKDOWN)
    if tables and "<table" in rendered:
        added: list[Element] = []
        for table in tables:
            added += _fill_rows(table, _ADDED_CELLS_MOST - len(added))
        rendered = root.to_markdown(_AS_MARKDOWN)
        for cell in added:  # text may come next
            cell.decompose()
    return _tidy(rendered)


def data_tables(root: Element) -> list[Element]:
    """The tables that hold data. All others only place things on the page, and become plain blocks."""
    found = []
    for number, table in enumerate(root.iter_elements("table", include_self=True)):
        if number < TABLES_MOST and not is_layout(table):
            found.append(table)
        else:
            for row, cells in _cells(table):
                row.tag = "div"
                for cell in cells:
                    cell.tag = "div"
            table.tag = "div"
    if root.tag in ("td", "th", "tr", "tbody"):
        root.tag = "div"
    return found


def _fill_rows(table: Element, most: int) -> list[Element]:
    """Give each row a cell in every column, and no cell a span: Markdown has no spans, and the table would become HTML.

    Gives the cells that were added, `most` of them at most.
    """
    added: list[Element] = []
    widths: list[tuple[Element, int]] = []
    below: dict[int, int] = {}  # how many more rows cells from above reach down to, by column
    for row, cells in list(_cells(table)):
        column = 0
        for cell in cells:
            while below.get(column) and len(added) < most:
                below[column] -= 1
                added.append(Element("td"))
                cell.insert_before(added[-1])
                column += 1
            width, height = _taken_span(cell, "colspan"), _taken_span(cell, "rowspan")
            for further in range(column, column + width):
                below[further] = height - 1
            wide = [Element("td") for _ in range(min(width - 1, most - len(added)))]
            cell.insert_after(*wide)
            added += wide
            column += width
        while below.get(column) and len(added) < most:
            below[column] -= 1
            added.append(Element("td"))
            row.append(added[-1])
            column += 1
        widths.append((row, column))
    widest = max((width for _row, width in widths), default=0)
    for row, width in widths:
        lacking = [Element("td") for _ in range(min(widest - width, most - len(added)))]
        row.extend(lacking)
        added += lacking
    return added


def _taken_span(cell: Element, name: str) -> int:
    """Remove an attribute of a cell; returns how many columns or rows it named."""
    written = cell.attr(name)
    if written is None:
        return 1
    del cell.attrs[name]
    written = written.strip()[:4]
    return min(max(int(written), 1), _SPAN_MOST) if written.isascii() and written.isdigit() else 1


def _write_in_lines(table: Element) -> None:
    """Put each row on a line. The renderer would pad every cell to the width of its column, however long that is."""
    for row, cells in list(_cells(table)):
        for cell in cells[1:]:
            cell.insert_before(Text(" | "))
        row.insert_after(Element("br"))
    for part in table.children:
        if isinstance(part, Element) and part.tag == "caption":
            part.tag = "p"
    table.tag = "div"  # outside a table, its rows and cells are inline


def _cells(table: Element) -> Iterator[tuple[Element, list[Element]]]:
    """The rows of a table with their cells, without those of tables within it."""
    for part in list(table.children):
        if isinstance(part, Element):
            for row in [part] if part.tag == "tr" else list(part.children) if part.tag in _TABLE_PARTS else []:
                if isinstance(row, Element) and row.tag == "tr":
                    yield row, [cell for cell in row.children if isinstance(cell, Element)]


def is_layout(table: Element) -> bool:
    """Whether a table only places things: it says so, has a table within, or has one cell a row."""
    if (table.attr("role") or "") in ("presentation", "none") or table.select_one("table") is not None:
        return True
    if table.select_one("th,caption,thead") is not None:
        return False
    if table.select_one("td p, td div, td h2, td ul") is not None:
        return True
    return all(len(cells) <= 1 for _row, cells in islice(_cells(table), _ROWS_LOOKED_AT))


def _tidy(rendered: str) -> str:
    """Remove spaces at line ends, and keep at most one empty line in a row."""
    rendered = rendered[: MAX_CHARACTERS + 1]
    pieces, start = [], 0
    for found in _UNTIDY.finditer(rendered):
        place, end = found.span()
        if end - place == 1:
            return _within_limit(_tidy_lines(rendered))
        pieces.append(rendered[start:place])
        start = end
    pieces.append(rendered[start:])
    return _within_limit("\n\n".join(pieces).strip())


def _tidy_lines(rendered: str) -> str:
    """The same line by line, which takes longer: for the few pages that have spaces at line ends."""
    lines: list[str] = []
    was_empty = True
    for line in rendered.split("\n"):
        line = line.rstrip()
        if line or not was_empty:
            lines.append(line)
        was_empty = not line
    return "\n".join(lines).strip()


def _within_limit(tidied: str) -> str:
    if len(tidied) > MAX_CHARACTERS:
        tidied = tidied[:MAX_CHARACTERS].rpartition("\n")[0] or tidied[:MAX_CHARACTERS]
    return tidied
