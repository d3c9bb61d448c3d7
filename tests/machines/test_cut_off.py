"""Three workers on machines of their own; one loses the database for longer than its leases last.

It still reaches every site, and must not ask one that is no longer its own. The others take over, what it brings
later is refused, and in the end every page is there once.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.machines.namespaces import OUTSIDE, Machine, Networks, can_be_made
from tests.machines.servers import PostgresOnMachine, ValkeyOnMachine
from tests.machines.sites import PORT, Sites
from tests.machines.workers import State, Worker, run
from tests.servers.waiting import wait_until
from tests.walk.forking import ForkServer

HOSTS = 24
PAGES = 40
DELAY_S = 0.5
LEASE_S = 6.0
CUT_FOR_S = 14.0
SILENCE_S = 2.0  # how long a worker goes on asking although nothing can be settled
ENDS_WITHIN_S = 120.0


@dataclass(frozen=True, slots=True)
class Landscape:
    """Five machines and a web."""

    workers: list[Machine]
    sites: Sites
    environment: dict[str, str]
    state: State


@pytest.fixture
def landscape(tmp_path: Path, fork_server: ForkServer) -> Iterator[Landscape]:
    if not can_be_made():
        pytest.fail("this proof makes network namespaces: run it as root, with iproute2 and util-linux installed")
    with ExitStack() as stack:
        networks = stack.enter_context(Networks())
        database, redis = networks.machine("database", "inside"), networks.machine("redis", "inside")
        workers = [networks.machine(f"worker{number}", "inside", "outside") for number in range(3)]
        web = networks.machine("web", "outside")
        postgres = stack.enter_context(PostgresOnMachine(database))
        valkey = stack.enter_context(ValkeyOnMachine(redis))
        url = postgres.create_database()
        addresses = [f"{OUTSIDE}{100 + number}" for number in range(HOSTS)]
        web.add_addresses("outside", addresses)
        sites = stack.enter_context(Sites(tmp_path, addresses, PAGES, PORT, web.entry))
        environment = {
            "COMITY_DATABASE_URL": postgres.url_for_workers(url),
            "COMITY_REDIS_URL": valkey.url_for_workers,
            "COMITY_ALLOW_NETWORKS": "10.77.2.0/24",
            "COMITY_SITEMAPS": "false",
            "COMITY_LEASE_MINUTES": str(LEASE_S / 60),
            "COMITY_HEARTBEAT_MINUTES": str(LEASE_S / 180),
            "COMITY_FETCH_TIMEOUT": str(LEASE_S / 2),
        }
        (tmp_path / "seeds.txt").write_text("\n".join(sites.seeds) + "\n")
        here = environment | {"COMITY_DATABASE_URL": url, "COMITY_REDIS_URL": valkey.url()}
        run(["db", "upgrade"], here, tmp_path, fork_server)
        run(["seeds", "load", "seeds.txt"], here, tmp_path, fork_server)
        yield Landscape(workers, sites, environment, stack.enter_context(State(url)))


def test_a_worker_that_is_cut_off_asks_nobody_and_loses_nothing(landscape: Landscape, tmp_path: Path) -> None:
    state = landscape.state
    with ExitStack() as stack:

        def start(machine: Machine, hosts: int) -> Worker:
            options = ["--json", "--delay", str(DELAY_S), "--hosts", str(hosts)]
            worker = Worker(machine.namespace, tmp_path, landscape.environment, options, machine.entry)
            return stack.enter_context(worker)

        workers = [start(landscape.workers[0], HOSTS // 3)]
        wait_until(lambda: len(state.holders()) == HOSTS // 3, ENDS_WITHIN_S, "the first has its share")
        workers += [start(machine, HOSTS) for machine in landscape.workers[1:]]  # with room for the first one's hosts
        wait_until(lambda: state.pages_done() >= 3 * HOSTS, ENDS_WITHIN_S, "the crawl is well under way")
        before, pid = state.holders(), f":{workers[0].process.pid}:"
        mine = {host for host, holder in before.items() if pid in holder}
        assert mine, before
        landscape.workers[0].cut("inside")
        cut_until = time.monotonic() + CUT_FOR_S

        def taken() -> set[str]:
            return {host for host, holder in state.holders().items() if host in mine and pid not in holder}

        wait_until(lambda: bool(taken()), ENDS_WITHIN_S, "another takes over")
        taken_over = taken()
        time.sleep(max(0.0, cut_until - time.monotonic()))
        tokens = dict(state.rows("SELECT domain, lease_token FROM domains"))
        landscape.workers[0].mend("inside")
        wait_until(lambda: state.pages_done() == HOSTS * PAGES, ENDS_WITHIN_S, "every page is settled")
        wait_until(lambda: not state.holders(), ENDS_WITHIN_S, "every host is given back")
        assert workers[0].process.poll() is None, workers[0].said()[-3000:]
        codes = [worker.drain() for worker in workers]
    seen = landscape.sites.end()
    assert codes == [0, 0, 0]
    assert taken_over, "nobody took over"
    assert tokens  # every take-over minted a new one, which fences what comes late
    state.check(landscape.sites.urls)
    assert seen.gaps_under(DELAY_S) == []
    # What was in flight when the plug was pulled, and until the silence was noticed, is asked for once more.
    assert seen.repeated <= (SILENCE_S / DELAY_S + 2) * len(mine)
    ledger = "SELECT count(*) FROM politeness_ledger WHERE purpose = 'page'"
    assert state.one(ledger) <= sum(seen.times_asked.values())
