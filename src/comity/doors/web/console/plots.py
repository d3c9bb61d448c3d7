"""Plots: numbers enter, SVG with axes and a table of the same numbers leaves. They need no script and no inline style.

The area of a plot stretches with its box, its labels are HTML beside it: text keeps its size on a phone. Colours are
classes (`tone-1` …), so both colour schemes have their own. Each point has its numbers in a title; the script shows
them at once, without it they appear on hover.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import quote

from markupsafe import Markup

from comity.doors.schemas import iso_time
from comity.doors.web.console import components
from comity.model.dataclass import dataclass

WIDTH: Final = 1000
HEIGHT: Final = 100
EMPTY: Final = "No data in this period."
_LABELS: Final = 5
_AT_EDGE: Final = 0.04  # of the width: a label there would be cut off
_MOST_POINTS: Final = 1000


@dataclass(frozen=True, slots=True)
class Series:
    """Values in one colour: tones `1` to `6`, or `good`, `warn`, `bad`, `off`. None is a gap."""

    label: str
    values: Sequence[float | None]
    tone: str = "1"


def line_plot(
    title: str, times: Sequence[datetime], series: Sequence[Series], *, unit: str = "", empty: str = EMPTY
) -> Markup:
    """Lines over time. Times are evenly spaced."""
    top = nice_top(_largest(series))
    step = WIDTH / max(len(times) - 1, 1)
    shapes = []
    for each in series:
        for run in _runs(each.values):
            points = [(index * step, _y(value, top)) for index, value in run]
            path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
            if len(series) == 1:
                area = f"{path}L{points[-1][0]:.1f} {HEIGHT}L{points[0][0]:.1f} {HEIGHT}Z"
                shapes.append(Markup('<path class="area tone-{}" d="{}"/>').format(each.tone, area))
            kind = "line"
            if len(points) == 1:  # a line without a length is drawn as a dot
                path, kind = f"{path}h.01", "line point"
            shapes.append(Markup('<path class="{} tone-{}" d="{}"/>').format(kind, each.tone, path))
    bands = _bands(times, series, unit, lambda index: (index * step - step / 2, step))
    axis = _time_axis([(index * step / WIDTH, moment) for index, moment in enumerate(times)])
    return _framed(title, times, series, unit, top, [*shapes, *bands], axis, empty)


def stacked(
    title: str, times: Sequence[datetime], series: Sequence[Series], *, unit: str = "", empty: str = EMPTY
) -> Markup:
    """Bars over time, each made of parts."""
    sums = [sum(each.values[index] or 0 for each in series) for index in range(len(times))]
    top = nice_top(max(sums, default=0))
    step = WIDTH / max(len(times), 1)
    shapes = []
    for index in range(len(times)):
        base = 0.0
        for each in series:
            value = each.values[index] or 0
            if value <= 0:
                continue
            y, height = _y(base + value, top), HEIGHT * value / top
            shapes.append(
                Markup('<rect class="bar tone-{}" x="{:.1f}" y="{:.2f}" width="{:.1f}" height="{:.2f}"/>').format(
                    each.tone, index * step + step * 0.12, y, step * 0.76, max(height, 0.4)
                )
            )
            base += value
    bands = _bands(times, series, unit, lambda index: (index * step, step))
    axis = _time_axis([((index + 0.5) * step / WIDTH, moment) for index, moment in enumerate(times)])
    return _framed(title, times, series, unit, top, [*shapes, *bands], axis, empty)


def bars(
    title: str,
    values: Sequence[tuple[str, float | None]],
    *,
    unit: str = "",
    tone: str = "1",
    tones: Sequence[str] = (),
    path: str = "",
    most_counted: int | None = None,
) -> Markup:
    """Horizontal bars, one a line, with their numbers; they are a table.

    `path` links each label to a page of the console; it has a `{}` for the label: `/hosts?status={}`. A value above
    `most_counted` was not counted to its end: "10,000+". One that is None is being counted.
    """
    from comity.doors.web.console.page import url

    most = max((value or 0 for _, value in values), default=0) or 1
    rows = []
    for index, (label, value) in enumerate(values):
        shown: object = components.words(label)
        if path:
            shown = Markup('<a href="{}">{}</a>').format(url(path.format(quote(label, safe=""))), shown)
        width = max(100 * value / most, 0.6) if value is not None and value > 0 else 0
        is_bounded = most_counted is not None and value is not None and value > most_counted
        figure = f"{most_counted:,}+" if is_bounded else f"{value:,.0f}{_suffix(unit)}" if value is not None else "…"
        rows.append(
            Markup(
                '<tr><th scope="row">{}</th><td class="bar-cell"><svg class="hbar" viewBox="0 0 100 8"'
                ' preserveAspectRatio="none" aria-hidden="true" focusable="false"><rect class="bar tone-{}"'
                ' width="{:.2f}" height="8"/></svg></td><td class="num">{}</td></tr>'
            ).format(shown, tones[index] if index < len(tones) else tone, width, figure)
        )
    if not rows:
        rows.append(Markup('<tr><td class="plot-empty">Nothing yet.</td></tr>'))
    return Markup(
        '<figure class="plot plot-bars"><figcaption><span class="plot-title">{}</span></figcaption>'
        '<table class="hbars"><tbody>{}</tbody></table></figure>'
    ).format(title, Markup("").join(rows))


def sparkline(values: Sequence[float | None], label: str, *, tone: str = "1") -> Markup:
    """A line without axes, for a cell or a tile; the label says what it shows."""
    top = max((value for value in values if value is not None), default=0) or 1
    step = 100 / max(len(values) - 1, 1)
    paths = Markup("").join(
        Markup('<path class="line tone-{}" d="M{}"/>').format(
            tone, "L".join(f"{index * step:.1f} {22 - 20 * value / top:.1f}" for index, value in run)
        )
        for run in _runs(values)
    )
    return Markup(
        '<svg class="sparkline" viewBox="0 0 100 24" preserveAspectRatio="none" role="img" aria-label="{}">{}</svg>'
    ).format(label, paths)


@dataclass(frozen=True, slots=True)
class Mark:
    """Something on a time line: an instant, or a span with an end."""

    start: datetime
    title: str
    tone: str = "1"
    end: datetime | None = None


@dataclass(frozen=True, slots=True)
class Lane:
    """One row of a time line."""

    label: str
    marks: Sequence[Mark]


def timeline(title: str | Markup, start: datetime, end: datetime, lanes: Sequence[Lane], *, note: str = "") -> Markup:
    """Instants and spans on rows above one axis of time, such as requests above the slots that allowed them."""
    span = max((end - start).total_seconds(), 1e-9)
    rows = []
    for lane in lanes:
        shapes = Markup("").join(
            Markup(
                '<rect class="mark tone-{}" x="{:.2f}" y="2" width="{:.2f}" height="20"><title>{}</title></rect>'
            ).format(mark.tone, *_extent(mark, start, span), mark.title)
            for mark in lane.marks[:_MOST_POINTS]
            if mark.start <= end and (mark.end or mark.start) >= start
        )
        rows.append(
            Markup(
                '<div class="lane"><span class="lane-label">{}</span><svg class="lane-area" viewBox="0 0 {} 24"'
                ' preserveAspectRatio="none" role="img" aria-label="{}: {}">{}</svg></div>'
            ).format(lane.label, WIDTH, lane.label, components.plural(len(lane.marks), "entry", "entries"), shapes)
        )
    table = _table(
        ("Time (UTC)", "Row", "What"),
        (
            (f"{mark.start.astimezone(UTC):%Y-%m-%d %H:%M:%S.%f}"[:-3], lane.label, mark.title)
            for lane in lanes
            for mark in lane.marks[:_MOST_POINTS]
        ),
    )
    return Markup(
        '<figure class="plot plot-timeline"><figcaption><span class="plot-title">{}</span>'
        '<span class="plot-note">{}</span></figcaption>{}<div class="lane-axis">{}</div>{}</figure>'
    ).format(title, note, Markup("").join(rows), _span_labels(start, end), table)


def nice_top(most: float) -> float:
    """The end of an axis: the least of 1, 2, 4, 5 or 10 times a power of ten that is not below the largest value."""
    if most <= 0 or not math.isfinite(most):
        return 1.0
    power = 10.0 ** math.floor(math.log10(most))
    return next(factor * power for factor in (1, 2, 4, 5, 10) if factor * power >= most * 0.999999)


def amount(value: float) -> str:
    """A number for an axis: short, and never rounded to something else."""
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= limit:
            return f"{value / (1000 if unit == 'k' else limit):,.4g}{unit}"
    return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"


def _framed(
    title: str,
    times: Sequence[datetime],
    series: Sequence[Series],
    unit: str,
    top: float,
    shapes: Iterable[Markup],
    axis: Markup,
    empty: str,
) -> Markup:
    """A plot with its axes, its legend and its table."""
    legend = Markup("").join(
        Markup('<span class="key tone-{}">{}</span>').format(each.tone, each.label) for each in series
    )
    grid = Markup("").join(
        Markup('<path class="grid" d="M0 {}H{}"/>').format(y, WIDTH) for y in (0, HEIGHT / 2, HEIGHT)
    )
    is_empty = not any(value for each in series for value in each.values)
    is_counted = all(isinstance(value, int) for each in series for value in each.values)  # there is no half of one
    said = Markup('<span class="plot-empty">{}</span>').format(empty) if is_empty else ""
    heads = ("Time (UTC)", *(f"{each.label}{f' ({unit})' if unit else ''}" for each in series))
    rows = (
        (f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}", *(_exact(each.values[index]) for each in series))
        for index, moment in enumerate(times)
    )
    return Markup(
        '<figure class="plot"><figcaption><span class="plot-title">{}</span><span class="plot-legend">{}</span>'
        '</figcaption><div class="plot-body"><div class="plot-y" aria-hidden="true"><span>{}</span><span>{}</span>'
        '<span>0</span></div><div class="plot-box"><svg class="plot-area" viewBox="0 0 {} {}"'
        ' preserveAspectRatio="none" role="img" aria-label="{}">{}{}</svg>{}</div>'
        "{}</div>{}</figure>"
    ).format(
        title,
        legend if len(series) > 1 else "",
        "" if is_empty else f"{amount(top)}{_suffix(unit)}",
        "" if is_empty or (is_counted and top % 2) else amount(top / 2),
        WIDTH,
        HEIGHT,
        f"{title}; the table below has the numbers",
        grid,
        Markup("").join(shapes),
        said,
        axis,
        _table(heads, rows),
    )


def _bands(times: Sequence[datetime], series: Sequence[Series], unit: str, extent: Any) -> list[Markup]:
    """An invisible stripe for each point, with its numbers."""
    found = []
    for index, moment in enumerate(times):
        x, width = extent(index)
        numbers = " · ".join(f"{each.label} {_exact(each.values[index])}{_suffix(unit)}" for each in series)
        found.append(
            Markup(
                '<rect class="band" x="{:.1f}" y="0" width="{:.1f}" height="{}" data-at="{}"><title>{} UTC · {}</title>'
                "</rect>"
            ).format(x, width, HEIGHT, iso_time(moment), f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}", numbers)
        )
    return found


def _time_axis(places: Sequence[tuple[float, datetime]]) -> Markup:
    """Some of the times, each below its point. Places are shares of the width, so the text keeps its size."""
    form, shown = _form_of(places[-1][1] - places[0][1]) if places else ("", "")
    step = max(math.ceil(len(places) / (_LABELS - 1 if shown == "weekday" else _LABELS)), 1)
    labels = [
        Markup('<text x="{:.2f}%" y="11" class="{}" data-at="{}" data-shown="{}">{}</text>').format(
            100 * x,
            "at-start" if x < _AT_EDGE else "at-end" if x > 1 - _AT_EDGE else "",
            iso_time(moment),
            shown,
            moment.astimezone(UTC).strftime(form),
        )
        for x, moment in places[(len(places) - 1) % step // 2 :: step]
    ]
    return Markup('<svg class="plot-x" width="100%" height="14" aria-hidden="true" focusable="false">{}</svg>').format(
        Markup("").join(labels)
    )


def _span_labels(start: datetime, end: datetime) -> Markup:
    """A few times between two, evenly spaced."""
    form, shown = _form_of(end - start)
    moments = [start + (end - start) * index / (_LABELS - 1) for index in range(_LABELS)]
    return Markup("").join(
        Markup('<time datetime="{}" data-shown="{}">{}</time>').format(
            iso_time(each), shown, each.astimezone(UTC).strftime(form)
        )
        for each in moments
    )


def _form_of(span: timedelta) -> tuple[str, str]:
    """How times of an axis are written: by the server, in UTC, and by the script."""
    if span < timedelta(minutes=10):
        return "%H:%M:%S", "seconds"
    if span <= timedelta(hours=36):
        return "%H:%M", "minutes"
    return ("%a %H:%M", "weekday") if span < timedelta(days=6) else ("%d %b", "day")


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], name: str = "Numbers") -> Markup:
    """What a plot shows, for those who do not see it."""
    body = Markup("").join(
        Markup("<tr>{}</tr>").format(Markup("").join(Markup("<td>{}</td>").format(cell) for cell in row))
        for row in rows
    )
    head = Markup("").join(Markup('<th scope="col">{}</th>').format(each) for each in heads)
    return Markup(
        '<details class="plot-table"><summary>{}</summary><div class="scroll" tabindex="0" role="region"'
        ' aria-label="{}"><table><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div></details>'
    ).format(name, name, head, body)


def _extent(mark: Mark, start: datetime, span: float) -> tuple[float, float]:
    x = WIDTH * (mark.start - start).total_seconds() / span
    width = WIDTH * (mark.end - mark.start).total_seconds() / span if mark.end is not None else 0.0
    x = max(x, 0.0)
    return min(x, WIDTH - 2.0), max(min(width, WIDTH - x), 2.0)


def _runs(values: Sequence[float | None]) -> list[list[tuple[int, float]]]:
    """Stretches of values without a gap."""
    found: list[list[tuple[int, float]]] = [[]]
    for index, value in enumerate(values):
        if value is None:
            found.append([])
        else:
            found[-1].append((index, value))
    return [run for run in found if run]


def _largest(series: Sequence[Series]) -> float:
    return max((value for each in series for value in each.values if value is not None), default=0.0)


def _y(value: float, top: float) -> float:
    return HEIGHT - HEIGHT * max(value, 0) / top


def _exact(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}"


def _suffix(unit: str) -> str:
    return f" {unit}" if unit else ""


# A diagram of states: columns by the number of moves from the first state, edges as curves between the boxes.
_BOX_WIDTH: Final = 108
_BOX_HEIGHT: Final = 34
_COLUMN: Final = 172
_ROW: Final = 84
_EDGE: Final = 20  # beside the diagram
_ARC: Final = 52  # above and below it: room for loops, and for moves that pass a column


def state_diagram(
    moves: Mapping[Any, Mapping[Any, str]], current: object = None, *, first: object = None, title: str = "States"
) -> Markup:
    """A state machine from its table of moves, with the present state marked; its moves are listed below it."""
    names = {state: components.words(state) for state in moves}
    places = _places(moves, first if first is not None else next(iter(moves)))
    edges = Markup("").join(
        _edge(places, before, after, f"{names[before]} → {names[after]}: {event}", is_next=before == current)
        for before, after_events in moves.items()
        for after, event in after_events.items()
    )
    boxes = Markup("").join(
        Markup(
            '<g class="state{}"><rect x="{}" y="{}" width="{}" height="{}" rx="8"/><text x="{}" y="{}">{}</text></g>'
        ).format(
            " is-current" if state == current else "",
            *(places[state][0] - _BOX_WIDTH / 2, places[state][1] - _BOX_HEIGHT / 2, _BOX_WIDTH, _BOX_HEIGHT),
            *(places[state][0], places[state][1] + 4.5),
            names[state],
        )
        for state in moves
    )
    width = max(x for x, _ in places.values()) + _BOX_WIDTH / 2 + _EDGE
    lowest = max(y for _, y in places.values())
    passes_below = any(
        _passes_below(places[before], places[after], lowest) for before, events in moves.items() for after in events
    )
    height = lowest + _BOX_HEIGHT / 2 + (_ARC if passes_below else _EDGE)
    now = f"; the present state is {names[current]}" if current in names else ""
    table = _table(
        ("From", "To", "When"),
        ((names[before], names[after], event) for before, events in moves.items() for after, event in events.items()),
        "Moves",
    )
    return Markup(
        '<figure class="plot plot-states"><figcaption><span class="plot-title">{}</span></figcaption>'
        '<div class="scroll" tabindex="0" role="region" aria-label="{}"><svg class="states" viewBox="0 0 {} {}"'
        ' width="{}" height="{}" role="img" aria-label="{}{}">{}{}</svg></div>{}</figure>'
    ).format(title, title, width, height, width, height, title, now, edges, boxes, table)


def _places(moves: Mapping[Any, Mapping[Any, str]], first: Any) -> dict[Any, tuple[float, float]]:
    """The centre of each box: the column is its distance from the first state, the row that of a state before it."""
    distance, wave = {first: 0}, [first]
    while wave:
        found = [after for before in wave for after in moves[before] if after in moves and after not in distance]
        wave = list(dict.fromkeys(found))
        distance |= dict.fromkeys(wave, max(distance.values()) + 1)
    columns: dict[int, list[Any]] = {}
    for state in moves:
        columns.setdefault(distance.get(state, 0), []).append(state)
    rows = max(map(len, columns.values()))
    row_of: dict[Any, float] = {}
    for column in sorted(columns):
        states, taken = columns[column], set[float]()
        for state in states:
            before = [row_of[each] for each in moves if state in moves[each] and distance.get(each) == column - 1]
            wanted = [*before[:1], *map(float, range(rows))] if column > 1 else map(float, range(rows))
            row = (rows - 1) / 2 if len(states) == 1 and column == 0 else next(r for r in wanted if r not in taken)
            taken.add(row)
            row_of[state] = row
    return {
        state: (
            _EDGE + _BOX_WIDTH / 2 + distance.get(state, 0) * _COLUMN,
            _ARC + _BOX_HEIGHT / 2 + row_of[state] * _ROW,
        )
        for state in moves
    }


def _edge(places: Mapping[Any, tuple[float, float]], before: Any, after: Any, title: str, *, is_next: bool) -> Markup:
    path = _curve(places[before], places[after], max(y for _, y in places.values()))
    return Markup(
        '<g class="move{}"><path class="move-line" d="{}"/><path class="move-head" d="{}"/><title>{}</title></g>'
    ).format(" is-next" if is_next else "", path, _arrow(path), title)


def _passes_below(start: tuple[float, float], end: tuple[float, float], lowest: float) -> bool:
    """Whether a move passes a column of boxes below it."""
    return abs(end[0] - start[0]) > _COLUMN and start[1] > lowest / 2 + _BOX_HEIGHT / 2


def _curve(start: tuple[float, float], end: tuple[float, float], lowest: float) -> str:
    """The way from one box to another: forth above, back below, so that the two directions do not meet."""
    (x1, y1), (x2, y2) = start, end
    half, tall = _BOX_WIDTH / 2, _BOX_HEIGHT / 2
    if start == end:
        x = x1 + 36  # on the right of what comes from above
        return f"M{x - 10} {y1 - tall}C{x - 17} {y1 - tall - 25} {x + 17} {y1 - tall - 25} {x + 10} {y1 - tall - 3}"
    if x1 == x2:
        down = 1 if y2 > y1 else -1
        if abs(y2 - y1) <= _ROW:  # neighbours: down on the right of the middle, up on the left
            x = x1 + 16 * down
            return f"M{x} {y1 + tall * down}L{x} {y2 - (tall + 3) * down}"
        side = x1 + half * down
        return f"M{side} {y1}C{side + 34 * down} {y1} {side + 34 * down} {y2} {side + 3 * down} {y2}"
    forth = 1 if x2 > x1 else -1
    if abs(x2 - x1) > _COLUMN:  # past a column: over the boxes, or under them
        up = 1 if _passes_below(start, end, lowest) else -1
        sy, ey = y1 + tall * up, y2 + (tall + 3) * up
        peak = 12.0 if up < 0 else lowest + tall + _ARC - 12
        control = (8 * peak - sy - ey) / 6
        return f"M{x1} {sy}C{x1} {control:.1f} {x2} {control:.1f} {x2} {ey}"
    shift = -6 * forth
    sx, ex = x1 + half * forth, x2 - (half + 3) * forth
    middle = (sx + ex) / 2
    return f"M{sx} {y1 + shift}C{middle} {y1 + shift} {middle} {y2 + shift} {ex} {y2 + shift}"


def _arrow(path: str) -> str:
    """The head of an arrow at the end of a path, along its last stretch."""
    numbers = [float(each) for each in path.replace("M", " ").replace("C", " ").replace("L", " ").split()]
    (x0, y0), (x1, y1) = numbers[-4:-2], numbers[-2:]
    length = math.hypot(x1 - x0, y1 - y0) or 1.0
    dx, dy = (x1 - x0) / length, (y1 - y0) / length
    back_x, back_y = x1 - 7 * dx, y1 - 7 * dy
    corners = ((x1, y1), (back_x - 3.6 * dy, back_y + 3.6 * dx), (back_x + 3.6 * dy, back_y - 3.6 * dx))
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in corners) + "Z"
