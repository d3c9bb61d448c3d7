"""`comity` with a ledger that is not written: for bench/ledger.py alone, which measures what writing it costs."""

from __future__ import annotations

import sys
from typing import Any

from comity.database.ledger import ledger
from comity.doors.cli.main import run


def _nothing(*_arguments: Any, **_options: Any) -> None:
    """Write nothing."""


for name in ("append_requests", "append_notes", "keep_versions", "note_gaps"):
    setattr(ledger, name, _nothing)
sys.exit(run())
