"""Workers leave hosts alone whose crawl has limits or was stopped: from the first moment, and to the right extent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import pytest

from comity.assemble import State, open_state
from comity.database import hosts as hosts_table
from comity.database import runs as runs_table
from comity.database.connection import Database
from comity.model.frontier import FrontierEntry, SiteLink
from comity.operate.runs import pause_hosts, request_stop, resume_finished_hosts
from comity.operate.seeds import add_seeds
from comity.reports.runs import RunListed, find_run
from comity.rules.canonical import web_address
from comity.rules.seed_list import read_seed
from comity.run.crawl import sites
from comity.run.crawl.service import CrawlOrder, limits_of, order_to_resume
from comity.settings import read_settings
from comity.walk.settle.settler import queue_site_links


@pytest.fixture
def state_url(database: Database) -> str:
    """A migrated state on each of the two databases."""
    return database.engine.url.render_as_string(hide_password=False)


def _paused_by(state: State, host: str) -> UUID | None:
    with state.database.read() as connection:
        row = hosts_table.get(connection, host)
    assert row is not None
    found: UUID | None = row.paused_by_run
    return found


def _begin(state: State, **settings: Any) -> UUID:
    run_id = uuid4()
    with state.database.write() as connection:
        holder, now = state.leases().holder, state.clock.now()
        recorded = state.recorded_settings | settings
        runs_table.begin(connection, run_id, door="crawl", holder=holder, settings=recorded, now=now)
    return run_id


def test_no_worker_gets_a_host_while_its_crawl_is_prepared(state_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker of another process may look for hosts between any two steps: for new hosts, and for known ones."""
    got: list[str] = []

    def with_a_worker(step: Callable[..., Any]) -> Callable[..., Any]:
        def done(*arguments: Any, **options: Any) -> Any:
            result = step(*arguments, **options)
            got.extend(lease.host for lease in state.leases().claim(5))
            return result

        return done

    steps = ("add_seeds", "end_cooldowns", "lift_refusals", "go_deeper", "follow_left_out", "request_refresh")
    with open_state(read_settings(database_url=state_url)) as state:
        add_seeds(state.database, state.clock, [read_seed("https://known.example/old")])
        for step in steps:
            monkeypatch.setattr(sites, step, with_a_worker(getattr(sites, step)))
        seeds = [read_seed(f"https://{host}.example/") for host in ("shop", "known")]
        run_id = uuid4()
        prepared = sites.prepare_sites(state, seeds, source="web", refresh=True, paused_by=run_id)
        assert (got, prepared.pauses_hosts) == ([], True)
        assert {_paused_by(state, host) for host in prepared.hosts} == {run_id}
        monkeypatch.undo()
        sites.prepare_sites(state, seeds, source="web", refresh=False)
        assert {_paused_by(state, host) for host in prepared.hosts} == {None}


def test_a_host_that_a_limited_crawl_finds_is_paused_as_it_is_stored(state_url: str) -> None:
    with open_state(read_settings(database_url=state_url)) as state:
        add_seeds(state.database, state.clock, [read_seed("free.example")], frontier=state.frontier)
        run_id, links = _begin(state), []
        for host in ("new.example", "free.example"):
            address = web_address(f"https://{host}/a")
            links.append(SiteLink(host, FrontierEntry(address.url, address.key, 1, 0), False))
        assert queue_site_links(state.frontier, run_id, links, state.clock.now(), run_id) == {
            "new.example",
            "free.example",
        }
        assert _paused_by(state, "new.example") == run_id
        assert _paused_by(state, "free.example") is None, "a person let workers have it"
        assert [lease.host for lease in state.leases().claim(5)] == ["free.example"]


def test_a_stop_pauses_the_hosts_that_the_run_crawls(state_url: str) -> None:
    """By the settings of the run: subdomains may count as one host, and hosts may belong to one site."""
    with open_state(read_settings(database_url=state_url)) as state:
        names = ("example.com", "site.example", "shop.site.example", "other.example")
        add_seeds(state.database, state.clock, [read_seed(name) for name in names])
        collapsed = _begin(state, seeds=["https://blog.example.com/x"], collapse_subdomains=True)
        request_stop(state.database, state.clock, collapsed)
        whole = _begin(state, seeds=["site.example"], site_hosts=["site.example"], subdomains=True)
        request_stop(state.database, state.clock, whole)
        assert [_paused_by(state, name) for name in names] == [collapsed, whole, whole, None]


def test_a_pause_ends_where_nothing_is_left_to_visit(state_url: str) -> None:
    with open_state(read_settings(database_url=state_url)) as state:
        names = ("done.example", "deep.example", "rest.example", "other.example")
        add_seeds(state.database, state.clock, [read_seed(name) for name in names])
        run_id, other = uuid4(), uuid4()
        pause_hosts(state.database, names[:3], run_id)
        pause_hosts(state.database, names[3:], other)
        with state.database.write() as connection:
            ids = hosts_table.ids_of(connection, names)
            for name in names:
                hosts_table.change(connection, ids[name], {"status": "active"})
            for name in ("done.example", "deep.example", "other.example"):
                hosts_table.change(connection, ids[name], {"status": "exhausted"})
            hosts_table.change(connection, ids["deep.example"], {"left_at_depth": 3})
        resume_finished_hosts(state.database, run_id)
        assert [_paused_by(state, name) for name in names] == [None, run_id, run_id, other]


@pytest.mark.parametrize(
    ("choices", "own", "limits"),
    [
        ({"max_pages": 2}, {}, {"max_pages"}),
        ({"max_pages": 2}, {"max_pages": 9}, {"max_pages"}),
        ({"max_pages": 9}, {"max_pages": 9}, set()),
        ({"max_pages": 0}, {"max_pages": 9}, set()),
        ({"max_minutes": 0.5}, {"max_minutes": 1.0}, {"max_minutes"}),
        ({"max_depth": 0}, {}, {"max_depth"}),
        ({"max_depth": 60}, {}, set()),
        ({"include": ["/a"]}, {}, {"include"}),
        ({"include": ["/a"]}, {"include": ("/a", "/b")}, {"include"}),
        ({"include": ["/a", "/b"]}, {"include": ("/a",)}, set()),
        ({"include": []}, {"include": ("/a",)}, set()),
        ({"exclude": ["/1"]}, {}, {"exclude"}),
        ({"exclude": ["/1"]}, {"exclude": ("/1", "/2")}, set()),
        ({"accept_types": ["text/html"]}, {}, {"accept_types"}),
        ({"accept_types": ["*/*"]}, {}, set()),
        ({"accept_types": []}, {}, set()),
        ({"reject_types": ["text/plain"]}, {}, {"reject_types"}),
        ({"reject_types": ["text/plain"]}, {"reject_types": ("text/*",)}, set()),
        ({"respect_nofollow": True}, {"respect_nofollow": False}, {"respect_nofollow"}),
        ({"respect_nofollow": False}, {}, set()),
        ({"subdomains": False}, {"subdomains": True}, {"subdomains"}),
        ({"subdomains": True}, {}, set()),
        ({"follow_links": False}, {}, {"follow_links"}),
        ({"sitemaps": False, "follow_canonical": False}, {}, {"sitemaps", "follow_canonical"}),
        ({"sitemaps": False}, {"sitemaps": False}, set()),
        ({"text": True, "delay_s": 3.0, "max_depth": None}, {}, set()),
        ({}, {"max_pages": 5, "include": ("/a",)}, set()),
    ],
)
def test_limits_are_what_a_worker_of_the_server_would_not_keep(
    choices: dict[str, Any], own: dict[str, Any], limits: set[str]
) -> None:
    assert limits_of(CrawlOrder(("a.example",), choices), read_settings(**own)) == limits


def test_every_path_below_the_seeds_is_a_limit() -> None:
    assert limits_of(CrawlOrder(("a.example/docs/",), under=True), read_settings()) == {"under"}


def test_a_crawl_that_is_continued_has_the_limits_that_it_had(state_url: str) -> None:
    """The settings of the server are recorded with every run; they are no limits of the run."""
    own = {"max_pages": 5, "include": ("/a",), "under": ("a.example/docs/",), "subdomains": True}
    with open_state(read_settings(database_url=state_url, **own)) as state:

        def continued(**recorded: Any) -> CrawlOrder:
            return order_to_resume(_recorded(state, seeds=["a.example"], **recorded), state.settings)

        assert continued() == CrawlOrder(("a.example",))
        typed = continued(max_pages=2, subdomains=False, under=["a.example/b/"])
        assert typed == CrawlOrder(("a.example",), {"max_pages": 2, "subdomains": False}, under=True)
        assert limits_of(typed, state.settings) == {"max_pages", "subdomains", "under"}
        without = continued(pages_per_host=0, max_pages=5)
        assert without.choices == {"max_pages": 5}, "the page limit was typed: it replaced the limit per host"


def _recorded(state: State, **settings: Any) -> RunListed:
    return replace(find_run(state.database, _begin(state, **settings)), status="stopped")
