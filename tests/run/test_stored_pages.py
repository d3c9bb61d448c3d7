"""Stored pages for the console: found, shown and queried, with nothing else in reach and within limits."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from comity.model.errors import BadInput, NotFound
from comity.run.stored_pages import client
from comity.run.stored_pages.client import StoredPages, TooMuch
from comity.run.stored_pages.worker import answer
from tests.store.light import nothing, page
from tests.store.samples import FOLDER, store_all

HTML = b"<html><head><title>Ships &amp; sails</title></head><body><main><p>A schooner has two masts.</p></main>"
HOSTILE = (  # tests of the rule have many more
    "COPY pages TO '{place}/stolen.csv'",
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM behind.pages",
    "SELECT * FROM query('FROM behind.pages')",
)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / FOLDER
    store_all(folder, [page(1, HTML, content_type="text/html"), page(2), nothing(3)])
    os.utime(next(folder.glob("*.parquet")), (1, 1))  # the older part
    store_all(folder, [page(4, b"<p>A later page with a schooner</p>", content_type="text/html")], "machine:1:1:later")
    return folder


def asked(place: Path, takedowns: Sequence[str] = (), **question: Any) -> dict[str, Any]:
    return answer({"place": str(place), "takedowns": list(takedowns), "seconds": 30, **question})


def found(place: Path, **question: Any) -> list[str]:
    return [each["url"] for each in asked(place, **({"act": "search", "limit": 50} | question))["pages"]]


def test_a_search_finds_pages_by_url_host_and_text_newest_part_first(place: Path) -> None:
    urls = [page(number).url for number in (1, 2, 3, 4)]
    host = urls[0].split("/")[2]
    assert found(place) == [urls[3], urls[2], urls[1], urls[0]]
    assert found(place, text="SCHOONER") == [urls[3], urls[0]]
    assert found(place, text="schooner has") == [urls[0]]
    assert found(place, url=urls[1]) == [urls[1]]
    assert found(place, host=host) == [urls[3], urls[2], urls[1], urls[0]]
    assert found(place, host="other.example") == []
    assert found(place, takedowns=[urls[3]]) == [urls[2], urls[1], urls[0]]


def test_a_search_goes_on_behind_its_last_page_until_every_part_was_searched(place: Path) -> None:
    after, seen = None, []
    for _round in range(10):
        answered = asked(place, act="search", limit=1, after=after)
        seen += [each["url"] for each in answered["pages"]]
        after = answered["next"]
        if after is None:
            break
    assert seen == found(place)
    assert found(place, after="gone.parquet:7", limit=2) == seen[:2]  # a part that was joined meanwhile


def test_a_page_is_shown_with_its_source_its_main_text_and_its_versions(place: Path) -> None:
    url = page(1).url
    shown = asked(place, act="page", urls=[url])
    assert shown["source"] == HTML.decode()
    assert "two masts" in shown["text"]
    assert [each["url"] for each in shown["versions"]] == [url]
    assert asked(place, act="page", urls=[url], takedowns=[url])["problem"] == "not_found"
    assert asked(place, act="page", urls=["https://nowhere.example/"])["problem"] == "not_found"


def test_a_statement_over_the_pages_gives_rows_within_limits(place: Path) -> None:
    limits = {"act": "sql", "rows": 2, "bytes": 10_000}
    counted = asked(place, sql="SELECT count(*) AS pages, max(http_status) FROM pages;", **limits)
    assert (counted["columns"], counted["rows"]) == (["pages", "max(http_status)"], [["4", "404"]])
    cut = asked(place, sql="FROM pages SELECT url", **limits)
    assert (len(cut["rows"]), cut["has_more"]) == (2, True)
    common = asked(place, sql="WITH few AS (SELECT url FROM pages) SELECT count(*) FROM few, range(2)", **limits)
    assert common["rows"] == [["8"]]
    wide = asked(place, sql="SELECT repeat('x', 9000) FROM range(100)", act="sql", rows=100, bytes=10_000)
    assert 0 < len(wide["rows"]) < 100
    assert wide["has_more"]
    assert asked(place, sql="DESCRIBE pages", act="sql", rows=100, bytes=10_000)["rows"][0][0] == "url"


def test_a_hostile_statement_is_refused_and_leaves_nothing(place: Path) -> None:
    before = sorted(path.name for path in place.rglob("*"))
    for sql in HOSTILE:
        statement = sql.format(place=place)
        refused = asked(place, [page(1).url], act="sql", sql=statement, rows=10, bytes=10_000)
        assert refused["problem"] == "bad_input", refused
    assert sorted(path.name for path in place.rglob("*")) == before


def test_pages_that_are_taken_down_are_not_selected(place: Path) -> None:
    rows = asked(place, [page(1).url], act="sql", sql="SELECT url FROM pages", rows=10, bytes=10_000)["rows"]
    assert page(1).url not in [row[0] for row in rows]
    assert len(rows) == 3


@pytest.mark.parametrize(
    "sql",
    [
        "WITH RECURSIVE endless AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM endless) SELECT count(*) FROM endless",
        "SELECT count(*) FROM range(100000000000) a, range(100000) b WHERE a.range % 7 = b.range % 11",
        "SELECT list(range) FROM range(10000000000)",
    ],
)
def test_a_statement_that_is_too_much_ends_and_the_next_one_is_answered(place: Path, sql: str) -> None:
    async def ask() -> dict[str, Any]:
        whole = StoredPages.at(str(place), list)
        pages = StoredPages(whole.place, whole.takedowns, whole.pool, seconds=1.0)
        try:
            with pytest.raises(TooMuch):
                await pages.query(sql)
            return await StoredPages(whole.place, whole.takedowns, whole.pool).query("SELECT count(*) FROM pages")
        finally:
            await pages.close()

    assert asyncio.run(ask())["rows"] == [["4"]]


def test_the_child_says_what_is_wrong_and_what_is_missing(place: Path, tmp_path: Path) -> None:
    async def ask() -> None:
        pages = StoredPages.at(str(place), list)
        empty = StoredPages(str(tmp_path / "none"), list, pages.pool)
        try:
            with pytest.raises(BadInput, match="nosuch"):
                await pages.query("SELECT nosuch FROM pages")
            with pytest.raises(NotFound):
                await pages.page(["https://nowhere.example/"])
            assert (await empty.search())["pages"] == []
            with pytest.raises(NotFound):
                await empty.query("SELECT 1 FROM pages")
        finally:
            await pages.close()

    asyncio.run(ask())


def test_a_question_waits_a_limited_time_for_others_and_leaves_the_queue(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def ask() -> dict[str, Any]:
        pages = StoredPages.at(str(place), list)
        try:
            with monkeypatch.context() as patched:
                patched.setattr(client, "_MOST_WAIT_S", 0.0)
                with pytest.raises(TooMuch, match="too many queries"):
                    await pages.query("SELECT 1 FROM pages")
            return await pages.query("SELECT count(*) FROM pages")
        finally:
            await pages.close()

    assert asyncio.run(ask())["rows"] == [["4"]]
