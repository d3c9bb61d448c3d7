"""What audits read from pages, good and broken."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from comity.extract.decode import parse_html
from comity.extract.html import read_html
from comity.extract.html_pool import HtmlPool
from comity.extract.page_facts import (
    MAX_ANCHOR_CHARACTERS,
    MAX_LINKS,
    RawLink,
    ReadFacts,
    SaidByServer,
    facts_to_json,
    read_facts,
)
from comity.model.audit import Alternate, Directive, Heading, PageFacts, Resource, StructuredItem
from comity.reports.audit.stored_audits import facts_of
from comity.rules.audit.similarity import NEAR_BITS, distance

URL = "https://e.example/folder/page"


def read(markup: str, url: str = URL, base: str | None = None, **said: tuple[str, ...]) -> ReadFacts:
    document = parse_html(markup.encode(), "text/html; charset=utf-8")
    return read_facts(document, url=url, base=base or url, said=SaidByServer(**said))


def facts(markup: str, **more: tuple[str, ...]) -> PageFacts:
    found = read(markup, **more).facts
    assert found is not None
    return found


def links(markup: str) -> list[RawLink]:
    return read(markup).links


def facts_from_json(text: str) -> PageFacts:
    return facts_of(json.loads(text))


def ld(text: str) -> str:
    return f'<script type="application/ld+json">{text}</script>'


def test_an_empty_page_has_no_facts() -> None:
    assert facts("") == PageFacts()


def test_facts_become_json_and_come_back() -> None:
    found = facts(
        "<html lang=de><title>A</title><link rel=canonical href=/c><link rel=alternate hreflang=en href=/en>"
        "<meta name=robots content=noindex><h1>B</h1><img src=i.png><img src=http://u.example/j.png alt=''>"
        + ld('{"@type": "Product"}')
    )
    assert facts_from_json(facts_to_json(found)) == found
    assert facts_from_json(facts_to_json(PageFacts())) == PageFacts()


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<title>One</title>", ("One",)),
        ("<p>no head at all<title> Late  title </title>", ("Late title",)),
        ("<title>One</title><title>Two</title>", ("One", "Two")),
        ("<title></title><title>  </title>", ()),
        ("<body><svg><title>of a drawing</title></svg>", ()),
        ("<title>a &amp; b &lt;i&gt;</title>", ("a & b <i>",)),
        ("<template><title>in a template</title></template>", ()),
    ],
)
def test_titles(markup: str, expected: tuple[str, ...]) -> None:
    assert facts(markup).titles == expected


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<meta name=description content=' a  b '>", ("a b",)),
        ("<meta name=Description content=a><meta name=description content=b>", ("a", "b")),
        ("<meta name=description content=''>", ()),
        ("<meta property=og:description content=a>", ()),
    ],
)
def test_descriptions(markup: str, expected: tuple[str, ...]) -> None:
    assert facts(markup).descriptions == expected


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<html lang=de-AT>", "de-AT"),
        ("<html lang='  '>", None),
        ("<html xml:lang=fr>", "fr"),
        ("<html><body lang=en>", None),
    ],
)
def test_language(markup: str, expected: str | None) -> None:
    assert facts(markup).language == expected


def test_headings_in_their_order_with_the_text_within() -> None:
    found = facts("<h2>Two</h2><h1>A <b>bo</b>ld\none<br>x</h1><h3></h3><h1 hidden>gone</h1><h6>six</h6>")
    assert found.headings == (Heading(2, "Two"), Heading(1, "A bold one x"), Heading(6, "six"))


@pytest.mark.parametrize(
    ("markup", "words"),
    [
        ("one two", 2),
        ("<p>one</p><p>two</p>", 2),
        ("o<b>n</b>e t<i>w</i>o", 2),
        ("one<br>two<script>var three</script><style>four{}</style>", 2),
        ("one<noscript>two</noscript><template>three</template>", 1),
        ("one<p hidden>two<p style='display : none'>three</p><div style=visibility:hidden>four</div>", 1),
        ("<nav>one two</nav><main>three</main><footer>four</footer>", 1),
        ("<div role=navigation>one two</div><p>three", 1),
        ("<nav>only one</nav>", 2),
        ("<dialog>closed</dialog><dialog open>one</dialog>", 1),
        ("<details><summary>one</summary>two</details>", 2),
        ("日本語の文章です", 5),
    ],
)
def test_words_of_the_visible_text(markup: str, words: int) -> None:
    assert facts(markup).word_count == words


def test_equal_texts_have_equal_hashes_whatever_the_markup() -> None:
    one, other = facts("<p>one  two</p><p>three"), facts("<div>one two<br>three<script>x</script></div>")
    assert one.text_hash == other.text_hash is not None
    assert one.similarity == other.similarity is not None
    assert facts("<p>one two four").text_hash != one.text_hash
    assert facts("<p>  ").text_hash is None


@pytest.mark.parametrize(
    ("markup", "said", "expected"),
    [
        ("<link rel=canonical href=/c>", (), ("https://e.example/c",)),
        ("<link rel='x CANONICAL' href=c#part>", (), ("https://e.example/folder/c",)),
        ("<link rel=canonical href=/c><link rel=canonical href=/c>", (), ("https://e.example/c",)),
        (
            "<link rel=canonical href=/a><link rel=canonical href=/b>",
            (),
            ("https://e.example/a", "https://e.example/b"),
        ),
        ("<link rel=canonical><link rel=canonical href=''>", (), ()),
        ("<link rel=canonical href=javascript:void(0)>", (), ("javascript:void(0)",)),
        ("", ('<https://e.example/h>; rel="canonical"',), ("https://e.example/h",)),
        ("", ('</a>; rel=prev, </h>; title="x, y; z"; rel="canonical"',), ("https://e.example/h",)),
    ],
)
def test_canonical_addresses_of_elements_and_headers(
    markup: str, said: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    assert facts(markup, links=said).canonicals == expected


def test_translations_of_elements_and_headers() -> None:
    found = facts(
        "<link rel=alternate hreflang=de href=/de><link rel=alternate hreflang=x-default href=/>"
        "<link rel=alternate type=application/rss+xml href=/feed>",
        links=('</fr>; rel="alternate"; hreflang="fr", <https://other.example/>; rel=alternate; hreflang=en-GB',),
    )
    assert set(found.alternates) == {
        Alternate("de", "https://e.example/de", "link"),
        Alternate("x-default", "https://e.example/", "link"),
        Alternate("fr", "https://e.example/fr", "header"),
        Alternate("en-GB", "https://other.example/", "header"),
    }


def test_directives_and_where_they_stand() -> None:
    found = facts(
        "<meta name=ROBOTS content='noindex, follow'><meta name=googlebot content=noarchive><meta name=robots>",
        robots=("noindex", "otherbot: nofollow"),
    )
    assert found.directives == (
        Directive("noindex, follow", "meta robots"),
        Directive("noarchive", "meta googlebot"),
        Directive("noindex", "header"),
        Directive("otherbot: nofollow", "header"),
    )


def test_viewport() -> None:
    assert facts("<meta name=viewport content=width=device-width>").has_viewport
    assert not facts("<meta name=other content=x>").has_viewport


def test_a_button_that_is_a_picture_needs_a_name() -> None:
    found = facts("<input type=image src=a.png><input type=IMAGE src=b.png alt=Search><input type=text name=q>")
    assert found.images_without_alt == ("https://e.example/folder/a.png",)
    assert found.images == 2


def test_an_image_without_alt_is_no_image_with_an_empty_one() -> None:
    found = facts(
        "<img src=a.png><img src=b.png alt><img src=c.png alt=''><img src=d.png alt=d><img data-src=e.png>"
        "<img srcset='f.png 1x, g.png 2x'><img src='data:image/png;base64,AAAA'><img role=presentation src=h.png>"
        "<noscript><img src=i.png></noscript><template><img src=j.png></template><img aria-hidden=true src=k.png>"
    )
    assert found.images == 9
    assert found.images_without_alt == (
        "https://e.example/folder/a.png",
        "https://e.example/folder/e.png",
        "https://e.example/folder/f.png",
        "data:image/png;base64,AAAA",
    )


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<img src=http://u.example/a.png alt=''>", [("img", "http://u.example/a.png")]),
        ("<script src=HTTP://u.example/a.js></script>", [("script", "http://u.example/a.js")]),
        ("<link rel=stylesheet href=http://u.example/a.css>", [("link", "http://u.example/a.css")]),
        ("<link rel=canonical href=http://e.example/>", []),
        ("<iframe src=http://u.example/></iframe>", [("iframe", "http://u.example/")]),
        ("<img srcset='http://u.example/1 1x, https://u.example/2 2x' alt=''>", [("img", "http://u.example/1")]),
        ("<video poster=http://u.example/p></video>", [("video", "http://u.example/p")]),
        ("<a href=http://u.example/>x</a><img src=//u.example/a.png alt=''>", []),
    ],
)
def test_what_is_loaded_without_tls(markup: str, expected: list[tuple[str, str]]) -> None:
    assert facts(markup).insecure_resources == tuple(Resource(*each) for each in expected)


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        (ld('{"@type": "Person", "name": "x"}'), ["Person"]),
        (ld('[{"@type": "A1"}, {"@type": ["B", "C"]}]'), ["A1", "B", "C"]),
        (ld('{"@context": "https://schema.org", "@graph": [{"@type": "A1"}, {"@type": "B"}]}'), ["A1", "B"]),
        (ld('{"@type": "https://schema.org/A1", "part": {"@type": "Inner"}}'), ["A1"]),
        (ld('{"name": "no type"}'), []),
        (ld("42"), []),
        ("<div itemscope itemtype=https://schema.org/A1><p itemprop=x itemscope itemtype=B></div>", ["A1"]),
        ("<div vocab=https://schema.org/ typeof=A1><p property=name>x</div>", ["A1"]),
    ],
)
def test_structured_data_by_type(markup: str, expected: list[str]) -> None:
    found = facts(markup).structured
    assert [item.type for item in found] == expected
    assert all(item.problem is None for item in found)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{broken", "the JSON does not parse: "),
        ('{"@type": "A",}', "the JSON does not parse: "),
        ("", "it is empty"),
        ("[" * 100_000, "it is nested too deep"),
    ],
)
def test_structured_data_that_cannot_be_read_says_why(text: str, problem: str) -> None:
    (item,) = facts(ld(text) + "<p>x").structured
    assert (item.type, item.syntax, item.missing) == ("", "json-ld", ())
    assert item.problem is not None
    assert item.problem.startswith(problem)


def test_structured_data_names_what_its_type_lacks() -> None:
    (item,) = facts(ld('{"@type": "Article"}')).structured
    assert item == StructuredItem("Article", "json-ld", ("headline",))


def test_links_have_their_text_their_rel_and_their_region() -> None:
    found = links(
        "<header><a href=/h>Head</a><nav><a href=n rel='NoFollow ugc nofollow'> In  <b>na</b>v </a></nav></header>"
        "<main><section><a href=/m><img src=x alt='A picture'></a></section>"
        "<aside><a href=/as aria-label=Label></a></aside></main>"
        "<footer><map><area href=/ar alt=Area></map></footer><div role=contentinfo><a href=/r>r</a></div>"
        "<a href=/b>b</a>"
    )
    assert found == [
        RawLink("/h", "Head", (), "header"),
        RawLink("n", "In nav", ("nofollow", "ugc"), "nav"),
        RawLink("/m", "A picture", (), "main"),
        RawLink("/as", "Label", (), "aside"),
        RawLink("/ar", "Area", (), "footer"),
        RawLink("/r", "r", (), "footer"),
        RawLink("/b", "b", (), "body"),
    ]


def test_every_occurrence_of_a_link_counts_and_anchors_are_none() -> None:
    found = links(
        "<a href=/a>1</a><a href=/a>2</a><a href=#x>3</a><a>4</a><a href=''>5</a><a href=mailto:a@b.example>6</a>"
    )
    assert [(link.href, link.text) for link in found] == [("/a", "1"), ("/a", "2"), ("mailto:a@b.example", "6")]


def test_links_of_noscript_count_and_those_of_templates_do_not() -> None:
    found = links(
        "<noscript><a href=/a>1</a></noscript><template><a href=/b>2</a></template><div hidden><a href=/c>3</a>"
    )
    assert [(link.href, link.text) for link in found] == [("/a", "1"), ("/c", "3")]


def test_long_and_endless_pages_are_cut() -> None:
    found = read(f"<a href=/>{'x' * 1000}</a>" + "<a href=/y>y</a>" * (MAX_LINKS + 5))
    assert len(found.links) == MAX_LINKS
    assert found.links[0].text == "x" * MAX_ANCHOR_CHARACTERS
    many = facts("<title>t</title>" * 50 + "<h2>h</h2>" * 500 + "<img src=i>" * 500 + "<p>" * 30_000)
    assert (len(many.titles), len(many.headings)) == (20, 200)
    deep = facts("<div>" * 5_000 + "deep")
    assert deep.word_count <= 1


def test_base_href_and_the_encoding_of_the_page_count() -> None:
    body = "<base href=/b/><link rel=canonical href=c><a href='?q=é'>é</a><img src=i.png>".encode("latin-1")
    page = read_html(
        body, content_type="text/html; charset=latin-1", agent_token="x", url=URL, with_links=True, with_facts=True
    )
    assert page.facts is not None
    found = facts_from_json(page.facts)
    assert found.canonicals == ("https://e.example/b/c",)
    assert found.images_without_alt == ("https://e.example/b/i.png",)
    assert page.page_links == [("?q=%E9", "é", (), "body")]


def test_a_plain_reading_has_none_of_it() -> None:
    page = read_html(b"<a href=/>x</a>", content_type="text/html", agent_token="x", url=URL)
    assert (page.facts, page.page_links) == (None, None)
    page = read_html(b"<a href=/>x</a>", content_type="text/html", agent_token="x", url=URL, with_links=True)
    assert (page.facts, page.page_links) == (None, [("/", "x", (), "body")])


async def test_a_child_process_reads_the_same() -> None:
    body = (
        b"<html lang=en><title>T</title><nav><a href=/a rel=nofollow>A</a></nav><h1>H</h1>" + b"<p>words here</p>" * 50
    )
    said = (("</c>; rel=canonical",), ("noindex",))
    terms = {"content_type": "text/html", "agent_token": "x", "url": URL, "with_links": True, "with_facts": True}
    here = read_html(body, said=said, **terms)  # type: ignore[arg-type]
    pool = HtmlPool()
    try:
        there = await pool.read(body, said=said, **terms)  # type: ignore[arg-type]
    finally:
        await pool.close()
    assert there == here
    assert here.facts is not None
    assert replace(facts_from_json(here.facts), similarity=None, text_hash=None).canonicals == ("https://e.example/c",)


def test_a_policy_in_the_page_is_kept() -> None:
    found = facts('<meta http-equiv="Content-Security-Policy" content="upgrade-insecure-requests">')
    assert found.policies == ("upgrade-insecure-requests",)
    assert facts_from_json(facts_to_json(found)) == found
    assert facts('<meta http-equiv="refresh" content="5">').policies == ()


def test_a_heading_that_is_a_picture_has_its_alt_text() -> None:
    assert facts("<h1><a href=/><img src=logo.png alt='Harbour Books'></a></h1>").headings == (
        Heading(1, "Harbour Books"),
    )
    assert facts("<h1>Harbour <img src=logo.png alt=''></h1>").headings == (Heading(1, "Harbour"),)


@pytest.mark.parametrize(
    "image",
    [
        "<img src=a.png aria-label='A boat'>",
        "<img src=a.png aria-labelledby=caption>",
        "<img src=a.png title='A boat'>",
        "<img src=a.png hidden>",
        "<div style='display: none'><img src=a.png></div>",
    ],
)
def test_a_picture_that_is_named_otherwise_or_hidden_lacks_no_alt_text(image: str) -> None:
    assert facts(image).images_without_alt == ()
    assert facts("<img src=a.png title=' '>").images_without_alt


def test_pages_without_spaces_between_words_are_compared_by_their_characters() -> None:
    frame = "会社概要 お知らせ 採用情報 所在地 電話 受付時間 個人情報 利用規約"
    one = "港の本屋では海と船の本を三百冊ほど並べ、毎週土曜日に読書会を開いています。"
    other = "新しい工場は来年の春に完成し、部品の生産は今の二倍になる見込みだと発表しました。"
    texts = [f"<p>{frame}</p><p>{body * 3}</p>" for body in (one, other)]
    hashes = [facts(text).similarity for text in texts]
    assert hashes[0] is not None
    assert hashes[1] is not None
    assert distance(hashes[0], hashes[1]) > NEAR_BITS
    again = facts(texts[0].replace("三百冊", "四百冊")).similarity
    assert again is not None
    assert distance(hashes[0], again) <= NEAR_BITS


@pytest.mark.parametrize("text", ["ພາສາລາວ", "ភាសាខ្មែរ", "မြန်မာဘာသာ", "𠮷野家𠮷野家"])
def test_words_of_every_script_without_spaces_are_counted(text: str) -> None:
    assert facts(f"<p>{text * 20}</p>").word_count >= 50


@pytest.mark.parametrize(
    ("content", "forwards"),
    [
        ("0; url=/new", True),
        ("0;URL='https://e.example/new'", True),
        ("1, /new", True),
        ("0", False),
        ("30; url=/new", False),
        ("0; url=", False),
        ("300", False),
    ],
)
def test_a_refresh_to_another_page_forwards_at_once(content: str, forwards: bool) -> None:
    document = parse_html(f'<meta http-equiv="Refresh" content="{content}">'.encode(), "text/html")
    found = read_facts(document, url=URL, base=URL).facts
    assert found is not None
    assert found.forwards is forwards
