"""Pages made to break a reader: each is read whole or up to a bound, in bounded time."""

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from comity.extract.decode import MAX_BODY_BYTES
from comity.extract.html import MAX_ELEMENTS, MAX_LINKS, read_html
from comity.extract.html_pool import is_light
from comity.model.page import HtmlPage, PageLimit

LINK = b"<a href=/x>"


def read(body: bytes, content_type: str | None = None) -> HtmlPage:
    return read_html(body, content_type=content_type, agent_token="comitybot")


HOSTILE = {
    "100,000 nested divs": b"<div>" * 100_000 + LINK,
    "100,000 nested drawings": b"<svg><g>" * 50_000 + LINK,
    "50,000 attributes": b"<p " + b" ".join(b"a%d=%d" % (at, at) for at in range(50_000)) + b">" + LINK,
    "a megabyte of entities": b"<p>" + b"&amp;" * 200_000 + LINK,
    "a megabyte of almost entities": b"<p>" + b"&notit;&#x;&" * 90_000 + LINK,
    "misnested formatting": b"<b><i><p>" * 40_000 + LINK,
    "formatting that is always reopened": b"".join(b"<b a=%d>" % at for at in range(3000)) + b"<p>x" * 3000 + LINK,
    "nested tables": b"<table><tr><td>" * 30_000 + LINK,
    "nested links": b"<a href=/x><p>" * 30_000,
    "open comments": b"<!--x" * 200_000 + b"-->" + LINK,
    "nested templates": b"<template>" * 30_000 + LINK,
    "nested selects": b"<select><option>" * 30_000 + b"</select>" * 30_000 + LINK,
    "NUL octets": b"\0" * 500_000 + LINK,
    "a late declaration": b" " * 2_000_000 + b"<meta charset=windows-1251>" + LINK,
    "legacy octets without a declaration": LINK + b"\xcf\xf0\xe8 " * 500_000,
    "ten megabytes of text": LINK + b"<p>lorem ipsum dolor sit amet</p>\n" * (MAX_BODY_BYTES // 35),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_page_is_read_in_bounded_time(name: str) -> None:
    """The bound is many times what is measured; a reader that takes the square of the size would miss it by far."""
    body = HOSTILE[name]
    started = time.process_time()
    page = read(body)
    assert time.process_time() - started < 4.0
    assert list(page.links) == ["/x"]


def test_distinct_links_are_cut_at_their_bound_and_marked() -> None:
    page = read(b"".join(b"<a href=/%d>" % at for at in range(MAX_LINKS + 5)))
    assert len(page.links) == MAX_LINKS
    assert page.links[-1] == f"/{MAX_LINKS - 1}"
    assert page.limits == {PageLimit.LINKS}


def test_as_many_links_as_allowed_are_no_limit() -> None:
    page = read(b"".join(b"<a href=/%d>" % at for at in range(MAX_LINKS)))
    assert (len(page.links), page.limits) == (MAX_LINKS, frozenset())


def test_the_same_link_without_end_is_cut_at_the_bound_of_elements() -> None:
    page = read(LINK * (MAX_ELEMENTS + 1) + b"<a href=/late>")
    assert list(page.links) == ["/x"]
    assert page.limits == {PageLimit.ELEMENTS}


def test_a_body_over_its_bound_is_read_up_to_it() -> None:
    page = read(LINK + b"x" * MAX_BODY_BYTES + b"<a href=/late>")
    assert list(page.links) == ["/x"]
    assert page.limits == {PageLimit.BODY_BYTES}


PIECES = (
    b"<a href=|/x|>|</a>|<|'|\"|<!--|-->|<title>|</title>|<base href=a>|<meta name=robots content=|<svg>|<math>|<table>"
    b"|<meta http-equiv=refresh content='0;url=|<template>|<script>|</script>|&amp|\0|\xff|\xfe\xff|\xef\xbb\xbf"
    b"|<select>|<link rel=canonical href=/c>|<frameset>|<plaintext>|<p>|</p>|<input type=password>"
).split(b"|")
markup = st.lists(st.sampled_from(PIECES), max_size=30).map(b"".join)


@given(st.one_of(st.binary(max_size=300), markup), st.one_of(st.none(), st.text(max_size=30)), st.text(max_size=8))
@example(b"<\0a\0", None, "")
@example(b"\0<\0a", "text/html; charset=utf-16", "robots")
@example(b"x", "charset=\ud800", "x")
@example(b"<a href=/x>", "text/html; charset='", "x")
def test_no_bytes_or_content_type_raise(body: bytes, content_type: str | None, agent: str) -> None:
    page = read_html(body, content_type=content_type, agent_token=agent, with_text=True)
    assert all(link and link == link.strip() and link[0] != "#" for link in page.links)
    assert len(set(page.links)) == len(page.links)
    assert page.encoding


def reopening(elements: int, paragraphs: int) -> bytes:
    """A small page of which the parser makes the product of both: every paragraph reopens what was not closed."""
    opened = "".join(f"<b class=post-content id=a{number}>" for number in range(elements))
    return f"<p>{opened}{'<p>lorem ipsum dolor' * paragraphs}".encode()


def test_text_of_a_light_page_with_very_many_elements_is_left_to_the_child() -> None:
    page = reopening(60, 1_200)
    assert is_light(page)
    for wanted in ({"with_text": True}, {"with_markdown": True}):
        here = read_html(page, content_type="text/html", agent_token="x", **wanted)  # type: ignore[arg-type]
        assert (here.text, here.markdown) == (None, None), "the caller hands it to a child process"
    apart = read_html(page, content_type="text/html", agent_token="x", with_text=True, in_child=True)
    assert (apart.text or "").count("lorem ipsum") > 1_000
    ordinary = read_html(reopening(3, 400), content_type="text/html", agent_token="x", with_text=True)
    assert (ordinary.text or "").count("lorem ipsum") > 300
