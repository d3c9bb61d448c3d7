"""What a command says: tables and lines for people, one JSON document for programs.

Values enter, text leaves. On a terminal there is colour, and the table fits the window; into a pipe or a file goes
plain text that is never cut, so that `grep` and `cut` see whole host names.
"""

from __future__ import annotations

import codecs
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from datetime import UTC, date, datetime
from typing import Any, Final, NamedTuple

from comity.doors.shapes.times import spelled_time

_GAP: Final = "  "
_SHORTEST_FIRST_COLUMN: Final = 24
# What a terminal without these characters gets instead.
_PLAINER: Final = {
    "─": "-",
    "└": "`",
    "…": "...",
    "→": "->",
    "·": "-",
    "–": "-",
    "’": "'",
    "“": '"',
    "”": '"',
    "█": "#",
}


class Cell(NamedTuple):
    """A piece of a line, with the style that a terminal gives it."""

    text: str
    style: str = ""


class Column(NamedTuple):
    """The head of a column."""

    title: str
    is_number: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table, with a remark that hangs below it."""

    cells: Sequence[str | Cell]
    below: str | None = None


def visible(text: str) -> str:
    """Text from outside, made harmless: what a terminal would obey is spelled out instead."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def shown_time(value: datetime | None, absent: str = "-") -> str:
    """A time for people: UTC, to the minute."""
    return absent if value is None else value.astimezone(UTC).strftime("%Y-%m-%d %H:%M")


def counted(number: int, one: str, many: str | None = None) -> str:
    """`1 host`, `1,234 hosts`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def write_json(value: Any) -> None:
    """Write one JSON document; times are ISO 8601 in UTC with a Z."""
    is_unicode = _encoding(sys.stdout).startswith("utf")
    print(json.dumps(value, default=_as_json, indent=2, ensure_ascii=not is_unicode))


def json_line(value: Any) -> str:
    """The same on one line, for a stream of documents."""
    return json.dumps(value, default=_as_json, ensure_ascii=not _encoding(sys.stdout).startswith("utf"))


def write_line(*parts: str | Cell) -> None:
    """Write one line for people."""
    _write([[_cell(part) for part in parts]])


def write_table(columns: Sequence[Column], rows: Sequence[Row]) -> None:
    """Write a table: a head, a rule, and a line for each row with its remark below it."""
    _write(_table_lines(columns, rows, _room_for_first(columns, rows)))


def table_lines(columns: Sequence[Column], rows: Sequence[Row]) -> list[list[Cell]]:
    """A table as lines, for whoever puts more than one on a screen."""
    return _table_lines(columns, rows, _room_for_first(columns, rows))


def write_lines(lines: Iterable[Sequence[Cell]]) -> None:
    """Write lines as they are."""
    _write(lines)


def write_pairs(pairs: Sequence[tuple[str, str | Cell]]) -> None:
    """Write names and values below each other, the values in one column."""
    width = max((len(name) for name, _ in pairs), default=0)
    _write([[Cell(f"  {name:<{width}}  ", "dim"), _cell(value)] for name, value in pairs])


def note(text: str) -> None:
    """Say something beside the result: on stderr, so that a pipe does not carry it."""
    print(visible(text), file=sys.stderr)


def be_readable_everywhere() -> None:
    """Make both streams fall back to plainer characters where their encoding lacks one."""
    codecs.register_error("comity_plainer", _plainer)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="comity_plainer")


def is_terminal() -> bool:
    """Whether a person is looking at stdout."""
    return sys.stdout is not None and sys.stdout.isatty()


def _table_lines(columns: Sequence[Column], rows: Sequence[Row], first_width: int | None) -> list[list[Cell]]:
    widths = _widths(columns, rows)
    if first_width is not None:
        widths[0] = min(widths[0], first_width)
    heads = [Cell(column.title, "bold") for column in columns]
    lines = [_aligned(heads, columns, widths), [Cell("─" * (sum(widths) + len(_GAP) * (len(widths) - 1)), "dim")]]
    for row in rows:
        cells = [_cell(value) for value in row.cells]
        if len(cells[0].text) > widths[0]:
            # A name that is too long for its column has a line of its own; it is never cut.
            lines.append([cells[0]])
            cells[0] = Cell("")
        lines.append(_aligned(cells, columns, widths))
        if row.below is not None:
            lines.append([Cell("  └─ ", "dim"), Cell(visible(row.below), "dim")])
    return lines


def _widths(columns: Sequence[Column], rows: Sequence[Row]) -> list[int]:
    widths = [len(column.title) for column in columns]
    for row in rows:
        for index, value in enumerate(row.cells):
            widths[index] = max(widths[index], len(_cell(value).text))
    return widths


def _room_for_first(columns: Sequence[Column], rows: Sequence[Row]) -> int | None:
    """How wide the first column may be on this terminal; None in a pipe, where nothing wraps."""
    if not is_terminal():
        return None
    others = sum(width + len(_GAP) for width in _widths(columns, rows)[1:])
    return max(_SHORTEST_FIRST_COLUMN, shutil.get_terminal_size().columns - others)


def _aligned(cells: Sequence[Cell], columns: Sequence[Column], widths: Sequence[int]) -> list[Cell]:
    """One line of cells; nothing is left blank at its end."""
    line: list[Cell] = []
    for index, (cell, column, width) in enumerate(zip(cells, columns, widths, strict=True)):
        filler = " " * (width - len(cell.text))
        gap = "" if index == len(cells) - 1 else _GAP
        if column.is_number:
            line += [Cell(filler), cell, Cell(gap)]
        else:
            line += [cell, Cell(filler + gap if gap else "")]
    return line


def _cell(value: str | Cell) -> Cell:
    return Cell(visible(value)) if isinstance(value, str) else Cell(visible(value.text), value.style)


def _write(lines: Iterable[Sequence[Cell]]) -> None:
    if not is_terminal() and not os.environ.get("FORCE_COLOR"):
        for line in lines:
            print("".join(cell.text for cell in line).rstrip())
        return
    write_styled = _styled_writer()
    for line in lines:
        write_styled(line)


def _styled_writer() -> Callable[[Sequence[Cell]], None]:
    from rich.console import Console  # only a terminal needs it
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)

    def write(line: Sequence[Cell]) -> None:
        text = Text.assemble(*((cell.text, cell.style) for cell in line))
        text.rstrip()
        console.print(text)

    return write


def _as_json(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, datetime):
        return spelled_time(value)
    if isinstance(value, date):
        return value.isoformat()
    return str(value)


def _encoding(stream: Any) -> str:
    return str(getattr(stream, "encoding", None) or "utf-8").lower()


def _plainer(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    lost = error.object[error.start : error.end]
    return "".join(_PLAINER.get(char, "?") for char in lost), error.end
