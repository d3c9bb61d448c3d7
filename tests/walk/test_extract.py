"""Expressions in a crawl: their values are columns of every store, and survive kills and changes of mind."""

from __future__ import annotations

import csv
import gzip
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
from warcio.archiveiterator import ArchiveIterator

import comity
from comity.rules.expressions.parse import RESERVED_NAMES
from comity.store.formats.columns import NAMES as PAGE_NAMES
from tests.servers.waiting import wait_until
from tests.sizes import sized
from tests.walk.crawling import Place
from tests.walk.site import Answer, Site, Web, page

COLUMNS = (
    'price DECIMAL FROM css ".price::text" | parse_price',
    "jsonld.Product.name | trim AS name, stock INTEGER FROM js.shop.stock",
    "wide DECIMAL(30,5) FROM css '.wide::text'",
    "ratio DOUBLE FROM js.shop.ratio, big BIGINT FROM js.shop.big, new BOOLEAN FROM js.shop['new']",
    "day DATE FROM meta.date, at TIMESTAMP FROM meta.modified",
)
NAMES = ("price", "name", "stock", "wide", "ratio", "big", "new", "day", "at")
CUP = (
    Decimal("1299.00"), "Cup ☕", 7, Decimal("-1234567890123456789012.50000"), 0.5, 2**40, True, date(2026, 5, 1),
    datetime(2026, 5, 1, 8, 30, 0, 250000),  # noqa: DTZ001  # the column has no zone
)  # fmt: skip
NOTHING = (None,) * len(NAMES)


def shop(web: Web) -> Site:
    head = (
        '<meta name=date content="1 May 2026"><meta name=modified content="2026-05-01T10:30:00.25+02:00">'
        '<script type="application/ld+json">{"@type": "Product", "name": " Cup ☕ "}</script>'
        "<script>var shop = {stock: 7, ratio: .5, big: 1099511627776, 'new': !0}</script>"
    )
    body = "<p class=price>1.299,00 €</p><p class=wide>-1234567890123456789012.5</p>"
    odd = "<p class=price>call us</p>"
    pages = {"/": page("/cup", "/odd", "/gone", "/plain"), "/cup": page(head=head, body=body), "/odd": page(body=odd)}
    return web.site(pages | {"/plain": Answer(body="x", type="text/plain"), "/gone": Answer(status=404)})


def crawl(place: Place, site: Site, *options: object, columns: tuple[str, ...] = COLUMNS) -> dict[str, Any]:
    told = place.comity(
        "--json", "crawl", site.url(), *(part for text in columns for part in ("--extract", text)), *options
    )
    assert told.code == 0, told
    return json.loads(told.out)["summary"]


def rows(place: Place, where: Path, names: tuple[str, ...] = NAMES) -> dict[str, tuple[Any, ...]]:
    """What each page has, by its path."""
    pages = comity.read_pages(where, state=place.state, errors=True)
    return {"/" + each.url.split("/", 3)[3]: tuple(each.extracted.get(name) for name in names) for each in pages}


def query(place: Place, where: Path, sql: str) -> list[dict[str, Any]]:
    told = place.comity_apart("pages", "query", sql, "--pages", where, "--into-format", "jsonl")
    assert told.code == 0, told
    return [json.loads(line) for line in told.out.splitlines()]


EXPECTED = {"/": NOTHING, "/cup": CUP, "/odd": NOTHING, "/plain": NOTHING, "/gone": NOTHING}


STORES = (
    "kept",
    "kept.duckdb",
    "kept.jsonl",
    "kept.jsonl.gz",
    "folder.jsonl/",
    "kept.csv",
    "kept.csv.gz",
    "folder.csv/",
)


COPIES = ("copy.parquet", "copy.duckdb", "copy.jsonl", "copy.csv", "copy.csv.gz", "copies/")


@pytest.mark.parametrize("name", STORES)
def test_every_store_has_the_columns_and_their_types(web: Web, place: Place, name: str) -> None:
    site = shop(web)
    summary = crawl(place, site, "--into", f"{place.folder}/{name}")
    assert (summary["pages"], summary["unconverted"]) == (4, 1)
    where = place.folder / name
    assert rows(place, where) == EXPECTED
    kinds = query(place, where, "SELECT typeof(COLUMNS(* EXCLUDE (body))) FROM pages LIMIT 1")[0]
    expected = [
        "DECIMAL(18,2)",
        "VARCHAR",
        "INTEGER",
        "DECIMAL(30,5)",
        "DOUBLE",
        "BIGINT",
        "BOOLEAN",
        "DATE",
        "TIMESTAMP",
    ]
    assert [kinds[each] for each in NAMES] == expected
    # From the first store to all, and from each to one; all pairs at full size.
    number = STORES.index(name) % len(COPIES)
    for copy in sized(COPIES if name == STORES[0] else COPIES[number : number + 1], COPIES):
        told = place.comity("pages", "export", place.folder / copy, "--pages", where)
        assert told.code == 0, told
        assert rows(place, place.folder / copy) == EXPECTED
    assert query(place, where, "SELECT price, day FROM pages WHERE price > 1000") == [
        {"price": 1299.0, "day": "2026-05-01"}
    ]


def test_parquet_is_read_by_others(web: Web, place: Place) -> None:
    crawl(place, shop(web), "--into", place.folder / "kept")
    [part] = (place.folder / "kept").glob("part-*.parquet")
    table = pq.read_table(part)
    [cup] = [row for row in table.to_pylist() if row["url"].endswith("/cup")]
    assert tuple(cup[name] for name in NAMES) == CUP
    quoted = ", ".join(f'"{name}"' for name in NAMES)
    with duckdb.connect() as connection:
        found = connection.execute(f"SELECT {quoted} FROM '{part}' WHERE url LIKE '%/cup'").fetchone()
    assert found == CUP


def test_an_archive_has_a_record_of_what_was_extracted(web: Web, place: Place) -> None:
    crawl(place, shop(web), "--into", place.folder / "kept.warc.gz")
    found = {}
    with (place.folder / "kept.warc.gz").open("rb") as file:
        for record in ArchiveIterator(file):
            head = record.rec_headers
            if record.rec_type == "metadata" and head.get_header("Content-Type") == "application/json":
                found[head.get_header("WARC-Target-URI").rsplit("/", 1)[1]] = json.loads(record.content_stream().read())
                assert head.get_header("WARC-Concurrent-To")
    assert found["cup"] == {
        "price": 1299.0, "name": "Cup ☕", "stock": 7, "wide": "-1234567890123456789012.50000", "ratio": 0.5,
        "big": 2**40, "new": True, "day": "2026-05-01", "at": "2026-05-01T08:30:00.250000",
    }  # fmt: skip
    assert found["gone"] == dict.fromkeys(NAMES)


def test_csv_without_its_notes_has_the_columns_as_text(web: Web, place: Place) -> None:
    crawl(place, shop(web), "--into", place.folder / "kept.csv")
    moved = place.folder / "moved.csv"
    (place.folder / "kept.csv").rename(moved)
    assert rows(place, moved, ("price", "name", "new", "wide"))["/cup"] == (
        "1299.00",
        "Cup ☕",
        "true",
        "-1234567890123456789012.50000",
    )


def test_csv_without_its_notes_has_what_later_runs_extracted(web: Web, place: Place) -> None:
    site, where = shop(web), place.folder / "kept.csv"
    crawl(place, site, "--into", where, columns=("css '.price::text' AS Price",))
    crawl(
        place,
        site,
        "--into",
        where,
        "--refresh",
        columns=("css 'title::text' AS heading", "css '.price::text' AS price"),
    )
    _first_line, (first, second) = csv_of(where)
    assert (first["Price"], second["Price"]) == ("1.299,00 €", "1.299,00 €")
    (place.folder / "kept.csv.manifest.jsonl").unlink()
    statement = "SELECT price, heading IS NULL AS h FROM pages WHERE url LIKE '%/cup' ORDER BY crawl_time"
    answer = place.comity("pages", "query", statement, "--pages", where, "--json")
    found = [tuple(row.values()) for row in json.loads(answer.out)["rows"]]
    assert found == [("1.299,00 €", True), ("1.299,00 €", False)]


@pytest.mark.parametrize("name", ["kept.csv", "kept.csv.gz"])
def test_csv_has_a_column_for_each_expression_and_keeps_its_first_line(web: Web, place: Place, name: str) -> None:
    """As any spreadsheet or script reads it, without us."""
    site, where = shop(web), place.folder / name
    names = ("name", "price")
    crawl(place, site, "--into", where, columns=("og.title AS name", "css '.price::text' AS price"))
    first_line, (cup,) = csv_of(where)
    assert first_line[-3:] == [*names, "extracted"]
    assert (cup["price"], cup["extracted"]) == ("1.299,00 €", "")
    crawl(
        place,
        site,
        "--into",
        where,
        "--refresh",
        columns=("css '.price::text' AS price", "css 'title::text' AS heading"),
    )
    assert csv_of(where)[0] == first_line
    later = csv_of(where)[1][1]
    assert (later["name"], later["price"]) == ("", "1.299,00 €")
    assert list(json.loads(later["extracted"])) == ["heading"]
    copy = place.folder / f"copy-{name}"
    assert place.comity("pages", "export", copy, "--pages", where).code == 0
    headings, cups = csv_of(copy)
    assert headings[-4:] == [*names, "heading", "extracted"]
    assert {each["extracted"] for each in cups} == {""}
    assert sorted(each["heading"] for each in cups) == sorted(["", json.loads(later["extracted"])["heading"]])


def csv_of(where: Path) -> tuple[list[str], list[dict[str, str]]]:
    """The first line of a file, and its rows of one page."""
    with gzip.open(where, "rt", newline="") if where.suffix == ".gz" else where.open(newline="") as file:
        reader = csv.DictReader(file, strict=True)
        found = [row for row in reader if row["url"].endswith("/cup")]
    return list(reader.fieldnames or ()), found


@pytest.mark.parametrize("name", ["kept", "kept.duckdb", "kept.jsonl", "kept.csv"])
def test_runs_with_other_columns_are_read_together(web: Web, place: Place, name: str) -> None:
    site, where = shop(web), place.folder / name
    crawl(place, site, "--into", f"{place.folder}/{name}", columns=())
    crawl(
        place,
        site,
        "--into",
        f"{place.folder}/{name}",
        "--refresh",
        columns=("price DECIMAL FROM css '.price::text' | parse_price",),
    )
    crawl(
        place,
        site,
        "--into",
        f"{place.folder}/{name}",
        "--refresh",
        columns=("css '.price::text' AS price", "og.title AS og"),
    )
    found = query(place, where, "SELECT price, og FROM pages WHERE url LIKE '%/cup' ORDER BY crawl_time")
    number = "1299.0" if name in ("kept.jsonl", "kept.csv") else "1299.00"  # a number of JSON has no scale
    assert [row["price"] for row in found] == [None, number, "1.299,00 €"]
    assert len(list(comity.read_pages(where, state=place.state))) == 12


def test_what_a_function_returns_is_stored_as_json(web: Web, place: Place) -> None:
    site = shop(web)

    def look(each: comity.FetchedPage) -> Any:
        if each.url.endswith("/odd"):
            return {"price": Decimal("1.5"), "at": datetime(2026, 5, 1, tzinfo=UTC), 3: {1}, "nan": float("nan")}
        return [each.title] if each.encoding else None

    options: dict[str, Any] = {"state": place.state, "delay": 0, "allow_networks": "127.0.0.0/8", "sitemaps": False}
    run = comity.crawl(
        site.url(), into=place.folder / "kept", extract=["og.title AS og_title", look, COLUMNS[0]], **options
    )
    found = {each.url.rsplit("/", 1)[1]: each for each in run}
    assert found["cup"].data == ["page"]
    assert found["cup"].extracted == {"og_title": None, "price": CUP[0]}
    stored = {each.url.rsplit("/", 1)[1]: each for each in comity.read_pages(place.folder / "kept", state=place.state)}
    assert stored["cup"].data == ["page"]
    assert stored["odd"].data == {"price": "1.5", "at": "2026-05-01 00:00:00+00:00", "3": [1], "nan": None}
    assert stored["plain"].data is None
    found_again = query(
        place, place.folder / "kept", "SELECT typeof(data) AS t, data->>0 AS d FROM pages WHERE url LIKE '%/cup'"
    )
    assert found_again == [{"t": "JSON", "d": "page"}]


def test_a_killed_crawl_keeps_what_it_extracted(web: Web, place: Place) -> None:
    """What waits on disk for its part has it too."""
    routes = {f"/{number}": page(f"/{number + 1}", body=f"<p class=price>€{number},50") for number in range(12)}
    site = web.site(routes | {"/": page("/0")}, robots="User-agent: *\nCrawl-delay: 0.1\n")
    options = ("crawl", site.url(), "--extract", COLUMNS[0], "--into", place.folder / "kept")
    with place.begun(*options) as process:
        wait_until(lambda: len(site.log) > 6, 60, "some pages")
        process.kill()
    assert place.comity_apart(*options).code == 0
    found = rows(place, place.folder / "kept", ("price",))
    assert {path: found[path] for path in routes} == {f"/{number}": (Decimal(f"{number}.50"),) for number in range(12)}


def test_pages_that_are_too_much_for_the_event_loop_are_evaluated_in_a_child(web: Web, place: Place) -> None:
    many = "<script>var shop = [" + "{a: 1}," * 20_000 + "{a: 2}]</script>"
    large = "<i>x</i>" * 3_000 + "<b class=price>2,50</b>"
    site = web.site({"/": page("/many", "/large"), "/many": page(head=many), "/large": page(body=large)})
    last = "last INTEGER FROM js.shop[20000].a"
    crawl(
        place, site, "--into", place.folder / "kept", columns=(COLUMNS[0], last, "xpath 'string(//title)' AS heading")
    )
    found = rows(place, place.folder / "kept", ("price", "last", "heading"))
    assert found == {
        "/": (None, None, "page"), "/many": (None, 2, "page"), "/large": (Decimal("2.50"), None, "page")
    }  # fmt: skip


def test_several_processes_extract_the_same(web: Web, place: Place) -> None:
    sites = [shop(web), web.site({"/": page(body="<p class=price>x")}, address="127.0.0.2")]
    told = place.comity_apart(
        *("--json", "crawl", *(site.url() for site in sites), "--processes", 2, "--extract", COLUMNS[0]), within_s=120
    )
    assert told.code == 0, told
    assert json.loads(told.out)["summary"]["unconverted"] == 2
    assert rows(place, place.pages, ("price",))["/cup"] == (CUP[0],)


def test_expressions_come_from_files_too(web: Web, place: Place) -> None:
    file = place.folder / "shop.columns"
    file.write_text(
        "-- of a shop\nprice DECIMAL FROM css '.price::text' | parse_price\njsonld.Product.name | trim AS name\n"
    )
    crawl(place, shop(web), columns=(str(file),))
    assert rows(place, place.pages, ("price", "name"))["/cup"] == (CUP[0], CUP[1])
    assert place.rows("SELECT settings FROM crawl_runs")[0]["settings"].count("parse_price") == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "x DECMAL FROM og.title",
            "--extract: “x DECMAL FROM og.title”, column 3: “DECMAL” is not a known type; did you",
        ),
        ("og.url", "--extract: “og.url”, column 1: “url” is a column of every page; choose another name with AS"),
        ("missing.txt", "--extract: there is no file missing.txt; an expression is written as: price DECIMAL FROM css"),
        ("@missing.txt", "--extract: cannot read missing.txt: No such file or directory"),
    ],
)
def test_a_mistake_is_told_before_anything_is_asked_for(web: Web, place: Place, text: str, message: str) -> None:
    site = shop(web)
    told = place.comity("crawl", site.url(), "--extract", text)
    assert told.code == 2
    assert message in " ".join(told.err.split())
    assert site.log == []
    with pytest.raises(comity.BadInput, match="extract: "):
        comity.crawl(site.url(), extract=text)


def test_two_options_cannot_make_one_column(web: Web, place: Place) -> None:
    told = place.comity("crawl", shop(web).url(), "--extract", "og.title AS a", "--extract", "meta.title AS A")
    assert (told.code, "there are two columns “A”" in told.err) == (2, True)


def test_the_names_of_page_columns_are_reserved() -> None:
    assert set(PAGE_NAMES) <= set(RESERVED_NAMES)


def test_the_setting_names_a_file_too(web: Web, place: Place) -> None:
    site = web.site({"/": page(title="A")})
    file = place.folder / "columns.txt"
    file.write_text("css 'title::text' AS heading  -- the title\n")
    for written in (str(file), f"@{file}"):
        place.env["COMITY_EXTRACT"] = written
        assert place.comity("crawl", site.url(), "--refresh", "--into", place.folder / "a.jsonl").code == 0
    lines = (place.folder / "a.jsonl").read_text().splitlines()
    assert [json.loads(line)["heading"] for line in lines] == ["A", "A"]
    place.env["COMITY_EXTRACT"] = "@nowhere.txt"
    told = place.comity("crawl", site.url())
    assert (told.code, told.err) == (2, "comity: COMITY_EXTRACT: cannot read nowhere.txt: No such file or directory\n")


def unchanging(web: Web) -> Site:
    """Pages that are answered with 304 to anyone who has them."""
    pages = {path: Answer(body=body, etag='"1"') for path, body in (("/", page("/a")), ("/a", page(title="A")))}
    return web.site(pages)


def conditional(site: Site, since: int) -> list[bool]:
    """Which of the requests for pages since then had conditions."""
    return ["if-none-match" in seen.headers for seen in site.log[since:] if seen.path != "/robots.txt"]


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ((), ("--extract", "css 'title::text' AS heading")),
        ((), ("--text",)),
        (("--text",), ("--text", "--markdown")),
        (("--extract", "meta.title AS heading"), ("--extract", "css 'title::text' AS heading")),
    ],
    ids=["expressions", "text", "more", "changed"],
)
def test_pages_without_the_new_columns_are_requested_without_conditions_once(
    web: Web, place: Place, first: tuple[str, ...], then: tuple[str, ...]
) -> None:
    site = unchanging(web)
    assert place.comity("crawl", site.url(), *first).code == 0
    told = place.comity("crawl", site.url(), *then)
    assert "--refresh` reads all its pages again, for the columns that they do not have yet" in told.out, told.out
    since = len(site.log)
    assert place.comity("crawl", site.url(), *then, "--refresh").code == 0
    assert conditional(site, since) == [False, False]
    since = len(site.log)
    assert place.comity("crawl", site.url(), *then, "--refresh").code == 0
    assert conditional(site, since) == [True, True], "they have them now"
    since = len(site.log)
    assert place.comity("crawl", site.url(), "--refresh").code == 0
    assert conditional(site, since) == [True, True], "a crawl without columns needs none"
    since = len(site.log)
    told = place.comity("crawl", site.url(), *then)
    assert "--refresh` fetches what changed" in told.out, told.out
    assert place.comity("crawl", site.url(), *then, "--refresh").code == 0
    assert conditional(site, since) == [True, True], "an unchanged page keeps its columns"
