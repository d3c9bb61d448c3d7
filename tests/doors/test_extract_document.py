"""What docs/extract.md says of expressions is so."""

from __future__ import annotations

import re

import pytest
from turbohtml import parse

from comity.extract.expressions import columns_of, evaluate
from comity.model.expression import ExpressionProblem, PathRoot, Transform, TypeName
from comity.rules.expressions.parse import parse_columns, parse_expression
from comity.rules.expressions.printing import print_columns
from comity.rules.expressions.values import parse_price
from tests.documents import blocks, commands, read_page, run_script
from tests.walk.crawling import Place
from tests.walk.site import Site, Web

DOCUMENT = read_page("extract.md")
[EXAMPLES] = blocks(DOCUMENT, "extract")
PAGE = """<title>Cup</title><meta property=og:title content=Cups><meta name=description content="<b>All</b> cups">
<meta name=date content=2026-05-01><script>var shop = {stock: 7}</script><li>1<li>2<a class=buy href=/buy>Buy</a>
<script type="application/ld+json">{"@type": "Product", "name": " Cup ", "image": "/cup.png", "gtin13": "400",
"offers": {"price": "12.5", "availability": "https://schema.org/InStock"}}</script>"""


def test_the_examples_find_what_they_should() -> None:
    columns = columns_of(EXAMPLES)
    assert parse_columns(print_columns(columns)) == columns
    found = evaluate(parse(PAGE), columns)
    assert dict(zip((column.name for column in columns), found.values, strict=True)) == {
        "name": "Cup",
        "picture": "/cup.png",
        "price": "12.50",
        "in_stock": True,
        "stock": 7,
        "gtin": "400",
        "heading": "Cups",
        "summary": "All cups",
        "buy": "/buy",
        "updated": "2026-05-01",
        "items": 2,
    }


@pytest.mark.parametrize("written", re.findall(r"^\| `([^`]+)`", DOCUMENT, re.MULTILINE))
def test_every_source_of_the_table_is_one(written: str) -> None:
    if "…" not in written:
        assert not isinstance(parse_expression(written), ExpressionProblem)


def test_the_prices_of_the_document_are_read_as_it_says() -> None:
    prices = ("1.299,00 €", "$1,299.00", "1 299,00 kr", "¥1200", "CHF 1'299.–")
    assert all(f"`{price}`" in DOCUMENT for price in prices)
    assert [parse_price(price) for price in prices] == ["1299.00", "1299.00", "1299.00", "1200", "1299"]


def test_the_grammar_names_every_root_step_and_type() -> None:
    [grammar] = blocks(DOCUMENT, "ebnf")
    words = {*PathRoot, *Transform, *(name for name in TypeName if name is not TypeName.JSON)}
    assert [word for word in words if f'"{word}"' not in grammar] == []


def shop(web: Web) -> Site:
    return web.site({"/": PAGE + "<p class=price>12,50 €</p>"})


def test_every_command_runs_and_finds_the_values(web: Web, place: Place) -> None:
    site = shop(web)
    found = commands(DOCUMENT)
    assert len(found) >= 2
    said = [place.comity(*(word.replace("https://example.com/", site.url()) for word in words)) for words in found]
    assert [answer.code for answer in said] == [0] * len(found), said
    assert re.search(r"Cup +12\.50", said[1].out), said[1].out


def test_every_script_runs_and_prints_the_values(
    web: Web, place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    site = shop(web)
    scripts = blocks(DOCUMENT, "python")
    assert scripts
    for script in scripts:
        run_script(script.replace("https://example.com/", site.url()), place, monkeypatch)
    assert capsys.readouterr().out == f"{site.url()} 12.50\n"
