"""Six workers, one PostgreSQL, one Valkey, many hosts: each page asked for once, at the pace its host allows.

COMITY_TEST_HOSTS says how many hosts; a few seconds' worth by default.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path

from tests.machines.sites import Sites
from tests.machines.workers import State, Worker, run
from tests.servers.valkey import ValkeyServer
from tests.walk.forking import ForkServer

HOSTS = int(os.environ.get("COMITY_TEST_HOSTS", "150"))
PAGES = 4
DELAY_S = 0.25
WORKERS = 6
ENDS_WITHIN_S = 120.0 + HOSTS / 5


def test_no_page_is_asked_for_twice_and_no_host_too_soon(
    tmp_path: Path, postgres_url: str, fork_server: ForkServer
) -> None:
    addresses = [f"127.9.{number // 200}.{1 + number % 200}" for number in range(HOSTS)]
    with ExitStack() as stack:
        environment = {
            "COMITY_DATABASE_URL": postgres_url,
            "COMITY_REDIS_URL": stack.enter_context(ValkeyServer()).url(),
            "COMITY_ALLOW_NETWORKS": "127.0.0.0/8",
            "COMITY_SITEMAPS": "false",
        }
        sites = stack.enter_context(Sites(tmp_path, addresses, PAGES))
        (tmp_path / "seeds.txt").write_text("\n".join(sites.seeds) + "\n")
        run(["db", "upgrade"], environment, tmp_path, fork_server)
        run(["seeds", "load", "seeds.txt"], environment, tmp_path, fork_server)
        options = ["--idle-exit", "--json", "--delay", str(DELAY_S), "--hosts", "40", "--concurrency", "32"]
        workers = [
            stack.enter_context(Worker(f"worker-{number}", tmp_path, environment, options, forks=fork_server))
            for number in range(WORKERS)
        ]
        codes = [worker.process.wait(ENDS_WITHIN_S) for worker in workers]
        assert codes == [0] * WORKERS, "\n".join(worker.said()[-2000:] for worker in workers)
        seen = sites.end()
        state = stack.enter_context(State(postgres_url))
        state.check(sites.urls)
    assert set(seen.times_asked) == sites.urls
    assert seen.repeated == 0
    assert seen.gaps_under(DELAY_S) == []
