"""A downloader middleware for Scrapy: every request of a spider waits for a grant of a Comity server.

    COMITY_URL = "http://127.0.0.1:8000"
    COMITY_KEY = "…"
    DOWNLOADER_MIDDLEWARES = {"comity.integrations.scrapy.ComityMiddleware": 950}

Of each host there is one request at a time, at the pace of the host's gate, which the spider shares with everything
else on the server's state. docs/grants.md has the other settings and the statistics.
"""

from __future__ import annotations

import time
from typing import Any, Final, Self
from weakref import WeakKeyDictionary

from scrapy import signals
from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from twisted.internet.threads import deferToThread

from comity.integrations.grants import Grant, GrantClient, Grants, NoGrantInTime, ServerRefused

HELD_FOR_S: Final = 30.0  # then a request goes back to the scheduler, so that others have its place
MOST_RETURNS: Final = 100


class ComityMiddleware:
    """Holds each request until its grant's window, and reports the result."""

    def __init__(self, crawler: Any) -> None:
        settings, self._stats = crawler.settings, crawler.stats
        if not settings.get("COMITY_URL"):
            raise NotConfigured("set COMITY_URL to the address of a Comity server")
        name = settings.get("COMITY_CLIENT_ID") or f"scrapy-{settings.get('BOT_NAME', 'bot')}"
        agent = settings.get("USER_AGENT") if settings.getbool("COMITY_OWN_ROBOTS") else None
        self._grants = Grants(GrantClient(settings["COMITY_URL"], settings.get("COMITY_KEY"), name, agent))
        self._started: WeakKeyDictionary[Any, Grant] = WeakKeyDictionary()

    @classmethod
    def from_crawler(cls, crawler: Any) -> Self:
        """Scrapy's way to make a middleware."""
        made = cls(crawler)
        crawler.signals.connect(made._close, signal=signals.spider_closed)
        return made

    async def process_request(self, request: Any, spider: Any = None) -> Any:  # noqa: ARG002  # older Scrapy passes it
        """Wait for the request's window; then it continues, is dropped, or goes back to the scheduler."""
        from twisted.internet import reactor

        give_up_at = time.monotonic() + HELD_FOR_S
        while True:
            try:
                grant = await self._granted(request.url, give_up_at - time.monotonic())
            except NoGrantInTime as busy:
                return self._returned(request, busy)
            except ServerRefused as error:
                self._stats.inc_value("comity/refused")
                raise IgnoreRequest(str(error)) from error
            if grant.is_denied:
                self._stats.inc_value("comity/denied")
                self._stats.inc_value(f"comity/denied/{grant.reason}")
                raise IgnoreRequest(grant.why)
            early_s = grant.opens_at - time.monotonic()
            if early_s > 0:
                await maybe_deferred_to_future(deferLater(reactor, early_s))
            if time.monotonic() <= grant.closes_at:
                self._started[request] = grant
                self._stats.inc_value("comity/granted")
                return None
            self._stats.inc_value("comity/missed_windows")
            self._grants.end(grant, None)

    def process_response(self, request: Any, response: Any, spider: Any = None) -> Any:  # noqa: ARG002
        """Report an answer."""
        retry_after = response.headers.get("Retry-After")
        self._report(request, response.status, retry_after.decode("latin-1") if retry_after else None)
        return response

    def process_exception(self, request: Any, exception: Any, spider: Any = None) -> None:  # noqa: ARG002
        """Report a failure."""
        self._report(request, None, None)

    def _granted(self, url: str, wait_s: float) -> Any:
        """A grant or a denial, awaited without blocking the reactor."""
        from twisted.internet import reactor

        answered: Deferred[Grant] = Deferred()

        def settle(future: Any) -> None:
            error = future.exception()
            if error is None:
                answered.callback(future.result())
            else:
                answered.errback(error)

        asked = self._grants.ask(url, wait_s)
        asked.add_done_callback(lambda future: reactor.callFromThread(settle, future))
        return maybe_deferred_to_future(answered)

    def _report(self, request: Any, status: int | None, retry_after: str | None) -> None:
        grant = self._started.pop(request, None)
        if grant is not None:
            latency_s = request.meta.get("download_latency")
            self._grants.end(grant, grant.report(time.monotonic(), status, latency_s, retry_after))

    def _returned(self, request: Any, busy: NoGrantInTime) -> Any:
        returns = request.meta.get("comity_returns", 0) + 1
        self._stats.inc_value("comity/returned")
        if returns > MOST_RETURNS:
            raise IgnoreRequest(str(busy))
        meta = {**request.meta, "comity_returns": returns}
        return request.replace(meta=meta, dont_filter=True, priority=request.priority - 1)

    async def _close(self) -> None:
        """Send the last reports."""
        await maybe_deferred_to_future(deferToThread(self._grants.close))
        if self._grants.failures:
            self._stats.set_value("comity/failures", self._grants.failures)
