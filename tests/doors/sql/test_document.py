"""docs/sql.md: its statements run, in order, and its table of options is that of the code."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from comity.rules.sql.options import OPTIONS, OptionRule, SqlCrawlOptions
from tests.documents import blocks, read_page, run_script
from tests.doors.sql.test_crawl_statement import opened, rows
from tests.walk.crawling import Place
from tests.walk.site import Site, Web, page

WITHOUT_DEFAULT = {
    "user_agent": "Comity's own",
    "threads": "no limit",
    "timeout_seconds": "30",
    "accept_content_types": "text of any kind",
    "reject_content_types": "none",
}
DOCUMENT = Path(__file__).parents[3] / "docs/sql.md"


def product(number: int) -> str:
    return page(body=f'<h1> Lamp {number} </h1><p class="price">EUR {number}9.50</p>')


@pytest.fixture
def shop() -> Iterator[Site]:
    with Web() as web:
        yield web.site(
            {"/": page("/p/1", "/p/2", "/basket"), "/p/1": product(1), "/p/2": product(2), "/basket": page()}
        )


def test_every_statement_runs(shop: Site, tmp_path: Path) -> None:
    statements = blocks(read_page("sql.md"), "sql")
    assert len(statements) == 6
    results = []
    with opened(tmp_path) as connection:
        connection.execute("SET crawler_default_delay = 0")
        for statement in statements:
            here = statement.replace("https://shop.example", shop.url(""))
            connection.execute(here.replace("default_crawl_delay 0.5", "crawl_delay_ms 0"))
            results.append(connection.fetchall())
        found = rows(connection, "SELECT name, price FROM products ORDER BY url")
        assert [(name, str(price)) for name, price in found] == [("Lamp 1", "19.50"), ("Lamp 2", "29.50")]
        assert rows(connection, "SELECT count(*) FROM site") == [(4,)]
    assert sorted(name for _url, name, _title in results[4]) == ["Lamp 1", "Lamp 2"]
    assert len(results[5]) == 9  # two products, four pages of the site, three by functions
    assert shop.pages().count("/basket") == 1  # by the statement that follows links


def test_the_script_runs(shop: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (script,) = blocks(read_page("sql.md"), "python")
    monkeypatch.chdir(tmp_path)
    here = script.replace("https://shop.example", shop.url("")).replace("MyBot/1.0'", "MyBot/1.0', crawl_delay_ms 0")
    run_script(here, Place(tmp_path), monkeypatch)
    with duckdb.connect("shop.duckdb", read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM pages WHERE http_status = 200").fetchall() == [(1,)]


def default_of(field: str, rule: OptionRule) -> str:
    value = getattr(SqlCrawlOptions(), field)
    match value:
        case bool():
            return str(value).lower()
        case int() | float():
            number = value / float(rule.scale) if rule.scale is not None else value
            return f"{round(number):,}" if number == round(number) else str(number)
        case _:
            return WITHOUT_DEFAULT[field]


def test_the_table_of_options_is_up_to_date() -> None:
    lines = [
        f"| `{name}` | {rule.takes} | {default_of(rule.field or name, rule)} | {rule.meaning} |"
        for name, rule in OPTIONS.items()
    ]
    text = DOCUMENT.read_text()
    if os.environ.get("WRITE_DOCS"):
        text = re.sub(
            r"(\|---\|---\|---\|---\|\n)(?:OPTIONS\n|(?:\| `.*\n)+)",
            lambda found: found[1] + "\n".join(lines) + "\n",
            text,
        )
        DOCUMENT.write_text(text)
    assert "\n".join(lines) in text
