"""What the state remembers of sitemap files, and of what they say, on both databases."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from uuid import UUID

import pytest
from sqlalchemy import delete, insert, select, text
from sqlalchemy.exc import IntegrityError

from comity.database import sitemaps
from comity.database.connection import Database
from comity.database.frontier import rows as frontier_table
from comity.database.tables import domain_frontier, domains
from comity.model.frontier import FrontierEntry
from comity.model.sitemap import ChangeFrequency, PageHints, SitemapKind, SitemapRow, SitemapState
from comity.rules.canonical import url_key

PLANNED, READ, MISSING = SitemapState.PLANNED, SitemapState.READ, SitemapState.MISSING


@pytest.fixture
def host_id(database: Database) -> Callable[[str], UUID]:
    def make(name: str) -> UUID:
        with database.write() as connection:
            connection.execute(insert(domains).values(domain=name))
            return connection.execute(select(domains.c.id).where(domains.c.domain == name)).scalar_one()

    return make


def row(path: str, state: SitemapState = PLANNED, **more: object) -> SitemapRow:
    url = f"https://example.com{path}"
    return SitemapRow(url, url_key(url), 0, False, state)._replace(**more)  # type: ignore[arg-type]


def known(database: Database, host: UUID) -> dict[str, SitemapRow]:
    with database.read() as connection:
        return {each.url.removeprefix("https://example.com"): each for each in sitemaps.of_host(connection, host)}


def put(database: Database, host: UUID, *rows: SitemapRow) -> None:
    with database.write() as connection:
        sitemaps.put(connection, host, rows)


def test_a_row_comes_back_as_it_was_put(database: Database, host_id: Callable[[str], UUID]) -> None:
    host = host_id("example.com")
    whole = row(
        "/é.xml?x=1&y=2",
        READ,
        depth=2,
        is_guess=True,
        status=200,
        kind=SitemapKind.URLSET,
        entries=50_000,
        detail="entries, truncated",
        asked_at=1_790_000_000.25,
    )
    put(database, host, whole, row("/plain.xml"))
    found = known(database, host)
    assert found["/é.xml?x=1&y=2"] == whole
    assert found["/plain.xml"] == row("/plain.xml")


def test_a_plan_never_replaces_what_is_known(database: Database, host_id: Callable[[str], UUID]) -> None:
    host = host_id("example.com")
    put(database, host, row("/a"), row("/b"))
    put(database, host, row("/a", READ, entries=3, status=200), row("/a"), row("/b", MISSING, status=404))
    put(database, host, row("/a"), row("/b"), row("/c"))
    assert {path: each.state for path, each in known(database, host).items()} == {
        "/a": READ,
        "/b": MISSING,
        "/c": PLANNED,
    }
    with database.read() as connection:
        assert sitemaps.planned(connection, host) == 1
    put(database, host, row("/b", READ, status=200, entries=1))
    assert (known(database, host)["/b"].state, known(database, host)["/b"].status) == (READ, 200)


def test_hosts_do_not_see_each_others_files_and_forget_their_own(
    database: Database, host_id: Callable[[str], UUID]
) -> None:
    first, second = host_id("example.com"), host_id("example.org")
    put(database, first, row("/a", READ))
    put(database, second, row("/a"), row("/b"))
    assert (len(known(database, first)), len(known(database, second))) == (1, 2)
    with database.write() as connection:
        sitemaps.forget(connection, first)
    assert (len(known(database, first)), len(known(database, second))) == (0, 2)
    with database.write() as connection:
        connection.execute(delete(domains).where(domains.c.id == second))
        assert connection.execute(text("SELECT count(*) FROM sitemaps")).scalar_one() == 0


def test_nothing_is_put_where_there_is_nothing(database: Database, host_id: Callable[[str], UUID]) -> None:
    host = host_id("example.com")
    put(database, host)
    assert known(database, host) == {}


def test_thousands_of_files_are_put_and_read_at_once(database: Database, host_id: Callable[[str], UUID]) -> None:
    host = host_id("example.com")
    rows = [row(f"/{number}.xml", READ if number % 2 else PLANNED) for number in range(12_000)]
    put(database, host, *rows)
    assert len(known(database, host)) == 12_000
    with database.read() as connection:
        assert sitemaps.planned(connection, host) == 6000


@pytest.mark.parametrize("detail", ["a\0b", "x" * 100_000, "\ud800 lone", "✓ é"])
def test_whatever_a_site_says_can_be_noted(database: Database, host_id: Callable[[str], UUID], detail: str) -> None:
    host = host_id("example.com")
    put(database, host, row("/a", SitemapState.FAILED, detail=detail))
    noted = known(database, host)["/a"].detail
    assert noted is not None
    assert len(noted) <= 1000
    assert "\0" not in noted


def test_a_state_that_is_none_is_refused(database: Database, host_id: Callable[[str], UUID]) -> None:
    host = host_id("example.com")
    put(database, host, row("/a"))
    with pytest.raises(IntegrityError), database.write() as connection:
        connection.execute(text("UPDATE sitemaps SET state = 'lost'"))


def test_what_is_said_of_pages_is_kept_for_new_and_known_ones(
    database: Database, host_id: Callable[[str], UUID]
) -> None:
    host = host_id("example.com")
    day = datetime(2024, 2, 29, 12, 30, 15, tzinfo=UTC)
    urls = [f"https://example.com/{number}" for number in range(4)]
    with database.write() as connection:
        frontier_table.add(connection, host, None, [FrontierEntry(urls[0], url_key(urls[0]), 3, 7)])
        entries = [
            FrontierEntry(urls[0], url_key(urls[0]), 1, 0, PageHints(day, ChangeFrequency.DAILY, 0.5)),
            FrontierEntry(urls[1], url_key(urls[1]), 1, 0, PageHints(None, None, 0.0)),
            FrontierEntry(urls[2], url_key(urls[2]), 1, 0, PageHints(datetime(2199, 12, 31, tzinfo=UTC), None, None)),
            FrontierEntry(urls[3], url_key(urls[3]), 1, 0),
        ]
        assert frontier_table.add(connection, host, None, entries) == 3
        table = domain_frontier.c
        columns = (table.url, table.depth, table.priority, table.lastmod, table.changefreq, table.sitemap_priority)
        found = {each.url[-1]: tuple(each)[1:] for each in connection.execute(select(*columns))}
    assert found == {
        "0": (3, 7, day, "daily", 0.5),
        "1": (1, 0, None, None, 0.0),
        "2": (1, 0, datetime(2199, 12, 31, tzinfo=UTC), None, None),
        "3": (1, 0, None, None, None),
    }
