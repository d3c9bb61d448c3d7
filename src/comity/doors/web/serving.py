"""The application as a server on a socket, until a signal ends it."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import uvicorn

from comity.doors.web.access import is_loopback
from comity.doors.web.application import access_terms, build_application
from comity.doors.web.bounded_http import MOST_CONNECTIONS, BoundedHttp
from comity.model.errors import BadInput, ComityError

if TYPE_CHECKING:
    from comity.assemble import State
    from comity.settings import Settings
    from comity.upkeep.due_sources import Result
    from comity.walk.request import OnWait

DATABASE_CONNECTIONS: Final = 20  # one for each thread that may want one, so that none waits for another
_MOST_HEAD_BYTES: Final = 65_536
_ANSWER_WITHIN_S: Final = 10  # what is being answered when the end comes


class WebServer(uvicorn.Server):
    """uvicorn, with its signals left to whoever runs it."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take none."""
        yield

    def stop(self) -> None:
        """Take no more requests, let what is under way end, and return from `serve`."""
        self.should_exit = True


def is_dev(settings: Settings, host: str) -> bool:
    """Whether this is a developer's machine: as it was said, or as the address to listen on tells."""
    return settings.env == "dev" if settings.env is not None else is_loopback(host)


def listen(host: str, port: int) -> socket.socket:
    """A socket to listen on; `ComityError` if there is none to be had."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        raise BadInput(f"--host: {host[:80]!r} is no address of this machine") from None
    family, _, _, _, address = found[0]
    try:
        listening = socket.create_server(address, family=family, backlog=2048)
    except OSError as error:
        raise ComityError(f"cannot listen on {host} port {port}: {error.strerror}") from None
    # Connections inherit it. Without it, the second packet of an answer waits for the first to be acknowledged: 40 ms.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def build_server(
    state: State,
    host: str,
    *,
    schedules: bool,
    tell: Callable[[Result], None] = lambda _result: None,
    on_wait: OnWait | None = None,
) -> WebServer:
    """A server of the application on an open state."""
    settings = state.settings
    terms = access_terms(settings, is_dev=is_dev(settings, host))
    return WebServer(
        uvicorn.Config(
            build_application(state, terms, schedules=schedules, tell=tell, on_wait=on_wait),
            lifespan="on",
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=bool(settings.trusted_proxies),
            forwarded_allow_ips=[str(network) for network in settings.trusted_proxies],
            limit_concurrency=MOST_CONNECTIONS,
            timeout_keep_alive=15,
            timeout_graceful_shutdown=_ANSWER_WITHIN_S,
            http=BoundedHttp,
            h11_max_incomplete_event_size=_MOST_HEAD_BYTES,
            ws="none",
        )
    )
