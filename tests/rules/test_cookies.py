"""Cookies along one chain of redirects: what is kept, and where it is sent (RFC 6265 §5)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.model.fetch import Cookie
from comity.rules.cookies import MOST_COOKIES, cookie_field, cookies_after

NOW = 1_800_000_000.0
HOME = "https://www.example.com/shop/start"


def sent(line: str, to: str = HOME, *, set_by: str = HOME, now: float = NOW) -> str | None:
    """What is sent to an address after one Set-Cookie field of another."""
    return cookie_field(cookies_after((), set_by, [line], NOW), to, now)


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ("a=1", "a=1"),
        ("a=1; Path=/; HttpOnly; SameSite=Strict; Secure", "a=1"),
        ('a="q r"', 'a="q r"'),
        ("a=", "a="),
        ("a=b=c", "a=b=c"),
        ("  a = 1  ;Path=/", "a=1"),
        ("a=1; Domain=example.com", "a=1"),
        ("a=1; Domain=.Example.COM", "a=1"),
        ("a=1; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "a=1"),
        ("a=1; Max-Age=soon", "a=1"),
        ("a=1; Expires=Wed, 21-Oct-2099 07:28:00 GMT", "a=1"),
        ("a=1; Expires=some day", "a=1"),
        ("a=1; Path=elsewhere", "a=1"),
        ("__Host-a=1; Secure; Path=/", "__Host-a=1"),
        ("__Secure-a=1; Secure", "__Secure-a=1"),
        ("\xe9=\xfc", "\xe9=\xfc"),
        # These set nothing.
        ("", None),
        ("a", None),
        ("=1", None),
        ("a=1\x00", None),
        ("a=\x1f", None),
        ("a=" + "x" * 5000, None),
        ("a=1; Max-Age=0", None),
        ("a=1; Max-Age=-5", None),
        ("a=1; Expires=Thu, 01-Jan-70 00:00:01 GMT", None),
        ("a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT", None),
        ("a=1; Path=/other", None),
        ("a=1; Domain=com", None),
        ("a=1; Domain=other.example.com", None),
        ("a=1; Domain=ample.com", None),
        ("a=1; Domain=evil.example", None),
        ("__Host-a=1; Secure; Path=/; Domain=example.com", None),
        ("__Host-a=1; Secure", None),
        ("__host-a=1; Path=/", None),
        ("__Secure-a=1", None),
    ],
)
def test_a_field_sets_a_cookie_or_nothing(line: str, field: str | None) -> None:
    assert sent(line) == field


@pytest.mark.parametrize(
    ("line", "to", "field"),
    [
        ("a=1", "https://www.example.com/shop/x", "a=1"),
        ("a=1", "https://www.example.com/other", None),
        ("a=1; Path=/", "https://www.example.com/other?q=1", "a=1"),
        ("a=1; Path=/shop", "https://www.example.com/shopping", None),
        ("a=1; Path=/shop/", "https://www.example.com/shop", None),
        ("a=1; Path=/", "http://www.example.com/", None),
        ("a=1; Path=/; Secure", "http://www.example.com/", None),
        ("a=1; Path=/", "https://example.com/", None),
        ("a=1; Path=/; Domain=example.com", "https://example.com/", "a=1"),
        ("a=1; Path=/; Domain=example.com", "https://deep.www.example.com/", None),
        ("a=1; Path=/; Domain=example.com", "https://shop.example.com/", None),
        ("a=1; Path=/; Domain=www.example.com", "https://deep.www.example.com/", None),
        ("a=1; Path=/; Domain=example.com", "https://anexample.com/", None),
        ("a=1; Path=/; Domain=example.com", "https://example.org/", None),
        ("a=1; Path=/", "https://www.example.com:8443/", None),
    ],
)
def test_a_cookie_goes_where_it_was_meant_to_and_nowhere_else(line: str, to: str, field: str | None) -> None:
    assert sent(line, to) == field


def test_hosts_of_one_suffix_do_not_share_and_a_suffix_may_have_its_own() -> None:
    assert sent("a=1; Domain=github.io; Path=/", "https://b.github.io/", set_by="https://a.github.io/") is None
    assert sent("a=1; Domain=github.io; Path=/", "https://github.io/", set_by="https://github.io/") == "a=1"
    assert sent("a=1; Domain=github.io; Path=/", "https://a.github.io/", set_by="https://github.io/") is None


def test_an_address_has_no_hosts_below_it() -> None:
    assert sent("a=1; Domain=0.0.1", "http://127.0.0.1/", set_by="http://127.0.0.1/") is None
    assert sent("a=1", "http://127.0.0.1:8001/", set_by="http://127.0.0.1:8001/") == "a=1"
    assert sent("a=1", "http://127.0.0.1:8002/", set_by="http://127.0.0.1:8001/") is None


def test_http_plants_nothing_that_https_is_answered_with() -> None:
    assert sent("a=1; Secure; Path=/", "https://www.example.com/", set_by="http://www.example.com/") is None


def test_a_cookie_ends_when_its_time_is_up() -> None:
    assert sent("a=1; Max-Age=60", now=NOW + 59) == "a=1"
    assert sent("a=1; Max-Age=60", now=NOW + 61) is None


def test_a_later_field_replaces_or_deletes_the_cookie_and_longer_paths_come_first() -> None:
    cookies = cookies_after((), HOME, ["a=1; Path=/", "b=2", "a=3; Path=/"], NOW)
    assert cookie_field(cookies, HOME, NOW) == "b=2; a=3"
    cookies = cookies_after(cookies, HOME, ["a=; Path=/; Max-Age=0"], NOW)
    assert cookie_field(cookies, HOME, NOW) == "b=2"


def test_number_and_size_are_bounded() -> None:
    cookies: tuple[Cookie, ...] = ()
    for batch in range(20):
        cookies = cookies_after(cookies, HOME, [f"c{batch}_{number}={'x' * 100}" for number in range(50)], NOW)
        assert len(cookies) <= MOST_COOKIES
    assert len(cookie_field(cookies, HOME, NOW) or "") <= 8192
    large = cookies_after((), HOME, [f"c{number}={'x' * 4000}" for number in range(5)], NOW)
    assert cookie_field(large, HOME, NOW) is None, "a field that servers refuse helps nobody"


def test_a_cookie_shows_its_value_nowhere() -> None:
    assert "s3cret" not in repr(cookies_after((), HOME, ["session=s3cret"], NOW))


@given(st.lists(st.text(st.characters(max_codepoint=255), max_size=80), max_size=5))
def test_no_field_breaks_a_visit_or_a_header(lines: list[str]) -> None:
    field = cookie_field(cookies_after((), HOME, lines, NOW), HOME, NOW)
    assert field is None or not {"\r", "\n", "\0"} & set(field)
