"""Links and head read without a tree are the ones that the tree has, or are left to the tree."""

from __future__ import annotations

import shutil
import sysconfig
import time
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.extract import html
from comity.extract.html import read_html, scan_html
from comity.model.page import HtmlPage
from tests.extract.test_html_hostile import HOSTILE
from tests.sizes import sized

UTF_8 = "text/html; charset=utf-8"
AGENT = "comitybot"


def is_compiled() -> bool:
    """Without a compiler pages are read from their tree, as tests of `read_html` do everywhere."""
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    return html._scan is not None or shutil.which(compiler) is not None


def scanned(body: bytes, content_type: str | None = UTF_8) -> HtmlPage | None:
    return scan_html(body, content_type=content_type, agent_token=AGENT)


def from_tree(body: bytes, content_type: str | None = UTF_8) -> HtmlPage:
    return read_html(body, content_type=content_type, agent_token=AGENT)


def agrees(body: bytes, content_type: str | None = UTF_8) -> bool:
    """Whether a page is left to the tree, or read as the tree has it.

    What stands in a table but in no cell is moved before the table by the HTML rules, so only the order of links and of
    metas, and with it which of several next pages is the first, may differ in a page with such tables.
    """
    page = scanned(body, content_type)
    if page is None:
        return True
    tree = from_tree(body, content_type)
    if b"<table" in body and sorted(page.links) == sorted(tree.links):
        page = page._replace(links=tree.links, next_href=tree.next_href)
        if sorted(page.meta_robots) == sorted(tree.meta_robots):
            page = page._replace(meta_robots=tree.meta_robots)
    return page == tree


def test_the_scan_is_compiled_where_there_is_a_compiler() -> None:
    assert (html._scan is not None) == is_compiled()


PAGES = {
    "nothing": b"",
    "text": b"a < b > c & d",
    "a link": b"<a href=/x>",
    "case": b"<A HREF='/x' REL=NoFollow>y</A><TITLE>T</tItLe >",
    "the first of two attributes counts": b"<a href=1 href=2>",
    "odd attributes": b"<a =x href='1'rel=next><a/href=2><a href = 3 ><a href=4/><a href><a href=><a 'href'=5>",
    "a tag that does not end": b"<a href=1><a href=2",
    "a value that does not end": b'<a href=1><a href="2><a href=3>',
    "a tag in a value": b"<p title='<a href=1>'><a href=2>",
    "references": b"<a href='?a=1&amp;b=2&copy=3&lt;&#38;&#038;&quot;&apos;&gt;'>",
    "unusual references": b"<a href='?a&not;b&notit;c&#x26;d&#128;e&lt'><a href='&AMP'><a href=&eacute;>",
    "references in a title": b"<title>a &amp; b &copy c &#3; &notit; d</title>",
    "line ends in values": b"<a href='x\ry'><a href='x\r\ny'>",
    "no UTF-8": b"<a href=/\xff\xe9><title>\xe9</title>",
    "two titles": b"<title> </title><title>a</title><title>b</title>",
    "the title of a drawing": b"<svg><title>drawing</title><path d=x /></svg><title>page</title>",
    "a title that does not end": b"<title>a<a href=1>",
    "comments": b"<!--><a href=1>--><!---><a href=2>--><!--a--!><a href=3><!--<a href=4>--><!---!><a href=5>-->",
    "declarations": b"<!doctype html PUBLIC 'a>'><a href=1><?x <a href=2>?><!x <a href=3>></ <a href=4>></><a href=5>",
    "a section": b"<p><![CDATA[<a href=1>]]><svg><![CDATA[<a href=2>]]></svg><a href=3>",
    "raw text": b"<style><a href=1></style><textarea><a href=2></textarea><xmp><a href=3></xmpx></xmp><a href=4>",
    "frames and the like": b"<iframe><a href=1></iframe><noembed><a href=2></noembed><noframes><a href=3></noframes>",
    "a script": b"<script>if (a</b) '</scripty>' + '<a href=1>'</script ><a href=2>",
    "a script in a script": b"<script><!--<script></script><a href=1>--></script><a href=2>",
    "a script in a comment": b"<script><!--></script><a href=1><script><!-- </script><a href=2>",
    "noscript": b"<noscript><a href=1><meta http-equiv=refresh content='0;url=/r'></noscript>",
    "a noscript in a table": b"<p><noscript><table></noscript><meta http-equiv=refresh content='0;/x'></table>",
    "refresh": b"<meta http-equiv=Refresh content='0; url=/r'>",
    "robots": b"<meta name=' ROBOTS ' content=a><meta name=comitybot content=b><meta name=other content=c>",
    "robots by references": b"<meta name=&#114;obots content=a><meta http-equiv=&#x72;efresh content='1;/r'>",
    "next pages": b"<a rel=prev href=0><a rel='x NEXT' href=1><link rel=next href=2>",
    "the next page of the head": b"<link rel=next href=2><a rel=next href=1>",
    "canonical": b"<link rel=stylesheet href=s><link rel='shortlink Canonical' href=/c><link rel=canonical href=/d>",
    "nofollow, and once without": b"<a rel=nofollow href=1><a rel='x nofollow' href=2><a href=1>",
    "base": b"<base target=x><base href=' /b/ '><base href=/c/>",
    "a password field": b"<input type=' PassWord'>",
    "no password field": b"<input type=password\x07><input type=passwords><input>",
    "links of drawings": b"<svg><a href=1><g><path/></g></a></svg><svg/><a href=2>",
    "styles of drawings": b"<svg><style><a href=1></style></svg><svg><script><a href=2></script></svg>",
    "HTML in a drawing": b"<svg><p><a href=1><style><a href=2></style>",
    "HTML in a title of a drawing": b"<svg><title><style><a href=1></style></title></svg>",
    "HTML in a formula": b"<math><mi><style><a href=1></style></mi></math><a href=2>",
    "a foreign object": b"<svg><foreignObject><style><a href=1></style></foreignObject></svg>",
    "a drawing that does not end": b"<div><svg><g></div><style><a href=1></style>",
    "frames": b"<frameset><frame src=f><noframes><a href=1></noframes></frameset>",
    "plain text": b"<plaintext><a href=1>",
    "a selection": b"<select><option>a<optgroup><option>b</select><a href=1>",
    "links in a selection": b"<select><a href=1><textarea><a href=2></textarea></select>",
    "templates": b"<template><a href=1></template><table><colgroup><template><col><a href=2></template></table>",
    "a table around links": b"<a href=1><table><tr><a href=2><td><a href=3></table>",
    "a zero byte": b"<a\0 href=1><a href=2\0>",
    "a byte order mark": b"\xef\xbb\xbf<a href=1>",
    "blanks around addresses": b"<a href=' \t/x '><a href='#top'><a href=''>",
}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_read_as_its_tree_has_it(name: str) -> None:
    assert agrees(PAGES[name])


# What the pages above would not show if everything were left to the tree.
NEED_NO_TREE = (
    "a link", "case", "odd attributes", "a tag in a value", "references", "unusual references", "references in a title",
    "two titles", "the title of a drawing", "comments", "declarations", "a section", "raw text", "a script",
    "a script in a script", "robots", "next pages", "canonical", "base", "a password field", "links of drawings",
    "a selection", "blanks around addresses", "a table around links",
)  # fmt: skip


@pytest.mark.parametrize("name", NEED_NO_TREE)
def test_usual_markup_needs_no_tree(name: str) -> None:
    assert (scanned(PAGES[name]) is not None) == is_compiled()


def test_a_page_that_says_its_encoding_is_read_without_a_tree_if_it_is_utf_8() -> None:
    page = "<meta charset=utf-8><a href=/é>".encode()
    assert (scanned(page, "text/html") is not None) == is_compiled()
    assert scanned(page, "text/html; charset=windows-1252") is None
    assert scanned(b"<a href=/x>", "text/html") is None
    assert scanned(b"<!-- <meta charset=utf-8> --><a href=/x>", None) is None
    assert scanned(b"<meta charset=koi8-r><meta charset=utf-8>", None) is None
    assert scanned("<a href=/x>".encode("utf-16"), UTF_8) is None
    quoted = "<script>'<meta charset=utf-8>'</script><meta charset=windows-1251><a href='/?q=ж'>".encode("cp1251")
    assert scanned(quoted, None) is None
    assert scanned(b"<div title='<meta charset=utf-8>'><a href='/?q=\xe6'>", None) is None
    assert scanned("<a href='/?q=ж'>".encode("cp1251"), "text/html; charset=u8") is None


DECLARED = {
    "quotes": b"<meta charset='UTF-8' />",
    "capitals": b'<META CHARSET="utf8">',
    "http-equiv": b"<meta http-equiv=Content-Type content='text/html; charset=UTF-8'>",
    "http-equiv behind its content": b'<meta content="text/html;charset=utf-8" http-equiv="content-type"/>',
    "an XML declaration": b"<?xml version='1.0'?><meta http-equiv=content-type content='x; charset=utf-8'>",
    "a conditional comment": b"<!--[if IE 8]><meta charset=koi8-r><![endif]--><!--[if !IE]><!--><meta charset=utf-8>",
    "a title before": b"<!doctype html><html><head><title>a</title><script>b</script><meta charset=utf-8>",
    "another one later": b"<meta charset=utf-8><meta charset=koi8-r>",
    "a content that names none": b"<meta http-equiv=content-type content=text/html><meta charset=utf-8>",
    "no blank": b"<meta/charset=utf-8>",
    "bytes that do not fit": b"<meta charset=utf-8><a href=/\xe9>",
}


@pytest.mark.parametrize("name", DECLARED)
def test_a_page_may_declare_utf_8_as_browsers_read_it(name: str) -> None:
    body = DECLARED[name] + "<title>ж</title><a href='/?q=ж'>".encode()
    assert (scanned(body, "text/html") is not None) == is_compiled()
    assert agrees(body, "text/html")


@pytest.mark.parametrize(
    "body",
    [
        b"<meta charset=foo><meta charset=utf-8>",
        b"<title><meta charset=utf-8></title><meta charset=koi8-r>",
        b"<title><meta charset=utf-8></title><meta http-equiv=content-type content='charset =koi8-r;charset=utf-8'>",
        b"<title><meta charset=utf-8></title><meta http-equiv='&#99;ontent-type' content='x; charset=koi8-r'>",
        b"<template><meta charset=koi8-r></template><meta charset=utf-8>",
        b"<meta content='text/html; charset=utf-8'>",
        b"<metax charset=utf-8></meta charset=utf-8>",
        b"<meta charset=utf-8",
        b"<p>" + b"x" * 1024 + b"<meta charset=utf-8>",
        b"a\0b\0<meta charset=utf-8>",
    ],
)
def test_what_may_be_in_another_encoding_is_left_to_the_tree(body: bytes) -> None:
    assert scanned(body, "text/html") is None


PIECES = sorted(
    {piece for body in PAGES.values() for piece in body.decode("latin-1").replace("<", "\n<").split("\n")}
    | set("<>=/'\"& \r!-?")
    | {"<!--", "-->", "</", "<p>", "</p>", "<div>", "</div>", "<b>", "<table>", "<td>", "</svg>"}
)  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=30))
def test_whatever_is_put_together_is_read_as_its_tree_has_it(pieces: list[str]) -> None:
    assert agrees("".join(pieces).encode("latin-1"))


ENCODINGS = [
    *DECLARED.values(),
    *(b"<title>", b"</title>", b"<script>", b"</script>", b"<!--", b"-->", b"<template>", b"<svg>", b"</svg>"),
    *(b"<meta charset=koi8-r>", b"<meta http-equiv=content-type content='a; charset=koi8-r'>", b"<p title='"),
    *(b"<meta ", b"charset=utf-8", b"<noscript>", b"</noscript>", b"'", b">", b"<a href='/?q=\xc3\xa9\xe9'>"),
]  # fmt: skip


@given(st.lists(st.sampled_from(ENCODINGS), max_size=12))
def test_whatever_a_page_declares_is_what_its_tree_is_read_in(pieces: list[bytes]) -> None:
    assert agrees(b"".join(pieces) + "<a href='/?r=ж'>".encode(), "text/html")


LINKS = [
    f"<a href='{href}'{rel}>".encode()
    for href in ("/a", "/b", "/c?d", "#e", "/a#f", "é")
    for rel in (
        "",
        " rel=nofollow",
        " rel='x NoFollow\x0by'",
        " rel=nofollowed",
        " rel='next nofollow'",
        " rel='no&#102;ollow'",
    )
]


@given(st.lists(st.sampled_from(LINKS[:24]), max_size=8), st.lists(st.sampled_from(LINKS), max_size=2))
def test_links_with_nofollow_are_those_that_never_stand_without(plain: list[bytes], others: list[bytes]) -> None:
    assert agrees(b"".join([*plain, *others]))


@given(st.binary(max_size=200))
def test_any_bytes_are_read_as_their_tree_has_them(body: bytes) -> None:
    assert agrees(body)


def test_a_page_may_end_anywhere() -> None:
    """Every beginning of a page with everything in it; that nothing beyond the end is read shows in the result."""
    whole = b"".join(PAGES[name] for name in NEED_NO_TREE)
    random = Random(7)
    for _turn in range(sized(200, 5000)):
        assert agrees(whole[: random.randrange(len(whole))])


SLOW = HOSTILE | {
    "values that Python decodes": b"<a href='&notit;'>" * 500_000,
    "values that do not end": b'<a href="' * 1_000_000,
    "titles": b"<title>x</title>" * 600_000,
    "open titles": b"<title>" * 1_000_000,
    "open scripts": b"<script><!--<script>" * 500_000,
    "comments that do not end": b"<!--" + b">" * 10_000_000,
    "sections that do not end": b"<svg><![CDATA[" + b"]>" * 5_000_000,
    "brackets": b"<" * 10_000_000,
    "links": b"<a href=x>" * 1_000_000,
    "references": b"<a href='" + b"&amp;" * 2_000_000 + b"'>",
    "drawings in drawings": b"<svg>" * 2_000_000,
    "a title of words": b"<title>" + b"ab " * 3_000_000 + b"</title>",
    "a title with references": b"<title>&amp;" + b"ab " * 3_000_000 + b"</title>",
    "a rel of words": b"<a href=x rel='nofollow" + b" ab" * 3_000_000 + b"'>",
    "links that are not followed": b"<a rel=nofollow href=' /n'>" * 99_999,
    "addresses with blanks": b"<a href=' /n'>" * 99_999,
    "robots metas": b"<meta name=robots content=all>" * 99_999,
    "next pages": b"<link rel=next href=x>" * 99_999,
}


@pytest.mark.parametrize("name", SLOW)
def test_a_hostile_page_does_not_hold_the_event_loop(name: str) -> None:
    """A tenth of a second is allowed for any page; the largest body takes a third of that."""
    body = SLOW[name]
    taken = []
    for _turn in range(3):
        began = time.process_time()
        scanned(body)
        taken.append(time.process_time() - began)
    assert min(taken) < 0.1
