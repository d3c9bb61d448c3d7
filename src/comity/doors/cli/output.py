"""The output of a command: tables and lines for people, one JSON document or CSV for programs, and progress bars.

A terminal gets colour, and tables that fit the window. A pipe or a file gets plain text with one line per row, so that
`grep` and `cut` see whole host names, unless COLUMNS sets a width. CSV (RFC 4180, UTF-8) has the names of the JSON
fields in its first line, even if no row follows. Progress bars appear on stderr, only on a terminal, and only for work
that takes a while.
"""

from __future__ import annotations

import codecs
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, Self
from unicodedata import combining, east_asian_width

import typer

from comity.doors.schemas import iso_time
from comity.model.dataclass import dataclass
from comity.model.errors import BadInput
from comity.rules.csv_rows import CsvValue, csv_line

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from comity.doors.schemas.base import Schema

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
_GAP: Final = "  "
_INDENT: Final = "  "
_REMARK: Final = "  └─ "
_SHORTEST_FIRST: Final = 24
_SHORTEST_OTHER: Final = 16  # a time to the minute stays on one line
_LEAST_ROOM: Final = 20
_WORDS: Final = re.compile(r" *[^ ]+ *| +")
_BREAKS_AFTER: Final = frozenset("/-_.,:;?&=+·")
CsvOption = Annotated[bool, typer.Option("--csv", help="Print CSV, with the column names in the first line.")]


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
    """Write one JSON document on one line, for a stream of documents."""
    return json.dumps(value, default=_as_json, ensure_ascii=not _encoding(sys.stdout).startswith("utf"))


def write_line(*parts: str | Cell) -> None:
    """Write one line for people, wrapped where it is too long for the window."""
    write_lines([[_cell(part) for part in parts]])


def write_as_is(text: str) -> None:
    """Write text that may be copied, such as a command, on one line, however long it is."""
    write_lines([[_cell(text)]], wraps=False)


def write_table(columns: Sequence[TextColumn], rows: Sequence[TextRow]) -> None:
    """Write a table: a head, a rule, and a line for each row with its remark below it."""
    write_lines(table_lines(columns, rows))


def table_lines(columns: Sequence[TextColumn], rows: Sequence[TextRow]) -> list[list[Cell]]:
    """A table as lines, for a screen with more than one table."""
    plain = [([_cell(value) for value in row.cells], visible(row.below) if row.below else row.below) for row in rows]
    return lay_out(columns, plain, line_width())


def write_pairs(pairs: Sequence[tuple[str, str | Cell]]) -> None:
    """Write names and values below each other, the values in one column."""
    width = max((len(name) for name, _ in pairs), default=0)
    write_lines(_pair_lines([(name, _cell(value)) for name, value in pairs], width, line_width(), indent="  "))


def line_width() -> int | None:
    """The width of the terminal, or of COLUMNS; None in a pipe, where nothing wraps."""
    if is_terminal() or os.environ.get("COLUMNS", "").isdecimal():
        return shutil.get_terminal_size().columns
    return None


def note(text: str) -> None:
    """Write a remark on stderr, so that it does not mix with the result."""
    write_stderr(visible(text))


def write_stderr(text: str) -> None:
    """Write text on stderr, unless the caller closed it: `print` would then write to stdout."""
    if sys.stderr is not None:
        print(text, file=sys.stderr, flush=True)


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


def write_lines(lines: Iterable[Sequence[Cell]], *, wraps: bool = True) -> None:
    """Write lines, in colour on a terminal; lines that are too long for it are wrapped, unless `wraps` is false."""
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


class Cell(NamedTuple):
    """A piece of a line, with the style that a terminal gives it."""

    text: str
    style: str = ""


class TextColumn(NamedTuple):
    """The header of a column."""

    title: str
    is_number: bool = False


@dataclass(frozen=True, slots=True)
class TextRow:
    """One line of a table, with a remark that hangs below it."""

    cells: Sequence[str | Cell]
    below: str | None = None


Line = list[Cell]
_PlainRow = tuple[list[Cell], str | None]


def width_of(text: str) -> int:
    """How many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def folded(text: str, width: int) -> list[str]:
    """A text in pieces that are no wider than `width`; it breaks at spaces, else after punctuation, else anywhere."""
    pieces: list[str] = []
    rest = text
    while width_of(rest) > width:
        at = _break_at(rest, width)
        pieces.append(rest[:at].rstrip())
        rest = rest[at:].lstrip(" ")
    return [*pieces, rest] if rest or not pieces else pieces


def _break_at(text: str, width: int) -> int:
    fits, taken = 0, 0
    for char in text:
        taken += width_of(char)
        if taken > width:
            break
        fits += 1
    fits = max(1, fits)
    space = text.rfind(" ", 1, fits + 1)
    if space > 0:
        return space
    late = max(1, fits // 2)
    return next((at for at in range(fits, late, -1) if text[at - 1] in _BREAKS_AFTER), fits)


def lay_out(columns: Sequence[TextColumn], rows: Sequence[_PlainRow], room: int | None) -> list[Line]:
    """The lines of a table; without a room, each row is one line.

    Nothing is cut off, and no line is wider than the room. Tried in this order: as it is; with long texts folded in
    their columns; with the first column on its own line; as blocks of names and values.
    """
    widths = [width_of(column.title) for column in columns]
    for cells, _below in rows:
        widths = [max(width, width_of(cell.text)) for width, cell in zip(widths, cells, strict=True)]
    if room is None or _total(widths) <= room:
        return _as_table(columns, rows, widths, room)
    room = max(room, _LEAST_ROOM)
    fitting = _shrunk(columns, widths, room, first=_SHORTEST_FIRST)
    if fitting is not None:
        return _as_table(columns, rows, fitting, room)
    others = _shrunk(columns[1:], widths[1:], room - len(_INDENT), first=_SHORTEST_OTHER)
    if others is not None and len(columns) > 1:
        return _below_the_first(columns, rows, others, room)
    return _as_blocks(columns, rows, room)


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(_GAP) * (len(widths) - 1)


def _shrunk(columns: Sequence[TextColumn], widths: Sequence[int], room: int, *, first: int) -> list[int] | None:
    """Widths that fit: the widest texts are narrowed first; None if a column would become too narrow."""
    found = [min(width, room) for width in widths]
    least = [
        width if column.is_number else min(width, first if index == 0 else _SHORTEST_OTHER)
        for index, (width, column) in enumerate(zip(widths, columns, strict=True))
    ]
    while _total(found) > room:
        giving = [index for index, width in enumerate(found) if width > least[index]]
        if not giving:
            return None
        found[max(giving, key=lambda index: found[index])] -= 1
    return found


def _as_table(
    columns: Sequence[TextColumn], rows: Sequence[_PlainRow], widths: Sequence[int], room: int | None
) -> list[Line]:
    heads = [Cell(column.title, "bold") for column in columns]
    lines = [_aligned(heads, columns, widths), [Cell("─" * _total(widths), "dim")]]
    for cells, below in rows:
        if width_of(cells[0].text) > widths[0] and widths[0] >= _SHORTEST_FIRST:
            # A name that is too long for its column has its own line.
            lines += _own_line(cells[0], room)
            lines += _spread([Cell(""), *cells[1:]], columns, widths)
        else:
            lines += _spread(cells, columns, widths)
        lines += _remark(below, room)
    return lines


def _below_the_first(
    columns: Sequence[TextColumn], rows: Sequence[_PlainRow], widths: Sequence[int], room: int
) -> list[Line]:
    heads = [Cell(column.title, "bold") for column in columns[1:]]
    lines = [[Cell(columns[0].title, "bold")], [Cell(_INDENT), *_aligned(heads, columns[1:], widths)]]
    lines.append([Cell("─" * min(room, len(_INDENT) + _total(widths)), "dim")])
    for cells, below in rows:
        lines += _own_line(cells[0], room)
        lines += [[Cell(_INDENT), *line] for line in _spread(cells[1:], columns[1:], widths)]
        lines += _remark(below, room)
    return lines


def _as_blocks(columns: Sequence[TextColumn], rows: Sequence[_PlainRow], room: int) -> list[Line]:
    names = [folded(column.title, room // 3)[0] for column in columns]
    width = max(map(width_of, names), default=0)
    lines: list[Line] = []
    for cells, below in rows:
        lines.append([Cell("─" * room, "dim")])
        lines += _pair_lines(list(zip(names, cells, strict=True)), width, room)
        lines += _remark(below, room)
    return lines


def _pair_lines(pairs: Sequence[tuple[str, Cell]], width: int, room: int | None, indent: str = "") -> list[Line]:
    """Names and values below each other, the values folded in one column."""
    lines: list[Line] = []
    for name, value in pairs:
        left = f"{indent}{name}{' ' * (width - width_of(name))}{_GAP}"
        pieces = [value.text] if room is None else folded(value.text, max(8, room - width_of(left)))
        for number, piece in enumerate(pieces):
            lines.append([Cell(left if number == 0 else " " * width_of(left), "dim"), Cell(piece, value.style)])
    return lines


def wrapped(line: Sequence[Cell], room: int | None) -> list[Line]:
    """A sentence on as many lines as it needs; a word that is too long for any, such as a URL, is not broken."""
    text = "".join(cell.text for cell in line)
    if room is None or width_of(text) <= room:
        return [list(line)]
    indent = text[: len(text) - len(text.lstrip(" "))]
    lines: list[Line] = [[]]
    used = 0
    for cell in line:
        for word in _WORDS.findall(cell.text):
            width = width_of(word.rstrip(" "))
            if used + width > room and used > len(indent):
                lines.append([Cell(indent)])
                used = len(indent)
                word = word.lstrip(" ")
            lines[-1].append(Cell(word, cell.style))
            used += width_of(word)
    return lines


def _own_line(cell: Cell, room: int | None) -> Iterator[Line]:
    pieces = [cell.text] if room is None else folded(cell.text, room)
    return ([Cell(piece, cell.style)] for piece in pieces)


def _remark(text: str | None, room: int | None) -> Iterator[Line]:
    if text is None:
        return
    pieces = [text] if room is None else folded(text, max(8, room - len(_REMARK)))
    for number, piece in enumerate(pieces):
        yield [Cell(_REMARK if number == 0 else " " * len(_REMARK), "dim"), Cell(piece, "dim")]


def _spread(cells: Sequence[Cell], columns: Sequence[TextColumn], widths: Sequence[int]) -> Iterator[Line]:
    """One row on as many lines as its longest cell needs."""
    pieces = [folded(cell.text, max(1, width)) for cell, width in zip(cells, widths, strict=True)]
    for number in range(max(map(len, pieces))):
        here = [
            Cell(each[number] if number < len(each) else "", cell.style)
            for each, cell in zip(pieces, cells, strict=True)
        ]
        yield _aligned(here, columns, widths)


def _aligned(cells: Sequence[Cell], columns: Sequence[TextColumn], widths: Sequence[int]) -> Line:
    """One line of cells, without blanks at its end."""
    line: Line = []
    for index, (cell, column, width) in enumerate(zip(cells, columns, widths, strict=True)):
        filler = " " * (width - width_of(cell.text))
        gap = "" if index == len(cells) - 1 else _GAP
        if column.is_number:
            line += [Cell(filler), cell, Cell(gap)]
        else:
            line += [cell, Cell(filler + gap if gap else "")]
    return line


def check_one_format(*, as_csv: bool, as_json: bool) -> None:
    """Raise `BadInput` if both formats are requested."""
    if as_csv and as_json:
        raise BadInput("--csv and --json cannot be combined")


def column_names(schema: type[Schema]) -> tuple[str, ...]:
    """The columns of a listing: the fields of its schema, in their order."""
    return tuple(field.serialization_alias or name for name, field in schema.model_fields.items())


def write_csv(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows to stdout as they come, in UTF-8 whatever the encoding of the terminal."""
    sys.stdout.flush()
    stream = getattr(sys.stdout, "buffer", None)
    for line in (csv_line(columns), *(csv_line([_csv_value(row.get(name)) for name in columns]) for row in rows)):
        if stream is None:  # a caller replaced stdout by a stream of text
            sys.stdout.write(line)
        else:
            stream.write(line.encode("utf-8", "replace"))
    (sys.stdout if stream is None else stream).flush()


def _csv_value(value: Any) -> CsvValue:
    """A cell; lists and objects are written as JSON."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return str(value)  # of an enumeration, its value
    if isinstance(value, datetime):
        return iso_time(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, Mapping | list | tuple):
        return json.dumps(value, default=str, ensure_ascii=False)
    return str(value)


class ProgressBars:
    """The bars of one command. A bar appears with its first report; a quick command shows none."""

    def __init__(self) -> None:
        self._progress: Progress | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.clear()

    def clear(self) -> None:
        """Remove all bars: their work has ended, and a prompt may follow."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None

    def bar(self, title: str, total: int | None) -> Callable[[int], None]:
        """A function that takes how much is done; `total` is None if the end is unknown."""
        if sys.stderr is None or not sys.stderr.isatty():
            return _show_nothing
        task: tuple[Progress, TaskID] | None = None

        def show(done: int) -> None:
            nonlocal task
            if task is None and total is not None and done >= total:
                return  # done before it could be shown
            progress = self._started()
            if task is None or task[0] is not progress:
                task = (progress, progress.add_task(title, total=total))
            progress.update(task[1], completed=done, description=title if total is not None else f"{title} {done:,}")

        return show

    def _started(self) -> Progress:
        if self._progress is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

            columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
            self._progress = Progress(*columns, console=Console(stderr=True), transient=True)
            self._progress.start()
        return self._progress


def _show_nothing(_done: int) -> None:
    """Show nothing: stderr is not a terminal."""
