"""Functions of SQL: on HTML, and those that request pages, alone, in lateral joins and in MERGE."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from comity.doors.sql import SqlConnection
from comity.model.errors import BadInput, ComityError
from tests.doors.sql.test_crawl_statement import opened, rows
from tests.servers.ports import closed_port
from tests.walk.site import Answer, Web, page

LD = '<script type="application/ld+json">{"@type":"Product","name":"Lamp","offers":[{"price":"9.50"}]}</script>'


@pytest.fixture
def web() -> Iterator[Web]:
    with Web() as web:
        yield web


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[SqlConnection]:
    with opened(tmp_path) as connection:
        connection.execute("SET crawler_default_delay = 0; SET crawler_user_agent = 'TestBot/1.0'")
        yield connection


@pytest.mark.parametrize(
    ("call", "value"),
    [
        ("jq('<p class=a>x  <b>y</b></p>', '.a').text", "x y"),
        ("jq('<div><i>t</i></div>', 'div').html", "<i>t</i>"),
        ("jq('<a href=\"/x\" title=T>l</a>', 'a').attr['title']", "T"),
        ("jq('<a href=\"/x\">l</a>', 'a', 'href')", "/x"),
        ("jq('<p>', 'b').text", None),
        ("jq(NULL, 'b')", None),
        ("htmlpath('<p>5 €</p>', 'p@text')::VARCHAR", '"5 €"'),
        ("htmlpath('<b data-id=\"7\">', 'b@data-id')::VARCHAR", '"7"'),
        (f"htmlpath('{LD}', 'script[type=\"application/ld+json\"]@text.name')::VARCHAR", '"Lamp"'),
        (f"htmlpath('{LD}', 'script@text.Product.offers[0].price')::VARCHAR", '"9.50"'),
        ("htmlpath('<a href=x></a><a href=y></a>', 'a@href[*]')::VARCHAR", '["x", "y"]'),
        ("htmlpath('<p>', 'b@text')", None),
        ("htmlpath('<input value=''[{\"id\": 1}, {\"id\": 2}]''>', 'input@value[*]')->1->>'id'", "2"),
        ("htmlpath('<input value=''[{\"id\": 1}, {\"id\": 2}]''>', 'input@value[*].id')::VARCHAR", "[1, 2]"),
        ("htmlpath('<script>let a = {b: [5]}</script>', '@$a.b[0]')::VARCHAR", "5"),
        ("htmlpath('<script>let a = 1</script>', 'script@$none')", None),
        ("page_info('', 'http://e.example')::VARCHAR", "{}"),
        (f"page_info('<meta name=robots content=noindex>{LD}', 'x')->'schema'->0->>'type'", "Product"),
        ("page_info('<script>var a = [1, 2, 3]; const s = \"x\"</script>', 'x')->'js'->0->>'items'", "3"),
        ("(page_info('<a href=1></a><a href=2></a><table></table>', 'x')->>'links')::INTEGER", 2),
    ],
)
def test_functions_on_html(connection: SqlConnection, call: str, value: object) -> None:
    assert rows(connection, f"SELECT {call}") == [(value,)]


def test_pages_by_a_function_alone_and_in_a_lateral_join(web: Web, connection: SqlConnection) -> None:
    site = web.site({"/": page("/a", "/b"), "/a": page(title="A", head=LD), "/b": page(title="B")})
    listed = f"['{site.url('/a')}', '{site.url('/b')}', '{site.url('/none')}']"
    found = rows(connection, f"SELECT url, status, html.readability.title FROM crawl({listed}) ORDER BY url")
    assert found == [(site.url("/a"), 200, "A"), (site.url("/b"), 200, "B"), (site.url("/none"), 404, None)]
    assert rows(connection, f"SELECT html.schema['Product']->>'name' FROM crawl('{site.url('/a')}')") == [("Lamp",)]
    site.log.clear()
    twice = f"(VALUES ('{site.url('/a')}'), ('{site.url('/a')}')) AS t(u)"
    assert rows(connection, f"SELECT count(*) FROM {twice}, LATERAL crawl_url(t.u) AS c") == [(2,)]
    assert site.pages() == ["/a"]
    links = "LATERAL (SELECT unnest(htmlpath(home.body, 'a@href[*]')::VARCHAR[]) AS link)"
    joined = f"FROM crawl('{site.url('/')}') AS home, {links}, LATERAL crawl_url('{site.url('')}' || link) AS c"
    assert rows(connection, f"SELECT c.status, link {joined} ORDER BY link") == [(200, "/a"), (200, "/b")]


def test_a_sitemap_is_listed_and_none_of_its_pages_is_asked_for(web: Web, connection: SqlConnection) -> None:
    site = web.site({})
    entry = f"<url><loc>{site.url('/a')}</loc><lastmod>2024-01-02</lastmod><priority>0.9</priority></url>"
    site.routes["/map.xml"] = Answer(body=f"<urlset>{entry}</urlset>", type="application/xml")
    found = rows(connection, f"SELECT url, year(lastmod), priority FROM sitemap('{site.url('/map.xml')}')")
    assert found == [(site.url("/a"), 2024, 0.9)]
    assert site.pages() == ["/map.xml"]


def test_a_sitemap_of_a_host_that_cannot_be_reached_says_so(connection: SqlConnection) -> None:
    port = closed_port()
    with pytest.warns(UserWarning, match=rf"^127\.0\.0\.1:{port} was not crawled: connection_failure"):
        assert connection.execute(f"SELECT url FROM sitemap('http://127.0.0.1:{port}/')").fetchall() == []


def test_a_table_of_a_page_has_types(web: Web, connection: SqlConnection) -> None:
    cells = "<tr><th>Name</th><th>Opened/closed</th><th>Cost ($)</th></tr>"
    cells += "<tr><td rowspan=2>Tower[1]</td><td>1999</td><td>2.5</td></tr><tr><td>2001</td><td></td></tr>"
    site = web.site({"/t": page(body=f"<div id=x><table>{cells}</table></div>")})
    call = f"read_html('{site.url('/t')}', '#x')"
    assert rows(connection, f'SELECT typeof(Opened_closed), typeof("Cost__$_") FROM {call} LIMIT 1') == [
        ("BIGINT", "DOUBLE")
    ]
    assert rows(connection, f"SELECT * FROM {call}") == [("Tower", 1999, 2.5), ("Tower", 2001, None)]
    with pytest.raises(ComityError, match="has no table"):
        connection.execute(f"SELECT * FROM read_html('{site.url('/t')}', '.none')")
    for arguments in ("'x'", "'x', 'y', 0", "'x', 'y', other := 1", "unnest(['x', 'y']), 'table'", "NULL, 'table'"):
        with pytest.raises(BadInput, match="takes a URL, a selector"):
            connection.execute(f"SELECT * FROM read_html({arguments})")


def test_merge_with_the_crawl_done_first(web: Web, connection: SqlConnection) -> None:
    site = web.site({"/a": page(title="new")})
    connection.execute("CREATE TABLE kept (url VARCHAR PRIMARY KEY, status INTEGER, is_gone BOOLEAN DEFAULT false)")
    connection.execute(
        f"INSERT INTO kept VALUES ('{site.url('/a')}', 500, false), ('https://old.example/', 200, false)"
    )
    connection.execute(
        f"""CRAWLING MERGE INTO kept USING (SELECT url, status FROM crawl('{site.url("/a")}')) AS src
        ON (src.url = kept.url) WHEN MATCHED THEN UPDATE BY NAME WHEN NOT MATCHED THEN INSERT BY NAME
        WHEN NOT MATCHED BY SOURCE THEN UPDATE SET is_gone = true"""
    )
    assert sorted(rows(connection, "SELECT status, is_gone FROM kept")) == [(200, False), (200, True)]


def test_settings_of_ours_are_shown(connection: SqlConnection) -> None:
    connection.execute("SET crawler_timeout_ms = 2000")
    assert rows(connection, "SELECT current_setting('crawler_timeout_ms'), current_setting('crawler_user_agent')") == [
        (2000, "TestBot/1.0")
    ]
    connection.execute("RESET crawler_timeout_ms")
    assert rows(connection, "SELECT current_setting('crawler_timeout_ms')") == [(30000,)]
    assert rows(connection, "SELECT 'current_setting(''crawler_timeout_ms'')'") == [
        ("current_setting('crawler_timeout_ms')",)
    ]


def test_the_state_is_there_as_tables(web: Web, connection: SqlConnection) -> None:
    site = web.site({"/a": page()}, robots="User-agent: *\nDisallow: /x")
    assert rows(connection, "SELECT count(*) FROM comity.hosts") == [(0,)]
    assert rows(connection, "SELECT avg(duration_ms), max(crawled_at) - min(crawled_at) FROM comity.fetches") == [
        (None, None)
    ], "columns have their types also where nothing shows them"
    connection.execute(f"CRAWL (SELECT unnest(['{site.url('/a')}', '{site.url('/x')}'])) INTO pages")
    assert rows(connection, "SELECT domain, is_seeded FROM comity.hosts") == [(site.host, False)]
    assert rows(connection, "SELECT page_url, status FROM comity.fetches") == [(site.url("/a"), 200)]
    assert rows(connection, "SELECT count(*) FROM comity.evidence WHERE type = 'blocked_by_robots'") == [(1,)]
    named = ("frontier", "ledger", "robots", "runs")
    assert all(rows(connection, f"SELECT count(*) FROM comity.{name}")[0][0] for name in named)
    for change in ("DELETE FROM comity.hosts", "UPDATE comity.hosts SET status = 'x'", "DROP TABLE comity.hosts"):
        with pytest.raises(duckdb.Error, match=r"base table|type View"):
            connection.execute(change)
    assert rows(connection, "SELECT domain FROM comity.hosts") == [(site.host,)]


def test_columns_of_the_state_have_any_text(web: Web, connection: SqlConnection) -> None:
    robots = "User-agent: *\n" + "".join(f"Disallow: /{number}\"it's,\n" for number in range(20_000))
    site = web.site({"/a": Answer(body=page(), headers={"ETag": "17"})}, robots=robots)
    connection.execute(f"CRAWL (SELECT '{site.url('/a')}') INTO pages")
    found = rows(connection, "SELECT robots_txt FROM comity.robots")
    assert len(found[0][0]) > 300_000
    assert found[0][0] == robots[: len(found[0][0])]
    found = rows(
        connection, "SELECT etag, content->>'allowed' FROM comity.fetches JOIN comity.evidence USING (url_key)"
    )
    assert found == [("17", "true")]
