"""The application on a real server on loopback, in a thread of its own, on either database."""

from __future__ import annotations

import asyncio
import ssl
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
from argon2 import PasswordHasher

from comity.assemble import State, open_state
from comity.doors.web.logins import new_token
from comity.doors.web.server import DATABASE_CONNECTIONS, WebServer, build_server, listen
from comity.settings import read_settings
from tests.doors.web.prepared import share_prepared_routes
from tests.servers.waiting import wait_until
from tests.walk.sourcing import LOOPBACK

TOKEN, TOKEN_HASH = new_token()
PASSWORD = "correct horse battery staple"
# Cheaper than what `hash-password` makes: what is tested is who gets in, not how long guessing takes.
PASSWORD_HASH = PasswordHasher(time_cost=1, memory_cost=64, parallelism=1).hash(PASSWORD)
# Nothing here speaks TLS; without it every client reads the certificates of all authorities, for 25 ms.
NO_AUTHORITIES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
WITH_TOKEN = {"Authorization": f"Bearer {TOKEN}"}

share_prepared_routes()


@dataclass(slots=True)
class Served:
    """A server that runs."""

    state: State
    server: WebServer
    port: int
    thread: threading.Thread

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @contextmanager
    def client(self, **options: Any) -> Iterator[httpx.Client]:
        given = {"timeout": 30, "trust_env": False, "verify": NO_AUTHORITIES} | options
        with httpx.Client(base_url=self.url, **given) as client:
            yield client


@contextmanager
def served(database_url: str, *, schedules: bool = False, host: str = "127.0.0.1", **settings: Any) -> Iterator[Served]:
    """Serve a state until the end of the block; pages and audits have folders of their own, too.

    In a folder that exists a server starts a process that reads pages, which most tests do not need.
    """
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="comity-served-", ignore_cleanup_errors=True))
        given = {"database_url": database_url, "source_delay_s": 0.0, "allow_networks": (LOOPBACK,)}
        given |= {"pages": f"{folder}/pages", "audits": f"{folder}/audits"}
        state = stack.enter_context(open_state(read_settings(**(given | settings)), connections=DATABASE_CONNECTIONS))
        socket = stack.enter_context(listen("127.0.0.1", 0))
        server = build_server(state, host, schedules=schedules)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[socket])))
        thread.start()
        try:
            until(lambda: server.started or not thread.is_alive())
            assert server.started
            yield Served(state, server, socket.getsockname()[1], thread)
        finally:
            server.stop()
            thread.join(60)
        assert not thread.is_alive()


def until(holds: Callable[[], Any], within_s: float = 60.0) -> Any:
    """Wait until something holds, and give it; most ask a server, which has work with each question."""
    found: list[Any] = []

    def look() -> bool:
        found[:] = [holds()]
        return bool(found[0])

    wait_until(look, within_s, "what a test waits for")
    return found[0]
