"""Comity's own worker does jobs of policies: over HTTP on loopback, on both databases."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import insert, select, text, update

from comity.assemble import State, open_state
from comity.database.connection import Database
from comity.database.queue.tables import crawl_job_moves, crawl_jobs, crawl_policies, crawl_results, late_submissions
from comity.database.tables import domains, evidence, fetches, politeness_ledger
from comity.model.errors import BadInput
from comity.model.queue import OWN_BOT, BotError
from comity.operate.bots import add_bot
from comity.reports.politeness import verify_politeness
from comity.settings import read_settings
from comity.walk.bots.own_work import JobDone, OwnWorker
from comity.walk.session.leased_host import LeasedHost
from tests.queue.service import unpacked
from tests.walk.site import Answer, Asked, Site, Web, redirect

LOOPBACK = "127.0.0.0/8"


def shop(price: str = "19.90", stock: str = "InStock") -> str:
    data = {
        "@type": "Product",
        "name": "Lamp",
        "offers": {"price": price, "priceCurrency": "EUR", "availability": f"https://schema.org/{stock}"},
    }
    return f'<!doctype html><script type="application/ld+json">{json.dumps(data)}</script><p>page'


class Own:
    """A state with policies, and a worker that does their jobs."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.done: list[JobDone] = []

    def policy(self, url: str, **columns: Any) -> Any:
        with self.state.database.write() as connection:
            statement = insert(crawl_policies).values(url=url, **columns).returning(crawl_policies.c.id)
            return connection.execute(statement).scalar_one()

    def work(self, within_s: float = 60.0) -> list[JobDone]:
        """Make jobs of what is due, and do what can be done now."""
        self.state.queue_sweeper().sweep()
        self.done = []
        asyncio.run(asyncio.wait_for(self._work(), within_s))
        return self.done

    async def _work(self, idle_s: float = 0.0) -> None:
        async with self.state.fetcher() as fetcher, self.state.own_worker(fetcher, self.done.append) as worker:
            await worker.run_due(idle_s)

    def rows(self, table: Any) -> list[dict[str, Any]]:
        with self.state.database.read() as connection:
            return [dict(row._mapping) for row in connection.execute(select(table))]

    def one(self, table: Any) -> dict[str, Any]:
        (row,) = self.rows(table)
        return row

    def change(self, table: Any, **values: Any) -> None:
        with self.state.database.write() as connection:
            connection.execute(update(table).values(**values))

    def moves(self) -> list[tuple[Any, ...]]:
        return [(row["before"], row["after"], row["reason"]) for row in self.rows(crawl_job_moves)]

    def make_due(self) -> None:
        self.change(crawl_policies, next_run_at=None)
        self.change(crawl_jobs, not_before=None)


@contextmanager
def owning(database_url: str, **settings: Any) -> Iterator[Own]:
    given = {"database_url": database_url, "queue_delay_s": 0.05, "allow_networks": (LOOPBACK,)}
    with open_state(read_settings(**(given | settings))) as state:
        yield Own(state)


@pytest.fixture(params=["sqlite", "postgresql"])
def state_url(request: pytest.FixtureRequest) -> str:
    """An empty state on each of the two kinds of databases: the test runs twice."""
    if request.param == "sqlite":
        url: str = request.getfixturevalue("sqlite_url")
        return url
    database: Database = request.getfixturevalue("shared_database")
    return database.engine.url.render_as_string(hide_password=False)


@pytest.fixture
def own(state_url: str) -> Iterator[Own]:
    with owning(state_url) as made:
        yield made


@pytest.fixture
def web() -> Iterator[Web]:
    with Web() as made:
        yield made


def now() -> datetime:
    return datetime.now(UTC)


def near(found: datetime, wanted: datetime) -> bool:
    return abs((found - wanted).total_seconds()) < 120


def test_a_result_is_stored_and_the_policy_scheduled(own: Own, web: Web) -> None:
    site = web.site({"/p": shop()}, robots="User-agent: *\nDisallow: /private\n")
    policy_id = own.policy(site.url("/p"), frequency_hours=6, crawl_config={"raw_html": True})
    (done,) = own.work()
    assert (done.status, done.price, done.currency, done.in_stock) == ("done", "19.90", "EUR", True)
    result = own.one(crawl_results)
    assert (result["bot_id"], result["policy_id"], str(result["price"])) == (OWN_BOT, policy_id, "19.9000")
    assert (result["currency"], result["title"], result["in_stock"]) == ("EUR", "Lamp", True)
    assert result["parsed_data"]["found_in"]["price"] == "json-ld"
    assert unpacked(result["raw_html"]) == shop()
    policy = own.one(crawl_policies)
    assert near(policy["next_run_at"], now() + timedelta(hours=6))
    assert own.moves() == [("pending", "locked", "taken by a worker"), ("locked", "done", "submitted")]
    assert site.paths == ["/robots.txt", "/p"]
    requests = own.rows(politeness_ledger)
    assert sorted(row["purpose"] for row in requests) == ["page", "robots"]
    assert {row["lease_token"] for row in requests} == {own.one(domains)["lease_token"]}
    host = own.one(domains)
    assert (host["claimed_by"], host["queue_ready_at"], host["queue_failures"]) == (None, None, 0)
    assert host["next_fetch_at"] is not None
    assert own.work() == []  # nothing is due
    assert len(site.of("/p")) == 1


def test_every_page_has_a_row_in_fetches_that_the_ledger_names(own: Own, web: Web) -> None:
    site = web.site({"/1": shop()})
    own.policy(site.url("/1"))
    own.work()
    row = own.one(fetches)
    assert (row["page_url"], row["outcome"], row["status"], row["discovery_type"]) == (
        site.url("/1"),
        "fetched",
        200,
        "policy",
    )
    named = {each["url"]: each["has_fetch"] for each in own.rows(politeness_ledger)}
    assert named == {site.url("/1"): True, site.url("/robots.txt"): False}


def test_jobs_of_a_host_keep_its_delay_and_the_ledger_verifies(state_url: str, web: Web) -> None:
    site = web.site({f"/{number}": shop(str(number)) for number in range(1, 5)})
    other = web.site({"/1": shop("7")})
    with owning(state_url, queue_delay_s=0.3) as own:
        for path in site.routes:
            own.policy(site.url(path))
        own.policy(other.url("/1"))
        assert sorted(done.price or "" for done in own.work()) == ["1", "2", "3", "4", "7"]
        assert min(site.gaps()) >= 0.29
        assert len(site.pages()) == 4
        audits = list(verify_politeness(own.state.database))
        assert len(audits) == 2
        assert [list(audit.violations) for audit in audits] == [[], []]


def test_a_failure_is_retried_and_given_up_as_for_a_bot(own: Own, web: Web) -> None:
    site = web.site({"/p": Answer(404)})
    own.policy(site.url("/p"), max_retries=1)
    (done,) = own.work()
    assert (done.status, done.message) == ("pending", "the server answered 404")
    job = own.one(crawl_jobs)
    assert (job["retry_count"], job["error_msg"]) == (1, "the server answered 404")
    assert near(job["not_before"], now() + timedelta(minutes=5))
    assert own.one(domains)["queue_failures"] == 1
    assert own.work() == []
    own.change(crawl_jobs, not_before=now() - timedelta(seconds=1))
    (done,) = own.work()
    assert done.status == "failed"
    assert own.one(crawl_policies)["failure_count"] == 1
    assert len(site.of("/p")) == 2
    assert own.rows(crawl_results) == []


def test_a_page_without_a_product_fails(own: Own, web: Web) -> None:
    site = web.site({"/p": "<title>Hello</title>"})
    own.policy(site.url("/p"))
    (done,) = own.work()
    assert done.status == "pending"
    assert "no price and no stock found" in done.message


@pytest.mark.parametrize("status", [429, 503])
def test_a_host_that_asks_to_wait_is_blocked_for_everyone(own: Own, web: Web, status: int) -> None:
    site = web.site({"/a": Answer(status, headers={"Retry-After": "900"}), "/b": shop()})
    own.policy(site.url("/a"), priority=9)
    own.policy(site.url("/b"), priority=1)
    own.work()
    assert site.pages() == ["/a"]
    host = own.one(domains)
    assert near(host["blocked_until"], now() + timedelta(seconds=900))
    waiting = {row["url"]: row for row in own.rows(crawl_jobs)}
    assert near(waiting[site.url("/a")]["not_before"], now() + timedelta(seconds=900))
    assert waiting[site.url("/b")]["retry_count"] == 0
    pulled = asyncio.run(own.state.puller().pull("bot-1", 10))
    assert pulled.jobs == ()


def test_robots_denial_keeps_a_job_from_being_asked_with_evidence(own: Own, web: Web) -> None:
    site = web.site({"/private": shop()}, robots="User-agent: *\nDisallow: /private\n")
    own.policy(site.url("/private"))
    own.work()
    assert site.paths == ["/robots.txt"]
    job = own.one(crawl_jobs)
    assert (job["status"], job["retry_count"]) == ("pending", 0)
    assert "robots" in job["error_msg"]
    assert job["not_before"] > now() + timedelta(minutes=30)
    assert "blocked_by_robots" in {row["type"] for row in own.rows(evidence)}


def test_a_denied_job_does_not_end_the_turn_of_its_host(own: Own, web: Web) -> None:
    site = web.site({"/private": shop(), "/p": shop()}, robots="User-agent: *\nDisallow: /private\n")
    own.policy(site.url("/private"), priority=9)
    own.policy(site.url("/p"), priority=1)
    own.work()
    assert site.paths == ["/robots.txt", "/p"]


def test_a_site_that_keeps_failing_is_parked(state_url: str, web: Web) -> None:
    site = web.site({f"/{number}": Answer(500) for number in range(4)})
    with owning(state_url, site_failures=2) as own:
        for path in site.routes:
            own.policy(site.url(path))
        own.work()
        assert len(site.pages()) == 2
        host = own.one(domains)
        assert host["queue_failures"] == 2
        assert host["queue_parked_until"] > now()
        assert host["queue_ready_at"] > now() + timedelta(seconds=30)
        asked = len(site.paths)
        assert own.work() == []
        assert len(site.paths) == asked


def test_an_unexpected_error_costs_its_host_a_minute_and_others_nothing(
    own: Own, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, good = web.site({"/p": shop()}), web.site({"/p": shop()})
    judge = OwnWorker._judge

    def broken(worker: OwnWorker, host: LeasedHost, *others: Any) -> Any:
        if host.name == bad.host:
            raise RuntimeError("broken")
        return judge(worker, host, *others)

    monkeypatch.setattr(OwnWorker, "_judge", broken)
    for site in (bad, good):
        own.policy(site.url("/p"))
    assert sorted((done.host, done.status) for done in own.work()) == sorted([(bad.host, "error"), (good.host, "done")])
    assert bad.pages() == []
    assert {row["claimed_by"] for row in own.rows(domains)} == {None}


def test_takedowns_keep_a_job_from_being_asked(own: Own, web: Web) -> None:
    site = web.site({"/p": shop()})
    own.policy(site.url("/p"))
    own.state.queue_sweeper().sweep()
    with own.state.database.write() as connection:
        connection.execute(text("INSERT INTO takedowns (domain_or_url) VALUES (:host)"), {"host": site.host})
    own.work()
    assert site.paths == []
    assert own.one(crawl_jobs)["error_msg"].startswith("taken down")


def test_networks_that_are_not_allowed_are_not_asked(state_url: str, web: Web) -> None:
    site = web.site({"/p": shop()})
    with owning(state_url, allow_networks=()) as own:
        own.policy(site.url("/p"))
        own.work()
        assert site.paths == []
        assert own.one(crawl_jobs)["status"] == "pending"


def test_redirects_are_followed_and_their_end_is_named(own: Own, web: Web) -> None:
    target = web.site({"/new": shop("5")})
    site = web.site({"/p": redirect(target.url("/new"))})
    own.policy(site.url("/p"))
    (done,) = own.work()
    assert done.price == "5"
    assert own.one(crawl_results)["parsed_data"]["final_url"] == target.url("/new")
    assert {row["claimed_by"] for row in own.rows(domains)} == {None}


def test_a_config_that_cannot_be_read_costs_no_request(own: Own, web: Web) -> None:
    site = web.site({"/p": shop()})
    own.policy(site.url("/p"), crawl_config={"price": "css '.price::text' | parse_prise"})
    (done,) = own.work()
    assert "crawl_config.price" in done.message
    assert site.pages() == []


def test_a_heavy_page_is_read_in_a_child(own: Own, web: Web) -> None:
    site = web.site({"/p": shop() + "<p>word</p>" * 60_000})
    own.policy(site.url("/p"), crawl_config={"title": "xpath '//title'", "currency": "CHF"})
    (done,) = own.work()
    assert (done.price, done.currency) == ("19.90", "CHF")


def test_the_schedule_learns_from_changes(own: Own, web: Web) -> None:
    prices = iter(["1", "1", "2"])
    site = web.site({"/p": lambda _asked: shop(next(prices))})
    own.policy(site.url("/p"), schedule="adaptive", frequency_hours=24)
    for _ in range(3):
        own.make_due()
        own.work()
    assert own.one(crawl_policies)["change_statistics"]["visits"] == 2


def test_a_job_is_in_one_hand_only(own: Own, web: Web) -> None:
    """While the worker has a job, its host cannot be pulled; while a bot has it, the worker leaves the host alone."""
    pulls: list[Any] = []

    def answer(_asked: Asked) -> str:
        with ThreadPoolExecutor(1) as thread:  # the site has an event loop of its own
            pulls.append(thread.submit(asyncio.run, own.state.puller().pull("bot-1", 10)).result())
        return shop()

    site = web.site({"/a": answer, "/b": shop()})
    own.policy(site.url("/a"), priority=9)
    own.policy(site.url("/b"), priority=1)
    assert len(own.work()) == 2
    assert [pulled.jobs for pulled in pulls] == [()]
    own.make_due()
    own.state.queue_sweeper().sweep()
    pulled = asyncio.run(own.state.puller().pull("bot-1", 1))
    assert len(pulled.jobs) == 1
    asked = len(site.pages())
    assert own.work() == []
    assert len(site.pages()) == asked


def test_two_workers_share_the_jobs(own: Own, web: Web) -> None:
    sites: list[Site] = [web.site({f"/{number}": shop() for number in range(3)}) for _ in range(4)]
    for site in sites:
        for path in site.routes:
            own.policy(site.url(path))
    own.state.queue_sweeper().sweep()

    async def both() -> None:
        # A worker that finds a host taken looks again after some seconds: neither may end before.
        await asyncio.gather(own._work(idle_s=30), own._work(idle_s=30))

    asyncio.run(asyncio.wait_for(both(), 60))
    assert sorted(done.status for done in own.done) == ["done"] * 12
    assert [sorted(site.pages()) for site in sites] == [["/0", "/1", "/2"]] * 4


def test_a_worker_that_died_leaves_a_job_that_comes_back_once(own: Own, web: Web) -> None:
    site = web.site({"/p": shop()})
    own.policy(site.url("/p"))
    own.state.queue_sweeper().sweep()
    job_id = own.one(crawl_jobs)["id"]
    dead = now() - timedelta(seconds=700)
    lock_ends_at = dead + timedelta(seconds=600)
    with own.state.database.write() as connection:  # what a killed worker leaves behind, when its lock has run out
        lock = {"status": "locked", "locked_by": OWN_BOT, "locked_at": dead, "lease_token": 1}
        connection.execute(update(crawl_jobs).values(**lock, lock_ends_at=lock_ends_at))
    (done,) = own.work()
    assert (done.job_id, done.status) == (job_id, "done")
    assert [after for _, after, _ in own.moves()] == ["locked", "expired", "locked", "done"]
    assert len(site.of("/p")) == 1
    assert own.rows(late_submissions) == []


def test_a_worker_that_comes_back_late_changes_nothing(own: Own, web: Web) -> None:
    """The lock was ended, and another worker has the job by now: under another lease."""

    def answer(_asked: Asked) -> str:
        with own.state.database.write() as connection:
            connection.execute(update(crawl_jobs).values(lease_token=10_000))
        return shop()

    site = web.site({"/p": answer})
    own.policy(site.url("/p"))
    (done,) = own.work()
    assert done.status == BotError.NOT_ASSIGNED
    assert own.rows(crawl_results) == []
    assert own.one(crawl_jobs)["status"] == "locked"
    assert "page" in {row["purpose"] for row in own.rows(politeness_ledger)}  # it was asked, and the ledger says so


def test_a_worker_that_is_stopped_gives_its_job_back(own: Own, web: Web) -> None:
    reached = asyncio.Event()

    async def stopped() -> None:
        loop = asyncio.get_running_loop()

        def answer(_asked: Asked) -> Answer:
            loop.call_soon_threadsafe(reached.set)
            return Answer(body=shop(), after_s=30.0)

        site = web.site({"/p": answer})
        own.policy(site.url("/p"))
        own.state.queue_sweeper().sweep()
        async with own.state.fetcher() as fetcher, own.state.own_worker(fetcher, own.done.append) as worker:
            await worker.look()
            await reached.wait()
            for task in worker._turns.values():
                task.cancel()

    asyncio.run(asyncio.wait_for(stopped(), 60))
    job = own.one(crawl_jobs)
    assert (job["status"], job["locked_by"], job["retry_count"]) == ("pending", None, 0)
    assert own.one(domains)["claimed_by"] is None
    assert "page" in {row["purpose"] for row in own.rows(politeness_ledger)}


def test_no_bot_may_call_itself_comity(own: Own) -> None:
    with pytest.raises(BadInput, match="own worker"):
        add_bot(own.state.database, own.state.clock, OWN_BOT)
