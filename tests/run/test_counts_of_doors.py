"""What audits and queries visit is not counted as crawled, and a crawl still counts each page when it comes to it."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from comity.database.tables import domains, fetches
from tests.walk.crawling import Place
from tests.walk.site import Answer, Site, Web, page, tree

PAGES = 5


class Doors:
    """The doors of one state, on one database."""

    def __init__(self, place: Place, database_url: str) -> None:
        self.place = place
        self.url = database_url
        place.env["COMITY_DATABASE_URL"] = self.url
        place.env["COMITY_AUDITS"] = str(place.folder / "audits")

    def crawl(self, site: Site, *options: object) -> str:
        return self._run("crawl", site.url("/"), *options)

    def audit(self, site: Site) -> None:
        self._run("audit", site.url("/"))

    def query(self, site: Site) -> None:
        statement = f"CRAWL (SELECT '{site.url('/')}') INTO pages WITH (follow_links true, default_crawl_delay 0.01)"
        self._run("sql", self.place.folder / "pages.duckdb", statement, "--state", self.url or self.place.state)

    def _run(self, *arguments: object) -> str:
        told = self.place.comity(*arguments)
        assert told.code == 0, told.err
        return told.out

    def counted(self, site: Site) -> int:
        """Pages of the host, as `comity crawl` shows them under ALL RUNS."""
        with self.place.opened(database_url=self.url) as state, state.database.read() as connection:
            found = connection.execute(select(domains.c.pages_crawled).where(domains.c.domain == site.host))
            return int(found.scalar_one())

    def kinds(self, site: Site) -> set[str]:
        with self.place.opened(database_url=self.url) as state, state.database.read() as connection:
            found = connection.execute(select(fetches.c.discovery_type).where(fetches.c.domain == site.host))
            return set(found.scalars())


@pytest.fixture(params=["sqlite", "postgresql"])
def doors(place: Place, request: pytest.FixtureRequest) -> Doors:
    return Doors(place, request.getfixturevalue("migrated_postgres_url") if request.param == "postgresql" else "")


def test_an_audit_before_a_crawl_takes_no_page_from_its_count(doors: Doors, web: Web) -> None:
    site = web.site(tree(PAGES))
    doors.audit(site)
    assert doors.counted(site) == 0
    doors.crawl(site, "--max-pages", 3)
    assert doors.counted(site) == 3
    said = doors.crawl(site)
    assert doors.counted(site) == PAGES
    (line,) = [line.split() for line in said.splitlines() if line.startswith(site.host)]
    assert str(PAGES) in line, said
    doors.crawl(site, "--refresh")
    assert doors.counted(site) == PAGES
    assert doors.kinds(site) == {"audit", "discovery", "refresh"}


def test_a_query_before_a_crawl_takes_no_page_from_its_count(doors: Doors, web: Web) -> None:
    site = web.site(tree(PAGES))
    doors.query(site)
    doors.crawl(site, "--max-pages", 3)
    doors.crawl(site)
    assert doors.counted(site) == PAGES
    assert doors.kinds(site) == {"sql", "discovery"}


def test_an_audit_between_two_crawls_changes_neither_count(doors: Doors, web: Web) -> None:
    site = web.site(tree(PAGES))
    doors.crawl(site, "--max-pages", 3)
    doors.audit(site)
    assert doors.counted(site) == 3
    doors.crawl(site)
    assert doors.counted(site) == PAGES


def test_a_refresh_asks_by_what_the_crawl_has_stored_and_not_by_what_an_audit_saw(doors: Doors, web: Web) -> None:
    """Otherwise "not modified" would leave the old page in the store of the crawl."""
    site = web.site({"/": Answer(body=page(title="old"), etag='"1"')})
    doors.crawl(site)
    site.routes["/"] = Answer(body=page(title="new"), etag='"2"')
    doors.audit(site)
    doors.crawl(site, "--refresh")
    assert {row["title"] for row in doors.place.parts()} == {"old", "new"}
