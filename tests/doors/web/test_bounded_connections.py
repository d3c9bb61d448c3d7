"""Connections are bounded: refused bodies are not read to the end, and idle connections are evicted."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest

from comity.doors.web import middleware, server
from comity.doors.web.audiences import LARGE_BODY_BYTES
from tests.doors.web.served import TOKEN, TOKEN_HASH, Served, served, until

MIB = 1 << 20
PUSHED_MOST = 256 * MIB
# What is discarded after the answer, and what the buffers of two sockets on loopback may hold besides.
READ_MOST = server.LINGER_BYTES + LARGE_BODY_BYTES + 16 * MIB
LENGTH = "Content-Length: 8589934592"
CHUNKED = "Transfer-Encoding: chunked"
ALLOWED = f"Authorization: Bearer {TOKEN}"


@pytest.fixture
def api(sqlite_url: str) -> Iterator[Served]:
    with served(sqlite_url, env="prod", admin_token_hash=(TOKEN_HASH,)) as running:
        yield running


def connected(api: Served) -> socket.socket:
    return socket.create_connection(("127.0.0.1", api.port), timeout=60)


def head(method: str, path: str, *headers: str) -> bytes:
    lines = (f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json", *headers)
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def answer_of(client: socket.socket) -> tuple[int, dict[str, str], bytes]:
    """Everything until the server hangs up."""
    received = b""
    with suppress(ConnectionError):
        while part := client.recv(65_536):
            received += part
    first, _, rest = received.partition(b"\r\n")
    lines, _, body = rest.partition(b"\r\n\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines.decode().split("\r\n"))
    return int(first.split()[1]), headers, body


def push(client: socket.socket, piece: bytes) -> int:
    """Send until the server hangs up; gives how much it took."""
    pushed = 0
    with suppress(ConnectionError):
        while pushed < PUSHED_MOST:
            pushed += client.send(piece)
    return pushed


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("POST", "/admin/sources", (LENGTH,)),  # not logged in
        ("POST", "/admin/sources", (CHUNKED,)),
        ("POST", "/admin/sources", (LENGTH, ALLOWED)),  # too large, by what it says
        ("POST", "/admin/sources", (CHUNKED, ALLOWED)),  # too large, as it turns out
        ("GET", "/healthz", (LENGTH,)),
        ("PUT", "/nothing/here", (CHUNKED, ALLOWED)),
        ("POST", "/admin/sources", (LENGTH, "Host: other.example")),
    ],
)
def test_a_refused_body_is_not_read_to_its_end(api: Served, method: str, path: str, headers: tuple[str, ...]) -> None:
    piece = b"x" * 65_536 if LENGTH in headers else b"10000\r\n" + b"x" * 65_536 + b"\r\n"
    with connected(api) as client:
        client.sendall(head(method, path, *headers))
        assert push(client, piece) < READ_MOST


@pytest.mark.parametrize(("headers", "status"), [((), 401), ((ALLOWED,), 413)])
@pytest.mark.parametrize("length", [300_000, 1_000_000])
def test_a_client_that_sends_its_whole_body_first_still_reads_the_response(
    api: Served, headers: tuple[str, ...], status: int, length: int
) -> None:
    with connected(api) as client:
        client.sendall(head("POST", "/admin/sources", f"Content-Length: {length}", *headers) + b" " * length)
        found, named, body = answer_of(client)
    assert (found, named["connection"]) == (status, "close")
    assert list(json.loads(body)) == ["error", "message", "details"]


def test_a_body_that_arrives_too_slowly_times_out(api: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(middleware, "BODY_TIMEOUT_S", 0.2)
    with connected(api) as client:
        client.sendall(head("POST", "/admin/sources", "Content-Length: 100", ALLOWED) + b"{")
        found, _headers, body = answer_of(client)
    assert (found, json.loads(body)["message"]) == (422, "the body did not arrive within 0.2 seconds")


@pytest.mark.parametrize("begun", [b"", b"GET /healthz HT", b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: "])
def test_a_head_that_does_not_arrive_times_out(api: Served, monkeypatch: pytest.MonkeyPatch, begun: bytes) -> None:
    monkeypatch.setattr(server, "HEAD_TIMEOUT_S", 0.2)
    with connected(api) as client:
        client.sendall(begun)
        with suppress(ConnectionError):
            assert client.recv(100) == b""
    until(lambda: not api.server.server_state.connections)


def test_idle_connections_are_evicted_for_new_ones(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MAX_CONNECTIONS", 20)
    with served(sqlite_url, env="prod") as api, ExitStack() as stack:
        for begun in (b"", b"GET /hea"):
            for _ in range(30):
                stack.enter_context(connected(api)).sendall(begun)
        with api.client() as client:
            for _ in range(3):
                assert client.get("/healthz").status_code == 200
        assert len(api.server.server_state.connections) <= 20


def test_a_client_that_does_not_read_the_response_is_disconnected(api: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "RESPONSE_READ_TIMEOUT_S", 0.2)
    asked = head("GET", "/openapi.json", ALLOWED)
    with connected(api) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(5)
        with suppress(ConnectionError, TimeoutError):
            client.sendall(asked * 2000)
        until(lambda: not api.server.server_state.connections)
