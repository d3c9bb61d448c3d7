"""Seed files as people write them and as rankings are published."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.model.errors import BadAddress
from comity.model.host import Seed
from comity.rules.seed_list import BadLine, read_seed, read_seed_lines


def summary(seed: Seed | BadLine) -> tuple[object, ...]:
    if isinstance(seed, BadLine):
        return ("bad", seed.number)
    return (seed.host.authority, seed.url, seed.rank)


@pytest.mark.parametrize(
    ("text", "host", "url"),
    [
        ("example.com", "example.com", None),
        ("www.example.com", "example.com", "https://www.example.com/"),
        ("example.com/", "example.com", None),
        ("https://example.com", "example.com", "https://example.com/"),
        ("http://www.example.com/", "example.com", "http://www.example.com/"),
        ("example.com/start", "example.com", "https://example.com/start"),
        ("https://example.com/a?b#c", "example.com", "https://example.com/a?b"),
        ("example.com:8080", "example.com:8080", None),
        ("MÜNCHEN.de", "xn--mnchen-3ya.de", None),
    ],
)
def test_only_a_url_that_somebody_wrote_out_is_queued_as_it_stands(text: str, host: str, url: str | None) -> None:
    seed = read_seed(text)
    assert (seed.host.authority, seed.url, seed.rank) == (host, url, None)


def test_sub_domains_are_folded_when_asked() -> None:
    assert read_seed("https://blog.example.co.uk/a", collapse=True).host.authority == "example.co.uk"
    assert read_seed("https://blog.example.co.uk/a", collapse=True).url == "https://blog.example.co.uk/a"
    (seed,) = read_seed_lines(["7,a.example.com"], collapse=True)
    assert summary(seed) == ("example.com", "https://a.example.com/", 7)


def test_a_seed_that_is_no_host_is_refused() -> None:
    with pytest.raises(BadAddress):
        read_seed("javascript:alert(1)")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("example.com", ("example.com", None, None)),
        ("  example.com  \r\n", ("example.com", None, None)),
        ("\ufeffexample.com", ("example.com", None, None)),
        ("1,example.com", ("example.com", None, 1)),
        ("\ufeff1,example.com\n", ("example.com", None, 1)),
        (" 250 , https://example.com/a ", ("example.com", "https://example.com/a", 250)),
        ("999999999,example.com", ("example.com", None, 999_999_999)),
        # Rankings with more columns: the host is the first that is no number.
        ("1,example.com,com,extra", ("example.com", None, 1)),
        ("3,2,example.com,com,487267,2000000,example.com,com,3,2,1,1", ("example.com", None, 3)),
        ("https://example.com/a,b", ("example.com", "https://example.com/a,b", None)),
        # A line that names nothing is told by its number.
        ("not a host", ("bad", 1)),
        ("1,", ("bad", 1)),
        ("1,2,", ("bad", 1)),
        ("1,not a host", ("bad", 1)),
        (",example.com", ("bad", 1)),
        ("rank,domain", ("bad", 1)),
        ("9999999999,example.com", ("bad", 1)),
        ("ftp://example.com/", ("bad", 1)),
    ],
)
def test_a_line_is_a_host_a_url_or_a_ranked_host(line: str, expected: tuple[object, ...]) -> None:
    assert [summary(seed) for seed in read_seed_lines([line])] == [expected]


@pytest.mark.parametrize(
    "line", ["", "   ", "\n", "# a comment", "  # another", "\ufeff# with a byte order mark", "\ufeff"]
)
def test_blank_lines_and_comments_are_passed_over(line: str) -> None:
    assert list(read_seed_lines([line])) == []


def test_bad_lines_do_not_stop_the_good_ones_and_are_counted_from_one() -> None:
    lines = ["# seeds", "a.example", "", "https://user:SECRET@b.example/", "c.example", "exa mple"]
    found = [summary(seed) for seed in read_seed_lines(lines)]
    assert found == [("a.example", None, None), ("bad", 4), ("c.example", None, None), ("bad", 6)]
    reasons = [seed.reason for seed in read_seed_lines(lines) if isinstance(seed, BadLine)]
    assert all(reasons)
    assert not any("SECRET" in reason for reason in reasons)


@settings(deadline=None)
@given(st.lists(st.text(), max_size=20))
def test_any_file_can_be_read(lines: list[str]) -> None:
    for found in read_seed_lines(lines):
        if isinstance(found, BadLine):
            assert 1 <= found.number <= len(lines)
            assert found.reason.isprintable()
        else:
            assert found.rank is None or 0 <= found.rank < 2**31
