"""Forms of older versions of DuckDB and of its crawler extension, as text; public statements run them."""

from __future__ import annotations

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.doors.sql.network import with_queries
from comity.doors.sql.older_forms import in_present_form

TESTED = "No function matches the given name and argument types 'json_extract(JSON, BOOLEAN)'."
MISSING = 'Referenced column "column0" not found in FROM clause!'
NO_BODY = 'Could not find key "body" in struct'
PIECES = st.sampled_from(
    [
        *(
            "a",
            "b.c",
            "'k'",
            "0",
            "->",
            "->>",
            "IS",
            "NOT",
            "NULL",
            "ISNULL",
            "(",
            ")",
            "[",
            "]",
            "{",
            "}",
            "::",
            "JSON",
        ),
        *("f(", ",", "AND", "html.body", "column0", "crawl(", "sitemap(", "WITH", "AS"),
    ]
)


@pytest.mark.parametrize(
    ("older", "present"),
    [
        ("SELECT j->'a' IS NULL", "SELECT (j->'a') IS NULL"),
        ("SELECT t.j->'a'->>0 IS NOT NULL, j", "SELECT (t.j->'a'->>0) IS NOT NULL, j"),
        ("SELECT 1 WHERE f(j, '$')->'a' ISNULL", "SELECT 1 WHERE (f(j, '$')->'a') ISNULL"),
        ("SELECT 1 WHERE (j)->'a' NOTNULL", "SELECT 1 WHERE ((j)->'a') NOTNULL"),
        ("SELECT m['x'][1]->'a' IS NULL", "SELECT (m['x'][1]->'a') IS NULL"),
        ("SELECT 1 AND [j][1]->'a' IS NULL", "SELECT 1 AND ([j][1]->'a') IS NULL"),
        ("SELECT j::JSON->'a' IS NULL", "SELECT (j::JSON->'a') IS NULL"),
        ("SELECT '{}'->'a' IS NULL", "SELECT ('{}'->'a') IS NULL"),
        ("SELECT 'a' IS NULL, list_filter(l, x -> x IS NULL)", None),
    ],
)
def test_a_key_that_is_tested_is_read_before_the_test(older: str, present: str | None) -> None:
    assert in_present_form(older, TESTED) == present
    assert in_present_form(older, "another refusal") is None


def test_names_of_older_versions() -> None:
    found = in_present_form("SELECT column0, \"column0\", 'column1', COLUMN12 FROM t", MISSING)
    assert found == "SELECT col0, \"column0\", 'column1', col12 FROM t"
    assert (
        in_present_form("SELECT c.html.body, body, 'html.body'", NO_BODY) == "SELECT c.html.document, body, 'html.body'"
    )
    assert in_present_form("SELECT body", NO_BODY) is None


@given(st.lists(PIECES, max_size=25).map(" ".join), st.sampled_from([TESTED, MISSING, NO_BODY]))
def test_no_mixture_of_words_crashes_it_and_brackets_stay_balanced(text: str, refusal: str) -> None:
    present = in_present_form(text, refusal) or text
    assert present.count("(") - present.count(")") == text.count("(") - text.count(")")
    with_queries(text)


@given(
    st.sampled_from(["j", "(j)", "t.j", "j::JSON", "json(j)", "[j][1]", "m['k']"]),
    st.lists(st.booleans(), min_size=1, max_size=3),
)
def test_what_it_gives_is_what_the_older_version_meant(operand: str, arrows: list[bool]) -> None:
    chain = operand + "".join("->'a'" if is_value else "->0" for is_value in arrows) + "->>'a'"
    table = "(SELECT '{\"a\": {\"a\": [1]}}'::JSON AS j, MAP {'k': '{}'::JSON} AS m) AS t"
    older = f"SELECT 1 = 1 AND {chain} IS NOT NULL FROM {table}"
    with pytest.raises(duckdb.BinderException) as refusal:
        duckdb.execute(older)
    present = in_present_form(older, str(refusal.value))
    assert present is not None
    assert duckdb.execute(present).fetchall() == duckdb.execute(older.replace(chain, f"({chain})")).fetchall()
