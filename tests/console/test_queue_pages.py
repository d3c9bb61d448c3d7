"""The pages of the queue, as S3's admin has them: policies, jobs, results, bots and webhooks, in a real browser."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from uuid import UUID

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import update

from comity.assemble import State
from comity.database.queue.tables import crawl_jobs, crawl_policies
from comity.model.queue import JobStatus
from comity.operate.bots import get_bot
from comity.operate.queue import add_policy
from comity.operate.webhooks import DELIVERIES, list_webhooks
from comity.reports.queue import JOBS, POLICIES, RESULTS, find_job, find_policy
from comity.upkeep.sweep_queue import make_due_jobs
from tests.console.conftest import OpenPage
from tests.console.looks import check_page, faults
from tests.console.queue_seeding import HOSTILE_TITLE
from tests.doors.web.served import Served


class _Accepts(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[str]:
    """A URL that accepts every call."""
    with HTTPServer(("127.0.0.1", 0), _Accepts) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/hook"
        server.shutdown()
        thread.join(30)


def notice(page: Page) -> str:
    return page.locator(".notices .notice").inner_text()


def rows(page: Page, table: str) -> int:
    return page.locator(f"#table-{table} tbody tr").count()


def a_policy(state: State, number: int = 1, **columns: object) -> UUID:
    return add_policy(state.database, state.clock, f"https://shop.example/{number}", **columns)


def lock(state: State, job_id: UUID, bot: str = "bot-1", minutes: int = 5) -> None:
    """Have a bot hold a job for some more minutes."""
    now = state.clock.now()
    at = now - timedelta(minutes=10 - minutes)
    values = {"status": "locked", "locked_by": bot, "locked_at": at, "lock_ends_at": at + timedelta(minutes=10)}
    with state.database.write() as connection:
        connection.execute(update(crawl_jobs).where(crawl_jobs.c.id == job_id).values(**values))


def fail(state: State, job_id: UUID) -> None:
    lock(state, job_id)
    with state.database.write() as connection:
        values = {"status": "failed", "error_msg": "HTTP 500", "finished_at": state.clock.now()}
        connection.execute(update(crawl_jobs).where(crawl_jobs.c.id == job_id).values(**values))


def test_a_policy_is_added_by_the_form_and_faults_are_shown_at_their_fields(
    own_console: Served, visit: OpenPage
) -> None:
    page = visit("/crawl_policies", of=own_console)
    expect(page.locator(".empty")).to_contain_text("No policies yet")
    page.get_by_role("link", name="Add a policy").click()
    page.get_by_label("URL", exact=True).fill("ftp://shop.example/1")
    page.get_by_label("Priority").fill("7")
    page.get_by_role("button", name="Add").click()
    expect(page.locator("#field-url-error")).to_be_visible()
    expect(page.get_by_label("Priority")).to_have_value("7")  # what was entered is kept
    page.get_by_label("URL", exact=True).fill("https://shop.example/1")
    page.get_by_label("Configuration").fill("{not json")
    page.get_by_role("button", name="Add").click()
    expect(page.locator("#field-crawl_config-error")).to_contain_text("not JSON")
    assert faults(page) == []
    page.get_by_label("Configuration").fill('{"selector": ".price"}')
    page.get_by_role("button", name="Add").click()
    expect(page.locator("h1")).to_have_text("shop.example/1")
    assert "Added" in notice(page)
    (policy,) = POLICIES.page(own_console.state.database).items
    assert (policy.priority, policy.crawl_config, policy.enabled) == (7, {"selector": ".price"}, True)
    page.goto(f"{own_console.url}/admin/crawl_policies/new")
    page.get_by_label("URL", exact=True).fill("https://shop.example/1")
    page.get_by_role("button", name="Add").click()
    expect(page.locator("#field-url-error")).to_contain_text("already has a policy")


def test_a_policy_is_run_paused_resumed_edited_and_deleted(own_console: Served, visit: OpenPage) -> None:
    state = own_console.state
    policy_id = a_policy(state)
    page = visit(f"/crawl_policies/{policy_id}", of=own_console)
    page.get_by_role("button", name="Run now").click()
    expect(page.locator(".notice")).to_contain_text("due now")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("main .badge").first).to_have_text("paused")
    assert not find_policy(state.database, str(policy_id)).enabled
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("main .badge").first).to_have_text("enabled")
    page.get_by_role("link", name="Edit").click()
    page.get_by_label("Hours between crawls").fill("6")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".notice")).to_contain_text("Saved")
    changed = find_policy(state.database, str(policy_id))
    assert (changed.frequency_hours, changed.enabled) == (6, True)
    page.get_by_role("link", name="Delete").click()
    expect(page.locator("main")).to_contain_text("is deleted with its jobs and results")
    page.get_by_role("button", name="Delete").click()
    expect(page.locator(".notice")).to_contain_text("Deleted")
    assert POLICIES.page(state.database).items == ()


def test_policies_are_changed_in_bulk_and_filtered_by_their_url(own_console: Served, visit: OpenPage) -> None:
    state = own_console.state
    for number in range(3):
        a_policy(state, number, priority=5)
    page = visit("/crawl_policies", of=own_console)
    page.get_by_label("All rows of this page").check()
    page.get_by_role("button", name="Pause").click()
    expect(page.locator(".notice")).to_contain_text("Paused 3 policies")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".notice")).to_contain_text("Resumed 3 policies")
    assert all(policy.enabled for policy in POLICIES.page(state.database).items)
    page.get_by_label("All rows of this page").check()
    page.get_by_role("button", name="Pause").click()
    expect(page.locator(".notice")).to_contain_text("Paused 3 policies")
    page.get_by_label("State").select_option("enabled")
    expect(page.locator("#table-crawl_policies .empty")).to_contain_text("Nothing matches")
    expect(page).to_have_url(re.compile("state=enabled"))
    page.get_by_label("State").select_option("disabled")
    expect(page.locator("#table-crawl_policies tbody tr")).to_have_count(3)
    page.locator("[data-tick]").first.check()
    page.get_by_role("button", name="Set priority").click()
    page.get_by_label("Priority").fill("9")
    page.get_by_role("button", name="Set").click()
    expect(page.locator(".notice")).to_contain_text("Set the priority of 1 policy")
    assert sorted(policy.priority for policy in POLICIES.page(state.database).items) == [5, 5, 9]
    header = page.get_by_role("columnheader", name="Priority")
    header.get_by_role("link").click()
    expect(header).to_have_attribute("aria-sort", "ascending")  # by then, the link leads to the other order
    header.get_by_role("link").click()
    expect(page.locator("#table-crawl_policies tbody tr").first).to_contain_text("9")
    page.get_by_label("All rows of this page").check()
    page.get_by_role("button", name="Delete").click()
    expect(page.locator("h1")).to_have_text("Delete 3 policies?")
    check_page(page)
    page.get_by_role("button", name="Delete").click()
    expect(page.locator(".empty")).to_contain_text("No policies yet")


def test_bulk_actions_work_without_scripts(own_console: Served, visit: OpenPage) -> None:
    state = own_console.state
    for number in range(2):
        a_policy(state, number)
    page = visit("/crawl_policies", of=own_console, scripts=False)
    page.locator("[data-tick]").first.check()
    page.get_by_role("button", name="Delete").click()
    expect(page.locator("h1")).to_have_text("Delete 1 policy?")
    page.get_by_role("button", name="Delete").click()
    assert "Deleted 1 policy" in notice(page)
    page.get_by_label("State").select_option("enabled")
    page.get_by_role("button", name="Filter").click()
    assert rows(page, "crawl_policies") == 1


def test_a_job_shows_its_state_its_lock_and_its_history(own_console: Served, visit: OpenPage) -> None:
    state = own_console.state
    a_policy(state)
    make_due_jobs(state.database, state.clock)
    (job,) = JOBS.page(state.database).items
    lock(state, job.id, minutes=5)
    page = visit("/crawl_jobs", of=own_console)
    row = page.locator("#table-crawl_jobs tbody tr")
    expect(row).to_contain_text("locked")
    expect(row).to_contain_text("bot-1")
    expect(row.locator("[data-countdown]")).to_have_text(re.compile(r"^4:\d\d$"))
    before = row.locator("[data-countdown]").inner_text()
    expect(row.locator("[data-countdown]")).not_to_have_text(before)  # it counts down
    row.get_by_role("link").first.click()
    expect(page.locator("g.state.is-current text")).to_have_text("locked")
    expect(page.locator("main")).to_contain_text("Held for")
    page.get_by_role("button", name="Reset lock").click()
    expect(page.get_by_role("heading", name="Reset the lock of 1 job?")).to_be_visible()
    assert find_job(state.database, job.id).locked_by == "bot-1"
    check_page(page)
    page.get_by_role("link", name="Cancel").click()
    expect(page).to_have_url(re.compile(f"/crawl_jobs/{job.id}$"))
    page.get_by_role("button", name="Reset lock").click()
    page.get_by_role("main").get_by_role("button", name="Reset lock").click()
    expect(page.locator(".notice")).to_contain_text("Reset the lock of 1 job")
    expect(page.locator("g.state.is-current text")).to_have_text("pending")
    history = page.get_by_role("region", name="History")
    expect(history).to_contain_text("operator")
    expect(history).to_contain_text("an operator reset the lock")
    assert find_job(state.database, job.id).locked_by is None
    check_page(page)


def test_jobs_are_retried_expired_and_given_a_priority_in_bulk(own_console: Served, visit: OpenPage) -> None:
    state = own_console.state
    for number in range(4):
        a_policy(state, number)
    make_due_jobs(state.database, state.clock)
    jobs = JOBS.page(state.database, sort="url").items
    fail(state, jobs[0].id)
    page = visit("/crawl_jobs?status=failed", of=own_console)
    expect(page.locator("#table-crawl_jobs tbody tr")).to_have_count(1)
    page.locator("[data-tick]").first.check()
    page.get_by_role("button", name="Retry").click()
    expect(page.locator(".notice")).to_contain_text("Marked as pending: 1 job")
    assert find_job(state.database, jobs[0].id).status is JobStatus.PENDING
    lock(state, jobs[1].id)
    page.goto(f"{own_console.url}/admin/crawl_jobs?status=locked")
    page.locator("[data-tick]").first.check()
    page.get_by_role("button", name="Retry").click()
    expect(page.get_by_role("heading", name="Retry 1 job?")).to_be_visible()  # a bot would lose it
    page.get_by_role("link", name="Cancel").click()
    assert find_job(state.database, jobs[1].id).status is JobStatus.LOCKED
    page.get_by_label("All rows of this page").check()
    page.get_by_role("button", name="Reset lock").click()
    expect(page.get_by_role("heading", name="Reset the lock of 4 jobs?")).to_be_visible()
    page.get_by_role("button", name="Reset lock").click()
    expect(page.locator(".notice")).to_contain_text(
        "Reset the lock of 1 job. 3 not changed: it is pending, not locked."
    )
    page.get_by_label("All rows of this page").check()
    page.get_by_role("button", name="Set priority").click()
    page.get_by_label("Priority").fill("")
    page.get_by_role("button", name="Set").click()
    expect(page.locator(".error")).to_contain_text("Enter a number.")
    page.get_by_label("Priority").fill("8")
    page.get_by_role("button", name="Set").click()
    expect(page.locator(".notice")).to_contain_text("Set the priority of 4 jobs")
    page.get_by_label("All rows of this page").check()
    page.get_by_role("button", name="Expire").click()
    expect(page.get_by_role("heading", name="Expire 4 jobs?")).to_be_visible()
    assert {job.status for job in JOBS.page(state.database).items} == {JobStatus.PENDING}
    page.get_by_role("button", name="Expire").click()
    expect(page.locator(".notice")).to_contain_text("Marked as expired: 4 jobs")
    assert {(job.status, job.priority) for job in JOBS.page(state.database).items} == {(JobStatus.EXPIRED, 8)}


def test_jobs_are_found_by_host_bot_and_id_and_pages_follow(console: Served, visit: OpenPage) -> None:
    page = visit("/crawl_jobs?limit=10")
    first = page.locator("#table-crawl_jobs tbody tr a").first.get_attribute("href")
    page.get_by_role("link", name="Next").click()
    expect(page.locator("#table-crawl_jobs tbody tr a").first).not_to_have_attribute("href", first or "")
    page.get_by_role("link", name="First").click()
    expect(page.locator("#table-crawl_jobs tbody tr a").first).to_have_attribute("href", first or "")
    page.get_by_role("searchbox").fill("lampenhaus.example")
    expect(page.locator("#table-crawl_jobs tbody tr").first).to_contain_text("lampenhaus.example")
    page.goto(f"{console.url}/admin/crawl_jobs?bot=shop-bot-1")
    expect(page.locator("#table-crawl_jobs tbody tr")).to_have_count(1)
    job = JOBS.page(console.state.database, limit=1).items[0]
    page.goto(f"{console.url}/admin/crawl_jobs?q={job.id}")
    expect(page.locator("#table-crawl_jobs tbody tr")).to_have_count(1)
    page.goto(f"{console.url}/admin/crawl_jobs?status=delayed")
    expect(page.locator("#table-crawl_jobs tbody tr").first).to_contain_text("in ")
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").click()
    lines = download.value.path().read_text().splitlines()
    assert lines[0].startswith("url,status,locked_by,priority")
    assert len(lines) == 4


LISTED = {
    "crawl_policies": (
        ["URL", "Priority", "Every", "State", "Next run", "Failures", "Last success", "Price"],
        {"State", "Priority", "Next run", "Created"},
    ),
    "crawl_jobs": (
        ["URL", "Status", "Bot", "Priority", "Retries", "Lock or wait", "Created"],
        {"Status", "Priority", "Created"},
    ),
    "crawl_results": (
        ["URL", "Title", "Price", "Stock", "Bot", "Crawled", "Stored"],
        {"Stock", "Currency", "Policy", "Created"},
    ),
}


@pytest.mark.parametrize("name", LISTED)
def test_a_list_has_the_columns_badges_and_filters_of_the_admin(visit: OpenPage, name: str) -> None:
    """What the lists of the crawl service's admin show and filter by (S3), and more."""
    columns, filters = LISTED[name]
    page = visit(f"/{name}")
    assert [each for each in page.locator(f"#table-{name} thead th").all_inner_texts() if each.strip()] == columns
    choices = page.locator(f"#table-{name} form.filters select option:first-child").all_inner_texts()
    assert {each.removesuffix(": all") for each in choices} == filters
    if name != "crawl_results":  # a state is a sign and a word, not a colour alone
        badge = page.locator(f"#table-{name} tbody .badge:has(svg)").first
        expect(badge).to_have_text(re.compile("enabled|pending|locked|done|failed|expired"))
        expect(page.get_by_label("All rows of this page")).to_have_count(1)
    else:  # results are made by bots alone
        expect(page.locator("tbody .price").first).to_have_css("font-weight", "600")
        expect(page.locator("tbody tr").first).to_contain_text(" ago")
        expect(page.locator("main form[method=post]")).to_have_count(0)
        expect(page.locator("[data-tick]")).to_have_count(0)


def test_rows_are_found_by_when_they_were_created_and_policies_by_when_they_run(
    own_console: Served, visit: OpenPage
) -> None:
    state = own_console.state
    now = state.clock.now()
    for number, days in enumerate((0, 3, 20, 90)):
        a_policy(state, number)
        created, runs = now - timedelta(days=days, minutes=5), now + timedelta(hours=7 * number)
        with state.database.write() as connection:
            is_it = crawl_policies.c.url == f"https://shop.example/{number}"
            connection.execute(update(crawl_policies).where(is_it).values(created_at=created, next_run_at=runs))
    page = visit("/crawl_policies?sort=-priority", of=own_console)
    found = page.locator("#table-crawl_policies tbody tr")
    for chosen, count in (("1", 1), ("168", 2), ("720", 3)):
        page.get_by_label("Created").select_option(chosen)
        expect(found).to_have_count(count)
        expect(page).to_have_url(re.compile(f"created={chosen}"))
    expect(found.first).to_contain_text("shop.example/0")
    page.goto(f"{own_console.url}/admin/crawl_policies?next_run=24&created=720&limit=2")
    expect(found).to_have_count(2)
    page.get_by_role("link", name="Next", exact=True).click()
    expect(found).to_have_count(1)
    page.goto(f"{own_console.url}/admin/crawl_policies?next_run=24&sort=priority")
    expect(page.get_by_text("Of a time, the policies that run next are listed first.")).to_be_visible()
    shown = ["".join(row.split()[:2]) for row in found.all_inner_texts()]  # the host, and below it the path
    assert shown == [f"shop.example/{number}" for number in range(4)]
    make_due_jobs(state.database, state.clock)
    with state.database.write() as connection:
        connection.execute(update(crawl_jobs).values(created_at=now - timedelta(days=2)))
    for path, count in (("?created=24", 0), ("?created=168&sort=-priority", 1)):
        page.goto(f"{own_console.url}/admin/crawl_jobs{path}")
        expect(page.locator("#table-crawl_jobs tbody tr")).to_have_count(count)


def test_results_are_found_by_when_they_were_stored(console: Served, visit: OpenPage) -> None:
    policy = find_policy(console.state.database, "https://garden-tools.example/products/watering-can-8l")
    everything = RESULTS.page(console.state.database, limit=200).items
    since = console.state.clock.now() - timedelta(days=7)
    page = visit("/crawl_results?created=1")
    for path in ("", f"&policy={policy.id}", "&currency=USD", "&in_stock=no"):
        page.goto(f"{console.url}/admin/crawl_results?created=168&limit=200{path}")
        wanted = [
            each
            for each in everything
            if each.created_at >= since
            and (not path.startswith("&policy") or each.policy_id == policy.id)
            and (not path.startswith("&currency") or each.currency == "USD")
            and (not path.startswith("&in_stock") or each.in_stock is False)
        ]
        assert wanted
        expect(page.locator("#table-crawl_results tbody tr")).to_have_count(len(wanted))


def test_a_result_shows_its_price_history_and_its_page_as_text(console: Served, visit: OpenPage) -> None:
    policy = find_policy(console.state.database, "https://garden-tools.example/products/watering-can-8l")
    page = visit(f"/crawl_results?policy={policy.id}")
    expect(page.locator("#table-crawl_results tbody tr").first).to_contain_text("EUR")
    page.locator("#table-crawl_results tbody tr a").first.click()
    expect(page.locator("h1")).to_have_text(HOSTILE_TITLE)  # escaped: the title that a bot sent is not run
    assert page.title() == f"{HOSTILE_TITLE} · Comity"
    expect(page.locator("pre.source").last).to_contain_text("<script>document.title='run'</script>")
    expect(page.locator("figure.plot path.line")).to_have_count(1)
    page.locator("figure.plot summary").click()
    assert page.locator("figure.plot tbody tr").count() > 30
    expect(page.locator("main")).to_contain_text('"rating": 4.2')
    check_page(page)
    page.goto(f"{console.url}/admin/crawl_results")
    page.get_by_label("Stock").select_option("no")
    expect(page.locator("#table-crawl_results tbody tr").first).to_contain_text("out of stock")
    page.goto(f"{console.url}/admin/crawl_results?orphans=yes")
    expect(page.locator(".empty")).to_contain_text("Nothing matches")
    page.goto(f"{console.url}/admin/crawl_results/late")
    expect(page.locator("#table-late_submissions tbody tr")).to_have_count(1)
    page.locator("#table-late_submissions tbody tr a").first.click()
    expect(page.locator("pre.source").first).to_contain_text('"price": "19.99"')


def test_a_bot_gets_a_key_that_is_shown_once(own_console: Served, visit: OpenPage) -> None:
    page = visit("/bots", of=own_console)
    page.get_by_role("link", name="Add a bot").click()
    page.get_by_label("Name").fill("not a name!")
    page.get_by_role("button", name="Add").click()
    expect(page.locator("#field-bot_id-error")).to_be_visible()
    page.get_by_label("Name").fill("shop-bot-1")
    page.get_by_label("Jobs held at once").fill("5")
    page.get_by_role("button", name="Add").click()
    key = page.locator("#secret").inner_text()
    assert key.startswith("cmty_")
    assert faults(page) == []
    page.get_by_role("link", name="To the bot").click()
    assert key not in page.content()
    with own_console.client(headers={"X-API-Key": key}) as bot:
        assert bot.post("/api/crawl/pull/", json={"bot_id": "shop-bot-1", "max_jobs": 1}).status_code == 200
    page.get_by_label("Jobs per minute").fill("30")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".notice")).to_contain_text("Saved")
    saved = get_bot(own_console.state.database, "shop-bot-1")
    assert (saved.max_jobs_in_hand, saved.max_jobs_per_minute) == (5, 30)


def test_a_bot_is_quarantined_resumed_and_revoked(own_console: Served, visit: OpenPage) -> None:
    page = visit("/bots/new", of=own_console)
    page.get_by_label("Name").fill("shop-bot-1")
    page.get_by_role("button", name="Add").click()
    page.get_by_role("link", name="To the bot").click()
    page.get_by_role("link", name="Quarantine").click()
    page.get_by_label("Minutes").fill("30")
    page.get_by_role("button", name="Quarantine").click()
    expect(page.locator(".notice")).to_contain_text("Quarantined for 30 minutes")
    expect(page.locator("h1 .badge")).to_have_text("quarantined")
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("h1 .badge")).to_have_text("active")
    page.get_by_role("link", name="Revoke").click()
    expect(page.locator("h1")).to_have_text("Revoke the key of shop-bot-1?")
    page.get_by_role("button", name="Revoke").click()
    expect(page.locator("h1 .badge")).to_have_text("revoked")
    page.get_by_role("link", name="New key").click()
    page.get_by_role("button", name="Make a new key").click()
    assert page.locator("#secret").inner_text().startswith("cmty_")
    assert get_bot(own_console.state.database, "shop-bot-1").status == "active"


def test_a_webhook_is_added_tested_resent_disabled_and_deleted(
    own_console: Served, visit: OpenPage, receiver: str
) -> None:
    state = own_console.state
    page = visit("/webhooks", of=own_console)
    page.get_by_role("link", name="Add a webhook").click()
    page.get_by_label("URL", exact=True).fill(receiver)
    page.get_by_label("job.done").uncheck()
    page.get_by_role("button", name="Add").click()
    expect(page.locator("form .notice")).to_contain_text("Choose at least one event.")
    page.get_by_label("job.failed").check()
    page.get_by_role("button", name="Add").click()
    secret = page.locator("#secret").inner_text()
    assert secret.startswith("whsec_")
    page.get_by_role("link", name="To the webhook").click()
    assert secret not in page.content()
    page.get_by_role("button", name="Send a test").click()
    expect(page.locator(".notice")).to_contain_text("The receiver answered 200.")
    expect(page.locator("#table-webhook_deliveries tbody tr")).to_contain_text("delivered")
    page.get_by_role("button", name="Disable").click()
    expect(page.locator("main .badge").first).to_have_text("disabled")
    page.get_by_role("button", name="Enable").click()
    expect(page.locator("main .badge").first).to_have_text("enabled")
    page.get_by_role("link", name="Edit").click()
    page.get_by_label("Note").fill("for the shop")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".notice")).to_contain_text("Saved")
    (webhook,) = list_webhooks(state.database)
    assert (webhook.events, webhook.note) == (("job.failed",), "for the shop")
    page.get_by_role("link", name="New secret").click()
    page.get_by_role("button", name="Make a new secret").click()
    assert page.locator("#secret").inner_text() != secret
    page.get_by_role("link", name="To the webhook").click()
    page.get_by_role("link", name="Delete").click()
    page.get_by_role("button", name="Delete").click()
    expect(page.locator(".notice")).to_contain_text("Deleted")
    assert list_webhooks(state.database) == []


def test_a_filter_that_no_webhook_passes_can_be_cleared(visit: OpenPage) -> None:
    page = visit("/webhooks?q=nothing-like-this")
    expect(page.get_by_text("Nothing matches")).to_be_visible()
    page.get_by_role("link", name="Show all").click()
    expect(page.locator("#table-webhooks tbody tr")).to_have_count(2)


def test_a_form_does_not_replace_what_another_window_has_changed(own_console: Served, visit: OpenPage) -> None:
    policy = find_policy(own_console.state.database, str(a_policy(own_console.state)))
    here = visit(f"/crawl_policies/{policy.id}/edit", of=own_console)
    with here.context.expect_page() as opened:
        here.evaluate("window.open(location.href)")
    there = opened.value
    there.get_by_label("Hours between crawls").fill("7")
    there.get_by_role("button", name="Save").click()
    expect(there.get_by_role("status")).to_contain_text("Saved.")
    here.get_by_label("Priority").fill("9")
    here.get_by_role("button", name="Save").click()
    expect(here.get_by_role("alert")).to_contain_text("Someone changed this after you opened the form.")
    expect(here.get_by_label("Priority")).to_have_value("9")
    found = find_policy(own_console.state.database, str(policy.id))
    assert (found.frequency_hours, found.priority) == (7, policy.priority)
    here.get_by_role("button", name="Save").click()
    expect(here.get_by_role("status")).to_contain_text("Saved.")
    found = find_policy(own_console.state.database, str(policy.id))
    assert (found.frequency_hours, found.priority) == (policy.frequency_hours, 9)


def test_an_id_that_a_link_filters_by_is_shown_and_can_be_taken_away(console: Served, visit: OpenPage) -> None:
    policy = find_policy(console.state.database, "https://garden-tools.example/products/watering-can-8l")
    page = visit(f"/crawl_policies/{policy.id}")
    page.get_by_role("link", name="All jobs of this policy").click()
    rows = page.locator("#table-crawl_jobs tbody tr")
    expect(rows.first).to_be_visible()
    assert all("/products/watering-can-8l" in text for text in rows.all_inner_texts())
    page.get_by_label("Status").select_option("done")
    expect(page).to_have_url(re.compile(f"status=done&policy={policy.id}"))
    page.locator(".filters .chip").click()
    expect(page).to_have_url(re.compile(r"/crawl_jobs\?status=done$"))
    expect(page.locator(".filters .chip")).to_have_count(0)


def test_deliveries_name_their_receivers_and_are_filtered_by_them(console: Served, visit: OpenPage) -> None:
    page = visit("/webhooks/deliveries")
    rows = page.locator("#table-webhook_deliveries tbody tr")
    expect(rows.first).to_contain_text("hooks.example/prices")
    page.get_by_label("Receiver").select_option(label="alerts.example/comity")
    expect(page.get_by_text("Nothing matches")).to_be_visible()


def test_a_failed_delivery_is_sent_again(console: Served, visit: OpenPage) -> None:
    delivery = DELIVERIES.page(console.state.database, limit=1, status="failed").items[0]
    page = visit("/webhooks/deliveries?status=failed")
    page.locator("#table-webhook_deliveries tbody tr a").first.click()
    expect(page.locator("h1 .badge")).to_have_text("failed")
    page.get_by_role("button", name="Send again").click()
    expect(page.locator(".notice")).to_contain_text("It is sent again")
    expect(page.locator("h1 .badge")).to_have_text("pending")
    assert DELIVERIES.page(console.state.database, id=delivery.id).items[0].status == "pending"
