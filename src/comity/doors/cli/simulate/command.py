"""`comity simulate …`: what would happen, on synthetic sources; nothing is fetched and no state is touched."""

from __future__ import annotations

from enum import StrEnum
from math import exp, isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from comity.doors.cli.help_text import command, group
from comity.doors.cli.options import JsonOption, StateOption, check_number, read_invocation
from comity.doors.cli.output import note, write_json
from comity.model.errors import BadInput

if TYPE_CHECKING:
    from comity.schedule.simulate import Comparison, SimulationPlan

app = group("Simulate on synthetic sources. Nothing is fetched, and no state is used.")
_MOST_EVENTS: Final = 5_000_000
_MOST_DAYS: Final = 3650
_SWEPT: Final = (0.25, 0.5, 1.0, 2.0, 4.0)


class ProcessName(StrEnum):
    """The processes by their names; the same as in the simulation, which is not imported for --help."""

    POISSON = "poisson"
    BURSTY = "bursty"
    WEEKLY = "weekly"
    DRIFTING = "drifting"
    MIXED = "mixed"


def register(root: typer.Typer) -> None:
    """Add the commands of this file."""
    root.add_typer(app, name="simulate", rich_help_panel="State")


@command(
    app,
    "schedule",
    examples=(
        "comity simulate schedule",
        "comity simulate schedule --process drifting --budget 100",
        "comity simulate schedule --plot schedules.svg",
    ),
)
def schedule(
    context: typer.Context,
    sources: Annotated[int, typer.Option("--sources", metavar="N", help="The number of sources.")] = 1000,
    days: Annotated[int, typer.Option("--days", metavar="N", help="The length of the simulation.")] = 180,
    budget: Annotated[
        float | None,
        typer.Option(
            "--budget", metavar="N", help="Visits per day to all sources together. Default: a third of the sources."
        ),
    ] = None,
    process: Annotated[
        ProcessName,
        typer.Option(
            "--process",
            metavar="NAME",
            help="How changes are distributed: poisson, bursty, weekly, drifting, or mixed (a quarter of each).",
        ),
    ] = ProcessName.MIXED,
    spread: Annotated[
        float, typer.Option("--spread", metavar="N", help="How much sources differ: the sigma of the log of rates.")
    ] = 1.75,
    median_days: Annotated[
        float, typer.Option("--median-days", metavar="N", help="Days between changes of the median source.")
    ] = 10.0,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="The same seed gives the same figures.")] = 1,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE.svg", help="Also simulate other budgets, and plot the results as SVG."),
    ] = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare the schedules of sources on known changes.

    Four schedules visit the same synthetic sources: one interval for all (fixed), the default rules, additive increase
    and multiplicative decrease (AIMD), and the adaptive one. Each is scaled to the same number of visits. The results
    are the delay from a change to the visit that sees it, and the share of time in which the last visit is up to date.
    """
    invocation = read_invocation(context, state, as_json)
    check_number("--sources", sources, 1, 1_000_000)
    check_number("--days", days, 1, _MOST_DAYS)
    visits_per_day = max(sources / 3, 1 / days) if budget is None else budget
    _check(sources, days, visits_per_day, spread, median_days)
    _check_plot(plot)
    from comity.schedule.simulate import Process, SimulationPlan, WorldPlan

    world = WorldPlan(sources, days, Process(process.value), 1 / median_days, spread, seed)
    comparisons = _run(SimulationPlan(world, visits_per_day), _SWEPT if plot is not None else (1.0,))
    asked = next(each for each in comparisons if each.plan.visits_per_day == visits_per_day)
    if plot is not None:
        from comity.doors.cli.simulate.rendering import draw

        plot.write_text(draw(comparisons, asked), encoding="utf-8")
    from comity.doors.cli.simulate.rendering import comparison_document, write_comparison

    if invocation.as_json:
        swept = {} if plot is None else {"sweep": [comparison_document(each) for each in comparisons]}
        write_json(comparison_document(asked) | swept)
    else:
        write_comparison(asked)
    if plot is not None:
        note(f"The plot is in {plot}.")


def _run(plan: SimulationPlan, factors: tuple[float, ...]) -> list[Comparison]:
    from comity.doors.cli.output import ProgressBars
    from comity.schedule.simulate import Schedule, sweep

    done = 0
    with ProgressBars() as bars:
        show = bars.bar("simulating", len(factors) * len(Schedule))

        def one_more() -> None:
            nonlocal done
            done += 1
            show(done)

        return sweep(plan, [factor * plan.visits_per_day for factor in factors], on_schedule=one_more)


def _check(sources: int, days: int, visits_per_day: float, spread: float, median_days: float) -> None:
    """Refuse values that make no sense, and simulations that would take hours."""
    _check_float("--spread", spread, 0.0, 4.0)
    _check_float("--median-days", median_days, 0.05, float(_MOST_DAYS))
    _check_float("--budget", visits_per_day, 1 / days, 1e9)
    changes = sources * days / median_days * exp(spread**2 / 2)
    for count, what in ((visits_per_day * days, "visits"), (changes, "changes")):
        if count > _MOST_EVENTS:
            raise BadInput(f"this needs about {count:,.0f} {what}, but at most {_MOST_EVENTS:,} can be simulated")


def _check_float(option: str, number: float, least: float, most: float) -> None:
    if not isfinite(number) or not least <= number <= most:
        raise BadInput(f"{option} must be between {least:,.4g} and {most:,.4g}, not {number:g}")


def _check_plot(plot: Path | None) -> None:
    """Refuse a plot that cannot be written, before anything is computed."""
    if plot is None:
        return
    if plot.suffix.lower() != ".svg":
        raise BadInput(f"--plot writes SVG: name a file that ends in .svg, not {plot.name!r}")
    if not plot.parent.is_dir():
        raise BadInput(f"--plot: there is no folder {str(plot.parent)!r}")
    if plot.is_dir():
        raise BadInput(f"--plot: {str(plot)!r} is a folder")
