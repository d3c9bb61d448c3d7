"""Audits (S2): flows and evidence, budgets and time-outs, and an audit that was killed and goes on."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import comity.assemble.terms
from comity.leases.leases import Leases
from comity.model.audit import Alternate, AuditedPage, AuditInfo, RobotsDecision
from comity.model.errors import ComityError, NotFound
from comity.model.gate import DOOR_PROFILES, Door
from comity.reports.audit.stored_audits import StoredAudit, read_info, stored_audits
from comity.rules.audit.findings import find
from comity.run.audit import service
from comity.run.audit.audit import AuditRun, plan_audit
from comity.run.audit.service import AuditService
from comity.walk.crawl.progress import Progress
from tests.servers.ports import closed_port
from tests.servers.waiting import wait_until
from tests.sizes import sized
from tests.walk.crawling import LONG_REQUESTS, Place
from tests.walk.forking import Apart
from tests.walk.site import Answer, Site, Web, page, redirect, tree

LIMIT_S = 120.0


def audit(place: Place, url: str, meanwhile: Callable[[AuditRun], None] | None = None, **changes: Any) -> StoredAudit:
    settings = place.settings(audits=str(place.folder / "audits"), **{"sitemaps": True, **changes})
    run = AuditRun(plan_audit(settings, url))
    run.start()
    if meanwhile is not None:
        meanwhile(run)
    assert run.wait(LIMIT_S), "the audit did not end"
    return run.close()


def by_path(stored: StoredAudit, site: Site) -> dict[str, AuditedPage]:
    return {found.url.removeprefix(site.url("")): found for found in stored.pages()}


def codes(info: AuditInfo) -> list[str]:
    return [warning.code for warning in info.warnings]


def sitemap(site: Site, *paths: str) -> Answer:
    entries = "".join(f"<url><loc>{site.url(path)}</loc></url>" for path in paths)
    return Answer(
        body=f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>', type="text/xml"
    )


def without_times(stored: StoredAudit) -> dict[str, Any]:
    """Everything that an audit holds, but for when it was."""
    info = replace(stored.info, audit_id="", started_at=0.0, ended_at=None, requests=0)
    pages = [
        replace(
            each,
            headers=tuple(pair for pair in each.headers if pair[0] != "date"),
            hops=tuple(hop._replace(first_byte_ms=None, elapsed_ms=0.0) for hop in each.hops),
            first_byte_ms=None,
            elapsed_ms=None,
        )
        for each in stored.pages()
    ]
    return {
        "info": info,
        "pages": pages,
        "links": list(stored.links()),
        "robots": stored.robots(),
        "sitemaps": stored.sitemaps(),
        "listed": list(stored.listed()),
        "decisions": [each._replace(timestamp="") for each in stored.decisions()],
    }


def test_the_page_fetch_of_s2_leaves_its_evidence(place: Place, web: Web) -> None:
    site = web.site({"/page": page()}, robots="User-agent: *\nCrawl-delay: 0.01\nAllow: /page\nDisallow: /private\n")
    stored = audit(place, site.url("/page"), sitemaps=False)
    assert stored.info.pages == 1
    (row,) = place.evidence(site.url("/page"))
    timestamp = row["content"].pop("timestamp")
    assert row["type"] == "robots_allowed"
    assert row["confidence"] == "high"
    assert row["metadata"] == {
        "url": site.url("/page"), "allowed": True, "matchedRule": "Allow: /page", "crawlDelay": 0.01,
    }  # fmt: skip
    s2 = {name: row["content"][name] for name in ("allowed", "matchedRule", "crawlDelay")}
    assert s2 == {"allowed": True, "matchedRule": "Allow: /page", "crawlDelay": 0.01}
    assert row["content"]["line"] == 3
    assert len(timestamp) == len("2024-01-01T00:00:00.000Z")
    assert timestamp.endswith("Z")
    assert list(stored.decisions()) == [
        RobotsDecision(site.url("/page"), True, "Allow: /page", 3, 0.01, timestamp, "high")
    ]


def test_the_discovery_of_s2_filters_by_robots_txt_and_leaves_evidence_of_every_decision(
    place: Place, web: Web
) -> None:
    robots = "User-agent: *\nDisallow: /admin\nDisallow: /api\nAllow: /public\n"
    site = web.site({"/": page("/admin"), "/page": page()}, robots=robots)
    site.routes["/sitemap.xml"] = sitemap(site, "/", "/page", "/admin", "/api/users")
    site.routes["/robots.txt"] = Answer(body=f"{robots}Sitemap: {site.url('/sitemap.xml')}\n", type="text/plain")
    stored = audit(place, site.url("/"))
    assert sorted(site.pages()) == ["/", "/page", "/sitemap.xml"]
    expected = {
        "/": ("robots_allowed", True, None),
        "/page": ("robots_allowed", True, None),
        "/admin": ("blocked_by_robots", False, "Disallow: /admin"),
        "/api/users": ("blocked_by_robots", False, "Disallow: /api"),
    }
    for path, (kind, allowed, rule) in expected.items():
        rows = place.evidence(site.url(path))
        assert {row["type"] for row in rows} == {kind}
        for row in rows:
            decision = {"allowed": allowed, "matchedRule": rule, "crawlDelay": None}
            assert row["metadata"] == {"url": site.url(path), **decision}
            assert {name: row["content"][name] for name in decision} == decision
    found = by_path(stored, site)
    assert set(found) == set(expected)
    assert found["/admin"].error == "blocked_by_robots: Disallow: /admin"
    assert all(each.in_sitemap for each in found.values())
    assert [listed.url for listed in stored.listed()] == [site.url(path) for path in sorted(expected)]
    assert [(each.url, each.state, each.urls) for each in stored.sitemaps()] == [(site.url("/sitemap.xml"), "read", 4)]
    (robots_file,) = stored.robots()
    assert (robots_file.status, robots_file.text) == (200, site.routes["/robots.txt"].body)  # type: ignore[union-attr]


def test_robots_txt_that_cannot_be_read_closes_the_site_or_by_setting_opens_it_with_low_confidence(
    place: Place, web: Web
) -> None:
    site = web.site({"/": page()}, robots=Answer(500))
    closed = audit(place, site.url("/"), sitemaps=False, retries=0)
    assert (closed.info.ended_by, closed.info.pages, site.pages()) == ("robots_unreachable", 0, [])
    assert not closed.info.is_complete
    opened = audit(place, site.url("/"), sitemaps=False, robots_unreachable="allow")
    assert (opened.info.ended_by, opened.info.pages) == ("nothing_left", 1)
    (decision,) = opened.decisions()
    assert (decision.allowed, decision.matched_rule, decision.confidence) == (True, None, "low")
    assert opened.info.audit_id != closed.info.audit_id


def test_a_new_audit_reads_robots_txt_afresh(place: Place, web: Web) -> None:
    site = web.site({"/": page("/a"), "/a": page()}, robots="User-agent: *\nDisallow: /a\n")
    assert audit(place, site.url("/"), sitemaps=False).info.pages == 1
    site.routes["/robots.txt"] = Answer(body="User-agent: *\nAllow: /\n", type="text/plain")
    again = audit(place, site.url("/"), sitemaps=False)
    assert (again.info.pages, again.robots()[0].text) == (2, "User-agent: *\nAllow: /\n")
    assert place.comity("verify-politeness").code == 0


def test_the_profile_is_that_of_s2(place: Place) -> None:
    profile = DOOR_PROFILES[Door.AUDIT]
    assert (profile.max_concurrency, profile.random_delay_s, profile.interval_s) == (2, (0.2, 0.5), None)
    assert profile.slot_timeout_s == 10.0
    plan = plan_audit(place.settings(), "example.com")
    assert (plan.max_pages, plan.max_minutes) == (200, 60.0)


def test_the_environment_names_budgets_as_s2_does(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAX_PAGES", "7")
    monkeypatch.setenv("MAX_SCAN_TIME_MINUTES", "3")
    monkeypatch.setenv("USER_AGENT", "AEO-Audit/1.0")
    plan = plan_audit(place.settings(), "https://example.com/")
    assert (plan.max_pages, plan.max_minutes, plan.settings.identity) == (7, 3.0, "AEO-Audit/1.0")
    assert plan_audit(place.settings(max_pages=0), "https://example.com/").max_pages == 0


def test_two_requests_at_once_and_no_more(place: Place, web: Web) -> None:
    held = threading.Event()
    answer = Answer(body=page(), held=held)
    site = web.site({"/": page("/a", "/b", "/c"), "/a": answer, "/b": answer, "/c": answer})

    def meanwhile(_run: AuditRun) -> None:
        wait_until(lambda: len(site.pages()) >= 3, 60, "two pages at once")
        assert set(site.pages()) == {"/", "/a", "/b"}
        held.set()

    assert audit(place, site.url("/"), meanwhile, sitemaps=False).info.pages == 4


def test_a_slot_that_does_not_come_is_the_error_of_s2_and_nothing_is_fetched(
    place: Place, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = replace(DOOR_PROFILES[Door.AUDIT], slot_timeout_s=0.3)
    monkeypatch.setattr(comity.assemble.terms, "DOOR_PROFILES", {**DOOR_PROFILES, Door.AUDIT: short})
    held = threading.Event()
    answer = Answer(body=page(), held=held)
    site = web.site({"/": page("/a", "/b", "/c", "/d"), "/a": answer, "/b": answer, "/c": page(), "/d": page()})
    waiting = "SELECT count(*) AS n FROM evidence WHERE content LIKE '%slot_timeout%'"

    def meanwhile(_run: AuditRun) -> None:
        wait_until(lambda: place.state.exists() and "/b" in site.pages(), 60, "two pages that do not come")
        wait_until(lambda: place.rows(waiting)[0]["n"] >= 2, 60, "time-outs")
        held.set()

    stored = audit(place, site.url("/"), meanwhile, sitemaps=False, fetch_timeout_s=600, first_byte_timeout_s=600)
    found = by_path(stored, site)
    error = "slot_timeout: Timeout waiting for host concurrency slot"
    assert {path: each.error for path, each in found.items()} == {
        "/": None, "/a": None, "/b": None, "/c": error, "/d": error,
    }  # fmt: skip
    assert not {"/c", "/d"} & set(site.pages())
    (warning,) = stored.info.warnings
    assert warning == ("slot_timeout", "Timeout waiting for host concurrency slot: 2 URLs were not fetched.")


def test_the_page_limit_ends_an_audit_with_its_reason_and_a_warning_before(place: Place, web: Web) -> None:
    site = web.site(tree(30))
    stored = audit(place, site.url("/"), sitemaps=False, max_pages=10)
    info = stored.info
    assert (info.pages, info.ended_by, len(site.pages())) == (10, "page_limit", 10)
    assert info.sentence == "Stopped: the limit of 10 pages per run was reached."
    assert [tuple(each) for each in info.warnings] == [
        ("page_limit_near", "80 % of the limit of 10 pages per run is used."),
        ("page_limit", "Stopped: the limit of 10 pages per run was reached."),
    ]
    assert info.left > 0
    assert not info.is_complete
    again = audit(place, site.url("/"), sitemaps=False, max_pages=35).info
    assert (again.pages, again.ended_by, codes(again), again.left) == (30, "nothing_left", ["page_limit_near"], 0)
    assert again.audit_id != info.audit_id


def test_the_time_limit_ends_an_audit_with_its_reason(place: Place, web: Web) -> None:
    site = web.site({}, fallback=lambda asked: Answer(body=page(f"{asked.path}a"), after_s=0.1))
    info = audit(place, site.url("/"), sitemaps=False, max_minutes=0.01, avoid_traps=False).info
    assert (info.ended_by, info.sentence) == ("time_limit", "Stopped: the limit of 0.01 minutes per run was reached.")
    assert codes(info) == ["time_limit_near", "time_limit"]
    assert info.left > 0


def test_a_noindex_page_is_read_and_its_body_is_kept_only_if_asked_for(place: Place, web: Web) -> None:
    head = "<meta name=robots content=noindex>"
    site = web.site({"/": page("/n"), "/n": page("/", title="Hidden", head=head, body="<h1>some words</h1>")})
    stored = audit(place, site.url("/"), sitemaps=False)
    found = by_path(stored, site)["/n"]
    assert (found.error, found.status) == ("noindex", 200)
    assert found.facts is not None
    assert (found.facts.titles, found.facts.headings[0].text) == (("Hidden",), "some words")
    assert [link.link.url for link in stored.links() if link.page == site.url("/n")] == [site.url("/")]
    assert "some words" not in bodies(stored.folder)
    kept = audit(place, site.url("/"), sitemaps=False, keep_noindex=True)
    assert "some words" in bodies(kept.folder)


def bodies(folder: Path) -> str:
    parts = Place(folder).parts()
    return " ".join(row["body"] or "" for row in parts)


def test_a_start_that_redirects_to_another_host_is_followed_and_reported(place: Place, web: Web) -> None:
    there = web.site({"/": page("/a"), "/a": page()}, address="127.0.0.2")
    here = web.site({"/": redirect(there.url("/"), 301)})
    stored = audit(place, here.url("/"), sitemaps=False)
    assert {each.url for each in stored.pages()} == {here.url("/"), there.url("/"), there.url("/a")}
    assert codes(stored.info) == ["redirected"]
    assert there.url("/") in stored.info.warnings[0].sentence
    assert (stored.info.site, stored.info.ended_by) == (here.url("/"), "nothing_left")


def test_a_redirect_that_an_earlier_process_followed_is_reported_too(place: Place, web: Web) -> None:
    held = threading.Event()
    routes = tree(12)
    for path in ("/p3", "/p4"):
        routes[path] = Answer(body=routes[path], held=held)  # type: ignore[arg-type]
    there = web.site(routes, address="127.0.0.2")
    here = web.site({"/": redirect(there.url("/"), 301)})

    def stop(run: AuditRun) -> None:
        wait_until(lambda: {"/p3", "/p4"} <= set(there.pages()), 60, "the pages that are held")
        run.stop()
        held.set()

    assert audit(place, here.url("/"), stop, sitemaps=False).info.ended_by == "stopped"
    stored = audit(place, here.url("/"), sitemaps=False, max_pages=8)
    assert stored.info.ended_by == "page_limit"
    assert "redirected" in codes(stored.info)
    assert {each.url: each.depth for each in stored.pages()}[there.url("/")] == 0


def test_a_site_without_tls_that_was_named_without_a_scheme_has_no_fault_for_it(place: Place, web: Web) -> None:
    site = web.site({"/": page("/a"), "/a": page()}, robots="User-agent: *\nDisallow: /private\n")
    stored = audit(place, site.host)
    assert (stored.info.site, stored.info.pages) == (site.url("/"), 2)
    assert {each.url: each.depth for each in stored.pages() if each.status}[site.url("/")] == 0
    assert "robots_unreachable" not in {each.code for each in find(stored)}


def test_a_crawl_and_an_audit_of_one_host_do_not_change_each_other(place: Place, web: Web) -> None:
    site = web.site(tree(8))
    assert place.crawl(site.url("/")).pages == 8
    of_crawl = "SELECT * FROM domain_frontier WHERE domain_id IN (SELECT id FROM domains) ORDER BY id"
    before = place.rows(of_crawl)
    pages = {url: row["crawl_time"] for url, row in place.kept().items()}
    first = audit(place, site.url("/"), sitemaps=False)
    assert first.info.pages == 8
    assert place.rows(of_crawl) == before
    assert {url: row["crawl_time"] for url, row in place.kept().items()} == pages
    other = web.site(tree(8))
    assert audit(place, other.url("/"), sitemaps=False).info.pages == 8
    assert place.crawl(other.url("/")).pages == 8


def test_depths_are_links_from_the_start_and_robots_denials_of_every_link_are_kept(place: Place, web: Web) -> None:
    routes = {"/": page("/a"), "/a": page("/b", "/x1"), "/b": page("/c", "/x2"), "/c": page("/")}
    site = web.site(routes, robots="User-agent: *\nDisallow: /x\n")
    site.routes["/sitemap.xml"] = sitemap(site, "/c", "/alone")
    site.routes["/alone"] = page()
    stored = audit(place, site.url("/"))
    depths = {path: each.depth for path, each in by_path(stored, site).items()}
    assert depths == {"/": 0, "/a": 1, "/b": 2, "/c": 3, "/x1": 2, "/x2": 3, "/alone": 1}
    denied = [each.url for each in stored.decisions() if not each.allowed]
    assert denied == [site.url("/x1"), site.url("/x2")]
    order = [(each.depth, each.url) for each in stored.pages()]
    assert order == sorted(order)


def test_a_stopped_audit_goes_on(place: Place, web: Web) -> None:
    held = threading.Event()
    routes = tree(20)
    for path in ("/p5", "/p6"):  # both slots are taken, so nothing else is fetched meanwhile
        routes[path] = Answer(body=routes[path], held=held)  # type: ignore[arg-type]
    site = web.site(routes)

    def stop(run: AuditRun) -> None:
        wait_until(lambda: {"/p5", "/p6"} <= set(site.pages()), 60, "the pages that are held")
        run.stop()
        held.set()

    first = audit(place, site.url("/"), stop, sitemaps=False)
    assert first.info.ended_by == "stopped"
    assert 0 < first.info.pages < 20
    second = audit(place, site.url("/"), sitemaps=False)
    assert second.info.audit_id == first.info.audit_id
    assert (second.info.pages, second.info.ended_by) == (20, "nothing_left")
    assert len(site.pages()) == len(set(site.pages())) == 20
    assert [info.audit_id for info in stored_audits(place.folder / "audits")] == [second.info.audit_id]


def test_an_audit_knows_which_host_it_waits_for(place: Place, web: Web) -> None:
    held = threading.Event()
    site = web.site({"/": Answer(body=page("/a"), held=held), "/a": page()})

    def audit_beside(_first: AuditRun) -> None:
        def release(second: AuditRun) -> None:
            wait_until(lambda: second.waits_for == (site.host,), 60, "the wait for the host")
            held.set()

        wait_until(lambda: "/" in site.pages(), 60, "the page that is held")
        try:
            assert audit(place, site.url("/a"), release, sitemaps=False).info.pages == 1
        finally:
            held.set()

    first = audit(place, site.url("/"), audit_beside, sitemaps=False)
    assert (first.info.pages, first.info.ended_by) == (2, "nothing_left")


def test_an_audit_that_has_not_ended_cannot_be_read_yet(place: Place, web: Web) -> None:
    held = threading.Event()
    site = web.site({"/": Answer(body=page(), held=held)})
    folder = place.folder / "audits"

    def look(_run: AuditRun) -> None:
        wait_until(lambda: "/" in site.pages(), 60, "the first page")
        (begun,) = folder.iterdir()
        assert read_info(begun).ended_at is None
        with pytest.raises(NotFound, match="has not ended yet"):
            StoredAudit(begun)
        held.set()

    audit(place, site.url("/"), look, sitemaps=False)
    with pytest.raises(NotFound, match="there is no audit"):
        StoredAudit(folder / "other")


def test_a_site_that_cannot_be_reached_has_an_audit_without_pages(place: Place) -> None:
    stored = audit(place, f"http://127.0.0.1:{closed_port()}/", retries=0)
    assert (stored.info.pages, stored.info.ended_by) == (0, "connection_failure")
    assert (list(stored.links()), list(stored.listed()), stored.sitemaps()) == ([], [], [])


def planted(web: Web, pages: int) -> Site:
    """A site with pages of every fate."""
    routes: dict[str, Any] = tree(pages)
    leaf = list(routes)[-1]
    routes[leaf] = Answer(body=page("/moved", "/missing", "/no/1", "https://o.example/", title="leaf"), is_gzipped=True)
    routes["/moved"] = redirect("/p1")
    site = web.site(routes, robots="User-agent: *\nDisallow: /no/\n")
    site.routes["/sitemap.xml"] = sitemap(site, "/p1", "/listed", "/no/2")
    site.routes["/listed"] = page(head="<meta name=robots content=noindex>")
    return site


def test_both_databases_give_the_same_audit(place: Place, web: Web, migrated_postgres_url: str) -> None:
    site = planted(web, 8)
    embedded = without_times(audit(place, site.url("/")))
    shared = without_times(audit(place, site.url("/"), database_url=migrated_postgres_url))
    assert len(embedded["pages"]) == 13
    for name, values in embedded.items():
        assert shared[name] == values, name


def test_a_host_that_a_crawl_gave_up_is_audited_all_the_same(place: Place, web: Web) -> None:
    site = web.site({"/": page("/a"), "/a": page()}, robots=Answer(500))
    assert place.crawl(site.url("/"), retries=0).pages == 0
    assert place.host(site.host)["status"] != "pending"
    before = place.host(site.host)["status"]
    stored = audit(place, site.url("/"), sitemaps=False, robots_unreachable="allow")
    assert stored.info.pages == 2
    assert place.host(site.host)["status"] == before


def kill_after(process: Apart, site: Site, requests: int) -> None:
    wait_until(lambda: len(site.log) >= requests or process.poll() is not None, 60, "requests")
    process.kill()


@pytest.mark.roomy
def test_killed_again_and_again_an_audit_ends_with_the_same_data(place: Place, web: Web, tmp_path: Path) -> None:
    pages, kills = sized((25, 4), (110, 40))
    site = planted(web, pages)
    place.env |= {"COMITY_AUDITS": str(place.folder / "audits"), "COMITY_SITEMAPS": "true", **LONG_REQUESTS}
    undisturbed = Place(tmp_path / "undisturbed", place.server)
    undisturbed.folder.mkdir()
    expected = without_times(audit(undisturbed, site.url("/")))
    assert len(expected["pages"]) == pages + 5
    for number in range(kills):
        with place.begun("audit", site.url("/")) as process:
            kill_after(process, site, len(site.log) + 1 + (7 * number) % 11)
    last = place.comity_apart("audit", site.url("/"), within_s=120)
    assert last.code == 0, last.err
    (folder,) = (place.folder / "audits").iterdir()
    found = without_times(StoredAudit(folder))
    assert found["info"].ended_by == "nothing_left"
    found["info"] = replace(found["info"], user_agent=expected["info"].user_agent)
    for name, values in expected.items():
        assert found[name] == values, name
    runs = json.loads((folder / "audit.json").read_text())["run_ids"]
    assert len(runs) > 1


def test_translations_that_only_hreflang_names_are_visited(place: Place, web: Web) -> None:
    """Otherwise no audit could tell that one of them is missing."""
    there = '<link rel="alternate" hreflang="de" href="/de"><link rel="alternate" hreflang="fr" href="/fr">'
    site = web.site({"/": page(body=there), "/de": page()}, robots="User-agent: *\nCrawl-delay: 0.01\n")
    found = by_path(audit(place, site.url("/"), sitemaps=False), site)
    assert {path: each.status for path, each in found.items()} == {"/": 200, "/de": 200, "/fr": 404}


def test_a_second_process_is_told_who_runs_the_audit_and_changes_nothing(place: Place, web: Web) -> None:
    held = threading.Event()
    site = web.site({"/": Answer(body=page("/a"), held=held), "/a": page()})

    def run_again(_run: AuditRun) -> None:
        wait_until(lambda: "/" in site.pages(), 60, "the first page")
        try:
            with pytest.raises(ComityError, match=f"is being run by another process \\(process {os.getpid()}\\)"):
                audit(place, site.url("/"), sitemaps=False)
        finally:
            held.set()

    stored = audit(place, site.url("/"), run_again, sitemaps=False)
    assert (stored.info.pages, stored.info.ended_by) == (2, "nothing_left")
    assert len(list((place.folder / "audits").iterdir())) == 1


@pytest.mark.roomy
def test_a_process_that_is_killed_frees_its_audit(place: Place, web: Web) -> None:
    held = threading.Event()
    site = web.site({"/": Answer(body=page("/a"), held=held), "/a": page()})
    place.env |= {"COMITY_AUDITS": str(place.folder / "audits"), **LONG_REQUESTS}
    with place.begun("audit", site.url("/")) as process:
        wait_until(lambda: "/" in site.pages() or process.poll() is not None, 60, "the first page")
        second = place.comity_apart("audit", site.url("/"))
        assert second.code == 1
        assert "is being run by another process" in second.err
        process.kill()
    held.set()
    last = place.comity_apart("audit", site.url("/"), within_s=120)
    assert last.code == 0, last.err
    (folder,) = (place.folder / "audits").iterdir()
    assert StoredAudit(folder).info.pages == 2


def test_an_audit_that_waits_for_a_host_makes_no_runs_in_vain(place: Place, web: Web) -> None:
    held = threading.Event()
    site = web.site({"/": Answer(body=page("/a"), held=held), "/a": page()})
    looks: list[bool] = []

    def audit_beside(_first: AuditRun) -> None:
        def release(second: AuditRun) -> None:
            wait_until(lambda: second.waits_for == (site.host,), 60, "the wait for the host")
            any_free = Leases.any_free
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(
                    Leases, "any_free", lambda self, hosts: looks.append(any_free(self, hosts)) or looks[-1]
                )
                wait_until(lambda: len(looks) > 2, 60, "some looks")
                held.set()
                assert second.wait(LIMIT_S)

        wait_until(lambda: "/" in site.pages(), 60, "the page that is held")
        try:
            audit(place, site.url("/a"), release, sitemaps=False)
        finally:
            held.set()

    audit(place, site.url("/"), audit_beside, sitemaps=False)
    assert looks[:2] == [False, False]
    assert len(place.rows("SELECT id FROM crawl_runs")) == 3  # the first audit, one look, and the second audit


def test_budgets_are_near_while_an_audit_runs(place: Place) -> None:
    plan = plan_audit(place.settings(max_pages=10, max_minutes=60.0), "https://e.example/")
    run = AuditRun(plan)
    assert run.near_limits(5.0) == []
    run.progress = Progress(1000.0)
    run.pages_before, run.progress.pages = 6, 1
    assert run.near_limits(1000.0) == []
    run.progress.pages = 2
    assert [each.code for each in run.near_limits(1000.0)] == ["page_limit_near"]
    (_, near) = run.near_limits(1000.0 + 48 * 60)
    assert near == ("time_limit_near", "80 % of the limit of 60 minutes per run is used.")


def test_translations_that_only_a_sitemap_names_are_visited_and_must_be_named_both_ways(place: Place, web: Web) -> None:
    site = web.site(
        {"/": page("/en", "/de"), "/en": page(), "/de": page()}, robots="User-agent: *\nCrawl-delay: 0.01\n"
    )

    def entry(path: str, **alternates: str) -> str:
        links = "".join(
            f'<xhtml:link rel="alternate" hreflang="{code}" href="{site.url(to)}"/>' for code, to in alternates.items()
        )
        return f"<url><loc>{site.url(path)}</loc>{links}</url>"

    entries = entry("/en", en="/en", de="/de", fr="/fr", xx="/en") + entry("/de", de="/de") + entry("/")
    xml = (
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" '
        f'xmlns:xhtml="http://www.w3.org/1999/xhtml">{entries}</urlset>'
    )
    site.routes["/sitemap.xml"] = Answer(body=xml, type="text/xml")
    stored = audit(place, site.url("/"))
    assert by_path(stored, site)["/fr"].status == 404
    listed = {each.url: each.alternates for each in stored.listed()}
    assert listed[site.url("/en")][1] == Alternate("de", site.url("/de"), "sitemap")
    found = {each.code: {on.url: on.detail for on in each.pages} for each in find(stored)}
    assert found["hreflang_no_return"] == {site.url("/en"): f"de: {site.url('/de')}"}
    assert found["hreflang_to_error"] == {site.url("/en"): f"fr: {site.url('/fr')} (404)"}
    assert found["hreflang_invalid"] == {site.url("/en"): "'xx'"}
    assert "error_in_sitemap" not in found


def test_an_audit_that_begins_too_late_is_stopped_and_not_left_to_itself(
    place: Place, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "_BEGINS_WITHIN_S", 0.0)
    failures: list[BaseException] = []
    audits = AuditService(
        place.settings(audits=str(place.folder / "audits")), lambda _audit, problem: failures.append(problem)
    )
    with pytest.raises(ComityError, match="did not begin in time"):
        audits.start(planted(web, 3).url("/"))
    (run,) = audits._runs.values()
    audits.close()
    assert run.wait(0), "the server does not wait for it"
    assert audits.running() == []
    assert all(isinstance(each, ComityError) for each in failures)
