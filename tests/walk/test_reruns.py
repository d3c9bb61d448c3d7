"""Running again: what is done stays done, what was begun goes on, and a command with nothing to do says why."""

from __future__ import annotations

import io

import pytest

from tests.walk.crawling import DONE, QUEUED, TOO_DEEP, Place
from tests.walk.site import Answer, Web, page, tree


def test_a_second_run_has_nothing_to_do_and_says_why_and_what_would_change_it(web: Web, place: Place) -> None:
    site = web.site(tree(5))
    assert place.comity("crawl", site.url()).code == 0
    asked = len(site.log)
    told = place.comity("crawl", site.url())
    assert told.code == 0
    assert len(site.log) == asked
    assert f"{site.host} was not crawled: everything found there has been crawled; due " in told.out
    assert f"comity domains reset {site.host}" in told.out
    assert "0 pages" in told.out
    as_json = place.comity("crawl", site.url(), "--json").json
    (idle,) = as_json["idle"]
    assert (idle["host"], as_json["summary"]["pages"], as_json["summary"]["hosts"]) == (site.host, 0, [])
    assert idle["due_at"].endswith("Z")


def test_after_a_reset_everything_is_crawled_again(web: Web, place: Place) -> None:
    site = web.site(tree(5))
    place.comity("crawl", site.url())
    told = place.comity("domains", "reset", site.host, "--json").json
    assert (told["status"], told["urls_requeued"]) == ("pending", 5)
    again = place.comity("crawl", site.url(), "--json").json["summary"]
    assert again["pages"] == 5
    assert len(site.pages()) == 10
    row = place.host(site.host)
    assert (row["status"], row["pages_crawled"]) == ("exhausted", 5), "each page counts once"
    assert len(place.parts()) == 10, "each run keeps what it saw"


def test_the_same_seeds_again_go_on_with_what_is_open_and_skip_the_rest(web: Web, place: Place) -> None:
    """Of four hosts one is begun, one done, one blocked and one not started ()."""
    begun, done, new = web.site(tree(20)), web.site(tree(3)), web.site(tree(4))
    blocked = web.site(fallback=Answer(403))
    place.comity("crawl", done.url(), blocked.url())
    place.comity("crawl", begun.url(), "--max-pages", 8)
    place.comity("seeds", "add", new.url())
    before = {site.host: len(site.pages()) for site in (begun, done, blocked, new)}
    assert before == {begun.host: 8, done.host: 3, blocked.host: 1, new.host: 0}
    seeds = [site.url() for site in (begun, done, blocked, new)]
    told = place.comity("crawl", *seeds, "--json").json
    assert {line["host"]: line["pages"] for line in told["summary"]["hosts"]} == {begun.host: 12, new.host: 4}
    assert {idle["host"] for idle in told["idle"]} == {done.host, blocked.host}
    assert sorted(begun.pages()) == sorted(tree(20)), "each page once over both runs"
    assert len(done.pages()) == 3
    assert blocked.pages() == ["/"]


def test_a_higher_limit_goes_on_from_the_frontier(web: Web, place: Place) -> None:
    site = web.site(tree(20))
    for limit in (5, 5, 100):
        place.comity("crawl", site.url(), "--max-pages", limit)
    assert sorted(site.pages()) == sorted(tree(20))
    assert site.paths.count("/robots.txt") == 1, "the copy in the cache serves the next runs"
    assert place.host(site.host)["status"] == "exhausted"


def test_an_exhausted_host_stays_so_however_high_the_limit(web: Web, place: Place) -> None:
    site = web.site(tree(5))
    place.comity("crawl", site.url(), "--max-pages", 5)
    place.comity("crawl", site.url(), "--max-pages", 500)
    place.comity("crawl", site.url(), "--max-pages", 500)
    assert sorted(site.pages()) == sorted(tree(5))


def test_new_seeds_are_added_and_old_hosts_keep_their_state(web: Web, place: Place) -> None:
    old, new = web.site(tree(5)), web.site(tree(4))
    place.comity("crawl", old.url())
    row = place.host(old.host)
    told = place.comity("crawl", old.url(), new.url(), "--json").json
    assert told["summary"]["pages"] == 4
    assert place.host(old.host)["pages_crawled"] == row["pages_crawled"] == 5
    assert place.host(old.host)["status"] == "exhausted"


@pytest.mark.parametrize("command", ["crawl", "work"])
def test_a_page_that_nothing_links_to_is_visited_when_it_is_named_and_nothing_else_is(
    web: Web, place: Place, command: str
) -> None:
    """Also on a host that was done: what is queued there would wait for a refresh otherwise, or for ever."""
    site = web.site(tree(3) | {"/alone": page()})
    assert place.comity("crawl", site.url()).code == 0
    if command == "crawl":
        told = place.comity("crawl", site.url("/alone"), "--json").json
        assert (told["summary"]["pages"], told["idle"]) == (1, [])
    else:
        assert place.comity("seeds", "add", site.url("/alone")).code == 0
        assert place.comity("work", "--idle-exit").code == 0
    assert site.pages()[3:] == ["/alone"]
    assert place.host(site.host)["status"] == "exhausted"


def test_seeds_come_from_a_file_too(web: Web, place: Place) -> None:
    sites = [web.site(tree(3)) for _ in range(3)]
    file = place.folder / "seeds.txt"
    file.write_text("# three sites\n" + "\n".join(f"{rank},{site.url()}" for rank, site in enumerate(sites, 1)) + "\n")
    told = place.comity("crawl", "--seeds", file, "--json").json
    assert told["summary"]["pages"] == 9
    assert {place.host(site.host)["seed_rank"] for site in sites} == {1, 2, 3}


def test_seeds_come_from_a_pipe_too(web: Web, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    site = web.site(tree(3))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(f"# a list\r\n{site.url()}\r\n".encode())))
    assert place.comity("crawl", "--seeds", "-", "--json").json["summary"]["pages"] == 3
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff\xfe")))
    assert place.comity("crawl", "--seeds", "-").err == "comity: cannot read -: it is not UTF-8 text\n"


def test_a_reset_by_hand_written_sql_is_as_good(web: Web, place: Place) -> None:
    """an administrator sets the status."""
    site = web.site(tree(4))
    place.comity("crawl", site.url())
    assert place.execute("UPDATE domains SET status = 'pending', next_crawl_after = NULL") == 1
    place.comity("crawl", site.url())
    assert len(site.pages()) == 8


def test_a_host_that_is_due_again_is_revisited_with_refresh_mode(web: Web, place: Place) -> None:
    site = web.site(tree(4))
    place.comity("crawl", site.url())
    place.execute("UPDATE domains SET next_crawl_after = '2020-01-01 00:00:00.000000'")
    place.comity("crawl", site.url())
    assert len(site.pages()) == 4, "turned off, it is left as it is"
    place.env["ENABLE_REFRESH_MODE"] = "true"
    place.comity("crawl", site.url())
    assert len(site.pages()) == 8


def test_links_that_lie_too_deep_are_kept(web: Web, place: Place) -> None:
    site = web.site({"/": page("/a"), "/a": page("/b"), "/b": page()})
    place.comity("crawl", site.url(), "--max-depth", 1)
    assert place.frontier(site.host) == {site.url(): DONE, site.url("/a"): DONE, site.url("/b"): TOO_DEEP}


@pytest.mark.usefixtures("without_state")
@pytest.mark.parametrize("arguments", [(), ("--seeds", "missing.txt"), ("not a host",), ("ftp://example.com/",)])
def test_bad_seeds_are_told_and_nothing_is_written(place: Place, arguments: tuple[str, ...]) -> None:
    told = place.comity("crawl", *arguments)
    assert told.code == 2
    assert told.err.startswith("comity: ")
    assert not place.state.exists()


def test_a_taken_down_seed_is_left_out_and_told(web: Web, place: Place) -> None:
    site, other = web.site(tree(3)), web.site(tree(3))
    place.comity("takedown", "add", site.host)
    told = place.comity("crawl", site.url(), other.url())
    assert told.code == 0
    assert "Skipped because of a takedown" in told.err
    assert (site.log, len(other.pages())) == ([], 3)
    as_json = place.comity("crawl", site.url(), "--json").json
    assert as_json["taken_down"] == [site.host]
    assert site.log == []


def test_what_was_taken_down_and_set_free_is_crawled_after_a_reset(web: Web, place: Place) -> None:
    site = web.site({"/": page("/a", "/b"), "/a": page(), "/b": page()})
    place.comity("crawl", site.url(), "--max-pages", 1)
    place.comity("takedown", "add", site.url("/a"))
    place.comity("crawl", site.url())
    assert "/a" not in site.paths
    place.comity("takedown", "remove", site.url("/a"))
    place.comity("domains", "reset", site.host)
    place.comity("crawl", site.url())
    assert "/a" in site.paths


def test_nothing_is_left_queued_by_a_run_that_ended_by_itself(web: Web, place: Place) -> None:
    site = web.site(tree(30))
    place.comity("crawl", site.url())
    assert QUEUED not in place.frontier(site.host).values()


def test_a_site_that_robots_closed_is_crawled_as_soon_as_its_file_opens_it(web: Web, place: Place) -> None:
    site = web.site(tree(3), robots="User-agent: *\nDisallow: /\n")
    place.comity("crawl", site.url())
    assert place.host(site.host)["block_reason_code"] == "robots_denied"
    site.routes["/robots.txt"] = Answer(body="User-agent: *\nAllow: /\n", type="text/plain")
    place.comity("crawl", site.url())
    assert site.pages() == [], "the copy is fresh: the file is not asked for again"
    place.execute("UPDATE robots_cache SET expires_at = '2020-01-01 00:00:00.000000'")
    assert place.comity("crawl", site.url(), "--json").json["summary"]["pages"] == 3
    assert place.host(site.host)["status"] == "exhausted"
    assert site.paths.count("/robots.txt") == 2
