"""A comparison of schedules on a terminal, as JSON, and as an SVG plot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from html import escape
from math import ceil, floor, isfinite, log10
from typing import Any, Final, Literal

from comity.doors.cli.output import Cell, TextColumn, TextRow, write_line, write_table
from comity.model.dataclass import dataclass
from comity.schedule.simulate import AIM_DELAY_GAIN, Comparison, Schedule, SimulatedSchedule

NAMES: Final = {
    Schedule.FIXED: "fixed",
    Schedule.RULES: "default rules",
    Schedule.AIMD: "AIMD",
    Schedule.ADAPTIVE: "adaptive",
}
_COLUMNS: Final = (
    TextColumn("schedule"),
    TextColumn("visits", True),
    TextColumn("mean delay", True),
    TextColumn("against fixed", True),
    TextColumn("slowest tenth", True),
    TextColumn("fresh", True),
    TextColumn("stalest tenth", True),
)
_BAR_WIDTH: Final = 40
_TABLE_STYLES: Final = {Schedule.FIXED: "dim", Schedule.ADAPTIVE: "bold cyan"}
# Lines differ in colour, dash and mark, so that a plot can be read in grey.

_INK: Final = "#1d2530"
_SOFT_INK: Final = "#5b6673"
_GRID: Final = "#e6e9ed"
_FRAME: Final = "#b8bfc7"
_FONT: Final = "system-ui, -apple-system, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif"
_TICKS_WANTED: Final = 5

_MarkShape = Literal["circle", "square", "triangle", "diamond"]
_Anchor = Literal["start", "middle", "end"]


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


def _result_document(comparison: Comparison, result: SimulatedSchedule) -> dict[str, Any]:
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


def _row(comparison: Comparison, result: SimulatedSchedule) -> TextRow:
    measured, style = result.measured, _TABLE_STYLES.get(result.schedule, "")
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
    return TextRow([Cell(text, style) for text in cells], None if result.is_within_budget else off_budget)


def _write_bars(
    title: str,
    results: Sequence[SimulatedSchedule],
    value: Callable[[SimulatedSchedule], float],
    render: Callable[[float], str],
) -> None:
    write_line(Cell(title, "bold"))
    largest = max((value(result) for result in results), default=0.0) or 1.0
    for result in results:
        bar = "█" * round(_BAR_WIDTH * value(result) / largest)
        style = _TABLE_STYLES.get(result.schedule, "")
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


@dataclass(frozen=True, slots=True)
class LineStyle:
    """How one series is drawn."""

    colour: str
    dash: str
    mark: _MarkShape
    width: float = 2.0


@dataclass(frozen=True, slots=True)
class Axis:
    """One direction of a panel: its range, its title, and whether it is logarithmic. `suffix` follows every number."""

    title: str
    low: float
    high: float
    is_logarithmic: bool = False
    suffix: str = ""
    ticks: tuple[float, ...] | None = None

    def share(self, value: float) -> float:
        """The position of a value, from 0 at the low end to 1 at the high end; in the middle of a range of nothing."""
        if self.high <= self.low:
            return 0.5
        if self.is_logarithmic:
            if value <= 0:
                return 0.0
            return (log10(value) - log10(self.low)) / (log10(self.high) - log10(self.low))
        return (value - self.low) / (self.high - self.low)

    def tick_values(self) -> tuple[float, ...]:
        """Round numbers inside the range."""
        if self.ticks is not None:
            return self.ticks
        found = _logarithmic_ticks(self.low, self.high) if self.is_logarithmic else _even_ticks(self.low, self.high)
        return tuple(value for value in found if -1e-9 <= self.share(value) <= 1 + 1e-9)


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle on the sheet, from its upper left corner."""

    left: float
    top: float
    width: float
    height: float


class Sheet:
    """A drawing of a given size."""

    def __init__(self, width: int, height: int, description: str) -> None:
        self._size = (width, height)
        self._description = description
        self._parts: list[str] = []

    def text(
        self,
        at: tuple[float, float],
        words: str,
        *,
        size: float = 12,
        colour: str = _INK,
        anchor: _Anchor = "start",
        is_bold: bool = False,
        is_upright: bool = False,
    ) -> None:
        """Write words; `is_upright` turns them to read from below."""
        x, y = at
        weight = ' font-weight="600"' if is_bold else ""
        turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if is_upright else ""
        self._parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" fill="{colour}" text-anchor="{anchor}"{weight}{turn}>'
            f"{escape(words)}</text>"
        )

    def line(self, points: Sequence[tuple[float, float]], style: LineStyle) -> None:
        """Draw a line through points."""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        dash = f' stroke-dasharray="{style.dash}"' if style.dash else ""
        self._parts.append(
            f'<polyline points="{path}" fill="none" stroke="{style.colour}" stroke-width="{style.width:g}" '
            f'stroke-linejoin="round" stroke-linecap="round"{dash}/>'
        )

    def rule(self, start: tuple[float, float], end: tuple[float, float], colour: str = _GRID) -> None:
        """Draw a thin straight line."""
        self._parts.append(
            f'<line x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}" stroke="{colour}"/>'
        )

    def mark(self, at: tuple[float, float], style: LineStyle) -> None:
        """Draw the mark of a series."""
        self._parts.append(_mark(style.mark, *at, 4, f' fill="{style.colour}" stroke="#fff"'))

    def cloud(self, points: Sequence[tuple[float, float]], style: LineStyle, opacity: float) -> None:
        """Draw many small marks of a series."""
        marks = "".join(_mark(style.mark, *at, 2.4, "") for at in points)
        self._parts.append(f'<g fill="{style.colour}" fill-opacity="{opacity:g}">{marks}</g>')

    def document(self) -> str:
        """The whole drawing as SVG."""
        width, height = self._size
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" role="img" font-family="{escape(_FONT)}">'
        )
        title = f"<title>{escape(self._description)}</title>"
        paper = f'<rect width="{width}" height="{height}" fill="#fff"/>'
        return "\n".join((head, title, paper, *self._parts, "</svg>", ""))


class Panel:
    """Axes in a box of a sheet, on which series are drawn."""

    def __init__(self, sheet: Sheet, box: Box, title: str, across: Axis, up: Axis) -> None:
        self._sheet, self._box, self._across, self._up = sheet, box, across, up
        self._draw_axes(title)

    def place(self, x: float, y: float) -> tuple[float, float]:
        """The position of a pair of values on the sheet; values beyond the axes are moved to their end."""
        across, up = (min(1.0, max(0.0, share)) for share in (self._across.share(x), self._up.share(y)))
        return self._box.left + across * self._box.width, self._box.top + (1 - up) * self._box.height

    def line(self, points: Sequence[tuple[float, float]], style: LineStyle, *, with_marks: bool = True) -> None:
        """Draw a series as a line with its marks."""
        placed = [self.place(x, y) for x, y in points]
        self._sheet.line(placed, style)
        for at in placed if with_marks else ():
            self._sheet.mark(at, style)

    def cloud(self, points: Sequence[tuple[float, float]], style: LineStyle, opacity: float) -> None:
        """Draw a series as points."""
        self._sheet.cloud([self.place(x, y) for x, y in points], style, opacity)

    def _draw_axes(self, title: str) -> None:
        sheet, box = self._sheet, self._box
        right, bottom = box.left + box.width, box.top + box.height
        sheet.text((box.left, box.top - 14), title, size=14, is_bold=True)
        for value in self._across.tick_values():
            x = box.left + self._across.share(value) * box.width
            sheet.rule((x, box.top), (x, bottom))
            words = render_number(value) + self._across.suffix
            sheet.text((x, bottom + 17), words, size=11, colour=_SOFT_INK, anchor="middle")
        for value in self._up.tick_values():
            y = box.top + (1 - self._up.share(value)) * box.height
            sheet.rule((box.left, y), (right, y))
            words = render_number(value) + self._up.suffix
            sheet.text((box.left - 8, y + 4), words, size=11, colour=_SOFT_INK, anchor="end")
        sheet.rule((box.left, bottom), (right, bottom), _FRAME)
        sheet.rule((box.left, box.top), (box.left, bottom), _FRAME)
        sheet.text((box.left + box.width / 2, bottom + 38), self._across.title, anchor="middle", colour=_SOFT_INK)
        middle = box.top + box.height / 2
        sheet.text((box.left - 50, middle), self._up.title, anchor="middle", colour=_SOFT_INK, is_upright=True)


def render_number(value: float) -> str:
    """A number as an axis shows it."""
    if value != 0 and (abs(value) >= 1e6 or abs(value) < 1e-4):
        return f"{value:.0e}"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _mark(shape: _MarkShape, x: float, y: float, r: float, look: str) -> str:
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r:g}"{look}/>'
    if shape == "square":
        return f'<rect x="{x - r:.1f}" y="{y - r:.1f}" width="{2 * r:g}" height="{2 * r:g}"{look}/>'
    corners = {
        "triangle": ((0, -1.2), (1.1, 0.9), (-1.1, 0.9)),
        "diamond": ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
    }[shape]
    points = " ".join(f"{x + across * r:.1f},{y + down * r:.1f}" for across, down in corners)
    return f'<polygon points="{points}"{look}/>'


def _even_ticks(low: float, high: float) -> list[float]:
    span = high - low
    if not isfinite(span) or span <= 0:
        return [low]
    magnitude = 10 ** floor(log10(span / _TICKS_WANTED))
    step = min((magnitude * factor for factor in (1, 2, 5, 10)), key=lambda each: abs(span / each - _TICKS_WANTED))
    return [step * number for number in range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)]


def _logarithmic_ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 of every decade; over three decades or more, 1 only."""
    decades = range(floor(log10(low)), ceil(log10(high)) + 1)
    factors = (1,) if log10(high / low) >= 3 else (1, 2, 5)
    return [factor * 10.0**decade for decade in decades for factor in factors]


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
    """Draw the sweep, and the intervals of one comparison out of it.

    The panels have delay and freshness against the budget, and intervals against rates of change.
    """
    plan = chosen.plan
    sheet = Sheet(_WIDTH, _HEIGHT, "Schedules compared at equal budgets")
    world = plan.world
    sheet.text((40, 40), "What each schedule achieves with the same budget", size=20, is_bold=True)
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
    panel = Panel(sheet, Box(620, 150, 420, 270), "Freshness: share of time in which our copy is current", across, up)
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
    title = f"How often each source is visited, at {chosen.plan.visits_per_day:,.4g} visits a day"
    panel = Panel(sheet, Box(92, 520, 948, 310), title, across, up)
    for schedule, cloud in clouds.items():
        panel.cloud(cloud, _STYLES[schedule], 0.75 if schedule is Schedule.ADAPTIVE else 0.55)
    words = "Each mark is one source. Adaptive visits it in proportion to the square root of its estimated rate."
    sheet.text((566, 888), words, size=12, colour=_INK, anchor="middle")


def _draw_lines(panel: Panel, series: dict[Schedule, list[tuple[float, float]]]) -> None:
    for schedule, points in series.items():
        panel.line(points, _STYLES[schedule])


def _series(
    sweep: Sequence[Comparison], value: Callable[[SimulatedSchedule], float]
) -> dict[Schedule, list[tuple[float, float]]]:
    return {
        schedule: [(comparison.plan.visits_per_day, value(comparison.of(schedule))) for comparison in sweep]
        for schedule in Schedule
    }
