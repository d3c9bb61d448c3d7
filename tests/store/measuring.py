"""A process that stores or recovers many pages and tells what it took: `python -m tests.store.measuring WHAT PLACE`.

It prints a JSON object: megabytes at the beginning and at the most, and the heavy packages that it imported.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

from comity.fetch.inflate import inflate_coded
from comity.store.pages import open_sink, recover
from comity.store.segment import SegmentWriter
from tests.sizes import sized
from tests.store.light import page

HEAVY = ("pyarrow", "duckdb", "pandas", "numpy")


def megabytes(field: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def many_pages(place: str) -> None:
    store = open_sink(place, "machine:1:2:x")
    for start in range(0, sized(2000, 4000), 100):
        bodies = [(f"<p>{number} " + "lorem ipsum dolor " * 2000).encode() for number in range(start, start + 100)]
        store.keep(store.append([page(start + index, body) for index, body in enumerate(bodies)]))
    store.close()


def large_bodies(place: str) -> None:
    coded = gzip.compress(b"\0" * 10_000_000)
    target = open_sink(place, "nobody").target
    segment = SegmentWriter(target.spool / "segment-machine-1-2-x-000001.open")
    segment.append([page(number, b"", coded=coded, coding="gzip") for number in range(150)])
    segment.leave()
    assert recover(target.spool, lambda _: True, lambda batch: [True] * len(batch), inflate_coded) == 150


if __name__ == "__main__":
    before = megabytes("VmRSS")
    {"many pages": many_pages, "large bodies": large_bodies}[sys.argv[1]](sys.argv[2])
    heavy = [name for name in HEAVY if name in sys.modules]
    print(json.dumps({"before": before, "most": megabytes("VmHWM"), "heavy": heavy}))
