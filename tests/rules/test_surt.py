"""SURT keys: a site's pages sort together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.rules.canonical import web_address
from comity.rules.surt import surt_key


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("https://example.com/", "com,example)/"),
        ("http://www.example.com/", "com,example)/"),
        ("https://www2.Example.com/A/B/", "com,example)/a/b"),
        ("https://news.bbc.co.uk/sport?b=2&a=1", "uk,co,bbc,news)/sport?a=1&b=2"),
        ("https://example.com:8443/x", "com,example:8443)/x"),
        ("https://example.com//", "com,example)/"),
        ("http://127.0.0.1:8080/x", "127.0.0.1:8080)/x"),
        ("http://[2001:db8::1]/x", "2001:db8::1)/x"),
        ("https://xn--bcher-kva.example/", "example,xn--bcher-kva)/"),
        ("https://example.com/?q", "com,example)/?q"),
        ("https://wwwhat.example/", "example,wwwhat)/"),
    ],
)
def test_a_url_has_this_key(url: str, key: str) -> None:
    assert surt_key(url) == key


def test_sorting_groups_a_domain_with_its_sub_domains() -> None:
    urls = ["https://b.example.com/", "https://example.org/", "https://example.com/z", "https://a.example.com/", "https://example.com/a"]
    hosts = [key.partition(")")[0] for key in sorted(map(surt_key, urls))]
    assert hosts == ["com,example", "com,example", "com,example,a", "com,example,b", "org,example"]


_LABEL = st.from_regex(r"[a-z]{1,8}", fullmatch=True)


@given(st.lists(_LABEL, min_size=2, max_size=4), st.text(max_size=30), st.text(max_size=20), st.integers(1, 65535))
def test_every_canonical_url_has_a_key_that_case_and_www_do_not_change(
    labels: list[str], path: str, query: str, port: int
) -> None:
    """The path is any text: the canonical form escapes it."""
    host = ".".join(["x", *labels])
    address = web_address(f"https://{host}:{port}/" + "".join(char for char in path + "?" + query if char.isalnum() or char in "/?&="))
    key = surt_key(address.url)
    assert key == surt_key(address.url.replace("https://", "https://www."))
    assert key == surt_key(address.url.upper().replace("HTTPS", "https"))
    assert key == key.lower()
    assert ")" in key
