"""CRAWL on a DuckDB connection, over loopback: what is asked for, what the table has, and what happens again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import comity
from comity.doors.sql import SqlConnection
from comity.model.errors import BadInput
from comity.store.formats import parquet
from comity.store.formats.gzip_bodies import member_with_prefix
from tests.walk.site import Answer, Web, page, redirect, tree

WITH = "WITH (user_agent 'TestBot/1.0 (+https://example.org/bot)', default_crawl_delay 0"


@pytest.fixture
def web() -> Iterator[Web]:
    with Web() as web:
        yield web


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[SqlConnection]:
    with opened(tmp_path) as connection:
        yield connection


def opened(folder: Path) -> SqlConnection:
    return comity.sql.connect(folder / "web.duckdb", allow_networks=["127.0.0.0/8"], contact="bot@example.org")


def rows(connection: SqlConnection, statement: str) -> list[Any]:
    return list(connection.execute(statement).fetchall())


def test_urls_of_a_query_become_rows(web: Web, connection: SqlConnection) -> None:
    site = web.site(
        {
            "/a": Answer(body=page(title="one"), etag='"x"'),
            "/moved": redirect("/a"),
            "/gone": Answer(410),
        },
        robots="User-agent: *\nDisallow: /private",
    )
    connection.execute("CREATE TABLE urls (url VARCHAR)")
    wanted = [[site.url(path)] for path in ("/a", "/moved", "/gone", "/private/x")]
    connection.executemany("INSERT INTO urls VALUES (?)", wanted)
    (summary,) = connection.execute(f"CRAWL (SELECT url FROM urls) INTO pages {WITH})").fetchall()
    assert summary[:3] == (2, 1, 1)
    found = {
        row[0]: row[1:] for row in rows(connection, "SELECT url, http_status, error_type, redirect_count FROM pages")
    }
    assert found == {
        site.url("/a"): (200, None, 0),
        site.url("/moved"): (200, None, 1),
        site.url("/gone"): (410, "http_client_error", 0),
        site.url("/private/x"): (-1, "robots_disallowed", None),
    }
    ((body, etag, surt, elapsed),) = rows(
        connection, f"SELECT body, etag, surt_key, elapsed_ms FROM pages WHERE url = '{site.url('/a')}'"
    )
    assert ("one" in body, etag, surt.endswith(")/a"), elapsed >= 0) == (True, '"x"', True, True)
    assert sorted(site.pages()) == ["/a", "/a", "/gone", "/moved"]


def test_pages_in_gzip_are_compressed_again_for_a_table_that_reads_them_at_once(
    web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[bytes] = []

    def note(member: bytes, body: bytes, prefix: bytes) -> bytes:
        kept.append(body)
        return member_with_prefix(member, body, prefix)

    monkeypatch.setattr(parquet, "member_with_prefix", note)
    monkeypatch.setenv("COMITY_PAGES_COMPRESSION", "gzip")
    site = web.site({"/": Answer(body=page(title="small"), is_gzipped=True)})
    with opened(tmp_path) as connection:
        connection.execute(f"CRAWL (SELECT '{site.url('/')}') INTO pages {WITH})")
        assert rows(connection, "SELECT body FROM pages") == [(page(title="small"),)]
    assert kept == []


def test_a_filter_decides_before_anything_is_asked_for(web: Web, connection: SqlConnection) -> None:
    site = web.site(tree(13))
    connection.execute(
        f"CRAWL (SELECT '{site.url('/')}') INTO pages WHERE url NOT LIKE '%/p1' {WITH}, follow_links true)"
    )
    assert "/p1" not in site.pages()
    assert connection.summary is not None
    assert connection.summary.left_out == 1
    assert rows(connection, "SELECT count(*) FROM pages") == [(9,)]


def test_a_limit_counts_pages(web: Web, connection: SqlConnection) -> None:
    site = web.site(tree(13))
    connection.execute(f"CRAWL (SELECT '{site.url('/')}') INTO pages {WITH}, follow_links true) LIMIT 4")
    assert rows(connection, "SELECT count(*) FROM pages") == [(4,)]


def test_columns_are_extracted_with_their_types(web: Web, connection: SqlConnection) -> None:
    site = web.site({"/p": page(body='<b class="price">EUR 1,234.50</b><h1> Lamp </h1>')})
    connection.execute(
        f"""CRAWL (SELECT '{site.url("/p")}') INTO shop.main.products
        EXTRACT (price DECIMAL(10,2) FROM css '.price::text' | parse_price, css 'h1::text' | trim AS name)
        {WITH})""".replace("shop.main.", "")
    )
    ((price, name),) = rows(connection, "SELECT price, name FROM products")
    assert (str(price), name) == ("1234.50", "Lamp")


def test_sitemaps_of_a_site_and_a_sitemap_by_its_address(web: Web, connection: SqlConnection) -> None:
    site = web.site({"/": page(), "/a": page(), "/b": page(), "/c": page()})
    for name, paths in (("/sitemap.xml", "ab"), ("/other-sitemap.xml", "c")):
        listed = "".join(f"<url><loc>{site.url(f'/{path}')}</loc></url>" for path in paths)
        site.routes[name] = Answer(body=f"<urlset>{listed}</urlset>", type="application/xml")
    connection.execute(f"CRAWL (SELECT '{site.url('/')}') INTO site {WITH})")
    assert {row[0] for row in rows(connection, "SELECT url FROM site")} == {
        site.url(path) for path in ("/", "/a", "/b")
    }
    site.log.clear()
    connection.execute(f"CRAWL (SELECT '{site.url('/other-sitemap.xml')}') INTO listed {WITH})")
    assert rows(connection, "SELECT url FROM listed") == [(site.url("/c"),)]
    assert "/sitemap.xml" not in site.paths


def test_the_same_statement_again_asks_only_for_what_the_table_lacks(web: Web, tmp_path: Path) -> None:
    site = web.site({"/a": page(), "/b": page()})
    statement = f"CRAWL (SELECT unnest(['{site.url('/a')}', '{site.url('/b')}'])) INTO pages {WITH})"
    with opened(tmp_path) as connection:
        connection.execute(statement)
    with opened(tmp_path) as connection:
        connection.execute("DELETE FROM pages WHERE url LIKE '%/b'")
        connection.execute(statement)
        assert rows(connection, "SELECT count(*) FROM pages") == [(2,)]
    assert site.pages() == ["/a", "/b", "/b"]


def test_statements_around_it_go_to_duckdb(web: Web, connection: SqlConnection) -> None:
    site = web.site({"/a": page()})
    crawl = f"CRAWL (SELECT '{site.url('/a')}') INTO pages {WITH})"
    found = connection.execute(f"CREATE TABLE t AS SELECT 'x' AS url; {crawl}; SELECT count(*) FROM pages")
    assert found.fetchall() == [(1,)]
    assert connection.sql("SELECT 'CRAWL (SELECT 1) INTO x' AS said").fetchall() == [("CRAWL (SELECT 1) INTO x",)]


def test_parameters_belong_to_the_query(web: Web, connection: SqlConnection) -> None:
    site = web.site({"/a": page()})
    connection.execute(f"CRAWL (SELECT ?) INTO pages {WITH})", [site.url("/a")])
    assert rows(connection, "SELECT url FROM pages") == [(site.url("/a"),)]


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("CRAWL (SELECT 'x.example') INTO pages WITH (user_agnet 'x')", "did you mean user_agent"),
        (
            "CRAWL (SELECT 'x.example') INTO pages WITH (respect_robots_txt false)",
            "robots.txt of x.example is always obeyed",
        ),
        ("CRAWL (SELECT 'x.example') INTO pages WHERE nosuch = 1", "a filter may name the column url"),
        ("CRAWL (SELECT 'x.example') INTO pages EXTRACT (price FROM cs '.x')", "EXTRACT"),
        ("CRAWL (SELECT 'x.example') INTO clash", "column http_status of clash is VARCHAR"),
        ("SET crawler_user_agnet = 'x'", "did you mean crawler_user_agent"),
        ("SELECT 1; CRAWL oops", "line 1, column 17"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_asked_for(
    connection: SqlConnection, statement: str, sentence: str
) -> None:
    connection.execute("CREATE TABLE clash (url VARCHAR, surt_key VARCHAR, http_status VARCHAR)")
    with pytest.raises(BadInput, match=sentence):
        connection.execute(statement)


def test_a_table_of_the_users_own_is_upserted_by_url(web: Web, connection: SqlConnection) -> None:
    site = web.site({"/a": page(title="new")})
    connection.execute(f"CRAWL (SELECT '{site.url('/a')}') INTO made {WITH})")
    connection.execute(
        "CREATE TABLE own AS SELECT *, 7 AS mine FROM made; UPDATE own SET error = 'http_500', body = 'old'"
    )
    connection.execute(f"CRAWL (SELECT '{site.url('/a')}') INTO own {WITH})")
    ((count, body, mine),) = rows(connection, "SELECT count(*) OVER (), body, mine FROM own")
    assert (count, "new" in body, mine) == (1, True, 7)
