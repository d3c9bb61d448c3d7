"""Transports for httpx: every request of a client waits for a grant of a Comity server.

    with httpx.Client(transport=ComityTransport("http://127.0.0.1:8000", key)) as client:
        page = client.get("https://example.com/")

Of each host there is one request at a time. A URL that may not be requested raises `GrantDenied`, with the rule.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any, Final

import httpx

from comity.integrations.grants import Grant, GrantClient, Grants, NoGrantInTime, ServerRefused

WAIT_S: Final = 600.0
"""How long a request waits for a grant before `GrantTimeout`."""


class GrantDenied(httpx.TransportError):
    """The URL may not be requested: robots.txt, a takedown, or an address that Comity does not contact."""


class GrantTimeout(httpx.TimeoutException):
    """No grant was given in time."""


class _Reporting:
    """What both transports have in common."""

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        client_id: str = "httpx",
        user_agent: str | None = None,
        wait_s: float = WAIT_S,
    ) -> None:
        self._grants = Grants(GrantClient(url, key, client_id, user_agent))
        self._wait_s = wait_s

    def _usable(self, grant: Grant, request: httpx.Request) -> bool:
        """Whether the window of a grant is open; `GrantDenied` if the URL is denied."""
        if grant.is_denied:
            raise GrantDenied(grant.why, request=request)
        if time.monotonic() <= grant.closes_at:
            return True
        self._grants.end(grant, None)
        return False

    def _report(self, grant: Grant, started_at: float, response: httpx.Response | None) -> None:
        status = None if response is None else response.status_code
        retry_after = None if response is None else response.headers.get("retry-after")
        answered_at = time.monotonic()
        self._grants.end(grant, grant.report(answered_at, status, answered_at - started_at, retry_after))


class ComityTransport(_Reporting, httpx.BaseTransport):
    """Wraps another transport, by default httpx's own; give `inner` to use one with a proxy or certificates."""

    def __init__(
        self, url: str, key: str | None = None, *, inner: httpx.BaseTransport | None = None, **terms: Any
    ) -> None:
        super().__init__(url, key, **terms)
        self._inner = inner or httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Make one request in the window of its grant."""
        while True:
            try:
                grant = self._grants.ask(str(request.url), self._wait_s).result()
            except NoGrantInTime as error:
                raise GrantTimeout(str(error), request=request) from error
            except ServerRefused as error:
                raise GrantDenied(str(error), request=request) from error
            time.sleep(max(0.0, grant.opens_at - time.monotonic()))
            if self._usable(grant, request):
                break
        started_at, response = time.monotonic(), None
        try:
            response = self._inner.handle_request(request)
            return response
        finally:
            self._report(grant, started_at, response)

    def close(self) -> None:
        """Send the last reports."""
        self._grants.close()
        self._inner.close()


class AsyncComityTransport(_Reporting, httpx.AsyncBaseTransport):
    """The transport for `httpx.AsyncClient`."""

    def __init__(
        self, url: str, key: str | None = None, *, inner: httpx.AsyncBaseTransport | None = None, **terms: Any
    ) -> None:
        super().__init__(url, key, **terms)
        self._inner = inner or httpx.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Make one request in the window of its grant."""
        while True:
            try:
                grant = await asyncio.wrap_future(self._grants.ask(str(request.url), self._wait_s))
            except NoGrantInTime as error:
                raise GrantTimeout(str(error), request=request) from error
            except ServerRefused as error:
                raise GrantDenied(str(error), request=request) from error
            await self._opened(grant)
            if self._usable(grant, request):
                break
        started_at, response = time.monotonic(), None
        try:
            response = await self._inner.handle_async_request(request)
            return response
        finally:
            self._report(grant, started_at, response)

    async def _opened(self, grant: Grant) -> None:
        try:
            await asyncio.sleep(max(0.0, grant.opens_at - time.monotonic()))
        except asyncio.CancelledError:
            self._grants.end(grant, None)
            raise

    async def aclose(self) -> None:
        """Send the last reports."""
        await asyncio.to_thread(self._grants.close)
        await self._inner.aclose()
