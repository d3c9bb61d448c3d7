"""`comity work --policies` as a command: beside the crawl or alone, stopped and killed."""

from __future__ import annotations

import signal

from tests.queue.test_own_work import shop
from tests.servers.waiting import wait_until
from tests.walk.crawling import Place
from tests.walk.site import Answer, Site, Web, tree


def add_policies(place: Place, *urls: str) -> None:
    for url in urls:
        assert place.comity("queue", "policies", "add", url).code == 0


def prices(place: Place) -> list[str]:
    rows = place.rows("SELECT url, bot_id FROM crawl_results ORDER BY url")
    assert {row["bot_id"] for row in rows} <= {"comity"}
    return [row["url"] for row in rows]


def claims(place: Place) -> int:
    return len(place.rows("SELECT id FROM domains WHERE claimed_by IS NOT NULL"))


def shop_site(web: Web, pages: int = 3) -> Site:
    return web.site({f"/p{number}": shop(str(number + 1)) for number in range(pages)})


def test_jobs_are_done_alone_and_nothing_is_crawled(web: Web, place: Place) -> None:
    site = shop_site(web)
    place.env["COMITY_QUEUE_DELAY"] = "0.05"
    add_policies(place, *map(site.url, ("/p0", "/p1", "/p2")))
    told = place.comity_apart("work", "--policies-only", "--idle-exit")
    assert told.code == 0, told.err
    assert sorted(site.pages()) == ["/p0", "/p1", "/p2"]
    assert prices(place) == [site.url(path) for path in ("/p0", "/p1", "/p2")]
    assert claims(place) == 0
    assert place.rows("SELECT id FROM crawl_runs") == []
    assert place.comity("verify-politeness").code == 0


def test_jobs_are_done_beside_a_crawl_by_two_processes(web: Web, place: Place) -> None:
    crawled, shops = web.site(tree(5)), [shop_site(web), shop_site(web)]
    seeds = place.folder / "seeds.txt"
    seeds.write_text(crawled.url() + "\n", encoding="utf-8")
    assert place.comity("seeds", "load", seeds).code == 0
    add_policies(place, *(site.url(path) for site in shops for path in site.routes))
    place.env["COMITY_QUEUE_DELAY"] = "0.05"
    told = place.comity_apart("work", "--policies", "--idle-exit", "--processes", 2, "--delay", 0.05)
    assert told.code == 0, told.err
    assert len(crawled.pages()) >= 5
    assert [sorted(site.pages()) for site in shops] == [["/p0", "/p1", "/p2"]] * 2, "none is fetched twice"
    assert len(prices(place)) == 6
    assert claims(place) == 0


def test_a_signal_finishes_what_is_under_way(web: Web, place: Place) -> None:
    site = web.site({"/p": Answer(body=shop(), after_s=0.5)})
    add_policies(place, site.url("/p"))
    with place.begun("work", "--policies-only") as process:
        wait_until(lambda: site.pages() == ["/p"], 60, "the request")
        process.send(signal.SIGTERM)
        assert process.wait(60) == 0
    assert prices(place) == [site.url("/p")]
    assert claims(place) == 0


def test_a_job_of_a_killed_worker_comes_back_after_its_lock_and_is_done_once(web: Web, place: Place) -> None:
    site = web.site({"/p": lambda asked: Answer(body=shop(), after_s=30.0 if asked.count == 1 else 0.0)})
    add_policies(place, site.url("/p"))
    with place.begun("work", "--policies-only") as process:
        wait_until(lambda: site.pages() == ["/p"], 60, "the request")
        process.send(signal.SIGKILL)
        process.wait(60)
    (job,) = place.rows("SELECT status, locked_by FROM crawl_jobs")
    assert (job["status"], job["locked_by"]) == ("locked", "comity")
    assert place.comity_apart("work", "--policies-only", "--idle-exit").code == 0
    assert len(site.pages()) == 1, "the lock still holds"
    place.execute("UPDATE crawl_jobs SET lock_ends_at = '2020-01-01 00:00:00.000000'")  # as if ten minutes went by
    assert place.comity_apart("work", "--policies-only", "--idle-exit").code == 0
    assert len(site.pages()) == 2
    (job,) = place.rows("SELECT status, expiry_count FROM crawl_jobs")
    assert (job["status"], job["expiry_count"]) == ("done", 1)
    assert prices(place) == [site.url("/p")]
    assert place.comity("verify-politeness").code == 0
