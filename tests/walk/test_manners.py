"""Politeness, judged by the site's own log. The crawler runs in a process apart, so that the log's clock is fair."""

from __future__ import annotations

import signal
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import pairwise

import pytest

from comity.rules.politeness.backoff import retry_delay
from tests.servers.waiting import wait_until
from tests.walk.crawling import DROPPED, Place
from tests.walk.site import LOG_IS_EXACT_TO_S, Answer, Asked, Site, Web, page, tree


def crawl(place: Place, site: Site, *options: object, code: int = 0) -> None:
    told = place.comity_apart("crawl", site.url(), *options)
    assert told.code == code, told.err


@pytest.mark.parametrize("per_host", [1, 4])
def test_the_crawl_delay_holds_between_any_two_requests(web: Web, place: Place, per_host: int) -> None:
    site = web.site(tree(6), robots="User-agent: *\nCrawl-delay: 0.2\n")
    crawl(place, site, "--delay", 0, "--per-host", per_host)
    assert len(site.log) == 7
    assert min(site.gaps()[1:]) >= 0.2 - LOG_IS_EXACT_TO_S, "from the moment at which robots.txt has said so"
    assert place.comity("verify-politeness").code == 0


def test_the_delay_that_was_asked_for_on_the_command_line_holds_from_the_start(web: Web, place: Place) -> None:
    site = web.site(tree(6), robots="User-agent: *\nCrawl-delay: 0.01\n")
    crawl(place, site, "--delay", 0.15)
    assert min(site.gaps()) >= 0.15 - LOG_IS_EXACT_TO_S


def test_a_policy_is_a_floor_under_the_door_and_under_robots(web: Web, place: Place) -> None:
    site = web.site(tree(6), robots="User-agent: *\nCrawl-delay: 0.05\n")
    assert place.comity("policy", "set", site.host, "--min-request-interval-ms", 250).code == 0
    crawl(place, site, "--delay", 0, "--per-host", 3)
    assert min(site.gaps()) >= 0.25 - LOG_IS_EXACT_TO_S
    assert site.overlaps() == 0, "its max_concurrency is 1"


def test_one_request_at_a_time_also_where_answers_are_slow(web: Web, place: Place) -> None:
    routes = {path: Answer(body=body, after_s=0.1) for path, body in tree(6).items()}
    site = web.site(routes)  # type: ignore[arg-type]
    crawl(place, site, "--delay", 0)
    assert site.overlaps() == 0
    assert min(site.gaps()[1:]) >= 0.1 - LOG_IS_EXACT_TO_S


def test_a_policy_that_is_edited_during_the_crawl_takes_effect(web: Web, place: Place) -> None:
    site = web.site(tree(400))
    with place.begun("crawl", site.url(), "--delay", 0.05) as process:
        wait_until(lambda: len(site.log) > 10, 60, "some pages")
        before = site.gaps()
        assert place.comity("policy", "set", site.host, "--min-request-interval-ms", 400).code == 0
        wait_until(lambda: min(site.gaps()[-4:]) >= 0.4 - LOG_IS_EXACT_TO_S, 60, "the new pace")
        process.kill()
    assert min(before) < 0.4


def test_a_policy_that_is_relaxed_during_the_crawl_takes_effect_on_the_wait_under_way(web: Web, place: Place) -> None:
    site = web.site(tree(3))
    assert place.comity("policy", "set", site.host, "--min-request-interval-ms", 30_000).code == 0
    with place.begun("crawl", site.url(), "--delay", 0) as process:
        wait_until(lambda: site.paths == ["/robots.txt"], 60, "robots.txt")
        assert place.comity("policy", "set", site.host, "--min-request-interval-ms", 50).code == 0
        assert process.wait(60) == 0
    assert len(site.pages()) == 3


def test_a_takedown_that_is_added_during_the_crawl_stops_requests(web: Web, place: Place) -> None:
    site = web.site(tree(400) | tree(100, prefix="/out/"))
    other = web.site(tree(400))
    with place.begun("crawl", site.url(), other.url(), "--delay", 0.03) as process:
        wait_until(lambda: len(site.log) > 10 and len(other.log) > 10, 60, "some pages")
        assert place.comity("takedown", "add", site.host).code == 0
        # At this pace each site has every second request: so many of the other in a row mean that this one is left.
        wait_until(
            lambda: len([seen for seen in list(other.log) if seen.at > site.log[-1].at]) > 25, 60, "only the other site"
        )
        process.kill()
    assert DROPPED in place.frontier(site.host).values()


def test_a_takedown_comes_between_a_request_and_its_turn(web: Web, place: Place) -> None:
    """The next page waits for its delay when its address is taken down: it is not asked for when its turn comes."""
    site = web.site({"/": page("/a"), "/a": page()}, robots="User-agent: *\nCrawl-delay: 5\n")
    with place.begun("crawl", site.url(), "--delay", 0) as process:
        wait_until(lambda: "/" in site.paths, 60, "the first page")
        assert place.comity("takedown", "add", site.url("/a")).code == 0
        assert process.wait(60) == 0
    assert site.paths == ["/robots.txt", "/"]
    assert place.frontier(site.host)[site.url("/a")] == DROPPED


def in_two_seconds(_asked: Asked) -> str:
    """A date counts in whole seconds: this one is between one and two seconds away."""
    return format_datetime(datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=2), usegmt=True)


@pytest.mark.parametrize(("status", "form"), [(429, "seconds"), (503, "date")])
def test_retry_after_silences_the_whole_host(web: Web, place: Place, status: int, form: str) -> None:
    def tired(asked: Asked) -> Answer | str:
        if asked.count > 1:
            return page()
        return Answer(status, headers={"Retry-After": "1" if form == "seconds" else in_two_seconds(asked)})

    site = web.site({"/": page("/a", "/b", "/tired", "/c", "/d"), "/tired": tired}, fallback=page())
    crawl(place, site, "--delay", 0.02)
    assert sorted(site.pages()) == ["/", "/a", "/b", "/c", "/d", "/tired", "/tired"]
    refused = site.of("/tired")[0]
    assert refused.ended_at is not None
    later = [seen.at - refused.ended_at for seen in site.log if seen.at > refused.at]
    assert min(later) >= (1.0 if form == "seconds" else 0.9), "nothing at all is asked in the meantime"
    assert [row["outcome"] for row in place.fetches(site.host)].count("rate_limited") == 1
    assert place.comity("verify-politeness").code == 0


def test_a_burst_of_503_is_met_with_growing_pauses_and_given_up_after_five_retries(web: Web, place: Place) -> None:
    """The first page is fine and the only other one never is: pauses by Fibonacci, six tries in all."""
    site = web.site({"/": page("/tired")}, fallback=Answer(503))
    queued_again = "SELECT attempts FROM domain_frontier WHERE state = 0 AND attempts >= 4"
    with place.begun("crawl", site.url(), "--delay", 0) as process:
        wait_until(lambda: len(site.of("/tired")) >= 4 and place.rows(queued_again) != [], 60, "four tries")
        process.send(signal.SIGTERM)
        assert process.wait(60) == 130
    tries = site.of("/tired")
    pauses = [later.at - earlier.at for earlier, later in pairwise(tries)]
    assert 3 <= len(pauses) < 5, "a fifth try only if the signal came late"
    for number, pause in enumerate(pauses, start=1):
        assert retry_delay(number) <= pause < retry_delay(number) + 20
    (queued,) = place.rows("SELECT attempts FROM domain_frontier WHERE state = 0")
    assert queued["attempts"] == len(tries)
    place.execute("UPDATE domain_frontier SET attempts = 5, not_before = NULL WHERE state = 0")
    place.execute("UPDATE domains SET blocked_until = NULL, next_crawl_after = NULL")
    crawl(place, site, "--delay", 0, code=1)  # no page came
    failed = len(tries) + 1
    assert len(site.of("/tired")) == failed, "the last of six tries is the last"
    assert [row["outcome"] for row in place.fetches(site.host)] == ["fetched"] + failed * ["failed"]
    assert place.kept()[site.url("/tired")]["http_status"] == 503
    assert (place.host(site.host)["status"], place.host(site.host)["total_error_count"]) == ("exhausted", failed)


def test_a_longer_patience_than_ours_gives_the_host_back_until_then(web: Web, place: Place) -> None:
    tired = Answer(429, headers={"Retry-After": "3600"})
    site = web.site({"/": page("/tired", "/a", "/b"), "/tired": tired}, fallback=page())
    other = web.site(tree(3))
    asked = datetime.now(UTC)
    summary = place.comity_apart("crawl", site.url(), other.url(), "--delay", 0, "--json").json["summary"]
    assert summary["seconds"] < 60
    assert site.pages() == ["/", "/tired"], "the whole host is left in peace"
    row = place.host(site.host)
    assert (row["status"], row["claimed_by"], row["block_reason_code"]) == ("active", None, None)
    due = datetime.fromisoformat(row["next_crawl_after"]).replace(tzinfo=UTC)
    assert timedelta(minutes=59) < due - asked < timedelta(minutes=61)
    assert len(other.pages()) == 3
    again = place.comity("crawl", site.url(), "--json").json
    assert again["summary"]["pages"] == 0
    assert len(site.log) == 3, "not before that time"
    (idle,) = again["idle"]
    assert idle["host"] == site.host
    assert idle["due_at"] is not None
    place.execute("UPDATE domains SET next_crawl_after = NULL")
    assert place.comity("crawl", site.url(), "--json").json["summary"]["pages"] == 0
    assert len(site.log) == 3, "the gate remembers, too"


def test_a_robots_file_that_asks_to_wait_is_not_asked_again_meanwhile(web: Web, place: Place) -> None:
    site = web.site(tree(3), robots=Answer(429, headers={"Retry-After": "600"}))
    crawl(place, site, code=1)  # no page came
    assert site.paths == ["/robots.txt"]
    row = place.host(site.host)
    assert row["claimed_by"] is None
    assert row["blocked_until"] is not None
    assert place.comity("robots", site.url()).code == 1
    assert site.paths == ["/robots.txt"]


def test_the_pause_is_kept_from_one_run_to_the_next(web: Web, place: Place) -> None:
    site = web.site(tree(6), robots="User-agent: *\nCrawl-delay: 0.5\n")
    for _ in range(2):
        crawl(place, site, "--max-pages", 1, "--delay", 0)
    assert len(site.log) == 3
    assert min(site.gaps()[1:]) >= 0.5 - LOG_IS_EXACT_TO_S


def test_a_slow_site_is_asked_less_often(web: Web, place: Place) -> None:
    """It answers quickly at first and then takes its time; the pause between requests grows with that."""
    fast, slow = [f"/f{number}" for number in range(10)], [f"/s{number}" for number in range(8)]
    site = web.site(
        {"/": page(*fast, *slow)},
        fallback=lambda asked: Answer(body=page(), after_s=0.2 if asked.path.startswith("/s") else 0.0),
    )
    crawl(place, site, "--delay", 0.05)
    gaps_fast = [gap for gap, seen in zip(site.gaps(), site.log[1:], strict=True) if seen.path.startswith("/f")]
    gaps_slow = [gap for gap, seen in zip(site.gaps(), site.log[1:], strict=True) if seen.path.startswith("/s")]
    assert max(gaps_slow) > 0.25 > min(gaps_fast)
    sources = {row["delay_source"] for row in place.rows("SELECT delay_source FROM politeness_ledger")}
    assert "adaptive" in sources


def test_retries_the_longest_wait_and_time_outs_are_options(web: Web, place: Place) -> None:
    site = web.site({"/": page("/tired", "/slow"), "/tired": Answer(500), "/slow": Answer(body=page(), after_s=30)})
    crawl(place, site, "--delay", 0, "--retries", 1, "--first-byte-timeout", 0.8, "--max-retry-backoff", 1)
    assert (len(site.of("/tired")), len(site.of("/slow"))) == (2, 2), "one new try each"
    errors = {row["page_url"]: row["error"] for row in place.fetches(site.host) if row["error"]}
    assert errors[site.url("/slow")].startswith("first_byte_timeout: no response after 0.8 s")
    other = web.site({"/": page("/tired"), "/tired": Answer(500)})
    place.env["COMITY_RETRIES"] = "0"
    crawl(place, other, "--delay", 0)
    assert len(other.of("/tired")) == 1
    assert place.comity("crawl", other.url(), "--retries", -1).err.startswith("comity: --retries: must be")
    assert place.comity("crawl", other.url(), "--connect-timeout", 0).err.startswith(
        "comity: --connect-timeout: must be"
    )
