"""Feeds as sites write them: what each item is called, where it leads, and which items are jobs at all."""

from __future__ import annotations

import json

import pytest

from comity.extract.jobs.read import read_listing
from comity.model.job import ExtractionMethod, Listing, ListingKind, SourceType

URL = "https://example.org/feed/jobs.xml"
HOME = "https://example.org/careers"
LINK = "https://example.org/jobs/7"
DECLARED = '<?xml version="1.0" encoding="utf-8"?>'
TITLE = "<title>Water Officer</title>"


def read(body: str | bytes, content_type: str = "application/xml", url: str = URL) -> Listing:
    given = body.encode() if isinstance(body, str) else body
    return read_listing(given, url=url, content_type=content_type, source_type=SourceType.RSS)


def rss(*items: str, head: str = "", declared: str = DECLARED) -> str:
    about = f"<title>Vacancies</title><link>{HOME}</link>{head}"
    return f'{declared}<rss version="2.0"><channel>{about}{"".join(items)}</channel></rss>'


def item(title: str = TITLE, link: str = f"<link>{LINK}</link>", more: str = "") -> str:
    return f"<item>{title}{link}{more}</item>"


def atom(*entries: str, attributes: str = "") -> str:
    about = f'<title>Vacancies</title><link href="{HOME}"/><id>urn:x:feed</id>'
    return f'{DECLARED}<feed xmlns="http://www.w3.org/2005/Atom" {attributes}>{about}{"".join(entries)}</feed>'


def entry(title: str = TITLE, link: str = f'<link href="{LINK}"/>', attributes: str = "") -> str:
    return f"<entry {attributes}>{title}<id>urn:x:7</id>{link}</entry>"


TITLES = {
    "xhtml with inline markup": (
        atom(entry('<title type="xhtml"><div>Senior <b>Water</b> Officer</div></title>')),
        "Senior Water Officer",
    ),
    "xhtml inside a word": (
        atom(entry('<title type="xhtml"><div>H<sub>2</sub>O Officer</div></title>')),
        "H2O Officer",
    ),
    "xhtml with line breaks": (
        atom(entry('<title type="xhtml"><div>Water<br/>Officer <p>East</p></div></title>')),
        "Water Officer East",
    ),
    "markup in RSS": (rss(item("<title>Senior <em>Water</em> Officer</title>")), "Senior Water Officer"),
    "escaped markup": (atom(entry('<title type="html">&lt;b&gt;Water&lt;/b&gt; Officer</title>')), "Water Officer"),
    "markup in CDATA": (rss(item("<title><![CDATA[<b>Water</b> Officer]]></title>")), "Water Officer"),
    "several CDATA sections": (rss(item("<title><![CDATA[Water]]> <![CDATA[Officer]]></title>")), "Water Officer"),
    "a comment": (rss(item("<title>Water <!-- x -->Officer</title>")), "Water Officer"),
    "escaped twice": (rss(item("<title>R&amp;amp;D Officer</title>")), "R&D Officer"),
    "an ampersand alone": (rss(item("<title>Health & Safety Officer</title>")), "Health & Safety Officer"),
    "less than": (rss(item("<title>Officer < P3</title>")), "Officer < P3"),
    "entities of HTML": (
        rss(item("<title>Charg&eacute; de l&rsquo;eau&nbsp;&#8211; Est</title>")),
        "Chargé de l’eau – Est",
    ),
    "a character out of range": (rss(item("<title>Officer&#1114112;</title>")), "Officer\ufffd"),
    "media:title first": (rss(item(f"<media:title>A well</media:title>{TITLE}")), "Water Officer"),
    "media:title inside": (
        rss(item(f"<media:content url='x'><media:title>A well</media:title></media:content>{TITLE}")),
        "Water Officer",
    ),
    "itunes:title first": (rss(item(f"<itunes:title>Short</itunes:title>{TITLE}")), "Water Officer"),
    "dc:title after": (rss(item(f"<dc:title>Another</dc:title>{TITLE}")), "Water Officer"),
    "dc:title alone": (rss(item("<dc:title>Water Officer</dc:title>")), "Water Officer"),
    "media:title alone": (rss(item("<media:title>Water Officer</media:title>")), "Water Officer"),
    "a source with its own title": (
        atom(
            entry(link=f'<link href="{LINK}"/><source><title>Other</title><link href="https://o.example/"/></source>')
        ),
        "Water Officer",
    ),
    "a prefix for everything": (
        f'<a:feed xmlns:a="http://www.w3.org/2005/Atom"><a:entry><a:title>Water Officer</a:title>'
        f'<a:link href="{LINK}"/></a:entry></a:feed>',
        "Water Officer",
    ),
    "the same name in another vocabulary": (
        f"<r:rss xmlns:r='urn:r'><r:channel><r:item><x:title>Another</x:title><r:title>Water Officer</r:title>"
        f"<x:link>https://x.example/</x:link><r:link>{LINK}</r:link></r:item></r:channel></r:rss>",
        "Water Officer",
    ),
    "a search form inside the item": (
        rss(item(more="<textInput><title>Search</title><name>q</name><link>https://x.example/s</link></textInput>")),
        "Water Officer",
    ),
    "CDATA that was escaped": (rss(item("<title>&lt;![CDATA[Water Officer]]&gt;</title>")), "Water Officer"),
    "CDATA in CDATA": (rss(item("<title><![CDATA[<![CDATA[Water Officer]]]]></title>")), "Water Officer"),
    "references in upper case": (rss(item("<title>Water&#X20;Officer &#XE9;</title>")), "Water Officer é"),
    "upper case": (rss(item()).replace("title>", "TITLE>").replace("item>", "ITEM>"), "Water Officer"),
}


@pytest.mark.parametrize(("body", "title"), TITLES.values(), ids=TITLES)
def test_a_title_is_read_in_its_order_and_is_the_items_own(body: str, title: str) -> None:
    assert [(job.title, job.apply_url) for job in read(body).jobs] == [(title, LINK)]


def encoded(title: str, encoding: str, said: str) -> bytes:
    return rss(item(f"<title>{title}</title>"), declared=f'<?xml version="1.0" encoding="{said}"?>').encode(encoding)


WEST = "Women’s Officer – Est"
ENCODINGS = [
    # what is written, in what, and what it is called by the file and by the header
    (WEST, "cp1252", "iso-8859-1", ""),
    (WEST, "cp1252", "latin1", ""),
    (WEST, "cp1252", "us-ascii", ""),
    (WEST, "cp1252", "x-unknown", "ISO-8859-1"),
    (WEST, "cp1252", "utf-8", ""),
    (WEST, "utf-8", "utf-8", "iso-8859-1"),
    (WEST, "utf-8", "utf-16", ""),
    (WEST, "utf-8", "unicode_escape", ""),
    (WEST, "utf-8-sig", "iso-8859-1", "windows-1251"),
    (WEST, "utf-16", "utf-16", ""),
    (WEST, "utf-16-le", "utf-16", ""),
    (WEST, "utf-16-be", "utf-16", "utf-16"),
    (WEST, "utf-32", "utf-32", ""),
    ("水务官员镕", "gbk", "gb2312", ""),
    ("水担当①", "cp932", "Shift_JIS", ""),
    ("물 담당관 똠", "cp949", "EUC-KR", ""),
    ("Su Görevlisi – Doğu", "cp1254", "iso-8859-9", ""),
    ("Инженер", "koi8-r", "KOI8-R", ""),
]


@pytest.mark.parametrize(("title", "encoding", "said", "charset"), ENCODINGS)
def test_a_label_means_what_browsers_take_it_for(title: str, encoding: str, said: str, charset: str) -> None:
    header = f"text/xml; charset={charset}" if charset else "application/xml"
    assert [job.title for job in read(encoded(title, encoding, said), header).jobs] == [title]


@pytest.mark.parametrize("before", [b"\xef\xbb\xbf", b"\xef\xbb\xbf\xef\xbb\xbf", b"\r\n\n  ", b"\xef\xbb\xbf\n"])
def test_marks_and_blank_lines_before_a_feed_are_passed_over(before: bytes) -> None:
    assert [job.title for job in read(before + encoded(WEST, "utf-8", "utf-8"), "text/html").jobs] == [WEST]


def test_stray_bytes_spoil_nothing_but_themselves() -> None:
    body = encoded("Chargé de l’eau QQ Est", "utf-8", "utf-8").replace(b"QQ", b"\x96")
    assert [job.title for job in read(body).jobs] == ["Chargé de l’eau – Est"]


LINKS = {
    "relative": (rss(item(link="<link>/jobs/7</link>")), LINK),
    "with blanks": (rss(item(link=f"<link>\n {LINK}\n</link>")), LINK),
    "in CDATA": (rss(item(link=f"<link><![CDATA[{LINK}]]></link>")), LINK),
    "ampersands as they are": (
        rss(item(link="<link>https://example.org/j?a=1&copy=2&id=7</link>")),
        "https://example.org/j?a=1&copy=2&id=7",
    ),
    "escaped twice": (
        rss(item(link="<link>https://example.org/j?a=1&amp;amp;id=7</link>")),
        "https://example.org/j?a=1&id=7",
    ),
    "base of the feed": (atom(entry(link='<link href="7"/>'), attributes='xml:base="https://example.org/jobs/"'), LINK),
    "base of the entry within that of the feed": (
        atom(
            entry(link='<link href="7"/>', attributes='xml:base="jobs/"'), attributes='xml:base="https://example.org/"'
        ),
        LINK,
    ),
    "base of the link": (atom(entry(link='<link href="7" xml:base="/jobs/"/>')), LINK),
    "base of the channel": (rss(item(link="<link>7</link>")).replace("<channel>", '<channel xml:base="/jobs/">'), LINK),
    "base of the item": (rss(item(link="<link>7</link>")).replace("<item>", '<item xml:base="/jobs/">'), LINK),
    "alternate among others": (
        atom(
            entry(
                link='<link rel="self" href="/7.xml"/><link rel="enclosure" href="/7.pdf"/>'
                f'<link rel="edit" href="/e/7"/><link rel="alternate" href="{LINK}"/>'
            )
        ),
        LINK,
    ),
    "alternate by its registered name": (
        atom(entry(link=f'<link rel="http://www.iana.org/assignments/relation/alternate" href="{LINK}"/>')),
        LINK,
    ),
    "a page before data": (
        atom(entry(link=f'<link type="application/json" href="/7.json"/><link type="text/html" href="{LINK}"/>')),
        LINK,
    ),
    "nothing but self": (atom(entry(link=f'<link rel="self" href="{LINK}"/>')), LINK),
    "atom:link in RSS": (rss(item(link=f'<atom:link rel="self" href="/f"/><link>{LINK}</link>')), LINK),
    "a guid": (rss(item(link=f"<guid>{LINK}</guid>")), LINK),
    "an empty link before a guid": (rss(item(link=f"<link/><guid>{LINK}</guid>")), LINK),
    "a link to the top before a guid": (rss(item(link=f"<link>#</link><guid>{LINK}</guid>")), LINK),
    "a relative guid that is a link": (rss(item(link='<guid isPermaLink="true">/jobs/7</guid>')), LINK),
    "a guid that is no link": (rss(item(link='<guid isPermaLink="false">https://example.org/?p=7</guid>')), HOME),
    "a guid that is no address": (rss(item(link="<guid>JOB-2026-17</guid>")), HOME),
    "a link to write to": (rss(item(link="<link>mailto:jobs@example.org</link>")), HOME),
    "no link": (rss(item(link="")), HOME),
    "no link in Atom": (atom(entry(link="")), HOME),
    "through a counter": (
        rss(
            item(
                link=f"<link>https://feedproxy.google.com/~r/1</link><feedburner:origLink>{LINK}</feedburner:origLink>"
            )
        ),
        LINK,
    ),
    "RDF": (
        f'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><channel><title>V</title><items><rdf:Seq>'
        f'<rdf:li resource="{LINK}"/></rdf:Seq></items></channel><item rdf:about="{LINK}">{TITLE}</item></rdf:RDF>',
        LINK,
    ),
    "a page without a feed's type": (rss(item(), declared="<!-- made by hand -->\n"), LINK),
}


@pytest.mark.parametrize(("body", "link"), LINKS.values(), ids=LINKS)
@pytest.mark.parametrize("content_type", ["application/xml", "text/html"])
def test_an_item_leads_to_its_own_address_or_to_the_page_of_the_feed(body: str, link: str, content_type: str) -> None:
    assert [(job.title, job.apply_url) for job in read(body, content_type).jobs] == [("Water Officer", link)]


def test_guid_title_and_place_distinguish_items_without_links() -> None:
    place = "<location>Juba</location>"
    items = [
        item(link="<guid>JOB-17</guid>"),
        item(link="<guid>JOB-18</guid>"),
        item("<title>Driver</title>", "", place),
        item("<title>Driver</title>", "", place),
    ]
    jobs = read(rss(*items)).jobs
    assert [(job.title, job.reference) for job in jobs] == [
        ("Water Officer", "JOB-17"),
        ("Water Officer", "JOB-18"),
        ("Driver", ""),
    ]


def test_a_made_up_identifier_of_a_linked_item_is_no_reference() -> None:
    assert [job.reference for job in read(atom(entry())).jobs] == [""]
    assert [job.reference for job in read(rss(item(more="<referencenumber>VA-17</referencenumber>"))).jobs] == ["VA-17"]


SECOND = item("<title>Driver</title>", "<link>https://example.org/jobs/8</link>")
BOTH = ["Water Officer", "Driver"]
TORN = {
    "behind an item": (rss(item(), SECOND).removesuffix("</channel></rss>"), BOTH),
    "in the next item": (rss(item(), SECOND).removesuffix("</channel></rss>") + "<item><title>Nurse</title><li", BOTH),
    "in a description": (
        rss(item(), SECOND).removesuffix("</rss>")[:-10] + "<item><title>Nurse</title><x><![CDATA[y",
        BOTH,
    ),
    "behind the only item": (rss(item()).removesuffix("</channel></rss>"), BOTH[:1]),
    "in an address": (rss(item(), SECOND)[: -len("8</link></item></channel></rss>")], BOTH[:1]),
    "in an Atom entry": (atom(entry(), "<entry><title>Nur").removesuffix("</feed>"), BOTH[:1]),
}


@pytest.mark.parametrize(("body", "titles"), TORN.values(), ids=TORN)
def test_a_feed_that_breaks_off_keeps_every_whole_item(body: str, titles: list[str]) -> None:
    listing = read(body)
    assert ([job.title for job in listing.jobs], listing.is_cut) == (titles, True)


def test_a_feed_without_its_very_last_tag_is_whole() -> None:
    listing = read(rss(item(), SECOND).removesuffix("</rss>"))
    assert ([job.title for job in listing.jobs], listing.is_cut) == (BOTH, False)


def test_a_feed_that_breaks_off_before_its_first_item_ends_says_nothing_about_openings() -> None:
    assert read(rss(item())[:-50]).kind is ListingKind.UNREADABLE


def test_warnings_of_a_server_around_a_feed_are_passed_over() -> None:
    warning = "<br />\n<b>Warning</b>: session_start() in <b>/srv/feed.php</b><br />\n"
    assert [job.title for job in read(warning + rss(item()) + warning).jobs] == ["Water Officer"]


def test_an_empty_feed_may_be_an_apology() -> None:
    assert read(rss().replace("Vacancies", "503 Service Unavailable")).kind is ListingKind.ERROR_PAGE
    assert read(rss()).kind is ListingKind.NO_OPENINGS


def test_addresses_are_made_up_for_no_system_but_the_one_that_is_known_to_have_them() -> None:
    job = "<id>88123</id><name>Nurse</name>"
    known = read(f"<workzag-jobs><position>{job}</position></workzag-jobs>")
    assert [found.apply_url for found in known.jobs] == ["https://example.org/job/88123"]
    other = read(f"<jobs><job>{job}</job></jobs>")
    assert [(found.apply_url, found.reference) for found in other.jobs] == [(URL, "88123")]


def json_feed(*items: dict[str, object], **more: object) -> str:
    feed = {"version": "https://jsonfeed.org/version/1.1", "title": "Vacancies", "home_page_url": HOME, **more}
    return json.dumps({**feed, "items": list(items)})


@pytest.mark.parametrize(
    ("given", "link", "reference"),
    [
        ({"url": "/jobs/7"}, LINK, ""),
        ({"external_url": LINK}, LINK, ""),
        ({"id": LINK}, LINK, ""),
        ({"id": "job-17"}, HOME, "job-17"),
        ({"id": 17}, HOME, "17"),
        ({"id": "tag:example.org,2026:job-17"}, HOME, "job-17"),
        ({}, HOME, ""),
    ],
)
def test_a_json_feed_keeps_items_without_links(given: dict[str, object], link: str, reference: str) -> None:
    text = "Place of work: Juba. Deadline: 3 May 2026"
    [job] = read(json_feed({"title": "Water Officer", "content_text": text, **given}), "application/feed+json").jobs
    assert (job.title, job.apply_url, job.reference, job.found_by) == (
        "Water Officer",
        link,
        reference,
        ExtractionMethod.FEED,
    )
    assert job.deadline_raw == "3 May 2026"


def test_a_json_feed_may_be_empty_or_go_on() -> None:
    assert read(json_feed(authors=[{"name": "HR"}]), "application/json").kind is ListingKind.NO_OPENINGS
    more = json_feed({"id": "1", "title": "Nurse", "url": "/1"}, next_url="/feed.json?page=2")
    assert read(more, "application/json").next_url == "https://example.org/feed.json?page=2"


def news(title: str, *titles: str, more: str = "") -> str:
    items = (item(f"<title>{said}</title>", f"<link>/p/{at}</link>", more) for at, said in enumerate(titles))
    return rss(*items).replace("Vacancies", title)


NOT_JOBS = {
    "news": (news("News of the relief house", "We opened a well", "Rain at last"), "https://example.org/feed"),
    "a blog by its address": (news("Relief house", "We opened a well"), "https://example.org/blog/feed"),
    "a podcast": (
        news("Relief house", "Episode 1", "Episode 2", more='<enclosure url="/1.mp3" type="audio/mpeg"/>'),
        "https://example.org/feed",
    ),
    "news as JSON": (
        json_feed({"title": "We opened a well", "url": "/p/1"}, title="News"),
        "https://example.org/news.json",
    ),
}


@pytest.mark.parametrize(("body", "url"), NOT_JOBS.values(), ids=NOT_JOBS)
def test_news_and_recordings_are_no_jobs(body: str, url: str) -> None:
    listing = read(body, url=url)
    assert (listing.kind, listing.jobs) == (ListingKind.NOTHING_FOUND, ())
    assert "not jobs" in listing.message


@pytest.mark.parametrize(
    ("body", "url"),
    [
        (news("News and vacancies", "Agent d'appui", "Rain at last"), "https://example.org/feed"),
        (news("News", "We opened a well", "Water Officer"), "https://example.org/feed"),
        (news("სამუშაო", "წყლის ოფიცერი", "მძღოლი"), "https://example.org/feed"),
        (news("News", "წყლის ოფიცერი", more="<deadline>2026-12-01</deadline>"), "https://example.org/feed"),
        (news("News", "Wasserbauer/in"), "https://example.org/jobs/news/feed"),
    ],
)
def test_a_feed_that_may_be_about_jobs_is_read(body: str, url: str) -> None:
    assert read(body, url=url).kind is ListingKind.JOBS
