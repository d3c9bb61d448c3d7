"""`comity sql`: statements on a DuckDB file, CRAWL among them, from the command line, a file or a prompt."""

from __future__ import annotations

import csv
import math
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from decimal import Decimal
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from comity.doors.cli.help_text import command
from comity.doors.cli.options import EVERYWHERE, JsonOption, read_invocation
from comity.doors.cli.output import (
    Cell,
    ProgressBars,
    TextColumn,
    TextRow,
    check_one_format,
    note,
    write_as_is,
    write_json,
    write_line,
    write_table,
)
from comity.model.errors import BadInput, ComityError
from comity.model.wording import counted
from comity.rules.suggestions import nearest

if TYPE_CHECKING:
    from comity.doors.sql.connection import SqlConnection

_MOST_ROWS: Final = 40
_WIDEST: Final = 60
_PROMPT, _GOES_ON = "comity> ", "   ...> "
_IDLE_S: Final = 0.3  # pasted statements run without a pause
_COMMANDS: Final = (".read", ".tables", ".help", ".quit")
_OF_OURS: Final = (  # copies of the state, and tables of results
    "database_name IN (SELECT database_name FROM duckdb_databases() WHERE database_name = 'comity' AND path IS NULL) "
    "OR regexp_full_match(table_name, '(html_table|comity_result)_[0-9a-f]{32}')"
)
_TABLES: Final = (
    "SELECT table_name, rows FROM ("  # noqa: S608
    "SELECT database_name, table_name, estimated_size AS rows FROM duckdb_tables() WHERE NOT internal "
    "UNION ALL SELECT database_name, view_name, NULL FROM duckdb_views() WHERE NOT internal"
    f") WHERE NOT ({_OF_OURS}) ORDER BY table_name"
)
_COLUMNS: Final = (
    "SELECT DISTINCT column_name FROM duckdb_columns() "  # noqa: S608
    f"WHERE NOT internal AND NOT ({_OF_OURS}) ORDER BY column_name LIMIT 1000"
)
_KEYWORDS: Final = (
    *("CRAWL (SELECT", "INTO", "EXTRACT (", "WHERE url", "WITH (", "LIMIT", "SELECT", "FROM", "SET"),
    *("CRAWLING MERGE INTO", "STREAM (SELECT", "STOP CRAWL INTO", "crawl(", "crawl_url(", "sitemap(", "read_html("),
)
_HELP: Final = """\
CRAWL (SELECT 'https://example.com/') INTO pages WITH (user_agent 'MyBot/1.0');
SELECT url, http_status FROM pages;

A statement ends with a semicolon. Everything that is not CRAWL goes to DuckDB.
.tables       list the tables and views
.read FILE    run the statements of a file
.help         show this
.quit         leave, as Ctrl-D does

Ctrl-C ends a crawl and keeps the pages that arrived."""


def register(root: typer.Typer) -> None:
    """Add the command of this file."""
    examples = (
        "comity sql shop.duckdb \"CRAWL (SELECT 'https://example.com/') INTO pages\"",
        'comity sql shop.duckdb "SELECT url, http_status FROM pages"',
        "comity sql shop.duckdb --read statements.sql",
        "comity sql shop.duckdb",
    )
    command(root, "sql", panel="Crawl", examples=examples)(sql)


def sql(
    context: typer.Context,
    database: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", help="A DuckDB file, created if it is missing. Without one: in memory."),
    ] = None,
    statements: Annotated[
        list[str] | None,
        typer.Argument(metavar="[STATEMENTS]", help="The statements to run. Without any, a prompt opens."),
    ] = None,
    read: Annotated[
        Path | None, typer.Option("--read", metavar="FILE", help="Run the statements of a file first.")
    ] = None,
    allow_network: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-network", metavar="NETWORK", help="Allow requests to this private network, such as 10.0.0.0/8."
        ),
    ] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print the result of the last statement as CSV.")] = False,
    state: Annotated[
        str | None,
        typer.Option(
            "--state",
            metavar="FILE|URL",
            help="The state of the crawls: a file, or the postgresql:// URL of a shared one. Default: a file beside "
            "FILE, such as shop.comity.db for shop.duckdb.",
            rich_help_panel=EVERYWHERE,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Run SQL on a DuckDB file, with CRAWL (SELECT …) INTO table.

    A CRAWL statement requests the URLs that its query returns, as every crawl does: it obeys robots.txt, keeps each
    host's delay, and a killed statement resumes when it is run again. The exit code is 1 if a CRAWL statement wanted
    pages and got none. docs/sql.md has the grammar and every option.
    """
    invocation = read_invocation(context, state, as_json)
    settings, as_json = invocation.settings, invocation.as_json
    check_one_format(as_csv=as_csv, as_json=as_json)
    from comity.doors.sql.connection import connect
    from comity.doors.sql.database_file import MEMORY

    if database is not None and database.suffix == ".sql" and read is None:
        raise BadInput(f"{database} looks like a script; run it with --read {database}")
    text = _script(read)
    networks = (*map(str, settings.allow_networks), *(allow_network or ()))
    with warnings.catch_warnings(), _readable_errors(database):
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *_rest, **_more: note(str(message))
        connection = connect(
            database if database is not None else MEMORY,
            state=state,
            allow_networks=networks or None,
            on_progress=_shown.show,
        )
        with connection:
            if text:
                _run_script(connection, text, str(read), as_csv=as_csv, as_json=as_json)
            for each in filter(None, statements or ()):
                _run(connection, each, as_csv=as_csv, as_json=as_json)
            if not text and not statements:
                _converse(connection, database)
            if connection.is_in_vain and (text or statements or not sys.stdin.isatty()):
                raise typer.Exit(1)


def _script(read: Path | None, option: str = "--read") -> str:
    if read is None:
        return ""
    try:
        return read.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as problem:
        why = problem.strerror if isinstance(problem, OSError) else "it is not UTF-8 text"
        raise BadInput(f"{option}: cannot read {read}: {why}") from None


def _run_script(
    connection: SqlConnection, text: str, place: str, *, as_csv: bool = False, as_json: bool = False
) -> None:
    """Run the statements of a file and print their results; it may have commands of the prompt."""
    for part, typed in _parts_of(text):
        if part.strip():
            _run(connection, part, place, as_csv=as_csv, as_json=as_json)
        if typed and not _command(connection, typed, stops=True):
            return


def _parts_of(text: str) -> Iterator[tuple[str, str]]:
    """Statements up to each line that is a command such as `.tables`, and the command. Lines keep their numbers."""
    from comity.rules.sql.statements import is_complete

    part: list[str] = []
    for number, line in enumerate(text.splitlines()):
        if line.lstrip().startswith(".") and is_complete("\n".join(part)):
            yield "\n".join(part), line.strip()
            part = [""] * (number + 1)
        else:
            part.append(line)
    yield "\n".join(part), ""


class _ShownProgress:
    """A bar with the pages of the statement that runs, and a remark if it has to wait."""

    def __init__(self) -> None:
        self._bars = ProgressBars()
        self._bar: Callable[[int], None] | None = None
        self._has_noted = False

    def show(self, progress: Any, summary: Any) -> None:
        """Called several times a second."""
        if summary.waits_for and not self._has_noted:
            self._has_noted = True
            note(f"waiting for another process that is crawling {', '.join(summary.waits_for[:3])}")
        if self._bar is None:
            self._bar = self._bars.bar("pages", None)
        self._bar(progress.pages)

    def clear(self) -> None:
        """Remove the bar; the next statement gets its own."""
        self._bars.clear()
        self._bar, self._has_noted = None, False


_shown: Final = _ShownProgress()
_DONE: Final = ("Count", "Success")  # the columns of statements that have no result, such as CREATE and SET
_known_names: Final[list[str]] = []  # of tables and columns, for completion, while the file may be closed


def _run(connection: SqlConnection, text: str, place: str = "", *, as_csv: bool = False, as_json: bool = False) -> None:
    """Run statements and print their results, as CSV and JSON that of the last one; `place` is their file."""

    def print_table() -> None:
        _shown.clear()
        _print_result(connection)

    with _readable_errors():
        connection.on_result = _print_nothing if as_csv or as_json else print_table
        try:
            connection.execute(text)
        except Exception as problem:
            raise _with_line(problem, connection, text, place) from None
        finally:
            connection.on_result = None
            _shown.clear()
        _print_result(connection, as_csv=as_csv, as_json=as_json)


def _print_nothing() -> None:
    """What is printed of all statements but the last one, as CSV and JSON."""


def _print_result(connection: SqlConnection, *, as_csv: bool = False, as_json: bool = False) -> None:
    """Print the result of the statement that ran last, if it has one."""
    if description := connection.description:
        names = [column[0] for column in description]
        if as_csv:
            writer = csv.writer(sys.stdout)
            writer.writerow(names)
            while rows := connection.fetchmany(1000):
                writer.writerows([["" if value is None else _text(value) for value in row] for row in rows])
            return
        if as_json:
            write_json([dict(zip(names, map(_plain, row), strict=True)) for row in connection.fetchall()])
            return
        rows = connection.fetchmany(_MOST_ROWS + 1)
        if not rows and names[0] in _DONE:
            return
        _write_rows(names, rows[:_MOST_ROWS])
        if len(rows) > _MOST_ROWS:
            write_line(Cell(f"… more than {_MOST_ROWS} rows; use LIMIT or --csv to see the others", "dim"))


def _plain(value: Any) -> Any:
    """A value that JSON has: NaN and infinity become null, binary data hexadecimal digits."""
    match value:
        case float():
            return value if math.isfinite(value) else None
        case bytes():
            return value.hex()
        case dict():
            return {str(name): _plain(member) for name, member in value.items()}
        case list() | tuple():
            return [_plain(member) for member in value]
        case _:
            return value


def _write_rows(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    write_table([TextColumn(name) for name in names], [TextRow([_cell(value) for value in row]) for row in rows])


def _text(value: object) -> str:
    """A value as SQL would say it, not Python."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case bytes():
            return value.hex()
        case dict():
            return "{" + ", ".join(f"{_within(name)}: {_within(member)}" for name, member in value.items()) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(_within, value)) + "]"
        case _:
            return str(value)


def _within(value: object) -> str:
    """A value inside of another one: text and times are in quotes there."""
    text = _text(value)
    is_bare = value is None or isinstance(value, bool | int | float | Decimal | dict | list | tuple)
    return text if is_bare else "'" + text.replace("'", "''") + "'"


def _cell(value: object) -> str:
    text = _text(value)
    first = " ".join(text[: 4 * _WIDEST].split())
    return first if len(first) <= _WIDEST else first[: _WIDEST - 1] + "…"


@contextmanager
def _readable_errors(database: Path | None = None) -> Iterator[None]:
    """DuckDB's own errors, as one of ours: one sentence, and exit code 1. `database` is the file that is opened."""
    import duckdb

    from comity.doors.sql.database_file import locked_by_another
    from comity.store.parts.duckdb_table import one_line

    try:
        yield
    except duckdb.Error as problem:
        is_locked = database is not None and isinstance(problem, duckdb.IOException)
        refusal = locked_by_another(database, problem) if database is not None and is_locked else None
        raise refusal or ComityError(f"{_line_of(problem)}{one_line(problem)}") from None


def _line_of(problem: Exception) -> str:
    """The line that DuckDB names, of a text that has several."""
    found = re.search(r"\nLINE (\d+): ", str(problem))
    return f"line {found[1]}: " if found is not None and found[1] != "1" else ""


def _with_line(problem: Exception, connection: SqlConnection, text: str, place: str) -> Exception:
    """An error with the line of its statement, if the text has several of them."""
    import duckdb

    from comity.rules.sql.statements import first_lines
    from comity.store.parts.duckdb_table import one_line

    lines, done = first_lines(text), connection.statements_done
    if not isinstance(problem, duckdb.Error) or (len(lines) < 2 and not place) or done >= len(lines):
        return problem
    if isinstance(problem, duckdb.ParserException) and not done:
        return problem  # which one is wrong is not known: DuckDB parses a script as a whole, before it runs any
    before = f"; the {counted(done, 'statement')} before it ran" if done else ""
    return ComityError(f"line {lines[done]}{f' of {place}' if place else ''}: {one_line(problem)}{before}")


def _converse(connection: SqlConnection, database: Path | None) -> None:
    """Read statements from the terminal, or from what is piped in, until the end."""
    if not sys.stdin.isatty():
        _read_statements(connection, None, is_terminal=False)
        return
    lines = _use_history(database)
    _note_tables(connection)
    note("Statements end with a semicolon; .help shows more, .quit leaves.")
    try:
        _read_statements(connection, lines, is_terminal=True)
    finally:
        if lines is not None and database is not None:
            with suppress(OSError):
                lines.write_history_file(_history_of(database))


def _read_statements(connection: SqlConnection, lines: Any, *, is_terminal: bool) -> None:
    """Run what is typed; `lines` are readline's, where there is one."""
    from comity.rules.sql.statements import is_complete

    typed = ""
    while True:
        try:
            with _released_when_idle(connection):
                line = input((_GOES_ON if typed else _PROMPT) if is_terminal else "")
        except EOFError:
            break
        except KeyboardInterrupt:
            _forget_secret(lines, typed)
            typed = ""
            note("")
            continue
        if not typed and line.strip().startswith("."):
            if not _command(connection, line.strip(), stops=not is_terminal):
                return
            continue
        typed = f"{typed}\n{line}" if typed else line
        if typed.strip() and is_complete(typed):
            _forget_secret(lines, typed)
            _answer(connection, typed, stops=not is_terminal)
            typed = ""
    _forget_secret(lines, typed)
    if typed.strip():
        _answer(connection, typed, stops=not is_terminal)


@contextmanager
def _released_when_idle(connection: SqlConnection) -> Iterator[None]:
    """While the prompt waits, other processes can open the file, unless the session would lose something."""
    timer = Timer(_IDLE_S, connection.release)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def _answer(connection: SqlConnection, text: str, place: str = "", *, stops: bool, is_script: bool = False) -> None:
    """Run what was typed; at a prompt, an error or an interruption does not end it."""
    try:
        (_run_script if is_script else _run)(connection, text, place)
    except KeyboardInterrupt:
        if stops:
            raise
        note("Stopped. The pages that arrived are in the table; run the same statement again to continue.")
    except ComityError as problem:
        if stops:
            raise
        note(str(problem))
    else:
        if not stops:
            _note_tables(connection)


def _command(connection: SqlConnection, line: str, *, stops: bool) -> bool:
    """A command of the prompt; False to leave."""
    name, _, rest = line.partition(" ")
    match name:
        case ".quit" | ".exit":
            return False
        case ".help":
            for each in _HELP.splitlines():
                write_as_is(each)
        case ".tables":
            _answer(connection, _TABLES, stops=stops)
        case ".read":
            try:
                text = _script(Path(rest.strip()), ".read")
            except BadInput as problem:
                if stops:
                    raise
                note(str(problem))
            else:
                _answer(connection, text, rest.strip(), stops=stops, is_script=True)
        case _:
            meant = nearest(name, _COMMANDS)
            note(f"{name} is not known; {f'did you mean {meant}?' if meant else '.help lists the commands'}")
    return True


def _use_history(database: Path | None) -> Any:
    """Arrow keys, and completion of keywords, options, tables and columns; the history is beside the database."""
    with suppress(ImportError):
        import readline

        from comity.rules.sql.options import OPTIONS

        if database is not None:
            with suppress(OSError):
                readline.read_history_file(_history_of(database))
            readline.set_history_length(1000)

        def complete(text: str, number: int) -> str | None:
            found = _completions(text, [*_COMMANDS, *_KEYWORDS, *OPTIONS, *_known_names])
            return found[number] if number < len(found) else None

        readline.set_completer(complete)
        readline.set_completer_delims(" \t\n(),;")
        readline.parse_and_bind("tab: complete")
        return readline
    return None


def _completions(text: str, known: Sequence[str]) -> list[str]:
    """The words that begin so; in the same case, if there are any: `CRA` means CRAWL and not crawl_delay_ms."""
    if not text:
        return []
    exact = [word for word in known if word.startswith(text)]
    return exact or [word for word in known if word.lower().startswith(text.lower())]


def _note_tables(connection: SqlConnection) -> None:
    """Remember the names of the tables and their columns for completion."""
    import duckdb

    with suppress(duckdb.Error, ComityError), closing(connection.cursor()) as cursor:
        tables = [name for name, _rows in cursor.execute(_TABLES).fetchall()]
        columns = [name for (name,) in cursor.execute(_COLUMNS).fetchall()]
        _known_names[:] = dict.fromkeys((*tables, *columns))


def _forget_secret(lines: Any, typed: str) -> None:
    """Take what was typed out of the history, which is a file, if it may hold a secret."""
    from comity.rules.sql.secrets import may_hold_secret

    if lines is None or not may_hold_secret(typed):
        return
    # A line without anything in it has no entry.
    for line in filter(None, reversed(typed.split("\n"))):
        last = lines.get_current_history_length()
        if last and lines.get_history_item(last) == line:
            lines.remove_history_item(last - 1)


def _history_of(database: Path) -> Path:
    return database.with_name(f"{database.stem}.comity.history")
