"""Sitemaps in every dress that sites give them: the same entries come out, in document order."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.extract.sitemap.read import iter_entries
from comity.model.sitemap import ChangeFrequency, SitemapChunk, SitemapEntry, SitemapKind, SitemapLimits, SitemapProblem
from tests.extract.whole_sitemaps import read_sitemap

NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
A, B, C = "https://example.com/a", "https://example.com/b", "https://example.com/c"


def read(body: bytes | str, content_type: str | None = "application/xml", **limits: int) -> SitemapChunk:
    octets = body.encode() if isinstance(body, str) else body
    return read_sitemap(octets, content_type, SitemapLimits(**limits))


def locs(sitemap: SitemapChunk) -> list[str]:
    return [entry.loc for entry in sitemap.entries]


def urlset(*entries: str) -> str:
    inside = "".join(f"<url>{entry}</url>" for entry in entries)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset {NAMESPACE}>{inside}</urlset>'


def test_every_field_of_an_entry_is_read() -> None:
    entry = f"<loc>{A}</loc><lastmod>2024-03-14</lastmod><changefreq>weekly</changefreq><priority>0.8</priority>"
    sitemap = read(urlset(entry, f"<loc>{B}</loc>"))
    assert (sitemap.kind, sitemap.nested, sitemap.problems) == (SitemapKind.URLSET, (), frozenset())
    assert sitemap.entries == (
        SitemapEntry(A, datetime(2024, 3, 14, tzinfo=UTC), ChangeFrequency.WEEKLY, 0.8),
        SitemapEntry(B),
    )


def page(loc: str) -> str:
    return f"<url><loc>{loc}</loc></url>"


BOTH = page(A) + page(B)
IMAGE = "<image:image><image:loc>https://example.com/i.png</image:loc></image:image>"
GERMAN = '<xhtml:link rel="alternate" hreflang="de" href="https://example.com/de"/>'
VIDEO = "<video:video><video:thumbnail_loc>x</video:thumbnail_loc><loc>https://example.com/no</loc></video:video>"
NEWS = "<news:news><news:title>x</news:title></news:news>"
FOREIGN_IMAGE = '<image xmlns="i"><loc>https://example.com/i.png</loc></image>'
PREFIXED = "".join(f"<sm:url><sm:loc>{loc}</sm:loc></sm:url>" for loc in (A, B))
WARNING = "\n\n<br />\n<b>Warning</b>: no such file\n<?xml version='1.0'?>"
STYLE = '<?xml version="1.0"?><?xml-stylesheet href="a.xsl"?><!DOCTYPE urlset SYSTEM "x.dtd">'

SAME_TWO = {
    "the usual way": urlset(f"<loc>{A}</loc>", f"<loc>{B}</loc>"),
    "no namespace": f"<urlset>{BOTH}</urlset>",
    "a prefix": f'<sm:urlset xmlns:sm="x">{PREFIXED}</sm:urlset>',
    "a prefix on the root alone": f"<sm:urlset>{BOTH}</sm:urlset>",
    "capitals": f"<URLSET><Url><LOC>{A}</LOC></Url><URL><loc>{B}</loc></URL></URLSET>",
    "blanks": f"  \n<urlset>\n\t<url >\n <loc>\n  {A}\n </loc>\n</url>\n<url><loc> {B}\t</loc></url></urlset>\n",
    "a break in an address": f"<urlset>{page(A.replace('/a', chr(10) + '      /a'))}{page(B)}</urlset>",
    "CDATA": f"<urlset>{page(f'<![CDATA[{A}]]>')}<url><loc> <![CDATA[ {B} ]]> </loc></url></urlset>",
    "CDATA in pieces": f"<urlset>{page('https://<![CDATA[example.com]]>/<![CDATA[a]]>')}{page(B)}</urlset>",
    "comments": f"<!-- <urlset> --><urlset><!-- {page(C)} -->{page(A + '<!-- here -->')}{page(B)}</urlset>",
    "a stylesheet and a doctype": f"{STYLE}<urlset>{BOTH}</urlset>",
    "attributes with signs in them": f"<urlset a='>' b=\"/>\"><url id='>'><loc x='>'>{A}</loc></url>{page(B)}</urlset>",
    "images and languages": f"<urlset><url>{IMAGE}<loc>{A}</loc>{GERMAN}</url>{page(B)}</urlset>",
    "videos": f"<urlset>{page(A)}<url><loc>{B}</loc>{VIDEO}</url></urlset>",
    "an image in the default namespace": f"<urlset><url>{FOREIGN_IMAGE}<loc>{A}</loc></url>{page(B)}</urlset>",
    "news with an address": f"<urlset><url><loc>{A}</loc>{NEWS}</url>{page(B)}</urlset>",
    "entries without an address": f"<urlset><url><lastmod>2024</lastmod></url>{page(A)}<url/>{page(B)}</urlset>",
    "an empty address": f"<urlset>{page(A)}<url><loc/></url>{page('')}{page(' ')}{page(B)}</urlset>",
    "a second address in an entry": f"<urlset><url><loc>{A}</loc><loc>{C}</loc></url>{page(B)}</urlset>",
    # Broken.
    "no end tags at all": f"<urlset><url><loc>{A}<url><loc>{B}<url>",
    "some end tags missing": f"<urlset><url><loc>{A}<lastmod>2024</lastmod></url><url><loc>{B}</loc></urlset>",
    "wrong end tags": f"<urlset><url><loc>{A}</url></loc><url><loc>{B}</lastmod></url></urlset>",
    "no root": BOTH,
    "text before the declaration": f"{WARNING}<urlset>{BOTH}</urlset>",
    "text after the end": f"<urlset>{BOTH}</urlset>{page(C)}",
    "the rest is cut off": f"<urlset>{BOTH}<url><loc>https://example.com/ha",
    "cut off in a tag": f"<urlset>{BOTH}<url><lo",
    "cut off in a comment": f"<urlset>{BOTH}<!-- <url><loc>",
    "cut off in CDATA": f"<urlset>{BOTH}<url><loc><![CDATA[https://exa",
}


@pytest.mark.parametrize("name", SAME_TWO)
def test_the_same_two_addresses_are_found_in(name: str) -> None:
    sitemap = read(SAME_TWO[name])
    assert (sitemap.kind, locs(sitemap)) == (SitemapKind.URLSET, [A, B])
    assert (SitemapProblem.TRUNCATED in sitemap.problems) == (name.startswith(("cut", "the rest", "no end tags")))


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("?a=1&amp;b=2", "?a=1&b=2"),
        ("?a=1&#38;b=2", "?a=1&b=2"),
        ("?a=1&#x26;b=2", "?a=1&b=2"),
        ("?q=&lt;&gt;&quot;&apos;", "?q=<>\"'"),
        ("?a=1&b=2", "?a=1&b=2"),
        ("?a=1&copy=2&amp;c", "?a=1&copy=2&c"),
        ("?x=&nbsp;&undefined;", "?x=&nbsp;&undefined;"),
        ("?x=&amp;amp;", "?x=&amp;"),
        ("?x=&#0;&#55296;&#1114112;", "?x="),
        ("/caf&#233;", "/café"),
        ("/café", "/café"),
        ("?a<b", "?a<b"),
        ("?a<<b", "?a<<b"),
        ("<![CDATA[?a=1&b=2]]>", "?a=1&b=2"),
        ("<![CDATA[?a=1&amp;b=2]]>", "?a=1&amp;b=2"),
        ("<![CDATA[?a=]]]]><![CDATA[>]]>", "?a=]]>"),
    ],
)
def test_references_in_an_address(written: str, meant: str) -> None:
    assert locs(read(urlset(f"<loc>https://example.com/{written}</loc>"))) == [f"https://example.com/{meant}"]


def test_an_index_names_further_sitemaps() -> None:
    body = f"""<?xml version="1.0"?><sitemapindex {NAMESPACE}>
      <sitemap><loc>{A}.xml</loc><lastmod>2024-01-02T03:04:05Z</lastmod></sitemap>
      <sitemap><loc>/b.xml.gz</loc></sitemap></sitemapindex>"""
    sitemap = read(body)
    assert (sitemap.kind, sitemap.entries) == (SitemapKind.INDEX, ())
    assert sitemap.nested == (
        SitemapEntry(A + ".xml", datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)),
        SitemapEntry("/b.xml.gz"),
    )


def test_pages_and_sitemaps_under_the_wrong_root_are_told_apart_all_the_same() -> None:
    body = f"<urlset><sitemap><loc>{A}</loc></sitemap><url><loc>{B}</loc></url></urlset>"
    sitemap = read(body)
    assert ([entry.loc for entry in sitemap.nested], locs(sitemap)) == ([A], [B])


ENCODED = {
    "UTF-8 with a mark": ("\ufeff<urlset><url><loc>https://example.com/é</loc></url></urlset>".encode(), None),
    "UTF-16 with a mark": ("<urlset><url><loc>https://example.com/é</loc></url></urlset>".encode("utf-16"), None),
    "UTF-16 big-endian with a mark": (
        b"\xfe\xff" + "<urlset><url><loc>https://example.com/é</loc></url></urlset>".encode("utf-16-be"),
        None,
    ),
    "UTF-16 without a mark": (
        "<?xml version='1.0'?><urlset><url><loc>https://example.com/é</loc></url></urlset>".encode("utf-16-le"),
        None,
    ),
    "UTF-32": ("<urlset><url><loc>https://example.com/é</loc></url></urlset>".encode("utf-32"), None),
    "Latin-1 declared": (
        "<?xml version='1.0' encoding='ISO-8859-1'?><urlset><url><loc>https://example.com/é</loc></url></urlset>".encode(
            "latin-1"
        ),
        "text/xml",
    ),
    "Latin-1 in the header": (
        "<urlset><url><loc>https://example.com/é</loc></url></urlset>".encode("latin-1"),
        "text/xml; charset=iso-8859-1",
    ),
    "UTF-8 declared as UTF-16": (
        "<?xml version='1.0' encoding='UTF-16'?><urlset><url><loc>https://example.com/é</loc></url></urlset>".encode(),
        "text/xml",
    ),
    "an encoding that nobody knows": (
        "<?xml version='1.0' encoding='klingon'?><urlset><url><loc>https://example.com/é</loc></url></urlset>".encode(),
        "text/xml; charset=x",
    ),
    "an encoding that is none": (
        "<?xml version='1.0' encoding='zlib_codec'?><urlset><url><loc>https://example.com/é</loc></url></urlset>".encode(),
        None,
    ),
    "UTF-8 declared, Latin-1 meant": (
        "<?xml version='1.0' encoding='UTF-8'?><urlset><url><loc>https://example.com/é</loc></url></urlset>".encode(
            "latin-1"
        ),
        None,
    ),
    "a text list in Latin-1": ("https://example.com/é\n".encode("latin-1"), "text/plain; charset=latin-1"),
    "a text list with a mark": ("\ufeffhttps://example.com/é\n".encode(), "text/plain"),
    "a text list in UTF-16": ("https://example.com/é\r\n".encode("utf-16"), "text/plain"),
}


@pytest.mark.parametrize("name", ENCODED)
def test_the_same_address_is_found_in(name: str) -> None:
    body, content_type = ENCODED[name]
    sitemap = read(body, content_type)
    assert locs(sitemap) == ["https://example.com/é"]
    assert (SitemapProblem.BAD_ENCODING in sitemap.problems) == (name == "UTF-8 declared, Latin-1 meant")


def test_shift_jis_and_other_wide_encodings_are_read() -> None:
    text = "<?xml version='1.0' encoding='Shift_JIS'?><urlset><url><loc>https://example.com/ソ表</loc></url></urlset>"
    assert locs(read(text.encode("shift_jis"))) == ["https://example.com/ソ表"]


def test_compressed_bodies_are_inflated() -> None:
    plain = urlset(f"<loc>{A}</loc>", f"<loc>{B}</loc>").encode()
    once = gzip.compress(plain)
    members = gzip.compress(plain[:70]) + gzip.compress(plain[70:])
    for body in (once, gzip.compress(once), members, once + b"\0" * 20):
        assert locs(read(body, "application/gzip")) == [A, B]
        assert not read(body).problems


def test_a_damaged_compressed_body_is_read_up_to_the_damage() -> None:
    body = gzip.compress(urlset(*(f"<loc>{A}{at:05d}</loc>" for at in range(20_000))).encode(), mtime=0)
    cut = read(body[: len(body) // 2])
    assert 1000 < len(cut.entries) < 20_000
    assert cut.problems == {SitemapProblem.TRUNCATED}
    torn = bytearray(body)
    torn[len(body) // 2 : len(body) // 2 + 64] = b"\xff" * 64
    damaged = read(bytes(torn))
    assert 1000 < len(damaged.entries) < 20_000
    assert SitemapProblem.BAD_GZIP in damaged.problems
    assert locs(damaged)[:1000] == [f"{A}{at:05d}" for at in range(1000)]


def test_plain_lists_are_read_line_by_line() -> None:
    sitemap = read(f"{A}\r\n\r\n  {B}  \nnot an address\nftp://example.com/\n{C}", "text/plain")
    assert (sitemap.kind, locs(sitemap), sitemap.problems) == (SitemapKind.TEXT, [A, B, C], frozenset())


@pytest.mark.parametrize(
    "head", ["# made by a plug-in\n", "\ufeff# with a mark\r\n\r\n", "\n  # one\n#two\n# https://example.com/old\n"]
)
def test_a_plain_list_may_begin_with_comments(head: str) -> None:
    sitemap = read(f"{head}{A}\n# and one between\n{B}\n", "text/plain")
    assert (sitemap.kind, locs(sitemap)) == (SitemapKind.TEXT, [A, B])


RSS = f"""<?xml version="1.0"?><rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel>
<title>News</title><link>https://example.com/</link><atom:link href="https://example.com/feed" rel="self"/>
<image><url>https://example.com/i.png</url><link>https://example.com/</link></image>
<item><title>A</title><link>{A}</link><description><![CDATA[<p>x<br><a href="https://x.example/">y</a>]]></description>
<pubDate>Thu, 14 Mar 2024 15:09:26 +0100</pubDate><guid isPermaLink="false">17</guid></item>
<item><guid>{B}</guid><dc:date>2024-03-15</dc:date></item>
<item><description>no address <br> here</description></item>
<item><description>unclosed <br> markup<p></description><link> {C} </link></item>
</channel></rss>"""
ATOM = f"""<feed xmlns="http://www.w3.org/2005/Atom"><title>x</title><link href="https://example.com/"/>
<entry><id>tag:1</id><link rel="self" href="https://example.com/self"/><link rel="alternate" href="{A}"/>
<published>2024-01-01T00:00:00Z</published><updated>2024-03-14T14:09:26Z</updated></entry>
<entry><link href='{B}'/><published>2024-03-15T00:00:00Z</published>
<content type="xhtml"><div><link href="/no"/></div></content></entry>
<entry><link rel="edit" href="https://example.com/edit"/><link href="{C}?a=1&amp;b=2"></link></entry></feed>"""
RDF = f"""<rdf:RDF xmlns:rdf="r" xmlns="http://purl.org/rss/1.0/"><channel rdf:about="https://example.com/"><link>https://example.com/</link></channel>
<item rdf:about="https://example.com/other"><link>{A}</link><dc:date>2024-03-14T15:09:26+01:00</dc:date></item>
<item rdf:about="{B}"><title>b</title></item></rdf:RDF>"""


def test_feeds_name_pages_with_dates() -> None:
    when = datetime(2024, 3, 14, 14, 9, 26, tzinfo=UTC)
    ides = datetime(2024, 3, 15, tzinfo=UTC)
    assert read(RSS, "application/rss+xml").entries == (SitemapEntry(A, when), SitemapEntry(B, ides), SitemapEntry(C))
    assert read(ATOM).entries == (SitemapEntry(A, when), SitemapEntry(B, ides), SitemapEntry(f"{C}?a=1&b=2"))
    assert read(RDF).entries == (SitemapEntry(A, when), SitemapEntry(B))
    for feed in (RSS, ATOM, RDF):
        assert (read(feed).kind, read(feed).problems) == (SitemapKind.FEED, frozenset())


def test_a_feed_may_have_a_prefix() -> None:
    body = f'<a:feed xmlns:a="http://www.w3.org/2005/Atom"><a:entry><a:link href="{A}"/></a:entry></a:feed>'
    assert (read(body).kind, locs(read(body))) == (SitemapKind.FEED, [A])


@pytest.mark.parametrize(
    "body",
    [
        "",
        " \n ",
        "<!doctype html><html><head><title>404</title></head><body><a href='/x'>x</a></body></html>",
        "<html><body>Not found</body></html>",
        "<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'/>",
        "<svg><url><loc>https://example.com/</loc></url></svg>",
        '{"error": "not found"}',
        "Not found",
        "User-agent: *\nDisallow: /",
        "https://example.com/ moved here, please follow the link",
        "# nothing but a comment",
        "# a heading\nand some text\nhttps://example.com/",
        "<",
        "<!--",
        "<![CDATA[",
        "\0" * 100,
    ],
)
def test_what_is_no_sitemap_says_so(body: str) -> None:
    sitemap = read(body, "text/html")
    assert (sitemap.kind, sitemap.entries, sitemap.nested) == (SitemapKind.NOT_A_SITEMAP, (), ())


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("0.5", 0.5),
        ("1", 1.0),
        (" 0,7 ", 0.7),
        ("-1", 0.0),
        ("15", 1.0),
        ("1e9", 1.0),
        ("high", None),
        ("nan", None),
        ("inf", 1.0),
        ("", None),
    ],
)
def test_priorities_lie_between_nought_and_one(written: str, meant: float | None) -> None:
    assert read(urlset(f"<loc>{A}</loc><priority>{written}</priority>")).entries[0].priority == meant


@pytest.mark.parametrize("frequency", ChangeFrequency)
def test_every_frequency_is_known_in_any_case(frequency: ChangeFrequency) -> None:
    written = f" {frequency.upper()}\n"
    assert read(urlset(f"<loc>{A}</loc><changefreq>{written}</changefreq>")).entries[0].changefreq is frequency


def test_a_frequency_that_nobody_knows_is_none() -> None:
    assert read(urlset(f"<loc>{A}</loc><changefreq>often</changefreq>")).entries[0].changefreq is None


def test_entries_are_cut_at_their_bound_and_marked() -> None:
    body = urlset(*(f"<loc>{A}{at}</loc>" for at in range(12)))
    assert (len(read(body, most_entries=10).entries), read(body, most_entries=10).problems) == (
        10,
        {SitemapProblem.ENTRIES},
    )
    assert (len(read(body, most_entries=12).entries), read(body, most_entries=12).problems) == (12, frozenset())
    lines = "".join(f"{A}{at}\n" for at in range(12))
    assert (len(read(lines, most_entries=10).entries), read(lines, most_entries=10).problems) == (
        10,
        {SitemapProblem.ENTRIES},
    )


def test_a_body_is_cut_at_its_bound_and_marked_also_inside_a_compressed_one() -> None:
    body = urlset(*(f"<loc>{A}{at:05d}</loc>" for at in range(5000))).encode()
    for wire in (body, gzip.compress(body)):
        sitemap = read(wire, most_bytes=20_000)
        assert 100 < len(sitemap.entries) < 500
        assert sitemap.problems == {SitemapProblem.BODY_BYTES, SitemapProblem.TRUNCATED}
        assert locs(sitemap) == [f"{A}{at:05d}" for at in range(len(sitemap.entries))]


def test_an_address_longer_than_its_bound_is_left_out_and_marked() -> None:
    sitemap = read(urlset(f"<loc>{A}</loc>", f"<loc>{'x' * 9000}</loc>", f"<loc>{B}</loc>"))
    assert (locs(sitemap), sitemap.problems) == ([A, B], {SitemapProblem.LOC_CHARACTERS})


@pytest.mark.parametrize("size", [1, 7, 500, 10_000])
def test_chunks_together_are_the_whole_in_its_order(size: int) -> None:
    """Some entries are written in the usual way and some are not, so both ways of reading take part."""
    entries = [
        f"<loc>{A}{at}</loc>" + ("<x/>" if at % 7 == 0 else "<lastmod>2024-01-01</lastmod>") for at in range(6000)
    ]
    body = urlset(*entries).encode()
    chunks = list(iter_entries(body, content_type=None, chunk_entries=size))
    assert [entry.loc for chunk in chunks for entry in chunk.entries] == [f"{A}{at}" for at in range(6000)]
    assert max(len(chunk.entries) for chunk in chunks) <= size
    assert {chunk.kind for chunk in chunks} == {SitemapKind.URLSET}


_PLAIN = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zs", "Zl", "Zp"]), min_size=1, max_size=30)


@given(st.lists(_PLAIN, max_size=8), st.booleans(), st.booleans())
def test_whatever_is_written_by_the_rules_is_read_back(names: list[str], in_cdata: bool, is_compressed: bool) -> None:
    def element(name: str) -> str:
        if in_cdata:
            return "<loc><![CDATA[https://x/" + name.replace("]]>", "]]]]><![CDATA[>") + "]]></loc>"
        return "<loc>https://x/" + name.replace("&", "&amp;").replace("<", "&lt;") + "</loc>"

    body = urlset(*map(element, names)).encode()
    expected = [f"https://x/{name}".strip() for name in names]
    assert locs(read(gzip.compress(body) if is_compressed else body)) == expected
