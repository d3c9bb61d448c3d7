"""Fetches one hostile path in a process of its own and tells what it cost: run by test_memory, not by hand.

python -m tests.fetch.bomb_squad URL [URL …]   →   one JSON line: kinds, peak memory growth and seconds
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path

from comity.fetch.fetcher import CurlFetcher
from comity.fetch.settings import FetchSettings
from comity.model.fetch import FetchLimits, FetchRequest, Response


def peak_bytes() -> int:
    """The most memory that this process ever held. ru_maxrss would begin with its parent's."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


async def main(urls: list[str]) -> None:
    settings = FetchSettings("test/1.0", allowed_networks=("127.0.0.1/32",), timer_tick_s=0.02)
    async with CurlFetcher(settings, time.time) as fetcher:
        # Once around first, so that code and caches are not counted.
        for url in urls:
            await fetcher.get(FetchRequest(url.rsplit("/", 2)[0] + "/encoded/gzip"))
        before, started = peak_bytes(), time.monotonic()
        kinds = []
        for url in urls:
            result = await fetcher.get(FetchRequest(url, limits=FetchLimits()))
            kinds.append("answer" if isinstance(result, Response) else result.kind.value)
            del result
        told = {"kinds": kinds, "grown_bytes": peak_bytes() - before, "seconds": time.monotonic() - started}
        print(json.dumps(told))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
