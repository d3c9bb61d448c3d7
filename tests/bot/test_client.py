"""comity.bot against a real server: windows, retries, heartbeats and a clean stop."""

from __future__ import annotations

import asyncio
import inspect
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from comity.bot import (
    AsyncBot,
    Bot,
    BotApiError,
    BotClient,
    Failure,
    Job,
    Result,
    ServerUnavailable,
    async_client,
    runner,
)
from comity.bot.client import LONGEST_PAUSE_S, pause_before
from comity.bot.jobs import HttpExchange, Pulled, pulled_from, submit_body
from comity.bot.runner import beat_every_s
from tests.doors.web.queueing import Queue, queue_on
from tests.doors.web.served import TOKEN_HASH, served, until

LIMIT_S = 60.0
JOB = {
    "job_id": "x", "url": "u", "domain": "d", "priority": 1, "retry_count": 0, "max_retries": 3,
    "timeout_seconds": 600, "locked_until": "2025-01-07T07:20:00Z", "delay_seconds": 1.0, "crawl_config": None,
    "not_before": "2025-01-07T07:10:05.000Z", "start_by": "2025-01-07T07:10:06.000Z",
}  # fmt: skip
PULLED = {"jobs": [JOB], "skipped": 0, "server_time": "2025-01-07T07:10:00.000Z"}


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[Queue]:
    url = f"sqlite:///{tmp_path / 'state.db'}"
    with served(url, env="prod", admin_token_hash=(TOKEN_HASH,)) as running, queue_on(running) as made:
        yield made


def key_of(queue: Queue) -> str:
    return str(queue.bot.headers["X-API-Key"])


def test_a_bot_crawls_inside_its_windows_and_submits(queue: Queue) -> None:
    queue.jobs(3)
    started: list[tuple[Job, float]] = []

    def crawl(job: Job) -> Result | Failure:
        started.append((job, time.monotonic()))
        if job.domain == "shop1.example":
            raise RuntimeError("no such page")
        return Result(price=Decimal("19.90"), currency="EUR", parsed_data={"seen": job.domain}, http_status=200)

    bot = Bot(queue.served.url, "shop-1", key_of(queue), workers=3)
    counts = run_until(bot, crawl, lambda: bot.counts["done"] + bot.counts["failed"] == 3)
    # A window that a busy machine missed was given back, and came again.
    assert (counts["done"], counts["failed"], counts["lost"]) == (2, 1, 0)
    for job, at in started:
        assert job.opens_at <= at
        assert job.started_at is not None
    results = queue.admin.get("/admin/crawl_results")
    assert {each["url"] for each in results.json()["results"]} == {"https://shop0.example/p", "https://shop2.example/p"}
    assert '"price":19.9' in results.text
    [failed] = [each for each in queue.admin.get("/admin/crawl_jobs").json()["jobs"] if each["status"] == "pending"]
    assert failed["error_msg"] == "RuntimeError: no such page"


def run_until(bot: Bot, handler: Any, holds: Callable[[], bool]) -> dict[str, int]:
    """Run a bot in a thread until something holds."""
    counts: dict[str, int] = {}
    thread = threading.Thread(target=lambda: counts.update(bot.run(handler)))
    thread.start()
    try:
        until(holds)
    finally:
        bot.stop()
        thread.join(LIMIT_S)
    assert not thread.is_alive()
    return counts


def test_a_missed_window_is_given_back(queue: Queue) -> None:
    queue.jobs(1)
    bot = Bot(queue.served.url, "shop-1", key_of(queue), workers=1)
    taken: list[Job] = []
    take = bot._take

    def too_late(job: Job) -> None:
        job.closes_at = job.opens_at - 1.0
        taken.append(job)
        take(job)
        if len(taken) >= 1:
            threading.Thread(target=lambda: (until(lambda: bot.counts["released"]), bot.stop())).start()

    bot._take = too_late  # type: ignore[method-assign]
    counts = bot.run(lambda _job: pytest.fail("it must not start"))
    assert counts["released"] >= 1
    moves = queue.admin.get(f"/admin/crawl_jobs/{taken[0].job_id}").json()["moves"]
    assert any("window" in (move["reason"] or "") for move in moves)


def test_a_stopped_bot_finishes_what_it_started_and_releases_the_rest(queue: Queue) -> None:
    queue.jobs(4)
    may_end = threading.Event()
    begun = threading.Event()

    def crawl(job: Job) -> Result:
        begun.set()
        assert may_end.wait(LIMIT_S)
        return Result(title=job.domain)

    bot = Bot(queue.served.url, "shop-1", key_of(queue), workers=1, grace_s=LIMIT_S)
    take = bot._take

    def unhurried(job: Job) -> None:
        job.closes_at += LIMIT_S  # on a slow machine, too, none is given back because its window was missed
        take(job)

    bot._take = unhurried  # type: ignore[method-assign]
    counts: dict[str, int] = {}
    thread = threading.Thread(target=lambda: counts.update(bot.run(crawl)))
    thread.start()
    assert begun.wait(LIMIT_S)
    until(lambda: len(bot._held) == 4)
    bot.stop()
    until(lambda: len(bot._held) == 1)
    may_end.set()
    thread.join(LIMIT_S)
    assert not thread.is_alive()
    assert (counts["done"], counts["released"]) == (1, 3)
    states = sorted(each["status"] for each in queue.admin.get("/admin/crawl_jobs").json()["jobs"])
    assert states == ["done", "pending", "pending", "pending"]


def test_the_same_with_coroutines(queue: Queue) -> None:
    queue.jobs(2)

    async def crawl(job: Job) -> Result:
        return Result(title=job.domain)

    async def run() -> dict[str, int]:
        bot = AsyncBot(queue.served.url, "shop-1", key_of(queue))
        running = asyncio.create_task(bot.run(crawl))
        async with asyncio.timeout(LIMIT_S):
            while bot.counts["done"] < 2 and not running.done():  # noqa: ASYNC110  # the bot has no event for a count
                await asyncio.sleep(0.01)
            bot.stop()
            return await running

    counts = asyncio.run(run())
    assert (counts["done"], counts["failed"], counts["lost"]) == (2, 0, 0)


def test_a_bot_without_work_ends_when_two_pulls_find_nothing(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    pulls: list[int] = []
    pull = BotClient.pull
    monkeypatch.setattr(BotClient, "pull", lambda self, *given: (pulls.append(1), pull(self, *given))[1])
    bot = Bot(queue.served.url, "shop-1", key_of(queue))
    monkeypatch.setattr(bot, "_pause", lambda _seconds: None)
    assert bot.run(lambda _job: None, until_empty=True) == {"done": 0, "failed": 0, "released": 0, "lost": 0}
    assert len(pulls) == 2


@pytest.mark.parametrize("kind", [Bot, AsyncBot])
def test_a_bot_that_reached_its_limit_does_not_take_it_for_an_empty_queue(
    queue: Queue, kind: type[Bot] | type[AsyncBot], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (runner, async_client):
        monkeypatch.setattr(module, "_IDLE_S", 0.1)
    queue.jobs(2)
    queue.admin.patch("/admin/bots/shop-1", json={"max_jobs_in_hand": 1})
    with BotClient(queue.served.url, "shop-1", key_of(queue)) as other:
        [held] = other.pull(1).jobs
        assert other.pull(1).limited_by == "max_jobs_in_hand"
        pulls: list[Pulled] = []
        monkeypatch.setattr(BotClient, "pull", noting(BotClient.pull, pulls, lambda: other.release([held])))
        bot = kind(queue.served.url, "shop-1", key_of(queue))
        ran = bot.run(crawled if kind is Bot else crawled_later, until_empty=True)  # type: ignore[arg-type]
        counts = asyncio.run(ran) if inspect.isawaitable(ran) else ran
    assert (counts["done"], counts["failed"]) == (2, 0)
    assert [each.limited_by for each in pulls[:2]] == ["max_jobs_in_hand"] * 2


def crawled(_job: Job) -> Result:
    return Result(title="x")


async def crawled_later(_job: Job) -> Result:
    return Result(title="x")


def noting(pull: Any, pulls: list[Pulled], after_two: Callable[[], object]) -> Any:
    """A pull that is noted; after the second, something is done."""

    def noted(client: BotClient, *arguments: Any) -> Pulled:
        found: Pulled = pull(client, *arguments)
        pulls.append(found)
        if len(pulls) == 2:
            after_two()
        return found

    return noted


def test_a_bot_in_quarantine_says_so_and_ends(
    queue: Queue, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue.jobs(1)
    queue.admin.post("/admin/bots/shop-1/quarantine", json={"minutes": 5})
    monkeypatch.setattr(runner, "_IDLE_S", 0.1)
    bot = Bot(queue.served.url, "shop-1", key_of(queue))
    assert bot.run(crawled, until_empty=True)["done"] == 0
    assert [each.message for each in caplog.records if "quarantine" in each.message] == [
        "this bot failed too often and is in quarantine: the server hands out no jobs to it for a while"
    ]


def test_the_four_requests(queue: Queue) -> None:
    queue.jobs(2)
    with BotClient(queue.served.url, "shop-1", key_of(queue)) as client:
        first, second = client.pull(5).jobs
        assert set(client.heartbeat([first.job_id, second.job_id]).kept) == {first.job_id, second.job_id}
        assert client.release([second.job_id], "a test").released == (second.job_id,)
        assert client.release([second.job_id]).lost == (second.job_id,)
        answer = client.submit(first, Result(price="9.99", currency="USD"))
        assert answer.status == "done"
        assert client.submit(first, Result(price="9.99", currency="USD")).data == answer.data
        with pytest.raises(BotApiError) as refused:
            client.submit(first, Result(price="1", currency="USD"))
        assert (refused.value.code, refused.value.status) == ("job_not_locked", 400)
    with BotClient(queue.served.url, "shop-1", "cmty_wrong") as stranger, pytest.raises(BotApiError) as closed:
        stranger.pull()
    assert closed.value.code == "unauthorized"


class Flaky(BaseHTTPRequestHandler):
    """Fails twice, then answers."""

    asked: list[str] = []  # noqa: RUF012

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        Flaky.asked.append(self.path)
        if len(Flaky.asked) == 1:
            self.close_connection = True
            return
        status, headers, body = (
            (503, {"Retry-After": "7"}, {"error": "state_unavailable"})
            if len(Flaky.asked) == 2
            else (200, {}, {"success": True, "data": {"released": ["a"], "lost": []}})
        )
        content = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_arguments: Any) -> None:
        pass


def test_requests_are_repeated_after_a_growing_pause() -> None:
    Flaky.asked.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Flaky)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    waits: list[float] = []
    url = f"http://127.0.0.1:{server.server_address[1]}/prefix"
    try:
        with BotClient(url, "shop-1", wait=waits.append) as client:
            assert client.release(["a"]).released == ("a",)
        assert Flaky.asked == ["/prefix/api/crawl/release/"] * 3
        assert waits[1] == 7.0, "as the server asked"
    finally:
        server.shutdown()
        server.server_close()
    with BotClient(url, "shop-1", wait=waits.append, tries=2) as client, pytest.raises(ServerUnavailable):
        client.pull()


def test_locks_are_kept_three_times_in_the_shortest_of_them() -> None:
    job = pulled_from(PULLED, HttpExchange(0.0, 0.1)).jobs[0]
    assert beat_every_s([]) == 60.0
    assert beat_every_s([job, replace(job, timeout_s=90.0)]) == 30.0


def test_a_lost_lock_is_noticed_and_its_job_not_started(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "BEAT_CHECK_S", 0.01)
    monkeypatch.setattr(runner, "beat_every_s", lambda _held: 0.0)
    queue.jobs(1)
    bot = Bot(queue.served.url, "shop-1", key_of(queue), workers=1)
    take = bot._take

    def later(job: Job) -> None:
        job.opens_at += LIMIT_S
        take(job)
        queue.admin.post("/admin/crawl_jobs/actions", json={"action": "reset_lock", "ids": [job.job_id]})

    bot._take = later  # type: ignore[method-assign]
    counts = run_until(
        bot, lambda _job: pytest.fail("it must not start"), lambda: any(job.is_lost for job in bot._held.values())
    )
    assert counts["done"] == 0


def test_pauses_grow_and_are_bounded() -> None:
    assert [pause_before(attempt, None, 1.0) for attempt in (1, 2, 3)] == [0.5, 1.0, 2.0]
    assert pause_before(1, None, 0.0) == 0.25
    assert pause_before(60, 1e9, 1.0) == LONGEST_PAUSE_S


def test_windows_are_reckoned_from_the_servers_clock() -> None:
    """The server stamped its answer between sending and receiving: neither bound may be passed."""
    (found,) = pulled_from(PULLED, HttpExchange(sent_at=100.0, answered_at=100.4)).jobs
    assert found.opens_at == pytest.approx(105.4)
    assert found.closes_at == pytest.approx(105.999)
    found.mark_started(105.5)
    body = submit_body("b", found, Result())
    assert body["started_at"] == pytest.approx(found.not_before.timestamp() + 0.3, abs=0.01)


def test_a_price_is_never_a_float() -> None:
    assert Result(price=Decimal("0.10")).document() == {"success": True, "price": "0.10"}
    with pytest.raises(TypeError, match="float"):
        Result(price=0.1).document()  # type: ignore[arg-type]
