"""Text read without the parser's tree is the one that the tree gives, or is left to the parser."""

from __future__ import annotations

import shutil
import sysconfig
import time
import tracemalloc
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.extract import html
from comity.extract.decode import parse_html
from comity.extract.html import read_html, scan_html
from comity.extract.main_content import read_main_content
from comity.model.page import HtmlPage
from tests.extract.test_html_hostile import HOSTILE
from tests.extract.test_main_content import BODY, COMMENTS, COOKIES, FOOTER, ITEMS, LONG, NAV, RELATED, SHAPES, SHARE
from tests.sizes import sized

UTF_8 = "text/html; charset=utf-8"
AGENT = "comitybot"
MOST_BYTES = 512 * 1024


def is_compiled() -> bool:
    """Without a compiler text is read from the tree, as tests of `read_main_content` do everywhere."""
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    return html._main_text is not None or shutil.which(compiler) is not None


def scanned(body: bytes) -> HtmlPage | None:
    return scan_html(body, content_type=UTF_8, agent_token=AGENT, with_text=True)


def scanned_text(body: bytes) -> str | None:
    page = scanned(body)
    return page.text if page is not None else None


def from_tree(body: bytes, *, on_the_loop: bool = False) -> str | None:
    return read_main_content(parse_html(body, UTF_8), on_the_loop=on_the_loop).text


def agrees(body: bytes) -> bool:
    """Whether a page is left to the parser, or has the text that its tree gives here or in a child process.

    These two may differ from each other: when the whole page is weighed depends on what was read before.
    """
    text = scanned_text(body)
    return text is None or text in (from_tree(body), from_tree(body, on_the_loop=True))


def test_it_is_compiled_where_there_is_a_compiler() -> None:
    assert (html._main_text is not None) == is_compiled()


# What stands in a main element beside some prose.
PARTS = {
    "an article": f"<article><h1>Bridge stays</h1>{BODY}{SHARE}</article>{RELATED}{COMMENTS}",
    "two articles": f"<article>{BODY}</article><article><p>{LONG}</p></article>",
    "a list of products": f"<h1>Kettles</h1><ul>{ITEMS}</ul>",
    "blanks": "<div> a <b> b </b>\n c</div> <div>\n\td  e</div><span> f </span>",
    "line ends": "<p>a\r\nb\rc\nd</p><pre>e\r\nf\r</pre>",
    "line breaks": "<p>a<br>b<br><br>c</p>\n<br>\n<p>d</p><br>",
    "lists in lists": "<ul><li>a<li> b<ul><li>c<ol start=7><li>d<li value=3>e</ol></ul><ul><li>f</ul></ul>",
    "paragraphs in lists": "<ul><li><p>a</p><p>b</p></li>\n<li></li><li><img>c</ul><ol><li><div>x</div></ol>",
    "definitions": "<dl><dt>a<dt>b<dd>c<p>d<dd>e</dl>",
    "quotations": "<blockquote>a<blockquote><p>b</p>c</blockquote><ul><li>d</ul></blockquote>e",
    "preformatted text": "<pre>\n a\n  <b>b</b>  \n\n\n</pre><pre>\n\nc</pre><pre>d <p>e</p></pre>",
    "a data table": "<table><caption>A</caption><tr><th>x<td>1 <td>2</tr>\n<tr><th>y<td><p>3</p></td></tr></table>z",
    "a table without a head": "<table><tr><td>a<td>b<tr><td>c<td><a href=/>d</a></table>",
    "columns": "<table>\n<colgroup> <col><col></colgroup><col><thead><tr><th>a<tbody><td>b</table>",
    "tables as layout": f"<table><tr><td><table><tr><td>a<td>b</table></td><td>{LONG}</table>",
    "a table that says it is layout": "<table role=presentation><tr><td>a<td>b</table>",
    "permalinks": "<h2>One <a href=#a>¶</a></h2><h3><a href=#b>#</a>Two</h3><p>a <a href=#c>#</a></p>",
    "blocks of links": "<ul><li><a href=/a>Another page</a><li><a href=/b>One more</a></ul><p><a href=/c>Third</a> x",
    "many links": f"<div>{''.join(f'<p><a href=/{n}>Link number {n}</a></p>' for n in range(40))}</div>",
    "references": "&lt;b&gt; &copy; &copy2 &notit; AT&T &#65; &#x41; &#8211 &hellip;&nbsp;&NotEqualTilde; &nosuch; & &",
    "unusual references": "a &#128; &#0; &#xd800; b",
    "hidden parts": "<p hidden>a</p><p aria-hidden=true>b</p><p style='x;DISPLAY : none'>c</p><p role=' Search '>d</p>",
    "attributes with references": "<p style='a:&quot;x&quot;'>a</p><p class='[&>a]:b'>c</p><p class='sh&#97;re'>d</p>",
    "a note": "<aside class=note>Mind the gap</aside><aside>Weather</aside><aside id=tip>Tip</aside>",
    "headers": "<header>a</header><nav>b</nav><footer>c</footer><menu><li>d</menu><noscript>e<p>f</noscript>",
    "never content": "<script>a<b</script><style>c</style><template><p>d<script></template></script></template>e"
    "<svg><title>f</title><path/></svg><select><option>g</select><textarea><p>h</textarea><button>i</button>"
    "<iframe><p>j</iframe><video>k</video><canvas>l</canvas><object>m</object><ruby>n<rp>(<rt>o<rp>)</ruby>",
    "comments": "a<!-- b -->c<!---->d<!-->e<?f?>g</ h>i<!j>k<![CDATA[l]]>m",
    "implied ends": "<p>a<div>b<p>c<h2>d<h3>e</h2><p>f</div>g</p>h<section><p>i</section>",
    "stray ends": "a</div></b></li></td></form></h1>b</nosuch>c</>d",
    "forms": "<form>a<form>b</form>c<fieldset><legend>d</legend><label>e<input></label></fieldset></form>",
    "elements of other names": "<my-card>a<my-title>b</my-title></my-card><center>c</center><dir><li>d</dir>",
    "white space of other kinds": "<p>a\u00a0</p><p>\u3000b\u2003</p><p>c\u2028</p><p>\x1c</p><p>\x0b\x0c</p>",
    "scripts of the world": "<p>橋は百年前に造られた。</p><p>הגשר הישן 🔗</p>",
    "formatting that does not nest": "<b>a<i>b</b>c</i><p><em>d</p>e",
    "links in links": "<a href=/a>b<a href=/c>d</a>",
    "text in a table": "<table>a<tr><td>b</table>",
    "a table in a paragraph": "<p>a<table><tr><td>b<td>c</table>",
    "a table in preformatted text": "<pre>a<table><tr><th>b<td>c</table></pre>",
    "a formula": "<math><mi>x</mi></math>",
    "a title": "a<title>b</title>",
    "two bodies": "a<body class=b>c",
    "deep lists": "<ul><li>a" * 12,
    "deep elements": "<div>" * 200 + "a",
    "no UTF-8": "a\udcff\udce9b",
}  # fmt: skip
LEFT_TO_THE_PARSER = {
    "unusual references", "formatting that does not nest", "links in links", "text in a table", "a formula", "a title",
    "a table in preformatted text", "two bodies", "deep lists", "deep elements", "no UTF-8",
}  # fmt: skip


def page(part: str, around: str = "main") -> bytes:
    markup = f"<!DOCTYPE html><title>t</title><body>{NAV}<{around}><p>{LONG}{LONG}</p>{part}</main>{FOOTER}{COOKIES}"
    return markup.encode("utf-8", "surrogateescape")


@pytest.mark.parametrize("around", ["main", "article", "div role=main", "p itemprop=articleBody", "main><article"])
@pytest.mark.parametrize("name", PARTS)
def test_a_page_has_the_text_of_its_tree(name: str, around: str) -> None:
    assert agrees(page(PARTS[name], around))


@pytest.mark.parametrize("name", PARTS)
def test_usual_markup_needs_no_tree(name: str) -> None:
    assert (scanned_text(page(PARTS[name])) is not None) == (is_compiled() and name not in LEFT_TO_THE_PARSER)


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_of_site_has_the_text_of_its_tree(name: str) -> None:
    assert agrees(SHAPES[name][0].encode())


NAMING = (
    b"<main>",
    b"<ARTICLE >",
    b"<p role=main>",
    b"<p role='main'>",
    b'<p role="main">',
    b"<p itemprop=articleBody>",
)


def test_a_page_that_does_not_name_its_content_is_left_to_the_parser_at_once() -> None:
    prose = LONG.encode()
    assert scanned(b"<div class=main><maintain><articles><p>" + prose) is None
    for start in NAMING:
        assert (scanned_text(start + prose) is not None) == is_compiled(), start


def test_a_page_whose_text_takes_a_tree_keeps_what_was_scanned() -> None:
    body = page(PARTS["formatting that does not nest"] + "<a href=/x>y</a>")
    found = scanned(body)
    assert (found is not None) == is_compiled()
    whole = read_html(body, content_type=UTF_8, agent_token=AGENT, with_text=True)
    assert read_html(body, content_type=UTF_8, agent_token=AGENT, with_text=True, scanned=found) == whole


def test_everything_else_is_read_as_without_text() -> None:
    body = page(PARTS["an article"] + "<a rel=next href=/2>2</a>")
    whole = read_html(body, content_type=UTF_8, agent_token=AGENT, with_text=True)
    found = scanned(body)
    assert found == whole if is_compiled() else found is None


PIECES = sorted(
    {
        piece
        for part in PARTS.values()
        for piece in part.encode("utf-8", "replace").decode().replace("<", "\n<").replace(">", ">\n").split("\n")
    }
    | set("<>=/'\"& \r\t!-?;")
    | {"<!--", "-->", "</main>", "</p>", "</div>", "</table>", "</ul>", "</a>", "</b>", LONG, "one two, three "}
)


@given(st.lists(st.sampled_from(PIECES), max_size=40))
def test_whatever_is_put_together_has_the_text_of_its_tree(pieces: list[str]) -> None:
    assert agrees(page("".join(pieces)))


@given(st.binary(max_size=200))
def test_any_bytes_have_the_text_of_their_tree(body: bytes) -> None:
    assert agrees(b"<main><p>" + LONG.encode() + body)


def test_a_page_may_end_anywhere() -> None:
    """Every beginning of a page with everything in it; that nothing beyond the end is read shows in the result."""
    whole = page("".join(part for name, part in PARTS.items() if name not in LEFT_TO_THE_PARSER))
    random = Random(7)
    for _turn in range(sized(200, 5000)):
        assert agrees(whole[: random.randrange(len(whole))])


def filled(start: bytes, piece: bytes) -> bytes:
    """The largest body that is read here, made of one piece."""
    return start + piece * ((MOST_BYTES - len(start)) // len(piece))


NUMBERED = [b"%03d" % n for n in range(1000)]
SLOW = {name: body[:MOST_BYTES] for name, body in HOSTILE.items()} | {
    "paragraphs": filled(b"<main>", b"<p>a b</p>"),
    "text": filled(b"<main>", b"a  b\n"),
    "references": filled(b"<main>", b"&notit;"),
    "unknown references": filled(b"<main>", b"&zzzzzzzz;"),
    "ends of cells below many elements": filled(b"<main>" + b"<div>" * 120, b"</td>"),
    "blocks below a paragraph": filled(b"<main><p><button>" + b"<div>" * 110, b"<div></div>"),
    "items below many elements": filled(b"<main>" + b"<span>" * 120, b"<li></li>"),
    "ids": filled(b"<main>", b"".join(b"<i id=%s></i>" % each for each in NUMBERED)),
    "classes": filled(b"<main>", b"".join(b"<i class=%s></i>" % each for each in NUMBERED)),
    "asides": filled(b"<main>", b"<aside class=x></aside>"),
    "hidden elements below many others": filled(b"<main>" + b"<div>" * 120, b"<i hidden>a</i>"),
    "headings in headings": filled(b"<main>", b"<h1><a href=x>#</a></h1>"),
    "tables in tables": filled(b"<main>" + b"<table><tr><td>" * 30, b"<table><tr><td>a</table>"),
    "rows": filled(b"<main><table>", b"<tr><td>a<td>b"),
    "links below many elements": filled(b"<main>" + b"<span>" * 120, b"<a href=x>a</a>"),
    "articles": filled(b"<main>", b"<article>a</article>"),
    "lists": filled(b"<main>", b"<ul><li>a<ul><li>b</ul></ul>"),
    "lines": filled(b"<main><blockquote><blockquote><blockquote><pre>", b"\n"),
    "attributes": filled(b"<main><p", b" a=b"),
    "styles": filled(b"<main>", b"<p style='display display display'>"),
    "open drawings": filled(b"<main>", b"<svg>"),
    "open templates": filled(b"<main>", b"<template>"),
    "comments": filled(b"<main>", b"<!---->"),
    "brackets": filled(b"<main>", b"<"),
}


@pytest.mark.parametrize("name", SLOW)
def test_a_hostile_page_does_not_hold_the_event_loop(name: str) -> None:
    """A tenth of a second is allowed for any page; the largest body takes less than half of that."""
    taken = []
    for _turn in range(3):
        began = time.process_time()
        scanned(SLOW[name])
        taken.append(time.process_time() - began)
    assert min(taken) < 0.1


@pytest.mark.parametrize("name", ["paragraphs", "text", "rows", "lines", "comments"])
def test_memory_is_bounded(name: str) -> None:
    tracemalloc.start()
    try:
        scanned(SLOW[name])
        _now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 32 * MOST_BYTES
