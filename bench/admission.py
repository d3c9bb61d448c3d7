"""What admitting the links of one page costs.

    python bench/admission.py [--repeat 40]

A page of 100 links, as a shop has them: 60 pages of its host, 15 of other hosts, 10 that robots.txt forbids, 5 that
look like a trap, 5 that lead nowhere, 5 that come twice. "new" is the first time that they are met; "written otherwise"
the second time, from another path, so that each must be resolved before it is known; "known" the usual case of links
as written before. The time is that of the processor. Links are admitted for every page of a crawl: a page of known
links must stay far below what reading the page takes (about 140 µs).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import time
import uuid
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from comity.model.fetch import DEFAULT_LIMITS
from comity.model.gate import DOOR_PROFILES, Door, GateMemory
from comity.model.host import HostStatus, Lease
from comity.model.robots import Confidence, RobotsAccess, RobotsReading
from comity.model.run import CrawlScope
from comity.rules.robots.verdict import parse_robots
from comity.rules.takedown import Takedowns
from comity.rules.traps.watch import TrapWatch
from comity.walk.robots.record import RobotsInForce
from comity.walk.session.leased_host import LeasedHost
from comity.walk.visit.admit import admit_images, admit_links
from comity.walk.visit.context import VisitContext

ORIGIN = "https://shop.example"
ROBOTS = b"User-agent: *\nDisallow: /cart/\nDisallow: /*?sort=\nDisallow: /admin/\nAllow: /admin/help\n"


def links(page: int) -> list[str]:
    hrefs = [f"/products/{page}/shoe-{number}.html" for number in range(60)]
    hrefs += [f"https://other-{number}.example/{page}" for number in range(15)]
    hrefs += [f"/cart/{page}-{number}" for number in range(10)]
    hrefs += [f"/calendar/{2100 + number}/01/{page % 28 + 1}" for number in range(5)]
    hrefs += ["javascript:void(0)", "mailto:a@b.example", "#", "tel:1", "data:,x"]
    return hrefs + hrefs[:5]


def relative(page: int) -> list[str]:
    """The same, but for the first slash."""
    return [href[1:] if href.startswith("/") else href for href in links(page)]


def context(takedowns: Takedowns) -> VisitContext:
    nothing: Any = None
    return VisitContext(
        requests=nothing,
        robots=nothing,
        host_of=nothing,
        takedowns=lambda: takedowns,
        clock=time.time,
        scope=CrawlScope(),
        tracking=None,
        extract=None,
        html_pool=nothing,
        limits=DEFAULT_LIMITS,
        agent="comitybot",
        max_redirects=5,
    )


def leased_host() -> LeasedHost:
    ends = datetime(2100, 1, 1, tzinfo=UTC)
    lease = Lease(uuid.uuid4(), "shop.example", "bench", 1, ends, HostStatus.ACTIVE, 0, None, GateMemory())
    host = LeasedHost(lease, DOOR_PROFILES[Door.SQL], None, clock=time.time, chance=lambda: 0.0)
    file = parse_robots(ROBOTS)
    reading = RobotsReading(RobotsAccess.PARSE, Confidence.HIGH, "read")
    host.robots[ORIGIN] = RobotsInForce(ORIGIN, reading, file, file.for_agent("comitybot"), 1e12)
    host.traps = TrapWatch(today=date(2026, 1, 1))
    return host


def measured(repeat: int, takedowns: Takedowns) -> dict[str, float]:
    """Medians, µs of processor time a page."""
    host, terms = leased_host(), context(takedowns)
    watch = host.traps
    assert watch is not None
    times: dict[str, list[float]] = {"new": [], "written otherwise": [], "known": [], "images": []}

    def timed(name: str, work: Callable[[], object]) -> None:
        began = time.process_time_ns()
        work()
        times[name].append((time.process_time_ns() - began) / 1000)

    async def run() -> None:
        for page in range(repeat):
            seen = watch.fetched(f"/list/{page}", page)
            images = [f"/images/{page}/{number}.jpg" for number in range(100)]
            for name, hrefs, base in (
                ("new", links(page), f"{ORIGIN}/list/{page}"),
                ("written otherwise", relative(page), f"{ORIGIN}/{page}"),
                ("known", links(page), f"{ORIGIN}/list/{page}"),
            ):
                began = time.process_time_ns()
                await admit_links(host, hrefs, seen, base=base, depth=2, found_on=page, context=terms)
                times[name].append((time.process_time_ns() - began) / 1000)
            base = f"{ORIGIN}/list/{page}"
            timed("images", lambda b=base, i=images: admit_images(host, i, base=b, depth=2, found_on=1, context=terms))

    asyncio.run(run())
    return {name: statistics.median(each) for name, each in times.items()}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--repeat", type=int, default=40)
    repeat = options.parse_args().repeat
    some = Takedowns.of(["gone.example", "shop.example/private"])
    rounds = [(measured(repeat, Takedowns()), measured(repeat, some)) for _round in range(7)]
    result = {
        title: {name: round(min(each[place][name] for each in rounds), 1) for name in rounds[0][0]}
        for place, title in enumerate(("no takedowns", "takedowns of this host"))
    }
    for title, row in result.items():
        print(f"{title:24}" + "".join(f"{name}: {us:8.1f} µs   " for name, us in row.items()))
    folder = Path(__file__).parent / "results"
    folder.mkdir(exist_ok=True)
    (folder / "admission.json").write_text(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
