"""`comity why`, `comity robots` and `comity verify-politeness`: for people, for programs, and by their exit codes."""

from __future__ import annotations

from typing import Any

import pytest

from comity.leases.leases import Leases
from tests.walk.crawling import QUEUED, Place
from tests.walk.site import Answer, Site, Web, page, redirect, tree

ROBOTS = """User-agent: *
Disallow: /private/
Allow: /private/open
Crawl-delay: 0.01
Sitemap: https://example.org/map.xml

User-agent: OtherBot
Disallow: /
"""


def why(place: Place, url: str) -> dict[str, Any]:
    told = place.comity("why", url, "--json")
    assert told.code == 0
    document: dict[str, Any] = told.json
    people = place.comity("why", url)
    assert people.code == 0
    assert people.out.splitlines()[0] == document["decision"]
    for step in document["chain"]:
        assert step["sentence"] in people.out, "people are told the same"
    return document


def now(document: dict[str, Any], what: str) -> str:
    (step,) = [step for step in document["chain"] if step["what"] == what and step["at"] is None]
    sentence: str = step["sentence"]
    return sentence


@pytest.fixture
def site(web: Web, place: Place) -> Site:
    """A site that was crawled to its end."""
    made = web.site(
        {
            "/": page("/a", "/private/x", "/hidden", "/gone", "/out"),
            "/a": page(),
            "/hidden": page(head='<meta name="robots" content="noindex">'),
            "/out": redirect("/out"),
        },
        robots=ROBOTS,
    )
    place.crawl(made.url())
    return made


def test_a_url_that_was_visited_is_a_duplicate(place: Place, site: Site) -> None:
    told = why(place, site.url("/a"))
    assert told["code"] == "fetched"
    assert "is not visited twice in one crawl" in told["decision"]
    assert told["would_be_fetched"] is False
    past = [step["what"] for step in told["chain"] if step["at"] is not None]
    assert past == ["discovered", "robots_allowed", "fetched"]


def test_robots_is_named_with_the_line_that_decides(place: Place, site: Site) -> None:
    told = why(place, site.url("/private/x"))
    assert told["decision"] == "robots.txt forbids it: line 2: Disallow: /private/."
    assert "blocked_by_robots" in [step["what"] for step in told["chain"]]
    assert now(why(place, site.url("/private/open")), "robots").startswith("robots.txt allows it")


def test_a_cooldown_comes_before_what_became_of_one_url_and_after_a_decision_of_our_own(web: Web, place: Place) -> None:
    site = web.site(fallback=Answer(403))
    place.crawl(site.url())
    told = why(place, site.url())
    assert told["code"] == "cooldown"
    assert "answered 403" in told["decision"]
    closed = web.site({}, robots="User-agent: *\nDisallow: /\n")
    place.crawl(closed.url())
    told = why(place, closed.url())
    assert told["code"] == "robots_denied"
    assert "The host is blocked until" in told["decision"]


def test_the_next_run_takes_a_spent_budget_away(web: Web, place: Place) -> None:
    site = web.site(tree(9))
    place.crawl(site.url(), max_pages=3)
    url = next(url for url, state in place.frontier(site.host).items() if state == QUEUED)
    told = why(place, url)
    assert (told["code"], told["would_be_fetched"]) == ("budget", True)
    assert "3 pages per run" in told["decision"]
    place.crawl(site.url())
    assert why(place, url)["code"] == "fetched"


def test_a_link_that_is_followed_elsewhere_is_not_said_to_be_left(web: Web, place: Place) -> None:
    """It is linked with nofollow on one page, and without on another that is read later."""
    site = web.site(
        {"/": page("/b", body='<a rel="nofollow" href="/twice">t</a>'), "/b": page("/twice"), "/twice": page()}
    )
    place.crawl(site.url())
    told = why(place, site.url("/twice"))
    assert told["code"] == "fetched"
    sentences = [step["sentence"] for step in told["chain"]]
    assert f"found through a link on {site.url('/b')}" in sentences
    assert f"found through a link on {site.url()}; skipped, because the link says rel=nofollow" in sentences


def test_a_lease_is_named_with_its_holder(place: Place, site: Site) -> None:
    with place.opened() as state:
        Leases(state.database, state.clock, holder="somebody:else:0:0").take([site.host])
        told = why(place, site.url("/new"))
        assert told["decision"].startswith("somebody:else:0:0 holds the lease of its host until ")
        assert why(place, site.url("/a"))["code"] == "fetched", "what is done does not wait for anybody"


def test_a_policy_is_named(place: Place, site: Site) -> None:
    place.comity("policy", "set", site.host, "--min-request-interval-ms", 4321)
    assert "at least 4321 ms between requests" in now(why(place, site.url()), "policy")


@pytest.mark.usefixtures("without_state")
def test_asking_makes_no_state(place: Place) -> None:
    assert why(place, "https://example.org/x")["code"] == "unknown_host"
    assert not place.state.exists()


def test_an_explanation_fits_the_window(place: Place, site: Site) -> None:
    place.env["COLUMNS"] = "80"
    told = place.comity("why", site.url("/private/x"))
    longest = max(told.out.splitlines(), key=len)
    assert len(longest) <= 80, longest


@pytest.mark.parametrize("text", ["not a url", "ftp://example.org/", "https://user:secret@example.org/"])
def test_what_is_no_url_is_told(place: Place, text: str) -> None:
    for command in ("why", "robots"):
        told = place.comity(command, text)
        assert told.code == 2
        assert "secret" not in told.err


def test_robots_is_asked_for_once_and_read_from_the_cache_after(web: Web, place: Place) -> None:
    site = web.site(tree(2), robots=ROBOTS)
    for _ in range(2):
        told = place.comity("robots", site.url("/private/x"))
        assert told.code == 0
        assert f"{site.url('/private/x')} is not allowed for ComityBot/" in told.out
        assert "Crawl delay: 0.01 s" in told.out
        assert "https://example.org/map.xml" in told.out
    assert site.paths == ["/robots.txt"]
    row = place.host(site.host)
    assert (row["is_seeded"], row["claimed_by"], row["source"]) == (0, None, "robots")
    assert place.comity("verify-politeness", "--json").json["requests"] == 1


def test_robots_for_programs_and_for_another_crawler(web: Web, place: Place) -> None:
    site = web.site(tree(2), robots=ROBOTS)
    told = place.comity("robots", site.url("/a"), "--json").json
    assert told["verdict"]["allowed"] is True
    assert (told["crawl_delay_s"], told["http_status"], told["origin"]) == (0.01, 200, site.url()[:-1])
    assert told["disallow"] == ["/private/"]
    other = place.comity("robots", site.url("/a"), "--agent", "OtherBot", "--json").json
    assert other["verdict"]["allowed"] is False
    assert other["verdict"]["rule"] == "Disallow: /"
    assert site.paths == ["/robots.txt"]


def test_robots_of_a_host_without_one(web: Web, place: Place) -> None:
    site = web.site(tree(2))
    told = place.comity("robots", site.host.join(["http://", "/x"]))
    assert told.code == 0
    assert "is allowed" in told.out
    assert "robots.txt answered 404" in told.out


def test_robots_of_a_taken_down_or_private_host_is_not_asked_for(web: Web, place: Place) -> None:
    site = web.site(tree(2), robots=ROBOTS)
    place.comity("takedown", "add", site.host)
    told = place.comity("robots", site.url())
    assert (told.code, "taken down" in told.err) == (1, True)
    place.comity("takedown", "remove", site.host)
    place.env["COMITY_ALLOW_NETWORKS"] = ""
    told = place.comity("robots", site.url())
    assert (told.code, "loopback" in told.err) == (1, True)
    assert site.log == []


def test_the_proof_of_manners_finds_what_is_planted(place: Place, site: Site) -> None:
    """Each kind of breach, written into the ledger by hand."""
    told = place.comity("verify-politeness")
    assert (told.code, told.out.strip()) == (
        0,
        "6 requests to 1 host checked: no violations.",
    ) or "no violation" in told.out
    host_id = place.host(site.host)["id"]
    columns = (
        "domain_id, lease_token, url, purpose, started_at, ended_at, delay_s, delay_source, max_concurrency, rule, "
        "status, blocked_until"
    )

    def plant(second: float, **changes: Any) -> None:
        at = f"2031-01-01 00:{int(second // 60):02d}:{second % 60:09.6f}"
        row = {
            "lease_token": 9,
            "ended_at": at,
            "delay_s": 1.0,
            "max_concurrency": 1,
            "rule": None,
            "blocked_until": None,
        } | changes
        values = (
            host_id,
            row["lease_token"],
            site.url(f"/{second:g}"),
            "page",
            at,
            row["ended_at"],
            row["delay_s"],
            "door",
        )
        rest = (row["max_concurrency"], row["rule"], 200, row["blocked_until"])
        place.execute(
            f"INSERT INTO politeness_ledger ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", *values, *rest
        )

    plant(0.0)
    plant(0.5)
    plant(10.0, ended_at="2031-01-01 00:00:20.000000")
    plant(15.0)
    plant(30.0, blocked_until="2031-01-01 00:01:30.000000")
    plant(40.0)
    plant(100.0, lease_token=8)
    plant(110.0, rule="Disallow: /")
    told = place.comity("verify-politeness", "--json")
    assert told.code == 1
    (audit,) = told.json["found"]
    breaches = [(violation["breach"], violation["url"]) for violation in audit["violations"]]
    assert {breach for breach, _url in breaches} >= {"row_inserted", "robots_stale"}, "and they are in no chain"
    breaches = [each for each in breaches if each[0] not in ("row_inserted", "robots_stale", "robots_mismatch")]
    assert breaches == [
        ("too_soon", site.url("/0.5")),
        ("too_many_at_once", site.url("/15")),
        ("inside_a_block", site.url("/40")),
        ("late_hand", site.url("/100")),
        ("disallowed", site.url("/110")),
    ]
    people = place.comity("verify-politeness", "--host", site.host)
    assert people.code == 1
    assert "violations in" in people.out
    assert "row_inserted" in people.out
    assert "more; --json lists them" in people.out


@pytest.mark.parametrize("json", [(), ("--json",)])
def test_what_cannot_be_checked_is_an_error(place: Place, site: Site, json: tuple[str, ...]) -> None:
    """A name that was mistyped must not look like a clean record."""
    told = place.comity("verify-politeness", "--host", "example.org", *json)
    assert told.code == 2
    assert "host example.org is not in this state" in told.err
    told = place.comity("verify-politeness", "--state", place.folder / "typo.db", *json)
    assert told.code == 2
    assert f"there is no state at {place.folder / 'typo.db'}" in told.err
    assert not (place.folder / "typo.db").exists()
    told = place.comity("verify-politeness", "--anchor", place.folder / "typo.jsonl", *json)
    assert told.code == 2


def test_a_ledger_without_a_request_says_so(place: Place) -> None:
    place.comity("seeds", "add", "example.org")
    told = place.comity("verify-politeness")
    assert (told.code, told.out.strip()) == (0, "The ledger is empty: no request is recorded.")
    told = place.comity("verify-politeness", "--host", "example.org")
    assert (told.code, told.out.strip()) == (0, "No request to example.org is recorded.")
