"""Limits for one host by the command line."""

from __future__ import annotations

import pytest

from tests.doors.command_line import CommandLine

ALL = "crawls, sources, audits and queries"
BINDS = {
    "max_concurrency": ALL,
    "min_request_interval_ms": ALL,
    "max_pages": "source runs",
    "max_kb_per_page": "source runs",
    "allow_js": "nothing yet",
}
NOT_RUN = "allow_js is set, but scripts are not run: pages are read as the server sends them"
FIRST = {
    "host": "example.com",
    "max_concurrency": 1,
    "min_request_interval_ms": 3000,
    "max_pages": 10,
    "max_kb_per_page": 1024,
    "allow_js": False,
    "last_seen_status": None,
    "is_set": True,
    "is_page_size_set": False,
    "include": [],
    "exclude": [],
    "binds": BINDS,
    "request_options": None,
    "note": None,
}


def test_a_first_policy_starts_careful_and_keeps_what_is_not_named(comity: CommandLine) -> None:
    assert comity.json("policy", "show", "example.com") == FIRST | {"is_set": False, "binds": {}}
    first = comity.json("policy", "set", "www.Example.com", "--max-pages", "500")
    assert first == FIRST | {"max_pages": 500}
    second = comity.json("policy", "set", "https://example.com/", "--allow-js", "--min-request-interval-ms", "0")
    expected = FIRST | {"max_pages": 500, "allow_js": True, "min_request_interval_ms": 0, "note": NOT_RUN}
    assert second == expected
    assert comity.json("policy", "show", "example.com") == expected
    assert comity.json("policy", "set", "example.com", "--no-allow-js")["allow_js"] is False


def test_each_limit_says_what_it_applies_to(comity: CommandLine) -> None:
    text = comity.done("policy", "set", "example.com", "--min-request-interval-ms", "5000").out
    for piece in (f"5,000 ms (for {ALL})", "at most 10 (for source runs)", "1,024 KB (for source runs)"):
        assert piece in text
    text = comity.done("policy", "set", "example.com", "--max-kb-per-page", "1024").out
    assert f"1,024 KB (for {ALL})" in text
    assert comity.json("policy", "show", "example.com")["binds"] == BINDS | {"max_kb_per_page": ALL}
    comity.json("policy", "set", "example.com", "--max-pages", "7")
    assert comity.json("policy", "show", "example.com")["is_page_size_set"], "what is not named keeps its value"
    assert f"1024 kB a page for {ALL}" in str(comity.json("why", "https://example.com/"))


def test_a_person_reads_it_in_words(comity: CommandLine) -> None:
    assert "has no policy" in comity.done("policy", "show", "example.com").out
    assert list(comity.folder.iterdir()) == []
    text = comity.done("policy", "set", "example.com", "--max-pages", "5000").out
    assert text == comity.done("policy", "show", "example.com").out
    for piece in ("example.com", "at least 3,000 ms", "at most 5,000", "at most 1,024 KB", "not run"):
        assert piece in text


@pytest.mark.parametrize(
    ("option", "least", "most"),
    [
        ("max_concurrency", 1, 1000),
        ("min_request_interval_ms", 0, 604_800_000),
        ("max_pages", 0, 1_000_000_000),
        ("max_kb_per_page", 1, 1_000_000),
    ],
)
def test_limits_reach_to_their_bounds_and_no_further(comity: CommandLine, option: str, least: int, most: int) -> None:
    flag = "--" + option.replace("_", "-")
    for value in (least, most):
        assert comity.json("policy", "set", "example.com", flag, str(value))[option] == value
    for value in (least - 1, most + 1):
        answer = comity("policy", "set", "example.com", flag, str(value))
        assert (answer.code, answer.err) == (2, f"comity: {flag}: must be between {least} and {most}, not {value}\n")
    assert comity.json("policy", "show", "example.com")[option] == most
