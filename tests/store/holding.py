"""A process that has a DuckDB file open until it is ended: `python -m tests.store.holding FILE`."""

from __future__ import annotations

import sys
import time

import duckdb

if __name__ == "__main__":
    with duckdb.connect(sys.argv[1]):
        print("open", flush=True)
        time.sleep(60)
