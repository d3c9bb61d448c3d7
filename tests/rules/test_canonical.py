"""One spelling for a host and one for a URL, whatever a person, a file or a page wrote."""

from __future__ import annotations

import shutil
import sysconfig

import ada_url
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from comity.model.errors import BadAddress
from comity.rules import canonical
from comity.rules.canonical import (
    LONGEST_URL,
    MetLinks,
    WebAddress,
    address_of_host,
    canonical_host,
    fresh_links,
    host_in_url,
    normalize_escapes,
    resolve_link,
    resolve_location,
    resolve_unmet,
    url_key,
    web_address,
)
from comity.rules.public_suffixes import public_suffixes
from comity.rules.tracking import DEFAULT_TRACKING, TrackingRules
from tests.sizes import sized

HOSTS = [
    # The scheme falls away.
    ("example.com", "example.com"),
    ("http://example.com", "example.com"),
    ("https://example.com/", "example.com"),
    ("HTTPS://example.com", "example.com"),
    ("//example.com/path", "example.com"),
    ("example.com/path?q=1#top", "example.com"),
    ("example.com?next=http://other.example/", "example.com"),
    ("  example.com\n", "example.com"),
    # So does one www, but not where it is the name itself.
    ("www.example.com", "example.com"),
    ("WWW.Example.Com", "example.com"),
    ("www.www.example.com", "www.example.com"),
    ("www.www.www.example.com", "www.www.example.com"),
    ("www.www.com", "www.com"),
    ("www.www.co.uk", "www.co.uk"),
    ("https://www.example.com:443/", "example.com"),
    ("www2.example.com", "www2.example.com"),
    ("wwwexample.com", "wwwexample.com"),
    ("blog.www.example.com", "blog.www.example.com"),
    ("www.blog.example.com", "blog.example.com"),
    ("www.com", "www.com"),
    ("www.co.uk", "www.co.uk"),
    ("www.github.io", "www.github.io"),
    ("www.someone.github.io", "someone.github.io"),
    ("www.example.co.uk", "example.co.uk"),
    ("www.localhost", "www.localhost"),
    # Default ports fall away whatever the scheme, others stay.
    ("example.com:80", "example.com"),
    ("example.com:443", "example.com"),
    ("http://example.com:443", "example.com"),
    ("https://example.com:80", "example.com"),
    ("https://example.com:/", "example.com"),
    ("example.com:8080", "example.com:8080"),
    ("example.com:08080", "example.com:8080"),
    ("https://example.com:8443/a", "example.com:8443"),
    ("example.com:65535", "example.com:65535"),
    ("localhost:3000", "localhost:3000"),
    # Case and the trailing dot.
    ("Example.COM", "example.com"),
    ("example.com.", "example.com"),
    ("EXAMPLE.com.:8080", "example.com:8080"),
    ("www.example.com.", "example.com"),
    # International names become punycode, by UTS 46.
    ("münchen.de", "xn--mnchen-3ya.de"),
    ("MÜNCHEN.de", "xn--mnchen-3ya.de"),
    ("mu\u0308nchen.de", "xn--mnchen-3ya.de"),
    ("xn--mnchen-3ya.de", "xn--mnchen-3ya.de"),
    ("XN--MNCHEN-3YA.DE", "xn--mnchen-3ya.de"),
    ("www.münchen.de", "xn--mnchen-3ya.de"),
    ("straße.de", "xn--strae-oqa.de"),
    ("例え.テスト", "xn--r8jz45g.xn--zckzah"),
    ("пример.рф", "xn--e1afmkfd.xn--p1ai"),
    ("例え。jp", "xn--r8jz45g.jp"),
    ("ｅｘａｍｐｌｅ.com", "example.com"),
    ("faß.example", "xn--fa-hia.example"),
    ("%65xample.com", "example.com"),
    # IPv4 in all the spellings that a browser knows.
    ("192.0.2.7", "192.0.2.7"),
    ("192.0.2.7:8080", "192.0.2.7:8080"),
    ("192.0.2.7.", "192.0.2.7"),
    ("0300.0.2.7", "192.0.2.7"),
    ("0xC0.0x0.0x2.0x7", "192.0.2.7"),
    ("3221225991", "192.0.2.7"),
    ("127.1", "127.0.0.1"),
    ("http://0x7f.1/", "127.0.0.1"),
    # IPv6 in brackets, in its shortest form.
    ("[::1]", "[::1]"),
    ("http://[::1]:80/", "[::1]"),
    ("[::1]:8080", "[::1]:8080"),
    ("[2001:DB8:0:0:0:0:0:1]", "[2001:db8::1]"),
    ("[2001:db8::0001]:443", "[2001:db8::1]"),
    ("[::ffff:192.0.2.7]", "[::ffff:c000:207]"),
    # Sub-domains are hosts of their own; so are names inside a network.
    ("blog.example.com", "blog.example.com"),
    ("a.b.c.example.com", "a.b.c.example.com"),
    ("localhost", "localhost"),
    ("intranet", "intranet"),
    ("_dmarc.example.com", "_dmarc.example.com"),
    ("a-b.example.com", "a-b.example.com"),
    (f"{'a' * 63}.example.com", f"{'a' * 63}.example.com"),
]


@pytest.mark.parametrize(("text", "host"), HOSTS)
def test_a_host_has_one_spelling(text: str, host: str) -> None:
    assert str(canonical_host(text)) == host


@pytest.mark.parametrize(
    ("text", "parent"),
    [
        ("example.com", "example.com"),
        ("blog.example.com", "example.com"),
        ("blog.example.com:8080", "example.com"),
        ("shop.example.co.uk", "example.co.uk"),
        ("someone.github.io", "someone.github.io"),
        ("deep.someone.github.io", "someone.github.io"),
        ("www.city.kawasaki.jp", "city.kawasaki.jp"),
        ("a.b.kobe.jp", "a.b.kobe.jp"),
        ("www.münchen.de", "xn--mnchen-3ya.de"),
        ("example.notatld", "example.notatld"),
        ("co.uk", None),
        ("github.io", None),
        ("com", None),
        ("localhost", None),
        ("192.0.2.7", None),
        ("[2001:db8::1]", None),
    ],
)
def test_the_parent_is_the_public_suffix_and_one_label(text: str, parent: str | None) -> None:
    assert canonical_host(text).parent_domain == parent


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("blog.example.com", "example.com"),
        ("a.b.example.co.uk", "example.co.uk"),
        ("deep.someone.github.io", "someone.github.io"),
        ("blog.example.com:8080", "example.com:8080"),
        ("www.example.com", "example.com"),
        ("github.io", "github.io"),
        ("co.uk", "co.uk"),
        ("localhost", "localhost"),
        ("192.0.2.7", "192.0.2.7"),
        ("[::1]:8080", "[::1]:8080"),
    ],
)
def test_sub_domains_can_be_folded_into_their_registrable_domain(text: str, host: str) -> None:
    assert str(canonical_host(text, collapse=True)) == host
    assert web_address(text, collapse=True).host == host


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("http://", "no host"),
        ("https:///path", "no host"),
        ("https://?q", "no host"),
        ("http:example.com", "write http:// before the host"),
        ("https:/example.com", "write https:// before the host"),
        ("javascript:alert(1)", "javascript: is not a web address"),
        ("mailto:someone", "mailto: is not a web address"),
        ("data:text/html,x", "data: is not a web address"),
        ("ftp://example.com/", "only http and https"),
        ("file:///etc/passwd", "only http and https"),
        ("exa mple.com", "space"),
        ("example.com/a b", "space"),
        ("exam\x00ple.com", "invisible"),
        ("exam\u00a0ple.com", "invisible"),
        ("exam\u2028ple.com", "invisible"),
        ("a" * 5000, "longer than 63"),
        ("a" * 5000 + ".com", "longer than 63"),
        ("ü" * 5000 + ".de", "not a valid|longer than 63"),
        (f"{'a' * 64}.com", "longer than 63"),
        (".".join(["a" * 60] * 5), "longer than 253"),
        ("a" * (LONGEST_URL + 1), f"longer than {LONGEST_URL}"),
        ("xn--a", "punycode"),
        ("xn--.com", "punycode"),
        ("xn--\x7f.com", "invisible"),
        ("xn--example-.com", "punycode"),
        ("xn--99999999999.com", "punycode"),
        ("example..com", "empty label"),
        (".example.com", "empty label"),
        ("example.com..", "empty label"),
        (".", "the host is empty"),
        ("-", "cannot be part of a host name"),
        ("exa*mple.com", "cannot be part of a host name"),
        ("a,b", "cannot be part of a host name"),
        ("<script>", "not a valid"),
        ("example.com:0", "port 0"),
        ("example.com:65536", "not a valid"),
        ("example.com:port", "example.com: is not a web address"),
        ("256.256.256.256", "not a valid"),
        ("1.2.3.4.5", "not a valid"),
        ("[::1", "not a valid"),
        ("[::g]", "not a valid"),
        ("[fe80::1%25eth0]", "not a valid"),
        ("\ud800.com", "not a valid"),
    ],
)
def test_what_is_no_host_is_refused_in_words(text: str, reason: str) -> None:
    with pytest.raises(BadAddress, match=reason) as caught:
        canonical_host(text)
    assert len(str(caught.value)) < 300
    assert str(caught.value).isprintable()
    with pytest.raises(BadAddress):
        web_address(text)


@pytest.mark.parametrize(
    "text",
    [
        "https://user:SECRET@example.com/",
        "user:SECRET@example.com",
        "https://:SECRET@example.com/",
        "https://SECRET@example.com/",
        "//user:SECRET@example.com/",
        "https://user:a@SECRET@example.com/",
        # Not quite URLs, but a person's password all the same.
        "ftp://user:SECRET@example.com/",
        "https://user:SECRET word@example.com/",
        "https://user:pass/SECRET@example.com/",
        "https:/user:SECRET@example.com/",
        "http:user:SECRET@example.com",
        "https://user:SECRET@exa mple.com/",
        "https://user:SECRET@[::g]/",
        "https://user:SECRET@example.com:99999/",
        f"https://user:SECRET@example.com/{'a' * LONGEST_URL}",
    ],
)
def test_a_password_is_refused_and_never_repeated(text: str) -> None:
    for read in (canonical_host, web_address):
        with pytest.raises(BadAddress) as caught:
            read(text)
        assert "SECRET" not in str(caught.value)
        assert "SECRET" not in caught.value.text


@pytest.mark.parametrize(
    ("text", "url", "origin", "path"),
    [
        ("example.com", "https://example.com/", "https://example.com", "/"),
        ("http://www.Example.com", "http://www.example.com/", "http://www.example.com", "/"),
        ("https://example.com:443/a", "https://example.com/a", "https://example.com", "/a"),
        ("http://example.com:443/a", "http://example.com:443/a", "http://example.com:443", "/a"),
        ("https://example.com/a#b", "https://example.com/a", "https://example.com", "/a"),
        ("https://example.com/a/../b/./c", "https://example.com/b/c", "https://example.com", "/b/c"),
        ("https://example.com/a/%2e%2e/b", "https://example.com/b", "https://example.com", "/b"),
        ("https://example.com/ä?ö=ü", "https://example.com/%C3%A4?%C3%B6=%C3%BC", "https://example.com", None),
        ("https://example.com?b=2&a=1", "https://example.com/?b=2&a=1", "https://example.com", "/?b=2&a=1"),
        ("https://münchen.de/", "https://xn--mnchen-3ya.de/", "https://xn--mnchen-3ya.de", "/"),
        ("http://[::1]:8080/x", "http://[::1]:8080/x", "http://[::1]:8080", "/x"),
        ("https://example.com/list?", "https://example.com/list?", "https://example.com", "/list?"),
        ("https://example.com/%7Eu", "https://example.com/~u", "https://example.com", "/~u"),
    ],
)
def test_an_address_keeps_what_is_asked_for(text: str, url: str, origin: str, path: str | None) -> None:
    address = web_address(text)
    assert (address.url, address.origin) == (url, origin)
    assert address.path == (path or url.removeprefix(origin))
    assert address.key == url_key(url)
    assert address.host == str(canonical_host(text))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/%7Eu", "/~u"),
        ("/%7eu", "/~u"),
        ("/caf%c3%a9", "/caf%C3%A9"),
        ("/caf%c3%A9", "/café"),
        ("/%41%62%2D%2e%5F1", "/Ab-._1"),
        ("/?q=%7Eu&x=%c3%a9", "/?q=~u&x=%C3%A9"),
        ("/?%71=1", "/?q=1"),
        ("/a%2eb/c", "/a.b/c"),
        ("/x/%2E%2e/~u", "/%7Eu"),
    ],
)
def test_two_spellings_of_one_page_are_one_address(one: str, other: str) -> None:
    """RFC 3986 §6.2.2."""
    first, second = (resolve_link(each, "https://example.com/") for each in (one, other))
    assert first is not None
    assert first == second
    assert web_address(f"https://example.com{one}") == first


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/a%2Fb", "/a/b"),
        ("/a%3Fb", "/a?b"),
        ("/?a%26b", "/?a&b"),
        ("/?a%3Db", "/?a=b"),
        ("/?a%2Bb", "/?a+b"),
        ("/?a%20b", "/?a+b"),
        ("/a%3Bb", "/a;b"),
        ("/%2525", "/%25"),
        ("/%257Eu", "/%7Eu"),
        ("/a%2C", "/a,"),
        ("/%28a%29", "/(a)"),
        ("/%5C", "/"),
        ("/A", "/a"),
        ("/a%0Ab", "/ab"),
    ],
)
def test_what_may_be_two_pages_stays_two_addresses(one: str, other: str) -> None:
    """RFC 3986 §2.2: reserved characters and their escapes are not the same."""
    first, second = (resolve_link(each, "https://example.com/") for each in (one, other))
    assert first is not None
    assert second is not None
    assert first.key != second.key


@pytest.mark.parametrize("path", ["/100%", "/%zz/%7eu", "/%%41B", "/%%37%45", "/%u00e9%7e", "/?q=50%&r=%7e"])
def test_a_per_cent_sign_that_escapes_nothing_leaves_the_address_as_it_is(path: str) -> None:
    """Decoding beside it could make an escape that nobody wrote: `%%41B` is not `%AB`."""
    found = resolve_link(path, "https://example.com/")
    assert found is not None
    assert found.path == path


BASE = "https://www.example.com/shop/list?page=2"


@pytest.mark.parametrize(
    ("href", "url"),
    [
        ("", BASE),
        ("#top", BASE),
        ("item", "https://www.example.com/shop/item"),
        ("../about", "https://www.example.com/about"),
        ("?page=3", "https://www.example.com/shop/list?page=3"),
        ("/a b", "https://www.example.com/a%20b"),
        (" /padded\n", "https://www.example.com/padded"),
        ("//cdn.example.net/x", "https://cdn.example.net/x"),
        ("http://EXAMPLE.com:80/", "http://example.com/"),
        ("https:item", "https://www.example.com/shop/item"),
        ("\\windows", "https://www.example.com/windows"),
        ("javascript:void(0)", None),
        ("mailto:a@b.example", None),
        ("tel:+123", None),
        ("data:text/plain,x", None),
        ("ftp://example.com/", None),
        ("https://user@example.com/", None),
        ("https://user:pass@example.com/", None),
        ("https://:pass@example.com/", None),
        ("https://exa mple.com/", None),
        ("https://example.com:99999/", None),
        ("https://example.com:0/", None),
        ("https://a..b/", None),
        ("https://xn--a/", None),
        ("https://", None),
        ("/" + "a" * LONGEST_URL, None),
        ("/" + "ä" * (LONGEST_URL // 3), None),
        ("\ud800", None),
    ],
)
def test_a_link_leads_where_a_browser_would_go_or_nowhere(href: str, url: str | None) -> None:
    found = resolve_link(href, BASE)
    assert (found and found.url) == url


@pytest.mark.parametrize(
    ("octets", "url"),
    [
        (b"/plain", "https://www.example.com/plain"),
        ("/gr\u00fcn?q=\u00fc".encode(), "https://www.example.com/gr%C3%BCn?q=%C3%BC"),
        ("https://b\u00fccher.example/".encode(), "https://xn--bcher-kva.example/"),
        (b"/gr\xfcn?q=\xfc", "https://www.example.com/gr%FCn?q=%FC"),
        (b"/\xe3\x83\x84\xff", "https://www.example.com/%E3%83%84%FF"),
        (b"https://b\xfccher.example/", None),
        (b"javascript:alert(1)", None),
    ],
)
def test_a_location_leads_where_its_octets_say(octets: bytes, url: str | None) -> None:
    found = resolve_location(octets.decode("latin-1"), BASE)
    assert (found and found.url) == url


def test_two_spellings_of_one_page_have_one_key() -> None:
    keys = {
        web_address(text).key
        for text in ("https://example.com", "example.com/", "HTTPS://EXAMPLE.COM:443/#x", "https://example.com/./")
    }
    assert len(keys) == 1
    assert web_address("http://example.com/").key not in keys


hostlike = st.lists(
    st.sampled_from(
        ["www", "a", "b-c", "com", "co", "uk", "github", "io", "münchen", "xn--mnchen-3ya", "1", "0x7f", ""]
    ),
    min_size=1,
    max_size=6,
).map(".".join)
authorities = st.builds(
    "{}{}{}".format,
    st.sampled_from(["", "http://", "https://", "//", "HTTP://"]),
    hostlike | st.text(max_size=30) | st.just("[::1]") | st.just("[2001:db8::]"),
    st.sampled_from(["", ":80", ":443", ":8080", ":0", ":99999", "/", "/a?b#c", "."]),
)


@settings(deadline=None)  # the first call reads the list of public suffixes
@given(st.text() | authorities, st.booleans())
@example("www.www.com", True)
@example("www.1", False)
def test_a_canonical_host_is_its_own_canonical_form_and_nothing_else_is_raised(text: str, collapse: bool) -> None:
    try:
        host = canonical_host(text, collapse=collapse)
    except BadAddress:
        return
    assert canonical_host(host_in_url(str(host)), collapse=collapse) == host
    assert len(str(host)) <= 260
    assert str(host).isascii()
    assert str(host) == str(host).lower()


@settings(deadline=None)  # the first call reads the list of public suffixes
@given(st.text() | authorities)
def test_an_address_is_its_own_canonical_form(text: str) -> None:
    try:
        address = web_address(text)
    except BadAddress:
        return
    assert web_address(address.url) == address
    assert resolve_link(address.url, "https://elsewhere.example/") == address
    assert address.url == address.origin + address.path
    assert canonical_host(address.url).authority == address.host


@settings(deadline=None)  # the first call reads the list of public suffixes
@given(
    st.text() | st.text("?#&/;.%a@:") | authorities,
    st.sampled_from([BASE, "http://[::1]:8080/", "https://xn--mnchen-3ya.de/a/"]),
)
def test_resolving_a_link_never_fails(href: str, base: str) -> None:
    found = resolve_link(href, base)
    if found is not None:
        assert resolve_link(found.url, base) == found
        assert len(found.url) <= LONGEST_URL
        assert "#" not in found.url
        assert web_address(found.url) == found


PIECES = (
    *("/", "//", "../", "..", "./", ".", "a", "b.html", "C-d_e~", ":", "@", "?", "x=1&y=2", ";v", "(s)", "'", "^", "|"),
    *(
        "\\",
        "[",
        " ",
        "\t",
        "%7e",
        "%20",
        "%C3%A9",
        "%2E",
        "%2f",
        "%",
        "#",
        "ä",
        "www.",
        "com",
        ".co.uk",
        "xn--mnchen-3ya.de",
        "xn--a",
        "http://",
        "https:",
        "HTTP://",
        "example.com",
        "EXAMPLE.com:80",
        "127.1",
        "[::1]",
    ),
)
BASES = (
    BASE,
    "http://h/a//b/../c?d/e",
    "http://127.0.0.1:8080",
    "https://H:443/x/y/",
    "https://h/f/a%20b/%C3%A9?q=%20",
)
written = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)


@settings(deadline=None, max_examples=sized(200, 20_000))
@given(written, st.sampled_from(BASES) | written)
@example("../../../../x", "http://h/a/b/")
@example("./../a%20b?c=%C3%A9#d", BASES[-1])
@example("//www.co.uk/x", BASE)
@example("https://www.xn--a/x", BASE)
@example("https://www.example.com/%2e%2E/x%2e?y=%2e", BASE)
@example("../x", "http://h/a//b")
@example("//other.example/x", BASE)
@example("x:y", BASE)
def test_a_plain_link_is_joined_as_the_parser_joins_it(href: str, base: str) -> None:
    try:
        joined = ada_url.join_url(base, href).partition("#")[0]
    except ValueError:
        joined = ""
    found = resolve_link(href, base)
    if found is not None:
        assert found.url == normalize_escapes(joined)
        assert found.host == canonical_host(found.url).authority
    elif joined.startswith(("http://", "https://")):
        with pytest.raises(BadAddress):
            web_address(joined)


def resolve_links(
    hrefs: list[str], base: str, *, collapse: bool = False, tracking: TrackingRules | None = None
) -> list[WebAddress | None]:
    """The links of a page, resolved together as `resolve_unmet` does, without leaving any out."""
    return [
        canonical._resolve(found, base, collapse, tracking) if isinstance(found, str) else found
        for found in canonical._plain_links(hrefs, base, collapse, tracking, None)
    ]


def test_plain_links_are_resolved_in_c_where_there_is_a_compiler() -> None:
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    assert canonical._resolve_plain is not None or shutil.which(compiler) is None


@settings(deadline=None, max_examples=sized(300, 50_000))
@given(st.lists(written, max_size=6), st.sampled_from(BASES) | written, st.booleans(), st.booleans())
@example(
    ["../../x", "./x", "x", "/x?y=1", "http://h/x", "http://h//x", "x/(a)/b", "x;sid=1", "#x", ""], BASE, True, False
)
@example(["/a%2Fb", "/a%2fb", "/a%7Eb", "/a%", "/a%zz", "/x/./y", "/x/.y", "/x?a=/../b", "//h/x"], BASE, False, False)
@example(["../x", "x"], "http://h/a;sid=2/(b)/c", True, False)
def test_links_in_one_go_are_resolved_as_one_by_one(
    hrefs: list[str], base: str, drops_tracking: bool, collapse: bool
) -> None:
    tracking = DEFAULT_TRACKING if drops_tracking else None
    expected = [canonical._resolve(href, base, collapse, tracking) for href in hrefs]  # and their hosts are known now
    assert resolve_links(hrefs, base, collapse=collapse, tracking=tracking) == expected
    assert [resolve_link(href, base, collapse=collapse, tracking=tracking) for href in hrefs] == expected


QUERIES = (
    "?",
    "&",
    "utm_source=x",
    "UTM_a",
    "sid=1",
    "sid=0123456789abcdef",
    "id=7",
    "=",
    "q=a%20b",
    "é",
    "?q=ø",
    "%C3",
)
NAMES = (
    "www.",
    "a.",
    "b-c.",
    "-",
    "9",
    "ck",
    "co.uk",
    "kobe.jp",
    "example.com",
    "xn--p1ai",
    "WWW.",
    "l" * 64,
    "n." * 130,
)
linked = st.lists(
    st.sampled_from(PIECES) | st.sampled_from(QUERIES) | st.sampled_from(NAMES) | st.text(max_size=3), max_size=7
).map("".join)
hosts_linked = st.lists(st.sampled_from(NAMES), min_size=1, max_size=5).map(lambda names: f"https://{''.join(names)}/x")


@settings(deadline=None, max_examples=sized(500, 200_000))
@given(st.lists(linked | hosts_linked, max_size=6), st.sampled_from(BASES) | written, st.booleans(), st.booleans())
@example(["../", "./", "../../", "", ".", "..", "./../", "././"], BASE, True, False)
@example(["/a?utm_source=1&b=2", "/a?b=2&UTM_x", "/a?b", "/a?", "/a?b=%", "/a?sid=0123456789abcdef"], BASE, True, False)
@example(["//h/x", "//www.kobe.jp/", "//www.a.ck/", "//www.ck/", "//www.b.kobe.jp/"], "http://h/", False, False)
@example(["/é?ø#é", "//é.de/x", "é", "http://h/\ud800", "\xa0/x", "/" + "é" * 400], BASE, True, False)
def test_links_to_hosts_that_were_never_met_are_resolved_as_one_by_one(
    hrefs: list[str], base: str, drops_tracking: bool, collapse: bool
) -> None:
    tracking = DEFAULT_TRACKING if drops_tracking else None
    expected = [canonical._resolve(href, base, collapse, tracking) for href in hrefs]
    canonical._places[collapse].clear()
    assert resolve_links(hrefs, base, collapse=collapse, tracking=tracking) == expected
    canonical._places[collapse].clear()
    assert [resolve_link(href, base, collapse=collapse, tracking=tracking) for href in hrefs] == expected


def test_www_is_left_out_of_a_name_as_the_list_of_suffixes_says() -> None:
    rules = sorted(public_suffixes().rules)
    names = [rule.lstrip("!*.").encode("idna").decode() for rule in rules[:: sized(7, 1)]]
    hrefs = [f"https://www.{before}{name}/" for name in names for before in ("", "a.", "b.a.")]
    canonical._places[False].clear()
    found = resolve_links(hrefs, BASE)
    assert [address and address.host for address in found] == [
        canonical._host_of_origin(href.removesuffix("/"), False) for href in hrefs
    ]


keys = st.sets(st.integers(0, 5))


@settings(deadline=None, max_examples=sized(500, 100_000))
@given(
    st.lists(linked | st.sampled_from(("/a", "/a#b", "#", "https://b.example/", "x")), max_size=8),
    st.sampled_from(BASES),
    st.tuples(keys, st.none() | keys, keys, st.none() | keys),
    st.booleans(),
)
def test_links_that_were_met_are_left_out_in_c_as_in_python(
    hrefs: list[str], base: str, places: tuple[set[int], set[int] | None, set[int], set[int] | None], is_own: bool
) -> None:
    all_of_them = [address for address in resolve_links(hrefs, base) if address is not None]
    made = [
        None if each is None else {all_of_them[place].key for place in each if place < len(all_of_them)}
        for each in places
    ]
    known, too_deep, counted, noted = made
    assert known is not None
    assert counted is not None
    host = all_of_them[0].host if is_own and all_of_them else "example.com"
    met = MetLinks(host, known, too_deep, counted & known, noted)
    expected = [address for address in all_of_them if not met.leave_out(address)]
    assert resolve_unmet(hrefs, base, met) == expected
    with pytest.MonkeyPatch.context() as without_c:
        without_c.setattr(canonical, "_resolve_plain", None)
        assert resolve_unmet(hrefs, base, met) == expected


hrefs_met = st.lists(linked | st.sampled_from(("/a", "/a#b", "#", "", "a#c", "a", "mailto:x", "tel", "HTTP://a/")))


@settings(max_examples=sized(300, 50_000))
@given(hrefs_met, st.data())
def test_fresh_links_are_the_same_in_c_as_in_python(hrefs: list[str], data: st.DataObject) -> None:
    some = st.sets(st.sampled_from(hrefs)) if hrefs else st.just(set())
    met, without = data.draw(some), frozenset(data.draw(some))
    in_c, in_python = set(met), set(met)
    found = fresh_links(hrefs, in_c, without)
    with pytest.MonkeyPatch.context() as without_c:
        without_c.setattr(canonical, "_fresh", None)
        assert found == fresh_links(hrefs, in_python, without)
    assert in_c == in_python


@pytest.mark.parametrize("href", ["//;sid=3", "https://;jsessionid=1/x", "//example.org;sid=3/y;sid=4"])
def test_a_session_in_place_of_a_host_makes_no_address(href: str) -> None:
    assert resolve_link(href, BASE, tracking=DEFAULT_TRACKING) is None


@pytest.mark.parametrize("href", ["/%7ea;sid=%zz", "/a?b=%7e&utm_source=5%", "/a;%73id=1;sid=%"])
def test_a_link_without_its_tracking_is_its_own_canonical_form(href: str) -> None:
    found = resolve_link(href, BASE, tracking=DEFAULT_TRACKING)
    assert found is not None
    assert found == resolve_link(found.url, BASE) == resolve_link(found.url, BASE, tracking=DEFAULT_TRACKING)


def test_an_address_that_escapes_make_too_long_is_refused() -> None:
    with pytest.raises(BadAddress, match=f"longer than {LONGEST_URL}"):
        web_address("https://example.com/" + "é" * (LONGEST_URL // 2))


@settings(deadline=None)  # the first call reads the list of public suffixes
@given(st.text(), st.text())
def test_a_base_that_is_no_url_gives_no_link(href: str, base: str) -> None:
    found = resolve_link(href, base)
    assert found is None or found.url.startswith(("http://", "https://"))


@given(st.text(st.characters(codec="utf-8")))
def test_a_key_fits_a_signed_64_bit_column(text: str) -> None:
    assert -(2**63) <= url_key(text) < 2**63


def test_keys_use_both_halves_of_the_column() -> None:
    keys = [url_key(f"https://example.com/{number}") for number in range(1000)]
    assert len(set(keys)) == 1000
    assert min(keys) < 0 < max(keys)


@pytest.mark.parametrize("host", ["example.com", "www.example.com", "www.www.example.com:8080", "www.com", "[::1]"])
def test_the_start_page_of_a_host_is_on_that_host(host: str) -> None:
    address = address_of_host(host)
    assert address.host == host
    assert address.path == "/"


@pytest.mark.parametrize("text", ["mailto:jobs@example.org", "MAILTO:jobs@example.org", "sip:a@b.example", "ftp:a@b.c"])
def test_another_scheme_is_named_before_a_user_name_is_suspected(text: str) -> None:
    with pytest.raises(BadAddress, match="is not a web address; only http and https are crawled"):
        web_address(text)


def test_a_name_and_password_without_a_scheme_are_refused_as_such() -> None:
    with pytest.raises(BadAddress, match="user name or password"):
        web_address("name:secret@example.org")


_WRITTEN_HOSTS = (
    *(
        "example.com",
        "EXAMPLE.com",
        "www.example.co.uk",
        "www.com",
        "1.2.3.4",
        "127.1",
        "a..b",
        "-a.b",
        "a.b.",
        "a_b.com",
    ),
    *("xn--bcher-kva.de", "bücher.de", "example.com:80", "example.com:443", "example.com:8080", "example.com:0"),
    *("example.com:99999", "user@example.com", "[::1]", f"{'a' * 70}.com", ".com", "localhost", "www.www.example.com"),
)


def _outcome(text: str, collapse: bool) -> object:
    try:
        return web_address(text, collapse=collapse)
    except BadAddress as error:
        return str(error)


@settings(max_examples=sized(60, 20_000))
@given(
    st.sampled_from(["http://", "https://", "HTTPS://", "ftp://", ""]),
    st.one_of(st.sampled_from(_WRITTEN_HOSTS), st.text("abwW01.:-_@", min_size=1, max_size=12)),
    st.text("ab/.?#%2e&;=~ @:\\é\t+,!'()|[]\"<>$", max_size=12),
    st.booleans(),
)
def test_an_address_that_needs_no_parser_is_read_as_the_parser_reads_it(
    scheme: str, host: str, rest: str, collapse: bool
) -> None:
    text = f"{scheme}{host}/{rest}"
    quickly = _outcome(text, collapse)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(canonical, "_join_plain", lambda _href, _base: None)
        assert quickly == _outcome(text, collapse)
