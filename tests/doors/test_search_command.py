"""Search by the command line: from a careers page that was read to the posting that is found."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator

import pytest

from tests.doors.command_line import CommandLine
from tests.search.meili_stand_in import MeiliStandIn
from tests.walk.site import Answer, Web
from tests.walk.sourcing import jobs, listing

POSTINGS = (
    ("01", "Water Engineer", "Relief House", "Nairobi", "KE", '["wash"]', "Build wells for villages in the north."),
    ("02", "Infirmière", "Médecins du Lac", "Genève", "CH", '["health"]', "Soigner."),
    ("03", "\x1b[31mRed \x07Nurse", "Relief House", "", "CH", '["health"]', ""),
)


@pytest.fixture
def stocked(with_state: CommandLine) -> CommandLine:
    with_state.rows(
        "INSERT INTO sources (id, careers_url, org_name) VALUES (?, 'https://jobs.example/careers', 'Relief House')",
        "0" * 31 + "7",
    )
    for number, title, org, place, country, tags, text in POSTINGS:
        with_state.rows(
            "INSERT INTO job_postings (id, canonical_hash, source_id, title, org_name, apply_url, location_raw, "
            "country_iso, mission_tags, description_snippet) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            *("0" * 30 + number, number, "0" * 31 + "7", title, org, f"https://jobs.example/{number}", place, country),
            *(tags, text),
        )
        with_state.rows("INSERT INTO search_outbox (posting_id, action) VALUES (?, 'upsert')", "0" * 30 + number)
    return with_state


def test_a_search_tells_the_index_first_and_then_finds(stocked: CommandLine) -> None:
    assert stocked.json("search", "--status")["pending"] == 3
    page = stocked.json("search", "geneve")
    assert [hit["posting"]["title"] for hit in page["hits"]] == ["Infirmière"]
    assert page["hits"][0]["location"] == [{"text": "Genève", "is_match": True}]
    assert page["facets"]["country_iso"] == [{"value": "CH", "count": 1}]
    assert stocked.json("search", "--status") == {
        "engine": "sqlite",
        "pending": 0,
        "failing": 0,
        "oldest_at": None,
        "next_attempt_at": None,
        "last_error": None,
    }
    assert stocked.json("search", "--country", "CH", "--country", "KE")["total"] == 3
    assert stocked.json("search", "--tag", "health", "--org", "medecins du lac")["total"] == 1
    assert stocked.json("search", "--source", "https://jobs.example/careers", "--limit", "1")["total"] == 3
    assert stocked.json("search", "wells -nairobi")["total"] == 0
    assert stocked.json("search", "--deadline-after", "2026-01-01")["total"] == 0


def test_a_person_reads_it_in_words(stocked: CommandLine) -> None:
    text = stocked.done("search", "water", "eng").out
    for piece in ("1. Water Engineer · Relief House", "Nairobi · KE", "Build wells", "1 to 1 of 1 posting", "about"):
        assert piece in text
    assert "\x1b[31m" not in stocked.done("search", "nurse").out  # a title gives a terminal no orders
    assert "No postings found." in stocked.done("search", "nowhere").out
    assert "pending       0" in stocked.done("search", "--status").out
    assert "3 postings are indexed." in stocked.done("search", "--rebuild").out
    stocked.done("takedown", "add", "https://jobs.example/01")
    assert stocked.json("search")["total"] == 2
    assert "2 postings are indexed; 1 posting skipped" in stocked.done("search", "--rebuild").out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--limit", "101"), "--limit must be between 1 and 100"),
        (("--offset", "10001"), "--offset must be between 0 and 10,000"),
        (("--sort", "random"), "--sort must be one of relevance, newest, deadline"),
        (("--deadline-after", "tomorrow"), "--deadline-after must be a date such as"),
        (("--status", "--rebuild"), "cannot be combined"),
        (("--status", "water"), "takes no words"),
        (("--since", "yesterday"), "--since: must be a date such as 2026-03-31, or an age such as 24h, 7d or 2w"),
        (("--all", "--limit", "5"), "--all and --limit cannot be combined"),
        (("--all", "--offset", "5"), "--all and --offset cannot be combined"),
        (("--csv", "--json"), "--csv and --json cannot be combined"),
        (("--csv", "nowhere/found.csv"), "--csv: nowhere/found.csv cannot be written: No such file or directory"),
    ],
)
def test_what_cannot_be_used_is_said_before_anything_is_opened(
    comity: CommandLine, arguments: tuple[str, ...], complaint: str
) -> None:
    answer = comity("search", *arguments)
    assert answer.code == 2
    assert complaint in answer.err
    assert list(comity.folder.iterdir()) == []


def test_looking_makes_no_state(comity: CommandLine) -> None:
    assert "No postings found." in comity.done("search", "water").out
    assert list(comity.folder.iterdir()) == []


@pytest.fixture
def meili() -> Iterator[MeiliStandIn]:
    stand_in = MeiliStandIn(key="secret")
    yield stand_in
    stand_in.close()


def test_a_meilisearch_is_used_where_one_is_named(
    stocked: CommandLine, meili: MeiliStandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMITY_MEILI_URL", meili.url)
    monkeypatch.setenv("COMITY_MEILI_KEY", "wrong")
    answer = stocked("search", "water")
    assert (answer.code, "rejects the key" in answer.err, "wrong" in answer.err) == (1, True, False)
    status = stocked.json("search", "--status")
    assert (status["engine"], status["pending"], status["failing"]) == ("meilisearch", 3, 3)
    assert "rejects the key" in status["last_error"]
    monkeypatch.setenv("COMITY_MEILI_KEY", "secret")
    assert stocked.json("search", "--rebuild") == {"indexed": 3, "removed": 0, "postponed": 0, "error": None}
    assert stocked.json("search", "water")["total"] == 1
    assert len(meili.indexes["comity_jobs"]["documents"]) == 3
    meili.is_down = True
    assert stocked("search", "--rebuild").code == 1


def test_what_a_source_lists_is_found_without_asking_its_site_again(
    comity: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMITY_ALLOW_NETWORKS", "127.0.0.0/8")
    monkeypatch.setenv("COMITY_SOURCE_DELAY", "0")
    with Web() as web:
        site = web.site({"/careers": Answer(body=listing(jobs(4)))})
        comity.done("sources", "add", site.url("/careers"), "--org-name", "Relief House")
        comity.done("sources", "run-due")
        asked = len(site.log)
        page = comity.json("search", "--org", "relief house")
        assert page["total"] == 4
        word = page["hits"][0]["posting"]["title"].split()[0]
        assert comity.json("search", word)["total"] >= 1
        assert len(site.log) == asked


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_postings_are_written_as_csv(stocked: CommandLine) -> None:
    answer = stocked.done("search", "--csv", "water", "eng")  # a word, not a file
    [row] = table(answer.out)
    assert (row["title"], row["country_iso"], row["mission_tags"]) == ("Water Engineer", "KE", '["wash"]')
    assert "description_text" not in row
    stocked.rows("UPDATE job_postings SET title = '=1+1' WHERE country_iso = 'KE'")
    stocked.done("search", "--rebuild")
    assert stocked.done("search", "--all", "--sort", "newest", "--csv", "all.csv").out == ""
    rows = table((stocked.folder / "all.csv").read_text(encoding="utf-8"))
    assert {row["title"] for row in rows} == {"'=1+1", "Infirmière", "\x1b[31mRed \x07Nurse"}
    assert [path.name for path in stocked.folder.iterdir() if ".csv" in path.name] == ["all.csv"]


def test_since_counts_days_back_and_from_a_date(stocked: CommandLine) -> None:
    stocked.rows("UPDATE job_postings SET first_seen_at = '2020-01-01 00:00:00.000000' WHERE country_iso = 'KE'")
    assert stocked.json("search", "--since", "7d")["total"] == 2
    assert stocked.json("search", "--since", "2019-12-31")["total"] == 3


def test_every_result_is_written_without_a_limit(stocked: CommandLine) -> None:
    stocked.rows("DELETE FROM search_outbox")
    counting = "WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 1399)"
    stocked.rows(
        f"{counting} INSERT INTO job_postings (id, canonical_hash, title, apply_url) "
        "SELECT printf('%032x', i), 'h' || i, 'Officer ' || i, 'https://jobs.example/' || i FROM n"
    )
    stocked.done("search", "--rebuild")
    rows = table(stocked.done("search", "officer", "--all", "--csv").out)
    assert len({row["id"] for row in rows}) == len(rows) == 1300
    document = stocked.json("search", "officer", "--all")
    assert (document["total"], document["next"], len(document["hits"])) == (1300, None, 1300)
    assert [hit["posting"]["id"] for hit in document["hits"]] == [row["id"] for row in rows]
    assert stocked.done("search", "officer", "--all").out.rstrip().endswith("1,300 postings")
    page = stocked.json("search", "officer", "--limit", "100", "--sort", "newest")
    assert [hit["posting"]["id"] for hit in page["hits"]] == [row["id"] for row in rows[:100]]
    assert page["next"]
    stocked.done("takedown", "add", "https://jobs.example/700")
    assert len(table(stocked.done("search", "officer", "--all", "--csv").out)) == 1299


def test_the_whole_description_is_found_and_shown(comity: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMITY_ALLOW_NETWORKS", "127.0.0.0/8")
    monkeypatch.setenv("COMITY_SOURCE_DELAY", "0")
    about = "<p>Build wells.</p>" + "<p>Travel to the villages of the district.</p>" * 60 + "<ul><li>Hydrogeology</ul>"
    posting = {"@type": "JobPosting", "title": "Engineer", "url": "/jobs/1", "description": about}
    body = f'<script type="application/ld+json">{json.dumps(posting)}</script>'
    with Web() as web:
        site = web.site({"/careers": Answer(body=body)})
        comity.done("sources", "add", site.url("/careers"), "--org-name", "Relief House")
        assert comity.json("sources", "run-due")["runs"][0]["inserted"] == 1
        again = comity.json("sources", "run", site.url("/careers"))
        assert (again["inserted"], again["updated"]) == (0, 0)
    page = comity.json("search", "hydrogeology")
    assert page["total"] == 1
    assert {"text": "Hydrogeology", "is_match": True} in page["hits"][0]["snippet"]
    short = page["hits"][0]["posting"]
    assert (short["description_text"], len(short["description_snippet"]) <= 500) == (None, True)
    whole = comity.json("search", "hydrogeology", "--full")["hits"][0]["posting"]["description_text"]
    lines = whole.splitlines()
    assert (lines[0], lines[-1].strip("* -•"), len(lines)) == ("Build wells.", "Hydrogeology", 62)
    assert comity.done("search", "--full").out.count("Travel to the villages") == 60
    [row] = table(comity.done("search", "--full", "--csv").out)
    assert row["description_text"] == whole
