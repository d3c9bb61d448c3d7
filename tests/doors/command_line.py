"""Running `comity` as a person would: in a folder of its own, with nothing in the environment that could steer it."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from comity.doors.cli.main import run
from comity.model.host import HostStatus
from tests.database.states import WAY_TO
from tests.walk.forking import Forked, ForkServer

STATE = Path("comity-data/state.db")
STEERING = ("COMITY_", "AIDJOBS_", "ENABLE_", "MAX_", "USER_AGENT", "NO_COLOR", "FORCE_COLOR", "PY_COLORS", "COLUMNS")
STEERING += ("GITHUB_ACTIONS", "TERMINAL_WIDTH", "TYPER_", "_TYPER_")
CONTACT = "crawler@example.org"
PATIENCE_S = 60


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The JSON document on stdout, which must be all that is there."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


def clean_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment without anything that Comity, typer or rich listens to."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(STEERING)}
    return kept | {"COMITY_CONTACT": CONTACT} | dict(extra or {})


class CommandLine:
    """The command in this process (quick), or as a process of its own (`started`, `finished`)."""

    def __init__(
        self, folder: Path, capture: pytest.CaptureFixture[str], forks: Callable[[], ForkServer] | None = None
    ) -> None:
        self.folder = folder
        self._capture = capture
        self._forks = forks

    def __call__(self, *arguments: str) -> Answer:
        """Run a command here; whatever it prints is captured."""
        self._capture.readouterr()
        code = run(arguments)
        printed = self._capture.readouterr()
        return Answer(code, printed.out, printed.err)

    def done(self, *arguments: str) -> Answer:
        """The same for a command that must succeed, and say nothing on stderr."""
        answer = self(*arguments)
        assert (answer.code, answer.err) == (0, ""), answer
        return answer

    def json(self, *arguments: str) -> Any:
        """The document that a command answers with --json."""
        return self.done(*arguments, "--json").document

    def started(self, *arguments: str, **options: Any) -> subprocess.Popen[bytes] | Forked:
        """Begin a process of its own: forked, unless it is to be prepared in a way that only an interpreter can be.

        With `is_terminal`, its stdin is a terminal that it controls.
        """
        environment = clean_environment(options.pop("environment", None))
        if self._forks is not None and "preexec_fn" not in options and "PYTHONIOENCODING" not in environment:
            asked = {"argv": arguments, "env": environment, "cwd": str(self.folder)}
            return self._forks().popen(asked | {"is_terminal": options.pop("is_terminal", False)}, **options)
        command: Sequence[str] = [sys.executable, "-m", "comity", *arguments]
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
        return subprocess.Popen(command, cwd=self.folder, env=environment, **streams)

    def finished(self, *arguments: str, given: bytes | None = None, **options: Any) -> Answer:
        """Run a process of its own to its end."""
        if given is not None:
            options["stdin"] = subprocess.PIPE
        with self.started(*arguments, **options) as process:
            out, err = process.communicate(given, timeout=PATIENCE_S)
        return Answer(process.returncode, (out or b"").decode(), (err or b"").decode())

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Ask the embedded state itself."""
        connection = sqlite3.connect(self.folder / STATE)
        try:
            with connection:
                return connection.execute(statement, values).fetchall()
        finally:
            connection.close()

    def add_host(self, domain: str, **columns: object) -> None:
        """Write a host's row by hand; a new row is pending, and moves from there."""
        status = columns.pop("status", "pending")
        names = ["domain", *columns]
        places = ", ".join("?" * len(names))
        self.rows(f"INSERT INTO domains ({', '.join(names)}) VALUES ({places})", domain, *columns.values())
        for step in WAY_TO[HostStatus(str(status))]:
            self.rows("UPDATE domains SET status = ? WHERE domain = ?", str(step), domain)

    def add_many(self, number: int) -> None:
        """Write `number` hosts by hand: h0.example, h1.example …"""
        counting = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?)"
        self.rows(f"{counting} INSERT INTO domains (domain) SELECT 'h' || i || '.example' FROM n", number)

    def column(self, domain: str, name: str) -> Any:
        """One column of a host's row."""
        return self.rows(f"SELECT {name} FROM domains WHERE domain = ?", domain)[0][0]
