"""A crawl that has nothing else to do does not wait for its next batch; the waits are an hour here."""

from __future__ import annotations

import pytest

import comity
from comity.walk.crawl import settling
from tests.walk.site import Web, page

pytestmark = pytest.mark.usefixtures("hour")


@pytest.fixture
def hour(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_WAIT_S", "_BETWEEN_BATCHES_S", "_MOST_BETWEEN_BATCHES_S"):
        monkeypatch.setattr(settling, name, 3600.0)


@pytest.mark.parametrize("hosts", [1, 6])
def test_a_crawl_ends_when_nothing_is_left_to_visit(hosts: int, web: Web) -> None:
    routes = {"/": page("/a"), "/a": page("/b"), "/b": page()}
    sites = [web.site(routes, address=f"127.0.0.{number + 1}") for number in range(hosts)]
    with comity.crawl(
        *(site.url("/") for site in sites),
        state=comity.TEMPORARY,
        delay=0,
        allow_networks=["127.0.0.0/8"],
        contact="bot@example.org",
    ) as run:
        assert len(list(run)) == 3 * hosts


def test_a_statement_goes_on_with_the_links_that_came(web: Web) -> None:
    """It reads them back from the state, once they are settled."""
    sites = [web.site({"/": page("/a"), "/a": page("/b"), "/b": page()}, address=f"127.0.0.{n}") for n in range(1, 7)]
    urls = ", ".join(f"('{site.url('/')}')" for site in sites)
    with comity.sql.connect(allow_networks=["127.0.0.0/8"], contact="bot@example.org") as connection:
        connection.execute(f"CRAWL (FROM (VALUES {urls})) INTO pages WITH (default_crawl_delay 0, follow_links true)")
        assert connection.execute("SELECT count(*) FROM pages WHERE http_status = 200").fetchall() == [(18,)]
