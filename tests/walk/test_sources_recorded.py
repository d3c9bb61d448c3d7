"""Runs of sources leave rows in `crawl_runs` and `fetches` like all others, in the transaction that settles them."""

from __future__ import annotations

import pytest
from sqlalchemy.exc import DBAPIError

from comity.database import records
from comity.database.frontier import journal
from comity.database.records import last_seen
from comity.rules.canonical import web_address
from comity.walk.sources.settle import SourceSettling
from tests.walk.site import Answer, Web, redirect
from tests.walk.sourcing import Office, jobs, listing

FETCHES = "SELECT * FROM fetches ORDER BY crawled_at, id"
RUNS = "SELECT * FROM crawl_runs"


def test_a_run_leaves_a_row_for_itself_and_one_for_each_page(web: Web, bureau: Office) -> None:
    site = web.site(
        {
            "/careers": redirect("/jobs"),
            "/jobs": Answer(body=listing(jobs(3), following="/jobs?page=2"), etag='"1"'),
            "/jobs?page=2": listing(jobs(2, start=9)),
        }
    )
    source = bureau.add(site.url("/careers"))
    bureau.run(source)
    (run,) = bureau.rows(RUNS)
    assert (run["door"], run["status"], run["end_reason"]) == ("sources", "finished", "source_ok")
    assert (run["pages_crawled"], run["pages_failed"]) == (2, 0)
    assert run["ended_at"] is not None
    first, second = bureau.rows(FETCHES)
    assert (first["page_url"], first["final_url"]) == (site.url("/careers"), site.url("/jobs"))
    assert (first["outcome"], first["status"], first["redirect_count"]) == ("fetched", 200, 1)
    assert second["page_url"] == site.url("/jobs?page=2")
    assert {row["discovery_type"] for row in (first, second)} == {"source"}
    assert {row["run_id"] for row in (first, second)} == {run["id"]}
    assert {row["run_id"] for row in bureau.rows("SELECT run_id FROM politeness_ledger")} == {run["id"]}
    assert first["url_key"] == web_address(site.url("/careers")).key


@pytest.mark.parametrize(
    ("answer", "outcome", "error", "tries"),
    [
        (Answer(404), "gone", "http_404", 1),
        (Answer(429, headers={"Retry-After": "900"}), "rate_limited", "http_429", 1),
        (Answer(body="%PDF", type="application/pdf"), "rejected", "wrong_type: ", 1),
        (redirect("mailto:a@example.org"), "refused", "bad_redirect: ", 1),
    ],
)
def test_what_went_wrong_is_recorded(
    web: Web, embedded_bureau: Office, answer: Answer, outcome: str, error: str, tries: int
) -> None:
    office = embedded_bureau
    site = web.site({"/careers": answer})
    office.run(office.add(site.url("/careers")))
    rows = office.rows(FETCHES)
    assert [row["outcome"] for row in rows] == [outcome] * tries
    assert rows[0]["error"].startswith(error)
    (run,) = office.rows(RUNS)
    assert (run["status"], run["pages_crawled"], run["pages_failed"]) == ("failed", 0, tries)


def test_a_page_that_is_unchanged_is_recorded_as_such(web: Web, embedded_bureau: Office) -> None:
    office = embedded_bureau
    site = web.site({"/careers": Answer(body=listing(jobs(3)), etag='"1"')})
    source = office.add(site.url("/careers"))
    office.run(source)
    office.run(source)
    assert [row["outcome"] for row in office.rows(FETCHES)] == ["fetched", "not_modified"]


def test_a_run_that_is_not_settled_leaves_nothing(
    web: Web, embedded_bureau: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows are part of the transaction: what fails after them takes them along."""
    office = embedded_bureau
    site = web.site({"/careers": listing(jobs(3))})
    source = office.add(site.url("/careers"))

    def fail(*_: object) -> None:
        raise DBAPIError("a statement", {}, Exception("the disk is full"))

    monkeypatch.setattr(SourceSettling, "_record_status", fail)
    with pytest.raises(Exception, match="disk is full"):
        office.run(source)
    assert (office.rows(FETCHES), office.rows(RUNS)) == ([], [])


def test_a_crawl_does_not_take_what_a_source_saw_for_its_own(web: Web, embedded_bureau: Office) -> None:
    """Neither as a page that it need not ask for, nor as a URL of its frontier."""
    office = embedded_bureau
    site = web.site({"/careers": Answer(body=listing(jobs(3)), etag='"1"')})
    office.run(office.add(site.url("/careers")))
    key = web_address(site.url("/careers")).key
    with office.database.read() as connection:
        assert last_seen(connection, [key]) == {}
        assert list(journal.visits(connection, site.host, None, 10)) == []
        assert records.last_contents(connection, site.host, 10) == []
