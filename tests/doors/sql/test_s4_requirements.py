"""Every MUST and SHOULD of S4, and every option and setting that it names, over loopback; one web for all of them."""

from __future__ import annotations

import gzip
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing
from email.utils import formatdate
from itertools import count, pairwise
from pathlib import Path
from threading import Event, Thread
from typing import Any

import duckdb
import pytest

import comity
from comity.doors.sql import SqlConnection
from comity.doors.sql.session_settings import SessionSettings
from comity.model.errors import BadInput, ComityError
from comity.rules.sql.options import SqlCrawlOptions, read_options
from comity.run.sql.options import crawl_settings
from tests.hostile.http2 import HostileHttp2
from tests.hostile.web import CERTIFICATES
from tests.servers.ports import closed_port
from tests.servers.waiting import wait_until
from tests.walk.site import LOG_IS_EXACT_TO_S, Answer, Asked, Site, Web, page, redirect

LIMIT_S = 60.0
COLUMNS = (
    "url, surt_key, http_status, body, content_type, crawl_time, error, etag, last_modified, content_hash, final_url, "
    "redirect_count"
)
_numbers = count(1)


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    with Web() as web:
        yield web


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlConnection]:
    folder = tmp_path_factory.mktemp("s4")
    with comity.sql.connect(folder / "web.duckdb", allow_networks=["127.0.0.0/8"], contact="b@example.org") as opened:
        yield opened


@pytest.fixture
def connection(shared: SqlConnection) -> Iterator[SqlConnection]:
    yield shared
    for name in ("http_timeout", "http_keep_alive", "crawler_user_agent", "http_proxy"):
        shared.execute(f"RESET {name}")
    for (name,) in shared.execute("SELECT name FROM duckdb_secrets()").fetchall():
        shared.execute(f"DROP SECRET {name}")


def crawl(connection: SqlConnection, urls: list[str] | str, options: str = "", rest: str = "") -> str:
    """Crawl URLs into a new table; gives its name."""
    table = f"t{next(_numbers)}"
    listed = ", ".join(f"'{url}'" for url in ([urls] if isinstance(urls, str) else urls))
    delay = "" if "delay" in options else "default_crawl_delay 0, "
    connection.execute(
        f"CRAWL (SELECT unnest([{listed}])) INTO {table} {rest} WITH (user_agent 'TestBot/1.0', {delay}{options})"
    )
    return table


def rows(connection: SqlConnection, statement: str) -> list[Any]:
    return list(connection.execute(statement).fetchall())


def urls_of(site: Site, *paths: str) -> list[str]:
    return [site.url(path) for path in paths]


def xml(*entries: str, root: str = "urlset", item: str = "url") -> Answer:
    return Answer(
        body=f"<{root}>{''.join(f'<{item}>{each}</{item}>' for each in entries)}</{root}>", type="application/xml"
    )


# Rate limiting


@pytest.mark.roomy
def test_must_respect_crawl_delay_and_must_not_let_threads_bypass_it(web: Web, connection: SqlConnection) -> None:
    site = web.site({"/a": page(), "/b": page(), "/c": page()}, robots="User-agent: *\nCrawl-delay: 0.3")
    crawl(connection, urls_of(site, "/a", "/b", "/c"), "threads 8, max_parallel_per_domain 8")
    assert len(site.log) == 4
    assert min(site.gaps()) >= 0.3 - LOG_IS_EXACT_TO_S


@pytest.mark.roomy
def test_must_block_a_domain_after_429_for_retry_after_and_clear_the_block_on_success(
    web: Web, connection: SqlConnection
) -> None:
    def first_refused(asked: Asked) -> Answer:
        return Answer(429, headers={"Retry-After": "1"}) if asked.count == 1 else Answer(body=page())

    site = web.site({"/a": first_refused, "/b": page(), "/c": page()})
    table = crawl(connection, urls_of(site, "/a", "/b", "/c"), "max_parallel_per_domain 1")
    refused = next(seen for seen in site.log if seen.path == "/a")
    later = [seen.at - refused.at for seen in site.log if seen.at > refused.at]
    assert min(later) >= 1.0 - LOG_IS_EXACT_TO_S
    assert rows(connection, f"SELECT count(*) FROM {table} WHERE http_status = 200") == [(3,)]


@pytest.mark.roomy
def test_a_date_in_retry_after_is_read_by_the_clock_of_the_server(web: Web, connection: SqlConnection) -> None:
    def an_hour_ahead(asked: Asked) -> Answer:
        if asked.count > 1:
            return Answer(body=page())
        now = time.time() + 3600
        return Answer(
            503, headers={"Date": formatdate(now, usegmt=True), "Retry-After": formatdate(now + 2, usegmt=True)}
        )

    site = web.site({"/a": an_hour_ahead})
    table = crawl(connection, site.url("/a"))
    first, second = site.of("/a")
    assert 1.0 - LOG_IS_EXACT_TO_S <= second.at - first.at < LIMIT_S
    assert rows(connection, f"SELECT http_status FROM {table}") == [(200,)]


@pytest.mark.roomy
def test_must_use_fibonacci_backoff_without_retry_after(web: Web, connection: SqlConnection) -> None:
    """1, 1, 2, … seconds: a block is longer with each 429 in a row."""
    site = web.site({"/a": lambda asked: Answer(429) if asked.count <= 3 else Answer(body=page())})
    table = crawl(connection, site.url("/a"))
    waits = [later.at - earlier.at for earlier, later in pairwise(site.of("/a"))]
    assert all(wait >= least - LOG_IS_EXACT_TO_S for wait, least in zip(waits, (1.0, 1.0, 2.0), strict=True)), waits
    assert rows(connection, f"SELECT http_status FROM {table}") == [(200,)]


@pytest.mark.roomy
def test_the_delay_grows_while_responses_slow_down(web: Web, connection: SqlConnection) -> None:
    """By what a domain took before: quick pages first, then slow ones."""
    pages = {f"/{place:02}": Answer(body=page(), after_s=0.25 if place >= 8 else 0.0) for place in range(17)}
    site = web.site(dict(pages))
    crawl(connection, urls_of(site, *pages), "default_crawl_delay 0.05, max_parallel_per_domain 1, max_crawl_delay 0.5")
    asked = [seen for seen in site.log if seen.path in pages]
    assert [seen.path for seen in asked] == list(pages)
    pauses = [later.at - (earlier.ended_at or later.at) for earlier, later in pairwise(asked)]
    assert pauses[-1] > 0.15 - LOG_IS_EXACT_TO_S, pauses


@pytest.mark.roomy
def test_never_goes_below_the_least_delay_of_the_user(web: Web, connection: SqlConnection) -> None:
    site = web.site({"/a": page(), "/b": page()})
    crawl(connection, urls_of(site, "/a", "/b"), "default_crawl_delay 0, min_crawl_delay 0.3")
    assert min(site.gaps()) >= 0.3 - LOG_IS_EXACT_TO_S


# robots.txt


def test_must_fetch_robots_before_anything_and_should_cache_it(web: Web, connection: SqlConnection) -> None:
    site = web.site({"/a": page(), "/b": page()}, robots="User-agent: *\nAllow: /")
    crawl(connection, site.url("/a"))
    crawl(connection, site.url("/b"))
    assert site.paths == ["/robots.txt", "/a", "/b"]


def test_must_respect_disallow_for_the_configured_user_agent(web: Web, connection: SqlConnection) -> None:
    site = web.site(
        {"/a": page(), "/b": page()}, robots="User-agent: TestBot\nDisallow: /b\n\nUser-agent: *\nDisallow: /a"
    )
    table = crawl(connection, urls_of(site, "/a", "/b"))
    assert site.pages() == ["/a"]
    found = rows(connection, f"SELECT url, http_status, error_type FROM {table} ORDER BY url")
    assert found == [(site.url("/a"), 200, None), (site.url("/b"), -1, "robots_disallowed")]


def test_must_check_noindex_in_html(web: Web, connection: SqlConnection) -> None:
    site = web.site({"/a": page(head='<meta name="robots" content="noindex">')})
    table = crawl(connection, site.url("/a"))
    assert rows(connection, f"SELECT http_status, body, error FROM {table}") == [(200, None, "noindex")]


def test_robots_can_be_ignored_only_inside_allowed_networks(web: Web, connection: SqlConnection) -> None:
    site = web.site({"/a": page()}, robots="User-agent: *\nDisallow: /")
    table = crawl(connection, site.url("/a"), "respect_robots_txt false")
    assert (site.paths, rows(connection, f"SELECT http_status FROM {table}")) == (["/a"], [(200,)])
    with pytest.raises(BadInput, match=r"robots\.txt of public\.example is always obeyed"):
        crawl(connection, [site.url("/a"), "https://public.example/x"], "respect_robots_txt false")


# Threads


def test_threads_are_those_of_duckdb_from_1_to_32() -> None:
    assert crawl_settings(SqlCrawlOptions(), (), {"threads": 4})["concurrency"] == 4
    assert crawl_settings(SqlCrawlOptions(), (), {"threads": 64})["concurrency"] == 32
    assert crawl_settings(read_options([("threads", 2)]), ("threads",), {"threads": 8})["concurrency"] == 2
    assert crawl_settings(read_options([("max_total_connections", 5)]), (), {})["concurrency"] == 5
    for wrong in (0, 33):
        with pytest.raises(BadInput, match="a whole number from 1 to 32"):
            read_options([("threads", wrong)])
    settings = SessionSettings()
    with closing(duckdb.connect()) as duck:
        ((before,),) = duck.execute("SELECT current_setting('threads')").fetchall()
        duck.execute(f"SET threads = {before + 1}")
        assert settings.of_crawls(duck)["threads"] == before + 1
        duck.execute("RESET threads")
        assert "threads" not in settings.of_crawls(duck)


@pytest.mark.parametrize("option", ["max_parallel_per_domain 2", "max_total_connections 2", "threads 2"])
def test_no_more_requests_at_once_than_allowed(web: Web, connection: SqlConnection, option: str) -> None:
    held = Event()
    site = web.site({f"/{name}": Answer(body=page(), held=held) for name in "abcd"})
    at_once: list[int] = []

    def watch() -> None:
        wait_until(lambda: len(site.pages()) >= 2, LIMIT_S, "two requests")
        at_once.append(len(site.pages()))
        held.set()

    watcher = Thread(target=watch)
    watcher.start()
    crawl(connection, urls_of(site, "/a", "/b", "/c", "/d"), option)
    watcher.join(LIMIT_S)
    assert at_once == [2]
    assert len(site.pages()) == 4


# Content


def test_a_response_over_the_limit_is_an_error_without_a_body(web: Web, connection: SqlConnection) -> None:
    assert SqlCrawlOptions().max_response_bytes == 10 * 1024 * 1024
    site = web.site({"/a": page(body="x" * 500)})
    table = crawl(connection, site.url("/a"), "max_response_bytes 100")
    assert rows(connection, f"SELECT body, error_type FROM {table}") == [(None, "content_too_large")]
    assert site.pages() == ["/a"]


@pytest.mark.parametrize(
    ("option", "stored"),
    [
        ("accept_content_types 'text/*'", ["/html", "/plain"]),
        ("accept_content_types ['text/html', 'application/json']", ["/html", "/json"]),
        ("accept_content_types 'text/*', reject_content_types 'text/plain'", ["/html"]),
    ],
)
def test_content_types_are_accepted_then_rejected(
    web: Web, connection: SqlConnection, option: str, stored: list[str]
) -> None:
    types = {"/html": "text/html", "/plain": "text/plain", "/json": "application/json"}
    site = web.site({path: Answer(body="{}", type=kind) for path, kind in types.items()})
    table = crawl(connection, urls_of(site, *types), option)
    found = rows(connection, f"SELECT url FROM {table} WHERE error IS NULL ORDER BY url")
    assert [url for (url,) in found] == urls_of(site, *stored)
    rejected = rows(connection, f"SELECT DISTINCT body, error_type FROM {table} WHERE error IS NOT NULL")
    assert rejected == [(None, "content_type_rejected")]
    assert len(site.pages()) == 3  # none of them is retried


def test_text_of_any_kind_is_stored_unless_the_statement_says_otherwise(web: Web, connection: SqlConnection) -> None:
    bodies = {"text/html": "<p>", "application/json": '{"a":1}', "application/ld+json": "[1]", "text/csv": "a,b"}
    bodies |= {"application/rss+xml": "<rss/>", "application/pdf": "%PDF", "image/png": "PNG"}
    site = web.site({f"/{place}": Answer(body=body, type=kind) for place, (kind, body) in enumerate(bodies.items())})
    table = crawl(connection, urls_of(site, *(f"/{place}" for place in range(len(bodies)))), "accept_content_types ''")
    found = rows(connection, f"SELECT body, error_type FROM {table} ORDER BY url")
    refused = [(None, "content_type_rejected")] * 2
    assert found == [(body, None) for body in list(bodies.values())[:-2]] + refused
    table = crawl(connection, urls_of(site, "/0", "/1", "/3"), "reject_content_types 'application/json'")
    assert rows(connection, f"SELECT body FROM {table} ORDER BY url") == [("<p>",), (None,), ("a,b",)]


def test_compression_is_requested_by_default(web: Web, connection: SqlConnection) -> None:
    site = web.site({"/a": Answer(body=page(title="zipped"), is_gzipped=True), "/b": page()})
    table = crawl(connection, site.url("/a"))
    crawl(connection, site.url("/b"), "compress false")
    sent = [seen.headers["accept-encoding"] for seen in site.log if seen.path != "/robots.txt"]
    assert ("gzip" in sent[0], "deflate" in sent[0], sent[1]) == (True, True, "identity")
    assert "zipped" in rows(connection, f"SELECT body FROM {table}")[0][0]


# Discovery


def test_sitemaps_of_robots_nested_and_compressed(web: Web, connection: SqlConnection) -> None:
    site = web.site({"/": page(), "/a": page(), "/b": page()})
    site.routes["/robots.txt"] = Answer(body=f"User-agent: *\nSitemap: {site.url('/index.xml')}", type="text/plain")
    inner = gzip.compress(f"<urlset><url><loc>{site.url('/b')}</loc></url></urlset>".encode())
    site.routes["/index.xml"] = xml(
        f"<loc>{site.url('/one.xml')}</loc>",
        f"<loc>{site.url('/two.xml.gz')}</loc>",
        root="sitemapindex",
        item="sitemap",
    )
    site.routes["/one.xml"] = xml(f"<loc>{site.url('/a')}</loc>")
    site.routes["/two.xml.gz"] = Answer(body=inner, type="application/octet-stream")
    table = crawl(connection, site.url("/"))
    found = rows(connection, f"SELECT url FROM {table} ORDER BY url")
    assert [url for (url,) in found] == urls_of(site, "/", "/a", "/b")


def test_a_host_without_a_scheme_whose_start_page_the_filter_leaves_out(web: Web, connection: SqlConnection) -> None:
    site = web.site({"/": page(), "/p/1": page(), "/about": page()})
    site.routes["/sitemap.xml"] = xml(*(f"<loc>{site.url(path)}</loc>" for path in ("/p/1", "/about")))
    host = site.url("").partition("://")[2].rstrip("/")
    table = crawl(connection, host, "timeout_seconds 1", "WHERE url LIKE '%/p/%'")
    assert rows(connection, f"SELECT url, http_status FROM {table}") == [(site.url("/p/1"), 200)]
    assert "/" not in {asked.path for asked in site.log}


@pytest.mark.parametrize("path", ["/sitemap.xml", "/sitemap_index.xml"])
def test_usual_places_of_sitemaps(web: Web, connection: SqlConnection, path: str) -> None:
    site = web.site({"/": page(), "/a": page()})
    site.routes[path] = xml(f"<loc>{site.url('/a')}</loc>")
    table = crawl(connection, site.url("/"))
    assert rows(connection, f"SELECT count(*) FROM {table}") == [(2,)]


def test_sitemaps_are_read_once_within_their_hours_by_all_statements(web: Web, connection: SqlConnection) -> None:
    site = web.site({path: page() for path in ("/", "/a", "/b")})
    site.routes["/sitemap.xml"] = xml(f"<loc>{site.url('/nested.xml')}</loc>", root="sitemapindex", item="sitemap")
    site.routes["/nested.xml"] = xml(f"<loc>{site.url('/a')}</loc>", f"<loc>{site.url('/b')}</loc>")
    maps = ["/sitemap.xml", "/nested.xml"]
    crawl(connection, site.url("/"), rest="WHERE url LIKE '%/a'")
    assert [path for path in site.pages() if path in maps] == maps
    site.log.clear()
    table = crawl(connection, site.url("/"))  # its filter admits what that of the first statement left out
    assert sorted(site.pages()) == ["/", "/a", "/b"]
    assert rows(connection, f"SELECT count(*) FROM {table}") == [(3,)]
    for options in ("sitemap_cache_hours 0", "update_stale true"):
        site.log.clear()
        crawl(connection, site.url("/"), options)
        assert [path for path in site.pages() if path in maps] == maps, options
    site.log.clear()
    crawl(connection, site.url("/"), "update_stale true, sitemap_cache_hours 1")
    assert not set(site.pages()) & set(maps)


def test_links_are_followed_breadth_first_within_depth_pages_and_nofollow(web: Web, connection: SqlConnection) -> None:
    site = web.site(
        {
            "/start": page("/a", "/b", body='<a rel="nofollow" href="/no">no</a>'),
            "/a": page("/deep"),
            "/b": page("/deep"),
            "/deep": page("/deeper"),
            "/deeper": page(),
            "/no": page(),
        }
    )
    crawl(connection, site.url("/start"), "max_parallel_per_domain 1")
    assert site.pages() == ["/start"]  # follow_links is off by default
    site.log.clear()
    crawl(connection, site.url("/start"), "follow_links true, max_crawl_depth 2, max_parallel_per_domain 1")
    assert site.pages() == ["/start", "/a", "/b", "/deep"]
    site.log.clear()
    table = crawl(connection, site.url("/start"), "follow_links true, max_crawl_pages 2, max_parallel_per_domain 1")
    assert rows(connection, f"SELECT count(*) FROM {table}") == [(2,)]
    site.log.clear()
    crawl(connection, site.url("/start"), "follow_links true, max_crawl_depth 1, respect_nofollow false")
    assert "/no" in site.pages()


@pytest.mark.parametrize("follows", [True, False])
def test_canonical_urls_are_followed_if_asked(web: Web, connection: SqlConnection, follows: bool) -> None:
    site = web.site({"/a": page(head='<link rel="canonical" href="/real">'), "/real": page()})
    crawl(connection, site.url("/a"), f"follow_links true, follow_canonical {follows}")
    assert ("/real" in site.pages()) is follows


def test_a_direct_url_is_crawled_without_its_sitemaps_and_a_missing_one_is_not_remembered(
    web: Web, connection: SqlConnection
) -> None:
    site = web.site({"/a": page(), "/": page()})
    crawl(connection, site.url("/a"))
    assert site.paths == ["/robots.txt", "/a"]
    crawl(connection, site.url("/"))
    site.routes["/sitemap.xml"] = xml(f"<loc>{site.url('/a')}</loc>")
    table = crawl(connection, site.url("/"))
    assert rows(connection, f"SELECT count(*) FROM {table}") == [(2,)]


# Errors


@pytest.mark.roomy
def test_server_errors_are_retried_up_to_the_limit_and_client_errors_never(web: Web, connection: SqlConnection) -> None:
    assert (SqlCrawlOptions().max_retries, SqlCrawlOptions().max_retry_backoff_seconds) == (5, 600)
    site = web.site(
        {
            "/once": lambda asked: Answer(500) if asked.count == 1 else Answer(body=page()),
            "/always": Answer(500),
            "/gone": Answer(404),
        }
    )
    paths = ("/once", "/always", "/gone")
    table = crawl(connection, urls_of(site, *paths), "max_retries 1, max_retry_backoff_seconds 1")
    assert [len(site.of(path)) for path in paths] == [2, 2, 1]
    found = rows(connection, f"SELECT http_status, error_type FROM {table} ORDER BY http_status")
    assert found == [(200, None), (404, "http_client_error"), (500, "http_server_error")]


@pytest.mark.roomy
def test_network_failures_are_retried(web: Web, connection: SqlConnection) -> None:
    site = web.site({"/a": lambda asked: Answer(drops=True) if asked.count <= 2 else Answer(body=page())})
    table = crawl(connection, site.url("/a"), "max_retry_backoff_seconds 1")
    assert rows(connection, f"SELECT http_status FROM {table}") == [(200,)]


@pytest.mark.roomy
def test_a_host_that_cannot_be_reached_has_rows_and_nothing_is_left(web: Web, connection: SqlConnection) -> None:
    site = web.site({"/a": page()})
    refused = f"http://127.0.0.1:{closed_port()}/x"
    urls = ["http://no-such-host.invalid/x", "http://no-such-host.invalid/y", refused, site.url("/a")]
    with pytest.warns(UserWarning, match=r"was not crawled: (dns|connection)_failure"):
        table = crawl(connection, urls, "max_retry_backoff_seconds 1")
    assert connection.summary is not None
    assert (connection.summary.pages, connection.summary.left) == (1, 0)
    found = dict(rows(connection, f"SELECT url, error_type FROM {table}"))
    assert found == {
        urls[0]: "network_dns_failure",
        urls[1]: "network_dns_failure",
        refused: "network_connection_refused",
        site.url("/a"): None,
    }


# The table


def test_a_host_that_may_not_be_crawled_is_named_in_a_warning(tmp_path: Path) -> None:
    with comity.sql.connect(contact="b@example.org") as alone:
        with pytest.warns(UserWarning, match=r"127\.0\.0\.1:8080 was not crawled: address_refused.*allow_networks"):
            alone.execute("CRAWL (SELECT 'http://127.0.0.1:8080/x') INTO t WITH (user_agent 'TestBot/1.0')")
        assert rows(alone, "SELECT http_status, error_type FROM t") == [(-1, "address_refused")]
        assert alone.is_in_vain


def test_a_statement_whose_pages_are_all_refused_says_so(web: Web, connection: SqlConnection) -> None:
    site = web.site({"/robots.txt": Answer(body="User-agent: *\nDisallow: /\n", type="text/plain"), "/x": page()})
    with pytest.warns(UserWarning, match=r"no page was stored: .*/x was refused: "):
        crawl(connection, site.url("/x"))


def test_the_table_has_every_column_and_what_redirects_led_to(web: Web, connection: SqlConnection) -> None:
    said = {"Last-Modified": "Mon, 05 Oct 2015 10:00:00 GMT"}
    site = web.site(
        {"/a": Answer(body=page(), etag='"1"', headers=said), "/old": redirect("/mid"), "/mid": redirect("/a")}
    )
    table = crawl(connection, site.url("/old"))
    ((url, _surt, status, _body, kind, _at, error, etag, modified, digest, final, hops),) = rows(
        connection, f"SELECT {COLUMNS} FROM {table}"
    )
    assert (url, status, kind, error) == (site.url("/old"), 200, "text/html; charset=utf-8", None)
    assert (etag, modified, len(digest) > 0, final, hops) == ('"1"', said["Last-Modified"], True, site.url("/a"), 2)


def test_update_stale_goes_by_the_sitemap_and_asks_conditionally(web: Web, connection: SqlConnection) -> None:
    site = web.site({"/": page(), "/new": Answer(body=page(), etag='"1"'), "/old": page(), "/weekly": page()})
    site.routes["/sitemap.xml"] = xml(
        f"<loc>{site.url('/new')}</loc><lastmod>2026-01-01</lastmod>",
        f"<loc>{site.url('/old')}</loc><lastmod>2001-01-01</lastmod>",
        f"<loc>{site.url('/weekly')}</loc><changefreq>weekly</changefreq>",
    )
    table = f"t{next(_numbers)}"
    statement = (
        f"CRAWL (SELECT '{site.url('/')}') INTO {table} WHERE url NOT LIKE '%/' "
        "WITH (user_agent 'TestBot/1.0', default_crawl_delay 0, update_stale true)"
    )
    connection.execute(statement)
    connection.execute(f"UPDATE {table} SET crawl_time = '2025-06-01 00:00:00+00'")
    site.log.clear()
    connection.execute(statement)
    assert sorted(path for path in site.pages() if "sitemap" not in path) == ["/new", "/weekly"]
    (asked,) = site.of("/new")
    assert asked.headers.get("if-none-match") == '"1"'
    found = rows(connection, f"SELECT url, body IS NOT NULL FROM {table} WHERE crawl_time > '2025-07-01' ORDER BY url")
    assert found == [(site.url("/new"), True), (site.url("/weekly"), True)]


def test_a_page_is_asked_for_in_full_if_another_door_saw_a_newer_one(web: Web, connection: SqlConnection) -> None:
    site = web.site({"/a": Answer(body=page(title="one"), etag='"1"')})
    table = f"t{next(_numbers)}"
    statement = (
        f"CRAWL (SELECT '{site.url('/a')}') INTO {table} "
        "WITH (user_agent 'TestBot/1.0', default_crawl_delay 0, update_stale true)"
    )
    connection.execute(statement)
    site.routes["/a"] = Answer(body=page(title="two"), etag='"2"')
    crawl(connection, site.url("/a"))
    connection.execute(f"UPDATE {table} SET crawl_time = '2025-06-01 00:00:00+00'")
    connection.execute(statement)
    ((body,),) = rows(connection, f"SELECT body FROM {table}")
    assert ("two" in body, "if-none-match" in site.log[-1].headers) == (True, False)


@pytest.mark.roomy
def test_rows_come_in_batches_while_a_statement_crawls_and_it_can_be_stopped(
    web: Web, connection: SqlConnection
) -> None:
    held = Event()
    site = web.site({f"/{number}": page() for number in range(6)} | {"/9": Answer(body=page(), held=held)})
    table = f"t{next(_numbers)}"
    urls = ", ".join(f"'{site.url(f'/{number}')}'" for number in (*range(6), 9))
    statement = (
        f"CRAWL (SELECT unnest([{urls}])) INTO {table} "
        "WITH (user_agent 'TestBot/1.0', default_crawl_delay 0.3, batch_size 2, max_parallel_per_domain 1)"
    )
    other = connection.cursor()
    thread = Thread(target=lambda: other.execute(statement))
    thread.start()

    def stored() -> int:
        found = rows(connection, f"SELECT estimated_size FROM duckdb_tables() WHERE table_name = '{table}'")
        return int(found[0][0]) if found else 0

    wait_until(lambda: stored() >= 2, LIMIT_S, "rows in the table")
    assert thread.is_alive()
    connection.execute(f"STOP CRAWL INTO {table}")
    held.set()
    thread.join(LIMIT_S)
    assert other.summary is not None
    assert other.summary.ended_by == "stopped"
    before = rows(connection, f"SELECT count(*) FROM {table}")[0][0]
    assert 2 <= before <= 7
    connection.execute(statement)
    assert rows(connection, f"SELECT count(*) FROM {table}") == [(7,)]
    assert len(site.pages()) == 7
    with pytest.raises(ComityError, match="no crawl into"):
        connection.execute(f"STOP CRAWL INTO {table}")
    other.close()


def test_a_page_that_the_query_and_a_sitemap_name_is_requested_once(web: Web, connection: SqlConnection) -> None:
    site = web.site({"/a": page(), "/b": page()})
    site.routes["/list.xml"] = xml(*(f"<loc>{site.url(path)}</loc>" for path in ("/a", "/b")))
    table = crawl(connection, urls_of(site, "/a", "/list.xml"))
    assert site.pages() == ["/a", "/list.xml", "/b"]
    assert rows(connection, f"SELECT count(*) FROM {table}") == [(2,)]
    assert connection.summary is not None
    assert connection.summary.pages == 2


def test_a_crawl_is_stopped_by_a_connection_that_opened_the_file_by_another_path(
    web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    site = web.site({f"/{number}": page() for number in range(50)})
    terms: dict[str, Any] = {"allow_networks": ["127.0.0.0/8"], "contact": "b@example.org"}
    urls = ", ".join(f"'{site.url(f'/{number}')}'" for number in range(50))
    statement = f"CRAWL (SELECT unnest([{urls}])) INTO main.pages WITH (default_crawl_delay 5)"
    with (
        comity.sql.connect(tmp_path / "a.duckdb", **terms) as crawling,
        comity.sql.connect("a.duckdb", **terms) as other,
    ):
        thread = Thread(target=lambda: crawling.execute(statement))
        thread.start()
        wait_until(site.pages, LIMIT_S, "a request")
        other.execute("STOP CRAWL INTO pages")
        thread.join(LIMIT_S)
        assert crawling.summary is not None
        assert crawling.summary.ended_by == "stopped"


# Settings of DuckDB


def test_http_timeout_and_keep_alive(web: Web, connection: SqlConnection) -> None:
    assert crawl_settings(SqlCrawlOptions(), (), {})["fetch_timeout_s"] == 30
    assert crawl_settings(SqlCrawlOptions(), (), {"http_timeout_s": 60})["fetch_timeout_s"] == 60
    assert crawl_settings(SqlCrawlOptions(), (), {"http_timeout_s": 60, "timeout_s": 5})["fetch_timeout_s"] == 5
    connection.execute("SET http_timeout = 60; SET http_keep_alive = false")
    shown = rows(connection, "SELECT current_setting('http_timeout'), current_setting('http_keep_alive')")
    assert shown == [(60, False)]
    site = web.site({"/a": page(), "/b": page(), "/c": page()})
    crawl(connection, urls_of(site, "/a", "/b"), "max_parallel_per_domain 1")
    assert len({seen.connection for seen in site.log}) == 3
    connection.execute("RESET http_keep_alive")
    site.log.clear()
    crawl(connection, urls_of(site, "/a", "/b", "/c"), "max_parallel_per_domain 1")
    assert len({seen.connection for seen in site.log}) == 1


def test_http_proxy_with_its_user_and_password(web: Web, connection: SqlConnection) -> None:
    proxy = web.site({}, fallback=page(title="by proxy"), robots=Answer(404))
    connection.execute(
        f"SET http_proxy = '{proxy.host}'; SET http_proxy_username = 'me'; SET http_proxy_password = 'pa:ss'"
    )
    table = crawl(connection, "http://behind.example/a")
    connection.execute("RESET http_proxy_username; RESET http_proxy_password")
    assert "by proxy" in rows(connection, f"SELECT body FROM {table}")[0][0]
    sent = {seen.headers.get("proxy-authorization") for seen in proxy.log}
    assert sent == {"Basic " + b64encode(b"me:pa:ss").decode()}


def test_http_2_is_spoken_where_the_server_does(connection: SqlConnection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATES / "ca.pem"))
    with HostileHttp2() as server:
        urls = [server.url("/ok"), server.url("/missing")]
        table = crawl(connection, urls)
        assert sorted(seen.path for seen in server.log) == ["/missing", "/ok", "/robots.txt"]
        assert len({seen.connection for seen in server.log}) == 1
    found = rows(connection, f"SELECT http_status, body FROM {table} ORDER BY http_status")
    assert found[0] == (200, "over http/2")
    assert found[1][0] == 404


# Secrets


def test_headers_of_a_secret_go_to_its_scope_and_nowhere_else(
    web: Web, connection: SqlConnection, tmp_path: Path
) -> None:
    other = web.site({"/there": page()}, address="127.0.0.2")
    site = web.site({"/a": page(), "/away": Answer(302, headers={"Location": other.url("/there")})})
    third = web.site({"/c": page()})
    connection.execute(
        f"CREATE SECRET api (TYPE http, BEARER_TOKEN 'to;ken', EXTRA_HTTP_HEADERS MAP {{'X-Key': 'a; b'}}, "
        f"SCOPE '{site.url('/')}')"
    )
    crawl(connection, [*urls_of(site, "/a", "/away"), third.url("/c")])
    assert {(seen.headers.get("authorization"), seen.headers.get("x-key")) for seen in site.log} == {
        ("Bearer to;ken", "a; b")
    }
    elsewhere = [*other.log, *third.log]
    assert len(elsewhere) == 4
    assert not any({"authorization", "x-key"} & set(seen.headers) for seen in elsewhere)
    folder = Path(connection._beside).parent
    assert not any(b"to;ken" in path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_a_secret_without_a_scope_goes_to_the_hosts_of_the_query(web: Web, connection: SqlConnection) -> None:
    other = web.site({"/there": page()}, address="127.0.0.2")
    site = web.site({"/away": Answer(302, headers={"Location": other.url("/there")})})
    connection.execute("SELECT 1; CREATE SECRET (TYPE HTTP, EXTRA_HTTP_HEADERS MAP {'X-Key': 'value'}); SELECT 2")
    crawl(connection, site.url("/away"))
    assert {seen.headers.get("x-key") for seen in site.log} == {"value"}
    assert {seen.headers.get("x-key") for seen in other.log} == {None}
    assert rows(connection, f"SELECT status FROM crawl('{site.url('/away')}')") == [(200,)]
    assert site.log[-1].headers.get("x-key") == "value"
    connection.sql("DROP SECRET __default_http")
    crawl(connection, site.url("/away"), "", "WHERE true")
    assert site.log[-1].headers.get("x-key") is None


@pytest.mark.parametrize(
    ("secret", "sentence"),
    [
        ("BEARER_TOKEN 'x', SCOPE 'http://127.0.0.1/path'", "has a path"),
        ("EXTRA_HTTP_HEADERS MAP {'X-A': 'env:HOME'}", "cannot be sent"),
    ],
)
def test_a_secret_that_cannot_be_honoured_is_refused(
    web: Web, connection: SqlConnection, secret: str, sentence: str
) -> None:
    site = web.site({"/path": page()})
    secret = secret.replace("http://127.0.0.1/path", site.url("/path"))
    connection.execute(f"CREATE SECRET odd (TYPE http, {secret})")
    with pytest.raises(BadInput, match=sentence):
        crawl(connection, site.url("/path"))
    assert site.log == []


def test_a_scope_that_only_begins_like_a_host_does_not_cover_it(web: Web, connection: SqlConnection) -> None:
    site = web.site({"/a": page()})
    connection.execute(f"CREATE SECRET near (TYPE http, BEARER_TOKEN 'x', SCOPE '{site.url('/')[:-2]}')")
    crawl(connection, site.url("/a"))
    assert {seen.headers.get("authorization") for seen in site.log} == {None}


@pytest.mark.parametrize(
    "statements",
    [
        ["CREATE SECRET IF NOT EXISTS s (TYPE http, BEARER_TOKEN 'for b', SCOPE '{b}')"],
        ["BEGIN", "CREATE OR REPLACE SECRET s (TYPE http, BEARER_TOKEN 'for b', SCOPE '{b}')", "ROLLBACK"],
    ],
)
def test_a_host_gets_no_values_of_a_secret_that_duckdb_did_not_keep(
    web: Web, connection: SqlConnection, statements: list[str]
) -> None:
    a, b = web.site({"/a": page()}), web.site({"/b": page()}, address="127.0.0.2")
    connection.execute(f"CREATE SECRET s (TYPE http, BEARER_TOKEN 'for a', SCOPE '{a.url('/')}')")
    for statement in statements:
        connection.execute(statement.format(b=b.url("/")))
    if len(statements) == 1:
        crawl(connection, [a.url("/a"), b.url("/b")])
        assert {seen.headers.get("authorization") for seen in a.log} == {"Bearer for a"}
    else:
        with pytest.raises(BadInput, match="create it again"):
            crawl(connection, [a.url("/a"), b.url("/b")])
    assert {seen.headers.get("authorization") for seen in b.log} <= {None}


def test_the_values_of_a_secret_may_be_parameters(web: Web, connection: SqlConnection) -> None:
    site = web.site({"/a": page()})
    statement = "CREATE SECRET s (TYPE http, SCOPE ?, BEARER_TOKEN ?, EXTRA_HTTP_HEADERS MAP {'X-Key': 'value'})"
    connection.execute(statement, [site.url("/"), "token"])
    crawl(connection, site.url("/a"))
    sent = {(seen.headers.get("authorization"), seen.headers.get("x-key")) for seen in site.log}
    assert sent == {("Bearer token", "value")}


def test_extract_js_and_the_longest_delay(connection: SqlConnection) -> None:
    with pytest.raises(BadInput, match="extract_js is false"):
        crawl(connection, "http://127.0.0.1/", "extract_js false", "EXTRACT (js.state.name AS name)")
    options = read_options([("max_crawl_delay", 5), ("sitemap_cache_hours", 2)])
    chosen = crawl_settings(options, (), {})
    assert (chosen["max_delay_s"], chosen["sitemap_hours"]) == (5, 2)
