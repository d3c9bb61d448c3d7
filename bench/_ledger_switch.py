"""`comity` with the ledger or without it, for bench/ledger.py: `python bench/_ledger_switch.py MODE FILE COMMAND…`.

With `with`, FILE gets the seconds of CPU that the ledger's statements took, without their share of the commit.
With `without`, nothing of the ledger is written, and FILE gets 0.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from time import thread_time
from typing import Any

from comity.database import ledger
from comity.doors.cli.main import run

STATEMENTS = ("append_requests", "append_notes", "keep_versions", "note_gaps")
used_s = [0.0]


def _nothing(*_arguments: Any, **_options: Any) -> None:
    """Write nothing."""


def _timed(statement: Callable[..., None]) -> Callable[..., None]:
    """The same statement, whose CPU time is added up; only one thread writes to the state."""

    def timed(*arguments: Any, **options: Any) -> None:
        began = thread_time()
        statement(*arguments, **options)
        used_s[0] += thread_time() - began

    return timed


mode, report, *arguments = sys.argv[1:]
for name in STATEMENTS:
    setattr(ledger, name, _timed(getattr(ledger, name)) if mode == "with" else _nothing)
sys.argv = ["comity", *arguments]
code = run()
Path(report).write_text(str(used_s[0]))
sys.exit(code)
