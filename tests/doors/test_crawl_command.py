"""`comity crawl` and `comity demo` as a person meets them."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pyarrow.parquet as pq
import pytest

from tests.walk.crawling import Place
from tests.walk.site import Answer, Web, page, tree


def test_the_end_of_a_crawl_is_told_to_people(web: Web, place: Place) -> None:
    good, bad = web.site(tree(4)), web.site(fallback=Answer(403))
    told = place.comity("crawl", good.url(), bad.url())
    assert told.code == 0
    assert told.out.startswith("This run: 4 pages in ")
    assert "1 error" in told.out
    assert "Ended: the host refused Comity (1 of 2 hosts); 1 host: nothing left to visit." in told.out
    lines = {line.split()[0]: line.split()[1:] for line in told.out.splitlines() if line.startswith("127.")}
    assert lines[good.host] == ["exhausted", "4", "4", "0"]
    assert lines[bad.host] == ["blocked", "0", "0", "0"]
    assert "the server answered 403" in told.out
    assert f"{place.pages}/*.parquet" in told.out
    assert str(place.state) in told.out


def test_the_end_of_a_crawl_is_told_to_programs(web: Web, place: Place) -> None:
    site = web.site(tree(4))
    told = place.comity("crawl", site.url(), "--json")
    document = told.json
    assert told.err == ""
    assert document["summary"]["status"] == "finished"
    [line] = document["summary"]["hosts"]
    assert 0 <= line.pop("seconds") < 60
    assert datetime.fromisoformat(line.pop("next_run_at")) > datetime.now(UTC) + timedelta(days=1)  # a refresh
    told_of_host = {"host": site.host, "status": "exhausted", "pages": 4, "errors": 0, "queued": 0, "reason": None}
    assert line == told_of_host | {"code": "nothing_left", "too_deep": 0, "pages_in_all": 4}
    summary = document["summary"]
    assert (summary["code"], summary["reason"]) == ("nothing_left", "nothing left to visit")
    assert (summary["endings"], summary["faults"]) == ({"nothing_left": 1}, [])
    assert (document["idle"], document["taken_down"], document["state"]) == ([], [], str(place.state))


def test_the_summary_has_the_pages_of_this_run_and_of_all(web: Web, place: Place) -> None:
    site = web.site(tree(6))
    first = place.comity("crawl", site.url(), "--max-pages", 2)
    assert "All runs" not in first.out, "there was no earlier run"
    then = place.comity("crawl", site.url())
    assert then.out.startswith("This run: 4 pages in ")
    assert "\nAll runs: 6 pages of 1 host.\n" in then.out
    [line] = [line.split() for line in then.out.splitlines() if line.startswith(site.host)]
    assert line == [site.host, "exhausted", "4", "6", "0"]
    again = place.comity("crawl", site.url(), "--refresh", "--json").json["summary"]
    assert (again["pages"], again["hosts"][0]["pages"], again["hosts"][0]["pages_in_all"]) == (6, 6, 6)


def test_options_reach_the_crawl(web: Web, place: Place) -> None:
    site = web.site({"/": page("/a", body='<a rel="nofollow" href="/b">b</a>'), "/a": page(), "/b": page()})
    into = place.folder / "elsewhere"
    told = place.comity(
        "crawl", site.url(), "--user-agent", "OtherBot/2.0 (+x@example.org)", "--into", into, "--no-respect-nofollow"
    )
    assert told.code == 0
    assert {seen.headers["user-agent"] for seen in site.log} == {"OtherBot/2.0 (+x@example.org)"}
    assert sorted(site.pages()) == ["/", "/a", "/b"]
    assert len([row for path in into.glob("*.parquet") for row in pq.read_table(path).to_pylist()]) == 3


def test_without_following_links_only_seeds_are_visited(web: Web, place: Place) -> None:
    site = web.site(tree(6))
    place.comity("crawl", site.url(), site.url("/p2"), "--no-follow-links")
    assert sorted(site.pages()) == ["/", "/p2"]


@pytest.mark.usefixtures("without_state")
@pytest.mark.parametrize(
    "options",
    [
        ("--max-pages", "-1"),
        ("--delay", "-1"),
        ("--concurrency", "0"),
        ("--per-host", "0"),
        ("--allow-network", "nonsense"),
        ("--accept", "nonsense"),
        ("--max-image-bytes", "1"),
        ("--user-agent", "()"),
        ("--max-minutes", "many"),
    ],
)
def test_options_that_cannot_be_used_are_told(place: Place, options: tuple[str, ...]) -> None:
    told = place.comity("crawl", "https://example.org/", *options)
    assert told.code == 2
    assert told.err.startswith(f"comity: {options[0]}: ")
    assert not place.state.exists()


def test_the_demonstration_works_from_nothing_in_a_process_of_its_own(place: Place) -> None:
    """The whole of it as a newcomer runs it: no settings, an empty folder, `python -m comity demo`."""
    environment = {name: value for name, value in place.environment().items() if not name.startswith("COMITY_")}
    done = subprocess.run(
        [sys.executable, "-m", "comity", "demo"],
        cwd=place.folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert all(" pages · " in line for line in done.stderr.splitlines()), "progress goes to stderr"
    assert "183 pages" in done.stdout
    assert "verify-politeness" in done.stdout
    state = place.folder / "comity-data" / "demo" / "state.db"
    shown = Place(place.folder, env={"COMITY_STATE": str(state)})
    hosts = shown.comity("domains", "list", "--json").json
    assert [host["status"] for host in hosts] == ["exhausted"] * 3
    assert [host["pages_crawled"] for host in hosts] == [61] * 3
    proof = shown.comity("verify-politeness", "--json")
    assert proof.code == 0
    assert proof.json["requests"] > 183
    diary = next(line for line in done.stdout.splitlines() if "private/diary" in line).split()[-1]
    assert shown.comity("why", diary, "--json").json["code"] == "robots_denied"
    parts = [row for path in (state.parent / "pages").glob("*.parquet") for row in pq.read_table(path).to_pylist()]
    assert len([row for row in parts if row["http_status"] == 200]) == 183
    assert len({row["url"] for row in parts}) == len(parts) == 186, "each site has one lost page"


def test_a_json_answer_is_one_document_whatever_happens(web: Web, place: Place) -> None:
    site = web.site(tree(3))
    place.pages.write_text("in the way")
    told = place.comity("crawl", site.url(), "--json")
    assert told.code == 2
    assert told.out == ""
    assert set(json.loads(told.err)) == {"error", "message"}
