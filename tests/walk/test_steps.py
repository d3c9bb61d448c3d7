"""Visits that are taken on step by step: together, without a task, until one waits for something else."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from comity.walk.crawl.steps import Stepped, Steps
from comity.walk.visit.page import in_a_task, next_turn


class Dispatching:
    """What a dispatcher does for its visits, noted."""

    def __init__(self) -> None:
        self.failures: list[Exception] = []
        self.tasks: list[asyncio.Task[None]] = []
        self.steps = Steps(self.spawn, self.failures.append)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        self.tasks.append(asyncio.get_running_loop().create_task(work))


async def turns(count: int) -> None:
    for _turn in range(count):
        await asyncio.sleep(0)


async def test_visits_go_on_together_and_need_no_task() -> None:
    dispatching, seen = Dispatching(), list[str]()

    async def visit(name: str, stepped: Stepped) -> None:
        assert asyncio.current_task() is None
        seen.append(f"{name} asks")
        code, message = await stepped
        seen.append(f"{name} reads {code}{message}")
        await next_turn()
        seen.append(f"{name} ends")

    visits = {name: Stepped(dispatching.steps) for name in "ab"}
    for name, stepped in visits.items():
        dispatching.steps.begin(stepped, visit(name, stepped))
    assert seen == []
    await turns(1)
    assert seen == ["a asks", "b asks"]
    assert not visits["a"].done()
    for stepped in reversed(visits.values()):
        stepped.set_result((0, "!"))
    await turns(1)
    assert seen[2:] == ["b reads 0!", "a reads 0!"]
    await turns(1)
    assert seen[4:] == ["b ends", "a ends"]
    assert len(dispatching.steps) == 0
    assert dispatching.tasks == []


async def test_a_visit_that_waits_for_anything_else_goes_on_as_a_task() -> None:
    dispatching, other = Dispatching(), asyncio.get_running_loop().create_future()
    seen: list[Any] = []

    async def visit() -> None:
        seen.append(await other)
        seen.append(asyncio.current_task())

    dispatching.steps.begin(Stepped(dispatching.steps), visit())
    await turns(1)
    other.set_result("came")
    (task,) = dispatching.tasks
    await task
    assert seen == ["came", task]
    assert len(dispatching.steps) == 0


async def test_what_needs_a_task_gets_one() -> None:
    dispatching, seen = Dispatching(), list[Any]()

    async def visit() -> None:
        await in_a_task()
        async with asyncio.timeout(60):
            await asyncio.sleep(0)
            seen.append(asyncio.current_task())
        await in_a_task()  # it is one already

    dispatching.steps.begin(Stepped(dispatching.steps), visit())
    await turns(3)
    (task,) = dispatching.tasks
    await task
    assert seen == [task]


async def test_a_visit_that_fails_is_reported_and_the_others_go_on() -> None:
    dispatching, seen = Dispatching(), list[str]()

    async def fails() -> None:
        raise ValueError("no way")

    async def visit() -> None:
        seen.append("went on")

    dispatching.steps.begin(Stepped(dispatching.steps), fails())
    dispatching.steps.begin(Stepped(dispatching.steps), visit())
    await turns(1)
    assert [str(error) for error in dispatching.failures] == ["no way"]
    assert seen == ["went on"]
    assert len(dispatching.steps) == 0


@pytest.mark.parametrize("is_answered", [False, True])
async def test_a_cancelled_visit_tidies_up_and_goes_on_no_more(is_answered: bool) -> None:
    dispatching, seen = Dispatching(), list[str]()

    async def visit(stepped: Stepped) -> None:
        try:
            await stepped
            seen.append("answered")
        finally:
            seen.append("tidied up")

    stepped = Stepped(dispatching.steps)
    dispatching.steps.begin(stepped, visit(stepped))
    await turns(1)
    if is_answered:
        stepped.set_result((0, ""))
    dispatching.steps.cancel()
    await turns(2)
    assert seen == ["tidied up"]
    assert len(dispatching.steps) == 0
    assert dispatching.failures == []


async def test_a_visit_that_fails_while_it_tidies_up_is_reported() -> None:
    dispatching = Dispatching()

    async def visit(stepped: Stepped) -> None:
        try:
            await stepped
        finally:
            raise OSError("the disk is full")

    stepped = Stepped(dispatching.steps)
    dispatching.steps.begin(stepped, visit(stepped))
    await turns(1)
    dispatching.steps.cancel()
    assert [str(error) for error in dispatching.failures] == ["the disk is full"]
