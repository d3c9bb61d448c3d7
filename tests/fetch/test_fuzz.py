"""Answers spoilt at random: each ends as a value, in time, and the next good page still comes."""

from __future__ import annotations

import asyncio
import random

import pytest

from comity.model.fetch import FetchFailure, FetchLimits, FetchRequest, Response
from tests.fetch.conftest import MakeFetcher
from tests.fetch.test_get import answered
from tests.hostile.bodies import PLAIN, deflate
from tests.hostile.web import Exchange, HostileWeb

SOUND = [
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\nX-Late: y\r\n\r\n",
    b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(deflate(PLAIN)) + deflate(PLAIN),
    b"HTTP/1.1 302 Found\r\nLocation: /x\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.0 503 Busy\r\nRetry-After: 5\r\n\r\ngo away",
]
POISON = [
    b"\r\n", b"\n", b"\r", b"\0", b":", b"\r\n\r\n", b"HTTP/1.1 200 OK\r\n", b"Content-Length: 99\r\n", b"-1",
    b"\xff" * 9, b"Transfer-Encoding: chunked\r\n", b"Content-Encoding: br\r\n", b"ffffffff\r\n", b" folded\r\n",
    b"x" * 70_000,
]  # fmt: skip
LIMITS = FetchLimits(max_body_bytes=20_000, first_byte_timeout_s=30, idle_timeout_s=1, total_timeout_s=30)


def spoil(answer: bytes, chance: random.Random) -> bytes:
    """Flip, cut, double or insert, a few times over."""
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(answer) + 1)
        match chance.randrange(5):
            case 0:
                answer = answer[:at] + bytes([chance.randrange(256)]) + answer[at + 1 :]
            case 1:
                answer = answer[:at]
            case 2:
                answer = answer[:at] + chance.choice(POISON) + answer[at:]
            case 3:
                answer = answer[:at] + answer[at + chance.randrange(20) :]
            case _:
                answer += chance.choice(SOUND)
    return answer


@pytest.mark.parametrize("seed", range(4))
async def test_a_spoilt_answer_ends_as_a_value(make_fetcher: MakeFetcher, web: HostileWeb, seed: int) -> None:
    chance = random.Random(seed)
    answers = [spoil(chance.choice(SOUND), chance) for _ in range(150)]

    async def serve(exchange: Exchange) -> None:
        await exchange.answer_and_close(answers[int(exchange.query["n"])])

    web.add("/fuzz", serve)
    fetcher = make_fetcher(max_concurrency=25, max_connections_per_host=25)
    requests = (fetcher.get(FetchRequest(web.url(f"/fuzz?n={n}"), limits=LIMITS)) for n in range(len(answers)))
    results = await asyncio.wait_for(asyncio.gather(*requests), 60)
    for result in results:
        if isinstance(result, Response):
            assert 200 <= result.status <= 999
            assert len(result.body) <= LIMITS.max_body_bytes
        else:
            assert isinstance(result, FetchFailure)
            assert result.detail
    assert fetcher.in_flight == 0
    fresh = make_fetcher()
    assert answered(await fresh.get(FetchRequest(web.url("/ok")))).body == PLAIN
