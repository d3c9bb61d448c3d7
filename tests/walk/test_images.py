"""Images: found on pages, asked for like pages but after them, kept once by content, with where they were seen."""

from __future__ import annotations

from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, text

from comity.database.connection import Database, open_database
from comity.database.images import image_sightings, images, provenance
from tests.servers.waiting import wait_until
from tests.walk.crawling import DONE, Place
from tests.walk.pictures import gif, jpeg, png
from tests.walk.site import Answer, Site, Web, page


def picture(body: bytes, kind: str = "image/png", **more: Any) -> Answer:
    return Answer(body=body, type=kind, **more)


def shows(*addresses: str, links: tuple[str, ...] = (), head: str = "") -> str:
    return page(*links, head=head, body="".join(f'<img src="{each}">' for each in addresses))


def crawled(place: Place, site: Site, *options: object) -> dict[str, Any]:
    told = place.comity("crawl", site.url(), "--json", "--images", *options)
    assert told.code == 0, told.err
    summary: dict[str, Any] = told.json["summary"]
    return summary


def kept(place: Place) -> dict[str, dict[str, Any]]:
    return {row["url"]: row for row in place.rows("SELECT * FROM images")}


def where(place: Place, site: Site) -> set[tuple[str, str, str]]:
    """Image, page and how it was found, of every row of provenance."""
    rows = place.rows("SELECT url, page_url, discovery_type FROM provenance JOIN images ON images.id = image_id")
    return {
        (row["url"].removeprefix(site.url("")), row["page_url"].removeprefix(site.url("")), row["discovery_type"])
        for row in rows
    }


def files(place: Place) -> list[Path]:
    return sorted(path for path in (place.pages / "images").rglob("*") if path.is_file())


def test_images_are_kept_with_size_and_format_and_where_they_were_found(web: Web, place: Place) -> None:
    site = web.site(
        {
            "/": shows("/logo.png", "/photo", links=("/a",)),
            "/a": shows("logo.png", "/moving.gif"),
            "/logo.png": picture(png(64, 32)),
            "/photo": picture(jpeg(640, 480), "image/jpeg"),
            "/moving.gif": picture(gif(5, 6), "application/octet-stream"),
        }
    )
    summary = crawled(place, site)
    assert (summary["pages"], summary["errors"]) == (2, 0)
    assert (summary["images_found"], summary["images_stored"], summary["images_failed"]) == (4, 3, 0)
    found = {url.removeprefix(site.url("")): row for url, row in kept(place).items()}
    assert {url: (row["format"], row["width"], row["height"]) for url, row in found.items()} == {
        "/logo.png": ("png", 64, 32),
        "/photo": ("jpeg", 640, 480),
        "/moving.gif": ("gif", 5, 6),
    }
    for row in found.values():
        body = (place.pages / row["stored_path"]).read_bytes()
        assert sha256(body).hexdigest() == row["content_hash"]
        assert len(body) == row["bytes"]
    digest = sha256(jpeg(640, 480)).hexdigest()
    assert found["/photo"]["stored_path"] == f"images/{digest[:2]}/{digest[2:4]}/{digest}.jpg"
    assert where(place, site) == {
        ("/logo.png", "/", "discovery"),
        ("/logo.png", "/a", "discovery"),
        ("/photo", "/", "discovery"),
        ("/moving.gif", "/a", "discovery"),
    }
    row = place.host(site.host)
    assert (row["images_found"], row["images_stored"], row["pages_crawled"], row["pages_discovered"]) == (4, 3, 2, 2)
    assert (row["image_yield_rate"], row["avg_images_per_page"], row["status"]) == (1.5, 2.0, "exhausted")
    assert {each["page_url"]: each["images_found"] for each in place.fetches(site.host)} == {
        site.url(): 2,
        site.url("/a"): 2,
    }
    assert len(place.kept()) == 2, "an image is no page"
    assert place.rows("SELECT * FROM image_sightings") == []
    assert place.comity("verify-politeness").code == 0
    purposes = Counter(each["purpose"] for each in place.rows("SELECT purpose FROM politeness_ledger"))
    assert purposes == {"robots": 1, "page": 2, "image": 3}


def test_without_the_option_no_image_is_asked_for(web: Web, place: Place) -> None:
    site = web.site({"/": shows("/a.png"), "/a.png": picture(png())})
    assert place.comity("crawl", site.url()).code == 0
    assert site.pages() == ["/"]
    assert not (place.pages / "images").exists()


def test_images_wait_until_no_page_does_and_count_as_none(web: Web, place: Place) -> None:
    names = [f"/p{number}" for number in range(8)]
    routes: dict[str, Any] = {name: shows(f"{name}.png") for name in names}
    routes |= {f"{name}.png": picture(png(1, 1, name.encode())) for name in names}
    site = web.site({"/": shows("/first.png", links=tuple(names)), "/first.png": picture(png()), **routes})
    summary = crawled(place, site, "--max-pages", 9)
    assert (summary["pages"], summary["images_stored"], summary["reason"]) == (9, 9, "nothing left to visit")
    asked = site.pages()
    assert set(asked[:9]) == {"/", *names}
    assert all(path.endswith(".png") for path in asked[9:])


def test_no_image_is_asked_for_while_a_page_is_under_way(web: Web, place: Place) -> None:
    """The next page may be known only when the last has come; meanwhile images could be asked for, and are not."""
    routes: dict[str, Any] = {}
    for number in range(5):
        body = shows(*(f"/{number}{letter}.png" for letter in "abc"), links=(f"/p{number + 1}",))
        routes["/" if number == 0 else f"/p{number}"] = Answer(body=body, after_s=0.03)
    routes |= {
        f"/{number}{letter}.png": picture(png(1, 1, f"{number}{letter}".encode()))
        for number in range(5)
        for letter in "abc"
    }
    site = web.site({**routes, "/p5": page()})
    assert crawled(place, site, "--per-host", 4)["images_stored"] == 15
    assert site.pages()[:6] == ["/", "/p1", "/p2", "/p3", "/p4", "/p5"]


def test_one_content_under_two_addresses_is_kept_once(web: Web, place: Place) -> None:
    body = png(9, 9)
    site = web.site({"/": shows("/a.png", "/b.png?v=2"), "/a.png": picture(body), "/b.png?v=2": picture(body)})
    other = web.site({"/": shows("/c.png"), "/c.png": picture(body)})
    assert crawled(place, site)["images_stored"] == 1
    assert crawled(place, other)["images_stored"] == 1, "it is new to that host"
    (row,) = kept(place).values()
    assert [path.name for path in files(place)] == [f"{row['content_hash']}.png"]
    assert len(where(place, site)) == 2, "one for each page"
    assert [place.host(each.host)["images_stored"] for each in (site, other)] == [1, 1]


def test_what_does_not_come_is_noted_and_costs_the_host_nothing(web: Web, place: Place) -> None:
    site = web.site(
        {
            "/": shows("/missing.png", "/page.png", "/lie.png", "/large.png", "/secret/a.png", "/good.png"),
            "/page.png": page(title="not a picture"),
            "/lie.png": picture(b"<html>says that it is a picture</html>"),
            "/large.png": picture(png(1, 1, b"\0" * 5000)),
            "/good.png": picture(png(2**32 - 1, 2**32 - 1)),
            "/secret/a.png": picture(png()),
        },
        robots="User-agent: *\nDisallow: /secret/\n",
    )
    summary = crawled(place, site, "--max-image-bytes", 2000)
    assert (summary["pages"], summary["errors"]) == (1, 0)
    assert (summary["images_found"], summary["images_stored"], summary["images_failed"]) == (5, 1, 4)
    asked = {row["url"].removeprefix(site.url("")): row for row in place.rows("SELECT * FROM image_urls")}
    assert {url: (row["status"], (row["error"] or "").partition(":")[0]) for url, row in asked.items()} == {
        "/missing.png": (404, "http_404"),
        "/page.png": (200, "wrong_type"),
        "/lie.png": (200, "not_an_image"),
        "/large.png": (200, "too_large"),
        "/good.png": (200, ""),
    }
    (good,) = kept(place).values()
    assert (good["format"], good["width"], good["height"]) == ("png", None, None), "nobody believes that size"
    assert "/secret/a.png" not in site.paths
    told = place.comity("why", site.url("/lie.png"), "--json").json
    assert told["code"] == "image_failed"
    assert "not_an_image" in told["decision"]
    (denied,) = place.evidence(site.url("/secret/a.png"))
    assert denied["type"] == "blocked_by_robots"
    row = place.host(site.host)
    assert (row["status"], row["total_error_count"], row["frontier_size"]) == ("exhausted", 0, 0)
    assert place.rows("SELECT * FROM image_sightings") == []
    assert place.comity("verify-politeness").code == 0


def test_other_hosts_and_takedowns_and_pages_that_ask_for_it_are_left_alone(web: Web, place: Place) -> None:
    other = web.site({"/x.png": picture(png())})
    site = web.site(
        {
            "/": shows(other.url("/x.png"), "/down.png", links=("/shy", "/unlisted")),
            "/shy": shows("/shy.png", head="<meta name=robots content=noimageindex>"),
            "/unlisted": shows("/unlisted.png", head="<meta name=robots content=noindex>"),
            "/down.png": picture(png()),
        }
    )
    place.comity("takedown", "add", site.url("/down.png"))
    assert crawled(place, site)["images_found"] == 0
    assert sorted(site.pages()) == ["/", "/shy", "/unlisted"]
    assert other.log == []


def test_a_redirected_image_is_kept_and_one_that_fails_is_tried_again(web: Web, place: Place) -> None:
    site = web.site(
        {
            "/": shows("/old.png", "/weak.png"),
            "/old.png": Answer(302, headers={"Location": "/new.png"}),
            "/new.png": picture(png(2, 2)),
            "/weak.png": lambda asked: Answer(500) if asked.count == 1 else picture(png(4, 4)),
        }
    )
    assert crawled(place, site)["images_stored"] == 2
    assert len(site.of("/weak.png")) == 2
    assert {url.removeprefix(site.url("")) for url in kept(place)} == {"/old.png", "/weak.png"}


def test_images_for_a_site_that_was_crawled_without_them(web: Web, place: Place) -> None:
    """A refresh looks for them: pages whose images nobody looked for are asked for without a condition."""
    site = web.site(
        {
            "/": Answer(body=shows("/a.png", links=("/a.png", "/b")), etag='"1"'),
            "/b": Answer(body=page(), etag='"2"'),
            "/a.png": picture(png(), etag='"a"'),
        }
    )
    assert place.comity("crawl", site.url()).code == 0
    assert len(site.of("/a.png")) == 1, "as a page, which it is not"
    summary = crawled(place, site, "--refresh")
    assert (summary["images_stored"], summary["unchanged"]) == (1, 2)
    assert where(place, site) == {("/a.png", "/", "refresh")}
    site.log.clear()
    place.execute("UPDATE images SET last_seen_at = '2020-01-01 00:00:00.000000'")
    summary = crawled(place, site, "--refresh")
    assert (summary["pages"], summary["unchanged"], summary["images_stored"]) == (2, 2, 0)
    conditions = {seen.path: seen.headers.get("if-none-match") for seen in site.log}
    assert conditions == {"/": '"1"', "/b": '"2"', "/a.png": '"a"'}
    (row,) = kept(place).values()
    assert row["last_seen_at"] > "2026"
    assert row["first_seen_at"] < row["last_seen_at"]
    host = place.host(site.host)
    assert (host["images_found"], host["images_stored"]) == (1, 1), "a page that is asked for again shows no more"


def test_a_page_that_markup_calls_an_image_stays_a_page(web: Web, place: Place) -> None:
    """As with src="#" before a script has run, or with og:image naming the site itself."""
    routes = {
        "/": shows("#", links=("/a", "/b")),
        "/a": shows("/", "/b", links=("/c",)),
        "/b": page(),
        "/c": shows("/", "/b"),
    }
    site = web.site(routes)
    crawled(place, site)
    assert sorted(site.pages()) == sorted(routes), "each once"
    for options in (["--refresh", "--images"], ["--refresh"]):
        site.log.clear()
        assert place.comity("crawl", site.url(), *options).code == 0
        assert sorted(site.pages()) == sorted(routes)


def test_a_page_that_was_met_as_an_image_first_is_crawled_as_soon_as_something_links_to_it(
    web: Web, place: Place
) -> None:
    routes = {
        "/": shows("/both", "/here.png", "/never", links=("/a", "/here.png")),
        "/a": page("/both"),
        "/both": page("/behind"),
        "/behind": page(),
        "/never": page("/unseen"),
        "/here.png": picture(png()),
    }
    site = web.site(routes)
    summary = crawled(place, site)
    assert (summary["pages"], summary["images_stored"]) == (4, 1)
    asked = Counter(site.pages())
    assert (asked["/both"], asked["/behind"], asked["/here.png"]) == (2, 1, 1)
    assert "/unseen" not in asked, "what only an image leads to is no page"
    assert place.host(site.host)["status"] == "exhausted"
    assert set(place.frontier(site.host).values()) == {DONE}


def test_a_refresh_without_images_leaves_them_and_sees_them_again_all_the_same(web: Web, place: Place) -> None:
    site = web.site({"/": Answer(body=shows("/a.png"), etag='"1"'), "/a.png": picture(png())})
    crawled(place, site)
    place.execute("UPDATE images SET last_seen_at = '2020-01-01 00:00:00.000000'")
    assert place.comity("crawl", site.url(), "--refresh").code == 0
    assert len(site.of("/a.png")) == 1
    assert kept(place)[site.url("/a.png")]["last_seen_at"] > "2026"


def test_an_image_that_changed_is_another_one_on_the_same_pages(web: Web, place: Place) -> None:
    site = web.site({"/": Answer(body=shows("/a.png"), etag='"1"'), "/a.png": picture(png(), etag='"a"')})
    crawled(place, site)
    site.routes["/a.png"] = picture(png(7, 7), etag='"b"')
    assert crawled(place, site, "--refresh")["images_stored"] == 1
    rows = place.rows("SELECT width, discovery_type FROM provenance JOIN images ON images.id = image_id ORDER BY width")
    assert [tuple(row.values()) for row in rows] == [(3, "discovery"), (7, "refresh")]
    assert len(files(place)) == 2


def test_an_image_that_robots_closes_while_it_waits_is_not_asked_for(web: Web, place: Place) -> None:
    site = web.site({"/": shows("/a.png", links=("/b",)), "/b": page(), "/a.png": picture(png())}, robots="")
    assert crawled(place, site, "--max-pages", 1)["images_stored"] == 0
    site.routes["/robots.txt"] = Answer(body="User-agent: *\nDisallow: /a.png\n", type="text/plain")
    place.execute("UPDATE robots_cache SET expires_at = '2020-01-01 00:00:00.000000'")
    crawled(place, site)
    assert sorted(site.pages()) == ["/", "/b"]
    assert place.rows("SELECT * FROM image_sightings") == []
    assert place.host(site.host)["status"] == "exhausted"


def test_folding_hosts_keeps_their_images(web: Web, place: Place) -> None:
    site = web.site({"/": shows("/a.png"), "/a.png": picture(png())})
    crawled(place, site)
    place.execute("UPDATE domains SET domain = 'WWW.old.example'")
    place.execute("UPDATE provenance SET source_domain = 'WWW.old.example'")
    place.comity("seeds", "add", "https://old.example/")
    told = place.comity("domains", "merge", "--json")
    assert told.code == 0, told.err
    row = place.host("old.example")
    (found,) = place.rows("SELECT * FROM provenance")
    (address,) = place.rows("SELECT * FROM image_urls")
    assert (found["source_domain"], found["domain_id"], address["domain_id"]) == ("old.example", row["id"], row["id"])
    assert row["images_stored"] == 1


def test_images_lie_beside_a_file_of_pages(web: Web, place: Place) -> None:
    site = web.site({"/": shows("/a.png"), "/a.png": picture(png())})
    into = place.folder / "pages.jsonl"
    crawled(place, site, "--into", into)
    (row,) = kept(place).values()
    assert (place.folder / "pages.jsonl.files" / row["stored_path"]).read_bytes() == png()


def opened(place: Place, request: pytest.FixtureRequest, kind: str) -> Database:
    if kind == "sqlite":
        return open_database(str(place.state))
    place.env["COMITY_DATABASE_URL"] = url = request.getfixturevalue("migrated_postgres_url")
    return open_database(url)


@pytest.mark.roomy
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_killed_in_the_midst_of_it_nothing_is_lost_or_kept_twice(
    web: Web, place: Place, request: pytest.FixtureRequest, kind: str
) -> None:
    numbers = range(15)
    routes: dict[str, Any] = {f"/{number}.png": picture(png(1, number + 1)) for number in numbers}
    routes["/"] = shows(*(f"/{number}.png" for number in numbers), links=("/a",))
    routes["/a"] = shows(*(f"/{number}.png" for number in numbers), "/logo.png")
    site = web.site(routes | {"/logo.png": picture(png(1, 1))})  # the same content as the first
    database = opened(place, request, kind)
    command = ("crawl", site.url(), "--images", "--delay", "0.08")
    # In flight at each kill: what waits to be settled, on a busy machine a few.
    for wanted in (7, 15):
        with place.begun(*command) as process:
            wait_until(lambda wanted=wanted: len(site.log) >= wanted, 60, "requests")
            process.kill()
    told = place.comity_apart(*command)
    assert told.code == 0, told.err
    with database.read() as connection:
        rows = connection.execute(select(images)).all()
        pages = connection.execute(select(provenance)).all()
        waiting = connection.execute(select(image_sightings)).all()
        (host,) = connection.execute(text("SELECT * FROM domains")).all()
    database.close()
    assert sorted(row.height for row in rows) == [number + 1 for number in numbers]
    assert len(pages) == len({(row.page_key, row.image_id) for row in pages}) == 30
    assert waiting == []
    assert (host.images_found, host.images_stored, host.status) == (31, 15, "exhausted")
    assert {path.name for path in files(place) if path.parent.name != "tmp"} == {
        f"{row.content_hash}.png" for row in rows
    }
    assert sum(Counter(site.pages()).values()) <= 18 + 2 * 6


def test_several_processes_of_one_crawl_share_the_images(
    web: Web, place: Place, request: pytest.FixtureRequest
) -> None:
    """The same pictures on several hosts, met in different orders by writers that must not wait for each other."""
    sites = []
    for turn in range(6):
        order = [(number * (turn + 1)) % 7 for number in range(7)]
        routes: dict[str, Any] = {f"/{number}.png": picture(png(1, number + 1)) for number in range(7)}
        sites.append(web.site({"/": shows(*(f"/{number}.png" for number in order)), **routes}))
    database = opened(place, request, "postgresql")
    told = place.comity_apart("crawl", *(site.url() for site in sites), "--images", "--processes", "3", "--json")
    assert told.code == 0, told.err
    assert told.json["summary"]["images_stored"] == 42
    with database.read() as connection:
        assert len(connection.execute(select(images)).all()) == 7
        assert len(connection.execute(select(provenance)).all()) == 42
        assert connection.execute(text("SELECT DISTINCT state FROM domain_frontier")).scalars().all() == [DONE]
    database.close()
