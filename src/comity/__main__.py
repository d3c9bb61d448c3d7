"""`python -m comity` is the `comity` command."""

from __future__ import annotations

import sys

from comity.doors.cli.main import run

sys.exit(run())
