"""`crawl --links --headers`: what became of each link, and every answer with its times, in every store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
from warcio.archiveiterator import ArchiveIterator

from comity.model.page import ANSWER_COLUMNS, LINK_COLUMNS
from comity.store.reading import find_sources, open_reader
from tests.walk.crawling import Place
from tests.walk.site import Answer, Site, Web, page, redirect

DETAILS = (*LINK_COLUMNS, *ANSWER_COLUMNS)
ROBOTS = "User-agent: *\nDisallow: /admin\n"


def shop(web: Web) -> Site:
    body = (
        "<nav><a href=/a>A</a><a href=/admin/x>Admin</a></nav><main><a href=/moved>Moved</a> "
        "<a href=https://other.example/>Other</a><a href=mailto:a@b.example>Mail</a><a rel=nofollow href=/nf>No</a>"
        "<a href=/gone>Gone</a><a href=/left/out>Left</a></main><footer><a href=/a>A again</a></footer>"
    )
    cookie = {"Set-Cookie": "session=secret; Path=/; HttpOnly", "X-Test": "1"}
    routes = {
        "/": Answer(body=page(body=body), headers=cookie),
        "/a": Answer(body=page("/"), is_gzipped=True),
        "/moved": redirect("/a", 301),
        "/gone": Answer(404, body="nothing here"),
    }
    return web.site(routes, robots=ROBOTS)


def crawl(place: Place, site: Site, *options: object) -> None:
    told = place.comity("crawl", site.url(), "--links", "--headers", *options)
    assert told.code == 0, told


def by_path(rows: list[dict[str, Any]], site: Site) -> dict[str, dict[str, Any]]:
    return {row["url"].removeprefix(site.url("")): row for row in rows}


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def check(found: dict[str, dict[str, Any]], site: Site) -> None:
    start = found["/"]
    assert [(link["url"], link["text"], link["region"], link["outcome"]) for link in start["links"]] == [
        (site.url("/a"), "A", "nav", "followed"),
        (site.url("/admin/x"), "Admin", "nav", "blocked_by_robots"),
        (site.url("/moved"), "Moved", "main", "followed"),
        ("https://other.example/", "Other", "main", "off_site"),
        ("mailto:a@b.example", "Mail", "main", "not_web"),
        (site.url("/nf"), "No", "main", "nofollow"),
        (site.url("/gone"), "Gone", "main", "followed"),
        (site.url("/left/out"), "Left", "main", "left_out"),
        (site.url("/a"), "A again", "footer", "followed"),
    ]
    headers = dict(start["headers"])
    assert headers["x-test"] == "1"
    assert headers["set-cookie"] == "session=…; Path=/; HttpOnly"
    assert [(hop["url"], hop["status"], hop["location"]) for hop in found["/moved"]["hops"]] == [
        (site.url("/moved"), 301, site.url("/a")),
        (site.url("/a"), 200, None),
    ]
    assert (found["/gone"]["hops"][0]["status"], found["/gone"]["links"]) == (404, None)
    small = found["/a"]
    assert small["wire_bytes"] > 0
    assert small["body_size"] == len(page("/"))
    for row in found.values():
        assert 0 < row["first_byte_ms"] <= row["elapsed_ms"] < 60_000


def test_json_lines_have_links_and_answers(place: Place, web: Web) -> None:
    site, target = shop(web), place.folder / "p.jsonl"
    crawl(place, site, "--into", target, "--exclude", "/left/")
    check(by_path(read_lines(target), site), site)


@pytest.mark.parametrize("target", ["pages", "p.duckdb", "p.csv"])
def test_other_stores_have_them_as_columns(place: Place, web: Web, target: str) -> None:
    site = shop(web)
    crawl(place, site, "--into", place.folder / target, "--exclude", "/left/")
    query = f"SELECT url, {', '.join(DETAILS)} FROM pages"  # our own names
    with open_reader(find_sources(place.folder / target)) as reader:
        rows = [dict(zip(("url", *DETAILS), row, strict=True)) for row in reader.rows(query)]
    for row in rows:
        for name in ("links", "headers", "hops"):
            row[name] = json.loads(row[name]) if row[name] is not None else None
    check(by_path(rows, site), site)


def test_an_archive_has_them_in_a_record_beside_the_page(place: Place, web: Web) -> None:
    site, target = shop(web), place.folder / "p.warc"
    crawl(place, site, "--into", target, "--exclude", "/left/")
    found = []
    with target.open("rb") as file:
        for record in ArchiveIterator(file):
            if record.content_type == "application/json":
                url = record.rec_headers.get_header("WARC-Target-URI")
                found.append({"url": url, **json.loads(record.content_stream().read())})
    check(by_path(found, site), site)


def test_a_plain_crawl_has_no_such_columns(place: Place, web: Web) -> None:
    site = shop(web)
    assert place.comity("crawl", site.url()).code == 0
    assert not set(DETAILS) & set(place.parts()[0])


@pytest.mark.parametrize(("option", "there"), [("--links", LINK_COLUMNS), ("--headers", ANSWER_COLUMNS)])
def test_each_can_be_asked_for_alone(place: Place, web: Web, option: str, there: tuple[str, ...]) -> None:
    site = shop(web)
    assert place.comity("crawl", site.url(), option).code == 0
    assert set(DETAILS) & set(place.parts()[0]) == set(there)


def test_columns_of_expressions_come_beside_them_and_must_have_other_names(place: Place, web: Web) -> None:
    site, target = shop(web), place.folder / "p.jsonl"
    crawl(place, site, "--into", target, "--extract", "first FROM css 'a::text'")
    found = by_path(read_lines(target), site)
    assert (found["/"]["first"], len(found["/"]["links"])) == ("A", 9)
    told = place.comity("crawl", site.url(), "--links", "--extract", "links FROM css 'a::text'")
    assert told.code == 2
    assert "“links” stores details of pages" in told.err


def test_a_trap_and_what_lies_too_deep_are_named(place: Place, web: Web) -> None:
    long = "/x" * 70
    site, target = web.site({"/": page("/a", long), "/a": page("/b", "/a"), "/b": page()}), place.folder / "p.jsonl"
    crawl(place, site, "--into", target, "--max-depth", 1)
    found = by_path(read_lines(target), site)
    assert [link["outcome"] for link in found["/"]["links"]] == ["followed", "trap"]
    assert [link["outcome"] for link in found["/a"]["links"]] == ["too_deep", "followed"]


def test_a_page_that_asks_not_to_be_followed_says_so_of_each_link(place: Place, web: Web) -> None:
    head = "<meta name=robots content='noindex, nofollow'>"
    site, target = web.site({"/": page("/a", "https://o.example/", head=head)}), place.folder / "p.jsonl"
    crawl(place, site, "--into", target)
    (row,) = read_lines(target)
    assert [link["outcome"] for link in row["links"]] == ["nofollow", "off_site"]
    assert (row["error"], row["body"]) == ("noindex", None)


def test_the_same_is_read_in_a_child_process(place: Place, web: Web) -> None:
    many = "".join(f"<p><a href=/{number}>link {number}</a></p>" for number in range(2000))
    site, target = web.site({"/": page(body=many)}), place.folder / "p.jsonl"
    crawl(place, site, "--into", target, "--max-depth", 0)
    (row,) = read_lines(target)
    assert len(row["links"]) == 2000
    assert row["links"][-1] | {"url": ""} == {
        "url": "", "text": "link 1999", "rel": [], "region": "body", "outcome": "too_deep",
    }  # fmt: skip


def test_parquet_holds_json_and_numbers(place: Place, web: Web) -> None:
    site = shop(web)
    crawl(place, site)
    parts = [str(path) for path in place.pages.glob("part-*.parquet")]
    connection = duckdb.connect()
    kinds = dict(row[:2] for row in connection.execute("DESCRIBE SELECT * FROM read_parquet(?)", [parts]).fetchall())
    assert {name: kinds[name] for name in DETAILS} == {
        "links": "JSON", "headers": "JSON", "hops": "JSON", "first_byte_ms": "DOUBLE", "elapsed_ms": "DOUBLE",
        "wire_bytes": "BIGINT", "body_size": "BIGINT",
    }  # fmt: skip
    connection.close()
