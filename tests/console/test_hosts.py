"""Hosts, why and stored pages in a browser: every function."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

import redis
from playwright.sync_api import Route, expect
from sqlalchemy import update

from comity.database.connection import Database
from comity.database.tables import domain_frontier
from comity.model.host import HostStatus
from comity.operate.policy import get_policy
from comity.operate.runs import pause_hosts
from comity.operate.seeds import add_seeds
from comity.reports.host_lists import host_overview
from comity.rules.seed_list import read_seed
from tests.console.conftest import OpenPage
from tests.console.looks import check_page
from tests.console.seed_hosts import HOSTILE, HOSTILE_URL, PLAIN, XSS, seed_histories
from tests.doors.web.served import Served, served, until

HOST_PARTS = ("", "/requests", "/urls", "/evidence", "/fetches", "/moves", "/cooldown", "/reset")


def test_nothing_that_was_crawled_runs(visit: OpenPage, console: Served) -> None:
    paths = [f"/hosts/{HOSTILE}{part}" for part in HOST_PARTS]
    paths += [f"/robots/{HOSTILE}?url=/private&agent=badbot", f"/domain_policies/{HOSTILE}", "/hosts", "/pages"]
    paths += ["/pages/query?sql=SELECT * FROM pages WHERE url LIKE '%25hostile%25'"]
    page = visit("/hosts")
    for path in paths:
        page.goto(f"{console.url}/admin{path}")
        assert page.evaluate("window.ran") is None, path
    for path, name in (
        ("/pages/view", "url"),
        ("/why", "url"),
        ("/pages", "text"),
        ("/hosts", "q"),
        ("/pages", "host"),
    ):
        for value in (HOSTILE_URL, XSS):
            page.goto(f"{console.url}/admin{path}?{name}={quote(value, safe='')}")
            assert page.evaluate("window.ran") is None, path
    page.goto(f"{console.url}/admin/pages/view?part=source&url={quote(HOSTILE_URL, safe='')}")
    expect(page.locator("pre.source")).to_contain_text("<script>window.ran=1</script>")
    assert page.evaluate("window.ran") is None
    assert page.locator("main script, main img, main svg[onload]").count() == 0


def test_hosts_are_filtered_sorted_paged_and_exported_by_url(visit: OpenPage, console: Served) -> None:
    page = visit("/hosts?limit=25")
    rows = page.locator("#table-hosts tbody tr")
    expect(rows).to_have_count(25)
    page.get_by_role("link", name="Next").click()
    expect(page).to_have_url(re.compile("after="))
    expect(rows.first).to_be_visible()
    page.goto(f"{console.url}/admin/hosts")
    page.get_by_role("searchbox", name="Search by name").fill("harbour")
    expect(rows).to_have_count(1)
    page.goto(f"{console.url}/admin/hosts?status=blocked&sort=domain&nonsense=1")
    expect(page.get_by_text("Ignored in the address: nonsense.")).to_be_visible()
    names = [text.split()[0] for text in rows.all_inner_texts()]
    assert names == sorted(names)
    with console.client(headers={"Accept": "text/html"}) as client:
        lines = client.get("/admin/hosts", params={"format": "csv", "status": "blocked"}).text.splitlines()
        assert lines[0].startswith("domain,status,")
        assert len(lines) == len(names) + 1
        assert client.get("/admin/hosts", params={"after": "nonsense"}).status_code == 200
        assert client.get("/admin/hosts/unknown.example").status_code == 404


def test_what_stands_beside_a_table_is_of_its_rows_after_a_filter(visit: OpenPage) -> None:
    page = visit("/hosts/harbour-museum.example/urls")
    order = page.get_by_text("The next URLs, in the order in which they are visited.")
    expect(order).to_be_visible()
    state = page.locator("#filter-frontier-state")
    assert state.locator("option").all_inner_texts() == ["State: queued", "done", "dropped", "too deep"]
    state.focus()
    state.select_option("done")
    expect(page).to_have_url(re.compile(r"/urls\?state=done$"))
    expect(order).to_have_count(0)
    expect(state).to_be_focused()
    page.goto(page.url.replace("/urls?state=done", "/requests"))
    plots = page.get_by_role("heading", name="Requests against allowed slots")
    expect(plots).to_be_visible()
    page.locator("#filter-requests-purpose").select_option("page")
    expect(plots).to_have_count(0)  # requests for robots.txt between them are not in it
    page.go_back()
    expect(plots).to_be_visible()


def test_typing_into_a_search_keeps_its_place(visit: OpenPage) -> None:
    page = visit("/hosts")
    box = page.get_by_role("searchbox", name="Search by name")
    box.focus()
    for letter in "harb":
        box.press(letter)
        expect(page).to_have_url(re.compile(f"q=h?a?r?b?$|q=.*{letter}$"))
    box.press("Home")
    box.press("Delete")
    expect(page).to_have_url(re.compile("q=arb$"))
    expect(box).to_be_focused()
    assert box.input_value() == "arb"
    assert box.evaluate("each => each.selectionStart") == 0


def test_what_is_typed_while_an_answer_comes_is_kept_and_asked_for(visit: OpenPage) -> None:
    page = visit("/hosts")
    held: list[Route] = []
    page.route(re.compile("q=h$"), lambda route: held.append(route))
    box = page.get_by_role("searchbox", name="Search by name")
    box.press("h")
    until(lambda: page.wait_for_timeout(20) or bool(held))
    box.press_sequentially("x b")
    box.press("ArrowLeft")
    held[0].continue_()
    expect(page).to_have_url(re.compile(r"q=hx(\+|%20)b$"))
    expect(box).to_be_focused()
    expect(box).to_have_value("hx b")
    expect(page.locator("#table-hosts tbody tr")).to_have_count(0)


def test_a_search_that_ends_with_a_blank_is_sent_once(visit: OpenPage) -> None:
    page = visit("/hosts")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    box = page.get_by_role("searchbox", name="Search by name")
    box.press_sequentially("harb ")
    expect(page.locator("#table-hosts tbody tr")).to_have_count(1)
    page.wait_for_timeout(1000)
    assert len([url for url in asked if "q=harb" in url]) <= 2
    assert box.input_value().strip() == "harb"


def test_requests_are_shown_against_their_slots(visit: OpenPage) -> None:
    page = visit(f"/hosts/{PLAIN}/requests")
    expect(page.get_by_text("No request of this page started before its slot.")).to_be_visible()
    assert page.locator(".plot-timeline").count() == 2  # a day lies between the two runs
    closed = page.locator(".plot-timeline").first.locator(".lane", has_text="Closed").locator("rect")
    assert closed.count() > 5
    expect(page.locator(".plot-timeline").first.locator(".lane", has_text="Requested pauses")).to_be_visible()
    expect(page.locator("#table-requests tbody tr").first).to_contain_text("s after")


def test_the_deciding_lines_of_robots_txt_are_marked_for_any_url_and_crawler(visit: OpenPage) -> None:
    page = visit(f"/robots/{PLAIN}")
    page.get_by_label("URL or path").fill("/private/secret")
    page.get_by_role("button", name="Try").click()
    expect(page.locator(".lines .is-deny")).to_contain_text("Disallow: /private")
    expect(page.locator(".lines .is-agent")).to_contain_text("User-agent: *")
    expect(page.locator(".verdict")).to_contain_text("disallowed")
    page.get_by_label("URL or path").fill("/private/open/door")
    page.get_by_role("button", name="Try").click()
    expect(page.locator(".lines .is-allow")).to_contain_text("Allow: /private/open")
    page.get_by_label("Crawler").fill("badbot")
    page.get_by_role("button", name="Try").click()
    expect(page.locator(".lines .is-deny")).to_contain_text("Disallow: /")
    page.get_by_label("URL or path").fill("https://other.example/")
    page.get_by_role("button", name="Try").click()
    expect(page.locator(".notice-bad")).to_be_visible()
    check_page(page)


def test_why_names_what_decided_and_leads_on(visit: OpenPage) -> None:
    page = visit("/hosts")
    page.get_by_label("Why: a URL to explain").fill(f"https://{PLAIN}/private/x")
    page.keyboard.press("Enter")
    expect(page.locator(".why-decision")).to_be_visible()
    expect(page.locator(".chain li").first).to_be_visible()
    page.get_by_role("link", name="robots.txt").click()
    expect(page.locator(".lines .is-deny")).to_be_visible()
    page = visit("/why?url=ftp://nowhere")
    expect(page.locator(".notice-bad")).to_be_visible()
    # Of a host that was never seen there is no page to lead to, but a crawl to start.
    page = visit("/why?url=https://never-seen.example/a")
    expect(page.get_by_role("link", name="Host", exact=True)).to_have_count(0)
    page.get_by_role("link", name="Start a crawl").click()
    expect(page.get_by_label("Where to start")).to_have_value("https://never-seen.example/a")


def test_stored_pages_are_found_shown_and_queried(visit: OpenPage, console: Served) -> None:
    page = visit("/pages")
    page.get_by_role("searchbox", name="Text in the title or the page").fill("LIGHTHOUSE")
    expect(page.locator("#table-pages tbody tr")).to_have_count(5)
    page.locator("#table-pages tbody a.row-link").first.click()
    expect(page.locator("pre.source")).to_contain_text("The harbour museum keeps the Lighthouse lenses.")
    page.get_by_role("link", name="Source", exact=True).click()
    expect(page.locator("pre.source")).to_contain_text("<!doctype html>")
    page.goto(f"{console.url}/admin/pages/query")
    page.get_by_label("SQL").fill("SELECT title, count(*) AS n FROM pages GROUP BY ALL ORDER BY n DESC, title")
    page.get_by_role("button", name="Run").click()
    expect(page.locator(".answer tbody tr").first).to_contain_text("Charts of the bay")
    assert [each.get_attribute("class") for each in page.locator(".answer tbody tr").first.locator("td").all()] == [
        None,
        "num",
    ]
    page.get_by_label("SQL").fill("SELECT title FROM pages WHERE url = 'none'")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("heading", name="0 rows")).to_be_visible()
    page.get_by_label("SQL").fill("SELECT * FROM read_csv('/etc/passwd')")
    page.get_by_role("button", name="Run").click()
    expect(page.locator(".notice-bad")).to_contain_text("only the table pages")
    assert page.locator(".answer").count() == 0
    expect(page.get_by_label("SQL")).to_have_value("SELECT * FROM read_csv('/etc/passwd')")
    page.goto(f"{console.url}/admin/pages/view?url=https://{PLAIN}/missing")
    expect(page.get_by_text("This page is not stored")).to_be_visible()


def test_the_urls_of_a_host_are_shown_from_a_frontier_in_redis(shared_database: Database, redis_url: str) -> None:
    place = shared_database.engine.url.render_as_string(hide_password=False)
    with redis.Redis.from_url(redis_url) as server:
        server.config_set("appendonly", "yes")  # as the frontier requires
    with (
        served(place, env="dev", redis_url=redis_url) as running,
        running.client(headers={"Accept": "text/html"}) as client,
    ):
        seeds = [read_seed(f"https://shelf.example/{name}") for name in ("a", "b")]
        add_seeds(running.state.database, running.state.clock, seeds, frontier=running.state.frontier)
        shown = client.get("/admin/hosts/shelf.example/urls")
        assert (shown.status_code, "/a</a>" in shown.text, "/b</a>" in shown.text) == (200, True, True)
        assert client.get("/admin/hosts/shelf.example/urls?state=done").status_code == 200
        overview = client.get("/admin/hosts/shelf.example")
        assert (overview.status_code, "URLs queued" in overview.text) == (200, True)
        assert re.search(r'Queued</a></div>\s*<div class="tile-value"><span class="figure">2<', shown.text)


def test_queued_urls_are_in_the_order_of_their_turn_where_an_option_names_the_state(
    migrated_sqlite_file: Path, tmp_path: Path
) -> None:
    path = tmp_path / "comity.sqlite"
    shutil.copy(migrated_sqlite_file, path)
    # `--state` clears the variable of Redis to "": the frontier is in the database, whose queries are bounded.
    with served(f"sqlite:///{path}", env="dev", redis_url="") as running, running.client() as client:
        state = running.state
        add_seeds(state.database, state.clock, [read_seed(f"https://shelf.example/{name}") for name in "abc"])
        with state.database.write() as connection:
            last = domain_frontier.c.url == "https://shelf.example/c"
            connection.execute(update(domain_frontier).where(last).values(priority=9))
        urls = client.get("/admin/hosts/shelf.example/urls").json()["urls"]
        assert [each["url"][-1] for each in urls] == ["c", "a", "b"]


def test_a_host_that_is_left_to_a_person_says_so_and_workers_may_go_on(visit: OpenPage, own_console: Served) -> None:
    state = own_console.state
    add_seeds(state.database, state.clock, [read_seed("https://shelf.example/")])
    pause_hosts(state.database, ["shelf.example"], uuid4())
    page = visit("/hosts/shelf.example", of=own_console)
    expect(page.get_by_role("main")).to_contain_text("Workers do not crawl this host")
    page.get_by_role("button", name="Let workers continue").click()
    expect(page.get_by_text("Workers may crawl this host again.")).to_be_visible()
    assert state.leases().has_candidate()


def test_limits_cooldown_and_reset_of_a_host(visit: OpenPage, own_console: Served) -> None:
    seed_histories(own_console.state)
    state, blocked = own_console.state, "observatory-03.example"
    page = visit(f"/domain_policies/{blocked}", of=own_console)
    page.get_by_label("Milliseconds between requests").fill("-5")
    page.get_by_role("button", name="Save limits").click()
    expect(page.locator(".field.has-error")).to_be_visible()
    page.get_by_label("Milliseconds between requests").fill("7500")
    page.get_by_label("Leave out").fill("/calendar/*\n/print/*")
    page.get_by_role("button", name="Save limits").click()
    expect(page.get_by_text("The limits apply from the next request.")).to_be_visible()
    policy = get_policy(state.database, blocked)
    assert policy is not None
    assert (policy.min_request_interval_ms, policy.exclude) == (7500, ("/calendar/*", "/print/*"))
    page.get_by_role("link", name="Cool down").click()
    page.get_by_label("Do not crawl for").select_option("168")
    page.get_by_label("Reason").fill("they asked")
    page.get_by_role("button", name="Cool down").click()
    expect(page.get_by_text("No worker takes it before")).to_be_visible()
    expect(page.locator(".notice time")).to_have_attribute("title", re.compile("UTC$"))  # shown in the viewer's zone
    page.get_by_role("link", name="Reset").click()
    page.get_by_role("button", name="Reset").click()
    expect(page.get_by_text("Reset: it is pending now")).to_be_visible()
    page.get_by_role("link", name="Transitions").click()
    expect(page.locator("#table-transitions tbody tr").first).to_contain_text("pending")
    row = host_overview(state.database, blocked).columns
    assert (row["status"], row["next_crawl_after"]) == (HostStatus.PENDING, None)
    page.goto(f"{own_console.url}/admin/hosts/{PLAIN}/reset")  # a worker holds it
    page.get_by_role("button", name="Reset").click()
    expect(page.get_by_text("stop that crawl first")).to_be_visible()
