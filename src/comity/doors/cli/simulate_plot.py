"""The plot of a simulation: delay and freshness against the budget, and intervals against rates of change.

Comparisons at several budgets go in; SVG text leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from comity.doors.cli.simulate_shown import NAMES
from comity.doors.cli.svg import INK, Axis, Box, LineStyle, Panel, Sheet
from comity.schedule.contenders import Schedule
from comity.schedule.simulate import Comparison, Result

_STYLES: Final = {
    Schedule.FIXED: LineStyle("#b0b6bd", "2 5", "square", 2.2),
    Schedule.RULES: LineStyle("#cc6f00", "9 5", "triangle", 2.2),
    Schedule.AIMD: LineStyle("#5ab0d6", "12 4 2 4", "diamond", 2.2),
    Schedule.ADAPTIVE: LineStyle("#14315c", "", "circle", 3.0),
}
_WIDTH: Final = 1080
_HEIGHT: Final = 900
_MOST_POINTS: Final = 500  # a cloud of more only makes the file large
_SHORTEST_DELAY_DAYS: Final = 1e-3
_ROOM: Final = 1.15  # beyond the outermost values


def draw(sweep: Sequence[Comparison], chosen: Comparison) -> str:
    """Draw the sweep, and the intervals of one comparison out of it."""
    plan = chosen.plan
    sheet = Sheet(_WIDTH, _HEIGHT, "Schedules compared at equal budgets")
    world = plan.world
    sheet.text((40, 40), "What each schedule makes of the same budget", size=20, is_bold=True)
    words = f"{world.sources:,} sources over {world.days:g} days; changes: {world.process}, spread {world.spread:g}, "
    words += f"median one in {1 / world.median_per_day:.3g} days; seed {world.seed}"
    sheet.text((40, 62), words, size=12.5, colour="#5b6673")
    _legend(sheet, 40, 92)
    budgets = [comparison.plan.visits_per_day for comparison in sweep]
    # The budgets themselves are the ticks: that is where something was measured.
    low, high = min(budgets) / _ROOM, max(budgets) * _ROOM
    across = Axis("visits a day, all sources together", low, high, True, ticks=tuple(budgets))
    _delay_panel(sheet, sweep, across)
    _freshness_panel(sheet, sweep, across)
    _interval_panel(sheet, chosen)
    return sheet.document()


def _legend(sheet: Sheet, left: float, top: float) -> None:
    for schedule, style in _STYLES.items():
        sheet.line([(left, top), (left + 38, top)], style)
        sheet.mark((left + 19, top), style)
        sheet.text((left + 48, top + 4), NAMES[schedule], size=12.5)
        left += 80 + 7 * len(NAMES[schedule])


def _delay_panel(sheet: Sheet, sweep: Sequence[Comparison], across: Axis) -> None:
    delays = _series(sweep, lambda result: result.measured.mean_delay_days)
    values = [value for points in delays.values() for _, value in points]
    low = max(_SHORTEST_DELAY_DAYS, min(values))
    up = Axis("days (less is better)", low / _ROOM, max(low, *values) * _ROOM, True)
    panel = Panel(sheet, Box(92, 150, 420, 270), "Mean delay until a change is seen", across, up)
    _draw_lines(panel, delays)


def _freshness_panel(sheet: Sheet, sweep: Sequence[Comparison], across: Axis) -> None:
    freshness = _series(sweep, lambda result: 100 * result.measured.freshness)
    values = [value for points in freshness.values() for _, value in points]
    up = Axis("share of time (more is better)", max(0.0, min(values) - 4), min(100.0, max(values) + 4), suffix=" %")
    panel = Panel(sheet, Box(620, 150, 420, 270), "Freshness: what we hold is what is there", across, up)
    _draw_lines(panel, freshness)


def _interval_panel(sheet: Sheet, chosen: Comparison) -> None:
    clouds = {
        result.schedule: [pair for pair in result.measured.intervals[:_MOST_POINTS] if pair[0] > 0]
        for result in chosen.results
    }
    pairs = [pair for cloud in clouds.values() for pair in cloud] or [(1.0, 1.0)]
    rates, intervals = [rate for rate, _ in pairs], [interval for _, interval in pairs]
    across = Axis("changes a day of a source", min(rates) / _ROOM, max(rates) * _ROOM, True)
    up = Axis("mean days between visits", min(intervals) / _ROOM, max(intervals) * _ROOM, True)
    title = f"Who is visited how often, at {chosen.plan.visits_per_day:,.4g} visits a day"
    panel = Panel(sheet, Box(92, 520, 948, 310), title, across, up)
    for schedule, cloud in clouds.items():
        panel.cloud(cloud, _STYLES[schedule], 0.75 if schedule is Schedule.ADAPTIVE else 0.55)
    words = "Each mark is one source. Adaptive visits it in proportion to the square root of its believed rate."
    sheet.text((566, 888), words, size=12, colour=INK, anchor="middle")


def _draw_lines(panel: Panel, series: dict[Schedule, list[tuple[float, float]]]) -> None:
    for schedule, points in series.items():
        panel.line(points, _STYLES[schedule])


def _series(sweep: Sequence[Comparison], value: Callable[[Result], float]) -> dict[Schedule, list[tuple[float, float]]]:
    return {
        schedule: [(comparison.plan.visits_per_day, value(comparison.of(schedule))) for comparison in sweep]
        for schedule in Schedule
    }
