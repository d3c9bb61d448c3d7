"""A host that robots.txt closed is looked at again at the file's own age, and wakes only if the file changed."""

from datetime import timedelta
from typing import Any

import pytest

from comity.database import robots as robots_table
from comity.model.errors import HostBusy
from comity.model.host import HostStatus
from comity.model.robots import Confidence, RobotsAccess, RobotsReading
from comity.rules.canonical import WebAddress
from comity.rules.robots.verdict import parse_robots
from comity.upkeep.wake_hosts import reread_robots
from comity.walk.robots.record import RobotsInForce

SHUT = b"User-agent: *\nDisallow: /\n"
OPEN = b"User-agent: *\nAllow: /\n"


def _in_force(body: bytes | None) -> RobotsInForce:
    if body is None:
        reading = RobotsReading(RobotsAccess.DISALLOW_ALL, Confidence.HIGH, "robots.txt answered 503", 503)
        return RobotsInForce("https://example.com", reading, None, None, 0.0)
    file = parse_robots(body)
    reading = RobotsReading(RobotsAccess.PARSE, Confidence.HIGH, "read", 200)
    return RobotsInForce("https://example.com", reading, file, file.for_agent("bot"), 0.0)


def _close(state: Any, *, expires_in_s: float, code: str = "robots_denied") -> None:
    state.add(
        "example.com",
        status=HostStatus.BLOCKED,
        block_reason_code=code,
        next_crawl_after=state.clock.now() + timedelta(days=90),
    )
    with state.database.write() as connection:
        robots_table.put(
            connection,
            {
                "origin": "https://example.com",
                "host": "example.com",
                "robots_txt": SHUT.decode(),
                "access": "parse",
                "version": parse_robots(SHUT).version,
                "expires_at": state.clock.now() + timedelta(seconds=expires_in_s),
            },
        )


async def _reread(state: Any, body: bytes | None, asked: list[str], among: list[str] | None = None) -> list[str]:
    async def read(address: WebAddress) -> RobotsInForce:
        asked.append(address.url)
        return _in_force(body)

    return await reread_robots(state.database, state.clock, read, among)


@pytest.mark.parametrize("code", ["robots_denied", "robots_unreachable"])
async def test_a_changed_file_wakes_its_host_before_the_cooldown_is_over(state: Any, code: str) -> None:
    _close(state, expires_in_s=-1, code=code)
    asked: list[str] = []
    assert await _reread(state, OPEN, asked) == ["example.com"]
    assert asked == ["https://example.com/robots.txt"]
    row = state.row("example.com")
    found = (row["status"], row["next_crawl_after"], row["block_reason_code"])
    assert found == (HostStatus.PENDING, None, None)


@pytest.mark.parametrize("body", [SHUT, None], ids=["unchanged", "unreadable"])
async def test_a_file_that_did_not_change_or_cannot_be_read_wakes_nobody(state: Any, body: bytes | None) -> None:
    _close(state, expires_in_s=-1)
    assert await _reread(state, body, []) == []
    assert state.row("example.com")["status"] is HostStatus.BLOCKED


async def test_a_file_is_not_asked_for_before_its_time_nor_for_other_hosts(state: Any) -> None:
    _close(state, expires_in_s=60)
    asked: list[str] = []
    assert await _reread(state, OPEN, asked) == []
    state.clock.advance(seconds=61)
    assert await _reread(state, OPEN, asked, ["example.org"]) == []
    assert asked == []
    assert await _reread(state, OPEN, asked, ["example.com"]) == ["example.com"]


async def test_a_host_blocked_for_another_reason_is_left_alone(state: Any) -> None:
    _close(state, expires_in_s=-1, code="forbidden")
    assert await _reread(state, OPEN, []) == []


async def test_a_host_that_cannot_be_asked_now_stays_as_it_is(state: Any) -> None:
    _close(state, expires_in_s=-1)

    async def read(_address: WebAddress) -> RobotsInForce:
        raise HostBusy("held elsewhere")

    assert await reread_robots(state.database, state.clock, read) == []
    assert state.row("example.com")["status"] is HostStatus.BLOCKED
