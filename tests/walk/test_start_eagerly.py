"""Work that begins at once, and goes on as a task."""

from __future__ import annotations

import asyncio

import pytest

from comity.walk.crawl.dispatcher import start_eagerly


async def test_work_begins_before_anything_else_and_goes_on_when_its_wait_is_over() -> None:
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[str] = loop.create_future()
    steps: list[str] = []

    async def work() -> None:
        steps.append("begun")
        steps.append(await answer)
        await asyncio.sleep(0)
        steps.append("ended")

    task = start_eagerly(loop, work())
    assert steps == ["begun"]
    assert task is not None
    answer.set_result("answered")
    await task
    assert steps == ["begun", "answered", "ended"]


async def test_work_that_never_waits_leaves_no_task() -> None:
    steps: list[str] = []

    async def work() -> None:
        steps.append("done")

    assert start_eagerly(asyncio.get_running_loop(), work()) is None
    assert steps == ["done"]


async def test_cancelling_reaches_the_wait_and_lets_it_tidy_up() -> None:
    steps: list[str] = []

    async def work() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            steps.append("tidied")

    task = start_eagerly(asyncio.get_running_loop(), work())
    assert task is not None
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert steps == ["tidied"]


async def test_what_is_awaited_may_fail_and_be_survived() -> None:
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[str] = loop.create_future()
    steps: list[str] = []

    async def work() -> None:
        try:
            await answer
        except OSError as error:
            steps.append(str(error))
        await asyncio.sleep(0)
        raise ValueError("later")

    task = start_eagerly(loop, work())
    assert task is not None
    answer.set_exception(OSError("no way"))
    with pytest.raises(ValueError, match="later"):
        await task
    assert steps == ["no way"]
