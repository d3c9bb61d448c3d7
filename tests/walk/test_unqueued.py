"""URLs that are seen and not queued: each recorded once, small, and at most so many for a host."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from comity.database import hosts
from comity.database.connection import Database, open_database
from comity.database.frontier import unqueued
from comity.database.frontier.unqueued import MOST_PER_HOST, HostUnqueued
from comity.database.tables import domains
from comity.model.frontier import FoundBy, Unqueued, UnqueuedCode
from comity.model.gate import DOOR_PROFILES, Door, GateMemory
from comity.model.host import HostStatus, Lease
from comity.rules.canonical import web_address
from comity.walk.session.leased_host import LeasedHost
from tests.walk.crawling import Place
from tests.walk.site import Web, page

AT = 1_800_000_000.0


def left(number: int, code: UnqueuedCode = UnqueuedCode.OTHER_HOST) -> Unqueued:
    address = web_address(f"https://elsewhere.example/a/link/of/usual/length/{number}.html")
    return Unqueued(address.url, address.key, code, FoundBy.LINK, 7)


def recorded(place: Place, host: str) -> dict[str, str]:
    with place.opened() as opened, opened.database.read() as connection:
        (host_id,) = hosts.ids_of(connection, [host]).values()
        notes = list(unqueued.of_host(connection, host_id))
    found = {note.url: note.code for note in notes}
    assert len(found) == len(notes), "each URL is recorded once"
    return found


def test_a_link_on_every_page_is_recorded_once(web: Web, place: Place) -> None:
    """Most links that lead elsewhere are on every page of their site."""
    foot = tuple(f"https://elsewhere.example/{number}" for number in range(20))
    paths = [f"/p{number}" for number in range(30)]
    site = web.site({"/": page(*paths, *foot)} | {path: page("/", *foot) for path in paths})
    place.crawl(site.url())
    assert recorded(place, site.host) == dict.fromkeys(foot, "other_host")
    row = place.host(site.host)
    assert (row["unqueued_recorded"], row["unqueued_unrecorded"]) == (20, 0)
    place.comity("domains", "reset", site.host)
    place.crawl(site.url())
    row = place.host(site.host)
    assert (row["unqueued_recorded"], row["unqueued_unrecorded"]) == (20, 0), "a second run records nothing twice"


def test_a_link_to_another_host_is_recorded_once_under_a_lease() -> None:
    """What is on record is read when a lease begins: a URL that came twice under it would be there twice."""
    ends = datetime.now(UTC) + timedelta(minutes=5)
    lease = Lease(uuid4(), "example.com", "me:1", 1, ends, HostStatus.PENDING, 0, None, GateMemory())
    host = LeasedHost(lease, DOOR_PROFILES[Door.CRAWL], None, clock=lambda: 0.0, chance=lambda: 0.0)
    first, second = (web_address(f"https://elsewhere.example/{number}") for number in range(2))
    host.note_others([first, first], FoundBy.LINK, 7)
    host.note_others([second, first], FoundBy.LINK, 8)
    assert [(each.url, each.found_on) for each in host.unsettled.unqueued] == [(first.url, 7), (second.url, 8)]


def test_more_than_the_bound_is_counted_and_said(web: Web, place: Place) -> None:
    many = [tuple(f"https://elsewhere.example/{part}/{number}" for number in range(6000)) for part in ("a", "b")]
    site = web.site({"/": page("/b", *many[0]), "/b": page(*many[1])})
    place.crawl(site.url())
    row = place.host(site.host)
    assert (row["unqueued_recorded"], row["unqueued_unrecorded"]) == (MOST_PER_HOST, 12_000 - MOST_PER_HOST)
    assert len(recorded(place, site.host)) == MOST_PER_HOST
    told = place.comity("why", site.url("/never"), "--json").json
    assert told["code"] == "never_found"
    assert "2,000 sightings on this host were not recorded" in told["decision"]


def test_links_on_pages_that_are_not_followed_are_recorded_whatever_their_number(web: Web, place: Place) -> None:
    """A page of a thousand links behind nofollow, of which one is followed from elsewhere."""
    links = [f"/n{number}" for number in range(1000)]
    head = '<meta name="robots" content="nofollow">'
    site = web.site({"/": page("/n7", "/list"), "/list": page(*links, "https://elsewhere.example/", head=head)})
    place.crawl(site.url())
    found = recorded(place, site.host)
    assert found.pop("https://elsewhere.example/") == "other_host"
    assert found == {site.url(path): "nofollow_page" for path in links if path != "/n7"}


@pytest.fixture(params=["sqlite", "postgresql"])
def either(request: pytest.FixtureRequest, place: Place) -> Iterator[Database]:
    """An empty state on each of the two databases."""
    if request.param == "postgresql":
        url = request.getfixturevalue("migrated_postgres_url")
        place.env["COMITY_DATABASE_URL"] = url
        database = open_database(url)
        yield database
        database.close()
        return
    with place.opened() as opened:
        yield opened.database


def test_what_is_known_of_a_url_is_replaced_where_another_rule_decided(either: Database) -> None:
    with either.write() as connection:
        host_id = uuid4()
        connection.execute(domains.insert().values(id=host_id, domain="a.example"))
        unqueued.put(connection, [HostUnqueued(host_id, [left(1), left(2)])], AT)
        unqueued.put(
            connection,
            [HostUnqueued(host_id, [left(2, UnqueuedCode.TRAP), left(2, UnqueuedCode.ROBOTS)])],
            AT + 5,
        )
        (first,), (second,) = (unqueued.of_url(connection, left(number).key) for number in (1, 2))
        assert (first.code, first.seen_at, first.domain) == ("other_host", int(AT), "a.example")
        assert (second.code, second.seen_at) == ("robots", int(AT + 5))
        row = hosts.get(connection, "a.example")
        assert row is not None
        assert (row.unqueued_recorded, row.unqueued_unrecorded) == (2, 0)


@pytest.mark.parametrize(
    ("before", "room", "expected"),
    [
        ([], MOST_PER_HOST, [(3, 0), (2, 1), (0, 4)]),  # all at once
        ([2], MOST_PER_HOST, [(3, 0), (2, 1), (0, 4)]),  # one is known: host by host
        ([], 2, [(2, 1), (2, 1), (0, 4)]),  # the first has not enough room
    ],
    ids=["new", "known", "full"],
)
def test_the_urls_of_many_hosts_are_counted_for_each(
    either: Database,
    monkeypatch: pytest.MonkeyPatch,
    before: list[int],
    room: int,
    expected: list[tuple[int, int]],
) -> None:
    names = ["a.example", "b.example", "c.example"]
    ids = [uuid4() for _name in names]
    with either.write() as connection:
        for host_id, name in zip(ids, names, strict=True):
            connection.execute(domains.insert().values(id=host_id, domain=name))
        unqueued.put(connection, [HostUnqueued(ids[0], [left(number) for number in before])], AT)
        monkeypatch.setattr(unqueued, "MOST_PER_HOST", room)
        seen = [left(1), left(2, UnqueuedCode.TRAP), left(3)]
        unqueued.put(
            connection,
            [HostUnqueued(ids[0], seen), HostUnqueued(ids[1], [left(1), left(2)], 1), HostUnqueued(ids[2], [], 4)],
            AT + 5,
        )
        rows = [hosts.get(connection, name) for name in names]
        assert [(row.unqueued_recorded, row.unqueued_unrecorded) for row in rows if row is not None] == expected
        codes = {row.domain: row.code for row in unqueued.of_url(connection, left(2).key)}
        assert codes == {"a.example": "trap", "b.example": "other_host"}


def test_a_record_takes_less_than_200_bytes_on_disk(place: Place) -> None:
    with place.opened() as opened, opened.database.write() as connection:
        for host in range(3):
            host_id = uuid4()
            connection.execute(domains.insert().values(id=host_id, domain=f"{host}.example"))
            for first in range(0, MOST_PER_HOST, 200):
                unqueued.put(
                    connection,
                    [HostUnqueued(host_id, [left(number) for number in range(first, first + 200)])],
                    AT,
                )
    with sqlite3.connect(place.state) as connection:
        (pages,) = connection.execute("SELECT sum(pgsize) FROM dbstat WHERE name LIKE '%unqueued_%'").fetchone()
    assert pages / (3 * MOST_PER_HOST) < 200


def test_merging_hosts_takes_their_records_along(place: Place) -> None:
    place.comity("seeds", "add", "merged.example", "other.example")
    with place.opened() as opened, opened.database.write() as connection:
        ids = hosts.ids_of(connection, ["merged.example", "other.example"])
        unqueued.put(connection, [HostUnqueued(ids["merged.example"], [left(1)])], AT)
        unqueued.put(connection, [HostUnqueued(ids["other.example"], [left(1), left(2)])], AT)
    place.execute("UPDATE domains SET domain = 'www.merged.example' WHERE domain = 'other.example'")
    assert place.comity("domains", "merge").code == 0
    assert set(recorded(place, "merged.example").values()) == {"other_host"}
    assert len(recorded(place, "merged.example")) == 2
