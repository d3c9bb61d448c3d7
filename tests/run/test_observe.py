"""What a monitoring system asks of the state and of a Redis: seldom, bounded, and without a secret in the answer."""

from __future__ import annotations

import asyncio
import os
import threading

import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine

from comity.database.connection import Database
from comity.run import observe
from comity.run.observe import StateMonitor, check_redis
from comity.settings import Settings, read_settings
from comity.telemetry.events import Level
from comity.telemetry.logs import Log
from tests.frontier.valkeys import ChosenValkey
from tests.servers.waiting import wait_until

LOG = Log(as_json=True, level=Level.ERROR)


@pytest.fixture
def settings(database: Database, monkeypatch: pytest.MonkeyPatch) -> Settings:
    for name in [name for name in os.environ if name.startswith("COMITY_")]:
        monkeypatch.delenv(name)
    url = database.engine.url.render_as_string(hide_password=False)
    return read_settings(database_url=url)


async def test_the_state_is_counted_and_then_left_alone_for_a_while(
    settings: Settings,
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with database.write() as connection:
        connection.exec_driver_sql("INSERT INTO domains (domain, frontier_size) VALUES ('a.example', 7)")
    look = StateMonitor(settings, LOG)
    try:
        first = (await look.reading()).numbers
        assert first["comity_state_up"][""] == 1
        assert first["comity_state_hosts"]["pending"] == 1
        assert first["comity_state_hosts_waiting"]["pending"] == 1
        assert first["comity_state_frontier"][""] == 7
        with database.write() as connection:
            connection.exec_driver_sql("INSERT INTO domains (domain) VALUES ('b.example')")
        again = (await look.reading()).numbers
        assert again["comity_state_hosts"]["pending"] == 1
        assert again["comity_state_age_seconds"][""] >= 0
        monkeypatch.setattr(observe, "FIGURES_EVERY_S", 0.0)
        assert (await look.reading()).numbers["comity_state_hosts"]["pending"] == 2
        assert await look.check() == ("state", True, "answers")
    finally:
        look.close()


async def test_a_state_that_cannot_be_reached_is_down_and_no_password_is_told() -> None:
    settings = read_settings(database_url="postgresql://me:secret@127.0.0.1:1/none")
    look = StateMonitor(settings, LOG)
    try:
        assert (await look.reading()).numbers["comity_state_up"][""] == 0
        check = await look.check()
        assert not check.is_well
        assert "secret" not in check.detail
        assert "cannot be used" in check.detail
    finally:
        look.close()


async def test_looks_that_come_together_ask_once(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if "GROUP BY domains.status" in statement and "count" in statement and "claimed_by" not in statement:
            asked.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    look = StateMonitor(settings, LOG)
    try:
        await asyncio.gather(*(look.reading() for _ in range(10)))
    finally:
        look.close()
        event.remove(Engine, "before_cursor_execute", note)
    assert len(asked) == 1


async def test_a_redis_that_answers_is_well_and_another_is_not(redis_url: str) -> None:
    assert await check_redis(redis_url) == ("redis", True, "answers")
    with ChosenValkey(durable=False) as server, server.client() as client:
        client.config_set("maxmemory", "1mb")
        assert await check_redis(server.url()) == ("redis", False, "OutOfMemoryError")
        client.config_set("maxmemory", "0")
        client.execute_command("REPLICAOF", "127.0.0.1", "1")
        assert await check_redis(server.url()) == ("redis", False, "ReadOnlyError")
    check = await check_redis("redis://:secret@127.0.0.1:1/0")
    assert not check.is_well
    assert "secret" not in check.detail
    assert not (await check_redis("nonsense")).is_well


async def test_a_state_that_hangs_holds_up_one_thread_and_is_asked_once_at_a_time(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[int] = []
    release = threading.Event()

    def hang(_database: Database) -> None:
        begun.append(1)
        release.wait(60)

    monkeypatch.setattr("comity.reports.status.check_state", hang)
    monkeypatch.setattr(observe, "ANSWER_WITHIN_S", 0.1)
    monkeypatch.setattr(observe, "CHECKED_EVERY_S", 0.0)
    look = StateMonitor(settings, LOG)
    try:
        for _ in range(3):
            assert not (await look.check()).is_well
        await asyncio.to_thread(wait_until, lambda: bool(begun), 60, "the look to begin")
        assert len(begun) == 1
        release.set()
        monkeypatch.setattr(observe, "ANSWER_WITHIN_S", 60.0)
        assert (await look.check()).is_well
    finally:
        release.set()
        look.close()
