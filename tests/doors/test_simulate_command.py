"""`comity simulate schedule` from a person's and a program's side."""

from __future__ import annotations

from math import isclose
from xml.etree import ElementTree

import pytest

from comity.doors.cli.simulate.command import ProcessName
from comity.doors.cli.simulate.rendering import Axis, Box, LineStyle, Panel, Sheet, render_number
from comity.schedule.simulate import Process
from tests.doors.command_line import STATE, CommandLine

SMALL = ("simulate", "schedule", "--sources", "60", "--days", "40")


def test_the_schedules_are_compared_in_a_table_with_bars_and_a_verdict(comity: CommandLine) -> None:
    out = comity.done(*SMALL).out
    for words in ("default rules", "AIMD", "adaptive", "mean delay", "slowest tenth", "█", "the aim of 40 %"):
        assert words in out
    assert out.startswith("60 sources over 40 days, 20 visits a day; changes: mixed, ")
    assert not (comity.folder / STATE).exists()


def test_the_document_holds_the_figures(comity: CommandLine) -> None:
    document = comity.done(*SMALL, "--budget", "30", "--process", "weekly", "--seed", "3", "--json").document
    assert [each["schedule"] for each in document["schedules"]] == ["fixed", "rules", "aimd", "adaptive"]
    assert document["visits_per_day"] == 30
    assert document["world"]["process"] == "weekly"
    assert document["aim"]["delay_gain_wanted"] == 0.4
    fixed, adaptive = document["schedules"][0], document["schedules"][3]
    gain = 1 - adaptive["mean_delay_days"] / fixed["mean_delay_days"]
    assert isclose(document["aim"]["delay_gain"], gain, abs_tol=0.001)
    assert comity.done(*SMALL, "--budget", "30", "--process", "weekly", "--seed", "3", "--json").document == document


def test_the_plot_is_svg_with_every_schedule_and_the_budgets_around(comity: CommandLine) -> None:
    answer = comity(*SMALL, "--plot", "plot.svg", "--json")
    assert answer.code == 0
    text = (comity.folder / "plot.svg").read_text()
    root = ElementTree.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    words = {element.text for element in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"fixed", "default rules", "AIMD", "adaptive", "visits a day, all sources together"} <= words
    assert len(list(root.iter("{http://www.w3.org/2000/svg}polyline"))) == 4 + 4 + 4
    assert [each["visits_per_day"] for each in answer.document["sweep"]] == [5, 10, 20, 40, 80]
    assert "nan" not in text
    assert answer.err == "The plot is in plot.svg.\n"


def test_a_world_in_which_nothing_happens_can_be_drawn(comity: CommandLine) -> None:
    still = ("--sources", "1", "--days", "1", "--median-days", "3650", "--spread", "0", "--plot", "still.svg")
    assert comity("simulate", "schedule", *still).code == 0
    assert ElementTree.parse(comity.folder / "still.svg").getroot() is not None


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--sources", "0"), "--sources must be between 1 and 1,000,000"),
        (("--days", "0"), "--days must be between 1 and 3,650"),
        (("--budget", "0"), "--budget must be between"),
        (("--budget", "nan"), "--budget must be between"),
        (("--budget", "1e12"), "--budget must be between"),
        (("--budget", "100000000"), "at most 5,000,000 can be simulated"),
        (("--sources", "1000000"), "at most 5,000,000 can be simulated"),
        (("--spread", "9"), "--spread must be between 0 and 4"),
        (("--median-days", "0"), "--median-days must be between"),
        (("--process", "weird"), "weird"),
        (("--seed", "x"), "--seed"),
        (("--plot", "plot.png"), "ends in .svg"),
        (("--plot", "nowhere/plot.svg"), "there is no folder 'nowhere'"),
    ],
)
def test_what_cannot_be_simulated_is_told_in_one_line(comity: CommandLine, words: tuple[str, ...], told: str) -> None:
    answer = comity("simulate", "schedule", *words)
    assert (answer.code, answer.out) == (2, "")
    assert told in answer.err
    assert len(answer.err.splitlines()) == 1


def test_the_command_knows_every_process() -> None:
    assert [each.value for each in ProcessName] == [each.value for each in Process]


@pytest.mark.parametrize(
    ("axis", "ticks"),
    [
        (Axis("", 0, 100), [0, 20, 40, 60, 80, 100]),
        (Axis("", 55, 97), [60, 70, 80, 90]),
        (Axis("", 0.2, 6, True), [0.2, 0.5, 1, 2, 5]),
        (Axis("", 0.0008, 60, True), [0.001, 0.01, 0.1, 1, 10]),
        (Axis("", 5, 5), [5]),
        (Axis("", 1, 9, ticks=(3.0,)), [3]),
    ],
)
def test_axes_have_round_ticks_inside_their_range(axis: Axis, ticks: list[float]) -> None:
    assert axis.tick_values() == pytest.approx(ticks)


@pytest.mark.parametrize(
    ("value", "shown"), [(0, "0"), (0.25, "0.25"), (83.33, "83.3"), (333.33, "333"), (1e7, "1e+07"), (12345, "12,345")]
)
def test_numbers_on_axes_are_short(value: float, shown: str) -> None:
    assert render_number(value) == shown


def test_words_cannot_break_out_of_a_drawing() -> None:
    sheet = Sheet(100, 100, "<title> & more")
    panel = Panel(sheet, Box(10, 10, 80, 80), "a < b", Axis("x & y", 1, 10), Axis("", 1, 10))
    panel.line([(1, 1), (100, 100)], LineStyle("#000", "", "diamond"))
    assert ElementTree.fromstring(sheet.document()) is not None
    assert panel.place(1000, -5) == (90, 90)
