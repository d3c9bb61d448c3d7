"""Bodies that come slowly, never end, break off, lie about their length, or are not what they say."""

from __future__ import annotations

import asyncio
import json
import zlib

import brotli
import zstandard

from tests.hostile.web import Exchange, route


def rows(count: int) -> bytes:
    """Text that shrinks to a third or so."""
    return b"".join(b"%d %d\n" % (number, number * 7919 % 104729) for number in range(count))


PLAIN = b"<!doctype html><title>plain</title><pre>" + rows(800)
_HTML = b"Content-Type: text/html\r\n"


def deflate(data: bytes, window_bits: int = 31) -> bytes:
    """gzip (31), zlib (15) or raw deflate (-15)."""
    coder = zlib.compressobj(6, zlib.DEFLATED, window_bits)
    return coder.compress(data) + coder.flush()


CODERS = {
    "gzip": deflate,
    "deflate": lambda data: deflate(data, 15),
    "raw-deflate": lambda data: deflate(data, -15),
    "br": lambda data: brotli.compress(data, quality=5),
    "zstd": lambda data: zstandard.ZstdCompressor().compress(data),
    "identity": bytes,
}


@route("/ok", "/")
async def ok(exchange: Exchange) -> None:
    await exchange.answer(PLAIN)


@route("/echo")
async def echo(exchange: Exchange) -> None:
    """The request as JSON."""
    seen = {"method": exchange.method, "path": exchange.arrival.path, "headers": dict(exchange.headers)}
    await exchange.answer(json.dumps(seen).encode(), headers=(("Content-Type", "application/json"),))


@route("/size")
async def size(exchange: Exchange) -> None:
    """A body of `bytes` bytes; its type by `type`."""
    kind = exchange.query.get("type", "text/plain")
    await exchange.answer(b"x" * int(exchange.number("bytes", 1000)), headers=(("Content-Type", kind),))


@route("/slow-body")
async def slow_body(exchange: Exchange) -> None:
    """A piece every `ms` milliseconds, `count` of them."""
    count = int(exchange.number("count", 1000))
    await exchange.send(b"HTTP/1.1 200 OK\r\n" + _HTML + b"Content-Length: %d\r\n\r\n" % count)
    for _ in range(count):
        await exchange.send(b"x")
        await asyncio.sleep(exchange.number("ms", 50) / 1000)


@route("/stalled-body")
async def stalled_body(exchange: Exchange) -> None:
    """Half of what was promised, then silence; its type by `type`."""
    kind = exchange.query.get("type", "text/html").encode()
    await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: " + kind + b"\r\nContent-Length: 2000\r\n\r\n")
    if "silent" not in exchange.query:
        await exchange.send(b"x" * 1000)
    await exchange.until_gone()


@route("/endless", "/endless/")
async def endless(exchange: Exchange) -> None:
    """A body without end: until the connection closes, or in chunks; `/endless/503` with another status."""
    status = exchange.path.rpartition("/")[2]
    status = status if status.isdigit() else "200"
    chunked = "chunked" in exchange.query
    kind = exchange.query.get("type", "text/html")
    head = f"HTTP/1.1 {status} So\r\nContent-Type: {kind}\r\n"
    await exchange.send((head + ("Transfer-Encoding: chunked\r\n\r\n" if chunked else "\r\n")).encode())
    piece = b"x" * 65_536
    exchange.keep_alive = False
    while True:
        await exchange.send(b"10000\r\n" + piece + b"\r\n" if chunked else piece)


@route("/length/short")
async def length_short(exchange: Exchange) -> None:
    """More is sent than was announced: the rest would be taken for the next answer."""
    rest = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged"
    await exchange.answer_and_close(b"HTTP/1.1 200 OK\r\n" + _HTML + b"Content-Length: 10\r\n\r\n0123456789" + rest)


@route("/length/long")
async def length_long(exchange: Exchange) -> None:
    """Less is sent than was announced."""
    await exchange.answer_and_close(b"HTTP/1.1 200 OK\r\n" + _HTML + b"Content-Length: 5000\r\n\r\n" + b"x" * 100)


LENGTHS = {
    "negative": b"Content-Length: -5\r\n",
    "garbage": b"Content-Length: many\r\n",
    "huge": b"Content-Length: 9223372036854775807\r\n",
    "overflow": b"Content-Length: 99999999999999999999999999\r\n",
    "duplicate": b"Content-Length: 10\r\nContent-Length: 20\r\n",
    "duplicate-list": b"Content-Length: 10, 20\r\n",
    "duplicate-same": b"Content-Length: 10\r\nContent-Length: 10\r\n",
    "hex": b"Content-Length: 0xA\r\n",
    "plus": b"Content-Length: +10\r\n",
}


@route("/length/")
async def length(exchange: Exchange) -> None:
    kind = LENGTHS[exchange.path.rpartition("/")[2]]
    await exchange.answer_and_close(b"HTTP/1.1 200 OK\r\n" + _HTML + kind + b"\r\n0123456789")


CHUNKS = {
    "broken": b"5\r\nhello\r\nZZ\r\nworld\r\n0\r\n\r\n",
    "unfinished": b"5\r\nhello\r\n5\r\nwor",
    "no-end": b"5\r\nhello\r\n",
    "negative": b"-5\r\nhello\r\n0\r\n\r\n",
    "enormous": b"fffffffffffffffffff\r\nhello\r\n",
    "no-crlf": b"5\r\nhelloXX5\r\nworld\r\n0\r\n\r\n",
    "trailers": b"5\r\nhello\r\n0\r\nX-Trailer: late\r\nContent-Type: image/png\r\n\r\n",
    "trailer-flood": b"5\r\nhello\r\n0\r\n" + b"X-Trailer: late\r\n" * 500 + b"\r\n",
    "extensions": b"5;name=value\r\nhello\r\n0;last\r\n\r\n",
    "good": b"5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n",
}


@route("/chunks/")
async def chunks(exchange: Exchange) -> None:
    kind = exchange.path.rpartition("/")[2]
    head = b"HTTP/1.1 200 OK\r\n" + _HTML + b"Transfer-Encoding: chunked\r\n\r\n"
    exchange.keep_alive = CHUNKS[kind].endswith(b"\r\n\r\n")
    await exchange.send(head + CHUNKS[kind])


@route("/chunks/and-length")
async def chunks_and_length(exchange: Exchange) -> None:
    """Both framings at once, as smugglers send it."""
    head = b"HTTP/1.1 200 OK\r\n" + _HTML + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"
    await exchange.answer_and_close(head + CHUNKS["good"])


@route("/reset/before")
async def reset_before(exchange: Exchange) -> None:
    exchange.reset()


@route("/reset/head")
async def reset_head(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Ty")
    await asyncio.sleep(0.02)
    exchange.reset()


@route("/reset/body")
async def reset_body(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\n" + _HTML + b"Content-Length: 100000\r\n\r\n" + b"x" * 5000)
    await asyncio.sleep(0.05)
    exchange.reset()


@route("/close/before")
async def close_before(exchange: Exchange) -> None:
    """An orderly end instead of an answer."""
    await exchange.answer_and_close(b"")


@route("/close/second")
async def close_second(exchange: Exchange) -> None:
    """Answers the first request of a connection; the next one is read and the connection closed."""
    mine = [arrival for arrival in exchange.web.log.arrivals if arrival.connection == exchange.arrival.connection]
    if len(mine) > 1:
        await exchange.answer_and_close(b"")
    else:
        await exchange.answer(b"first")


@route("/encoded/")
async def encoded(exchange: Exchange) -> None:
    """PLAIN under the codings in the path (`/encoded/gzip,br`); `claim` is announced instead, `cut` bytes are lost."""
    names = exchange.path.rpartition("/")[2].split(",")
    body = PLAIN * int(exchange.number("times", 1))
    for name in names:
        body = CODERS[name](body)
    body = body[: len(body) - int(exchange.number("cut", 0))]
    claim = exchange.query.get("claim", ", ".join(names).replace("raw-", ""))
    await exchange.answer(body, headers=(("Content-Type", "text/html"), ("Content-Encoding", claim)))


@route("/encoding/members")
async def members(exchange: Exchange) -> None:
    """gzip in `count` members; with `junk`, something else after them."""
    count = int(exchange.number("count", 3))
    body = deflate(b"member ") * count + exchange.query.get("junk", "").encode()
    await exchange.answer(body, headers=(("Content-Type", "text/html"), ("Content-Encoding", "gzip")))


@route("/encoding/lie")
async def encoding_lie(exchange: Exchange) -> None:
    """Announced as `claim`, but plain."""
    claim = exchange.query.get("claim", "gzip")
    await exchange.answer(PLAIN, headers=(("Content-Type", "text/html"), ("Content-Encoding", claim)))


@route("/charset/lie")
async def charset_lie(exchange: Exchange) -> None:
    """Says UTF-8, is Windows-1252 with a meta tag that says Shift_JIS."""
    body = '<meta charset="shift_jis"><p>Café “naïve” — €5'.encode("cp1252")
    await exchange.answer(body, headers=(("Content-Type", "text/html; charset=utf-8"),))


@route("/garbage")
async def garbage(exchange: Exchange) -> None:
    """No HTTP at all."""
    await exchange.answer_and_close(bytes(range(256)) * 64)


@route("/binary")
async def binary(exchange: Exchange) -> None:
    """Well-formed, but the page is noise."""
    await exchange.answer(bytes(range(256)) * 64)
