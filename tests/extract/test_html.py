"""What is read from HTML pages, good and broken."""

import pytest

from comity.extract.html import MAX_FRAMES, MAX_HREF_CHARACTERS, MAX_META_ROBOTS, MAX_TITLE_CHARACTERS, read_html
from comity.model.page import HtmlPage, PageLimit


def read(markup: str | bytes, content_type: str | None = "text/html; charset=utf-8", **more: bool) -> HtmlPage:
    body = markup.encode() if isinstance(markup, str) else markup
    return read_html(body, content_type=content_type, agent_token="comitybot", **more)


def hrefs(markup: str) -> list[str]:
    return list(read(markup).links)


def test_a_whole_page_is_read_in_one_go() -> None:
    page = read(
        """<!doctype html><html><head><title> A  title
        &amp; more </title><base href="/base/"><link rel="canonical" href="https://e.example/c">
        <link rel="next" href="?page=2"><meta name="robots" content="noarchive"></head>
        <body><a href="one">1</a><map><area href="two"></map><input type="password"></body></html>"""
    )
    assert page == HtmlPage(
        title="A title & more",
        base_href="/base/",
        links=("one", "two"),
        nofollow=frozenset(),
        canonical_href="https://e.example/c",
        next_href="?page=2",
        meta_robots=("noarchive",),
        refresh_href=None,
        has_password_field=True,
        encoding="UTF-8",
        limits=frozenset(),
    )


def test_an_empty_body_is_an_empty_page() -> None:
    page = read(b"", None)
    assert (page.title, page.links, page.meta_robots, page.limits) == (None, (), (), frozenset())


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<a href=/x>", ["/x"]),
        ("<A HREF='/x'>", ["/x"]),
        ("<a href=' /x\n'>", ["/x"]),
        ("<a href='/x?a=1&amp;b=2'>", ["/x?a=1&b=2"]),
        ("<a href='/é'>", ["/é"]),
        ("<a href=/x><a href=/y><a href=/x>", ["/x", "/y"]),
        ("<a href>", []),
        ("<a href=''>", []),
        ("<a href='  '>", []),
        ("<a href='#top'>", []),
        ("<a>", []),
        ("<a name=x>", []),
        ("<a href='/x#part'>", ["/x#part"]),
        ("<a href=mailto:x@y.example>", ["mailto:x@y.example"]),
        ("<link rel=stylesheet href=/s.css><img src=/i.png><script src=/j.js></script><iframe src=/f>", []),
        ("<a href=/x", []),
        ("<a href=/x <b>y", ["/x"]),
        ("<!-- <a href=/x> -->", []),
        ("<script>'<a href=/x>'</script>", []),
        ("<noscript><a href=/x></noscript>", ["/x"]),
        ("<div><template shadowrootmode=open><a href=/x></template></div>", ["/x"]),
        ("<svg><a href=/x>", ["/x"]),
        ("<table><a href=/x><tr><td><a href=/y>", ["/x", "/y"]),
        ("</p></div><a href=/x></html><a href=/y>", ["/x", "/y"]),
        ("<a\0 href=/x\0y>", []),
        ("<a href=/x\0y>", ["/x\ufffdy"]),
    ],
)
def test_links_are_those_of_anchors_and_areas(markup: str, expected: list[str]) -> None:
    assert hrefs(markup) == expected


@pytest.mark.parametrize(
    ("markup", "nofollow"),
    [
        ("<a href=/x>", False),
        ("<a href=/x rel=nofollow>", True),
        ("<a href=/x rel='noopener NoFollow'>", True),
        ("<a href=/x rel='nofollowing'>", False),
        ("<a href=/x rel>", False),
        ("<a href=/x rel='ugc sponsored'>", False),
        ("<a href=/x rel=nofollow><a href=/x>", False),
        ("<a href=/x><a href=/x rel=nofollow>", False),
        ("<a href=/x rel=nofollow><a href=/x rel=nofollow>", True),
    ],
)
def test_an_address_is_nofollow_when_every_link_to_it_is(markup: str, nofollow: bool) -> None:
    page = read(markup)
    assert (page.links, page.nofollow) == (("/x",), frozenset({"/x"} if nofollow else ()))


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<title>a</title><title>b</title>", "a"),
        ("<svg><title>drawing</title></svg><title>page</title>", "page"),
        ("<title></title>", None),
        ("<title> \n </title>", None),
        ("<title>a<b>c</title>", "a<b>c"),
        ("<title>&lt;x&gt;</title>", "<x>"),
        ("<p>x", None),
    ],
)
def test_the_title_is_the_first_of_the_page_itself(markup: str, expected: str | None) -> None:
    assert read(markup).title == expected


@pytest.mark.parametrize(
    ("markup", "base", "canonical", "following"),
    [
        ("<base href=/a><base href=/b>", "/a", None, None),
        ("<base target=x><base href=/b>", "/b", None, None),
        ("<link rel=canonical href=/a><link rel=canonical href=/b>", None, "/a", None),
        ("<link rel='alternate CANONICAL' href=/a>", None, "/a", None),
        ("<link rel=canonical><link rel=canonical href=/b>", None, "/b", None),
        ("<link rel=next href=/2>", None, None, "/2"),
        ("<a rel=next href=/2>", None, None, "/2"),
        ("<a rel='nofollow next' href=/2><link rel=next href=/3>", None, None, "/2"),
        ("<link rel=next href=/3><a rel=next href=/2>", None, None, "/3"),
        ("<a rel='nofollow next' href=/2><a rel=next href=/3>", None, None, "/2"),
        ("<a rel=nextish href=/2>", None, None, None),
    ],
)
def test_base_canonical_and_next_are_the_first_that_have_an_address(
    markup: str, base: str | None, canonical: str | None, following: str | None
) -> None:
    page = read(markup)
    assert (page.base_href, page.canonical_href, page.next_href) == (base, canonical, following)


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<meta name=robots content=noindex>", ("noindex",)),
        ("<META NAME=' Robots ' CONTENT='NoIndex'>", ("NoIndex",)),
        ("<meta name=comitybot content=nofollow>", ("nofollow",)),
        ("<meta name=COMITYBOT content=none><meta name=robots content=all>", ("none", "all")),
        ("<meta name=otherbot content=noindex>", ()),
        ("<meta name=robots>", ("",)),
        ("<meta content=noindex>", ()),
        ("<body><p><meta name=robots content=noindex>", ("noindex",)),
    ],
)
def test_robots_meta_elements_for_everyone_and_for_us_are_kept(markup: str, expected: tuple[str, ...]) -> None:
    assert read(markup).meta_robots == expected


def test_an_agent_may_be_given_with_its_version() -> None:
    page = read_html(b"<meta name=comitybot content=none>", content_type=None, agent_token="ComityBot/1.0")
    assert page.meta_robots == ("none",)


def test_an_agent_without_a_token_is_addressed_by_no_meta_element() -> None:
    page = read_html(b"<meta name='' content=none><meta content=none>", content_type=None, agent_token="")
    assert page.meta_robots == ()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("0;url=/x", "/x"),
        ("5; URL = '/x'", "/x"),
        ('5; url="/x" rest', "/x"),
        ("5,/x", "/x"),
        ("5 /x", "/x"),
        ("0.5;url=/x", "/x"),
        (" 3 ; url=https://e.example/?a;b ", "https://e.example/?a;b"),
        ("5", None),
        ("5;", None),
        ("5;url=", None),
        ("url=/x", None),
        ("", None),
    ],
)
def test_a_refresh_that_leads_elsewhere_is_noted(content: str, expected: str | None) -> None:
    escaped = content.replace('"', "&quot;")
    assert read(f'<meta http-equiv=Refresh content="{escaped}">').refresh_href == expected


def test_a_refresh_for_readers_without_scripts_is_not_for_us() -> None:
    assert read("<noscript><meta http-equiv=refresh content='0;url=/without'></noscript>").refresh_href is None


def test_the_frames_of_a_frameset_are_noted_each_once_and_within_a_bound() -> None:
    markup = "<frameset><frame src=/menu><frame src=' b '><frame src=/menu><frame src='#x'><frame></frameset>"
    assert read(markup).frames == ("/menu", "b")
    assert read("<p>x<frame src=/lone><iframe src=/within></iframe>").frames == ()
    many = "".join(f"<frame src=/{number}>" for number in range(MAX_FRAMES + 5))
    assert len(read(f"<frameset>{many}</frameset>").frames) == MAX_FRAMES


@pytest.mark.parametrize(
    ("charset", "href", "expected"),
    [
        ("utf-8", "/ü?q=ü#ü", "/ü?q=ü#ü"),
        ("windows-1252", "/ü?q=ü&p=€#ü", "/ü?q=%FC&p=%80#ü"),
        ("iso-8859-1", "?q=†", "?q=%86"),
        ("windows-1251", "?q=привет мир", "?q=%EF%F0%E8%E2%E5%F2%20%EC%E8%F0"),
        ("shift_jis", "?q=表", "?q=%95\\"),
        ("gb2312", "?q=中文&a=b'c", "?q=%D6%D0%CE%C4&a=b%27c"),
        ("euc-kr", "?q=한국", "?q=%C7%D1%B1%B9"),
        ("big5", "?q=中文", "?q=%A4%A4%A4%E5"),
        ("iso-8859-8-i", "?q=שלום", "?q=%F9%EC%E5%ED"),
        ("windows-874", "?q=ไทย", "?q=%E4%B7%C2"),
        ("windows-1252", "?q=&#1103;", "?q=%26%231103%3B"),
        ("utf-16le", "?q=ü", "?q=ü"),
        ("x-user-defined", "?q=a", "?q=a"),
    ],
)
def test_queries_are_in_the_encoding_of_the_page(charset: str, href: str, expected: str) -> None:
    """WHATWG URL, percent-encoding: the special-query set after encoding, references for what has no octets."""
    body = f'<a href="{href}">x</a><a rel=nofollow href="{href}">y</a><link rel=canonical href="{href}">'
    python = {"iso-8859-8-i": "iso8859-8", "windows-874": "cp874", "x-user-defined": "ascii"}.get(charset, charset)
    page = read(body.encode(python if charset != "iso-8859-1" else "cp1252"), f"text/html; charset={charset}")
    assert (page.links, page.canonical_href, page.nofollow) == ((expected,), expected, frozenset())


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<input type=password>", True),
        ("<form><INPUT TYPE=' PassWord '></form>", True),
        ("<input type=text><input>", False),
        ("<p>password", False),
    ],
)
def test_a_password_field_is_noticed(markup: str, expected: bool) -> None:
    assert read(markup).has_password_field is expected


RUSSIAN = "<title>Привет</title><p>Это обычный русский текст на странице, набранный давно</p>"


@pytest.mark.parametrize(
    ("body", "content_type", "encoding"),
    [
        (RUSSIAN.encode(), None, "UTF-8"),
        (RUSSIAN.encode(), "text/html; charset=UTF-8", "UTF-8"),
        (RUSSIAN.encode(), 'text/html;charset="utf-8"', "UTF-8"),
        (RUSSIAN.encode("cp1251"), "text/html; charset=windows-1251", "windows-1251"),
        (RUSSIAN.encode("koi8-r"), "text/html; Charset=KOI8-R; x=y", "KOI8-R"),
        (b"<meta charset=windows-1251>" + RUSSIAN.encode("cp1251"), "text/html", "windows-1251"),
        (b"<meta charset=windows-1251>" + RUSSIAN.encode(), "text/html; charset=utf-8", "UTF-8"),
        (b"\xef\xbb\xbf" + RUSSIAN.encode(), "text/html; charset=koi8-r", "UTF-8"),
        (RUSSIAN.encode(), "text/html; charset=no-such-thing", "UTF-8"),
        (RUSSIAN.encode("cp1251"), None, "windows-1251"),
        (("\ufeff" + RUSSIAN).encode("utf-16-le"), None, "UTF-16LE"),
        (("\ufeff" + RUSSIAN).encode("utf-16-be"), "text/html; charset=utf-8", "UTF-16BE"),
        (RUSSIAN.encode("utf-16-le"), None, "UTF-16LE"),
        (RUSSIAN.encode("utf-16-be"), "text/html", "UTF-16BE"),
        (RUSSIAN.encode("utf-16-be"), "text/html; charset=utf-16be", "UTF-16BE"),
    ],
)
def test_the_encoding_follows_mark_then_header_then_declaration_then_bytes(
    body: bytes, content_type: str | None, encoding: str
) -> None:
    page = read(body, content_type)
    assert (page.encoding, page.title) == (encoding, "Привет")


def test_bytes_that_do_not_fit_the_encoding_are_replaced() -> None:
    assert read(b"<title>a\xff\xfeb</title>").title == "a\ufffd\ufffdb"


def test_visible_text_is_given_when_asked_for() -> None:
    markup = "<title>t</title><style>p{}</style><script>run()</script><p>One <b>two</b></p><p>three</p>"
    assert read(markup).text is None
    text = read(markup, with_text=True).text
    assert text is not None
    assert text.split() == ["One", "two", "three"]


def test_a_link_too_long_is_left_out_and_marked() -> None:
    fits, too_long = "/" + "x" * (MAX_HREF_CHARACTERS - 1), "/" + "x" * MAX_HREF_CHARACTERS
    page = read(f"<a href={too_long}><a href={fits}><base href={too_long}><link rel=canonical href={too_long}>")
    assert list(page.links) == [fits]
    assert not page.base_href
    assert page.canonical_href is None
    assert page.limits == {PageLimit.HREF_CHARACTERS}


def test_endless_robots_meta_elements_are_cut_and_marked() -> None:
    page = read("<meta name=robots content=all>" * (MAX_META_ROBOTS + 1))
    assert len(page.meta_robots) == MAX_META_ROBOTS
    assert page.limits == {PageLimit.META_ROBOTS}


def test_a_long_title_is_cut() -> None:
    assert len(read(f"<title>{'x' * 5000}</title>").title or "") == MAX_TITLE_CHARACTERS
