"""A process that stores pages in small parts: `python -m tests.store.working PLACE COMMITTED COUNT NAME`.

It says `begun` once the first page is safe. Called `wait`, it then waits to be killed.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from comity.store import pages
from tests.store.light import compressed, page

NUMBERS = {"first": 0, "second": 1_000_000, "third": 2_000_000, "fourth": 3_000_000}


def main(place: str, committed: Path, count: int, name: str) -> None:
    pages.ROWS_PER_PART = 40  # type: ignore[misc]
    store = pages.open_sink(place, f"machine:{os.getpid()}:1:{name}")
    begin = NUMBERS.get(name, 0)
    with committed.open("a") as database:
        for start in range(begin, begin + count, 7):
            records = [compressed(page(number)) for number in range(start, min(start + 7, begin + count))]
            places = store.append(records)
            database.write("".join(f"{record.url}\n" for record in records))
            database.flush()
            if start == begin:
                print("begun", flush=True)
            if name == "wait":
                time.sleep(60)
            store.keep(places)
    store.close()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
