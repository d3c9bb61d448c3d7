"""Statements as users of the crawler extension for DuckDB write them, against a loopback web."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import comity
from comity.doors.sql import SqlConnection
from comity.doors.sql.session_settings import SessionSettings
from comity.model.errors import BadInput, ComityError
from comity.store.sql_table import SqlTable
from tests.walk.site import Answer, Site, Web, page

JOB = (
    '<script type="application/ld+json">{"@type":"JobPosting","title":"Engineer","hiringOrganization":{"name":"Acme"},'
    '"datePosted":"2026-01-02"}</script>'
)
POSTING = json.dumps(json.loads(JOB.partition(">")[2].removesuffix("</script>")), separators=(",", ":"))


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with Web() as web:
        found = web.site(
            {
                "/": page("/jobs/1"),
                "/jobs": page(body='<a class="job-link" href="/jobs/1">1</a><a class="job-link" href="/jobs/2">2</a>'),
                "/jobs/1": page(head=JOB, body='<h1 class="job-title">Engineer</h1><p data-job-id="7">x</p>'),
                "/jobs/2": page(head=JOB.replace("Engineer", "Cook")),
                "/lists": page(body="<ul class=l><li>one</li><li><b>two</b> more</li></ul><ol class=l><li>3</li></ol>"),
                "/two": page(
                    body="<table class=w><tr><th>A</th><th>A</th></tr><tr><td>1</td><td>2</td></tr></table>"
                    "<table class=w data-of='js=1'><tr><th>B</th><th>B</th></tr><tr><td>x</td><td>4</td></tr></table>"
                ),
                "/state": page(
                    body='<script id="__NEXT_DATA__" type="application/json">{"props":{"a":1}}</script>'
                    "<script>var jobs = [{id: 1}, {id: 2, name: 'b'}]; const config = {url: '/x'};"
                    "let sizes = [1.5, 2]; window.layer = [{page: 7}];</script>"
                ),
            }
        )
        for name in ("/sitemap.xml", "/map.xml"):
            listed = "".join(f"<url><loc>{found.url(path)}</loc></url>" for path in ("/jobs/1", "/jobs/2"))
            found.routes[name] = Answer(body=f"<urlset>{listed}</urlset>", type="application/xml")
        yield found


@pytest.fixture(scope="module")
def connection() -> Iterator[SqlConnection]:
    with comity.sql.connect(allow_networks=["127.0.0.0/8"], contact="bot@example.org") as opened:
        opened.execute("SET crawler_default_delay = 0; SET crawler_user_agent = 'TestBot/1.0'")
        yield opened


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT count(*) FROM crawl('{}/')", [(1,)]),
        ("SELECT status FROM crawl('{}/')", [(200,)]),
        ("SELECT count(*) FROM crawl(['{}/', '{}/jobs'])", [(2,)]),
        ("SELECT count(*) FROM crawl(['{}/', '{}/jobs'], 1)", [(1,)]),
        ("SELECT count(*) FROM (VALUES ('{}/'), ('{}/')) t(u), LATERAL crawl(t.u) c", [(2,)]),
        ("SELECT count(*) FROM crawl_url('{}/')", [(1,)]),
        ("SELECT count(*) FROM (VALUES ('{}/'), ('{}/')) t(u), LATERAL crawl_url(t.u) c", [(2,)]),
        ("SELECT count(*) FROM crawl('{}/', user_agent := 'Bot/1.0', timeout := 30, max_results := 50)", [(1,)]),
        ("SELECT count(*) FROM crawl('{}/') LIMIT 50", [(1,)]),
        ("SELECT count(*) FROM sitemap('{}/map.xml')", [(2,)]),
        ("SELECT count(*) FROM sitemap('{}/map.xml', recursive := false)", [(2,)]),
        ("SELECT url[-6:] FROM sitemap('{}/map.xml', filter := '%/jobs/1', timeout := 30)", [("jobs/1",)]),
        ("SELECT count(*) FROM sitemap('{}/', discover := true, max_depth := 3)", [(2,)]),
        ("SELECT count(*) FROM crawl(['{}/'], max_results := 10, respect_robots := true, workers := 4)", [(1,)]),
        ("SELECT count(*) FROM crawl('{}/', cache := true, cache_ttl := 1, batch_size := 10, max_depth := 1)", [(1,)]),
        ("SELECT count(*) FROM (VALUES ('{}/')) t(u), LATERAL crawl_url(t.u, 1) c", [(1,)]),
        (
            "SELECT c.status FROM (VALUES ('{}/')) t(u), LATERAL crawl_url(t.u, timeout := 15, cache := true) c",
            [(200,)],
        ),
        ("INSTALL crawler FROM community; LOAD crawler; SELECT status FROM crawl('{}/')", [(200,)]),
        ("LOAD 'build/release/extension/crawler/crawler.duckdb_extension'; SELECT 1", [(1,)]),
        ("SELECT jq('<div><b>Hi</b></div>', 'div').html", [("<b>Hi</b>",)]),
        ("SELECT jq('<a href=\"/x\" title=\"T\">y</a>', 'a').attr['title']", [("T",)]),
        ("SELECT htmlpath('<button data-product-id=\"12345\">Buy</button>', 'button@data-product-id')", [('"12345"',)]),
        ("SELECT json_array_length(json_keys(page_info('<h1>x</h1>', 'http://example.com')))", [(7,)]),
        ("SELECT page_info('', 'http://example.com')::VARCHAR", [("{}",)]),
        ("SELECT * FROM read_html('{}/two', 'table.w')", [(1, 2)]),
        ("SELECT * FROM read_html('{}/two', 'table.w', 1)", [(1, 2)]),
        ("SELECT * FROM read_html('{}/two', 'table.w', 2)", [("x", 4)]),
        ("SELECT * FROM read_html('{}/two', 'table.w', 2, timeout := 30, user_agent = 'Bot/1.0')", [("x", 4)]),
        (
            "SELECT id, typeof(id), name FROM read_html('{}/state', 'js=jobs')",
            [(1, "BIGINT", None), (2, "BIGINT", "b")],
        ),
        ("SELECT * FROM read_html('{}/lists', 'ul.l')", [("one",), ("two more",)]),
        ("SELECT value + 1 FROM read_html('{}/lists', '.l', 2)", [(4,)]),
        ("SELECT * FROM read_html('{}/state', 'script@js=config')", [("url", "/x")]),
        ("SELECT * FROM read_html('{}/state', 'js=sizes')", [(1.5,), (2.0,)]),
        ("SELECT * FROM read_html('{}/state', 'script#x.y@js=sizes')", [(1.5,), (2.0,)]),
        ("SELECT * FROM read_html('{}/two', 'table[data-of*=\"js=\"]')", [("x", 4)]),
        ("SELECT * FROM read_html('{}/two', 'table[data-of$=\"js=1\"]')", [("x", 4)]),
        (
            "SELECT count(column_name) = count(DISTINCT column_name) FROM "
            "(DESCRIBE SELECT * FROM read_html('{}/two', 'table.w', 2))",
            [(True,)],
        ),
        (
            "SELECT json_extract_string(c.html.schema['JobPosting'], '$.hiringOrganization.name'), "
            "jq(c.html.document, '[data-job-id]', 'data-job-id') FROM crawl(['{}/jobs/1']) AS c WHERE c.status = 200",
            [("Acme", "7")],
        ),
        ("SELECT map_keys(html.hydration) FROM crawl(['{}/state'])", [(["layer", "__NEXT_DATA__"],)]),
        ("SELECT c.html.js['jobs'][1]->>'name' FROM crawl_url('{}/state') c", [("b",)]),
        ("SELECT htmlpath(html.document, '@$jobs[*].id')::VARCHAR FROM crawl('{}/state')", [("[1, 2]",)]),
        ("SELECT html.js IS NULL, html.opengraph IS NULL FROM crawl('{}/jobs/2')", [(True, True)]),
        ("SELECT response_time_ms >= 0, depth, extract FROM crawl('{}/')", [(True, 1, None)]),
        ("SELECT status FROM crawl(['{}/'], user_agent = 'Bot/1.0', timeout=5)", [(200,)]),
        ("SELECT count(*) FROM crawl_stream(['{}/', '{}/jobs'], user_agent := 'Bot/1.0', crawl_delay := 0)", [(2,)]),
        (
            "SELECT status_code, content_length > 0, jsonld::JSON->'JobPosting'->>'title' "
            "FROM crawl_stream(['{}/jobs/1'])",
            [(200, True, "Engineer")],
        ),
        (
            "SELECT css_select('<a href=/x>y</a>', 'a', 'text'), css_select('<a href=/x>y</a>', 'a', 'href')",
            [("y", "/x")],
        ),
        (
            "SELECT extract->>'t', extract->>'id' FROM crawl('{}/jobs/1', extract := "
            '[\'t := $("h1.job-title")\', \'id := $("[data-job-id]").attr("data-job-id")\'])',
            [("Engineer", "7")],
        ),
        (
            "SELECT url[-5:], depth FROM crawl('{}/jobs', follow := 'a.job-link', max_depth := 2) ORDER BY depth, url",
            [("/jobs", 1), ("obs/1", 2), ("obs/2", 2)],
        ),
        ("SELECT count(*) FROM crawl('{}/jobs', follow = 'a.job-link', max_depth = 2, max_results = 2)", [(2,)]),
        ("SELECT count(*) FROM crawl('{}/jobs', follow := 'a.job-link')", [(1,)]),
        ("SELECT status, error_type FROM crawl('no url at all')", [(-1, "not_requested")]),
        ("SELECT count(*) FROM crawl([NULL, '{}/'])", [(1,)]),
        ("SELECT c.status_code FROM (VALUES ('{}/')) seed(url), LATERAL crawl_url(seed.url) AS c", [(200,)]),
        (
            "SELECT htmlpath(body, 'script[type=\"application/ld+json\"]@text.@type')::VARCHAR FROM crawl('{}/jobs/1')",
            [('"JobPosting"',)],
        ),
        ("SELECT html.hydration['__NEXT_DATA__']->'props'->>'a' FROM crawl(['{}/state'])", [("1",)]),
        ("SELECT html.js->'jobs'->0->>'id' FROM crawl(['{}/state'])", [("1",)]),
        ("SELECT status FROM crawl(['{}/'], state_table := '', follow := '', \"extract\" := []::VARCHAR[])", [(200,)]),
        ("SELECT status FROM crawl('{}/', crawl_delay = 0)", [(200,)]),
        (
            "SELECT url[-7:] FROM crawl(SELECT u FROM (VALUES ('{}/jobs/1'), ('{}/jobs/2')) t(u) LIMIT 1)",
            [("/jobs/1",)],
        ),
        ("SELECT status FROM (CRAWL (SELECT '{}/jobs/1'))", [(200,)]),
        (
            "SELECT url[-5:], domain[:9], http_status, error, elapsed_ms >= 0, crawled_at IS NOT NULL "
            "FROM crawl_urls(['{}/jobs/1', '{}/gone'], user_agent := 'MyBot/1.0', default_crawl_delay := 0)",
            [("obs/1", "127.0.0.1", 200, None, True, True), ("/gone", "127.0.0.1", 404, "http_404", True, True)],
        ),
        (
            "SELECT extract FROM crawl('{}/jobs/1', extract = ['a := jsonld.JobPosting.title', "
            '\'b := COALESCE(og.title, $("h1"))\', \'c := $("p", "attr:data-job-id")\', \'d := $("p", "html")\'])',
            [('{"a": "Engineer", "b": "Engineer", "c": "7", "d": "x"}',)],
        ),
        (
            "SELECT html.schema['JobPosting']->>'title', html.schema['JobPosting']->0->>'title', "
            "c.html.schema['JobPosting'] ->> '$[0].title', html.\"schema\"['JobPosting']->0, "
            "json_extract_string(html.schema['JobPosting']->0, '$.hiringOrganization.name'), "
            "json_extract_string(c.html.schema['JobPosting'], '$[0].title'), html.schema['Product']->0, "
            "html.schema['JobPosting']->1 FROM crawl('{}/jobs/1') c",
            [("Engineer", "Engineer", "Engineer", POSTING, "Acme", "Engineer", None, None)],
        ),
        (
            "WITH own AS (SELECT {'schema': MAP {'a': '[1, 2]'::JSON, 'b': '7'::JSON}} AS html) "
            "SELECT html.schema['a']->0, html.schema['a']->>'$[0]', html.schema['b']->0, 'html.schema[a]->0' FROM own",
            [("1", "1", None, "html.schema[a]->0")],
        ),
        (
            "CREATE OR REPLACE TABLE seen_pages AS FROM crawl('{}/jobs/1'); "
            "CREATE OR REPLACE VIEW titles AS SELECT html.schema['JobPosting']->0->>'title' AS title FROM seen_pages; "
            "FROM titles",
            [("Engineer",)],
        ),
        (
            "SELECT html.readability.title, html.readability.content IS NOT NULL FROM crawl('{}/jobs/1')",
            [("page", True)],
        ),
        (
            "SELECT html.schema['JobPosting'][0]->>'title', "
            "c.html.schema['JobPosting'][0]->'hiringOrganization'->>'name', "
            "html.schema['Product'][0]->>'sku' FROM crawl('{}/jobs/1') c",
            [("Engineer", "Acme", None)],
        ),
        (
            "SELECT css_select('<a href=/x>y</a>', 'a', 'attr:href'), htmlpath('<p>a<b>c</b></p>', 'p@html')->>'$', "
            "htmlpath('<p>a<b>c</b></p>', 'p@innerHTML')->>'$', htmlpath('<p>a <b>c</b></p>', 'p@innerText')->>'$'",
            [("/x", "a<b>c</b>", "a<b>c</b>", "a c")],
        ),
        (
            "SELECT extract FROM crawl(['{}/state'], extract = ['a := $(\"#__NEXT_DATA__\")::json.props', "
            "'b := $(\"script\")::JSON[*].props', 'c := $(\"h1\")::json[0]'])",
            [('{"a": {"a": 1}, "b": [{"a": 1}], "c": null}',)],
        ),
        ("SELECT url[-7:] FROM crawl('SELECT ''{}/jobs/1'' AS url;', timeout := 5)", [("/jobs/1",)]),
        (
            "WITH listed AS (SELECT '{}/jobs/2' AS url, 1 AS other), more AS MATERIALIZED (SELECT '{}/jobs/1') "
            "SELECT url[-7:] FROM crawl(listed, state_table = '') UNION ALL SELECT url[-7:] FROM crawl(more)",
            [("/jobs/2",), ("/jobs/1",)],
        ),
        (
            "WITH url AS (SELECT unnest(['{}/jobs/1', '{}/jobs/2']) AS url) "
            "SELECT count(*) FROM url, crawl(url) c WHERE c.url = url.url",
            [(2,)],
        ),
        (
            "SELECT url[-7:] FROM crawl(sitemap('{}/map.xml', recursive = false), max_results := 1)",
            [("/jobs/1",)],
        ),
        ("SELECT html.body[:9] FROM crawl('{}/jobs/1')", [("<!doctype",)]),
        ("SELECT column1, 'column0' FROM (VALUES (1, 2))", [(2, "column0")]),
        (
            "SELECT html.js->'jobs' IS NOT NULL, (html).js->'jobs'->1->>'name' IS NOT NULL, html.js->'none' IS NULL "
            "FROM crawl('{}/state')",
            [(True, True, True)],
        ),
        (
            "SELECT CASE WHEN json_extract(j, '$.a')->0 IS NOT NULL THEN j::JSON->'a' ISNULL END, "
            "[j][1]->>'b' NOTNULL, 1 = 1 AND j->'b' IS NULL FROM (SELECT '{\"a\": [1]}'::JSON AS j)",
            [(False, False, True)],
        ),
        ("SET GLOBAL crawler_timeout_ms = 60000; SELECT current_setting('crawler_timeout_ms')", [(60000,)]),
        ("RESET crawler_timeout_ms; SELECT current_setting('crawler_timeout_ms')", [(30000,)]),
        (
            "SET VARIABLE listed = ['{}/jobs/1', '{}/jobs/2']; "
            "SELECT count(html['document']) FROM crawl(getvariable('listed'))",
            [(2,)],
        ),
        (
            "SELECT count(*) FROM crawl([$url${}/jobs/1$url$], workers := 8, batch_size := 8, timeout := 5, "
            "delay := 0, follow := '', max_depth := 0, cache := false, cache_ttl := 24, max_results := 1, "
            "state_table := '', respect_robots := true, \"extract\" := [], user_agent := 'Catalog')",
            [(1,)],
        ),
        (
            "CREATE OR REPLACE TABLE none AS SELECT now() AS at, * FROM crawl([]::VARCHAR[], follow := '', "
            'max_results := 0, "extract" := []) WHERE false; SELECT count(*) FROM none',
            [(0,)],
        ),
        (
            "SELECT t.id, c.html.readability ->> 'title' AS title FROM (SELECT 1 AS id, '{}/jobs/1' AS url) t, "
            "crawl_url(t.url) c",
            [(1, "page")],
        ),
    ],
)
def test_functions(site: Site, connection: SqlConnection, query: str, expected: list[tuple[object, ...]]) -> None:
    assert connection.execute(query.replace("{}", site.url(""))).fetchall() == expected


def test_a_limit_of_the_query_is_one_of_the_requests(site: Site, connection: SqlConnection) -> None:
    site.log.clear()
    urls = ", ".join(f"'{site.url(path)}'" for path in ("/jobs/1", "/jobs/2", "/jobs", "/"))
    assert connection.execute(f"SELECT url, status FROM crawl([{urls}]) LIMIT 2").fetchall() == [
        (site.url("/jobs/1"), 200),
        (site.url("/jobs/2"), 200),
    ]
    assert site.pages() == ["/jobs/1", "/jobs/2"]


def test_a_delay_in_milliseconds(site: Site, connection: SqlConnection) -> None:
    """Of the call, not that of `SET`, with which this test would take an hour."""
    connection.execute("SET crawler_default_delay = 3600")
    assert connection.execute(f"SELECT count(*) FROM crawl('{site.url('/')}', delay := 10)").fetchall() == [(1,)]
    connection.execute("SET crawler_default_delay = 0")


def test_robots_txt_of_ones_own_addresses(connection: SqlConnection) -> None:
    with Web() as web:
        site = web.site({"/x": page()}, robots="User-agent: *\nDisallow: /")
        asked = f"SELECT status FROM crawl('{site.url('/x')}'"
        assert connection.execute(f"{asked})").fetchall() == [(-1,)]
        assert connection.execute(f"{asked}, respect_robots := false)").fetchall() == [(200,)]
        connection.execute("SET crawler_respect_robots = false")
        assert connection.execute(f"{asked})").fetchall() == [(200,)]
        assert connection.execute(f"{asked}, respect_robots := true)").fetchall() == [(-1,)]
        connection.execute("RESET crawler_respect_robots")
        with pytest.raises(BadInput, match="is always obeyed"):
            connection.execute("SELECT * FROM crawl('https://shop.example/', respect_robots := false)")


def test_urls_that_a_state_table_has_are_left_out(site: Site, connection: SqlConnection) -> None:
    site.log.clear()
    urls = [site.url("/jobs/1"), site.url("/jobs/2")]
    asked = "SELECT url FROM crawl({}, state_table := 'crawl_state', timeout := 30)"
    assert connection.execute(asked.format([urls[0]])).fetchall() == [(urls[0],)]
    assert connection.execute(asked.format(urls)).fetchall() == [(urls[1],)]
    assert connection.execute(asked.format(urls)).fetchall() == []
    assert connection.sql(asked.format(f"'{urls[0]}'")).fetchall() == []
    assert site.pages() == ["/jobs/1", "/jobs/2"]
    found = connection.execute("SELECT url, http_status FROM crawl_state ORDER BY url").fetchall()
    assert found == [(url, 200) for url in urls]


@pytest.mark.parametrize("limit", ["", " LIMIT 1"])
def test_merge_by_a_call(site: Site, connection: SqlConnection, limit: str) -> None:
    connection.execute("CREATE OR REPLACE TABLE merged (url VARCHAR PRIMARY KEY, status INTEGER)")
    connection.execute(
        f"CRAWLING MERGE INTO merged USING crawl(['{site.url('/jobs')}', '{site.url('/')}']) AS src "
        "ON (src.url = merged.url) WHEN MATCHED THEN UPDATE SET status = src.status "
        f"WHEN NOT MATCHED THEN INSERT (url, status) VALUES (src.url, src.status){limit};"
    )
    assert connection.execute("SELECT count(*) FROM merged").fetchall() == [(1 if limit else 2,)]


@pytest.mark.parametrize(
    ("clauses", "expected"),
    [
        ("WHEN NOT MATCHED THEN INSERT BY NAME", [("a", "old", False), ("b", "new", False), ("z", "old", False)]),
        ("WHEN MATCHED THEN UPDATE BY NAME", [("a", "new", False), ("z", "old", False)]),
        ("WHEN MATCHED THEN DELETE", [("z", "old", False)]),
        (
            "WHEN MATCHED AND pages.title = 'none' THEN UPDATE BY NAME WHEN NOT MATCHED BY SOURCE THEN DELETE",
            [("a", "old", False)],
        ),
        (
            "WHEN MATCHED THEN UPDATE BY NAME WHEN NOT MATCHED THEN INSERT BY NAME "
            "WHEN NOT MATCHED BY SOURCE AND is_deleted = false THEN UPDATE SET is_deleted = true",
            [("a", "new", False), ("b", "new", False), ("z", "old", True)],
        ),
    ],
)
def test_merge_without_a_crawl(connection: SqlConnection, clauses: str, expected: list[tuple[object, ...]]) -> None:
    connection.execute("CREATE OR REPLACE TABLE pages (url VARCHAR PRIMARY KEY, title VARCHAR, is_deleted BOOLEAN)")
    connection.execute("INSERT INTO pages VALUES ('a', 'old', false), ('z', 'old', false)")
    connection.execute(
        "CRAWLING MERGE INTO pages USING (SELECT 'a' AS url, 'new' AS title, false AS is_deleted "
        f"UNION ALL SELECT 'b', 'new', false) AS src ON (src.url = pages.url) {clauses};"
    )
    assert connection.execute("SELECT * FROM pages ORDER BY url").fetchall() == expected


def test_merge_by_links_of_a_listing_with_a_limit(site: Site, connection: SqlConnection) -> None:
    connection.execute(
        "CREATE TABLE job_listings (url VARCHAR PRIMARY KEY, title VARCHAR, posted_at TIMESTAMP, "
        "crawled_at TIMESTAMP DEFAULT current_timestamp, is_deleted BOOLEAN DEFAULT false)"
    )
    connection.execute(f"INSERT INTO job_listings VALUES ('{site.url('/jobs/9')}', 'Old', NULL, now(), false)")
    merge = f"""
    CRAWLING MERGE INTO job_listings USING (
        SELECT c.final_url AS url,
               htmlpath(c.html.document, 'script[type="application/ld+json"]@text.title')::VARCHAR AS title,
               try_cast(c.html.schema['JobPosting']->>'datePosted' AS TIMESTAMP) AS posted_at,
               current_timestamp AS crawled_at, false AS is_deleted
        FROM crawl(['{site.url("/jobs")}']) AS listing,
        LATERAL unnest(cast(htmlpath(listing.html.document, 'a.job-link@href[*]') AS VARCHAR[])) AS t(job_url),
        LATERAL crawl('{site.url("")}' || job_url) AS c
        WHERE c.status = 200
    ) AS src ON (job_listings.url = src.url)
    WHEN MATCHED AND age(job_listings.crawled_at) > INTERVAL '24 hours' THEN UPDATE BY NAME
    WHEN NOT MATCHED BY TARGET THEN INSERT BY NAME
    WHEN NOT MATCHED BY SOURCE AND is_deleted = false THEN UPDATE SET is_deleted = true
    LIMIT """
    connection.execute(f"{merge} 100;")
    found = connection.execute("SELECT title, is_deleted FROM job_listings ORDER BY title").fetchall()
    assert found == [('"Cook"', False), ('"Engineer"', False), ("Old", True)]
    connection.execute("DELETE FROM job_listings")
    connection.execute(f"{merge} 1")
    assert connection.execute("SELECT count(*) FROM job_listings").fetchall() == [(1,)]


@pytest.mark.parametrize(
    "statement",
    [
        "CRAWL (SELECT '{}/jobs/1') INTO {} WITH (max_crawl_pages 10)",
        "CRAWL (SELECT i FROM (VALUES ('{}/map.xml'), ('{}/jobs?page=1')) t(i)) INTO {} WITH (follow_links true)",
        "CRAWL (SELECT u FROM (VALUES ('{}/'), ('{}/jobs')) t(u)) INTO {} WITH (user_agent 'MyBot/1.0')",
        "CRAWL SITES (SELECT '{}') INTO {} WHERE url LIKE '%/jobs/%' WITH (sitemap_cache_hours 24, update_stale true)",
        "CRAWL (SELECT '{}/') INTO {} WHERE url LIKE '%/jobs/%' WITH (user_agent 'X/1.0', default_crawl_delay 0, "
        "max_crawl_delay 10.0, timeout_seconds 30, max_parallel_per_domain 4, accept_content_types 'text/html', "
        "compress true)",
        "CRAWL (SELECT '{}/') INTO {} WITH (follow_links true, max_crawl_depth 5, allow_subdomains false) LIMIT 3",
    ],
)
def test_statements(site: Site, connection: SqlConnection, statement: str) -> None:
    text = statement.replace("INTO {}", "INTO results").replace("{}", site.url(""))
    connection.execute("DROP TABLE IF EXISTS results")
    connection.execute(text)
    assert connection.execute("SELECT count(*) > 0 FROM results WHERE http_status = 200").fetchall() == [(True,)]


@pytest.mark.parametrize(
    "value", ["1", "'notadomain'", "''", "'ftp://example.com'", "'.example.com'", "'example.com.'", "'example.com./a'"]
)
def test_a_query_without_any_url_is_refused(connection: SqlConnection, value: str) -> None:
    with pytest.raises(BadInput, match="invalid URL/hostname values"):
        connection.execute(f"CRAWL (SELECT {value}) INTO invalid WITH (user_agent 'Test/1.0')")
    assert connection.execute("SELECT * FROM duckdb_tables() WHERE table_name = 'invalid'").fetchall() == []


def test_a_column_may_be_called_title(site: Site, connection: SqlConnection) -> None:
    """Parts of pages have such a column; the table does not."""
    statement = f"""CRAWL (SELECT unnest(['{site.url("/jobs/1")}', '{site.url("/jobs/9")}'])) INTO articles
    EXTRACT (jsonld.JobPosting.title as title, css 'h1::text' as text, data VARCHAR FROM css 'title::text') """
    connection.execute(statement)
    expected = [("Engineer", "Engineer", "page"), (None, None, None)]
    assert connection.execute("SELECT title, text, data FROM articles ORDER BY url").fetchall() == expected
    connection.execute(f"{statement} WITH (update_stale true)")
    assert connection.execute("SELECT title, text, data FROM articles ORDER BY url").fetchall() == expected
    with pytest.raises(BadInput, match="is a column of every page"):
        connection.execute(f"CRAWL (SELECT '{site.url('/jobs/1')}') INTO other EXTRACT (css 'h1' AS error_type)")


def test_a_column_by_coalesce_is_named_after_its_first_path(site: Site, connection: SqlConnection) -> None:
    connection.execute(
        f"""CRAWL (SELECT '{site.url("/jobs/1")}') INTO coalesced EXTRACT (
            jsonld.JobPosting.datePosted,           -- Dot notation path
            COALESCE(jsonld.title, microdata.none, css 'h1::text'),  -- First non-null
            id INTEGER FROM css 'p::attr(data-job-id)' | parse_price)"""
    )
    found = connection.execute('SELECT "datePosted", title, id FROM coalesced').fetchall()
    assert found == [("2026-01-02", "Engineer", 7)]


@pytest.fixture(scope="module")
def crawled(site: Site, connection: SqlConnection) -> str:
    """A table with all pages of the site."""
    paths = ", ".join(f"'{site.url(path)}'" for path in ("/jobs/1", "/state", "/lists"))
    connection.execute(f"CRAWL (SELECT unnest([{paths}])) INTO crawled WITH (user_agent 'TestBot/1.0')")
    return "crawled"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT count(*) FROM crawled WHERE status_code = 200 AND crawled_at = crawl_time", [(3,)]),
        ("SELECT count(*) FROM crawled c WHERE c.domain LIKE '127.%' ORDER BY max(c.crawled_at)", [(3,)]),
        (
            "SELECT jsonld::JSON->>'@type', jsonld::JSON->'JobPosting'->>'title' FROM crawled "
            "WHERE jsonld IS NOT NULL AND jsonld != ''",
            [("JobPosting", "Engineer")],
        ),
        ("SELECT js->'jobs'->1->>'name' FROM crawled WHERE js IS NOT NULL", [("b",)]),
        ("SELECT hydration::JSON->'__NEXT_DATA__'->'props'->>'a' FROM crawled WHERE (hydration IS NOT NULL)", [("1",)]),
        ("WITH found AS (SELECT js AS said FROM crawled) SELECT count(said) FROM found", [(1,)]),
        ("SELECT status_code + 1 AS status_code FROM crawled LIMIT 1", [(201,)]),
        ("SELECT 1 FROM (SELECT 200 AS code) o WHERE EXISTS (FROM crawled c WHERE c.status_code = o.code)", [(1,)]),
        ("SELECT opengraph, meta, microdata FROM main.crawled WHERE url LIKE '%/lists'", [(None, None, None)]),
        ("SELECT url[-6:] FROM crawled WHERE jsonld->'JobPosting' IS NOT NULL", [("jobs/1",)]),
        (
            "CREATE TABLE kept AS SELECT status_code FROM crawled; SELECT sum(status_code) FROM kept",
            [(600,)],
        ),
        ("CREATE OR REPLACE VIEW seen AS SELECT status_code FROM crawled; SELECT count(status_code) FROM seen", [(3,)]),
        ("SELECT 1; SELECT count(status_code) FROM crawled; SELECT max(status_code) FROM crawled", [(200,)]),
        ("SELECT count(*) FROM (DESCRIBE crawled) WHERE column_name IN ('status_code', 'js')", [(0,)]),
    ],
)
def test_columns_that_only_the_extension_stores(
    connection: SqlConnection, crawled: str, query: str, expected: list[tuple[object, ...]]
) -> None:
    assert connection.execute(query).fetchall() == expected
    if ";" not in query and "DESCRIBE" not in query:
        assert connection.sql(query).fetchall() == expected
    assert connection.execute("SELECT view_name FROM duckdb_views() WHERE temporary AND NOT internal").fetchall() == []


@pytest.fixture
def copied(connection: SqlConnection, crawled: str) -> Iterator[str]:
    """A copy of that table, to be changed; it has a row for a missing page besides."""
    connection.execute(f"CREATE TABLE copied AS FROM {crawled}")
    connection.execute("INSERT INTO copied BY NAME SELECT 'http://a.example/' AS url, 404 AS http_status")
    yield "copied"
    connection.execute("DROP TABLE copied")


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("UPDATE copied SET error = 'gone' WHERE status_code = 404", [("gone", 404, 1), (None, 200, 3)]),
        (
            "UPDATE copied AS c SET error = 'job' WHERE c.status_code = 200 AND c.jsonld IS NOT NULL",
            [("job", 200, 1), (None, 200, 2), (None, 404, 1)],
        ),
        (
            "UPDATE main.copied SET status_code = 410 WHERE copied.domain = 'a.example'",
            [(None, 200, 3), (None, 410, 1)],
        ),
        ("DELETE FROM copied WHERE status_code = 404 OR crawled_at IS NULL", [(None, 200, 3)]),
        (
            "WITH gone AS (SELECT url FROM copied WHERE status_code = 404) DELETE FROM copied WHERE url IN (FROM gone)",
            [(None, 200, 3)],
        ),
        ("INSERT INTO copied (url, status_code) VALUES ('b', 404)", [(None, 200, 3), (None, 404, 2)]),
        (
            "INSERT INTO copied BY NAME SELECT url || '#' AS url, status_code, crawled_at FROM crawled",
            [(None, 200, 6), (None, 404, 1)],
        ),
        (
            "MERGE INTO copied USING (SELECT url, status_code + 1 AS status_code FROM crawled) AS came "
            "ON came.url = copied.url WHEN MATCHED THEN UPDATE SET status_code = came.status_code",
            [(None, 201, 3), (None, 404, 1)],
        ),
        (
            "MERGE INTO copied USING (VALUES ('b', 500)) AS came(url, status_code) ON came.url = copied.url "
            "WHEN NOT MATCHED THEN INSERT (url, status_code) VALUES (came.url, came.status_code)",
            [(None, 200, 3), (None, 404, 1), (None, 500, 1)],
        ),
        ("UPDATE copied SET error = 'status_code' WHERE status_code = 404", [("status_code", 404, 1), (None, 200, 3)]),
    ],
)
def test_statements_that_change_a_table_name_such_columns(
    connection: SqlConnection, copied: str, statement: str, expected: list[tuple[object, ...]]
) -> None:
    found = f"SELECT error, http_status, count(*) FROM {copied} GROUP BY ALL ORDER BY ALL"
    connection.execute(f"BEGIN; {statement}")
    assert connection.execute(found).fetchall() == expected
    connection.execute("ROLLBACK")
    connection.execute(statement)
    assert connection.execute(found).fetchall() == expected


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO seen_pages SELECT url, status_code, crawled_at FROM crawled",
        "MERGE INTO seen_pages USING crawled ON crawled.url = seen_pages.url "
        "WHEN NOT MATCHED THEN INSERT VALUES (crawled.url, crawled.status_code, crawled.crawled_at)",
        "INSERT INTO seen_pages SELECT url, 0, NULL FROM crawled; "
        "UPDATE seen_pages SET status_code = crawled.status_code FROM crawled WHERE crawled.url = seen_pages.url",
        "INSERT INTO seen_pages SELECT url, 200, NULL FROM crawled; INSERT INTO seen_pages VALUES ('a', 404, NULL); "
        "DELETE FROM seen_pages WHERE url NOT IN (SELECT url FROM crawled WHERE crawled.status_code = 200)",
    ],
)
def test_statements_that_change_another_table_read_such_columns(
    connection: SqlConnection, crawled: str, statement: str
) -> None:
    """A table of the user's may have a column of the same name."""
    connection.execute("CREATE OR REPLACE TABLE seen_pages (url VARCHAR, status_code INTEGER, at_ TIMESTAMPTZ)")
    connection.execute(statement)
    assert connection.execute("SELECT count(*), min(status_code) FROM seen_pages").fetchall() == [(3, 200)]


def test_such_columns_are_read_in_a_transaction(connection: SqlConnection, crawled: str) -> None:
    """DuckDB ends a transaction at an error, so that the columns have to be there before."""
    question = f"SELECT count(status_code), count(js) FROM {crawled}"
    connection.execute("BEGIN")
    connection.execute("CREATE TABLE begun (number INTEGER)")
    assert connection.execute(question).fetchall() == [(3, 1)]
    assert connection.sql(question).fetchall() == [(3, 1)]
    connection.execute("COMMIT; DROP TABLE begun")
    connection.execute("BEGIN")
    with pytest.raises(duckdb.BinderException, match="statuscode"):
        connection.execute(f"SELECT statuscode, status_code FROM {crawled}")
    connection.execute("ROLLBACK")


def test_columns_made_from_the_body_cannot_be_changed(connection: SqlConnection, crawled: str) -> None:
    with pytest.raises(duckdb.BinderException, match="update column js not found"):
        connection.execute(f"UPDATE {crawled} SET js = 'a'")
    with pytest.raises(duckdb.BinderException, match="statuscode"):
        connection.execute(f"SELECT statuscode FROM {crawled}")


def test_the_file_is_released_after_such_columns_were_read(site: Site, tmp_path: Path) -> None:
    with comity.sql.connect(tmp_path / "a.duckdb", allow_networks=["127.0.0.0/8"], contact="b@example.org") as opened:
        opened.execute(f"CRAWL (SELECT '{site.url('/jobs/1')}') INTO pages WITH (default_crawl_delay 0)")
        assert opened.execute("SELECT status_code FROM pages").fetchall() == [(200,)]
        assert opened.release()
        assert opened.execute("SELECT status_code FROM pages").fetchall() == [(200,)]


def test_pages_of_sitemaps_that_were_read(site: Site, connection: SqlConnection) -> None:
    connection.execute(f"CRAWL SITES (SELECT '{site.url('')}') INTO of_sitemaps WITH (sitemap_cache_hours 48)")
    found = connection.execute("SELECT url, hostname, lastmod FROM _crawl_sitemap_cache ORDER BY surt_key").fetchall()
    assert found == [(site.url(path), "127.0.0.1", None) for path in ("/jobs/1", "/jobs/2")]


def test_rows_of_a_query_are_streamed_into_a_table(site: Site, connection: SqlConnection) -> None:
    stream = f"""STREAM (
        WITH listed AS (SELECT unnest(htmlpath(html.document, 'a.job-link@href[*]')::VARCHAR[]) AS path
                        FROM crawl(['{site.url("/jobs")}']) WHERE status = 200)
        SELECT c.url, c.html.schema['JobPosting']->>'title' AS title
        FROM listed, LATERAL crawl_url('{site.url("")}' || path) c
    ) INTO streamed"""
    assert connection.execute(stream).fetchall() == [(2,)]
    assert connection.execute("SELECT title FROM streamed ORDER BY url").fetchall() == [("Engineer",), ("Cook",)]
    connection.execute("CREATE TABLE keyed (id VARCHAR PRIMARY KEY, title VARCHAR, made_at TIMESTAMP DEFAULT now())")
    for title in ("old", "new"):
        connection.execute("STREAM (SELECT ? AS title, 'a' AS id) INTO keyed WITH (batch_size 50)", [title])
    connection.execute("STREAM (SELECT 'b', 'by place', now()) INTO keyed LIMIT 1")
    found = connection.execute("SELECT id, title, made_at IS NOT NULL FROM keyed ORDER BY id").fetchall()
    assert found == [("a", "new", True), ("b", "by place", True)]


def test_the_target_of_a_merge_is_created(site: Site, connection: SqlConnection) -> None:
    for word in ("CRAWLING MERGE", "STREAM"):
        connection.execute(
            f"{word} INTO made USING (SELECT url, status FROM crawl(['{site.url('/jobs/1')}'])) AS src "
            "ON (src.url = made.url) WHEN MATCHED THEN UPDATE BY NAME WHEN NOT MATCHED THEN INSERT BY NAME"
        )
        assert connection.execute("FROM made").fetchall() == [(site.url("/jobs/1"), 200)]


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("SELECT url, cached_at FROM __crawler_cache", "line 1, column 28: .* comity.fetches"),
        ("SELECT * FROM _sitemap_cache", "line 1, column 15: .* _crawl_sitemap_cache"),
        (
            "SELECT * FROM (CRAWL (SELECT 'http://127.0.0.1/')\nINTO t WIHT (a 1))",
            "line 2, column 8: .* did you mean WITH?",
        ),
        ("SELECT *\nFROM _crawl_progress_pages", "line 2, column 6: .* comity.runs"),
        ("SELECT * FROM stream_merge_internal('SELECT 1', 'src')", "line 1, column 15: .* CRAWLING MERGE INTO table"),
        ("SELECT * FROM discover('https://shop.example/')", "line 1, column 15: .* sitemap"),
        ("CREATE TABLE x AS\n  CRAWL (SELECT 'https://shop.example/')", "line 2, column 3: CRAWL cannot be used here"),
        (
            "SELECT * FROM crawl(['a'], follow_links = true)",
            "line 1, column 15: .* follow_links; .*follow :=",
        ),
        ("SELECT * FROM crawl(['a'], sitemap := true)", r"line 1, column 15: .* write crawl\(sitemap\("),
        ("SELECT * FROM sitemap('a', filter_pattern = '%')", "line 1, column 15: .* did you mean filter?"),
        ("SELECT * FROM crawl(['a'], time_out := 5)", "line 1, column 15: .* did you mean timeout?"),
        ("CRAWL (SELECT 'a')\nINTO t WITH (url_filter '%')", "line 2, column 14: url_filter: .* write WHERE url LIKE"),
        ("CRAWL (SELECT 'a') INTO t WITH (timeout 5)", "line 1, column 33: timeout: .* did you mean timeout_seconds?"),
    ],
)
def test_what_is_not_there_says_what_to_write_instead(connection: SqlConnection, statement: str, sentence: str) -> None:
    with pytest.raises(BadInput, match=f"^{sentence}"):
        connection.execute(statement)


def test_a_stream_into_a_table_that_is_there_leaves_nothing_behind(connection: SqlConnection) -> None:
    temporary = "SELECT table_name FROM duckdb_tables() WHERE temporary ORDER BY ALL"
    before = connection.execute(temporary).fetchall()
    connection.execute("CREATE TABLE streamed_into (id INTEGER PRIMARY KEY, title VARCHAR)")
    for number in range(3):
        connection.execute(f"STREAM (SELECT {number} AS id, 'x' AS title) INTO streamed_into")
    with pytest.raises(duckdb.Error):
        connection.execute("STREAM (SELECT 'no number' AS id) INTO streamed_into")
    assert connection.execute("SELECT count(*) FROM streamed_into").fetchall() == [(3,)]
    assert connection.execute(temporary).fetchall() == before


@pytest.mark.parametrize(
    ("before", "name", "reason"), [("BEGIN", "s2", "inside a transaction"), ("SELECT 1", "main.s3", "without a schema")]
)
def test_a_state_table_that_cannot_be_is_refused_before_anything_is_requested(
    site: Site, connection: SqlConnection, before: str, name: str, reason: str
) -> None:
    connection.execute(before)
    asked = len(site.log)
    with pytest.raises(BadInput, match=reason):
        connection.execute(f"SELECT url FROM crawl('{site.url('/jobs/1')}', state_table := '{name}')")
    assert len(site.log) == asked
    if before == "BEGIN":
        connection.execute("ROLLBACK")


def test_threads_of_a_statement_that_fills_its_table_do_not_limit_another() -> None:
    settings = SessionSettings()
    duck = duckdb.connect()
    with SqlTable(duck, "pages", ()).filling():
        assert duck.execute("SELECT current_setting('threads')").fetchall() == [(1,)]
        assert "threads" not in settings.of_crawls(duck)
    duck.execute("SET threads = 1")
    assert settings.of_crawls(duck)["threads"] == 1


def test_a_crawl_within_a_statement_stands_for_its_table(site: Site, connection: SqlConnection) -> None:
    """The table is filled first; the statement around it reads all of it."""
    connection.execute(f"CREATE TABLE monitored AS SELECT '{site.url('/jobs/1')}' AS url")
    connection.execute("CREATE TABLE history (title VARCHAR, checked_at TIMESTAMP)")
    read = """SELECT title, crawled_at AS checked_at FROM (
        CRAWL (SELECT url FROM monitored) INTO _tmp_titles
        EXTRACT (jsonld.JobPosting.title AS title) WITH (user_agent 'Monitor/1.0', timeout_seconds 15)
    )"""
    connection.execute(f"INSERT INTO history {read};")
    assert connection.execute("SELECT title, checked_at IS NOT NULL FROM history").fetchall() == [("Engineer", True)]
    assert [row[0] for row in connection.sql(read).fetchall()] == ["Engineer"]
    with pytest.raises(ComityError, match="inside a transaction"):
        connection.execute(f"BEGIN; {read}")
    connection.execute("ROLLBACK")


def test_a_table_that_the_extension_made_is_taken_over(site: Site, connection: SqlConnection) -> None:
    """Its own columns go on; those that it lacks are added. A user's column behind ours is left alone."""
    connection.execute(
        "CREATE TABLE older (url VARCHAR, domain VARCHAR, status_code INTEGER, body VARCHAR, content_type VARCHAR, "
        "elapsed_ms INTEGER, crawled_at TIMESTAMP, error VARCHAR); "
        f"INSERT INTO older (url, status_code, body, crawled_at) VALUES "
        f"('{site.url('/jobs/1')}', 200, 'old', '2020-01-02'), ('{site.url('/jobs')}', 200, 'new', now()), "
        f"('{site.url('/lists')}', 200, 'undated', NULL)"
    )
    paths = ("/jobs/1", "/jobs", "/lists", "/jobs/9")
    listed = ", ".join(f"'{site.url(path)}'" for path in paths)
    crawl = f"CRAWL (SELECT unnest([{listed}])) INTO older WITH (update_stale true)"
    connection.execute(crawl)
    found = connection.execute(
        "SELECT status_code, http_status, domain, body[:3], crawled_at = crawl_time, crawled_at > '2026-01-01' "
        "FROM older ORDER BY url = ?, body[:3]",
        [site.url("/jobs/9")],
    ).fetchall()
    page_ = (200, 200, site.host, "<!d", True, True)
    assert found == [page_, page_, (200, 200, None, "new", True, True), (404, 404, site.host, None, True, True)]
    connection.execute(f"CRAWL (SELECT '{site.url('/jobs/2')}') INTO own")
    connection.execute("ALTER TABLE own ADD COLUMN domain VARCHAR; UPDATE own SET domain = 'mine'")
    connection.execute(f"CRAWL (SELECT unnest([{listed}, '{site.url('/jobs/2')}'])) INTO own WITH (update_stale true)")
    assert connection.execute("SELECT DISTINCT domain FROM own ORDER BY ALL").fetchall() == [("mine",), (None,)]
    with pytest.raises(BadInput, match="has no column surt_key"):
        connection.execute(f"CREATE TABLE foreign_ (url VARCHAR, amount INTEGER); {crawl.replace('older', 'foreign_')}")
