"""Another process that uses a DuckDB file: `python other_process.py FILE STATEMENT`.

It runs the statement, prints its rows, and holds the file until its input ends.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

LIMIT_S = 60.0


def start(file: Path, statement: str) -> subprocess.Popen[str]:
    command = [sys.executable, __file__, str(file), statement]  # from any folder
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def answer_of(file: Path, statement: str) -> str:
    """What another process finds in the file, or DuckDB's error."""
    with start(file, statement) as process:
        out, _ = process.communicate("", timeout=LIMIT_S)
    return out.strip()


@contextmanager
def holding(file: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that has the file open until its input is closed, at the latest at the end."""
    with start(file, "SELECT 'open'") as process:
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            assert process.stdout.readline() == "[('open',)]\n"
            yield process
        finally:
            process.stdin.close()
            process.wait(LIMIT_S)


def main(file: str, statement: str) -> None:
    try:
        with duckdb.connect(file) as connection:
            print(connection.execute(statement).fetchall(), flush=True)
            sys.stdin.read()
    except duckdb.Error as problem:
        print(f"{type(problem).__name__}: {problem}".splitlines()[0], flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
