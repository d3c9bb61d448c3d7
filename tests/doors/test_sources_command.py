"""Sources by the command line, from adding one to its log."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.doors.command_line import CommandLine
from tests.walk.site import Answer, Site, Web
from tests.walk.sourcing import jobs, listing


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("COMITY_ALLOW_NETWORKS", "127.0.0.0/8")
    monkeypatch.setenv("COMITY_SOURCE_DELAY", "0")
    with Web() as web:
        yield web.site({"/careers": Answer(body=listing(jobs(4)), etag='"a"')})


def test_the_way_of_a_source(comity: CommandLine, site: Site) -> None:
    url = site.url("/careers")
    added = comity.json("sources", "add", url, "--org-name", "Relief House", "--org-type", "un", "--country", "KE")
    assert (added["status"], added["crawl_frequency_days"], added["next_run_at"] is not None) == ("active", 1, True)
    assert comity.json("sources", "status")["due_count"] == 1
    done = comity.json("sources", "run-due")
    assert (done["queued"], done["runs"][0]["inserted"], done["skipped"]) == (1, 4, [])
    assert comity.json("sources", "status") == {
        "running": False,
        "scheduler": True,
        "in_flight": 0,
        "queued": 0,
        "pool": {"global": 3},
        "due_count": 0,
        "locked": 0,
        "locks": [],
    }
    again = comity.json("sources", "run", added["id"])
    assert (again["status"], again["message"], again["updated"]) == ("ok", "not modified", 0)
    logs = comity.json("sources", "logs", url)
    assert [(run["status"], run["inserted"]) for run in logs] == [("ok", 0), ("ok", 4)]
    listed = comity.json("sources", "list")
    assert (listed["total"], listed["sources"][0]["last_found"]) == (1, 4)
    edited = comity.json("sources", "edit", url, "--crawl-frequency-days", "5", "--time-window", "22:00-05:00")
    assert (edited["crawl_frequency_days"], edited["time_window"]) == (5, "22:00-05:00")
    for word, status in (("pause", "paused"), ("resume", "active"), ("approve", "active"), ("delete", "deleted")):
        assert comity.json("sources", word, added["id"])["status"] == status
    assert comity.json("sources", "list")["total"] == 0
    assert comity.json("sources", "list", "--status", "deleted")["total"] == 1


def test_a_person_reads_it_in_words(comity: CommandLine, site: Site) -> None:
    url = site.url("/careers")
    assert "No sources found" in comity.done("sources", "list").out
    assert "No runs yet" in comity.done("sources", "logs").out
    assert list(comity.folder.iterdir()) == []  # looking makes no state
    assert f"{url} is due now." in comity.done("sources", "add", url, "--org-name", "Relief House").out
    assert "4 found, 4 new, 0 changed" in comity.done("sources", "run-due").out
    assert "No source is due." in comity.done("sources", "run-due").out
    assert "not modified" in comity.done("sources", "run", url).out
    table = comity.done("sources", "list").out
    for piece in ("Relief House", "active", "html", url, "not modified"):
        assert piece in table
    assert "FOUND" in comity.done("sources", "logs", "--limit", "1").out
    head = comity.done("sources", "test-fetch", url).out
    assert '"a"' in head
    assert "200" in head
    shown = comity.done("sources", "simulate-extract", url).out
    assert "4 jobs on the first page" in shown
    assert shown.count("apply") == 3


def test_what_is_asked_for_in_vain_is_told_at_once(comity: CommandLine) -> None:
    url, ignored = "https://example.org/careers", "the time window 22:00-05:00 is ignored until a time zone"
    assert ignored in comity("sources", "add", url, "--time-window", "22:00-05:00").err
    assert comity.json("sources", "edit", url, "--country", "KE")["notes"] == []
    assert "not supported yet" in comity.done("policy", "set", "example.org", "--allow-js").out
    [told] = comity.json("sources", "edit", url, "--org-name", "Example Aid")["notes"]
    assert "scripts are not run" in told


def test_a_failed_run_says_why_and_ends_with_1(comity: CommandLine, site: Site) -> None:
    url = site.url("/missing")
    comity.done("sources", "add", url)
    answer = comity("sources", "run", url)
    assert answer.code == 1
    assert "the server answered 404" in answer.out
    assert comity("sources", "simulate-extract", url).code == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("add", "example.org/careers"), "a full URL such as https://example.org/careers"),
        (("add", "https://example.org/", "--type", "pdf"), "comity: --type: must be html, rss or api"),
        (("add", "https://example.org/", "--time-window", "late"), "comity: --time-window:"),
        (("add", "https://example.org/", "--parser-hint", "{"), "comity: --parser-hint:"),
        (("add", "https://example.org/", "--importance", "-1"), "comity: --importance: must be between 0 and 1000"),
        (("add", "https://example.org/", "--parser-hint", "@nowhere.json"), "nowhere.json cannot be read"),
        (("add", "https://example.org/", "--crawl-frequency-days", "soon"), "must be a whole number"),
        (("list", "--status", "asleep"), "--status must be active, paused, blocked or deleted"),
        (("list", "--limit", "0"), "--limit must be between 1"),
        (("run-due", "--all", "--limit", "3"), "cannot be combined"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_made(
    comity: CommandLine, arguments: tuple[str, ...], words: str
) -> None:
    answer = comity("sources", *arguments)
    assert (answer.code, words in answer.err, answer.out) == (2, True, ""), answer
    assert list(comity.folder.iterdir()) == []


def test_a_source_that_does_not_exist_is_not_found(comity: CommandLine) -> None:
    for word in ("run", "pause", "resume", "delete", "approve"):
        answer = comity("sources", word, "https://nobody.example/")
        assert (answer.code, "there is no source https://nobody.example/" in answer.err) == (1, True)


def test_a_hint_may_stand_in_a_file(comity: CommandLine, site: Site) -> None:
    site.routes["/api"] = Answer(body='{"jobs": [{"name": "Driver", "at": "/d"}]}', type="application/json")
    hint = Path(comity.folder, "hint.json")
    hint.write_text(json.dumps({"items": "jobs", "title": "name", "link": "at"}), encoding="utf-8")
    options = ("--type", "api", "--parser-hint", f"@{hint}")
    found = comity.json("sources", "simulate-extract", site.url("/api"), *options)
    assert [job["title"] for job in found["jobs"]] == ["Driver"]


def test_the_scheduler_can_be_turned_off(comity: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISABLE_SCHEDULER", "AIDJOBS_DISABLE_SCHEDULER", "COMITY_DISABLE_SCHEDULER"):
        monkeypatch.setenv(name, "true")
        assert "disabled" in comity.done("sources", "serve").out
        monkeypatch.delenv(name)


def test_the_scheduler_runs_what_is_due_until_it_is_stopped(comity: CommandLine, site: Site) -> None:
    comity.done("sources", "add", site.url("/careers"))
    environment = {"COMITY_ALLOW_NETWORKS": "127.0.0.0/8", "COMITY_SOURCE_DELAY": "0"}
    with comity.started("sources", "serve", "--json", environment=environment) as process:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        assert (told["status"], told["inserted"]) == ("ok", 4)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        process.communicate()
    assert comity.rows("SELECT count(*) FROM crawl_locks") == [(0,)]
    assert comity.rows("SELECT claimed_by FROM domains") == [(None,)]


def test_without_a_terminal_each_run_is_an_event_in_the_log(comity: CommandLine, site: Site) -> None:
    url = site.url("/careers")
    source = comity.json("sources", "add", url)
    environment = {"COMITY_ALLOW_NETWORKS": "127.0.0.0/8", "COMITY_SOURCE_DELAY": "0"}
    with comity.started("sources", "serve", environment=environment) as process:
        assert process.stderr is not None
        assert b"every 5 minutes" in process.stderr.readline()
        told = json.loads(process.stderr.readline())
        process.send_signal(signal.SIGTERM)
        assert (process.wait(60), process.communicate()[0]) == (0, b"")
    assert (told["event"], told["level"], told["source_id"]) == ("source_run", "info", source["id"])
    assert (told["careers_url"], told["host"], told["found"], told["inserted"]) == (url, site.host, 4, 4)
    assert told["duration_ms"] >= 0
    assert told["next_run_at"]
    assert told["next_run_reason"].startswith("4 postings new or changed")


LIST = """\ufeffURL;Organisation;Country;Days;Notes
https://a.example/jobs;Relief House;Kenya;3;"two
lines"
https://b.example/jobs;Médecins;Atlantis;3;
https://c.example/jobs;C;CH;never;
"""


def test_a_list_is_added_row_by_row_or_not_at_all(comity: CommandLine) -> None:
    (comity.folder / "list.csv").write_text(LIST, encoding="utf-8")
    answer = comity("sources", "add", "--from", "list.csv")
    assert answer.code == 2
    for piece in ("would add", "refused", "country: must be two letters", "crawl_frequency_days: must be a whole"):
        assert piece in answer.out
    assert "Ignored columns: Notes." in answer.out
    assert "3 rows: 1 would add, 2 refused." in answer.out
    assert "Nothing was changed" in answer.out
    assert comity.json("sources", "list")["total"] == 0
    done = comity("sources", "add", "--from", "list.csv", "--skip-bad", "--json")
    assert done.code == 0
    assert (done.document["written"], done.document["counts"]) == (True, {"added": 1, "refused": 2})
    assert [(row["row"], row["line"], row["result"], row["field"]) for row in done.document["rows"]] == [
        (1, 2, "added", None),
        (2, 4, "refused", "country"),
        (3, 5, "refused", "crawl_frequency_days"),
    ]
    [source] = comity.json("sources", "list")["sources"]
    assert (source["careers_url"], source["org_name"], source["country"]) == (
        "https://a.example/jobs",
        "Relief House",
        "KE",
    )


def test_the_list_of_one_state_is_imported_into_another(comity: CommandLine) -> None:
    comity.done("sources", "add", "https://a.example/jobs", "--org-name", "A", "--time-zone", "Africa/Nairobi")
    (comity.folder / "all.json").write_text(comity.done("sources", "list", "--json").out, encoding="utf-8")
    imported = comity.json("sources", "add", "--from", "all.json", "--state", "other.db")
    assert (imported["counts"], imported["ignored_columns"]) == ({"added": 1}, [])
    [source] = comity.json("sources", "list", "--state", "other.db")["sources"]
    assert (source["org_name"], source["time_zone"]) == ("A", "Africa/Nairobi")


def test_a_dry_run_of_a_list_makes_no_state(comity: CommandLine) -> None:
    (comity.folder / "list.tsv").write_text("url\tname\nhttps://a.example/\tA\n")
    assert "This was a dry run" in comity.done("sources", "add", "--from", "list.tsv", "--dry-run").out
    assert [path.name for path in comity.folder.iterdir()] == ["list.tsv"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "name a URL or a file: comity sources add URL, or comity sources add --from FILE"),
        (("--from", "nowhere.csv"), "--from: nowhere.csv cannot be read: No such file"),
        (("--from", "sources.xlsx"), "must end in .csv, .tsv, .json or .jsonl"),
        (("--from", "a.csv", "--country", "KE"), "--from and --country cannot be combined"),
        (("https://a.example/", "--from", "a.csv"), "--from and https://a.example/ cannot be combined"),
        (("https://a.example/", "--update"), "--update can be used only with --from FILE"),
    ],
)
def test_a_list_that_cannot_be_used_is_refused(comity: CommandLine, arguments: tuple[str, ...], words: str) -> None:
    answer = comity("sources", "add", *arguments)
    assert (answer.code, words in answer.err, answer.out) == (2, True, ""), answer
    assert list(comity.folder.iterdir()) == []
