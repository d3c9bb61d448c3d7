"""Answers that ask to be left alone, in every spelling, and statuses that carry a body against the rules."""

from __future__ import annotations

import time
from email.utils import formatdate

from tests.hostile.web import Exchange, route

_TYPE = ("Content-Type", "text/html")


@route("/status/")
async def status(exchange: Exchange) -> None:
    code = exchange.path.rpartition("/")[2]
    await exchange.answer(b"as asked", f"{code} Asked")


def _retry_after(kind: str) -> tuple[tuple[str, str], ...]:
    now = time.time()
    values = {
        "seconds": "2",
        "date": formatdate(now + 3, usegmt=True),
        "rfc850": time.strftime("%A, %d-%b-%y %H:%M:%S GMT", time.gmtime(now + 3)),
        "asctime": time.strftime("%a %b %e %H:%M:%S %Y", time.gmtime(now + 3)),
        "past": formatdate(now - 3600, usegmt=True),
        "zero": "0",
        "negative": "-10",
        "float": "1.5",
        "huge": "99999999999999999999",
        "garbage": "soon, I hope",
        "empty": "",
        "spaces": "   2   ",
    }
    return (_TYPE,) if kind == "none" else (_TYPE, ("Retry-After", values[kind]))


RETRY_KINDS = (
    "seconds", "date", "rfc850", "asctime", "past", "zero", "negative", "float", "huge", "garbage", "empty",
    "spaces", "none",
)  # fmt: skip


@route("/429/", "/503/")
async def retry_after(exchange: Exchange) -> None:
    """`/429/seconds`, `/503/date` … with Retry-After in that form."""
    _, code, kind = exchange.path.split("/")
    reason = "429 Too Many Requests" if code == "429" else "503 Service Unavailable"
    await exchange.answer(b"slow down", reason, _retry_after(kind))


@route("/429/twice")
async def retry_after_twice(exchange: Exchange) -> None:
    """Two Retry-After fields that disagree."""
    await exchange.answer(b"", "429 Too Many Requests", (_TYPE, ("Retry-After", "1"), ("Retry-After", "60")))


@route("/burst/")
async def burst(exchange: Exchange) -> None:
    """`/burst/503/3`: so many failures for each host, then success."""
    _, _, code, count = exchange.path.split("/")
    key = exchange.arrival.host + exchange.path
    exchange.web.counters[key] = exchange.web.counters.get(key, 0) + 1
    failed = exchange.web.counters[key] <= int(count)
    await exchange.answer(b"bad" if failed else b"good", f"{code} No" if failed else "200 OK")


@route("/no-body/")
async def body_where_none_belongs(exchange: Exchange) -> None:
    """204, 205 or 304 with a body, which a client must not take for the next answer."""
    code = exchange.path.rpartition("/")[2]
    forged = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged"
    await exchange.send(f"HTTP/1.1 {code} No\r\nContent-Length: {len(forged)}\r\n\r\n".encode() + forged)


@route("/validators")
async def validators(exchange: Exchange) -> None:
    """304 if the ETag is given back, the page and its validators otherwise."""
    etag, changed = '"caf\xe9-1"', "Mon, 15 Jan 2024 10:00:00 GMT"
    known = exchange.headers.get("if-none-match") == etag or exchange.headers.get("if-modified-since") == changed
    fields = (_TYPE, ("ETag", etag), ("Last-Modified", changed))
    if known:
        await exchange.send(("HTTP/1.1 304 Not Modified\r\nETag: " + etag + "\r\n\r\n").encode("latin-1"))
    else:
        await exchange.answer(b"fresh", headers=fields)


@route("/head-with-body")
async def head_with_body(exchange: Exchange) -> None:
    """Sends the body even to HEAD."""
    await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nhello")
