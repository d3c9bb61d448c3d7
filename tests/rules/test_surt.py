"""SURT keys: a site's pages sort together, spelled as web archives spell them."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.rules.canonical import web_address
from comity.rules.surt import surt_key
from tests.servers.waiting import least_of, processor_s

ID32 = "0123456789abcdef0123456789ABCDEF"
ID24 = "abcdefghijklmnopqrstuvwx"

KEYS = [
    # Hosts: labels reversed, case folded, one leading www dropped with its digits.
    ("https://example.com/", "com,example)/"),
    ("http://example.com/", "com,example)/"),
    ("https://example.com", "com,example)/"),
    ("HTTPS://Example.COM/", "com,example)/"),
    ("http://www.example.com/", "com,example)/"),
    ("http://WWW.example.com/", "com,example)/"),
    ("https://www2.Example.com/A/B/", "com,example)/a/b"),
    ("https://www123.example.com/", "com,example)/"),
    ("https://www.www.example.com/", "com,example,www)/"),
    ("https://wwwhat.example/", "example,wwwhat)/"),
    ("https://www2wide.example/", "example,www2wide)/"),
    ("https://www2.www2wide.example/", "example,www2wide)/"),
    ("https://www.com/", "com)/"),
    ("https://a.b.c.example.co.uk/", "uk,co,example,c,b,a)/"),
    ("https://localhost/", "localhost)/"),
    ("https://example.com./", "com,example)/"),
    ("https://example.com.../", "com,example)/"),
    ("https://under_score.example/", "example,under_score)/"),
    # International names are in punycode.
    ("https://xn--bcher-kva.example/", "example,xn--bcher-kva)/"),
    ("https://bücher.example/", "example,xn--bcher-kva)/"),
    ("https://BÜCHER.example/", "example,xn--bcher-kva)/"),
    ("https://b%C3%BCcher.example/", "example,xn--bcher-kva)/"),
    ("☃.example", "example,xn--n3h)/"),
    # IPv4 addresses are reversed like names: so the Archive's indexes have them, and its `surt` unless told otherwise.
    ("http://192.168.1.254/info/", "254,1,168,192)/info"),
    ("http://127.0.0.1:8080/x", "1,0,0,127:8080)/x"),
    ("http://192.0.2.7/", "7,2,0,192)/"),
    ("http://0300.0.2.7/", "7,2,0,192)/"),
    ("http://3221226015/page", "31,2,0,192)/page"),
    ("http://192.0.543/", "31,2,0,192)/"),
    ("http://%31%39%32%2e0.2.7/", "7,2,0,192)/"),
    ("http://[2001:db8::1]/x", "2001:db8::1)/x"),
    ("http://[2001:DB8:0::1]:8080/x", "2001:db8::1:8080)/x"),
    ("http://1.2.3.4.example/", "example,4,3,2,1)/"),
    # The scheme's own port falls away, any other stays.
    ("http://example.com:80/", "com,example)/"),
    ("https://example.com:443/", "com,example)/"),
    ("http://example.com:443/", "com,example:443)/"),
    ("https://example.com:80/", "com,example:80)/"),
    ("https://example.com:8443/x", "com,example:8443)/x"),
    ("http://example.com:/x", "com,example)/x"),
    # Nobody's name and password get into an index.
    ("https://ada@example.com/", "com,example)/"),
    ("https://ada:secret@www.example.com:8443/x", "com,example:8443)/x"),
    # Paths: case folded, empty and dot segments resolved, one trailing slash dropped.
    ("https://example.com//", "com,example)/"),
    ("https://example.com/Index.HTML", "com,example)/index.html"),
    ("https://example.com/a/", "com,example)/a"),
    ("https://example.com/a//", "com,example)/a"),
    ("https://example.com//a///b//", "com,example)/a/b"),
    ("https://example.com/a/./b/../c", "com,example)/a/c"),
    ("https://example.com/a/b/..", "com,example)/a"),
    ("https://example.com/a/%2e%2e/b", "com,example)/b"),
    ("https://example.com/..", "com,example)/.."),
    ("https://example.com/...", "com,example)/..."),
    ("https://example.com/a;v=1/b", "com,example)/a;v=1/b"),
    ("https://example.com/photos/36@n05/", "com,example)/photos/36@n05"),
    ("https://example.com/a#section", "com,example)/a"),
    ("https://example.com/a#s?b=1", "com,example)/a"),
    # Escapes are undone as often as they were made, then made once.
    ("https://example.com/%41%42", "com,example)/ab"),
    ("https://example.com/%7Eada", "com,example)/~ada"),
    ("https://example.com/%257Eada", "com,example)/~ada"),
    ("https://example.com/caf%C3%A9", "com,example)/caf%c3%a9"),
    ("https://example.com/café", "com,example)/caf%c3%a9"),
    ("https://example.com/caf%25C3%25A9", "com,example)/caf%c3%a9"),
    ("https://example.com/a b", "com,example)/a%20b"),
    ("https://example.com/a%20b", "com,example)/a%20b"),
    ("https://example.com/a+b", "com,example)/a+b"),
    ("https://example.com/100%", "com,example)/100%25"),
    ("https://example.com/100%25", "com,example)/100%25"),
    ("https://example.com/%2%35", "com,example)/%25"),
    ("https://example.com/%zz", "com,example)/%25zz"),
    ("https://example.com/a%23b", "com,example)/a%23b"),
    ("https://example.com/a%2Fb", "com,example)/a/b"),
    ("https://example.com/a%00b", "com,example)/a%00b"),
    # Queries: case folded, parameters in order of name and value, an empty one dropped.
    ("https://example.com/?", "com,example)/"),
    ("https://example.com/a/?", "com,example)/a"),
    ("https://example.com/?q", "com,example)/?q"),
    ("https://example.com?q", "com,example)/?q"),
    ("https://example.com/?Q=Wide", "com,example)/?q=wide"),
    ("https://news.bbc.co.uk/sport?b=2&a=1", "uk,co,bbc,news)/sport?a=1&b=2"),
    ("https://example.com/?b=2&b=1&a", "com,example)/?a&b=1&b=2"),
    ("https://example.com/?a=1&a=", "com,example)/?a=&a=1"),
    ("https://example.com/?a=&a", "com,example)/?a&a="),
    ("https://example.com/?a-b=1&a=1", "com,example)/?a=1&a-b=1"),
    ("https://example.com/?b=1&", "com,example)/?&b=1"),
    ("https://example.com/?a?b", "com,example)/?a?b"),
    ("https://example.com/?u=//x//y", "com,example)/?u=//x//y"),
    ("https://example.com/?b=1%26a=2", "com,example)/?a=2&b=1"),
    ("https://example.com/?q=caf%C3%A9+bar", "com,example)/?q=caf%c3%a9+bar"),
    ("https://example.com/?a=1;b=2", "com,example)/?a=1;b=2"),
    # Session marks in queries, of the shapes that archives know.
    (f"https://example.com/?PHPSESSID={ID32}", "com,example)/"),
    (f"https://example.com/?a=1&phpsessid={ID32}&b=2", "com,example)/?a=1&b=2"),
    (f"https://example.com/?a=1&jsessionid={ID32}", "com,example)/?&a=1"),
    (f"https://example.com/?jsessionid={ID32}0", f"com,example)/?jsessionid={ID32.lower()}0"),
    (f"https://example.com/?sid={ID32}&a=1", "com,example)/?a=1"),
    (f"https://example.com/?sid={ID32}&jsessionid={ID32}", "com,example)/"),
    ("https://example.com/?sid=12", "com,example)/?sid=12"),
    (f"https://example.com/?ASPSESSIONIDQWERTYUI={ID24}&a=1", "com,example)/?a=1"),
    ("https://example.com/?CFID=123&CFTOKEN=4f-5&a=1", "com,example)/?a=1"),
    ("https://example.com/?CFTOKEN=4f-5&a=1", "com,example)/?a=1&cftoken=4f-5"),
    # And in the paths of one server.
    (f"https://example.com/(S({ID24}))/list.aspx", "com,example)/list.aspx"),
    (f"https://example.com/({ID24})/list.aspx?a=1", "com,example)/list.aspx?a=1"),
    (f"https://example.com/x/(A({ID24})S({ID24}))/list.aspx", "com,example)/x/list.aspx"),
    (f"https://example.com/(S({ID24}))/list.html", f"com,example)/(s({ID24}))/list.html"),
    # Text that is no clean URL.
    ("", "-"),
    ("   ", "-"),
    ("example.com/a", "com,example)/a"),
    ("www.example.com", "com,example)/"),
    ("//example.com/a", "com,example)/a"),
    ("  https://example.com/a \n", "com,example)/a"),
    ("https://example.com/a\tb\r\nc", "com,example)/abc"),
    ("http:////example.com/a", "com,example)/a"),
    ("http:example.com", "com,example)/"),
    ("http://https://example.com/a", "com,example)/a"),
    ("http:// spaced.example/", "example,%20spaced)/"),
    ("http://bad%23host.example/", "example,bad%23host)/"),
    # Other schemes.
    ("ftp://www.example.com/a/", "com,example)/a"),
    ("ftp://example.com:2121/a", "com,example:2121)/a"),
    ("whois://whois.example.net/example.com", "net,example,whois)/example.com"),
    ("dns:example.com", "dns:example.com"),
    ("warcinfo:crawl.warc.gz", "warcinfo:crawl.warc.gz"),
    ("filedesc://crawl.arc.gz", "filedesc://crawl.arc.gz"),
    ("mailto:ada@example.com", "mailto:ada@example.com"),
]


@pytest.mark.parametrize(("url", "key"), KEYS)
def test_a_url_has_this_key(url: str, key: str) -> None:
    assert surt_key(url) == key


def test_sorting_groups_a_domain_with_its_sub_domains() -> None:
    urls = [
        "https://b.example.com/",
        "https://example.org/",
        "https://example.com/z",
        "https://a.example.com/",
        "https://example.com/a",
    ]
    hosts = [key.partition(")")[0] for key in sorted(map(surt_key, urls))]
    assert hosts == ["com,example", "com,example", "com,example,a", "com,example,b", "org,example"]


_LABEL = st.from_regex(r"[a-z]{1,8}", fullmatch=True)
_NAME = st.text("abcXYZ09-_", min_size=1, max_size=5)


@given(st.lists(_LABEL, min_size=2, max_size=4), st.text(max_size=30), st.text(max_size=20), st.integers(1, 65535))
def test_every_canonical_url_has_a_key_that_case_and_www_do_not_change(
    labels: list[str], path: str, query: str, port: int
) -> None:
    """The path is any text: the canonical form escapes it."""
    host = ".".join(["x", *labels])
    wanted = "".join(char for char in path + "?" + query if char.isalnum() or char in "/?&=")
    address = web_address(f"https://{host}:{port}/{wanted}")
    key = surt_key(address.url)
    assert key == surt_key(address.url.replace("https://", "https://www."))
    assert key == surt_key(address.url.upper().replace("HTTPS", "https"))
    assert key == key.lower()
    assert ")" in key


@given(st.lists(st.tuples(_NAME, _NAME), min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_parameters_does_not_matter(pairs: list[tuple[str, str]], chance: object) -> None:
    shuffled = list(pairs)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    urls = [
        "https://example.com/a?" + "&".join(f"{name}={value}" for name, value in each) for each in (pairs, shuffled)
    ]
    assert surt_key(urls[0]) == surt_key(urls[1])


@given(st.binary(max_size=20), st.integers(1, 4))
def test_escaping_again_does_not_change_the_key(octets: bytes, times: int) -> None:
    """Apart from octets that are a path's own punctuation, however often a name was escaped, it is the same."""
    name = octets.translate(None, b"/?#%.")
    once = again = quote(name, safe="")
    for _ in range(times):
        again = quote(again, safe="")
    assert surt_key(f"https://example.com/x{again}x") == surt_key(f"https://example.com/x{once}x")


@given(st.text(max_size=60))
def test_any_text_has_a_key(text: str) -> None:
    assert surt_key(text)
    assert surt_key("https://example.com/" + text).startswith("com,example)/")


@pytest.mark.parametrize(
    "path",
    [
        "%" + "25" * 4000,
        "%2" + "%3" * 2700 + "%35",
        "(" * 8000,
        ("(S(" + ID24 + "))/") * 280,
        "?" + "sid=" * 2000,
        "?" + "cfid=1&cftoken=" * 500,
        "../" * 2700,
        "/" * 8000,
    ],
    ids=["nested", "completed late", "brackets", "sessions", "marks", "halves", "climbing", "slashes"],
)
def test_a_hostile_url_has_its_key_in_bounded_time(path: str) -> None:
    """The bound is many times what is measured; work that grows with the square would miss it by far."""
    url = "https://example.com/" + path + "x.aspx"
    assert least_of(lambda: processor_s(lambda: surt_key(url)), enough=0.5) < 0.5
