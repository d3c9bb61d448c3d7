"""`comity domains backfill`: what it says to people and to programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from comity.operate import backfill as module
from comity.rules.canonical import url_key
from tests.doors.command_line import CommandLine
from tests.doors.test_both_databases import execute
from tests.doors.test_terminals import ANY_CODE, at_terminal

PROVENANCE = (
    "CREATE TABLE older_provenance (id TEXT, image_id TEXT, source_domain TEXT, page_url TEXT, discovery_type TEXT)"
)


def add_fetches(comity: CommandLine, *urls: str, status: int = 200, outcome: str = "fetched") -> None:
    for url in urls:
        comity.rows(
            "INSERT INTO fetches (domain, page_url, url_key, outcome, status, crawled_at) "
            "VALUES ('old', ?, ?, ?, ?, '2026-01-01 00:00:00.000000')",
            url,
            url_key(url),
            outcome,
            status,
        )


@pytest.fixture
def history(with_state: CommandLine) -> CommandLine:
    """A log with one of everything that the report tells of."""
    with_state.add_host("known.example", pages_crawled=1, pages_discovered=9)
    with_state.add_host("busy.example", claimed_by="worker:7", claim_expires_at="2999-01-01 00:00:00.000000")
    with_state.add_host("WWW.odd.example")
    with_state.add_host("silent.example", pages_crawled=3)
    with_state.rows("INSERT INTO takedowns (domain_or_url) VALUES ('down.example')")
    hosts = ("new.example", "known.example", "busy.example", "odd.example", "down.example")
    add_fetches(with_state, *(f"https://{host}/{number}" for host in hosts for number in (1, 2)))
    add_fetches(with_state, "https://shut.example/", status=403, outcome="gone")
    add_fetches(with_state, "ftp://files.example/a", "ftp://files.example/b")
    with_state.rows(PROVENANCE)
    for host in ("new.example", "www.new.example", "lost.example"):
        with_state.rows("INSERT INTO older_provenance (image_id, source_domain) VALUES ('1', ?)", host)
    return with_state


def test_the_report_is_one_document(history: CommandLine) -> None:
    report = history.json("domains", "backfill")
    assert report["fetches"] == {
        "rows": 13,
        "rows_skipped": 2,
        "hosts": 6,
        "skipped": [{"reason": "only http and https are crawled", "rows": 2, "example": "ftp://files.example/"}],
    }
    assert report["provenance"] == {"rows": 3, "rows_skipped": 0, "hosts": 2, "skipped": []}
    assert report["before"] == {"hosts": 4, "backfilled": 0, "without_row": 4}
    assert report["after"] == {"hosts": 6, "backfilled": 2, "without_row": 2}
    assert (report["created"], report["raised"], report["unchanged"]) == (2, 1, 0)
    assert report["left"] == {"leased": 1, "misnamed": 1, "taken_down": 1}
    assert {(host["host"], host["reason"], host["detail"]) for host in report["left_hosts"]} == {
        ("busy.example", "leased", "worker:7"),
        ("odd.example", "misnamed", "WWW.odd.example"),
        ("down.example", "taken_down", "down.example"),
    }
    (pages,) = [line for line in report["counters"] if line["counter"] == "pages_crawled"]
    assert pages == {"counter": "pages_crawled", "lower_before": 2, "raised": 1, "lower": 1, "higher": 0}
    assert {"host": "known.example", "counter": "pages_discovered", "stored": 9, "evidence": 2} in report["mismatches"]
    assert report["orphans"] == {"provenance_hosts": 1, "provenance_images": 1, "hosts_without_fetches": 1}
    assert [(line["status"], line["hosts"]) for line in report["backfilled"]] == [("blocked", 1), ("exhausted", 1)]
    assert (report["is_dry_run"], report["is_resumed"], report["provenance_lacks"]) == (False, False, None)
    assert history.column("new.example", "images_stored") == 1


def test_the_report_is_tables_for_people(history: CommandLine) -> None:
    text = history.done("domains", "backfill").out
    lines = [line.split() for line in text.splitlines()]
    assert "Read 13 rows of fetches: 6 hosts." in text
    assert "  2  only http and https are crawled  ftp://files.example/" in text
    assert ["HOSTS", "BEFORE", "AFTER"] in lines
    assert ["hosts", "4", "6"] in lines
    assert ["COUNTER", "TOO", "LOW", "RAISED", "STILL", "TOO", "LOW", "HIGHER"] in lines
    assert ["pages_crawled", "2", "1", "1", "0"] in lines
    assert ["known.example", "pages_discovered", "9", "2"] in lines
    assert ["exhausted", "1", "0.50", "2.0"] in lines
    assert "busy.example is being crawled by worker:7; run this again afterwards." in text
    assert "odd.example has another row, WWW.odd.example; run comity domains merge first." in text
    assert "down.example is taken down by down.example." in text
    assert "1 host with 1 image in provenance only: no row was created." in text
    assert "1 host with pages counted, but no fetch stored." in text
    assert lines[-1] == ["2", "hosts", "added,", "1", "raised,", "0", "unchanged,", "3", "skipped."]


def test_a_second_run_changes_nothing(history: CommandLine) -> None:
    history.done("domains", "backfill")
    before = history.rows("SELECT * FROM domains ORDER BY domain")
    report = history.json("domains", "backfill")
    assert (report["created"], report["raised"], report["unchanged"]) == (0, 0, 3)
    assert history.rows("SELECT * FROM domains ORDER BY domain") == before


def test_a_dry_run_changes_nothing(history: CommandLine) -> None:
    before = history.rows("SELECT * FROM domains ORDER BY domain")
    rehearsed = history.json("domains", "backfill", "--dry-run")
    said = history.done("domains", "backfill", "--dry-run").lines
    assert said[-1] == (
        "2 hosts would be added, 1 would be raised, 0 unchanged, 3 skipped.  Dry run: nothing was changed."
    )
    assert history.rows("SELECT * FROM domains ORDER BY domain") == before
    done = history.json("domains", "backfill")
    differing = {"is_dry_run", "backfilled", "mismatches"}
    assert {name for name in done if done[name] != rehearsed[name]} <= differing


def test_without_a_state_there_is_nothing_to_fill_and_none_is_made(comity: CommandLine) -> None:
    report = comity.json("domains", "backfill")
    assert (report["fetches"]["rows"], report["provenance_lacks"]) == (0, "provenance is empty")
    assert comity.done("domains", "backfill", "--dry-run").lines[0] == "Read 0 rows of fetches: 0 hosts."
    assert list(comity.folder.iterdir()) == []


@pytest.mark.parametrize(("options", "resumed"), [((), True), (("--restart",), False)])
def test_an_interrupted_backfill_goes_on_unless_it_is_to_begin_anew(
    history: CommandLine, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], resumed: bool
) -> None:
    def pull_the_plug(*_given: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(module._Backfill, "_compare_batch", pull_the_plug)
        assert history("domains", "backfill").code == 130
    said = history.done("domains", "backfill", *options).out
    assert ("Continued the interrupted backfill." in said) is resumed
    assert said.splitlines()[-1] == "2 hosts added, 1 raised, 0 unchanged, 3 skipped."
    assert history.rows("SELECT name FROM sqlite_master WHERE name LIKE 'backfill%'") == []


def test_what_a_stranger_wrote_into_the_log_cannot_steer_the_terminal(with_state: CommandLine) -> None:
    add_fetches(with_state, "ftp://evil\x1b[31m.example/")
    assert "\x1b" not in with_state.done("domains", "backfill").out


def test_a_terminal_shows_how_far_it_is_and_is_left_clean(history: CommandLine) -> None:
    counting = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 120000)"
    history.rows(
        f"{counting} INSERT INTO fetches (domain, page_url, url_key, outcome, status) "
        "SELECT 'old', 'https://h' || (i % 50) || '.example/' || i, i, 'fetched', 200 FROM n"
    )
    code, text = at_terminal(history, "domains", "backfill")
    assert code == 0
    assert "Reading fetches" in text
    last = ANY_CODE.sub("", text).splitlines()[-1]
    assert last.strip() == "52 hosts added, 1 raised, 0 unchanged, 3 skipped."


def test_it_works_on_a_file_and_on_a_server(
    comity: CommandLine, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMITY_DATABASE_URL", database_url)
    comity.done("db", "upgrade")
    row = "INSERT INTO fetches (domain, page_url, url_key, outcome, status) VALUES "
    execute(
        database_url,
        row + "('old', 'https://www.Example.com/1', 1, 'fetched', 200)",
        row + "('old', 'https://example.com/2', 2, 'fetched', 200)",
        PROVENANCE,
        "INSERT INTO older_provenance (image_id, source_domain) VALUES ('1', 'example.com'), ('2', 'WWW.example.com')",
    )
    assert comity.json("domains", "backfill", "--dry-run")["created"] == 1
    assert comity.json("domains", "backfill")["created"] == 1
    info = comity.json("domains", "info", "example.com")
    assert (info["status"], info["pages_crawled"], info["images_stored"]) == ("exhausted", 2, 2)
    assert (info["source"], info["image_yield_rate"]) == ("backfill_fetches", 1.0)
    assert comity.json("domains", "backfill")["unchanged"] == 1
    assert not Path("comity-data").exists()
