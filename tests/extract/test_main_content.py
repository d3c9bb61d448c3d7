"""The main content of pages: shapes of sites in a table, rendering, and pages made to cost much."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from comity.extract.content_rendering import MAX_CHARACTERS
from comity.extract.decode import parse_html
from comity.extract.fetched_page import PageContent
from comity.extract.html import read_html
from comity.extract.main_content import read_main_content

LONG = "The council voted on Tuesday to keep the old bridge open for another year, after weeks of argument. "
BODY = f"<p>{LONG}</p><p>{LONG * 2}</p><p>Residents had asked for a decision before winter, and they have one now.</p>"
NAV = "<nav><ul><li><a href=/>Home</a><li><a href=/news>All news</a><li><a href=/about>About us</a></ul></nav>"
FOOTER = "<footer>© 2026 The Courier <a href=/imprint>Imprint</a> <a href=/privacy>Privacy</a></footer>"
COOKIES = (
    "<div id=cookie-consent><p>We use cookies to improve your visit. Accept all of them?</p><button>Yes</button></div>"
)
SHARE = "<div class=share-bar><a href=/f>Share on one</a><a href=/t>Share on two</a></div>"
RELATED = "<div class='related-articles'><h3>Read this too</h3><ul><li><a href=/1>A new tram</a></ul></div>"
COMMENTS = "<section id=comments><h3>2 comments</h3><p>First! What a bridge.</p><p>I never liked it much.</p></section>"
THREAD = "".join(
    f"<div class=post><div class=author>user{n}</div><div class=message>{text}</div></div>"
    for n, text in enumerate(
        (
            "My printer stops after every page since the last update, and nothing in the log explains it.",
            "Did you try an older driver? Mine had the same fault until I went back to version four.",
            "That was it. Version four prints as before, thank you for the quick help with this.",
        )
    )
)
ITEMS = "".join(
    f"<li class=item><h3><a href=/p/{n}>Kettle model {n}</a></h3><p>Holds {n} litres, boils in {n} minutes.</p>"
    for n in range(1, 9)
)

# A page, what its text must have, and what it must not.
SHAPES = {
    "an article in a main element": (
        f"{COOKIES}<header>The Courier {NAV}</header><main><article><h1>Bridge stays</h1>{BODY}{SHARE}</article>"
        f"{RELATED}{COMMENTS}</main>{FOOTER}",
        ["Bridge stays", "voted on Tuesday", "before winter"],
        ["cookies", "All news", "Share on", "Read this too", "new tram", "Imprint", "never liked"],
    ),
    "divs with classes alone": (
        f"<div class=site-header>The Courier {NAV}</div><div class=wrap><div class=post-content>{BODY}</div>"
        f"<div class=sidebar><p>Subscribe to our letter, it comes every Friday to your door.</p></div></div>{FOOTER}",
        ["voted on Tuesday", "before winter"],
        ["All news", "every Friday", "Imprint"],
    ),
    "divs without any class": (
        f"<div><a href=/>Home</a> <a href=/n>All news</a> <a href=/s>Sport</a></div><div><div>{BODY}</div></div>"
        "<div><a href=/imprint>Imprint</a> <a href=/x>Contact</a></div>",
        ["voted on Tuesday", "before winter"],
        ["All news", "Imprint"],
    ),
    "a table as layout": (
        f"<table width=100%><tr><td colspan=2><a href=/>Home</a> <a href=/n>All news</a></td></tr><tr><td width=120>"
        f"<a href=/a>Archive</a><br><a href=/b>Guest book</a></td><td>{BODY}</td></tr></table>",
        ["voted on Tuesday", "before winter"],
        ["All news", "Guest book"],
    ),
    "microdata": (
        f"<div><div itemprop=articleBody>{BODY}</div><div>Weather: sun, later rain.</div></div>",
        ["voted on Tuesday"],
        ["Weather"],
    ),
    "a role instead of an element": (
        f"<div role=banner>The Courier</div><div role=main>{BODY}</div><div role=contentinfo>Imprint and more</div>",
        ["before winter"],
        ["Imprint", "The Courier"],
    ),
    "a forum thread": (
        f"{NAV}<div class=comments>{THREAD}</div>{FOOTER}",
        ["printer stops", "older driver", "Version four prints"],
        ["All news", "Imprint"],
    ),
    "a list of products": (
        f"{NAV}<main><h1>Kettles</h1><ul>{ITEMS}</ul></main>{FOOTER}",
        ["Kettles", "Kettle model 3", "Holds 8 litres"],
        ["All news", "Imprint"],
    ),
    "a product": (
        f"{NAV}<main><h1>Kettle model 3</h1><p class=price>EUR 49.90</p><div class=description><p>{LONG}</p></div>"
        f"<table><tr><th>Volume<td>1.7 l<tr><th>Power<td>2,200 W</table>{SHARE}</main>{FOOTER}",
        ["Kettle model 3", "EUR 49.90", "2,200 W"],
        ["Share on", "Imprint"],
    ),
    "a documentation page": (
        f"<nav class=toc><a href=#a>Install</a><a href=#b>Use</a></nav><main><h1>Install</h1><p>{LONG}</p>"
        "<pre><code>pip install kettle\n  --quiet</code></pre><aside class='admonition note'>Needs Python 3.</aside>",
        ["pip install kettle\n  --quiet", "Needs Python 3."],
        ["Use"],
    ),
    "Hebrew": (
        f"<body dir=rtl>{NAV}<main><p>המועצה הצביעה ביום שלישי להשאיר את הגשר הישן פתוח לשנה נוספת, לאחר ויכוח ארוך.",
        ["להשאיר את הגשר הישן פתוח"],
        ["All news"],
    ),
    "Japanese": (
        f"{NAV}<article><p>市議会は火曜日、長い議論の末に、古い橋をもう一年使い続けることを決めた。住民は冬の前の決定を求めていた。</p>"
        "<p>橋は<ruby>百年<rt>ひゃくねん</rt></ruby>前に造られた。</p></article>",
        ["古い橋をもう一年使い続けることを決めた", "橋は百年前に造られた"],
        ["All news", "ひゃく"],
    ),
    "hidden parts": (
        f"<main>{BODY}<div hidden>Secret one</div><div aria-hidden=true>Secret two</div><div style='display:none'>"
        "Secret three</div><template><p>Secret four</p></template><noscript>Secret five</noscript></main>",
        ["before winter"],
        ["Secret"],
    ),
    "a page that hides itself until a script runs": (
        f"<body style='display:none'><div style='display: none'>{BODY}</div>",
        ["voted on Tuesday", "before winter"],
        [],
    ),
    "everything in noscript": (f"<div id=app></div><noscript>{BODY}</noscript>", ["voted on Tuesday"], []),
    "a container that is called by a sidebar it has": (
        f"<div class='layout has-sidebar with-comments'><div class=x>{BODY}</div></div>",
        ["voted on Tuesday"],
        [],
    ),
    "entities": (
        f"<main><p>Fish &amp; chips &lt;b&gt; caf&eacute; 5&nbsp;&euro;</p>{BODY}</main>",
        ["Fish & chips <b> café 5\u00a0€"],
        [],
    ),
    "short": ("<p>Moved to the harbour.</p>", ["Moved to the harbour."], []),
    "only links": ("<ul><li><a href=/a>One</a><li><a href=/b>Two</a></ul>", ["One", "Two"], []),
    "nothing": ("", [], []),
}


def content(markup: str | bytes, **options: object) -> tuple[str, str]:
    body = markup.encode() if isinstance(markup, str) else markup
    document = parse_html(body, "text/html; charset=utf-8")
    read = read_main_content(document, text=True, markdown=True, **options)  # type: ignore[arg-type]
    assert read.text is not None
    assert read.markdown is not None
    return read.text, read.markdown


@pytest.mark.parametrize("name", SHAPES)
def test_the_text_has_the_content_and_nothing_around_it(name: str) -> None:
    markup, wanted, unwanted = SHAPES[name]
    text, _markdown = content(markup)
    assert [each for each in wanted if each not in text] == []
    assert [each for each in unwanted if each in text] == []


@pytest.mark.parametrize("name", SHAPES)
def test_markdown_has_the_same_content(name: str) -> None:
    _markup, _wanted, unwanted = SHAPES[name]
    text, markdown = content(SHAPES[name][0])
    assert [each for each in unwanted if each in markdown] == []
    plain = re.sub(r"\W+", "", re.sub(r"\]\([^)]*\)", "]", markdown))
    assert [word for word in re.findall(r"[^\W_]{4,}", text) if word not in plain] == []


def test_blocks_of_text_are_on_lines_of_their_own() -> None:
    text, _ = content("<main><h1>Title</h1><p>One\n two</p><p>three<br>four</p><ul><li>five<li>six</ul></main>")
    assert text.splitlines() == ["Title", "", "One two", "", "three", "four", "", "* five", "* six"]


def test_markdown_has_headings_lists_links_emphasis_code_tables_quotes_and_images() -> None:
    _, markdown = content(
        "<base href=/docs/><main><h2>Title</h2><p>A <b>bold</b> and <i>soft</i> <a href='a b'>link</a>, "
        "<code>x*y</code><img src=i.png alt='a picture'>.</p><ol><li>one<li>two</ol>"
        "<blockquote><p>said</p></blockquote>"
        "<pre><code class=language-python>def f():\n    return 1\n</code></pre>"
        "<table><tr><th>A<th>B<tr><td>1<td>2</table></main>",
        base_url="https://example.com/docs/x",
    )
    assert markdown.splitlines() == [
        "## Title",
        "",
        "A **bold** and *soft* [link](<https://example.com/docs/a b>), `x*y`a picture.",
        "",
        "1. one",
        "2. two",
        "",
        "> said",
        "",
        "```python",
        "def f():",
        "    return 1",
        "```",
        "",
        "| A | B |",
        "| --- | --- |",
        "| 1 | 2 |",
    ]


def test_a_table_that_only_places_things_is_no_table_in_markdown() -> None:
    markup = (
        f"<table><tr><td>{BODY}</td></tr><tr><td><table><tr><td>{LONG * 2} inner</td></tr></table></td></tr></table>"
    )
    text, markdown = content(markup)
    for rendered in (text, markdown):
        assert "|" not in rendered
        assert "inner" in rendered


def test_rows_of_a_table_are_lines_of_text() -> None:
    text, markdown = content(f"<main>{BODY}<table><tr><th>Volume<td>1.7 l<tr><th>Power<td>2 kW</table></main>")
    assert text.endswith("\nVolume | 1.7 l\nPower | 2 kW")
    assert markdown.endswith("| Volume | 1.7 l |\n| --- | --- |\n| Power | 2 kW |")


def test_the_caption_of_a_table_is_a_line_of_its_own() -> None:
    table = "<table><caption>Kettle</caption><tr><th>Volume<td>1.7 l<td><tr><th>Power<td>2<br>kW</table>"
    text, _ = content(f"<main>{BODY}{table}<p>After it.</p></main>")
    assert text.endswith("\n\nKettle\n\nVolume | 1.7 l |\nPower | 2\nkW\n\nAfter it.")


def test_a_cell_of_a_data_table_is_kept_though_it_is_a_link() -> None:
    rows = "".join(f"<tr><td><a href=/{n}>Kettle number {n}</a><td>{n} l<td>in stock" for n in range(1, 4))
    text, markdown = content(f"<main>{BODY}<table><tr><th>Kettle<th>Volume<th>Stock{rows}</table></main>")
    assert "Kettle number 1 | 1 l | in stock\nKettle number 2 | 2 l | in stock" in text
    assert "| [Kettle number 3](/3) | 3 l | in stock |" in markdown


def test_a_table_with_spans_is_a_table_in_markdown_with_a_cell_in_every_column() -> None:
    table = (
        "<table><tr><th>Day<th colspan=2>Hours<tr><td rowspan=2>Monday<td>9<td>12<tr><td>14<td>18"
        "<tr><td colspan=x>Sunday<td rowspan=9999999>closed<tr><td>Holiday</table>"
    )
    text, markdown = content(f"<main>{BODY}{table}</main>")
    lines = [
        "| Day | Hours | |",
        "| --- | --- | --- |",
        "| Monday | 9 | 12 |",
        "| | 14 | 18 |",
        "| Sunday | closed | |",
    ]
    assert [re.sub(" +", " ", line) for line in markdown.split("\n")[-6:]] == [*lines, "| Holiday | | |"]
    assert text.endswith("\nDay | Hours\nMonday | 9 | 12\n14 | 18\nSunday | closed\nHoliday")


def test_a_table_of_spans_does_not_grow_without_limit() -> None:
    rows = "<tr><td colspan=1000 rowspan=1000>Kettle<td>Tea" * 300
    _, markdown = content(f"<main>{BODY}<table><tr><th>Kettle<th>Tea{rows}</table></main>")
    assert markdown.count("Kettle") == 301
    assert len(markdown) < 200_000


@pytest.mark.parametrize(
    "href",
    ["javascript:alert(1)", " JavaScript:alert(1)", "data:text/html,x", "vbscript:x", "#top", "http://[", "//[x"],
)
def test_a_link_that_leads_nowhere_is_only_its_text(href: str) -> None:
    _, markdown = content(f'<main>{BODY}<p>See <a href="{href}">this</a>.</p></main>', base_url="https://example.com/")
    assert "See this." in markdown


@pytest.mark.parametrize("mark", "¶#§🔗")
def test_a_heading_has_no_link_to_itself(mark: str) -> None:
    text, markdown = content(f'<main><h2 id=u>In use<a class=headerlink href="#u">{mark}</a></h2>{BODY}</main>')
    assert text.startswith("In use\n")
    assert markdown.startswith("## In use\n")


@pytest.mark.parametrize("mark", "¶#§🔗")
def test_a_mark_outside_a_heading_stays(mark: str) -> None:
    """In a cell or in a legal text it is what the page says."""
    link = f'<a href="/law">{mark}</a>'
    table = f"<table><tr><th>Sign<th>Name<tr><td>{link}<td>Section</table>"
    text, _ = content(f"<main>{BODY}<p>As {link} 12 of the act says, tea is served hot.</p>{table}</main>")
    assert f"As {mark} 12 of the act" in text
    assert f"{mark} | Section" in text


def test_a_heading_loses_a_mark_however_deep_it_is() -> None:
    nested = "<h2>In use <span><h3>Daily<a href=#u>#</a></h3><a href=#v>¶</a></span></h2>"
    text, _ = content(f"<main>{nested}{BODY}</main>")
    assert "#" not in text
    assert "¶" not in text


def test_written_markup_stays_text() -> None:
    _, markdown = content(f"<main>{BODY}<p>&lt;script&gt;alert(1)&lt;/script&gt;</p><p># no heading</p></main>")
    assert "\\<script>" in markdown
    assert "\\# no heading" in markdown


def test_a_base_element_counts_for_links() -> None:
    markup = f"<base href=https://other.example/a/><main>{BODY}<p><a href=b>next</a> and more words here</p></main>"
    page = read_html(
        markup.encode(), content_type="text/html", agent_token="x", with_markdown=True, url="https://example.com/"
    )
    assert page.markdown is not None
    assert "[next](https://other.example/a/b)" in page.markdown
    assert page.text is None
    later = PageContent(markup.encode(), "text/html", "https://example.com/")
    assert later.markdown == page.markdown


def test_links_are_read_before_the_document_is_changed() -> None:
    body = f"{NAV}<main>{BODY}</main>{FOOTER}".encode()
    plain = read_html(body, content_type="text/html", agent_token="x")
    page = read_html(body, content_type="text/html", agent_token="x", with_text=True, with_markdown=True)
    assert page._replace(text=None, markdown=None) == plain


@pytest.mark.parametrize(
    ("body", "content_type", "text"),
    [
        (b"just\n  text\n", "text/plain", "just\n  text\n"),
        (b"\x89PNG", "image/png", ""),
        (b"{}", "application/json", ""),
        ("Straße".encode("latin-1"), "text/plain; charset=iso-8859-1", "Straße"),
        (b"<p>A page without a type, and a sentence in it.", None, "A page without a type, and a sentence in it."),
        (b"", "text/html", ""),
    ],
)
def test_other_types_than_html(body: bytes, content_type: str | None, text: str) -> None:
    page = PageContent(body, content_type, "https://example.com/")
    assert (page.text, page.markdown) == (text, text)


def test_what_was_read_before_is_not_read_again() -> None:
    page = PageContent(b"<p>other", "text/html", "https://example.com/", "kept text", "kept markdown")
    assert (page.text, page.markdown) == ("kept text", "kept markdown")


TAGS = "p div span a ul li table tr td th pre code blockquote h1 nav footer aside main article header section form b i"
PIECES = [
    *(f"<{tag}>" for tag in TAGS.split()),
    *(f"</{tag}>" for tag in TAGS.split()),
    "<script>EVIL()</script>",
    "<style>EVIL{}</style>",
    "<template><script>EVIL</script></template>",
    "<noscript><style>EVIL</style></noscript>",
    "<svg><style>EVIL</style><script>EVIL</script></svg>",
    "<math><style>EVIL</style></math>",
    "<iframe srcdoc='<script>EVIL</script>'></iframe>",
    "<div class='related share comments post-content'>",
    "<div id=content hidden>",
    "<a href='javascript:EVIL'>",
    "<a href=/x>",
    "<img alt=x src=y>",
    "words and more words",
    "日本語",
    "\0",
    "&lt;",
    "|",
    "`",
    "<br>",
    "<select><option>",
    "<frameset>",
    "<plaintext>",
]


@given(st.lists(st.sampled_from(PIECES), max_size=60).map("".join))
@example("<table><tr><td><script>EVIL()</script><ul><li><style>EVIL</style>")
@example("<noscript><p>" + "words " * 50 + "<style>EVIL</style></noscript>")
@example("<svg><p>words</p><style>EVIL</style>")
def test_no_script_or_style_is_in_the_content(markup: str) -> None:
    text, markdown = content(markup.replace("<plaintext>", ""), base_url="https://example.com/")
    assert "EVIL" not in text
    assert "EVIL" not in markdown
    assert len(text) <= 2 * len(markup) + 10 * markup.count("<") + 10


@given(st.one_of(st.binary(max_size=400), st.text(max_size=400).map(lambda text: text.encode("utf-8", "replace"))))
@example(b"<frameset><frame src=x></frameset>")
@example(b"<html><body><base href='http://[bad'><a href='http://[::'>x</a>")
@example(b"<a href='http://a b:99999/%zz'>x")
def test_any_bytes_have_some_content(body: bytes) -> None:
    page = PageContent(body, "text/html", "https://example.com/")
    assert isinstance(page.text, str)
    assert isinstance(page.markdown, str)


HOSTILE = {
    "deep": "<div class=sidebar>" * 60_000 + "x",
    "deep with text": "<div class=comment>word " * 8_000,
    "nested articles": "<article>word " * 8_000,
    "nested marked content": "<div class=post-content>word " * 8_000,
    "nested lists": "<ul><li>word " * 8_000,
    "nested quotes": "<blockquote>word " * 8_000,
    "nested tables": "<table><tr><td>word " * 3_000,
    "many links": "<p><a href=/x>word</a> " * 30_000,
    "links in links' blocks": "<div><a href=/x>word</a>" * 8_000,
    "many noise elements": "<div class=share>word</div>" * 30_000,
    "noise within noise": "<div class=share>word " * 30_000,
    "noise deep within": "<div>" * 10_000 + "<div class=share>word</div>" * 10_000,
    "one main among many blocks": "<p>word</p>" * 50_000 + "<main><article>some words" + "<p>of text</p>" * 20_000,
    "many mains": "<main>some words of text</main>" * 20_000,
    "one long word": "<main><p>" + "x" * 3_000_000,
    "one long class": f"<div class='{'nav ' * 200_000}'><p>word",
    "long classes": "".join(f"<div class='{'a-' * 300}{n}'>word</div>" for n in range(2_000)),
    "blank lines": "<main>" + "<p> <br>\n" * 60_000 + "<p>word",
    "one wide table": "<table><tr>" + "<td>word" * 20_000 + ("<tr><td>x" * 2_000),
    "one long cell": "<table><tr><td>" + "x" * 100_000 + "<td>y" + "<tr><td>x<td>y" * 5_000,
    "cells over many columns": "<table>" + "<tr><td colspan=1000 rowspan=60000>word" * 5_000,
    "reopened formatting": "<p>" + "".join(f"<b a{n}>" for n in range(500)) + "<p>x" * 990,
    "unclosed formatting": "<b><i><a href=/x>" * 400 + "<p>word" * 400,
}


@pytest.mark.roomy
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_page_costs_little_more_than_its_parsing(name: str) -> None:
    body = HOSTILE[name].encode()
    began = time.thread_time()
    document = parse_html(body, "text/html; charset=utf-8")
    parsed = time.thread_time() - began
    read = read_main_content(document, text=True, markdown=True, base_url="https://example.com/")
    spent = time.thread_time() - began - parsed
    assert spent < 1.5 + 10 * parsed
    for rendered in (read.text, read.markdown):
        assert rendered is not None
        assert len(rendered) <= MAX_CHARACTERS


def test_a_page_that_the_parser_inflates_has_no_content() -> None:
    assert content(HOSTILE["reopened formatting"]) == ("", "")
    links = "<p><a href=/x>word</a> and a sentence about it.</p>" * 20_000
    assert content(links)[0].count("and a sentence about it.") == 20_000


def test_lines_have_no_blanks_at_their_ends_and_no_more_than_one_between_them() -> None:
    text, markdown = content("<main><pre>a  \n\n\n\nb\t\nc</pre><p>d<br> <br><br><br>e</main>")
    for rendered in (text, markdown):
        assert not re.search(r"[ \t]\n|\n{3}", rendered)


def test_blanks_of_other_kinds_at_line_ends_go_too_and_one_empty_line_stays() -> None:
    text, _ = content("<main><p>one&nbsp;</p><p>two&#x2003;<br>three</p><p></p><figure></figure><p></p><p>four</main>")
    assert text == "one\n\ntwo\nthree\n\nfour"
    text, _ = content("<main><p>one<figure><img src=x></figure></p><p></p><p>two<br><br><br><br>three</main>")
    assert re.fullmatch(r"one\n\ntwo\n\nthree", text)


def test_a_small_main_element_is_not_credited_with_the_noise_that_was_around_it() -> None:
    menu = f"<header class=menu><nav class=menu>{'menu entry ' * 550}</nav></header>"
    prose = (
        "<div><p>" + "</p><p>".join(["A sentence about the harbour, its boats, and its weather."] * 350) + "</p></div>"
    )
    for around in (f"{menu * 3}<main>Short.</main>{prose}", f"<a>{menu * 3}</a>{prose}<div><main>Short.</main></div>"):
        text, _ = content(f"<body>{around}")
        assert text.count("its boats") == 350
        assert "menu entry" not in text


def test_an_id_counts_among_elements_that_have_only_a_class() -> None:
    plain = "<p class=lead>A sentence about the harbour, its boats, and its weather.</p>" * 5
    notice, kept = "<div id=cookie-notice class=box>We use cookies.</div>", "<div id=x>Kept.</div>"
    markup = f"<div class=page>{plain}{notice}{plain}{kept}</div>"
    text, _ = content(f"{markup}<div class=share>Share this.</div><div id=newsletter>Subscribe.</div>")
    assert text.count("its boats") == 10
    assert "Kept." in text
    assert not re.search("cookies|Share|Subscribe", text)


@pytest.mark.parametrize("more", ["", '"', "\\", "\n\t", "\x0c", "é ]", "--wide"], ids=ascii)
def test_a_class_counts_however_it_is_written(more: str) -> None:
    classes = f"sidebar {more}".replace('"', "&quot;")
    text, _ = content(f'<main>{BODY}<div class="{classes}"><p>Buy three kettles now.</p></div></main>')
    assert "before winter" in text
    assert "kettles" not in text


def test_many_classes_that_suggest_something_all_count() -> None:
    around = "".join(f"<div class='sidebar s{n}'><p>Buy {n} kettles now.</p></div>" for n in range(40))
    text, _ = content(f"<main>{BODY}{around}</main>")
    assert "before winter" in text
    assert "kettles" not in text


def test_many_short_articles_in_a_main_element_are_no_reason_to_choose_one() -> None:
    cards = "".join(f"<article><h3>Card {n}</h3><p>Number {n} has a few words.</p></article>" for n in range(30))
    text, _ = content(f"<main><h1>All cards</h1><p>{LONG * 8}</p>{cards}</main>")
    for part in ("All cards", "old bridge", "Card 0", "Number 29"):
        assert part in text
