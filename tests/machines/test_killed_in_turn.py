"""Workers, PostgreSQL and Valkey killed one after another in mid-crawl: it completes, with exactly its pages."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from tests.machines.sites import Sites
from tests.machines.workers import State, Worker, run
from tests.servers.postgres import PostgresServer
from tests.servers.valkey import ValkeyServer
from tests.servers.waiting import wait_until
from tests.sizes import sized
from tests.walk.forking import ForkServer

HOSTS = 12
PAGES = sized(20, 40)
DELAY_S = 0.2
WITHIN_S = 90.0


def settled(url: str) -> int:
    with State(url) as state:
        return state.pages_done()


def test_whatever_is_killed_the_crawl_completes_exactly(tmp_path: Path, fork_server: ForkServer) -> None:
    addresses = [f"127.8.0.{1 + number}" for number in range(HOSTS)]
    every, kills = HOSTS * PAGES, 0
    with ExitStack() as stack:
        postgres = stack.enter_context(PostgresServer())
        valkey = stack.enter_context(ValkeyServer())
        url = postgres.create_database()
        sites = stack.enter_context(Sites(tmp_path, addresses, PAGES))
        environment = {
            "COMITY_DATABASE_URL": url,
            "COMITY_REDIS_URL": valkey.url(),
            "COMITY_ALLOW_NETWORKS": "127.0.0.0/8",
            "COMITY_SITEMAPS": "false",
            "COMITY_LEASE_MINUTES": "0.1",
            "COMITY_HEARTBEAT_MINUTES": "0.03",
            "COMITY_FETCH_TIMEOUT": "3",
        }
        (tmp_path / "seeds.txt").write_text("\n".join(sites.seeds) + "\n")
        run(["db", "upgrade"], environment, tmp_path, fork_server)
        run(["seeds", "load", "seeds.txt"], environment, tmp_path, fork_server)
        options = ["--json", "--delay", str(DELAY_S), "--hosts", "6"]

        def start(number: int) -> Worker:
            return stack.enter_context(Worker(f"worker-{number}", tmp_path, environment, options, forks=fork_server))

        workers = [start(0), start(1)]
        for turn in range(1, 4):
            wait_until(lambda turn=turn: settled(url) >= turn * every // 5, WITHIN_S, f"part {turn} is settled")
            workers[turn % 2].kill()
            postgres.kill()
            postgres.start()
            valkey.kill()
            valkey.start()
            workers[turn % 2] = start(turn % 2)  # whoever restarts it does so until it finds its servers
            kills += 3
        wait_until(lambda: settled(url) == every, WITHIN_S, "every page is settled")
        state = stack.enter_context(State(url))
        wait_until(lambda: not state.holders(), WITHIN_S, "every host is given back")
        codes = [worker.drain() for worker in workers]
        assert codes == [0, 0], "\n".join(worker.said()[-3000:] for worker in workers)
        seen = sites.end()
        state.check(sites.urls)
    assert set(seen.times_asked) == sites.urls
    assert seen.gaps_under(DELAY_S) == []
    # A kill repeats at most what was in flight or fetched and not yet settled: two pages of each host under way.
    assert seen.repeated <= 2 * HOSTS * kills
