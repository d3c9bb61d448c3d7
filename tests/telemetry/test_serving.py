"""The small server: it answers its paths, refuses the rest, and nobody can hold it up."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator

import pytest

from comity.model.errors import BadInput
from comity.run.observe import Check, LoopPulse, lease_check, loop_checks, page_of
from comity.telemetry import metrics, serving
from comity.telemetry.meter import Meter
from comity.telemetry.serving import Address, HttpAnswer, read_address

HERE = Address("127.0.0.1", 0)


async def well(accept: str) -> HttpAnswer:
    return HttpAnswer(200, f"you accept {accept}\n".encode())


async def broken(_accept: str) -> HttpAnswer:
    raise RuntimeError("a password in a message")


async def endless(_accept: str) -> HttpAnswer:
    await asyncio.sleep(60)
    raise AssertionError


@pytest.fixture
async def address() -> AsyncIterator[Address]:
    async with serving.serving(HERE, {"/well": well, "/broken": broken, "/endless": endless}) as where:
        yield where


async def ask(address: Address, text: str) -> tuple[int, dict[str, str], str]:
    reader, writer = await asyncio.open_connection(address.host, address.port)
    try:
        writer.write(text.encode())
        answer = (await asyncio.wait_for(reader.read(), 60)).decode()
    finally:
        writer.close()
    head, _, body = answer.partition("\r\n\r\n")
    first, *rest = head.split("\r\n")
    return int(first.split()[1]), dict(line.split(": ", 1) for line in rest), body


async def test_a_path_is_answered_with_what_the_client_accepts(address: Address) -> None:
    asked = "GET /well?query=1 HTTP/1.1\r\nHost: x\r\nACCEPT: text/x\r\naccept: text/y\r\n\r\n"
    status, headers, body = await ask(address, asked)
    assert (status, body) == (200, "you accept text/x,text/y\n")
    assert headers["Content-Length"] == str(len(body))
    assert headers["Connection"] == "close"


async def test_head_has_no_body_but_its_length(address: Address) -> None:
    status, headers, body = await ask(address, "HEAD /well HTTP/1.0\r\n\r\n")
    assert (status, body) == (200, "")
    assert int(headers["Content-Length"]) > 0


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ("GET /other HTTP/1.1\r\n\r\n", 404),
        ("GET / HTTP/1.1\r\n\r\n", 404),
        ("POST /well HTTP/1.1\r\n\r\n", 405),
        ("GET /broken HTTP/1.1\r\n\r\n", 500),
        ("GET well HTTP/1.1\r\n\r\n", 400),
        ("GET /well HTTP/2\r\n\r\n", 400),
        ("nonsense\r\n\r\n", 400),
        ("\r\n\r\n", 400),
        ("GET /well HTTP/1.1\r\nX: " + "x" * 40_000 + "\r\n\r\n", 400),
    ],
)
async def test_what_is_not_there_or_not_understood_is_said(address: Address, asked: str, status: int) -> None:
    found, _, body = await ask(address, asked)
    assert found == status
    assert "password" not in body


async def test_a_client_that_says_nothing_is_sent_away(address: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "CLIENT_TIMEOUT_S", 0.1)
    reader, writer = await asyncio.open_connection(address.host, address.port)
    writer.write(b"GET /well HT")
    assert await asyncio.wait_for(reader.read(), 60) == b""
    writer.close()


async def test_an_answer_that_does_not_come_is_not_waited_for(
    address: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "ANSWER_TIMEOUT_S", 0.1)
    assert (await ask(address, "GET /endless HTTP/1.1\r\n\r\n"))[0] == 503


async def test_connections_that_send_nothing_make_room_for_those_that_ask(address: Address) -> None:
    """200 half-open connections: every request is answered all the same, and no more than 64 stay open."""
    silent = [await asyncio.open_connection(address.host, address.port) for _ in range(200)]
    for _reader, writer in silent[::2]:
        writer.write(b"GET /well HT")
    for _ in range(5):
        assert (await ask(address, "GET /well HTTP/1.1\r\n\r\n"))[0] == 200
    assert await asyncio.wait_for(silent[0][0].read(), 60) == b"", "the oldest was closed"
    silent[-1][1].write(b"GET /well HTTP/1.1\r\n\r\n")
    assert (await asyncio.wait_for(silent[-1][0].read(), 60)).startswith(b"HTTP/1.1 200")
    for _reader, writer in silent:
        writer.close()


async def test_slow_answers_of_one_path_leave_room_for_others(address: Address) -> None:
    waiting = [await asyncio.open_connection(address.host, address.port) for _ in range(100)]
    for _reader, writer in waiting:
        writer.write(b"GET /endless HTTP/1.1\r\n\r\n")
    assert (await asyncio.wait_for(waiting[-1][0].read(), 60)).startswith(b"HTTP/1.1 503")
    assert (await ask(address, "GET /well HTTP/1.1\r\n\r\n"))[0] == 200
    for _reader, writer in waiting:
        writer.close()


async def test_an_address_that_is_taken_is_told(address: Address) -> None:
    with pytest.raises(BadInput, match=r"cannot listen on 127\.0\.0\.1:[0-9]+ for metrics: "):
        async with serving.serving(address, {}):
            pass


async def test_closing_waits_for_nobody() -> None:
    async with serving.serving(HERE, {"/endless": endless}) as where:
        _reader, writer = await asyncio.open_connection(where.host, where.port)
        writer.write(b"GET /endless HTTP/1.1\r\n\r\n")
        await asyncio.sleep(0.05)
        begun = time.monotonic()
    assert time.monotonic() - begun < 30
    writer.close()


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:9100", Address("127.0.0.1", 9100)),
        ("9100", Address("127.0.0.1", 9100)),
        ("0.0.0.0:0", Address("0.0.0.0", 0)),
        ("[::1]:9100", Address("::1", 9100)),
        (" localhost:80 ", Address("localhost", 80)),
    ],
)
def test_addresses_are_read_as_they_are_written(text: str, address: Address) -> None:
    assert read_address(text) == address
    assert read_address(str(address)) == address


@pytest.mark.parametrize(
    "text", ["", ":9100", "here", "127.0.0.1", "::1:9100", "a:b", "a:70000", "http://a:1", "a b:1"]
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not an address and a port"):
        read_address(text)


def test_health_is_bad_when_one_process_does_not_move() -> None:
    assert page_of(loop_checks({1: 0.5, 2: 29.0})).status == 200
    page = page_of(loop_checks({1: 0.5, 2: 31.0}))
    assert page.status == 503
    document = json.loads(page.body)
    assert document["status"] == "failing"
    assert document["checks"]["process 2"] == {"ok": False, "detail": "last active 31.0 s ago"}
    assert document["checks"]["process 1"]["ok"]


def test_leases_that_are_not_renewed_are_seen() -> None:
    meter = Meter()
    assert lease_check(meter.read()) == Check("leases", True, "renewed in time")
    meter.set(metrics.LEASE_OVERDUE, 12.4)
    assert lease_check(meter.read()) == Check("leases", False, "renewal is 12 s overdue")


async def test_a_loop_that_is_held_up_is_felt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("comity.run.observe.TICK_S", 0.05)
    meter, told = Meter(), []
    pulse = LoopPulse(meter, time.monotonic, told.append)
    beating = asyncio.create_task(pulse.run())
    await asyncio.sleep(0.12)
    time.sleep(0.4)  # noqa: ASYNC251  # this is what it is about
    await asyncio.sleep(0.2)
    beating.cancel()
    assert 0.25 < meter.read().numbers["comity_loop_lag_seconds"][""] < 60
    assert told
    assert time.monotonic() - pulse.beat_at < 30
