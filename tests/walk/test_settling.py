"""When outcomes are settled: in batches, after a pause that grows with what a commit takes, and sooner if asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from comity.walk.crawl import settling as room
from comity.walk.crawl.events import BatchSettled
from comity.walk.crawl.settling import BATCH, Settling
from comity.walk.session.leased_host import Unsettled

LONG_S = 3600.0


class Thread:
    """Stands for the database thread: notes the size of each batch."""

    def __init__(self) -> None:
        self.batches: list[int] = []

    async def run(self, _settle: Callable[..., Any], batches: list[Any]) -> str:
        self.batches.append(sum(len(batch.outcomes) for batch in batches))
        return "settled"


class Host:
    """Stands for a leased host that has nothing besides its outcomes."""

    lease = None
    gate = SimpleNamespace(memory=lambda: None)
    tally = SimpleNamespace(errors_in_a_row=0)
    refresh_began_at = None
    may_know_pages = has_too_deep = False

    def __init__(self) -> None:
        self.unsettled = Unsettled()


@pytest.fixture
def host() -> Any:
    return Host()


async def settled(events: list[BatchSettled]) -> None:
    async with asyncio.timeout(30):
        while not events:  # noqa: ASYNC110  # an event of the code under test, which has no asyncio.Event
            await asyncio.sleep(0.005)


@pytest.mark.parametrize("ending", ["hurry", "enough"])
async def test_after_a_slow_commit_outcomes_are_gathered_until_there_are_enough_or_a_host_waits(
    host: Any, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    monkeypatch.setattr(room, "_INTERVAL_MOST_S", LONG_S)
    thread, events = Thread(), []
    queue = Settling(SimpleNamespace(settle=None), thread, events.append, shares_state=True)  # type: ignore[arg-type]
    queue.took_s = LONG_S
    outcome: Any = SimpleNamespace(trail=SimpleNamespace(requests=[]))
    running = asyncio.create_task(queue.run())
    for _ in range(3):
        queue.put(host, outcome)
        await asyncio.sleep(room.INTERVAL_S)
    assert thread.batches == []
    if ending == "hurry":
        queue.hurry()
    else:
        for _ in range(BATCH - 3):
            queue.put(host, outcome)
    await settled(events)
    assert thread.batches == [3 if ending == "hurry" else BATCH]
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_after_a_quick_commit_outcomes_do_not_wait_for_more(host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "_INTERVAL_MOST_S", LONG_S)
    thread, events = Thread(), []
    queue = Settling(SimpleNamespace(settle=None), thread, events.append, shares_state=True)  # type: ignore[arg-type]
    queue.took_s = 0.001
    running = asyncio.create_task(queue.run())
    queue.put(host, SimpleNamespace(trail=SimpleNamespace(requests=[])))  # type: ignore[arg-type]
    await settled(events)
    assert thread.batches == [1]
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
