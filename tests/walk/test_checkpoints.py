"""What a host's row says of its frontier, while the host is crawled and after."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from comity.assemble import State
from comity.walk.crawl.crawl import Crawl
from tests.servers.valkey import ValkeyServer
from tests.walk.crawling import Place, until
from tests.walk.site import Site, Web, page


@pytest.fixture(params=["database", "redis"])
def with_frontier(request: pytest.FixtureRequest, place: Place) -> Place:
    """A state whose URLs are in its own tables, and one whose URLs are in Valkey."""
    if request.param == "redis":
        shared: Place = request.getfixturevalue("shared")
        return shared
    return place


def row_of(place: Place, site: Site) -> dict[str, Any]:
    told: dict[str, Any] = place.comity("domains", "info", site.host, "--json").json
    return told


def is_named(checkpoint: str, row: dict[str, Any]) -> bool:
    """Whether a checkpoint has one of its two formats: `redis:{key}` or `{host}:{run_id}`."""
    if checkpoint.startswith("redis:"):
        return row["id"].replace("-", "") in checkpoint
    return checkpoint == f"{row['domain']}:{row['last_crawl_run_id']}"


def test_a_host_that_is_left_with_urls_names_its_checkpoint_and_one_that_is_done_has_none(
    web: Web, with_frontier: Place
) -> None:
    links = [f"/{number}" for number in range(6)]
    site = web.site({"/": page(*links)} | {link: page() for link in links})
    assert with_frontier.comity("crawl", site.url(), "--max-pages", "3").code == 0
    row = row_of(with_frontier, site)
    assert row["frontier_size"] == 4
    assert is_named(row["frontier_checkpoint_id"], row)
    assert with_frontier.comity("crawl", site.url()).code == 0
    done = row_of(with_frontier, site)
    assert (done["status"], done["frontier_size"], done["frontier_checkpoint_id"]) == ("exhausted", 0, None)
    assert done["frontier_updated_at"] > row["frontier_updated_at"]


@pytest.mark.parametrize("track", [True, False])
def test_both_columns_are_written_with_each_settled_batch(web: Web, place: Place, track: bool) -> None:
    links = [f"/{number}" for number in range(12)]
    site = web.site({"/": page(*links)} | {link: page() for link in links})
    seen: list[tuple[str | None, str, int]] = []

    def look() -> bool:
        row = place.host(site.host)
        if row["claimed_by"] is not None and row["frontier_checkpoint_id"] is not None:
            moment = row["frontier_updated_at"]
            if not seen or seen[-1][1] != moment:
                seen.append((row["frontier_checkpoint_id"], moment, row["frontier_size"]))
        return len(seen) >= 3

    def beside(_crawl: Crawl, _state: State) -> Any:
        return until(look)

    summary = place.crawl(site.url(), meanwhile=beside, delay_s=0.1, enable_domain_tracking=track)
    assert {checkpoint for checkpoint, _moment, _size in seen} == {f"{site.host}:{summary.run_id}"}
    moments = [datetime.fromisoformat(moment) for _checkpoint, moment, _size in seen]
    assert moments == sorted(set(moments)), "each batch moves the time forward"


def test_seeds_and_a_reset_move_the_time_forward(place: Place) -> None:
    assert place.comity("seeds", "add", "https://page.example/begin").code == 0
    first = place.host("page.example")["frontier_updated_at"]
    assert first is not None
    assert place.comity("seeds", "add", "https://page.example/more").code == 0
    second = place.host("page.example")["frontier_updated_at"]
    assert second > first
    assert place.comity("domains", "reset", "page.example").code == 0
    assert place.host("page.example")["frontier_updated_at"] > second


def test_the_checkpoint_follows_the_urls_when_they_are_moved(web: Web, shared: Place, valkey: ValkeyServer) -> None:
    links = [f"/{number}" for number in range(6)]
    site = web.site({"/": page(*links)} | {link: page() for link in links})
    assert shared.comity("crawl", site.url(), "--max-pages", "2").code == 0
    assert row_of(shared, site)["frontier_checkpoint_id"].startswith("redis:")
    assert shared.comity("db", "move-frontier", "--back").code == 0
    del shared.env["COMITY_REDIS_URL"]
    row = row_of(shared, site)
    assert row["frontier_checkpoint_id"] == f"{site.host}:{row['last_crawl_run_id']}"
    shared.env["COMITY_REDIS_URL"] = valkey.url()
    assert shared.comity("db", "move-frontier").code == 0
    row = row_of(shared, site)
    assert row["frontier_checkpoint_id"].startswith("redis:")
    assert is_named(row["frontier_checkpoint_id"], row)
