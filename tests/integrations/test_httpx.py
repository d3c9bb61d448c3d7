"""The transports for httpx, against a real server and real sites on loopback."""

from __future__ import annotations

import asyncio
import time

import httpx
import pytest

from comity.integrations.httpx import AsyncComityTransport, ComityTransport, GrantDenied, GrantTimeout
from comity.reports.politeness import verify_politeness
from comity.rules.queue.slots import WINDOW_S
from tests.doors.web.served import Served
from tests.integrations.conftest import DELAY_S
from tests.walk.site import Answer, Web, page

ROBOTS = "User-agent: *\nDisallow: /private\n"
PAGES = {f"/{number}": page() for number in range(4)}


def test_a_client_is_polite(server: Served, web: Web) -> None:
    site = web.site(PAGES, robots=ROBOTS)
    with httpx.Client(transport=ComityTransport(server.url), timeout=60) as client:
        assert [client.get(site.url(f"/{number}")).status_code for number in range(4)] == [200] * 4
        with pytest.raises(GrantDenied, match="Disallow: /private"):
            client.get(site.url("/private/x"))
    assert "/private/x" not in site.paths
    assert min(site.gaps()) >= DELAY_S
    (audit,) = verify_politeness(server.state.database)
    assert (audit.requests, audit.violations, audit.remarks) == (5, (), ())


def test_the_delay_counts_from_when_a_request_reached_the_host(server: Served, web: Web) -> None:
    """A connection that takes long, as on a busy machine, does not bring the next request closer."""
    site = web.site(PAGES, robots=ROBOTS)
    transport = ComityTransport(server.url, inner=_SlowAtFirst())
    with httpx.Client(transport=transport, timeout=60) as client:
        assert [client.get(site.url(f"/{number}")).status_code for number in range(2)] == [200] * 2
    assert min(site.gaps()) >= DELAY_S


class _SlowAtFirst(httpx.HTTPTransport):
    """Takes half of a window until it connects for the first time."""

    is_first = True

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if self.is_first:
            self.is_first = False
            time.sleep(WINDOW_S / 2)
        return super().handle_request(request)


def test_an_asynchronous_client_is_polite_with_many_tasks(server: Served, web: Web) -> None:
    sites = [web.site(PAGES, robots=ROBOTS) for _ in range(3)]

    async def crawl() -> list[int]:
        async with httpx.AsyncClient(transport=AsyncComityTransport(server.url), timeout=60) as client:
            urls = [site.url(path) for site in sites for path in PAGES]
            return [answer.status_code for answer in await asyncio.gather(*map(client.get, urls))]

    assert asyncio.run(crawl()) == [200] * 12
    for site in sites:
        assert min(site.gaps()) >= DELAY_S
        assert site.overlaps() == 0
    assert [audit.violations for audit in verify_politeness(server.state.database)] == [()] * 3


def test_a_host_that_is_blocked_makes_the_client_give_up(server: Served, web: Web) -> None:
    site = web.site({"/": Answer(status=429, headers={"Retry-After": "300"})}, robots=ROBOTS)
    with httpx.Client(transport=ComityTransport(server.url), timeout=60) as client:
        assert client.get(site.url()).status_code == 429
    other = ComityTransport(server.url, client_id="other", wait_s=0.5)
    with httpx.Client(transport=other, timeout=60) as client, pytest.raises(GrantTimeout):
        client.get(site.url())
    assert site.paths.count("/") == 1


def test_a_cancelled_task_leaves_no_open_grant(server: Served, web: Web) -> None:
    site = web.site(PAGES, robots=ROBOTS)

    async def crawl() -> None:
        async with httpx.AsyncClient(transport=AsyncComityTransport(server.url), timeout=60) as client:
            tasks = [asyncio.create_task(client.get(site.url(path))) for path in PAGES]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(crawl())
    (audit,) = verify_politeness(server.state.database)
    assert audit.violations == ()
    assert not any("leased now" in remark for remark in audit.remarks)
