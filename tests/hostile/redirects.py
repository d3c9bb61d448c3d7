"""Redirects: loops, chains, and to where no crawler should go. Each is one hop; following is the client's doing."""

from __future__ import annotations

from tests.hostile.web import Exchange, route


async def _to(exchange: Exchange, location: str, status: str = "302 Found") -> None:
    await exchange.answer(b"moved", status, (("Content-Type", "text/html"), ("Location", location)))


@route("/redirect/loop")
async def loop(exchange: Exchange) -> None:
    await _to(exchange, "/redirect/loop")


@route("/redirect/ping", "/redirect/pong")
async def ping_pong(exchange: Exchange) -> None:
    await _to(exchange, "/redirect/pong" if exchange.path.endswith("ping") else "/redirect/ping")


@route("/redirect/growing")
async def growing(exchange: Exchange) -> None:
    """Every hop is a new URL."""
    await _to(exchange, f"/redirect/growing?n={int(exchange.number('n', 0)) + 1}")


@route("/redirect/chain/")
async def chain(exchange: Exchange) -> None:
    """`/redirect/chain/3?hosts=a.test,b.test`: so many hops, host after host, to `/ok`."""
    left = int(exchange.path.rpartition("/")[2])
    hosts = exchange.query.get("hosts", "")
    names = hosts.split(",") if hosts else [""]
    base = exchange.web.url("", host=names[left % len(names)] or None)
    await _to(exchange, f"{base}/ok" if left <= 1 else f"{base}/redirect/chain/{left - 1}?hosts={hosts}")


PLACES = {
    "private": "http://10.0.0.1/",
    "loopback": "http://127.0.0.1:1/",
    "metadata": "http://169.254.169.254/latest/meta-data/",
    "decimal": "http://2130706433/",
    "mapped": "http://[::ffff:127.0.0.1]/",
    "file": "file:///etc/passwd",
    "gopher": "gopher://127.0.0.1:70/_x",
    "data": "data:text/html,hello",
    "javascript": "javascript:alert(1)",
    "userinfo": "http://example.com@127.0.0.1/",
    "empty": "",
    "spaces": "   /ok   ",
    "control": "/ok\x01\x02",
    "fragment": "/ok#here",
    "protocol-relative": "//example.com/ok",
    "backslash": "\\\\example.com\\ok",
    "huge": "/" + "x" * 60_000,
}


@route("/redirect/to/")
async def to_place(exchange: Exchange) -> None:
    await _to(exchange, PLACES[exchange.path.rpartition("/")[2]])


@route("/redirect/port")
async def port(exchange: Exchange) -> None:
    """To another port of this host, given by `to`."""
    await _to(exchange, f"http://127.0.0.1:{int(exchange.number('to', 1))}/ok")


@route("/redirect/nowhere")
async def nowhere(exchange: Exchange) -> None:
    """A redirect without Location."""
    await exchange.answer(b"", "302 Found")


@route("/redirect/twice")
async def twice(exchange: Exchange) -> None:
    """Two Locations."""
    fields = (("Location", "/ok"), ("Location", "/echo"))
    await exchange.answer(b"", "302 Found", fields)


@route("/redirect/status/")
async def with_status(exchange: Exchange) -> None:
    """`/redirect/status/308` to `/ok`."""
    await _to(exchange, "/ok", f"{exchange.path.rpartition('/')[2]} Moved")
