"""Shapes of real boards and applicant systems: where title, link, place and last day are, and what is none of them."""

from __future__ import annotations

import json

import pytest

from comity.extract.jobs.addresses import leads_away
from comity.extract.jobs.read import read_listing
from comity.extract.jobs.text import is_known_place, place_in_title
from comity.model.job import JobFound, Listing, ListingKind, SourceType
from comity.model.parser_hint import HintProblem
from comity.rules.parser_hint import parse_hint

JOBS = (
    ("Programme Officer", "Nairobi, Kenya", "30 November 2026", "101"),
    ("Field Driver", "Lodwar, Kenya", "5 December 2026", "102"),
    ("Nutrition Specialist", "Gaziantep, Türkiye", "12 December 2026", "103"),
)
TITLES = [title for title, *_ in JOBS]
PLACES = [place for _, place, *_ in JOBS]
LAST_DAYS = [day for _, _, day, _ in JOBS]


def read(body: str, url: str = "https://ngo.example.org/vacancies", lang: str = "en") -> Listing:
    name = "NGO" if url.endswith("/t") else "Vacancies"
    page = f'<!doctype html><html lang="{lang}"><head><title>{name}</title></head><body>{body}</body></html>'
    return read_listing(page.encode(), url=url, content_type="text/html; charset=utf-8", source_type=SourceType.HTML)


def rows(template: str) -> str:
    """One row a job; T, P, D and I stand for its title, place, last day and number, C for its town."""
    return "".join(
        template.replace("{T}", title)
        .replace("{P}", place)
        .replace("{C}", place.split(",")[0])
        .replace("{D}", day)
        .replace("{I}", number)
        for title, place, day, number in JOBS
    )


def titles(jobs: tuple[JobFound, ...]) -> list[str]:
    return [job.title for job in jobs]


META = (
    '<div class="mt-1 text-md"><span>Programmes</span><span class="mx-[2px]">&middot;</span><span>{C}</span>'
    '<span class="mx-[2px]">&middot;</span><span class="inline-flex">Hybrid</span></div>'
)


@pytest.mark.parametrize(
    "card",
    [
        '<span class="text-block-base-link" title="{T}">{T}</span>' + META,
        '<span class="company-link-style hyphens-auto" title="{T}">{T}</span>' + META,
        '<div class="h-full"><img src="x.jpg" alt=""></div><div class="p-4"><h3 class="text-xl">{T}</h3>'
        + META
        + "</div>",
        "<span>{T}</span><span>Programmes</span><span>{C}</span>",
        "{T}" + META,
    ],
)
def test_a_card_that_is_one_link_has_a_title_and_a_town_apart(card: str) -> None:
    items = rows(f'<li class="w-full"><a href="https://aid.teamtailor.com/jobs/{{I}}-x">{card}</a></li>')
    listing = read(
        f'<main><h2>Open positions</h2><ul id="jobs_list_container">{items}</ul></main>',
        "https://aid.teamtailor.com/jobs",
    )
    assert titles(listing.jobs) == TITLES
    assert [job.location_raw for job in listing.jobs] == [place.split(",")[0] for place in PLACES]


@pytest.mark.parametrize(
    "row",
    [
        '<div class="v"><h3><a href="/v/{I}">{T}</a></h3><p>Save the Children Kenya</p><p>{P}</p></div>',
        '<div class="v"><h3><a href="/v/{I}">{T}</a></h3><p>Oxfam, Uganda</p><p>{P}</p></div>',
        '<div class="v"><a href="/v/{I}">{T}</a><span class="duty_station">{P}</span><span>P-3</span></div>',
        '<div class="v"><a href="/v/{I}">{T}</a><span class="vacancy__dutyStation">{P}</span><span>P-3</span></div>',
        '<div class="v"><a href="/v/{I}">{T}</a><span class="DutyStation">{P}</span><span>P-3</span></div>',
        '<div class="v"><a href="/v/{I}">{T}</a><p>Duty Station: {P}</p></div>',
        '<div class="v"><a href="/v/{I}">{T}</a><i title="Location"></i> {P}</div>',
        '<div class="v"><a href="/v/{I}">{T}</a><span data-ui="job-location">{P}</span><span>Health</span></div>',
        '<article><h3><a href="/v/{I}">{T}</a></h3><footer><dl><dt>Country</dt><dd>{P}</dd></dl></footer></article>',
        '<section><h3>{P}</h3><ul><li><a href="/v/{I}"><h4>{T}</h4></a></li></ul></section>',
    ],
)
def test_places_are_found_and_organisations_are_none(row: str) -> None:
    listing = read(f"<main><h1>Vacancies</h1>{rows(row)}</main>")
    assert [(job.title, job.location_raw) for job in listing.jobs] == list(zip(TITLES, PLACES, strict=True))


def test_organisations_alone_are_no_places() -> None:
    employers = ("Save the Children Kenya", "Mercy Corps, Uganda", "University of Nairobi")
    body = "".join(
        f'<li><a href="/v/{number}">{title}</a> <span>{employer}</span> <span>{day}</span></li>'
        for (title, _, day, number), employer in zip(JOBS, employers, strict=True)
    )
    listing = read(f"<h1>Jobs</h1><ul>{body}</ul>")
    assert [(job.title, job.location_raw) for job in listing.jobs] == [(title, "") for title in TITLES]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Nairobi", True),
        ("Nairobi, Kenya", True),
        ("Lwala, Kenya", True),
        ("Halle (Saale)", True),
        ("São Paulo – SP", True),
        ("Kenya", True),
        ("Oxfam Nigeria", False),
        ("Kenya Red Cross Society", False),
        ("World Vision, Uganda", False),
        ("HR", False),
        ("AR-014", False),
        ("Finance", False),
    ],
)
def test_a_place_is_known_by_the_gazetteer(text: str, expected: bool) -> None:
    assert is_known_place(text) is expected


@pytest.mark.parametrize(
    ("title", "place"),
    [
        ("Water Officer - Nairobi, Kenya", "Nairobi, Kenya"),
        ("Water Officer – Kampala", "Kampala"),
        ("Water Officer, Amman, Jordan", "Amman, Jordan"),
        ("Water Officer (Geneva)", "Geneva"),
        ("Officer, Water and Sanitation", ""),
        ("Finance Manager - Grants", ""),
        ("Consultant (m/f)", ""),
    ],
)
def test_a_title_may_end_with_the_place(title: str, place: str) -> None:
    assert place_in_title(title) == place


@pytest.mark.parametrize(
    "address",
    [
        "https://www.facebook.com/sharer.php?u=https%3A%2F%2Fngo.example.org%2Fjobs%2F1",
        "https://share.example.com/x?url=https://ngo.example.org/jobs/1",
        "https://portal.example.com/login?return=https%3A%2F%2Fngo.example.org%2Fjobs%2F1",
        "https://twitter.com/ngo/jobs",
        "https://t.me/ngo",
    ],
)
def test_an_address_that_is_handed_another_leads_away(address: str) -> None:
    assert leads_away(address)
    assert not leads_away("https://ngo.example.org/jobs/1?ref=VA/2026/1")


def test_links_to_share_follow_and_apply_later_are_no_jobs_and_replace_none() -> None:
    card = (
        '<div class="card"><h3><a href="/post/{I}">{T}</a></h3><p>{P}</p>'
        '<a href="https://www.facebook.com/sharer.php?u=https%3A%2F%2Fngo.example.org%2Fjobs%2F{I}">Share</a> '
        '<a href="https://twitter.com/intent/tweet?url=https://ngo.example.org/jobs/{I}">Tweet</a> '
        '<a href="/jobs/later/{I}">Apply later</a> <a href="/jobs/save/{I}">Save job</a>'
        '<a href="https://portal.example.com/go?next=https://ngo.example.org/jobs/{I}">Read</a></div>'
    )
    listing = read(f"<main><h1>Vacancies</h1>{rows(card)}</main>")
    assert titles(listing.jobs) == TITLES
    assert [job.apply_url for job in listing.jobs] == [f"https://ngo.example.org/post/{number}" for *_, number in JOBS]


@pytest.mark.parametrize(
    "said",
    [
        "<p>Closing for application: {D}</p>",
        "<p>Application Deadline: {D}</p>",
        "<p>Applications close on {D}</p>",
        "<p>Deadline {D}</p>",
        '<p><abbr title="Closing date">⏳</abbr> {D}</p>',
        '<p data-label="Closing date">{D}</p>',
        '<span class="vacancy__closingDate">{D}</span>',
        "<table><tr><td>Deadline</td><td>{D}</td></tr></table>",
    ],
)
def test_last_days_are_found(said: str) -> None:
    listing = read(
        f"<main><h1>Vacancies</h1>{rows(f'<div class=v><h4><a href=/v/{{I}}>{{T}}</a></h4>{said}</div>')}</main>"
    )
    assert [job.deadline_raw for job in listing.jobs] == LAST_DAYS


def test_a_last_day_inside_a_description_for_machines_is_found() -> None:
    posting = {
        "@type": "JobPosting",
        "title": "Nurse",
        "description": "<p>Duties</p><p><strong>Application Deadline</strong>: 30 November 2026</p>",
    }
    [job] = read(f'<script type="application/ld+json">{json.dumps(posting)}</script>').jobs
    assert job.deadline_raw == "30 November 2026"


DATA = [{"name": title, "city": place, "closing": "2026-11-30", "link": f"/job/{i}"} for title, place, _, i in JOBS]
TEXT = json.dumps(DATA)
LIST_IN_HTML = "<h2>Vacancies</h2><ul>" + rows("<li><a href='/v/{I}'>{T}</a><br>Location: {P}</li>") + "</ul>"


@pytest.mark.parametrize(
    "page",
    [
        f"<script>window.acme = {TEXT};</script>",
        f"<script>var my_openings={TEXT}, other = [];</script>",
        f"<script>render('#app', {{items: {TEXT}}});</script>",
        f"<script>const x = JSON.parse({json.dumps(TEXT)});</script>",
        "<script>let rows = ["
        + ",".join(f"{{name: '{t}', city: '{p}', link: '/job/{i}'}}" for t, p, _, i in JOBS)
        + "]</script>",
        f"<div id=app data-props='{json.dumps({'offers': DATA})}'></div>",
        f'<script type="application/json" id="x">{json.dumps({"a": {"b": DATA}})}</script>',
        f"<script>self.__next_f.push([1,{json.dumps('5:' + json.dumps(['$', 'div', {'jobs': DATA}]))}])</script>",
        f"<script>window.page = {json.dumps({'blocks': [{'html': LIST_IN_HTML}]})};</script>",
    ],
)
def test_data_for_scripts_are_read_under_any_name(page: str) -> None:
    listing = read(f"<main><h1>Vacancies</h1>{page}</main>")
    assert titles(listing.jobs) == TITLES
    assert [job.location_raw for job in listing.jobs] == PLACES
    assert all(job.apply_url.startswith("https://ngo.example.org/") for job in listing.jobs)


def test_other_data_of_a_page_that_shows_jobs_are_no_jobs() -> None:
    news = [
        {"title": title, "url": f"/news/{at}"} for at, title in enumerate(("Manager of the year", "Driver wins prize"))
    ]
    shown = rows('<li><a href="/v/{I}">{T}</a> {P}</li>')
    page = f"<main><h1>Vacancies</h1><ul>{shown}</ul></main><script>window.news = {json.dumps(news)}</script>"
    assert titles(read(page).jobs) == TITLES


def test_json_without_addresses_says_which_hint_would_help() -> None:
    value = {"vacancies": [{"jobTitle": title, "location": place, "id": i} for title, place, _, i in JOBS]}
    url = "https://ngo.example.org/api"
    listing = read_listing(
        json.dumps(value).encode(), url=url, content_type="application/json", source_type=SourceType.API
    )
    assert listing.kind is ListingKind.LAYOUT_CHANGED
    assert "3 items without an address" in listing.message
    hint = parse_hint(listing.message[listing.message.index("{") :])
    assert not isinstance(hint, HintProblem)
    again = read_listing(
        json.dumps(value).encode(), url=url, content_type="application/json", source_type=SourceType.API, hint=hint
    )
    assert titles(again.jobs) == TITLES


SIMILAR = "<ul>" + rows('<li><a href="/jobs/{I}-x">{T}</a> {P}</li>') + "</ul>"


@pytest.mark.parametrize(
    ("body", "lang", "title"),
    [
        (
            "<h1>Finance Officer</h1><dl><dt>Location</dt><dd>Juba</dd><dt>Closing date</dt><dd>1 May 2027</dd></dl>"
            f"<h2>Requirements</h2><p>x</p><section><h2>Similar jobs</h2>{SIMILAR}</section>",
            "en",
            "Finance Officer",
        ),
        (
            "<h1>Vacancy details</h1><h2>Finance Officer</h2><table><tr><td>Location</td><td>Juba</td></tr><tr><td>"
            f"Deadline</td><td>1 May 2027</td></tr></table><h3>Duties</h3><p>x</p><h3>Latest vacancies</h3>{SIMILAR}",
            "en",
            "Finance Officer",
        ),
        (
            "<h1>Pénzügyi munkatárs</h1><p>Munkavégzés helye: Pécs</p><p>Jelentkezési határidő: 2027. május 1.</p>"
            f"<h3>Feladatok</h3><p>x</p><h3>Elvárások</h3><p>y</p><h3>Hasonló állások</h3>{SIMILAR}",
            "hu",
            "Pénzügyi munkatárs",
        ),
        (
            f"<h1>项目官员</h1><p>工作地点：北京</p><p>截止日期：2027年5月1日</p><h3>岗位职责</h3><p>x</p><h3>相关职位</h3>{SIMILAR}",
            "zh",
            "项目官员",
        ),
    ],
)
def test_a_page_of_one_posting_gives_it_and_not_the_similar_ones(body: str, lang: str, title: str) -> None:
    url = "https://ngo.example.org/jobs/77"
    [job] = read(f"<main>{body}</main>", url, lang).jobs
    assert (job.title, job.apply_url) == (title, url)
    assert job.location_raw in ("Juba", "Pécs", "北京")
    assert "2027" in job.deadline_raw


def test_of_several_postings_for_machines_the_page_has_its_own() -> None:
    names = ("Finance Officer", "Nurse", "Cook")
    postings = [
        {"@type": "JobPosting", "title": name, "url": f"https://ngo.example.org/jobs/{at}"}
        for at, name in enumerate(names)
    ]
    body = (
        f'<script type="application/ld+json">{json.dumps(postings)}</script><h1>Finance Officer</h1><p>Long text.</p>'
    )
    assert titles(read(body, "https://ngo.example.org/jobs/0").jobs) == ["Finance Officer"]
    assert titles(read(body, "https://ngo.example.org/jobs").jobs) == list(names)


@pytest.mark.parametrize(
    "row",
    [
        "<details><summary><span>{T}</span> <span class=loc>{P}</span></summary><h4>Your tasks</h4><p>x</p>"
        '<a class="btn" href="/apply?p={I}">Apply</a></details>',
        '<div class="card"><h4>Tasks</h4><p class="name">{T}</p><a class="btn" href="/apply?p={I}">Apply</a></div>',
        '<figure><a href="/v/{I}"><img alt="" src="f.jpg"></a><figcaption><b>{T}</b><br>{P}</figcaption></figure>',
        '<div class="b"><a href="/v/{I}"><span>📌</span><span>{T}</span></a></div><div class="b">📍 {P}</div>',
        '<tr><th scope="row"><a href="/v/{I}">{T}</a></th><td>{P}</td></tr>',
        '<article><h3><a href="/v/{I}">{T} <span class="badge">New</span></a></h3><p>{P}</p></article>',
        '<li><a href="/v/{I}">Vacancy announcement: {T}</a></li>',
    ],
)
def test_titles_are_those_of_the_jobs(row: str) -> None:
    body = rows(row)
    body = f"<table>{body}</table>" if row.startswith("<tr") else f"<ul>{body}</ul>" if row.startswith("<li") else body
    assert titles(read(f"<main><h1>Vacancies</h1>{body}</main>").jobs) == TITLES


def test_bold_titles_in_one_cell_are_jobs() -> None:
    lines = rows("<b>{T}</b><br>Location: {P}<br>Closing date: {D}<br><br>")
    listing = read(f"<table><tr><td><font size=2>{lines}</font></td></tr></table>")
    assert [(job.title, job.location_raw, job.deadline_raw) for job in listing.jobs] == [job[:3] for job in JOBS]


def test_two_jobs_in_one_document_are_two() -> None:
    pairs = (("Nurse", "all"), ("Driver", "all"), ("Cook", "cook"))
    body = "".join(f'<li><a href="/{name}.pdf">{title}</a></li>' for title, name in pairs)
    assert titles(read(f"<h1>Vacancies</h1><ul>{body}</ul>").jobs) == ["Nurse", "Driver", "Cook"]


def test_joiners_stay_where_scripts_need_them() -> None:
    names = ("برنامه\u200cنویس ارشد", "ශ්\u200dරී ලංකා සම්බන්ධීකාරක", "Developer 👩\u200d💻")
    body = "".join(f'<li><a href="/v/{at}">{name}</a> Colombo</li>' for at, name in enumerate(names))
    assert titles(read(f"<h1>Vacancies</h1><ul>{body}</ul>").jobs) == list(names)


@pytest.mark.parametrize(
    "heading", ["Consultancies", "Nursing jobs", "Recruitment of experts", "Doctors and nurses wanted", "Head office"]
)
@pytest.mark.parametrize(
    "items",
    [
        "<table><tr><th>Title</th><th>Location</th><th>Deadline</th></tr>"
        + rows('<tr><td><a href="/v/{I}">{T}</a></td><td>{P}</td><td>{D}</td></tr>')
        + "</table>",
        "<h2>Requirements</h2><p>Location: various</p><ul>" + rows('<li><a href="/v/{I}">{T}</a> – {P}</li>') + "</ul>",
    ],
)
def test_a_heading_that_reads_like_a_job_does_not_hide_the_list_below_it(heading: str, items: str) -> None:
    assert titles(read(f"<main><h1>{heading}</h1>{items}</main>", "https://ngo.example.org/careers").jobs) == TITLES


def test_rows_that_say_they_are_closed_are_left_out() -> None:
    body = "".join(
        f'<tr><td><a href="/v/{title}">{title}</a></td><td>Juba</td><td>{state}</td></tr>'
        for title, state in (("Nurse", "Open"), ("Driver", "Closed"), ("Cook", "Selection completed"))
    )
    table = f"<table><tr><th>Position</th><th>Duty station</th><th>Status</th></tr>{body}</table>"
    assert titles(read(f"<h1>Vacancies</h1>{table}").jobs) == ["Nurse"]


@pytest.mark.parametrize(
    ("heading", "lang"),
    [
        ("Tenders", "en"),
        ("Procurement notices", "en"),
        ("Тендери", "uk"),
        ("Licitaciones", "es"),
        ("Közbeszerzések", "hu"),
    ],
)
def test_a_table_of_tenders_has_no_jobs(heading: str, lang: str) -> None:
    names = ("Supply of water pumps", "Rehabilitation of a clinic", "Printing services")
    body = "".join(
        f"<tr><td><a href=/t/{at}>{name}</a></td><td>T-{at}</td><td>Juba</td><td>1.5.2027</td></tr>"
        for at, name in enumerate(names)
    )
    header = "<tr><th>Title</th><th>Reference</th><th>Location</th><th>Deadline</th></tr>"
    listing = read(f"<main><h1>{heading}</h1><table>{header}{body}</table></main>", "https://ngo.example.org/t", lang)
    assert listing.kind is ListingKind.NOTHING_FOUND


def test_a_label_and_its_value_in_one_cell_are_apart() -> None:
    row = (
        '<a class="row" href="/job/{I}"><div class="c"><span class="c__label">Job Title</span><span>{T}</span></div>'
        '<div class="c"><span class="c__label">Location</span><span>{P}</span></div>'
        '<div class="c"><span class="c__label">Apply by</span><span>{D}</span></div></a>'
    )
    listing = read(f"<main><h1>Vacancies</h1>{rows(row)}</main>")
    assert [(job.title, job.location_raw, job.deadline_raw) for job in listing.jobs] == [job[:3] for job in JOBS]
