"""One behaviour, whichever store keeps the frontier."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest

from comity.database.tables import DONE, DROPPED, QUEUED, TOO_DEEP
from comity.frontier.store import HostSettlement, PutBack
from comity.model.frontier import FoundBy
from comity.model.sitemap import ChangeFrequency, PageHints
from tests.frontier.rooms import NOW, Room, entry, key_of


def after(seconds: float) -> float:
    return NOW.timestamp() + seconds


def test_a_host_without_a_frontier_has_nothing(room: Room) -> None:
    assert room.paths() == []
    assert room.store.keys(room.host, 10) == []
    assert room.store.queued_up_to(room.host, 10) == 0
    assert room.store.size(room.host) == 0
    assert room.store.states(room.host) == {}
    assert room.store.queued_of([room.host]) == {}
    assert room.store.any_url(room.host) is None
    assert room.store.next_ready_at(room.host) is None
    assert room.store.find([room.host], 1) is None
    assert room.store.urls(room.host, QUEUED, 0, 10) == []
    room.store.prepare_hosts([room.host])


def test_urls_come_by_priority_then_depth_then_age(room: Room) -> None:
    room.add(entry("c", 2), entry("b", 1), entry("a", 1), entry("low", 0, -3), entry("high", 9, 5))
    room.add(entry("d", 1), entry("highest", 2_000_000_000, 2_147_483_647), entry("lowest", 0, -2_147_483_648))
    assert room.paths() == ["highest", "high", "b", "a", "d", "c", "low", "lowest"]
    assert room.paths(3) == ["highest", "high", "b"]


def test_a_look_removes_nothing(room: Room) -> None:
    room.add(entry("a"), entry("b"))
    assert room.paths() == room.paths() == ["a", "b"]
    assert room.store.size(room.host) == 2


def test_a_look_tells_everything_that_a_visit_needs(room: Room) -> None:
    url = "http://a.example:8080/path?q=%C3%A4#not-a-fragment-to-us"
    room.add(entry(url, 3, 7))
    room.settle(put_back=[PutBack(key_of(url), after(-1), 1)])
    (found,) = room.store.peek(room.host, 5, NOW)
    assert (found.url, found.key, found.depth, found.attempts, found.priority) == (url, key_of(url), 3, 1, 7)


def test_a_url_is_taken_once_whatever_became_of_it(room: Room) -> None:
    assert room.add(entry("a"), entry("b"), entry("a")) == 2
    room.settle(done=[key_of("a")], dropped=[key_of("b")])
    assert room.add(entry("a"), entry("b"), entry("c", 4)) == 1
    assert room.settle(links=[entry("c"), entry("d"), entry("d")]) == 1
    assert room.paths() == ["d", "c"]
    assert sorted(room.store.keys(room.host, 10)) == sorted(map(key_of, "abcd"))


def test_two_hosts_may_have_the_same_url(room: Room) -> None:
    other = room.new_host("b.example")
    assert room.add(entry("a")) == room.add(entry("a"), host=other) == 1
    room.settle(done=[key_of("a")])
    assert (room.paths(), room.paths(host=other)) == ([], ["a"])


def test_settling_is_one_step(room: Room) -> None:
    room.add(*map(entry, "abcd"))
    new = room.settle(
        links=[entry("e", 1), entry("a", 1)],
        done=[key_of("a"), key_of("never heard of")],
        dropped=[key_of("b")],
        put_back=[PutBack(key_of("c"), after(60), 1)],
    )
    assert new == 1
    assert room.paths() == ["d", "e"]
    assert room.store.states(room.host) == {QUEUED: 3, DONE: 1, DROPPED: 1}


def test_a_transaction_that_fails_changes_nothing(room: Room) -> None:
    room.add(entry("a"))
    with suppress(ZeroDivisionError), room.store.change() as change:
        change.settle(room.host, None, HostSettlement(links=[entry("b")], done=[key_of("a")]))
        raise ZeroDivisionError
    assert room.paths() == ["a"]
    assert room.add(entry("b")) == 1
    assert room.paths() == ["a", "b"]


def test_one_transaction_settles_many_hosts(room: Room) -> None:
    hosts = [room.new_host(f"h{number}.example") for number in range(5)]
    for host in hosts:
        room.add(entry("a"), host=host)
    links = {host: [entry("a"), entry(f"n{number}")] for number, host in enumerate(hosts)}
    with room.store.change(links) as change:
        found = [change.settle(host, None, HostSettlement(links[host], done=[key_of("a")])) for host in hosts]
    assert found == [1] * 5
    assert [room.paths(host=host) for host in hosts] == [[f"n{number}"] for number in range(5)]


def test_links_that_were_not_announced_are_told_apart_all_the_same(room: Room) -> None:
    room.add(entry("a"))
    with room.store.change({room.host: [entry("b")]}) as change:
        assert change.settle(room.host, None, HostSettlement([entry("a"), entry("b"), entry("c")])) == 2
        assert change.settle(room.host, None, HostSettlement([entry("c"), entry("d")])) == 1
    assert room.paths() == list("abcd")


def test_what_is_put_off_comes_back_at_its_time_and_in_its_place(room: Room) -> None:
    room.add(*map(entry, "abc"))
    room.settle(put_back=[PutBack(key_of("a"), after(60.25), 1), PutBack(key_of("b"), after(30), 0)])
    assert room.paths() == ["c"]
    assert room.store.next_ready_at(room.host) == NOW + timedelta(seconds=30)
    assert room.paths(now=NOW + timedelta(seconds=30)) == ["b", "c"]
    assert room.paths(now=NOW + timedelta(seconds=60.2)) == ["b", "c"]
    assert room.paths(now=NOW + timedelta(seconds=60.25)) == ["a", "b", "c"]
    assert room.paths() == ["c"], "a worker whose clock is behind sees what its clock allows"
    assert room.store.next_ready_at(room.host) == NOW + timedelta(seconds=30)
    assert [each.attempts for each in room.store.peek(room.host, 5, NOW + timedelta(hours=1))] == [1, 0, 0]
    room.settle(done=[key_of("b")])
    assert room.store.next_ready_at(room.host) == NOW + timedelta(seconds=60.25)
    room.settle(put_back=[PutBack(key_of("a"), after(90), 1)])
    assert room.paths(now=NOW + timedelta(seconds=89)) == ["c"]
    assert room.store.find([room.host], key_of("a")).attempts == 2


def test_a_time_is_kept_to_the_microsecond(room: Room) -> None:
    room.add(entry("a"))
    at = datetime(2026, 2, 7, 12, 0, 1, 123457, tzinfo=UTC)
    room.settle(put_back=[PutBack(key_of("a"), at.timestamp(), 0)])
    assert room.store.next_ready_at(room.host) == at
    assert room.paths(now=at - timedelta(microseconds=1)) == []
    assert room.paths(now=at) == ["a"]


def test_many_that_are_put_off_come_back_together(room: Room) -> None:
    paths = [f"p{number:04}" for number in range(1500)]
    room.add(*map(entry, paths))
    room.settle(put_back=[PutBack(key_of(path), after(10 + number % 7), 1) for number, path in enumerate(paths)])
    assert room.paths(2000) == []
    assert room.paths(2000, NOW + timedelta(seconds=20)) == paths
    assert room.paths(2000) == []


def test_everything_done_is_queued_again_in_its_old_place(room: Room) -> None:
    paths = [f"p{number:03}" for number in range(300)]
    room.add(*map(entry, paths))
    room.settle(
        done=[key_of(path) for path in paths[::3]],
        dropped=[key_of(path) for path in paths[1::3]],
        put_back=[PutBack(key_of(path), after(3600), 1) for path in paths[2::3]],
    )
    with room.store.change() as change:
        assert change.requeue_all(room.host) == 100
    assert room.paths() == [path for number, path in enumerate(paths) if number % 3 != 1]
    assert {each.attempts for each in room.store.peek(room.host, 1000, NOW)} == {0}
    assert room.store.next_ready_at(room.host) is None


def test_known_urls_are_queued_again_with_the_rank_that_a_refresh_gives_them(room: Room) -> None:
    """Only what is done, and what is not named keeps its state."""
    paths = [f"p{number:03}" for number in range(200)]
    room.add(*map(entry, paths))
    room.settle(done=[key_of(path) for path in paths[:150]], dropped=[key_of(path) for path in paths[150:160]])
    ranked = [(key_of(path), number) for number, path in enumerate(paths[:100])]
    with room.store.change() as change:
        assert change.requeue_known(room.host, [*ranked, (key_of(paths[155]), 9), (key_of(paths[170]), 9)]) == 100
    assert room.paths() == [*reversed(paths[1:100]), paths[0], *paths[160:]]
    assert room.store.states(room.host) == {QUEUED: 140, DONE: 50, DROPPED: 10}
    with room.store.change() as change:
        assert change.requeue_known(room.host, []) == 0


def test_what_is_done_is_gone_through_in_pages_with_what_sitemaps_say(room: Room) -> None:
    hints = PageHints(datetime(2026, 1, 2, tzinfo=UTC), ChangeFrequency.WEEKLY, 0.25)
    paths = [f"p{number:03}" for number in range(90)]
    room.add(*(entry(path, hints=hints if path == "p006" else None) for path in paths))
    room.settle(done=[key_of(path) for path in paths[::3]])
    seen, place = {}, None
    while page := room.store.done(room.host, place, 7):
        assert len(page) <= 7
        seen |= {each.key: each.hints for each in page}
        place = page[-1].place
    assert seen == {key_of(path): hints if path == "p006" else None for path in paths[::3]}


def test_counts_stop_at_their_bound(room: Room) -> None:
    room.add(*(entry(str(number)) for number in range(50)))
    room.settle(done=[key_of("3")])
    assert (room.store.queued_up_to(room.host, 10), room.store.queued_up_to(room.host, 60)) == (10, 49)
    assert len(room.store.keys(room.host, 20)) == 20
    assert len(set(room.store.keys(room.host, 1000))) == 50


def test_a_url_can_be_found_with_all_that_is_known(room: Room) -> None:
    hints = PageHints(datetime(2026, 1, 2, tzinfo=UTC), ChangeFrequency.WEEKLY, 0.25)
    room.add(entry("a", 2, 3), entry("b", hints=hints))
    room.settle(put_back=[PutBack(key_of("a"), after(5), 1)])
    found = room.store.find([room.host], key_of("a"))
    assert found[:8] == ("https://a.example/a", key_of("a"), 2, 3, QUEUED, 1, NOW + timedelta(seconds=5), None)
    assert room.store.find([room.host], key_of("b")).hints == hints
    room.settle(done=[key_of("b")])
    assert room.store.find([room.host], key_of("b")).state == DONE
    assert room.store.find([room.host], key_of("c")) is None
    assert room.store.find([room.new_host("b.example")], key_of("a")) is None


def test_what_named_a_url_first_stays_with_it(room: Room) -> None:
    """Through a new rank, a second sighting, another state, and a move to another host."""
    named = {"found_by": FoundBy.SITEMAP, "found_on": -(1 << 62)}
    room.add(entry("a", 2, **named), entry("b", found_by=FoundBy.SEED))
    room.add(entry("a", 1, found_by=FoundBy.LINK, found_on=5))
    room.settle(done=[key_of("a"), key_of("b")])
    with room.store.change() as change:
        change.requeue_known(room.host, [(key_of("a"), 7)])
    other = room.new_host("b.example")
    with room.store.change() as change:
        change.move(room.host, other)
    found = room.store.find([other], key_of("a"))
    assert (found.found_by, found.found_on, found.priority) == (FoundBy.SITEMAP, -(1 << 62), 7)
    found = room.store.find([other], key_of("b"))
    assert (found.found_by, found.found_on) == (FoundBy.SEED, 0)


@pytest.mark.parametrize(
    "hints",
    [
        PageHints(None, ChangeFrequency.NEVER, None),
        PageHints(datetime(1999, 12, 31, 23, 59, 59, tzinfo=UTC), None, 1.0),
        PageHints(None, None, 0.0),
    ],
)
def test_what_a_sitemap_says_is_kept_also_of_urls_that_are_known(room: Room, hints: PageHints) -> None:
    room.add(entry("a", 1))
    assert room.add(entry("a", 5, hints=hints)) == 0
    found = room.store.find([room.host], key_of("a"))
    assert (found.hints, found.depth) == (hints, 1)


def test_what_a_sitemap_says_may_come_alone(room: Room) -> None:
    hints = PageHints(None, ChangeFrequency.DAILY, 0.5)
    room.add(entry("a"), entry("b"))
    room.settle(done=[key_of("a")], hints=[(key_of("a"), hints), (key_of("never met"), hints)])
    found = [room.store.find([room.host], key_of(path)) for path in ("a", "b", "never met")]
    assert [each.hints if each else "unknown" for each in found] == [hints, None, "unknown"]


def test_several_questions_about_several_hosts(room: Room) -> None:
    other, empty = room.new_host("b.example"), room.new_host("c.example")
    room.add(entry("a"), entry("b"), entry("c"))
    room.settle(done=[key_of("a")])
    room.add(entry("x"), host=other)
    room.settle(other, done=[key_of("x")])
    with room.store.reading() as reads:
        assert reads.queued_of([room.host, other, empty]) == {room.host: 2}
        assert [reads.any_url(host) is not None for host in (room.host, other, empty)] == [True, True, False]
        assert sorted(reads.keys(room.host, 10)) == sorted(map(key_of, "abc"))
        assert [each.key for each in reads.peek(room.host, 5, NOW)] == [key_of("b"), key_of("c")]


def test_operators_go_through_urls_in_pages_and_change_their_state(room: Room) -> None:
    paths = [f"p{number:03}" for number in range(200)]
    room.add(*map(entry, paths))
    room.settle(done=[key_of(path) for path in paths[::2]])
    seen, place = [], 0
    while page := room.store.urls(room.host, QUEUED, place, 30):
        assert len(page) <= 30
        seen += page
        place = page[-1].place
    assert [each.url.rpartition("/")[2] for each in seen] == paths[1::2]
    keys = [each.key for each in seen]
    assert keys == [key_of(path) for path in paths[1::2]]
    with room.store.change() as change:
        assert change.change_state(room.host, [*keys[:10], key_of("p000"), key_of("unknown")], QUEUED, DROPPED) == 10
    assert room.store.states(room.host) == {QUEUED: 90, DONE: 100, DROPPED: 10}
    with room.store.change() as change:
        assert change.requeue_all(room.host) == 100
        assert change.change_state(room.host, keys[:5], DROPPED, QUEUED) == 5
    assert room.store.states(room.host) == {QUEUED: 195, DROPPED: 5}


def test_what_was_taken_down_and_given_back_has_no_wait(room: Room) -> None:
    room.add(entry("a"))
    room.settle(put_back=[PutBack(key_of("a"), after(3600), 1)])
    for before, then in ((QUEUED, DROPPED), (DROPPED, QUEUED)):
        with room.store.change() as change:
            assert change.change_state(room.host, [key_of("a")], before, then) == 1
    assert [each.attempts for each in room.store.peek(room.host, 5, NOW)] == [0]


def test_merging_gives_one_host_the_urls_of_another(room: Room) -> None:
    other = room.new_host("www.a.example")
    room.add(entry("a"), entry("b"))
    room.settle(done=[key_of("a")])
    room.add(entry("https://www.a.example/c", 1), *(entry(path) for path in "abxyz"), host=other)
    room.settle(other, done=[key_of("x")], dropped=[key_of("y")], put_back=[PutBack(key_of("z"), after(9), 1)])
    room.store.prepare_hosts([room.host, other])
    with room.store.change() as change:
        change.move(other, room.host)
    assert room.paths() == ["b", "https://www.a.example/c"]
    assert room.paths(now=NOW + timedelta(seconds=9)) == ["b", "z", "https://www.a.example/c"]
    assert room.store.states(room.host) == {QUEUED: 3, DONE: 2, DROPPED: 1}
    assert (room.paths(host=other), room.store.states(other)) == ([], {})
    assert room.add(entry("x")) == 0
    assert room.add(entry("x"), host=other) == 1


def test_merging_into_a_host_that_has_nothing(room: Room) -> None:
    other = room.new_host("www.a.example")
    paths = [f"p{number:04}" for number in range(1200)]
    room.add(*map(entry, paths), host=other)
    with room.store.change() as change:
        change.move(other, room.host)
    assert room.paths(5000) == paths


def test_a_host_is_forgotten_whole_and_may_begin_again(room: Room) -> None:
    room.add(*(entry(str(number)) for number in range(200)))
    with room.store.change() as change:
        change.forget(room.host)
    assert room.store.states(room.host) == {}
    assert room.add(entry("1")) == 1
    with room.store.change() as change:
        change.forget(room.host)
        assert change.add(room.host, None, [entry("1"), entry("2")]) == 2
    assert room.paths() == ["1", "2"]


def test_a_host_may_have_very_many_urls_and_very_long_ones(room: Room) -> None:
    entries = [entry(f"{number}/" + "x" * (number % 50), number % 5) for number in range(5000)]
    entries.append(entry("y" * 20_000, 9))
    assert room.add(*entries[:3000]) == 3000
    assert room.add(*entries) == 2001
    wanted = sorted(entries, key=lambda each: each.depth)
    found = room.store.peek(room.host, 10_000, NOW)
    assert [each.url for each in found] == [each.url for each in wanted]
    assert set(room.store.keys(room.host, 10_000)) == {each.key for each in entries}
    room.settle(done=[each.key for each in entries[:4900]])
    assert room.store.states(room.host) == {QUEUED: 101, DONE: 4900}


def test_nothing_is_left_to_recover_from_a_store_that_was_used_as_it_should(room: Room) -> None:
    room.add(entry("a"))
    while room.store.recover():
        assert room.paths() == ["a"]
    assert room.paths() == ["a"]


def test_links_that_are_too_deep_are_kept_and_not_handed_out(room: Room) -> None:
    assert room.settle(links=[entry("a", 1)], too_deep=[entry("b", 2), entry("c", 3), entry("a", 2)]) == 1
    assert room.settle(too_deep=[entry("b", 2)]) == 0
    assert room.paths() == ["a"]
    assert room.store.too_deep([room.host]) == {room.host: (2, 2)}
    assert sorted(room.store.too_deep_keys(room.host, 10)) == sorted([key_of("b"), key_of("c")])
    assert room.store.states(room.host) == {QUEUED: 1, TOO_DEEP: 2}
    assert (room.store.size(room.host), room.store.queued_of([room.host])) == (1, {room.host: 1})
    found = room.store.find([room.host], key_of("c"))
    assert found is not None
    assert (found.state, found.depth) == (TOO_DEEP, 3)


def test_a_deeper_crawl_takes_up_what_was_too_deep(room: Room) -> None:
    room.settle(links=[entry("a", 1)], done=[key_of("a")], too_deep=[entry(f"p{n}", 2 + n % 3) for n in range(9)])
    with room.store.change() as change:
        assert change.lift(room.host, 3) == 6
    assert room.paths() == ["p0", "p3", "p6", "p1", "p4", "p7"]
    assert room.store.too_deep([room.host]) == {room.host: (3, 4)}
    with room.store.change() as change:
        assert change.lift(room.host, 3) == 0
        assert change.lift(room.host, 9) == 3
    assert room.store.too_deep([room.host]) == {}
    assert room.store.states(room.host) == {QUEUED: 9, DONE: 1}


def test_many_that_were_too_deep_are_taken_up_together(room: Room) -> None:
    room.settle(too_deep=[entry(f"p{number}", 2) for number in range(2500)])
    assert len(room.store.too_deep_keys(room.host, 10_000)) == 2500
    assert len(room.store.too_deep_keys(room.host, 700)) == 700
    with room.store.change() as change:
        assert change.lift(room.host, 2) == 2500
    assert len(room.paths(3000)) == 2500


def test_a_link_that_was_too_deep_is_queued_when_it_is_found_nearer(room: Room) -> None:
    room.settle(too_deep=[entry("a", 5), entry("b", 5)])
    assert room.settle(links=[entry("a", 1, 7), entry("c", 1)], lifts=True) == 2
    assert room.paths() == ["a", "c"]
    (first, _) = room.store.peek(room.host, 10, NOW)
    assert (first.depth, first.priority) == (1, 7)
    assert room.store.too_deep([room.host]) == {room.host: (1, 5)}
    assert room.settle(links=[entry("a", 1), entry("c", 1)], lifts=True) == 0


def test_what_is_too_deep_stays_so_when_a_host_begins_anew_or_is_merged(room: Room) -> None:
    room.settle(links=[entry("a")], done=[key_of("a")], too_deep=[entry("b", 2)])
    with room.store.change() as change:
        assert change.requeue_all(room.host) == 1
    assert room.paths() == ["a"]
    other = room.new_host("b.example")
    room.add(entry("x"), host=other)
    with room.store.change() as change:
        change.move(room.host, other)
    assert room.store.too_deep([other]) == {other: (1, 2)}
    with room.store.change() as change:
        assert change.lift(other, 2) == 1
    assert set(room.paths(host=other)) == {"a", "b", "x"}
