"""Taking down drops what is queued at once, on exactly the hosts and paths that are covered."""

from __future__ import annotations

import pytest

from comity.database.tables import DONE, DROPPED, QUEUED
from comity.model.errors import BadAddress, NotFound
from comity.operate import takedown as takedowns_by_hand
from comity.operate.takedown import add_takedowns, list_takedowns, remove_takedowns
from tests.database.states import State

QUEUES = {
    "gone.example": ["https://gone.example/", "http://www.gone.example/a?b=1"],
    "gone.example:8080": ["https://gone.example:8080/x"],
    "sub.gone.example": ["https://sub.gone.example/"],
    "sub.gone.example:8080": ["https://sub.gone.example:8080/"],
    "notgone.example": ["https://notgone.example/"],
    "gone.example.org": ["https://gone.example.org/"],
    "partly.example": [
        "https://partly.example/private",
        "https://partly.example/private/a",
        "https://partly.example/%70rivate/b",
        "https://partly.example/privateers",
        "https://partly.example/",
    ],
    "sub.partly.example": ["https://sub.partly.example/private"],
}


@pytest.fixture
def queued(state: State) -> State:
    for host, urls in QUEUES.items():
        state.add(host)
        state.queue(host, *urls)
    state.queue("gone.example", "https://gone.example/done", state=DONE)
    return state


def dropped(state: State) -> set[str]:
    return {url for host in QUEUES for url, where in state.urls(host).items() if where == DROPPED}


def test_a_host_is_dropped_with_its_sub_domains_and_ports(queued: State) -> None:
    report = add_takedowns(queued.database, ["https://www.Gone.example/"], reason="requested by the owner")[0]
    assert (report.entry, report.is_new, report.urls_dropped) == ("gone.example", True, 5)
    assert dropped(queued) == {
        url
        for host in ("gone.example", "gone.example:8080", "sub.gone.example", "sub.gone.example:8080")
        for url in QUEUES[host]
    }
    assert queued.urls("gone.example")["https://gone.example/done"] == DONE
    assert set(queued.urls("notgone.example").values()) == {QUEUED}


def test_a_path_is_dropped_by_whole_segments(queued: State) -> None:
    report = add_takedowns(queued.database, ["partly.example/private"])[0]
    assert (report.entry, report.urls_dropped) == ("partly.example/private", 3)
    assert dropped(queued) == {
        "https://partly.example/private",
        "https://partly.example/private/a",
        "https://partly.example/%70rivate/b",
    }


def test_a_port_is_dropped_alone(queued: State) -> None:
    assert add_takedowns(queued.database, ["gone.example:8080"])[0].urls_dropped == 1
    assert dropped(queued) == {"https://gone.example:8080/x"}


def test_names_with_the_wildcards_of_sql_cover_only_themselves(queued: State) -> None:
    queued.add("a_c.example")
    queued.add("abc.example")
    queued.queue("a_c.example", "https://a_c.example/")
    queued.queue("abc.example", "https://abc.example/")
    assert add_takedowns(queued.database, ["a_c.example"])[0].urls_dropped == 1
    assert queued.urls("abc.example") == {"https://abc.example/": QUEUED}


def test_a_sub_domain_is_dropped_also_where_sub_domains_are_folded(state: State) -> None:
    state.add("example.com")
    state.add("example.com:8080")
    state.queue(
        "example.com", "https://blog.example.com/a", "https://example.com/a", "https://shop.example.com/private"
    )
    state.queue("example.com:8080", "https://blog.example.com:8080/b")
    assert add_takedowns(state.database, ["blog.example.com"])[0].urls_dropped == 2
    assert add_takedowns(state.database, ["shop.example.com/private"])[0].urls_dropped == 1
    assert state.urls("example.com")["https://example.com/a"] == QUEUED


def test_more_than_one_batch_is_dropped(queued: State, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(takedowns_by_hand, "BATCH_URLS", 7)
    queued.queue("gone.example", *[f"https://gone.example/{number}" for number in range(50)])
    assert add_takedowns(queued.database, ["gone.example"])[0].urls_dropped == 55


def test_adding_twice_is_told_and_drops_what_came_in_between(queued: State) -> None:
    add_takedowns(queued.database, ["gone.example"], reason="first")
    queued.queue("gone.example", "https://gone.example/new")
    report = add_takedowns(queued.database, ["www.gone.example"], reason="second")[0]
    assert (report.is_new, report.urls_dropped) == (False, 1)
    (stored,) = list_takedowns(queued.database)
    assert (stored.entry, stored.reason) == ("gone.example", "first")


def test_what_is_no_address_is_refused_and_nothing_is_stored(queued: State) -> None:
    with pytest.raises(BadAddress):
        add_takedowns(queued.database, ["javascript:alert(1)"])
    with pytest.raises(BadAddress):
        add_takedowns(queued.database, ["gone.example", "exa mple"])
    assert list_takedowns(queued.database) == []
    assert dropped(queued) == set()


def test_an_entry_can_be_removed_in_any_spelling(queued: State) -> None:
    add_takedowns(queued.database, ["gone.example", "partly.example/private"])
    assert remove_takedowns(queued.database, ["HTTPS://www.gone.example:443/"]) == ["gone.example"]
    assert [stored.entry for stored in list_takedowns(queued.database)] == ["partly.example/private"]
    with pytest.raises(NotFound, match=r"gone\.example is not taken down"):
        remove_takedowns(queued.database, ["gone.example"])


def test_several_are_removed_or_none(queued: State) -> None:
    add_takedowns(queued.database, ["a.example", "b.example"])
    with pytest.raises(NotFound):
        remove_takedowns(queued.database, ["a.example", "missing.example"])
    assert len(list_takedowns(queued.database)) == 2
    assert remove_takedowns(queued.database, ["a.example", "b.example"]) == ["a.example", "b.example"]
    assert list_takedowns(queued.database) == []


def test_what_a_takedown_dropped_waits_again_once_it_is_removed(state: State) -> None:
    state.add("gone.example")
    state.queue("gone.example", "https://gone.example/", "https://gone.example/a")
    state.queue("gone.example", "https://gone.example/done", state=DONE)
    add_takedowns(state.database, ["gone.example"])
    add_takedowns(state.database, ["https://gone.example/a"])
    remove_takedowns(state.database, ["gone.example"])
    found = state.urls("gone.example")
    assert found == {
        "https://gone.example/": QUEUED,
        "https://gone.example/a": DROPPED,  # another entry still covers it
        "https://gone.example/done": DONE,
    }
