"""What is taken down is left alone in every spelling, and its neighbours are not."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.model.errors import BadAddress
from comity.rules.canonical import web_address
from comity.rules.takedown import Takedowns, read_entry


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ("example.com", "example.com"),
        ("https://www.Example.com/", "example.com"),
        ("https://example.com:443/#part", "example.com"),
        ("https://example.com/?", "example.com"),
        ("https://example.com/private?", "example.com/private"),
        ("example.com:8080", "example.com:8080"),
        ("https://example.com/private", "example.com/private"),
        ("http://www.example.com/private/", "example.com/private/"),
        ("https://example.com/find?q=name", "example.com/find?q=name"),
        ("[2001:DB8::1]", "[2001:db8::1]"),
        ("münchen.de/straße", "xn--mnchen-3ya.de/stra%C3%9Fe"),
    ],
)
def test_an_entry_has_one_spelling_and_reads_back_as_itself(text: str, entry: str) -> None:
    assert read_entry(text).text == entry
    assert read_entry(entry) == read_entry(text)


@pytest.mark.parametrize(
    "text", ["", "ftp://example.com", "mailto:someone", "exa mple.com", "https://u:p@example.com/"]
)
def test_what_names_nothing_cannot_be_taken_down(text: str) -> None:
    with pytest.raises(BadAddress):
        read_entry(text)


@pytest.mark.parametrize(
    ("entry", "url", "is_covered"),
    [
        # A host covers all of itself, its sub-domains and its ports, under both schemes.
        ("example.com", "https://example.com/", True),
        ("example.com", "http://example.com/any/page?at=all", True),
        ("example.com", "https://www.example.com/", True),
        ("example.com", "https://example.com:8443/", True),
        ("example.com", "https://deep.sub.example.com/", True),
        ("example.com", "https://sub.example.com:8080/x", True),
        ("www.example.com", "https://shop.example.com/", True),
        ("example.com", "https://example.com.evil.example/", False),
        ("example.com", "https://notexample.com/", False),
        ("example.com", "https://example.org/", False),
        ("example.com", "https://elsewhere.example/example.com", False),
        ("sub.example.com", "https://sub.example.com/", True),
        ("sub.example.com", "https://example.com/", False),
        ("sub.example.com", "https://othersub.example.com/", False),
        # A host with a port covers that port only.
        ("example.com:8080", "https://example.com:8080/x", True),
        ("example.com:8080", "https://example.com/", False),
        ("example.com:8080", "https://example.com:80801/", False),
        # Addresses are hosts too, with all their ports.
        ("192.0.2.7", "http://192.0.2.7/", True),
        ("192.0.2.7", "http://192.0.2.7:8080/", True),
        ("192.0.2.7", "http://192.0.2.77/", False),
        ("[2001:db8::1]", "http://[2001:db8::1]/", True),
        ("[2001:db8::1]", "http://[2001:db8::1]:8080/x", True),
        ("[2001:db8::1]:8080", "http://[2001:db8::1]:8080/", True),
        ("[2001:db8::1]:8080", "http://[2001:db8::1]/", False),
        ("[2001:db8::1]", "http://[2001:db8::11]/", False),
        # A URL covers what lies below it, by whole segments.
        ("example.com/private", "https://example.com/private", True),
        ("example.com/private", "http://www.example.com/private/", True),
        ("example.com/private", "https://example.com/private/page", True),
        ("example.com/private", "https://example.com/private?page=2", True),
        ("example.com/private", "https://example.com/private/../private/x", True),
        ("example.com/private", "https://example.com/privateers", False),
        ("example.com/private", "https://example.com/", False),
        ("example.com/private", "https://example.com/public/private", False),
        ("example.com/private", "https://sub.example.com/private", False),
        ("example.com/private/", "https://example.com/private/page", True),
        ("example.com/private/", "https://example.com/private-not", False),
        # One parameter's value is not the beginning of another's.
        ("example.com/find?q=ann", "https://example.com/find?q=ann", True),
        ("example.com/find?q=ann", "https://example.com/find?q=ann&page=2", True),
        ("example.com/find?q=ann", "https://example.com/find?q=anna", False),
        ("example.com/find?q=ann", "https://example.com/find", False),
        # Percent-encoding that changes nothing is no way round (RFC 3986 §6.2.2).
        ("example.com/private", "https://example.com/%70rivate/page", True),
        ("example.com/%70rivate", "https://example.com/private", True),
        ("example.com/stra%c3%9fe", "https://example.com/stra%C3%9Fe/1", True),
        ("example.com/a/b", "https://example.com/a%2Fb", False),
        ("example.com/private", "https://example.com/%70rivateers", False),
    ],
)
def test_an_entry_covers_what_it_names_and_no_more(entry: str, url: str, is_covered: bool) -> None:
    try:
        address = web_address(url)
    except BadAddress:
        assert not is_covered  # such a port does not exist
        return
    takedowns = Takedowns.of(["unrelated.example", "unrelated.example/path", read_entry(entry).text])
    assert takedowns.covering(address) == (read_entry(entry).text if is_covered else None)


def test_a_sub_domain_stays_taken_down_where_sub_domains_are_folded_into_one_host() -> None:
    takedowns = Takedowns.of(["blog.example.com", "shop.example.com/private"])
    for url in ("https://blog.example.com/", "https://shop.example.com/private/x"):
        assert takedowns.covering(web_address(url, collapse=True))
    for url in ("https://example.com/", "https://example.com/private", "https://shop.example.com/"):
        assert takedowns.covering(web_address(url, collapse=True)) is None


def test_nothing_is_covered_where_nothing_was_taken_down() -> None:
    assert Takedowns.of([]).covering(web_address("https://example.com/")) is None
    assert Takedowns.of([]).covering_host("example.com") is None


def test_an_entry_written_by_hand_is_read_in_any_spelling_and_one_that_means_nothing_covers_nothing() -> None:
    takedowns = Takedowns.of(["HTTPS://WWW.Example.COM/", "not a host", "", "ftp://other.example/"])
    assert takedowns.covering(web_address("https://example.com/x")) == "HTTPS://WWW.Example.COM/"
    assert takedowns.covering(web_address("https://other.example/")) is None


def test_a_path_does_not_take_down_its_host() -> None:
    takedowns = Takedowns.of(["example.com/private"])
    assert takedowns.covering_host("example.com") is None


labels = st.text("abc", min_size=1, max_size=3)
names = st.lists(labels, min_size=1, max_size=4).map(lambda parts: ".".join([*parts, "example"]))
paths = st.lists(st.text("ab%61?&=", min_size=1, max_size=3), max_size=4).map(lambda parts: "/" + "/".join(parts))


@settings(deadline=None)
@given(names, names, paths, st.sampled_from(["", ":80", ":8080"]))
def test_a_host_entry_covers_exactly_the_names_that_end_in_it(taken: str, name: str, path: str, port: str) -> None:
    covered = Takedowns.of([taken]).covering(web_address(f"https://{name}{port}{path}"))
    assert (covered is not None) == (name == taken or name.endswith(f".{taken}"))


@settings(deadline=None)
@given(paths, paths)
def test_a_url_entry_covers_itself_and_everything_below_it(path: str, below: str) -> None:
    url = f"https://host.example{path}"
    takedowns = Takedowns.of([read_entry(url).text])
    assert takedowns.covering(web_address(url))
    if "?" not in path:
        assert takedowns.covering(web_address(url.rstrip("/") + "/" + below.lstrip("/")))
