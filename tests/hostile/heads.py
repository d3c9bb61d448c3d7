"""Heads that come late, never end, are too many or too long, or break the grammar."""

from __future__ import annotations

import asyncio

from tests.hostile.web import Exchange, route

_OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
_END = b"Content-Length: 5\r\n\r\nhello"


@route("/slow-first-byte")
async def slow_first_byte(exchange: Exchange) -> None:
    """A good answer after `ms` milliseconds."""
    await asyncio.sleep(exchange.number("ms", 1000) / 1000)
    await exchange.answer(b"late")


@route("/hang")
async def hang(exchange: Exchange) -> None:
    """No answer, ever."""
    await exchange.until_gone()


@route("/trickle-headers")
async def trickle_headers(exchange: Exchange) -> None:
    """One byte of the head every `ms` milliseconds."""
    for byte in _OK + b"X-Long: " + b"y" * 10_000:
        await exchange.send(bytes([byte]))
        await asyncio.sleep(exchange.number("ms", 20) / 1000)


@route("/endless-headers")
async def endless_headers(exchange: Exchange) -> None:
    exchange.keep_alive = False
    await exchange.send(_OK)
    number = 0
    while True:
        await exchange.send(b"".join(b"X-%d: %d\r\n" % (number + step, step) for step in range(500)))
        number += 500


@route("/header-flood")
async def header_flood(exchange: Exchange) -> None:
    """`count` fields in a head that does end."""
    fields = b"".join(b"X-%d: y\r\n" % number for number in range(int(exchange.number("count", 1000))))
    await exchange.send(_OK + fields + _END)


@route("/long-header")
async def long_header(exchange: Exchange) -> None:
    """One field of `bytes` bytes."""
    await exchange.send(_OK + b"X-Long: " + b"y" * int(exchange.number("bytes", 100_000)) + b"\r\n" + _END)


@route("/cookies")
async def cookies(exchange: Exchange) -> None:
    """`count` cookies, and what came back of earlier ones."""
    count = int(exchange.number("count", 50))
    fields = b"".join(b"Set-Cookie: c%d=%d; Path=/; Domain=127.0.0.1\r\n" % (n, n) for n in range(count))
    body = exchange.headers.get("cookie", "").encode()
    await exchange.send(_OK + fields + b"Content-Length: %d\r\n\r\n" % len(body) + body)


@route("/interim/")
async def interim(exchange: Exchange) -> None:
    """So many interim answers before the real one."""
    count = int(exchange.path.rpartition("/")[2])
    status = exchange.query.get("status", "103 Early Hints").encode()
    one = b"HTTP/1.1 " + status + b"\r\nLink: </a.css>; rel=preload\r\nContent-Type: image/png\r\n\r\n"
    for _ in range(count // 100 + 1):
        await exchange.send(one * min(100, count))
    await exchange.send(_OK + b"X-Real: yes\r\n" + _END)


@route("/upgrade")
async def upgrade(exchange: Exchange) -> None:
    """Switches protocols unasked."""
    await exchange.answer_and_close(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: nonsense\r\nConnection: Upgrade\r\n\r\n" + bytes(100)
    )


STATUS_LINES = {
    "http09": b"<html>no head at all</html>",
    "huge": b"HTTP/1.1 200 " + b"O" * 200_000 + b"\r\n" + _END,
    "long": b"HTTP/1.1 200 " + b"O" * 2_000 + b"\r\n" + _END,
    "colon": b"HTTP/1.1 200 Fine: really\r\n" + _END,
    "garbage": b"HTTP/9.9 abc def\r\n" + _END,
    "no-reason": b"HTTP/1.1 200\r\n" + _END,
    "negative": b"HTTP/1.1 -20 OK\r\n" + _END,
    "four-digits": b"HTTP/1.1 2000 OK\r\n" + _END,
    "zero": b"HTTP/1.1 000 OK\r\n" + _END,
    "999": b"HTTP/1.1 999 Denied\r\n" + _END,
    "http10": b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\nuntil the end",
    "icy": b"ICY 200 OK\r\n" + _END,
    "nul": b"HTTP/1.1 200 OK\r\nX-Nul: a\0b\r\n" + _END,
    "no-colon": b"HTTP/1.1 200 OK\r\nthis line has none\r\n" + _END,
    "no-name": b"HTTP/1.1 200 OK\r\n: no name\r\n" + _END,
    "space-name": b"HTTP/1.1 200 OK\r\nContent-Encoding : gzip\r\n" + _END,
    "folded": b"HTTP/1.1 200 OK\r\nX-Folded: one\r\n two\r\n\tthree\r\nX-After: yes\r\n" + _END,
    "first-folded": b"HTTP/1.1 200 OK\r\n folded: from nothing\r\n" + _END,
    "line-feeds": b"HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Length: 5\n\nhello",
    "latin": b"HTTP/1.1 200 OK\r\nX-Latin: caf\xe9\r\n" + _END,
    "empty": b"\r\n\r\n",
}


@route("/head/")
async def head(exchange: Exchange) -> None:
    await exchange.answer_and_close(STATUS_LINES[exchange.path.rpartition("/")[2]])
