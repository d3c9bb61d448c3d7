"""What an operator does, with the frontier in Valkey: the same commands, the same answers."""

from __future__ import annotations

import sys
from typing import Any

import pytest
import redis

from tests.servers.valkey import ValkeyServer
from tests.walk.crawling import Place
from tests.walk.site import Answer, Web, page


def urls_of(place: Place, host: str) -> dict[str, int]:
    told: dict[str, int] = place.comity("domains", "info", host, "--json").json["frontier"]
    return told


def counted(queued: int = 0, done: int = 0, dropped: int = 0) -> dict[str, int]:
    return {"queued": queued, "done": done, "dropped": dropped, "too_deep": 0}


def said(place: Place, url: str) -> str:
    told = place.comity("why", url, "--json").json
    return " ".join([told["decision"], *(step["sentence"] for step in told["chain"])])


def test_a_host_is_seeded_explained_taken_down_crawled_and_reset(web: Web, shared: Place) -> None:
    site = web.site({"/": page("/a", "/b"), "/a": page(), "/b": Answer(404), "/private/x": page()})
    told = shared.comity("seeds", "add", site.url(), site.url("/private/x"), "--json").json
    assert (told["hosts_new"], told["urls_queued"]) == (1, 2)
    assert urls_of(shared, site.host) == counted(queued=2)
    assert "It is queued, 0 steps from a seed" in said(shared, site.url())
    assert "waits to be crawled" in said(shared, site.url("/never"))
    taken = shared.comity("takedown", "add", f"{site.host}/private", "--json")
    assert taken.code == 0, taken.err
    assert urls_of(shared, site.host) == counted(queued=1, dropped=1)
    assert shared.comity("crawl", site.url()).code == 0
    assert sorted(site.pages()) == ["/", "/a", "/b"]
    assert urls_of(shared, site.host) == counted(done=3, dropped=1)
    assert "It was fetched" in said(shared, site.url("/a"))
    assert f"found through a link on {site.url()}" in said(shared, site.url("/a")), "Redis keeps that, too"
    assert shared.comity("takedown", "remove", f"{site.host}/private").code == 0
    assert urls_of(shared, site.host) == counted(queued=1, done=3)
    reset = shared.comity("domains", "reset", site.host, "--json").json
    assert reset["urls_requeued"] == 3
    assert urls_of(shared, site.host) == counted(queued=4)
    assert shared.comity("crawl", site.url()).code == 0
    assert sorted(site.pages()) == sorted(["/", "/a", "/b"] * 2 + ["/private/x"])
    shown = shared.comity("domains", "list", "--json").json
    assert [(row["domain"], row["status"]) for row in shown] == [(site.host, "exhausted")]


def test_hosts_that_are_one_are_folded_with_their_urls(shared: Place) -> None:
    assert shared.comity("seeds", "add", "https://a.shop.example/x", "https://b.shop.example/y").code == 0
    shared.env["COMITY_COLLAPSE_SUBDOMAINS"] = "true"
    told = shared.comity("domains", "merge", "--json")
    assert told.code == 0, told.err
    assert urls_of(shared, "shop.example") == counted(queued=2)
    assert shared.comity("domains", "info", "shop.example", "--json").json["frontier_size"] == 2


def test_neither_store_is_used_beside_the_other(web: Web, shared: Place) -> None:
    site = web.site({"/": page()})
    both = dict(shared.env)
    redis_url = shared.env.pop("COMITY_REDIS_URL")
    assert shared.comity("seeds", "add", site.url()).code == 0
    shared.env = both
    for command in (["seeds", "add", site.url()], ["crawl", site.url()], ["why", site.url()]):
        told = shared.comity(*command)
        assert (told.code, site.log) == (2, [])
        assert "comity db move-frontier" in told.err
    del shared.env["COMITY_DATABASE_URL"]
    told = shared.comity("crawl", site.url())
    assert told.code == 2
    assert "COMITY_DATABASE_URL" in told.err
    assert redis_url not in told.err
    shared.env["COMITY_REDIS_URL"] = ""
    assert shared.comity("crawl", site.url()).code == 0


def test_a_state_whose_urls_are_in_redis_is_not_used_without_it(shared: Place) -> None:
    assert shared.comity("seeds", "add", "https://host.example/x").code == 0
    del shared.env["COMITY_REDIS_URL"]
    for command in (["seeds", "add", "https://host.example/y"], ["crawl", "host.example"], ["work", "--idle-exit"]):
        told = shared.comity(*command)
        assert told.code == 2
        assert "are in Redis: set COMITY_REDIS_URL" in told.err


def test_a_frontier_that_does_not_answer_is_told_in_one_line(shared: Place, valkey: ValkeyServer) -> None:
    valkey.kill()
    told = shared.comity("seeds", "add", "https://host.example/x")
    valkey.start()
    assert told.code == 1
    assert told.err.count("\n") == 1
    assert "the frontier at redis://127.0.0.1" in told.err
    assert shared.comity("domains", "list", "--json").json == [], "nothing was stored"


def test_the_package_that_is_missing_is_named(shared: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redis", None)
    told = shared.comity("seeds", "add", "https://host.example/x")
    assert told.code == 2
    assert "pip install 'comity[shared]'" in told.err


def test_a_crawl_goes_on_in_redis_where_it_was_in_the_database(web: Web, shared: Place) -> None:
    links = [f"/{number}" for number in range(30)]
    site = web.site(
        {"/": page(*links, "/private"), "/0": lambda asked: Answer(500) if asked.count == 1 else page()},
        fallback=lambda asked: page(title=asked.path),
    )
    redis_url = shared.env.pop("COMITY_REDIS_URL")
    assert shared.comity("takedown", "add", f"{site.host}/private").code == 0
    assert shared.comity("crawl", site.url(), "--max-pages", 12).code == 0
    before = urls_of(shared, site.host)
    assert before["queued"] > 10
    shared.env["COMITY_REDIS_URL"] = redis_url
    told = shared.comity("db", "move-frontier", "--json")
    assert told.code == 0, told.err
    assert told.json["urls_moved"] == sum(before.values())
    assert urls_of(shared, site.host) == before
    assert shared.comity("db", "move-frontier", "--json").json["urls_moved"] == 0
    back = shared.comity("db", "move-frontier", "--back", "--json")
    assert (back.code, back.json) == (0, {"urls_moved": sum(before.values())})
    with redis.Redis.from_url(redis_url) as client:
        assert [name for name in client.scan_iter(count=1000) if b"{" in name] == []
    del shared.env["COMITY_REDIS_URL"]
    assert urls_of(shared, site.host) == before
    shared.env["COMITY_REDIS_URL"] = redis_url
    assert shared.comity("db", "move-frontier", "--json").json["urls_moved"] == sum(before.values())
    assert shared.comity("crawl", site.url()).code == 0
    assert sorted(set(site.pages())) == sorted(["/", *links])
    assert [len(site.of(link)) for link in links] == [2, *[1] * 29], "one was to be tried again"
    assert urls_of(shared, site.host) == counted(done=31, dropped=before["dropped"])


@pytest.fixture
def seed_set(valkey: ValkeyServer) -> Any:
    with redis.Redis.from_url(valkey.url()) as client:
        yield client


def test_seeds_flow_from_a_set_into_the_table(place: Place, seed_set: Any, valkey: ValkeyServer) -> None:
    place.env["COMITY_SEEDS_REDIS_URL"] = valkey.url()
    hosts = [f"host{number}.example" for number in range(2500)]
    seed_set.sadd("seeds", *hosts, "https://page.example/begin", "7,ranked.example")
    told = place.comity("seeds", "load", "--from-redis", "seeds", "--json").json
    assert (told["seeds_read"], told["hosts_new"], told["urls_queued"]) == (2502, 2502, 1)
    assert seed_set.exists("seeds") == 0
    assert place.host("ranked.example")["seed_rank"] == 7
    assert place.host("host7.example")["source"] == "redis:seeds"
    assert place.frontier("page.example") == {"https://page.example/begin": 0}
    seed_set.sadd("seeds", "host7.example", "new.example")
    again = place.comity("seeds", "load", "--from-redis", "seeds", "--json").json
    assert (again["hosts_given"], again["hosts_new"]) == (2, 1)


def test_what_cannot_be_a_seed_stays_in_the_set(place: Place, seed_set: Any, valkey: ValkeyServer) -> None:
    place.env["COMITY_SEEDS_REDIS_URL"] = valkey.url()
    bad = {b"# a remark", b"\xff\xfe", b"ftp://host.example/", b"a\nb"}
    seed_set.sadd("seeds", "good.example", *bad)
    told = place.comity("seeds", "load", "--from-redis", "seeds")
    assert told.code == 2
    assert seed_set.scard("seeds") == 5
    told = place.comity("seeds", "load", "--from-redis", "seeds", "--skip-bad", "--json").json
    assert (told["hosts_new"], told["members_skipped"], len(told["skipped"])) == (1, 4, 4)
    assert seed_set.smembers("seeds") == bad


def test_seeds_flow_from_a_sorted_set_with_their_ranks(place: Place, seed_set: Any, valkey: ValkeyServer) -> None:
    place.env["COMITY_SEEDS_REDIS_URL"] = valkey.url()
    ranks = {f"host{number}.example": number for number in range(1, 2501)}
    odd = {"unranked.example": 0, "below.example": -3, "far.example": 1e12, "9,written.example": 4, "half.example": 2.5}
    seed_set.zadd("ranked", ranks | odd | {"https://page.example/begin": 3})
    told = place.comity("seeds", "load", "--from-redis", "ranked", "--json").json
    assert (told["seeds_read"], told["hosts_new"], told["urls_queued"]) == (2506, 2506, 1)
    assert seed_set.exists("ranked") == 0
    names = ("host1", "host2500", "unranked", "below", "far", "written", "half", "page")
    assert [place.host(f"{name}.example")["seed_rank"] for name in names] == [1, 2500, None, None, None, 9, 2, 3]
    first = place.comity("domains", "list", "--limit", "1", "--json").json
    assert "host1.example" in str(first), "the best rank comes first"


def test_seeds_flow_from_a_list_and_bad_ones_stay_in_it(place: Place, seed_set: Any, valkey: ValkeyServer) -> None:
    place.env["COMITY_SEEDS_REDIS_URL"] = valkey.url()
    seed_set.delete("line")
    bad = ["# a remark", "ftp://host.example/", "# a remark"]
    hosts = [f"host{number}.example" for number in range(2100)]
    seed_set.rpush("line", bad[0], *hosts[:1500], bad[1], "host7.example", *hosts[1500:], bad[2])
    assert place.comity("seeds", "load", "--from-redis", "line").code == 2
    told = place.comity("seeds", "load", "--from-redis", "line", "--skip-bad", "--json").json
    assert (told["members_skipped"], len(told["skipped"])) == (3, 3)
    assert len(place.rows("SELECT id FROM domains")) == 2100
    assert [each.decode() for each in seed_set.lrange("line", 0, -1)] == bad


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--from-redis", "hash"], "hash in Redis holds a hash; put seeds into a set"),
        (["--from-redis", "nothing"], "there are no seeds under nothing"),
        (["--from-redis", "nothing", "file.txt"], "name a list"),
        ([], "name a list"),
    ],
)
def test_a_set_that_is_none_is_told(
    place: Place, seed_set: Any, valkey: ValkeyServer, arguments: list[str], complaint: str
) -> None:
    place.env["COMITY_SEEDS_REDIS_URL"] = valkey.url()
    seed_set.delete("hash")
    seed_set.hset("hash", "host.example", "1")
    told = place.comity("seeds", "load", *arguments)
    assert told.code == 2
    assert complaint in told.err


def test_a_server_that_asks_for_a_password_says_so(place: Place, seed_set: Any, valkey: ValkeyServer) -> None:
    place.env["COMITY_SEEDS_REDIS_URL"] = valkey.url()
    seed_set.config_set("requirepass", "word")
    try:
        told = place.comity("seeds", "load", "--from-redis", "seeds")
    finally:
        seed_set.config_set("requirepass", "")
    assert (told.code, told.err) == (1, "comity: the seeds in Redis cannot be read: Authentication required.\n")


@pytest.mark.usefixtures("without_state")
def test_a_set_is_not_touched_before_its_seeds_are_stored(place: Place, seed_set: Any, valkey: ValkeyServer) -> None:
    place.env["COMITY_SEEDS_REDIS_URL"] = valkey.url()
    seed_set.sadd("seeds", "host.example")
    place.state.mkdir()  # a state that cannot be opened
    assert place.comity("seeds", "load", "--from-redis", "seeds").code == 1
    assert seed_set.smembers("seeds") == {b"host.example"}
    place.env["COMITY_SEEDS_REDIS_URL"] = "redis://127.0.0.1:1/0"
    told = place.comity("seeds", "load", "--from-redis", "seeds")
    assert told.code == 1
    assert "the seeds in Redis cannot be read" in told.err
