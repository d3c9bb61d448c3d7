"""Print packages of a lock file, with their hashes: python deploy/pick_pins.py requirements-dev.lock redis psycopg …

The runtime lock is for a single machine. The extra packages of workers that share a state are in the lock of the tests.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path


def pick(lock: str, names: list[str]) -> str:
    """Return the entries of a lock with these names; exit if one is missing."""
    entries = {re.split(r"[\[=; ]", entry, maxsplit=1)[0]: entry for entry in re.split(r"\n(?=\S)", lock)}
    missing = [name for name in names if name not in entries]
    if missing:
        sys.exit(f"not in the lock: {', '.join(missing)}")
    return "\n".join(entries[name].rstrip() for name in names) + "\n"


if __name__ == "__main__":
    sys.stdout.write(pick(Path(sys.argv[1]).read_text(encoding="utf-8"), sys.argv[2:]))
