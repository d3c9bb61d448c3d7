"""Single formats of job postings: structured data, answers of applicant systems, paging, and pages without jobs."""

from __future__ import annotations

import json

import pytest

from comity.extract.jobs.read import distinct, read_listing
from comity.extract.jobs.systems.boards import public_answer
from comity.extract.lenient_json import read_lenient
from comity.model.job import ExtractionMethod, JobFound, Listing, ListingKind, SourceType
from comity.model.parser_hint import HintProblem
from comity.rules.parser_hint import parse_hint

URL = "https://example.org/jobs"


def read(body: str, *, url: str = URL, content_type: str | None = "text/html", hint: str | None = None) -> Listing:
    parsed = parse_hint(hint) if hint is not None else None
    assert not isinstance(parsed, HintProblem)
    return read_listing(body.encode(), url=url, content_type=content_type, source_type=SourceType.HTML, hint=parsed)


def posting(**fields: object) -> JobFound:
    value = {"@type": "JobPosting", "title": "Nurse", **fields}
    [job] = read(f'<script type="application/ld+json">{json.dumps(value)}</script>').jobs
    return job


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1,}', {"a": 1}),
        ("[1, 2, // two\n]", [1, 2]),
        ('{"a": /* x */ "b"}', {"a": "b"}),
        ('<!-- {"a": 1} -->', {"a": 1}),
        ('//<![CDATA[\n{"a": 1}\n//]]>', {"a": 1}),
        ('/*<![CDATA[*/{"a": 1}/*]]>*/', {"a": 1}),
        ('{"a": "line\nbreak"}', {"a": "line\nbreak"}),
        ("{&quot;a&quot;: 1}", {"a": 1}),
        ('{"a": 1};', {"a": 1}),
        ('{"a": "http://x//y, }"}', {"a": "http://x//y, }"}),
        ('{"a": 1} {"b": 2}', [{"a": 1}, {"b": 2}]),
        (r'{"a": "it\'s"}', {"a": r"it\'s"}),
        ("nothing", None),
        ("", None),
    ],
)
def test_json_is_read_as_pages_write_it(text: str, value: object) -> None:
    assert read_lenient(text) == value


@pytest.mark.parametrize(
    ("fields", "name", "said"),
    [
        ({"hiringOrganization": "Aid"}, "org_name", "Aid"),
        ({"hiringOrganization": {"@type": "Organization", "name": "Aid"}}, "org_name", "Aid"),
        ({"jobLocation": "Oslo"}, "location_raw", "Oslo"),
        ({"jobLocation": {"address": {"addressLocality": "Oslo", "addressCountry": "NO"}}}, "location_raw", "Oslo, NO"),
        ({"jobLocation": [{"address": "Oslo"}, {"address": "Bergen"}]}, "location_raw", "Oslo; Bergen"),
        ({"jobLocation": {"address": {"addressCountry": {"name": "Norway"}}}}, "country_raw", "Norway"),
        ({"jobLocationType": "TELECOMMUTE"}, "workplace_raw", "TELECOMMUTE"),
        (
            {"applicantLocationRequirements": [{"name": "Norway"}, {"name": "Iceland"}]},
            "location_raw",
            "Norway; Iceland",
        ),
        ({"employmentType": ["FULL_TIME", "INTERN"]}, "employment_raw", "FULL_TIME, INTERN"),
        ({"validThrough": "2026-05-01"}, "deadline_raw", "2026-05-01"),
        ({"datePosted": "2026-04-01"}, "posted_raw", "2026-04-01"),
        ({"identifier": {"@type": "PropertyValue", "value": 77}}, "reference", "77"),
        ({"identifier": "R-1"}, "reference", "R-1"),
        ({"description": "<p>Care &amp; <b>more</b></p>"}, "description_snippet", "Care & more"),
        ({"description": "&lt;p&gt;Care&lt;/p&gt;"}, "description_snippet", "Care"),
        ({"url": "/jobs/7"}, "apply_url", "https://example.org/jobs/7"),
        ({"@id": "#job"}, "apply_url", URL),
        ({"@type": ["Thing", "http://schema.org/JobPosting"]}, "title", "Nurse"),
    ],
)
def test_a_posting_is_read_in_all_its_spellings(fields: dict[str, object], name: str, said: str) -> None:
    job = posting(**fields)
    assert getattr(job, name) == said
    assert job.found_by is ExtractionMethod.JSON_LD


def test_a_snippet_is_short_and_plain() -> None:
    assert len(posting(description="word " * 1000).description_snippet) <= 500


def test_postings_without_addresses_get_those_of_the_links_with_their_titles() -> None:
    value = [{"@type": "JobPosting", "title": title} for title in ("Nurse", "Cook")]
    listing = read(
        f'<script type="application/ld+json">{json.dumps(value)}</script>'
        '<main><a href="/jobs/1">Nurse</a><a href="/jobs/2">Cook</a></main>'
    )
    assert [job.apply_url for job in listing.jobs] == ["https://example.org/jobs/1", "https://example.org/jobs/2"]


@pytest.mark.parametrize(
    ("url", "count", "following"),
    [
        ("https://api.lever.co/v0/postings/x?limit=2", 2, "https://api.lever.co/v0/postings/x?limit=2&skip=2"),
        ("https://api.lever.co/v0/postings/x?limit=2&skip=2", 2, "https://api.lever.co/v0/postings/x?limit=2&skip=4"),
        ("https://api.lever.co/v0/postings/x?limit=3", 2, None),
        ("https://api.lever.co/v0/postings/x", 2, None),
    ],
)
def test_lever_is_paged_by_full_pages(url: str, count: int, following: str | None) -> None:
    items = [
        {"text": f"Nurse {at}", "hostedUrl": f"https://jobs.lever.co/x/{at}", "categories": {}} for at in range(count)
    ]
    assert read(json.dumps(items), url=url).next_url == following


@pytest.mark.parametrize(("offset", "following"), [(0, "offset=2"), (2, None)])
def test_smartrecruiters_is_paged_by_its_figures(offset: int, following: str | None) -> None:
    item = {"id": "1", "name": "Nurse", "releasedDate": "x", "company": {"identifier": "X"}}
    value = {"offset": offset, "limit": 2, "totalFound": 3, "content": [item]}
    listing = read(json.dumps(value), url=f"https://api.smartrecruiters.com/v1/companies/X/postings?offset={offset}")
    assert (listing.next_url is None) == (following is None)
    assert following is None or following in str(listing.next_url)


def test_an_answer_of_a_known_system_without_jobs_says_that_there_are_none() -> None:
    listing = read('{"jobs": [], "meta": {"total": 0}}', url="https://boards-api.greenhouse.io/v1/boards/x/jobs")
    assert listing.kind is ListingKind.NO_OPENINGS


def test_a_known_answer_under_another_name_is_known_by_its_shape() -> None:
    value = {
        "jobs": [{"title": "Zzz", "absolute_url": "https://a.org/1", "internal_job_id": 1, "location": {"name": "X"}}]
    }
    [job] = read(json.dumps(value), url="https://proxy.example/boards").jobs
    assert (job.title, job.location_raw, job.found_by) == ("Zzz", "X", ExtractionMethod.APPLICANT_SYSTEM)


@pytest.mark.parametrize(
    ("links", "url"),
    [
        ({"self": "https://api.a.org/v1/jobs/1"}, "https://api.a.org/v1/jobs/1"),
        ({"self": "https://api.a.org/v1/jobs/1", "alternate": {"href": "/jobs/1"}}, "https://a.org/jobs/1"),
        ({"careersite-job-url": "/jobs/1-nurse", "self": "https://api.a.org/v1/jobs/1"}, "https://a.org/jobs/1-nurse"),
    ],
)
def test_the_page_of_an_item_comes_before_its_own_json(links: dict[str, object], url: str) -> None:
    value = {"data": [{"id": "1", "type": "jobs", "links": links, "attributes": {"title": "Nurse"}}]}
    [job] = read(json.dumps(value), url="https://a.org/v1/jobs").jobs
    assert job.apply_url == url


def test_a_guarded_answer_is_read() -> None:
    assert len(read(')]}\',\n[{"title": "Nurse", "url": "/1", "location": "Oslo"}]').jobs) == 1
    assert len(read('callback([{"title": "Nurse", "url": "/1", "location": "Oslo"}]);').jobs) == 1


NEXT_PAGES = {
    '<head><link rel="next" href="?page=2"></head>': "https://example.org/jobs?page=2",
    '<a rel="next" href="/jobs/page/2">x</a>': "https://example.org/jobs/page/2",
    '<a href="?page=2">Next</a>': "https://example.org/jobs?page=2",
    '<a href="?page=2">Suivant »</a>': "https://example.org/jobs?page=2",
    '<a href="?page=2">Siguiente</a>': "https://example.org/jobs?page=2",
    '<a href="?page=2">Nächste Seite</a>': "https://example.org/jobs?page=2",
    '<a href="?page=2">التالي</a>': "https://example.org/jobs?page=2",
    '<a href="?page=2">下一页</a>': "https://example.org/jobs?page=2",
    '<a href="?page=2">次へ</a>': "https://example.org/jobs?page=2",
    '<a href="?page=2" aria-label="Next page"><svg></svg></a>': "https://example.org/jobs?page=2",
    '<ul class="pagination"><li>1<li><a href="?p=2">2</a><li><a href="?p=3">3</a></ul>': "https://example.org/jobs?p=2",
    '<ul class="pagination"><li>1<li><a href="?start=10">2</a></ul>': "https://example.org/jobs?start=10",
    '<a href="https://other.example/jobs?page=2">Next</a>': None,
    '<a href="/jobs">Next</a>': None,
    '<a href="#">Next</a>': None,
    '<a class="disabled" href="?page=2">Next</a>': None,
    '<a href="/news/next-steps">Next steps for farmers</a>': None,
    '<a href="?page=2">Previous</a>': None,
}


@pytest.mark.parametrize(("body", "following"), NEXT_PAGES.items(), ids=NEXT_PAGES.keys())
def test_the_next_page_is_found_and_nothing_else(body: str, following: str | None) -> None:
    assert read(body).next_url == following


def test_numbered_pages_go_on_from_the_page_that_is_read() -> None:
    body = '<div class="pager">' + "".join(f'<a href="?page={at}">{at + 1}</a>' for at in range(5)) + "</div>"
    assert read(body, url=f"{URL}?page=2").next_url == f"{URL}?page=3"
    assert read(body, url=f"{URL}?page=4").next_url is None


NO_OPENINGS = {
    "en": "There are no open positions at this time.",
    "en, short": "No vacancies.",
    "fr": "Aucun poste n'est à pourvoir actuellement.",
    "es": "No hay vacantes disponibles.",
    "de": "Aktuell sind keine Stellen frei.",
    "pt": "No momento não há vagas abertas.",
    "it": "Al momento non ci sono posizioni aperte.",
    "nl": "Er zijn momenteel geen vacatures.",
    "ar": "لا توجد وظائف شاغرة حالياً",
    "ru": "На данный момент открытых вакансий нет.",
    "zh": "目前暂无职位",
    "ja": "現在募集している求人はありません。",
    "sv": "Vi har inga lediga tjänster.",
}


@pytest.mark.parametrize("notice", NO_OPENINGS.values(), ids=NO_OPENINGS.keys())
def test_a_page_may_say_that_there_are_no_openings(notice: str) -> None:
    listing = read(f"<title>Jobs</title><h1>Jobs</h1><p>{notice}</p>")
    assert listing.kind is ListingKind.NO_OPENINGS
    assert listing.message


@pytest.mark.parametrize(
    ("header", "place", "deadline"),
    [
        ("Position|Duty station|Closing date", "Location", "Deadline"),
        ("Intitulé du poste|Lieu|Date limite", "Lieu", "Date limite"),
        ("Puesto|Ubicación|Fecha límite", "Lugar", "Fecha de cierre"),
        ("Stelle|Einsatzort|Bewerbungsfrist", "Standort", "Bewerbungsschluss"),
        ("Vaga|Local|Prazo", "Local", "Prazo"),
        ("Posizione|Sede|Scadenza", "Sede", "Scadenza"),
        ("Functie|Standplaats|Sluitingsdatum", "Locatie", "Sluitingsdatum"),
        ("المسمى الوظيفي|مكان العمل|آخر موعد", "الموقع", "آخر موعد للتقديم"),
        ("Должность|Город|Срок подачи", "Город", "Срок подачи заявок"),
        ("岗位名称|工作地点|截止日期", "地点", "截止日期"),
        ("職種|勤務地|応募締切", "勤務地", "締切"),
    ],
)
def test_headers_and_labels_are_known_in_many_languages(header: str, place: str, deadline: str) -> None:
    heads = "".join(f"<th>{word}</th>" for word in header.split("|"))
    [job] = read(
        f"<title>Jobs</title><table><tr>{heads}</tr>"
        '<tr><td><a href="/jobs/1">Manager</a></td><td>Xanadu</td><td>3/5/2026</td></tr></table>'
    ).jobs
    assert (job.location_raw, job.deadline_raw, job.found_by) == ("Xanadu", "3/5/2026", ExtractionMethod.TABLE)
    jobs = read(
        "<title>Jobs</title>"
        + "".join(
            f'<div class="job"><h3><a href="/jobs/{at}">Manager {at}</a></h3>'
            f"<p>{place}: Xanadu</p><p>{deadline}: 3/5/2026</p></div>"
            for at in range(2)
        )
    ).jobs
    assert [(job.location_raw, job.deadline_raw) for job in jobs] == [("Xanadu", "3/5/2026")] * 2


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("", ListingKind.UNREADABLE),
        ("%PDF-1.7 …", ListingKind.UNREADABLE),
        ("{broken", ListingKind.UNREADABLE),
        ("<title>Just a moment...</title><p>Checking your browser</p>", ListingKind.CAPTCHA),
        ('<title>x</title><script src="https://geo.captcha-delivery.com/c.js"></script>', ListingKind.CAPTCHA),
        ("<title>Sign in</title><form><input type=password></form>", ListingKind.LOGIN),
        ("<title>Seite nicht gefunden</title><h1>Fehler</h1>", ListingKind.ERROR_PAGE),
        ("<title>503 Service Temporarily Unavailable</title>", ListingKind.ERROR_PAGE),
        ("<p>Please enable JS and disable any ad blocker</p>", ListingKind.CAPTCHA),
        ("<form method=post><input type=hidden name=SAMLRequest value=x><p>Continue</p></form>", ListingKind.LOGIN),
        ("<title>Sign in to your account</title><form><input type=email></form>", ListingKind.LOGIN),
        ("<title>Down for maintenance</title><h1>We’ll be back soon!</h1>", ListingKind.ERROR_PAGE),
        ("<title>En mantenimiento</title><h1>Sitio en mantenimiento</h1>", ListingKind.ERROR_PAGE),
        ("<b>Fatal error</b>: Uncaught PDOException: SQLSTATE[HY000] in jobs.php", ListingKind.ERROR_PAGE),
        ("<title>Too Many Requests</title><p>Slow down.</p>", ListingKind.ERROR_PAGE),
        ('{"errors": [{"message": "timeout"}], "data": null}', ListingKind.ERROR_PAGE),
        ('{"success": false, "jobs": []}', ListingKind.ERROR_PAGE),
        ('{"status": 401, "message": "Unauthorized"}', ListingKind.ERROR_PAGE),
        ('{"errors": [], "status": "ok", "jobs": []}', ListingKind.NO_OPENINGS),
        ("<title>About us</title><p>We plant trees.</p>", ListingKind.NOTHING_FOUND),
    ],
)
def test_a_page_without_jobs_says_what_it_is(body: str, kind: ListingKind) -> None:
    listing = read(body)
    assert (listing.kind, listing.jobs) == (kind, ())
    assert listing.message


def test_a_known_system_that_answers_with_an_error_does_not_say_that_there_are_no_jobs() -> None:
    url = "https://boards-api.greenhouse.io/v1/boards/relief/jobs"
    answers = ('{"jobs": [], "meta": {"total": 0}}', '{"status": 500, "error": "try again", "jobs": []}')
    kinds = [
        read_listing(each.encode(), url=url, content_type=None, source_type=SourceType.API).kind for each in answers
    ]
    assert kinds == [ListingKind.NO_OPENINGS, ListingKind.ERROR_PAGE]


def test_a_hint_does_not_hide_a_wall() -> None:
    hint = '{"item": ".job", "title": "a"}'
    assert read("<title>Sign in</title><form><input type=password></form>", hint=hint).kind is ListingKind.LOGIN
    assert read("<title>503 Service Unavailable</title>", hint=hint).kind is ListingKind.ERROR_PAGE


def test_a_hint_that_finds_nothing_is_named() -> None:
    listing = read('<ul><li class="job"><a href="/1">Nurse</a></li></ul>', hint='{"item": ".gone", "title": "a"}')
    assert listing.kind is ListingKind.NOTHING_FOUND
    assert ".gone" in listing.message
    listing = read('{"a": 1}', hint='{"items": "jobs", "title": "t", "url": "u"}')
    assert "items" in listing.message


def test_a_hint_without_a_link_takes_the_items_first_link() -> None:
    [job] = read('<p class="x"><b>Nurse</b> <a href="/7">go</a></p>', hint='{"item": ".x", "title": "b"}').jobs
    assert (job.apply_url, job.found_by) == ("https://example.org/7", ExtractionMethod.HINT)


def test_relative_addresses_follow_the_base_element() -> None:
    [job] = read(
        '<base href="https://cdn.example/a/"><h1>Vacancies</h1><ul><li><a href="b/job-1.pdf">Finance Officer</a>'
        " – closing date: 3 May 2026</li></ul>"
    ).jobs
    assert job.apply_url == "https://cdn.example/a/b/job-1.pdf"


def test_one_posting_is_kept_once() -> None:
    jobs = [
        JobFound("Nurse", "https://example.org/jobs/1?utm_source=x"),
        JobFound("Nurse", "https://www.example.org/jobs/1", location_raw="Oslo"),
        JobFound("Nurse", "https://example.org/jobs/1b", reference="R-100"),
        JobFound("Nurse", "https://example.org/jobs/1c", reference="R-100"),
        JobFound("Nurse", URL, location_raw="Oslo"),
        JobFound("Cook", URL),
    ]
    kept = distinct(jobs, URL)
    # One reference and title may be those of several offices; the link is not.
    assert [job.apply_url.rpartition("/")[2] for job in kept] == ["1", "1b", "1c", "jobs", "jobs"]
    assert kept[0].location_raw == "Oslo"


@pytest.mark.parametrize(
    ("embedded", "leads_to"),
    [
        (
            '<div id="grnhse_app"></div><script src="https://boards.greenhouse.io/embed/job_board/js?for=aid"></script>',
            "https://boards-api.greenhouse.io/v1/boards/aid/jobs?content=true",
        ),
        (
            '<iframe src="https://job-boards.eu.greenhouse.io/embed/job_board?b=https%3A%2F%2Fx&amp;for=aid"></iframe>',
            "https://boards-api.eu.greenhouse.io/v1/boards/aid/jobs?content=true",
        ),
        (
            "<script>fetch('https://api.lever.co/v0/postings/aid?group=team&mode=json')</script>",
            "https://api.lever.co/v0/postings/aid?mode=json",
        ),
        (
            '<iframe data-src="https://jobs.ashbyhq.com/aid/embed"></iframe>',
            "https://api.ashbyhq.com/posting-api/job-board/aid",
        ),
        (
            "<script>whr(document).ready(function(){ whr_embed( 4711, {detail: 'titles'}) })</script>",
            "https://www.workable.com/api/accounts/4711?details=true",
        ),
        ('<script src="//aid.bamboohr.com/js/embed.js"></script>', "https://aid.bamboohr.com/careers/list"),
        ('<iframe src="https://aid.recruitee.com/"></iframe>', "https://aid.recruitee.com/api/offers/"),
        ('<iframe src="https://aid.jobs.personio.de/?language=en"></iframe>', "https://aid.jobs.personio.de/xml"),
        ('<iframe src="/portal/vacancies#top"></iframe>', "https://aid.example/portal/vacancies"),
        ('<iframe src="https://hr.example/widget" title="Job openings"></iframe>', "https://hr.example/widget"),
        ('<iframe src="https://video.example/embed/42" title="Our work"></iframe>', None),
        ('<iframe src="https://docs.google.com/forms/d/1" title="Job application"></iframe>', None),
        ('<iframe src="https://www.youtube.com/embed/1" title="A job at ours"></iframe>', None),
        ('<iframe src="about:blank" title="Jobs"></iframe><iframe title="Jobs"></iframe>', None),
    ],
)
def test_an_embedded_board_is_where_a_page_without_jobs_goes_on(embedded: str, leads_to: str | None) -> None:
    body = f"<!doctype html><title>Join us</title><h1>Join us</h1><p>Our openings:</p>{embedded}"
    listing = read(body, url="https://aid.example/join")
    assert (listing.kind, listing.next_url) == (ListingKind.NOTHING_FOUND, leads_to)


@pytest.mark.parametrize(
    ("page", "answer"),
    [
        (
            "https://acme.wd3.myworkdayjobs.com/en-US/Careers",
            "https://acme.wd3.myworkdayjobs.com/wday/cxs/acme/Careers/jobs",
        ),
        ("https://apply.workable.com/acme/", "https://apply.workable.com/api/v1/widget/accounts/acme"),
        ("https://careers.smartrecruiters.com/Acme", "https://api.smartrecruiters.com/v1/companies/Acme/postings"),
        ("https://acme.bamboohr.com/careers", "https://acme.bamboohr.com/careers/list"),
        ("https://acme.recruitee.com/", "https://acme.recruitee.com/api/offers/"),
        (
            "https://boards.greenhouse.io/embed/job_board/js?for=acme",
            "https://boards-api.greenhouse.io/v1/boards/acme/jobs",
        ),
        ("https://acme.jobs.personio.de/?language=de", "https://acme.jobs.personio.de/xml"),
        ("https://jobs.ashbyhq.com/acme", "https://api.ashbyhq.com/posting-api/job-board/acme"),
        ("https://jobs.eu.lever.co/acme", "https://api.eu.lever.co/v0/postings/acme?mode=json"),
        ("https://www.example.org/careers", ""),
        ("https://acme.wd3.myworkdayjobs.com/wday/cxs/acme/Careers/jobs", ""),
    ],
)
def test_a_board_that_is_filled_by_a_script_tells_where_its_jobs_are_answered(page: str, answer: str) -> None:
    assert public_answer(page) == answer
    shell = b'<html><body><div id="root"></div><script src="/app.js"></script></body></html>'
    listing = read_listing(shell, url=page, content_type="text/html", source_type=SourceType.HTML)
    assert listing.kind is ListingKind.NOTHING_FOUND
    assert answer in listing.message
