"""Many workers at once, each a process of its own: every host goes to one of them, and nobody fails."""

from __future__ import annotations

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from sqlalchemy import select, text, update

from comity.clock import SystemClock
from comity.database.connection import Database
from comity.database.tables import domains
from comity.leases.leases import Leases
from comity.model.gate import GateMemory
from comity.model.host import HostProgress, Seed
from comity.operate.seeds import add_seeds
from comity.rules.canonical import canonical_host
from comity.upkeep.rescore import rescore
from tests.database.states import State
from tests.database.workers import Worker, run_together
from tests.sizes import sized

WITHIN_SECONDS = 60


def fill(database: Database, count: int) -> None:
    numbers = (
        "SELECT number FROM generate_series(1, :count) AS number"
        if database.is_shared
        else "WITH RECURSIVE n (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM n WHERE number < :count)"
        " SELECT number FROM n"
    )
    with database.write() as connection:
        named = f"SELECT 'h' || number || '.example', number FROM ({numbers})"
        connection.execute(text(f"INSERT INTO domains (domain, priority_score) {named}"), {"count": count})


def every_host_went_to_one_worker(database: Database, told: list[dict[str, Any]], count: int) -> None:
    claimed = Counter(host for each in told for host in each["hosts"])
    assert len(claimed) == count
    assert set(claimed.values()) == {1}
    with database.read() as connection:
        rows = connection.execute(select(domains.c.domain, domains.c.claimed_by, domains.c.lease_token)).all()
    holders = {host: each["holder"] for each in told for host in each["hosts"]}
    assert {row.domain: row.claimed_by for row in rows} == holders
    assert {row.lease_token for row in rows} == {1}
    assert max(each["seconds"] for each in told) < WITHIN_SECONDS


def url_of(database: Database) -> str:
    return database.engine.url.render_as_string(hide_password=False)


def test_many_workers_share_thousands_of_hosts_on_postgresql(shared_database: Database) -> None:
    hosts, workers = sized((4_000, 8), (20_000, 16))
    fill(shared_database, hosts)
    told = run_together([Worker("claim_all", url_of(shared_database), 25) for _ in range(workers)])
    every_host_went_to_one_worker(shared_database, told, hosts)
    # Several did work at the same time; on a busy machine the last to start may find nothing left.
    assert sum(1 for each in told if each["hosts"]) >= workers // 4


def test_four_workers_share_one_file_and_never_find_it_locked(embedded_database: Database) -> None:
    hosts = sized(5_000, 20_000)
    fill(embedded_database, hosts)
    told = run_together([Worker("claim_all", url_of(embedded_database), 50) for _ in range(4)])
    every_host_went_to_one_worker(embedded_database, told, hosts)


def test_a_host_that_goes_from_hand_to_hand_never_has_two_holders_with_one_token(database: Database) -> None:
    State(database).add("host.example")
    told = run_together([Worker("claim_and_release", url_of(database), 40) for _ in range(3)])
    tokens = [token for each in told for token in each["tokens"]]
    assert sorted(tokens) == list(range(1, 121))
    assert all(each["tokens"] == sorted(each["tokens"]) for each in told)


def test_hosts_that_are_wanted_by_name_go_to_one_of_those_who_want_them(database: Database) -> None:
    fill(database, 200)
    wanted = [f"h{number}.example" for number in range(1, 201)]
    orders = [wanted, wanted[::-1], wanted[100:] + wanted[:100], wanted[::2] + wanted[1::2]]
    told = run_together([Worker("take_named", url_of(database), order) for order in orders])
    taken = Counter(host for each in told for host in each)
    assert set(taken.values()) == {1}
    left = Leases(database, SystemClock()).take(wanted)
    assert len(taken) + len(left) == 200


def test_scoring_neither_waits_for_a_writing_worker_nor_makes_two_wait_for_each_other(
    shared_database: Database,
) -> None:
    fill(shared_database, 2_000)
    leases = Leases(shared_database, SystemClock())
    held = leases.claim(50)
    stop = threading.Event()

    def write_in_both_orders() -> int:
        written = 0
        while not stop.is_set():
            for order in (held, held[::-1]):
                with shared_database.write() as connection:
                    for lease in order:
                        leases.add_progress(connection, lease, HostProgress(pages_crawled=1), GateMemory())
                written += 1
        return written

    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(write_in_both_orders)
        try:
            for _ in range(8):
                assert rescore(shared_database, SystemClock(), older_than_s=0.0) == 2_000
        finally:
            stop.set()
        written = working.result(60)
    assert State(shared_database).row(held[0].host)["pages_crawled"] == written
    with shared_database.read() as connection:
        scored = connection.execute(text("SELECT count(*) FROM domains WHERE priority_computed_at IS NOT NULL"))
        assert scored.scalar_one() >= 1_950


def test_seeding_a_list_again_does_not_wait_for_the_workers_of_its_hosts(shared_database: Database) -> None:
    seeds = [Seed(canonical_host(f"h{number}.example"), rank=number) for number in range(1, 101)]
    assert add_seeds(shared_database, SystemClock(), seeds).hosts_new == 100
    leases = Leases(shared_database, SystemClock())
    held = leases.claim(100)
    began_s = time.monotonic()
    with shared_database.write() as connection:
        for lease in held:
            leases.write(connection, lease, {"source": "a worker in the middle of its transaction"})
        assert add_seeds(shared_database, SystemClock(), seeds).hosts_new == 0
    assert time.monotonic() - began_s < 60


def test_two_may_seed_the_same_new_hosts_in_opposite_order(shared_database: Database) -> None:
    seeds = [Seed(canonical_host(f"h{number}.example")) for number in range(3_000)]
    with ThreadPoolExecutor(2) as pool:
        both = pool.map(lambda order: add_seeds(shared_database, SystemClock(), order), (seeds, seeds[::-1]))
        reports = list(both)
    assert all(report.hosts_given == 3_000 for report in reports)
    with shared_database.read() as connection:
        assert connection.execute(text("SELECT count(*) FROM domains")).scalar_one() == 3_000


def test_an_operators_write_to_a_host_is_not_lost_under_a_workers(database: Database) -> None:
    state = State(database)
    state.add("host.example")
    leases = Leases(database, SystemClock())
    (lease,) = leases.claim(1)

    def count_up(_: int) -> None:
        with database.write() as connection:
            connection.execute(update(domains).values(images_found=domains.c.images_found + 1))

    def progress(_: int) -> None:
        with database.write() as connection:
            leases.add_progress(connection, lease, HostProgress(images_found=1), GateMemory())

    with ThreadPoolExecutor(4) as pool:
        done = [*pool.map(count_up, range(20)), *pool.map(progress, range(20))]
    assert len(done) == 40
    assert state.row("host.example")["images_found"] == 40
