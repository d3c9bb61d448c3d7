"""Plots from numbers: well-formed, within their box, without inline styles, and with the same numbers as text."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.doors.web.console import plots
from comity.doors.web.console.plots import HEIGHT, WIDTH, Lane, Mark, Series
from comity.rules import host_transitions, job_transitions

START = datetime(2026, 3, 2, tzinfo=UTC)
HOSTILE = "</svg><script>alert(1)</script>"


def hours(count: int) -> list[datetime]:
    return [START + timedelta(hours=number) for number in range(count)]


def parsed(markup: str) -> ET.Element:
    assert "style=" not in markup
    assert "<script" not in markup
    return ET.fromstring(f"<root>{markup}</root>")


values = st.lists(st.one_of(st.none(), st.floats(0, 1e12), st.integers(0, 10**9)), min_size=0, max_size=60)


@given(values, st.sampled_from([plots.line_plot, plots.stacked]))
def test_any_numbers_stay_within_the_box(numbers: list[float | None], plot: object) -> None:
    markup = plot("Pages", hours(len(numbers)), [Series("pages", numbers), Series("twice", numbers, "2")])  # type: ignore[operator]
    for rect in parsed(markup).iter("rect"):
        if "band" in rect.attrib["class"]:
            continue
        assert float(rect.attrib["y"]) >= -0.01
        assert float(rect.attrib["y"]) + float(rect.attrib["height"]) <= HEIGHT + 0.5
    for path in parsed(markup).iter("path"):
        found = [float(number) for number in re.findall(r"-?[\d.]+(?:e-?\d+)?", path.attrib["d"])]
        assert all(-0.01 <= number <= WIDTH for number in found), path.attrib["d"]


def test_a_plot_has_the_same_numbers_as_text() -> None:
    markup = plots.line_plot("Latency", hours(3), [Series("median", [10, None, 30.5])], unit="ms")
    cells = [cell.text for cell in parsed(markup).iter("td")]
    assert cells == ["2026-03-02 00:00", "10", "2026-03-02 01:00", "–", "2026-03-02 02:00", "30.50"]
    titles = [title.text for title in parsed(markup).iter("title")]
    assert titles[2] == "2026-03-02 02:00 UTC · median 30.50 ms"


def test_a_gap_is_no_line() -> None:
    markup = plots.line_plot("Latency", hours(4), [Series("median", [1, None, 2, 3])])
    lines = [path for path in parsed(markup).iter("path") if path.attrib["class"].startswith("line")]
    assert len(lines) == 2


@pytest.mark.parametrize(
    ("most", "top"), [(0, 1), (-3, 1), (1, 1), (3, 4), (7, 10), (99, 100), (100, 100), (101, 200), (0.03, 0.04)]
)
def test_axes_end_at_round_numbers(most: float, top: float) -> None:
    assert plots.nice_top(most) == pytest.approx(top)


@given(st.floats(1e-6, 1e15))
def test_an_axis_holds_its_largest_value_and_is_not_much_longer(most: float) -> None:
    assert most * 0.99999 <= plots.nice_top(most) <= most * 2.51


@pytest.mark.parametrize(
    "markup",
    [
        plots.line_plot(HOSTILE, hours(2), [Series(HOSTILE, [1, 2])]),
        plots.bars(HOSTILE, [(HOSTILE, 3)], path="/hosts?status={}"),
        plots.sparkline([1, 2], HOSTILE),
        plots.timeline(HOSTILE, START, START + timedelta(hours=1), [Lane(HOSTILE, [Mark(START, HOSTILE)])]),
        plots.state_diagram({HOSTILE: {HOSTILE: HOSTILE}}, HOSTILE, title=HOSTILE),
    ],
)
def test_names_are_escaped(markup: str) -> None:
    parsed(markup)


def test_a_time_line_leaves_out_what_is_outside_its_time() -> None:
    marks = [
        Mark(START - timedelta(hours=5), "before"),
        Mark(START, "within"),
        Mark(START + timedelta(hours=5), "after"),
    ]
    markup = plots.timeline("Requests", START, START + timedelta(hours=1), [Lane("GET", marks)])
    assert [title.text for title in parsed(markup).iter("title")] == ["within"]


@pytest.mark.parametrize("table", [host_transitions, job_transitions])
def test_a_state_diagram_has_every_state_and_every_move(table: object) -> None:
    moves = table.MOVES  # type: ignore[attr-defined]
    current = next(iter(moves))
    root = parsed(plots.state_diagram(moves, current, first=table.FIRST))  # type: ignore[attr-defined]
    assert sorted(text.text or "" for text in root.iter("text")) == sorted(map(str, moves))
    titles = {title.text for title in root.iter("title")}
    expected = {f"{before} → {after}: {event}" for before, events in moves.items() for after, event in events.items()}
    assert titles == expected
    assert [group.find("text").text for group in root.iter("g") if "is-current" in group.attrib["class"]] == [current]  # type: ignore[union-attr]
    # No two boxes share a place, and all are within the picture.
    boxes = [group.find("rect").attrib for group in root.iter("g") if group.attrib["class"].startswith("state")]  # type: ignore[union-attr]
    assert len({(box["x"], box["y"]) for box in boxes}) == len(moves)
    svg = next(root.iter("svg"))
    assert all(float(box["x"]) + float(box["width"]) <= float(svg.attrib["width"]) for box in boxes)
    assert all(float(box["y"]) + float(box["height"]) <= float(svg.attrib["height"]) for box in boxes)
