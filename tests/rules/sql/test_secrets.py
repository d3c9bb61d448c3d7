"""Statements about HTTP secrets: what is read from them, and which headers they mean."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.model.errors import BadInput
from comity.rules.robots.access import is_in_networks
from comity.rules.sql.secrets import SecretStatement, check_scope, read_secret_statement, secret_for, secret_headers
from comity.rules.sql.statements import read_script


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("CREATE SECRET (TYPE http, BEARER_TOKEN 'x')", ("__default_http", {"type": "http", "bearer_token": "'x'"})),
        (
            'create or replace temporary secret if not exists "My Key" in memory (TYPE HTTP, '
            "EXTRA_HTTP_HEADERS MAP {'a, b': ');'}, SCOPE 'https://e.example')",
            (
                "my key",
                {"type": "HTTP", "extra_http_headers": "MAP {'a, b': ');'}", "scope": "'https://e.example'"},
                True,
            ),
        ),
        ("CREATE PERSISTENT SECRET p (TYPE 'http', PROVIDER config)", ("p", {"type": "'http'", "provider": "config"})),
        ("DROP SECRET IF EXISTS p", ("p", None)),
        ("CREATE SECRET (TYPE s3, KEY_ID 'x')", None),
        ("CREATE TABLE secret (type INTEGER)", None),
        ("CREATE SECRET", None),
        ("CREATE SECRET x (TYPE http", None),
        ("SELECT 'CREATE SECRET (TYPE http)'", None),
    ],
)
def test_statements_about_secrets(text: str, found: tuple[Any, ...] | None) -> None:
    assert read_secret_statement(text) == (None if found is None else SecretStatement(*found))


@given(st.text())
def test_no_text_breaks_the_reader(text: str) -> None:
    for head in ("", "CREATE SECRET ", "CREATE SECRET a (TYPE http, ", "DROP SECRET "):
        read_secret_statement(head + text)


def test_headers_of_a_secret() -> None:
    assert secret_headers("s", {"bearer_token": "t", "extra_http_headers": {"X-A": "b"}}) == [
        ("X-A", "b"),
        ("Authorization", "Bearer t"),
    ]
    assert secret_headers("s", {}) == []
    for values in (
        {"bearer_token": "a\nb"},
        {"extra_http_headers": {"X": "file:/etc/passwd"}},
        {"extra_http_headers": {"X": "Basic file:/etc/passwd"}},
        {"bearer_token": "env:HOME"},
        {"extra_http_headers": {"X Key": "passwd"}},
        {"extra_http_headers": 1},
    ):
        with pytest.raises(BadInput, match="the secret s") as refused:
            secret_headers("s", values)
        assert "passwd" not in str(refused.value)


@pytest.mark.parametrize("scope", ["https://e.example", "https://e.example/", "e.example", "https://e.example:8443/"])
def test_scopes_that_are_whole_hosts(scope: str) -> None:
    check_scope("s", [scope])


def test_a_scope_with_a_path_is_refused() -> None:
    with pytest.raises(BadInput, match="has a path"):
        check_scope("s", ["https://e.example/api"])


@pytest.mark.parametrize(
    ("scope", "origin", "is_covered"),
    [
        ("", "https://e.example", True),
        ("https://", "https://e.example", True),
        ("https://", "http://e.example", False),
        ("http://", "http://e.example", True),
        ("https://e.example", "https://e.example", True),
        ("https://e.example/", "https://e.example", True),
        ("https://e.example", "https://e.example.org", False),
        ("https://e.ex", "https://e.example", False),
        ("https://e.example:80", "https://e.example:8080", False),
        ("https://e.example", "https://e.example:8080", False),
        ("e.example", "https://e.example", False),
    ],
)
def test_a_scope_covers_whole_hosts_only(scope: str, origin: str, is_covered: bool) -> None:
    assert (secret_for(origin, {"s": [scope]}) == "s") is is_covered


def test_the_longest_scope_wins() -> None:
    scopes: dict[str, list[str]] = {"any": [], "tls": ["https://"], "own": ["https://a.example", "https://b.example"]}
    assert [secret_for(f"{origin}.example", scopes) for origin in ("http://b", "https://b", "https://c")] == [
        "any",
        "own",
        "tls",
    ]
    assert secret_for("https://a.example", {}) is None


@pytest.mark.parametrize(
    ("origin", "is_own"),
    [
        ("http://127.0.0.1:8000", True),
        ("http://localhost", True),
        ("http://10.0.0.1", False),
        ("https://localhost.example", False),
        ("https://127.0.0.1.example", False),
        ("", False),
    ],
)
def test_only_addresses_are_in_a_network_of_ones_own(origin: str, is_own: bool) -> None:
    assert is_in_networks(origin, [ip_network("127.0.0.0/8")]) is is_own


@pytest.mark.parametrize(
    ("text", "merge"),
    [
        (
            "CRAWLING MERGE INTO t USING u ON a WHEN MATCHED THEN DELETE",
            "MERGE INTO t USING u ON a WHEN MATCHED THEN DELETE",
        ),
        (
            "CRAWLING MERGE INTO t USING (SELECT 1 LIMIT 5) AS s ON a WHEN MATCHED THEN DELETE LIMIT 7;",
            "MERGE INTO t USING (SELECT * FROM (SELECT 1 LIMIT 5\n) LIMIT 7\n) AS s ON a WHEN MATCHED THEN DELETE",
        ),
        (
            "CRAWLING MERGE INTO t USING crawl(['u']) s ON a WHEN MATCHED THEN DELETE LIMIT 7",
            "MERGE INTO t USING (SELECT * FROM (FROM crawl(['u'])\n) LIMIT 7\n) s ON a WHEN MATCHED THEN DELETE",
        ),
        (
            "CRAWLING MERGE INTO t USING u ON u.a = t.a WHEN MATCHED THEN DELETE LIMIT 7",
            "MERGE INTO t USING (SELECT * FROM (FROM u\n) LIMIT 7\n) AS u ON u.a = t.a WHEN MATCHED THEN DELETE",
        ),
        (
            'CRAWLING MERGE INTO t USING a."b c".d AS s ON a WHEN MATCHED THEN DELETE LIMIT 7',
            'MERGE INTO t USING (SELECT * FROM (FROM a."b c".d\n) LIMIT 7\n) AS s ON a WHEN MATCHED THEN DELETE',
        ),
    ],
)
def test_the_limit_of_a_merge_is_that_of_its_query(text: str, merge: str) -> None:
    (found,) = read_script(text)
    assert getattr(found, "merge", found) == merge
