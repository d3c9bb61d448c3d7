"""Lists of hosts and of what belongs to one, page by page, on both databases."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import insert, text, update

from comity.database import host_lists as statements
from comity.database import ledger
from comity.database.connection import Database
from comity.database.tables import domains, evidence, fetches
from comity.model.errors import BadInput, NotFound
from comity.model.host import HostStatus
from comity.reports import host_lists as lists
from comity.reports.host_lists import ListPage, hosts_page
from tests.database.states import BEGINNING, State
from tests.reports.ledgers import request

LISTS = (
    "domain",
    "-domain",
    "last_crawled_at",
    "-last_crawled_at",
    "priority_score",
    "-priority_score",
    "-next_crawl_after",
)


def every(page_of: Callable[[str | None], ListPage[Any]]) -> list[Any]:
    """All items of a list, page after page."""
    found: list[Any] = []
    after = None
    for _page in range(100):
        page = page_of(after)
        found += page.items
        if page.next is None:
            return found
        after = page.next
    raise AssertionError("the list does not end")


@pytest.fixture
def known(state: State) -> State:
    for number in range(12):
        state.add(
            f"h{number:02}.example",
            status=[HostStatus.PENDING, HostStatus.ACTIVE, HostStatus.BLOCKED][number % 3],
            priority_score=number // 4,
            last_crawled_at=None if number % 2 else BEGINNING - timedelta(hours=number // 3),
            next_crawl_after=None if number < 8 else BEGINNING + timedelta(hours=number),
        )
    return state


def expected(state: State, sort: str, status: HostStatus | None) -> list[str]:
    rows = [state.row(f"h{number:02}.example") for number in range(12)]
    rows = [row for row in rows if status is None or row["status"] is status]
    column, is_descending = sort.removeprefix("-"), sort.startswith("-")
    having = [row for row in rows if row[column] is not None]
    having.sort(key=lambda row: (row[column], row["domain"]), reverse=is_descending)
    return [row["domain"] for row in having + [row for row in rows if row[column] is None]]


def test_hosts_are_listed_in_every_order_page_by_page(known: State, monkeypatch: pytest.MonkeyPatch) -> None:
    for most_looked_at in (20_000, 3):  # few hosts of a status are sorted; of many, so many are looked at
        monkeypatch.setattr(statements, "ROWS_LOOKED_AT", most_looked_at)
        for sort in LISTS:
            for status in (None, HostStatus.BLOCKED):

                def page(after: str | None, sort: str = sort, status: HostStatus | None = status) -> Any:
                    return hosts_page(known.database, status=status, sort=sort, after=after, limit=2)

                assert [line.host for line in every(page)] == expected(known, sort, status), (sort, status)


def test_names_that_begin_with_a_text_come_before_names_that_contain_it(
    state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (
        "ship.example",
        "a-ship.example",
        "shipyard.example",
        "z.ship.example",
        "sail.example",
    ):
        state.add(name, status=HostStatus.BLOCKED if name.startswith("ship") else HostStatus.PENDING)
    wanted = ["ship.example", "shipyard.example", "a-ship.example", "z.ship.example"]
    for looked_at in (250_000, 2):
        monkeypatch.setattr(statements, "NAMES_LOOKED_AT", looked_at)
        assert [
            line.host for line in every(lambda after: hosts_page(state.database, text="SHIP", after=after, limit=1))
        ] == wanted
    blocked = hosts_page(state.database, text="ship", status=HostStatus.BLOCKED)
    assert [line.host for line in blocked.items] == wanted[:2]
    for wildcard in ("%", "_", "'", "\\"):
        assert hosts_page(state.database, text=wildcard).items == ()


def test_a_cursor_of_another_list_is_refused(known: State) -> None:
    first = hosts_page(known.database, sort="domain", limit=2)
    for sort, after in (
        ("-priority_score", first.next),
        ("domain", "nonsense"),
        ("domain", "é"),
        ("domain", "A" * 9000),
    ):
        with pytest.raises(BadInput, match="after"):
            hosts_page(known.database, sort=sort, after=after)
    with pytest.raises(BadInput, match="sort"):
        hosts_page(known.database, sort="block_reason")


def test_every_change_of_status_is_kept_with_its_reason_and_holder(state: State) -> None:
    state.add("a.example")
    state.leases("worker").take(["a.example"])
    with state.database.write() as connection:
        values = {"status": HostStatus.BLOCKED, "block_reason_code": "http_403", "block_reason": "403 again"}
        connection.execute(update(domains).values(**values))
        connection.execute(update(domains).values(block_reason="said otherwise"))
        connection.execute(text("UPDATE domains SET status = 'pending'"))
    moves = every(lambda after: lists.host_moves(state.database, "a.example", after=after, limit=1))
    seen = [(move.from_status, move.to_status, move.reason_code, move.reason, move.holder) for move in moves]
    assert seen[0] == ("blocked", "pending", None, None, "worker")
    assert seen[1][2:] == ("http_403", "403 again", "worker")
    assert seen[-1][0] == "pending"
    rising = every(lambda after: lists.host_moves(state.database, "a.example", after=after, limit=1, oldest_first=True))
    assert rising == moves[::-1]
    blocked = every(
        lambda after: lists.host_moves(state.database, "a.example", after=after, limit=1, to_status=HostStatus.BLOCKED)
    )
    assert blocked == [move for move in moves if move.to_status == "blocked"] != []


def test_requests_have_the_earliest_moment_at_which_they_were_allowed(state: State) -> None:
    host_id = state.add("a.example")
    start = BEGINNING.timestamp()
    starts = (0.0, 2.0, 5.0, 6.0)
    rows = [request(host_id, "a.example", number, start + at) for number, at in enumerate(starts, 1)]
    with state.database.write() as connection:
        ledger.append_requests(connection, None, rows)
    found = every(lambda after: lists.host_requests(state.database, "a.example", after=after, limit=3))
    allowed = [each.allowed_at and (each.allowed_at - BEGINNING).total_seconds() for each in found]
    assert allowed == [7.0, 4.0, 2.0, None]
    assert [each.is_early for each in found] == [True, False, False, False]
    assert {each.held_by for each in found} == {"delay", None}
    for limit in (1, 3):  # what came before a page counts for its first request
        rising = every(
            lambda after, limit=limit: lists.host_requests(
                state.database, "a.example", after=after, limit=limit, oldest_first=True
            )
        )
        assert rising == found[::-1]
    robots = every(lambda after: lists.host_requests(state.database, "a.example", purpose="robots", after=after))
    assert robots == []
    first = lists.host_requests(state.database, "a.example", limit=1).next
    with pytest.raises(BadInput):
        lists.host_requests(state.database, "a.example", after=first, oldest_first=True)


def test_visits_and_decisions_of_a_host_come_newest_first(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    host_id = state.add("a.example")
    state.add("b.example")
    _record(state.database, host_id, 7)
    for looked_at in (20_000, 2):
        monkeypatch.setattr(statements, "ROWS_LOOKED_AT", looked_at)
        visits = every(lambda after: lists.host_fetches(state.database, "a.example", after=after, limit=2))
        assert [visit.page_url[-1] for visit in visits] == list("6543210")
        failed = every(
            lambda after: lists.host_fetches(state.database, "a.example", after=after, limit=2, only_errors=True)
        )
        assert [visit.page_url[-1] for visit in failed] == list("630")
        kinds = every(
            lambda after: lists.host_evidence(state.database, "a.example", kind="robots_allowed", after=after, limit=1)
        )
        assert [each.url[-1] for each in kinds] == list("531")
        rising = every(
            lambda after: lists.host_fetches(state.database, "a.example", after=after, limit=2, oldest_first=True)
        )
        assert rising == visits[::-1]
        kinds_rising = every(
            lambda after: lists.host_evidence(
                state.database, "a.example", kind="robots_allowed", after=after, limit=1, oldest_first=True
            )
        )
        assert kinds_rising == kinds[::-1]
    assert lists.host_fetches(state.database, "b.example").items == ()
    with pytest.raises(NotFound):
        lists.host_fetches(state.database, "c.example")


def _record(database: Database, host_id: UUID, number: int) -> None:
    visits, decisions = [], []
    for each in range(number):
        url, at = f"https://a.example/{each}", BEGINNING + timedelta(seconds=each // 2)
        error = "http_500" if each % 3 == 0 else None
        visits.append(
            {"domain": "a.example", "page_url": url, "url_key": each, "outcome": "fetched", "error": error}
            | {"crawled_at": at}
        )
        kind = "robots_allowed" if each % 2 else "blocked_by_robots"
        decisions.append(
            {"domain_id": host_id, "url": url, "url_key": each, "type": kind, "content": {}, "created_at": at}
        )
    with database.write() as connection:
        connection.execute(insert(fetches), visits)
        connection.execute(insert(evidence), decisions)


def test_urls_of_a_host_by_state_and_their_bounded_counts(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    state.add("a.example")
    state.queue("a.example", *(f"https://a.example/q{number}" for number in range(3)), priority=1)
    state.queue("a.example", "https://a.example/first", priority=9)
    state.queue("a.example", *(f"https://a.example/d{number}" for number in range(5)), state=1)
    queued = lists.host_urls(state.database, "a.example", "queued")
    assert [each.url[-2:] for each in queued.items] == ["st", "q0", "q1", "q2"]
    monkeypatch.setattr(statements, "ROWS_LOOKED_AT", 3)
    done = every(lambda after: lists.host_urls(state.database, "a.example", "done", after=after, limit=2))
    assert sorted(each.url[-2:] for each in done) == ["d0", "d1", "d2", "d3", "d4"]
    counts = lists.host_url_counts(state.database, "a.example")
    assert counts.by_state == {"queued": 4, "done": 5, "dropped": 0, "too_deep": 0}
    assert counts.is_whole
    monkeypatch.setattr(lists, "COUNTED_URLS", 4)
    counts = lists.host_url_counts(state.database, "a.example")
    assert (sum(counts.by_state.values()), counts.is_whole) == (4, False)
