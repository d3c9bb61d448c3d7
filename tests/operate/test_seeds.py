"""Seeds flow into the table of hosts, and the table decides."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import select

from comity.database import hosts
from comity.database.tables import domain_frontier, domains
from comity.model.host import HostStatus, Seed
from comity.operate.seeds import SeedReport, add_seeds
from comity.operate.takedown import add_takedowns
from comity.rules.canonical import canonical_host
from comity.rules.priority import HostSignals, PriorityWeights, priority_score
from comity.rules.seed_list import read_seed
from tests.database.states import BEGINNING, State, names


def seeds(*texts: str, rank: int | None = None) -> list[Seed]:
    return [read_seed(text, rank=rank) for text in texts]


def test_new_seeds_become_candidates_with_the_score_of_their_rank(state: State) -> None:
    ranked = [read_seed(f"h{rank}.example", rank=rank) for rank in (1, 1000)] + seeds("unranked.example")
    assert add_seeds(state.database, state.clock, ranked, source="tranco_20260205") == SeedReport(3, 3, 0, ())
    for seed in ranked:
        row = state.row(seed.host.authority)
        expected = priority_score(HostSignals(seed_rank=seed.rank), PriorityWeights(), BEGINNING)
        assert (row["status"], row["is_seeded"], row["priority_score"]) == (HostStatus.PENDING, True, expected)
        assert (row["seed_rank"], row["source"]) == (seed.rank, "tranco_20260205")
        assert row["parent_domain"] == seed.host.parent_domain
    assert names(state.leases().claim(5)) == ["h1.example", "h1000.example", "unranked.example"]


@pytest.mark.parametrize("status", HostStatus)
def test_a_host_that_is_known_keeps_its_status_counters_and_cooldown(state: State, status: HostStatus) -> None:
    state.add(
        "host.example",
        status=status,
        pages_crawled=5,
        cooldown_count=2,
        priority_score=77,
        last_crawled_at=BEGINNING,
        next_crawl_after=BEGINNING + timedelta(days=9),
        source="first list",
        block_reason="why",
    )
    before = state.row("host.example")
    assert add_seeds(state.database, state.clock, seeds("host.example", rank=3), source="second list").hosts_new == 0
    after = state.row("host.example")
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"seed_rank", "version", "updated_at"}
    assert after["seed_rank"] == 3


def test_seeding_twice_changes_nothing_the_second_time(state: State) -> None:
    wanted = [read_seed("https://a.example/x", rank=2), read_seed("b.example")]
    assert add_seeds(state.database, state.clock, wanted, source="list") == SeedReport(2, 2, 1, ())
    before = [state.row(host) for host in ("a.example", "b.example")]
    assert add_seeds(state.database, state.clock, wanted, source="other") == SeedReport(2, 0, 0, ())
    assert add_seeds(state.database, state.clock, seeds("a.example")) == SeedReport(1, 0, 0, ())
    assert [state.row(host) for host in ("a.example", "b.example")] == before


def test_a_host_that_was_only_touched_is_no_candidate_until_it_is_seeded(state: State) -> None:
    with state.database.write() as connection:
        hosts.touch(connection, [canonical_host("www.touched.example"), canonical_host("other.example")], "redirect")
        hosts.touch(connection, [canonical_host("touched.example")], "a policy")
        hosts.touch(connection, [], "nothing")
    row = state.row("touched.example")
    assert (row["is_seeded"], row["source"], row["parent_domain"]) == (False, "redirect", "touched.example")
    leases = state.leases()
    assert leases.claim(9) == leases.claim(9, smart=False) == []
    assert leases.claim(9, hosts=["touched.example"]) == []
    (lease,) = leases.take(["touched.example"])
    leases.release(lease)
    assert add_seeds(state.database, state.clock, seeds("touched.example", rank=1), source="list").hosts_new == 0
    row = state.row("touched.example")
    assert (row["is_seeded"], row["source"], row["seed_rank"]) == (True, "redirect", 1)
    assert row["priority_score"] > 0
    assert names(leases.claim(9)) == ["touched.example"]


def test_touching_a_seeded_host_leaves_it_as_it_is(state: State) -> None:
    state.add("host.example", source="list", status=HostStatus.ACTIVE)
    before = state.row("host.example")
    with state.database.write() as connection:
        hosts.touch(connection, [canonical_host("host.example")], "redirect")
    assert state.row("host.example") == before


def test_urls_that_were_written_out_are_queued_once(state: State) -> None:
    wanted = seeds("https://host.example/a", "http://www.host.example/b", "host.example", "https://host.example/a#x")
    report = add_seeds(state.database, state.clock, wanted)
    assert (report.hosts_given, report.hosts_new, report.urls_queued) == (1, 1, 2)
    assert state.urls("host.example") == {"https://host.example/a": 0, "http://www.host.example/b": 0}


def test_of_two_ranks_of_one_host_the_better_counts(state: State) -> None:
    texts = [("host.example", 9), ("www.host.example", 4), ("host.example", 7), ("host.example", None)]
    wanted = [read_seed(text, rank=rank) for text, rank in texts]
    for order in (wanted, wanted[::-1]):
        add_seeds(state.database, state.clock, order)
        assert state.row("host.example")["seed_rank"] == 4


def test_what_is_taken_down_is_not_seeded(state: State) -> None:
    add_takedowns(state.database, ["gone.example"])
    add_takedowns(state.database, ["https://partly.example/private"])
    wanted = seeds(
        "gone.example", "https://sub.gone.example/x", "https://partly.example/private/a", "https://partly.example/open"
    )
    report = add_seeds(state.database, state.clock, wanted)
    assert (report.hosts_given, report.hosts_new, report.urls_queued) == (1, 1, 1)
    assert set(report.taken_down) == {"gone.example", "sub.gone.example", "https://partly.example/private/a"}
    assert state.urls("partly.example") == {"https://partly.example/open": 0}
    with state.database.read() as connection:
        assert connection.execute(select(domains.c.domain)).scalars().all() == ["partly.example"]


def test_a_long_list_is_stored_whole(state: State) -> None:
    many = [read_seed(f"https://h{number}.example/start", rank=number) for number in range(1, 2_501)]
    report = add_seeds(state.database, state.clock, many)
    assert (report.hosts_given, report.hosts_new, report.urls_queued) == (2_500, 2_500, 2_500)
    with state.database.read() as connection:
        assert hosts.count(connection) == 2_500
        assert len(connection.execute(select(domain_frontier.c.id)).all()) == 2_500


def test_a_list_that_fails_leaves_nothing_behind(state: State) -> None:
    def failing() -> list[Seed]:
        return [*seeds("https://a.example/x"), Seed(canonical_host("b.example"), "javascript:alert(1)")]

    with pytest.raises(Exception, match="not a web address"):
        add_seeds(state.database, state.clock, failing())
    with state.database.read() as connection:
        assert hosts.count(connection) == 0


def test_the_weights_of_the_settings_are_used(state: State) -> None:
    weights = PriorityWeights(seed_rank=5000.0, day_waiting=0.0)
    add_seeds(state.database, state.clock, seeds("host.example", rank=1000), weights=weights)
    assert state.row("host.example")["priority_score"] == 2500


def test_the_file_of_the_state_is_made_with_its_folder(tmp_path: Path) -> None:
    from comity.database.connection import open_database
    from comity.database.schema import ensure_current

    database = open_database(tmp_path / "new" / "folder" / "state.db")
    ensure_current(database)
    assert add_seeds(database, State(database).clock, seeds("host.example")).hosts_new == 1
    database.close()
