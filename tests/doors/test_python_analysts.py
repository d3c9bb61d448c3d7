"""Sources and search from Python, and every example of docs/analysts.md."""

from __future__ import annotations

import asyncio
import inspect
from datetime import UTC, date, datetime, timedelta
from typing import Any

import duckdb
import pyarrow
import pytest

import comity
from comity.doors.python import records
from comity.doors.python import sources as sources_module
from comity.model.errors import AlreadyThere, NotFound
from comity.rules.row_list import SOURCE_COLUMNS
from tests.documents import blocks, read_page
from tests.doors.command_line import CommandLine
from tests.doors.test_python_scripts import run as run_script
from tests.walk.crawling import Place
from tests.walk.site import Answer, Site, Web
from tests.walk.sourcing import Job, listing

DOCUMENT = read_page("analysts.md")
EXAMPLES = blocks(DOCUMENT, "python")
COMMANDS = [
    line.partition("#")[0].split()[1:]
    for block in blocks(DOCUMENT, "")
    for line in block.splitlines()
    if line.startswith("comity ")
]
CAREERS = "https://example.org/careers"


@pytest.fixture
def site(web: Web) -> Site:
    openings = [Job("Water Engineer", "Nairobi, Kenya"), Job("Nurse", "Juba, South Sudan"), Job("Engineer", "Geneva")]
    return web.site({"/careers": Answer(body=listing(openings))})


@pytest.fixture
def ready(comity: CommandLine, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    monkeypatch.setenv("COMITY_ALLOW_NETWORKS", "127.0.0.0/8")
    monkeypatch.setenv("COMITY_SOURCE_DELAY", "0")
    return comity


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda text: text.splitlines()[-1].strip()[:40])
def test_every_example_runs(web: Web, site: Site, place: Place, example: str) -> None:
    (place.folder / "sources.csv").write_text(f"url,country\n{site.url('/careers')},KE\n{CAREERS}/2,Atlantis\n")
    place.env |= {"COMITY_SOURCE_DELAY": "0"}
    code, out, err = run_script(example.replace(CAREERS, site.url("/careers")), place)
    assert (code, err) == (0, "")
    assert out.strip()


def test_the_commands_of_the_page_run(ready: CommandLine) -> None:
    assert len(COMMANDS) == 8
    (ready.folder / "sources.csv").write_text(f"url,country\n{CAREERS},KE\n")
    for words in COMMANDS:
        assert ready(*words).code == 0, words
    assert (ready.folder / "postings.csv").exists()


def test_the_page_names_every_column_every_function_and_every_filter() -> None:
    table = DOCUMENT.partition("## Lists of sources")[2].partition("Blanks and underscores")[0]
    for column, others in SOURCE_COLUMNS.items():
        [line] = [each for each in table.splitlines() if each.startswith(f"| `{column}` |")]
        assert line.split("|")[2].strip() == ", ".join(others)
    for name in sources_module.__all__:
        assert f"`{name}" in DOCUMENT, name
    for name in inspect.signature(comity.search).parameters:
        assert name in ("words", "state") or f"`{name}`" in DOCUMENT, name
    for name in ("dicts", "duckdb", "arrow", "batches", "pandas"):
        assert hasattr(records.Records, name)
        assert f"`{name}(" in DOCUMENT


def test_the_life_of_a_source(ready: CommandLine, site: Site) -> None:
    url = site.url("/careers")
    with pytest.raises(comity.BadInput, match="country: must be two letters"):
        comity.sources.add(url, country="Atlantis")
    with pytest.raises(NotFound, match="there is no source"):
        comity.sources.run(url)
    assert list(ready.folder.iterdir()) == []  # neither made a state
    source = comity.sources.add(url, org_name="Relief House", country="CH")
    assert (source.status, source.country) == ("active", "CH")
    with pytest.raises(AlreadyThere):
        comity.sources.add(url)
    assert comity.sources.run(url).counts.inserted == 3
    assert comity.sources.run_due() == ()
    assert [each.id for each in comity.sources.list()] == [source.id]
    assert comity.sources.edit(url, crawl_frequency_days=9, country=None).country is None
    with pytest.raises(comity.BadInput, match="colour: is not a column of a source"):
        comity.sources.edit(url, colour="red")
    for name, status in (("pause", "paused"), ("resume", "active"), ("approve", "active")):
        assert getattr(comity.sources, name)(str(source.id)).status == status
    assert [run.found for run in comity.sources.logs(url)] == [3]
    assert comity.sources.get(url).crawl_frequency_days == 9
    assert comity.sources.delete(url).status == "deleted"
    assert list(comity.sources.list()) == []
    assert [each.status for each in comity.sources.list(status="deleted")] == ["deleted"]


def test_a_list_is_a_file_or_dictionaries(ready: CommandLine) -> None:
    tried = comity.sources.add_from([{"url": CAREERS}], dry_run=True)
    assert (tried.counts, list(ready.folder.iterdir())) == ({"would_add": 1}, [])
    assert comity.sources.add_from([{"url": CAREERS, "days": 2}, {"url": "x"}]).is_written is False
    (ready.folder / "list.jsonl").write_text('{"url": "https://a.example/"}\n')
    assert comity.sources.add_from(ready.folder / "list.jsonl", state="other.db").counts == {"added": 1}
    assert len(list(comity.sources.list(state="other.db"))) == 1
    with pytest.raises(FileNotFoundError):
        comity.sources.add_from("nowhere.csv")


def test_sources_run_inside_of_an_event_loop(ready: CommandLine, site: Site) -> None:
    comity.sources.add(site.url("/careers"))

    async def notebook() -> int:
        return comity.sources.run(site.url("/careers")).counts.found

    assert asyncio.run(notebook()) == 3


@pytest.fixture
def stocked(ready: CommandLine, site: Site) -> CommandLine:
    comity.sources.add(site.url("/careers"), org_name="Relief House")
    comity.sources.run_due()
    return ready


def titles(**wanted: Any) -> set[str]:
    return {posting.title for posting in comity.search(**wanted)}


def test_search_has_the_filters_of_the_command(stocked: CommandLine, site: Site) -> None:
    assert titles() == {"Water Engineer", "Nurse", "Engineer"}
    assert titles(words="engin") == {"Water Engineer", "Engineer"}
    assert titles(country="Kenya") == {"Water Engineer"}
    assert titles(country=["KE", "SS"]) == {"Water Engineer", "Nurse"}
    assert titles(org="relief house", source=site.url("/careers")) == titles()
    assert titles(deadline_before="2020-01-01") == set()
    for since in ("1d", date(2020, 1, 1), datetime(2020, 1, 1, tzinfo=UTC), timedelta(hours=1)):
        assert titles(since=since) == titles()
    assert len(list(comity.search(limit=2))) == 2
    found = comity.search("engin", limit=1)
    assert (found.total, found.facets["country_iso"]["KE"]) == (2, 1)
    assert [posting.title for posting in found] == [posting.title for posting in found]
    for wanted, complaint in (
        ({"level": "boss"}, "level: 'boss' is not known"),
        ({"sort": "price"}, "sort: must be one of"),
        ({"since": "then"}, "since: must be a date"),
        ({"since": datetime(2020, 1, 1)}, "since: needs a time zone"),  # noqa: DTZ001
        ({"deadline_after": "soon"}, "deadline_after: must be a date"),
        ({"limit": 0}, "limit: must be at least 1"),
    ):
        with pytest.raises(comity.BadInput, match=complaint):
            comity.search(**wanted)


def test_no_state_is_an_empty_result_and_stays_none(ready: CommandLine) -> None:
    assert list(comity.search()) == []
    assert comity.search().total == 0
    assert list(ready.folder.iterdir()) == []


def test_a_loop_that_is_left_closes_the_state(stocked: CommandLine) -> None:
    for _posting in comity.search():
        break
    stocked.rows("DELETE FROM search_outbox")  # nobody holds it


def test_tables(stocked: CommandLine) -> None:
    found = comity.search(full=True)
    rows = list(found.dicts())
    base = found.duckdb("postings")
    sql = "SELECT id, title, mission_tags, first_seen_at, closed_at FROM postings ORDER BY id"
    assert base.sql(sql).fetchall() == [
        (row["id"], row["title"], row["mission_tags"], row["first_seen_at"], None)
        for row in sorted(rows, key=lambda row: row["id"])
    ]
    own = duckdb.connect()
    assert comity.sources.list().duckdb("my sources", own) is own
    assert own.sql('SELECT org_name, last_found, importance FROM "my sources"').fetchall() == [("Relief House", 3, 1.0)]
    table = found.arrow()
    assert table.to_pylist() == rows
    assert [batch.num_rows for batch in comity.sources.logs().batches()] == [1]
    assert pyarrow.table(found) == table
    assert duckdb.sql("SELECT count(*) FROM found").fetchall() == [(3,)]


def test_a_package_that_is_missing_is_named(stocked: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    for name, method in (("pyarrow", "arrow"), ("pandas", "pandas")):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(comity.BadInput, match=f"this needs {name}, which is not installed: pip install {name}"):
            getattr(comity.search(), method)()
