"""A process that recovers a place in which everything is committed: `python -m tests.store.recovering PLACE`."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.store.samples import recovered

if __name__ == "__main__":
    print(recovered(Path(sys.argv[1]), lambda _record: True))
