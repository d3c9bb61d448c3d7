"""Where a door takes part in a crawl: pages as they are committed, an extractor, a run shared with other processes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from comity.model.extraction import Extractor
from comity.model.outcome import Outcome
from comity.telemetry.meter import Meter
from comity.walk.crawl.budget import SharedPages
from comity.walk.crawl.progress import HostLineInSummary
from comity.walk.request import OnWait


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class HostShare:
    """How the processes of one run share its hosts: each is crawled by one of them, and once."""

    most: int
    """How many hosts one of them may have under way, so that some are left for the others."""
    left: Callable[[], Collection[str]]
    """The hosts that the run is through with, whoever crawled them."""
    leave: Callable[[str], None]
    """Told before a host is given back: nobody is to take it once more."""
    take_back: Callable[[str], None]
    """Told that a host whose lease was lost is to be taken once more after all."""
    told: Callable[[HostLineInSummary], None]
    """Told how a host was left."""


@dataclass(frozen=True, slots=True)
class Duty:
    """Something that is done beside a run, when it begins and every so many seconds; what it raises ends the run."""

    every_s: float
    work: Callable[[], Awaitable[object]]

    async def repeat(self) -> None:
        """Do it until cancelled."""
        while True:
            await self.work()
            await asyncio.sleep(self.every_s)


@dataclass(frozen=True, slots=True)
class CrawlHooks:
    """All of them are called on the event loop and must not block."""

    on_settled: Callable[[Sequence[Outcome]], None] | None = None
    """Told of outcomes once they are committed, a batch at a time."""
    is_held_up: Callable[[], bool] = _never
    """While this is true nothing new begins: whoever takes the pages is behind."""
    extract: Extractor | None = None
    """Looks at every page; what it raises ends the run, and the page is not acknowledged."""
    run_id: UUID | None = None
    """The run of which this crawl is a part; whoever names it begins and ends it."""
    pages: SharedPages | None = None
    """The pages of a budget that is shared with other processes."""
    hosts: HostShare | None = None
    """How the hosts are shared with other processes."""
    meter: Meter | None = None
    """Counts what the run does, for whoever watches the process."""
    waits_for_room: bool = False
    """Whether a full disk of pages is waited for; such a wait is reported through `on_silence`."""
    on_silence: Callable[[str | None], None] = lambda _said: None
    """Told why the run waits for its frontier, and by None that it goes on; several may wait for the same."""
    on_wait: OnWait | None = None
    """Called for every wait for a host, if set; logged at debug."""
    duties: tuple[Duty, ...] = ()
    """What else is done while the run lasts."""


NO_HOOKS = CrawlHooks()
