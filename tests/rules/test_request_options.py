"""What an operator may add to requests: how it is written, what is refused, and where it goes."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.model.errors import BadInput
from comity.model.fetch import Proxy
from comity.rules.cookies import cookie_field, own_cookie, read_cookie_file
from comity.rules.request_options import (
    Reference,
    mask_proxy,
    origins_of_seeds,
    origins_reached,
    read_auth,
    read_cookie_option,
    read_header,
    read_proxy,
    sticky_proxy,
)
from comity.rules.seed_list import read_seed

NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("text", "origin", "name", "value", "reference"),
    [
        ("X-Token: abc", None, "X-Token", "abc", None),
        ("X-Token:abc", None, "X-Token", "abc", None),
        ("X-Token: env:TOKEN", None, "X-Token", "", Reference("env", "TOKEN")),
        ("X-Token: file:/run/secrets/a b", None, "X-Token", "", Reference("file", "/run/secrets/a b")),
        ("Authorization: Bearer env:TOKEN", None, "Authorization", "Bearer", Reference("env", "TOKEN")),
        ("example.com: X-A: 1", "https://example.com", "X-A", "1", None),
        ("www.example.com: X-A: 1", "https://www.example.com", "X-A", "1", None),
        ("http://example.com: X-A: 1", "http://example.com", "X-A", "1", None),
        ("http://127.0.0.1:8080: X-A: env:A", "http://127.0.0.1:8080", "X-A", "", Reference("env", "A")),
        ("localhost:8080: X-A: 1", "https://localhost:8080", "X-A", "1", None),
        ("[::1]:8080: X-A: 1", "https://[::1]:8080", "X-A", "1", None),
        ("Referer: https://example.com/a: b", None, "Referer", "https://example.com/a: b", None),
        ("X-Time: 12:30", None, "X-Time", "12:30", None),
        ("X.Dotted: plain", None, "X.Dotted", "plain", None),
        ("X-Empty:", None, "X-Empty", "", None),
    ],
)
def test_a_header_has_an_origin_a_name_and_a_value(
    text: str, origin: str | None, name: str, value: str, reference: Reference | None
) -> None:
    found = read_header("headers", text)
    assert (found.origin, found.name, found.value.text, found.value.reference) == (origin, name, value, reference)


@pytest.mark.parametrize(
    "name",
    [
        *("Host", "host", "User-Agent", "From", "Connection", "Content-Length", "Transfer-Encoding", "Accept-Encoding"),
        *("TE", "Trailer", "Upgrade", "Expect", "Keep-Alive", "Proxy-Connection", "Proxy-Authorization", "Range"),
        *("If-None-Match", "If-Modified-Since", "Cookie", "Content-Type", "HTTP2-Settings"),
    ],
)
def test_a_header_that_would_break_the_promise_is_refused_by_name(name: str) -> None:
    with pytest.raises(BadInput, match=rf"headers: the header {name} may not be set: \w+"):
        read_header("headers", f"{name}: s3cret")


@pytest.mark.parametrize(
    "text",
    [
        "X-A: s3cret\r\nHost: evil",
        "X-A: s3cret\nB: c",
        "X-A: s3\0cret",
        "X A: s3cret",
        ": s3cret",
        "s3cret",
        "X-A: env:a b",
        "X-A\r\nB: s3cret",
        "X-A: s3cret\x7f",
        "X-A: " + "s3cret" * 2000,
    ],
)
def test_a_header_that_cannot_be_sent_is_refused_without_repeating_it(text: str) -> None:
    with pytest.raises(BadInput) as refusal:
        read_header("headers", text)
    assert "s3cret" not in str(refusal.value)


@pytest.mark.parametrize(
    "read", [read_header, read_cookie_option, read_auth, read_proxy], ids=lambda read: read.__name__
)
@given(text=st.text(st.characters(max_codepoint=0x2FF), max_size=60))
def test_whatever_is_written_is_read_or_refused(read: object, text: str) -> None:
    try:
        found = read("field", text)  # type: ignore[operator]
    except BadInput:
        return
    assert not {"\r", "\n", "\0"} & set(repr(found))


def test_an_option_does_not_show_its_value() -> None:
    options = [
        read_header("headers", "X-A: s3cret"),
        read_cookie_option("cookies", "a=s3cret"),
        read_auth("auth", "basic me s3cret"),
        read_auth("auth", "bearer s3cret"),
        read_proxy("proxy", "http://s3cret:s3cret@proxy:3128"),
        own_cookie("https://example.com", "a", "s3cret"),
        Proxy("http://proxy:3128", "s3cret", "s3cret"),
    ]
    assert "s3cret" not in repr(options)
    assert mask_proxy("http://me:s3cret@proxy:3128") == "http://…@proxy:3128"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("digest me", "digest USER"),
        ("basic me", "basic USER"),
        ("basic me:s3cret", "basic USER"),
        ("bearer", "bearer env"),
        ("ntlm me env:P", "basic USER"),
        ("", "basic USER"),
    ],
)
def test_credentials_that_cannot_be_used_are_refused(text: str, wrong: str) -> None:
    with pytest.raises(BadInput, match=wrong) as refusal:
        read_auth("auth", text)
    assert "s3cret" not in str(refusal.value)


@pytest.mark.parametrize("text", ["a", "=b", "a=b;c", "a=b c", "a=b\r\nX: y", "a b=c", "a=" + "\u20ac"])
def test_a_cookie_that_cannot_be_sent_is_refused(text: str) -> None:
    with pytest.raises(BadInput):
        read_cookie_option("cookies", text)


@pytest.mark.parametrize(
    "text", ["ftp://proxy:21", "proxy:3128", "http://", "http://proxy:99999", "http://pro xy", "http://proxy/path", ""]
)
def test_a_proxy_that_cannot_be_meant_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="scheme://host:port"):
        read_proxy("proxy", text)


def test_a_proxy_has_its_user_and_password_apart() -> None:
    found = read_proxy("proxy", "socks5h://me:env:PASSWORD@proxy.example:1080")
    assert (found.url, found.user and found.user.text) == ("socks5h://proxy.example:1080", "me")
    assert found.password is not None
    assert found.password.reference == Reference("env", "PASSWORD")
    assert not found.holds_secret
    assert read_proxy("proxy", "http://me:s3cret@p:1").holds_secret
    assert read_proxy("proxy", "http://key@p:1").holds_secret
    assert read_proxy("proxy", "file:proxies.txt").list == Reference("file", "proxies.txt")


@pytest.mark.parametrize(
    ("seed", "origin"),
    [
        ("example.com", "https://example.com"),
        ("www.example.com", "https://www.example.com"),
        ("http://example.com/a", "http://example.com"),
        ("https://Example.com:443/a", "https://example.com"),
        ("127.0.0.1:8080", "https://127.0.0.1:8080"),
        ("http://127.0.0.1:8080/", "http://127.0.0.1:8080"),
    ],
)
def test_options_without_a_host_go_to_the_origin_of_the_seed(seed: str, origin: str) -> None:
    assert origins_of_seeds([read_seed(seed)]) == (origin,)


@pytest.mark.parametrize(
    ("origin", "reached"),
    [
        ("https://example.com", {"https://example.com"}),
        ("http://example.com", {"http://example.com", "https://example.com"}),
        ("http://example.com:8080", {"http://example.com:8080"}),
        ("https://example.com:8443", {"https://example.com:8443"}),
        ("http://[::1]", {"http://[::1]", "https://[::1]"}),
        ("http://[::1]:8080", {"http://[::1]:8080"}),
    ],
)
def test_nothing_goes_from_https_to_http_or_to_another_port(origin: str, reached: set[str]) -> None:
    assert set(origins_reached(origin)) == reached


LINES = """# Netscape HTTP Cookie File
.example.com\tTRUE\t/\tTRUE\t0\twide\tw
www.example.com\tFALSE\t/\tFALSE\t0\tnarrow\tn
#HttpOnly_.example.com\tTRUE\t/shop\tFALSE\t1900000000\thidden\th
.example.com\tTRUE\t/\tFALSE\t1700000000\told\to
evil.example\tFALSE\t/\tFALSE\t0\tother\tx
example.com\tFALSE\t/\tFALSE\t0\tabove\tx
not a cookie
"""


def test_a_cookie_file_gives_each_origin_its_own_cookies() -> None:
    cookies, unread = read_cookie_file(LINES, "https://www.example.com", NOW)
    assert unread == 1
    assert cookie_field(cookies, "https://www.example.com/shop/x", NOW) == "hidden=h; wide=w; narrow=n"
    for other in (
        "https://example.com/shop/",
        "https://a.www.example.com/",
        "http://www.example.com/",
        "https://b.com/",
    ):
        assert cookie_field(cookies, other, NOW) is None, other
    plain, _unread = read_cookie_file(LINES, "http://www.example.com", NOW)
    assert cookie_field(plain, "http://www.example.com/", NOW) == "narrow=n"


def test_a_host_keeps_its_proxy_and_every_proxy_gets_a_share() -> None:
    proxies = [Proxy(f"http://proxy{number}:3128") for number in range(4)]
    hosts = [f"host{number}.example" for number in range(400)]
    chosen = {host: sticky_proxy(proxies, host) for host in hosts}
    assert chosen == {host: sticky_proxy(proxies[::-1], host) for host in hosts}, "the order does not matter"
    assert min(Counter(chosen.values()).values()) > 60
    fewer = [proxy for proxy in proxies if proxy.url != "http://proxy2:3128"]
    moved = {host for host in hosts if sticky_proxy(fewer, host) != chosen[host]}
    assert moved == {host for host in hosts if chosen[host] == Proxy("http://proxy2:3128")}
    assert sticky_proxy([], "example.com") is None
    exits = [Proxy("http://gateway:7000", f"exit-{number}", "s3cret") for number in range(4)]
    assert len({sticky_proxy(exits, host) for host in hosts}) == 4, "one address with several users"
    # Written down, so that a release does not move hosts.
    assert [sticky_proxy(proxies, host) for host in ("example.com", "example.org")] == [
        Proxy("http://proxy0:3128"),
        Proxy("http://proxy2:3128"),
    ]
