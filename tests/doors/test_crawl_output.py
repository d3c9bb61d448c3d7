"""What a crawl says while it works: lines, events, waits and requests; and where its pages cannot go."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from comity.doors.cli.crawl.progress import cut, fitted, wrapped_parts
from comity.doors.cli.crawl.rendering import left_out_line, visit_line
from comity.doors.cli.output import width_of
from comity.doors.schemas.runs import EVENTS
from comity.run.crawl.view import Visit
from comity.telemetry.request_log import FIELDS
from comity.walk.session.leased_host import LeasedHost
from tests.walk.crawling import Place, Told
from tests.walk.site import Answer, Web, page, redirect, tree

ROBOTS = "User-agent: *\nDisallow: /private\n"
SITE = {
    "/": page("/gone", "/a", "/b", "/private/x", "/private/y", "https://elsewhere.example/", "/a", title="=home"),
    "/a": page("/", "/b", body='<a rel="nofollow" href="/ad">ad</a>'),
    "/b": redirect("/a"),
    "/gone": Answer(404),
}


def events_of(told: Told) -> list[dict[str, Any]]:
    return [json.loads(line) for line in told.out.splitlines()]


def assert_described(event: dict[str, Any]) -> None:
    schema = EVENTS[event["event"]]
    schema.model_validate(event)
    wanted = {name for name, field in schema.model_fields.items() if field.is_required()}
    assert wanted <= set(event) <= set(schema.model_fields), event["event"]


@pytest.mark.parametrize("processes", ["1", "2"])
def test_events_come_one_a_line_in_order_and_as_described(web: Web, place: Place, processes: str) -> None:
    sites = [web.site(SITE, robots=ROBOTS), web.site(tree(5))]
    seeds = [site.url() for site in sites]
    told = place.comity_apart("crawl", *seeds, "--json-lines", "--processes", processes)
    assert (told.code, told.err) == (0, "")
    found = events_of(told)
    for event in found:
        assert_described(event)
    kinds = [event["event"] for event in found]
    assert kinds[-1] == "summary"
    assert kinds.count("summary") == 1
    summary = found[-1]["summary"]
    assert kinds.count("page") == summary["pages"]
    assert kinds.count("error") == summary["errors"] == 1
    for site in sites:
        of_host = [event["event"] for event in found if event.get("host") == site.host]
        assert of_host[-1] == "host"
        assert of_host.count("host") == 1
    (ended,) = [event for event in found if event["event"] == "host" and event["host"] == sites[0].host]
    line = next(line for line in summary["hosts"] if line["host"] == sites[0].host)
    assert (line["pages_in_all"], ended["pages_in_all"]) == (line["pages"], None), "known at the end of the run"
    assert {name: ended[name] for name in line if name != "pages_in_all"}.items() <= line.items()


def test_the_last_event_is_the_document_of_json(web: Web, place: Place) -> None:
    site = web.site(tree(3))
    streamed = events_of(place.comity("crawl", site.url(), "--json-lines"))[-1]
    document = place.comity("crawl", site.url(), "--json").json
    assert set(streamed) == {"event", "at", *document}
    assert set(streamed["summary"]) == set(document["summary"])


def test_a_page_says_what_it_brought(web: Web, place: Place) -> None:
    site = web.site(SITE, robots=ROBOTS)
    found = {
        event["url"]: event
        for event in events_of(place.comity("crawl", site.url(), "-vv", "--json-lines"))
        if "url" in event
    }
    home = found[site.url()]
    assert (home["status"], home["depth"], home["links_found"], home["links_new"]) == (200, 0, 6, 3)
    assert home["left_out"]["robots"] == {"links": 2, "first": site.url("/private/x")}
    assert home["left_out"]["other_host"] == {"links": 1, "first": "https://elsewhere.example/"}
    assert found[site.url("/a")]["left_out"]["already_known"] == {"links": 2, "first": None}
    assert found[site.url("/a")]["left_out"]["nofollow_link"]["first"] == site.url("/ad")
    assert found[site.url("/b")]["redirected_to"] == site.url("/a")
    gone = found[site.url("/gone")]
    assert (gone["event"], gone["code"], gone["status"], gone["depth"]) == ("error", "http_404", 404, 1)


@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_reader_that_leaves_ends_the_crawl_cleanly(web: Web, place: Place, processes: str) -> None:
    sites = [web.site(tree(300)), web.site(tree(300))]
    seeds = [site.url() for site in sites]
    command = ["crawl", *seeds, "--json-lines", "--delay", "0.02", "--processes", processes]
    assert place.server is not None
    asked = {"argv": command, "env": place.environment(), "cwd": str(place.folder)}
    with place.server().popen(asked) as process:
        assert process.stdout is not None
        first = [json.loads(process.stdout.readline()) for _ in range(3)]
        process.stdout.close()
        code = process.wait(60)
    assert code == 141
    assert {event["event"] for event in first} <= {"page", "host", "warning"}
    assert [row["status"] for row in place.rows("SELECT status FROM crawl_runs")] == ["stopped"]
    assert {row["claimed_by"] for row in place.rows("SELECT claimed_by FROM domains")} == {None}
    (stored,) = place.rows("SELECT count(*) AS pages FROM fetches WHERE outcome = 'fetched'")
    assert 3 <= stored["pages"] < 600


@pytest.mark.parametrize(("options", "said"), [(("--json",), "cannot be combined"), (("--into", "x.tsv"), ".csv")])
def test_wrong_input_is_refused_before_anything_is_asked(
    web: Web, place: Place, options: tuple[str, ...], said: str
) -> None:
    site = web.site(tree(3))
    told = place.comity("crawl", site.url(), "--json-lines", *options)
    assert (told.code, told.out) == (2, "")
    assert said in json.loads(told.err)["message"]
    assert site.log == []


def test_v_writes_a_line_a_url_with_a_head(web: Web, place: Place) -> None:
    site = web.site(SITE, robots=ROBOTS)
    told = place.comity("crawl", site.url(), "-v")
    lines = told.err.splitlines()
    assert lines[0].split() == ["SIZE", "TIME", "DEPTH", "NEW/LINKS", "TYPE", "URL"]
    home = next(line for line in lines if line.endswith(site.url()))
    assert re.fullmatch(r"200 +[\d.]+ k?B +[\d,]+ ms +0 +3/6 html +\S+", home)
    assert next(line for line in lines if site.url("/gone") in line).startswith("404 ")
    assert "left out" not in told.err
    assert "waits" not in told.err


def test_vv_says_why_links_were_left_out_and_what_is_waited_for(web: Web, place: Place) -> None:
    busy = Answer(429, headers={"Retry-After": "1"})
    routes = SITE | {"/gone": lambda asked: busy if asked.count == 1 else Answer(404)}
    site = web.site(routes, robots=ROBOTS + "Crawl-delay: 0.2\n")
    told = place.comity("crawl", site.url(), "-vv")
    assert f"left out: 2 forbidden by robots.txt ({site.url('/private/x')}), 1 on other hosts (https://el" in told.err
    assert re.search(rf"waits 0\.\d+ s for {site.host}: Crawl-delay in robots.txt", told.err)
    assert re.search(rf"waits [01]\.\d+ s for {site.host}: the host asked Comity to wait", told.err)
    waits = [line for line in told.err.splitlines() if "waits" in line]
    assert len(waits) <= 2 * len(site.log) + 2  # each once, however often it is looked at


def test_nothing_is_collected_that_is_not_asked_for(web: Web, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("comity.run.crawl.sites.visits_of", never)
    monkeypatch.setattr(LeasedHost, "note_left_out", never)
    monkeypatch.setattr("comity.telemetry.request_log.RequestLog.__init__", never)
    assert place.comity("crawl", web.site(SITE, robots=ROBOTS).url()).code == 0


def test_every_request_is_logged_without_its_secrets(web: Web, place: Place) -> None:
    secret = "s3cr3t-value"
    site = web.site(
        {"/": page(f"/x?access_token={secret}&b=1", "/gone"), f"/x?access_token={secret}&b=1": page()}, robots=ROBOTS
    )
    log = place.folder / "requests.jsonl"
    told = place.comity("crawl", site.url(), "--log-requests", log)
    assert told.code == 0
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert len(lines) == len(site.log)
    assert all(list(line) == list(FIELDS) for line in lines)
    assert lines[0]["purpose"] == "robots"
    assert {line["status"] for line in lines} == {200, 404}
    assert {line["host"] for line in lines} == {site.host}
    assert secret not in log.read_text()
    assert any(line["url"].endswith("/x?access_token=***&b=1") for line in lines)
    assert log.stat().st_mode & 0o077 == 0


@pytest.mark.usefixtures("without_state")
@pytest.mark.parametrize(
    ("option", "target", "said"),
    [
        ("--into", "s3://bucket/pages", "s3:// is not supported"),
        ("--into", "ftp://example.com/x.csv", "ftp:// is not supported"),
        ("--into", "pages.xlsx", "pages go into a folder"),
        ("--into", "pages.csv.zip", "pages go into a folder"),
        ("--into", "pages.parquet", "name a folder"),
        ("--into", "file", "is a file, not a folder"),
        ("--into", "file/pages.csv", "is a file, not a folder"),
        ("--into", "other.csv", "first line does not name the columns"),
        ("--into", "diary.csv", "does not match its extension"),
        ("--into", "plain.csv.gz", "does not match its extension"),
        ("--into", "", "is empty"),
        ("--log-requests", "folder", "is a folder"),
        ("--log-requests", "missing/requests.jsonl", "does not exist; create it first"),
    ],
)
def test_a_target_that_cannot_be_used_is_an_error_before_the_first_request(
    web: Web, place: Place, monkeypatch: pytest.MonkeyPatch, option: str, target: str, said: str
) -> None:
    monkeypatch.chdir(place.folder)
    Path("file").write_text("x")
    Path("folder").mkdir()
    Path("other.csv").write_text("url,price\r\nhttps://a.example/,1\r\n")
    Path("diary.csv").write_text("Dear diary\n")
    Path("plain.csv.gz").write_text("not gzip")
    site = web.site(tree(3))
    told = place.comity("crawl", site.url(), option, target)
    assert (told.code, told.out) == (2, "")
    assert said in told.err
    assert site.log == []
    assert not place.state.exists()


def test_pages_go_into_csv(web: Web, place: Place) -> None:
    site = web.site(SITE, robots=ROBOTS)
    target = place.folder / "pages.csv"
    for _ in range(2):  # the second run adds to the file
        assert place.comity("crawl", site.url(), "--into", target, "--refresh").code == 0
    rows = list(csv.DictReader(io.StringIO(target.read_bytes().decode(), newline=""), strict=True))
    assert rows[0]["title"] == "'=home"
    assert {row["url"] for row in rows} >= {site.url(), site.url("/a")}
    assert target.read_bytes().count(b"surt_key") == 1
    query = "SELECT DISTINCT title FROM pages WHERE url LIKE '%/'"
    titles = place.comity("pages", "query", query, "--pages", target, "--json")
    assert titles.json["rows"] == [{"title": "=home"}]


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120])
def test_the_lines_of_the_display_fit_the_window(width: int) -> None:
    hosts = [f"host-{number}-日本.example 1.5 s each, 1,000 queued" for number in range(9)]
    assert len(fitted("slowest", [], width)) <= width
    assert width_of(fitted("slowest", hosts, width)) <= width
    parts = ["1,234 pages", "9.9/s (mean 9.9)", "hosts 1 active, 2 waiting, 3 blocked", "x" * 200]
    assert all(width_of(line) <= width for line in wrapped_parts(parts, width))
    assert width_of(cut("日本" * 100, width)) <= width


def test_every_host_of_the_display_is_counted() -> None:
    hosts = ["a.example 1 s", "b.example 2 s", "c.example 3 s"]
    assert fitted("blocked", hosts, 80) == "blocked: a.example 1 s · b.example 2 s · c.example 3 s"
    assert fitted("blocked", hosts, 45) == "blocked: a.example 1 s · 2 more"
    assert fitted("blocked", [], 45) == "blocked: none"


def test_what_a_site_sends_cannot_steer_the_terminal() -> None:
    visit = Visit("http://a.example/\x1b[2J", 200, 10, 0.1, content_type="text/\x1b[31m", outcome="fetched")
    assert "\x1b" not in visit_line(visit)
    assert "\x1b" not in left_out_line({"robots": (1, "http://a.example/\x1b")})


@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_worker_streams_events_too(web: Web, place: Place, processes: str) -> None:
    sites = [web.site(tree(4)), web.site(tree(3))]
    place.comity("seeds", "add", *(site.url() for site in sites))
    told = place.comity_apart("work", "--idle-exit", "--json-lines", "--processes", processes)
    assert (told.code, told.err) == (0, "")
    found = events_of(told)
    for event in found:
        assert_described(event)
    kinds = [event["event"] for event in found]
    assert (kinds.count("page"), kinds.count("host")) == (7, 2)
    assert kinds.count("run") >= 1
    assert sum(event["pages"] for event in found if event["event"] == "run") == 7
