"""Tables and paths that were written to exhaust the reader: spans, equal names, and paths that nearly match."""

from __future__ import annotations

import pytest

from comity.extract.html_functions import linked, page_info, value_at
from comity.extract.html_tables import MOST_COLUMNS, read_table


def test_spans_do_not_multiply() -> None:
    head = "<th colspan=1000 rowspan=1000>a</th>" * 20_000
    table = read_table(f"<table><tr>{head}</tr><tr><td>1</td></tr></table>", "table")
    assert table is not None
    assert (len(table.names), len({name.casefold() for name in table.names})) == (MOST_COLUMNS, MOST_COLUMNS)
    assert all(len(row) == MOST_COLUMNS for row in table.rows)


def test_a_path_that_nearly_matches_is_refused() -> None:
    with pytest.raises(ValueError, match="is not a path"):
        value_at("<p>", "p@text" + ".x" * 200 + "]")


def test_half_of_a_surrogate_pair_is_replaced() -> None:
    html = '<script type="application/ld+json">{"@type":"Product","name":"\\ud800x"}</script>'
    assert value_at(html, "script@text.name") == '"?x"'
    assert page_info(html, "https://example.org/")


def test_a_link_that_is_no_address_is_left_out() -> None:
    assert linked("<a href='http://['>x</a><a href=/a#b>y</a>", "a", "https://example.org/") == [
        "https://example.org/a"
    ]
