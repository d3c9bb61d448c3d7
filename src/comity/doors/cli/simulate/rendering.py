"""A comparison of schedules on a terminal, and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, Final

from comity.doors.cli.output import Cell, Column, Row, write_line, write_table
from comity.schedule.simulate import AIM_DELAY_GAIN, Comparison, Result, Schedule

NAMES: Final = {
    Schedule.FIXED: "fixed",
    Schedule.RULES: "default rules",
    Schedule.AIMD: "AIMD",
    Schedule.ADAPTIVE: "adaptive",
}
_COLUMNS: Final = (
    Column("schedule"),
    Column("visits", True),
    Column("mean delay", True),
    Column("against fixed", True),
    Column("slowest tenth", True),
    Column("fresh", True),
    Column("stalest tenth", True),
)
_BAR_WIDTH: Final = 40
_STYLES: Final = {Schedule.FIXED: "dim", Schedule.ADAPTIVE: "bold cyan"}


def write_comparison(comparison: Comparison) -> None:
    """Write the table, the bars and the verdict."""
    world = comparison.plan.world
    write_line(
        f"{world.sources:,} sources over {world.days:g} days, {comparison.plan.visits_per_day:,.4g} visits a day; "
        f"changes: {world.process}, {comparison.results[0].measured.changes:,} in all; seed {world.seed}."
    )
    write_line("")
    write_table(_COLUMNS, [_row(comparison, result) for result in comparison.results])
    write_line("")
    _write_bars("Mean delay (less is better)", comparison.results, lambda each: each.measured.mean_delay_days, _days)
    write_line("")
    _write_bars("Freshness (more is better)", comparison.results, lambda each: each.measured.freshness, _percent)
    write_line("")
    write_line(*_verdict(comparison))


def comparison_document(comparison: Comparison) -> dict[str, Any]:
    """One comparison as a document."""
    adaptive = Schedule.ADAPTIVE
    return {
        "world": asdict(comparison.plan.world),
        "visits_per_day": comparison.plan.visits_per_day,
        "limits": asdict(comparison.plan.limits),
        "schedules": [_result_document(comparison, result) for result in comparison.results],
        "aim": {
            "delay_gain_wanted": AIM_DELAY_GAIN,
            "delay_gain": round(comparison.delay_gain(adaptive), 4),
            "freshness_gain": round(comparison.freshness_gain(adaptive), 4),
            "is_met": comparison.meets_aim,
        },
    }


def _result_document(comparison: Comparison, result: Result) -> dict[str, Any]:
    measured = result.measured
    return {
        "schedule": result.schedule,
        "visits": measured.visits,
        "budget_used": round(result.budget_used, 4),
        "is_within_budget": result.is_within_budget,
        "stretch": round(result.stretch, 4),
        "changes": measured.changes,
        "mean_delay_days": round(measured.mean_delay_days, 4),
        "delay_gain": round(comparison.delay_gain(result.schedule), 4),
        "slowest_tenth_days": round(measured.slowest_tenth_days, 4),
        "freshness": round(measured.freshness, 4),
        "stalest_tenth": round(measured.stalest_tenth, 4),
    }


def _row(comparison: Comparison, result: Result) -> Row:
    measured, style = result.measured, _STYLES.get(result.schedule, "")
    gain = comparison.delay_gain(result.schedule)
    cells = (
        NAMES[result.schedule],
        f"{measured.visits:,}",
        _days(measured.mean_delay_days),
        "" if result.schedule is Schedule.FIXED else f"{-100 * gain:+.1f} %",
        _days(measured.slowest_tenth_days),
        _percent(measured.freshness),
        _percent(measured.stalest_tenth),
    )
    off_budget = f"could not be scaled closer to the budget than {100 * (result.budget_used - 1):+.1f} % visits"
    return Row([Cell(text, style) for text in cells], None if result.is_within_budget else off_budget)


def _write_bars(
    title: str, results: Sequence[Result], value: Callable[[Result], float], render: Callable[[float], str]
) -> None:
    write_line(Cell(title, "bold"))
    largest = max((value(result) for result in results), default=0.0) or 1.0
    for result in results:
        bar = "█" * round(_BAR_WIDTH * value(result) / largest)
        style = _STYLES.get(result.schedule, "")
        write_line(f"  {NAMES[result.schedule]:<14}", Cell(bar, style), f" {render(value(result))}")


def _verdict(comparison: Comparison) -> tuple[str | Cell, ...]:
    gain, freshness = comparison.delay_gain(Schedule.ADAPTIVE), comparison.freshness_gain(Schedule.ADAPTIVE)
    word = Cell("meets the aim", "bold green") if comparison.meets_aim else Cell("misses the aim", "bold yellow")
    aim = f" of 40 % less delay than fixed at no less freshness: {-100 * gain:+.1f} % delay, "
    return "Adaptive ", word, f"{aim}{100 * freshness:+.1f} points of freshness."


def _days(value: float) -> str:
    return f"{value:.2f} days"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
