"""CRAWL and its functions where they meet transactions, other connections, odd names, views and odd pages."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Event, Thread

import duckdb
import pytest

import comity
from comity.database.connection import open_database
from comity.database.schema import upgrade
from comity.doors.sql import SqlConnection, calls, extension_names, network
from comity.model.errors import BadInput, ComityError
from comity.rules.sql import statements
from comity.rules.sql.tokens import Token, tokens
from tests.doors.sql.test_crawl_statement import WITH, opened, rows
from tests.servers.waiting import wait_until
from tests.walk.site import Answer, Site, Web, page
from tests.walk.test_first_contact import NOT_TLS, one_port

LIMIT_S = 60.0


@pytest.fixture
def web() -> Iterator[Web]:
    with Web() as web:
        yield web


@pytest.fixture
def site(web: Web) -> Site:
    return web.site({"/": page("/a", "/b"), "/a": page(title="A"), "/b": page(title="B")})


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[SqlConnection]:
    with opened(tmp_path) as connection:
        connection.execute("SET crawler_default_delay = 0; SET crawler_user_agent = 'TestBot/1.0'")
        yield connection


def test_crawl_is_refused_in_a_transaction_which_goes_on(site: Site, connection: SqlConnection) -> None:
    connection.execute("CREATE TABLE t (x INTEGER); BEGIN; INSERT INTO t VALUES (1)")
    with pytest.raises(ComityError, match="CRAWL cannot run inside a transaction"):
        connection.execute(f"CRAWL (SELECT '{site.url('/a')}') INTO pages {WITH})")
    with pytest.raises(ComityError, match="cannot run inside a transaction"):
        connection.execute(f"INSERT INTO t SELECT status FROM crawl('{site.url('/a')}')")
    assert site.log == []
    assert rows(connection, f"SELECT status FROM crawl('{site.url('/a')}')") == [(200,)]
    connection.execute("SELECT count(*) FROM comity.hosts; COMMIT")
    assert rows(connection, "SELECT x FROM t") == [(1,)]


def test_nothing_is_requested_for_a_table_that_cannot_be_written(site: Site, tmp_path: Path) -> None:
    crawl = f"CRAWL (SELECT '{site.url('/a')}') INTO %s {WITH})"
    with opened(tmp_path) as connection:
        connection.execute(crawl % "pages").execute("DELETE FROM pages; CREATE VIEW seen AS FROM pages")
        site.log.clear()
        with pytest.raises(BadInput, match="cannot be written to seen"):
            connection.execute(crawl % "seen")
        connection.execute("CREATE TABLE needy AS FROM pages; ALTER TABLE needy ADD COLUMN must INTEGER")
        connection.execute("ALTER TABLE needy ALTER must SET NOT NULL")
        with pytest.raises(BadInput, match="column must of needy is NOT NULL"):
            connection.execute(crawl % "needy")
        assert site.log == []
    networks = ["127.0.0.0/8"]
    with comity.sql.connect(tmp_path / "web.duckdb", read_only=True, allow_networks=networks) as connection:
        with pytest.raises(BadInput, match="read-only"):
            connection.execute(crawl % "pages")
        assert connection.sql(f"SELECT status FROM crawl('{site.url('/a')}')").fetchall() == [(200,)]
        assert rows(connection, "SELECT count(*) > 0 FROM comity.fetches") == [(True,)]


def test_a_long_statement_is_read_few_times(connection: SqlConnection, monkeypatch: pytest.MonkeyPatch) -> None:
    """A question about a name is not asked of a text that does not have it anywhere."""
    read: list[int] = []

    def noted(text: str) -> Iterator[Token]:
        read.append(len(text))
        return tokens(text)

    for module in (calls, network, extension_names, statements):
        monkeypatch.setattr(module, "tokens", noted)
    urls = ", ".join(f"'http://127.0.0.1:1/{number}'" for number in range(500))
    connection.execute(f"CRAWL (SELECT unnest([{urls}])) INTO pages WHERE url LIKE '%none%'")
    assert sum(size > len(urls) for size in read) <= 4


@pytest.mark.parametrize("name", ['"order"', '"my ""odd"" table"', "other.s.pages", "temp.pages", "s.pages", "Weiß"])
def test_tables_with_odd_names_and_in_other_places(
    site: Site, connection: SqlConnection, tmp_path: Path, name: str
) -> None:
    connection.execute(f"ATTACH '{tmp_path}/other.duckdb' AS other; CREATE SCHEMA other.s; CREATE SCHEMA s")
    urls = f"['{site.url('/a')}', '{site.url('/a')}', NULL, '', 'not a url']"
    with pytest.warns(UserWarning, match="are not URLs"):
        connection.execute(f"CRAWL (SELECT unnest({urls})) INTO {name} EXTRACT (css 'title' AS \"group\") {WITH})")
    assert rows(connection, f"SELECT url FROM {name}") == [(site.url("/a"),)]
    assert connection.execute(f"CRAWL (SELECT '{site.url('/a')}') INTO {name} {WITH})").fetchall()[0][3] == 1


def test_a_filter_and_the_query_see_what_only_this_connection_has(site: Site, connection: SqlConnection) -> None:
    connection.execute(
        f"CREATE TEMP TABLE wanted AS SELECT '{site.url('/a')}' AS url; CREATE TEMP MACRO is_wanted(u) AS "
        "u IN (SELECT url FROM wanted); CREATE SCHEMA mine; USE mine"
    )
    urls = f"FROM (VALUES ('{site.url('/a')}'), ('{site.url('/b')}')) AS t(url)"
    connection.execute(f"CRAWL ({urls}) INTO pages WHERE is_wanted(url) {WITH})")
    assert rows(connection, "SELECT url FROM mine.pages") == [(site.url("/a"),)]
    assert site.pages() == ["/a"]


def test_hostile_patterns_in_a_filter_cost_bounded_time(web: Web, connection: SqlConnection) -> None:
    """An engine that backtracks would not come to an end with any of them."""
    path = f"/{'a' * 1500}"
    site = web.site({path: page()})
    hostile = [
        f"url LIKE '{'%a' * 50}b'",
        f"url ILIKE '{'%_a' * 50}b'",
        f"url GLOB '{'*a?' * 50}b'",
        f"url SIMILAR TO '{'(a*)*' * 20}b'",
        "regexp_matches(url, '(a|a)*b$')",
        "regexp_matches(url, '(a+)+$b')",
    ]
    before = time.process_time()
    connection.execute(f"CRAWL (SELECT '{site.url(path)}') INTO t WHERE NOT ({' OR '.join(hostile)}) {WITH})")
    assert time.process_time() - before < 10.0
    assert rows(connection, "SELECT http_status FROM t") == [(200,)]


def test_a_filter_that_fails_at_run_time_says_so(site: Site, connection: SqlConnection) -> None:
    with pytest.raises(BadInput, match="the filter failed: Conversion Error"):
        connection.execute(f"CRAWL (SELECT '{site.url('/a')}') INTO pages WHERE url::INTEGER > 1 {WITH})")
    assert site.pages() == []
    connection.execute(f"CRAWL (SELECT '{site.url('/a')}') INTO pages {WITH})")
    assert rows(connection, "SELECT count(*) FROM pages") == [(1,)]


def test_the_query_is_a_query_and_may_request_pages_itself(site: Site, connection: SqlConnection) -> None:
    connection.execute("CREATE TABLE t (x INTEGER)")
    with pytest.raises(duckdb.ParserException):
        connection.execute(f"CRAWL (DROP TABLE t) INTO pages {WITH})")
    links = f"SELECT '{site.url('')}' || unnest(htmlpath(body, 'a@href[*]')::VARCHAR[]) FROM crawl('{site.url('/')}')"
    connection.execute(f"CRAWL ({links}) INTO pages {WITH})")
    assert sorted(rows(connection, "SELECT url FROM pages")) == [(site.url("/a"),), (site.url("/b"),)]
    connection.execute(f"CRAWL (SELECT $url) INTO named {WITH})", {"url": site.url("/a")})
    assert rows(connection, "SELECT count(*) FROM named") == [(1,)]


def test_functions_by_views_prepared_statements_and_relations(site: Site, connection: SqlConnection) -> None:
    connection.execute(f"CREATE TEMP VIEW v AS SELECT status FROM crawl('{site.url('/a')}')")
    assert rows(connection, "SELECT * FROM v") == [(200,)]
    connection.execute("CREATE TABLE t AS FROM v; INSERT INTO t FROM v")
    connection.execute("INSERT INTO t FROM v")
    assert rows(connection, "SELECT count(*) FROM t") == [(3,)]
    connection.execute("PREPARE p AS SELECT status FROM crawl_url(?)")
    assert rows(connection, f"EXECUTE p('{site.url('/b')}')") == [(200,)]
    relation = connection.sql(f"SELECT url, status FROM crawl('{site.url('/a')}')")
    connection.execute("SELECT 1").fetchall()
    assert relation.filter("status = 200").fetchall() == relation.fetchall() == [(site.url("/a"), 200)]
    counted = f"SELECT CASE WHEN count(*) = 0 THEN error('none') ELSE count(*) END FROM crawl('{site.url('/a')}')"
    assert rows(connection, counted) == [(1,)]
    with pytest.raises(duckdb.Error, match="none"):
        connection.execute("SELECT error('none') FROM crawl('not a url') RIGHT JOIN range(1) ON true")
    assert connection.sql(f"CRAWL (SELECT '{site.url('/a')}') INTO pages {WITH})").fetchall()[0][0] == 1


def test_functions_leave_nothing_in_the_state(site: Site, connection: SqlConnection, tmp_path: Path) -> None:
    assert rows(connection, f"SELECT count(*) FROM crawl(['{site.url('/a')}', '{site.url('/none')}'])") == [(2,)]
    assert rows(connection, f"SELECT count(*) FROM sitemap('{site.url('/')}')") == [(0,)]
    assert rows(connection, "SELECT count(*) FROM comity.frontier") == [(0,)]
    assert not (tmp_path / "web.comity.pages").exists()


def test_several_connections_of_one_process(web: Web, site: Site, tmp_path: Path) -> None:
    held = Event()
    slow = web.site({"/slow": Answer(body=page(), held=held)})
    statement = f"CRAWL (SELECT '{slow.url('/slow')}') INTO slow {WITH})"
    failures: list[BaseException] = []

    def run(connection: SqlConnection) -> None:
        try:
            connection.execute(statement)
        except BaseException as problem:
            failures.append(problem)

    with opened(tmp_path) as one, opened(tmp_path) as two, closing(one.cursor()) as three:
        for connection in (one, two, three):
            connection.execute("SET crawler_default_delay = 0; SET crawler_user_agent = 'TestBot/1.0'")
        thread = Thread(target=run, args=(three,))
        thread.start()
        wait_until(lambda: slow.pages() == ["/slow"], LIMIT_S, "the request")
        with pytest.raises(ComityError, match="the same statement is running"):
            one.execute(statement)
        two.execute(f"CRAWL (SELECT '{site.url('/a')}') INTO pages {WITH})")
        assert rows(one, f"SELECT status, jq(body, 'title').text FROM crawl('{site.url('/a')}')") == [(200, "A")]
        held.set()
        thread.join(LIMIT_S)
        assert (failures, rows(one, "SELECT count(*) FROM slow")) == ([], [(1,)])


def test_the_same_statement_of_two_databases_on_one_state(site: Site, tmp_path: Path) -> None:
    statement = f"CRAWL (SELECT '{site.url('/')}') INTO pages {WITH}, follow_links true) LIMIT %d"
    for limit in (1, 3):
        for name in ("one", "two"):
            place = {"state": tmp_path / "shared.comity.db", "allow_networks": ["127.0.0.0/8"]}
            with comity.sql.connect(tmp_path / f"{name}.duckdb", **place) as connection:
                connection.execute(statement % limit)
                assert rows(connection, "SELECT count(*) FROM pages") == [(1,)]


@pytest.mark.parametrize("in_schema", [False, True])
def test_a_users_own_database_or_schema_called_comity_is_left_alone(tmp_path: Path, in_schema: bool) -> None:
    with comity.sql.connect(tmp_path / ("own.duckdb" if in_schema else "comity.duckdb")) as connection:
        if in_schema:
            connection.execute("CREATE SCHEMA comity; CREATE TABLE comity.hosts AS SELECT 7 AS mine")
        else:
            connection.execute("CREATE TABLE hosts AS SELECT 7 AS mine")
        assert rows(connection, "SELECT * FROM comity.hosts") == [(7,)]
        assert rows(connection, "SELECT current_setting('crawler_default_delay')") == [(1.0,)]


def test_a_key_other_than_url_and_columns_of_the_users(site: Site, connection: SqlConnection) -> None:
    statement = f"CRAWL (SELECT '{site.url('/a')}') INTO %s {WITH})"
    connection.execute(statement % "made")
    connection.execute(
        "CREATE SEQUENCE s; CREATE TABLE own (id INTEGER PRIMARY KEY DEFAULT nextval('s'), note VARCHAR)"
    )
    for name, kind, *_rest in rows(connection, "DESCRIBE made"):
        connection.execute(f"ALTER TABLE own ADD COLUMN {name} {kind}")
    connection.execute("ALTER TABLE made ADD COLUMN note VARCHAR")
    for table in ("own", "made"):
        connection.execute(statement % table)
        connection.execute(f"UPDATE {table} SET note = 'kept', error = 'http_500'")
        connection.execute(statement % table)
        assert rows(connection, f"SELECT note, error, http_status FROM {table}") == [("kept", None, 200)]


def test_odd_pages(web: Web, connection: SqlConnection) -> None:
    half = '<script type="application/ld+json">{"@type":"Product","name":"\\ud800x"}</script>'
    away = web.site({"/there": page(title="there")}, address="127.0.0.2")
    site = web.site(
        {
            "/image": Answer(body=b"\x89PNG\x00\xff", type="image/png"),
            "/nul": page(body="a\x00b"),
            "/half": page(head=half),
            "/bad": Answer(body=b"<p>\xff\xfe\xed\xa0\x80</p>"),
            "/empty": Answer(body=""),
            "/away": Answer(302, headers={"Location": away.url("/there")}),
        }
    )
    paths = ["/image", "/nul", "/half", "/bad", "/empty", "/away"]
    urls = ", ".join(f"'{site.url(path)}'" for path in paths)
    connection.execute(f"CRAWL (SELECT unnest([{urls}])) INTO pages {WITH})")
    found = {url: rest for url, *rest in rows(connection, "SELECT url, http_status, body, final_url FROM pages")}
    assert {url: status for url, (status, *_rest) in found.items()} == {site.url(path): 200 for path in paths}
    assert found[site.url("/image")][1] is None
    assert found[site.url("/away")][2] == away.url("/there")
    assert rows(connection, f"SELECT count(*) FROM crawl([{urls}]) WHERE status = 200") == [(6,)]
    assert (
        len(
            rows(
                connection, "SELECT page_info(body, url), jq(body, 'p'), htmlpath(body, 'script@text.name') FROM pages"
            )
        )
        == 6
    )


def test_settings_behind_comments_and_out_of_bounds(connection: SqlConnection) -> None:
    connection.execute("-- a comment\nSET SESSION crawler_timeout_ms TO 1500 /* and another */;")
    assert rows(connection, "SELECT current_setting('crawler_timeout_ms')") == [(1500,)]
    for wrong in (
        "crawler_default_delay = -1",
        "crawler_timeout_ms = 'soon'",
        "crawler_user_agent = ''",
        "crawler_timeout_ms",
    ):
        with pytest.raises(BadInput):
            connection.execute(f"SET {wrong}")
    assert rows(connection, "SELECT current_setting('crawler_timeout_ms')") == [(1500,)]


def test_a_relation_right_after_a_statement(site: Site, connection: SqlConnection) -> None:
    connection.execute(f"CRAWL (SELECT '{site.url('/a')}') INTO pages {WITH})")
    assert connection.sql("SELECT http_status FROM pages").fetchall() == [(200,)]


def test_a_database_in_memory_with_a_name_makes_no_files(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with comity.sql.connect(":memory:named", allow_networks=["127.0.0.0/8"]) as connection:
        connection.execute(f"CRAWL (SELECT '{site.url('/a')}') INTO pages {WITH})")
        assert rows(connection, "SELECT count(*) FROM pages") == [(1,)]
    assert list(tmp_path.iterdir()) == []


def test_sitemaps_of_a_site_are_read_although_its_start_page_is_not_wanted(
    site: Site, connection: SqlConnection
) -> None:
    listed = "".join(f"<url><loc>{site.url(path)}</loc></url>" for path in ("/a", "/b"))
    site.routes["/sitemap.xml"] = Answer(body=f"<urlset>{listed}</urlset>", type="application/xml")
    connection.execute(f"CRAWL (SELECT '{site.url('/')}') INTO pages WHERE url LIKE '%/b' {WITH})")
    assert rows(connection, "SELECT url FROM pages") == [(site.url("/b"),)]
    assert set(site.pages()) == {"/sitemap.xml", "/b"}
    assert len(rows(connection, f"SELECT url FROM sitemap('{site.url('/')}')")) == 2


def test_an_address_like_that_of_a_sitemap_is_crawled_as_a_page(site: Site, connection: SqlConnection) -> None:
    site.routes["/page.xml"] = page()
    urls = f"['{site.url('/page.xml')}', '{site.url('/none.xml')}']"
    connection.execute(f"CRAWL (SELECT unnest({urls})) INTO pages {WITH})")
    found = rows(connection, "SELECT url, http_status, error_type FROM pages ORDER BY http_status")
    assert found == [(site.url("/page.xml"), 200, None), (site.url("/none.xml"), 404, "http_client_error")]


def test_a_state_in_either_database(site: Site, tmp_path: Path, database_url: str) -> None:
    with closing(open_database(database_url)) as database:
        upgrade(database)
    place = {"state": database_url, "allow_networks": ["127.0.0.0/8"], "contact": "bot@example.org"}
    with comity.sql.connect(tmp_path / "web.duckdb", **place) as connection:
        connection.execute("SET crawler_default_delay = 0")
        connection.execute(f"CRAWL (SELECT '{site.url('/')}') INTO pages {WITH}, follow_links true)")
        assert rows(connection, "SELECT count(*) FROM pages") == [(3,)]
        assert rows(connection, f"SELECT status FROM crawl('{site.url('/a')}')") == [(200,)]
        found = rows(connection, "SELECT status, is_seeded, frontier_size, pages_crawled FROM comity.hosts")
        assert found == [("pending", False, 0, 0)]
        named = ("frontier", "fetches", "evidence", "ledger", "robots", "runs")
        assert all(rows(connection, f"SELECT count(*) FROM comity.{name}")[0][0] for name in named)


class _Recorder:
    """A connection of DuckDB that remembers what it was asked to run."""

    def __init__(self, duck: duckdb.DuckDBPyConnection) -> None:
        self._duck = duck
        self.asked: list[object] = []

    def execute(self, query: object, *rest: object) -> object:
        self.asked.append(query)
        return self._duck.execute(query, *rest)  # type: ignore[call-overload]

    def __getattr__(self, name: str) -> object:
        return getattr(self._duck, name)


@pytest.mark.parametrize(
    "text",
    [
        "\n-- first\nSELECT 1 ; -- last\n",
        "SELECT 'CRAWL (SELECT 1) INTO t; -- no' ;",
        'SELECT $🦆$a; b$🦆$, E\'\\\';\', "a;" FROM (SELECT 1 AS "a;")',
        "/* /* nested; */ */ SELECT 'one'\n'two'",
        "\ufeffSELECT\u00a042\u3000",
        "FROM (VALUES (1)) AS crawl(crawl)",
    ],
)
def test_plain_sql_reaches_duckdb_as_it_was_written(text: str) -> None:
    with comity.sql.connect() as connection:
        recorder = connection._duck = _Recorder(connection._duck)
        connection.execute(text)
        assert recorder.asked[-1] == text


@pytest.mark.parametrize(
    "script",
    [
        "SELECT 1 AS z; SET VARIABLE v = 2",
        "CREATE TABLE t AS SELECT 3 AS a; SELECT a FROM t; DROP TABLE t",
        "CREATE TABLE t (a INTEGER); SELECT 4 AS z; INSERT INTO t VALUES (1)",
        "BEGIN; CREATE TABLE t AS SELECT 5 AS a; FROM t; COMMIT; DROP TABLE t",
        "CREATE TABLE t AS SELECT 6 AS a; DROP TABLE t",
        "SELECT 7 AS a; SELECT b FROM (SELECT 1 AS a); SELECT 8",
        "SELECT 9; SELECT column0 FROM (SELECT 1 AS a); SET VARIABLE v = 2",
        "SELECT html.body FROM (SELECT {'a': 1} AS html)",
        "SELECT a->'b' IS NULL FROM (SELECT 1 AS c)",
        "EXPLAIN SELECT 1; SET VARIABLE v = 2",
    ],
)
def test_a_script_of_duckdbs_has_the_result_and_the_error_that_duckdb_gives(script: str) -> None:
    with closing(duckdb.connect()) as plain, comity.sql.connect() as connection:
        answers = []
        for each in (plain, connection):
            try:
                each.execute(script)
                answers.append((each.description, each.fetchall()))
            except duckdb.Error as problem:
                answers.append((type(problem), str(problem).splitlines()[0]))
        assert answers[0] == answers[1]


def test_what_a_query_before_the_end_of_a_script_lacks_is_supplied(site: Site, connection: SqlConnection) -> None:
    connection.execute(f"CRAWL (SELECT '{site.url('/a')}') INTO pages {WITH})")
    assert rows(connection, "SELECT status_code FROM pages; SET VARIABLE v = 1") == [(200,)]
    assert rows(connection, "SET VARIABLE v = 2; SELECT status_code, getvariable('v') FROM pages") == [(200, 2)]


def test_what_duckdb_has_built_in_is_installed_without_a_download(connection: SqlConnection) -> None:
    """As scripts of the crawler extension do; also where nothing can be downloaded, as here."""
    connection.execute("SET custom_extension_repository = 'http://127.0.0.1:1'")
    connection.execute("INSTALL json; LOAD json; INSTALL 'parquet'")
    with pytest.raises(duckdb.Error):
        connection.execute("INSTALL nothing_like_it")


def test_an_error_in_extract_has_its_place_in_the_script() -> None:
    with comity.sql.connect() as connection:
        for extract in ("a FROM css 'h1', name FROM cs 'h1'", "a FROM css 'h1',\n name FROM cs 'h1'"):
            script = f"SELECT 1;\nCRAWL (SELECT 'http://a.example/')\n  INTO t EXTRACT ( {extract})"
            place = script.index("cs '")
            line, column = script.count("\n", 0, place) + 1, place - script.rindex("\n", 0, place)
            with pytest.raises(BadInput, match=f"^EXTRACT: line {line}, column {column}: “cs” is not a known source"):
                connection.execute(script)


def test_an_error_in_the_query_or_the_filter_has_its_place_in_the_script(connection: SqlConnection) -> None:
    with pytest.raises(duckdb.CatalogException, match="LINE 4: FROM nowhere"):
        connection.execute("SELECT 1;\nCRAWL (\n  SELECT url\nFROM nowhere\n) INTO t")
    for space in (" ", "\n  "):
        for filtered, said in (
            ("lenght(url) > 3", 'did you mean "length"'),
            ("titel = 1", "may name the column url"),
        ):
            script = f"SELECT 1;\nCRAWL (SELECT 'http://a.example/') INTO t WHERE true{space}AND {filtered}"
            place = script.index(filtered)
            line, column = script.count("\n", 0, place) + 1, place - script.rindex("\n", 0, place)
            with pytest.raises(BadInput, match=f"(?i)^WHERE: line {line}, column {column}: .*{said}"):
                connection.execute(script)


@pytest.mark.parametrize("place", ["", "own.duckdb"])
def test_a_program_that_leaves_its_connection_open_ends_without_a_word(tmp_path: Path, place: str) -> None:
    """DuckDB's binding writes a page about functions that were never taken away."""
    program = (
        "import comity, contextlib\n"
        f"connection = comity.sql.connect({place!r})\n"
        "other = connection.cursor()\n"
        "with contextlib.suppress(Exception):\n"
        "    connection.execute('SELECT nope')\n"
        "print(connection.execute('CREATE TABLE t AS SELECT 7 AS x; FROM t').fetchall())"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("[(7,)]\n", "", 0)


def test_a_host_without_a_scheme_and_without_https_has_the_rows_of_its_pages_by_http(
    web: Web, connection: SqlConnection
) -> None:
    """That https was tried is evidence, not a page that was refused."""
    with one_port(web, {"/": page("/a"), "/a": page()}, NOT_TLS) as (port, hellos):
        host = f"127.0.0.1:{port}"
        asked = f"SELECT url, final_url, status FROM crawl(['{host}', '{host}/a', '{host}/gone'])"
        listed = [(f"http://{host}{path}", status) for path, status in (("/", 200), ("/a", 200), ("/gone", 404))]
        assert rows(connection, asked) == [(url, url, status) for url, status in listed]
        for left_out in (0, 1):
            summary = connection.execute(f"CRAWL (SELECT '{host}') INTO bare WITH (follow_links true)").fetchall()
            assert summary == [(0 if left_out else 2, 0, 0, left_out, 0, "nothing_left", 0)]
        assert rows(connection, "SELECT url, http_status FROM bare ORDER BY url") == listed[:2]
        assert len(hellos) <= 2, "once for each state"
        found = rows(connection, "SELECT DISTINCT url FROM comity.evidence WHERE type = 'no_https'")
        assert (f"https://{host}/",) in found
