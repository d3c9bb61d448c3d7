"""The same crawl on PostgreSQL: the same rows, also where a site sends what text columns do not like."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select

from comity.database.connection import open_database
from comity.database.tables import domain_frontier, domains, evidence, fetches, politeness_ledger
from tests.walk.crawling import Place, line_of
from tests.walk.site import Answer, Web, page, redirect

ODD_ROBOTS = (
    b"\xef\xbb\xbfUser-agent: *\r\nDisallow: /caf\xe9\r\nDisallow: /a\0b\n"
    b"Disallow: /\xf0\x9f\x98\x80\rCrawl-delay: 0.01\n"
)


def odd_site(web: Web) -> Any:
    links = (
        "/caf%E9",
        "/caf%C3%A9",
        "/%F0%9F%98%80",
        "/a%00b",
        "/ok?x=\u00fc",
        "/noindexed",
        "/out",
        "/gone",
        "/broken-utf8",
        "/etag",
    )
    return web.site(
        {
            "/": page(*links, title="Zoë \u0000 &#xD800; \U0001f600"),
            "/noindexed": page(head='<meta name="robots" content="noindex, \u2603">'),
            "/out": redirect("/caf\u00e9-latin".encode().decode("latin-1")),
            "/broken-utf8": Answer(body=b"<title>\xff\xfe\xc3(</title>\x00", type="text/html; charset=utf-8"),
            "/etag": Answer(body=page(), headers={"ETag": '"caf\u00e9"', "X-Robots-Tag": "nofollow, \u00fcbel"}),
        },
        robots=Answer(body=ODD_ROBOTS, type="text/plain"),
        fallback=lambda asked: Answer(404) if asked.path == "/gone" else page(),
    )


def remembered(database_url: str, host: str) -> dict[str, Any]:
    """What a crawl left in the state, without what differs from run to run."""
    database = open_database(database_url)
    try:
        with database.read() as connection:
            visits = select(
                fetches.c.page_url,
                fetches.c.outcome,
                fetches.c.status,
                fetches.c.error,
                fetches.c.content_hash,
                fetches.c.etag,
            )
            urls = select(domain_frontier.c.url, domain_frontier.c.state, domain_frontier.c.depth)
            decided = select(
                evidence.c.url, evidence.c.type, evidence.c.confidence, evidence.c.content["matchedRule"].as_string()
            )
            asked = select(politeness_ledger.c.url, politeness_ledger.c.purpose, politeness_ledger.c.rule)
            row = connection.execute(select(domains).where(domains.c.domain == host)).one()
            return {
                "visits": sorted(map(tuple, connection.execute(visits)), key=repr),
                "urls": sorted(map(tuple, connection.execute(urls)), key=repr),
                "decided": sorted(map(tuple, connection.execute(decided)), key=repr),
                "asked": sorted(map(tuple, connection.execute(asked)), key=repr),
                "host": (row.status, row.pages_crawled, row.pages_discovered, row.total_error_count, row.claimed_by),
            }
    finally:
        database.close()


def test_both_databases_remember_the_same(
    web: Web, place: Place, migrated_postgres_url: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    site = odd_site(web)
    embedded = place.crawl(site.url())
    shared_place = Place(tmp_path_factory.mktemp("shared"))
    first = len(site.log)
    shared = shared_place.crawl(site.url(), database_url=migrated_postgres_url)
    assert line_of(shared, site.host).status == line_of(embedded, site.host).status == "exhausted"
    assert (shared.pages, shared.errors, shared.refused) == (embedded.pages, embedded.errors, embedded.refused)
    assert sorted(site.paths[:first]) == sorted(site.paths[first:])
    assert remembered(migrated_postgres_url, site.host) == remembered(f"sqlite:///{place.state}", site.host)
    kept, also = place.kept(), shared_place.kept()
    assert set(kept) == set(also)
    assert {url: (row["body"], row["title"], row["etag"]) for url, row in kept.items()} == {
        url: (row["body"], row["title"], row["etag"]) for url, row in also.items()
    }
    forbidden = {
        row[0] for row in remembered(migrated_postgres_url, site.host)["decided"] if row[1] == "blocked_by_robots"
    }
    assert site.url("/caf%E9") in forbidden
    assert site.url("/caf%E9") not in kept


def test_a_shared_state_that_was_not_migrated_is_refused_in_words(web: Web, place: Place, postgres_url: str) -> None:
    site = web.site({"/": page()})
    place.env["COMITY_DATABASE_URL"] = postgres_url
    told = place.comity("crawl", site.url())
    assert told.code == 1
    assert "comity db upgrade" in told.err
    assert site.log == []


def test_resume_and_rerun_on_a_shared_state(web: Web, place: Place, migrated_postgres_url: str) -> None:
    site = web.site({f"/{number}": page(f"/{number + 1}") for number in range(8)})
    place.env["COMITY_DATABASE_URL"] = migrated_postgres_url
    first = place.comity("crawl", site.url("/0"), "--max-pages", 3, "--json").json
    assert (first["summary"]["pages"], first["state"]) == (3, "the shared database")
    second = place.comity("crawl", site.url("/0"), "--json").json
    assert second["summary"]["pages"] == 5
    third = place.comity("crawl", site.url("/0"), "--json").json
    assert (third["summary"]["pages"], len(third["idle"])) == (0, 1)
    assert place.comity("verify-politeness").code == 0
