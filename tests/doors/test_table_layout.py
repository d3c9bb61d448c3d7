"""Tables fit the window: no line is wider than the room, and nothing of a value is lost."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.doors.cli.output import Cell, Line, TextColumn, folded, lay_out, width_of, wrapped

TEXTS = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "Zs")), max_size=90)


def shown(lines: list[Line]) -> list[str]:
    return ["".join(cell.text for cell in line).rstrip() for line in lines]


@given(TEXTS, st.integers(2, 60))
def test_folding_loses_nothing_but_spaces(text: str, width: int) -> None:
    pieces = folded(text, width)
    assert all(width_of(piece) <= width for piece in pieces)
    assert re.sub(r"\s", "", "".join(pieces)) == re.sub(r"\s", "", text)


@given(
    st.lists(st.tuples(st.text("ABCDEFGH ", min_size=1, max_size=14), st.booleans()), min_size=1, max_size=9),
    st.data(),
    st.sampled_from([40, 60, 80, 120]),
)
def test_no_line_of_a_table_is_wider_than_the_room(heads: list[tuple[str, bool]], data: Any, room: int) -> None:
    columns = [TextColumn(title.strip() or "X", is_number) for title, is_number in heads]
    values = [st.integers(0, 10**9).map(str) if column.is_number else TEXTS for column in columns]
    rows = data.draw(st.lists(st.tuples(st.tuples(*values), st.none() | TEXTS), min_size=1, max_size=4))
    plain = [([Cell(value) for value in cells], below) for cells, below in rows]
    lines = shown(lay_out(columns, plain, room))
    assert max(map(width_of, lines)) <= room
    everything = re.sub(r"[\s─└]", "", "".join(lines))
    for cells, _below in rows:
        for value in cells:
            letters = set(re.sub(r"[\s─└]", "", value))
            assert letters <= set(everything)


def test_a_table_that_fits_is_left_as_it_is() -> None:
    columns = [TextColumn("NAME"), TextColumn("PAGES", True)]
    rows = [([Cell("a.example"), Cell("12")], "a remark"), ([Cell("b.example"), Cell("3")], None)]
    table = ["NAME       PAGES", "────────────────", "a.example     12", "  └─ a remark", "b.example      3"]
    assert shown(lay_out(columns, rows, 60)) == table
    assert shown(lay_out(columns, rows, None)) == table


def test_a_long_answer_is_folded_in_its_column() -> None:
    columns = [TextColumn("MAY"), TextColumn("ASKED"), TextColumn("ANSWER")]
    rows = [([Cell("no"), Cell("robots"), Cell("Disallow: /private on line 2 of robots.txt, read an hour ago.")], None)]
    assert shown(lay_out(columns, rows, 40))[2:] == [
        "no   robots  Disallow: /private on line",
        "             2 of robots.txt, read an",
        "             hour ago.",
    ]


def test_where_folding_is_not_enough_the_first_column_has_its_own_line_and_then_there_are_blocks() -> None:
    columns = [TextColumn("SOURCE"), TextColumn("NEXT RUN"), TextColumn("LAST RUN"), TextColumn("JOBS", True)]
    cells = [Cell("https://example.org/careers/all"), Cell("2026-02-05 14:30"), Cell("2026-02-05 14:30"), Cell("12")]
    assert shown(lay_out(columns, [(cells, None)], 60))[3:] == [
        "https://example.org/careers/all",
        "  2026-02-05 14:30  2026-02-05 14:30    12",
    ]
    assert shown(lay_out(columns, [(cells, None)], 34))[1:] == [
        "SOURCE    https://example.org/",
        "          careers/all",
        "NEXT RUN  2026-02-05 14:30",
        "LAST RUN  2026-02-05 14:30",
        "JOBS      12",
    ]


@pytest.mark.parametrize("room", [20, 60])
def test_a_sentence_is_wrapped_at_its_spaces_and_a_url_is_not_broken(room: int) -> None:
    url = "https://example.org/a/rather/long/path/that/fits/nowhere"
    lines = shown(wrapped([Cell("  one two three four five six "), Cell(url, "bold"), Cell(" seven")], room))
    assert all(width_of(line) <= room or url in line for line in lines)
    assert " ".join(" ".join(lines).split()) == f"one two three four five six {url} seven"
    assert all(line.startswith("  ") for line in lines)
