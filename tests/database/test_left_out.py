"""`left_out_urls` on both databases: a bound for each host, another pattern replaces the first, rows move and go."""

from __future__ import annotations

from uuid import UUID

import pytest
from sqlalchemy import Connection

from comity.database import hosts
from comity.database.connection import Database
from comity.database.frontier import left_out
from comity.model.frontier import FoundBy, LeftOutUrl
from tests.database.states import put_host


def url(number: int, pattern: str = "/a/") -> LeftOutUrl:
    return LeftOutUrl(f"https://e.com/a/{number}", number, 1, False, FoundBy.LINK, 7, "exclude", pattern, False)


def kept(connection: Connection, host_id: UUID) -> dict[int, str]:
    return {row.url_key: row.pattern for row in left_out.page(connection, host_id, None, 100)}


def counts(connection: Connection, host: str) -> tuple[int, int, str | None]:
    row = hosts.get(connection, host)
    assert row is not None
    return row.left_out_recorded, row.left_out_unrecorded, row.left_out_rules


def test_rows_have_a_bound_and_the_rest_is_counted(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(left_out, "MOST_PER_HOST", 3)
    with database.write() as connection:
        host_id = put_host(connection, {"domain": "e.com"})
        left_out.put(connection, host_id, [url(1), url(2)], 1.0)
        left_out.asked_with(connection, host_id, "rules")
        left_out.put(connection, host_id, [url(1, "*")], 2.0)
        assert kept(connection, host_id) == {1: "*", 2: "/a/"}
        assert counts(connection, "e.com") == (2, 0, "rules")
        left_out.put(connection, host_id, [url(3, "x" * 500), url(4), url(5)], 3.0)
        assert kept(connection, host_id) == {1: "*", 2: "/a/", 3: "x" * 200}
        assert counts(connection, "e.com") == (3, 2, None), "the new rows were not asked with those patterns"
        assert left_out.hosts_with(connection, [host_id]) == {host_id: None}


def test_pages_removal_and_moves(database: Database) -> None:
    with database.write() as connection:
        one, two = put_host(connection, {"domain": "e.com"}), put_host(connection, {"domain": "f.com"})
        left_out.put(connection, one, map(url, range(5)), 1.0)
        left_out.put(connection, two, [url(4, "/b/")], 2.0)
        assert [row.url_key for row in left_out.page(connection, one, 1, 2)] == [2, 3]
        left_out.remove(connection, one, [0, 1, 99])
        assert counts(connection, "e.com")[0] == 3
        assert [(row.domain, row.pattern) for row in left_out.of_url(connection, 4)] == [
            ("f.com", "/b/"),
            ("e.com", "/a/"),
        ]
        left_out.move(connection, one, two)
        assert kept(connection, two) == {2: "/a/", 3: "/a/", 4: "/b/"}
        assert kept(connection, one) == {}
