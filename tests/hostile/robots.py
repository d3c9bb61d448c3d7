"""robots.txt of every kind; `web.robots[host]` chooses, `allow` where nothing is chosen."""

from __future__ import annotations

from tests.hostile.web import Exchange, route

_TEXT = (("Content-Type", "text/plain"),)
BIG_BYTES = 600 * 1024  # more than the 500 KiB that must be parsed (RFC 9309 §2.5)

FILES = {
    "allow": b"User-agent: *\nDisallow:\n",
    "deny": b"User-agent: *\nDisallow: /\n",
    "some": b"User-agent: *\nDisallow: /private\nAllow: /private/open\nCrawl-delay: 0.2\n",
    "empty": b"",
    "bom": b"\xef\xbb\xbfUser-agent: *\r\nDisallow: /private\r\n",
    "html": b"<!doctype html><title>404</title><p>User-agent: * Disallow: /",
    "binary": bytes(range(256)) * 16,
    # The rule that counts stands within the first 500 KiB, another one far behind.
    "big": b"User-agent: *\nDisallow: /early\n" + b"#" * (BIG_BYTES - 64) + b"\nDisallow: /late\n",
    "long-line": b"User-agent: *\nDisallow: /" + b"x" * 200_000 + b"\nDisallow: /after\n",
}


@route("/robots.txt")
async def robots(exchange: Exchange) -> None:
    host = exchange.arrival.host.rsplit(":", 1)[0]
    await serve(exchange, exchange.web.robots.get(host, "allow"))


@route("/robots/")
async def robots_by_path(exchange: Exchange) -> None:
    """The same kinds by path: `/robots/503`, and the way through redirects."""
    await serve(exchange, exchange.path.rpartition("/")[2])


async def serve(exchange: Exchange, kind: str) -> None:
    """One of FILES, a status (`404`, `503`), `hang`, `reset`, or `redirect-N` with N hops before `deny`."""
    if kind.isdigit():
        await exchange.answer(b"", f"{kind} Robots", _TEXT)
    elif kind == "hang":
        await exchange.until_gone()
    elif kind == "reset":
        exchange.reset()
    elif kind == "endless":
        await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nUser-agent: *\n")
        while True:
            await exchange.send(b"Disallow: /a\n" * 5000)
    elif kind.startswith("redirect-"):
        left = int(kind.removeprefix("redirect-"))
        place = "/robots/deny" if left <= 1 else f"/robots/redirect-{left - 1}"
        await exchange.answer(b"", "301 Moved Permanently", (*_TEXT, ("Location", place)))
    else:
        await exchange.answer(FILES[kind], headers=_TEXT)
