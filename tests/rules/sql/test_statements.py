"""Reading scripts: the statements of the door are read, every other goes through as it was written."""

from __future__ import annotations

from decimal import Decimal

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.model.statement import (
    CrawlerSetting,
    CrawlingMerge,
    CrawlStatement,
    PlainSql,
    QualifiedName,
    Statement,
    StatementProblem,
    StopCrawl,
    StreamStatement,
)
from comity.rules.sql.statements import (
    CrawlWithin,
    crawl_within,
    first_lines,
    is_complete,
    print_statement,
    read_script,
)


def only(text: str) -> Statement | StatementProblem:
    (found,) = read_script(text)
    return found


def crawl(text: str) -> CrawlStatement:
    found = only(text)
    assert isinstance(found, CrawlStatement), found
    return found


def problem(text: str) -> str:
    found = only(text)
    assert isinstance(found, StatementProblem), found
    return str(found)


def test_a_whole_statement() -> None:
    found = crawl(
        """crawl (SELECT url FROM (VALUES ('https://a.example/;)')) t(url)) -- seeds
        INTO "My Schema".pages
        EXTRACT (price DECIMAL FROM css '.price::text' | parse_price, name FROM jsonld.Product.name)
        WHERE url LIKE '%/p/%' AND extract('year' FROM now()) > 2000
        WITH (user_agent 'Bob''s/1.0', default_crawl_delay 0.5, compress = true, threads := 4,
              accept_content_types ['text/html', 'text/*'], max_retries -1)
        LIMIT 1_000;"""
    )
    assert found == CrawlStatement(
        "SELECT url FROM (VALUES ('https://a.example/;)')) t(url)",
        QualifiedName(("My Schema", "pages")),
        "price DECIMAL FROM css '.price::text' | parse_price, name FROM jsonld.Product.name",
        "url LIKE '%/p/%' AND extract('year' FROM now()) > 2000",
        (
            ("user_agent", "Bob's/1.0"),
            ("default_crawl_delay", Decimal("0.5")),
            ("compress", True),
            ("threads", 4),
            ("accept_content_types", ("text/html", "text/*")),
            ("max_retries", -1),
        ),
        1000,
    )


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("CRAWL (SELECT 'x') INTO pages", ("pages",)),
        ("CRAWL SITES (SELECT 'x') INTO a.b.c", ("a", "b", "c")),
        ('/* one /* two */ */ CRAWL(SELECT $$a;)\'b$$)INTO"we""ird"', ('we"ird',)),
        ("CRAWL (SELECT $q$ $$ ) $q$) INTO pages WITH ()", ("pages",)),
    ],
)
def test_forms_of_the_head(text: str, target: tuple[str, ...]) -> None:
    assert crawl(text).target.parts == target


def test_clauses_come_in_any_order() -> None:
    found = crawl("CRAWL (SELECT 1) INTO t LIMIT 5 WITH (threads 2) WHERE url <> '' ")
    assert (found.limit, found.options, found.where) == (5, (("threads", 2),), "url <> ''")


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("'a;b'", "a;b"),
        ("E'a\\n\\x41\\u00e9\\''", "a\nAé'"),
        ("$$it's$$", "it's"),
        ("1e3", Decimal("1e3")),
        (".5", Decimal("0.5")),
        ("+7", 7),
        ("-0.25", Decimal("-0.25")),
        ("on", True),
        ("FALSE", False),
        ("NULL", None),
        ("()", ()),
        ("[1, ['a', true]]", (1, ("a", True))),
    ],
)
def test_values_of_options(written: str, value: object) -> None:
    assert crawl(f"CRAWL (SELECT 1) INTO t WITH (an_option {written})").options == (("an_option", value),)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("CRAWL", "line 1, column 6: expected a query in parentheses"),
        ("CRAWL SELECT 1 INTO t", "line 1, column 7: expected a query in parentheses"),
        ("CRAWL () INTO t", "line 1, column 8: expected a query in parentheses"),
        ("CRAWL (SELECT 1", "line 1, column 7: '(' is never closed"),
        ("CRAWL (SELECT [1)] INTO t", "line 1, column 17: ')' does not close '['"),
        ("CRAWL (SELECT 1)\nINTO", "line 2, column 5: expected the name of a table, but the statement ends"),
        ("CRAWL (SELECT 1) INTO 'pages'", "line 1, column 23: the name of a table is missing"),
        ("CRAWL (SELECT 1) IN t", "line 1, column 18: expected INTO, not 'IN'"),
        (
            "CRAWL (SELECT 1) INTO t\nWHER url = ''",
            "line 2, column 1: 'WHER' is not expected here; did you mean WHERE?",
        ),
        ("CRAWL (SELECT 1) INTO t LIMIT 1 LIMIT 2", "line 1, column 33: the clause LIMIT appears twice"),
        ("CRAWL (SELECT 1) INTO t LIMIT 1.5", "line 1, column 31: LIMIT needs a whole number"),
        ("CRAWL (SELECT 1) INTO t WITH (a 1, A 2)", "line 1, column 36: the option a appears twice"),
        ("CRAWL (SELECT 1) INTO t WITH (a 'x)", "line 1, column 33: a string is never closed"),
        ("CRAWL (SELECT 1) INTO t WITH (a ?)", "line 1, column 33: the value of a is written out"),
        ("CRAWL (SELECT 1) INTO t WITH (a 1 b 2)", "line 1, column 35: expected a comma or a closing parenthesis"),
        ("CRAWL (SELECT 1) INTO t WHERE", "line 1, column 30: expected a condition on url, but the statement ends"),
        ("CRAWL (SELECT 1) INTO t WHERE WITH (a 1)", "line 1, column 31: expected a condition on url"),
        ("CRAWL (SELECT 1) INTO a.b.c.d", "line 1, column 29: a table has at most a catalog"),
        ("STOP CRAWL INTO t now", "line 1, column 19: nothing may follow the table"),
        ("STREAM SELECT 1 INTO t", "line 1, column 8: expected a query in parentheses"),
        ("STREAM (SELECT 1) INTO t WHERE x", "line 1, column 26: nothing may follow the table"),
        ("STREAM (SELECT 1) INTO t\nWITH (size 5)", "line 2, column 7: size: the only option of STREAM is batch_size"),
        ("STREAM (SELECT 1) INTO t WITH (batch_size 'x')", "line 1, column 32: batch_size: it takes a whole number"),
    ],
)
def test_problems_say_where_and_what_was_expected(text: str, sentence: str) -> None:
    assert problem(text).startswith(sentence)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("STREAM (SELECT ')' AS a) INTO t", StreamStatement("SELECT ')' AS a", QualifiedName(("t",)))),
        (
            "stream (SELECT 1\n) INTO a.b WITH (batch_size 50) LIMIT 7",
            StreamStatement("SELECT 1", QualifiedName(("a", "b")), 50, 7),
        ),
    ],
)
def test_rows_of_a_query_into_a_table(text: str, expected: StreamStatement) -> None:
    assert only(text) == expected
    assert only(print_statement(expected)) == expected


def test_stream_into_using_is_a_merge() -> None:
    found = only("STREAM INTO jobs USING (SELECT 1 AS id) AS src ON (src.id = jobs.id) WHEN NOT MATCHED THEN INSERT")
    assert isinstance(found, CrawlingMerge)
    assert found.merge.startswith("MERGE INTO jobs USING (SELECT 1 AS id) AS src ON")
    assert (found.target, found.source) == (QualifiedName(("jobs",)), "SELECT 1 AS id")


def test_after_a_problem_the_next_statement_is_read() -> None:
    found = list(read_script("CRAWL oops; SELECT 1; STOP CRAWL INTO t; CRAWLING MERGE INTO t USING s ON (x) ;"))
    assert isinstance(found[0], StatementProblem)
    assert found[1:] == [
        PlainSql("SELECT 1"),
        StopCrawl(QualifiedName(("t",))),
        CrawlingMerge("MERGE INTO t USING s ON (x)"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 'CRAWL (SELECT 1) INTO t; -- no'",
        "SELECT * FROM crawl",
        'CREATE TABLE "CRAWL (" (crawl INT)',
        "SELECT $$ ; CRAWL $$",
        "WITH crawling AS (SELECT 1) FROM crawling",
        "SELECT 'never closed",
        "/* never closed",
        "stop",
        "-- a comment\nSELECT 1 /* another */",
        "\\ `what` is this?",
        "SELECT $🦆$ ; CRAWL $🦆$",
        "SELECT `a;b`, 🦆 FROM ü",
        "\ufeffSELECT\u200b1",
    ],
)
def test_what_is_not_ours_goes_through_unchanged(text: str) -> None:
    assert list(read_script(text)) == [PlainSql(text)]


def test_names_and_spaces_beyond_ascii() -> None:
    text = "\ufeffCRAWL\u00a0(SELECT 1)\u3000INTO 🦆.`größe;` -- ;\nLIMIT\u200b3;"
    assert list(read_script(text)) == [
        CrawlStatement("SELECT 1", QualifiedName(("🦆", "größe;")), None, None, (), 3),
    ]


def test_the_lines_of_statements() -> None:
    assert first_lines("SELECT 1;\n\n-- a comment;\nCRAWL (SELECT\n1) INTO t; SELECT 2") == [1, 4, 5]
    assert first_lines("") == []


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("", True),
        ("SELECT 1", False),
        ("SELECT 1;", True),
        ("SELECT ';", False),
        ("/* ;", False),
        ("SELECT 1; --", True),
    ],
)
def test_a_prompt_runs_what_is_complete(text: str, complete: bool) -> None:
    assert is_complete(text) is complete


@given(st.text())
def test_no_text_crashes_it(text: str) -> None:
    for found in read_script(text):
        assert isinstance(found, Statement | StatementProblem)


_PIECES = [
    "CRAWL",
    "(",
    ")",
    "SELECT 1",
    "INTO",
    "t",
    "WITH",
    "a 'b'",
    ",",
    "WHERE",
    "LIMIT 3",
    "EXTRACT",
    ";",
    "--\n",
    "'",
    '"',
]


@given(st.lists(st.sampled_from(_PIECES)).map(" ".join))
def test_a_crawl_within_a_statement_is_found_or_refused_with_its_place(text: str) -> None:
    found = crawl_within(f"SELECT * FROM (CRAWL (SELECT 1) {text}")
    if isinstance(found, CrawlWithin):
        assert found.start == len("SELECT * FROM ")
        assert text.lstrip().startswith("INTO")
    elif found is not None:
        assert (found.at.line, found.at.column) > (1, len("SELECT * FROM "))
    for call in (
        "SELECT * FROM crawl(SELECT 1)",
        "SELECT * FROM (CRAWL (SELECT 1))",
        "SELECT '(CRAWL (SELECT 1) INTO t)'",
    ):
        assert crawl_within(call) is None


@given(st.lists(st.sampled_from(_PIECES)).map(" ".join))
def test_no_mixture_of_its_own_words_crashes_it(text: str) -> None:
    for found in read_script(text):
        if isinstance(found, StatementProblem):
            lines = text.split("\n")
            assert 1 <= found.at.line <= len(lines)
            assert 1 <= found.at.column <= len(lines[found.at.line - 1]) + 1


_NAMES = st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=1, max_size=8)
_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(st.characters(codec="utf-8"), max_size=10)
    | st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=0).map(
        lambda value: value + Decimal("0.001")
    ),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=4,
)


@given(
    st.builds(
        CrawlStatement,
        st.sampled_from(["SELECT 1", "FROM t -- end", "SELECT ')' || $$;$$"]),
        st.lists(_NAMES, min_size=1, max_size=3).map(lambda parts: QualifiedName(tuple(parts))),
        st.none() | st.sampled_from(["a FROM css 'b'", "jsonld.x AS y -- z"]),
        st.none() | st.sampled_from(["url LIKE '%;%'", "length(url) < 10 AND (true)"]),
        st.dictionaries(st.from_regex(r"[a-z_]{1,5}", fullmatch=True), _VALUES, max_size=3).map(
            lambda all_: tuple(all_.items())
        ),
        st.none() | st.integers(0, 10**9),
    )
)
def test_what_is_printed_is_read_as_the_same(statement: CrawlStatement) -> None:
    assert list(read_script(print_statement(statement))) == [statement]


@given(st.text(max_size=40), st.text(max_size=40))
def test_the_split_into_statements_agrees_with_duckdb(one: str, other: str) -> None:
    quoted = [text.replace("\0", "").encode("utf-8", "ignore").decode().replace("'", "''") for text in (one, other)]
    script = f"SELECT '{quoted[0]}'; SELECT '{quoted[1]}' -- ;\n"
    assert len(duckdb.extract_statements(script)) == len(list(read_script(script))) == 2


@pytest.mark.parametrize(
    ("text", "setting"),
    [
        ("SET crawler_user_agent = 'it''s/1'", CrawlerSetting("crawler_user_agent", "it's/1")),
        ("/* c */ set global Crawler_Timeout_ms to 5", CrawlerSetting("crawler_timeout_ms", 5)),
        ("SET \"crawler_user_agent\" = 'x/1'", CrawlerSetting("crawler_user_agent", "x/1")),
        ("RESET crawler_default_delay", CrawlerSetting("crawler_default_delay", None, is_reset=True)),
    ],
)
def test_settings_of_the_crawler_are_read_and_printed(text: str, setting: CrawlerSetting) -> None:
    assert list(read_script(text)) == list(read_script(print_statement(setting))) == [setting]


@pytest.mark.parametrize(
    "text", ["SET threads = 4", "SET VARIABLE crawler_x = 1", "SET", "SET crawler", "RESET threads"]
)
def test_other_settings_are_duckdbs(text: str) -> None:
    assert list(read_script(text)) == [PlainSql(text)]
