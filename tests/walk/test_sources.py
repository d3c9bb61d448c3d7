"""Sources from the first look to the tenth: what is stored, what is skipped, what is closed, and what search hears."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from sqlalchemy import insert

from comity.database.sources.rows import LOCK_S
from comity.database.sources.tables import crawl_locks
from comity.model.source import NotRun, RunStatus, SourceStatus
from comity.operate.policy import set_policy
from comity.operate.sources import edit_source
from comity.operate.takedown import add_takedowns
from comity.rules.canonical import canonical_host
from tests.walk.site import Answer, Asked, Web, redirect
from tests.walk.sourcing import Job, Office, day_in, feed, jobs, listing, office


def test_a_new_source_is_due_at_once_and_its_postings_are_kept(web: Web, bureau: Office) -> None:
    site = web.site({"/careers": listing(jobs(4))})
    source = bureau.add(site.url("/careers"), org_type="un")
    assert (source.crawl_frequency_days, source.next_run_at is not None) == (1, True)
    report = bureau.run_due().reports[0]
    assert (report.status, report.counts.found, report.counts.inserted) == (RunStatus.OK, 4, 4)
    (log,) = bureau.logs(source)
    assert (log.status, log.found, log.inserted, log.updated, log.skipped) == ("ok", 4, 4, 0, 0)
    assert bureau.titles() == sorted(job.title for job in jobs(4))
    assert bureau.outbox() == ["upsert"] * 4
    after = bureau.again(source)
    assert (after.last_crawl_status, after.last_found, after.consecutive_failures) == ("ok", 4, 0)
    assert after.next_run_at is not None
    assert after.last_crawled_at is not None
    assert timedelta(hours=20) < after.next_run_at - after.last_crawled_at < timedelta(hours=28)
    assert bureau.rows("SELECT * FROM crawl_locks") == []
    host = bureau.rows("SELECT is_seeded, claimed_by FROM domains WHERE domain = :host", host=site.host)[0]
    assert (bool(host["is_seeded"]), host["claimed_by"]) == (False, None)  # no candidate for whole-site crawls


def test_a_second_run_of_an_unchanged_source_changes_nothing(web: Web, bureau: Office) -> None:
    site = web.site({"/careers": listing(jobs(6))})
    source = bureau.add(site.url("/careers"))
    bureau.run(source)
    first = bureau.rows("SELECT * FROM job_postings ORDER BY canonical_hash")
    report = bureau.run(source)
    assert (report.counts.inserted, report.counts.updated, report.counts.skipped) == (0, 0, 6)
    second = bureau.rows("SELECT * FROM job_postings ORDER BY canonical_hash")
    seen = {"last_seen_at"}
    assert [{k: v for k, v in row.items() if k not in seen} for row in first] == [
        {k: v for k, v in row.items() if k not in seen} for row in second
    ]
    assert all(before["last_seen_at"] < after["last_seen_at"] for before, after in zip(first, second, strict=True))
    assert bureau.outbox() == ["upsert"] * 6
    assert bureau.again(source).consecutive_nochange == 1


def test_304_is_no_change(web: Web, bureau: Office) -> None:
    site = web.site({"/careers": Answer(body=listing(jobs(3)), etag='"one"')})
    source = bureau.add(site.url("/careers"))
    bureau.run(source)
    report = bureau.run(source)
    assert [seen.headers.get("if-none-match") for seen in site.of("/careers")] == [None, '"one"']
    assert (report.status, report.message) == (RunStatus.OK, "not modified")
    assert (report.counts.found, report.counts.inserted, report.counts.updated) == (3, 0, 0)
    assert bureau.titles(is_open=False) == []
    # What is read otherwise is read anew.
    edit_source(bureau.database, bureau.state.clock, source.id, org_name="Relief House International")
    bureau.run(bureau.again(source))
    assert site.of("/careers")[-1].headers.get("if-none-match") is None


def test_an_organisation_that_is_renamed_keeps_its_postings(web: Web, bureau: Office) -> None:
    some = jobs(3)
    site = web.site({"/careers": listing(some)})
    source = bureau.add(site.url("/careers"))
    bureau.run(source)
    before = bureau.rows("SELECT id, first_seen_at FROM job_postings ORDER BY id")
    edit_source(bureau.database, bureau.state.clock, source.id, org_name="Relief House International")
    site.routes["/careers"] = listing([*some, Job("Chief of Party")])
    counts = bureau.run(bureau.again(source)).counts
    assert (counts.found, counts.inserted, counts.closed) == (4, 1, 0)
    after = bureau.rows("SELECT id, first_seen_at FROM job_postings ORDER BY id")
    assert [row for row in after if row in before] == before
    again = bureau.run(bureau.again(source)).counts
    assert (again.inserted, again.updated, again.closed) == (0, 0, 0)


def test_what_another_source_lists_too_keeps_its_name(web: Web, bureau: Office) -> None:
    site = web.site({"/careers": listing(jobs(2)), "/jobs": listing(jobs(2))})
    first, second = bureau.add(site.url("/careers")), bureau.add(site.url("/jobs"))
    bureau.run(first)
    bureau.run(second)
    edit_source(bureau.database, bureau.state.clock, first.id, org_name="Another House")
    assert bureau.run(bureau.again(first)).counts.inserted == 2
    for source in (second, first, second):  # neither takes the postings of the other
        counts = bureau.run(bureau.again(source)).counts
        assert (counts.inserted, counts.updated, counts.closed) == (0, 0, 0)
    assert len(bureau.titles()) == 4


WORKDAY = "/wday/cxs/relief/Careers/jobs"


def workday(asked: Asked) -> Answer:
    """A board of 45 jobs as Workday answers: twenty at a time, and the total on the first page only."""
    question = json.loads(asked.body)
    start, length = question["offset"], min(question["limit"], 20)
    some = [{"title": f"Nurse {at}", "externalPath": f"/job/Bern/Nurse_JR{at}"} for at in range(100, 145)]
    answer = {"total": 45 if start == 0 else 0, "jobPostings": some[start : start + length]}
    return Answer(body=json.dumps(answer), type="application/json")


def test_a_system_that_wants_to_be_posted_to_is_read_to_its_end(web: Web, bureau: Office) -> None:
    site = web.site(fallback=lambda asked: workday(asked) if asked.method == "POST" else Answer(405))
    source = bureau.add(site.url(WORKDAY), source_type="api")
    report = bureau.run(source)
    assert (report.status, report.counts.inserted, report.pages) == (RunStatus.OK, 45, 3)
    asked = [seen for seen in site.log if seen.path.startswith("/wday")]
    assert [seen.method for seen in asked] == ["POST"] * 3
    assert [seen.path for seen in asked] == [WORKDAY, f"{WORKDAY}?offset=20", f"{WORKDAY}?offset=40"]
    assert {seen.headers["content-type"] for seen in asked} == {"application/json"}
    again = bureau.run(source).counts
    assert (again.inserted, again.updated, again.closed) == (0, 0, 0)
    assert [seen.method for seen in site.log if seen.path == "/robots.txt"] == ["GET"]


def test_who_takes_no_question_is_asked_as_usual(web: Web, embedded_bureau: Office) -> None:
    some = {"total": 1, "jobPostings": [{"title": "Nurse", "externalPath": "/job/Bern/Nurse_JR1"}]}

    def careers(asked: Asked) -> Answer:
        return Answer(405) if asked.method == "POST" else Answer(body=json.dumps(some), type="application/json")

    site = web.site({WORKDAY: careers, "/wday/cxs/old/Careers/jobs": redirect(WORKDAY)})
    for path in (WORKDAY, "/wday/cxs/old/Careers/jobs"):
        report = embedded_bureau.run(embedded_bureau.add(site.url(path), source_type="api"))
        assert (report.status, report.counts.found) == (RunStatus.OK, 1)
    assert [(seen.method, seen.body == b"") for seen in site.of(WORKDAY)][-1] == ("GET", True)


def test_last_modified_works_without_an_etag_and_goes_to_where_redirects_end(web: Web, embedded_bureau: Office) -> None:
    said = "Tue, 03 Mar 2026 10:00:00 GMT"

    def careers(asked: Asked) -> Answer:
        if asked.headers.get("if-modified-since") == said:
            return Answer(304)
        return Answer(body=listing(jobs(2)), headers={"Last-Modified": said})

    site = web.site({"/jobs": redirect("/en/jobs"), "/en/jobs": careers})
    source = embedded_bureau.add(site.url("/jobs"))
    embedded_bureau.run(source)
    assert embedded_bureau.run(source).message == "not modified"
    assert [seen.headers.get("if-modified-since") for seen in site.of("/en/jobs")] == [None, said]
    assert [seen.headers.get("if-modified-since") for seen in site.of("/jobs")] == [None, None]


def test_new_changed_and_vanished_postings_are_told_apart(web: Web, bureau: Office) -> None:
    before = jobs(4)
    site = web.site({"/careers": listing(before)})
    source = bureau.add(site.url("/careers"))
    bureau.run(source)
    changed = Job(before[1].title, closes=day_in(90))
    site.routes["/careers"] = listing([before[0], changed, before[2], Job("Chief of Party")])
    report = bureau.run(source)
    counts = report.counts
    assert (counts.inserted, counts.updated, counts.skipped, counts.closed) == (1, 1, 2, 1)
    assert bureau.titles(is_open=False) == [before[3].title]
    assert bureau.outbox()[4:] == ["upsert", "upsert", "delete"]
    # What comes back is opened again, as the same posting.
    site.routes["/careers"] = listing([*before[:3], before[3]])
    report = bureau.run(source)
    assert (report.counts.inserted, report.counts.updated) == (0, 2)
    assert before[3].title in bureau.titles()


def test_all_pages_are_read_in_order_and_only_as_many_as_the_policy_allows(web: Web, bureau: Office) -> None:
    some = jobs(9)
    site = web.site(
        {
            "/careers": listing(some[:3], following="/careers?page=2"),
            "/careers?page=2": Answer(body=listing(some[3:6], following="/careers?page=3"), etag='"two"'),
            "/careers?page=3": listing(some[6:]),
        }
    )
    source = bureau.add(site.url("/careers"))
    assert bureau.run(source).counts.inserted == 9
    assert site.pages() == ["/careers", "/careers?page=2", "/careers?page=3"]
    # A page that did not change leads on to the next, and keeps its postings.
    site.routes["/careers?page=3"] = listing(some[6:8])
    report = bureau.run(source)
    assert (report.counts.found, report.counts.skipped, report.counts.closed) == (8, 8, 1)
    # The policy's limit holds from the next request on; what was not looked at is not closed.
    set_policy(bureau.database, bureau.state.clock, canonical_host(site.host).authority, max_pages=2)
    bureau.execute("UPDATE domain_policies SET min_request_interval_ms = 0")
    report = bureau.run(source)
    assert (report.pages, report.counts.found, report.counts.closed) == (2, 6, 0)
    assert "max_pages" in report.message
    assert len(bureau.titles()) == 8


def test_pages_that_lead_in_a_circle_end(web: Web, embedded_bureau: Office) -> None:
    site = web.site({"/a": listing(jobs(2), following="/b"), "/b": listing(jobs(2, start=3), following="/a")})
    report = embedded_bureau.run(embedded_bureau.add(site.url("/a")))
    assert (site.pages(), report.counts.inserted) == (["/a", "/b"], 4)


def test_a_page_that_is_too_large_is_not_read(web: Web, embedded_bureau: Office) -> None:
    site = web.site({"/careers": listing(jobs(2), say="x" * 1_200_000)})
    source = embedded_bureau.add(site.url("/careers"))
    report = embedded_bureau.run(source)
    assert report.status is RunStatus.FAIL
    assert "max_kb_per_page" in report.message
    set_policy(embedded_bureau.database, embedded_bureau.state.clock, site.host, max_kb_per_page=2000)
    embedded_bureau.execute("UPDATE domain_policies SET min_request_interval_ms = 0")
    assert embedded_bureau.run(source).counts.inserted == 2
    assert embedded_bureau.rows("SELECT last_seen_status FROM domain_policies") == [{"last_seen_status": "200"}]


def test_feeds_and_apis_are_sources_too(web: Web, bureau: Office) -> None:
    site = web.site({})
    site.routes["/feed"] = feed(jobs(3), f"http://{site.host}")
    site.routes["/api"] = Answer(
        body='{"jobs": [{"name": "Field Doctor", "link": "/d"}, {"name": "Driver", "link": "/e"}]}',
        type="application/json",
    )
    hint = '{"items": "jobs", "title": "name", "link": "link"}'
    rss = bureau.add(site.url("/feed"), source_type="rss")
    api = bureau.add(site.url("/api"), source_type="api", parser_hint=hint)
    assert bureau.run(rss).counts.inserted == 3
    assert bureau.run(api).counts.inserted == 2
    assert {"Field Doctor", "Driver"} <= set(bureau.titles())
    assert "json" in site.of("/api")[0].headers["accept"]


def test_robots_disallow_blocks_the_source_without_a_request_for_the_page(web: Web, bureau: Office) -> None:
    site = web.site({"/careers": listing(jobs(2))}, robots="User-agent: *\nDisallow: /careers\n")
    source = bureau.add(site.url("/careers"))
    report = bureau.run(source)
    assert (report.status, report.message, site.pages()) == (RunStatus.FAIL, "robots disallow", [])
    after = bureau.again(source)
    assert (after.status, after.last_crawl_message) == (SourceStatus.BLOCKED, "robots disallow")
    assert bureau.logs(source)[0].message == "robots disallow"
    assert bureau.run_due().queued == 0
    kinds = [row["type"] for row in bureau.rows("SELECT type FROM evidence")]
    assert kinds == ["blocked_by_robots"]


@pytest.mark.parametrize(("age_s", "is_run"), [(60, False), (LOCK_S - 60, False), (LOCK_S + 60, True)])
def test_a_lock_without_an_end_gives_way_like_any_other(web: Web, bureau: Office, age_s: float, is_run: bool) -> None:
    """As other programs insert them: only the source is named."""
    site = web.site({"/careers": listing(jobs(2))})
    source = bureau.add(site.url("/careers"))
    locked_at = bureau.state.clock.now() - timedelta(seconds=age_s)
    with bureau.database.write() as connection:
        connection.execute(insert(crawl_locks).values(source_id=source.id, locked_at=locked_at))
    assert len(bureau.run_due().reports) == is_run
    assert len(bureau.rows("SELECT * FROM crawl_locks")) == (not is_run)


def test_what_is_taken_down_is_skipped_with_the_reason_and_never_asked(web: Web, bureau: Office) -> None:
    site = web.site({"/careers": listing(jobs(2))})
    source = bureau.add(site.url("/careers"))
    add_takedowns(bureau.database, [site.url("/careers")])
    blocked = bureau.again(source)
    assert (blocked.status, blocked.next_run_at) == (SourceStatus.BLOCKED, None)
    assert blocked.last_crawl_message.startswith("taken down: ")
    assert bureau.run_due().reports == []
    report = bureau.run(source)
    assert (report.status, site.paths) == (RunStatus.WARN, [])
    assert report.message.startswith("skipped: taken down")
    # Neither are its postings stored where another source lists them.
    other = web.site({"/board": listing([])})
    other.routes["/board"] = listing(jobs(2)).replace('"/jobs', f'"{site.url("/careers")}/jobs')
    assert bureau.run(bureau.add(other.url("/board"))).counts.inserted == 0


def test_a_failing_site_is_tried_three_times_and_pauses_its_source_at_the_fifth_failure(
    web: Web, embedded_bureau: Office
) -> None:
    site = web.site({"/careers": Answer(500)}, robots="User-agent: *\nAllow: /\n")
    source = embedded_bureau.add(site.url("/careers"))
    report = embedded_bureau.run(source)
    assert (report.status, report.message) == (RunStatus.FAIL, "the server answered 500")
    assert site.pages() == ["/careers"] * 3
    after = embedded_bureau.again(source)
    assert after.consecutive_failures == 1
    assert after.next_run_at is not None
    assert after.last_crawled_at is not None
    assert timedelta(hours=5) < after.next_run_at - after.last_crawled_at < timedelta(hours=7)
    site.routes["/careers"] = Answer(404)  # which is final, and quick
    embedded_bureau.execute("UPDATE sources SET consecutive_failures = 3")
    embedded_bureau.run(source)
    assert embedded_bureau.again(source).status is SourceStatus.ACTIVE
    embedded_bureau.run(source)
    after = embedded_bureau.again(source)
    assert (after.status, after.last_crawl_message) == (SourceStatus.PAUSED, "auto-paused after failures")
    assert after.consecutive_failures == 5
    assert embedded_bureau.logs(source)[0].message == "the server answered 404"


def test_a_site_that_recovers_within_the_retries_is_read(web: Web, embedded_bureau: Office) -> None:
    site = web.site({"/careers": lambda asked: Answer(502) if asked.count == 1 else listing(jobs(2))})
    assert embedded_bureau.run(embedded_bureau.add(site.url("/careers"))).counts.inserted == 2


def test_a_site_that_asks_to_wait_is_asked_no_sooner(web: Web, embedded_bureau: Office) -> None:
    site = web.site({"/careers": Answer(429, headers={"Retry-After": "864000"})})
    source = embedded_bureau.add(site.url("/careers"))
    report = embedded_bureau.run(source)
    assert report.status is RunStatus.FAIL
    assert site.pages() == ["/careers"]
    after = embedded_bureau.again(source)
    assert after.next_run_at is not None
    assert after.last_crawled_at is not None
    assert after.next_run_at - after.last_crawled_at > timedelta(days=9)


def test_an_address_that_is_not_public_is_refused(web: Web, sources_url: str) -> None:
    site = web.site({"/careers": listing(jobs(2))})
    with office(sources_url, allow_networks=()) as bureau:
        report = bureau.run(bureau.add(site.url("/careers")))
    assert (report.status, site.paths) == (RunStatus.FAIL, [])
    assert "127.0.0.1" in report.message


def test_a_host_that_somebody_else_holds_is_left_for_later(web: Web, bureau: Office) -> None:
    site = web.site({"/careers": listing(jobs(2))})
    source = bureau.add(site.url("/careers"))
    bureau.run(source)
    bureau.make_due()
    other = bureau.state.leases()
    (lease,) = other.take([site.host])
    skipped = bureau.skip(source, due_only=True)
    assert skipped.why is NotRun.BUSY
    assert len(bureau.logs(source)) == 1
    assert bureau.run_due().queued == 0  # it has another time now, so that others come before it
    assert (bureau.again(source).last_crawl_message or "").startswith("waiting: ")
    other.release(lease)
    bureau.make_due()
    assert bureau.run_due().reports[0].status is RunStatus.OK


def test_a_run_whose_lease_or_lock_is_lost_writes_nothing(web: Web, bureau: Office) -> None:
    def steal(statement: str) -> Answer:
        bureau.execute(statement)
        return Answer(body=listing(jobs(2)))

    site = web.site({"/lease": lambda _: steal("UPDATE domains SET lease_token = lease_token + 1")})
    site.routes["/lock"] = lambda _: steal("UPDATE crawl_locks SET holder = 'another'")
    for path in ("/lease", "/lock"):
        source = bureau.add(site.url(path))
        assert bureau.skip(source).why is NotRun.LOST
        assert (bureau.titles(), bureau.logs(source), bureau.outbox()) == ([], [], [])
        bureau.execute("UPDATE domains SET claimed_by = NULL, claim_expires_at = NULL")


def test_a_posting_that_two_sources_list_is_one_and_closes_when_neither_lists_it(web: Web, bureau: Office) -> None:
    shared = Job("Country Director")
    site = web.site({})
    url = site.url(shared.path)
    site.routes["/one"] = listing([shared, *jobs(1)])
    site.routes["/two"] = listing([shared, *jobs(2, start=5)])
    one, two = bureau.add(site.url("/one")), bureau.add(site.url("/two"))
    assert bureau.run(one).counts.inserted == 2
    assert bureau.run(two).counts.inserted == 2
    site.routes["/two"] = listing([Job(shared.title, words="Other words."), *jobs(2, start=5)])
    for _ in range(2):  # words of two sources do not chase each other
        assert [bureau.run(each).counts.updated for each in (one, two)] == [0, 0]
    site.routes["/one"] = listing(jobs(1))
    assert bureau.run(one).counts.closed == 0
    assert bureau.rows("SELECT source_id FROM job_postings WHERE apply_url = :url", url=url)[0]["source_id"] is not None
    site.routes["/two"] = listing(jobs(2, start=5))
    assert bureau.run(two).counts.closed == 1
    assert bureau.titles(is_open=False) == [shared.title]


@pytest.mark.roomy
def test_the_ledger_knows_every_request_and_the_interval_of_the_policy_is_kept(web: Web, bureau: Office) -> None:
    some = jobs(4)
    site = web.site({"/careers": listing(some[:2], following="/more"), "/more": listing(some[2:])})
    set_policy(bureau.database, bureau.state.clock, site.host, min_request_interval_ms=200)
    bureau.run(bureau.add(site.url("/careers")))
    ledger = bureau.rows("SELECT purpose, delay_s, delay_source FROM politeness_ledger ORDER BY started_at")
    assert [row["purpose"] for row in ledger] == ["robots", "page", "page"]
    assert {(row["delay_s"], row["delay_source"]) for row in ledger} == {(0.2, "policy")}
    assert min(site.gaps()) >= 0.195
