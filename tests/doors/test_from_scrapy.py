"""docs/from-scrapy.md: its Comity examples run, and bring what the Scrapy examples would bring."""

from __future__ import annotations

import csv
import re
import sqlite3
import subprocess
import sys
from typing import Any

import pytest
import typer

from comity.doors.cli.main import app
from tests.documents import blocks, read_page
from tests.walk.crawling import Place
from tests.walk.site import Site, Web, page

PAGE = read_page("from-scrapy.md")
PRICES = {"/products/lamp": "EUR 39.00", "/products/clock": "28.50 €", "/products/gift": None}
FORBIDDEN = {"/account/orders", "/basket/"}


def shop(web: Web) -> Site:
    """Three products, one of them without a price, behind a list; an account and a basket to leave alone."""
    routes = {"/": page("/lists/all", "/account/", *FORBIDDEN), "/lists/all": page(*PRICES)}
    for path, price in PRICES.items():
        shown = f'<span class="price">{price}</span>' if price else ""
        routes[path] = page("/", body=f"<h1>{path.rpartition('/')[2]}</h1>{shown}")
    return web.site(routes, fallback=page())


def run(place: Place, site: Site, *command: str) -> str:
    local = [each.replace("https://example.com/", site.url()) for each in command]
    assert place.server is not None
    environment = place.server().on_the_path(place.environment() | {"PATH": "/usr/bin:/bin"})
    done = subprocess.run(local, cwd=place.folder, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


def test_the_crawl_spider(web: Web, place: Place) -> None:
    site = shop(web)
    (commands,) = blocks(PAGE, "sh")
    run(place, site, "sh", "-e", "-c", commands)
    with (place.folder / "products.csv").open(newline="") as file:
        rows = {row["url"]: (row["name"], row["price"]) for row in csv.DictReader(file)}
    assert rows == {
        site.url("/products/clock"): ("clock", "28.50"),
        site.url("/products/gift"): ("gift", ""),
        site.url("/products/lamp"): ("lamp", "39.00"),
    }
    assert {"/", "/lists/all", *PRICES} <= set(site.paths)
    assert not {path for path in site.paths if path.startswith(("/account", "/basket"))}


def test_the_item_pipeline(web: Web, place: Place) -> None:
    site = shop(web)
    (script,) = blocks(PAGE, "python")
    printed = run(place, site, sys.executable, "-c", script)
    assert f"{site.url('/products/lamp')} 39.00" in printed
    base = sqlite3.connect(place.folder / "products.db")
    rows = base.execute("SELECT url, name, price FROM products ORDER BY url").fetchall()
    base.close()
    assert rows == [
        (site.url("/products/clock"), "clock", "28.50"),
        (site.url("/products/lamp"), "lamp", "39.00"),
    ]
    assert not {path for path in site.paths if path.startswith("/account")}


def test_the_scrapy_side_is_python() -> None:
    examples = blocks(PAGE, "scrapy")
    assert len(examples) == 2
    for example in examples:
        compile(example, "from-scrapy.md", "exec")


@pytest.mark.parametrize(("page", "column"), [("from-scrapy.md", 2), ("comparison.md", 3)])
def test_options_that_the_tables_name_exist(page: str, column: int) -> None:
    """The column about Comity; the others name options of other tools."""
    root: Any = typer.main.get_command(app)
    crawl = root.commands["crawl"]
    known = {option for param in crawl.params for option in (*param.opts, *param.secondary_opts)}
    rows = [line.replace(r"\|", "") for line in read_page(page).splitlines()]
    cells = [row.split("|")[column] for row in rows if row.startswith("| ")]
    named = set(re.findall(r"(?<![\w#-])--?[a-z][a-z-]*", " ".join(re.findall(r"`([^`]+)`", " ".join(cells)))))
    assert len(named) > 15
    assert named - known - {"-v", "-vv"} == set()
