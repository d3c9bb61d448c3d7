"""A frontier that does not answer is waited for, for a bounded time, and the same call is made again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from uuid import UUID, uuid4

import pytest

from comity.frontier.sql_store import SqlFrontier
from comity.frontier.store import FrontierUnavailable, FrontierUnfit
from comity.walk.crawl import settling
from comity.walk.crawl.events import FrontierRebuilt, FrontierSilent
from comity.walk.crawl.settling import RetryingThread
from comity.walk.session.database_thread import DatabaseThread


class Silent:
    """A question that is answered after so many failures."""

    def __init__(self, failures: int, error: Exception | None = None) -> None:
        self.left = failures
        self.asked = 0
        self.error = error or FrontierUnavailable("away")

    def __call__(self, number: int) -> int:
        self.asked += 1
        if self.left:
            self.left -= 1
            raise self.error
        return number


class Rebuilt(SqlFrontier):
    """A frontier that says once that it lost a host."""

    lost: set[UUID]

    def take_rebuilt(self) -> set[UUID]:  # type: ignore[override]
        lost, self.lost = self.lost, set()
        return lost


@pytest.fixture
def thread() -> Iterator[DatabaseThread]:
    thread = DatabaseThread()
    yield thread
    thread.close()


@pytest.fixture
def told() -> list[object]:
    return []


@pytest.fixture
def patient(thread: DatabaseThread, told: list[object], embedded_database: object) -> RetryingThread:
    frontier = Rebuilt(embedded_database)  # type: ignore[arg-type]
    frontier.lost = set()
    return RetryingThread(thread, frontier, time.monotonic, told.append)


async def test_the_same_call_is_made_again_until_it_is_answered(patient: RetryingThread, told: list[object]) -> None:
    question = Silent(3)
    assert await patient.run(question, 7) == 7
    assert question.asked == 4
    assert told == [FrontierSilent("away"), FrontierSilent(None)], "a wait is reported once, and its end"


async def test_an_answer_at_once_is_not_reported(patient: RetryingThread, told: list[object]) -> None:
    assert await patient.run(Silent(0), 7) == 7
    assert told == []


async def test_retrying_ends(patient: RetryingThread, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settling, "GIVE_UP_AFTER_S", 0.35)
    question = Silent(1000)
    with pytest.raises(FrontierUnavailable):
        await asyncio.wait_for(patient.run(question, 7), 60)
    assert 1 <= question.asked <= 4


async def test_the_end_of_the_run_ends_retrying_after_one_more_try(patient: RetryingThread) -> None:
    patient.ends_at = time.monotonic()
    question = Silent(1000)
    with pytest.raises(FrontierUnavailable):
        await patient.run(question, 7)
    assert question.asked == 1
    assert await patient.run(Silent(0), 7) == 7


@pytest.mark.parametrize("error", [FrontierUnfit("set appendonly yes"), ValueError("a mistake")])
async def test_what_waiting_does_not_mend_is_not_waited_for(patient: RetryingThread, error: Exception) -> None:
    question = Silent(1, error)
    with pytest.raises(type(error)):
        await patient.run(question, 7)
    assert question.asked == 1


async def test_rebuilt_hosts_are_reported_before_the_answer(
    thread: DatabaseThread,
    embedded_database: object,
) -> None:
    told: list[object] = []
    frontier = Rebuilt(embedded_database)  # type: ignore[arg-type]
    frontier.lost = lost = {uuid4()}
    patient = RetryingThread(thread, frontier, time.monotonic, told.append)
    assert await patient.run(Silent(0), 7) == 7
    assert told == [FrontierRebuilt(lost)]
