"""The output of a command: tables and lines for people, one JSON document for programs.

A terminal gets colour, and tables that fit the window. A pipe or a file gets plain text with one line per row, so that
`grep` and `cut` see whole host names, unless COLUMNS sets a width.
"""

from __future__ import annotations

import codecs
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, is_dataclass
from datetime import UTC, date, datetime
from typing import Any, Final

from comity.doors.cli.table_layout import Cell, Column, Row, lay_out, pair_lines, wrapped
from comity.doors.schemas import iso_time
from comity.model.wording import counted

__all__ = ["Cell", "Column", "Row", "counted"]

# Replacements for terminals without these characters.
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


def visible(text: str) -> str:
    """Text from outside, made harmless: control characters are escaped."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def render_time(value: datetime | None, absent: str = "-") -> str:
    """A time for people: UTC, to the minute."""
    return absent if value is None else value.astimezone(UTC).strftime("%Y-%m-%d %H:%M")


def write_json(value: Any) -> None:
    """Write one JSON document; times are ISO 8601 in UTC with a Z."""
    is_unicode = _encoding(sys.stdout).startswith("utf")
    print(json.dumps(value, default=_as_json, indent=2, ensure_ascii=not is_unicode))


def json_line(value: Any) -> str:
    """The same on one line, for a stream of documents."""
    return json.dumps(value, default=_as_json, ensure_ascii=not _encoding(sys.stdout).startswith("utf"))


def write_line(*parts: str | Cell) -> None:
    """Write one line for people, wrapped where it is too long for the window."""
    _write([[_cell(part) for part in parts]])


def write_as_is(text: str) -> None:
    """Write text that may be copied, such as a command, on one line, however long it is."""
    _write([[_cell(text)]], wraps=False)


def write_table(columns: Sequence[Column], rows: Sequence[Row]) -> None:
    """Write a table: a head, a rule, and a line for each row with its remark below it."""
    _write(table_lines(columns, rows))


def table_lines(columns: Sequence[Column], rows: Sequence[Row]) -> list[list[Cell]]:
    """A table as lines, for a screen with more than one table."""
    plain = [([_cell(value) for value in row.cells], visible(row.below) if row.below else row.below) for row in rows]
    return lay_out(columns, plain, line_width())


def write_lines(lines: Iterable[Sequence[Cell]]) -> None:
    """Write lines as they are."""
    _write(lines)


def write_pairs(pairs: Sequence[tuple[str, str | Cell]]) -> None:
    """Write names and values below each other, the values in one column."""
    width = max((len(name) for name, _ in pairs), default=0)
    _write(pair_lines([(name, _cell(value)) for name, value in pairs], width, line_width(), indent="  "))


def line_width() -> int | None:
    """The width of the terminal, or of COLUMNS; None in a pipe, where nothing wraps."""
    if is_terminal() or os.environ.get("COLUMNS", "").isdecimal():
        return shutil.get_terminal_size().columns
    return None


def note(text: str) -> None:
    """Write a remark on stderr, so that it does not mix with the result."""
    print(visible(text), file=sys.stderr)


def use_plain_fallbacks() -> None:
    """Let both streams replace characters that their encoding lacks."""
    codecs.register_error("comity_plainer", _plainer)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="comity_plainer")


def is_terminal() -> bool:
    """Whether stdout is a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


def _cell(value: str | Cell) -> Cell:
    return Cell(visible(value)) if isinstance(value, str) else Cell(visible(value.text), value.style)


def _write(lines: Iterable[Sequence[Cell]], *, wraps: bool = True) -> None:
    width = line_width() if wraps else None
    if width is not None:
        lines = [piece for line in lines for piece in wrapped(line, width)]
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
        return iso_time(value)
    if isinstance(value, date):
        return value.isoformat()
    return str(value)


def _encoding(stream: Any) -> str:
    return str(getattr(stream, "encoding", None) or "utf-8").lower()


def _plainer(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    lost = error.object[error.start : error.end]
    return "".join(_PLAINER.get(char, "?") for char in lost), error.end
