"""The hostile web itself: others trust its log, so it is tested too."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pytest

from tests.hostile.web import ROUTES, Exchange, HostileWeb


@pytest.fixture
def web() -> Iterator[HostileWeb]:
    with HostileWeb() as running:
        yield running


def ask(web: HostileWeb, *paths: str, host: str = "a.test") -> bytes:
    """Ask on one connection and read to its end."""
    with socket.create_connection((web.address, web.port), timeout=60) as client:
        for path in paths:
            client.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}:{web.port}\r\n\r\n".encode())
            time.sleep(0.02)
        client.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: client.recv(65_536), b""))


def test_what_was_asked_is_logged_in_order_with_host_and_connection(web: HostileWeb) -> None:
    before = time.monotonic()
    ask(web, "/ok", "/status/404?x=1")
    ask(web, "/echo", host="b.test")
    assert web.log.paths() == ["/ok", "/status/404?x=1", "/echo"]
    assert web.log.paths("a.test") == ["/ok", "/status/404?x=1"]
    assert [arrival.connection for arrival in web.log.arrivals] == [1, 1, 2]
    assert web.log.connections == 2
    assert before < web.log.arrivals[0].at < web.log.arrivals[2].at < time.monotonic()
    (gap,) = web.log.gaps_s("a.test")
    assert 0 < gap < 60
    web.log.clear()
    assert web.log.paths() == []


def test_pages_and_handlers_may_be_added_to_one_web(web: HostileWeb) -> None:
    async def shout(exchange: Exchange) -> None:
        await exchange.answer(exchange.query["word"].upper().encode())

    web.page("/added", "text", "203 Other", ("Content-Type", "text/plain"))
    web.add("/shout", shout)
    assert ask(web, "/added") == b"HTTP/1.1 203 Other\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\ntext"
    assert ask(web, "/shout?word=hey").endswith(b"HEY")
    assert "/added" not in ROUTES
    assert ask(web, "/missing").startswith(b"HTTP/1.1 404")


def test_robots_are_chosen_by_host(web: HostileWeb) -> None:
    web.robots = {"b.test": "deny", "c.test": "503", "d.test": "redirect-5"}
    assert ask(web, "/robots.txt").endswith(b"Disallow:\n")
    assert ask(web, "/robots.txt", host="b.test").endswith(b"Disallow: /\n")
    assert ask(web, "/robots.txt", host="c.test").startswith(b"HTTP/1.1 503")
    assert b"Location: /robots/redirect-4" in ask(web, "/robots.txt", host="d.test")
    assert len(ask(web, "/robots/big")) > 600 * 1024


def test_urls_and_names_lead_here(web: HostileWeb) -> None:
    assert web.url("/ok") == f"http://127.0.0.1:{web.port}/ok"
    assert web.url("/ok", host="a.test") == f"http://a.test:{web.port}/ok"
    assert web.resolve("a.test", "b.test") == {"a.test": "127.0.0.1", "b.test": "127.0.0.1"}


def test_a_burst_fails_so_often_for_each_host(web: HostileWeb) -> None:
    for host in ("a.test", "b.test"):
        statuses = [ask(web, "/burst/503/2", host=host)[9:12] for _ in range(3)]
        assert statuses == [b"503", b"503", b"200"]


def test_it_stops_while_clients_hang(web: HostileWeb) -> None:
    with socket.create_connection((web.address, web.port), timeout=60) as client:
        client.sendall(b"GET /hang HTTP/1.1\r\nHost: a.test\r\n\r\n")
        time.sleep(0.05)
        web.stop()
        web.stop()
        assert client.recv(10) == b""


def test_it_serves_over_ipv6_and_on_another_loopback_address() -> None:
    for address in ("::1", "127.0.0.2"):
        with HostileWeb(address) as web:
            assert ask(web, "/ok").startswith(b"HTTP/1.1 200")
