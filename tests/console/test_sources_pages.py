"""S0's admin pages in a real browser, against careers sites on loopback: each item of its acceptance list.

The items are named as S0 has them. Everything that is clicked here is a form that works without scripts, too.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from comity.database.sources.tables import job_postings
from comity.operate.seeds import add_seeds
from comity.operate.sources import add_source
from comity.reports.sources import list_runs, list_sources
from comity.rules.seed_list import read_seed
from tests.console.conftest import OpenPage
from tests.console.looks import check_page
from tests.doors.web.served import Served, served, until
from tests.walk.site import Answer, Site, Web
from tests.walk.sourcing import jobs, listing


@pytest.fixture
def web() -> Iterator[Web]:
    """Sites on loopback."""
    with Web() as found:
        yield found


def _add(page: Page, site: Site, name: str = "Relief House", **fields: str) -> None:
    """Add a source by the form."""
    page.goto(re.sub(r"/admin.*", "/admin/sources/new", page.url))
    page.get_by_label("Careers page").fill(site.url("/careers"))
    page.get_by_label("Organisation optional").fill(name)
    for label, value in fields.items():
        page.get_by_label(label).fill(value)
    page.get_by_role("button", name="Add", exact=True).click()


def _source(console: Served, **wanted: Any) -> Any:
    return list_sources(console.state.database, **wanted)[0][0]


def test_add_a_source_and_next_run_is_now_logs_appear_jobs_are_upserted_and_search_finds_them(
    visit: OpenPage, own_console: Served, web: Web
) -> None:
    openings = jobs(4)
    site = web.site({"/careers": listing(openings)})
    page = visit("/sources", of=own_console)
    expect(page.get_by_role("heading", name="No sources yet")).to_be_visible()
    check_page(page)
    page.get_by_role("main").get_by_role("link", name="Add a source").click()
    check_page(page)
    _add(page, site)
    expect(page.get_by_role("status")).to_contain_text("Added: due now.")
    expect(page.get_by_text("due now").first).to_be_visible()
    assert _source(own_console).next_run_at <= own_console.state.clock.now()
    page.get_by_role("button", name="Run now").click()
    expect(page.get_by_role("status")).to_contain_text("Queued")
    # Live: the figures follow without a reload.
    expect(page.locator(".live").get_by_text("ok", exact=True)).to_be_visible(timeout=60_000)
    expect(page.locator(".live")).to_contain_text("4 postings new or changed")
    page.reload()
    row = page.get_by_role("region", name="Latest runs").locator("tbody tr")
    expect(row).to_have_count(1)
    expect(row).to_contain_text("4")
    check_page(page)
    with own_console.state.database.read() as connection:
        assert len(connection.execute(job_postings.select()).all()) == 4
    until(lambda: own_console.state.search().query(_all()).total == 4)
    page.get_by_role("link", name="Postings of this source").click()
    expect(page.get_by_text("4 postings", exact=True)).to_be_visible()
    expect(page.get_by_role("link", name=openings[0].title)).to_be_visible()
    page.goto(f"{own_console.url}/admin/crawl/logs")
    expect(page.locator("#table-logs tbody tr")).to_have_count(1)


def test_a_source_that_is_added_runs_at_once_where_the_scheduler_runs(
    visit: OpenPage, sqlite_url: str, web: Web
) -> None:
    """The scheduler looks every five minutes; a person does not wait for that."""
    site, other = web.site({"/careers": listing(jobs(3))}), web.site({"/careers": listing(jobs(2))})
    with served(sqlite_url, schedules=True, env="dev") as running:
        page = visit("/sources", of=running)
        _add(page, site)
        expect(page.locator(".live").get_by_text("ok", exact=True)).to_be_visible(timeout=60_000)
        expect(page.locator(".live")).to_contain_text("3 postings new or changed")
        # So does one that is resumed.
        with running.client() as client:
            added = client.post("/admin/sources", json={"careers_url": other.url("/careers"), "approved": False}).json()
        page.goto(f"{running.url}/admin/sources/{added['id']}")
        page.get_by_role("button", name="Resume").click()
        expect(page.locator(".live").get_by_text("ok", exact=True)).to_be_visible(timeout=60_000)


def _all() -> Any:
    from comity.model.search import SearchQuery

    return SearchQuery()


def test_crawl_status_shows_due_count_decrease_while_running_after_run_due(
    visit: OpenPage, own_console: Served, web: Web
) -> None:
    released = threading.Event()
    held = web.site({"/careers": Answer(body=listing(jobs(2)), held=released)})
    quick = [web.site({"/careers": listing(jobs(1))}) for _ in range(2)]
    page = visit("/sources/new", of=own_console)
    for number, site in enumerate((held, *quick)):
        _add(page, site, f"House {number}")
    page.goto(f"{own_console.url}/admin/crawl")
    due = page.locator(".tile").filter(has_text="Due").locator(".tile-value")
    expect(due).to_have_text("3")
    # Run due starts them at once; the scheduler of this server is off, so nothing else would.
    page.get_by_role("button", name="Run due").click()
    expect(page.get_by_role("status")).to_contain_text("3 sources queued.")
    expect(due).to_have_text("1", timeout=60_000)
    expect(page.locator(".in-flight")).to_contain_text(held.url("/careers").removeprefix("http://"))
    released.set()
    expect(due).to_have_text("0", timeout=60_000)
    expect(page.locator(".in-flight")).to_contain_text("No source is running.", timeout=60_000)
    assert len(list_runs(own_console.state.database)) == 3
    check_page(page)


@pytest.mark.roomy
def test_policy_edits_take_effect_and_the_min_interval_is_enforced(
    visit: OpenPage, own_console: Served, web: Web
) -> None:
    site = web.site({"/careers": listing(jobs(1), following="/2"), "/2": listing(jobs(1, start=2))})
    page = visit("/sources/new", of=own_console)
    _add(page, site)
    page.locator("#policy summary").click()
    page.get_by_label("Milliseconds between requests").fill("-1")
    page.get_by_role("button", name="Save the policy").click()
    expect(page.locator("#policy .error")).to_be_visible()
    page.get_by_label("Milliseconds between requests").fill("400")
    page.get_by_role("button", name="Save the policy").click()
    expect(page.get_by_role("status")).to_contain_text("It applies to the next request")
    expect(page.locator("#policy summary")).to_contain_text("400 ms")
    page.get_by_role("button", name="Run now").click()
    until(lambda: list_runs(own_console.state.database))
    assert min(site.gaps()) >= 0.395


def test_robots_disallow_leads_to_status_blocked_with_message(visit: OpenPage, own_console: Served, web: Web) -> None:
    site = web.site({"/careers": listing(jobs(2))}, robots="User-agent: *\nDisallow: /careers\nCrawl-delay: 2\n")
    page = visit("/sources/new", of=own_console)
    _add(page, site)
    expect(page.locator("#robots")).to_contain_text("not read yet")
    page.get_by_role("button", name="Run now").click()
    expect(page.locator(".live")).to_contain_text("blocked", timeout=60_000)
    expect(page.locator(".live")).to_contain_text("robots disallow")
    page.reload()
    expect(page.locator("#robots")).to_contain_text("disallowed")
    expect(page.locator("#robots")).to_contain_text("/careers")
    page.goto(f"{own_console.url}/admin/sources?status=blocked")
    expect(page.locator("#table-sources tbody tr")).to_contain_text("robots disallow")
    assert site.pages() == []


def test_a_test_fetch_shows_the_headers_and_a_simulation_the_first_three_postings(
    visit: OpenPage, own_console: Served, web: Web
) -> None:
    site = web.site({"/careers": Answer(body=listing(jobs(5)), etag='"v1"', headers={"X-Secret": "hush-hush"})})
    page = visit("/sources/new", of=own_console)
    _add(page, site)
    page.get_by_role("button", name="Test fetch").click()
    trial = page.locator("#trial")
    expect(trial).to_contain_text('"v1"', timeout=60_000)
    expect(trial).to_contain_text("200")
    assert "hush-hush" not in page.content()
    page.get_by_role("button", name="Simulate extract").click()
    expect(trial.locator("article")).to_have_count(3, timeout=60_000)
    expect(trial).to_contain_text("5 postings")
    assert list_runs(own_console.state.database) == [], "nothing is stored"
    check_page(page)


def test_a_parser_hint_is_checked_while_typing_and_on_saving_without_scripts(
    visit: OpenPage, own_console: Served
) -> None:
    page = visit("/sources/new", of=own_console)
    hint = page.get_by_label("Parser hint")
    checked = page.locator("#field-parser_hint-checked")
    hint.press_sequentially('{"items"')
    expect(checked).to_contain_text("not JSON")
    hint.fill("greenhouse")
    expect(checked).to_contain_text("The hint can be used.")
    check_page(page)
    plain = visit("/sources/new", of=own_console, scripts=False)
    plain.get_by_label("Careers page").fill("https://a.example/jobs")
    plain.get_by_label("Parser hint").fill('{"items"')
    plain.get_by_role("button", name="Add", exact=True).click()
    expect(plain.locator("#field-parser_hint-error")).to_contain_text("not JSON")
    assert plain.get_by_label("Careers page").input_value() == "https://a.example/jobs", "what was entered is kept"
    plain.get_by_label("Parser hint").fill("greenhouse")
    plain.get_by_label("Careers page").fill("careers")
    plain.get_by_role("button", name="Add", exact=True).click()
    expect(plain.locator("#field-careers_url-error")).to_be_visible()
    assert list_sources(own_console.state.database)[1] == 0


def test_pause_resume_edit_and_delete_work_without_scripts(visit: OpenPage, own_console: Served, web: Web) -> None:
    page = visit("/sources/new", of=own_console, scripts=False)
    _add(page, web.site({"/careers": listing(jobs(1))}))
    for action, status in (("Pause", "paused"), ("Resume", "active")):
        page.get_by_role("button", name=action).click()
        expect(page.get_by_role("status")).to_contain_text(f"{action}d")
        assert _source(own_console).status == status
    page.get_by_role("link", name="Edit").click()
    page.get_by_label("Days between runs").fill("9")
    page.get_by_label("Time window").fill("22:00-05:00")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status").first).to_contain_text("Saved.")
    expect(page.get_by_role("status").first).to_contain_text("is ignored until a time zone or a country is set")
    source = _source(own_console)
    assert (source.crawl_frequency_days, source.time_window) == (9, "22:00-05:00")
    page.get_by_role("link", name="Delete").click()
    expect(page.get_by_role("heading", name="Delete Relief House?")).to_be_visible()
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("status")).to_contain_text("Deleted Relief House.")
    assert list_sources(own_console.state.database, status="deleted")[1] == 1


def test_a_window_offers_what_a_change_in_another_makes_possible(
    visit: OpenPage, own_console: Served, web: Web
) -> None:
    site = web.site({"/careers": listing(jobs(1))})
    here = visit("/sources", of=own_console)
    _add(here, site)
    with here.context.expect_page() as opened:
        here.evaluate("window.open(location.href)")
    there = opened.value
    expect(there.get_by_role("button", name="Pause")).to_be_visible()
    here.get_by_role("button", name="Pause").click()
    expect(here.get_by_role("status")).to_contain_text("Paused")
    expect(there.get_by_role("button", name="Resume")).to_be_visible(timeout=60_000)
    there.get_by_role("button", name="Resume").click()
    expect(there.get_by_role("status")).to_contain_text("Resumed")
    expect(here.get_by_role("button", name="Pause")).to_be_visible(timeout=60_000)
    here.get_by_role("link", name="Delete").click()
    here.get_by_role("button", name="Delete").click()
    expect(there.get_by_role("button", name="Run now")).to_have_count(0, timeout=60_000)


def test_ticked_sources_are_changed_at_once_and_a_list_is_imported(visit: OpenPage, own_console: Served) -> None:
    page = visit("/sources/import", of=own_console)
    lines = [f"https://{number}.example/jobs,House {number},ngo" for number in range(3)]
    page.get_by_label("List of sources").fill("\n".join(["careers_url,org_name,org_type", *lines, "nonsense,,"]))
    page.get_by_role("button", name="Check only").click()
    expect(page.locator("#report")).to_contain_text("Nothing was changed")
    expect(page.locator("#report tbody tr")).to_have_count(4)
    page.get_by_role("button", name="Import").click()
    expect(page.locator("#report")).to_contain_text("Nothing was added")
    page.get_by_label("Skip rows that cannot be used").check()
    page.get_by_role("button", name="Import").click()
    expect(page.locator("#report")).to_contain_text("The list was imported.")
    check_page(page)
    page.goto(f"{own_console.url}/admin/sources")
    page.get_by_label("All rows of this page").check()
    page.locator("form.bulk").get_by_role("button", name="Pause").click()
    expect(page.get_by_role("status")).to_contain_text("3 sources paused.")
    page.get_by_role("status").get_by_role("button", name="Resume").click()
    expect(page.get_by_role("status")).to_contain_text("3 sources resumed.")
    assert list_sources(own_console.state.database, status="active")[1] == 3


def test_ticked_sources_are_deleted_only_after_a_question_also_without_scripts(
    visit: OpenPage, own_console: Served
) -> None:
    for number in range(2):
        add_source(own_console.state.database, own_console.state.clock, f"https://{number}.example/jobs", approved=True)
    page = visit("/sources", of=own_console, scripts=False)
    for _ in range(2):
        for box in page.get_by_role("checkbox", name="Select").all():
            box.check()
        page.locator("form.bulk").get_by_role("button", name="Delete").click()
        expect(page.get_by_role("heading", name="Delete 2 sources?")).to_be_visible()
        assert list_sources(own_console.state.database)[1] == 2
        page.get_by_role("link", name="Cancel").click()
    page.get_by_role("checkbox", name="Select").first.check()
    page.locator("form.bulk").get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("status")).to_contain_text("1 source deleted.")
    assert list_sources(own_console.state.database)[1] == 1


def test_the_table_of_sources_filters_sorts_and_exports_by_its_url(visit: OpenPage, console: Served) -> None:
    page = visit("/sources")
    rows = page.locator("#table-sources tbody tr")
    page.get_by_role("columnheader", name="Organisation").get_by_role("link").click()
    expect(rows.first).to_contain_text("Clean Water Now")
    page.locator("#filter-sources-status").select_option("paused")
    expect(rows).to_have_count(2)
    expect(page).to_have_url(re.compile("status=paused"))
    expect(page).to_have_url(re.compile("sort=org_name"))
    page.get_by_role("searchbox").fill("soil")
    expect(rows).to_have_count(1)
    with page.expect_download() as downloading:
        page.get_by_role("link", name="CSV").click()
    text = downloading.value.path().read_text()
    assert len(text.splitlines()) == 2
    assert "Institute for Soil Studies" in text
    # What is paused or blocked has no next run, and comes last in either direction.
    for order in ("next_run_at", "-next_run_at"):
        page.goto(f"{console.url}/admin/sources?sort={order}")
        shown = rows.locator("td[data-label='Next run']").all_inner_texts()
        assert shown[-3:] == ["–"] * 3, order
        assert "–" not in shown[:-3], order
    page.goto(f"{console.url}/admin/sources?status=nonsense&colour=red")
    expect(page.get_by_text("Ignored in the address: status, colour.")).to_be_visible()


def test_postings_are_searched_narrowed_by_facets_and_shown_as_text(visit: OpenPage) -> None:
    page = visit("/postings")
    total = page.locator(".hits > p").first
    expect(total).to_have_text("60 postings")
    page.get_by_role("link", name=re.compile("^Switzerland ?[78]$")).click()
    expect(page.locator(".chip")).to_contain_text("Country: Switzerland")
    page.get_by_role("searchbox").fill("protection")
    expect(page.locator("mark").first).to_have_text(re.compile("protection", re.IGNORECASE))
    expect(page).to_have_url(re.compile("country_iso=CH"))
    expect(page).to_have_url(re.compile("q=protection"))
    page.locator(".chip").click()
    expect(page.locator(".chip")).to_have_count(0)
    # Key by key, as people type: the page has just been replaced, and may not listen to the very first one.
    page.get_by_role("searchbox").fill("")
    page.get_by_role("searchbox").press_sequentially("script")
    expect(page.locator(".hits")).to_contain_text("<script>alert(0)</script>")
    check_page(page)  # no message: the script of the title did not run


def test_a_source_leads_to_its_host_once_there_is_a_page_about_it(visit: OpenPage, own_console: Served) -> None:
    state = own_console.state
    source = add_source(state.database, state.clock, "https://careers.example/jobs", approved=False)
    page = visit(f"/sources/{source.id}", of=own_console)
    link = page.get_by_role("link", name="careers.example", exact=True)
    expect(page.locator("#robots")).to_be_visible()
    expect(link).to_have_count(0)
    add_seeds(state.database, state.clock, [read_seed("https://careers.example/")])
    page.reload()
    link.click()
    expect(page.get_by_role("heading", name="careers.example")).to_be_visible()
